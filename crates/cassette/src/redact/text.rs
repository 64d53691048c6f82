//! Values of secret names inside of texts: JSON, whatever is around it, and parameters of URLs and forms.
//!
//! JSON is not parsed but looked through, quote by quote. So it is found in lines of a stream of events, in lines of JSON, in
//! what is cut off; and in strings of JSON, where quotes are escaped. A quote after `n` backslashes delimits a string as many levels
//! deep as `n` has ones at its end in binary: none or two after each other are the outermost level, one is a string in a string, three
//! one in that.
//!
//! XML and lines `name: value` are looked through in modules of their own.

use crate::matching::JsonPath;
use crate::matching::json::ranges;
use crate::redact::names::{Secrecy, SecretNames};
use crate::redact::quotes::{LEVELS, backslashes, begins_string, level, skip_space, string};
use crate::redact::schema::{
    MemberPlace, Presence, after_value, is_arguments, is_identifier, is_word_of_model, schema,
};
use crate::redact::words::{is_code_in_json, is_code_in_query, is_credential};
use crate::url::unescaped;
use regex::bytes::Regex;
use serde_json::Value;
use std::ops::Range;
use std::sync::LazyLock;

/// A secret, and what stands in its place.
pub(crate) type SecretMatch = (Range<usize>, &'static str);

/// What was found in a text.
#[derive(Debug, Default)]
pub(crate) struct TextMatches {
    pub(crate) hits: Vec<SecretMatch>,
    /// From each secret name to the end of its value.
    pub(crate) members: Vec<Range<usize>>,
    /// Values that are whole parts of a body: what they are is known, be they text or not.
    pub(crate) parts: Vec<Range<usize>>,
    /// What tools are called with.
    pub(crate) arguments: Vec<Range<usize>>,
    /// Values of secret names that stay, since a tool is called with them.
    pub(crate) stays: Vec<Range<usize>>,
    /// Where something begins of which it is not known yet whether it is a secret.
    pub(crate) undecided: Option<usize>,
}

impl TextMatches {
    /// A value, which is not looked into, and where its name begins. An empty one is not a secret.
    pub(crate) fn value(&mut self, name: usize, value: Range<usize>) {
        if !value.is_empty() {
            self.members.push(name..value.end);
            self.hits.push((value, PLACEHOLDER));
        }
    }

    /// The text with placeholders in the place of what was found.
    #[cfg(test)]
    pub(crate) fn put_into(mut self, text: &str) -> String {
        self.hits.sort_by_key(|(range, _)| range.start);
        self.hits.dedup();
        let mut text = text.to_owned();
        for (range, placeholder) in self.hits.into_iter().rev() {
            text.replace_range(range, placeholder);
        }
        text
    }
}

/// What stands in the place of a secret. It needs no escapes, in JSON or in a URL.
pub(crate) const PLACEHOLDER: &str = "REDACTED";
/// What stands in the place of a secret number in JSON.
const NUMBER_PLACEHOLDER: &str = "0";

/// A parameter of a URL, or the first pair of a text: the name, and the value if it is not empty. JSON may have `&` escaped.
/// Brackets end a value: in a URL they are escaped, and those of JSON around it must stay.
static PARAMETER: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?-u)(?:\A|[?&;#"]|\\u0026)([A-Za-z0-9_.%\[\]-]+)=([^&;\s"'<>\\#{}\[\]]+)"#;
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("the expression is a constant: {error}"))
});

/// The head of a part of a multipart body (RFC 7578), up to its content.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?i-u)\bcontent-disposition:[^\r\n]*?\bname="?([^"\r\n;]+)[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n"#;
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("the expression is a constant: {error}"))
});

/// Whether a text may have parameters or parts. Most texts have not, which this tells before an expression is tried.
fn has_equals_sign(text: &[u8]) -> bool {
    memchr::memchr(b'=', text).is_some()
}

