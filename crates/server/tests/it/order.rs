//! In which order requests that are made at once are answered, and what is said if that cannot be known.

use crate::fixture::{Client, Mode, Trip, client};
use cassette::{Body, Cassette, Exchange, Header, Request, Response, SealOptions, write_cassette};
use server::{Proxy, ProxyOptions, Report};
use std::collections::HashSet;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Longer than anything is waited for that does not come.
const LONG: Duration = Duration::from_secs(15);
const JSON: &str = "Content-Type: application/json\r\n";

/// A question, and an answer that went on from one millisecond to another.
fn exchange(number: u64, question: &str, (from, to): (u64, u64), answer: impl Into<Vec<u8>>) -> Exchange<'static> {
    exchange_us(number, question, (from * 1_000, to * 1_000), answer)
}

/// A question, and an answer that went on from one microsecond to another.
pub(crate) fn exchange_us(
    number: u64,
    question: &str,
    (from, to): (u64, u64),
    answer: impl Into<Vec<u8>>,
) -> Exchange<'static> {
    let request = Request {
        method: "POST".into(),
        scheme: "http".into(),
        host: origin::NAME.into(),
        port: 80,
        target: "/ask".into(),
        headers: vec![Header::new("Content-Type", "application/json")],
        body: Some(Body::new(0, question.as_bytes().to_vec())),
        ..Request::default()
    };
    let us = to - from;
    let body = Body::new(us, answer.into());
    let headers = vec![Header::new("Content-Length", body.bytes().len().to_string())];
    Exchange {
        number,
        started_ns: 1_760_000_000_000_000_000 + from as i64 * 1_000,
        ended_us: Some(us),
        request,
        response: Some(Response { status: 200, at_us: us, headers, body: Some(body), ..Response::default() }),
        ..Exchange::default()
    }
}

pub(crate) fn on_cassette(exchanges: &[Exchange<'_>]) -> Trip {
    let trip = Trip::new();
    write_cassette(trip.cassette(), exchanges, &[], SealOptions::default()).unwrap();
    trip
}

pub(crate) fn ask(client: &mut Client<TcpStream>, question: &str) -> String {
    let answer = client.ask("POST", "/ask", JSON, question.as_bytes());
    if answer.status == 200 { answer.text() } else { answer.status.to_string() }
}

/// Asks all of these at once, each by a thread; gives the answers in the order in which they came, each with the place of its question.
fn at_once(proxy: &Proxy, questions: &[String]) -> Vec<(usize, String)> {
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for (place, question) in questions.iter().enumerate() {
            let answers = &answers;
            scope.spawn(move || {
                let answer = ask(&mut client(proxy), question);
                answers.lock().unwrap().push((place, answer));
            });
        }
    });
    answers.into_inner().unwrap()
}

pub(crate) fn replay(
    trip: &Trip,
    more: impl FnOnce(ProxyOptions) -> ProxyOptions,
    with: impl FnOnce(&Proxy),
) -> Report {
    let proxy = Proxy::start(more(trip.options(Mode::None))).unwrap();
    with(&proxy);
    proxy.stop().unwrap()
}

/// Asks these questions by one client.
fn one_after_the_other(trip: &Trip, questions: &[String]) -> (Vec<String>, Report) {
    let mut answers = Vec::new();
    let report = replay(
        trip,
        |options| options,
        |proxy| {
            let mut client = client(proxy);
            answers.extend(questions.iter().map(|question| ask(&mut client, question)));
        },
    );
    (answers, report)
}

