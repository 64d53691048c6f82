//! What is written and synced, and in which order. Durability hangs on these orders, so they are pinned line by line.

use crate::history::{open, open_clean, payload, shared, written};
use journal::simulated::{Fault, SimulatedDisk};
use journal::{Access, Disk, Durability, FRAMES_AT, Journal, Options};

/// What happens on the disk meanwhile, with segments called by their number.
fn traced(disk: &SimulatedDisk, act: impl FnOnce()) -> Vec<String> {
    let before = disk.trace().len();
    act();
    let short = |line: &String| line.replace("000000000000000000", "").replace(".segment", "");
    disk.trace()[before..].iter().map(short).collect()
}

#[test]
fn levels_ask_for_as_much_as_they_promise() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    let append = |durability| traced(&disk, || assert!(journal.append(&[7; 36], durability).is_ok()));
    assert_eq!(append(Durability::None), Vec::<String>::new());
    assert_eq!(append(Durability::Os), ["write 00 12288 +136"]);
    assert_eq!(append(Durability::Fsync), ["write 00 12424 +68", "sync 00", "write 00 4096 +64"]);
    assert_eq!(append(Durability::Fsync), ["write 00 12492 +68", "sync 00", "write 00 8192 +64"]);
    assert_eq!(traced(&disk, || journal.sync(Durability::Fsync).unwrap()), Vec::<String>::new());
}

#[test]
fn a_segment_is_sealed_before_the_next_is_used() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default().segment_bytes(FRAMES_AT + 50));
    journal.append(&[7; 36], Durability::Os).unwrap();
    let second = traced(&disk, || assert!(journal.append(&[7; 36], Durability::Fsync).is_ok()));
    let expected = [
        "sync 00",
        "create 01.new",
        "write 01.new 0 +12288",
        "sync 01.new",
        "rename 01.new 01",
        "sync names",
        "write 00 4096 +64",
        "sync 00",
        "write 00 8192 +64",
        "sync 00",
        "write 01 12288 +100",
        "sync 01",
        "write 01 4096 +64",
    ];
    assert_eq!(second, expected);
}

#[test]
fn closing_leaves_nothing_in_doubt() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    journal.append(&[7; 36], Durability::None).unwrap();
    let closing = traced(&disk, || journal.close().unwrap());
    let expected = ["write 00 12288 +68", "sync 00", "write 00 4096 +64", "sync 00", "write 00 8192 +64", "sync 00"];
    assert_eq!(closing, expected);
    let opening = traced(&disk, || drop(open_clean(&disk, &Options::default())));
    assert_eq!(opening, ["sync names"]);
    let reclosing = traced(&disk, || open_clean(&disk, &Options::default()).close().unwrap());
    assert_eq!(reclosing, ["sync names"]);
}

#[test]
fn opening_writes_again_what_may_not_have_been_synced() {
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &Options::default());
    journal.append(&[7; 36], Durability::Fsync).unwrap();
    journal.append(&[7; 36], Durability::Os).unwrap();
    drop(journal);
    let file = disk.open("00000000000000000000.segment", Access::Write).unwrap();
    file.write_full(12424, b"torn").unwrap();
    let opening = traced(&disk, || drop(open(&disk, &Options::default())));
    let expected = ["cut 00 12424", "write 00 12356 +68", "sync 00", "sync names", "write 00 8192 +64"];
    assert_eq!(opening, expected);
}

#[test]
fn opening_completes_a_roll_over() {
    let options = Options::default().segment_bytes(0);
    let disk = SimulatedDisk::new();
    let journal = open_clean(&disk, &options);
    journal.append(&payload(1), Durability::Os).unwrap();
    // The note in the old segment that it is continued: sync, create, write, sync, rename, sync names come before.
    disk.schedule(disk.operations() + 6, Fault::Broken);
    assert!(journal.append(&payload(2), Durability::Os).is_err());
    drop(journal);
    let opening = traced(&disk, || drop(open(&disk, &options)));
    assert_eq!(opening, ["sync names", "write 00 4096 +64", "sync 00", "write 00 8192 +64", "sync 00"]);
}

#[test]
fn opening_takes_away_what_was_never_finished() {
    let disk = written(3, &Options::default());
    disk.put("00000000000000000003.segment.new", b"half");
    disk.put("notes.txt", b"not ours");
    let opening = traced(&disk, || drop(open_clean(&disk, &Options::default())));
    assert_eq!(opening, ["remove 03.new", "sync names"]);
    assert!(disk.names().contains(&"notes.txt".to_owned()));
}

#[test]
fn equal_calls_give_equal_bytes() {
    let write = || {
        let disk = SimulatedDisk::new();
        let (journal, _) = Journal::open(shared(&disk), Options::default().segment_bytes(FRAMES_AT + 300)).unwrap();
        for number in 0..20 {
            let durability = [Durability::None, Durability::Os, Durability::Fsync][number as usize % 3];
            journal.append(&payload(number), durability).unwrap();
        }
        journal.close().unwrap();
        disk.names().into_iter().map(|name| (disk.contents(&name), name)).collect::<Vec<_>>()
    };
    assert_eq!(write(), write());
}
