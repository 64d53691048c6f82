//! Messages through the proxy: what a client gets while it is recorded, it gets again with no server.

use crate::fixture::{Rude, Trip, client};
use cassette::{Cassette, HttpVersion};
use origin::NAME;

#[test]
fn what_was_recorded_is_replayed_with_no_server() {
    let mut trip = Trip::new();
    let (recorded, replayed, report) = trip.twice(|proxy| {
        let mut client = client(proxy);
        let json = client.get("/json");
        let echo = client.ask("POST", "/echo?a=b", "Content-Type: text/plain\r\n", b"croak");
        (json, echo)
    });
    assert_eq!(recorded.0.text(), r#"{"frog":"Sam","green":true}"#);
    assert_eq!(recorded.1.json()["body"], "croak");
    assert_eq!(recorded, replayed);
    assert_eq!((report.replayed, report.missed, report.unused), (2, 0, 0));
}

#[test]
fn tls_is_verified_both_ways_and_recorded() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let mut client = client(proxy).secure(proxy, NAME);
        [client.ask_inside("GET", "/json", "", b""), client.ask_inside("POST", "/echo", "", b"over TLS")]
    });
    assert_eq!(recorded[1].json()["bytes"], 8);
    assert_eq!(recorded, replayed);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let request = cassette.request(0).unwrap();
    assert_eq!((request.line(), request.version), (format!("GET https://{NAME}/json"), HttpVersion::Http11));
}

#[test]
fn a_server_that_nobody_vouches_for_is_not_talked_to() {
    let trip = Trip::new();
    std::fs::write(trip.folder.path("origin.pem"), std::fs::read(own_ca(&trip)).unwrap()).unwrap();
    let proxy = trip.record();
    let answer = client(&proxy).secure(&proxy, NAME).ask_inside("GET", "/json", "", b"");
    assert_eq!((answer.status, answer.header("x-metroon").as_deref()), (502, Some("tls")), "{}", answer.text());
    let report = proxy.stop().unwrap();
    assert_eq!(report.failures.values().sum::<u64>(), 1);
    let next = "--upstream-ca FILE trusts the certificates in a file, if they are yours";
    assert!(answer.text().contains(next) && report.warnings[0].ends_with(next), "{:?}", report.warnings);
    assert!(trip.origin.as_ref().unwrap().requests().is_empty());
}

fn own_ca(trip: &Trip) -> std::path::PathBuf {
    server::Authority::open(trip.folder.path("data")).unwrap().certificate().to_owned()
}

#[test]
fn http_within_a_tunnel_needs_no_tls() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let mut client = client(proxy);
        client.connect(NAME, 80);
        client.ask_inside("GET", "/json", "", b"")
    });
    assert_eq!((recorded.status, &recorded), (200, &replayed));
}

#[test]
fn duplicate_headers_survive() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| client(proxy).get("/twice"));
    assert_eq!(recorded.headers("x-twice"), [b"one", b"two"]);
    assert_eq!(recorded.headers("set-cookie"), [b"a=1", b"b=2"]);
    assert_eq!(replayed.headers("x-twice"), [b"one", b"two"]);
    // The values of cookies are secrets.
    assert_eq!(replayed.headers("set-cookie"), [b"a=REDACTED", b"b=REDACTED"]);
}

#[test]
fn non_utf8_header_survives() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| client(proxy).get("/twice"));
    assert_eq!(recorded.headers("x-latin"), [b"caf\xe9"]);
    assert_eq!(replayed.headers("x-latin"), [b"caf\xe9"]);
}

/// Records and replays a request to a server that says exactly this.
fn said(answer: &'static [u8], method: &str) -> (Vec<u8>, Vec<u8>, Cassette) {
    Trip::twice_at(Rude::start(answer).address, |proxy| {
        let mut client = client(proxy);
        client.send(format!("{method} http://rude.test/ HTTP/1.1\r\nHost: rude.test\r\nConnection: close\r\n\r\n"));
        client.rest()
    })
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace("\\r\\n", "\n")
}

#[test]
fn the_case_and_order_of_headers_and_the_reason_survive() {
    let answer = b"HTTP/1.1 200 All is Well\r\nx-B: 2\r\nX-a: 1\r\nX-b: 3\r\ncontent-LENGTH: 2\r\n\r\nok";
    let (recorded, replayed, cassette) = said(answer, "GET");
    let expected = "HTTP/1.1 200 All is Well\nx-B: 2\nX-a: 1\nX-b: 3\ncontent-LENGTH: 2\nConnection: close\n\nok";
    assert_eq!((text(&recorded).as_str(), text(&replayed).as_str()), (expected, expected));
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!(exchange.request.headers[0].name, "Host");
    assert_eq!(exchange.response.unwrap().reason, "All is Well");
}

#[test]
fn empty_body_is_not_absent() {
    for (method, answer, body) in [
        ("GET", &b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"[..], Some(0)),
        ("GET", b"HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", None),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 17\r\n\r\n", None),
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n", None),
        ("GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Some(0)),
    ] {
        let (recorded, replayed, cassette) = said(answer, method);
        assert_eq!(text(&recorded), text(&replayed), "{}", text(answer));
        assert_eq!(
            recorded.windows(2).filter(|two| two == b"17").count(),
            usize::from(answer.windows(2).any(|two| two == b"17"))
        );
        let exchange = cassette.exchange(0).unwrap();
        let found = exchange.response.unwrap().body.map(|body| body.bytes().len());
        assert_eq!(found, body, "{method} {}", text(answer));
    }
}

#[test]
fn responses_before_the_response_and_trailers_survive() {
    let answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n1\r\na\r\n2;ext\r\nbc\r\n0\r\nX-Sum: 3\r\n\r\n";
    let (recorded, replayed, cassette) = said(answer, "GET");
    let expected = "HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nTrailer: X-Sum\nTransfer-Encoding: chunked\nConnection: close\n\n1\na\n2\nbc\n0\nX-Sum: 3\n\n";
    assert_eq!((text(&recorded).as_str(), text(&replayed).as_str()), (expected, expected));
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!(exchange.informational[0].status, 103);
    let response = exchange.response.unwrap();
    assert_eq!(response.body.unwrap().chunks().len(), 2);
    assert_eq!(response.trailers[0].name, "X-Sum");
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole() {
    let (recorded, replayed, _) = said(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", "GET");
    let expected = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nConnection: close\n\na\nto the end\n0\n\n";
    assert_eq!((text(&recorded).as_str(), text(&replayed).as_str()), (expected, expected));
}

#[test]
fn compressed_bodies_stay_as_they_were_sent() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) =
        trip.twice(|proxy| ["gzip", "br", "zstd"].map(|encoding| client(proxy).get(&format!("/encoded/{encoding}"))));
    assert!(recorded.iter().all(|answer| answer.status == 200 && !answer.body.is_empty()));
    assert_eq!(recorded, replayed);
}
