//! Secrets that a stream gives in pieces: of every kind, cut at every byte, in eight dialects, over events and over chunks. Neither what is
//! on the disk nor what its pieces come to when they are joined has one, and nothing else is changed.

use crate::exchanges::Folder;
use crate::planted::by_form;
use cassette::matching::MatchRules;
use cassette::redact::{BodyRedactor, HELD_BYTES_MAX, Redaction};
use cassette::{
    Body, Cassette, Direction, Exchange, ExchangeEnd, Header, KeyScheme, Opcode, Recorder, RecorderOptions, Request,
    Response, Selection, WsFrame,
};
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Dialect {
    ChatText,
    ChatArguments,
    ResponsesText,
    ResponsesArguments,
    AnthropicText,
    AnthropicArguments,
    Lines,
    Messages,
}

const DIALECTS: [Dialect; 8] = [
    Dialect::ChatText,
    Dialect::ChatArguments,
    Dialect::ResponsesText,
    Dialect::ResponsesArguments,
    Dialect::AnthropicText,
    Dialect::AnthropicArguments,
    Dialect::Lines,
    Dialect::Messages,
];

impl Dialect {
    fn is_arguments(self) -> bool {
        matches!(self, Self::ChatArguments | Self::ResponsesArguments | Self::AnthropicArguments)
    }

    /// An event with a piece; `other` is another text beside it.
    fn event(self, piece: &str, other: bool) -> Value {
        let index = u8::from(other);
        let id = "chatcmpl-sk0123456789ABCDEFabcdef";
        match self {
            Self::ChatText => json!({"id": id, "choices": [{"index": index, "delta": {"content": piece}}]}),
            Self::ChatArguments => {
                let call = json!({"index": index, "function": {"arguments": piece}});
                json!({"id": id, "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})
            }
            Self::ResponsesText | Self::Messages => json!({
                "type": "response.output_text.delta", "item_id": "msg_0123456789abcdef", "output_index": 0,
                "content_index": index, "delta": piece
            }),
            Self::ResponsesArguments => json!({
                "type": "response.function_call_arguments.delta", "item_id": "fc_0123456789abcdef",
                "output_index": index, "delta": piece
            }),
            Self::AnthropicText => {
                json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}})
            }
            Self::AnthropicArguments => json!({
                "type": "content_block_delta", "index": index,
                "delta": {"type": "input_json_delta", "partial_json": piece}
            }),
            Self::Lines if other => json!({"message": {"role": "assistant", "thinking": piece}, "done": false}),
            Self::Lines => json!({"message": {"role": "assistant", "content": piece}, "done": false}),
        }
    }

    /// The last event.
    fn end(self) -> Value {
        match self {
            Self::ChatText | Self::ChatArguments => {
                json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
            }
            Self::Lines => json!({"done": true, "total_duration": 7}),
            Self::AnthropicText | Self::AnthropicArguments => json!({"type": "message_stop"}),
            _ => json!({"type": "response.completed", "response": {"id": "resp_1", "output": []}}),
        }
    }

    fn pointer(self, other: bool) -> &'static str {
        match self {
            Self::ChatText => "/choices/0/delta/content",
            Self::ChatArguments => "/choices/0/delta/tool_calls/0/function/arguments",
            Self::ResponsesText | Self::ResponsesArguments | Self::Messages => "/delta",
            Self::AnthropicText => "/delta/text",
            Self::AnthropicArguments => "/delta/partial_json",
            Self::Lines if other => "/message/thinking",
            Self::Lines => "/message/content",
        }
    }

    /// Events as they are on the wire, each of which is all of a message of a WebSocket.
    fn wire(self, events: &[Value]) -> Vec<Vec<u8>> {
        let texts = events.iter().map(|event| event.to_string());
        match self {
            Self::Messages => texts.map(String::into_bytes).collect(),
            Self::Lines => texts.map(|text| (text + "\n").into_bytes()).collect(),
            Self::ChatText | Self::ChatArguments => {
                texts.map(|text| format!("data: {text}\n\n").into_bytes()).collect()
            }
            _ => {
                let name = |event: &Value| event["type"].as_str().unwrap_or_default().to_owned();
                let texts = events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", name(event)));
                texts.map(String::into_bytes).collect()
            }
        }
    }

    fn kind(self) -> &'static str {
        if self == Self::Lines { "application/x-ndjson" } else { "text/event-stream" }
    }
}

