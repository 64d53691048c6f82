//! A cassette with a secret of a known form is not sealed, wherever the secret is and however it was recorded.

use crate::exchanges::{Folder, of_the_report};
use cassette::matching::JsonPath;
use cassette::redact::{Redaction, RedactionRules};
use cassette::{
    Body, Cassette, Content, Direction, Exchange, ExchangeEnd, FormError, Header, Informational, KeyScheme,
    NetworkError, NetworkErrorKind, Note, Opcode, Outcome, RecordError, Recorder, RecorderOptions, Request, Response,
    SealError, SealOptions, WsFrame, write_cassette,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// It has a form that is known, and is nobody's.
const SECRET: &str = "sk-canary-0123456789abcdefghij";
const WHAT: &str = "an API key that begins with sk-";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes it")
}

/// Exchanges with a secret in one place each, and what the place is called.
fn exposing() -> Vec<(Exchange<'static>, &'static str)> {
    let plain = || Exchange { response: Some(Response { status: 200, ..Response::default() }), ..of_the_report(3) };
    let with = |change: &dyn Fn(&mut Exchange<'static>)| {
        let mut exchange = plain();
        change(&mut exchange);
        exchange
    };
    let response = |change: &dyn Fn(&mut Response<'static>)| {
        with(&|exchange| change(exchange.response.as_mut().expect("there is one")))
    };
    let in_pieces = {
        let mut body = Body::default();
        SECRET.as_bytes().chunks(7).zip(0..).for_each(|(piece, at_us)| body.push(at_us, piece));
        body
    };
    let frames = |pieces: usize| {
        let size = SECRET.len().div_ceil(pieces);
        let frames = SECRET.as_bytes().chunks(size).enumerate().map(|(at, piece)| {
            let opcode = if at == 0 { Opcode::TEXT } else { Opcode::CONTINUATION };
            WsFrame { is_final: at + 1 == pieces, ..WsFrame::new(5, Direction::Sent, opcode, piece) }
        });
        frames.collect::<Vec<_>>()
    };
    let error = NetworkError { kind: NetworkErrorKind::Other, message: SECRET.into() };
    let informational =
        Informational { status: 103, headers: vec![Header::new("Link", SECRET)], ..Informational::default() };
    vec![
        (with(&|exchange| exchange.request.target = format!("/{SECRET}").into()), "request target"),
        (with(&|exchange| exchange.request.headers.push(Header::new("X-It", SECRET))), "request header x-it"),
        (with(&|exchange| exchange.request.body = Some(Body::new(0, SECRET))), "request body"),
        (with(&|exchange| exchange.request.trailers = vec![Header::new("T", SECRET)]), "request trailer t"),
        (with(&|exchange| exchange.informational = vec![informational.clone()]), "informational response header link"),
        (response(&|response| response.headers.push(Header::new("X-It", SECRET))), "response header x-it"),
        (response(&|response| response.body = Some(in_pieces.clone())), "response body"),
        (
            response(&|response| {
                response.headers.push(Header::new("Content-Encoding", "gzip"));
                response.body = Some(Body::new(1, gzip(SECRET)));
            }),
            "response body",
        ),
        (response(&|response| response.trailers = vec![Header::new("T", SECRET)]), "response trailer t"),
        (with(&|exchange| exchange.frames = Some(frames(1))), "message of frame 0"),
        (with(&|exchange| exchange.frames = Some(frames(3))), "message of frame 0"),
        (with(&|exchange| exchange.outcome = Outcome::Aborted(error.clone())), "error message"),
        (with(&|exchange| exchange.notes = vec![Note::new("seen", SECRET)]), "note seen"),
    ]
}

/// A recorder that keeps nothing off the cassette, but does not say so either.
fn careless() -> RecorderOptions {
    RecorderOptions::default().redaction(Arc::new(Redaction::nothing()))
}

