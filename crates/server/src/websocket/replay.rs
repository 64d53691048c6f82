//! A WebSocket from the tape.
//!
//! 1. The handshake is that of the tape, but for the one header that answers the client's own key.
//! 2. What the server sent is sent in its order, and with its delays. Before that, each message comes from the client that came
//!    before it when it was recorded; one that differs is reported.
//! 3. Pings of the client are answered when they come. Pings and pongs that it sent when it was recorded are not waited for.

use super::frame::{Frame, Next, next, put};
use crate::exchange::{Asked, own, told};
use crate::http1::{Reader, Writer, named};
use crate::options::Latency;
use crate::peer::Source;
use crate::reply::{After, Length};
use crate::report::count;
use crate::session::Session;
use crate::shared::Shared;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cassette::redact::Redaction;
use cassette::{Direction, Exchange, Header, Opcode, Outcome, WsFrame};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What is put behind the key of a client (RFC 6455, section 1.3).
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// A message of a client is not longer.
const MESSAGE_BYTES_MAX: u64 = 64 << 20;
/// How long a client may take to answer a close frame.
const CLOSE_TIME: Duration = Duration::from_secs(5);

/// Answers with a recorded conversation. What is left of the connection is nothing.
pub(crate) async fn replay(
    shared: &Arc<Shared>,
    session: &Session,
    mut asked: Asked<'_, '_>,
    exchange: Exchange<'_>,
) -> After {
    let key = named(&asked.request.headers, "sec-websocket-key");
    let (Some(response), Some(key)) = (exchange.response.as_ref().filter(|_| asked.is_upgrade), key) else {
        let message = "a WebSocket was recorded for this request, and this asks for none";
        let body = told("miss", message, json!({"request": asked.request.line()}));
        return own(&mut asked.reply, 599, "Not On The Tape", "miss", &body).await;
    };
    let mut head = response.head();
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &[key, ACCEPT_SUFFIX.as_bytes()].concat()));
    head.headers.retain(|header| !header.is("sec-websocket-accept"));
    head.headers.push(Header::new("Sec-WebSocket-Accept", accept));
    let extensions = "sec-websocket-extensions";
    if named(&head.headers, extensions).is_some() && named(&asked.request.headers, extensions).is_none() {
        count(&shared.counts.websocket_differences);
        shared.counts.warn(format!(
            "WebSocket of exchange {}: extensions were agreed on when it was recorded, and the client offers none now",
            exchange.number
        ));
    }
    let due = crate::replay::Schedule::new(session.playback.latency).due(response.at_us);
    if let Some(due) = due {
        tokio::time::sleep_until(due.into()).await;
    }
    if asked.reply.head(&head, Length::Absent).is_err() || asked.reply.flush().await.is_err() {
        return After::Reset;
    }
    let (Source::Http1 { reader, .. }, Some(writer)) = (asked.source, asked.reply.into_writer()) else {
        return After::Reset;
    };
    let mut play = Play {
        shared,
        redaction: session.redaction(),
        latency: session.playback.latency,
        number: exchange.number,
        reader,
        writer,
        waiting: VecDeque::new(),
        partial: Vec::new(),
        last: (Instant::now(), response.at_us),
        is_closed: false,
    };
    let played = tokio::select! {
        played = play.all(&exchange) => played,
        () = shared.stopping() => After::Close,
    };
    played
}

/// A conversation that is replayed.
struct Play<'p> {
    shared: &'p Shared,
    redaction: Option<&'p Redaction>,
    latency: Latency,
    number: u64,
    reader: &'p mut Reader,
    writer: &'p mut Writer,
    /// Messages that the client sent before they were expected.
    waiting: VecDeque<Message>,
    /// Frames of a message that is not complete.
    partial: Vec<Frame>,
    /// When something happened last, now and then.
    last: (Instant, u64),
    /// Whether the client closed the conversation.
    is_closed: bool,
}

/// A message, or a close frame.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    opcode: Opcode,
    reserved: u8,
    payload: Vec<u8>,
}

impl Message {
    fn of(frames: &[WsFrame<'_>]) -> Option<Self> {
        let first = frames.first()?;
        let payload = frames.iter().flat_map(|frame| frame.payload.iter().copied()).collect();
        Some(Self { opcode: first.opcode, reserved: first.reserved, payload })
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.payload);
        let short: String = text.chars().take(60).collect();
        if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
    }
}

