//! The power fails at every operation of a scripted run, and what was on its way is kept, dropped, torn or reordered.
//! What opens then is a prefix that holds every acknowledged frame: no error, no panic, no wrong answer.

use crate::history::{open, payload, read_all, shared, short_segments};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{AppendError, Durability, FRAMES_AT, Journal, OpenError, Options, SyncError, verify};

const SEEDS: u64 = 4;

/// Runs until something fails or the script ends; how many frames were acknowledged as durable, by whatever means.
pub(crate) fn script(disk: &SimulatedDisk, options: &Options) -> u64 {
    let mut acknowledged = 0;
    // Whatever fails, the count is what matters.
    let _ = run(disk, options, &mut acknowledged);
    acknowledged
}

/// Any failure of the journal.
#[derive(Debug)]
#[allow(dead_code, reason = "shown by a test that fails")]
pub(crate) enum Broken {
    Open(OpenError),
    Append(AppendError),
    Sync(SyncError),
}

/// Two sittings: frames of all levels, a batch across segments, a frame longer than a segment, frames taken to the disk beside the writer, an
/// end without closing.
pub(crate) fn run(disk: &SimulatedDisk, options: &Options, acknowledged: &mut u64) -> Result<(), Broken> {
    let journal = sitting(disk, options)?;
    for number in 0..6 {
        let durability = [Durability::None, Durability::Os, Durability::Fsync][number as usize % 3];
        append(&journal, number, durability, acknowledged)?;
    }
    journal.close().map_err(Broken::Sync)?;
    let journal = sitting(disk, options)?;
    // What was opened is durable.
    *acknowledged = journal.progress().appended;
    let batch: Vec<Vec<u8>> = (6..12).map(scripted).collect();
    journal.append_all(&batch, Durability::Fsync).map_err(Broken::Append)?;
    *acknowledged = 12;
    for number in 12..14 {
        append(&journal, number, Durability::Os, acknowledged)?;
        journal.write_back().map_err(Broken::Sync)?;
        *acknowledged = number + 1;
    }
    append(&journal, 14, Durability::Os, acknowledged)?;
    journal.sync(Durability::Fsync).map_err(Broken::Sync)?;
    *acknowledged = 15;
    for number in 15..18 {
        append(&journal, number, Durability::Os, acknowledged)?;
    }
    Ok(())
}

/// The frames of the script: as everywhere, but one is long.
pub(crate) fn scripted(number: u64) -> Vec<u8> {
    if number == 9 { vec![9; 1500] } else { payload(number) }
}

fn sitting(disk: &SimulatedDisk, options: &Options) -> Result<Journal, Broken> {
    let (journal, _) = Journal::open(shared(disk), options.clone()).map_err(Broken::Open)?;
    Ok(journal)
}

fn append(journal: &Journal, number: u64, durability: Durability, acknowledged: &mut u64) -> Result<(), Broken> {
    journal.append(&scripted(number), durability).map_err(Broken::Append)?;
    if durability == Durability::Fsync {
        *acknowledged = number + 1;
    }
    Ok(())
}

/// How many operations the script takes when nothing fails.
pub(crate) fn operations(options: &Options) -> u64 {
    let disk = SimulatedDisk::new();
    assert_eq!(script(&disk, options), 15);
    disk.operations()
}

/// Options under which different things happen: short segments, one frame a segment, one segment for all; the first and the last with room
/// as well.
pub(crate) fn every_options() -> [Options; 5] {
    let (short, all) = (short_segments(), Options::default());
    [short.clone(), short.room_bytes(300), Options::default().segment_bytes(0), all.clone(), all.room_bytes(500)]
}

