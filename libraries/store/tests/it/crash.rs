//! The power fails at every operation of a scripted run, or the operation fails. What opens then is a prefix of the batches, each whole,
//! that holds every one acknowledged as durable: no error, no panic, no wrong answer.

use crate::history::{Map, numbers, read, shared, small, words};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use std::collections::BTreeMap;
use store::{Batch, Durability, KeyShape, Keyspace, Maintenance, Options, Store, WriteError};

const BATCHES: u64 = 70;
const SEEDS: u64 = 2;

/// What both keyspaces hold after a batch.
type State = (Map, Map);

/// The changes of a batch: new keys, replaced ones, deleted ones, in both keyspaces.
fn changes(number: u64) -> BTreeMap<(bool, Vec<u8>), Option<Vec<u8>>> {
    let mut changes = BTreeMap::new();
    let value = |length: u64| vec![number as u8; length as usize];
    changes.insert((false, b"count".to_vec()), Some(number.to_be_bytes().to_vec()));
    changes.insert((false, format!("word {}", number % 17).into_bytes()), Some(value(number * 7 % 150)));
    changes.insert((true, (number % 23).to_be_bytes().to_vec()), Some(value(60)));
    changes.insert((true, (number << 32).to_be_bytes().to_vec()), Some(value(40)));
    changes.insert((true, ((number / 2) << 32).to_be_bytes().to_vec()), (!number.is_multiple_of(3)).then(|| value(3)));
    changes.insert((false, format!("word {}", (number + 5) % 17).into_bytes()), None);
    changes
}

/// What there is after each number of batches.
fn states() -> Vec<State> {
    let mut state = State::default();
    let mut states = vec![state.clone()];
    for number in 1..=BATCHES {
        for ((is_number, key), value) in changes(number) {
            let map = if is_number { &mut state.1 } else { &mut state.0 };
            match value {
                Some(value) => map.insert(key, value),
                None => map.remove(&key),
            };
        }
        states.push(state.clone());
    }
    states
}

/// Runs the script until something fails; how many batches were acknowledged as durable.
fn script(disk: &SimulatedDisk) -> u64 {
    script_with(disk, small())
}

fn script_with(disk: &SimulatedDisk, options: Options) -> u64 {
    let mut acknowledged = 0;
    // Whatever fails, the count is what matters.
    let _ = run(disk, options, &mut acknowledged);
    acknowledged
}

fn run(disk: &SimulatedDisk, options: Options, acknowledged: &mut u64) -> Result<(), WriteError> {
    let Ok(store) = Store::create_on(shared(disk), options) else { return Ok(()) };
    let words = store.keyspace("words", KeyShape::Bytes)?;
    let numbers = store.keyspace("numbers", KeyShape::Fixed(8))?;
    for number in 1..=BATCHES {
        let durability = [Durability::None, Durability::Os, Durability::Fsync][(number % 3) as usize];
        store.commit(&batch(words, numbers, number), durability)?;
        if durability == Durability::Fsync {
            *acknowledged = number;
        }
        if number == BATCHES / 2 {
            store.compact()?;
        }
    }
    store.close()?;
    *acknowledged = BATCHES;
    Ok(())
}

fn batch(words: Keyspace, numbers: Keyspace, number: u64) -> Batch {
    let mut batch = Batch::new();
    for ((is_number, key), value) in changes(number) {
        let keyspace = if is_number { numbers } else { words };
        match value {
            Some(value) => batch.put(keyspace, key, value),
            None => batch.delete(keyspace, key),
        }
    }
    batch
}

/// Opens what is left, compares it with the prefix that it says it is, and goes on with it.
fn check(disk: &SimulatedDisk, acknowledged: u64, states: &[State], context: &str) {
    let store = match Store::open_on(shared(disk), small()) {
        Ok(store) => store,
        Err(store::OpenError::Absent) => return assert_eq!(acknowledged, 0, "{context}: there is no store"),
        Err(error) => panic!("{context}: {error}"),
    };
    let snapshot = store.snapshot();
    let of = |name: &str| snapshot.keyspace(name).map_or_else(Map::new, |found| read(&snapshot, found).unwrap());
    let found = (of("words"), of("numbers"));
    let count = found.0.get(&b"count"[..]).map_or(0, |count| u64::from_be_bytes(count[..].try_into().unwrap()));
    assert!(count >= acknowledged, "{context}: {count} of {acknowledged} batches are there");
    assert!(found == states[count as usize], "{context}: not a prefix of {count} batches");
    assert!(snapshot.verify().is_empty(), "{context}");
    drop(snapshot);
    let (words, numbers) = (words(&store), numbers(&store));
    let next = batch(words, numbers, count + 1);
    store.commit(&next, Durability::Fsync).unwrap();
    drop(store);
    let store = Store::open_on(shared(disk), small()).unwrap();
    let found = store.get(words, "count").unwrap().unwrap();
    assert_eq!(found[..], (count + 1).to_be_bytes(), "{context}: a commit after the crash is kept");
}

