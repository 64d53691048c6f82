//! Which recorded exchange answers a request. Tests named after a defect of an earlier system say so.

use cassette::matching::{
    BodyRule, Condition, FoundExchange, HeaderRule, JsonPath, MatchRules, Miss, NoAnswer, PathRule, Player, QueryRule,
    Reason, RecordedExchanges, Repeats,
};
use cassette::{Body, Cassette, Content, Exchange, Header, KEY_BODY_BYTES_MAX, Request};
use proptest::prelude::*;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn request(method: &'static str, target: &str, body: &str) -> Request<'static> {
    Request {
        method: method.into(),
        scheme: "https".into(),
        host: "api.test".into(),
        port: 443,
        target: target.to_owned().into(),
        body: (!body.is_empty()).then(|| Body::new(0, body.to_owned())),
        ..Request::default()
    }
}

fn get(target: &str) -> Request<'static> {
    request("GET", target, "")
}

fn post(kind: &'static str, body: &str) -> Request<'static> {
    Request { headers: vec![Header::new("Content-Type", kind)], ..request("POST", "/chat", body) }
}

fn json(body: &str) -> Request<'static> {
    post("application/json; charset=utf-8", body)
}

fn with_header(mut request: Request<'static>, name: &'static str, value: &'static str) -> Request<'static> {
    request.headers.push(Header::new(name, value));
    request
}

/// A cassette of these requests, begun in this order.
fn cassette(requests: impl IntoIterator<Item = Request<'static>>) -> Vec<Exchange<'static>> {
    let numbered = |(number, request)| Exchange { number: number as u64, request, ..Exchange::default() };
    requests.into_iter().enumerate().map(numbered).collect()
}

fn player<'t>(
    cassette: &'t [Exchange<'static>],
    rules: MatchRules,
    repeats: Repeats,
) -> Player<&'t [Exchange<'static>]> {
    Player::new(cassette, rules, repeats).expect("what is in memory can be read")
}

fn position(found: Result<FoundExchange, NoAnswer<std::convert::Infallible>>) -> Option<usize> {
    found.ok().map(|found| found.position)
}

fn miss(found: Result<FoundExchange, NoAnswer<std::convert::Infallible>>) -> Miss {
    match found {
        Err(NoAnswer::Miss(miss)) => *miss,
        other => panic!("no miss: {other:?}"),
    }
}