/// Values of secret names in parameters of URLs, wherever they stand in a text.
pub(crate) fn find_parameters(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    if !has_equals_sign(text) {
        return;
    }
    for captures in PARAMETER.captures_iter(text) {
        if let (Some(pair), Some(name), Some(value)) = (captures.get(0), captures.get(1), captures.get(2))
            && is_secret_parameter(names, text, name.start()..name.end(), value.range())
        {
            found.value(pair.start(), value.range());
        }
    }
}

/// Values of secret names in a form.
pub(crate) fn find_fields(form: &[u8], names: &SecretNames, found: &mut TextMatches) {
    let mut begin = 0;
    for pair in form.split(|&byte| byte == b'&') {
        let end = begin + pair.len();
        if let Some(at) = pair.iter().position(|&byte| byte == b'=')
            && is_secret_parameter(names, form, begin..begin + at, begin + at + 1..end)
        {
            found.value(begin, begin + at + 1..end);
        }
        begin = end + 1;
    }
}

fn is_secret_parameter(names: &SecretNames, text: &[u8], name: Range<usize>, value: Range<usize>) -> bool {
    match names.parameter(&unescaped(&text[name.clone()])) {
        Secrecy::Open => false,
        Secrecy::Secret => true,
        Secrecy::IfCredential => is_credential(&text[value]),
        Secrecy::IfCode => is_code_in_query(text, name.start, &value),
    }
}

/// Values of secret names in parts of a multipart body.
pub(crate) fn find_parts(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    if !has_equals_sign(text) {
        return;
    }
    for captures in PART.captures_iter(text) {
        if let (Some(head), Some(name)) = (captures.get(0), captures.get(1))
            && names.parameter(name.as_bytes()) == Secrecy::Secret
        {
            let content = &text[head.end()..];
            let length = memchr::memmem::find(content, b"\r\n--").or_else(|| memchr::memmem::find(content, b"\n--"));
            let value = head.end()..head.end() + length.unwrap_or(content.len());
            found.parts.push(value.clone());
            found.value(head.start(), value);
        }
    }
}

/// Values at places in a text that is JSON, or in lines of it that are, as in a stream of events.
pub(crate) fn find_places(text: &[u8], paths: &[JsonPath], found: &mut TextMatches) {
    if paths.is_empty() {
        return;
    }
    let mut take = |begin: usize, json: &[u8]| {
        for range in ranges(json, paths) {
            take_value(text, begin + range.start, 0, &mut found.hits);
        }
    };
    if serde_json::from_slice::<Value>(text).is_ok() {
        return take(0, text);
    }
    let mut begin = 0;
    for line in text.split(|&byte| byte == b'\n') {
        let json = line.strip_prefix(b"data:").unwrap_or(line);
        take(begin + line.len() - json.len(), json);
        begin += line.len() + 1;
    }
}

/// Values of secret members of JSON in a text: strings, numbers, and all of those in objects and arrays.
///
/// Which quotes begin a string and which end one is not counted, since the text may begin anywhere and a quote may stand alone:
/// each may do both. What is between two strings is never a name. What a tool is called with has its own names: only those of the user
/// are secret there.
pub(crate) fn find_members(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    let mut finder = MemberFinder { text, names, found, arguments_end: 0 };
    let mut done = 0;
    let mut open = [None; LEVELS];
    for quote in memchr::memchr_iter(b'"', text) {
        let level = level(text, quote);
        if quote < done || level >= LEVELS {
            continue;
        }
        open[level + 1..].fill(None);
        let begin = open[level].replace(quote + 1);
        let Some(begin) = begin.filter(|&begin| is_in_one_line(&text[begin..quote])) else { continue };
        let colon = skip_space(text, quote + 1, level);
        // Most quotes are of no name, which this tells at once.
        if text.get(colon) != Some(&b':') {
            continue;
        }
        let name = begin..(quote - backslashes(level)).max(begin);
        let value = skip_space(text, colon + 1, level);
        if is_between_strings(&text[name.clone()]) {
            continue;
        }
        let place = MemberPlace { name: begin.saturating_sub(1 + backslashes(level)), value, level };
        if let Some(end) = finder.member(name, place) {
            done = end;
            // The quote that ends a value may begin a name as well.
            open[level] = Some(done).filter(|&done| done > value && text[done - 1] == b'"');
        }
    }
}

