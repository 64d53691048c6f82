//! An exchange as the events that made it.

use crate::bytes::Bytes;
use crate::error::RecordError;
use crate::exchange::{Exchange, Outcome};
use crate::message::{Body, Header};
use crate::record::event::{BodyPiece, Event};
use crate::websocket::WsFrame;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Where events go.
pub(crate) type EventSink<'g> = dyn FnMut(&Event<'_>) -> Result<(), RecordError> + 'g;

/// Whose body grows.
#[derive(Clone, Copy)]
pub(crate) enum MessageSide {
    Request,
    Response,
}

impl MessageSide {
    pub(crate) fn chunk(self, piece: BodyPiece<'_>) -> Event<'_> {
        match self {
            Self::Request => Event::RequestChunk(piece),
            Self::Response => Event::ResponseChunk(piece),
        }
    }
}

/// How an exchange ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExchangeEnd<'a> {
    /// When everything was over, in microseconds after the beginning; `None` if that is not known.
    pub ended_us: Option<u64>,
    /// What came after the body of the request.
    pub request_trailers: Vec<Header<'a>>,
    /// What came after the body of the response.
    pub response_trailers: Vec<Header<'a>>,
    /// How it ended.
    pub outcome: Outcome<'a>,
}

/// A chunk of more bytes is cut for the journal, and is one again when it is read.
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// The frames of one exchange are one row of a sealed cassette, so there is an end to them. What comes then is not recorded, and the
/// exchange is truncated.
const EXCHANGE_FRAMES_BYTES_MAX: usize = 256 << 20;

/// About how many bytes a frame takes beside its payload.
const FRAME_HEAD_BYTES: usize = 16;

/// How much of the frames of an exchange was recorded.
#[derive(Default)]
pub(crate) struct FrameBudget {
    taken: AtomicUsize,
    is_exceeded: AtomicBool,
}

impl FrameBudget {
    /// Whether a frame is recorded. None is after the first that is not.
    pub(crate) fn takes(&self, frame: &WsFrame<'_>) -> bool {
        let bytes = frame.payload.len() + FRAME_HEAD_BYTES;
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        let takes = before.saturating_add(bytes) <= EXCHANGE_FRAMES_BYTES_MAX;
        if !takes {
            self.taken.store(EXCHANGE_FRAMES_BYTES_MAX, Ordering::Relaxed);
            self.is_exceeded.store(true, Ordering::Relaxed);
        }
        takes
    }

    /// How an exchange ended, if some of its frames may be missing.
    pub(crate) fn outcome<'a>(&self, outcome: Outcome<'a>) -> Outcome<'a> {
        match outcome {
            Outcome::Complete if self.is_exceeded.load(Ordering::Relaxed) => Outcome::Truncated,
            outcome => outcome,
        }
    }
}

/// Gives an exchange that is too long for one frame as if it happened now. It is redacted already, if it is to be.
pub(crate) fn retell(exchange: &Exchange<'_>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
    let Exchange { started_ns, ended_us, request, response, .. } = exchange;
    let has_body = request.body.is_some();
    give(&Event::Begin { started_ns: *started_ns, has_body, request: request.head() })?;
    give_some(MessageSide::Request, request.body.as_ref(), give)?;
    let mut informational = exchange.informational.iter();
    informational.try_for_each(|informational| give(&Event::Informational(informational.borrowed())))?;
    if let Some(response) = response {
        give(&Event::ResponseHead { has_body: response.body.is_some(), response: response.head() })?;
        give_some(MessageSide::Response, response.body.as_ref(), give)?;
    }
    let room = FrameBudget::default();
    if let Some(frames) = &exchange.frames {
        give(&Event::WsOpen)?;
        let mut taken = frames.iter().take_while(|frame| room.takes(frame));
        taken.try_for_each(|frame| give(&Event::WsFrame(frame.borrowed())))?;
    }
    exchange.notes.iter().try_for_each(|note| give(&Event::Note(note.borrowed())))?;
    let trailers = |trailers: &[Header<'_>]| trailers.iter().map(|header| header.clone().into_owned()).collect();
    let outcome = room.outcome(exchange.outcome.borrowed());
    let response = response.as_ref().map_or(Vec::new(), |response| trailers(&response.trailers));
    give(&Event::End { ended_us: *ended_us, request: trailers(&request.trailers), response, outcome })
}

/// Gives the chunks of a body.
pub(crate) fn give_body(side: MessageSide, body: &Body<'_>, give: &mut EventSink<'_>) -> Result<(), RecordError> {
    body.pieces().try_for_each(|(at_us, bytes)| give_chunk(side, at_us, bytes, give))
}

pub(crate) fn give_some(
    side: MessageSide,
    body: Option<&Body<'_>>,
    give: &mut EventSink<'_>,
) -> Result<(), RecordError> {
    body.map_or(Ok(()), |body| give_body(side, body, give))
}

pub(crate) fn give_chunk(
    side: MessageSide,
    at_us: u64,
    bytes: &[u8],
    give: &mut EventSink<'_>,
) -> Result<(), RecordError> {
    let (first, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES_MAX));
    give(&side.chunk(BodyPiece { at_us, goes_on: false, bytes: Bytes::from(first) }))?;
    let mut rest = rest.chunks(CHUNK_BYTES_MAX);
    rest.try_for_each(|bytes| give(&side.chunk(BodyPiece { at_us, goes_on: true, bytes: Bytes::from(bytes) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::websocket::{Direction, Opcode};

    #[test]
    fn frames_of_an_exchange_have_an_end() {
        let room = FrameBudget::default();
        let frame = WsFrame::new(0, Direction::Sent, Opcode::BINARY, vec![0; (1 << 20) - FRAME_HEAD_BYTES]);
        assert_eq!((0..300).filter(|_| room.takes(&frame)).count(), 256);
        assert!(!room.takes(&WsFrame::new(0, Direction::Sent, Opcode::BINARY, "")));
        assert_eq!(room.outcome(Outcome::Complete), Outcome::Truncated);
        assert_eq!(room.outcome(Outcome::Partial), Outcome::Partial);
        assert_eq!(FrameBudget::default().outcome(Outcome::Complete), Outcome::Complete);
    }
}
