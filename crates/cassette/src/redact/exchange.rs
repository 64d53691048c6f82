//! Going through all of an exchange.

use crate::bytes::Bytes;
use crate::dialect::units::Unit;
use crate::exchange::{Exchange, Note, Outcome};
use crate::message::{Body, Chunk, Header, Request, Response};
use crate::redact::content::{BodyContext, ContentClass, MessageSender};
use crate::redact::decode::{DECODED_BYTES_MAX, codings, decode};
use crate::redact::messages::{ConversationMessages, is_compressed, is_not_compressed};
use crate::redact::sniff::{coding_of, encode};
use crate::redact::{Finding, OF_A_NAME, Redacted, Redaction, Replacement, TextFindings, arguments_of, replaced};
use crate::websocket::{Direction, Opcode, WsFrame};
use std::collections::BTreeSet;

/// The name of the note that says which compression a body had before a secret was taken out of it.
const CODING_NOTE: &str = "redacted.content-encoding";

/// The name of the note that says what could not be looked into.
const OPAQUE_NOTE: &str = "redacted.opaque";

/// The name of the note that says what was found in something that is not text, and is there still: place and kind.
const KEPT_NOTE: &str = "redacted.kept";

/// The name of the note that says how messages were compressed before a secret was taken out of one.
const MESSAGES_NOTE: &str = "redacted.websocket-compression";

impl Redaction {
    /// Takes the secrets out of a request.
    pub fn request(&self, request: &mut Request<'_>) -> Redacted {
        let mut redacted = Redacted::default();
        self.go_through_request(request, &mut Vec::new(), &mut redacted);
        redacted
    }

    /// Takes the secrets out of an exchange. What could not be looked into is noted with it.
    pub fn exchange(&self, exchange: &mut Exchange<'_>) -> Redacted {
        self.exchange_in(exchange, &mut ConversationMessages::default())
    }