/// Finds what is a secret by its name in a text with which a tool is called.
pub(crate) fn find_arguments(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    let before = found.stays.len();
    find_members(text, &names.of_user(), found);
    found.arguments.push(0..text.len());
    let mut usual = TextMatches::default();
    find_members(text, names, &mut usual);
    let is_replaced =
        |range: &Range<usize>| found.hits.iter().any(|(hit, _)| hit.start <= range.start && range.end <= hit.end);
    let stays: Vec<_> = usual.hits.into_iter().map(|(range, _)| range).filter(|range| !is_replaced(range)).collect();
    found.stays.truncate(before);
    found.stays.extend(stays);
}

struct MemberFinder<'f> {
    text: &'f [u8],
    names: &'f SecretNames,
    found: &'f mut TextMatches,
    /// Where what a tool is called with ends.
    arguments_end: usize,
}

impl MemberFinder<'_> {
    /// Goes over a member if its value is a secret, or looks like one. Gives where it ends.
    fn member(&mut self, name: Range<usize>, place: MemberPlace) -> Option<usize> {
        let MemberPlace { value, level, .. } = place;
        let is_argument = place.name < self.arguments_end;
        let own = &self.text[name.clone()];
        if !is_argument && matches!(self.text.get(value), Some(b'{' | b'"' | b'\\')) {
            match is_arguments(self.text, own, place) {
                Presence::Present => self.arguments(place),
                Presence::Absent => {}
                Presence::Unknown => self.undecided(place.name),
            }
        }
        let secrecy = self.names.member(own);
        let stays = is_argument && !self.names.is_of_user(own);
        if !self.is_secret(secrecy, name.start, place) {
            return None;
        }
        if self.text.get(value) == Some(&b'{') {
            match schema(self.text, value, level) {
                Ok(schema) => {
                    if !stays {
                        for &at in &schema.values {
                            take_value(self.text, at, level, &mut self.found.hits);
                        }
                    }
                    return Some(schema.end);
                }
                Err(Presence::Unknown) => self.undecided(place.name),
                Err(_) => {}
            }
        }
        let mut hits = Vec::new();
        let end = take_value(self.text, value, level, &mut hits);
        if stays {
            self.found.stays.extend(hits.into_iter().map(|(range, _)| range));
        } else {
            self.found.hits.extend(hits);
        }
        self.found.members.push(place.name..end);
        Some(end)
    }

    /// What a tool is called with: an object, or a text of JSON.
    fn arguments(&mut self, place: MemberPlace) {
        let MemberPlace { name, value, level } = place;
        let end = match begins_string(self.text, value, level) {
            true => string(self.text, value, level).2,
            false => after_value(self.text, value, level).unwrap_or(self.text.len()),
        };
        self.arguments_end = end;
        self.found.arguments.push(value..end);
        // So it is known to be what it is as long as it goes on.
        self.found.members.push(name..end);
    }

    fn undecided(&mut self, from: usize) {
        let undecided = &mut self.found.undecided;
        *undecided = Some(undecided.map_or(from, |before| before.min(from)));
    }

    /// Whether the value of a member is a secret under its name, which begins at a place.
    fn is_secret(&mut self, secrecy: Secrecy, name: usize, place: MemberPlace) -> bool {
        let MemberPlace { value, level, .. } = place;
        let (begin, end, _) = string(self.text, value, level);
        let content = begins_string(self.text, value, level).then_some(begin..end);
        match (secrecy, content) {
            (Secrecy::Open, _) => false,
            (Secrecy::Secret, _) => true,
            (Secrecy::IfCredential, Some(content)) => {
                let value = &self.text[content];
                if !is_credential(value) || is_identifier(value) {
                    return false;
                }
                let presence = is_word_of_model(self.text, place);
                if presence == Presence::Unknown {
                    self.undecided(place.name);
                }
                presence != Presence::Present
            }
            (Secrecy::IfCode, Some(content)) => is_code_in_json(self.text, name, &content),
            (_, None) => false,
        }
    }
}

