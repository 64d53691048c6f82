//! Services of the world, which a program opens, asks and closes by number: which there are, their numbers, and how long answers get.

use serde::{Deserialize, Serialize};

/// How many things of one service a program may have open.
pub const SERVICES_OPEN_MAX: usize = 256;

/// How many bytes one answer may have, with what its parts take besides.
pub(crate) const ANSWER_BYTES_MAX: usize = 1 << 28;

/// What a part of an answer takes in memory besides its bytes, so that many small ones are not free.
pub(crate) const ANSWER_PART_BYTES: usize = 64;

/// How large an answer has become.
#[derive(Debug, Default)]
pub struct AnswerSize(usize);

impl AnswerSize {
    /// Counts a part of this many bytes. Whether the answer may still have it.
    pub fn takes(&mut self, bytes: usize) -> bool {
        self.0 = self.0.saturating_add(bytes).saturating_add(ANSWER_PART_BYTES);
        self.0 <= ANSWER_BYTES_MAX
    }
}

/// Something of a service that a program has opened. Each service gives ids in the order of opening, from 1 on, and never twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceId(pub u64);

/// Which service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServiceKind {
    /// Keys and values, in the order of keys.
    Store,
    /// Pages of numbers, and what they were.
    Pages,
}

impl ServiceKind {
    /// What is open, in a word.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Pages => "state",
        }
    }

    /// All that can be open, in words.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Store => "stores and snapshots",
            Self::Pages => "states and snapshots",
        }
    }

    /// The type of what is open.
    pub const fn type_name(self) -> &'static str {
        match self {
            Self::Store => "Store",
            Self::Pages => "Pages",
        }
    }

    /// The operation that opens something to be changed.
    pub fn opened_by(self) -> &'static str {
        match self {
            Self::Store => "store-open!",
            Self::Pages => "pages-open!",
        }
    }

    /// The operation that closes it.
    pub fn closed_by(self) -> &'static str {
        match self {
            Self::Store => "store-close!",
            Self::Pages => "pages-close!",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_small_parts_has_an_end() {
        let mut size = AnswerSize::default();
        let most = ANSWER_BYTES_MAX / ANSWER_PART_BYTES;
        assert!((0..most).all(|_| size.takes(0)));
        assert!(!size.takes(0));
        let mut size = AnswerSize::default();
        assert!(!size.takes(1 + ANSWER_BYTES_MAX - ANSWER_PART_BYTES));
    }
}
