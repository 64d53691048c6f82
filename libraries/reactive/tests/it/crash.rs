//! The power fails, or the disk refuses, at every operation of a scripted run with checkpoints. What opens is the state after some commit,
//! no earlier than the last one that was acknowledged.

use crate::board::{functions, sum};
use journal::Durability;
use journal::simulated::{Fate, Fault, SimulatedDisk};
use reactive::{Epoch, Options, State, Transaction};
use std::sync::Arc;

fn options() -> Options {
    let journal = journal::Options::default().segment_bytes(2_000);
    Options::default().durability(Durability::Fsync).log_hashes(true).journal(journal)
}

/// Two sittings with checkpoints; the last epoch that was acknowledged, and the hash after each.
fn script(disk: &Arc<SimulatedDisk>, hashes: &mut Vec<u128>) -> Epoch {
    let mut acknowledged = 0;
    // Whatever fails, what was acknowledged is what matters.
    let _ = run(disk, hashes, &mut acknowledged);
    acknowledged
}

fn run(
    disk: &Arc<SimulatedDisk>,
    hashes: &mut Vec<u128>,
    acknowledged: &mut Epoch,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut state = State::create(disk.clone(), functions(), options());
    hashes.push(state.state_hash());
    let mut transaction = Transaction::new();
    let sources = [transaction.create(&[1; 40]), transaction.create(&[2; 40])];
    transaction.derive(40, sum(), sources);
    for round in 0..14_u8 {
        if round == 7 {
            drop(state);
            state = State::open(disk.clone(), functions(), options())?.0;
        }
        let commit = state.commit(&transaction)?;
        *acknowledged = commit.epoch;
        hashes.push(state.state_hash());
        if round % 4 == 2 {
            state.checkpoint()?;
        }
        let first = state.pages().next().expect("there are pages");
        transaction = Transaction::new().source("a script");
        transaction.write(first, usize::from(round), &[round + 10; 20]);
        let made = transaction.create(&[round]);
        transaction.delete(made);
    }
    Ok(())
}

fn operations() -> u64 {
    let disk = Arc::new(SimulatedDisk::new());
    assert_eq!(script(&disk, &mut Vec::new()), 14);
    disk.operations()
}

/// Opens what is left, goes on, and opens that.
fn check(survivor: SimulatedDisk, hashes: &[u128], acknowledged: Epoch, context: &str) {
    let survivor = Arc::new(survivor);
    let (mut state, _) =
        State::open(survivor.clone(), functions(), options()).unwrap_or_else(|error| panic!("{context}: {error}"));
    let epoch = state.epoch();
    assert!(epoch >= acknowledged, "{context}: commit {epoch} of {acknowledged}");
    // A commit that was under way may be there; its hash is known only if it was made.
    if let Some(&hash) = hashes.get(epoch as usize) {
        assert_eq!(state.state_hash(), hash, "{context}: after commit {epoch}");
    }
    let mut transaction = Transaction::new();
    transaction.create(b"after the crash");
    assert_eq!(state.commit(&transaction).unwrap().epoch, epoch + 1, "{context}");
    let hash = state.state_hash();
    drop(state);
    let (mut state, warnings) = State::open(survivor, functions(), options()).unwrap();
    assert!(warnings.is_empty(), "{context}: {warnings:?}");
    assert_eq!(state.state_hash(), hash, "{context}");
}

#[test]
fn power_loss_at_every_operation_leaves_an_acknowledged_commit() {
    for operation in 0..=operations() {
        let disk = Arc::new(SimulatedDisk::new());
        disk.schedule(operation, Fault::PowerLoss);
        let mut hashes = Vec::new();
        let acknowledged = script(&disk, &mut hashes);
        for (seed, fate) in Fate::ALL.into_iter().enumerate() {
            let survivor = disk.power_loss(fate, seed as u64 * 1_000_003 + operation);
            check(survivor, &hashes, acknowledged, &format!("operation {operation}, {fate:?}"));
        }
    }
}

#[test]
fn failed_append_leaves_memory_unchanged() {
    for fault in [Fault::Broken, Fault::Full] {
        for operation in 0..operations() {
            let disk = Arc::new(SimulatedDisk::new());
            disk.schedule(operation, fault);
            let mut hashes = Vec::new();
            let acknowledged = script(&disk, &mut hashes);
            check(
                disk.power_loss(Fate::Keep, operation),
                &hashes,
                acknowledged,
                &format!("operation {operation}, {fault:?}"),
            );
        }
    }
}

#[test]
fn a_log_that_failed_refuses_every_later_commit() {
    let disk = Arc::new(SimulatedDisk::new());
    let mut state = State::create(disk.clone(), functions(), options());
    let page = crate::board::create(&mut state, &[0; 8]);
    disk.schedule(disk.operations(), Fault::Broken);
    for value in 1..4 {
        let mut transaction = Transaction::new();
        transaction.write(page, 0, &[value]);
        assert!(state.commit(&transaction).is_err());
        assert_eq!((state.epoch(), state.read(page)), (1, Some(&[0; 8][..])));
    }
}