/// Opens what a crash left; the number of frames. They are a prefix of the script and hold what was acknowledged.
fn check(disk: &SimulatedDisk, options: &Options, acknowledged: u64, context: &str) -> u64 {
    let seen = if disk.names().is_empty() { Vec::new() } else { read_if_begun(disk) };
    let (journal, _) = open(disk, options);
    let found = read_all(disk);
    let expected: Vec<Vec<u8>> = (0..found.len() as u64).map(scripted).collect();
    assert_eq!(found, expected, "{context}: not a prefix");
    assert_eq!(found, seen, "{context}: a reader saw something else than opening found");
    assert!(found.len() as u64 >= acknowledged, "{context}: {} frames of {acknowledged}", found.len());
    drop(journal);
    found.len() as u64
}

/// What a reader sees before anybody has mended anything.
fn read_if_begun(disk: &SimulatedDisk) -> Vec<Vec<u8>> {
    let has_segments = disk.names().iter().any(|name| name.ends_with(".segment"));
    if has_segments { read_all(disk) } else { Vec::new() }
}

/// Goes on after a crash as if nothing had happened.
fn go_on(disk: &SimulatedDisk, options: &Options, frames: u64, context: &str) {
    let (journal, warnings) = open(disk, options);
    assert_eq!(warnings, [], "{context}: opening mends once");
    for number in frames..frames + 4 {
        journal.append(&scripted(number), Durability::Fsync).unwrap();
    }
    drop(journal);
    let survivor = disk.power_loss(Fate::Drop, 0);
    assert_eq!(check(&survivor, options, frames + 4, context), frames + 4);
    let report = verify(shared(&survivor)).unwrap();
    assert!(report.is_sound(), "{context}: {report:?}");
}

#[test]
fn power_loss_at_every_operation_leaves_an_acknowledged_prefix() {
    for options in every_options() {
        for operation in 0..=operations(&options) {
            let disk = SimulatedDisk::new();
            disk.schedule(operation, Fault::PowerLoss);
            let acknowledged = script(&disk, &options);
            for (fate, seed) in Fate::ALL.into_iter().flat_map(|fate| (0..SEEDS).map(move |seed| (fate, seed))) {
                let context = format!("{options:?}, operation {operation}, {fate:?}, seed {seed}");
                let survivor = disk.power_loss(fate, seed * 1_000_003 + operation);
                let frames = check(&survivor, &options, acknowledged, &context);
                go_on(&survivor, &options, frames, &context);
            }
        }
    }
}

#[test]
fn power_loss_while_recovering_changes_nothing() {
    let options = short_segments();
    for operation in (0..=operations(&options)).step_by(3) {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = script(&disk, &options);
        for fate in [Fate::Torn, Fate::Reordered] {
            let crashed = disk.power_loss(fate, operation);
            let frames = check(&crashed.duplicate(), &options, acknowledged, "the first recovery");
            let whole = crashed.duplicate();
            drop(open(&whole, &options));
            for again in 0..whole.operations() {
                let interrupted = crashed.duplicate();
                interrupted.schedule(again, Fault::PowerLoss);
                assert!(Journal::open(shared(&interrupted), options.clone()).is_err());
                let context = format!("operation {operation}, {fate:?}, recovery stopped at {again}");
                let survivor = interrupted.power_loss(Fate::Reordered, again);
                assert_eq!(check(&survivor, &options, acknowledged, &context), frames, "{context}");
            }
        }
    }
}

/// A program that dies leaves what it wrote to the system; a power loss after the next opening must not undo it.
#[test]
fn what_a_reopened_journal_shows_is_durable() {
    let options = Options::default().segment_bytes(FRAMES_AT + 600);
    for operation in 0..operations(&options) {
        for fault in [Fault::Broken, Fault::Full] {
            let disk = SimulatedDisk::new();
            disk.schedule(operation, fault);
            let acknowledged = script(&disk, &options);
            let context = format!("operation {operation}, {fault:?}");
            let frames = check(&disk, &options, acknowledged, &context);
            for fate in Fate::ALL {
                let survivor = disk.power_loss(fate, operation);
                assert_eq!(check(&survivor, &options, frames, &context), frames, "{context}, then {fate:?}");
            }
        }
    }
}
