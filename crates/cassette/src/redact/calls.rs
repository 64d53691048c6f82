//! Whether a tool would be called with a placeholder.
//!
//! What has the form of a key is replaced in what a tool is called with, as it is everywhere. A program that gets such an answer again calls
//! the tool with something else than then, and is to know it.

use super::content::{BodyContext, MessageSender};
use super::decode::{codings, decode};
use super::text::PLACEHOLDER;
use super::{JoinedTexts, Redaction};
use crate::dialect::units::Unit;
use crate::exchange::Exchange;
use crate::websocket::{Direction, Opcode};
use memchr::memmem;
use std::ops::Range;

/// Looks for a placeholder in bytes that come piece by piece.
#[derive(Clone, Debug, Default)]
pub struct PlaceholderWatch {
    /// The last bytes, in which one may begin.
    last: Vec<u8>,
    is_seen: bool,
}

impl PlaceholderWatch {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        if self.is_seen {
            return;
        }
        let wanted = PLACEHOLDER.as_bytes();
        let over = &piece[..piece.len().min(wanted.len() - 1)];
        self.last.extend_from_slice(over);
        self.is_seen = has_placeholder(piece) || has_placeholder(&self.last);
        if over.len() < piece.len() {
            self.last.clear();
            self.last.extend_from_slice(&piece[piece.len() - over.len()..]);
        }
        let gone = self.last.len().saturating_sub(wanted.len() - 1);
        self.last.drain(..gone);
    }

    /// Whether there was one so far.
    pub fn is_seen(&self) -> bool {
        self.is_seen
    }
}

fn has_placeholder(bytes: &[u8]) -> bool {
    memmem::find(bytes, PLACEHOLDER.as_bytes()).is_some()
}

/// Whether the answer of an exchange calls a tool with a placeholder.
pub fn calls_with_placeholder(exchange: &Exchange<'_>) -> bool {
    let redaction = Redaction::usual();
    let has = |body: &[u8], arguments: &[Range<usize>]| {
        arguments.iter().any(|range| body.get(range.clone()).is_some_and(has_placeholder))
    };
    let is_in_body = exchange.response.as_ref().is_some_and(|response| {
        let Some(body) = &response.body else { return false };
        let decoded = decode(body, &codings(&response.headers)).map(|decoded| decoded.body);
        let body = decoded.as_ref().unwrap_or(body).bytes();
        let about = BodyContext::of(&response.headers, MessageSender::Server);
        has_placeholder(body) && has(body, &redaction.look_through(body, &about).arguments)
    });
    let mut message = Vec::new();
    let received = exchange.frames.iter().flatten().filter(|frame| frame.direction == Direction::Received);
    let mut is_in_message = received.filter(|frame| frame.opcode < Opcode::CLOSE).filter_map(|frame| {
        message.extend_from_slice(&frame.payload);
        frame.is_final.then(|| std::mem::take(&mut message))
    });
    is_in_body
        || is_in_message.any(|message| {
            if !has_placeholder(&message) {
                return false;
            }
            let about = BodyContext::message(Opcode::TEXT, MessageSender::Server);
            let unit = [Unit::line(0..message.len())];
            let joined = JoinedTexts::default().look_at(&redaction, &message, &unit).arguments;
            has(&message, &joined) || has(&message, &redaction.look_through_some(&message, &about, false).arguments)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, Header, Response};
    use crate::websocket::WsFrame;

    #[test]
    fn a_placeholder_is_seen_wherever_pieces_end() {
        let text = b"REDACREDACTED.";
        for each in 1..=text.len() {
            let mut watch = PlaceholderWatch::default();
            text.chunks(each).for_each(|piece| watch.push(piece));
            assert!(watch.is_seen(), "in pieces of {each}");
            let mut watch = PlaceholderWatch::default();
            b"REDACTE REDACTE D, redacted".chunks(each).for_each(|piece| watch.push(piece));
            assert!(!watch.is_seen(), "in pieces of {each}");
        }
    }

    #[test]
    fn only_what_a_tool_is_called_with_counts() {
        let answer = |kind: &'static str, body: &str| {
            let headers = vec![Header::new("Content-Type", kind)];
            let body = Some(Body::new(0, body.to_owned()));
            Exchange { response: Some(Response { headers, body, ..Response::default() }), ..Exchange::default() }
        };
        let message = |text: &str| {
            let frame = WsFrame::new(0, Direction::Received, Opcode::TEXT, text.to_owned());
            Exchange { frames: Some(vec![frame]), ..Exchange::default() }
        };
        let piece = r#"{"type":"response.function_call_arguments.delta","item_id":"a","delta":"{\"key\":\"REDACTED"}"#;
        let whole = r#"{"content":[{"type":"tool_use","id":"a","name":"f","input":{"key":"REDACTED"}}]}"#;
        for exchange in [
            answer("application/json", whole),
            answer("text/event-stream", &format!("data: {piece}\n\n")),
            message(piece),
            message(whole),
        ] {
            assert!(calls_with_placeholder(&exchange), "{exchange:?}");
        }
        let said = r#"{"content":[{"type":"text","text":"REDACTED"},{"type":"tool_use","id":"a","name":"f","input":{"key":"k"}}]}"#;
        for exchange in [answer("application/json", said), message(said), answer("text/plain", "REDACTED")] {
            assert!(!calls_with_placeholder(&exchange), "{exchange:?}");
        }
    }
}
