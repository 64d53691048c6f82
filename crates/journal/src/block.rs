//! How the chain is computed: over blocks of frames.
//!
//! Frames gather in **blocks**. A block ends with the frame with which it reaches [`BLOCK_BYTES`] of its file, or its segment the
//! limit. The chain value after some frames of a block is the BLAKE3 hash of
//!
//! 1. the chain value before the block, 32 bytes;
//! 2. for each of the frames, its payload, the length of that (4 bytes, little-endian) and its kind (1 byte).
//!
//! So there is a value after each frame, and only that at the end of a block is on disk: in the frame that ends it. The next block goes
//! on from there. A sequence of frames can be told from the bytes hashed, read backwards; nothing is ambiguous.
//!
//! Cost: what is hashed is gathered into pieces of [`PIECE_BYTES`], of which BLAKE3 hashes several chunks at a time. That takes a quarter or a fifth of
//! the time of hashing each frame of 1 KiB by itself. A value in the middle of a block costs the hash of at most a piece.

use crate::chain::Chain;
use crate::format::Mark;

/// The length in its file with which a block ends.
pub const BLOCK_BYTES: u64 = 64 << 10;
/// How much is hashed at once: as many chunks of 1 KiB as the widest registers have lanes. Pieces begin at multiples of it, which is what
/// lets BLAKE3 hash all chunks of one side by side.
const PIECE_BYTES: usize = 16 << 10;

/// A block, up to some frame of it.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Where it begins.
    from: Mark,
    /// The chain value before it.
    before: Chain,
    is_empty: bool,
    hasher: blake3::Hasher,
    /// What the hasher did not get yet: less than a piece.
    held: Vec<u8>,
}

impl Block {
    /// A block without frames.
    pub(crate) fn new(from: Mark, before: Chain) -> Self {
        let mut block = Self { from, before, is_empty: true, hasher: blake3::Hasher::new(), held: Vec::new() };
        block.begin(from, before);
        block
    }

    /// Begins another block, in the memory of this one.
    pub(crate) fn begin(&mut self, from: Mark, before: Chain) {
        (self.from, self.before, self.is_empty) = (from, before, true);
        self.hasher.reset();
        self.held.clear();
        self.held.extend_from_slice(before.as_bytes());
    }

    /// Where it begins.
    pub(crate) fn from(&self) -> Mark {
        self.from
    }

    /// The chain value before it.
    pub(crate) fn before(&self) -> Chain {
        self.before
    }

    /// Whether it has no frames.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether it is over when it reaches to this place of its segment.
    pub(crate) fn ends_at(&self, offset: u64) -> bool {
        offset - self.from.offset >= BLOCK_BYTES
    }

    /// Adds a frame.
    pub(crate) fn push(&mut self, kind: u8, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("a payload is shorter than FRAME_BYTES_MAX");
        let [a, b, c, d] = length.to_le_bytes();
        self.is_empty = false;
        self.hash(payload);
        self.hash(&[a, b, c, d, kind]);
    }

    fn hash(&mut self, mut bytes: &[u8]) {
        if self.held.len() + bytes.len() >= PIECE_BYTES {
            let (rest_of_piece, rest) = bytes.split_at(PIECE_BYTES - self.held.len());
            self.held.extend_from_slice(rest_of_piece);
            self.hasher.update(&self.held);
            self.held.clear();
            let (pieces, rest) = rest.split_at(rest.len() - rest.len() % PIECE_BYTES);
            self.hasher.update(pieces);
            bytes = rest;
        }
        self.held.extend_from_slice(bytes);
    }

    /// The chain value after the frames that were added.
    pub(crate) fn chain(&self) -> Chain {
        if self.is_empty {
            return self.before;
        }
        let mut hasher = self.hasher.clone();
        Chain::from_bytes(*hasher.update(&self.held).finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(payloads: &[&[u8]]) -> Chain {
        let mut block = Block::new(Mark::beginning(0), Chain::genesis());
        payloads.iter().for_each(|payload| block.push(1, payload));
        block.chain()
    }

    #[test]
    fn a_chain_tells_sequences_apart() {
        assert_eq!(of(&[]), Chain::genesis());
        assert_eq!(of(&[b"a", b"b"]), of(&[b"a", b"b"]));
        for other in [of(&[b"b", b"a"]), of(&[b"a"]), of(&[b"a", b"b", b""]), of(&[b"ab"]), of(&[b"", b"a", b"b"])] {
            assert_ne!(of(&[b"a", b"b"]), other);
        }
        let mut other = Block::new(Mark::beginning(0), Chain::genesis());
        other.push(2, b"a");
        assert_ne!(of(&[b"a"]), other.chain());
        let after = Block::new(Mark::beginning(0), of(&[b"a"]));
        assert_eq!(after.chain(), of(&[b"a"]), "a block goes on where the one before it ended");
    }

    /// What `docs/formats.md` says, in one call.
    #[test]
    fn frames_of_all_lengths_come_to_the_hash_of_their_bytes() {
        let payload: Vec<u8> = (0..70_000_u32).map(|index| (index * 7) as u8).collect();
        for lengths in
            [&[0][..], &[1, 2, 3], &[16_347], &[16_347 - 32, 1], &[16_384, 5], &[70_000, 0, 40_000], &[1_000; 60]]
        {
            let mut block = Block::new(Mark::beginning(0), Chain::genesis());
            let mut bytes = Chain::genesis().as_bytes().to_vec();
            for &length in lengths {
                block.push(1, &payload[..length]);
                bytes.extend_from_slice(&payload[..length]);
                bytes.extend_from_slice(&(length as u32).to_le_bytes());
                bytes.push(1);
                assert_eq!(block.chain().as_bytes(), blake3::hash(&bytes).as_bytes(), "{lengths:?}");
            }
        }
    }
}
