//! Exchanges from what happened to them, in the order it was recorded.
//!
//! Exchanges overlap, so there are several drafts at a time. A body goes into pieces as it grows, which are handed on at once
//! where someone [keeps](Keep) them: then a draft has no more than one piece of a body in memory, however long the body. Only
//! the body of a request stays until it is too long to take part in a request key.

use super::event::{BodyPiece, Event};
use super::whole::BodyForm;
use crate::bytes::Bytes;
use crate::exchange::{Exchange, Note, Outcome};
use crate::key::KEY_BODY_BYTES_MAX;
use crate::message::{Body, Chunk};
use crate::redact::{REQUEST_BODY_NOTE, RESPONSE_BODY_NOTE, correct_length};
use std::collections::BTreeMap;

/// Takes the pieces of long bodies.
pub(crate) trait PieceSink {
    /// What may go wrong.
    type Error: From<&'static str>;

    /// Pieces have this length, all but the last of a body.
    const PIECE_BYTES: usize;

    /// Bodies of fewer bytes stay in their exchange.
    const SHARED_BYTES_MIN: usize;

    /// Takes a piece and says its number.
    fn keep(&mut self, piece: &[u8]) -> Result<u32, Self::Error>;
}

/// For bodies that are wanted in memory.
pub(crate) struct InMemory;

impl PieceSink for InMemory {
    type Error = &'static str;
    const PIECE_BYTES: usize = usize::MAX;
    const SHARED_BYTES_MIN: usize = usize::MAX;

    fn keep(&mut self, _: &[u8]) -> Result<u32, Self::Error> {
        Err("a body is longer than memory")
    }
}

/// An exchange whose bodies lie beside it.
#[derive(Debug, Default)]
pub(crate) struct ExchangeDraft {
    pub(crate) exchange: Exchange<'static>,
    request: PartialBody,
    response: PartialBody,
    has_begun: bool,
}

/// A body, as far as it is there.
#[derive(Debug, Default)]
struct PartialBody {
    is_there: bool,
    chunks: Vec<Chunk>,
    kept: Vec<u32>,
    rest: Vec<u8>,
}

/// Makes exchanges.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    drafts: BTreeMap<u64, ExchangeDraft>,
    meta: BTreeMap<Bytes<'static>, Bytes<'static>>,
    next_number: u64,
}

impl Assembler {
    /// Takes what happened next; gives the exchange that is over with it.
    pub(crate) fn take<K: PieceSink>(
        &mut self,
        number: u64,
        event: Event<'_>,
        keeper: &mut K,
    ) -> Result<Option<ExchangeDraft>, K::Error> {
        match event {
            Event::Meta(note) => {
                let note = note.into_owned();
                self.meta.insert(note.name, note.value);
                Ok(None)
            }
            Event::Whole(exchange) => {
                self.note_number(number);
                ExchangeDraft::of(*exchange, keeper).map(Some)
            }
            Event::Begin { started_ns, has_body, request } => {
                // One of the same number that has begun before will not be over: this one is another.
                let has_begun = self.drafts.get(&number).is_some_and(|draft| draft.has_begun);
                let before = if has_begun { self.drafts.remove(&number).map(ExchangeDraft::partial) } else { None };
                let draft = self.draft(number);
                draft.has_begun = true;
                draft.request.is_there |= has_body;
                (draft.exchange.started_ns, draft.exchange.request) = (started_ns, request.into_owned());
                Ok(before)
            }
            event => self.go_on(number, event, keeper),
        }
    }

    /// Numbers are given in the order in which requests begin, but those who take them may reach the cassette in another.
    fn note_number(&mut self, number: u64) {
        self.next_number = self.next_number.max(number.saturating_add(1));
    }

    /// The exchange of this number. Something may be known of one before its beginning is: whoever calls things in an order that
    /// cannot be spoils no other exchange.
    fn draft(&mut self, number: u64) -> &mut ExchangeDraft {
        self.note_number(number);
        self.drafts.entry(number).or_insert_with(|| ExchangeDraft {
            exchange: Exchange { number, ..Exchange::default() },
            ..ExchangeDraft::default()
        })
    }

    fn go_on<K: PieceSink>(
        &mut self,
        number: u64,
        event: Event<'_>,
        keeper: &mut K,
    ) -> Result<Option<ExchangeDraft>, K::Error> {
        let is_over = self.draft(number).take(event, keeper)?;
        Ok(if is_over { self.drafts.remove(&number) } else { None })
    }

    /// What is left: exchanges that were not over when the recording ended.
    pub(crate) fn unfinished(&mut self) -> impl Iterator<Item = ExchangeDraft> + use<> {
        std::mem::take(&mut self.drafts).into_values().map(ExchangeDraft::partial)
    }