#[test]
fn equal_questions_at_once() {
    let question = r#"{"prompt": "What is a frog?"}"#;
    let asking = vec![question.to_owned(); 8];
    // Each has an answer of its own: which thread gets which is an accident, and is told.
    let differing: Vec<_> = (0..8).map(|n| exchange(n, question, (n, 20 + n), format!(r#"{{"id": {n}}}"#))).collect();
    let trip = on_cassette(&differing);
    let all: HashSet<_> = (0..8).map(|n| format!(r#"{{"id": {n}}}"#)).collect();
    let report = replay(
        &trip,
        |options| options,
        |proxy| {
            assert_eq!(at_once(proxy, &asking).into_iter().map(|(_, answer)| answer).collect::<HashSet<_>>(), all);
        },
    );
    assert!(report.differs());
    let named = &report.ambiguous_answers[0];
    assert_eq!((report.ambiguous, &named.exchanges), (1, &(0..8).collect::<Vec<_>>()));
    assert_eq!(named.request, format!("POST http://{}/ask", origin::NAME));
    assert_eq!(named.difference, "response body at id: 0 -> 1");
    let report = replay(&trip, ProxyOptions::allow_ambiguous, |proxy| drop(at_once(proxy, &asking)));
    assert_eq!((report.ambiguous, report.differs()), (1, false));
    // They were made at once when they were recorded, and that is enough.
    let (_, report) = one_after_the_other(&trip, &asking);
    assert!(report.differs());
    // Equal answers are nobody's own.
    let equal: Vec<_> = (0..8).map(|n| exchange(n, question, (n, 20 + n), "frog")).collect();
    let report = replay(&on_cassette(&equal), |options| options, |proxy| drop(at_once(proxy, &asking)));
    assert_eq!((report.ambiguous, report.differs()), (0, false));
    // What was asked one after the other is answered so, and is ambiguous only if it is asked at once now.
    let in_turn: Vec<_> = (0..3).map(|n| exchange(n, question, (9 * n, 9 * n + 5), n.to_string())).collect();
    let trip = on_cassette(&in_turn);
    let (answers, report) = one_after_the_other(&trip, &asking[..3]);
    assert_eq!(answers, ["0", "1", "2"]);
    assert!(!report.differs());
}

#[test]
fn same_template_other_document_gets_its_own_answer() {
    let question = |n: u64| format!(r#"{{"system": "Extract from: document {n}", "user": "What does it say?"}}"#);
    // The first to be asked is the last to be answered.
    let exchanges: Vec<_> =
        (0..40).map(|n| exchange(n, &question(n), (n, 200 - 2 * n), format!("of document {n}"))).collect();
    let trip = on_cassette(&exchanges);
    let asking: Vec<_> = (0..40).map(question).collect();
    let report = replay(
        &trip,
        |options| options,
        |proxy| {
            for (place, answer) in at_once(proxy, &asking) {
                assert_eq!(answer, format!("of document {place}"));
            }
        },
    );
    assert_eq!((report.replayed, report.differs()), (40, false));
}

#[test]
fn fifo_with_other_arguments_is_a_miss() {
    let call = |city: &str| format!(r#"{{"tool": "weather", "arguments": {{"city": "{city}"}}}}"#);
    let exchanges = [exchange(0, &call("Bern"), (0, 5), "rain"), exchange(1, &call("Rome"), (6, 9), "sun")];
    let trip = on_cassette(&exchanges);
    let report = replay(
        &trip,
        |options| options,
        |proxy| {
            let mut client = client(proxy);
            // The next answer in line is of the same tool, and not for this call; it stays for the call that it is for.
            let answers = ["Oslo", "Rome", "Bern", "Rome"].map(|city| ask(&mut client, &call(city)));
            assert_eq!(answers, ["599", "sun", "rain", "599"]);
        },
    );
    assert_eq!((report.replayed, report.missed), (2, 2));
}

/// Each answer is followed by a request before the next answer comes, so the order in which threads run is known.
#[test]
fn answers_come_in_the_order_in_which_they_came() {
    let question = |n: u64| format!(r#"{{"question": {n}}}"#);
    let thanks = |n: u64| format!(r#"{{"thanks": {n}}}"#);
    let mut exchanges: Vec<_> = (0..6).map(|n| exchange(n, &question(n), (n, 80 - 10 * n), "answer")).collect();
    exchanges.extend((0..6).map(|n| exchange(6 + n, &thanks(5 - n), (31 + 10 * n, 100 + n), "thanks")));
    let trip = on_cassette(&exchanges);
    let order = Mutex::new(Vec::new());
    let report = replay(
        &trip,
        |options| options,
        |proxy| {
            order.lock().unwrap().clear();
            std::thread::scope(|scope| {
                for n in 0..6 {
                    let (order, question, thanks) = (&order, question(n), thanks(n));
                    scope.spawn(move || {
                        let mut client = client(proxy);
                        assert_eq!(ask(&mut client, &question), "answer");
                        order.lock().unwrap().push(n);
                        assert_eq!(ask(&mut client, &thanks), "thanks");
                    });
                }
            });
        },
    );
    assert!(!report.differs() && report.late == 0, "{report:?}");
    assert_eq!(*order.lock().unwrap(), [5, 4, 3, 2, 1, 0]);
}

/// Asks for these, one after the other, which takes less than [`LONG`].
fn in_turn(trip: &Trip, numbers: impl IntoIterator<Item = u64>) -> (Vec<String>, Report) {
    let begun = Instant::now();
    let questions: Vec<_> = numbers.into_iter().map(|n| format!(r#"{{"n": {n}}}"#)).collect();
    let told = one_after_the_other(trip, &questions);
    assert!(begun.elapsed() < LONG);
    told
}

#[test]
fn an_answer_that_the_program_waits_for_does_not_wait_for_the_program() {
    // The second came and was answered while the first was under way; now the program asks for it with the first answer in hand, and
    // for the third not at all.
    let exchanges = [
        exchange(0, r#"{"n": 0}"#, (0, 50), "first"),
        exchange(1, r#"{"n": 1}"#, (10, 20), "second"),
        exchange(2, r#"{"n": 2}"#, (12, 30), "third"),
        exchange(3, r#"{"n": 3}"#, (60, 70), "fourth"),
    ];
    let trip = on_cassette(&exchanges);
    let (answers, report) = in_turn(&trip, [0, 1, 3]);
    assert_eq!(answers, ["first", "second", "fourth"]);
    assert_eq!((report.late, report.unused, report.differs()), (1, 1, false));
}

#[test]
fn what_never_comes_is_waited_for_less_and_less() {
    // Each answer overlapped with a request that is not made any more.
    let exchanges: Vec<_> = (0..200)
        .flat_map(|n| {
            let (from, number) = (n * 100, n * 2);
            let telemetry = exchange(number + 1, &format!(r#"{{"telemetry": {n}}}"#), (from + 1, from + 2), "");
            [exchange(number, &format!(r#"{{"n": {n}}}"#), (from, from + 90), n.to_string()), telemetry]
        })
        .collect();
    let trip = on_cassette(&exchanges);
    let (answers, report) = in_turn(&trip, 0..200);
    assert!(answers.into_iter().eq((0..200).map(|n| n.to_string())));
    assert_eq!((report.replayed, report.unused, report.late), (200, 200, 0));
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    let long = vec![b'x'; 32 << 20];
    let exchanges = [exchange(0, r#"{"n": 0}"#, (0, 10), long), exchange(1, r#"{"n": 1}"#, (1, 20), "the other")];
    let trip = on_cassette(&exchanges);
    let report = replay(
        &trip,
        |options| options,
        |proxy| {
            let mut lazy = client(proxy);
            let question = r#"{"n": 0}"#;
            let head = format!("POST http://{0}/ask HTTP/1.1\r\nHost: {0}\r\n{JSON}", origin::NAME);
            lazy.send(format!("{head}Content-Length: {}\r\n\r\n{question}", question.len()));
            assert_eq!(ask(&mut client(proxy), r#"{"n": 1}"#), "the other");
            assert_eq!(lazy.answer("POST").body.len(), 32 << 20);
        },
    );
    assert_eq!((report.replayed, report.abandoned), (2, 0));
}

#[test]
fn a_cassette_without_times_says_so_if_that_matters() {
    let untimed = |n: u64| {
        let question = format!(r#"{{"n": {n}}}"#);
        Exchange { started_ns: 0, ended_us: None, ..exchange(n, &question, (0, 0), n.to_string()) }
    };
    let trip = on_cassette(&[untimed(0), untimed(1)]);
    let asking: Vec<_> = (0..2).map(|n| format!(r#"{{"n": {n}}}"#)).collect();
    let (_, report) = one_after_the_other(&trip, &asking);
    assert_eq!((report.untimed, report.differs()), (0, false));
    // The second is there first, and waits for the first.
    let report = replay(
        &trip,
        |options| options,
        |proxy| {
            std::thread::scope(|scope| {
                let second = scope.spawn(|| ask(&mut client(proxy), &asking[1]));
                crate::fixture::until("the second is there", || proxy.report().replayed == 1);
                assert_eq!(ask(&mut client(proxy), &asking[0]), "0");
                assert_eq!(second.join().unwrap(), "1");
            });
        },
    );
    assert!(report.untimed + report.late > 0, "{report:?}");
}

/// A program with threads that take the next document of a list; 12 of 120 ask what others ask, and are answered differently.
#[test]
fn documents_of_threads_are_answered_as_they_were_or_named() {
    let documents = 120;
    // The question and the answer of a document; the last dozen asks what the first does, if that is wanted.
    let of = |n: u64, repeats: bool| {
        let asks = if repeats && n >= 108 { n - 108 } else { n };
        (format!(r#"{{"document": {asks}}}"#), format!("{n} says"))
    };
    for (repeats, apart) in [(false, false), (true, true), (true, false)] {
        // Equal questions are under way at once, unless the last dozen comes after all others are answered.
        let span = |n: u64| match (n < 108, apart) {
            (true, _) => (n, n + 16),
            (false, true) => (n + 40, n + 56),
            (false, false) => (n - 108, n - 108 + 20),
        };
        let mut exchanges: Vec<_> = (0..documents)
            .map(|n| {
                let (question, answer) = of(n, repeats);
                let (from, to) = span(n);
                exchange_us(n, &question, (from * 1_000 + n, to * 1_000 + n), answer)
            })
            .collect();
        exchanges.sort_by_key(|exchange| exchange.started_ns);
        (0..).zip(&mut exchanges).for_each(|(number, exchange)| exchange.number = number);
        let trip = on_cassette(&exchanges);
        let once = || {
            let (next, answers) = (std::sync::atomic::AtomicU64::new(0), Mutex::new(Vec::new()));
            let report = replay(
                &trip,
                |options| options,
                |proxy| {
                    std::thread::scope(|scope| {
                        for _ in 0..16 {
                            scope.spawn(|| {
                                let mut client = client(proxy);
                                loop {
                                    let n = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                                    if n >= documents {
                                        return;
                                    }
                                    let answer = ask(&mut client, &of(n, repeats).0);
                                    answers.lock().unwrap().push((n, answer));
                                }
                            });
                        }
                    });
                },
            );
            let mut answers = answers.into_inner().unwrap();
            answers.sort_unstable();
            assert_eq!((report.replayed, report.missed, report.unused), (documents, 0, 0));
            (answers, report)
        };
        let own: Vec<_> = (0..documents).map(|n| (n, of(n, repeats).1)).collect();
        for _ in 0..2 {
            let (answers, report) = once();
            let is_ambiguous = repeats && !apart;
            assert_eq!(report.differs(), is_ambiguous, "{report:?}");
            assert_eq!(report.ambiguous, if is_ambiguous { 12 } else { 0 });
            assert!(is_ambiguous || answers == own);
        }
    }
}

#[test]
fn no_two_things_have_the_same_time_on_a_cassette() {
    let trip = Trip::new();
    let proxy = trip.record();
    std::thread::scope(|scope| {
        for n in 0..6 {
            let proxy = &proxy;
            scope.spawn(move || {
                let mut client = client(proxy);
                for _ in 0..5 {
                    assert_eq!(client.get(&format!("/sse?n=3&gap=1&of={n}")).status, 200);
                }
            });
        }
    });
    proxy.stop().unwrap();
    let cassette = Cassette::open(trip.cassette()).unwrap();
    let mut times = Vec::new();
    for exchange in cassette.exchanges().map(Result::unwrap) {
        let response = exchange.response.unwrap();
        let chunks = response.body.iter().flat_map(|body| body.chunks().iter().map(|chunk| chunk.at_us));
        let all = [Some(0), Some(response.at_us), exchange.ended_us].into_iter().flatten().chain(chunks);
        times.extend(all.map(|at_us| exchange.started_ns + at_us as i64 * 1_000));
    }
    let (count, distinct) = (times.len(), times.into_iter().collect::<HashSet<_>>().len());
    assert_eq!(count, distinct);
    assert!(count >= 30 * 5, "{count}");
}
