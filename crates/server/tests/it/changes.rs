//! What the user changes in replayed answers.

use crate::fixture::{Mode, Trip, client};
use server::{Edits, Proxy};
use std::time::{Duration, Instant};

fn with(trip: &Trip, text: &str) -> Proxy {
    let path = trip.folder.path("edits.json");
    std::fs::write(&path, text).unwrap();
    Proxy::start(trip.options(Mode::None).edits(Edits::read(path).unwrap())).unwrap()
}

fn recorded() -> Trip {
    let mut trip = Trip::new();
    let proxy = trip.record();
    let mut client = client(&proxy);
    client.get("/json");
    client.get("/sse?n=3&gap=1");
    proxy.stop().unwrap();
    drop(trip.origin.take());
    trip
}

#[test]
fn faults_are_put_in_and_the_answer_stays_for_later() {
    let trip = recorded();
    let proxy = with(
        &trip,
        r#"{"faults": [
            {"path": "^/json", "times": 1, "status": 503, "headers": [["Retry-After", "1"]], "body": "overloaded"},
            {"path": "^/json", "times": 1, "reset": true},
            {"path": "^/json", "delay_ms": 150}
        ]}"#,
    );
    let mut first = client(&proxy);
    let answer = first.get("/json");
    assert_eq!(
        (answer.status, answer.text(), answer.header("retry-after").as_deref()),
        (503, "overloaded".into(), Some("1"))
    );
    assert_eq!(answer.header("x-metroon").as_deref(), Some("fault"));
    first.send(format!("GET http://{0}/json HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME));
    assert_eq!(first.try_answer("GET"), None);
    let begun = Instant::now();
    assert_eq!(client(&proxy).get("/json").status, 200);
    assert!(begun.elapsed() >= Duration::from_millis(150));
    let report = proxy.stop().unwrap();
    assert_eq!((report.faults, report.replayed, report.missed), (3, 1, 0));
}

#[test]
fn templates_change_answers() {
    let trip = recorded();
    let proxy = with(
        &trip,
        r#"{"templates": [
            {"path": "^/json", "find": "Sam", "replace": "Sam at {{unix}}"},
            {"path": "^/json", "find": "application/json", "replace": "application/frog"},
            {"path": "^/sse", "find_regex": "data: \\d", "replace": "data: frog"}
        ]}"#,
    );
    let mut client = client(&proxy);
    let answer = client.get("/json");
    assert!(answer.text().starts_with(r#"{"frog":"Sam at 1"#) && answer.is_whole, "{}", answer.text());
    assert_eq!(answer.header("content-type").as_deref(), Some("application/frog"));
    let stream = client.get("/sse?n=3&gap=1");
    assert_eq!(stream.chunks, [b"data: frog\n\n"; 3]);
}

#[test]
fn a_file_that_says_nothing_sensible_is_refused() {
    let trip = recorded();
    let path = trip.folder.path("edits.json");
    std::fs::write(&path, r#"{"faults": [{"path": "^/json", "statsu": 503}]}"#).unwrap();
    let error = Edits::read(&path).unwrap_err().to_string();
    assert!(error.contains("edits.json") && error.contains("statsu"), "{error}");
}
