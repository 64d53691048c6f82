//! Cassettes of VCR, in YAML and JSON, of Python and Ruby.

use crate::exchanges::{exchange, of_the_report, with_everything};
use crate::plain;
use cassette::{Content, Exchange, VcrStyle};
use proptest::prelude::*;

fn check(
    exchanges: &[Exchange<'static>],
    style: VcrStyle,
    is_json: bool,
) -> (Vec<Exchange<'static>>, Vec<String>, String) {
    let content = Content { exchanges: exchanges.to_vec(), meta: Vec::new() };
    let (bytes, losses) = if is_json { content.to_vcr_json(style) } else { content.to_vcr_yaml(style) }.unwrap();
    let back = if is_json { Content::from_vcr_json(&bytes) } else { Content::from_vcr_yaml(&bytes) };
    let text = String::from_utf8(bytes).unwrap();
    let back = back.unwrap_or_else(|error| panic!("{error}\n{text}"));
    (back.exchanges, losses.iter().map(ToString::to_string).collect(), text)
}

/// An exchange as this style can hold it.
fn held(mut exchange: Exchange<'static>, style: VcrStyle) -> Exchange<'static> {
    exchange.request.headers.sort_by(|one, other| one.name.cmp(&other.name));
    let response = exchange.response.as_mut().unwrap();
    response.headers.sort_by(|one, other| one.name.cmp(&other.name));
    let is_empty = response.body_bytes().is_empty();
    let may_lack = exchange.request.method == "HEAD" || matches!(response.status, 204 | 304);
    if is_empty {
        response.body = (!may_lack).then(|| cassette::Body::new(0, ""));
    }
    if style == VcrStyle::Ruby {
        exchange.started_ns -= exchange.started_ns % 1_000_000_000;
        exchange.request.body = exchange.request.body.filter(|body| !body.bytes().is_empty());
    }
    exchange
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn vcr_loses_nothing_that_it_can_hold(exchange in plain::exchange()) {
        for style in [VcrStyle::Python, VcrStyle::Ruby] {
            let exchange = held(exchange.clone(), style);
            let (back, losses, text) = check(std::slice::from_ref(&exchange), style, false);
            prop_assert_eq!(losses, [""; 0], "{}", text);
            prop_assert_eq!(&back, std::slice::from_ref(&exchange), "{}", text);
            let (back, losses, text) = check(std::slice::from_ref(&exchange), style, true);
            prop_assert_eq!(losses.is_empty(), back == [exchange], "{:?} {}", losses, text);
        }
    }

    #[test]
    fn vcr_says_what_it_cannot_hold(exchange in exchange(0)) {
        for style in [VcrStyle::Python, VcrStyle::Ruby] {
            for is_json in [false, true] {
                let (back, losses, text) = check(std::slice::from_ref(&exchange), style, is_json);
                prop_assert_eq!(losses.is_empty(), back == [exchange.clone()], "{:?} {}", losses, text);
            }
        }
    }
}
