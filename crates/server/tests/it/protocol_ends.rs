//! Streams that a client leaves at the end of their protocol, and telemetry: what a program does not wait for, or needs no answer to.

use crate::fixture::{Answer, Client, Mode, Rude, Trip, client, until};
use cassette::{Body, Cassette, Header, NetworkError, NetworkErrorKind, Outcome, SealOptions, write_cassette};
use server::{Proxy, Resolve};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a server does after the last event.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    /// It ends the body at once.
    Ends,
    /// It says something that no client waits for, and ends the body.
    SaysMore,
    /// It leaves the connection open.
    Stays,
    /// It ends the connection in the middle.
    Breaks,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A server of a stream of events, the last of which ends its protocol.
fn server(last: &'static str, after: After) -> Rude {
    Rude::with(move |stream| {
        let mut client = Client { stream, buffer: Vec::new() };
        while client.head().is_some() {
            client.send([HEAD.to_owned(), chunk("data: {\"delta\":\"a\"}\n\n"), chunk(last)].concat());
            // A client that knows the protocol is gone by then, and the server need not care.
            std::thread::sleep(Duration::from_millis(30));
            let rest = match after {
                After::Ends => "0\r\n\r\n".to_owned(),
                After::SaysMore => [chunk(": bye\n\n"), "0\r\n\r\n".to_owned()].concat(),
                After::Stays => {
                    std::thread::sleep(Duration::from_secs(3));
                    return;
                }
                After::Breaks => return,
            };
            if client.stream.write_all(rest.as_bytes()).is_err() {
                return;
            }
        }
    })
}

fn ask(client: &mut Client<TcpStream>) {
    client.send("GET http://rude.test/ HTTP/1.1\r\nHost: rude.test\r\n\r\n");
}

/// Records a stream that is left as soon as the last event is there, and gives the cassette's folder with it.
fn record(last: &'static str, after: After) -> Trip {
    let server = server(last, after);
    let trip = Trip::new();
    let to = Resolve { host: "rude.test".to_owned(), port: None, to: server.address };
    let proxy = Proxy::start(trip.options(Mode::All).resolve(to)).unwrap();
    let mut client = client(&proxy);
    ask(&mut client);
    client.head().unwrap();
    assert_eq!(client.chunk().unwrap(), b"data: {\"delta\":\"a\"}\n\n");
    assert_eq!(client.chunk().unwrap(), last.as_bytes());
    drop(client);
    let begun = Instant::now();
    let report = proxy.stop().unwrap();
    assert_eq!((report.recorded, report.abandoned), (1, 0), "{last:?} {after:?}");
    assert!(begun.elapsed() < Duration::from_millis(2500), "it waits for a moment only: {:?}", begun.elapsed());
    trip
}

/// What another client gets, which waits for the end of the body.
fn replayed(trip: &mut Trip) -> Answer {
    let proxy = trip.replay();
    let mut client = client(&proxy);
    ask(&mut client);
    let answer = client.answer("GET");
    proxy.stop().unwrap();
    answer
}

#[test]
fn end_after_done_is_complete() {
    let ends = [
        "data: [DONE]\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        "event: response.completed\ndata: {\"type\":\"response.completed\"}\n\n",
        "data: {\"type\":\"response.failed\"}\n\n",
        "data: {\"type\":\"response.incomplete\"}\n\n",
    ];
    // Most of the time is spent waiting for an end.
    std::thread::scope(|scope| {
        for last in ends {
            scope.spawn(move || {
                [After::Ends, After::SaysMore, After::Stays, After::Breaks].map(|after| end_is_complete(last, after))
            });
        }
    });
}

fn end_is_complete(last: &'static str, after: After) {
    let mut trip = record(last, after);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert_eq!(cassette.exchange(0).unwrap().outcome, Outcome::Complete, "{last:?} {after:?}");
    let answer = replayed(&mut trip);
    assert!(answer.is_whole, "{last:?} {after:?}");
    let rest = if after == After::SaysMore { ": bye\n\n" } else { "" };
    assert_eq!(answer.text(), format!("data: {{\"delta\":\"a\"}}\n\n{last}{rest}"), "{after:?}");
}

/// A cassette of before says of such a stream that its client went, or that the server ended the connection.
#[test]
fn a_stream_that_is_said_to_have_broken_off_after_its_end_is_whole() {
    for last in ["data: [DONE]\n\n", "data: {\"text\":\"data: [DONE]\"}\n\n"] {
        let mut trip = record("data: [DONE]\n\n", After::Ends);
        let cassette = Cassette::open(trip.cassette()).unwrap();
        let recorded = cassette.exchange(0).unwrap().into_owned();
        drop(cassette);
        let headers = |more: Option<&'static str>| {
            let kind = Header::new("Content-Type", "text/event-stream");
            [kind].into_iter().chain(more.map(|length| Header::new("Content-Length", length))).collect::<Vec<_>>()
        };
        let error = |kind| Outcome::Aborted(NetworkError { kind, message: "gone".into() });
        for outcome in [error(NetworkErrorKind::Other), error(NetworkErrorKind::Reset), Outcome::Partial] {
            for promised in [None, Some("1000")] {
                let mut exchange = recorded.clone();
                exchange.outcome = outcome.clone();
                let response = exchange.response.as_mut().unwrap();
                response.headers = headers(promised);
                response.body = Some(Body::new(1, format!("data: {{\"delta\":\"a\"}}\n\n{last}")));
                write_cassette(trip.cassette(), &[exchange], &[], SealOptions::default()).unwrap();
                let answer = replayed(&mut trip);
                assert!(answer.text().ends_with(last));
                // Bytes are missing that the head promised, or the end of the protocol.
                let is_whole = promised.is_none() && last == "data: [DONE]\n\n";
                assert_eq!(answer.is_whole, is_whole, "{last:?} {outcome:?} {promised:?}");
            }
        }
    }
}

