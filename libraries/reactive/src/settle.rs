//! What follows from the steps of a transaction: deltas, derived pages, the log, notices; or everything as it was.

use crate::derive::Deriving;
use crate::diff::diff;
use crate::error::CommitError;
use crate::page::PageId;
use crate::record::{CommitWriter, Origin, add_hash};
use crate::state::State;
use crate::statistics::Statistics;
use journal::Durability;
use std::ops::Range;

impl State {
    /// Finds out what the steps have changed, derives what follows, and logs it as durably as asked, or not; none if nothing has
    /// changed.
    pub(crate) fn settle(
        &mut self,
        origin: &Origin,
        logged: Option<Durability>,
    ) -> Result<Option<Statistics>, CommitError> {
        let mut statistics = Statistics { commits: 1, ..Statistics::default() };
        statistics.stages.apply = self.work.applied;
        let begun = self.now();
        self.find_changes(origin, &mut statistics);
        if self.work.changed.is_empty() && self.work.structure.is_empty() {
            return Ok(None);
        }
        statistics.unchanged += self.work.equal_pages();
        let found = self.now();
        self.propagate(&mut statistics)?;
        let derived = self.now();
        if let Some(durability) = logged {
            self.append(durability, &mut statistics)?;
        }
        let ended = self.now();
        statistics.stages.diff = found - begun;
        statistics.stages.schedule = (derived - found).saturating_sub(statistics.stages.run);
        statistics.stages.log = ended - derived;
        Ok(Some(statistics))
    }

    /// Compares each page that was written with what it was, and writes the commit's bytes.
    fn find_changes(&mut self, origin: &Origin, statistics: &mut Statistics) {
        let epoch = self.epoch + 1;
        let work = &mut self.work;
        work.saved.sort();
        let is_logged = self.log.is_kept();
        let mut commit = CommitWriter::new(&mut work.frame, epoch, origin, &work.structure);
        for (slot, before) in &work.saved.pages {
            let entry = self.pages.at_mut(*slot);
            let page = PageId { slot: *slot, generation: entry.generation };
            let is_new = before.bytes.is_none() || before.generation != entry.generation;
            let node = &mut self.nodes[*slot as usize];
            let Some(now) = &entry.bytes else {
                entry.changed = epoch;
                continue;
            };
            if is_new {
                entry.changed = epoch;
            }
            if node.derivation.is_some() {
                continue;
            }
            let bytes = match &before.bytes {
                Some(old) if !is_new => diff(old, now, &mut work.runs),
                _ => written(now, &mut work.runs),
            };
            statistics.bytes_compared += now.len() as u64;
            if bytes == 0 && !is_new {
                statistics.unchanged += 1;
                continue;
            }
            statistics.written += 1;
            entry.changed = epoch;
            node.origin.clone_from(origin);
            work.changed.push(*slot);
            work.written.push((page, bytes));
            if is_logged && bytes > 0 {
                commit.delta(page, &work.runs, now);
            }
        }
        commit.end();
    }

    fn propagate(&mut self, statistics: &mut Statistics) -> Result<(), CommitError> {
        let work = &mut self.work;
        for slot in work.to_derive.drain(..) {
            let is_derived = self.nodes[slot as usize].derivation.is_some();
            if is_derived {
                self.schedule.queue(slot);
            }
        }
        let mut deriving = Deriving {
            pages: &mut self.pages,
            nodes: &mut self.nodes,
            buffers: &mut self.buffers,
            saved: &mut work.saved,
            statistics,
            epoch: self.epoch + 1,
            threads: self.options.threads,
            is_checked: self.options.is_checked,
            clock: self.options.clock.as_ref(),
        };
        let wave = self.schedule.propagate(&mut work.changed, &mut deriving)?;
        statistics.visited = wave.visited;
        statistics.ran = wave.ran;
        statistics.cut_off = wave.cut_off;
        statistics.heights = wave.heights;
        Ok(())
    }

    fn append(&mut self, durability: Durability, statistics: &mut Statistics) -> Result<(), CommitError> {
        if !self.log.is_kept() {
            return Ok(());
        }
        if self.options.logs_derived {
            self.add_derived();
        }
        if self.options.is_hashed {
            self.work.saved.places().for_each(|slot| self.hash.note(slot));
            let hash = self.hash.get(&self.pages, &self.nodes);
            add_hash(&mut self.work.frame, hash);
        }
        statistics.bytes_logged = self.work.frame.len() as u64;
        self.log.append(&self.work.frame, durability).map_err(CommitError::Log)
    }
}

impl State {
    /// Adds what derived pages have come to hold to the commit's bytes.
    fn add_derived(&mut self) {
        let work = &mut self.work;
        work.saved.sort();
        let mut commit = CommitWriter::derived(&mut work.frame);
        for (slot, before) in &work.saved.pages {
            let Some((entry, now)) = self.pages.at(*slot).and_then(|entry| Some((entry, entry.bytes.as_ref()?))) else {
                continue;
            };
            if self.nodes[*slot as usize].derivation.is_none() {
                continue;
            }
            let is_new = before.bytes.is_none() || before.generation != entry.generation;
            let bytes = match &before.bytes {
                Some(old) if !is_new => diff(old, now, &mut work.runs),
                _ => written(now, &mut work.runs),
            };
            if bytes > 0 {
                commit.delta(PageId { slot: *slot, generation: entry.generation }, &work.runs, now);
            }
        }
        commit.end();
    }
}

/// The run of a page that is new, which began as zeros: from the first byte that is not zero to the last one. How many bytes it has.
fn written(page: &[u8], runs: &mut Vec<Range<usize>>) -> u64 {
    runs.clear();
    let is_set = |byte: &u8| *byte != 0;
    // Whole blocks of zeros first: these are compared many bytes at a time.
    let is_block_set = |block: &[u8; 64]| *block != [0; 64];
    let (blocks, rest) = page.as_chunks::<64>();
    let zeros = 64 * blocks.iter().position(is_block_set).unwrap_or(blocks.len());
    let Some(first) = page[zeros..].iter().position(is_set).map(|place| zeros + place) else { return 0 };
    let blocks_end = 64 * blocks.iter().rposition(is_block_set).map_or(0, |last| last + 1);
    let end = if rest.iter().any(is_set) { page.len() } else { blocks_end };
    let end = page[..end].iter().rposition(is_set).map_or(first, |last| last + 1);
    runs.push(first..end);
    (end - first) as u64
}
