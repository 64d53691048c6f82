//! What is not recorded is counted, and nothing of it reaches a disk.

use crate::exchanges::{Folder, of_the_report};
use cassette::{
    Cassette, Exchange, ExchangeEnd, Filter, Header, LeaveOutRule, Outcome, Recorder, RecorderOptions, Request,
    Response,
};
use journal::Durability;
use std::collections::BTreeMap;
use std::path::Path;

/// Without preflights, pictures, and what is not there.
fn options() -> RecorderOptions {
    let filter = Filter::default()
        .leave_out(LeaveOutRule { methods: vec!["OPTIONS".into()], ..LeaveOutRule::for_reason("preflight") })
        .leave_out(LeaveOutRule { content_types: vec!["image/*".into()], ..LeaveOutRule::for_reason("pictures") })
        .leave_out(LeaveOutRule { status: Some(404..=404), ..LeaveOutRule::for_reason("not there") });
    RecorderOptions::default().filter(filter)
}

fn request(method: &'static str, target: &'static str) -> Request<'static> {
    let host = "pond.example".into();
    Request {
        method: method.into(),
        scheme: "https".into(),
        host,
        port: 443,
        target: target.into(),
        ..Request::default()
    }
}

fn response(status: u16, content_type: &'static str) -> Response<'static> {
    Response { status, headers: vec![Header::new("Content-Type", content_type)], ..Response::default() }
}

fn counts<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.map(|(reason, count)| (reason.to_owned(), count)).into()
}

/// Every way to record one of each kind; the targets that are kept.
fn record(recorder: &Recorder) -> [&'static str; 3] {
    let whole = |method, target, answer| Exchange {
        request: request(method, target),
        response: Some(answer),
        ..Exchange::default()
    };
    recorder.record(whole("OPTIONS", "/a", response(204, "text/plain"))).unwrap();
    recorder.record(whole("GET", "/kept whole", response(200, "text/html"))).unwrap();
    recorder.try_record(whole("GET", "/b", response(200, "image/png"))).unwrap();
    let started = Exchange { number: recorder.start(), ..whole("GET", "/c", response(404, "text/html")) };
    recorder.record_started(started).unwrap();
    let preflight = recorder.begin(0, &request("OPTIONS", "/d")).unwrap();
    let kept = recorder.begin(0, &request("GET", "/kept call")).unwrap();
    let picture = recorder.begin(0, &request("GET", "/e")).unwrap();
    let vanished = recorder.begin(0, &request("GET", "/kept unanswered")).unwrap();
    for (call, answer) in [
        (preflight, Some(response(204, "text/plain"))),
        (kept, Some(response(200, "text/html"))),
        (picture, Some(response(200, "image/webp"))),
        (vanished, None),
    ] {
        call.request_chunk(1, b"asked").unwrap();
        answer.iter().for_each(|answer| call.response(answer).unwrap());
        call.response_chunk(2, b"answered").unwrap();
        call.end(ExchangeEnd::default()).unwrap();
    }
    ["/kept whole", "/kept call", "/kept unanswered"]
}

fn targets(path: &Path) -> Vec<String> {
    let cassette = Cassette::open(path).unwrap();
    cassette.exchanges().map(|exchange| exchange.unwrap().request.target.to_text_lossy().into_owned()).collect()
}

#[test]
fn filtered_is_counted() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, options()).unwrap();
    let kept = record(&recorder);
    recorder.sync(Durability::Os).unwrap();
    // A crash here would keep the counts as well.
    let expected = counts([("not there", 1), ("pictures", 2), ("preflight", 2)]);
    assert_eq!(Cassette::open(&path).unwrap().left_out().unwrap(), expected);
    recorder.finish().unwrap();
    assert_eq!(Cassette::open(&path).unwrap().left_out().unwrap(), expected);
    assert_eq!(targets(&path), kept);
    let content = std::fs::read(&path).unwrap();
    assert!(!content.windows(5).any(|some| some == b"image"));
}

#[test]
fn counts_go_on_where_a_cassette_or_a_recording_ends() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    for (round, stops) in [(1, false), (2, true), (3, true), (4, false)] {
        let recorder = Recorder::open(&path, options()).unwrap();
        record(&recorder);
        if stops {
            recorder.stop().unwrap()
        } else {
            recorder.finish().unwrap()
        }
        let expected = counts([("not there", round), ("pictures", 2 * round), ("preflight", 2 * round)]);
        assert_eq!(Cassette::open(&path).unwrap().left_out().unwrap(), expected);
    }
}

/// A request that goes on for long is kept, since it cannot be held in memory; and one that never ends is.
#[test]
fn what_cannot_be_decided_is_kept() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, options().keep_secrets()).unwrap();
    let long = recorder.begin(0, &request("PUT", "/long")).unwrap();
    (0..10).for_each(|_| long.request_chunk(0, &[b'x'; 1 << 20]).unwrap());
    long.response(&response(404, "text/html")).unwrap();
    long.end(ExchangeEnd::default()).unwrap();
    drop(recorder.begin(0, &request("GET", "/dropped")).unwrap());
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    assert_eq!(targets(&path), ["/long", "/dropped"]);
    assert_eq!(cassette.exchange(0).unwrap().request.body_bytes().len(), 10 << 20);
    assert_eq!(cassette.exchange(1).unwrap().outcome, Outcome::Partial);
    assert!(cassette.left_out().unwrap().is_empty());
}

/// Without a filter everything is as it was.
#[test]
fn nothing_is_left_out_by_itself() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let recorder = Recorder::open(&path, RecorderOptions::default()).unwrap();
    recorder.record(of_the_report(0)).unwrap();
    recorder.finish().unwrap();
    assert!(Cassette::open(&path).unwrap().left_out().unwrap().is_empty());
}
