//! Searching for the answers of patterns as they are written, depth first by parts.
//!
//! 1. All partial answers that there are for a pattern are extended by the next, until many were made. The others wait then, and the search
//!    goes on with those that were made. When all is known that follows from them, it comes back for the others.
//! 2. So answers come in their order, no pattern keeps more than a part of its partial answers at a time, and the first answers
//!    are found before the others are looked for.
//! 3. What waits is a place among rows that are listed. Only what does not change meanwhile lists the same rows each time: a space is locked
//!    until the search is over, and a snapshot does not change.

use super::answers::Answers;
use super::execution::Execution;
use super::extent::{Extent, NextRow};
use super::made::Made;
use super::unfinished::Unfinished;
use crate::term::Term;

/// How many partial answers of a pattern are made, or rows listed for one of them looked at, before the search goes on with them.
const PART_MAX: usize = 1 << 14;

/// A search that is under way.
#[derive(Debug)]
pub(super) struct Search {
    /// Partial answers of different patterns, the last written at the end.
    waiting: Vec<Waiting>,
    /// How many rows are looked at now for a part: twice as many each time that the search comes back.
    pub(super) part: usize,
    has_begun: bool,
}

/// Partial answers of the patterns before one, of which those from a place on wait for its rows.
#[derive(Debug)]
struct Waiting {
    step: usize,
    cells: Vec<Term>,
    count: usize,
    next: NextRow,
}

impl Default for Search {
    fn default() -> Self {
        Self { waiting: Vec::new(), part: PART_MAX, has_begun: false }
    }
}

impl Search {
    /// A search that finds few answers at first, and more each time.
    pub(super) fn beginning_with(answers: usize) -> Self {
        Self { part: answers.clamp(1, PART_MAX), ..Self::default() }
    }

    /// Whether all answers are those that were found last.
    pub(super) fn is_over(&self) -> bool {
        self.has_begun && self.waiting.is_empty()
    }

    /// Takes up what waits for the pattern that was written last: its number, how many partial answers there are, and the row that comes
    /// next. `None` if nothing waits.
    fn take_up(&mut self, answers: &mut Answers) -> Option<(usize, usize, NextRow)> {
        let Waiting { step, cells, count, next } = self.waiting.pop()?;
        answers.cells = cells;
        self.part = (self.part * 2).min(PART_MAX);
        Some((step, count, next))
    }
}

impl Execution<'_> {
    /// Finds all answers of the patterns as written. There are too many if more rows were to be looked at than are left.
    pub(super) fn find_within(&mut self, made: Made<'_>) -> Result<usize, Unfinished> {
        let mut search = Search::default();
        let mut count = self.advance_search(&mut search, made)?;
        if search.is_over() {
            return Ok(count);
        }
        let mut all = self.answers.take_part();
        while !search.is_over() {
            count += self.advance_search(&mut search, made)?;
            all.append(self.answers.take_part(), self.answers.width);
        }
        self.answers.replace_by(all);
        Ok(count)
    }

    /// Counts the answers of patterns as they are written, of which none is kept. There are too many if more rows were to be looked at than are
    /// left.
    pub(super) fn count_as_written(&mut self, made: Made<'_>) -> Result<usize, Unfinished> {
        let (mut search, mut count) = (Search::default(), 0);
        while !search.is_over() {
            count += self.advance_search(&mut search, made)?;
        }
        Ok(count)
    }

    /// Finds the next answers, at least one unless there is none. If more rows were to be looked at than are left, there are too many, and the
    /// search can go on from there.
    pub(super) fn advance_search(&mut self, search: &mut Search, made: Made<'_>) -> Result<usize, Unfinished> {
        let steps = made.loops.steps.len();
        let mut at = if search.has_begun {
            search.take_up(self.answers)
        } else {
            search.has_begun = true;
            self.begin(made.loops.variables());
            Some((0, 1, NextRow::default()))
        };
        while let Some((step, count, next)) = at {
            if step == steps {
                return Ok(count);
            }
            let mut extent = Extent { next, part: search.part };
            let extended = match self.extend_step(step, count, &mut extent, made) {
                Err(Unfinished::TooMany) => None,
                extended => Some(extended?),
            };
            if let (Some(_), Some(1..)) = (&self.answers.factored, extended) {
                return extended.ok_or(Unfinished::TooMany);
            }
            self.answers.factored = None;
            if extended.is_none() || extent.next.answer < count {
                let next = if extended.is_some() { extent.next } else { next };
                let cells = std::mem::take(&mut self.answers.cells);
                search.waiting.push(Waiting { step, cells, count, next });
            }
            let count = extended.ok_or(Unfinished::TooMany)?;
            std::mem::swap(&mut self.answers.cells, &mut self.scratch.next);
            at = if count == 0 { search.take_up(self.answers) } else { Some((step + 1, count, NextRow::default())) };
        }
        Ok(0)
    }
}
