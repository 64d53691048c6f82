//! Bodies that come piece by piece.

use crate::fixture::{Mode, Trip, client};
use cassette::Cassette;
use server::{Latency, Proxy};
use std::time::{Duration, Instant};

const GAP: Duration = Duration::from_millis(60);

/// The events of a stream, and when each was there after the first.
fn events(proxy: &Proxy) -> (Vec<String>, Vec<Duration>) {
    let mut client = client(proxy);
    let target = format!("/sse?n=5&gap={}", GAP.as_millis());
    client.send(format!("GET http://{0}{target} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME));
    client.head().unwrap();
    let (mut events, mut times) = (Vec::new(), Vec::new());
    let mut first = None;
    loop {
        let chunk = client.chunk().unwrap();
        if chunk.is_empty() {
            return (events, times);
        }
        times.push(first.get_or_insert_with(Instant::now).elapsed());
        events.push(String::from_utf8(chunk).unwrap());
    }
}

#[test]
fn streaming_is_not_buffered() {
    let mut trip = Trip::new();
    let proxy = trip.record();
    let (recorded, times) = events(&proxy);
    proxy.stop().unwrap();
    assert_eq!(recorded.len(), 5);
    // The first event came while the last was far off.
    assert!(times[4] >= GAP * 3, "{times:?}");

    drop(trip.origin.take());
    let proxy = Proxy::start(trip.options(Mode::None).latency(Latency::Recorded)).unwrap();
    let (replayed, times) = events(&proxy);
    proxy.stop().unwrap();
    assert_eq!(recorded, replayed);
    assert!(times[4] >= GAP * 3, "{times:?}");
}

#[test]
fn response_time_recorded() {
    let mut trip = Trip::new();
    let proxy = trip.record();
    assert_eq!(client(&proxy).get("/slow?ms=150").text(), "at last");
    proxy.stop().unwrap();
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let response = cassette.exchange(0).unwrap().response.unwrap();
    assert!((150_000..2_000_000).contains(&response.at_us), "{}", response.at_us);

    drop(trip.origin.take());
    let took = |latency| {
        let proxy = Proxy::start(trip.options(Mode::None).latency(latency)).unwrap();
        let mut client = client(&proxy);
        let begun = Instant::now();
        assert_eq!(client.get("/slow?ms=150").text(), "at last");
        begun.elapsed()
    };
    assert!(took(Latency::Recorded) >= Duration::from_millis(150));
    assert!(took(Latency::Scaled(2.0)) >= Duration::from_millis(75));
    assert!(took(Latency::Fixed(Duration::from_millis(200))) >= Duration::from_millis(200));
    // A machine may be busy, but hardly for so long.
    assert!(took(Latency::None) < Duration::from_millis(140));
    assert!(took(Latency::Scaled(0.0)) < Duration::from_millis(140));
}

#[test]
fn a_stream_has_the_same_chunks_however_fast_it_is_replayed() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| client(proxy).get("/sse?n=20&gap=1"));
    assert_eq!((recorded.chunks.len(), &recorded.chunks), (20, &replayed.chunks));
}

#[test]
fn a_body_goes_to_the_server_while_it_comes() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let mut client = client(proxy);
        client.send(format!(
            "POST http://{0}/upload HTTP/1.1\r\nHost: {0}\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n",
            origin::NAME
        ));
        for _ in 0..5 {
            client.send("3\r\nabc\r\n");
            std::thread::sleep(Duration::from_millis(5));
        }
        client.send("0\r\nX-T: y\r\n\r\n");
        client.answer("POST")
    });
    assert_eq!(recorded.json()["bytes"], 15);
    assert_eq!(recorded, replayed);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!(exchange.request.body.unwrap().chunks().len(), 5);
    assert_eq!(exchange.request.trailers[0].value, "y");
}

#[test]
fn a_client_that_waits_for_100_gets_it() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let mut client = client(proxy);
        let head = |path: &str| {
            format!(
                "POST http://{0}{path} HTTP/1.1\r\nHost: {0}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
                origin::NAME
            )
        };
        client.send(head("/upload"));
        let go_on = client.answer("POST");
        client.send("croak");
        (go_on.status, client.answer("POST"))
    });
    assert_eq!((recorded.0, recorded.1.json()["bytes"].as_u64()), (100, Some(5)));
    assert_eq!(recorded, replayed);
}

#[test]
fn a_server_may_refuse_a_body_before_it_comes() {
    let trip = Trip::new();
    let proxy = trip.record();
    let mut client = client(&proxy);
    client.send(format!(
        "POST http://{0}/refuse HTTP/1.1\r\nHost: {0}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
        origin::NAME
    ));
    let answer = client.answer("POST");
    assert_eq!((answer.status, answer.header("connection").as_deref()), (417, Some("close")));
    proxy.stop().unwrap();
}

/// The most memory that this process ever had, in kB.
fn peak_kb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Counts in a process of its own, whose memory is that of the proxy and the origin alone.
#[test]
fn a_gigabyte_takes_little_memory() {
    let binary = std::env::current_exe().unwrap();
    let status = std::process::Command::new(binary)
        .args(["--exact", "streams::gigabyte_child", "--ignored", "--nocapture"])
        .env("METROON_GIGABYTE", "1")
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "is run by a_gigabyte_takes_little_memory, in a process of its own"]
fn gigabyte_child() {
    if std::env::var_os("METROON_GIGABYTE").is_none() {
        return;
    }
    const BYTES: usize = 1 << 30;
    let mut trip = Trip::new();
    let read = |proxy: &Proxy| {
        let mut client = client(proxy);
        client.send(format!("GET http://{0}/bytes/{BYTES} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME));
        client.head().unwrap();
        let mut count = client.buffer.len();
        while count < BYTES {
            client.buffer.clear();
            assert!(client.fill());
            count += client.buffer.len();
        }
        count
    };
    let proxy = trip.record();
    assert_eq!(read(&proxy), BYTES);
    let recorded = peak_kb();
    proxy.stop().unwrap();
    let sealed = peak_kb();
    let proxy = trip.replay();
    assert_eq!(read(&proxy), BYTES);
    let replayed = peak_kb();
    proxy.stop().unwrap();
    crate::fixture::say(format_args!("recorded {recorded} kB, sealed {sealed} kB, replayed {replayed} kB"));
    assert!(replayed < 100_000, "recorded {recorded} kB, sealed {sealed} kB, replayed {replayed} kB");
}