/// The events of a stream that gives a text in these pieces, with another text beside it.
fn events(dialect: Dialect, pieces: &[String]) -> Vec<Value> {
    let mut events = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        events.push(dialect.event(piece, false));
        events.extend((at % 2 == 0).then(|| dialect.event(" beside", true)));
    }
    events.push(dialect.end());
    events
}

/// The text that events come to, and the events without it.
fn joined(dialect: Dialect, texts: &[&str]) -> (String, Vec<Value>) {
    let (mut whole, mut rest) = (String::new(), Vec::new());
    for text in texts {
        let mut event: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text} is not JSON: {error}"));
        let other = event.to_string().contains("beside");
        if let Some(piece) = event.pointer_mut(dialect.pointer(false)).filter(|piece| !other && piece.is_string()) {
            whole += piece.as_str().unwrap_or_default();
            *piece = Value::Null;
        }
        rest.push(event);
    }
    (whole, rest)
}

/// The events of a body.
fn texts_of(body: &str) -> Vec<&str> {
    body.lines().filter_map(|line| line.strip_prefix("data: ").or(line.starts_with('{').then_some(line))).collect()
}

/// One stream: in which dialect, the text, and its pieces.
struct Case {
    dialect: Dialect,
    secret: String,
    pieces: Vec<String>,
}

impl Case {
    fn text(&self) -> String {
        self.pieces.concat()
    }

    fn wire(&self) -> Vec<Vec<u8>> {
        self.dialect.wire(&events(self.dialect, &self.pieces))
    }

    /// What its text becomes if it comes as a whole.
    fn expected(&self) -> String {
        let headers = vec![Header::new("Content-Type", "application/json")];
        let body = Some(Body::new(0, json!({"text": self.text()}).to_string()));
        let mut exchange =
            Exchange { response: Some(Response { headers, body, ..Response::default() }), ..Exchange::default() };
        assert!(!Redaction::usual().exchange(&mut exchange).findings.is_empty(), "{}", self.text());
        let body: Value = serde_json::from_slice(exchange.response.unwrap().body_bytes()).unwrap();
        body["text"].as_str().unwrap().to_owned()
    }

    /// Whether an exchange has what it is to have.
    fn check(&self, exchange: &Exchange<'_>, how: &str) {
        let told = format!("{how}: {:?} {:?}", self.dialect, self.pieces);
        let frames = exchange.frames.iter().flatten().map(|frame| frame.payload.to_text_lossy().into_owned());
        let frames: Vec<_> = frames.collect();
        let body =
            exchange.response.as_ref().map(|response| String::from_utf8_lossy(response.body_bytes()).into_owned());
        let body = body.unwrap_or_default();
        let texts: Vec<&str> = match self.dialect {
            Dialect::Messages => frames.iter().map(String::as_str).collect(),
            _ => texts_of(&body),
        };
        let (whole, rest) = joined(self.dialect, &texts);
        let words = self.secret.split(|char: char| !char.is_ascii_alphanumeric());
        let core = words.max_by_key(|word| word.len()).unwrap_or_default();
        let core = &core[core.len() - 10..];
        assert!(!whole.contains(core) && !body.contains(core), "{told}: {whole}");
        assert_eq!(whole, self.expected(), "{told}");
        let before = events(self.dialect, &self.pieces);
        let before: Vec<_> = before.iter().map(Value::to_string).collect();
        let before: Vec<_> = before.iter().map(String::as_str).collect();
        assert_eq!(rest, joined(self.dialect, &before).1, "{told}");
    }

