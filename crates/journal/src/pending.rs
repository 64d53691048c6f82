//! Frames that have their number, place and chain value but are not written yet.
//!
//! A frame that would make its segment longer than the limit begins the next segment, unless it would be the first of
//! this one: a segment holds at least one frame, however long. So where a frame lies depends only on the frames before
//! it, never on when they were written.

use crate::chain::Chain;
use crate::format::{FRAMES_AT, Identity, Mark, Salt, encode_frame, frame_bytes};
use crate::frame::Place;

/// The largest buffer that is kept to be filled again.
const SPARE_BYTES_MAX: usize = 4 << 20;

/// Frames of one segment, end to end.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) from: Mark,
    pub(crate) to: Mark,
    pub(crate) bytes: Vec<u8>,
}

/// What was appended and not yet handed to the writer.
#[derive(Debug)]
pub(crate) struct Pending {
    identity: Identity,
    segment_bytes: u64,
    salt: Salt,
    end: Mark,
    pieces: Vec<Piece>,
    bytes: usize,
    /// A buffer that was written, to be filled again.
    spare: Vec<u8>,
}

/// What the journal says about a frame it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// Where the frame lies.
    pub place: Place,
    /// The chain up to and including it.
    pub chain: Chain,
}

impl Pending {
    pub(crate) fn new(identity: Identity, segment_bytes: u64, end: Mark) -> Self {
        let salt = Salt::new(identity, end.segment);
        Self { identity, segment_bytes, salt, end, pieces: Vec::new(), bytes: 0, spare: Vec::new() }
    }

    /// The end of everything appended.
    pub(crate) fn end(&self) -> Mark {
        self.end
    }

    /// How many bytes are held back.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a frame; `synced` is how far the journal is known to be synced.
    pub(crate) fn push(&mut self, payload: &[u8], synced: &Mark) -> Receipt {
        if self.is_full_for(payload) {
            self.end = Mark::beginning(self.end.frames, self.end.chain);
            self.salt = Salt::new(self.identity, self.end.segment);
        }
        let at = self.end;
        let synced = if synced.segment == at.segment { synced.offset } else { FRAMES_AT };
        let salt = self.salt;
        let piece = self.piece();
        let before = piece.bytes.len();
        let chain = encode_frame(&mut piece.bytes, salt, &at, synced, payload);
        piece.to = at.after(payload.len(), chain);
        let (to, grown) = (piece.to, piece.bytes.len() - before);
        self.end = to;
        self.bytes += grown;
        Receipt { place: Place::of(&at), chain }
    }

    fn is_full_for(&self, payload: &[u8]) -> bool {
        self.end.offset > FRAMES_AT && self.end.offset + frame_bytes(payload.len()) > self.segment_bytes
    }

    /// The piece that ends where the next frame begins.
    fn piece(&mut self) -> &mut Piece {
        let end = self.end;
        if self.pieces.last().is_none_or(|piece| piece.to != end) {
            let bytes = std::mem::take(&mut self.spare);
            self.pieces.push(Piece { from: end, to: end, bytes });
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

    fn pending(segment_bytes: u64) -> Pending {
        Pending::new(Identity::default(), segment_bytes, Mark::beginning(0, Chain::genesis()))
    }

    #[test]
    fn frames_that_fit_exactly_share_a_segment() {
        let two = FRAMES_AT + 2 * frame_bytes(10);
        for (limit, segments) in [(two, [0, 0, 2]), (two - 1, [0, 1, 2]), (0, [0, 1, 2])] {
            let mut pending = pending(limit);
            let synced = pending.end();
            let places: Vec<u64> = (0..3).map(|_| pending.push(&[7; 10], &synced).place.segment).collect();
            assert_eq!(places, segments, "{limit}");
        }
    }

    #[test]
    fn pieces_lie_end_to_end() {
        let mut pending = pending(FRAMES_AT + 2 * frame_bytes(10));
        let synced = pending.end();
        for _ in 0..5 {
            pending.push(&[7; 10], &synced);
        }
        let pieces = pending.take();
        assert_eq!(pieces.len(), 3);
        for pair in pieces.windows(2) {
            assert_eq!((pair[0].to.frames, pair[0].to.chain), (pair[1].from.frames, pair[1].from.chain));
            assert_eq!(pair[0].to.frames, pair[1].from.segment);
        }
        assert!(pieces.iter().all(|piece| piece.to.offset - piece.from.offset == piece.bytes.len() as u64));
        assert_eq!(pending.bytes(), 0);
    }
}