    /// The number after the highest one.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number
    }

    /// What is known of the cassette: by name, the last value of each.
    pub(crate) fn meta(&self) -> impl Iterator<Item = Note<'static>> {
        self.meta.iter().map(|(name, value)| Note { name: name.clone(), value: value.clone() })
    }
}

impl ExchangeDraft {
    fn of<K: PieceSink>(exchange: Exchange<'_>, keeper: &mut K) -> Result<Self, K::Error> {
        let mut exchange = exchange.into_owned();
        let request = PartialBody::of(exchange.request.body.take(), KEY_BODY_BYTES_MAX + 1, keeper)?;
        let response = exchange.response.as_mut().and_then(|response| response.body.take());
        let response = PartialBody::of(response, 0, keeper)?;
        Ok(Self { exchange, request, response, has_begun: true })
    }

    /// One that will not be over.
    fn partial(mut self) -> Self {
        self.exchange.outcome = Outcome::Partial;
        self.correct_lengths();
        self
    }

    /// Whether it is over now.
    fn take<K: PieceSink>(&mut self, event: Event<'_>, keeper: &mut K) -> Result<bool, K::Error> {
        let exchange = &mut self.exchange;
        match event {
            Event::RequestChunk(piece) => self.request.push(piece, KEY_BODY_BYTES_MAX + 1, keeper)?,
            Event::ResponseChunk(piece) => self.response.push(piece, 0, keeper)?,
            Event::Informational(informational) => exchange.informational.push(informational.into_owned()),
            Event::ResponseHead { has_body, response } => {
                self.response.is_there |= has_body;
                exchange.response = Some(response.into_owned());
            }
            Event::WsOpen => drop(exchange.frames.get_or_insert_default()),
            Event::WsFrame(frame) => {
                exchange.frames.get_or_insert_default().push(frame.into_owned());
            }
            Event::Note(note) => exchange.notes.push(note.into_owned()),
            Event::End { ended_us, request, response, outcome } => {
                exchange.ended_us = ended_us;
                exchange.request.trailers = request.into_iter().map(|header| header.into_owned()).collect();
                if let Some(head) = &mut exchange.response {
                    head.trailers = response.into_iter().map(|header| header.into_owned()).collect();
                }
                exchange.outcome = outcome.into_owned();
                self.correct_lengths();
                return Ok(true);
            }
            Event::Meta(_) | Event::Whole(_) | Event::Begin { .. } => unreachable!("the assembler takes these"),
        }
        Ok(false)
    }

    /// Says how long bodies are out of which secrets were taken after their heads were recorded.
    fn correct_lengths(&mut self) {
        let Exchange { request, response, notes, .. } = &mut self.exchange;
        for note in notes.iter() {
            if note.name == REQUEST_BODY_NOTE {
                correct_length(&mut request.headers, self.request.length());
            }
            if let Some(response) = response.as_mut().filter(|_| note.name == RESPONSE_BODY_NOTE) {
                correct_length(&mut response.headers, self.response.length());
            }
        }
    }

    /// The exchange with its bodies, if nothing of them was kept elsewhere.
    pub(crate) fn into_exchange(self) -> Exchange<'static> {
        let mut exchange = self.exchange;
        exchange.request.body = self.request.into_body();
        let body = self.response.into_body();
        if let Some(response) = &mut exchange.response {
            response.body = body;
        }
        exchange
    }

    /// Hands on what is left of long bodies.
    pub(crate) fn settle<K: PieceSink>(&mut self, keeper: &mut K) -> Result<(), K::Error> {
        self.request.settle(keeper)?;
        self.response.settle(keeper)
    }

    /// The forms of both bodies.
    pub(crate) fn forms(&self) -> (BodyForm<'_>, BodyForm<'_>) {
        (self.request.form(), self.response.form())
    }

    /// Puts the body of the request into it, as far as it is here, for a caller that looks at requests.
    pub(crate) fn lend_request_body(&mut self) {
        if self.request.kept.is_empty() {
            self.exchange.request.body = std::mem::take(&mut self.request).into_body();
        }
    }

    /// Takes the body of the request out again.
    pub(crate) fn take_back_request_body(&mut self) {
        if let Some(body) = self.exchange.request.body.take() {
            let (bytes, chunks) = body.into_parts();
            self.request = PartialBody { is_there: true, chunks, kept: Vec::new(), rest: bytes.0.into_owned() };
        }
    }

    /// How many bytes its bodies have.
    pub(crate) fn body_bytes(&self) -> u64 {
        let bytes = |body: &PartialBody| body.chunks.iter().map(|chunk| chunk.bytes as u64).sum::<u64>();
        bytes(&self.request) + bytes(&self.response)
    }
}

