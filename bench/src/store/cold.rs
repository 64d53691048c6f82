//! Lookups when nothing is in memory.

use super::engine::Done;
use super::field::{Clock, Contest, Field, Figures};
use super::rows::{Keys, Values, Workload};
use super::{kinds, scaled};
use crate::{Plan, Rows};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::path::Path;
use std::time::Instant;

const ROWS: u64 = 1_000_000;
const ASKED: usize = 200;
const ROUNDS: usize = 5;

pub(super) fn rows(plan: &Plan) -> Rows {
    let workload = Workload::new(Keys::Random, Values::Hundred, scaled(plan, ROWS));
    let kinds = kinds();
    let mut field = Field::new(&kinds, plan.scratch.join("store"));
    for index in 0..kinds.len() {
        field.create(index)?.load(&workload)?;
    }
    field.settle()?;
    let mut figures: Figures = kinds.iter().map(|_| Vec::new()).collect();
    let rounds = plan.rounds(ROUNDS);
    for round in 0..rounds {
        for (index, figures) in figures.iter_mut().enumerate() {
            field.close(index)?;
            forget(&field.path(index))?;
            let engine = field.reopen(index)?;
            let mut reader = engine.reader()?;
            let began = Instant::now();
            for key in workload.hits.iter().skip(round * ASKED).take(ASKED) {
                reader.get(*key, &mut Vec::new())?;
            }
            figures.push(began.elapsed().as_nanos() as f64);
        }
    }
    let contest = Contest {
        name: "get from a cold cache, random, 1M".to_owned(),
        n: ASKED as u64,
        rounds,
        clock: Clock::Wall,
        note: "the system forgets the pages of all files before each round; the first lookups after opening",
        must: |_| None,
    };
    let rows = field.rows(contest, figures);
    drop(field);
    std::fs::remove_dir_all(plan.scratch.join("store"))?;
    Ok(rows)
}

/// Has the system write a folder's files to the disk and forget their pages.
pub(super) fn forget(folder: &Path) -> Done {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            forget(&path)?;
        } else {
            let file = File::open(&path)?;
            file.sync_all()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}
