//! Which answer a request gets from the cassette, and what is said if there is none.

use crate::fixture::{Answer, Client, Mode, Rude, Trip, client};
use cassette::matching::{MatchRules, Repeats};
use cassette::{
    Cassette, Exchange, Expired, Expiry, Filter, LeaveOutRule, NetworkErrorKind, Outcome, Request, Response,
    write_cassette,
};
use server::{Proxy, Resolve};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A cassette with an exchange for each of these targets; the bodies of the answers count them.
fn make_cassette(path: &Path, targets: &[&str], started_ns: i64) {
    let exchanges: Vec<_> = targets
        .iter()
        .enumerate()
        .map(|(number, target)| Exchange {
            number: number as u64,
            started_ns,
            ..exchange(target, number.to_string().into_bytes())
        })
        .collect();
    write_cassette(path, &exchanges, &[], cassette::SealOptions::default()).unwrap();
}

/// A request for this target, answered with this body.
fn exchange(target: &str, body: Vec<u8>) -> Exchange<'static> {
    let request = Request {
        method: "GET".into(),
        scheme: "http".into(),
        host: origin::NAME.into(),
        port: 80,
        target: target.to_owned().into(),
        ..Request::default()
    };
    let body = Some(cassette::Body::new(0, body));
    Exchange { request, response: Some(Response { status: 200, body, ..Response::default() }), ..Exchange::default() }
}

fn now_ns() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64
}

#[test]
fn identical_requests_replay_in_sequence() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) = trip.twice(|proxy| {
        let mut client = client(proxy);
        [(); 3].map(|()| client.get("/count").text())
    });
    assert_eq!(recorded, ["1", "2", "3"]);
    assert_eq!(recorded, replayed);
}

#[test]
fn what_comes_after_the_last_answer_is_for_the_user_to_say() {
    let trip = Trip::new();
    make_cassette(&trip.cassette(), &["/a", "/a"], now_ns());
    let answers = |repeats| {
        let proxy = Proxy::start(trip.options(Mode::None).repeats(repeats)).unwrap();
        let mut client = client(&proxy);
        [(); 4]
            .map(|()| client.get("/a"))
            .map(|answer| if answer.status == 200 { answer.text() } else { answer.status.to_string() })
    };
    assert_eq!(answers(Repeats::Refused), ["0", "1", "599", "599"]);
    assert_eq!(answers(Repeats::Last), ["0", "1", "1", "1"]);
    assert_eq!(answers(Repeats::Cycle), ["0", "1", "0", "1"]);
}

#[test]
fn miss_is_not_a_recorded_404() {
    let mut trip = Trip::new();
    let (_, replayed, report) = trip.twice(|proxy| {
        let mut client = client(proxy);
        [client.get("/status/404"), client.get("/other?page=2"), client.get("/status/404")]
    });
    assert_eq!((replayed[0].status, replayed[0].header("x-metroon")), (404, None));
    assert_eq!((replayed[1].status, replayed[1].header("x-metroon")), (404, None));
    let proxy = trip.replay();
    let answer = client(&proxy).get("/other?page=3");
    assert_eq!((answer.status, answer.header("x-metroon").as_deref()), (599, Some("miss")));
    let said = answer.json();
    assert_eq!(said["nearest"]["exchange"], 1, "{said}");
    assert_eq!(said["nearest"]["differences"][0]["place"], "query page");
    assert_eq!(said["nearest"]["differences"][0]["live"], "\"3\"");
    assert!(said["error"]["message"].as_str().unwrap().contains("no recorded exchange answers GET"));
    let report_of_miss = proxy.stop().unwrap();
    assert_eq!((report_of_miss.missed, report_of_miss.misses.len(), report_of_miss.unused), (1, 1, 3));
    assert!(report_of_miss.differs() && !report.differs());
}

