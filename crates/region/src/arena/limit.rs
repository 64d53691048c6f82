//! What an arena refuses, and why.

use std::error::Error;
use std::fmt;

/// Nothing was made, because a limit was reached. The arena is as it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ArenaFull {
    /// The limit that the owner has set.
    Limit {
        /// The limit, in bytes of chunks.
        limit: usize,
        /// How many of them the arena holds.
        held: usize,
        /// How many more it would have to.
        needed: usize,
    },
    /// The system refused so many bytes.
    Memory {
        /// How many were asked for.
        needed: usize,
    },
    /// More bytes than a program can address.
    Size,
}

impl fmt::Display for ArenaFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArenaFull::Limit { limit, held, needed } => write!(
                f,
                "the arena is full: it holds {held} bytes and needs {needed} more, its limit is {limit}; raise it, or reset \
                 the arena"
            ),
            ArenaFull::Memory { needed } => {
                write!(f, "the arena is full: the system refused {needed} bytes; hold on to less")
            }
            ArenaFull::Size => f.write_str("too large for an arena: more bytes than can be addressed; split it"),
        }
    }
}

impl Error for ArenaFull {}
