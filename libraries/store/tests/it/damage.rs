//! Every byte of a small store is flipped, and files are cut: a precise error or the right answer, never a panic or a wrong answer.

use crate::history::{Map, create, numbers, put, read, shared, small, words};
use journal::simulated::SimulatedDisk;
use std::sync::Arc;
use store::{Batch, Durability, OpenError, Snapshot, Store, salvage};

/// Runs of both levels, deletions among them, and batches that are in the log only.
fn written() -> (SimulatedDisk, [Map; 2]) {
    let (disk, store) = create(&small());
    let (words, numbers) = (words(&store), numbers(&store));
    for number in 0..60_u64 {
        let mut batch = put(words, format!("word {number}"), vec![number as u8; 50]);
        batch.put(numbers, (number * 1000).to_be_bytes(), number.to_le_bytes());
        batch.delete(words, format!("word {}", number / 2));
        store.commit(&batch, Durability::Fsync).unwrap();
        if number == 55 {
            store.compact().unwrap();
        }
        if number == 57 {
            store.flush().unwrap();
        }
    }
    let maps = [words, numbers].map(|keyspace| read(&store.snapshot(), keyspace).unwrap());
    let stats = store.snapshot().stats().unwrap();
    assert!(stats.keyspaces.iter().all(|space| !space.base.is_empty() && space.memory_keys > 0), "{stats:?}");
    assert!(stats.keyspaces.iter().any(|space| !space.first.is_empty()));
    drop(store);
    (disk, maps)
}

/// Whether what a snapshot says is right, or an error.
fn is_right_or_told(snapshot: &Snapshot, maps: &[Map; 2], context: &str) -> bool {
    let mut is_told = false;
    for (name, map) in ["words", "numbers"].into_iter().zip(maps) {
        let keyspace = snapshot.keyspace(name).unwrap();
        match read(snapshot, keyspace) {
            Ok(found) => assert!(found == *map, "{context}: a wrong answer"),
            Err(_) => is_told = true,
        }
        for (key, value) in map {
            match snapshot.get(keyspace, key) {
                Ok(found) => assert_eq!(found.as_deref(), Some(&value[..]), "{context}"),
                Err(_) => is_told = true,
            }
        }
    }
    is_told
}

/// Opens for reading, reads everything, verifies. Whether damage was told, by whatever.
fn look(disk: &SimulatedDisk, maps: &[Map; 2], context: &str) -> bool {
    match Store::open_read_only_on(shared(disk)) {
        Ok(snapshot) => {
            let is_told = is_right_or_told(&snapshot, maps, context);
            let is_found = !snapshot.verify().is_empty();
            assert!(is_found || !is_told, "{context}: reading meets damage that verifying does not find");
            is_found
        }
        Err(OpenError::Damaged(_) | OpenError::ReadLog(_) | OpenError::Foreign | OpenError::Version { .. }) => true,
        Err(error) => panic!("{context}: {error}"),
    }
}

#[test]
fn every_flipped_byte_is_told_or_does_not_matter() {
    let (disk, maps) = written();
    assert!(!look(&disk, &maps, "sound"));
    for name in disk.names() {
        let bytes = disk.contents(&name).unwrap();
        let mut unnoticed = 0;
        for offset in 0..bytes.len() as u64 {
            let damaged = disk.duplicate();
            damaged.flip(&name, offset, 1 << (offset % 8));
            if !look(&damaged, &maps, &format!("{name} at byte {offset}")) {
                unnoticed += 1;
            }
        }
        // The padding of a log's first pages is not looked at, and one of its two notes serves for the other.
        assert!(unnoticed == 0 || name.starts_with("log-"), "{name}: {unnoticed} of {} bytes", bytes.len());
    }
}

