//! JSON lines: a value a line. An object is `(HEAD (key value) …)` with its keys in their order, any other value `(HEAD value)`.
//!
//! Inside, an object is `((key value) …)` and a list `(value …)`; texts are strings, `true` and `false` truth values, `null` the symbol
//! `null`. An integer beyond 64 bits is a float, as JSON readers have it.

use super::text;
use metta::{Format, Out, Words};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use space::Atom;
use std::fmt;

const NOT_JSON: &str = "not JSON";

/// Reads lines of JSON.
pub(super) struct JsonLines {
    head: String,
    words: Words,
    line: u64,
}

impl JsonLines {
    pub(super) fn new(head: String, words: Words) -> Self {
        Self { head, words, line: 1 }
    }

    fn take(&mut self, line: &[u8], out: &mut dyn Out) {
        out.record(self.line);
        self.line += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        // What is wrong with one line is rarely wrong with the next in the same words: the first place has to do.
        let Ok(value) = serde_json::from_slice::<Json>(line) else { return out.skip(NOT_JSON, true) };
        out.open();
        out.symbol(&self.head);
        match value {
            Json::Object(members) => self.members(members, out),
            value => self.value(value, out),
        }
        out.close();
    }

    fn members(&self, members: Vec<(String, Json)>, out: &mut dyn Out) {
        for (key, value) in members {
            out.open();
            text::name(&key, &self.words, out);
            self.value(value, out);
            out.close();
        }
    }

    /// The parser nests no deeper than 128, so this does not, either.
    fn value(&self, value: Json, out: &mut dyn Out) {
        match value {
            Json::Null => out.symbol("null"),
            Json::Leaf(atom) => out.leaf(atom),
            Json::List(values) => {
                out.open();
                values.into_iter().for_each(|value| self.value(value, out));
                out.close();
            }
            Json::Object(members) => {
                out.open();
                self.members(members, out);
                out.close();
            }
        }
    }
}

impl Format for JsonLines {
    fn read(&mut self, bytes: &[u8], is_end: bool, out: &mut dyn Out) -> usize {
        let mut at = 0;
        while let Some(length) = line_length(&bytes[at..], is_end) {
            self.take(&bytes[at..at + length], out);
            at += length;
        }
        at
    }

    fn manner(&self) -> String {
        format!("jsonlines {}", self.head)
    }
}

/// How many bytes the first line has, its end included; `None` if it is not all there, or there is none.
pub(super) fn line_length(bytes: &[u8], is_end: bool) -> Option<usize> {
    match memchr::memchr(b'\n', bytes) {
        Some(newline) => Some(newline + 1),
        None if is_end && !bytes.is_empty() => Some(bytes.len()),
        None => None,
    }
}

/// A JSON value whose objects keep their order.
enum Json {
    Null,
    Leaf(Atom),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Leaf(Atom::from(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Leaf(Atom::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        let number = space::Number::parse_integer(&value.to_string());
        Ok(Json::Leaf(number.map_or_else(|| Atom::from(value as f64), Atom::from)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Leaf(Atom::from(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Leaf(Atom::from(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(member) = members.next_entry()? {
            list.push(member);
        }
        Ok(Json::Object(list))
    }
}
