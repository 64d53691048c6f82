//! All that is on a cassette, in memory.

use crate::exchange::{Exchange, Note};

/// All that is on a cassette, in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// In the order of their numbers.
    pub exchanges: Vec<Exchange<'static>>,
    /// What is known of the cassette: names and values.
    pub meta: Vec<Note<'static>>,
}