    fn record(&self, recorder: &Recorder, bytes: usize) -> usize {
        let asked =
            Request { method: "POST".into(), host: "api.test".into(), target: "/v1".into(), ..Request::default() };
        let call = recorder.begin(5, &asked).unwrap();
        let wire = self.wire();
        let mut count = 0;
        if self.dialect == Dialect::Messages {
            call.response(&Response { status: 101, ..Response::default() }).unwrap();
            call.open_websocket().unwrap();
            for message in &wire {
                call.frame(&WsFrame::new(count as u64, Direction::Received, Opcode::TEXT, &message[..])).unwrap();
                count += 1;
            }
        } else {
            let headers = vec![Header::new("Content-Type", self.dialect.kind())];
            let head = Response { status: 200, headers, body: Some(Body::default()), ..Response::default() };
            call.response(&head).unwrap();
            let chunks: Vec<Vec<u8>> = match bytes {
                0 => wire,
                bytes => wire.concat().chunks(bytes).map(<[u8]>::to_vec).collect(),
            };
            for chunk in chunks {
                call.response_chunk(count as u64, &chunk).unwrap();
                count += 1;
            }
        }
        call.end(ExchangeEnd::default()).unwrap();
        count
    }
}

/// Every kind of secret in a dialect, cut in two at every byte, and into many pieces. `METROON_EXHAUSTIVE=1` asks for all of them; otherwise each
/// cut is tried in one dialect of the eight.
fn cases(dialect: Dialect) -> Vec<Case> {
    let takes_all = std::env::var_os("METROON_EXHAUSTIVE").is_some();
    let mut count = dialect as usize;
    let mut is_taken = || {
        count += 1;
        takes_all || count.is_multiple_of(DIALECTS.len())
    };
    let mut cases = Vec::new();
    for (_, secret) in by_form(7) {
        let secret = secret.replace("\\n", "\n");
        let (before, text, after) = match dialect.is_arguments() {
            true => {
                let text = Value::String(secret.clone()).to_string();
                ("{\"path\":\"a\", \"text\":", text, ", \"n\": 1}")
            }
            false => ("It is ", secret.clone(), " and that is all."),
        };
        let all: Vec<char> = text.chars().collect();
        let pieces = |cut: usize| {
            let (one, other) = all.split_at(cut);
            vec![before.to_owned() + &String::from_iter(one), String::from_iter(other) + after]
        };
        let cuts = (1..all.len()).filter(|_| is_taken());
        cases.extend(cuts.map(|cut| Case { dialect, secret: secret.clone(), pieces: pieces(cut) }));
        for length in [1, 3, 7] {
            let many = all.chunks(length).map(String::from_iter);
            let pieces = [before.to_owned()].into_iter().chain(many).chain([after.to_owned()]).collect();
            cases.extend(is_taken().then(|| Case { dialect, secret: secret.clone(), pieces }));
        }
    }
    cases
}

/// How chunks are cut: as events are, or without regard to them.
const CHUNKS: [usize; 4] = [0, 11, 64, 400];

#[test]
fn secret_over_pieces() {
    let mut count = 0;
    for dialect in DIALECTS {
        let folder = Folder::new();
        let recorder = Recorder::open(folder.join("a"), RecorderOptions::default()).unwrap();
        let cases = cases(dialect);
        let chunks: Vec<_> =
            cases.iter().enumerate().map(|(at, case)| case.record(&recorder, CHUNKS[at % CHUNKS.len()])).collect();
        recorder.finish().unwrap();
        let cassette = Cassette::open(folder.join("a")).unwrap();
        for ((case, chunks), exchange) in cases.iter().zip(chunks).zip(cassette.exchanges()) {
            let exchange = exchange.unwrap();
            case.check(&exchange, "recorded");
            let times: Vec<_> = match &exchange.frames {
                Some(frames) => frames.iter().map(|frame| frame.at_us).collect(),
                None => {
                    let body = exchange.response.as_ref().and_then(|response| response.body.as_ref());
                    body.unwrap().chunks().iter().map(|chunk| chunk.at_us).collect()
                }
            };
            assert_eq!(times, (0..chunks as u64).collect::<Vec<_>>(), "{:?}", case.pieces);
            count += 1;
        }
    }
    assert!(count > 1_500, "{count} streams");
}

