//! What a page is to its users: a name, and bytes of theirs.

use std::fmt;
use std::sync::Arc;

/// What a page is to its users. The state keeps it in the log and in checkpoints, and makes nothing of it. It is part of the hash of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// A name, or nothing. Several pages may have one name.
    pub name: String,
    /// What its users want to know of it: a type, a shape, a unit.
    pub bytes: Vec<u8>,
}

impl Metadata {
    /// The longest a name may be, in bytes.
    pub const NAME_BYTES_MAX: usize = 1 << 10;
    /// The most bytes there may be beside the name.
    pub const BYTES_MAX: usize = 64 << 10;

    /// A name alone.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), bytes: Vec::new() }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.name.is_empty() && self.bytes.is_empty()
    }

    /// Whether it is longer than it may be.
    pub(crate) fn is_too_long(&self) -> bool {
        self.name.len() > Self::NAME_BYTES_MAX || self.bytes.len() > Self::BYTES_MAX
    }

    /// As a state keeps it: nothing, if there is nothing in it.
    pub(crate) fn kept(&self) -> Option<Arc<Self>> {
        (!self.is_empty()).then(|| Arc::new(self.clone()))
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} and {} bytes", self.name, self.bytes.len())
    }
}
