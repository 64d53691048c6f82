//! No byte of a secret reaches a disk: recordings, sealed cassettes and what lies beside them, searched as files.

use crate::exchanges::Folder;
use cassette::{
    Body, Cassette, Direction, Exchange, ExchangeEnd, Header, Informational, NetworkError, NetworkErrorKind, Note,
    Opcode, Outcome, Recorder, RecorderOptions, Request, Response, WsFrame,
};
use std::path::Path;

/// Each has a part that is in no other place.
const SECRET: &str = "sk-canary-0123456789abcdefghij";

fn shows(folder: &Path, secret: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let shows = |path: &Path| memchr::memmem::find(&std::fs::read(path).unwrap(), secret.as_bytes()).is_some();
    files.filter(|path| shows(path)).map(|path| path.display().to_string()).collect()
}

fn request(kind: &'static str) -> Request<'static> {
    Request {
        method: "POST".into(),
        scheme: "https".into(),
        host: "api.test".into(),
        port: 443,
        target: format!("/a?api_key={SECRET}&path={SECRET}").into(),
        headers: vec![
            Header::new("Authorization", format!("Bearer {SECRET}")),
            Header::new("Content-Type", kind),
            Header::new("Content-Length", "1000"),
        ],
        ..Request::default()
    }
}

/// A line of a stream with two secrets.
fn event() -> String {
    format!("data: {{\"api_key\": \"{SECRET}\", \"text\": \"hello {SECRET}\"}}\n\n")
}

/// Records an exchange with a secret in every place, in pieces of this many bytes.
fn record(recorder: &Recorder, piece: usize) {
    let event = event();
    let call = recorder.begin(5, &request("application/json")).unwrap();
    for (at, bytes) in event.as_bytes().chunks(piece).enumerate() {
        call.request_chunk(at as u64, bytes).unwrap();
    }
    let headers = vec![Header::new("Set-Cookie", format!("a={SECRET}; Path=/")), Header::new("Content-Length", "7")];
    call.response(&Response { status: 200, headers, body: Some(Body::default()), ..Response::default() }).unwrap();
    for (at, bytes) in event.as_bytes().chunks(piece).enumerate() {
        call.response_chunk(100 + at as u64, bytes).unwrap();
    }
    call.open_websocket().unwrap();
    let last = SECRET.len().div_ceil(piece) - 1;
    for (at, bytes) in SECRET.as_bytes().chunks(piece).enumerate() {
        let opcode = if at == 0 { Opcode::TEXT } else { Opcode::CONTINUATION };
        let frame = WsFrame::new(200, Direction::Received, opcode, bytes);
        call.frame(&WsFrame { is_final: at == last, ..frame }).unwrap();
    }
    call.note(&Note::new("seen", SECRET)).unwrap();
    let error = NetworkError { kind: NetworkErrorKind::Other, message: format!("with {SECRET}").into() };
    call.end(ExchangeEnd {
        response_trailers: vec![Header::new("X-Trailer", SECRET)],
        outcome: Outcome::Aborted(error),
        ..ExchangeEnd::default()
    })
    .unwrap();
}

#[test]
fn no_secret_reaches_a_disk() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let options = RecorderOptions::default().meta(Note::new("made by", SECRET));
    let recorder = Recorder::open(&path, options).unwrap();
    for piece in 1..=SECRET.len() {
        record(&recorder, piece);
    }
    let whole = Exchange {
        request: Request { body: Some(Body::new(0, SECRET)), ..request("text/plain") },
        ..Exchange::default()
    };
    recorder.record(whole.clone()).unwrap();
    let long = Body::new(0, format!("{SECRET} {}", "long ".repeat(1 << 20)));
    recorder.record(Exchange { request: Request { body: Some(long), ..request("text/plain") }, ..whole }).unwrap();
    recorder.sync(journal::Durability::Os).unwrap();
    assert_eq!(shows(path.parent().unwrap(), "canary"), [] as [String; 0]);
    recorder.finish().unwrap();
    assert_eq!(shows(path.parent().unwrap(), "canary"), [] as [String; 0]);
    let cassette = Cassette::open(&path).unwrap();
    assert_eq!(cassette.len(), SECRET.len() + 2);
    for exchange in cassette.exchanges() {
        assert!(!format!("{exchange:?}").contains("canary"), "{exchange:#?}");
    }
    assert_eq!(cassette.meta().unwrap()[0].value, "REDACTED");
}

