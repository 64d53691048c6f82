//! Messages of WebSockets that are compressed (RFC 7692, `permessage-deflate`).
//!
//! A message may refer to what was said before it, the same way: so a conversation is read from its beginning, each direction by
//! itself. An end that takes no context over does not refer to anything, and is read the same.

use super::{DECODED_BYTES_MAX, JoinedTexts};
use crate::websocket::{Direction, Opcode, WsFrame};
use flate2::{Decompress, FlushDecompress, Status};
use std::borrow::Cow;
use std::collections::VecDeque;

/// The bit of a frame that says that its message is compressed.
const COMPRESSED: u8 = 4;

/// What a sender leaves out at the end of a message (RFC 7692, section 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

const BUFFER_BYTES: usize = 16 << 10;

/// Whether a message that begins with this frame is compressed.
pub(crate) fn is_compressed(frame: &WsFrame<'_>) -> bool {
    frame.reserved & COMPRESSED != 0 && frame.opcode < Opcode::CLOSE
}

/// Says that a message is not compressed.
pub(crate) fn is_not_compressed(frame: &mut WsFrame<'_>) {
    frame.reserved &= !COMPRESSED;
}

/// Reads the messages of one conversation, in their order.
#[derive(Debug, Default)]
pub struct MessageReader {
    sent: Inflater,
    received: Inflater,
}

impl MessageReader {
    /// A conversation of which nothing was read.
    pub fn new() -> Self {
        Self::default()
    }

    /// What a message says, of which these are the frames; as it is, if it is not compressed. `None` if it cannot be read, or comes
    /// to more than [`DECODED_BYTES_MAX`](super::DECODED_BYTES_MAX).
    pub fn read<'f>(&mut self, frames: &'f [WsFrame<'_>]) -> Option<Cow<'f, [u8]>> {
        let first = frames.first()?;
        if !is_compressed(first) {
            return Some(match frames {
                [only] => Cow::Borrowed(&only.payload[..]),
                _ => Cow::Owned(frames.iter().flat_map(|frame| frame.payload.iter().copied()).collect()),
            });
        }
        let pieces = frames.iter().map(|frame| &frame.payload[..]);
        let is_final = frames.last().is_some_and(|last| last.is_final);
        let (bytes, _) = self.inflater(first.direction).message(pieces, is_final)?;
        Some(Cow::Owned(bytes))
    }

    fn inflater(&mut self, direction: Direction) -> &mut Inflater {
        match direction {
            Direction::Sent => &mut self.sent,
            Direction::Received => &mut self.received,
        }
    }
}

/// A message without compression, and how much of it each of its frames has.
type PlainMessage = (Vec<u8>, Vec<usize>);

/// The messages of one conversation while secrets are taken out of them.
#[derive(Debug, Default)]
pub(crate) struct ConversationMessages {
    reader: MessageReader,
    /// What was read of compressed messages before they were gone through, one way and the other.
    ahead: [VecDeque<Option<PlainMessage>>; 2],
    /// Texts that messages of the server give in pieces.
    pub(super) joined: JoinedTexts,
    /// Whether a message was changed, which later ones may refer to: from there on none is compressed, one way and the other.
    is_plain: [bool; 2],
}

impl ConversationMessages {
    /// A compressed message without compression, and how much of it each frame has. `None` if it cannot be read.
    pub(crate) fn inflate<'f>(
        &mut self,
        direction: Direction,
        payloads: impl Iterator<Item = &'f [u8]>,
        is_final: bool,
    ) -> Option<PlainMessage> {
        match self.ahead[usize::from(direction == Direction::Received)].pop_front() {
            Some(read) => read,
            None => self.reader.inflater(direction).message(payloads, is_final),
        }
    }

    /// What a compressed message says that is gone through later.
    pub(crate) fn read_ahead<'f>(
        &mut self,
        direction: Direction,
        payloads: impl Iterator<Item = &'f [u8]>,
        is_final: bool,
    ) -> Option<&[u8]> {
        let read = self.reader.inflater(direction).message(payloads, is_final);
        let ahead = &mut self.ahead[usize::from(direction == Direction::Received)];
        ahead.push_back(read);
        ahead.back()?.as_ref().map(|(bytes, _)| &bytes[..])
    }

    /// What may go on as a secret in later messages is replaced from now on, since no more can wait; or is not any more.
    pub(crate) fn cut_what_is_held(&mut self, cuts: bool) {
        self.joined.cut_what_is_held(cuts);
    }

    /// Whether messages of this direction are not compressed any more; `becomes` makes it so.
    pub(crate) fn is_plain(&mut self, direction: Direction, becomes: bool) -> bool {
        let is_plain = &mut self.is_plain[usize::from(direction == Direction::Received)];
        *is_plain |= becomes;
        *is_plain
    }
}