#[test]
fn a_stream_that_is_left_before_its_end_is_not_complete() {
    let server = server("data: {\"text\":\"data: [DONE]\"}\n\n", After::Stays);
    let trip = Trip::new();
    let to = Resolve { host: "rude.test".to_owned(), port: None, to: server.address };
    let proxy = Proxy::start(trip.options(Mode::All).resolve(to)).unwrap();
    let mut client = client(&proxy);
    ask(&mut client);
    client.head().unwrap();
    client.chunk().unwrap();
    client.chunk().unwrap();
    drop(client);
    until("it is noticed", || proxy.report().abandoned == 1);
    proxy.stop().unwrap();
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert!(matches!(cassette.exchange(0).unwrap().outcome, Outcome::Aborted(_)));
}

/// Asks the proxy for a URL as a program does that sends telemetry there.
fn post(proxy: &Proxy, host: &str, path: &str, kind: &str) -> Answer {
    let mut client = client(proxy);
    let head = format!("POST http://{host}{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\n");
    client.send(format!("{head}Content-Length: 2\r\n\r\n{{}}"));
    client.answer("POST")
}

#[test]
fn telemetry_that_is_not_on_the_cassette_is_taken_and_counted() {
    let mut trip = Trip::with_json();
    let proxy = trip.replay();
    for (host, path, kind, status, body) in [
        ("collector.test:4318", "/v1/traces", "application/x-protobuf", 200, ""),
        ("collector.test:4318", "/v1/metrics", "application/json; charset=utf-8", 200, "{}"),
        ("logfire.test", "/prefix/v1/logs", "application/json", 200, "{}"),
        ("cloud.langfuse.com", "/api/public/ingestion", "application/json", 207, r#"{"successes":[],"errors":[]}"#),
        ("langfuse.test", "/api/public/otel/v1/traces", "application/x-protobuf", 200, ""),
        ("us.i.posthog.com", "/batch/", "application/json", 200, r#"{"status":"Ok"}"#),
        ("hog.test", "/i/v0/e/?ip=1", "application/json", 200, r#"{"status":"Ok"}"#),
    ] {
        let answer = post(&proxy, host, path, kind);
        assert_eq!((answer.status, answer.text().as_str()), (status, body), "{host}{path}");
        assert_eq!(answer.header("content-type").as_deref(), kind.split(';').next(), "{host}{path}");
        assert_eq!(answer.header("x-metroon").as_deref(), Some("telemetry"));
    }
    let report = proxy.report();
    assert_eq!((report.missed, report.differs()), (0, false));
    let counts: Vec<_> = report.telemetry.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(counts, [("Langfuse", 1), ("OpenTelemetry", 4), ("PostHog", 2)]);
    // What asks for something, or only looks like one of these, is a miss.
    for (host, path, kind) in [
        ("notposthog.com", "/batch/", "application/json"),
        ("us.i.posthog.com", "/flags/?v=2", "application/json"),
        ("shop.test", "/v1/logs", "text/plain"),
        ("shop.test", "/v1/traces/7", "application/json"),
    ] {
        assert_eq!(post(&proxy, host, path, kind).status, 599, "{host}{path}");
    }
    assert_eq!(client(&proxy).get("/v1/traces").status, 599);
    assert_eq!(proxy.stop().unwrap().missed, 5);
}

#[test]
fn telemetry_that_is_on_the_cassette_is_answered_from_there() {
    let rude = Rude::start(b"HTTP/1.1 202 Accepted\r\nContent-Length: 4\r\n\r\ntook");
    let (recorded, replayed, _) =
        Trip::twice_at(rude.address, |proxy| post(proxy, "rude.test", "/v1/traces", "application/json"));
    assert_eq!((recorded.status, recorded.text().as_str()), (202, "took"));
    assert_eq!(recorded, replayed);
}

#[test]
fn equal_misses_are_one_with_a_count() {
    let mut trip = Trip::with_json();
    let proxy = trip.replay();
    for target in ["/a", "/b", "/a", "/a"] {
        assert_eq!(client(&proxy).get(target).status, 599);
    }
    let report = proxy.stop().unwrap();
    let times: Vec<u64> = report.misses.iter().map(|(_, times)| *times).collect();
    assert_eq!((report.missed, times), (4, vec![3, 1]));
}