fn check(error: &SealError, number: u64, place: &str) {
    let SealError::Secret(exposed) = error else { panic!("{error}") };
    assert_eq!((exposed.exchange, exposed.finding.place.as_str()), (Some(number), place), "{error}");
    assert_eq!((exposed.finding.what.as_str(), exposed.others), (WHAT, 0), "{error}");
    let message = error.to_string();
    assert!(
        message.contains(&format!("exchange {number} has {WHAT} in its {place}; `metroon cassette redact`")),
        "{message}"
    );
    assert!(message.contains("keep_secrets()"), "{message}");
}

#[test]
fn a_cassette_with_a_secret_is_not_written() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    write_cassette(&path, &[of_the_report(0)], &[], KeyScheme::target()).unwrap();
    for (exchange, place) in exposing() {
        let both = [of_the_report(1), exchange];
        check(&write_cassette(&path, &both, &[], KeyScheme::target()).unwrap_err(), 3, place);
        let content = Content { exchanges: both.to_vec(), meta: Vec::new() };
        for name in ["a.json", "a.txt", "a.msgpack"] {
            let error = content.write(folder.join(name), SealOptions::default()).unwrap_err();
            assert!(matches!(error, FormError::Seal(SealError::Secret(_))), "{place}: {error}");
        }
    }
    // What lay there stays, and nothing else does.
    assert_eq!(Cassette::open(&path).unwrap().exchange(0).unwrap(), of_the_report(0));
    assert_eq!(folder.names(), ["a.cassette"]);
    let meta = [Note::new("made with", SECRET)];
    let error = write_cassette(&path, &[], &meta, KeyScheme::target()).unwrap_err().to_string();
    assert!(error.contains(&format!("a.cassette: the cassette has {WHAT} in its note made with")), "{error}");
}

/// Records an exchange as it happens, in the pieces that it has.
fn tell(recorder: &Recorder, exchange: &Exchange<'_>) {
    let call = recorder.begin(exchange.started_ns, &exchange.request).unwrap();
    exchange.informational.iter().for_each(|informational| call.informational(informational).unwrap());
    exchange.response.iter().for_each(|response| call.response(response).unwrap());
    exchange.frames.iter().flatten().for_each(|frame| call.frame(frame).unwrap());
    exchange.notes.iter().for_each(|note| call.note(note).unwrap());
    let response_trailers = exchange.response.as_ref().map(|response| response.trailers.clone());
    call.end(ExchangeEnd {
        request_trailers: exchange.request.trailers.clone(),
        response_trailers: response_trailers.unwrap_or_default(),
        outcome: exchange.outcome.clone(),
        ..ExchangeEnd::default()
    })
    .unwrap();
}

