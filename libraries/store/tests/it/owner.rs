//! A store that is driven by its owner's journal: it writes no log, and after a crash the owner commits again what is missing.

use crate::history::{Map, numbers, read, shared, small};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use std::sync::Arc;
use store::{Batch, Durability, KeyShape, Log, Maintenance, Options, Store, WriteError};

const BATCHES: u64 = 60;

fn options() -> Options {
    small().log(Log::Owners)
}

/// The batch of a number, as an owner reads it from its journal.
fn batch(store: &Store, number: u64) -> Result<Batch, WriteError> {
    let keyspace = store.keyspace("numbers", KeyShape::Fixed(8))?;
    let mut batch = Batch::new();
    batch.put(keyspace, (number % 13).to_be_bytes(), vec![number as u8; 90]);
    batch.put(keyspace, (number << 32).to_be_bytes(), number.to_le_bytes());
    batch.delete(keyspace, ((number / 2) << 32).to_be_bytes());
    Ok(batch)
}

/// What there is after `count` batches.
fn state(count: u64) -> Map {
    let mut map = Map::new();
    for number in 1..=count {
        map.insert((number % 13).to_be_bytes().to_vec(), vec![number as u8; 90]);
        map.insert((number << 32).to_be_bytes().to_vec(), number.to_le_bytes().to_vec());
        map.remove(&((number / 2) << 32).to_be_bytes()[..]);
    }
    map
}

/// Commits what is missing; how many batches the store knew.
fn carry_on(store: &Store, until: u64) -> Result<u64, WriteError> {
    let known = store.snapshot().sequence();
    for number in known + 1..=until {
        assert_eq!(store.commit(&batch(store, number)?, Durability::None)?, number);
    }
    Ok(known)
}

#[test]
fn it_writes_no_log_and_says_where_the_owner_goes_on() {
    let disk = SimulatedDisk::new();
    let store = Store::create_on(shared(&disk), options()).unwrap();
    carry_on(&store, BATCHES).unwrap();
    assert_eq!(read(&store.snapshot(), numbers(&store)).unwrap(), state(BATCHES));
    assert!(disk.names().iter().all(|name| !name.starts_with("log-")), "{:?}", disk.names());
    drop(store);
    let store = Store::open_on(shared(&disk), options()).unwrap();
    let known = carry_on(&store, BATCHES).unwrap();
    assert!(known > 0 && known < BATCHES, "{known} were in runs");
    assert_eq!(read(&store.snapshot(), numbers(&store)).unwrap(), state(BATCHES));
    store.close().unwrap();
    let store = Store::open_on(shared(&disk), options()).unwrap();
    assert_eq!(carry_on(&store, BATCHES).unwrap(), BATCHES, "closing writes everything");
}

#[test]
fn it_cannot_make_a_batch_durable() {
    let disk = SimulatedDisk::new();
    let store = Store::create_on(shared(&disk), options()).unwrap();
    for durability in [Durability::Os, Durability::Fsync] {
        let error = store.commit(&batch(&store, 1).unwrap(), durability).unwrap_err();
        assert!(error.to_string().contains("the store has no log of its own"), "{error}");
    }
    assert_eq!(store.snapshot().sequence(), 0, "nothing was written");
    carry_on(&store, 1).expect("and the store goes on");
}

#[test]
fn whatever_crashes_the_owner_can_go_on() {
    let run = |disk: &SimulatedDisk| -> Result<(), WriteError> {
        let Ok(store) = Store::create_on(shared(disk), options()) else { return Ok(()) };
        carry_on(&store, BATCHES)?;
        store.compact()
    };
    let whole = SimulatedDisk::new();
    run(&whole).unwrap();
    for operation in 0..whole.operations() {
        for fault in [Fault::PowerLoss, Fault::Broken] {
            let disk = SimulatedDisk::new();
            disk.schedule(operation, fault);
            // Whatever fails, what is left counts.
            let _ = run(&disk);
            let survivor = disk.power_loss(Fate::Torn, operation);
            let opened = Store::open_on(shared(&survivor), options());
            let store = match opened {
                Err(store::OpenError::Absent) => Store::create_on(shared(&SimulatedDisk::new()), options()).unwrap(),
                opened => opened.unwrap(),
            };
            let (keyspace, known) = (numbers(&store), store.snapshot().sequence());
            assert_eq!(read(&store.snapshot(), keyspace).unwrap(), state(known), "operation {operation}");
            carry_on(&store, BATCHES).unwrap();
            assert_eq!(read(&store.snapshot(), keyspace).unwrap(), state(BATCHES), "operation {operation}");
        }
    }
}

/// A store with a log of its own can be handed to an owner, and back.
#[test]
fn who_keeps_the_log_may_change() {
    let disk = SimulatedDisk::new();
    let own = || small().maintenance(Maintenance::Inline);
    let all: Arc<dyn journal::Disk> = shared(&disk);
    let store = Store::create_on(all.clone(), own()).unwrap();
    carry_on(&store, 17).unwrap();
    drop(store);
    let store = Store::open_on(all.clone(), options()).unwrap();
    assert_eq!(carry_on(&store, 40).unwrap(), 17, "the log of its own was read");
    store.close().unwrap();
    let store = Store::open_on(all.clone(), own()).unwrap();
    assert_eq!(carry_on(&store, BATCHES).unwrap(), 40);
    drop(store);
    let store = Store::open_on(all, own()).unwrap();
    assert_eq!(store.snapshot().sequence(), BATCHES);
    assert_eq!(read(&store.snapshot(), numbers(&store)).unwrap(), state(BATCHES));
}
