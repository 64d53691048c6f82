//! Defects of an earlier system, a test each, where no other file has them.

use crate::exchanges::{Folder, of_the_report};
use crate::har::foreign;
use cassette::matching::{MatchRules, NoAnswer, Player, Repeats};
use cassette::redact::Redaction;
use cassette::{
    Body, Cassette, Content, Direction, Exchange, ExchangeEnd, Header, KeyScheme, NetworkError, NetworkErrorKind, Note,
    Opcode, Outcome, Recorder, RecorderOptions, Response, VcrStyle, WsFrame, write_cassette, write_cassette_on,
};
use journal::Durability;
use journal::simulated::SimulatedDisk;
use std::io::Write;
use std::path::Path;

fn open(path: &Path) -> Recorder {
    Recorder::open(path, RecorderOptions::default().keep_secrets()).unwrap()
}

fn all(path: &Path) -> Vec<Exchange<'static>> {
    let cassette = Cassette::open(path).unwrap();
    cassette.exchanges().map(|exchange| exchange.unwrap().into_owned()).collect()
}

/// Every number and every bracket was a system call of its own.
#[test]
fn buffered_io() {
    let operations = |count| {
        let disk = SimulatedDisk::new();
        let exchanges: Vec<_> = (0..count).map(of_the_report).collect();
        write_cassette_on(&disk, "a.cassette", &exchanges, &[], KeyScheme::target()).unwrap();
        disk.operations()
    };
    assert!(operations(500) <= operations(1) + 8, "{} {}", operations(500), operations(1));
}

/// What is compressed was decompressed to its end, whatever it came to.
#[test]
fn decompression_limit() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    (0..257).for_each(|_| gzip.write_all(&zeros).unwrap());
    let mut exchange = of_the_report(0);
    let response = exchange.response.as_mut().unwrap();
    response.headers = vec![Header::new("Content-Encoding", "gzip")];
    response.body = Some(Body::new(0, gzip.finish().unwrap()));
    assert_eq!(Redaction::usual().exchange(&mut exchange.clone()).opaque, ["response body"]);
    // HAR, which has bodies without compression, has it as it came.
    let content = Content { exchanges: vec![exchange], meta: Vec::new() };
    assert!(content.to_har().unwrap().0.len() < 4 << 20);
}

/// Bodies were there when they were whole.
#[test]
fn streaming_is_not_buffered() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = open(&path);
    let call = recorder.begin(0, &of_the_report(0).request).unwrap();
    call.response(&Response { status: 200, body: Some(Body::default()), ..Response::default() }).unwrap();
    for chunk in 1..=3_u64 {
        call.response_chunk(chunk * 1000, format!("data: {chunk}\n\n").as_bytes()).unwrap();
        recorder.sync(Durability::Os).unwrap();
        let found = all(&path);
        let body = found[0].response.as_ref().unwrap().body.as_ref().unwrap();
        assert_eq!(body.chunks().len() as u64, chunk);
        assert_eq!(body.chunks().last().unwrap().at_us, chunk * 1000);
    }
}

/// The time of a response was a field that was always empty.
#[test]
fn response_time_recorded() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = open(&path);
    let call = recorder.begin(7, &of_the_report(0).request).unwrap();
    call.response(&Response { at_us: 1200, status: 200, body: Some(Body::new(1500, "x")), ..Response::default() })
        .unwrap();
    call.end(ExchangeEnd { ended_us: Some(1700), ..ExchangeEnd::default() }).unwrap();
    recorder.finish().unwrap();
    let exchange = all(&path).remove(0);
    let response = exchange.response.as_ref().unwrap();
    let chunk = response.body.as_ref().unwrap().chunks()[0];
    assert_eq!((exchange.started_ns, response.at_us, chunk.at_us, exchange.ended_us), (7, 1200, 1500, Some(1700)));
    // HAR has these times too.
    let content = Content { exchanges: vec![Exchange { number: 0, ..exchange }], meta: Vec::new() };
    let (har, _) = content.to_har().unwrap();
    let back = Content::from_har(&har).unwrap().exchanges.remove(0);
    assert_eq!((back.response.unwrap().at_us, back.ended_us), (1200, Some(1700)));
}

