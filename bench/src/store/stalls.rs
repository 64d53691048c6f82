//! The longest that a commit takes while many rows come without a pause.

use super::engine::{Done, Engine, Kind, Level};
use super::field::{Clock, Contest, Field, Figures};
use super::rows::{Keys, Values, Workload};
use super::{is_log_structured, kinds, scaled};
use crate::row::Row;
use crate::{Plan, Rows};
use std::time::Instant;

const ROWS: u64 = 3_000_000;
/// Rows a commit.
const COMMITTED: usize = 1000;
const ROUNDS: usize = 3;

pub(super) fn rows(plan: &Plan) -> Rows {
    let workload = Workload::new(Keys::Random, Values::Hundred, scaled(plan, ROWS));
    // The others have nothing to merge beside a commit.
    let kinds: Vec<Kind> = kinds().into_iter().filter(|kind| is_log_structured(kind.name)).collect();
    let mut field = Field::new(&kinds, plan.scratch.join("store"));
    let rounds = plan.rounds(ROUNDS);
    let empty: Figures = kinds.iter().map(|_| Vec::new()).collect();
    let (mut longest, mut slow, mut written) = (empty.clone(), empty.clone(), empty);
    for _ in 0..rounds {
        for index in 0..kinds.len() {
            let before = written_bytes()?;
            let times = commits(&mut **field.create(index)?, &workload)?;
            field.engine(index)?.settle()?;
            written[index].push((written_bytes()? - before) / workload.keys.len() as f64);
            longest[index].push(times[times.len() - 1]);
            slow[index].push(times[times.len() * 999 / 1000]);
            field.close(index)?;
        }
    }
    let contest = |name: &str, must| Contest {
        name: name.to_owned(),
        n: 1,
        rounds,
        clock: Clock::Wall,
        note: "3M random rows, a thousand a commit, none synced; merges go on beside it",
        must,
    };
    let mut rows: Vec<Row> =
        field.rows(contest("the longest of 3,000 commits without a pause", |_| Some(1.0)), longest);
    rows.extend(field.rows(contest("the third longest of 3,000 commits, p99.9", |_| None), slow));
    let mut contest = contest("bytes written for a row, 3M", |_| None);
    contest.note = "3M random rows of 108 bytes, a thousand a commit, compacted at the end; what is handed to the system to write, logs included";
    let mut amplified = field.rows(contest, written);
    amplified.iter_mut().for_each(|row| row.unit = Some("bytes"));
    rows.extend(amplified);
    drop(field);
    std::fs::remove_dir_all(plan.scratch.join("store"))?;
    Ok(rows)
}

/// What each commit took, in nanoseconds, the longest last.
fn commits(engine: &mut dyn Engine, workload: &Workload) -> Done<Vec<f64>> {
    let mut times = Vec::new();
    let mut rows: Vec<(i64, Vec<u8>)> = Vec::new();
    for keys in workload.keys.chunks(COMMITTED) {
        rows.resize_with(keys.len(), Default::default);
        for ((key, value), of) in rows.iter_mut().zip(keys) {
            *key = *of;
            workload.values.write(*of, value);
        }
        let began = Instant::now();
        engine.commit(&rows, Level::Process)?;
        times.push(began.elapsed().as_nanos() as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// How many bytes this process has handed to the system to write.
fn written_bytes() -> Done<f64> {
    let counts = std::fs::read_to_string("/proc/self/io")?;
    let line = counts.lines().find_map(|line| line.strip_prefix("wchar:")).ok_or("the system does not count")?;
    Ok(line.trim().parse()?)
}
