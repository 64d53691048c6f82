//! A journal in one regular file: made, written on, read, mended, salvaged, and never in the way of anything else.

use crate::folder::Folder;
use crate::history::{payload, payloads};
use journal::{
    Disk, Durability, FRAMES_AT, Flaw, Journal, MemoryDisk, OpenError, Options, ReadError, Reader, SalvageError,
    SingleFile, Warning, salvage, verify,
};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder that is there, and the path of a tape in it.
fn place() -> (Folder, PathBuf) {
    let folder = Folder::new();
    fs::create_dir_all(folder.path()).unwrap();
    let path = folder.path().join("trip.tape");
    (folder, path)
}

fn opened(path: &Path) -> Arc<dyn Disk> {
    Arc::new(SingleFile::open(path).unwrap())
}

/// A tape of this many frames, closed. Segments are as short as can be, which a tape does not heed.
fn record(path: &Path, frames: u64) {
    let options = Options::default().segment_bytes(0);
    let (journal, warnings) = Journal::open(Arc::new(SingleFile::create(path).unwrap()), options).unwrap();
    assert!(warnings.is_empty());
    for number in 0..frames {
        journal.append(&payload(number), Durability::Os).unwrap();
    }
    journal.close().unwrap();
}

fn read(disk: Arc<dyn Disk>) -> Vec<Vec<u8>> {
    let mut reader = Reader::from_frame(disk, 0).unwrap();
    let mut found = Vec::new();
    while let Some(frame) = reader.read_next().unwrap() {
        found.push(frame.payload.to_vec());
    }
    found
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn a_tape_is_one_file_that_can_be_written_on() {
    let (folder, path) = place();
    record(&path, 20);
    assert_eq!(names(&folder), ["trip.tape"]);
    let options = Options::default().segment_bytes(u64::MAX);
    let (journal, warnings) = Journal::open(opened(&path), options).unwrap();
    assert!(warnings.is_empty());
    journal.append(&payload(20), Durability::Fsync).unwrap();
    journal.close().unwrap();
    assert_eq!(read(opened(&path)), payloads(21));
    let report = verify(opened(&path)).unwrap();
    assert!(report.is_sound());
    assert_eq!((report.frames, report.segments.len()), (21, 1));
    assert_eq!(report.segments[0].name, path.display().to_string());
}

/// A tape is the journal that a folder would hold, under another name.
#[test]
fn a_tape_has_the_bytes_of_a_segment() {
    let (_folder, path) = place();
    record(&path, 20);
    let disk = MemoryDisk::new();
    let (journal, _) = Journal::open(Arc::new(disk.clone()), Options::default().segment_bytes(u64::MAX)).unwrap();
    for number in 0..20 {
        journal.append(&payload(number), Durability::Os).unwrap();
    }
    journal.close().unwrap();
    let file = disk.open("00000000000000000000.segment", journal::Access::Read).unwrap();
    let mut bytes = vec![0; file.length().unwrap() as usize];
    file.read_full(0, &mut bytes).unwrap();
    assert!(bytes == fs::read(&path).unwrap());
}

#[test]
fn nothing_is_replaced() {
    let (folder, path) = place();
    fs::write(&path, b"a diary").unwrap();
    let error = SingleFile::create(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(error.to_string(), format!("{} exists already: name a file that does not exist", path.display()));
    fs::remove_file(&path).unwrap();
    // One that appears between the two steps is safe as well.
    let disk = SingleFile::create(&path).unwrap();
    disk.create("00000000000000000000.segment.new").unwrap();
    fs::write(&path, b"a diary").unwrap();
    let error = disk.rename("00000000000000000000.segment.new", "00000000000000000000.segment").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&path).unwrap(), b"a diary");
    assert!(matches!(Journal::open(Arc::new(disk), Options::default()), Err(OpenError::Disk(_))));
    assert_eq!(fs::read(&path).unwrap(), b"a diary");
    let dangling = folder.path().join("link.tape");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    assert_eq!(SingleFile::create(dangling).unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn a_tape_must_be_a_file_in_a_folder() {
    let (folder, path) = place();
    assert_eq!(SingleFile::open(&path).unwrap_err().kind(), ErrorKind::NotFound);
    let error = SingleFile::open(folder.path()).unwrap_err();
    assert_eq!(error.to_string(), "it is a folder, not a regular file");
    assert_eq!(SingleFile::create(folder.path().join("no").join("tape")).unwrap_err().kind(), ErrorKind::NotFound);
    let error = Reader::from_frame(Arc::new(SingleFile::create(&path).unwrap()), 0).err().unwrap();
    assert!(matches!(error, ReadError::Empty));
    assert!(names(&folder).is_empty(), "nothing is made before the journal is");
}

/// What a crash leaves while a tape is made: the other name alone, or both for one file.
#[test]
fn a_name_left_by_a_crash_goes() {
    let (folder, path) = place();
    let left = folder.path().join(".trip.tape.unfinished");
    fs::write(&left, b"half a header").unwrap();
    record(&path, 3);
    assert_eq!(names(&folder), ["trip.tape"]);
    fs::hard_link(&path, &left).unwrap();
    assert_eq!(read(opened(&path)), payloads(3));
    Journal::open(opened(&path), Options::default()).unwrap().0.close().unwrap();
    assert_eq!(names(&folder), ["trip.tape"]);
    assert_eq!(read(opened(&path)), payloads(3));
}

/// Both names mean one file after a crash. If its owner moves the tape, a new one must not empty the moved one.
#[test]
fn a_name_left_by_a_crash_is_not_written_through() {
    let (folder, path) = place();
    record(&path, 3);
    fs::hard_link(&path, folder.path().join(".trip.tape.unfinished")).unwrap();
    let moved = folder.path().join("moved.tape");
    fs::rename(&path, &moved).unwrap();
    record(&path, 5);
    assert_eq!((read(opened(&moved)), read(opened(&path))), (payloads(3), payloads(5)));
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let (_folder, path) = place();
    let (journal, _) = Journal::open(Arc::new(SingleFile::create(&path).unwrap()), Options::default()).unwrap();
    journal.append(&payload(0), Durability::Os).unwrap();
    let error = Journal::open(opened(&path), Options::default()).err().unwrap().to_string();
    let name = path.display();
    assert_eq!(
        error,
        format!(
            "the journal cannot be opened: cannot open {name}: another writer has it open; wait until that one has ended"
        )
    );
    assert_eq!(read(opened(&path)), payloads(1));
    journal.close().unwrap();
    let (journal, _) = Journal::open(opened(&path), Options::default()).unwrap();
    assert_eq!(journal.progress().appended, 1);
}

/// Both find nothing there; one of them makes it.
#[test]
fn two_who_make_one_tape_do_not_share_it() {
    for round in 0..50 {
        let (_folder, path) = place();
        let make = |name: &[u8]| {
            let disk = SingleFile::create(&path).ok()?;
            let (journal, _) = Journal::open(Arc::new(disk), Options::default()).ok()?;
            journal.append(name, Durability::Os).unwrap();
            journal.close().unwrap();
            Some(name.to_vec())
        };
        let made: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let makers: Vec<_> =
                [&b"one"[..], b"two", b"three", b"four"].map(|name| scope.spawn(move || make(name))).into();
            makers.into_iter().filter_map(|maker| maker.join().unwrap()).collect()
        });
        assert!(made.len() <= 1, "round {round}: {made:?}");
        if !made.is_empty() {
            assert_eq!(read(opened(&path)), made, "round {round}");
        }
    }
}

