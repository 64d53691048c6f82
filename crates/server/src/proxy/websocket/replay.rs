//! A WebSocket from the cassette.
//!
//! 1. The handshake is that of the cassette, but for the one header that answers the client's own key.
//! 2. What the server sent is sent in its order, and with its delays. Before that, each message comes from the client that came
//!    before it when it was recorded; one that differs is reported.
//!    Compressed messages are compared by what they say.
//! 3. A client that offers no compression gets what was compressed without it.
//! 4. What the client sends before it is expected is kept, up to [`MESSAGE_BYTES_MAX`]; more is not read before its time.
//! 5. Pings of the client are answered when they come. Pings and pongs that it sent when it was recorded are not waited for.

use super::frame::{NextFrame, RawFrame, next, put};
use crate::proxy::client_request::ClientRequest;
use crate::proxy::options::Latency;
use crate::proxy::own_answers::{error_body, respond};
use crate::proxy::reply::{BodyLength, ConnectionDisposition};
use crate::proxy::report::count;
use crate::proxy::session::Session;
use crate::proxy::shared::ThreadState;
use crate::runtime::http1::{Http1Reader, Http1Writer, named};
use crate::runtime::peer::IncomingBody;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cassette::matching::MatchRules;
use cassette::redact::{MessageReader, Redaction};
use cassette::{Direction, Exchange, Header, Opcode, Outcome, WsFrame};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is put after the key of a client (RFC 6455, section 1.3).
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// A message of a client is not longer, nor are all that wait together, but for the last of them.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// How long a client may take to answer a close frame.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// Answers with a recorded conversation. What is left of the connection is nothing.
pub(crate) async fn replay(
    shared: &Arc<ThreadState>,
    session: &Session,
    mut incoming: ClientRequest<'_, '_>,
    exchange: Exchange<'_>,
) -> ConnectionDisposition {
    let key = named(&incoming.request.headers, "sec-websocket-key");
    let (Some(response), Some(key)) = (exchange.response.as_ref().filter(|_| incoming.is_upgrade), key) else {
        let message = "a WebSocket was recorded for this request, and this asks for none";
        let body = error_body("miss", message, json!({"request": incoming.request.line()}));
        return respond(&mut incoming.reply, 599, "Not On The Cassette", "miss", &body).await;
    };
    let mut head = response.head();
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, ACCEPT_SUFFIX.as_bytes()].concat()));
    head.headers.retain(|header| !header.is("sec-websocket-accept"));
    head.headers.push(Header::new("Sec-WebSocket-Accept", accept));
    let extensions = "sec-websocket-extensions";
    let compresses = names_compression(&incoming.request.headers);
    if named(&head.headers, extensions).is_some() && !compresses {
        head.headers.retain(|header| !header.is(extensions));
    }
    let due = crate::proxy::schedule::Schedule::new(session.playback.latency).due(response.at_us);
    if let Some(due) = due {
        tokio::time::sleep_until(due.into()).await;
    }
    if incoming.reply.head(&head, BodyLength::Absent).is_err() || incoming.reply.flush().await.is_err() {
        return ConnectionDisposition::Reset;
    }
    let (IncomingBody::Http1 { reader, .. }, Some(writer)) = (incoming.source, incoming.reply.into_writer()) else {
        return ConnectionDisposition::Reset;
    };
    let mut play = ConversationPlayer {
        shared,
        redaction: session.redaction(),
        rules: &session.playback.rules,
        compresses,
        recorded: MessageReader::new(),
        live: MessageReader::new(),
        latency: session.playback.latency,
        number: exchange.number,
        reader,
        writer,
        waiting: VecDeque::new(),
        waiting_bytes: 0,
        partial: Vec::new(),
        partial_bytes: 0,
        last: (Instant::now(), response.at_us),
        is_closed: false,
    };
    let played = tokio::select! {
        played = play.all(&exchange) => played,
        () = shared.stopping() => ConnectionDisposition::Close,
    };
    played
}

/// A conversation that is replayed.
struct ConversationPlayer<'p> {
    shared: &'p ThreadState,
    redaction: Option<&'p Redaction>,
    rules: &'p MatchRules,
    /// Whether messages may be compressed, as they were.
    compresses: bool,
    /// What was said when it was recorded, and what the client says now, without compression.
    recorded: MessageReader,
    live: MessageReader,
    latency: Latency,
    number: u64,
    reader: &'p mut Http1Reader,
    writer: &'p mut Http1Writer,
    /// Messages that the client sent before they were expected.
    waiting: VecDeque<PlainMessage>,
    /// What these take.
    waiting_bytes: u64,
    /// Frames of a message that is not complete, and what these take.
    partial: Vec<RawFrame>,
    partial_bytes: u64,
    /// When something happened last, now and then.
    last: (Instant, u64),
    /// Whether the client closed the conversation.
    is_closed: bool,
}