#[test]
fn a_stream_keeps_its_chunks_and_its_length_is_right() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    record(&recorder, 10);
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    let response = exchange.response.as_ref().unwrap();
    let body = response.body.as_ref().unwrap();
    assert_eq!(*body.bytes(), "data: {\"api_key\": \"REDACTED\", \"text\": \"hello REDACTED\"}\n\n");
    let chunks = event().len().div_ceil(10) as u64;
    assert!(body.chunks().iter().map(|chunk| chunk.at_us).eq(100..100 + chunks));
    for length in exchange.request.header_values("content-length").chain(response.header_values("content-length")) {
        assert_eq!(*length, body.bytes().len().to_string().as_str());
    }
}

#[test]
fn secrets_are_kept_if_that_is_asked_for() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default().keep_secrets()).unwrap();
    let asked = request("text/plain");
    recorder.begin(0, &asked).unwrap().end(ExchangeEnd::default()).unwrap();
    recorder.record(Exchange { request: asked.clone(), ..Exchange::default() }).unwrap();
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    assert!(cassette.exchanges().all(|exchange| exchange.unwrap().request == asked));
}

#[test]
fn what_waits_is_recorded_when_a_call_is_dropped() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    let call = recorder.begin(0, &request("text/plain")).unwrap();
    call.request_chunk(1, b"no line ends here").unwrap();
    drop(call);
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!((exchange.request.body_bytes(), &exchange.outcome), (&b"no line ends here"[..], &Outcome::Partial));
}

#[test]
fn compressed_bodies_are_as_they_were_unless_a_secret_is_in_them() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes it")
    };
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    let head = Response { headers: vec![Header::new("Content-Encoding", "gzip")], ..Response::default() };
    let texts = ["nothing to hide".to_owned(), format!("hidden {SECRET}"), "x".repeat(1 << 12)];
    for text in &texts {
        let call = recorder.begin(0, &request("text/plain")).unwrap();
        call.response(&head).unwrap();
        gzip(text).chunks(7).for_each(|chunk| call.response_chunk(3, chunk).unwrap());
        call.end(ExchangeEnd::default()).unwrap();
    }
    let call = recorder.begin(0, &request("text/plain")).unwrap();
    call.response(&head).unwrap();
    (0..9).for_each(|_| call.response_chunk(3, &[0; 1 << 20]).unwrap());
    call.end(ExchangeEnd::default()).unwrap();
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let response = |index| cassette.exchange(index).unwrap().response.unwrap();
    for index in [0, 2] {
        assert_eq!((response(index).body_bytes(), &response(index).headers), (&gzip(&texts[index])[..], &head.headers));
    }
    assert_eq!((response(1).body_bytes(), response(1).headers.len()), (&b"hidden REDACTED"[..], 0));
    assert_eq!(cassette.exchange(1).unwrap().notes, [Note::new("redacted.content-encoding", "gzip")]);
    assert_eq!((response(3).body_bytes().len(), cassette.exchange(3).unwrap().outcome), (0, Outcome::Truncated));
}

/// Records what happens to a compressed upload of this many chunks of a MiB.
fn record_upload(recorder: &Recorder, chunks: usize) {
    let compressed = Request {
        headers: vec![Header::new("Content-Encoding", "unheard-of")],
        body: Some(Body::default()),
        ..request("text/plain")
    };
    let call = recorder.begin(0, &compressed).unwrap();
    call.request_chunk(1, b"before ").unwrap();
    call.informational(&Informational { status: 100, ..Informational::default() }).unwrap();
    call.note(&Note::new("seen", SECRET)).unwrap();
    (0..chunks).for_each(|_| call.request_chunk(2, &[b'x'; 1 << 20]).unwrap());
    call.request_chunk(3, format!("and after {SECRET}").as_bytes()).unwrap();
    call.response(&Response { status: 200, ..Response::default() }).unwrap();
    call.end(ExchangeEnd::default()).unwrap();
}

