//! Frames that have their number, place and chain value but are not written yet.
//!
//! A segment ends with the frame with which it reaches the limit, and a block with it, or with the one with which the block is long
//! enough. So where a frame lies and whether it ends a block depends only on the frames before it, never on when they were written.

use crate::block::Block;
use crate::chain::Chain;
use crate::format::{FRAMES_AT, Identity, KIND_DATA, Mark, Salt, encode_frame, frame_bytes};
use crate::frame::Place;

/// The largest buffer that is kept to be filled again.
const SPARE_BYTES_MAX: usize = 4 << 20;

/// Frames of one segment, end to end.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) from: Mark,
    pub(crate) to: Mark,
    /// The chain value before the block that the first of them belongs to.
    pub(crate) before: Chain,
    pub(crate) bytes: Vec<u8>,
}

/// What was appended and not yet handed to the writer.
#[derive(Debug)]
pub(crate) struct Pending {
    identity: Identity,
    segment_bytes: u64,
    salt: Salt,
    end: Mark,
    /// The block that the next frame belongs to, so far.
    block: Block,
    pieces: Vec<Piece>,
    bytes: usize,
    /// A buffer that was written, to be filled again.
    spare: Vec<u8>,
}

impl Pending {
    /// Nothing, after the end of a journal and the frames of its last block.
    pub(crate) fn new(identity: Identity, segment_bytes: u64, end: Mark, block: Block) -> Self {
        let salt = Salt::new(identity, end.segment);
        Self { identity, segment_bytes, salt, end, block, pieces: Vec::new(), bytes: 0, spare: Vec::new() }
    }

    /// The end of everything appended.
    pub(crate) fn end(&self) -> Mark {
        self.end
    }

    /// The block that the next frame belongs to, so far.
    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// How many bytes are held back.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a frame; `synced` is how far the journal is known to be synced.
    pub(crate) fn push(&mut self, payload: &[u8], synced: &Mark) -> Place {
        if self.block.is_empty() && self.end.offset > FRAMES_AT && self.end.offset >= self.segment_bytes {
            self.end = Mark::beginning(self.end.frames);
            self.salt = Salt::new(self.identity, self.end.segment);
            self.block.begin(self.end, self.block.before());
        }
        let (at, salt) = (self.end, self.salt);
        let synced = if synced.segment == at.segment { synced.offset } else { FRAMES_AT };
        let bytes = frame_bytes(payload.len(), false);
        let ends_block = self.block.ends_at(at.offset + bytes) || at.offset + bytes >= self.segment_bytes;
        let to = at.after(frame_bytes(payload.len(), ends_block));
        self.block.push(KIND_DATA, payload);
        let chain = ends_block.then(|| self.block.chain());
        let piece = self.piece();
        piece.to = to;
        encode_frame(&mut piece.bytes, salt, &at, synced, payload, chain);
        if let Some(chain) = chain {
            self.block.begin(to, chain);
        }
        self.bytes += usize::try_from(to.offset - at.offset).expect("FRAME_BYTES_MAX bounds it");
        self.end = to;
        Place::of(&at)
    }

    /// The piece that ends where the next frame begins.
    fn piece(&mut self) -> &mut Piece {
        let end = self.end;
        if self.pieces.last().is_none_or(|piece| piece.to != end) {
            let bytes = std::mem::take(&mut self.spare);
            self.pieces.push(Piece { from: end, to: end, before: self.block.before(), bytes });
        }
        self.pieces.last_mut().expect("a piece was added")
    }

    /// Everything held back, in order.
    pub(crate) fn take(&mut self) -> Vec<Piece> {
        self.bytes = 0;
        std::mem::take(&mut self.pieces)
    }

    /// Takes back what was written, for its memory.
    pub(crate) fn recycle(&mut self, written: Vec<Piece>) {
        let Some(piece) = written.into_iter().next_back() else { return };
        if self.spare.capacity() < piece.bytes.capacity() && piece.bytes.capacity() <= SPARE_BYTES_MAX {
            self.spare = piece.bytes;
            self.spare.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BLOCK_BYTES;

    fn pending(segment_bytes: u64) -> Pending {
        let end = Mark::beginning(0);
        Pending::new(Identity::default(), segment_bytes, end, Block::new(end, Chain::genesis()))
    }

    #[test]
    fn the_frame_that_reaches_the_limit_ends_the_segment() {
        let two = FRAMES_AT + 2 * frame_bytes(10, false);
        for (limit, segments) in [(two, [0, 0, 2]), (two + 1, [0, 0, 0]), (0, [0, 1, 2])] {
            let mut pending = pending(limit);
            let synced = pending.end();
            let places: Vec<u64> = (0..3).map(|_| pending.push(&[7; 10], &synced).segment).collect();
            assert_eq!(places, segments, "{limit}");
        }
    }

    #[test]
    fn a_block_ends_with_the_frame_that_makes_it_long_enough() {
        let mut pending = pending(u64::MAX);
        let synced = pending.end();
        let mut ends = Vec::new();
        for number in 0..400_u64 {
            pending.push(&[7; 500], &synced);
            if pending.block().is_empty() {
                ends.push(number);
            }
        }
        let frames = BLOCK_BYTES.div_ceil(frame_bytes(500, false));
        assert_eq!(ends, [frames - 1, 2 * frames - 1, 3 * frames - 1]);
    }

    #[test]
    fn pieces_lie_end_to_end() {
        let mut pending = pending(FRAMES_AT + 2 * frame_bytes(10, false));
        let synced = pending.end();
        for _ in 0..5 {
            pending.push(&[7; 10], &synced);
        }
        let pieces = pending.take();
        assert_eq!(pieces.len(), 3);
        for pair in pieces.windows(2) {
            assert_eq!(pair[0].to.frames, pair[1].from.frames);
            assert_eq!(pair[0].to.frames, pair[1].from.segment);
            assert!(
                pair[0].bytes.ends_with(pair[1].before.as_bytes()),
                "a segment ends with what the next one continues"
            );
        }
        assert!(pieces.iter().all(|piece| piece.to.offset - piece.from.offset == piece.bytes.len() as u64));
        assert_eq!(pending.bytes(), 0);
    }
}