/// The bit of a frame that says that its message is compressed (RFC 7692).
const COMPRESSED: u8 = 4;

/// Whether headers offer the compression of messages.
fn names_compression(headers: &[Header<'_>]) -> bool {
    let offers = headers.iter().filter(|header| header.is("sec-websocket-extensions"));
    offers.into_iter().any(|header| header.value.to_text_lossy().contains("permessage-deflate"))
}

/// A message without compression, or a close frame.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlainMessage {
    opcode: Opcode,
    reserved: u8,
    payload: Vec<u8>,
}

impl PlainMessage {
    /// What these frames say, without secrets. A message that cannot be read is taken as it is.
    fn of(frames: &[WsFrame<'_>], reader: &mut MessageReader, redaction: Option<&Redaction>) -> Option<Self> {
        let mut whole = frames.first()?.borrowed();
        match reader.read(frames) {
            Some(payload) => {
                whole.payload = payload.into_owned().into();
                whole.reserved &= !COMPRESSED;
            }
            None => {
                whole.payload = frames.iter().flat_map(|frame| frame.payload.iter().copied()).collect::<Vec<_>>().into()
            }
        }
        whole.is_final = true;
        let mut exchange = Exchange { frames: Some(vec![whole]), ..Exchange::default() };
        redaction.into_iter().for_each(|redaction| drop(redaction.exchange(&mut exchange)));
        let WsFrame { opcode, reserved, payload, .. } = exchange.frames?.pop()?;
        Some(Self { opcode, reserved, payload: payload.to_vec() })
    }

    /// What it takes in memory.
    fn bytes(&self) -> u64 {
        (self.payload.len() + size_of::<Self>()) as u64
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.payload);
        let short: String = text.chars().take(60).collect();
        if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
    }
}

/// What became of the client.
enum ClientState {
    Said,
    Gone,
}