#[test]
fn an_upload_goes_on_behind_100_continue() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    record_upload(&recorder, 0);
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!(exchange.request.body_bytes(), b"before and after REDACTED");
    assert_eq!((exchange.informational.len(), &exchange.outcome), (1, &Outcome::Complete));
    let notes = [Note::new("seen", "REDACTED"), Note::new("redacted.opaque", "request body")];
    assert_eq!(exchange.notes, notes);
}

#[test]
fn what_waits_is_counted_once() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    let gathered = |chunks: usize| Body::new(0, vec![b'x'; chunks << 20]);
    let headers = || vec![Header::new("Content-Encoding", "unheard-of")];
    let asked = Request { headers: headers(), body: Some(gathered(6)), ..request("text/plain") };
    let call = recorder.begin(0, &asked).unwrap();
    call.response(&Response { headers: headers(), body: Some(gathered(6)), ..Response::default() }).unwrap();
    call.end(ExchangeEnd::default()).unwrap();
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!((exchange.request.body_bytes().len(), &exchange.outcome), (6 << 20, &Outcome::Complete));
    assert_eq!(exchange.response.unwrap().body_bytes().len(), 6 << 20);
}

/// A server may answer before it has all of the request.
#[test]
fn a_compressed_upload_goes_on_after_an_early_answer() {
    use std::io::Write;
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(event().repeat(20).as_bytes()).unwrap();
    let upload = gzip.finish().unwrap();
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    for announced in [false, true] {
        let mut headers = vec![Header::new("Content-Encoding", "gzip")];
        headers.extend(announced.then(|| Header::new("Content-Length", upload.len().to_string())));
        let call = recorder.begin(7, &Request { headers, ..request("text/plain") }).unwrap();
        let (first, rest) = upload.split_at(upload.len() / 2);
        call.request_chunk(1, first).unwrap();
        call.response(&Response { at_us: 2, status: 202, ..Response::default() }).unwrap();
        call.response_chunk(3, b"croak").unwrap();
        call.request_chunk(4, rest).unwrap();
        call.end(ExchangeEnd::default()).unwrap();
    }
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    for exchange in cassette.exchanges().map(Result::unwrap) {
        assert_eq!((&exchange.outcome, exchange.started_ns), (&Outcome::Complete, 7));
        assert_eq!(exchange.response.as_ref().map(|response| response.body_bytes()), Some(&b"croak"[..]));
        let expected = event().repeat(20).replace(SECRET, "REDACTED");
        assert_eq!(String::from_utf8_lossy(exchange.request.body_bytes()), expected);
    }
    assert_eq!(shows(path.parent().unwrap(), SECRET), [] as [String; 0]);
}

#[test]
fn frames_without_payload_do_not_wait_for_ever() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    let asked = Request { headers: vec![Header::new("Content-Encoding", "gzip")], ..request("text/plain") };
    let call = recorder.begin(0, &asked).unwrap();
    call.open_websocket().unwrap();
    let count = 200_000;
    for at_us in 0..count {
        let frame = WsFrame::new(at_us, Direction::Received, Opcode::CONTINUATION, "");
        call.frame(&WsFrame { is_final: false, ..frame }).unwrap();
    }
    call.frame(&WsFrame { reserved: 4, ..WsFrame::new(count, Direction::Sent, Opcode::TEXT, vec![7]) }).unwrap();
    call.end(ExchangeEnd::default()).unwrap();
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!(exchange.frames.map(|frames| frames.len() as u64), Some(count + 1));
    assert_eq!(exchange.notes, [Note::new("redacted.opaque", "messages")]);
}
