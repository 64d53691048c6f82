//! The content of a conversation's frames, in order, so that two conversations can be compared.
//!
//! 1. Messages are told apart: the frames of one direction up to one that is final, without those of control between them.
//! 2. The frames of a message that is not compressed say what they have in them.
//! 3. Of one that is compressed, the last frame says all of it, without compression, and the others say nothing: two senders may
//!    compress the same text to other bytes, and cut those elsewhere. One that cannot be read is its bytes.
//!
//! Messages are read when they are asked for, so that one is in memory at a time.

use crate::redact::{MessageReader, is_compressed_message};
use crate::websocket::{Direction, Opcode, WsFrame};
use std::borrow::Cow;

/// Frames that are asked one after the other, and only so.
pub(super) struct FrameSequence<'f> {
    frames: &'f [WsFrame<'f>],
    reader: MessageReader,
    /// Of each frame, which frames are its message, and which of them it is.
    messages: Vec<(usize, usize)>,
    /// The places of the frames of each message.
    places: Vec<Vec<usize>>,
}

impl<'f> FrameSequence<'f> {
    pub(super) fn new(frames: &'f [WsFrame<'f>]) -> Self {
        let (mut messages, mut places) = (Vec::with_capacity(frames.len()), Vec::<Vec<usize>>::new());
        let mut open = [None; 2];
        for (at, frame) in frames.iter().enumerate() {
            let open = &mut open[usize::from(frame.direction == Direction::Received)];
            let is_control = frame.opcode >= Opcode::CLOSE;
            let message = open.filter(|_| !is_control).unwrap_or_else(|| {
                places.push(Vec::new());
                places.len() - 1
            });
            if !is_control {
                *open = Some(message).filter(|_| !frame.is_final);
            }
            messages.push((message, places[message].len()));
            places[message].push(at);
        }
        Self { frames, reader: MessageReader::new(), messages, places }
    }

    /// The place of the first frame of a compressed message, if the frame at a place is of one.
    pub(super) fn compressed_from(&self, at: usize) -> Option<usize> {
        let first = self.places[self.messages[at].0][0];
        is_compressed_message(&self.frames[first]).then_some(first)
    }

    /// The content of the frame at a place.
    pub(super) fn says(&mut self, at: usize) -> Cow<'f, [u8]> {
        let frames = self.frames;
        let (message, number) = self.messages[at];
        let places = &self.places[message];
        if self.compressed_from(at).is_none() {
            return Cow::Borrowed(&frames[at].payload[..]);
        }
        if number + 1 < places.len() {
            return Cow::Borrowed(&[]);
        }
        let message: Vec<_> = places.iter().map(|&at| frames[at].borrowed()).collect();
        let text = self.reader.read(&message).map(Cow::into_owned);
        let bytes = || message.iter().flat_map(|frame| frame.payload.iter().copied()).collect();
        Cow::Owned(text.unwrap_or_else(bytes))
    }
}
