//! The workloads of the MMSB performance investigation, beside the figures that it published: `cargo run --release -p metroon-reactive
//! --example report [FOLDER]`. The logs lie in the folder, which is emptied.
//!
//! The published figures are of another machine, and most are single samples; `docs/benchmarks.md` has comparisons that are measured side by
//! side. Each line is the median, and the 99th percentile, of as many executions as it says. A commit is handed to the system, not to the disk.

use journal::{Directory, Durability};
use reactive::{Functions, NewPage, Options, PageId, State, Transaction};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Failure = Box<dyn Error + Send + Sync>;

const PAGE_BYTES: usize = 1 << 10;
/// What the report calls a page of 1 MB.
const LARGE_BYTES: usize = 262_144;

fn main() -> Result<(), Failure> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = given.unwrap_or_else(|| std::env::temp_dir().join(format!("report-{}", std::process::id())));
    writeln!(std::io::stdout(), "{:<58} {:>10} {:>10} {:>12}", "", "median", "p99", "published")?;
    begin(&folder)?;
    for (name, pages, deltas, bytes, published) in [
        ("one page, ten bytes (delta/cpu_sparse)", 1, 1, 10, 22_400),
        ("one page, all bytes (delta/cpu_dense)", 1, 1, PAGE_BYTES, 31_600),
        ("one hop (single_hop)", 2, 1, PAGE_BYTES, 169_500),
        ("a chain of 10 (chain_10)", 10, 1, PAGE_BYTES, 1_366_000),
        ("a chain of 32, 4 deltas (batch_32x4)", 32, 4, PAGE_BYTES, 4_024_000),
        ("a chain of 128, 2 deltas (batch_128x2)", 128, 2, PAGE_BYTES, 19_393_000),
    ] {
        chain(&folder, name, (pages, PAGE_BYTES), (deltas, bytes), published)?;
    }
    chain(&folder, "one page of 256 KiB, 256 bytes (delta/gpu_sparse)", (1, LARGE_BYTES), (1, 256), 3_893_000)?;
    chain(&folder, "one page of 256 KiB, all bytes (delta/gpu_dense)", (1, LARGE_BYTES), (1, LARGE_BYTES), 4_020_000)?;
    checkpoint(&folder)?;
    replay(&folder)?;
    typical(&folder)?;
    pipeline(&folder)?;
    empty(&folder);
    Ok(())
}

fn empty(folder: &Path) {
    // What is not there need not be removed; what cannot be is found when a state is made.
    let _ = std::fs::remove_dir_all(folder);
}

fn fresh(folder: &Path) -> Result<State, Failure> {
    empty(folder);
    Ok(State::create(Arc::new(Directory::create(folder)?), Functions::new(), options()))
}

fn options() -> Options {
    Options::default().threads(1).durability(Durability::Os)
}

/// An image that differs in each byte from the one before.
fn image(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|place| (number.wrapping_mul(151) + place.wrapping_mul(31)) as u8).collect()
}

/// Times executions of something, and says what was published for it in nanoseconds.
fn timed(
    name: &str,
    times: usize,
    published: u64,
    mut run: impl FnMut(usize) -> Result<Duration, Failure>,
) -> Result<(), Failure> {
    for number in 0..times / 10 {
        run(number)?;
    }
    let mut took = (0..times).map(|number| run(times / 10 + number)).collect::<Result<Vec<_>, _>>()?;
    took.sort_unstable();
    let at = |part: usize| took[(times * part / 100).min(times - 1)].as_nanos() as f64 / 1_000.0;
    writeln!(
        std::io::stdout(),
        "{name:<58} {:>7.2} µs {:>7.2} µs {:>9.2} µs  {:>6.0} times",
        at(50),
        at(99),
        published as f64 / 1_000.0,
        published as f64 / 1_000.0 / at(50)
    )?;
    Ok(())
}

/// What the report calls allocation: a state that has a log, and a page of 1 KiB.
fn begin(folder: &Path) -> Result<(), Failure> {
    empty(folder);
    timed("a state with a log in a folder", 20_000, 6_090, |_| {
        let begun = Instant::now();
        let state = State::create_in(folder, Functions::new(), options());
        drop(std::hint::black_box(state));
        Ok(begun.elapsed())
    })?;
    let content = image(0, PAGE_BYTES);
    timed("and a transaction that makes a page (allocation)", 20_000, 6_090, |_| {
        let begun = Instant::now();
        let state = State::create_in(folder, Functions::new(), options());
        let mut transaction = Transaction::new();
        transaction.create(&content);
        drop(std::hint::black_box((state, transaction)));
        Ok(begun.elapsed())
    })?;
    timed("a state whose folder is made and locked at once", 200, 6_090, |_| {
        empty(folder);
        let begun = Instant::now();
        let mut state = State::create_in(folder, Functions::new(), options());
        state.claim()?;
        drop(state);
        Ok(begun.elapsed())
    })?;
    timed("a state, a page and its commit, with the folder and the log's file", 200, 6_090, |_| {
        empty(folder);
        let begun = Instant::now();
        let mut state = State::create_in(folder, Functions::new(), options());
        let mut transaction = Transaction::new();
        transaction.create(&content);
        state.commit(&transaction)?;
        drop(state);
        Ok(begun.elapsed())
    })
}

