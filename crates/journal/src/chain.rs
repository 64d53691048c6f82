//! The chain: a hash over every frame and all before it.
//!
//! `chain(n) = BLAKE3(payload, kind, chain(n - 1))`, 32 bytes. It covers what happened, not when that reached a disk: two
//! journals with equal frames have equal chains, however they were cut into segments and synced. If the last value is
//! known, no frame can be changed, dropped, added or reordered unnoticed. The payload comes first, so that long ones begin on a boundary of
//! BLAKE3's chunks and are hashed several chunks at a time; 33 bytes always follow it, so nothing is ambiguous. Cost: one
//! BLAKE3 over the payload and 33 bytes.

use std::fmt;

/// The hash of a sequence of frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chain([u8; Self::BYTES]);

impl Chain {
    /// Its length.
    pub const BYTES: usize = 32;

    /// The chain of no frames.
    pub fn genesis() -> Self {
        Self(*blake3::hash(b"metroon journal").as_bytes())
    }

    /// The chain of these frames and one more.
    pub(crate) fn next(self, kind: u8, payload: &[u8]) -> Self {
        Self(*blake3::Hasher::new().update(payload).update(&[kind]).update(&self.0).finalize().as_bytes())
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
    fn a_chain_tells_sequences_apart() {
        let of = |payloads: &[&[u8]]| payloads.iter().fold(Chain::genesis(), |chain, payload| chain.next(1, payload));
        assert_eq!(of(&[b"a", b"b"]), of(&[b"a", b"b"]));
        for other in [of(&[b"b", b"a"]), of(&[b"a"]), of(&[b"a", b"b", b""]), of(&[b"ab"])] {
            assert_ne!(of(&[b"a", b"b"]), other);
        }
        assert_ne!(Chain::genesis().next(1, b"a"), Chain::genesis().next(2, b"a"));
    }

    #[test]
    fn it_prints_as_hexadecimal() {
        let text = Chain::from_bytes([0xa5; 32]).to_string();
        assert_eq!(text, "a5".repeat(32));
    }
}