/// How many operations the script takes.
fn operations() -> u64 {
    let disk = SimulatedDisk::new();
    assert_eq!(script(&disk), BATCHES);
    disk.operations()
}

#[test]
fn the_script_meets_everything() {
    let disk = SimulatedDisk::new();
    assert_eq!(script(&disk), BATCHES);
    let trace = disk.trace();
    for wanted in
        ["create k0-f", "create k1-f", "create k0-c1", "create k1-c1", "rename MANIFEST.new", "remove log-", "remove k"]
    {
        assert!(trace.iter().filter(|line| line.starts_with(wanted)).count() > 0, "{wanted}");
    }
    check(&disk, BATCHES, &[states(), vec![State::default()]].concat(), "no crash");
}

#[test]
fn a_prefix_survives_a_power_loss_at_every_operation() {
    let states = states();
    for operation in 0..operations() {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = script(&disk);
        for fate in Fate::ALL {
            let seeds = if matches!(fate, Fate::Keep | Fate::Drop) { 1 } else { SEEDS };
            for seed in 0..seeds {
                let survivor = disk.power_loss(fate, operation ^ seed << 32);
                check(&survivor, acknowledged, &states, &format!("operation {operation}, {fate:?}, seed {seed}"));
            }
        }
    }
}

#[test]
fn a_failing_operation_poisons_and_loses_nothing() {
    let states = states();
    for (operation, fault) in
        (0..operations()).flat_map(|operation| [(operation, Fault::Broken), (operation, Fault::Full)])
    {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, fault);
        let acknowledged = script(&disk);
        let context = format!("operation {operation}, {fault:?}");
        let lost = disk.power_loss(Fate::Drop, operation);
        check(&lost, acknowledged, &states, &context);
        check(&disk, acknowledged, &states, &context);
    }
}

/// With threads the operations come in another order each time, and what is promised is the same.
#[test]
fn whatever_fails_in_a_thread_loses_nothing() {
    let states = states();
    let threads = small().maintenance(Maintenance::Background);
    for operation in (0..operations()).step_by(3) {
        for fault in [Fault::Broken, Fault::Full, Fault::PowerLoss] {
            let disk = SimulatedDisk::new();
            disk.schedule(operation, fault);
            let acknowledged = script_with(&disk, threads.clone());
            let survivor = disk.power_loss(Fate::Reordered, operation);
            check(&survivor, acknowledged, &states, &format!("operation {operation}, {fault:?}, threads"));
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged() {
    let disk = SimulatedDisk::new();
    let store = Store::create_on(shared(&disk), small()).unwrap();
    let (words, numbers) = (words(&store), numbers(&store));
    store.commit(&batch(words, numbers, 1), Durability::Fsync).unwrap();
    // A commit is a write, and then a sync.
    disk.schedule(disk.operations() + 1, Fault::Broken);
    assert!(store.commit(&batch(words, numbers, 2), Durability::Fsync).is_err());
    for durability in [Durability::None, Durability::Os, Durability::Fsync] {
        let error = store.commit(&batch(words, numbers, 3), durability).unwrap_err();
        assert!(matches!(error, WriteError::Refused(_)), "{error}");
        assert!(error.to_string().contains("open it again"), "{error}");
    }
    assert!(store.flush().is_err() && store.compact().is_err());
    let survivor = disk.power_loss(Fate::Drop, 0);
    let store = Store::open_on(shared(&survivor), small()).unwrap();
    assert_eq!(store.get(words, "count").unwrap().unwrap()[..], 1_u64.to_be_bytes());
}