/// Pages each of which is a copy of the one before.
fn chained(state: &mut State, pages: usize, length: usize) -> Result<Vec<PageId>, Failure> {
    let mut transaction = Transaction::new();
    let mut last: NewPage = transaction.create(&vec![0; length]);
    for _ in 1..pages {
        last = transaction.derive(length, Functions::passthrough(), [last]);
    }
    Ok(state.commit(&transaction)?.created)
}

fn chain(
    folder: &Path,
    name: &str,
    (pages, length): (usize, usize),
    (deltas, bytes): (usize, usize),
    published: u64,
) -> Result<(), Failure> {
    let mut state = fresh(folder)?;
    let made = chained(&mut state, pages, length)?;
    let images: Vec<_> = (0..16).map(|number| image(number, bytes)).collect();
    let mut transaction = Transaction::new();
    timed(name, 2_000, published, |number| {
        let begun = Instant::now();
        transaction.clear();
        for delta in 0..deltas {
            transaction.write(made[0], 0, &images[(number * deltas + delta) % images.len()]);
        }
        state.commit(&transaction)?;
        let took = begun.elapsed();
        assert_eq!(state.read(made[pages - 1]), state.read(made[0]));
        Ok(took)
    })
}

/// 16 pages, which the report calls 100; a checkpoint is made durable, which the report's was not.
fn checkpoint(folder: &Path) -> Result<(), Failure> {
    let mut state = fresh(folder)?;
    let mut transaction = Transaction::new();
    (0..16).for_each(|number| _ = transaction.create(&image(number, PAGE_BYTES)));
    state.commit(&transaction)?;
    timed("a checkpoint of 16 pages, synced (checkpoint_100pages)", 50, 110_000, |_| {
        let begun = Instant::now();
        state.checkpoint()?;
        Ok(begun.elapsed())
    })?;
    drop(state);
    timed("and opening it (restore_100pages)", 200, 103_000, |_| {
        let begun = Instant::now();
        let (state, _) = State::open(Arc::new(Directory::open(folder)?), Functions::new(), options())?;
        let took = begun.elapsed();
        assert_eq!(state.pages().count(), 16);
        Ok(took)
    })
}

/// Five updates of a page, which the report calls 100 epochs.
fn replay(folder: &Path) -> Result<(), Failure> {
    let mut state = fresh(folder)?;
    let page = chained(&mut state, 1, PAGE_BYTES)?[0];
    for number in 1..=6 {
        let mut transaction = Transaction::new();
        transaction.write(page, 0, &image(number, PAGE_BYTES));
        state.commit(&transaction)?;
    }
    timed("replay of 5 updates (100_epochs)", 500, 107_000, |_| {
        let begun = Instant::now();
        let past = state.at(6)?;
        let took = begun.elapsed();
        assert_eq!(past.read(page), Some(&image(5, PAGE_BYTES)[..]));
        Ok(took)
    })
}

fn typical(folder: &Path) -> Result<(), Failure> {
    timed("20 pages, 40 updates, a checkpoint (typical_workload)", 20, 1_585_000, |_| {
        let mut state = fresh(folder)?;
        let begun = Instant::now();
        let mut transaction = Transaction::new();
        (0..20).for_each(|_| _ = transaction.create(&[0; PAGE_BYTES]));
        let pages = state.commit(&transaction)?.created;
        for number in 0..40 {
            let mut transaction = Transaction::new();
            transaction.write(pages[number * 7 % 20], 0, &image(number + 1, PAGE_BYTES));
            state.commit(&transaction)?;
        }
        state.checkpoint()?;
        drop(state);
        Ok(begun.elapsed())
    })
}

fn pipeline(folder: &Path) -> Result<(), Failure> {
    timed("24 pages, 5 updates, checkpoint, load, replay (full_pipeline)", 20, 25_050_000, |_| {
        let mut state = fresh(folder)?;
        let begun = Instant::now();
        let pages = chained(&mut state, 24, PAGE_BYTES)?;
        for number in 1..=5 {
            let mut transaction = Transaction::new();
            transaction.write(pages[0], 0, &image(number, PAGE_BYTES));
            state.commit(&transaction)?;
        }
        state.checkpoint()?;
        drop(state);
        let (state, _) = State::open(Arc::new(Directory::open(folder)?), Functions::new(), options())?;
        let past = state.at(3)?;
        let took = begun.elapsed();
        assert_eq!(past.read(pages[23]), Some(&image(2, PAGE_BYTES)[..]));
        Ok(took)
    })
}
