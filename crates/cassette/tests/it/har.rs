//! HAR, both ways.

use crate::exchanges::{exchange, of_the_report, with_everything};
use crate::plain;
use cassette::{Body, Content, Exchange, Header, HttpVersion, NetworkErrorKind, Note, Opcode, Outcome};
use proptest::prelude::*;

fn written(exchanges: Vec<Exchange<'static>>) -> (Content, Vec<String>, String) {
    let (bytes, losses) = Content { exchanges, meta: Vec::new() }.to_har().unwrap();
    let back = Content::from_har(&bytes).unwrap();
    (back, losses.iter().map(ToString::to_string).collect(), String::from_utf8(bytes).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn har_loses_nothing_that_it_can_hold(exchange in plain::of_browser()) {
        let (back, losses, text) = written(vec![exchange.clone()]);
        prop_assert_eq!(losses, [""; 0], "{}", text);
        prop_assert_eq!(back.exchanges, [exchange]);
    }

    #[test]
    fn har_says_what_it_cannot_hold(exchange in exchange(0)) {
        let (back, losses, text) = written(vec![exchange.clone()]);
        prop_assert_eq!(losses.is_empty(), back.exchanges == [exchange], "{:?} {}", losses, text);
    }
}
