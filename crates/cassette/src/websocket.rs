//! Frames of a WebSocket conversation.

use crate::bytes::Bytes;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Which way something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the client to the server.
    Sent,
    /// From the server to the client.
    Received,
}

/// What a frame is: four bits (RFC 6455, section 5.2). Reserved values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(u8);

impl Opcode {
    /// Goes on with the message of the frame before.
    pub const CONTINUATION: Self = Self(0);
    /// Begins a message of text.
    pub const TEXT: Self = Self(1);
    /// Begins a message of bytes.
    pub const BINARY: Self = Self(2);
    /// Ends the conversation.
    pub const CLOSE: Self = Self(8);
    /// Asks for a pong.
    pub const PING: Self = Self(9);
    /// Answers a ping, or says that one is there.
    pub const PONG: Self = Self(10);

    /// The opcode of this number; `None` above 15.
    pub fn new(number: u8) -> Option<Self> {
        (number < 16).then_some(Self(number))
    }

    /// Its number, 0 to 15.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// One frame of a conversation, unmasked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct WsFrame<'a> {
    /// When it was there, in microseconds after the exchange began.
    pub at_us: u64,
    /// Which way it went.
    pub direction: Direction,
    /// What it is.
    pub opcode: Opcode,
    /// Whether it is the last of its message.
    #[serde(default = "is_final")]
    pub is_final: bool,
    /// The three reserved bits, RSV1 highest; 4 for a message that is compressed (RFC 7692). At most 7.
    #[serde(default, deserialize_with = "reserved")]
    pub reserved: u8,
    /// Its bytes as they were on the wire, but unmasked.
    pub payload: Bytes<'a>,
}

/// Frames are, unless they say otherwise.
fn is_final() -> bool {
    true
}

fn reserved<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let bits = u8::deserialize(deserializer)?;
    if bits < 8 { Ok(bits) } else { Err(D::Error::custom("three reserved bits are a number below 8")) }
}

/// What a close frame says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Close<'a> {
    /// The side that said it.
    pub direction: Direction,
    /// Why; `None` if the frame was empty.
    pub code: Option<u16>,
    /// Why, in words.
    pub reason: &'a [u8],
}

impl<'a> WsFrame<'a> {
    /// A frame that is a message by itself.
    pub fn new(at_us: u64, direction: Direction, opcode: Opcode, payload: impl Into<Bytes<'a>>) -> Self {
        Self { at_us, direction, opcode, is_final: true, reserved: 0, payload: payload.into() }
    }

    /// What it says, if it is a close frame.
    pub fn close(&self) -> Option<Close<'_>> {
        if self.opcode != Opcode::CLOSE {
            return None;
        }
        let (code, reason) = match self.payload.split_first_chunk() {
            Some((code, reason)) => (Some(u16::from_be_bytes(*code)), reason),
            None => (None, &[][..]),
        };
        Some(Close { direction: self.direction, code, reason })
    }

    /// This frame, borrowed from here.
    pub fn borrowed(&self) -> WsFrame<'_> {
        let &Self { at_us, direction, opcode, is_final, reserved, ref payload } = self;
        WsFrame { at_us, direction, opcode, is_final, reserved, payload: payload.borrowed() }
    }

    /// A frame that borrows from nothing.
    pub fn into_owned(self) -> WsFrame<'static> {
        let Self { at_us, direction, opcode, is_final, reserved, payload } = self;
        WsFrame { at_us, direction, opcode, is_final, reserved, payload: payload.into_owned() }
    }
}
