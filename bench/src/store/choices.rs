//! What was decided, in figures: a cache of values, the index of each distribution of keys, and how pages come from the disk.

use super::engine::Done;
use super::field::{Clock, Contest, Figures, rows as rows_of};
use super::mixed::Zipf;
use super::ours::Lookup;
use super::rows::{Keys, SplitMix, Values, Workload, digest, key_bytes};
use super::{Kind, OURS, cold, scaled};
use crate::row::Row;
use crate::{Plan, Rows};
use quick_cache::unsync::Cache;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use store::{Snapshot, Step, Store};

const ROWS: u64 = 1_000_000;
const ASKED: u64 = 500_000;
const ROUNDS: usize = 5;
const PAGE_BYTES: usize = 4096;
/// How many pages of a file are read where nothing is in memory.
const READS: usize = 200;

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for keys in Keys::ALL {
        let workload = Workload::new(keys, Values::Hundred, scaled(plan, ROWS));
        let path = loaded(plan, &workload)?;
        rows.extend(comparisons(&path, keys, &workload)?);
        if keys == Keys::Random {
            rows.extend(cached(plan, &path, &workload)?);
            rows.extend(read(plan, &path)?);
        }
        std::fs::remove_dir_all(path)?;
    }
    Ok(rows)
}

fn loaded(plan: &Plan, workload: &Workload) -> Done<std::path::PathBuf> {
    let path = plan.scratch.join("store");
    let mut engine = (OURS.open)(&path)?;
    engine.load(workload)?;
    engine.settle()?;
    engine.close()?;
    Ok(path)
}

fn named(name: &'static str) -> Kind {
    Kind { name, ..OURS }
}

/// How many comparisons the index of a run takes to find a block, beside binary search over all its blocks.
fn comparisons(path: &Path, keys: Keys, workload: &Workload) -> Rows {
    let snapshot = Store::open_read_only(path)?;
    let keyspace = snapshot.keyspace("rows").ok_or("the keyspace is gone")?;
    let mut counted = 0;
    for key in &workload.hits {
        counted += snapshot.watch(keyspace, key_bytes(*key), Step::Value)?.1.comparisons;
    }
    let stats = snapshot.stats()?;
    let runs: Vec<_> = stats.keyspaces[0].runs().collect();
    let records: u64 = runs.iter().map(|run| run.records).sum();
    let searched: f64 = runs.iter().map(|run| run.records as f64 * (run.blocks as f64 + 1.0).log2().ceil()).sum();
    let expected = searched / records as f64 * workload.hits.len() as f64;
    let contest = Contest {
        name: format!("comparisons of 100,000 gets to find the block, {}, 1M", keys.name()),
        n: 1,
        rounds: 1,
        clock: Clock::Wall,
        note: "an exact count for ours; one is added for each evaluation of a line",
        must: |_| None,
    };
    let mut rows = rows_of(&[OURS, named("binary search")], &contest, &vec![vec![counted as f64], vec![expected]]);
    rows.iter_mut().for_each(|row| row.unit = Some("comparisons"));
    Ok(rows)
}

/// Lookups by Zipf's law with a cache of values in front, of one and of ten in a hundred rows.
fn cached(plan: &Plan, path: &Path, workload: &Workload) -> Rows {
    let snapshot = Store::open_read_only(path)?;
    let mut rows = Vec::new();
    // Of a million rows, the last three are the caches of 100,000, 500,000 and 1,000,000 entries that the report names.
    for (name, share) in [
        ("a cache of 1 in 100 values in front", 100),
        ("a cache of 1 in 10 values in front", 10),
        ("a cache of 1 in 2 values in front", 2),
        ("a cache of all values in front", 1),
    ] {
        rows.push(with_cache(plan, &snapshot, workload, name, workload.keys.len() / share)?);
    }
    Ok(rows)
}

