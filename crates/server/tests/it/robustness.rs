//! Clients, servers and disks that fail in the middle of something; starting and stopping.

use crate::fixture::{Client, Mode, Rude, Trip, client, until};
use cassette::{Cassette, Outcome};
use server::{Proxy, ProxyError, ProxyOptions, Resolve, Traffic};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
    std::fs::write(trip.cassette(), "no cassette at all").unwrap();
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
    assert_eq!(Cassette::open(trip.cassette()).unwrap().exchange(0).unwrap().outcome, Outcome::Complete);
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
    assert_eq!(Cassette::open(trip.cassette()).unwrap().exchange(0).unwrap().outcome, Outcome::Partial);
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
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert!(matches!(cassette.exchange(0).unwrap().outcome, Outcome::Aborted(_)));
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
    let exchange = Cassette::open(trip.cassette()).unwrap();
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
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let exchange = cassette.exchange(0).unwrap();
    assert_eq!(exchange.request.body.unwrap().bytes(), &cassette::Bytes::from("some"));
}

#[test]
fn a_connection_that_the_server_closed_is_made_again() {
    let server = Rude::with(|stream| {
        let mut client = Client { stream, buffer: Vec::new() };
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
fn without_a_cassette_everything_goes_on() {
    let trip = Trip::new();
    let options = trip.options(Mode::Passthrough);
    let proxy = Proxy::start(options).unwrap();
    assert_eq!(client(&proxy).get("/json").status, 200);
    let report = proxy.stop().unwrap();
    assert_eq!((report.forwarded, report.recorded), (1, 0));
    assert!(!trip.cassette().exists());
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
    let first = ProxyOptions::new(Traffic::cassette(trip.cassette(), Mode::All))
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

/// The disk is full for a process of its own, by a limit on the length of its files.
#[test]
fn a_full_disk_is_said_and_the_cassette_keeps_what_was_acknowledged() {
    let binary = std::env::current_exe().unwrap();
    let limited = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\"";
    let status = Command::new("sh")
        .args(["-c", limited])
        .arg(binary)
        .args(["--exact", "robustness::full_disk_child", "--ignored", "--nocapture"])
        .env("METROON_FULL_DISK", "1")
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
#[ignore = "is run by a_full_disk_is_said_and_the_cassette_keeps_what_was_acknowledged, in a process of its own"]
fn full_disk_child() {
    if std::env::var_os("METROON_FULL_DISK").is_none() {
        return;
    }
    let trip = Trip::new();
    let proxy = trip.record();
    let mut acknowledged = 0;
    let mut refused = None;
    for number in 0..400 {
        match client(&proxy).get(&format!("/bytes/10000?{number}")) {
            answer if answer.status == 200 && answer.is_whole => {
                assert!(refused.is_none(), "nothing is recorded after a failure");
                acknowledged += 1;
            }
            // One whose head had gone by then breaks off.
            answer if answer.status == 200 => assert!(refused.is_none()),
            answer => drop(refused.get_or_insert(answer)),
        }
    }
    let refused = refused.expect("the disk is full at some time");
    assert_eq!((refused.status, refused.header("x-metroon").as_deref()), (502, Some("recorder")));
    assert!(refused.text().contains("File too large"), "{}", refused.text());
    assert!(acknowledged > 10, "{acknowledged}");
    let report = proxy.report();
    assert!(report.recorder_failure.is_some());
    assert!(matches!(proxy.stop(), Err(ProxyError::Record(_))));
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let whole =
        cassette.exchanges().filter(|one| one.as_ref().is_ok_and(|one| one.outcome == Outcome::Complete)).count();
    assert!(whole >= acknowledged, "{whole} of {acknowledged}");
}

/// What a client had an answer to is on the cassette, whenever the proxy dies.
#[test]
fn a_killed_proxy_leaves_what_was_answered() {
    let trip = Trip::new();
    for round in 0..50 {
        let folder = trip.folder.path(&format!("round-{round}"));
        std::fs::create_dir(&folder).unwrap();
        let (mut child, mut client) = to_be_killed(&trip, &folder);
        let asking = std::thread::spawn(move || {
            let mut answered = 0;
            loop {
                let ask = format!("GET http://{0}/bytes/100?{answered} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME);
                let sent = client.stream.write_all(ask.as_bytes());
                match sent.ok().and_then(|()| client.try_answer("GET")) {
                    Some(answer) if answer.is_whole => answered += 1,
                    _ => return answered,
                }
            }
        });
        std::thread::sleep(Duration::from_millis(5 + round % 10));
        child.kill().unwrap();
        child.wait().unwrap();
        let answered: usize = asking.join().unwrap();
        let Ok(cassette) = Cassette::open(folder.join("trip.cassette")) else {
            assert_eq!(answered, 0);
            continue;
        };
        let whole =
            cassette.exchanges().filter(|one| one.as_ref().is_ok_and(|one| one.outcome == Outcome::Complete)).count();
        assert!(whole >= answered && whole <= answered + 1, "{whole} on the cassette, {answered} answered");
    }
}

/// A recording proxy in a process of its own, and a client of it.
fn to_be_killed(trip: &Trip, folder: &Path) -> (Child, Client<TcpStream>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "robustness::killed_child", "--ignored", "--nocapture"])
        .env("METROON_KILLED", folder)
        .env("METROON_ORIGIN", trip.origin.as_ref().unwrap().plain().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| line.unwrap().strip_prefix("listens on ").map(str::to_owned)).unwrap();
    (child, crate::fixture::client_of(address.parse().unwrap()))
}

/// The proxy is killed at the very moment at which a client has an event of a stream, a message, or the last byte of an answer.
#[test]
fn what_a_client_saw_before_a_kill_is_on_the_cassette() {
    let trip = Trip::new();
    for round in 0..45 {
        let folder = trip.folder.path(&format!("seen-{round}"));
        std::fs::create_dir(&folder).unwrap();
        let (mut child, mut client) = to_be_killed(&trip, &folder);
        let (target, more, until) = match round % 3 {
            0 => ("/sse?n=40&gap=1", "", format!("data: {}\n\n", round / 3)),
            1 => ("/ws/ticker?n=40&gap=1", UPGRADE, format!("tick {}", round / 3)),
            _ => ("/bytes/100000", "", String::new()),
        };
        client.send(format!("GET http://{0}{target} HTTP/1.1\r\nHost: {0}\r\n{more}\r\n", origin::NAME));
        let head_bytes = client.head().unwrap().len();
        let is_seen = |buffer: &[u8]| match until.as_bytes() {
            b"" => buffer.len() >= 100_000,
            until => buffer.windows(until.len()).any(|window| window == until),
        };
        while !is_seen(&client.buffer) {
            assert!(client.fill(), "{head_bytes} bytes of a head, then {}", client.buffer.escape_ascii());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let cassette = Cassette::open(folder.join("trip.cassette")).unwrap();
        let exchange = cassette.exchange(0).unwrap();
        let frames = exchange.frames.iter().flatten().flat_map(|frame| frame.payload.to_vec()).collect::<Vec<_>>();
        let body = exchange.response.as_ref().and_then(|response| response.body.as_ref());
        let seen = [body.map_or(&b""[..], |body| body.bytes()), &frames].concat();
        assert!(is_seen(&seen), "round {round}: {until:?} is not in {}", seen.escape_ascii());
        assert!(!until.is_empty() || exchange.outcome == Outcome::Complete, "round {round}: {:?}", exchange.outcome);
    }
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[test]
#[ignore = "is run by a_killed_proxy_leaves_what_was_answered, in a process of its own"]
fn killed_child() {
    let (Some(folder), Ok(to)) = (std::env::var_os("METROON_KILLED"), std::env::var("METROON_ORIGIN")) else { return };
    let folder = std::path::PathBuf::from(folder);
    let options = ProxyOptions::new(Traffic::cassette(folder.join("trip.cassette"), Mode::All))
        .data_directory(folder.join("data"))
        .resolve(Resolve { host: origin::NAME.to_owned(), port: None, to: to.parse().unwrap() });
    let proxy = Proxy::start(options).unwrap();
    crate::fixture::say(format_args!("\nlistens on {}", proxy.address()));
    std::thread::sleep(Duration::from_secs(60));
}