fn sealing_fails(path: &Path, record: impl FnOnce(&Recorder)) -> SealError {
    let recorder = Recorder::open(path, careless()).unwrap();
    record(&recorder);
    match recorder.finish() {
        Err(RecordError::Seal(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_recording_with_a_secret_is_not_sealed() {
    for (exchange, place) in exposing() {
        for is_whole in [true, false] {
            let folder = Folder::new();
            let error = sealing_fails(&folder.join("a.cassette"), |recorder| {
                recorder.record(of_the_report(0)).unwrap();
                match is_whole {
                    true => assert_eq!(recorder.record(exchange.clone()).unwrap(), 1),
                    false => tell(recorder, &exchange),
                }
            });
            check(&error, 1, place);
            assert_eq!(folder.names(), ["a.cassette.recording"], "the recording stays");
            assert_eq!(Cassette::open(folder.join("a.cassette")).unwrap().len(), 2);
        }
    }
}

/// Also an exchange that was not over.
#[test]
fn a_partial_exchange_is_looked_through() {
    let folder = Folder::new();
    let error = sealing_fails(&folder.join("a.cassette"), |recorder| {
        let call = recorder.begin(0, &Request::default()).unwrap();
        call.response(&Response::default()).unwrap();
        SECRET.as_bytes().chunks(5).for_each(|piece| call.response_chunk(1, piece).unwrap());
    });
    check(&error, 0, "response body");
}

#[test]
fn all_of_them_are_counted() {
    let folder = Folder::new();
    let error = sealing_fails(&folder.join("a.cassette"), |recorder| {
        for (exchange, _) in exposing().into_iter().take(3) {
            tell(recorder, &exchange);
        }
    });
    let message = error.to_string();
    assert!(message.contains("exchange 0 has") && message.contains(", and there are 2 other secrets;"), "{message}");
}

#[test]
fn secrets_are_sealed_on_request() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default().keep_secrets()).unwrap();
    let exchanges: Vec<_> = exposing().into_iter().map(|(exchange, _)| exchange).collect();
    for exchange in &exchanges {
        recorder.record(exchange.clone()).unwrap();
    }
    recorder.finish().unwrap();
    assert_eq!(Cassette::open(&path).unwrap().len(), exchanges.len());
    let kept = SealOptions::default().keep_secrets();
    write_cassette(folder.join("b.cassette"), &exchanges[..1], &[], kept).unwrap();
    // What was sealed with them is looked through again when it is added to, and the recording stays.
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    recorder.record(of_the_report(0)).unwrap();
    let refused = recorder.finish();
    assert!(refused.is_err_and(|error| error.to_string().starts_with("a.cassette: exchange 0 has ")));
    let recorder = Recorder::open(&path, RecorderOptions::default().keep_secrets()).unwrap();
    recorder.finish().unwrap();
    assert_eq!(Cassette::open(&path).unwrap().len(), exchanges.len() + 1);
}

/// What the usual rules leave is never refused.
#[test]
fn what_was_redacted_is_sealed() {
    let folder = Folder::new();
    let recorder = Recorder::open(folder.join("a.cassette"), RecorderOptions::default()).unwrap();
    for (exchange, _) in exposing() {
        tell(&recorder, &exchange);
        recorder.record(exchange).unwrap();
    }
    recorder.finish().unwrap();
    assert_eq!(folder.names(), ["a.cassette"]);
}

#[test]
fn places_in_json_are_secrets_on_request() {
    let paths = ["**.email", "people.*.age"].map(|path| JsonPath::new(path).unwrap()).to_vec();
    let redaction = Arc::new(RedactionRules { paths, ..RedactionRules::default() }.compile().unwrap());
    let document = r#"{"people": [{"email": "a@b.c", "age": 41}, {"age": null}], "email": {"to": ["x", 5, true]}}"#;
    let without =
        r#"{"people": [{"email": "REDACTED", "age": 0}, {"age": null}], "email": {"to": ["REDACTED", 0, true]}}"#;
    let stream = "event: x\ndata: {\"email\": \"a@b.c\"}\n\nnot JSON {\"email\": \"a@b.c\"}\n";
    let folder = Folder::new();
    let recorder =
        Recorder::open(folder.join("a.cassette"), RecorderOptions::default().redaction(redaction.clone())).unwrap();
    for body in [document, stream] {
        let request = Request { body: Some(Body::new(0, body)), ..of_the_report(0).request };
        recorder.record(Exchange { request: request.clone(), ..Exchange::default() }).unwrap();
        // In pieces, none of which is JSON.
        let call = recorder.begin(0, &Request { body: Some(Body::default()), ..request }).unwrap();
        body.as_bytes().chunks(3).for_each(|piece| call.request_chunk(1, piece).unwrap());
        call.end(ExchangeEnd::default()).unwrap();
    }
    recorder.finish().unwrap();
    let cassette = Cassette::open(folder.join("a.cassette")).unwrap();
    let expected =
        [without, without, &stream.replacen("a@b.c", "REDACTED", 1), &stream.replacen("a@b.c", "REDACTED", 1)];
    for (at, expected) in expected.into_iter().enumerate() {
        let exchange = cassette.exchange(at).unwrap();
        assert_eq!(String::from_utf8_lossy(exchange.request.body_bytes()), expected);
        assert!(redaction.scan(&exchange).findings.is_empty());
    }
}

/// JSON that is too deep to be read is looked through by its names only, and nothing overflows.
#[test]
fn json_may_be_deep() {
    let paths = vec![JsonPath::new("**.a").unwrap()];
    let redaction = RedactionRules { paths, ..RedactionRules::default() }.compile().unwrap();
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let request = Request { body: Some(Body::new(0, deep)), ..Request::default() };
    assert!(redaction.scan(&Exchange { request, ..Exchange::default() }).findings.is_empty());
}