/// What became of the client.
enum Client {
    Said,
    Gone,
}

impl Play<'_> {
    async fn all(&mut self, exchange: &Exchange<'_>) -> After {
        let mut sent: Vec<WsFrame<'_>> = Vec::new();
        for frame in exchange.frames.iter().flatten() {
            let goes_on = match frame.direction {
                Direction::Received => self.give(frame).await,
                Direction::Sent if frame.opcode == Opcode::PING || frame.opcode == Opcode::PONG => true,
                Direction::Sent => {
                    sent.push(frame.borrowed());
                    if frame.is_final { self.expect(std::mem::take(&mut sent), frame.at_us).await } else { true }
                }
            };
            if !goes_on {
                return After::Reset;
            }
        }
        if exchange.outcome != Outcome::Complete {
            return After::Reset;
        }
        self.end().await;
        After::Close
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
                client = self.hear() => if matches!(client, Client::Gone) { return false },
            }
        }
        self.last = (Instant::now(), frame.at_us);
        put(&mut self.writer.buffer, frame);
        self.writer.flush().await.is_ok()
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
        let Some(recorded) = Message::of(&recorded) else { return true };
        while self.waiting.is_empty() {
            if self.is_closed || matches!(self.hear().await, Client::Gone) {
                self.differs(format!(
                    "{} was recorded, and the client ended the conversation instead",
                    recorded.shown()
                ));
                return false;
            }
        }
        self.last = (Instant::now(), at_us);
        let Some(live) = self.waiting.pop_front() else { return false };
        if live != recorded && !(live.opcode == Opcode::CLOSE && recorded.opcode == Opcode::CLOSE) {
            self.differs(format!("recorded {}, now {}", recorded.shown(), live.shown()));
        }
        live.opcode != Opcode::CLOSE || recorded.opcode == Opcode::CLOSE
    }

    fn differs(&self, what: String) {
        count(&self.shared.counts.websocket_differences);
        self.shared.counts.warn(format!("WebSocket of exchange {}: {what}", self.number));
    }

    /// Takes one frame of the client.
    async fn hear(&mut self) -> Client {
        if self.is_closed {
            return std::future::pending().await;
        }
        let Ok(Next::Frame(frame)) = next(self.reader, MESSAGE_BYTES_MAX).await else { return Client::Gone };
        match frame.head.opcode {
            Opcode::PING => {
                let ping = frame.recorded(0, Direction::Received);
                put(&mut self.writer.buffer, &WsFrame { opcode: Opcode::PONG, ..ping });
                return if self.writer.flush().await.is_ok() { Client::Said } else { Client::Gone };
            }
            Opcode::PONG => return Client::Said,
            Opcode::CLOSE => {
                self.is_closed = true;
                self.waiting.extend(Message::of(&[frame.recorded(0, Direction::Sent)]));
                return Client::Said;
            }
            _ => {}
        }
        let is_final = frame.head.is_final;
        self.partial.push(frame);
        if is_final {
            let frames = std::mem::take(&mut self.partial);
            self.waiting.extend(self.redacted(&frames));
        }
        Client::Said
    }

    /// A message as it would be on the tape.
    fn redacted(&self, frames: &[Frame]) -> Option<Message> {
        let frames: Vec<_> = frames.iter().map(|frame| frame.recorded(0, Direction::Sent)).collect();
        let Some(redaction) = self.redaction else { return Message::of(&frames) };
        let mut exchange = Exchange { frames: Some(frames), ..Exchange::default() };
        redaction.exchange(&mut exchange);
        Message::of(&exchange.frames.unwrap_or_default())
    }

    /// Everything was sent: the client may close the conversation, and is answered if it was not yet.
    async fn end(&mut self) {
        let closed = tokio::time::timeout(CLOSE_TIME, async {
            while !self.is_closed && matches!(self.hear().await, Client::Said) {}
        });
        let _ = closed.await;
        let more: Vec<_> = self.waiting.drain(..).filter(|message| message.opcode != Opcode::CLOSE).collect();
        for message in more {
            self.differs(format!("nothing more was recorded, now {}", message.shown()));
        }
    }
}
