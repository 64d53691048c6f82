//! JSON with the places of its values in the text.

use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::ops::Range;

/// A value and where it stands: of a string, what is between its quotes.
#[derive(Debug)]
pub(crate) struct LocatedValue {
    pub(crate) range: Range<usize>,
    kind: LocatedKind,
}

#[derive(Debug)]
enum LocatedKind {
    Object(Vec<(String, LocatedValue)>),
    Array(Vec<LocatedValue>),
    String,
    /// A number, `true`, `false` or `null`.
    Word,
}

impl LocatedValue {
    /// Reads a text. `None` if it is not JSON, or nested deeper than 128 levels.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice::<IgnoredAny>(text).ok()?;
        Some(LocatingReader { text, at: 0 }.value())
    }

    /// The member of a name; the last one, if there are several, as most readers have it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let LocatedKind::Object(members) = &self.kind else { return None };
        members.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value)
    }

    /// The member at names, each in the one before it.
    pub(crate) fn at(&self, names: &[&str]) -> Option<&Self> {
        names.iter().try_fold(self, |value, name| value.get(name))
    }

    /// The elements of an array, or none.
    pub(crate) fn elements(&self) -> &[Self] {
        match &self.kind {
            LocatedKind::Array(elements) => elements,
            _ => &[],
        }
    }

    /// The members of an object in order, or none.
    pub(crate) fn members(&self) -> &[(String, Self)] {
        match &self.kind {
            LocatedKind::Object(members) => members,
            _ => &[],
        }
    }

    /// What is between the brackets of an array or an object.
    pub(crate) fn inner(&self) -> Option<Range<usize>> {
        let has_brackets = matches!(self.kind, LocatedKind::Array(_) | LocatedKind::Object(_));
        has_brackets.then(|| self.range.start + 1..self.range.end - 1)
    }

    /// Whether this is a string.
    pub(crate) fn is_string(&self) -> bool {
        matches!(self.kind, LocatedKind::String)
    }

    /// A string without its escapes, or a number as it is written.
    pub(crate) fn word<'t>(&self, text: &'t [u8]) -> Option<Cow<'t, str>> {
        match self.kind {
            LocatedKind::String => Some(unescaped(&text[self.range.clone()])),
            LocatedKind::Word => std::str::from_utf8(&text[self.range.clone()]).ok().map(Cow::Borrowed),
            _ => None,
        }
    }
}

/// Goes through a text that is known to be JSON.
struct LocatingReader<'t> {
    text: &'t [u8],
    at: usize,
}

impl LocatingReader<'_> {
    fn value(&mut self) -> LocatedValue {
        self.space();
        let begin = self.at;
        let kind = match self.text.get(begin) {
            Some(b'{') => LocatedKind::Object(self.members()),
            Some(b'[') => LocatedKind::Array(self.children()),
            Some(b'"') => {
                let range = self.string();
                return LocatedValue { range, kind: LocatedKind::String };
            }
            _ => {
                self.at += self.text[begin..].iter().take_while(|byte| !b",]} \t\r\n".contains(byte)).count();
                LocatedKind::Word
            }
        };
        LocatedValue { range: begin..self.at, kind }
    }

    fn members(&mut self) -> Vec<(String, LocatedValue)> {
        let mut members = Vec::new();
        self.at += 1;
        while self.goes_on(b'}') {
            let name = self.string();
            self.space();
            self.at += 1;
            members.push((unescaped(&self.text[name]).into_owned(), self.value()));
        }
        members
    }

    fn children(&mut self) -> Vec<LocatedValue> {
        let mut children = Vec::new();
        self.at += 1;
        while self.goes_on(b']') {
            children.push(self.value());
        }
        children
    }

    /// Goes over space and a comma, or over the end.
    fn goes_on(&mut self, end: u8) -> bool {
        self.space();
        if self.text.get(self.at) == Some(&b',') {
            self.at += 1;
            self.space();
        }
        let goes_on = self.text.get(self.at).is_some_and(|byte| *byte != end);
        self.at += usize::from(!goes_on);
        goes_on
    }

    /// Goes over a string. Gives what is between its quotes.
    fn string(&mut self) -> Range<usize> {
        self.at += 1;
        let begin = self.at;
        while let Some(byte) = self.text.get(self.at).filter(|byte| **byte != b'"') {
            self.at += if *byte == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        begin..self.at - 1
    }

    fn space(&mut self) {
        self.at += self.text[self.at..].iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
    }
}

/// A character of the content of a string: what it is, and how many bytes it takes there. Half of a surrogate pair is U+FFFD.
pub(crate) fn next_char(content: &[u8]) -> Option<(char, usize)> {
    match content {
        [] => None,
        [b'\\', b'u', ..] => {
            let first = unit(content)?;
            let second = content.get(6..).filter(|rest| rest.starts_with(b"\\u")).and_then(unit);
            match (char::from_u32(first), second) {
                (Some(char), _) => Some((char, 6)),
                (None, Some(second)) if (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second) => {
                    let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                    Some((char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12))
                }
                _ => Some((char::REPLACEMENT_CHARACTER, 6)),
            }
        }
        [b'\\', escaped, ..] => {
            let char = match escaped {
                b'n' => '\n',
                b'r' => '\r',
                b't' => '\t',
                b'b' => '\x08',
                b'f' => '\x0c',
                other => char::from(*other),
            };
            Some((char, 2))
        }
        _ => {
            let length = content.iter().skip(1).take(3).take_while(|byte| **byte & 0xc0 == 0x80).count() + 1;
            let char = std::str::from_utf8(&content[..length]).ok().and_then(|text| text.chars().next());
            Some((char.unwrap_or(char::REPLACEMENT_CHARACTER), length))
        }
    }
}

/// The code of an escape.
fn unit(content: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(content.get(2..6)?).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// The content of a string without its escapes.
fn unescaped(content: &[u8]) -> Cow<'_, str> {
    if let (None, Ok(text)) = (memchr::memchr(b'\\', content), std::str::from_utf8(content)) {
        return Cow::Borrowed(text);
    }
    let (mut text, mut at) = (String::with_capacity(content.len()), 0);
    while let Some((char, length)) = next_char(&content[at..]) {
        text.push(char);
        at += length;
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_where_they_stand() {
        let text = br#" {"a": [1, {"b": "x\n\ud83d\ude00\"y"}, null], "c": {}, "a": "last", "d\u0041": true} "#;
        let value = LocatedValue::read(text).expect("it is JSON");
        assert_eq!(value.get("a").and_then(|value| value.word(text)).as_deref(), Some("last"));
        assert_eq!(value.get("dA").and_then(|value| value.word(text)).as_deref(), Some("true"));
        let nested = br#"{"a": [[], ["x"], 2]}"#;
        let value = LocatedValue::read(nested).expect("it is JSON");
        let elements = value.get("a").map(LocatedValue::elements).unwrap_or_default();
        assert_eq!((elements.len(), elements[1].elements()[0].range.clone()), (3, 13..14));
        assert!(LocatedValue::read(b"{\"a\": ").is_none() && LocatedValue::read(b"[DONE]").is_none());
        assert_eq!(unescaped(br"x\n\ud83d\ude00\u00e9\ud83d!"), "x\n\u{1f600}\u{e9}\u{fffd}!");
    }
}
