//! Engines that do the same in turn, and the rows that come of it: ours beside each peer.
//!
//! 1. In each round every engine does the work once, and another one begins: whatever else the machine does meets all.
//! 2. Each gives a checksum of what it read; if they differ, the suite ends.
//! 3. The ratio of each round is taken by itself, and the median of those counts.

use super::SUITE;
use super::engine::{Done, Engine, Kind};
use super::rows::Workload;
use crate::compare::{Case, judged, row};
use crate::row::Row;
use rustix::time::{ClockId, clock_gettime};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What is measured of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// From its beginning to its end.
    Wall,
    /// What this thread computes, for work that no other thread does.
    Thread,
}

impl Clock {
    pub(super) fn time<T>(self, work: impl FnOnce() -> Done<T>) -> Done<(f64, T)> {
        let (began, computed) = (Instant::now(), computed());
        let done = work()?;
        let elapsed = match self {
            Self::Wall => began.elapsed(),
            Self::Thread => self::computed() - computed,
        };
        Ok((elapsed.as_nanos() as f64, done))
    }
}

/// How long this thread has computed.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The least ratio that is wanted beside a peer.
pub(super) type Must = fn(&str) -> Option<f64>;

/// A measurement: its name, how many operations a round has, what counts and what must come out.
pub(super) struct Contest {
    pub(super) name: String,
    pub(super) n: u64,
    pub(super) rounds: usize,
    pub(super) clock: Clock,
    pub(super) note: &'static str,
    pub(super) must: Must,
}

/// What each engine took in each round; or what it counted.
pub(super) type Figures = Vec<Vec<f64>>;

/// Engines, the first of them ours, each with a folder of its own.
pub(super) struct Field {
    kinds: Vec<Kind>,
    engines: Vec<Option<Box<dyn Engine>>>,
    folder: PathBuf,
}

impl Field {
    pub(super) fn new(kinds: &[Kind], folder: PathBuf) -> Self {
        Self { kinds: kinds.to_vec(), engines: kinds.iter().map(|_| None).collect(), folder }
    }

    pub(super) fn path(&self, index: usize) -> PathBuf {
        self.folder.join(index.to_string())
    }

    pub(super) fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Makes an engine anew.
    pub(super) fn create(&mut self, index: usize) -> Done<&mut Box<dyn Engine>> {
        self.engines[index] = None;
        if self.path(index).exists() {
            std::fs::remove_dir_all(self.path(index))?;
        }
        self.reopen(index)
    }

    /// Opens an engine that was closed.
    pub(super) fn reopen(&mut self, index: usize) -> Done<&mut Box<dyn Engine>> {
        let engine = (self.kinds[index].open)(&self.path(index))?;
        Ok(self.engines[index].insert(engine))
    }

    pub(super) fn close(&mut self, index: usize) -> Done {
        self.engines[index].take().map_or(Ok(()), |engine| engine.close())
    }

    pub(super) fn engine(&mut self, index: usize) -> Done<&mut Box<dyn Engine>> {
        self.engines[index].as_mut().ok_or_else(|| "the engine is closed".into())
    }

    /// Makes every engine anew in each round and loads it.
    pub(super) fn load(&mut self, contest: Contest, workload: &Workload) -> Done<Vec<Row>> {
        let Contest { rounds, clock, .. } = contest;
        let mut figures: Figures = self.kinds.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for index in order(self.kinds.len(), round) {
                let engine = self.create(index)?;
                let (time, ()) = clock.time(|| engine.load(workload))?;
                figures[index].push(time);
            }
        }
        Ok(self.rows(contest, figures))
    }

    /// Brings every engine into the state that it is asked in.
    pub(super) fn settle(&mut self) -> Done {
        self.engines.iter_mut().flatten().try_for_each(|engine| engine.settle())
    }

    /// Asks every engine the same in each round; before the first one, once without a clock.
    pub(super) fn ask(
        &mut self,
        contest: Contest,
        mut work: impl FnMut(&mut Box<dyn Engine>) -> Done<u64>,
    ) -> Done<Vec<Row>> {
        let Contest { rounds, clock, .. } = contest;
        let mut figures: Figures = self.kinds.iter().map(|_| Vec::new()).collect();
        let mut expected = None;
        for round in 0..=rounds {
            for index in order(self.kinds.len(), round) {
                let name = self.kinds[index].name;
                let engine = self.engine(index)?;
                let (time, sum) = clock.time(|| work(engine))?;
                if *expected.get_or_insert(sum) != sum {
                    return Err(format!("{}: {name} answered something else", contest.name).into());
                }
                if round > 0 {
                    figures[index].push(time);
                }
            }
        }
        Ok(self.rows(contest, figures))
    }

    /// The rows of figures, ours beside each peer.
    pub(super) fn rows(&self, contest: Contest, figures: Figures) -> Vec<Row> {
        rows(&self.kinds, &contest, &figures)
    }
}

/// The rows of figures that were measured elsewhere, ours beside each peer.
pub(super) fn rows(kinds: &[Kind], contest: &Contest, figures: &Figures) -> Vec<Row> {
    let peers = kinds.iter().zip(figures).skip(1);
    peers
        .map(|(kind, theirs)| {
            let case = Case {
                suite: SUITE,
                name: contest.name.clone(),
                n: contest.n,
                peer: kind.name,
                rounds: theirs.len(),
                note: String::new(),
            };
            let mut row = row(case, (figures[0].clone(), theirs.clone()));
            let note = [contest.note, kind.note].into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>();
            let must = (contest.must)(kind.name).map(|least| (least, "the issue"));
            row.note = judged(&note.join("; "), must, row.ratio.map(|ratio| ratio.median));
            row
        })
        .collect()
}

/// The engines in the order of a round.
fn order(count: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |index| (index + round) % count)
}
