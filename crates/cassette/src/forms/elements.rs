//! The elements of a list in a JSON document of any length, one after the other.
//!
//! 1. A document is an object with members; one of them is the list. Its elements are given out as they are, and everything else, with
//!    an empty list in the place of the list, is the *rest*.
//!    Once an element of a list was given out, only that list is taken apart; one of another name is a part of the rest.
//! 2. Nothing is understood but strings, brackets and commas: who takes an element, or the rest, parses it and says what is wrong there. So
//!    wrong JSON stays wrong: what is not white space or one comma between elements is refused here.
//!
//! Memory: the rest, and the longest element. serde_json has the elements of a list one by one from a reader as well, but looks at a
//! byte a time there, has no limit on what it makes, and does not say where an element begins.

use super::error::FormError;
use crate::limits::LimitExceeded;
use std::io::{self, Read};

/// A list is looked for up to here.
const BEFORE_BYTES_MAX: usize = 1 << 20;

const REST: &str = "what a document says beside its exchanges";

/// An element of a list.
pub(super) struct Element<'e> {
    /// Which of the lists it is in.
    pub(super) list: &'static str,
    /// The document up to the beginning of the list, with the bracket.
    pub(super) before: &'e [u8],
    pub(super) text: &'e [u8],
    /// The line and the column in which it begins, from 1.
    pub(super) at: (usize, usize),
}

/// What stops the reading of elements.
pub(super) enum Stop {
    Read(io::Error),
    TooMuch(LimitExceeded),
    Malformed(String),
    /// There is no list near the beginning.
    NoList,
    /// What took the elements wants no more.
    Taker(FormError),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside the list.
    Rest,
    /// In the list; an element may begin here, or must not before a comma.
    Between { needs_comma: bool },
    /// In an element.
    Element,
}

/// Takes a document apart.
pub(super) struct Splitter<'s> {
    lists: &'s [&'static str],
    bytes_max: usize,
    place: Place,
    /// How many brackets are open.
    depth: usize,
    is_string: bool,
    is_escaped: bool,
    /// Whether the last token between elements was a comma.
    had_comma: bool,
    rest: Vec<u8>,
    /// Where the last string of the rest began.
    string_at: usize,
    /// The member whose value comes next.
    member: Option<&'static str>,
    list: &'static str,
    /// The list of which an element was taken; empty before that.
    taken_list: &'static str,
    element: Vec<u8>,
    element_at: (usize, usize),
    at: (usize, usize),
}

