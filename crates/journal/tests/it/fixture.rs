//! A journal that version 1 wrote is readable for ever.
//!
//! `tests/data/version-1` is the journal that [`write`] made when version 1 was new. It is never written again: a later
//! version gets a folder of its own, and this one stays, with [`version_1_reads_for_ever`]. `METROON_BLESS=1` writes what is
//! missing, once, when a version is new.

use crate::history::{payload, read_all, shared};
use journal::simulated::SimulatedDisk;
use journal::{Directory, Disk, Durability, FRAMES_AT, Identity, Journal, Options, Reader, VERSION, verify};
use std::path::PathBuf;
use std::sync::Arc;

const CHAIN: &str = "83cb9bdee5bc04594422dfdf78c6a5153774c37fabde2702ae0b5e7905e7b22c";

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/version-1"))
}

fn fixture() -> Arc<dyn Disk> {
    Arc::new(Directory::open(folder()).expect("the fixture is part of the sources"))
}

/// Five frames, among them an empty one, in two segments; closed.
fn write(disk: Arc<dyn Disk>) {
    let options = Options::default().segment_bytes(FRAMES_AT + 200).identity(Identity(*b"journal fixture."));
    let (journal, _) = Journal::open(disk, options).unwrap();
    for number in 0..5 {
        journal.append(&payload(number), Durability::Fsync).unwrap();
    }
    journal.close().unwrap();
}

#[test]
fn version_1_reads_for_ever() {
    let report = verify(fixture()).unwrap();
    assert!(report.is_sound() && report.warnings.is_empty(), "{report:?}");
    assert_eq!((report.frames, report.segments.len(), report.identity), (5, 2, Identity(*b"journal fixture.")));
    assert_eq!(report.chain.unwrap().to_string(), CHAIN);
    let mut reader = Reader::from_frame(fixture(), 0).unwrap();
    for number in 0..5 {
        assert_eq!(reader.read_next().unwrap().unwrap().payload, payload(number));
    }
    assert!(reader.read_next().unwrap().is_none());
}

#[test]
fn version_1_can_be_continued() {
    let disk = SimulatedDisk::new();
    for name in fixture().list().unwrap() {
        disk.put(&name, &std::fs::read(folder().join(&name)).unwrap());
    }
    let (journal, warnings) = Journal::open(shared(&disk), Options::default()).unwrap();
    assert!(warnings.is_empty());
    journal.append(&payload(5), Durability::Fsync).unwrap();
    assert_eq!(read_all(&disk), (0..6).map(payload).collect::<Vec<_>>());
}

/// As long as version 1 is what this crate writes.
#[test]
fn what_is_written_is_version_1_to_the_byte() {
    assert_eq!(VERSION, 1, "a new version needs a fixture of its own; then this test compares with that one");
    let disk = SimulatedDisk::new();
    write(shared(&disk));
    if std::env::var_os("METROON_BLESS").is_some() {
        for name in disk.names().into_iter().filter(|name| !folder().join(name).exists()) {
            std::fs::write(folder().join(&name), disk.contents(&name).unwrap()).unwrap();
        }
    }
    let mut names = fixture().list().unwrap();
    names.sort_unstable();
    assert_eq!(names, disk.names());
    for name in names {
        assert!(disk.contents(&name) == Some(std::fs::read(folder().join(&name)).unwrap()), "{name} differs");
    }
}