impl PartialBody {
    fn of<K: PieceSink>(body: Option<Body<'static>>, held: usize, keeper: &mut K) -> Result<Self, K::Error> {
        let Some(body) = body else { return Ok(Self::default()) };
        let (bytes, chunks) = body.into_parts();
        let mut growing = Self { is_there: true, chunks, kept: Vec::new(), rest: bytes.0.into_owned() };
        growing.hand_on(held, keeper)?;
        Ok(growing)
    }

    /// Takes what is next. Fewer bytes than `held` stay here.
    fn push<K: PieceSink>(&mut self, piece: BodyPiece<'_>, held: usize, keeper: &mut K) -> Result<(), K::Error> {
        let bytes = piece.bytes.len();
        match self.chunks.last_mut() {
            Some(chunk) if piece.goes_on => chunk.bytes += bytes,
            _ => self.chunks.push(Chunk { at_us: piece.at_us, bytes }),
        }
        self.is_there = true;
        self.rest.extend_from_slice(&piece.bytes);
        self.hand_on(held, keeper)
    }

    fn hand_on<K: PieceSink>(&mut self, held: usize, keeper: &mut K) -> Result<(), K::Error> {
        if self.kept.is_empty() && self.rest.len() < held {
            return Ok(());
        }
        let whole = self.rest.len() - self.rest.len() % K::PIECE_BYTES;
        for piece in self.rest[..whole].chunks(K::PIECE_BYTES) {
            self.kept.push(keeper.keep(piece)?);
        }
        self.rest.drain(..whole);
        Ok(())
    }

    fn settle<K: PieceSink>(&mut self, keeper: &mut K) -> Result<(), K::Error> {
        let is_shared = !self.kept.is_empty() || self.rest.len() >= K::SHARED_BYTES_MIN;
        if is_shared {
            self.hand_on(0, keeper)?;
        }
        if is_shared && !self.rest.is_empty() {
            self.kept.push(keeper.keep(&self.rest)?);
            self.rest.clear();
        }
        Ok(())
    }

    fn length(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.bytes).sum()
    }

    fn form(&self) -> BodyForm<'_> {
        match (self.is_there, self.kept.is_empty()) {
            (false, _) => BodyForm::Absent,
            (true, true) => BodyForm::Inline(&self.chunks, &self.rest),
            (true, false) => BodyForm::Shared(&self.chunks, &self.kept),
        }
    }

    fn into_body(self) -> Option<Body<'static>> {
        debug_assert!(self.kept.is_empty(), "nobody keeps pieces here");
        self.is_there.then(|| Body::from_parts(self.rest, self.chunks).expect("chunks were counted with their bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Header, Request};
    use crate::websocket::{Direction, Opcode, WsFrame};

    fn begin(request: Request<'_>) -> Event<'_> {
        Event::Begin { started_ns: 5, has_body: true, request }
    }

    fn chunk(bytes: &[u8]) -> Event<'_> {
        Event::RequestChunk(BodyPiece { at_us: 0, goes_on: true, bytes: bytes.into() })
    }

    #[test]
    fn the_length_of_an_unfinished_body_is_right() {
        let mut assembler = Assembler::default();
        let request = Request { headers: vec![Header::new("content-length", "100")], ..Request::default() };
        let note = Event::Note(Note::new(REQUEST_BODY_NOTE, "1"));
        for event in [begin(request), chunk(b"REDACTED"), note] {
            assert!(assembler.take(0, event, &mut InMemory).unwrap().is_none());
        }
        let exchange = assembler.unfinished().next().unwrap().into_exchange();
        assert_eq!((exchange.outcome, &exchange.request.headers[0].value), (Outcome::Partial, &Bytes::from("8")));
    }

    #[test]
    fn what_comes_before_its_beginning_is_kept() {
        let mut assembler = Assembler::default();
        let frame = Event::WsFrame(WsFrame::new(1, Direction::Sent, Opcode::TEXT, "hello"));
        for event in [frame, chunk(b"ab"), begin(Request::default()), chunk(b"cd")] {
            assert!(assembler.take(3, event, &mut InMemory).unwrap().is_none());
        }
        // Another begins under the same number.
        let first = assembler.take(3, begin(Request::default()), &mut InMemory).unwrap().unwrap().into_exchange();
        assert_eq!((first.number, first.started_ns, first.outcome), (3, 5, Outcome::Partial));
        assert_eq!((first.frames.unwrap().len(), first.request.body.unwrap().bytes().len()), (1, 4));
        assert_eq!(assembler.unfinished().count(), 1);
    }
}
