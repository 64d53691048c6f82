//! Values of secret names in XML: what is in an element, and what an attribute says.
//!
//! As JSON, XML is not parsed but looked through, so that it is found in what is cut off. Of a name with a prefix, `wsse:Password`,
//! the last word counts.

use crate::redact::names::{Secrecy, SecretNames};
use crate::redact::text::TextMatches;
use crate::redact::words::is_credential;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// An element with text in it: its name, what stands before the `>`, and the text.
static ELEMENT: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?-u)<([A-Za-z_][A-Za-z0-9_.:-]*)(\s[^<>]*)?>\s*(?:<!\[CDATA\[([^\]]+)|([^<]+))"));

/// An attribute inside of a tag.
static ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?-u)\s([A-Za-z_][A-Za-z0-9_.:-]*)\s*=\s*(?:"([^"<]+)"|'([^'<]+)')"#));

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("the expression is a constant: {error}"))
}

/// Values of secret names in elements, wherever they stand in a text.
pub(crate) fn find_elements(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    if memchr::memmem::find(text, b"</").is_none() && memchr::memmem::find(text, b"<![CDATA[").is_none() {
        return;
    }
    for captures in ELEMENT.captures_iter(text) {
        let (Some(whole), Some(name)) = (captures.get(0), captures.get(1)) else { continue };
        let is_empty = captures.get(2).is_some_and(|rest| rest.as_bytes().ends_with(b"/"));
        let Some(value) = captures.get(3).or_else(|| captures.get(4)).filter(|_| !is_empty) else { continue };
        take(text, names, name.as_bytes(), whole.start(), value.range(), found);
    }
}

/// Finds values of secret names in attributes, in a text that is XML.
pub(crate) fn find_attributes(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    for captures in ATTRIBUTE.captures_iter(text) {
        let (Some(whole), Some(name)) = (captures.get(0), captures.get(1)) else { continue };
        let Some(value) = captures.get(2).or_else(|| captures.get(3)) else { continue };
        take(text, names, name.as_bytes(), whole.start(), value.range(), found);
    }
}

fn take(text: &[u8], names: &SecretNames, name: &[u8], begin: usize, value: Range<usize>, found: &mut TextMatches) {
    let name = name.rsplit(|&byte| byte == b':').next().unwrap_or(name);
    let value = trimmed(text, value);
    let is_secret = match names.member(name) {
        Secrecy::Secret => true,
        Secrecy::IfCredential => is_credential(&text[value.clone()]),
        Secrecy::Open | Secrecy::IfCode => false,
    };
    if is_secret {
        found.value(begin, value);
    }
}

/// Without space at its beginning and its end.
fn trimmed(text: &[u8], range: Range<usize>) -> Range<usize> {
    let piece = &text[range.clone()];
    let begin = range.start + piece.len() - piece.trim_ascii_start().len();
    begin..(begin + piece.trim_ascii().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        let mut found = TextMatches::default();
        find_elements(text.as_bytes(), &SecretNames::usual(), &mut found);
        find_attributes(text.as_bytes(), &SecretNames::usual(), &mut found);
        found.put_into(text)
    }

    #[test]
    fn elements_and_attributes_are_found() {
        for (text, expected) in [
            ("<a><password>x</password></a>", "<a><password>REDACTED</password></a>"),
            (
                "<wsse:Password Type='t'>\n  x y \n</wsse:Password>",
                "<wsse:Password Type='t'>\n  REDACTED \n</wsse:Password>",
            ),
            ("<apiKey><![CDATA[a<b]]></apiKey>", "<apiKey><![CDATA[REDACTED]]></apiKey>"),
            ("<db user=\"u\" Password = 'x'/>", "<db user=\"u\" Password = 'REDACTED'/>"),
            ("<token>0123456789abcdef</token>", "<token>REDACTED</token>"),
        ] {
            assert_eq!(redacted(text), expected);
        }
        for text in ["<password/>text</a>", "<password></password>", "<token>USDT</token>", "a < password > b </x>"] {
            assert_eq!(redacted(text), text);
        }
    }
}
