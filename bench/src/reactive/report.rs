//! The workloads of the MMSB performance investigation, as its code has them, beside its published figures.
//!
//! Those were taken on another machine, once or as the median of 50, and the system logged each derived page as well: the ratios say what
//! order of magnitude lies between, and are no race.

use super::sheets::{Ours, Shape, functions};
use super::waves::plain;
use super::{Failure, PAGE_BYTES, ROUNDS, SUITE, images};
use crate::compare::{Case, judged, median, row};
use crate::{Plan, Rows};
use journal::{Directory, MemoryDisk};
use reactive::{Options, PageId, State, Transaction};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const REPORT: &str = "the report (published)";

/// Takes when an execution of a workload began, at its end.
type Took<'a> = &'a mut dyn FnMut(Instant);

/// A workload: its name, what the report says in nanoseconds, what must be, and what is done.
struct Workload {
    name: &'static str,
    published: f64,
    must: Option<f64>,
    note: &'static str,
    run: fn(&Path, Took<'_>) -> Result<(), Failure>,
}

const WORKLOADS: &[Workload] = &[
    Workload {
        name: "a state with a log, and a page",
        published: 6_090.0,
        must: Some(6.09),
        note: "the log of ours is in memory, and begins; the report's file is there already",
        run: state_and_page,
    },
    Workload {
        name: "one hop (single_hop)",
        published: 169_500.0,
        must: Some(50.0),
        note: "a write() of its record on both sides, no fsync",
        run: |folder, took| batch(folder, 2, 1, PAGE_BYTES, took),
    },
    Workload {
        name: "32 pages, 4 deltas (batch_32x4)",
        published: 4_024_000.0,
        must: Some(100.0),
        note: "a chain; the deltas are one transaction",
        run: |folder, took| batch(folder, 32, 4, PAGE_BYTES, took),
    },
    Workload {
        name: "128 pages, 2 deltas (batch_128x2)",
        published: 19_393_000.0,
        must: Some(400.0),
        note: "a chain; the deltas are one transaction",
        run: |folder, took| batch(folder, 128, 2, PAGE_BYTES, took),
    },
    Workload {
        name: "one page, ten bytes (delta/cpu_sparse)",
        published: 22_400.0,
        must: None,
        note: "",
        run: |folder, took| batch(folder, 1, 1, 10, took),
    },
    Workload {
        name: "one page, all bytes (delta/cpu_dense)",
        published: 31_600.0,
        must: None,
        note: "",
        run: |folder, took| batch(folder, 1, 1, PAGE_BYTES, took),
    },
    Workload {
        name: "24 pages, 5 updates, checkpoint, load, replay (full_pipeline)",
        published: 25_050_000.0,
        must: None,
        note: "the checkpoint is made durable, which the report's was not",
        run: pipeline,
    },
];

pub(super) fn rows(plan: &Plan) -> Rows {
    WORKLOADS.iter().map(|workload| one(plan, workload)).collect()
}

fn one(plan: &Plan, workload: &Workload) -> Result<crate::row::Row, Box<dyn std::error::Error>> {
    let Workload { name, published, must, note, run } = workload;
    let rounds = plan.rounds(ROUNDS);
    let mut ours = Vec::new();
    for _ in 0..rounds {
        let mut times = Vec::new();
        run(&plan.scratch, &mut |began| times.push(began.elapsed().as_nanos() as f64)).map_err(plain)?;
        ours.push(median(times));
    }
    let theirs = vec![*published; ours.len()];
    let note = if note.is_empty() {
        "figures of another machine".to_owned()
    } else {
        format!("figures of another machine; {note}")
    };
    let case = Case { suite: SUITE, name: (*name).to_owned(), n: 1, peer: REPORT, rounds, note: String::new() };
    let mut row = row(case, (ours, theirs));
    row.note = judged(&note, must.map(|least| (least, "times the report")), row.ratio.map(|ratio| ratio.median));
    Ok(row)
}

/// How many times a workload runs in a round.
const TIMES: usize = 50;

fn options() -> Options {
    Options::default().threads(1)
}

fn fresh(folder: &Path) -> Result<Arc<Directory>, Failure> {
    let folder = folder.join("report");
    let _ = std::fs::remove_dir_all(&folder);
    Ok(Arc::new(Directory::create(&folder)?))
}

fn state_and_page(_: &Path, took: Took<'_>) -> Result<(), Failure> {
    let image = images(PAGE_BYTES).swap_remove(0);
    let (mut state, mut transaction) = (State::new(functions(), options()), Transaction::new());
    for _ in 0..TIMES {
        let disk = Arc::new(MemoryDisk::new());
        let began = Instant::now();
        state.reset(Some(disk));
        transaction.clear();
        transaction.create(&image);
        state.commit(&transaction)?;
        took(began);
    }
    Ok(())
}

/// Writes `bytes` bytes to the first page of a chain `deltas` times in a transaction, and lets the chain follow.
fn batch(folder: &Path, pages: usize, deltas: usize, bytes: usize, took: Took<'_>) -> Result<(), Failure> {
    let Ours { mut state, first, .. } =
        Ours::of(State::create(fresh(folder)?, functions(), options()), Shape::Chain(pages))?;
    let images = images(bytes);
    let mut written = images.iter().cycle();
    for _ in 0..TIMES {
        let began = Instant::now();
        let mut transaction = Transaction::new();
        written.by_ref().take(deltas).for_each(|image| transaction.write(first, 0, image));
        state.commit(&transaction)?;
        took(began);
    }
    Ok(())
}

fn pipeline(folder: &Path, took: Took<'_>) -> Result<(), Failure> {
    let images = images(PAGE_BYTES);
    for _ in 0..3 {
        let disk = fresh(folder)?;
        let began = Instant::now();
        let Ours { mut state, first, .. } =
            Ours::of(State::create(disk.clone(), functions(), options()), Shape::Chain(24))?;
        for image in &images[..5] {
            let mut transaction = Transaction::new();
            transaction.write(first, 0, image);
            state.commit(&transaction)?;
        }
        state.checkpoint()?;
        drop(state);
        let (state, _) = State::open(disk, functions(), options())?;
        let last: Option<PageId> = state.pages().last();
        let past = state.at(3)?;
        if last.and_then(|page| past.read(page)) != Some(&images[1]) {
            return Err("the replay has another page".into());
        }
        took(began);
    }
    Ok(())
}