impl ConversationPlayer<'_> {
    async fn all(&mut self, exchange: &Exchange<'_>) -> ConnectionDisposition {
        let mut sent: Vec<WsFrame<'_>> = Vec::new();
        let mut received: Vec<WsFrame<'_>> = Vec::new();
        for frame in exchange.frames.iter().flatten() {
            let goes_on = match frame.direction {
                Direction::Received if self.compresses || frame.opcode >= Opcode::CLOSE => self.give(frame).await,
                Direction::Received => {
                    received.push(frame.borrowed());
                    if frame.is_final { self.give_inflated(std::mem::take(&mut received)).await } else { true }
                }
                Direction::Sent if frame.opcode == Opcode::PING || frame.opcode == Opcode::PONG => true,
                Direction::Sent => {
                    sent.push(frame.borrowed());
                    if frame.is_final { self.expect(std::mem::take(&mut sent), frame.at_us).await } else { true }
                }
            };
            if !goes_on {
                return ConnectionDisposition::Reset;
            }
        }
        if exchange.outcome != Outcome::Complete {
            return ConnectionDisposition::Reset;
        }
        self.end().await;
        ConnectionDisposition::Close
    }

    /// Sends what the server sent, when it is due. Whether the client is still there.
    async fn give(&mut self, frame: &WsFrame<'_>) -> bool {
        // Pongs answered pings of then; those of now are answered when they come.
        if frame.opcode == Opcode::PONG {
            return true;
        }
        let due = self.due(frame.at_us);
        while let Some(due) = due.filter(|due| *due > Instant::now()) {
            tokio::select! {
                () = tokio::time::sleep_until(due.into()) => {}
                client = self.hear(), if self.waiting_bytes < MESSAGE_BYTES_MAX => if matches!(client, ClientState::Gone) { return false },
            }
        }
        self.last = (Instant::now(), frame.at_us);
        put(&mut self.writer.buffer, frame);
        self.writer.flush().await.is_ok()
    }

    /// Sends a message without compression, when the last of it is due. Whether the client is still there.
    async fn give_inflated(&mut self, frames: Vec<WsFrame<'_>>) -> bool {
        let Some(first) = frames.first().filter(|first| first.reserved & COMPRESSED != 0) else {
            for frame in &frames {
                if !self.give(frame).await {
                    return false;
                }
            }
            return true;
        };
        let Some(payload) = self.recorded.read(&frames) else {
            self.differs("a compressed message cannot be read, and the client takes none".to_owned());
            return false;
        };
        let at_us = frames.last().map_or(first.at_us, |last| last.at_us);
        let reserved = first.reserved & !COMPRESSED;
        self.give(&WsFrame { at_us, reserved, is_final: true, payload: (&*payload).into(), ..first.borrowed() }).await
    }

    fn due(&self, at_us: u64) -> Option<Instant> {
        let (now, then) = self.last;
        let after = Duration::from_micros(at_us.saturating_sub(then));
        match self.latency {
            Latency::Recorded => now.checked_add(after),
            Latency::Scaled(speed) if speed > 0.0 => {
                now.checked_add(Duration::try_from_secs_f64(after.as_secs_f64() / speed).ok()?)
            }
            Latency::Scaled(_) | Latency::Fixed(_) | Latency::None => None,
        }
    }

    /// Waits for what the client sent when it was recorded, and compares. Whether the client is still there.
    async fn expect(&mut self, recorded: Vec<WsFrame<'_>>, at_us: u64) -> bool {
        let Some(recorded) = PlainMessage::of(&recorded, &mut self.recorded, self.redaction) else { return true };
        while self.waiting.is_empty() {
            if self.is_closed || matches!(self.hear().await, ClientState::Gone) {
                self.differs(format!(
                    "{} was recorded, and the client ended the conversation instead",
                    recorded.shown()
                ));
                return false;
            }
        }
        self.last = (Instant::now(), at_us);
        let Some(live) = self.waiting.pop_front() else { return false };
        self.waiting_bytes -= live.bytes();
        if !(live.opcode == Opcode::CLOSE && recorded.opcode == Opcode::CLOSE) {
            self.compare(&recorded, &live);
        }
        live.opcode != Opcode::CLOSE || recorded.opcode == Opcode::CLOSE
    }

    /// Reports what differs by the rule for bodies.
    fn compare(&self, recorded: &PlainMessage, live: &PlainMessage) {
        let of = |message: &PlainMessage| (message.opcode, message.reserved);
        if of(recorded) != of(live) {
            return self.differs(format!("recorded {}, now {}", recorded.shown(), live.shown()));
        }
        if let Some(difference) = self.rules.message_difference(&recorded.payload, &live.payload) {
            self.differs(difference);
        }
    }

    fn differs(&self, what: String) {
        count(&self.shared.counts.websocket_differences);
        self.shared.counts.warn(format!("WebSocket of exchange {}: {what}", self.number));
    }

    /// Takes one frame of the client.
    async fn hear(&mut self) -> ClientState {
        if self.is_closed {
            return std::future::pending().await;
        }
        let Ok(NextFrame::Frame(frame)) = next(self.reader, MESSAGE_BYTES_MAX).await else { return ClientState::Gone };
        match frame.head.opcode {
            Opcode::PING => {
                let ping = frame.recorded(0, Direction::Received);
                put(&mut self.writer.buffer, &WsFrame { opcode: Opcode::PONG, ..ping });
                return if self.writer.flush().await.is_ok() { ClientState::Said } else { ClientState::Gone };
            }
            Opcode::PONG => return ClientState::Said,
            Opcode::CLOSE => {
                self.is_closed = true;
                let close = PlainMessage::of(&[frame.recorded(0, Direction::Sent)], &mut self.live, None);
                self.keep(close);
                return ClientState::Said;
            }
            _ => {}
        }
        let is_final = frame.head.is_final;
        self.partial_bytes += (frame.raw.len() + size_of::<RawFrame>()) as u64;
        self.partial.push(frame);
        if self.partial_bytes > 2 * MESSAGE_BYTES_MAX {
            self.differs("a message of the client has no end".to_owned());
            return ClientState::Gone;
        }
        if is_final {
            self.partial_bytes = 0;
            let frames = std::mem::take(&mut self.partial);
            let frames: Vec<_> = frames.iter().map(|frame| frame.recorded(0, Direction::Sent)).collect();
            let message = PlainMessage::of(&frames, &mut self.live, self.redaction);
            self.keep(message);
        }
        ClientState::Said
    }

    /// Keeps a message until it is expected.
    fn keep(&mut self, message: Option<PlainMessage>) {
        self.waiting_bytes += message.as_ref().map_or(0, PlainMessage::bytes);
        self.waiting.extend(message);
    }

    /// Everything was sent: the client may close the conversation, and is answered if it was not yet.
    async fn end(&mut self) {
        let closed = tokio::time::timeout(CLOSE_TIME, async {
            while !self.is_closed
                && self.waiting_bytes < MESSAGE_BYTES_MAX
                && matches!(self.hear().await, ClientState::Said)
            {}
        });
        let _ = closed.await;
        let more: Vec<_> = self.waiting.drain(..).filter(|message| message.opcode != Opcode::CLOSE).collect();
        for message in more {
            self.differs(format!("nothing more was recorded, now {}", message.shown()));
        }
    }
}
