//! A tree as the JSON that its document stands for.
//!
//! A word without quotes is what PyYAML and Psych make of it, by YAML 1.1: they wrote it. `1e5` is a text to them, `1.0e+5` is a
//! number. A number keeps its digits. What JSON has no place for, and numbers in spellings that the versions of YAML read
//! differently, are refused by name.

use super::{Node, SyntaxProblem};

/// JSON in one line, without spaces.
///
/// # Errors
/// Something in the tree is not a value of JSON; the place is said.
pub(crate) fn as_json(node: &Node) -> Result<String, SyntaxProblem> {
    let mut out = String::new();
    put(&mut out, node)?;
    Ok(out)
}

fn put(out: &mut String, node: &Node) -> Result<(), SyntaxProblem> {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(is_so) => out.push_str(if *is_so { "true" } else { "false" }),
        Node::Number(number) => out.push_str(&number.to_string()),
        Node::Text(text) => put_text(out, text),
        Node::Plain(plain) => put_plain(out, plain)?,
        Node::Bytes(_) => {
            return Err(SyntaxProblem::new("these are bytes, which JSON has no place for; write them as a text"));
        }
        Node::List(list) => {
            out.push('[');
            for (index, element) in list.iter().enumerate() {
                put_comma(out, index);
                put(out, element).map_err(|wrong| wrong.at(index))?;
            }
            out.push(']');
        }
        Node::Map(members) => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                put_comma(out, index);
                put_text(out, name);
                out.push(':');
                put(out, member).map_err(|wrong| wrong.of(name))?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn put_comma(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

fn put_text(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

fn put_plain(out: &mut String, plain: &str) -> Result<(), SyntaxProblem> {
    let is_word = |words: [&str; 3]| {
        let is_cased = |word: &str| plain == word || plain == word.to_uppercase() || plain == capitalized(word);
        words.into_iter().any(is_cased)
    };
    match plain {
        "" | "~" => out.push_str("null"),
        _ if is_word(["null"; 3]) => out.push_str("null"),
        _ if is_word(["true", "yes", "on"]) => out.push_str("true"),
        _ if is_word(["false", "no", "off"]) => out.push_str("false"),
        _ if is_decimal(plain) => put_decimal(out, plain),
        _ if is_disputed(plain) => {
            let message = format!("readers of YAML disagree about `{plain}`; write it as JSON has it, or in quotes");
            return Err(SyntaxProblem::new(message));
        }
        _ => put_text(out, plain),
    }
    Ok(())
}

fn capitalized(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// A sign, digits without a zero before others, and maybe a point with digits and a signed exponent.
fn is_decimal(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    let (whole, fraction) = unsigned.split_once('.').map_or((unsigned, None), |(whole, rest)| (whole, Some(rest)));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_exponent = |text: &str| {
        let digits = text.strip_prefix(['-', '+']).unwrap_or_default();
        !digits.is_empty() && is_digits(digits)
    };
    let is_fraction = |fraction: &str| match fraction.split_once(['e', 'E']) {
        Some((digits, exponent)) => is_digits(digits) && is_exponent(exponent),
        None => is_digits(fraction),
    };
    let is_whole = is_digits(whole) && (whole == "0" || !whole.starts_with('0'));
    match fraction {
        None => is_whole && !whole.is_empty(),
        Some(fraction) => {
            let has_digits = !whole.is_empty() || fraction.starts_with(|first: char| first.is_ascii_digit());
            is_whole && has_digits && is_fraction(fraction)
        }
    }
}

/// JSON has no plus, and digits on both sides of a point.
fn put_decimal(out: &mut String, plain: &str) {
    let plain = plain.strip_prefix('+').unwrap_or(plain);
    let (sign, unsigned) = plain.strip_prefix('-').map_or(("", plain), |rest| ("-", rest));
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    out.push_str(sign);
    out.push_str(if whole.is_empty() { "0" } else { whole });
    if unsigned.contains('.') {
        out.push('.');
        out.push_str(if fraction.starts_with(|first: char| first.is_ascii_digit()) { "" } else { "0" });
        out.push_str(fraction);
    }
}

/// Numbers with `_`, `:`, leading zeros or other bases, dates, and what is not a number: one version of YAML takes them for a
/// number or a time, and the other for a text.
fn is_disputed(plain: &str) -> bool {
    let unsigned = plain.strip_prefix(['-', '+']).unwrap_or(plain);
    let lower = unsigned.to_ascii_lowercase();
    if matches!(&*lower, ".inf" | ".nan") {
        return true;
    }
    let is_digit = |byte: u8| byte.is_ascii_digit();
    let is_of = |others: &[u8]| lower.bytes().all(|byte| is_digit(byte) || others.contains(&byte));
    let begins = lower.bytes().next().is_some_and(is_digit);
    let is_based = ["0x", "0b", "0o"].iter().any(|prefix| {
        lower
            .strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'_'))
    });
    let is_date = lower.len() >= 8 && lower.as_bytes().get(4) == Some(&b'-') && is_of(b"-+:. tz");
    is_based || begins && (is_of(b"_") || is_of(b"_:.") && lower.contains(['_', ':']) || is_date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(plain: &str) -> Result<String, SyntaxProblem> {
        as_json(&Node::Plain(plain.to_owned()))
    }

    #[test]
    fn words_are_what_their_writers_read() {
        for (plain, expected) in [
            ("", "null"),
            ("~", "null"),
            ("Null", "null"),
            ("true", "true"),
            ("No", "false"),
            ("-12", "-12"),
            ("+7", "7"),
            ("0", "0"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            ("1.10", "1.10"),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("-.5e-3", "-0.5e-3"),
            ("1.0e+20", "1.0e+20"),
            ("1.e+2", "1.0e+2"),
            ("1e5", "\"1e5\""),
            ("4e12f", "\"4e12f\""),
            ("1.2.3", "\"1.2.3\""),
            ("a: b\"", "\"a: b\\\"\""),
            (".", "\".\""),
            ("-", "\"-\""),
            ("1.5e", "\"1.5e\""),
        ] {
            let found = json(plain);
            assert_eq!(found.as_deref(), Ok(expected), "{plain}");
            assert!(serde_json::from_str::<serde_json::Value>(expected).is_ok(), "{expected}");
        }
    }

    #[test]
    fn what_readers_disagree_about_is_refused() {
        for plain in [
            "1_000",
            "010",
            "0x1F",
            "0b1",
            "0o7",
            "12:30",
            "1:30.5",
            "2026-03-02",
            "2026-03-02 09:15:07Z",
            ".inf",
            "-.Inf",
            ".NaN",
        ] {
            let error = json(plain).unwrap_err().to_string();
            assert!(error.contains(plain) && error.contains("disagree"), "{error}");
        }
        let bytes = Node::map([("a", Node::List(vec![Node::Bytes(vec![0])]))]);
        assert!(as_json(&bytes).unwrap_err().to_string().starts_with("a[0]: these are bytes"));
    }
}
