//! What is sealed comes back, in order, found by its key, and in little room.

use crate::exchanges::{Folder, exchanges, of_the_report, with_everything};
use cassette::{Body, Bytes, Cassette, Exchange, KeyScheme, Note, ReadError, SealError, write_cassette};
use proptest::prelude::*;

fn all(cassette: &Cassette) -> Vec<Exchange<'_>> {
    cassette.exchanges().collect::<Result<_, _>>().unwrap()
}

#[test]
fn everything_comes_back() {
    let folder = Folder::new();
    let path = folder.join("a.cassette");
    let exchanges = [with_everything(4), of_the_report(7), Exchange { number: 1, ..Exchange::default() }];
    write_cassette(&path, &exchanges, &[Note::new("name", "a")], KeyScheme::target()).unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let [second, third, first] = exchanges;
    assert_eq!(all(&cassette), [first, second, third]);
    assert_eq!(cassette.meta().unwrap(), [Note::new("name", "a")]);
    assert_eq!((cassette.next_number(), cassette.is_sealed()), (8, true));
    cassette.verify().unwrap();
    assert_eq!(folder.names(), ["a.cassette"]);
}

#[test]
fn an_empty_cassette_is_a_cassette() {
    let folder = Folder::new();
    let path = folder.join("empty.cassette");
    write_cassette(&path, &[], &[], KeyScheme::target()).unwrap();
    let cassette = Cassette::open(&path).unwrap();
    assert!(cassette.is_empty());
    assert_eq!(cassette.find(&KeyScheme::target(), &of_the_report(1).request).unwrap(), [] as [usize; 0]);
    cassette.verify().unwrap();
}

#[test]
fn the_interactions_of_the_report_take_less_than_eight_kilobytes() {
    let folder = Folder::new();
    let path = folder.join("report.cassette");
    let exchanges: Vec<_> = (0..500).map(of_the_report).collect();
    write_cassette(&path, &exchanges, &[Note::new("name", "size-comparison")], KeyScheme::target()).unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes <= 8000, "{bytes}");
    assert_eq!(all(&Cassette::open(&path).unwrap()), exchanges);
}

#[test]
fn requests_are_found_by_their_key_in_order() {
    let folder = Folder::new();
    let path = folder.join("found.cassette");
    let exchanges: Vec<_> = (0..1000).map(|number| Exchange { number, ..of_the_report(number % 300) }).collect();
    write_cassette(&path, &exchanges, &[], KeyScheme::target()).unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let by_method = KeyScheme::new(77, |request| request.method.len() as u64);
    for number in [0, 5, 150, 299] {
        let found = cassette.find(&KeyScheme::target(), &of_the_report(number).request).unwrap();
        let expected: Vec<_> = (0..1000).filter(|index| index % 300 == number as usize).collect();
        assert_eq!(found, expected);
    }
    assert!(cassette.find(&KeyScheme::target(), &of_the_report(300).request).unwrap().is_empty());
    assert_eq!(cassette.find(&by_method, &of_the_report(0).request).unwrap().len(), 1000);
}

#[test]
fn equal_bodies_are_stored_once() {
    let folder = Folder::new();
    let noise: Vec<u8> = (0..300_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let path = folder.join("shared.cassette");
    let exchange = |number| {
        let mut exchange = of_the_report(number);
        exchange.response.as_mut().unwrap().body = Some(Body::new(1, noise.clone()));
        exchange
    };
    let exchanges: Vec<_> = (0..10).map(exchange).collect();
    write_cassette(&path, &exchanges, &[], KeyScheme::target()).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 310_000);
    let cassette = Cassette::open(&path).unwrap();
    assert_eq!(all(&cassette), exchanges);
    assert_eq!(cassette.summary().sealed_body_bytes, 10 * 300_000 + 10 * 35);
}

