//! Reads and writes mixed: 95 lookups and 5 commits of one row in a hundred operations, with keys by Zipf's law.

use super::engine::{Done, Engine, Kind, Level};
use super::field::{Clock, Contest, Field};
use super::rows::{Keys, SplitMix, Values, Workload, digest};
use super::{FJALL, LMDB_UNSYNCED, OURS, REDB, SQLITE, rocks, scaled};
use crate::{Plan, Rows};

const ROWS: u64 = 1_000_000;
const OPERATIONS: u64 = 200_000;
/// Of this many operations one is a commit.
const COMMIT_EVERY: u64 = 20;
const ROUNDS: usize = 5;
/// How much more often the first keys come: the parameter of the Yahoo benchmark.
const SKEW: f64 = 0.99;

pub(super) fn rows(plan: &Plan) -> Rows {
    let workload = Workload::new(Keys::Random, Values::Hundred, scaled(plan, ROWS));
    let kinds: Vec<Kind> = [vec![OURS, SQLITE, LMDB_UNSYNCED, REDB, FJALL], rocks()].concat();
    let mut field = Field::new(&kinds, plan.scratch.join("store"));
    for index in 0..kinds.len() {
        field.create(index)?.load(&workload)?;
    }
    field.settle()?;
    let ranks = Zipf::new(workload.keys.len());
    let n = plan.scaled(OPERATIONS);
    let contest = Contest {
        name: "95 gets and 5 commits of a row in 100, Zipf, 1M".to_owned(),
        n,
        rounds: plan.rounds(ROUNDS),
        clock: Clock::Wall,
        note: "a commit survives the end of the process, not of the power: SQLite's synchronous NORMAL, LMDB's NOSYNC; redb's, without \
               durability, does not even that",
        must: |_| None,
    };
    let rows = field.ask(contest, |engine| operate(&mut **engine, &workload, &ranks, n))?;
    drop(field);
    std::fs::remove_dir_all(plan.scratch.join("store"))?;
    Ok(rows)
}

/// Runs the operations; the sum over all that was read. Every engine gets the same ones in every round, so that all answer the same.
fn operate(engine: &mut dyn Engine, workload: &Workload, ranks: &Zipf, operations: u64) -> Done<u64> {
    let mut random = SplitMix(7);
    let (mut value, mut sum) = (Vec::new(), 0_u64);
    let mut left = operations;
    while left > 0 {
        let gets = left.min(COMMIT_EVERY) - 1;
        let mut reader = engine.reader()?;
        for _ in 0..gets {
            reader.get(workload.keys[ranks.draw(&mut random)], &mut value)?;
            sum = sum.wrapping_add(digest(&value));
        }
        drop(reader);
        let key = workload.keys[ranks.draw(&mut random)];
        workload.values.write(key, &mut value);
        engine.commit(&[(key, value.clone())], Level::Process)?;
        left -= gets + 1;
    }
    Ok(sum)
}

/// Zipf's law over `count` ranks (the method of Gray and others, 1994). Ranks are keys in the order of loading, which is random.
pub(super) struct Zipf {
    count: f64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

impl Zipf {
    pub(super) fn new(count: usize) -> Self {
        let zeta = |count: usize| (1..=count).map(|rank| 1.0 / (rank as f64).powf(SKEW)).sum::<f64>();
        let (all, two) = (zeta(count), zeta(2));
        let eta = (1.0 - (2.0 / count as f64).powf(1.0 - SKEW)) / (1.0 - two / all);
        Self { count: count as f64, zeta: all, alpha: 1.0 / (1.0 - SKEW), eta }
    }

    pub(super) fn draw(&self, random: &mut SplitMix) -> usize {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(SKEW) {
            return 1;
        }
        let rank = self.count * (self.eta * unit - self.eta + 1.0).powf(self.alpha);
        (rank as usize).min(self.count as usize - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_ranks_come_often() {
        let (zipf, mut random) = (Zipf::new(10_000), SplitMix(1));
        let drawn: Vec<usize> = (0..100_000).map(|_| zipf.draw(&mut random)).collect();
        let share = |below: usize| drawn.iter().filter(|rank| **rank < below).count() as f64 / drawn.len() as f64;
        assert!((0.07..0.15).contains(&share(1)) && (0.45..0.65).contains(&share(100)), "{} {}", share(1), share(100));
        assert!(drawn.iter().any(|rank| *rank > 9000));
    }
}
