//! Values of secret names inside of texts: JSON, whatever is around it, and parameters of URLs and forms.
//!
//! JSON is not parsed but looked through, quote by quote. So it is found in lines of a stream of events, in lines of JSON, in
//! what is cut off; and in strings of JSON, where quotes are escaped. A quote after `n` backslashes delimits a string so many
//! levels deep as `n` has ones at its end in binary: none or two after each other are the outermost level, one is a
//! string in a string, three one in that.
//!
//! XML and lines `name: value` are looked through in modules of their own.

use crate::matching::JsonPath;
use crate::matching::json::ranges;
use crate::redact::names::{Secrecy, SecretNames};
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
/// The same for a number in JSON.
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
/// each may do both. What is between two strings is never a name.
pub(crate) fn find_members(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
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
        let name = &text[begin..(quote - backslashes(level)).max(begin)];
        let value = skip_space(text, colon + 1, level);
        if !is_between_strings(name) && is_secret_member(names.member(name), text, begin, (value, level)) {
            done = take_value(text, value, level, &mut found.hits);
            // The quote that ends a value may begin a name as well.
            open[level] = Some(done).filter(|&done| done > value && text[done - 1] == b'"');
            found.members.push(begin.saturating_sub(1 + backslashes(level))..done);
        }
    }
}

/// Whether the value that begins at a place, on a level of strings, is a secret under its name, which begins at another.
fn is_secret_member(secrecy: Secrecy, text: &[u8], name: usize, (value, level): (usize, usize)) -> bool {
    let content = || {
        let (begin, end, _) = string(text, value, level);
        begins_string(text, value, level).then_some(begin..end)
    };
    match secrecy {
        Secrecy::Open => false,
        Secrecy::Secret => true,
        Secrecy::IfCredential => content().is_some_and(|content| is_credential(&text[content])),
        Secrecy::IfCode => content().is_some_and(|content| is_code_in_json(text, name, &content)),
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

/// How many strings may be in each other.
const LEVELS: usize = 4;

/// How many backslashes a quote of a level has before it, at least.
fn backslashes(level: usize) -> usize {
    (1 << level) - 1
}

/// The level of the string that a quote delimits.
fn level(text: &[u8], quote: usize) -> usize {
    let before = text[..quote].iter().rev().take_while(|&&byte| byte == b'\\').count();
    before.trailing_ones() as usize
}

/// Goes over space. In a string, a line feed is written as backslashes and an `n`.
fn skip_space(text: &[u8], from: usize, level: usize) -> usize {
    let mut at = from;
    loop {
        let rest = &text[at.min(text.len())..];
        let escapes = backslashes(level).div_ceil(2);
        match rest {
            [b' ' | b'\n' | b'\r' | b'\t', ..] => at += 1,
            _ if is_escaped(rest, escapes, b"nrt") => at += escapes + 1,
            _ => return at,
        }
    }
}

/// Whether a text begins with so many backslashes and one of these letters.
fn is_escaped(text: &[u8], escapes: usize, letters: &[u8]) -> bool {
    let begins = text.iter().take_while(|&&byte| byte == b'\\').take(escapes).count() == escapes;
    begins && escapes > 0 && text.get(escapes).is_some_and(|byte| letters.contains(byte))
}

fn begins_string(text: &[u8], at: usize, level: usize) -> bool {
    match level {
        0 => text.get(at) == Some(&b'"'),
        _ => is_escaped(&text[at.min(text.len())..], backslashes(level), b"\""),
    }
}

/// Finds what is in a value. Gives where it ends.
fn take_value(text: &[u8], at: usize, level: usize, found: &mut Vec<SecretMatch>) -> usize {
    match text.get(at) {
        _ if begins_string(text, at, level) => take_string(text, at, level, found),
        Some(b'{' | b'[') => take_children(text, at, level, found),
        Some(b'-' | b'0'..=b'9') => {
            let is_of_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
            let end = at + text[at..].iter().take_while(is_of_number).count();
            found.push((at..end, NUMBER_PLACEHOLDER));
            end
        }
        _ => at,
    }
}

/// The same of a string. One that does not end reaches to the end of the text.
fn take_string(text: &[u8], at: usize, level: usize, found: &mut Vec<SecretMatch>) -> usize {
    let (begin, end, behind) = string(text, at, level);
    if begin < end {
        found.push((begin..end, PLACEHOLDER));
    }
    behind
}

/// Where the content of a string begins and ends, and where the string ends.
fn string(text: &[u8], at: usize, wanted: usize) -> (usize, usize, usize) {
    let begin = (at + backslashes(wanted) + 1).min(text.len());
    let closing = memchr::memchr_iter(b'"', &text[begin..]).map(|quote| begin + quote);
    match closing.map(|quote| (quote, level(text, quote))).find(|(_, level)| *level <= wanted) {
        Some((quote, level)) => {
            let end = (quote - backslashes(level)).max(begin);
            (begin, end, if level == wanted { quote + 1 } else { end })
        }
        None => (begin, text.len(), text.len()),
    }
}

/// The same of all strings and numbers in an object or an array, except names.
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