#[test]
fn nothing_falls_through_to_the_network() {
    let trip = Trip::new();
    make_cassette(&trip.cassette(), &["/a"], now_ns());
    for mode in [Mode::None, Mode::Once] {
        let proxy = Proxy::start(trip.options(mode)).unwrap();
        assert_eq!(client(&proxy).get("/json").status, 599);
        assert_eq!(client(&proxy).secure(&proxy, origin::NAME).ask_inside("GET", "/json", "", b"").status, 599);
    }
    assert!(trip.origin.as_ref().unwrap().requests().is_empty());
}

#[test]
fn new_requests_are_added_to_a_cassette() {
    let mut trip = Trip::new();
    let proxy = Proxy::start(trip.options(Mode::New)).unwrap();
    assert_eq!(client(&proxy).ask("POST", "/upload", "", b"one").json()["bytes"], 3);
    proxy.stop().unwrap();
    let proxy = Proxy::start(trip.options(Mode::New)).unwrap();
    assert_eq!(client(&proxy).ask("POST", "/upload", "", b"one").json()["bytes"], 3);
    let mut waiting = client(&proxy);
    assert_eq!(waiting.ask("POST", "/upload", "Expect: 100-continue\r\n", b"four").status, 100);
    assert_eq!(waiting.answer("POST").json()["bytes"], 4);
    let report = proxy.stop().unwrap();
    assert_eq!((report.replayed, report.recorded), (1, 1));
    assert_eq!(trip.origin.as_ref().unwrap().requests().len(), 2);
    let proxy = trip.replay();
    assert_eq!(client(&proxy).ask("POST", "/upload", "", b"four").json()["bytes"], 4);
    assert_eq!(client(&proxy).ask("POST", "/upload", "", b"one").json()["bytes"], 3);
}

#[test]
fn answers_that_are_too_old_are_refused_or_recorded_again() {
    let trip = Trip::new();
    make_cassette(&trip.cassette(), &["/json"], now_ns() - 3_600_000_000_000);
    let ask = |mode, max_age, then| {
        let proxy = Proxy::start(trip.options(mode).expiry(Expiry { max_age, then })).unwrap();
        let answer = client(&proxy).get("/json");
        (answer.status, answer.header("x-metroon"), proxy.stop().unwrap())
    };
    let (status, what, report) = ask(Mode::None, 60, Expired::Refuse);
    assert_eq!((status, what.as_deref(), report.expired), (599, Some("expired"), 1));
    let (status, _, report) = ask(Mode::None, 60, Expired::Warn);
    assert_eq!((status, report.warnings.len()), (200, 1));
    assert_eq!(ask(Mode::None, 7200, Expired::Refuse).0, 200);
    let (status, _, report) = ask(Mode::New, 60, Expired::Record);
    assert_eq!((status, report.recorded), (200, 1));
}

#[test]
fn no_cassette_is_said_plainly() {
    let trip = Trip::new();
    let error = Proxy::start(trip.options(Mode::None)).unwrap_err().to_string();
    assert!(error.contains("there is no cassette at") && error.contains("trip.cassette"), "{error}");
}