#[test]
fn a_tape_that_is_being_made_is_left_alone() {
    let (_folder, path) = place();
    let disk = SingleFile::create(&path).unwrap();
    let file = disk.create("00000000000000000000.segment.new").unwrap();
    let other = Journal::open(Arc::new(SingleFile::create(&path).unwrap()), Options::default());
    assert!(other.err().unwrap().to_string().contains("another writer has it open"));
    disk.rename("00000000000000000000.segment.new", "00000000000000000000.segment").unwrap();
    drop(file);
}

#[test]
fn damage_names_the_file_and_can_be_salvaged() {
    let (folder, path) = place();
    record(&path, 12);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"damage", FRAMES_AT + 38).unwrap();
    let Err(OpenError::Damaged(damage)) = Journal::open(opened(&path), Options::default()) else { panic!("it opens") };
    let offset = FRAMES_AT + 32;
    assert_eq!((damage.segment, damage.offset, damage.flaw), (path.display().to_string(), offset, Flaw::FrameHeader));
    let to = folder.path().join("saved.tape");
    let salvaged = salvage(opened(&path), Arc::new(SingleFile::create(&to).unwrap()), Options::default()).unwrap();
    assert_eq!((salvaged.frames, salvaged.lost.len()), (11, 1));
    let expected: Vec<_> = (0..12).filter(|number| *number != 1).map(payload).collect();
    assert_eq!(read(opened(&to)), expected);
    let again = salvage(opened(&path), opened(&to), Options::default());
    assert!(matches!(again, Err(SalvageError::Occupied)));
}

#[test]
fn a_torn_tail_is_cut_with_a_warning_that_names_the_file() {
    let (_folder, path) = place();
    record(&path, 4);
    let length = fs::metadata(&path).unwrap().len();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"half a frame", length).unwrap();
    let torn = Warning::TornTail { segment: path.display().to_string(), offset: length, bytes: 12 };
    assert_eq!(verify(opened(&path)).unwrap().warnings, std::slice::from_ref(&torn));
    assert_eq!(read(opened(&path)), payloads(4));
    let (journal, warnings) = Journal::open(opened(&path), Options::default()).unwrap();
    assert_eq!(warnings, [torn]);
    journal.close().unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), length);
}

/// Segments of 64 MiB are the default of folders.
#[test]
fn a_tape_outgrows_the_length_of_segments() {
    let (_folder, path) = place();
    let disk = Arc::new(SingleFile::create(&path).unwrap());
    let (journal, _) = Journal::open(disk, Options::default()).unwrap();
    let long = vec![7; 15 << 20];
    for _ in 0..5 {
        journal.append(&long, Durability::None).unwrap();
    }
    journal.close().unwrap();
    let report = verify(opened(&path)).unwrap();
    assert!(report.is_sound() && report.segments.len() == 1, "{report:?}");
    assert_eq!(report.payload_bytes, 5 * long.len() as u64);
}