impl<'s> Splitter<'s> {
    /// Of a document in which lists may have one of these names.
    pub(super) fn new(lists: &'s [&'static str], bytes_max: usize) -> Self {
        Self {
            lists,
            bytes_max,
            place: Place::Rest,
            depth: 0,
            is_string: false,
            is_escaped: false,
            had_comma: false,
            rest: Vec::new(),
            string_at: 0,
            member: None,
            list: "",
            taken_list: "",
            element: Vec::new(),
            element_at: (1, 1),
            at: (1, 1),
        }
    }

    /// Reads all of a document; gives the rest of it.
    pub(super) fn read(
        mut self,
        mut input: impl Read,
        take: &mut dyn FnMut(Element<'_>) -> Result<(), FormError>,
    ) -> Result<Vec<u8>, Stop> {
        const BUFFER_BYTES: usize = 128 << 10;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.chunk(&buffer[..count], take)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Read(error)),
            }
        }
        if self.place != Place::Rest {
            let (line, column) = self.at;
            return Err(Stop::Malformed(format!(
                "the list \"{}\" has no end at line {line} column {column}",
                self.list
            )));
        }
        Ok(self.rest)
    }

    fn chunk(&mut self, chunk: &[u8], take: &mut dyn FnMut(Element<'_>) -> Result<(), FormError>) -> Result<(), Stop> {
        let mut at = 0;
        while at < chunk.len() {
            at += match self.place {
                Place::Rest => self.in_rest(&chunk[at..])?,
                Place::Between { needs_comma } => self.between(chunk[at], needs_comma)?,
                Place::Element => self.in_element(&chunk[at..], take)?,
            };
        }
        Ok(())
    }

    /// Goes on to the beginning of a list; gives how many bytes that were.
    fn in_rest(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        for (index, &byte) in bytes.iter().enumerate() {
            let was_string = self.is_string;
            self.token(byte);
            self.rest.push(byte);
            match byte {
                b'"' if self.is_string && !was_string => self.string_at = self.rest.len(),
                b':' if !was_string && self.depth == 1 => self.member = self.last_string(),
                b',' if !was_string && self.depth == 1 => self.member = None,
                b'[' if !was_string && self.depth == 2 => {
                    if let Some(list) = self.member.take() {
                        (self.list, self.place) = (list, Place::Between { needs_comma: false });
                        self.had_comma = false;
                        return self.within(REST, self.rest.len()).map(|()| index + 1);
                    }
                }
                _ => {}
            }
        }
        self.within(REST, self.rest.len()).map(|()| bytes.len())
    }

    /// The name of a list, if the last string is one. One that is written with escapes is none: its list is a part of the rest then.
    fn last_string(&self) -> Option<&'static str> {
        let after = &self.rest[self.string_at..];
        let name = &after[..after.iter().position(|&byte| byte == b'"')?];
        let list = self.lists.iter().copied().find(|list| list.as_bytes() == name)?;
        (self.taken_list.is_empty() || self.taken_list == list).then_some(list)
    }

    fn within(&self, what: &'static str, bytes: usize) -> Result<(), Stop> {
        if self.list.is_empty() && bytes > BEFORE_BYTES_MAX {
            return Err(Stop::NoList);
        }
        if bytes <= self.bytes_max { Ok(()) } else { Err(Stop::TooMuch(LimitExceeded::new(what, self.bytes_max))) }
    }

    fn between(&mut self, byte: u8, needs_comma: bool) -> Result<usize, Stop> {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' if needs_comma => (self.place, self.had_comma) = (Place::Between { needs_comma: false }, true),
            b']' if needs_comma || !self.had_comma => {
                self.place = Place::Rest;
                self.rest.push(byte);
            }
            b',' | b']' => return Err(self.unexpected(byte)),
            _ if needs_comma => return Err(self.unexpected(byte)),
            _ => {
                (self.place, self.element_at) = (Place::Element, self.at);
                self.element.clear();
                return Ok(0);
            }
        }
        self.token(byte);
        Ok(1)
    }

    fn unexpected(&self, byte: u8) -> Stop {
        let ((line, column), list) = (self.at, self.list);
        let byte = (byte as char).escape_default();
        Stop::Malformed(format!(
            "`{byte}` is not expected between elements of \"{list}\" at line {line} column {column}"
        ))
    }

    /// Goes on to the end of an element; gives how many bytes that were.
    fn in_element(
        &mut self,
        bytes: &[u8],
        take: &mut dyn FnMut(Element<'_>) -> Result<(), FormError>,
    ) -> Result<usize, Stop> {
        let mut taken = bytes.len();
        let mut is_over = false;
        for (index, &byte) in bytes.iter().enumerate() {
            let is_bare = self.depth == 2 && !self.is_string;
            if is_bare && matches!(byte, b',' | b']' | b' ' | b'\t' | b'\r' | b'\n') {
                (taken, is_over) = (index, true);
                break;
            }
            self.token(byte);
            if self.depth == 2 && !self.is_string && matches!(byte, b'}' | b']' | b'"') {
                (taken, is_over) = (index + 1, true);
                break;
            }
        }
        self.within("an exchange in JSON", self.element.len() + taken)?;
        self.element.extend_from_slice(&bytes[..taken]);
        if is_over {
            self.place = Place::Between { needs_comma: true };
            let Self { list, rest, element, element_at, .. } = self;
            let element = Element { list, before: rest, text: element, at: *element_at };
            take(element).map_err(Stop::Taker)?;
            self.taken_list = self.list;
        }
        Ok(taken)
    }

    fn token(&mut self, byte: u8) {
        if byte == b'\n' {
            self.at = (self.at.0 + 1, 1)
        } else {
            self.at.1 += 1
        }
        if self.is_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.is_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// Gives some bytes at a time.
    struct Slowly<'b>(&'b [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(into.len());
            (&mut self.0).take(most as u64).read(into)
        }
    }

    fn split(text: &[u8], step: usize) -> Result<(Vec<Vec<u8>>, Vec<u8>), Stop> {
        let mut elements = Vec::new();
        let rest = Splitter::new(&["list"], 1 << 20).read(Slowly(text, step), &mut |element| {
            elements.push(element.text.to_vec());
            Ok(())
        })?;
        Ok((elements, rest))
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<i64>().prop_map(Value::from),
            "[\\[\\]{},:\"\\\\ a\n]{0,6}".prop_map(Value::from)
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a\\[\\]{}\"]{0,3}|list", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        /// Whatever the elements are, and however they come: they are those that serde_json reads.
        #[test]
        fn elements_are_those_of_the_list(
            list in prop::collection::vec(value(), 0..6),
            before in value(),
            after in value(),
            is_indented in any::<bool>(),
            step in 1..9_usize,
        ) {
            let text = |value: &Value| {
                if is_indented { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }.unwrap()
            };
            let all: Vec<_> = list.iter().map(text).collect();
            let list_text = if is_indented { format!("[ {} ]", all.join(" ,\n ")) } else { format!("[{}]", all.join(",")) };
            let document = format!("{{\"a\": {}, \"list\" : {list_text}, \"z\":{}}}", text(&before), text(&after));
            let Ok((elements, rest)) = split(document.as_bytes(), step) else { panic!("{document}") };
            let read: Vec<Value> = elements.iter().map(|element| serde_json::from_slice(element).unwrap()).collect();
            prop_assert_eq!(read, list);
            let rest: Value = serde_json::from_slice(&rest).unwrap();
            prop_assert_eq!(rest, json!({ "a": before, "list": [], "z": after }));
        }

        /// A document that is not JSON is refused here, or by who parses an element or the rest.
        #[test]
        fn no_wrong_document_becomes_a_right_one(list in prop::collection::vec(value(), 1..4), at in any::<prop::sample::Index>()) {
            let mut document = json!({ "list": list }).to_string().into_bytes();
            document.remove(at.index(document.len()));
            if serde_json::from_slice::<Value>(&document).is_err()
                && let Ok((elements, rest)) = split(&document, 3)
            {
                let are_right = elements.iter().chain([&rest]).all(|part| serde_json::from_slice::<Value>(part).is_ok());
                prop_assert!(!are_right, "{}", String::from_utf8_lossy(&document));
            }
        }
    }
}