#[test]
fn network_error_recorded_and_replayed() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = open(&path);
    let request = of_the_report(0).request;
    let error = NetworkError { kind: NetworkErrorKind::Timeout { after_ms: 30 }, message: "late".into() };
    let call = recorder.begin(0, &request).unwrap();
    call.end(ExchangeEnd { outcome: Outcome::Aborted(error.clone()), ..ExchangeEnd::default() }).unwrap();
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let player = Player::new(&cassette, MatchRules::default(), Repeats::Refused).unwrap();
    let Ok(found) = player.find(&request) else { panic!("an error is an answer") };
    let exchange = cassette.exchange(found.position).unwrap();
    assert_eq!((exchange.outcome, exchange.response), (Outcome::Aborted(error), None));
}

/// What was not recorded looked as if it was answered with 404.
#[test]
fn miss_is_not_a_recorded_404() {
    let mut recorded = of_the_report(0);
    recorded.response = Some(Response { status: 404, ..Response::default() });
    let cassette = [recorded];
    let player = Player::new(&cassette[..], MatchRules::default(), Repeats::Refused).unwrap();
    assert!(matches!(player.find(&of_the_report(1).request), Err(NoAnswer::Miss(_))));
    let Ok(found) = player.find(&of_the_report(0).request) else { panic!("a recorded 404 is an answer") };
    assert_eq!(cassette[found.position].response.as_ref().unwrap().status, 404);
}

/// Times of messages were times since 1970, and said to count from the beginning.
#[test]
fn ws_time_is_relative() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = open(&path);
    let call = recorder.begin(1_772_442_907_000_000_000, &of_the_report(0).request).unwrap();
    call.frame(&WsFrame::new(42, Direction::Sent, Opcode::TEXT, "a")).unwrap();
    call.end(ExchangeEnd::default()).unwrap();
    recorder.finish().unwrap();
    assert_eq!(all(&path)[0].frames.as_ref().unwrap()[0].at_us, 42);
    // In HAR they are times since 1970.
    let chrome = Content::from_har(&foreign("chrome.har")).unwrap();
    let times: Vec<_> = chrome.exchanges[4].frames.as_ref().unwrap().iter().map(|frame| frame.at_us).collect();
    assert_eq!(times, [500_000, 625_000]);
}

/// Messages were stored when the conversation ended in order.
#[test]
fn ws_abort_keeps_messages() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = open(&path);
    let calls = [0, 1].map(|_| recorder.begin(0, &of_the_report(0).request).unwrap());
    for call in &calls {
        call.frame(&WsFrame::new(1, Direction::Received, Opcode::TEXT, "a")).unwrap();
    }
    let [aborted, dropped] = calls;
    let error = NetworkError { kind: NetworkErrorKind::Reset, message: "reset".into() };
    aborted.end(ExchangeEnd { outcome: Outcome::Aborted(error), ..ExchangeEnd::default() }).unwrap();
    drop(dropped);
    recorder.finish().unwrap();
    let exchanges = all(&path);
    assert!(exchanges.iter().all(|exchange| exchange.frames.as_ref().unwrap().len() == 1));
    assert!(matches!((&exchanges[0].outcome, &exchanges[1].outcome), (Outcome::Aborted(_), Outcome::Partial)));
}

/// Adding to a cassette kept its interactions and nothing else.
#[test]
fn hybrid_keeps_cookies() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let cookies = Note::new("report.cookies", "[{\"name\":\"a\"}]");
    write_cassette(&path, &[of_the_report(0)], std::slice::from_ref(&cookies), KeyScheme::target()).unwrap();
    let recorder = open(&path);
    recorder.record(of_the_report(1)).unwrap();
    recorder.finish().unwrap();
    assert_eq!(Cassette::open(&path).unwrap().meta().unwrap(), [cookies]);
    assert_eq!(all(&path).len(), 2);
}

/// Cookies without a domain went to every host: here they stay where they were seen, lines of their own response.
#[test]
fn cookie_without_domain_is_host_only() {
    let content = Content::from_har(&foreign("firefox.har")).unwrap();
    let lines = |exchange: &Exchange<'_>| {
        let headers = &exchange.response.as_ref().unwrap().headers;
        headers
            .iter()
            .filter(|header| header.is("set-cookie"))
            .map(|header| header.value.to_text_lossy().into_owned())
            .collect()
    };
    let cookies: Vec<Vec<String>> = content.exchanges.iter().map(lines).collect();
    assert_eq!(cookies, [vec!["sid=abc; Path=/; HttpOnly".to_owned()], vec![]]);
    let (cassette, losses) = Content { meta: Vec::new(), ..content }.to_vcr_yaml(VcrStyle::Python).unwrap();
    assert!(losses.iter().all(|loss| !loss.what.contains("headers")), "{losses:?}");
    assert_eq!(String::from_utf8(cassette).unwrap().matches("sid=abc").count(), 2);
}
