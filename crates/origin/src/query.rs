//! The parameters of a request: plain words and numbers, which need no decoding.

use hyper::Uri;

/// The value of a parameter.
pub(crate) fn text<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    let pairs = uri.query()?.split('&');
    pairs.filter_map(|pair| pair.split_once('=')).find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// The value of a parameter, if it is there and a number.
pub(crate) fn number(uri: &Uri, name: &str, otherwise: u64) -> u64 {
    text(uri, name).and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}
