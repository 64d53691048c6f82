//! Payloads of any length, in frames whose length is limited.
//!
//! A payload that is too long for a frame is cut: every frame but the last holds a piece and says that more follows, the
//! last says that it ends there. Pieces whose last one is missing, which a crash may leave, are ignored.

use std::convert::Infallible;

/// The longest payload that is not cut, and the length of a piece.
const PIECE_BYTES: usize = 1 << 20;

/// The longest payload that is put together again. Nothing that a program keeps is as long; a journal that claims it is damaged.
const PAYLOAD_BYTES_MAX: usize = 4 << 30;

/// The kinds of frames that hold pieces, beside those of their owner.
const FIRST_PIECE: u8 = 0xF0;
const PIECE: u8 = 0xF1;
const LAST_PIECE: u8 = 0xF2;

/// A frame that is nothing: a first piece that does not go on.
pub(crate) const NOTHING: [u8; 1] = [FIRST_PIECE];

/// The frames of a payload.
pub(crate) fn cut(payload: Vec<u8>) -> Vec<Vec<u8>> {
    if payload.len() <= PIECE_BYTES {
        return vec![payload];
    }
    let mut frames = Vec::new();
    let taken = cut_two(&[], &payload, |frame| {
        frames.push(frame.to_vec());
        Ok::<(), Infallible>(())
    });
    match taken {
        Ok(()) => frames,
    }
}

/// Hands out the frames of a payload that lies in two places, of which the first is short.
pub(crate) fn cut_two<E>(first: &[u8], second: &[u8], mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    if first.len() + second.len() <= PIECE_BYTES {
        return take(&[first, second].concat());
    }
    let (mut first, mut second) = (first, second);
    let mut frame = Vec::with_capacity(PIECE_BYTES + 1);
    let mut kind = FIRST_PIECE;
    while !(first.is_empty() && second.is_empty()) {
        frame.clear();
        frame.push(std::mem::replace(&mut kind, PIECE));
        for part in [&mut first, &mut second] {
            let (now, later) = part.split_at(part.len().min(PIECE_BYTES + 1 - frame.len()));
            frame.extend_from_slice(now);
            *part = later;
        }
        if second.is_empty() {
            frame[0] = LAST_PIECE;
        }
        take(&frame)?;
    }
    Ok(())
}

/// Whether a frame holds a piece that goes on from the one before.
pub(crate) fn goes_on(frame: &[u8]) -> bool {
    matches!(frame.first(), Some(&(PIECE | LAST_PIECE)))
}

/// Puts payloads together again.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    joined: Vec<u8>,
    is_whole: bool,
}

impl Pieces {
    /// Takes the next frame; gives the payload that ends with it.
    ///
    /// # Errors
    /// A last piece without one before it, or more than any payload holds.
    pub(crate) fn join<'a>(&'a mut self, frame: &'a [u8]) -> Result<Option<&'a [u8]>, &'static str> {
        if std::mem::take(&mut self.is_whole) || !goes_on(frame) {
            self.joined.clear();
        }
        let (kind, piece) = match frame.split_first() {
            Some((&kind @ (FIRST_PIECE | PIECE | LAST_PIECE), piece)) => (kind, piece),
            _ => return Ok(Some(frame)),
        };
        if goes_on(frame) && self.joined.is_empty() {
            return Err("the pieces before it are missing");
        }
        if self.joined.len() + piece.len() > PAYLOAD_BYTES_MAX {
            return Err("the payload it belongs to is longer than a payload can be");
        }
        self.joined.extend_from_slice(piece);
        self.is_whole = kind == LAST_PIECE;
        Ok(self.is_whole.then_some(self.joined.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_of_every_length_come_back() {
        for length in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 2 * PIECE_BYTES + 7] {
            let payload: Vec<u8> = (0..length).map(|index| index as u8 & 0x7F).collect();
            let frames = cut(payload.clone());
            assert!(frames.iter().all(|frame| frame.len() <= PIECE_BYTES + 1));
            let mut pieces = Pieces::default();
            let (last, first) = frames.split_last().expect("there is a frame");
            assert!(first.iter().all(|frame| pieces.join(frame) == Ok(None)));
            assert_eq!(pieces.join(last), Ok(Some(payload.as_slice())));
        }
    }

    #[test]
    fn pieces_without_a_beginning_are_an_error() {
        assert!(Pieces::default().join(&[LAST_PIECE, 1]).is_err());
        assert!(Pieces::default().join(&[PIECE, 1]).is_err());
    }

    #[test]
    fn pieces_without_an_end_are_nothing() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.join(&[FIRST_PIECE, 1]), Ok(None));
        assert_eq!(pieces.join(&[PIECE, 2]), Ok(None));
        assert_eq!(pieces.join(&[FIRST_PIECE, 3]), Ok(None));
        assert_eq!(pieces.join(&[LAST_PIECE, 4]), Ok(Some(&[3, 4][..])));
        assert_eq!(pieces.join(&[FIRST_PIECE, 5]), Ok(None));
        assert_eq!(pieces.join(&[7, 8]), Ok(Some(&[7, 8][..])));
        assert_eq!(pieces.join(&NOTHING), Ok(None));
        assert_eq!(pieces.join(&NOTHING), Ok(None));
        assert_eq!(pieces.join(&[7, 8]), Ok(Some(&[7, 8][..])));
    }
}
