//! Where a stream of events is whole, whoever ends the connection.
//!
//! A client that knows the protocol goes once it has the last event, and does not wait for the end of the body: openai-python closes the
//! connection at `data: [DONE]`. To another client, which waits for that end, an answer that stopped there would be broken.
//!
//! 1. A body of the type `text/event-stream` is looked through line by line as it passes, whatever pieces it comes in.
//! 2. It is whole after the last line of data of an event that ends its protocol: `[DONE]` of OpenAI's chat and all that follow it, `message_stop` of
//!    Anthropic, `response.completed`, `response.failed` and `response.incomplete` of OpenAI's responses. The event is known by its field `event`, or
//!    by `type` in its data.
//! 3. A line is kept up to [`LINE_BYTES_MAX`] bytes; of a longer one only the name of its event counts.

use cassette::Response;
use serde::Deserialize;

/// Longer data is not read as JSON.
const LINE_BYTES_MAX: usize = 64 << 10;

/// The events after which nothing comes.
const LAST_EVENTS: [&[u8]; 4] = [b"message_stop", b"response.completed", b"response.failed", b"response.incomplete"];

/// Looks for the end of a stream in its pieces.
#[derive(Debug, Default)]
pub(crate) struct StreamEnd {
    /// Whether there is anything to look for.
    is_stream: bool,
    is_whole: bool,
    /// The line that is not yet complete, or the beginning of a long one.
    line: Vec<u8>,
    is_long: bool,
    /// Whether the last byte was `\r`, after which `\n` ends no other line.
    is_after_return: bool,
    /// Whether the event that is being read is called like one after which nothing comes.
    is_last: bool,
}

impl StreamEnd {
    /// For the body of a response. One that is compressed is not looked into.
    pub(crate) fn of(response: &Response<'_>) -> Self {
        let of = |name: &str| response.headers.iter().find(|header| header.is(name));
        let is_events = of("content-type").and_then(|header| header.value.as_text()).is_some_and(|kind| {
            kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
        });
        let is_plain = of("content-encoding").is_none_or(|header| header.value == "identity");
        Self { is_stream: is_events && is_plain, ..Self::default() }
    }

    /// Whether the stream is whole, with this piece.
    pub(crate) fn is_whole_after(&mut self, piece: &[u8]) -> bool {
        if self.is_stream && !self.is_whole {
            for part in piece.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
                let (text, end) = match part {
                    [text @ .., end @ (b'\n' | b'\r')] => (text, Some(*end)),
                    text => (text, None),
                };
                let is_second = text.is_empty() && end == Some(b'\n') && self.is_after_return;
                self.is_after_return = end == Some(b'\r');
                if is_second {
                    continue;
                }
                let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
                self.is_long |= text.len() > room;
                self.line.extend_from_slice(&text[..text.len().min(room)]);
                if end.is_some() {
                    self.end_line();
                }
            }
        }
        self.is_whole
    }

    /// Whether the stream is whole, with all pieces so far.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_long = std::mem::take(&mut self.is_long);
        let (name, value) = line.split_at(line.iter().position(|&byte| byte == b':').unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => self.is_last = LAST_EVENTS.contains(&value),
            b"data" => {
                self.is_whole |= self.is_last || value.trim_ascii() == b"[DONE]" || !is_long && is_last_data(value);
            }
            // The event is over.
            b"" if line.is_empty() => self.is_last = false,
            _ => {}
        }
    }
}

fn is_last_data(value: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Data<'d> {
        #[serde(borrow, rename = "type")]
        kind: Option<std::borrow::Cow<'d, str>>,
    }
    // To read each as JSON would cost more than the rest of the way.
    let may_be = |last: &&[u8]| value.windows(last.len()).any(|window| window == *last);
    LAST_EVENTS.iter().any(may_be)
        && serde_json::from_slice::<Data<'_>>(value)
            .is_ok_and(|data| data.kind.is_some_and(|kind| LAST_EVENTS.contains(&kind.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cassette::Header;

    fn whole_at(kind: &'static str, stream: &[u8], piece: usize) -> Option<usize> {
        let response = Response { headers: vec![Header::new("Content-Type", kind)], ..Response::default() };
        let mut end = StreamEnd::of(&response);
        let mut seen = 0;
        for piece in stream.chunks(piece) {
            seen += piece.len();
            if end.is_whole_after(piece) {
                return Some(seen);
            }
        }
        None
    }

    #[test]
    fn streams_are_whole_at_the_end_of_their_protocol_however_they_are_cut() {
        let ends = [
            "data: {\"id\":\"c\"}\n\n|data: [DONE]\n\n",
            "data: {\"id\":\"c\"}\r\n\r\n|data: [DONE]\r\n\r\n",
            "data:[DONE]\n",
            "event: ping\ndata: {\"type\":\"ping\"}\n\n|event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            "data: {\"type\": \"message_stop\", \"usage\": {}}\n\n",
            "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"text\":\"x\"}}\n\n",
            "data: {\"sequence_number\":3,\"type\":\"response.failed\"}\n\n",
            "data: {\"type\":\"response.incomplete\"}\n\n",
        ];
        for stream in ends {
            let before = stream.find('|').unwrap_or(0);
            let stream = stream.replace('|', "");
            for piece in 1..=stream.len() {
                let whole = whole_at("text/event-stream; charset=utf-8", stream.as_bytes(), piece);
                assert!(whole.is_some_and(|at| at > before), "{stream:?} in pieces of {piece}");
                assert_eq!(whole_at("application/json", stream.as_bytes(), piece), None);
            }
        }
    }

    #[test]
    fn what_a_model_writes_ends_no_stream() {
        for stream in [
            "data: {\"choices\":[{\"delta\":{\"content\":\"data: [DONE]\"}}]}\n\n",
            "data: {\"delta\":\"\\n\\ndata: [DONE]\\n\\n\",\"type\":\"response.output_text.delta\"}\n\n",
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"message_stop\"}}\n\n",
            "data: {\"item\":{\"type\":\"response.completed\"},\"type\":\"response.output_item.added\"}\n\n",
            "event: message_stopped\ndata: {}\n\n",
            "event: message_stop\n\ndata: {}\n\n",
            "event: message_stop\r\n\r\ndata: {}\r\n\r\n",
            ": [DONE]\n\n",
            "id: [DONE]\n\n",
            "data: [DONE]",
        ] {
            for piece in 1..=stream.len() {
                assert_eq!(whole_at("text/event-stream", stream.as_bytes(), piece), None, "{stream:?} by {piece}");
            }
        }
    }

    #[test]
    fn a_long_line_ends_by_its_name_only_and_takes_little_memory() {
        let long = "x".repeat(4 * LINE_BYTES_MAX);
        let data = format!("data: {{\"response\":\"{long}\",\"type\":\"response.completed\"}}\n\n");
        assert_eq!(whole_at("text/event-stream", data.as_bytes(), 1000), None);
        let named = format!("event: response.completed\n{data}");
        assert!(whole_at("text/event-stream", named.as_bytes(), 1000).is_some());
        let mut end = StreamEnd { is_stream: true, ..StreamEnd::default() };
        end.is_whole_after(long.as_bytes());
        assert!(end.line.len() <= LINE_BYTES_MAX);
    }
}
