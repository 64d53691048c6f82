//! Exchanges that other formats can hold: nothing in them is out of the ordinary.

use crate::exchanges::error_kind;
use cassette::{
    Body, Direction, Exchange, Header, HttpVersion, NetworkError, Opcode, Outcome, Request, Response, WsFrame,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

/// Every microsecond of a month.
const MOST_US: u64 = 1 << 41;

fn headers() -> impl Strategy<Value = Vec<Header<'static>>> {
    let name = select(vec!["Accept", "accept", "X-A", "Set-Cookie", "Cookie", "Location", "Content-Type", "é"]);
    let value = "([a-z0-9=;/ .-]|[ -~]|\\PC){0,12}".prop_map(|value| value.trim().to_owned());
    vec((name, value), 0..5)
        .prop_map(|headers| headers.into_iter().map(|(name, value)| Header::new(name, value)).collect())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..300),
        "(\\PC|[ \\n\\t\\r:#'\"-]|[a-z]){0,40}".prop_map(String::into_bytes),
        select(vec!["", "null", "1", "- a", "a: b", "{\"a\": [1]}\n", "yes", "~", "  x  ", "\u{FEFF}\u{2028}\u{85}\0"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

fn request() -> impl Strategy<Value = Request<'static>> {
    let at =
        (select(vec![("http", 80_u16), ("https", 443), ("https", 8443)]), select(vec!["a.example", "::1", "10.0.0.1"]));
    let target = "/[a-z]{0,4}(\\?[a-zA-Z0-9=&%+:]{0,12})?";
    (select(vec!["GET", "POST", "HEAD", "DELETE"]), at, target, headers(), option::of(bytes())).prop_map(
        |(method, ((scheme, port), host), target, headers, body)| Request {
            method: method.into(),
            scheme: scheme.into(),
            host: host.into(),
            port,
            target: target.into(),
            headers,
            body: body.map(|body| Body::new(0, body)),
            ..Request::default()
        },
    )
}

fn response() -> impl Strategy<Value = Response<'static>> {
    (select(vec![200, 204, 304, 404, 599]), "[ -~]{0,12}", headers(), option::of(bytes())).prop_map(
        |(status, reason, headers, body)| Response {
            status,
            reason: reason.into(),
            headers,
            body: body.map(|body| Body::new(0, body)),
            ..Response::default()
        },
    )
}

/// What every recorder has: a request, a response and when it was recorded, in milliseconds since 1970.
pub(crate) fn exchange() -> impl Strategy<Value = Exchange<'static>> {
    let started_ns = (1_000_000_000_000_i64..2_000_000_000_000).prop_map(|ms| ms * 1_000_000);
    (started_ns, request(), response()).prop_map(|(started_ns, request, response)| Exchange {
        started_ns,
        request,
        response: Some(response),
        ..Exchange::default()
    })
}

fn message() -> impl Strategy<Value = WsFrame<'static>> {
    let payload = prop_oneof![
        "\\PC{0,12}".prop_map(|text| (Opcode::TEXT, text.into_bytes())),
        bytes().prop_map(|bytes| (Opcode::BINARY, bytes)),
        bytes().prop_map(|bytes| (Opcode::CLOSE, bytes)),
    ];
    (0..MOST_US, any::<bool>(), payload).prop_map(|(at_us, is_sent, (opcode, payload))| {
        WsFrame::new(at_us, if is_sent { Direction::Sent } else { Direction::Received }, opcode, payload)
    })
}

fn outcome() -> impl Strategy<Value = Outcome<'static>> {
    let error =
        (error_kind(), "[a-z: ]{0,12}").prop_map(|(kind, message)| NetworkError { kind, message: message.into() });
    prop_oneof![3 => Just(Outcome::Complete), 1 => error.prop_map(Outcome::Aborted)]
}

/// What a browser has beside: versions, times of requests and responses, errors, messages of WebSockets.
pub(crate) fn of_browser() -> impl Strategy<Value = Exchange<'static>> {
    let version = || select(vec![HttpVersion::Http10, HttpVersion::Http11, HttpVersion::Http2, HttpVersion::Http3]);
    let times = ([0..MOST_US, 0..MOST_US, 0..MOST_US], option::of(0..MOST_US), -500_000_i64..500_000);
    let frames = prop_oneof![2 => Just(None), 1 => vec(message(), 0..4).prop_map(Some)];
    (exchange(), times, [version(), version()], outcome(), frames, any::<bool>()).prop_map(
        |(mut exchange, ([sent, wait, receive], ended_us, ns), versions, outcome, frames, is_answered)| {
            let is_answered = is_answered || outcome == Outcome::Complete;
            let with_time = |body: Body<'static>, at_us| Body::new(at_us, body.into_parts().0);
            let request = &mut exchange.request;
            let sent = if request.body.is_some() { sent } else { 0 };
            request.body = request.body.take().map(|body| with_time(body, sent));
            request.version = versions[0];
            exchange.response = exchange.response.filter(|_| is_answered).map(|mut response| {
                response.at_us = sent + wait;
                response.body = response.body.take().map(|body| with_time(body, sent + wait + receive));
                response.version = versions[1];
                response
            });
            let started_ns = exchange.started_ns + ns;
            Exchange { started_ns, ended_us, outcome, frames, ..exchange }
        },
    )
}
