//! Clients, servers and disks that fail in the middle of something; starting and stopping.

use crate::fixture::{Mode, Rude, Trip, client};
use cassette::{Outcome, Tape};
use server::{Proxy, ProxyError, ProxyOptions, Resolve, Traffic};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Waits until something is so.
fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(15), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ready_means_listening() {
    let trip = Trip::new();
    for mode in [Mode::Once, Mode::New, Mode::All] {
        let proxy = Proxy::start(trip.options(mode)).unwrap();
        TcpStream::connect(proxy.address()).unwrap();
        proxy.stop().unwrap();
    }
    let proxy = trip.record();
    let taken = Proxy::start(trip.options(Mode::New).listen(proxy.address()));
    assert!(matches!(taken, Err(ProxyError::Listen { address, .. }) if address == proxy.address()));
}

#[test]
fn auto_reports_errors() {
    let trip = Trip::new();
    std::fs::write(trip.tape(), "no tape at all").unwrap();
    for mode in [Mode::Once, Mode::New, Mode::None] {
        assert!(matches!(Proxy::start(trip.options(mode)), Err(ProxyError::Unreadable(_))));
    }
}

#[test]
fn port_zero_is_reported() {
    let trip = Trip::new();
    let proxy = trip.record();
    assert_ne!(proxy.address().port(), 0);
    assert_eq!(client(&proxy).get("/json").status, 200);
}

#[test]
fn stop_releases_port_and_threads() {
    let threads = || {
        std::fs::read_dir("/proc/self/task")
            .unwrap()
            .filter(|task| {
                let name = task.as_ref().unwrap().path().join("comm");
                std::fs::read_to_string(name).is_ok_and(|name| name.starts_with("stop-me"))
            })
            .count()
    };
    let trip = Trip::new();
    let builder = std::thread::Builder::new().name("stop-me".to_owned());
    let address = builder.spawn(move || {
        let mut address = None;
        for _ in 0..5 {
            let proxy = trip.record();
            let mut client = client(&proxy);
            assert_eq!(client.get("/json").status, 200);
            address = Some(proxy.address());
            proxy.stop().unwrap();
            assert!(client.rest().is_empty());
        }
        address
    });
    let address = address.unwrap().join().unwrap().unwrap();
    until("threads end", || threads() == 0);
    std::net::TcpListener::bind(address).unwrap();
}

#[test]
fn what_is_under_way_may_end_when_the_proxy_stops() {
    let trip = Trip::new();
    let proxy = trip.record();
    let address = proxy.address();
    let asking = std::thread::spawn(move || crate::fixture::client_of(address).get("/slow?ms=400"));
    until("the request is at the origin", || !trip.origin.as_ref().unwrap().requests().is_empty());
    let report = proxy.stop().unwrap();
    assert_eq!(asking.join().unwrap().text(), "at last");
    assert_eq!(report.recorded, 1);
    assert_eq!(Tape::open(trip.tape()).unwrap().exchange(0).unwrap().outcome, Outcome::Complete);
}