/// Undoes the compression of one direction.
#[derive(Debug, Default)]
struct Inflater {
    /// What was said so far; there is none before the first message.
    context: Option<Decompress>,
    /// Something could not be read, or its end is the end of all: what comes then refers to what is not known.
    is_lost: bool,
}

impl Inflater {
    fn message<'f>(&mut self, pieces: impl Iterator<Item = &'f [u8]>, is_final: bool) -> Option<(Vec<u8>, Vec<usize>)> {
        if self.is_lost {
            return None;
        }
        let (mut out, mut lengths) = (Vec::new(), Vec::new());
        for piece in pieces {
            let before = out.len();
            self.take(piece, &mut out)?;
            lengths.push(out.len() - before);
        }
        if is_final {
            let before = out.len();
            self.take(&TAIL, &mut out)?;
            *lengths.last_mut()? += out.len() - before;
        }
        Some((out, lengths))
    }

    fn take(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut buffer = [0; BUFFER_BYTES];
        while !self.is_lost {
            let context = self.context.get_or_insert_with(|| Decompress::new(false));
            let (taken, given) = (context.total_in(), context.total_out());
            let status = context.decompress(bytes, &mut buffer, FlushDecompress::None);
            let (taken, given) = ((context.total_in() - taken) as usize, (context.total_out() - given) as usize);
            bytes = &bytes[taken..];
            out.extend_from_slice(&buffer[..given]);
            self.is_lost = status.is_err() || out.len() > DECODED_BYTES_MAX;
            match status {
                // A sender may end all of it; what it says then begins anew, and may refer to what was before all the same.
                Ok(Status::StreamEnd) => {
                    self.is_lost = true;
                    return Some(());
                }
                Ok(_) if bytes.is_empty() && given < BUFFER_BYTES => return Some(()),
                Ok(_) if taken == 0 && given == 0 => self.is_lost = true,
                _ => {}
            }
        }
        // The stream may end in the middle of a message: nothing follows it.
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compress, Compression, FlushCompress};

    /// A message as a sender compresses it that takes its context over.
    fn deflated(compress: &mut Compress, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() + 64);
        compress.compress_vec(text, &mut out, FlushCompress::Sync).expect("there is room");
        out.truncate(out.len() - TAIL.len());
        out
    }

    fn frame(payload: Vec<u8>) -> WsFrame<'static> {
        WsFrame { reserved: COMPRESSED, ..WsFrame::new(0, Direction::Sent, Opcode::TEXT, payload) }
    }

    #[test]
    fn messages_refer_to_those_before_them() {
        let mut compress = Compress::new(Compression::best(), false);
        let mut reader = MessageReader::new();
        for text in ["the same words, again and again", "the same words, again and again", "", "and others"] {
            let payload = deflated(&mut compress, text.as_bytes());
            assert_eq!(reader.read(&[frame(payload)]).as_deref(), Some(text.as_bytes()));
        }
    }

    #[test]
    fn a_message_of_several_frames_is_one() {
        let text = b"many words, many words, many words".repeat(3_000);
        let payload = deflated(&mut Compress::new(Compression::fast(), false), &text);
        let frames: Vec<_> = payload.chunks(50).map(|piece| frame(piece.to_vec())).collect();
        assert_eq!(MessageReader::new().read(&frames).as_deref(), Some(&text[..]));
    }

    #[test]
    fn what_cannot_be_read_loses_the_rest() {
        let payload = deflated(&mut Compress::new(Compression::fast(), false), b"hello");
        let mut reader = MessageReader::new();
        assert_eq!(reader.read(&[frame(vec![7, 7, 7])]), None);
        assert_eq!(reader.read(&[frame(payload)]), None);
        assert_eq!(
            reader.read(&[WsFrame::new(0, Direction::Sent, Opcode::TEXT, "plain")]).as_deref(),
            Some(&b"plain"[..])
        );
    }
}
