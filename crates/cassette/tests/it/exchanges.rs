//! Exchanges for tests: the report's, one that has everything, and generated ones.

use cassette::{
    Body, Bytes, Chunk, Direction, Exchange, Header, HttpVersion, Informational, NetworkError, NetworkErrorKind, Note,
    Opcode, Outcome, Request, Response, WsFrame,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one test, which goes with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cassette-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The names in it, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Interaction `number` of the Magneto-Serge optimization report.
pub(crate) fn of_the_report(number: u64) -> Exchange<'static> {
    Exchange {
        number,
        started_ns: 1_760_000_000_123_456_789 + number as i64 * 1_000_417,
        request: Request {
            method: "GET".into(),
            scheme: "https".into(),
            host: "api.example.com".into(),
            port: 443,
            target: format!("/resource/{number}").into(),
            headers: vec![
                Header::new("Content-Type", "application/json"),
                Header::new("Authorization", format!("Bearer token-{number}")),
            ],
            body: Some(Body::new(0, format!("{{\"request\": {number}, \"data\": \"test data\"}}"))),
            ..Request::default()
        },
        response: Some(Response {
            status: 200,
            headers: vec![Header::new("Content-Type", "application/json")],
            body: Some(Body::new(
                0,
                format!("{{\"response\": {number}, \"result\": [1,2,3,4,5], \"message\": \"success\"}}"),
            )),
            ..Response::default()
        }),
        ..Exchange::default()
    }
}

/// An exchange with something in every place.
pub(crate) fn with_everything(number: u64) -> Exchange<'static> {
    let mut body = Body::new(3, "one");
    body.push(5, b"");
    body.push(9, b"\x00\xff");
    Exchange {
        number,
        started_ns: -1,
        ended_us: Some(u64::MAX),
        request: Request {
            version: HttpVersion::Http2,
            trailers: vec![Header::new("t", "1")],
            body: Some(body.clone()),
            ..of_the_report(number).request
        },
        informational: vec![Informational {
            at_us: 1,
            status: 103,
            reason: "Early Hints".into(),
            headers: vec![Header::new("link", "</a>")],
        }],
        response: Some(Response {
            at_us: 2,
            status: 101,
            reason: "Switching Protocols".into(),
            version: HttpVersion::Http10,
            headers: vec![Header::new("Set-Cookie", "a=1"), Header::new("set-cookie", b"\xff\x00")],
            body: Some(body),
            trailers: vec![Header::new("", "")],
        }),
        frames: Some(vec![
            WsFrame::new(7, Direction::Sent, Opcode::TEXT, "hello"),
            WsFrame { is_final: false, reserved: 4, ..WsFrame::new(8, Direction::Received, Opcode::BINARY, b"\xfe") },
            WsFrame::new(9, Direction::Received, Opcode::CLOSE, b"\x03\xe8bye"),
        ]),
        outcome: Outcome::Aborted(NetworkError {
            kind: NetworkErrorKind::Timeout { after_ms: 30 },
            message: "late".into(),
        }),
        notes: vec![Note::new("har.comment", "x")],
    }
}

fn bytes() -> impl Strategy<Value = Bytes<'static>> {
    prop_oneof![vec(any::<u8>(), 0..20).prop_map(Bytes::from), "[a-z]{0,8}".prop_map(Bytes::from)]
}

fn headers() -> impl Strategy<Value = Vec<Header<'static>>> {
    vec((bytes(), bytes()).prop_map(|(name, value)| Header { name, value }), 0..4)
}

/// Bodies inline and shared, repeated and random.
fn body() -> impl Strategy<Value = Option<Body<'static>>> {
    let chunk = prop_oneof![
        4 => vec(any::<u8>(), 0..30),
        1 => vec(any::<u8>(), 1000..3000),
        1 => (any::<u8>(), 0_usize..5000).prop_map(|(byte, count)| vec![byte; count]),
    ];
    option::of(vec((any::<u64>(), chunk), 0..4).prop_map(|chunks| {
        let sizes = chunks.iter().map(|(at_us, chunk)| Chunk { at_us: *at_us, bytes: chunk.len() }).collect();
        Body::from_parts(chunks.into_iter().flat_map(|(_, chunk)| chunk).collect::<Vec<u8>>(), sizes).unwrap()
    }))
}