#[test]
fn an_answer_that_cannot_be_read_makes_a_replay_differ() {
    let trip = Trip::new();
    // Bytes that cannot be compressed, so that the middle of the file is in the middle of them.
    let noise = (0..300_000_u64).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 29).wrapping_mul(at) as u8);
    let exchanges = [exchange("/noise", noise.collect())];
    write_cassette(trip.cassette(), &exchanges, &[], cassette::SealOptions::default()).unwrap();
    let mut bytes = std::fs::read(trip.cassette()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(trip.cassette(), bytes).unwrap();
    let proxy = Proxy::start(trip.options(Mode::None)).unwrap();
    let mut client = client(&proxy);
    client.send(format!("GET http://{0}/noise HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME));
    let answer = client.try_answer("GET");
    assert!(answer.is_none_or(|answer| answer.status == 502 || !answer.is_whole));
    let report = proxy.stop().unwrap();
    assert_eq!((report.unreadable, report.missed), (1, 0));
    assert!(report.differs() && report.warnings[0].contains("bytes have changed"), "{report:?}");
}

#[test]
fn redaction_keeps_match() {
    let mut trip = Trip::new();
    let ask = |proxy: &Proxy, secret: &str| {
        let headers = format!("Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n");
        let body = format!(r#"{{"password": "{secret}", "name": "Sam"}}"#);
        client(proxy).ask("POST", &format!("/upload?api_key={secret}"), &headers, body.as_bytes())
    };
    let proxy = trip.record();
    let recorded = ask(&proxy, "a-very-long-secret-0123456789");
    proxy.stop().unwrap();
    let bytes = std::fs::read(trip.cassette()).unwrap();
    assert!(!bytes.windows(18).any(|some| some == b"a-very-long-secret"));
    let proxy = trip.replay();
    // Another secret, of another length, is the same request.
    assert_eq!(ask(&proxy, "dummy-secret").body, recorded.body);
}

#[test]
fn concurrent_replay_scales() {
    const REQUESTS: usize = 1000;
    let trip = Trip::new();
    let targets: Vec<String> = (0..REQUESTS).map(|number| format!("/{}", number % 10)).collect();
    make_cassette(&trip.cassette(), &targets.iter().map(String::as_str).collect::<Vec<_>>(), now_ns());
    let proxy = Proxy::start(trip.options(Mode::None)).unwrap();
    // A thousand at a time: all are asked before any answer is read.
    let mut clients: Vec<_> = (0..REQUESTS).map(|_| client(&proxy)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.send(format!("GET http://{0}/{1} HTTP/1.1\r\nHost: {0}\r\n\r\n", origin::NAME, number % 10));
    }
    let given: Vec<(usize, usize)> = clients
        .iter_mut()
        .enumerate()
        .map(|(number, client)| (number % 10, client.answer("GET").text().parse().unwrap()))
        .collect();
    // Each answer went to who asked for it, and to nobody else.
    assert!(given.iter().all(|(asked, answer)| answer % 10 == *asked));
    assert_eq!(given.iter().map(|(_, answer)| answer).collect::<HashSet<_>>().len(), REQUESTS);
    let report = proxy.stop().unwrap();
    assert_eq!((report.replayed, report.unused, report.connections), (1000, 0, 1000));
}

#[test]
fn the_order_is_that_of_the_beginnings() {
    let mut trip = Trip::new();
    let proxy = trip.record();
    thread::scope(|scope| {
        scope.spawn(|| client(&proxy).get("/slow?ms=300"));
        thread::sleep(Duration::from_millis(100));
        scope.spawn(|| client(&proxy).get("/json"));
    });
    proxy.stop().unwrap();
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let targets: Vec<_> =
        cassette.exchanges().map(|exchange| exchange.unwrap().request.target.to_text_lossy().into_owned()).collect();
    assert_eq!(targets, ["/slow?ms=300", "/json"]);
    drop(trip.origin.take());
}

#[test]
fn rules_say_what_is_the_same_question() {
    let trip = Trip::new();
    make_cassette(&trip.cassette(), &["/a?x=1"], now_ns());
    let proxy = Proxy::start(trip.options(Mode::None).rules(MatchRules::lenient())).unwrap();
    assert_eq!(client(&proxy).ask("GET", "/a?y=2", "", b"ignored").text(), "0");
}

/// Records and replays a request to a host; `rude.test` is at this address.
fn failing(to: SocketAddr, host: &str) -> (Option<Answer>, Option<Answer>, Cassette) {
    Trip::twice_at(to, |proxy| {
        let mut client = client(proxy);
        client.send(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        client.try_answer("GET")
    })
}

fn outcome(cassette: &Cassette) -> NetworkErrorKind {
    match cassette.exchange(0).unwrap().outcome {
        Outcome::Aborted(error) => error.kind,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn network_error_recorded_and_replayed() {
    // Nobody listens on a port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (recorded, replayed, cassette) = failing(free, "rude.test");
    let recorded = recorded.unwrap();
    assert_eq!((recorded.status, recorded.header("x-metroon").as_deref()), (502, Some("refused")));
    assert_eq!(Some(recorded), replayed);
    assert_eq!(outcome(&cassette), NetworkErrorKind::Refused);

    let (recorded, replayed, cassette) = failing(free, "no-such-name.invalid");
    let recorded = recorded.unwrap();
    assert_eq!((recorded.status, recorded.header("x-metroon").as_deref()), (502, Some("dns")));
    assert_eq!(Some(recorded), replayed);
    assert_eq!(outcome(&cassette), NetworkErrorKind::Dns);

    let silent = Rude::with(drop);
    let (recorded, replayed, cassette) = failing(silent.address, "rude.test");
    assert_eq!((recorded, replayed, outcome(&cassette)), (None, None, NetworkErrorKind::Reset));

    let nonsense = Rude::start(b"I speak no HTTP\r\n\r\nclose");
    let (recorded, replayed, cassette) = failing(nonsense.address, "rude.test");
    assert_eq!(recorded.as_ref().map(|answer| answer.status), Some(502));
    assert_eq!((recorded, outcome(&cassette)), (replayed, NetworkErrorKind::Protocol));
}

#[test]
fn a_body_that_broke_off_breaks_off_again() {
    let mut trip = Trip::new();
    let (recorded, replayed, _) =
        trip.twice(|proxy| ["/reset?after=10", "/early?after=20"].map(|target| client(proxy).get(target)));
    assert_eq!(recorded[0].body.len(), 10);
    assert!(
        recorded.iter().all(|answer| !answer.is_whole && answer.header("content-length").as_deref() == Some("1000"))
    );
    assert_eq!(recorded, replayed);
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert_eq!(outcome(&cassette), NetworkErrorKind::Reset);
}

/// A connection that was used before ends in the middle of an answer. The server was there, so nobody asks it again, and the cassette is
/// told of one answer.
#[test]
fn an_answer_that_has_begun_is_not_asked_for_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server = Rude::with(move |stream| {
        let mut client = Client { stream, buffer: Vec::new() };
        while client.head().is_some() {
            let number = count.fetch_add(1, Ordering::SeqCst) + 1;
            client.send(format!("HTTP/1.1 200 OK\r\nX-Number: {number}\r\nContent-Length: 5\r\n\r\n"));
            if number == 2 {
                return;
            }
            client.send("frogs");
        }
    });
    let trip = Trip::new();
    let resolve = Resolve { host: "rude.test".to_owned(), port: None, to: server.address };
    let proxy = Proxy::start(trip.options(Mode::All).resolve(resolve)).unwrap();
    let mut client = client(&proxy);
    let answers = [1, 2].map(|number| {
        client.send(format!("GET http://rude.test/{number} HTTP/1.1\r\nHost: rude.test\r\n\r\n"));
        client.try_answer("GET").map(|answer| (answer.header("x-number"), answer.is_whole))
    });
    proxy.stop().unwrap();
    let of = |number: &str, is_whole| Some((Some(number.to_owned()), is_whole));
    assert_eq!((answers, asked.load(Ordering::SeqCst)), ([of("1", true), of("2", false)], 2));
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let exchange = cassette.exchange(1).unwrap();
    let response = exchange.response.expect("it has begun");
    let numbers: Vec<_> = response.headers.iter().filter(|header| header.is("x-number")).collect();
    assert!(numbers.len() == 1 && numbers[0].value == "2", "{numbers:?}");
    assert!(matches!(exchange.outcome, Outcome::Aborted(error) if error.kind == NetworkErrorKind::Reset));
}

/// A server that ends the connection in the middle of an answer, with all of it in one piece, or with more than a slow client has
/// room for.
#[test]
fn an_early_end_looks_the_same_recorded_and_replayed() {
    for (head, is_seen) in [
        ("Content-Length: 1000\r\n\r\nso far", true),
        ("Transfer-Encoding: chunked\r\n\r\n6\r\nso far\r\n", true),
        ("Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nso far\r\n3", true),
        ("Content-Length: 1000\r\n\r\n", false),
    ] {
        let early = Rude::with(move |stream| {
            let mut client = Client { stream, buffer: Vec::new() };
            client.head();
            client.send(format!("HTTP/1.1 200 OK\r\n{head}"));
        });
        let ask = |proxy: &Proxy| {
            let mut client = client(proxy);
            client.send("GET http://rude.test/ HTTP/1.1\r\nHost: rude.test\r\n\r\n");
            client.try_answer("GET").map(|answer| (answer.status, answer.body, answer.is_whole))
        };
        let (recorded, replayed, cassette) = Trip::twice_at(early.address, ask);
        let so_far = if is_seen { b"so far".to_vec() } else { Vec::new() };
        assert_eq!(recorded, Some((200, so_far, false)), "{head}");
        assert_eq!(recorded, replayed, "{head}");
        assert_eq!(outcome(&cassette), NetworkErrorKind::Reset);
    }
    let long = Rude::with(|stream| {
        let mut client = Client { stream, buffer: Vec::new() };
        client.head();
        client.send("HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n");
        client.send(vec![b'x'; 8_000_000]);
    });
    let ask_slowly = |proxy: &Proxy| {
        let mut client = client(proxy);
        client.send("GET http://rude.test/ HTTP/1.1\r\nHost: rude.test\r\n\r\n");
        thread::sleep(Duration::from_millis(300));
        let answer = client.answer("GET");
        (answer.status, answer.body.len(), answer.is_whole)
    };
    let (recorded, replayed, _) = Trip::twice_at(long.address, ask_slowly);
    assert_eq!((recorded, replayed), ((200, 8_000_000, false), (200, 8_000_000, false)));
}

#[test]
fn filtered_is_counted() {
    let trip = Trip::new();
    let filter = Filter::default()
        .leave_out(LeaveOutRule { methods: vec!["OPTIONS".into()], ..LeaveOutRule::for_reason("preflight") })
        .leave_out(LeaveOutRule { content_types: vec!["text/*".into()], ..LeaveOutRule::for_reason("texts") });
    let proxy = Proxy::start(trip.options(Mode::All).filter(filter)).unwrap();
    let mut client = client(&proxy);
    client.get("/json");
    client.get("/count");
    client.ask("OPTIONS", "/json", "", b"");
    let report = proxy.stop().unwrap();
    assert_eq!((report.recorded, report.left_out), (1, 2));
    let cassette = Cassette::open(trip.cassette()).unwrap();
    assert_eq!(cassette.len(), 1);
    assert_eq!(cassette.left_out().unwrap().values().sum::<u64>(), 2);
}

#[test]
fn hybrid_keeps_cookies() {
    let mut trip = Trip::new();
    for target in ["/cookies", "/twice"] {
        let proxy = Proxy::start(trip.options(Mode::New)).unwrap();
        assert_eq!(client(&proxy).get(target).status, 200);
        proxy.stop().unwrap();
    }
    let proxy = trip.replay();
    assert_eq!(client(&proxy).get("/cookies").headers("set-cookie"), [b"pond=REDACTED; Path=/"]);
    assert_eq!(client(&proxy).get("/twice").headers("set-cookie"), [b"a=REDACTED", b"b=REDACTED"]);
}

#[test]
fn redaction_covers_all_kinds() {
    let mut trip = Trip::new();
    let secret = "hush-hush-0123456789";
    let proxy = trip.record();
    let mut one = client(&proxy);
    let headers =
        format!("Authorization: Bearer {secret}\r\nCookie: session={secret}\r\nContent-Type: application/json\r\n");
    let body = format!(r#"{{"client_secret": "{secret}"}}"#);
    one.ask("POST", &format!("/upload?access_token={secret}"), &headers, body.as_bytes());
    // What is said of an error has the request in it.
    client(&proxy).get(&format!("/hang-up?password={secret}"));
    let report = proxy.stop().unwrap();
    assert_eq!(report.recorded, 2);
    for name in std::fs::read_dir(trip.folder.path("")).unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = if name.is_file() { std::fs::read(&name).unwrap() } else { Vec::new() };
        assert!(!bytes.windows(secret.len()).any(|some| some == secret.as_bytes()), "{}", name.display());
    }
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let text = format!("{:?}", cassette.exchange(0).unwrap());
    assert!(!text.contains(secret) && text.contains("REDACTED"), "{text}");
    drop(trip.origin.take());
}

#[test]
fn a_body_that_is_too_long_to_be_looked_up_is_new() {
    let trip = Trip::new();
    make_cassette(&trip.cassette(), &["/a"], now_ns());
    let mut limits = server::Limits::default();
    limits.matched_body_bytes = 1000;
    let proxy = Proxy::start(trip.options(Mode::New).limits(limits)).unwrap();
    let body = vec![b'x'; 300_000];
    assert_eq!(client(&proxy).ask("POST", "/upload", "", &body).json()["bytes"], 300_000);
    let mut client = client(&proxy);
    let chunks = format!("{:x}\r\n{}\r\n", 700, "y".repeat(700)).repeat(10);
    client.send(format!(
        "POST http://{0}/upload HTTP/1.1\r\nHost: {0}\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n",
        origin::NAME
    ));
    assert_eq!(client.answer("POST").json()["bytes"], 7000);
    proxy.stop().unwrap();
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let lengths: Vec<_> =
        cassette.exchanges().map(|one| one.unwrap().request.body.map_or(0, |body| body.bytes().len())).collect();
    assert_eq!(lengths, [0, 300_000, 7000]);
}

#[test]
fn bodies_that_do_not_matter_may_be_of_any_length() {
    let trip = Trip::new();
    make_cassette(&trip.cassette(), &["/a"], now_ns());
    let mut limits = server::Limits::default();
    limits.matched_body_bytes = 10;
    let rules = MatchRules { method: false, ..MatchRules::lenient() };
    let proxy = Proxy::start(trip.options(Mode::None).limits(limits).rules(rules)).unwrap();
    assert_eq!(client(&proxy).ask("POST", "/a", "", &[b'x'; 100_000]).text(), "0");
}

#[test]
fn what_many_record_at_once_is_all_there() {
    let mut trip = Trip::new();
    let proxy = trip.record();
    let ask = |proxy: &Proxy, number: usize| {
        let mut client = client(proxy);
        [(); 5]
            .map(|()| client.ask("POST", "/echo", "", format!("frog {number}").as_bytes()).json()["body"].to_string())
    };
    let all = |proxy: &Proxy| -> Vec<_> {
        thread::scope(|scope| {
            let asking: Vec<_> = (0..40).map(|number| scope.spawn(move || ask(proxy, number))).collect();
            asking.into_iter().map(|one| one.join().unwrap()).collect()
        })
    };
    let recorded = all(&proxy);
    assert_eq!(proxy.stop().unwrap().recorded, 200);
    let proxy = trip.replay();
    assert_eq!(all(&proxy), recorded);
    let report = proxy.stop().unwrap();
    assert_eq!((report.replayed, report.missed, report.unused), (200, 0, 0));
}

/// A tool would be called with it, so it is told.
#[test]
fn an_answer_that_calls_a_tool_with_a_placeholder_is_named() {
    let call =
        |key: &str| format!(r#"{{"content":[{{"type":"tool_use","id":"a","name":"f","input":{{"key":"{key}"}}}}]}}"#);
    let key = "sk-proj-0123456789abcdefABCDEF";
    for (said, numbers) in [(call(key), vec![0]), (call("none"), vec![]), (format!("\"{key}\""), vec![])] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{said}",
            said.len()
        );
        let rude = Rude::start(answer.into_bytes().leak());
        let mut trip = Trip::new();
        let to = Resolve { host: "rude.test".to_owned(), port: None, to: rude.address };
        let (recorded, replayed, report) = trip.twice_with(
            |options| options.resolve(to.clone()),
            |proxy| {
                let mut client = client(proxy);
                client.send("GET http://rude.test/ HTTP/1.1\r\nHost: rude.test\r\n\r\n");
                client.answer("GET").text()
            },
        );
        assert_eq!((recorded, replayed), (said.clone(), said.replace(key, "REDACTED")));
        assert_eq!((report.redacted_calls, report.redacted_exchanges), (numbers.len() as u64, numbers), "{said}");
    }
}
