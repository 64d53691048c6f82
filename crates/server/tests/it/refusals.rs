//! What is not taken: requests that two readers would understand differently, too much of anything, and loops.

use crate::fixture::{Mode, Trip, client, client_of, until};
use server::{Limits, Proxy};
use std::io::Write;
use std::time::Duration;

#[test]
fn smuggled_requests_are_refused() {
    let trip = Trip::new();
    let proxy = trip.record();
    let name = origin::NAME;
    let post = format!("POST http://{name}/upload HTTP/1.1\r\nHost: {name}\r\n");
    for wrong in [
        format!("{post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        format!("{post}Content-Length: 5\r\nContent-Length: 6\r\n\r\ncroak!"),
        format!("{post}Content-Length: 5, 6\r\n\r\ncroak!"),
        format!("{post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        format!("{post}X-A: b\r\n Content-Length: 5\r\n\r\n"),
        format!("{post}Content-Length : 5\r\n\r\ncroak"),
        format!("{post}X-A: b\rContent-Length: 5\r\n\r\n"),
        format!("{post}X-A: b\nContent-Length: 5\r\n\r\n"),
        format!("GET http://{name}/json HTTP/1.1\r\nHost: other.test\r\n\r\n"),
        format!("GET http://{name}/json HTTP/1.1\r\nHost: {name}:81\r\n\r\n"),
        format!("GET http://{name}/json HTTP/1.1\r\nHost: {name}\r\nHost: {name}\r\n\r\n"),
        format!("GET http://{name}/json HTTP/1.1\r\n\r\n"),
        format!("GET http://me:secret@{name}/json HTTP/1.1\r\nHost: {name}\r\n\r\n"),
        format!("CONNECT {name}:443 HTTP/1.1\r\nHost: {name}:443\r\nContent-Length: 3\r\n\r\nabc"),
    ] {
        let mut client = client(&proxy);
        client.send(&wrong);
        let answer = client.answer("POST");
        assert!(matches!(answer.status, 400 | 501), "{} for {wrong}", answer.status);
        assert_eq!(answer.header("x-metroon").as_deref(), Some("refused"), "{wrong}");
        assert!(client.rest().is_empty(), "the connection ends: {wrong}");
    }
    assert_eq!(trip.origin.as_ref().unwrap().requests(), Vec::<String>::new());
    assert_eq!(proxy.stop().unwrap().refused, 16);
}

#[test]
fn a_chunk_that_lies_about_its_size_is_the_last() {
    let trip = Trip::new();
    let proxy = trip.record();
    for body in ["5\r\nabc\r\n0\r\n\r\n", "zz\r\n", "-1\r\n", "3\nabc\n0\n\n"] {
        let mut client = client(&proxy);
        // All at once: the proxy may end the connection as soon as it has seen the body.
        let next =
            if body.starts_with('5') { "GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n" } else { "" };
        client.send(format!(
            "POST http://{0}/upload HTTP/1.1\r\nHost: {0}\r\nTransfer-Encoding: chunked\r\n\r\n{body}{next}",
            origin::NAME
        ));
        assert_eq!(client.try_answer("POST"), None, "{body:?}");
    }
    assert_eq!(proxy.stop().unwrap().abandoned, 4);
}

fn limited(limits: impl FnOnce(&mut Limits)) -> (Trip, Proxy) {
    let trip = Trip::new();
    let mut some = Limits::default();
    limits(&mut some);
    let proxy = Proxy::start(trip.options(Mode::All).limits(some)).unwrap();
    (trip, proxy)
}

#[test]
fn a_head_has_a_limit() {
    let (_trip, proxy) = limited(|limits| limits.head_bytes = 2000);
    let answer = client(&proxy).ask("GET", "/json", &format!("X: {}\r\n", "y".repeat(3000)), b"");
    assert_eq!(answer.status, 431);
    let many = "X: y\r\n".repeat(1100);
    let (_trip, proxy) = limited(|_| {});
    assert_eq!(client(&proxy).ask("GET", "/json", &many, b"").status, 431);
    assert_eq!(client(&proxy).ask("GET", "/json", &"X: y\r\n".repeat(60), b"").status, 200);
}

#[test]
fn a_body_has_a_limit_if_there_is_to_be_one() {
    let (_trip, proxy) = limited(|limits| limits.body_bytes = Some(100));
    assert_eq!(client(&proxy).ask("POST", "/upload", "", &[b'x'; 100]).status, 200);
    let refused = client(&proxy).ask("POST", "/upload", "", &[b'x'; 101]);
    assert_eq!((refused.status, refused.header("x-metroon").as_deref()), (502, Some("refused")));
    assert_eq!(client(&proxy).get("/bytes/200").header("x-metroon").as_deref(), Some("refused"));
}

#[test]
fn a_body_that_is_looked_up_has_a_limit() {
    let (mut trip, proxy) = limited(|_| {});
    client(&proxy).get("/json");
    proxy.stop().unwrap();
    drop(trip.origin.take());
    let mut limits = Limits::default();
    limits.matched_body_bytes = 10;
    let proxy = Proxy::start(trip.options(Mode::None).limits(limits)).unwrap();
    let refused = client(&proxy).ask("POST", "/upload", "", b"01234567890");
    assert!(refused.status == 413 && refused.text().contains("--ignore-body"), "{}", refused.text());
    let report = proxy.stop().unwrap();
    assert!(report.too_long == 1 && report.differs(), "{report:?}");
}

#[test]
fn connections_have_a_limit() {
    let (_trip, proxy) = limited(|limits| limits.connections = 2);
    let (mut one, mut other) = (client(&proxy), client(&proxy));
    assert_eq!((one.get("/json").status, other.get("/json").status), (200, 200));
    let mut third = client(&proxy);
    let answer = third.answer("GET");
    assert_eq!((answer.status, answer.header("x-metroon").as_deref()), (503, Some("refused")));
    drop(one);
    until("there is room again", || client(&proxy).get("/json").status == 200);
}

#[test]
fn a_head_that_trickles_is_not_waited_for() {
    let (_trip, proxy) = limited(|limits| limits.head_time = Duration::from_millis(200));
    let mut client = client(&proxy);
    for byte in b"GET http" {
        let _ = client.stream.write_all(&[*byte]);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(client.answer("GET").status, 408);
}

#[test]
fn connections_that_nobody_uses_end() {
    let (_trip, proxy) = limited(|limits| limits.idle = Duration::from_millis(100));
    let mut client = client(&proxy);
    assert_eq!(client.get("/json").status, 200);
    assert!(client.rest().is_empty());
}

#[test]
fn the_proxy_is_not_its_own_server() {
    let trip = Trip::new();
    let proxy = trip.record();
    let port = proxy.address().port();
    let mut client = client_of(proxy.address());
    client.send(format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"));
    let answer = client.answer("GET");
    assert_eq!((answer.status, answer.json()["status"].as_str()), (200, Some("ok")));
    client.send(format!("GET http://localhost:{port}/health HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"));
    assert_eq!(client.answer("GET").json()["mode"], "all");
    client.send(format!("GET /other HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"));
    let answer = client.answer("GET");
    assert_eq!(answer.status, 404);
    assert!(answer.text().contains("this is a proxy"));
    assert_eq!(proxy.stop().unwrap().requests, 0);
}

#[test]
fn a_tunnel_for_something_else_is_closed_and_said() {
    let trip = Trip::new();
    let proxy = trip.record();
    let mut client = client(&proxy);
    client.connect(origin::NAME, 22);
    client.send(b"\x00\x01\x02");
    assert!(client.rest().is_empty());
    let report = proxy.stop().unwrap();
    assert!(report.refused == 1 && report.warnings[0].contains("--pass host=api.metroon.test"), "{report:?}");
}
