//! Values of secret names in lines: YAML, and texts that look like it, such as files of settings.
//!
//! 1. In YAML a value is what stands after `name:`, without quotes and without a comment; or all deeper lines, if nothing stands
//!    there, or a block begins there. In braces it ends with a comma or a brace.
//! 2. Any other text may be a program, in which `password: string` declares something. So a value counts there only if it is one
//!    word with a digit in it, after `name: ` or after `NAME=`.

use crate::redact::names::{Secrecy, SecretNames};
use crate::redact::text::TextMatches;
use crate::redact::words::is_credential;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// A line that gives a name a value, which begins where the expression ends.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r#"(?m-u)^([ \t]*(?:-[ \t]+)*)(?:export[ \t]+)?["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?[ \t]*(:(?:[ \t]|\r?$)|=)[ \t]*"#,
    )
});

/// A member of a mapping in braces.
static IN_BRACES: LazyLock<Regex> =
    LazyLock::new(|| expression(r#"(?-u)[{,][ \t]*([A-Za-z_][A-Za-z0-9_.-]*):[ \t]+([^\s"'{}\[\],][^{}\[\],\n]*)"#));

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("the expression is a constant: {error}"))
}

/// Values of secret names in YAML.
pub(crate) fn find_in_yaml(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    for captures in LINE.captures_iter(text) {
        let (Some(whole), Some(indent), Some(name), Some(sign)) =
            (captures.get(0), captures.get(1), captures.get(2), captures.get(3))
        else {
            continue;
        };
        if !sign.as_bytes().starts_with(b":") {
            continue;
        }
        let value = scalar(text, whole.end());
        let begins_block = matches!(text[value.clone()], [] | [b'|' | b'>', ..]);
        match names.member(name.as_bytes()) {
            Secrecy::Secret if begins_block => take_deeper(text, value.end, indent.len(), whole.start(), found),
            Secrecy::Secret => found.value(whole.start(), value),
            Secrecy::IfCredential if is_credential(&text[value.clone()]) => found.value(whole.start(), value),
            Secrecy::Open | Secrecy::IfCredential | Secrecy::IfCode => {}
        }
    }
    for captures in IN_BRACES.captures_iter(text) {
        if let (Some(whole), Some(name), Some(value)) = (captures.get(0), captures.get(1), captures.get(2))
            && names.has(name.as_bytes())
        {
            found.value(whole.start(), value.start()..value.start() + value.as_bytes().trim_ascii_end().len());
        }
    }
}

/// Finds values of secret names in lines of a text that may be anything.
pub(crate) fn find_in_lines(text: &[u8], names: &SecretNames, found: &mut TextMatches) {
    for captures in LINE.captures_iter(text) {
        let (Some(whole), Some(name), Some(sign)) = (captures.get(0), captures.get(2), captures.get(3)) else {
            continue;
        };
        let value = scalar(text, whole.end());
        let is_setting = sign.as_bytes() != b"=" || is_constant(name.as_bytes()) && whole.as_bytes().ends_with(b"=");
        let is_secret = match names.member(name.as_bytes()) {
            Secrecy::Secret => is_setting && is_word_with_digit(&text[value.clone()]),
            Secrecy::IfCredential => is_setting && is_credential(&text[value.clone()]),
            Secrecy::Open | Secrecy::IfCode => false,
        };
        if is_secret {
            found.value(whole.start(), value);
        }
    }
}

/// The content of a value that begins at a place and ends in its line.
fn scalar(text: &[u8], from: usize) -> Range<usize> {
    let line = memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |end| from + end);
    let rest = &text[from..line];
    if let Some(quote) = rest.first().filter(|byte| b"\"'".contains(byte)) {
        let end = rest[1..].iter().position(|byte| byte == quote).map_or(rest.len(), |end| end + 1);
        return from + 1..from + end;
    }
    let comment = memchr::memmem::find(rest, b" #").unwrap_or(rest.len());
    from..from + rest[..comment].trim_ascii_end().len()
}

/// Everything on deeper lines is a secret, except names.
fn take_deeper(text: &[u8], from: usize, indent: usize, name: usize, found: &mut TextMatches) {
    let Some(first) = memchr::memchr(b'\n', &text[from..]) else { return };
    let mut begin = from + first + 1;
    for line in text[begin..].split_inclusive(|&byte| byte == b'\n') {
        let content = line.trim_ascii();
        let own = line.len() - line.trim_ascii_start().len();
        if !content.is_empty() && own <= indent {
            return;
        }
        let at = begin + own;
        let value = match LINE.captures(content) {
            Some(captures) if captures.get(3).is_some_and(|sign| sign.as_bytes().starts_with(b":")) => {
                scalar(text, at + captures.get(0).map_or(0, |whole| whole.end()))
            }
            _ if content.starts_with(b"- ") => at + 2..at + content.len(),
            _ => at..at + content.len(),
        };
        if !content.is_empty() {
            found.value(name, value);
        }
        begin += line.len();
    }
}

fn is_constant(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
}

fn is_word_with_digit(value: &[u8]) -> bool {
    let is_of_program = |byte: &u8| byte.is_ascii_whitespace() || b"()[]{}<>$;,".contains(byte);
    !value.iter().any(is_of_program) && value.iter().any(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str, find: fn(&[u8], &SecretNames, &mut TextMatches)) -> String {
        let mut found = TextMatches::default();
        find(text.as_bytes(), &SecretNames::usual(), &mut found);
        found.put_into(text)
    }

    #[test]
    fn yaml_is_looked_through() {
        for (text, expected) in [
            ("user: u\npassword: a b # c\n", "user: u\npassword: REDACTED # c\n"),
            ("db:\n  - api_key: \"x y\"\n    z: 1", "db:\n  - api_key: \"REDACTED\"\n    z: 1"),
            ("a: {user: u, password: hunter2 }\r\n", "a: {user: u, password: REDACTED }\r\n"),
            ("secret: |\n  one\n  two\nz: z", "secret: |\n  REDACTED\n  REDACTED\nz: z"),
            (
                "credentials:\n  user: u\n  list:\n  - x\nz: z",
                "credentials:\n  user: REDACTED\n  list:\n  - REDACTED\nz: z",
            ),
            ("'token': 0123456789abcdef\ntoken: word", "'token': REDACTED\ntoken: word"),
        ] {
            assert_eq!(redacted(text, find_in_yaml), expected);
        }
    }

    #[test]
    fn programs_are_no_settings() {
        for (text, expected) in [
            ("Password: hunter2\n", "Password: REDACTED\n"),
            ("export DB_PASSWORD=hunter2\nX=1", "export DB_PASSWORD=REDACTED\nX=1"),
            ("API_KEY='k3y'", "API_KEY='REDACTED'"),
        ] {
            assert_eq!(redacted(text, find_in_lines), expected);
        }
        for text in [
            "    password: str\n    password: string;\n",
            "self.password = password1\npassword = get(1)",
            "Password: must have 8 letters",
            "PASSWORD=$1",
        ] {
            assert_eq!(redacted(text, find_in_lines), text);
        }
    }
}