fn version() -> impl Strategy<Value = HttpVersion> {
    use HttpVersion::{Http2, Http3, Http09, Http10, Http11};
    proptest::sample::select(vec![Http09, Http10, Http11, Http2, Http3])
}

fn request() -> impl Strategy<Value = Request<'static>> {
    ((bytes(), bytes(), bytes(), any::<u16>(), bytes()), version(), headers(), body(), headers()).prop_map(
        |((method, scheme, host, port, target), version, headers, body, trailers)| Request {
            method,
            scheme,
            host,
            port,
            target,
            version,
            headers,
            body,
            trailers,
        },
    )
}

fn response() -> impl Strategy<Value = Response<'static>> {
    (any::<u64>(), any::<u16>(), bytes(), version(), headers(), body(), headers()).prop_map(
        |(at_us, status, reason, version, headers, body, trailers)| Response {
            at_us,
            status,
            reason,
            version,
            headers,
            body,
            trailers,
        },
    )
}

fn frame() -> impl Strategy<Value = WsFrame<'static>> {
    (any::<u64>(), any::<bool>(), 0_u8..16, any::<bool>(), 0_u8..8, bytes()).prop_map(
        |(at_us, is_sent, opcode, is_final, reserved, payload)| WsFrame {
            at_us,
            direction: if is_sent { Direction::Sent } else { Direction::Received },
            opcode: Opcode::new(opcode).unwrap(),
            is_final,
            reserved,
            payload,
        },
    )
}

/// Everything that a network can do instead of answering.
pub(crate) fn error_kind() -> impl Strategy<Value = NetworkErrorKind> {
    prop_oneof![
        Just(NetworkErrorKind::Dns),
        Just(NetworkErrorKind::Refused),
        Just(NetworkErrorKind::Tls),
        Just(NetworkErrorKind::Reset),
        any::<u64>().prop_map(|after_ms| NetworkErrorKind::Timeout { after_ms }),
        any::<u64>().prop_map(|count| NetworkErrorKind::TooManyRedirects { count }),
        Just(NetworkErrorKind::Protocol),
        Just(NetworkErrorKind::Other),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome<'static>> {
    prop_oneof![
        Just(Outcome::Complete),
        Just(Outcome::Truncated),
        Just(Outcome::Partial),
        (error_kind(), bytes()).prop_map(|(kind, message)| Outcome::Aborted(NetworkError { kind, message })),
    ]
}

/// Any exchange at all, of this number.
pub(crate) fn exchange(number: u64) -> impl Strategy<Value = Exchange<'static>> {
    let informational = (any::<u64>(), any::<u16>(), bytes(), headers())
        .prop_map(|(at_us, status, reason, headers)| Informational { at_us, status, reason, headers });
    let note = (bytes(), bytes()).prop_map(|(name, value)| Note { name, value });
    (
        (any::<i64>(), option::of(any::<u64>())),
        request(),
        vec(informational, 0..2),
        option::of(response()),
        option::of(vec(frame(), 0..4)),
        outcome(),
        vec(note, 0..2),
    )
        .prop_map(move |((started_ns, ended_us), request, informational, response, frames, outcome, notes)| {
            Exchange { number, started_ns, ended_us, request, informational, response, frames, outcome, notes }
        })
}

/// Up to `most` exchanges, with gaps between their numbers.
pub(crate) fn exchanges(most: usize) -> impl Strategy<Value = Vec<Exchange<'static>>> {
    vec((1_u64..3, exchange(0)), 0..most).prop_map(|exchanges| {
        let mut number = 0;
        let numbered = exchanges.into_iter().map(|(step, exchange)| {
            number += step;
            Exchange { number, ..exchange }
        });
        numbered.collect()
    })
}
