//! Frames on the wire (RFC 6455, section 5.2).

use crate::runtime::http1::Http1Reader;
use crate::runtime::peer_error::PeerError;
use bytes::{BufMut, Bytes, BytesMut};
use cassette::{Direction, Opcode, WsFrame};
use std::io;

/// What stands before the payload of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) is_final: bool,
    /// RSV1 to RSV3, RSV1 highest.
    pub(super) reserved: u8,
    pub(super) opcode: Opcode,
    pub(super) mask: Option<[u8; 4]>,
    /// Bytes of the payload.
    pub(super) payload: u64,
    /// Bytes of the head itself.
    pub(super) bytes: usize,
}

impl FrameHead {
    /// Reads a head from the first bytes of a frame; `None` if there are too few.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<Self>, &'static str> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        let (payload, rest): (u64, &[u8]) = match (second & 0x7F, rest) {
            (126, [high, low, rest @ ..]) => (u16::from_be_bytes([*high, *low]).into(), rest),
            (127, rest) if rest.len() >= 8 => {
                let (length, rest) = rest.split_at(8);
                (length.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)), rest)
            }
            (126 | 127, _) => return Ok(None),
            (length, rest) => (length.into(), rest),
        };
        if payload > i64::MAX as u64 {
            return Err("the length of a frame has a bit too many");
        }
        let opcode = Opcode::new(first & 15).ok_or("a frame has no opcode")?;
        let is_final = first & 0x80 != 0;
        if opcode >= Opcode::CLOSE && (payload > 125 || !is_final) {
            return Err("a frame of control is too long, or in parts");
        }
        let (mask, rest) = match (second & 0x80 != 0, rest.split_first_chunk()) {
            (false, _) => (None, rest),
            (true, Some((mask, rest))) => (Some(*mask), rest),
            (true, None) => return Ok(None),
        };
        let reserved = first >> 4 & 7;
        Ok(Some(Self { is_final, reserved, opcode, mask, payload, bytes: bytes.len() - rest.len() }))
    }
}

/// A frame as it was on the wire.
pub(super) struct RawFrame {
    pub(super) head: FrameHead,
    pub(super) raw: Bytes,
}

impl RawFrame {
    /// As it is on a cassette.
    pub(super) fn recorded(&self, at_us: u64, direction: Direction) -> WsFrame<'_> {
        let FrameHead { is_final, reserved, opcode, .. } = self.head;
        let payload = match self.head.mask {
            None => self.raw[self.head.bytes..].into(),
            Some(mask) => masked(&self.raw[self.head.bytes..], mask).into(),
        };
        WsFrame { at_us, direction, opcode, is_final, reserved, payload }
    }
}

fn masked(payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect()
}

/// What comes next on a connection.
pub(super) enum NextFrame {
    Frame(RawFrame),
    /// One of more bytes than are taken at once. It is still to be read.
    Long(FrameHead),
    /// The other side ended the connection.
    End,
}

/// Waits for the next frame. Nothing is lost if it is given up.
pub(super) async fn next(reader: &mut Http1Reader, payload_max: u64) -> Result<NextFrame, PeerError> {
    loop {
        if let Some(head) = FrameHead::parse(&reader.buffer).map_err(PeerError::Malformed)? {
            if head.payload > payload_max {
                return Ok(NextFrame::Long(head));
            }
            let bytes = head.bytes + head.payload as usize;
            if reader.buffer.len() >= bytes {
                return Ok(NextFrame::Frame(RawFrame { head, raw: reader.buffer.split_to(bytes).freeze() }));
            }
        }
        let is_begun = !reader.buffer.is_empty();
        match reader.fill().await {
            Ok(0) if is_begun => {
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, "it ended in the middle of a frame");
                return Err(PeerError::Io(error));
            }
            Ok(0) => return Ok(NextFrame::End),
            Ok(_) => {}
            Err(error) => return Err(PeerError::Io(error)),
        }
    }
}

/// Adds a frame without a mask, as servers send them.
pub(super) fn put(out: &mut BytesMut, frame: &WsFrame<'_>) {
    out.put_u8(u8::from(frame.is_final) << 7 | (frame.reserved & 7) << 4 | frame.opcode.number());
    match frame.payload.len() {
        short @ ..126 => out.put_u8(short as u8),
        middle @ 126..65536 => {
            out.put_u8(126);
            out.put_u16(middle as u16);
        }
        long => {
            out.put_u8(127);
            out.put_u64(long as u64);
        }
    }
    out.put_slice(&frame.payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read() {
        for length in [0, 1, 125, 126, 65535, 65536, 70000] {
            let mut frame = WsFrame::new(0, Direction::Received, Opcode::BINARY, vec![7; length]);
            (frame.is_final, frame.reserved) = (false, 4);
            let mut out = BytesMut::new();
            put(&mut out, &frame);
            for cut in 0..14.min(out.len() - length) {
                assert_eq!(FrameHead::parse(&out[..cut]), Ok(None), "{length} {cut}");
            }
            let head = FrameHead::parse(&out).unwrap().unwrap();
            assert_eq!((head.payload, head.bytes + length), (length as u64, out.len()));
            let read = RawFrame { head, raw: out.freeze() };
            assert_eq!(read.recorded(0, Direction::Received), frame);
        }
    }

    #[test]
    fn masks_are_undone() {
        let raw = Bytes::from_static(b"\x81\x83\x01\x02\x03\x04\x49\x67\x7a");
        let head = FrameHead::parse(&raw).unwrap().unwrap();
        let frame = RawFrame { head, raw };
        assert_eq!(frame.recorded(5, Direction::Sent).payload, "Hey");
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert!(FrameHead::parse(&[0x89, 126, 0, 200]).is_err());
        assert!(FrameHead::parse(&[0x08, 0]).is_err());
        assert!(FrameHead::parse(&[0x82, 127, 255, 0, 0, 0, 0, 0, 0, 0]).is_err());
    }
}