/// Whether this cannot be a name, but is what may follow a string.
fn is_between_strings(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), None | Some(b':' | b',' | b'}' | b']'))
}

/// No string of JSON has a line feed in it. What seems to is something else, with a quote before it that was none of JSON.
fn is_in_one_line(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text).is_none()
}

/// Finds what is in a value. Gives where it ends.
fn take_value(text: &[u8], at: usize, level: usize, found: &mut Vec<SecretMatch>) -> usize {
    match text.get(at) {
        _ if begins_string(text, at, level) => take_string(text, at, level, found),
        Some(b'{' | b'[') => take_children(text, at, level, found),
        Some(b'-' | b'0'..=b'9') => {
            let is_of_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
            let end = at + text[at..].iter().take_while(is_of_number).count();
            // A number with a fraction is a measure, such as a probability under a word that is a name elsewhere.
            if !text[at..end].contains(&b'.') {
                found.push((at..end, NUMBER_PLACEHOLDER));
            }
            end
        }
        _ => at,
    }
}

/// Finds what is in a string. One that does not end reaches to the end of the text.
fn take_string(text: &[u8], at: usize, level: usize, found: &mut Vec<SecretMatch>) -> usize {
    let (begin, end, behind) = string(text, at, level);
    if begin < end {
        found.push((begin..end, PLACEHOLDER));
    }
    behind
}