/// A cassette that was recorded with secrets is refused, and is redacted as it would have been.
#[test]
fn secret_over_pieces_of_a_cassette() {
    for dialect in DIALECTS {
        let folder = Folder::new();
        let recorder = Recorder::open(folder.join("a"), RecorderOptions::default().keep_secrets()).unwrap();
        let cases = cases(dialect);
        let chunks = CHUNKS.iter().rev().cycle();
        for (case, chunk) in cases.iter().zip(chunks) {
            case.record(&recorder, *chunk);
        }
        recorder.finish().unwrap();
        let cassette = Cassette::open(folder.join("a")).unwrap();
        let selection = Selection::of(&cassette).unwrap();
        let refused = selection.write(folder.join("b"), KeyScheme::of(&MatchRules::default()));
        assert!(refused.is_err(), "{dialect:?}");
        let redaction = Redaction::usual();
        selection.write_redacted(folder.join("b"), KeyScheme::target(), &redaction, |_, _| {}).unwrap();
        let written = Cassette::open(folder.join("b")).unwrap();
        for (case, exchange) in cases.iter().zip(written.exchanges()) {
            let mut exchange = exchange.unwrap();
            case.check(&exchange, "redacted");
            let before = exchange.clone();
            assert_eq!((redaction.exchange(&mut exchange).findings, exchange), (vec![], before), "a second time");
        }
    }
}

/// What a stream gives out of events, chunk by chunk.
fn given(chunks: &[String]) -> (Vec<String>, cassette::redact::Findings) {
    let headers = [Header::new("Content-Type", "text/event-stream")];
    let mut stream = BodyRedactor::of_response(Redaction::usual(), &headers);
    let text = |body: Body<'static>| String::from_utf8_lossy(body.bytes()).into_owned();
    let mut given: Vec<_> = chunks.iter().zip(0..).map(|(chunk, at)| text(stream.push(at, chunk.as_bytes()))).collect();
    given.push(text(stream.finish()));
    (given, stream.found().clone())
}

fn chat(pieces: &[&str]) -> Vec<String> {
    let event = |piece: &&str| format!("data: {}\n\n", Dialect::ChatText.event(piece, false));
    pieces.iter().map(event).collect()
}

/// An event waits only while its text may go on as a secret.
#[test]
fn words_do_not_wait() {
    let chunks = chat(&["The", " frog", " croaks", " do", "ts", ".", " sk", "-", " x", "é"]);
    let (given, found) = given(&chunks);
    let is_given: Vec<_> = given.iter().map(|given| !given.is_empty()).collect();
    // A word that begins lets what was before it go.
    let waits = [false, false, false, true, false, false, true, true, false, false];
    assert_eq!(is_given[..10], waits.map(|waits| !waits), "{given:?}");
    assert_eq!((given.concat(), found.count()), (chunks.concat(), 0));
}

/// What begins as a private key and does not end is replaced when too much of it waits, and is told: it does not fill the memory, and no
/// part of it gets by.
#[test]
fn what_does_not_end_is_cut_and_told() {
    let mut pieces = vec!["It is -----BEGIN PRIVATE KEY-----\n".to_owned()];
    pieces.extend((0..5_000).map(|at| format!("MIIEvQIBADANBgkqhkiG{at:05}\n")));
    let chunks = chat(&pieces.iter().map(String::as_str).collect::<Vec<_>>());
    let headers = [Header::new("Content-Type", "text/event-stream")];
    let mut stream = BodyRedactor::of_response(Redaction::usual(), &headers);
    let (mut out, mut waits, mut most) = (Vec::new(), 0, 0);
    for (chunk, at) in chunks.iter().zip(0..) {
        waits += chunk.len();
        let body = stream.push(at, chunk.as_bytes());
        waits -= if body.chunks().is_empty() {
            0
        } else {
            body.chunks().iter().map(|chunk| chunks[chunk.at_us as usize].len()).sum()
        };
        most = most.max(waits);
        out.extend_from_slice(body.bytes());
    }
    out.extend_from_slice(stream.finish().bytes());
    let out = String::from_utf8(out).unwrap();
    let (whole, _) = joined(Dialect::ChatText, &texts_of(&out));
    assert_eq!(whole, "It is REDACTED");
    assert_eq!(stream.found().replaced, 1);
    assert!(most < 2 * HELD_BYTES_MAX, "{most} bytes waited");
}