fn with_cache(plan: &Plan, snapshot: &Snapshot, workload: &Workload, name: &'static str, size: usize) -> Done<Row> {
    let keyspace = snapshot.keyspace("rows").ok_or("the keyspace is gone")?;
    let mut lookup = Lookup { snapshot: snapshot.clone(), keyspace };
    let (ranks, asked) = (Zipf::new(workload.keys.len()), plan.scaled(ASKED));
    let mut cache: Cache<i64, Box<[u8]>> = Cache::new(size);
    let (mut figures, mut hits): (Figures, u64) = (vec![Vec::new(), Vec::new()], 0);
    let (rounds, mut value) = (plan.rounds(ROUNDS), Vec::new());
    let mut get = |key: i64, value: &mut Vec<u8>| super::engine::Reader::get(&mut lookup, key, value);
    for round in 0..=rounds {
        let mut random = SplitMix(round as u64);
        let drawn: Vec<i64> = (0..asked).map(|_| workload.keys[ranks.draw(&mut random)]).collect();
        let (plain, expected) = Clock::Thread.time(|| {
            drawn.iter().try_fold(0_u64, |sum, key| {
                get(*key, &mut value)?;
                Ok(sum.wrapping_add(digest(&value)))
            })
        })?;
        hits = 0;
        let (behind, sum) = Clock::Thread.time(|| {
            drawn.iter().try_fold(0_u64, |sum, key| {
                if let Some(found) = cache.get(key) {
                    hits += 1;
                    value.clear();
                    value.extend_from_slice(found);
                } else {
                    get(*key, &mut value)?;
                    cache.insert(*key, value.clone().into_boxed_slice());
                }
                Ok(sum.wrapping_add(digest(&value)))
            })
        })?;
        if sum != expected {
            return Err("the cache answers something else".into());
        }
        if round > 0 {
            figures[0].push(plain);
            figures[1].push(behind);
        }
    }
    let contest = Contest {
        name: "get by Zipf's law, random, 1M".to_owned(),
        n: asked,
        rounds,
        clock: Clock::Thread,
        note: "",
        must: |_| None,
    };
    let mut rows = rows_of(&[OURS, named(name)], &contest, &figures);
    let mut row = rows.pop().ok_or("there is one peer")?;
    row.note = format!(
        "quick_cache 0.6.24, {size} values of 100 bytes, full when it is measured; {:.0} of 100 lookups hit it",
        hits as f64 * 100.0 / asked as f64
    );
    Ok(row)
}

/// Pages read here and there from a run that is not in memory: mapped, by `pread`, and past the memory of the system.
fn read(plan: &Plan, path: &Path) -> Rows {
    let run = std::fs::read_dir(path)?.map(|file| file.map(|file| file.path()));
    let run = run.filter_map(Result::ok).find(|path| path.extension().is_some_and(|end| end == "run"));
    let run = run.ok_or("a run is there")?;
    let pages = std::fs::metadata(&run)?.len() / PAGE_BYTES as u64;
    let rounds = plan.rounds(ROUNDS);
    let mut figures: Figures = vec![Vec::new(); 3];
    for round in 0..rounds {
        let mut random = SplitMix(round as u64);
        let places: Vec<usize> = (0..READS).map(|_| random.below(pages) as usize * PAGE_BYTES).collect();
        for (figures, way) in figures.iter_mut().zip([mapped, plain, direct]) {
            cold::forget(path)?;
            figures.push(way(&run, &places)?);
        }
    }
    let contest = Contest {
        name: "a page of a file that is not in memory".to_owned(),
        n: READS as u64,
        rounds,
        clock: Clock::Wall,
        note: "mapped and told that pages are read here and there, as ours; the disk may be one that remembers",
        must: |_| None,
    };
    Ok(rows_of(&[OURS, named("pread()"), named("pread(), O_DIRECT")], &contest, &figures))
}

fn mapped(run: &Path, places: &[usize]) -> Done<f64> {
    let mapping = journal::Mapping::open(run)?;
    mapping.expect_scattered_reads();
    let sum = |place: &usize| u64::from(mapping[*place]);
    Ok(Clock::Wall.time(|| Ok(std::hint::black_box(places.iter().map(sum).sum::<u64>())))?.0)
}

fn plain(run: &Path, places: &[usize]) -> Done<f64> {
    let (file, mut page) = (File::open(run)?, [0; PAGE_BYTES]);
    let read = || Ok(places.iter().try_for_each(|place| file.read_exact_at(&mut page, *place as u64))?);
    Ok(Clock::Wall.time(read)?.0)
}

fn direct(run: &Path, places: &[usize]) -> Done<f64> {
    let file = File::from(rustix::fs::open(run, OFlags::RDONLY | OFlags::DIRECT, Mode::empty())?);
    // The system wants memory that begins where a page does.
    let mut memory = vec![0; 2 * PAGE_BYTES];
    let from = memory.as_ptr().align_offset(PAGE_BYTES);
    let page = &mut memory[from..][..PAGE_BYTES];
    let read = || Ok(places.iter().try_for_each(|place| file.read_exact_at(page, *place as u64))?);
    Ok(Clock::Wall.time(read)?.0)
}
