//! The real disk: a folder of the file system.

use crate::folder::Folder;
use crate::history::{payload, payloads};
use journal::{Access, Directory, Disk, Durability, FRAMES_AT, Journal, Options, ReadError, Reader, salvage, verify};
use std::io::ErrorKind;
use std::sync::Arc;

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
    let mut place = journal.append(b"a", Durability::Fsync).unwrap().place;
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
