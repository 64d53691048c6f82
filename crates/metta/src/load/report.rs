//! What came of a load.

/// How many reasons for skipping are told apart; what is skipped for others is counted together.
const REASONS_MAX: usize = 16;

/// Records that were not loaded, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Why.
    pub reason: String,
    /// Whether something is wrong with them. What is left out on purpose, such as a line of headings, is no error.
    pub is_error: bool,
    /// How many.
    pub count: u64,
    /// The line of the first, from 1.
    pub line: u64,
}

/// What came of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Whether this very content was loaded before, so that nothing was done.
    pub is_unchanged: bool,
    /// How many atoms were added.
    pub added: u64,
    /// How many atoms were there, because an earlier content of the file stated them.
    pub kept: u64,
    /// How many atoms were removed, because the file states them no longer.
    pub removed: u64,
    /// What was not loaded.
    pub skipped: Vec<Skipped>,
}

impl LoadReport {
    /// Whether every record was read, but for what is left out on purpose.
    pub fn is_whole(&self) -> bool {
        !self.skipped.iter().any(|skipped| skipped.is_error)
    }

    /// Counts a record that is not loaded.
    pub fn skip(&mut self, line: u64, reason: &str, is_error: bool) {
        self.skip_many(line, reason, is_error, 1);
    }

    /// Counts records that are not loaded for one reason, one after the other; the first begins on this line.
    pub(super) fn skip_many(&mut self, line: u64, reason: &str, is_error: bool, count: u64) {
        const OTHERS: &str = "other reasons";
        let is_room = self.skipped.len() < REASONS_MAX;
        let has =
            |wanted: &str| self.skipped.iter().position(|known| known.reason == wanted && known.is_error == is_error);
        let reason = if has(reason).is_some() || is_room { reason } else { OTHERS };
        match has(reason) {
            Some(place) => self.skipped[place].count += count,
            None => self.skipped.push(Skipped { reason: reason.to_owned(), is_error, count, line }),
        }
    }
}