    /// Takes the secrets out of an exchange that is a part of a conversation.
    pub(crate) fn exchange_in(&self, exchange: &mut Exchange<'_>, messages: &mut ConversationMessages) -> Redacted {
        let mut redacted = Redacted::default();
        let Exchange { request, informational, response, frames, outcome, notes, .. } = exchange;
        let mut codings = Vec::new();
        self.go_through_request(request, &mut codings, &mut redacted);
        for interim in informational {
            self.headers("informational response header", &mut interim.headers, &mut redacted);
            self.line("reason of an informational response", &mut interim.reason, &mut redacted);
        }
        if let Some(response) = response {
            self.go_through_response(response, &mut codings, &mut redacted);
        }
        let mut has_inflated = false;
        if let Some(frames) = frames {
            has_inflated = self.frames(frames, messages, &mut redacted);
        }
        if let Outcome::Aborted(error) = outcome {
            self.line("error message", &mut error.message, &mut redacted);
        }
        for note in notes.iter_mut() {
            let Note { name, value } = note;
            self.value(|| format!("note {}", name.to_text_lossy()), name, value, &mut redacted);
        }
        notes.extend(codings.into_iter().map(|coding| Note::new(CODING_NOTE, coding)));
        let inflated = has_inflated.then(|| Note::new(MESSAGES_NOTE, "permessage-deflate"));
        for note in
            inflated.into_iter().chain(redacted.opaque_note()).chain(redacted.kept_notes()).chain(redacted.stays_note())
        {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        redacted
    }

    /// The secrets that are in an exchange.
    pub fn scan(&self, exchange: &Exchange<'_>) -> Redacted {
        self.exchange(&mut exchange.borrowed())
    }

    fn go_through_request(&self, request: &mut Request<'_>, codings: &mut Vec<String>, redacted: &mut Redacted) {
        self.line("request target", &mut request.target, redacted);
        self.headers("request header", &mut request.headers, redacted);
        let about = BodyContext::of(&request.headers, MessageSender::Client);
        self.body("request body", &about, (&mut request.body, &mut request.headers), codings, redacted);
        self.headers("request trailer", &mut request.trailers, redacted);
    }

    fn go_through_response(&self, response: &mut Response<'_>, codings: &mut Vec<String>, redacted: &mut Redacted) {
        self.line("reason of the response", &mut response.reason, redacted);
        self.headers("response header", &mut response.headers, redacted);
        let about = BodyContext::of(&response.headers, MessageSender::Server);
        self.body("response body", &about, (&mut response.body, &mut response.headers), codings, redacted);
        self.headers("response trailer", &mut response.trailers, redacted);
    }

    fn headers(&self, what: &str, headers: &mut [Header<'_>], redacted: &mut Redacted) {
        for header in headers {
            let Header { name, value } = header;
            self.value(|| format!("{what} {}", name.to_text_lossy().to_ascii_lowercase()), name, value, redacted);
        }
    }

    /// The value of a name.
    fn value(&self, place: impl FnOnce() -> String, name: &[u8], value: &mut Bytes<'_>, redacted: &mut Redacted) {
        if let Some((without, what)) = self.header(name, value) {
            *value = without.into();
            redacted.found(&place(), what);
        }
    }

    fn line(&self, place: &str, line: &mut Bytes<'_>, redacted: &mut Redacted) {
        if let Some((without, what)) = self.redacted_line(line) {
            *line = without.into();
            redacted.found(place, what);
        }
    }

    /// A body. One that is compressed stays as it is unless a secret is in it; then it stays without compression.
    fn body(
        &self,
        place: &str,
        about: &BodyContext,
        (body, headers): (&mut Option<Body<'_>>, &mut Vec<Header<'_>>),
        codings_undone: &mut Vec<String>,
        redacted: &mut Redacted,
    ) {
        let Some(body) = body else { return };
        let codings = codings(headers);
        if codings.is_empty() {
            if self.unnamed_coding(place, body, about, redacted) || self.plain_body(place, body, about, redacted) {
                correct_length(headers, body.bytes().len());
            }
            return;
        }
        let decoded = decode(body, &codings);
        if decoded.as_ref().is_none_or(|decoded| !decoded.is_whole) {
            redacted.opaque.push(place.to_owned());
        }
        let is_whole = decoded.as_ref().is_some_and(|decoded| decoded.is_whole);
        let with_secrets = decoded
            .and_then(|mut decoded| self.plain_body(place, &mut decoded.body, about, redacted).then_some(decoded));
        if let Some(decoded) = with_secrets {
            *body = decoded.body;
            headers.retain(|header| !header.is("content-encoding"));
            correct_length(headers, body.bytes().len());
            codings_undone.push(codings.join(", "));
        } else if !is_whole && self.plain_body(place, body, about, redacted) {
            // It was not compressed as its head says, or not at all.
            correct_length(headers, body.bytes().len());
        }
    }

    /// A body that is compressed, by its first bytes, though its head does not say so: whoever reads it expects it to be, so it is compressed
    /// again. An archive or something else that is not text stays as it is. Gives whether something was replaced.
    fn unnamed_coding(&self, place: &str, body: &mut Body<'_>, about: &BodyContext, redacted: &mut Redacted) -> bool {
        let Some(coding) = coding_of(body.bytes()).filter(|_| about.nature != ContentClass::Binary) else {
            return false;
        };
        let decoded = decode(body, &[coding.to_owned()]).filter(|decoded| decoded.is_whole);
        let Some(mut decoded) = decoded.filter(|decoded| about.is_text(decoded.body.bytes())) else { return false };
        if !self.plain_body(place, &mut decoded.body, about, redacted) {
            return false;
        }
        let bytes = encode(coding, decoded.body.bytes());
        let mut left = bytes.len();
        let last = body.chunks().len().saturating_sub(1);
        let chunks = body.chunks().iter().enumerate().map(|(at, chunk)| {
            let bytes = if at == last { left } else { chunk.bytes.min(left) };
            left -= bytes;
            Chunk { at_us: chunk.at_us, bytes }
        });
        let chunks = chunks.collect();
        *body = Body::from_parts(bytes, chunks).unwrap_or_else(|| unreachable!("every byte was counted to a chunk"));
        true
    }

    /// Whether something was replaced.
    fn plain_body(&self, place: &str, body: &mut Body<'_>, about: &BodyContext, redacted: &mut Redacted) -> bool {
        let looked = self.look_through(body.bytes(), about);
        for replacement in looked.replacements.iter().filter(|replacement| !replacement.what.is_empty()) {
            redacted.found(&looked.place_of(place, replacement), replacement.what);
        }
        let stays = Finding { place: arguments_of(place), what: OF_A_NAME.to_owned() };
        redacted.stays.extend(std::iter::repeat_n(stays, looked.stays.len()));
        let TextFindings { replacements, kept, .. } = looked;
        let kept = kept.iter().map(|(_, what)| Finding { place: place.to_owned(), what: (*what).to_owned() });
        redacted.kept.extend(kept);
        if replacements.is_empty() {
            return false;
        }
        let chunks = chunks_after(body.chunks(), &replacements);
        let bytes = replaced(body.bytes(), &replacements);
        *body = Body::from_parts(bytes, chunks).unwrap_or_else(|| unreachable!("every byte was counted to a chunk"));
        true
    }

    /// Messages, which may be in several frames, with frames of control between them. Gives whether one is not compressed any more.
    fn frames(&self, frames: &mut [WsFrame<'_>], messages: &mut ConversationMessages, redacted: &mut Redacted) -> bool {
        let mut has_inflated = false;
        for direction in [Direction::Sent, Direction::Received] {
            let (mut read, mut bytes) = (Vec::new(), 0);
            for places in places_of_messages(frames, direction) {
                let Some(message) = Message::read(places, frames, messages, redacted) else { continue };
                bytes += message.body.bytes().len();
                read.push(message);
                if bytes >= MESSAGES_BYTES && (bytes >= DECODED_BYTES_MAX || !self.is_held(&read, messages)) {
                    messages.cut_what_is_held(true);
                    has_inflated |= self.messages(std::mem::take(&mut read), frames, messages, redacted);
                    messages.cut_what_is_held(false);
                    bytes = 0;
                }
            }
            has_inflated |= self.messages(read, frames, messages, redacted);
        }
        has_inflated
    }

    fn messages(
        &self,
        mut read: Vec<Message>,
        frames: &mut [WsFrame<'_>],
        messages: &mut ConversationMessages,
        redacted: &mut Redacted,
    ) -> bool {
        if read.first().is_some_and(|first| first.direction == Direction::Received) {
            self.joined(&mut read, messages, redacted);
        }
        let mut has_inflated = false;
        for message in read {
            has_inflated |= self.message(message, frames, messages, redacted);
        }
        has_inflated
    }

    /// Whether a text that a server gives in messages may go on as a secret.
    fn is_held(&self, read: &[Message], messages: &ConversationMessages) -> bool {
        let mut conversation = ReceivedMessages::default();
        read.iter().for_each(|message| conversation.push(message.opcode, message.body.bytes()));
        read.first().is_some_and(|first| first.direction == Direction::Received) && conversation.is_held(self, messages)
    }

    /// Takes secrets out of texts that messages of a server give in pieces.
    fn joined(&self, read: &mut [Message], messages: &mut ConversationMessages, redacted: &mut Redacted) {
        let mut conversation = ReceivedMessages::default();
        read.iter().for_each(|message| conversation.push(message.opcode, message.body.bytes()));
        let found = messages.joined.look_at(self, &conversation.bytes, &conversation.units);
        messages.joined.given_units(&conversation.bytes, &conversation.units, &found.held.cut);
        let mut begin = 0;
        for message in read {
            let end = begin + message.body.bytes().len();
            let own = found.replacements.iter().filter(|hit| begin <= hit.range.start && hit.range.start < end);
            let own =
                own.map(|hit| Replacement { range: hit.range.start - begin..hit.range.end - begin, ..hit.clone() });
            let own: Vec<_> = own.collect();
            if message.opcode < Opcode::CLOSE && !own.is_empty() {
                redacted.found_all(&message.place, &own);
                message.replace(&own);
            }
            begin = end;
        }
    }

    /// The frames of one message. One that is compressed stays so unless a secret is in it, or was in one
    /// before it. Gives whether it was compressed and is not any more.
    fn message(
        &self,
        mut message: Message,
        frames: &mut [WsFrame<'_>],
        messages: &mut ConversationMessages,
        redacted: &mut Redacted,
    ) -> bool {
        let speaker = if message.direction == Direction::Sent { MessageSender::Client } else { MessageSender::Server };
        let about = BodyContext::message(message.opcode, speaker);
        let is_changed = self.plain_body(&message.place, &mut message.body, &about, redacted) || message.is_changed;
        let becomes_plain = message.was_compressed && messages.is_plain(message.direction, is_changed);
        if is_changed || becomes_plain {
            is_not_compressed(&mut frames[message.places[0]]);
            for (&at, (_, piece)) in message.places.iter().zip(message.body.pieces()) {
                frames[at].payload = piece.to_vec().into();
            }
        }
        becomes_plain
    }
}

/// How many bytes of messages are gone through together; more of them only while a secret may go on.
const MESSAGES_BYTES: usize = 8 << 20;

/// A message while secrets are taken out of it.
struct Message {
    /// Which frames it has.
    places: Vec<usize>,
    place: String,
    direction: Direction,
    opcode: Opcode,
    was_compressed: bool,
    /// Without compression, in chunks as its frames are.
    body: Body<'static>,
    is_changed: bool,
}

impl Message {
    /// `None` if it cannot be read.
    fn read(
        places: Vec<usize>,
        frames: &[WsFrame<'_>],
        messages: &mut ConversationMessages,
        redacted: &mut Redacted,
    ) -> Option<Self> {
        let (&first, &last) = (places.first()?, places.last()?);
        let place = format!("message of frame {first}");
        let (direction, opcode, was_compressed) =
            (frames[first].direction, frames[first].opcode, is_compressed(&frames[first]));
        let payloads = places.iter().map(|&at| &frames[at].payload[..]);
        let (bytes, lengths) = if was_compressed {
            let Some(inflated) = messages.inflate(direction, payloads, frames[last].is_final) else {
                redacted.opaque.push(place);
                return None;
            };
            inflated
        } else {
            (payloads.clone().flatten().copied().collect(), payloads.map(<[u8]>::len).collect())
        };
        let chunks = lengths.into_iter().map(|bytes| Chunk { at_us: 0, bytes }).collect();
        let body = Body::from_parts(bytes, chunks)?;
        Some(Self { places, place, direction, opcode, was_compressed, body, is_changed: false })
    }

    fn replace(&mut self, replacements: &[Replacement<'_>]) {
        let chunks = chunks_after(self.body.chunks(), replacements);
        let bytes = replaced(self.body.bytes(), replacements);
        self.body =
            Body::from_parts(bytes, chunks).unwrap_or_else(|| unreachable!("every byte was counted to a chunk"));
        self.is_changed = true;
    }
}

/// The frames of each message of a direction, in the order in which messages end. A frame of control is a message of its own.
fn places_of_messages(frames: &[WsFrame<'_>], direction: Direction) -> Vec<Vec<usize>> {
    let (mut all, mut message) = (Vec::new(), Vec::new());
    for (at, frame) in frames.iter().enumerate().filter(|(_, frame)| frame.direction == direction) {
        if frame.opcode.number() >= Opcode::CLOSE.number() {
            all.push(vec![at]);
            continue;
        }
        message.push(at);
        if frame.is_final {
            all.push(std::mem::take(&mut message));
        }
    }
    all.extend((!message.is_empty()).then_some(message));
    all
}

/// What a server said in messages, one after the other.
#[derive(Debug, Default)]
pub(crate) struct ReceivedMessages {
    bytes: Vec<u8>,
    units: Vec<Unit>,
    /// How many bytes were not looked through yet for what may go on.
    new: usize,
    is_held: bool,
}

/// How many bytes are looked through again for every message.
const AGAIN_BYTES: usize = 8 << 10;

impl ReceivedMessages {
    pub(crate) fn push(&mut self, opcode: Opcode, message: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.new += message.len();
        if opcode < Opcode::CLOSE {
            self.units.push(Unit::line(begin..self.bytes.len()));
        }
    }

    /// Whether a secret may go on in a later message.
    pub(crate) fn is_held(&mut self, redaction: &Redaction, messages: &ConversationMessages) -> bool {
        if !self.is_held || self.bytes.len() <= AGAIN_BYTES || self.new >= self.bytes.len() / 4 {
            self.new = 0;
            let found = messages.joined.look_at(redaction, &self.bytes, &self.units);
            self.is_held = found.held.from.is_some();
        }
        self.is_held
    }
}

/// Chunks after replacements, of which there are some. What is put in belongs to the chunk in which the secret began.
pub(crate) fn chunks_after(chunks: &[Chunk], replacements: &[Replacement<'_>]) -> Vec<Chunk> {
    let sum = |end: &mut usize, chunk: &Chunk| {
        *end += chunk.bytes;
        Some(*end)
    };
    let ends: Vec<_> = chunks.iter().scan(0, sum).collect();
    let mut chunks = chunks.to_vec();
    for Replacement { range, placeholder, .. } in replacements {
        let mut at = ends.partition_point(|&end| end <= range.start);
        chunks[at].bytes += placeholder.len();
        let mut from = range.start;
        while from < range.end {
            let to = ends[at].min(range.end);
            chunks[at].bytes -= to - from;
            (from, at) = (to, at + 1);
        }
    }
    chunks
}

pub(crate) fn correct_length(headers: &mut [Header<'_>], length: usize) {
    for header in headers.iter_mut().filter(|header| header.is("content-length")) {
        header.value = length.to_string().into();
    }
}

impl Redacted {
    /// Frames are not told apart: where they are compressed, all of them are.
    fn opaque_note(&self) -> Option<Note<'static>> {
        let place = |place: &String| if place.starts_with("message") { "messages".to_owned() } else { place.clone() };
        let mut places: Vec<_> = self.opaque.iter().map(place).collect();
        places.dedup();
        (!places.is_empty()).then(|| Note::new(OPAQUE_NOTE, places.join(", ")))
    }

    fn stays_note(&self) -> Option<Note<'static>> {
        let places: BTreeSet<_> = self.stays.iter().map(|finding| without_number(&finding.place)).collect();
        (!places.is_empty()).then(|| stays_note(&places.into_iter().collect::<Vec<_>>().join("; ")))
    }

    fn kept_notes(&self) -> impl Iterator<Item = Note<'static>> {
        let distinct: BTreeSet<&Finding> = self.kept.iter().collect();
        distinct.into_iter().map(kept_note).collect::<Vec<_>>().into_iter()
    }

    fn found(&mut self, place: &str, what: &str) {
        self.findings.push(Finding { place: place.to_owned(), what: what.to_owned() });
    }

    fn found_all(&mut self, place: &str, replacements: &[Replacement<'_>]) {
        // What goes on from a piece of a stream before it says nothing of what it is.
        let begun = replacements.iter().filter(|replacement| !replacement.what.is_empty());
        begun.for_each(|replacement| self.found(place, replacement.what));
    }
}

/// The note that says that something could not be looked into.
pub(crate) fn opaque_note(place: &str) -> Note<'static> {
    Note::new(OPAQUE_NOTE, place.to_owned())
}

/// The name of the note that says where values of secret names stay, since tools are called with them.
const STAYS_NOTE: &str = "redacted.stays";

/// The note that says so.
pub(crate) fn stays_note(places: &str) -> Note<'static> {
    Note::new(STAYS_NOTE, places.to_owned())
}

/// A place, of messages without their number.
fn without_number(place: &str) -> String {
    match place.strip_prefix("message of frame ").and_then(|rest| rest.split_once(',')) {
        Some((_, rest)) => format!("messages,{rest}"),
        None => place.to_owned(),
    }
}

/// The note that says that something was found and stays.
pub(crate) fn kept_note(finding: &Finding) -> Note<'static> {
    Note::new(KEPT_NOTE, finding.to_string())
}

/// What such a note says.
pub(crate) fn kept_finding(note: &Note<'_>) -> Option<Finding> {
    let value = note.value.as_text().filter(|_| note.name == KEPT_NOTE)?;
    let (place, what) = value.split_once(": ")?;
    Some(Finding { place: place.to_owned(), what: what.to_owned() })
}
