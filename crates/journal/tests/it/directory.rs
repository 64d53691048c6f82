//! The real disk: a folder of the file system.

use crate::folder::Folder;
use crate::history::{payload, payloads};
use journal::{
    Access, Directory, Disk, DiskFile, Durability, FRAMES_AT, Journal, Options, ReadError, Reader, Warning, salvage,
    verify,
};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn read(disk: Arc<dyn Disk>) -> Vec<Vec<u8>> {
    let mut reader = Reader::from_frame(disk, 0).unwrap();
    let mut found = Vec::new();
    while let Some(frame) = reader.read_next().unwrap() {
        found.push(frame.payload.to_vec());
    }
    found
}

#[test]
fn a_journal_in_a_folder_is_kept_mended_and_salvaged() {
    let (folder, saved) = (Folder::new(), Folder::new());
    let nested = folder.path().join("base").join("journal");
    let disk: Arc<dyn Disk> = Arc::new(Directory::create(&nested).unwrap());
    let options = Options::default().segment_bytes(FRAMES_AT + 400);
    for sitting in 0..4 {
        let (journal, warnings) = Journal::open(disk.clone(), options.clone()).unwrap();
        assert!(warnings.is_empty());
        for number in sitting * 5..sitting * 5 + 5 {
            let durability = [Durability::None, Durability::Os, Durability::Fsync][number as usize % 3];
            journal.append(&payload(number), durability).unwrap();
        }
    }
    assert_eq!(read(disk.clone()), payloads(20));
    let mut names = disk.list().unwrap();
    names.sort_unstable();
    let file = disk.open(&names[1], Access::Write).unwrap();
    file.write_full(FRAMES_AT + 40, b"damage").unwrap();
    assert_eq!(verify(disk.clone()).unwrap().damage.len(), 1);
    let to: Arc<dyn Disk> = Arc::new(Directory::create(saved.path()).unwrap());
    let salvaged = salvage(disk, to.clone(), Options::default()).unwrap();
    assert_eq!((salvaged.frames, salvaged.kept.len()), (19, 2));
    assert_eq!(read(to).len(), 19);
}

#[test]
fn a_folder_must_be_there_or_be_made() {
    let folder = Folder::new();
    assert_eq!(Directory::open(folder.path()).unwrap_err().kind(), ErrorKind::NotFound);
    let directory = Directory::create(folder.path()).unwrap();
    assert_eq!(directory.path(), folder.path());
    Directory::create(folder.path()).unwrap();
    std::fs::write(folder.path().join("file"), b"x").unwrap();
    assert_eq!(Directory::open(folder.path().join("file")).unwrap_err().kind(), ErrorKind::NotADirectory);
    assert!(Directory::create(folder.path().join("file").join("below")).is_err());
}

/// The system takes offsets above 2^63 for negative ones and refuses them.
#[test]
fn a_place_far_behind_the_end_is_no_place() {
    let folder = Folder::new();
    let disk: Arc<dyn Disk> = Arc::new(Directory::create(folder.path()).unwrap());
    let (journal, _) = Journal::open(disk.clone(), Options::default()).unwrap();
    let mut place = journal.append(b"a", Durability::Fsync).unwrap();
    for offset in [place.offset + 1000, i64::MAX as u64, u64::MAX] {
        place.offset = offset;
        let error = Reader::from_place(disk.clone(), place).err().unwrap();
        assert!(matches!(error, ReadError::NoSuchPlace(_)), "{error}");
    }
}

#[test]
fn reading_needs_no_leave_to_write() {
    let folder = Folder::new();
    let disk: Arc<dyn Disk> = Arc::new(Directory::create(folder.path()).unwrap());
    let (journal, _) = Journal::open(disk.clone(), Options::default()).unwrap();
    journal.append(b"a", Durability::Os).unwrap();
    journal.close().unwrap();
    for name in disk.list().unwrap() {
        let path = folder.path().join(name);
        let mut leave = std::fs::metadata(&path).unwrap().permissions();
        leave.set_readonly(true);
        std::fs::set_permissions(&path, leave).unwrap();
    }
    assert_eq!(read(disk.clone()), [b"a".to_vec()]);
    assert!(verify(disk).unwrap().is_sound());
}

/// A folder, and how many bytes were read of its files.
struct Counted {
    folder: Directory,
    bytes: Arc<AtomicU64>,
}

struct CountedFile {
    file: Box<dyn DiskFile>,
    bytes: Arc<AtomicU64>,
}

impl Disk for Counted {
    fn list(&self) -> io::Result<Vec<String>> {
        self.folder.list()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        self.folder.create(name)
    }

    fn open(&self, name: &str, access: Access) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(CountedFile { file: self.folder.open(name, access)?, bytes: Arc::clone(&self.bytes) }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.folder.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.folder.sync_names()
    }
}

impl DiskFile for CountedFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.bytes.fetch_add(into.len() as u64, Ordering::Relaxed);
        self.file.read_at(offset, into)
    }

    fn data_from(&self, offset: u64) -> io::Result<u64> {
        self.file.data_from(offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

/// Three gigabytes of zeros that nobody has written took a minute, at 10 ns a byte.
#[test]
fn holes_of_a_segment_are_not_read() {
    const HOLE: u64 = 3 << 30;
    let (folder, saved) = (Folder::new(), Folder::new());
    let directory = Directory::create(folder.path()).unwrap();
    let (journal, _) = Journal::open(Arc::new(directory.clone()), Options::default()).unwrap();
    let first = journal.append(b"first", Durability::Fsync).unwrap();
    journal.close().unwrap();
    let name = directory.list().unwrap().pop().unwrap();
    let file = directory.open(&name, Access::Write).unwrap();
    let end = file.length().unwrap();
    file.set_length(HOLE).unwrap();
    let bytes = Arc::new(AtomicU64::new(0));
    let disk: Arc<dyn Disk> = Arc::new(Counted { folder: directory, bytes: Arc::clone(&bytes) });

    // Behind all that was synced it is room; with anything in it, it is a torn tail up to there.
    let report = verify(disk.clone()).unwrap();
    assert!(report.is_sound() && report.frames == 1);
    assert_eq!(report.warnings, []);
    file.write_full(HOLE / 2, b"torn").unwrap();
    let torn = Warning::TornTail { segment: name.clone(), offset: end, bytes: HOLE / 2 + 4 - end };
    assert_eq!(verify(disk.clone()).unwrap().warnings, [torn]);

    // Where a frame was, it is damage.
    let zeros = vec![0; (end - first.offset) as usize];
    file.write_full(first.offset, &zeros).unwrap();
    let report = verify(disk.clone()).unwrap();
    assert_eq!((report.frames, report.damage.len(), report.damage[0].bytes), (0, 1, HOLE - first.offset));
    salvage(disk.clone(), Arc::new(Directory::create(saved.path()).unwrap()), Options::default()).unwrap();
    assert!(Journal::open(disk, Options::default()).is_err());

    let read = bytes.load(Ordering::Relaxed);
    assert!(read < 8 << 20, "{read} bytes were read");
}
