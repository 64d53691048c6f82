//! What does not depend on the machine: what ran, and what was written. A count that breaks its promise ends the suite.

use super::sheets::{Ours, Shape, Sheet, functions};
use super::waves::plain;
use super::{Failure, PAGE_BYTES, SUITE, images};
use crate::row::{Ratio, Row};
use crate::{Plan, Rows};
use journal::simulated::SimulatedDisk;
use journal::{Durability, MemoryDisk};
use reactive::{Options, SharedState, State, Statistics, Transaction};
use std::error::Error;
use std::sync::{Arc, Barrier};
use std::time::Duration;

pub(super) fn rows(_: &Plan) -> Rows {
    let ran = |shape, image: &[u8]| last(shape, image).map(|statistics| statistics.ran);
    let image = &images(PAGE_BYTES)[0];
    let even: Vec<u8> = image.iter().map(|byte| byte & !1).collect();
    let rows = [
        exact("functions run, chain of 1,000", ran(Shape::Chain(1_000), image), 999, "functions"),
        exact("functions run, fan-out of 1,000", ran(Shape::Fan(1_000), image), 1_000, "functions"),
        exact("functions run, 32 diamonds", ran(Shape::Diamonds(32), image), 96, "functions"),
        exact("functions run, cut off before a chain of 1,000", ran(Shape::CutOff(1_000), &even), 1, "functions"),
        exact("functions run, bytes that are there already", again().map(|statistics| statistics.ran), 0, "functions"),
        exact(
            "bytes logged, bytes that are there already",
            again().map(|statistics| statistics.bytes_logged),
            0,
            "bytes",
        ),
        exact("bytes logged, ten bytes in the first of 1,000 pages", sparse(), 52, "bytes"),
        at_most("fsyncs, 64 commits of 64 threads in one group", syncs(), 2, "fsyncs"),
    ];
    rows.into_iter().collect()
}

fn exact(name: &str, counted: Result<u64, Failure>, expected: u64, unit: &'static str) -> Result<Row, Box<dyn Error>> {
    let counted = counted.map_err(plain)?;
    if counted != expected {
        return Err(format!("{name}: {counted}, but {expected} is the promise").into());
    }
    Ok(row(name, counted, expected, unit, "an exact count, the same on every machine"))
}

/// A row of a count that may be lower where threads meet.
fn at_most(name: &str, counted: Result<u64, Failure>, most: u64, unit: &'static str) -> Result<Row, Box<dyn Error>> {
    let counted = counted.map_err(plain)?;
    if counted > most || counted == 0 {
        return Err(format!("{name}: {counted}, but 1 to {most} is the promise").into());
    }
    Ok(row(name, counted, most, unit, "a count that the peer bounds; it depends on how threads meet"))
}

fn row(name: &str, counted: u64, expected: u64, unit: &'static str, note: &str) -> Row {
    let ratio = (counted > 0).then(|| expected as f64 / counted as f64);
    Row {
        suite: SUITE,
        case: name.to_owned(),
        n: 1,
        ours: Some(counted as f64),
        peer: "what there is to do",
        peer_figure: Some(expected as f64),
        ratio: ratio.map(|ratio| Ratio { median: ratio, min: ratio, max: ratio }),
        rounds: 1,
        unit: Some(unit),
        note: note.to_owned(),
    }
}

/// What a write to a sheet comes to.
fn last(shape: Shape, image: &[u8]) -> Result<Statistics, Failure> {
    let mut sheet = Ours::new(shape)?;
    let before = sheet.state.statistics().ran;
    sheet.write(image)?;
    let mut statistics = sheet.state.statistics();
    statistics.ran -= before;
    Ok(statistics)
}

/// A write of what is there.
fn again() -> Result<Statistics, Failure> {
    let disk = Arc::new(MemoryDisk::new());
    let mut sheet = Ours::of(State::create(disk, functions(), Options::default()), Shape::Chain(10))?;
    let image = &images(PAGE_BYTES)[0];
    sheet.write(image)?;
    let mut transaction = Transaction::new();
    transaction.write(sheet.first, 0, image);
    Ok(sheet.state.commit(&transaction)?.statistics)
}

/// How often 64 threads that commit at once wait for a disk that takes its time: the first for itself, all others together.
fn syncs() -> Result<u64, Failure> {
    const WRITERS: usize = 64;
    let disk = Arc::new(SimulatedDisk::new());
    let options = Options::default().durability(Durability::Fsync);
    let mut state = State::create(disk.clone(), functions(), options);
    let mut create = Transaction::new();
    create.create(&[0; PAGE_BYTES]);
    let page = state.commit(&create)?.created[0];
    disk.delay_syncs(Duration::from_millis(500));
    let (before, shared, ready) = (disk.syncs(), SharedState::new(state), Barrier::new(WRITERS));
    std::thread::scope(|scope| {
        let commit = |writer: usize| {
            let mut transaction = Transaction::new();
            transaction.write(page, 8 * writer, &[1]);
            ready.wait();
            shared.commit(&transaction).map(|_| ())
        };
        let threads: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || commit(writer))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a writer does not panic"))
    })?;
    Ok(disk.syncs() - before)
}

/// The bytes that a small write logs.
fn sparse() -> Result<u64, Failure> {
    let disk = Arc::new(MemoryDisk::new());
    let mut sheet = Ours::of(State::create(disk, functions(), Options::default()), Shape::Chain(1_000))?;
    let mut transaction = Transaction::new();
    transaction.write(sheet.first, 0, &[1; 10]);
    Ok(sheet.state.commit(&transaction)?.statistics.bytes_logged)
}
