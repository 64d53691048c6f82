//! The bytes of exchanges and of what happens to them: the only place that knows them, beside `docs/formats.md`.
//!
//! [`whole`] is an exchange in one piece, as it lies in the blocks of a sealed cassette and in frames that record one at once;
//! [`event`] is a frame of a recording; [`assemble`] makes exchanges of events.

pub(crate) mod assemble;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod retell;
pub(crate) mod whole;

use crate::error::Malformed;
use crate::exchange::Exchange;
use event::Event;

impl<'a> Exchange<'a> {
    /// Appends the frame that records it at once.
    pub fn encode(&self, out: &mut Vec<u8>) {
        event::encode_whole(out, self);
    }

    /// The exchange of such a frame, borrowing from it.
    ///
    /// # Errors
    /// The bytes are not such a frame.
    pub fn decode(frame: &'a [u8]) -> Result<Self, Malformed> {
        match Event::decode(frame)? {
            (_, Event::Whole(exchange)) => Ok(*exchange),
            _ => Err(Malformed { what: "a frame that records something else", at: 0 }),
        }
    }
}
