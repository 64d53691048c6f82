//! What differs between exchanges is found, whatever it is, and merging loses nothing.

use crate::exchanges::{exchanges, of_the_report, with_everything};
use cassette::compare::{compare, differences};
use cassette::{Body, Cassette, Content, Direction, Exchange, Header, Note, Opcode, WsFrame, merge};
use flate2::{Compress, Compression, FlushCompress};
use proptest::prelude::*;

fn places(before: &Exchange<'_>, after: &Exchange<'_>, with_times: bool) -> Vec<String> {
    differences(before, after, with_times).into_iter().map(|change| change.to_string()).collect()
}

#[test]
fn every_field_is_compared() {
    let all = with_everything(0);
    let change = |change: &dyn Fn(&mut Exchange<'static>)| {
        let mut other = all.clone();
        change(&mut other);
        places(&all, &other, false).join(" | ")
    };
    let response = |of: &dyn Fn(&mut cassette::Response<'static>)| {
        change(&|exchange| of(exchange.response.as_mut().expect("there is one")))
    };
    assert_eq!(change(&|exchange| exchange.request.method = "PUT".into()), r#"method: "GET" -> "PUT""#);
    assert_eq!(change(&|exchange| exchange.request.port = 80), "port: 443 -> 80");
    assert_eq!(response(&|response| response.status = 7), "response status: 101 -> 7");
    assert_eq!(change(&|exchange| exchange.response = None), "response: 101 -> nothing");
    assert_eq!(change(&|exchange| exchange.frames = None), "websocket: 3 frames -> nothing");
    let headers = r#"response header set-cookie: "a=1, �\0" -> "a=1""#;
    assert_eq!(response(&|response| drop(response.headers.pop())), headers);
    assert_eq!(response(&|response| response.body = None), "response body: 5 bytes -> nothing");
    let body = "request body from byte 2: \"one\\0�\" -> \"onx\"";
    assert_eq!(change(&|exchange| exchange.request.body = Some(Body::new(0, "onx"))), body);
    // In another order, nothing else.
    assert_eq!(
        response(&|response| response.headers[0].name = "SET-cookie".into()),
        "order of headers or notes: one -> another"
    );
}

#[test]
fn times_are_compared_on_request() {
    let all = with_everything(0);
    let mut other = all.clone();
    other.number = 4;
    other.started_ns = 5;
    other.ended_us = None;
    other.response.as_mut().unwrap().at_us = 7;
    let bytes = other.request.body.take().unwrap().into_parts().0;
    other.request.body = Some(Body::new(8, bytes));
    other.frames.as_mut().unwrap()[1].at_us = 1;
    assert_eq!(places(&all, &other, false), [""; 0]);
    assert_eq!(
        places(&all, &other, true),
        [
            "number: 0 -> 4",
            "started: -1 -> 5",
            "ended: 18446744073709551615 us -> unknown",
            r#"times of response heads: "1 2" -> "1 7""#,
            r#"chunks of the request body: "3+3 5+0 9+2" -> "8+5""#,
            r#"times of frames: "7 8 9" -> "7 1 9""#,
        ]
    );
}

/// A conversation in which a server says this, compressed at a level, its bytes cut into frames of a length.
fn said(texts: &[&str], level: u32, length: usize) -> Exchange<'static> {
    let mut compress = Compress::new(Compression::new(level), false);
    let mut frames = Vec::new();
    for text in texts {
        let mut payload = Vec::with_capacity(text.len() + 64);
        compress.compress_vec(text.as_bytes(), &mut payload, FlushCompress::Sync).expect("there is room");
        payload.truncate(payload.len() - 4);
        let begin = frames.len();
        let opcode = |at: usize| if at == 0 { Opcode::TEXT } else { Opcode::CONTINUATION };
        let frame = |(at, piece): (usize, &[u8])| WsFrame {
            is_final: false,
            reserved: if at == 0 { 4 } else { 0 },
            ..WsFrame::new(0, Direction::Received, opcode(at), piece.to_vec())
        };
        frames.extend(payload.chunks(length).enumerate().map(frame));
        assert!(frames.len() > begin);
        frames.last_mut().unwrap().is_final = true;
        frames.push(WsFrame::new(0, Direction::Sent, Opcode::PING, "are you there"));
    }
    Exchange { frames: Some(frames), ..Exchange::default() }
}

