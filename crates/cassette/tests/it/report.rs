//! What the Magneto-Serge system wrote is read: its structures, written by its libraries, in both of its layouts.

use cassette::{Content, Header, NetworkErrorKind, Opcode, Outcome};
use serde::Serialize;
use std::collections::HashMap;

#[derive(Serialize)]
struct Cassette {
    version: String,
    name: String,
    recorded_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cookies: Option<Vec<Cookie>>,
    interactions: Vec<Interaction>,
}

#[derive(Clone, Serialize)]
struct Cookie {
    name: String,
    value: String,
    domain: Option<String>,
    secure: bool,
}

#[derive(Serialize)]
struct Interaction {
    #[serde(flatten)]
    kind: Kind,
    recorded_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_time_ms: Option<u64>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Kind {
    Http { request: Request, response: Response },
    WebSocket { url: String, messages: Vec<Message>, close_frame: Option<Close> },
    HttpError { request: Request, error: Error },
}

#[derive(Serialize)]
struct Request {
    method: String,
    url: String,
    headers: HashMap<String, String>,
    body: Option<Vec<u8>>,
}

#[derive(Serialize)]
struct Response {
    status: u16,
    headers: HashMap<String, String>,
    body: Option<Vec<u8>>,
}

#[derive(Serialize)]
struct Message {
    direction: &'static str,
    timestamp_ms: u64,
    #[serde(flatten)]
    payload: Payload,
}

#[derive(Serialize)]
#[serde(tag = "msg_type")]
enum Payload {
    Text { data: String },
    Binary { data: Vec<u8> },
}

#[derive(Serialize)]
struct Close {
    code: u16,
    reason: String,
}

#[derive(Serialize)]
#[serde(tag = "error_type")]
enum Error {
    Timeout { message: String, timeout_ms: u64 },
}

fn request(url: &str) -> Request {
    let headers = [("Accept".to_owned(), "*/*".to_owned())].into();
    Request { method: "POST".into(), url: url.into(), headers, body: Some(b"{}".to_vec()) }
}

fn interaction(kind: Kind, response_time_ms: Option<u64>) -> Interaction {
    Interaction { kind, recorded_at: "2025-10-11T12:30:45.123456789Z".into(), response_time_ms }
}

fn first_layout() -> Vec<Interaction> {
    let response = Response { status: 404, headers: HashMap::new(), body: None };
    let messages = vec![
        Message { direction: "Sent", timestamp_ms: 3, payload: Payload::Text { data: "hi".into() } },
        Message { direction: "Received", timestamp_ms: 5, payload: Payload::Binary { data: vec![0xFF] } },
    ];
    let close_frame = Some(Close { code: 1000, reason: "bye".into() });
    vec![
        interaction(Kind::Http { request: request("https://example.com:8443/a?b=%20#c"), response }, None),
        interaction(Kind::WebSocket { url: "wss://example.com".into(), messages, close_frame }, None),
    ]
}

fn later_layout() -> Vec<Interaction> {
    let error = Error::Timeout { message: "late".into(), timeout_ms: 30 };
    let mut interactions = first_layout();
    interactions.push(interaction(Kind::HttpError { request: request("http://[::1]/"), error }, Some(7)));
    interactions
}

fn cassette(cookies: Option<Vec<Cookie>>, interactions: Vec<Interaction>) -> Cassette {
    let recorded_at = "2025-10-11T12:30:45Z".into();
    Cassette { version: "1.0".into(), name: "old".into(), recorded_at, cookies, interactions }
}

/// An interaction is recorded when its answer is there: it began before that, as long as it took.
#[test]
fn ws_time_is_relative_and_exchanges_begin_before_they_are_recorded() {
    const RECORDED_NS: i64 = 1_760_185_845_123_456_789;
    const BEGUN_MS: u64 = 1_760_185_840_000;
    let response = || Response { status: 200, headers: HashMap::new(), body: Some(b"frog".to_vec()) };
    let http =
        |time_ms| interaction(Kind::Http { request: request("https://a.example/"), response: response() }, time_ms);
    let socket = |begun_ms: u64| {
        let message = |after_ms, data: &str| Message {
            direction: "Sent",
            timestamp_ms: begun_ms + after_ms,
            payload: Payload::Text { data: data.into() },
        };
        let messages = vec![message(0, "one"), message(1500, "two")];
        interaction(Kind::WebSocket { url: "wss://a.example".into(), messages, close_frame: None }, None)
    };
    let document = cassette(None, vec![http(Some(250)), http(None), socket(0), socket(BEGUN_MS)]);
    for content in [
        Content::from_json(&serde_json::to_vec(&document).unwrap()).unwrap(),
        Content::from_msgpack(&rmp_serde::to_vec(&document).unwrap()).unwrap(),
    ] {
        let [timed, untimed, relative, absolute] = &content.exchanges[..] else { panic!("{content:?}") };
        assert_eq!((timed.started_ns, timed.ended_us), (RECORDED_NS - 250_000_000, Some(250_000)));
        let response = timed.response.as_ref().unwrap();
        assert_eq!((response.at_us, response.body.as_ref().unwrap().chunks()[0].at_us), (250_000, 250_000));
        assert_eq!((untimed.started_ns, untimed.ended_us), (RECORDED_NS, None));
        for (socket, started_ns) in [(relative, RECORDED_NS - 1_500_000_000), (absolute, BEGUN_MS as i64 * 1_000_000)] {
            let times: Vec<_> = socket.frames.iter().flatten().map(|frame| frame.at_us).collect();
            assert_eq!((socket.started_ns, times, socket.ended_us), (started_ns, vec![0, 1_500_000], Some(1_500_000)));
        }
    }
}

fn check_first(content: &Content) {
    let [http, websocket, ..] = &content.exchanges[..] else { panic!("{content:?}") };
    assert_eq!(http.started_ns, 1_760_185_845_123_456_789);
    let request = &http.request;
    assert_eq!((&request.host, request.port, &request.target), (&"example.com".into(), 8443, &"/a?b=%20".into()));
    assert_eq!(request.headers, [Header::new("Accept", "*/*")]);
    let response = http.response.as_ref().unwrap();
    assert_eq!((response.status, &response.body), (404, &None));
    let frames = websocket.frames.as_ref().unwrap();
    let opcodes: Vec<_> = frames.iter().map(|frame| frame.opcode).collect();
    assert_eq!(opcodes, [Opcode::TEXT, Opcode::BINARY, Opcode::CLOSE]);
    assert_eq!((frames[1].at_us, frames[2].close().unwrap().code), (5000, Some(1000)));
    assert_eq!((websocket.request.port, &websocket.request.target), (443, &"/".into()));
    assert_eq!(content.meta[0].value, "old");
}

#[test]
fn both_layouts_are_read_from_json() {
    check_first(&Content::from_json(&serde_json::to_vec(&cassette(None, first_layout())).unwrap()).unwrap());
    let later = serde_json::to_vec_pretty(&cassette(None, later_layout())).unwrap();
    let content = Content::from_json(&later).unwrap();
    check_first(&content);
    let failed = &content.exchanges[2];
    let Outcome::Aborted(error) = &failed.outcome else { panic!("{failed:?}") };
    assert_eq!((error.kind, failed.ended_us), (NetworkErrorKind::Timeout { after_ms: 30 }, Some(7000)));
    assert_eq!(failed.request.host, "::1");
}

/// The later program cannot read its own: a field that is left out moves the others. Here it can be.
#[test]
fn both_layouts_are_read_from_msgpack() {
    check_first(&Content::from_msgpack(&rmp_serde::to_vec(&cassette(None, first_layout())).unwrap()).unwrap());
    let cookie = Cookie { name: "a".into(), value: "1".into(), domain: None, secure: true };
    for cookies in [None, Some(vec![cookie])] {
        let bytes = rmp_serde::to_vec(&cassette(cookies.clone(), later_layout())).unwrap();
        let content = Content::from_msgpack(&bytes).unwrap();
        check_first(&content);
        assert_eq!(content.exchanges.len(), 3);
        assert_eq!(content.meta.iter().any(|note| note.name == "report.cookies"), cookies.is_some());
    }
}

#[test]
fn what_is_neither_layout_says_what_is_missing() {
    let error = Content::from_json(br#"{"version":"1.0","name":"x"}"#).unwrap_err().to_string();
    assert!(error.contains("missing field `recorded_at`"), "{error}");
    let broken = rmp_serde::to_vec(&("1.0", "x", 7, [0; 0])).unwrap();
    let error = Content::from_msgpack(&broken).unwrap_err().to_string();
    assert!(error.contains("no cassette in MessagePack"), "{error}");
}