/// A body of one piece that did not compress is used where it lies.
#[test]
fn incompressible_bodies_are_not_copied() {
    let folder = Folder::new();
    let path = folder.join("raw.cassette");
    let mut state = 9_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..200_000).map(|_| next()).collect();
    let mut exchange = of_the_report(0);
    exchange.response.as_mut().unwrap().body = Some(Body::new(0, noise.clone()));
    write_cassette(&path, &[exchange], &[], KeyScheme::target()).unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let response = cassette.exchange(0).unwrap().response.unwrap();
    let (bytes, _) = response.body.unwrap().into_parts();
    assert!(matches!(bytes, Bytes(std::borrow::Cow::Borrowed(_))));
    assert_eq!(*bytes, noise);
}

#[test]
fn two_exchanges_of_one_number_are_refused() {
    let folder = Folder::new();
    let path = folder.join("twice.cassette");
    write_cassette(&path, &[of_the_report(1)], &[], KeyScheme::target()).unwrap();
    let twice = write_cassette(&path, &[of_the_report(3), of_the_report(3)], &[], KeyScheme::target());
    assert!(matches!(twice, Err(SealError::SameNumber(3))));
    assert_eq!(all(&Cassette::open(&path).unwrap()), [of_the_report(1)]);
    assert_eq!(folder.names(), ["twice.cassette"]);
}

#[test]
fn duplicate_headers_survive() {
    let exchange = with_everything(0);
    let folder = Folder::new();
    write_cassette(folder.join("x"), &[exchange], &[], KeyScheme::target()).unwrap();
    let cassette = Cassette::open(folder.join("x")).unwrap();
    let response = cassette.exchange(0).unwrap().response.unwrap();
    assert_eq!(response.header_values("SET-COOKIE").count(), 2);
}

#[test]
fn non_utf8_header_survives() {
    let folder = Folder::new();
    write_cassette(folder.join("x"), &[with_everything(0)], &[], KeyScheme::target()).unwrap();
    let cassette = Cassette::open(folder.join("x")).unwrap();
    let response = cassette.exchange(0).unwrap().response.unwrap();
    assert_eq!(response.header_values("set-cookie").nth(1).unwrap()[..], *b"\xff\x00");
}

#[test]
fn empty_body_is_not_absent() {
    let folder = Folder::new();
    let with = |body| {
        let mut exchange = of_the_report(0);
        exchange.response.as_mut().unwrap().body = body;
        exchange
    };
    for (name, body) in [("absent", None), ("empty", Some(Body::default())), ("chunk", Some(Body::new(1, "")))] {
        write_cassette(folder.join(name), &[with(body.clone())], &[], KeyScheme::target()).unwrap();
        let cassette = Cassette::open(folder.join(name)).unwrap();
        assert_eq!(cassette.exchange(0).unwrap().response.unwrap().body, body, "{name}");
    }
}

#[test]
fn temp_names_do_not_collide() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for (name, number) in [("x.json", 1), ("x.msgpack", 2)] {
            let path = folder.join(name);
            scope.spawn(move || {
                for _ in 0..20 {
                    write_cassette(&path, &[of_the_report(number)], &[], KeyScheme::target()).unwrap();
                }
            });
        }
    });
    assert_eq!(all(&Cassette::open(folder.join("x.json")).unwrap()), [of_the_report(1)]);
    assert_eq!(all(&Cassette::open(folder.join("x.msgpack")).unwrap()), [of_the_report(2)]);
}

#[test]
fn what_is_no_cassette_is_named() {
    let folder = Folder::new();
    std::fs::write(folder.join("text"), "this is a text, not a cassette").unwrap();
    let error = Cassette::open(folder.join("text")).unwrap_err();
    assert!(error.to_string().ends_with("this is not a cassette; name a file that a recording made"), "{error}");
    assert!(matches!(Cassette::open(folder.join("none")), Err(ReadError::Disk(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn codec_roundtrip_every_version(exchanges in exchanges(12)) {
        let folder = Folder::new();
        let path = folder.join("any.cassette");
        write_cassette(&path, &exchanges, &[], KeyScheme::target()).unwrap();
        let cassette = Cassette::open(&path).unwrap();
        prop_assert_eq!(all(&cassette), exchanges);
    }
}
