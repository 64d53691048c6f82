//! JSON lines: a value a line. An object is `(HEAD (key value) …)` with its keys in their order, any other value `(HEAD value)`.
//!
//! Inside, an object is `((key value) …)` and a list `(value …)`; texts are strings, `true` and `false` truth values, `null` the symbol
//! `null`. An integer is read with all its digits; a number that is too large for a float is an error.

use super::text;
use metta::{Format, Out, Words};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use space::{Atom, Number};
use std::fmt;

const NOT_JSON: &str = "not JSON";
const TOO_LARGE: &str = "a number that is too large for a float, or an integer of more than 308 digits";
const MARK: &[u8] = "\u{feff}".as_bytes();

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
        let line = if self.line == 1 { line.strip_prefix(MARK).unwrap_or(line) } else { line };
        self.line += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let value = match read(line) {
            Ok(value) => value,
            Err(reason) => return out.skip(reason, true),
        };
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
            Json::Number(number) => out.leaf(Atom::from(number)),
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
            if out.is_full() {
                break;
            }
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

/// The value of a line, or why it has none.
fn read(line: &[u8]) -> Result<Json, &'static str> {
    let mut value = serde_json::from_slice(line).map_err(|error| reason(&error))?;
    if is_inexact(&value) {
        read_integers(&mut value, &mut Numbers(line));
    }
    Ok(value)
}

/// What is wrong with one line is rarely wrong with the next in the same words: the parser's own are not given.
fn reason(error: &serde_json::Error) -> &'static str {
    // The parser tells its kinds of errors apart by these words only.
    if error.to_string().starts_with("number out of range") { TOO_LARGE } else { NOT_JSON }
}

/// Whether the parser may have made a float of an integer: it does so beyond 64 bits, and with `-0`.
fn is_inexact(value: &Json) -> bool {
    match value {
        Json::Number(Number::Float(float)) => {
            float.abs() >= i64::MAX as f64 || (*float == 0.0 && float.is_sign_negative())
        }
        Json::Null | Json::Leaf(_) | Json::Number(_) => false,
        Json::List(values) => values.iter().any(is_inexact),
        Json::Object(members) => members.iter().any(|(_, value)| is_inexact(value)),
    }
}

/// Reads the integers of a value from the numbers of its text, which come in the same order.
fn read_integers(value: &mut Json, numbers: &mut Numbers<'_>) {
    match value {
        Json::Null | Json::Leaf(_) => {}
        Json::Number(number) => {
            // No other number is one of the engine's integers.
            if let Some(exact) = numbers.next().and_then(Number::parse_integer) {
                *number = exact;
            }
        }
        Json::List(values) => values.iter_mut().for_each(|value| read_integers(value, numbers)),
        Json::Object(members) => members.iter_mut().for_each(|(_, value)| read_integers(value, numbers)),
    }
}

/// The texts of the numbers of a line that is known to be JSON.
struct Numbers<'l>(&'l [u8]);

impl<'l> Iterator for Numbers<'l> {
    type Item = &'l str;

    fn next(&mut self) -> Option<&'l str> {
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        loop {
            // A number begins with `-` or a digit, and such a byte outside of strings begins one.
            let start = self.0.iter().position(|&byte| byte == b'"' || byte == b'-' || byte.is_ascii_digit())?;
            let rest = &self.0[start..];
            let is_string = rest[0] == b'"';
            let length =
                if is_string { string_length(rest) } else { rest.iter().take_while(|byte| is_part(byte)).count() };
            self.0 = &rest[length..];
            if !is_string {
                return std::str::from_utf8(&rest[..length]).ok();
            }
        }
    }
}

/// The length of the string that these bytes begin with.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    bytes.len().min(at + 1)
}

/// A JSON value whose objects keep their order.
enum Json {
    Null,
    Leaf(Atom),
    Number(Number),
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
        Ok(Json::Number(Number::Int(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        let exact = Number::parse_integer(&value.to_string());
        Ok(Json::Number(exact.unwrap_or(Number::Float(value as f64))))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(Number::Float(value)))
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