#[test]
fn compressed_messages_are_compared_as_what_they_say() {
    let texts = ["a frog croaks, a frog croaks, a frog croaks", "a frog croaks, and eats flies"];
    let (best, none) = (said(&texts, 9, 1_000), said(&texts, 0, 1_000));
    assert_ne!(best, none);
    for with_times in [false, true] {
        assert_eq!(places(&best, &none, with_times), [""; 0]);
    }
    // In as many frames, but cut elsewhere.
    let mut other = said(&texts, 9, 10);
    let frames = other.frames.as_mut().unwrap();
    let moved = frames[1].payload[0];
    frames[0].payload = [&frames[0].payload[..], &[moved]].concat().into();
    frames[1].payload = frames[1].payload[1..].to_vec().into();
    assert_eq!(places(&said(&texts, 9, 10), &other, false), [""; 0]);

    let other = said(&[texts[0], "a frog croaks, and eats toads"], 9, 1_000);
    let expected = "message of frame 2: …\"og croaks, and eats flies\" -> …\"og croaks, and eats toads\"";
    assert_eq!(places(&none, &other, false), [expected]);
    // After other words these bytes say something else.
    let mut other = best.clone();
    other.frames.as_mut().unwrap()[0] =
        said(&["a toad croaks, a toad croaks, a toad croaks"], 9, 1_000).frames.unwrap()[0].clone();
    let places_of_both = places(&best, &other, false);
    assert!(
        places_of_both.len() == 2 && places_of_both[1].ends_with("\"a toad croaks, and eats flies\""),
        "{places_of_both:?}"
    );
}

#[test]
fn compressed_messages_that_cannot_be_read_are_compared_as_bytes() {
    let broken = |bytes: &'static [u8]| {
        let frame = WsFrame { reserved: 4, ..WsFrame::new(0, Direction::Sent, Opcode::TEXT, bytes) };
        Exchange { frames: Some(vec![frame]), ..Exchange::default() }
    };
    assert_eq!(places(&broken(b"\x07\x07ab"), &broken(b"\x07\x07ab"), false), [""; 0]);
    let places = places(&broken(b"\x07\x07ab"), &broken(b"\x07\x07ac"), false);
    assert_eq!(places, [r#"message of frame 0: "\u{7}\u{7}ab" -> "\u{7}\u{7}ac""#]);
}

fn cassette(exchanges: Vec<Exchange<'static>>) -> Cassette {
    Content { exchanges, meta: Vec::new() }.into()
}

#[test]
fn headers_of_a_request_are_no_other_question() {
    let mut other = of_the_report(0);
    other.request.headers.push(Header::new("X-Version", "2"));
    let comparison =
        compare(&cassette(vec![of_the_report(0), of_the_report(1)]), &cassette(vec![other]), false).unwrap();
    assert_eq!((comparison.only_before, comparison.only_after), (vec![1], vec![]));
    assert_eq!(comparison.changed[0].changes[0].to_string(), "request header x-version: nothing -> \"2\"");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Nothing differs if and only if they are equal.
    #[test]
    fn equal_is_what_does_not_differ(one in exchanges(4), other in exchanges(4), with_times in any::<bool>()) {
        let (before, after) = (cassette(one.clone()), cassette(other.clone()));
        prop_assert!(compare(&before, &cassette(one.clone()), with_times).unwrap().is_same());
        if one != other && with_times {
            prop_assert!(!compare(&before, &after, true).unwrap().is_same());
        }
        for (one, other) in one.iter().zip(&other) {
            prop_assert_eq!(differences(one, other, true).is_empty(), one == other);
        }
    }

    #[test]
    fn a_merged_cassette_has_each_exchange_once(one in exchanges(6), other in exchanges(6)) {
        let content = |exchanges: &[Exchange<'static>], name: &str| {
            Content { exchanges: exchanges.to_vec(), meta: vec![Note::new("name", name.to_owned())] }
        };
        let merged = merge(vec![content(&one, "a"), content(&other, "b"), content(&one, "c")]);
        let unnumbered = |exchange: &Exchange<'static>| Exchange { number: 0, ..exchange.clone() };
        let mut expected: Vec<_> = one.iter().chain(&other).chain(&one).map(unnumbered).collect();
        let given = expected.len();
        let mut distinct: Vec<Exchange<'_>> = Vec::new();
        expected.retain(|exchange| {
            let is_new = !distinct.contains(exchange);
            distinct.extend(is_new.then(|| exchange.clone()));
            is_new
        });
        prop_assert_eq!(merged.duplicates, given - expected.len());
        prop_assert_eq!(&merged.content.meta, &vec![Note::new("name", "c")]);
        let numbers: Vec<_> = merged.content.exchanges.iter().map(|exchange| exchange.number).collect();
        prop_assert_eq!(numbers, (0..expected.len() as u64).collect::<Vec<_>>());
        // Each cassette is in its own order.
        let positions: Vec<_> = one.iter().map(unnumbered).map(|exchange| {
            merged.content.exchanges.iter().position(|found| unnumbered(found) == exchange)
        }).collect();
        prop_assert!(positions.iter().all(Option::is_some));
        prop_assert!(expected.iter().all(|exchange| merged.content.exchanges.iter().any(|found| unnumbered(found) == *exchange)));
    }
}