/// Finds what is in all strings and numbers in an object or an array, except names.
fn take_children(text: &[u8], at: usize, level: usize, found: &mut Vec<SecretMatch>) -> usize {
    let mut depth = 0_usize;
    let mut at = at;
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            // The string ends that all of this is in.
            b'"' if self::level(text, at) < level => break,
            _ if begins_string(text, at, level) => {
                let (_, _, behind) = string(text, at, level);
                if text.get(skip_space(text, behind, level)) != Some(&b':') {
                    take_string(text, at, level, found);
                }
                at = behind;
                continue;
            }
            b'-' | b'0'..=b'9' => {
                at = take_value(text, at, level, found);
                continue;
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, find: fn(&[u8], &SecretNames, &mut TextMatches)) -> String {
        let mut found = TextMatches::default();
        find(text.as_bytes(), &SecretNames::usual(), &mut found);
        found.put_into(text)
    }

    #[test]
    fn members_are_found_wherever_json_is() {
        for (text, expected) in [
            (r#"{"password": "a\"b\\", "x": "y"}"#, r#"{"password": "REDACTED", "x": "y"}"#),
            (r#"{"x": "password", "y": 1}"#, r#"{"x": "password", "y": 1}"#),
            (r#"{"pwd":1234,"pwd":-1e5}"#, r#"{"pwd":0,"pwd":0}"#),
            (r#"{"pwd":null,"pwd":true,"pwd":""}"#, r#"{"pwd":null,"pwd":true,"pwd":""}"#),
            (
                "data: {\"api_key\" : \"k\"}\n\ndata: {\"apiKey\":\"k",
                "data: {\"api_key\" : \"REDACTED\"}\n\ndata: {\"apiKey\":\"REDACTED",
            ),
            (
                r#"{"credentials": {"user": "u", "list": ["a", 7, {"b": "c"}]}, "z": "z"}"#,
                r#"{"credentials": {"user": "REDACTED", "list": ["REDACTED", 0, {"b": "REDACTED"}]}, "z": "z"}"#,
            ),
            (
                r#"{"arguments": "{\"password\": \"x\\\"y\", \"z\": \"z\"}", "z": 1}"#,
                r#"{"arguments": "{\"password\": \"REDACTED\", \"z\": \"z\"}", "z": 1}"#,
            ),
            (r#""{\"a\": \"{\\\"pwd\\\": \\\"x\\\"}\"}""#, r#""{\"a\": \"{\\\"pwd\\\": \\\"REDACTED\\\"}\"}""#),
            (
                r#""{\n \"credentials\": {\n  \"a\": [\n \"b\", 1]}}""#,
                r#""{\n \"credentials\": {\n  \"a\": [\n \"REDACTED\", 0]}}""#,
            ),
            (r#"{"a\\": "x", "pwd": "y"}"#, r#"{"a\\": "x", "pwd": "REDACTED"}"#),
        ] {
            assert_eq!(replaced(text, find_members), expected);
        }
    }

    #[test]
    fn parameters_are_found_wherever_a_url_is() {
        assert_eq!(
            replaced("/a?x=1&api%5Fkey=k&sig=a%20b#c", find_parameters),
            "/a?x=1&api%5Fkey=REDACTED&sig=REDACTED#c"
        );
        assert_eq!(
            replaced(r#"access_token=t#access_token=t "http:\/\/a?x\u0026access_token=t" "pwd=x""#, find_parameters),
            r#"access_token=REDACTED#access_token=REDACTED "http:\/\/a?x\u0026access_token=REDACTED" "pwd=REDACTED""#
        );
        assert_eq!(
            replaced("/?user[password]=x&user%5Bpwd%5D=x&Signature=x", find_parameters),
            "/?user[password]=REDACTED&user%5Bpwd%5D=REDACTED&Signature=REDACTED"
        );
        assert_eq!(
            replaced("see <https://a/b?access_token=t> or ?pwd=", find_parameters),
            "see <https://a/b?access_token=REDACTED> or ?pwd="
        );
        assert_eq!(replaced("password=a%26b&user=u&pwd=&passwd", find_fields), "password=REDACTED&user=u&pwd=&passwd");
    }

    #[test]
    fn a_quote_too_many_harms_nothing() {
        let text = "a 5\" pipe\n{\"pwd\": \"x\"}\nand 6\" more, {\"pwd\": \"x\"}\n{\"pwd\": \"x\"}";
        assert_eq!(replaced(text, find_members), text.replace("\"x\"", "\"REDACTED\""));
        assert_eq!(replaced("\":\"pwd\":\"x\"", find_members), "\":\"pwd\":\"REDACTED\"");
    }

    #[test]
    fn a_quote_that_ends_a_value_may_begin_a_name() {
        let text = r#"{"token":"0123456789abcdef"password":"x", "pwd":"y"credentials": ["z"]"#;
        let expected = r#"{"token":"REDACTED"password":"REDACTED", "pwd":"REDACTED"credentials": ["REDACTED"]"#;
        assert_eq!(replaced(text, find_members), expected);
    }

    #[test]
    fn what_is_between_strings_is_no_name() {
        for text in [r#"{"a": "b", "c": ":d"}"#, r#"["a", "password", ": x"]"#, r#"{"a":"b","pwd":null,":c":"d"}"#] {
            assert_eq!(replaced(text, find_members), text);
        }
        let names = {
            let mut names = SecretNames::default();
            names.add("7");
            names
        };
        let mut found = TextMatches::default();
        find_members(br#"{"a": 7, ":": "x", "b": [7, ": y"]}"#, &names, &mut found);
        assert!(found.hits.is_empty());
    }

    #[test]
    fn what_does_not_end_ends_with_the_string_it_is_in() {
        let text = r#"{"a":"{\"credentials\":[[\"x\"", "password":"hunter2"}"#;
        let expected = r#"{"a":"{\"credentials\":[[\"REDACTED\"", "password":"REDACTED"}"#;
        assert_eq!(replaced(text, find_members), expected);
    }

    #[test]
    fn parts_are_found() {
        let part = |name: &str, value: &str| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\nX-Y: z\r\n\r\n{value}\r\n")
        };
        let form = |value: &str| part("user", "u") + &part("password", value) + &part("z", "z") + "--b--\r\n";
        assert_eq!(replaced(&form("hunter\r\n2"), find_parts), form("REDACTED"));
        assert_eq!(replaced(&part("password", "x"), find_parts), part("password", "REDACTED").trim_end());
    }

    #[test]
    fn nothing_is_too_broken_to_be_looked_through() {
        for text in
            [r#"{"pwd""#, r#"{"pwd":"#, r#"{"pwd":\"#, r#"{"pwd":["#, r#"{"pwd": ]"#, "\\\"\\\\\"\"", r#"{\"pwd\":"x"#]
        {
            replaced(text, find_members);
        }
    }
}
