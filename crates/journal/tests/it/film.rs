//! Reading while somebody writes, one step of theirs against one of ours, in every phase.
//!
//! A script of a writer is run once for each of its operations, stopped there, and photographed; a write is met half
//! done as well. The pictures make a disk that changes while it is read: after N operations of the reader comes
//! the next picture. Whatever the phase and the speed, what is read is a prefix, and nothing is taken for damage.

use crate::history::{payload, payloads, shared, short_segments};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{
    Access, AppendError, Disk, DiskFile, Durability, Journal, Options, ReadError, Reader, VerifyError, verify,
};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const FRAMES: u64 = 30;

struct Film {
    pictures: Vec<SimulatedDisk>,
    start: usize,
    speed: (usize, usize),
    clock: AtomicUsize,
}

/// A disk that is a film. Clones are the same disk.
#[derive(Clone)]
struct Cinema(Arc<Film>);

struct FilmedFile {
    cinema: Cinema,
    name: String,
}

impl Cinema {
    /// The picture that an operation gets to see.
    fn now(&self) -> &SimulatedDisk {
        let film = &self.0;
        let time = film.clock.fetch_add(1, Ordering::Relaxed);
        let index = film.start + time / film.speed.1 * film.speed.0;
        &film.pictures[index.min(film.pictures.len() - 1)]
    }
}

impl Disk for Cinema {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.now().names())
    }

    fn open(&self, name: &str, _: Access) -> io::Result<Box<dyn DiskFile>> {
        self.now().contents(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(FilmedFile { cinema: self.clone(), name: name.to_owned() }))
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn DiskFile>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

impl DiskFile for FilmedFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.cinema.now().contents(&self.name).ok_or(io::ErrorKind::NotFound)?.len() as u64)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.cinema.now().open(&self.name, Access::Read)?.read_at(offset, into)
    }

    fn set_length(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

/// Writes until something fails: most frames to the system only, every third durably, and so the last few.
fn script(disk: &SimulatedDisk, options: &Options) -> Result<(), AppendError> {
    let Ok((journal, _)) = Journal::open(shared(disk), options.clone()) else { return Ok(()) };
    for number in 0..FRAMES {
        let is_durable = number % 3 == 2 || number + 4 > FRAMES;
        let durability = if is_durable { Durability::Fsync } else { Durability::Os };
        journal.append(&payload(number), durability)?;
    }
    let _ = journal.close();
    Ok(())
}

/// What is seen of the script after each of its operations.
fn pictures(options: &Options) -> Vec<SimulatedDisk> {
    let whole = SimulatedDisk::new();
    script(&whole, options).unwrap();
    let stopped = |operation| {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let _ = script(&disk, options);
        disk.power_loss(Fate::Keep, 0)
    };
    (0..=whole.operations()).map(stopped).collect()
}

/// How many pictures to go on after how many operations of the reader: creeping, walking, leaping.
const SPEEDS: [(usize, usize); 8] = [(1, 7), (1, 2), (1, 1), (2, 1), (3, 1), (9, 2), (9, 3), (30, 7)];

fn every_phase(options: &Options) -> impl Iterator<Item = (String, Arc<dyn Disk>)> {
    let pictures = pictures(options);
    let phases = (0..pictures.len()).flat_map(|start| SPEEDS.map(|speed| (start, speed)));
    let options = format!("{options:?}");
    phases.map(move |(start, speed)| {
        let film = Film { pictures: pictures.clone(), start, speed, clock: AtomicUsize::new(0) };
        let cinema: Arc<dyn Disk> = Arc::new(Cinema(Arc::new(film)));
        (format!("{options}, picture {start}, speed {speed:?}"), cinema)
    })
}

/// Follows the journal until nothing has come for long enough that the film must have ended.
fn follow(disk: Arc<dyn Disk>) -> Result<Vec<Vec<u8>>, ReadError> {
    let mut reader = Reader::from_frame(disk, 0)?;
    let (mut found, mut idle) = (Vec::new(), 0);
    while idle < 400 {
        match reader.read_next()? {
            Some(frame) => {
                found.push(frame.payload.to_vec());
                idle = 0;
            }
            None => idle += 1,
        }
    }
    Ok(found)
}

#[test]
fn a_reader_sees_a_prefix_in_every_phase() {
    let expected = payloads(FRAMES);
    for options in [short_segments(), Options::default()] {
        for (context, disk) in every_phase(&options) {
            match follow(disk) {
                Ok(found) => assert_eq!(found, expected, "{context}"),
                Err(ReadError::Empty) => {}
                Err(error) => panic!("{context}: {error}"),
            }
        }
    }
}

#[test]
fn verifying_finds_no_damage_in_any_phase() {
    for options in [short_segments(), Options::default()] {
        for (context, disk) in every_phase(&options) {
            match verify(disk) {
                Ok(report) => assert!(report.is_sound(), "{context}: {report:?}"),
                Err(VerifyError::Empty) => {}
                Err(error) => panic!("{context}: {error}"),
            }
        }
    }
}
