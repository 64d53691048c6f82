//! Every operation fails once, for want of space or for a broken medium. Nothing acknowledged is lost, nothing is
//! acknowledged afterwards, and nothing panics.

use crate::crash::{Broken, every_options, operations, run, scripted};
use crate::history::{append, open, open_clean, payload, read_all, shared};
use journal::simulated::{Fault, SimulatedDisk};
use journal::{
    Access, AppendError, Disk, DiskFile, Durability, Journal, OpenError, Options, ReadError, Reader, SyncError,
    VerifyError, verify,
};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[test]
fn any_operation_may_fail_and_acknowledged_frames_stay() {
    for options in every_options() {
        for (operation, fault) in (0..operations(&options)).flat_map(|n| [(n, Fault::Broken), (n, Fault::Full)]) {
            let disk = SimulatedDisk::new();
            disk.schedule(operation, fault);
            let mut acknowledged = 0;
            let outcome = run(&disk, &options, &mut acknowledged);
            let context = format!("{options:?}, operation {operation}, {fault:?}: {outcome:?}");
            assert!(outcome.is_err() || acknowledged == 15, "{context}");
            let (journal, _) = open(&disk, &options);
            let found = read_all(&disk);
            assert!(found.len() as u64 >= acknowledged, "{context}: {} frames of {acknowledged}", found.len());
            assert_eq!(found, (0..found.len() as u64).map(scripted).collect::<Vec<_>>(), "{context}");
            journal.append(b"on", Durability::Fsync).unwrap();
        }
    }
}

#[test]
fn every_failure_names_what_failed() {
    let options = Options::default();
    for operation in 0..operations(&options) {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::Full);
        let failure = match run(&disk, &options, &mut 0) {
            Ok(()) => continue,
            Err(Broken::Open(OpenError::Disk(failure))) => failure,
            Err(Broken::Append(AppendError::Unknown { failure, .. } | AppendError::Refused(failure))) => failure,
            Err(Broken::Sync(SyncError::Failed(failure))) => failure,
            Err(other) => panic!("operation {operation}: {other:?}"),
        };
        assert_eq!(failure.error.kind(), io::ErrorKind::StorageFull, "operation {operation}");
    }
}

#[test]
fn writes_may_be_short() {
    for (options, seed) in
        every_options().into_iter().flat_map(|options| (0..20).map(move |seed| (options.clone(), seed)))
    {
        let disk = SimulatedDisk::new();
        disk.shorten_writes(seed);
        run(&disk, &options, &mut 0).unwrap();
        assert_eq!(read_all(&disk), (0..18).map(scripted).collect::<Vec<_>>());
    }
}

/// A journal of two durable frames whose next write (0), or else sync (1), fails.
fn poisoned(ahead: u64) -> (SimulatedDisk, Journal) {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    append(&journal, 0..2, Durability::Fsync);
    disk.schedule(disk.operations() + ahead, Fault::Broken);
    let outcome = journal.append(&payload(2), Durability::Fsync);
    assert!(matches!(outcome, Err(AppendError::Unknown { number: 2, .. })), "{outcome:?}");
    (disk, journal)
}

#[test]
fn a_poisoned_journal_stays_poisoned() {
    for ahead in [0, 1] {
        let (disk, journal) = poisoned(ahead);
        let before = disk.operations();
        for durability in [Durability::None, Durability::Os, Durability::Fsync] {
            for _ in 0..3 {
                assert!(matches!(journal.append(b"more", durability), Err(AppendError::Refused(_))));
                assert!(matches!(journal.append_all(&[b"more"], durability), Err(AppendError::Refused(_))));
                assert!(matches!(journal.sync(durability), Err(SyncError::Failed(_))));
            }
        }
        assert_eq!((journal.progress().synced, journal.progress().appended), (2, 3));
        assert!(journal.close().is_err());
        assert_eq!(disk.operations(), before, "a poisoned journal leaves the disk alone");
    }
}

