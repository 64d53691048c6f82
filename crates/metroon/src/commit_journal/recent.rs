//! The history of a base in memory, which is bounded: nobody else would ever give up its old commits.
//!
//! 1. After each commit it is counted how many bytes of the journal say nothing of what the base holds now ([`superseded`]). What was loaded and
//!    is still there is not counted, however much it is.
//! 2. If that is more than the bound, and more than the base's start takes, commits are [given up](super::retention), as whole segments, so that
//!    a quarter of the bound is kept at least.
//!
//! Cost: the commits that are given up happen once more, so each commit does so once or twice in its life.

use super::retention::Checks;
use super::{CommitJournal, KnowledgeBaseError};
use std::collections::VecDeque;

/// What a base in memory keeps of its history beside what it holds, in bytes, unless set otherwise.
pub const HISTORY_BYTES_DEFAULT: u64 = 8 << 20;

/// At least this part of the bound is kept.
const KEPT_PART: u64 = 4;
/// What a commit takes beside its rows: its header, its source and its cause.
const COMMIT_BYTES: u64 = 128;

/// How many bytes of the journal say nothing of what there is now, once a commit of this many bytes is made that removes rows, or changes something
/// else than rows: its own, and those of the rows that it removed.
pub(crate) fn superseded(bytes: u64, removes: bool, changes_others: bool) -> u64 {
    match (removes, changes_others) {
        (true, _) => 2 * bytes,
        (false, true) => bytes,
        (false, false) => bytes.min(COMMIT_BYTES),
    }
}

/// The commits of a base in memory that are kept.
pub(crate) struct RecentHistory {
    bytes_max: u64,
    /// How many bytes were superseded since the base was opened, and when commits were given up last.
    superseded: u64,
    given_up: u64,
    /// The beginnings of the segments since then.
    marks: VecDeque<Mark>,
}

/// Where a segment begins.
struct Mark {
    segment: u64,
    /// The commit before it.
    epoch: u64,
    superseded: u64,
}

impl RecentHistory {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, superseded: 0, given_up: 0, marks: VecDeque::new() }
    }

    /// Takes note of a commit, and gives up old ones if it is time.
    ///
    /// # Errors
    /// The journal cannot be read or trimmed.
    pub(crate) fn after_commit(
        &mut self,
        base: &CommitJournal,
        (epoch, superseded): (u64, u64),
    ) -> Result<(), KnowledgeBaseError> {
        let Some(position) = base.position() else { return Ok(()) };
        let segment = position.place.segment;
        if self.marks.back().is_none_or(|mark| mark.segment != segment) {
            self.marks.push_back(Mark { segment, epoch: epoch.saturating_sub(1), superseded: self.superseded });
        }
        self.superseded += superseded;
        if self.superseded - self.given_up <= self.bytes_max {
            return Ok(());
        }
        self.give_up(base, epoch)
    }

    fn give_up(&mut self, base: &CommitJournal, last: u64) -> Result<(), KnowledgeBaseError> {
        if self.superseded - self.given_up <= base.start_bytes() {
            return Ok(());
        }
        let kept = self.superseded.saturating_sub(self.bytes_max / KEPT_PART);
        let Some(place) = self.marks.iter().rposition(|mark| mark.superseded <= kept && mark.epoch > 0) else {
            return Ok(());
        };
        let (epoch, superseded) = (self.marks[place].epoch, self.marks[place].superseded);
        if superseded <= self.given_up {
            return Ok(());
        }
        base.keep_last(last - epoch, last, Checks::None, &mut |_| {})?;
        self.marks.drain(..place);
        self.given_up = superseded;
        Ok(())
    }
}