#[test]
fn a_file_that_is_cut_or_gone_is_told() {
    let (disk, maps) = written();
    for name in disk.names().into_iter().filter(|name| !name.starts_with("log-")) {
        let bytes = disk.contents(&name).unwrap();
        for length in (0..bytes.len()).step_by(97) {
            let damaged = disk.duplicate();
            damaged.put(&name, &bytes[..length]);
            assert!(look(&damaged, &maps, &format!("{name} cut to {length}")));
        }
        let damaged = disk.duplicate();
        journal::Disk::remove(&damaged, &name).unwrap();
        assert!(Store::open_read_only_on(shared(&damaged)).is_err(), "{name} is gone");
    }
}

#[test]
fn a_file_in_the_place_of_another_is_told() {
    let (disk, maps) = written();
    let runs: Vec<String> = disk.names().into_iter().filter(|name| name.ends_with(".run")).collect();
    for (one, other) in runs.iter().flat_map(|one| runs.iter().map(move |other| (one, other))) {
        if one != other {
            let damaged = disk.duplicate();
            damaged.put(one, &disk.contents(other).unwrap());
            assert!(look(&damaged, &maps, &format!("{other} in the place of {one}")));
        }
    }
}

#[test]
fn what_is_whole_is_salvaged() {
    let (disk, maps) = written();
    let saved = |disk: &SimulatedDisk| {
        let (_, to) = create(&small());
        let salvaged = salvage(&shared(disk), &to).unwrap();
        let words = to.snapshot().keyspace("words").map(|found| read(&to.snapshot(), found).unwrap());
        (words.unwrap_or_default(), salvaged.lost)
    };
    let (words, lost) = saved(&disk);
    assert!(words == maps[0] && lost.is_empty(), "{lost:?}");
    for name in disk.names().into_iter().filter(|name| name.ends_with(".run")) {
        let length = disk.contents(&name).unwrap().len() as u64;
        for offset in [10, 5000, length - 300, length - 10] {
            let damaged = disk.duplicate();
            damaged.flip(&name, offset, 1);
            let (_, lost) = saved(&damaged);
            // The first page only says which store it is, and nothing needs it as long as there is a manifest.
            assert!(offset < 4096 || lost.iter().any(|lost| lost.contains(&name)), "{name} at {offset}: {lost:?}");
        }
    }
    let damaged = disk.duplicate();
    damaged.flip("MANIFEST", 30, 1);
    let (_, to) = create(&small());
    let salvaged = salvage(&shared(&damaged), &to).unwrap();
    assert!(salvaged.records > 60 && salvaged.lost[0].contains("MANIFEST"), "{salvaged:?}");
    let numbers = to.snapshot().keyspace("keyspace-1").unwrap();
    assert_eq!(read(&to.snapshot(), numbers).unwrap(), maps[1]);
}

#[test]
fn a_backup_is_a_store_of_its_own() {
    let (disk, store) = create(&small());
    let words = words(&store);
    for number in 0..200_u32 {
        store.commit(&put(words, number.to_be_bytes(), [2; 90]), Durability::Os).unwrap();
    }
    let snapshot = store.snapshot();
    let expected = read(&snapshot, words).unwrap();
    let mut batch = Batch::new();
    (0..200_u32).for_each(|number| batch.delete(words, number.to_be_bytes()));
    store.commit(&batch, Durability::Os).unwrap();
    store.compact().unwrap();
    let backup = SimulatedDisk::new();
    snapshot.backup_to(&backup).unwrap();
    assert!(snapshot.backup_to(&backup).is_err(), "it is not empty");
    let copy = Store::open_on(shared(&backup), small()).unwrap();
    assert_eq!(read(&copy.snapshot(), words).unwrap(), expected);
    for number in 0..100_u32 {
        copy.commit(&put(words, number.to_be_bytes(), "new"), Durability::Os).unwrap();
    }
    copy.compact().unwrap();
    assert!(copy.snapshot().verify().is_empty());
    let survivor = backup.power_loss(journal::simulated::Fate::Drop, 1);
    let again = Store::open_read_only_on(Arc::new(survivor)).unwrap();
    assert_eq!(read(&again, words).unwrap().len(), 200, "what was backed up is durable");
    drop(disk);
}
