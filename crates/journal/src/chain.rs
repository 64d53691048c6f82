//! The chain: a hash over every frame and all before it. [`block`](crate::block) says how it is computed.
//!
//! It covers what happened, not when that reached a disk: two journals with equal frames in equal segments have equal chains,
//! however they were synced. If the last value is known, no frame can be changed, dropped, added or reordered unnoticed.

use std::fmt;
use std::sync::LazyLock;

/// The hash of a sequence of frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain([u8; Self::BYTES]);

impl Chain {
    /// Its length.
    pub const BYTES: usize = 32;

    /// The chain of no frames.
    pub fn genesis() -> Self {
        static GENESIS: LazyLock<Chain> = LazyLock::new(|| Chain(*blake3::hash(b"metroon journal").as_bytes()));
        *GENESIS
    }

    /// The value that [`Chain::as_bytes`] gave.
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes, to keep or compare elsewhere.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

/// In hexadecimal, 64 digits.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_prints_as_hexadecimal() {
        let text = Chain::from_bytes([0xa5; 32]).to_string();
        assert_eq!(text, "a5".repeat(32));
    }
}