fn paths(paths: &[&str]) -> Vec<JsonPath> {
    paths.iter().map(|path| JsonPath::new(path).expect("a path")).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn identical_requests_replay_in_sequence() {
    let cassette = cassette([get("/a"), get("/b"), get("/a"), get("/a")]);
    for (repeats, expected) in [
        (Repeats::Refused, [Some(0), Some(2), Some(3), None, None]),
        (Repeats::Last, [Some(0), Some(2), Some(3), Some(3), Some(3)]),
        (Repeats::Cycle, [Some(0), Some(2), Some(3), Some(0), Some(2)]),
    ] {
        let player = player(&cassette, MatchRules::default(), repeats);
        assert_eq!([(); 5].map(|()| position(player.find(&get("/a")))), expected, "{repeats:?}");
        assert_eq!(player.unused(), [1]);
    }
}

#[test]
fn the_order_is_that_of_beginnings() {
    let mut cassette = cassette([get("/a"), get("/a"), get("/a")]);
    for (exchange, number) in cassette.iter_mut().zip([7, 3, 5]) {
        exchange.number = number;
    }
    let player = player(&cassette, MatchRules::default(), Repeats::Refused);
    assert_eq!([(); 3].map(|()| position(player.find(&get("/a")))), [Some(1), Some(2), Some(0)]);
}

#[test]
fn repeated_query_params_count() {
    let rules = MatchRules::default();
    assert!(rules.same(&get("/a?x=1&y=%7e"), &get("/a?y=~&x=1")));
    assert!(!rules.same(&get("/a?x=1&x=1"), &get("/a?x=1")));
    assert!(!rules.same(&get("/a?x=1&x=2"), &get("/a?x=2&x=1")));
    let as_sent = MatchRules { query: QueryRule::AsSent, ..MatchRules::default() };
    assert!(!as_sent.same(&get("/a?x=1&y=2"), &get("/a?y=2&x=1")));
    assert!(!as_sent.same(&get("/a?"), &get("/a")));
}

#[test]
fn ignore_sets_are_used() {
    let rules = MatchRules {
        query: QueryRule::Without(names(&["nonce"])),
        headers: HeaderRule::Without(names(&["date"])),
        ..MatchRules::default()
    };
    let recorded = with_header(get("/a?nonce=1&x=1"), "Date", "today");
    assert!(rules.same(&recorded, &with_header(get("/a?x=1&nonce=2"), "date", "tomorrow")));
    assert!(!rules.same(&recorded, &with_header(get("/a?x=2&nonce=1"), "date", "today")));
    assert!(!rules.same(&recorded, &with_header(recorded.clone(), "Accept", "*/*")));
    assert!(rules.same(&recorded, &with_header(recorded.clone(), "Transfer-Encoding", "chunked")));
}

#[test]
fn header_match_ignores_case() {
    let rules = MatchRules { headers: HeaderRule::Only(names(&["Authorization"])), ..MatchRules::default() };
    let one = with_header(get("/a"), "authorization", "Bearer 1");
    assert!(rules.same(&one, &with_header(get("/a"), "AUTHORIZATION", "Bearer 1")));
    assert!(!rules.same(&one, &with_header(get("/a"), "Authorization", "Bearer 2")));
    assert!(!rules.same(&one, &get("/a")));
}

#[test]
fn regex_match_compares_captures() {
    let pattern = Regex::new("^/users/([0-9]+)/").unwrap();
    let rules = MatchRules { path: PathRule::Captures(pattern), ..MatchRules::default() };
    assert!(rules.same(&get("/users/7/a"), &get("/users/7/b")));
    assert!(!rules.same(&get("/users/7/a"), &get("/users/8/a")));
    assert!(!rules.same(&get("/other"), &get("/another")));
    assert!(rules.same(&get("/other"), &get("/other")));
}

#[test]
fn jsonpath_absent_is_not_equal() {
    let rules = MatchRules { body: BodyRule::JsonAt(paths(&["model", "messages.*.content"])), ..MatchRules::default() };
    let asks = |id: &str, content: &str| {
        json(&format!(r#"{{"id": {id}, "messages": [{{"content": "{content}"}}], "model": "m"}}"#))
    };
    assert!(rules.same(&asks("1", "hi"), &asks("2", "hi")));
    assert!(!rules.same(&asks("1", "hi"), &asks("1", "ho")));
    assert!(!rules.same(&json(r#"{"a": 1}"#), &json(r#"{"a": 2}"#)));
    assert!(!rules.same(&json("no JSON"), &json("no JSON either")));
    assert!(!rules.same(&json("no JSON"), &json(r#"{"model": "m", "messages": [{"content": "hi"}]}"#)));
}

#[test]
fn bodies_are_compared_as_what_they_are() {
    let rules = MatchRules::default();
    assert!(rules.same(&json(r#"{"a": 1, "b": [1.0]}"#), &json(r#"{"b":[1],"a":1}"#)));
    assert!(!rules.same(&json("[1, 2]"), &json("[2, 1]")));
    assert!(!rules.same(&json("[123456789012345678901]"), &json("[123456789012345678902]")));
    let form = |body| post("application/x-www-form-urlencoded", body);
    assert!(rules.same(&form("a=1&b=2"), &form("b=2&a=1")));
    assert!(!rules.same(&form("a=1"), &json("a=1")));
    let part = |boundary: &str| format!("--{boundary}\r\n\r\nhello\r\n--{boundary}--\r\n");
    let multipart = |kind, boundary| post(kind, &part(boundary));
    let one = multipart("multipart/form-data; boundary=abc", "abc");
    assert!(rules.same(&one, &multipart("multipart/form-data; boundary=\"x1y2\"", "x1y2")));
    assert!(!rules.same(&one, &post("multipart/form-data; boundary=abc", &part("abc").replace("hello", "bye"))));
    assert!(rules.same(&Request { body: Some(Body::default()), ..get("/a") }, &get("/a")));
    assert!(!MatchRules { body: BodyRule::Bytes, ..MatchRules::default() }.same(&json("[1,2]"), &json("[1, 2]")));
    assert!(MatchRules { body: BodyRule::Length, ..MatchRules::default() }.same(&json("[1,2]"), &json("[3,4]")));
}

#[test]
fn volatile_places_are_left_out() {
    let rules = MatchRules { body: BodyRule::JsonWithout(paths(&["**.id", "created"])), ..MatchRules::default() };
    let one = json(r#"{"created": 1, "messages": [{"id": "a", "text": "hi"}]}"#);
    assert!(rules.same(&one, &json(r#"{"created": 2, "messages": [{"id": "b", "text": "hi"}]}"#)));
    assert!(!rules.same(&one, &json(r#"{"created": 1, "messages": [{"id": "a", "text": "ho"}]}"#)));
}

#[test]
fn a_host_is_written_in_any_case_and_a_method_is_not() {
    let rules = MatchRules::default();
    assert!(rules.same(&Request { host: "API.test".into(), ..get("/") }, &get("/")));
    assert!(!rules.same(&Request { method: "get".into(), ..get("/") }, &get("/")));
    assert!(!rules.same(&Request { port: 8443, ..get("/") }, &get("/")));
    assert!(!rules.same(&Request { scheme: "http".into(), ..get("/") }, &get("/")));
    assert!(!rules.same(&get("/a%2fb"), &get("/a/b")));
}

/// The first word of the body is the same.
struct FirstWord;

impl Condition for FirstWord {
    fn name(&self) -> &str {
        "first-word"
    }

    fn holds(&self, recorded: &Request<'_>, live: &Request<'_>) -> bool {
        let first = |request: &Request<'_>| request.body_bytes().split(|&byte| byte == b' ').next().map(<[u8]>::to_vec);
        first(recorded) == first(live)
    }
}

#[test]
fn conditions_choose_among_equals() {
    let rules = || MatchRules { body: BodyRule::Ignored, custom: vec![Arc::new(FirstWord)], ..MatchRules::default() };
    let say = |text| post("text/plain", text);
    let cassette = cassette([say("buy bread"), say("sell milk"), say("buy milk")]);
    let player_of = |repeats| player(&cassette, rules(), repeats);
    let once = player_of(Repeats::Refused);
    let asked = ["sell all", "buy some", "buy more", "buy even more"].map(|text| position(once.find(&say(text))));
    assert_eq!(asked, [Some(1), Some(0), Some(2), None]);
    let missed = miss(once.find(&say("rent a house")));
    assert!(matches!(missed.reason, Reason::AllGiven { count: 3, .. }), "{missed}");
    let cycling = player_of(Repeats::Cycle);
    assert_eq!([(); 4].map(|()| position(cycling.find(&say("buy")))), [Some(0), Some(2), Some(0), Some(2)]);
    let missed = miss(cycling.find(&say("rent"))).to_string();
    assert!(missed.contains("condition first-word"), "{missed}");
}

#[test]
fn a_miss_names_the_nearest_and_what_differs() {
    let cassette = cassette([
        get("/users/7?page=1&size=10"),
        Request { host: "other.test".into(), ..get("/users/7?page=2&size=10") },
        json(r#"{"model": "m", "messages": [{"content": "hello"}]}"#),
    ]);
    let player = player(&cassette, MatchRules::default(), Repeats::Refused);
    let missed = miss(player.find(&get("/users/7?page=2&size=10&all")));
    assert_eq!(
        missed.to_string(),
        "no recorded exchange answers GET https://api.test/users/7?page=2&size=10&all\n\
         nearest is exchange 0, GET https://api.test/users/7?page=1&size=10; what differs:\n  \
         query all: recorded nothing, now \"\"\n  \
         query page: recorded \"1\", now \"2\""
    );
    let missed = miss(player.find(&json(r#"{"messages": [{"content": "bye"}], "model": "m"}"#)));
    assert_eq!(
        missed.to_string(),
        "no recorded exchange answers POST https://api.test/chat\n\
         nearest is exchange 2, POST https://api.test/chat; what differs:\n  \
         body at messages.0.content: recorded \"hello\", now \"bye\""
    );
    assert_eq!(position(player.find(&cassette[0].request)), Some(0));
    let missed = miss(player.find(&cassette[0].request));
    assert_eq!(
        missed.to_string(),
        "no recorded exchange answers GET https://api.test/users/7?page=1&size=10\n\
         it was recorded once, and each was given (exchange 0 last); allow repeats, or record again"
    );
    let nothing = miss(self::player(&[], MatchRules::default(), Repeats::Last).find(&get("/")));
    assert_eq!(nothing.reason, Reason::Empty);
}

#[test]
fn what_differs_is_shown_where_it_differs() {
    let long =
        |end: &str| with_header(get("/"), "X-Long", Box::leak(format!("{}{end}", "x".repeat(500)).into_boxed_str()));
    let rules = MatchRules { headers: HeaderRule::Only(names(&["x-long"])), ..MatchRules::default() };
    let cassette = cassette([long("one")]);
    let missed = miss(player(&cassette, rules, Repeats::Refused).find(&long("two"))).to_string();
    assert!(missed.contains("one\"") && missed.contains("two\"") && missed.len() < 400, "{missed}");
}

#[test]
fn concurrent_replay_scales() {
    const REQUESTS: usize = 10_000;
    let cassette = cassette((0..REQUESTS).map(|_| get("/same")));
    let player = player(&cassette, MatchRules::default(), Repeats::Refused);
    let mut positions: Vec<_> = std::thread::scope(|scope| {
        let ask = || (0..REQUESTS / 8).map(|_| position(player.find(&get("/same")))).collect::<Vec<_>>();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    positions.sort_unstable();
    assert!(positions.into_iter().eq((0..REQUESTS).map(Some)), "each is given once");
    assert!(player.unused().is_empty());
}

/// A request out of few, so that equal ones are common.
/// Exchanges that count how often a request is looked at.
struct Counted(Vec<Exchange<'static>>, AtomicUsize);

impl RecordedExchanges for Counted {
    type Error = std::convert::Infallible;

    fn count(&self) -> usize {
        self.0.len()
    }

    fn in_order(&self) -> Vec<usize> {
        (0..self.0.len()).collect()
    }

    fn number(&self, position: usize) -> Result<u64, Self::Error> {
        Ok(self.0[position].number)
    }

    fn request(&self, position: usize) -> Result<Cow<'_, Request<'_>>, Self::Error> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Ok(Cow::Borrowed(&self.0[position].request))
    }
}

/// Long bodies take no part in keys, so these differ after them.
#[test]
fn questions_with_one_key_are_told_apart_once() {
    let long = |number: usize| request("POST", "/upload", &number.to_string().repeat(KEY_BODY_BYTES_MAX + 1));
    let counted = Counted(cassette((0..4).map(long)), AtomicUsize::new(0));
    let player = Player::new(&counted, MatchRules::default(), Repeats::Refused).unwrap();
    for number in (0..4).rev() {
        assert_eq!(position(player.find(&long(number))), Some(number));
    }
    // Once for its key, and once to tell it from the others.
    assert_eq!(counted.1.load(Ordering::Relaxed), 8);
    assert!(player.unused().is_empty());
}

#[test]
fn many_parameters_are_compared_in_little_time() {
    let query = |last: &str| {
        let pairs: String = (0..50_000).map(|name| format!("p{name}=1&")).collect();
        get(&format!("/a?{pairs}last={last}"))
    };
    let cassette = cassette([query("1")]);
    let miss = miss(player(&cassette, MatchRules::default(), Repeats::Refused).find(&query("2")));
    let Reason::Unlike(nearest) = miss.reason else { panic!("it was asked otherwise") };
    assert_eq!(
        nearest.differences.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [r#"query last: recorded "1", now "2""#]
    );
}

fn any_request() -> impl Strategy<Value = Request<'static>> {
    let target =
        prop::sample::select(vec!["/a", "/a?x=1", "/a?x=1&y=2", "/a?y=2&x=1", "/%61", "/a?x", "/a?x=", "/b?x=1&x=1"]);
    let body = prop::sample::select(vec!["", "{\"a\":1}", "{ \"a\": 1.0 }", "{\"a\":2}", "a=1&b=2", "b=2&a=1", "[]"]);
    let kind = prop::sample::select(vec!["application/json", "application/x-www-form-urlencoded", "text/plain"]);
    let host = prop::sample::select(vec!["one.test", "ONE.test", "two.test"]);
    (target, body, kind, host).prop_map(|(target, body, kind, host)| Request {
        host: host.into(),
        target: target.into(),
        ..post(kind, body)
    })
}

fn any_rules() -> impl Strategy<Value = MatchRules> {
    let query = prop::sample::select(vec![
        QueryRule::Pairs,
        QueryRule::AsSent,
        QueryRule::Ignored,
        QueryRule::Without(names(&["x"])),
    ]);
    let headers = prop::sample::select(vec![
        HeaderRule::Ignored,
        HeaderRule::Only(names(&["content-type"])),
        HeaderRule::Without(names(&["x"])),
    ]);
    let body = prop::sample::select(vec![
        BodyRule::Content,
        BodyRule::Bytes,
        BodyRule::Ignored,
        BodyRule::Length,
        BodyRule::JsonWithout(paths(&["a"])),
        BodyRule::JsonAt(paths(&["a"])),
        BodyRule::Captures(Regex::new("a.*([0-9])").unwrap()),
    ]);
    (query, headers, body).prop_map(|(query, headers, body)| MatchRules {
        query,
        headers,
        body,
        ..MatchRules::default()
    })
}

proptest! {
    /// Requests that are the same have the same key, and a miss explains itself exactly when they are not the same.
    #[test]
    fn keys_equality_and_explanations_agree(rules in any_rules(), one in any_request(), other in any_request()) {
        let same = rules.same(&one, &other);
        prop_assert_eq!(same, rules.key(&one) == rules.key(&other));
        prop_assert_eq!(same, rules.same(&other, &one));
        let cassette = cassette([one]);
        let player = player(&cassette, rules, Repeats::Last);
        match player.find(&other) {
            Ok(_) => prop_assert!(same),
            Err(NoAnswer::Miss(miss)) => {
                let Reason::Unlike(nearest) = &miss.reason else { panic!("{miss}") };
                prop_assert!(!same && !nearest.differences.is_empty());
            }
            Err(NoAnswer::Unreadable(never)) => match never {},
        }
    }

    /// The player does what lists of positions by question do.
    #[test]
    fn a_player_is_queues_by_question(
        rules in any_rules(),
        recorded in prop::collection::vec(any_request(), 0..20),
        asked in prop::collection::vec(any_request(), 0..40),
        repeats in prop::sample::select(vec![Repeats::Refused, Repeats::Last, Repeats::Cycle]),
    ) {
        let cassette = cassette(recorded);
        let player = player(&cassette, rules.clone(), repeats);
        let mut turns: HashMap<usize, usize> = HashMap::new();
        for live in &asked {
            let same: Vec<_> = (0..cassette.len()).filter(|&at| rules.same(&cassette[at].request, live)).collect();
            let expected = same.first().and_then(|first| {
                let turn = turns.entry(*first).or_default();
                *turn += 1;
                match (*turn - 1, repeats) {
                    (turn, _) if turn < same.len() => Some(same[turn]),
                    (_, Repeats::Refused) => None,
                    (_, Repeats::Last) => same.last().copied(),
                    (turn, Repeats::Cycle) => Some(same[turn % same.len()]),
                }
            });
            prop_assert_eq!(position(player.find(live)), expected);
        }
        let given = |at: &usize| asked.iter().filter(|live| rules.same(&cassette[*at].request, live)).count()
            > (0..*at).filter(|&before| rules.same(&cassette[before].request, &cassette[*at].request)).count();
        prop_assert_eq!(player.unused(), (0..cassette.len()).filter(|at| !given(at)).collect::<Vec<_>>());
    }
}

mod on_cassettes {
    //! Matching on cassettes that lie on a disk.

    use super::*;
    use crate::exchanges::Folder;
    use cassette::{Cassette, KeyScheme, ReadError, write_cassette};

    fn sealed(exchanges: &[Exchange<'static>], rules: &MatchRules) -> Vec<u8> {
        let folder = Folder::new();
        let path = folder.join("a.cassette");
        write_cassette(&path, exchanges, &[], KeyScheme::of(rules)).expect("it is written");
        std::fs::read(path).expect("it is there")
    }

    fn open(bytes: Vec<u8>) -> Cassette {
        Cassette::from_bytes(bytes, "a.cassette").expect("what opening looks at is well")
    }

    #[test]
    fn a_cassette_answers_as_its_exchanges_do() {
        let targets = ["/a?x=1", "/b", "/a?x=2", "/a?x=1", "/c"];
        let exchanges = cassette(targets.map(get));
        for sealed_by in [MatchRules::default(), MatchRules::lenient()] {
            let cassette = open(sealed(&exchanges, &sealed_by));
            for rules in [MatchRules::default(), MatchRules::lenient()] {
                let from_cassette = Player::new(&cassette, rules.clone(), Repeats::Last).expect("it can be read");
                let from_memory = player(&exchanges, rules, Repeats::Last);
                for target in ["/a?x=1", "/a?x=1", "/a?x=3", "/c", "/d", "/a?x=1"] {
                    let found = from_cassette.find(&get(target)).map_err(|error| error.to_string());
                    assert_eq!(found, from_memory.find(&get(target)).map_err(|error| error.to_string()), "{target}");
                }
                assert_eq!(from_cassette.unused(), from_memory.unused());
            }
        }
    }

    #[test]
    fn opening_a_player_reads_no_exchange() {
        let exchanges = cassette(["/a", "/b"].map(get));
        let mut bytes = sealed(&exchanges, &MatchRules::default());
        let at = bytes.windows(2).position(|window| window == b"/a").expect("a cassette this small is not compressed");
        bytes[at] ^= 1;
        let cassette = open(bytes);
        let player = Player::new(&cassette, MatchRules::default(), Repeats::Refused).expect("the index is well");
        let found = player.find(&get("/a"));
        assert!(matches!(found, Err(NoAnswer::Unreadable(ReadError::Damaged(_)))), "{found:?}");
    }
}

/// A client may say of any bytes that they are a form.
#[test]
fn a_long_name_is_shortened_in_a_miss() {
    let form = |last: &str| {
        let mut request = request("POST", "/upload", &("x".repeat(1 << 20) + last));
        request.headers = vec![Header::new("Content-Type", "application/x-www-form-urlencoded")];
        request
    };
    let cassette = cassette([form("1")]);
    let miss = miss(player(&cassette, MatchRules::default(), Repeats::Refused).find(&form("2")));
    assert!(miss.to_string().len() < 1000, "{} bytes", miss.to_string().len());
}

/// Compressors differ from one version to the next.
#[test]
fn compressed_bodies_are_compared_by_what_they_say() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    let asked = |text: &str, level| {
        let mut encoder = GzEncoder::new(Vec::new(), level);
        let body = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish()).expect("memory takes it");
        let headers = vec![Header::new("Content-Type", "application/json"), Header::new("Content-Encoding", "gzip")];
        Request { headers, body: Some(Body::new(0, body)), ..Request::default() }
    };
    let text = format!("{{\"a\": 1, \"b\": \"{}\"}}", "x".repeat(500));
    let one = asked(&text, Compression::best());
    let other = asked(&text, Compression::none());
    assert_ne!(one.body, other.body);
    assert!(
        MatchRules::default().same(&one, &other)
            && MatchRules::default().key(&one) == MatchRules::default().key(&other)
    );
    let bytes = MatchRules { body: BodyRule::Bytes, ..MatchRules::default() };
    assert!(!bytes.same(&one, &other));
    let changed = asked(&text.replace("\"a\": 1", "\"a\": 2"), Compression::fast());
    assert!(!MatchRules::default().same(&one, &changed));
    let path = JsonPath::new("a").expect("it is one");
    let without = MatchRules { body: BodyRule::JsonWithout(vec![path]), ..MatchRules::default() };
    assert!(without.same(&one, &changed));
    assert_eq!(without.message_difference(br#"{"a": 1, "b": 2}"#, br#"{"b":2,"a":3}"#), None);
    let difference = MatchRules::default().message_difference(br#"{"a": 1, "b": 2}"#, br#"{"b":2,"a":3}"#);
    assert_eq!(difference.as_deref(), Some("message at a: recorded 1, now 3"));
    let recorded = Exchange { request: one, ..Exchange::default() };
    let cassette = [recorded];
    let player = Player::new(&cassette[..], MatchRules::default(), Repeats::Refused).expect("it is in memory");
    let message = player.find(&changed).expect_err("it differs").to_string();
    assert!(message.contains("body at a: recorded 1, now 2"), "{message}");
}

/// An import, or a recording with its secrets, has them in its requests.
#[test]
fn a_recording_with_secrets_answers_its_own_request() {
    use cassette::matching::RedactedExchanges;
    use cassette::redact::Redaction;
    let asked = Request {
        target: "/?password=croak&x=1".into(),
        headers: vec![Header::new("Content-Type", "application/json")],
        body: Some(Body::new(0, r#"{"api_key": "croak-croak", "n": 1}"#)),
        ..Request::default()
    };
    let content =
        Content { exchanges: vec![Exchange { request: asked.clone(), ..Exchange::default() }], meta: Vec::new() };
    let cassette = Arc::new(Cassette::from(content));
    let usual = Redaction::usual();
    let mut live = asked;
    usual.request(&mut live);
    let player = Player::new(cassette.clone(), MatchRules::default(), Repeats::Last).expect("it is in memory");
    assert!(player.find(&live).is_err(), "the secret was compared with what stands for it");
    let recorded = Box::new(RedactedExchanges::new(cassette, Some(usual)));
    let player = Player::new(recorded, MatchRules::default(), Repeats::Refused).expect("it is in memory");
    assert!(player.find(&live).is_ok());
    let message = player.find(&Request { target: "/y".into(), ..live }).expect_err("it differs").to_string();
    assert!(!message.contains("croak"), "{message}");
}