#[test]
fn a_failed_sync_is_not_tried_again_even_when_it_would_succeed() {
    let (disk, journal) = poisoned(1);
    let syncs = disk.syncs();
    assert!(journal.sync(Durability::Fsync).is_err());
    drop(journal);
    assert_eq!(disk.syncs(), syncs);
    // The frame was written, so it is found, and made durable anew.
    let (journal, _) = open(&disk, &Options::default());
    assert_eq!(journal.progress().synced, 3);
}

#[test]
fn a_failed_note_poisons_although_the_frames_are_durable() {
    let (disk, journal) = poisoned(2);
    assert!(matches!(journal.append(b"more", Durability::None), Err(AppendError::Refused(_))));
    drop(journal);
    let survivor = disk.power_loss(journal::simulated::Fate::Drop, 0);
    assert_eq!(read_all(&survivor).len(), 3);
}

#[test]
fn all_who_wait_hear_of_the_failure() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    disk.delay_syncs(Duration::from_millis(20));
    disk.schedule(disk.operations() + 1, Fault::Broken);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|number| {
                let journal = &journal;
                scope.spawn(move || journal.append(&payload(number), Durability::Fsync))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(outcomes.iter().all(Result::is_err));
    assert_eq!(journal.progress().synced, 0);
}

/// Reads a journal of which one operation fails; the frames, and how often something failed.
fn read_with_a_fault(disk: &SimulatedDisk, operation: u64) -> (Vec<Vec<u8>>, u32) {
    let probe = disk.duplicate();
    probe.schedule(operation, Fault::Broken);
    let mut failures = 0;
    let mut failed = |error: ReadError| {
        assert!(matches!(error, ReadError::Disk(_)), "operation {operation}: {error}");
        failures += 1;
    };
    let mut reader = match Reader::from_frame(shared(&probe), 0) {
        Ok(reader) => reader,
        Err(error) => {
            failed(error);
            Reader::from_frame(shared(&probe), 0).unwrap()
        }
    };
    let mut found = Vec::new();
    loop {
        match reader.read_next() {
            Ok(Some(frame)) => found.push(frame.payload.to_vec()),
            Ok(None) => return (found, failures),
            Err(error) => failed(error),
        }
    }
}

#[test]
fn a_read_that_fails_may_be_tried_again() {
    let disk = SimulatedDisk::new();
    run(&disk, &every_options()[0], &mut 0).unwrap();
    let expected: Vec<Vec<u8>> = (0..18).map(scripted).collect();
    for operation in 0.. {
        let (found, failures) = read_with_a_fault(&disk, operation);
        assert_eq!(found, expected, "operation {operation}");
        if failures == 0 {
            assert!(operation > 30);
            break;
        }
        let probe = disk.duplicate();
        probe.schedule(operation, Fault::Broken);
        assert!(!matches!(verify(shared(&probe)), Err(VerifyError::Empty)), "operation {operation}");
    }
}

/// A disk whose files panic when they are synced, but for the first few times.
struct Panicking {
    disk: SimulatedDisk,
    syncs_left: Arc<AtomicU32>,
}

struct PanickingFile {
    file: Box<dyn DiskFile>,
    syncs_left: Arc<AtomicU32>,
}

impl Panicking {
    fn file(&self, file: Box<dyn DiskFile>) -> Box<dyn DiskFile> {
        Box::new(PanickingFile { file, syncs_left: self.syncs_left.clone() })
    }
}

impl Disk for Panicking {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(self.disk.create(name)?))
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        Ok(self.file(self.disk.open(name, access)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.disk.sync_names()
    }
}

impl DiskFile for PanickingFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, into)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(5));
        let left = self.syncs_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.expect("a disk that panics");
        self.file.sync()
    }
}

#[test]
fn nobody_waits_for_a_leader_that_panicked() {
    let disk = Panicking { disk: SimulatedDisk::new(), syncs_left: Arc::new(AtomicU32::new(1)) };
    let (journal, _) = Journal::open(Arc::new(disk), Options::default()).unwrap();
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let append = || journal.append(b"x", Durability::Fsync);
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(append)).collect();
        threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_err()).count(), 1, "one panicked");
    assert!(outcomes.into_iter().flatten().all(|outcome| outcome.is_err()), "and the others were told");
    assert!(matches!(journal.append(b"x", Durability::None), Err(AppendError::Refused(_))));
}
