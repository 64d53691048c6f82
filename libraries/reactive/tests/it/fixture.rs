//! A state that version 1 wrote opens for ever.
//!
//! `tests/data/version-1` is what [`write`] made when version 1 was new. It is never written again: a later version gets a folder of
//! its own. `METROON_BLESS=1` writes what is missing, once, when a version is new.

use crate::board::{functions, lowest_bit, sum};
use journal::{Directory, Disk, Durability, FRAMES_AT, Identity, MemoryDisk};
use reactive::{Options, State, Transaction};
use std::path::PathBuf;
use std::sync::Arc;

const HASH: u128 = 0xf6a9_bb15_8175_43af_5824_efad_368b_9205;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/version-1"))
}

/// Each kind of change; in two segments, with a checkpoint before the last commit.
fn write(disk: Arc<dyn Disk>) -> State {
    let journal = journal::Options::default().segment_bytes(FRAMES_AT + 400).identity(Identity(*b"reactive fixture"));
    let options = Options::default().durability(Durability::Fsync).log_hashes(true).journal(journal);
    let mut state = State::create(disk, functions(), options);
    let mut transaction = Transaction::new().source("Anna");
    let (one, other) = (transaction.create(b"one"), transaction.create(b"other"));
    let total = transaction.derive(5, sum(), [one, other]);
    transaction.derive(2, lowest_bit(), [total]);
    let pages = state.commit(&transaction).unwrap().created;
    let mut transaction = Transaction::new().source("Boris");
    transaction.rederive(pages[3], sum(), [pages[0]]);
    transaction.write(pages[1], 2, b"TH");
    let gone = transaction.create(b"gone");
    transaction.delete(gone);
    state.commit(&transaction).unwrap();
    state.checkpoint().unwrap();
    let mut transaction = Transaction::new();
    transaction.write(pages[0], 0, b"ONE");
    transaction.create(b"again");
    state.commit(&transaction).unwrap();
    state
}

/// The files of a disk, by name.
fn files(disk: &dyn Disk) -> Vec<(String, Vec<u8>)> {
    let mut names = disk.list().unwrap();
    names.sort();
    let read = |name: String| {
        let file = disk.open(&name, journal::Access::Read).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_full(0, &mut bytes).unwrap();
        (name, bytes)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn version_1_opens_for_ever() {
    let copy = Arc::new(MemoryDisk::new());
    for (name, bytes) in files(&Directory::open(folder()).expect("the fixture is part of the sources")) {
        copy.create(&name).unwrap().write_full(0, &bytes).unwrap();
    }
    for is_whole in [true, false] {
        let (mut state, warnings) = State::open(copy.clone(), functions(), Options::default()).unwrap();
        assert!(warnings.is_empty());
        assert_eq!((state.epoch(), state.state_hash()), (3, HASH));
        let held: Vec<_> = state.pages().map(|page| state.read(page).unwrap().to_vec()).collect();
        let expected: [&[u8]; 5] = [b"ONE", b"otTHr", b"\xbe\xc2\x99Hr", b"ON", b"again"];
        assert_eq!(held, expected);
        if is_whole {
            copy.remove("00000000000000000002.pages").unwrap();
        }
    }
}

/// As long as version 1 is what this crate writes.
#[test]
fn what_is_written_is_version_1_to_the_byte() {
    let written = Arc::new(MemoryDisk::new());
    let mut state = write(written.clone());
    assert_eq!(state.state_hash(), HASH, "{:#x}", state.state_hash());
    drop(state);
    if std::env::var_os("METROON_BLESS").is_some() && !folder().exists() {
        let folder = Directory::create(folder()).unwrap();
        for (name, bytes) in files(&*written) {
            folder.create(&name).unwrap().write_full(0, &bytes).unwrap();
        }
    }
    let fixture = files(&Directory::open(folder()).expect("the fixture is part of the sources"));
    assert!(files(&*written) == fixture, "what is written has changed: give it another version");
}