#[test]
fn what_does_not_end_is_cut_off_when_the_proxy_stops() {
    let trip = Trip::new();
    let mut limits = server::Limits::default();
    limits.drain = Duration::from_millis(200);
    let proxy = Proxy::start(trip.options(Mode::All).limits(limits)).unwrap();
    let mut hanging = client(&proxy);
    hanging.send(format!("GET http://{0}/hang HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME));
    until("the request is at the origin", || !trip.origin.as_ref().unwrap().requests().is_empty());
    let begun = Instant::now();
    let report = proxy.stop().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(5) && report.warnings[0].contains("cut off"), "{report:?}");
    assert_eq!(Tape::open(trip.tape()).unwrap().exchange(0).unwrap().outcome, Outcome::Partial);
}

#[test]
fn a_client_that_vanishes_is_noticed() {
    let trip = Trip::new();
    let proxy = trip.record();
    let mut gone = client(&proxy);
    gone.send(format!("GET http://{0}/hang HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME));
    until("the request is at the origin", || !trip.origin.as_ref().unwrap().requests().is_empty());
    drop(gone);
    until("it is noticed", || proxy.report().abandoned == 1);
    proxy.stop().unwrap();
    let tape = Tape::open(trip.tape()).unwrap();
    assert!(matches!(tape.exchange(0).unwrap().outcome, Outcome::Aborted(_)));
}

#[test]
fn the_server_learns_that_a_client_vanished() {
    let (told, is_told) = std::sync::mpsc::channel();
    let server = Rude::with(move |mut stream| {
        let mut bytes = [0; 1000];
        let _ = stream.read(&mut bytes);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
        let ended = matches!(stream.read(&mut bytes), Ok(0) | Err(_));
        let _ = told.send(ended);
    });
    let trip = Trip::new();
    let to = Resolve { host: "rude.test".to_owned(), port: None, to: server.address };
    let proxy = Proxy::start(trip.options(Mode::All).resolve(to)).unwrap();
    let mut client = client(&proxy);
    client.send("GET http://rude.test/ HTTP/1.1\r\nHost: rude.test\r\n\r\n");
    client.head().unwrap();
    assert_eq!(client.chunk().unwrap(), b"a");
    drop(client);
    assert_eq!(is_told.recv_timeout(Duration::from_secs(15)), Ok(true));
    until("it is noticed", || proxy.report().abandoned == 1);
    proxy.stop().unwrap();
    let exchange = Tape::open(trip.tape()).unwrap();
    let exchange = exchange.exchange(0).unwrap();
    assert_eq!(exchange.response.unwrap().body.unwrap().bytes(), &cassette::Bytes::from("a"));
}

#[test]
fn a_client_that_stalls_in_its_body_is_given_up() {
    let trip = Trip::new();
    let mut limits = server::Limits::default();
    limits.stall = Duration::from_millis(200);
    let proxy = Proxy::start(trip.options(Mode::All).limits(limits)).unwrap();
    let mut client = client(&proxy);
    client.send(format!("POST http://{0}/upload HTTP/1.1\r\nHost: {0}\r\nContent-Length: 9\r\n\r\nsome", origin::NAME));
    assert_eq!(client.try_answer("POST"), None);
    assert_eq!(proxy.stop().unwrap().abandoned, 1);
    let tape = Tape::open(trip.tape()).unwrap();
    let exchange = tape.exchange(0).unwrap();
    assert_eq!(exchange.request.body.unwrap().bytes(), &cassette::Bytes::from("some"));
}

#[test]
fn a_connection_that_the_server_closed_is_made_again() {
    let server = Rude::with(|stream| {
        let mut client = crate::fixture::Client { stream, buffer: Vec::new() };
        if client.head().is_some() {
            let _ = client.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let trip = Trip::new();
    let to = Resolve { host: "rude.test".to_owned(), port: None, to: server.address };
    let proxy = Proxy::start(trip.options(Mode::All).resolve(to)).unwrap();
    let mut client = client(&proxy);
    for _ in 0..20 {
        client.send("GET http://rude.test/ HTTP/1.1\r\nHost: rude.test\r\n\r\n");
        assert_eq!(client.answer("GET").text(), "ok");
    }
    assert!(proxy.stop().unwrap().failures.is_empty());
}

#[test]
fn requests_may_be_sent_ahead_of_their_answers() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let mut client = client(proxy);
        let ask = |target: &str| format!("GET http://{0}{target} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME);
        client.send([ask("/slow?ms=50"), ask("/json"), ask("/bytes/10")].concat());
        [(); 3].map(|()| client.answer("GET"))
    });
    assert_eq!(recorded, replayed);
    assert_eq!(recorded[2].body.len(), 10);
}

#[test]
fn without_a_tape_everything_goes_on() {
    let trip = Trip::new();
    let options = trip.options(Mode::Passthrough);
    let proxy = Proxy::start(options).unwrap();
    assert_eq!(client(&proxy).get("/json").status, 200);
    let report = proxy.stop().unwrap();
    assert_eq!((report.forwarded, report.recorded), (1, 0));
    assert!(!trip.tape().exists());
    let _ = ProxyOptions::new(Traffic::passthrough());
}

#[test]
fn requests_go_through_another_proxy() {
    let mut trip = Trip::new();
    // The origin's addresses are known to the second proxy only.
    let second = Proxy::start(trip.options(Mode::Passthrough)).unwrap();
    let through = format!("http://me:secret@{}", second.address());
    let pem = trip.folder.path("second.pem");
    std::fs::copy(second.authority().certificate(), &pem).unwrap();
    let first = ProxyOptions::new(Traffic::tape(trip.tape(), Mode::All))
        .data_directory(trip.folder.path("data"))
        .upstream_roots(pem)
        .upstream_proxy(through.parse().unwrap());
    let proxy = Proxy::start(first).unwrap();
    let plain = client(&proxy).get("/json");
    let secure = client(&proxy).secure(&proxy, origin::NAME).ask_inside("GET", "/json", "", b"");
    assert_eq!((plain.status, secure.status), (200, 200), "{}", secure.text());
    proxy.stop().unwrap();
    assert_eq!(second.stop().unwrap().forwarded, 2);
    let proxy = trip.replay();
    assert_eq!(client(&proxy).get("/json").body, plain.body);
}
