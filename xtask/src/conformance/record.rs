//! What `metroon run --json` prints: a JSON object a line, for each result when it is found and for each form's end.
//!
//! ```text
//! {"form":1,"line":3,"result":"(foo bar)"}
//! {"form":1,"line":3,"done":true,"results":1,"error":false}
//! ```
//!
//! Reads objects of strings, numbers, `true`, `false` and `null`. Other lines are what the program itself printed, and
//! are passed over; so are names this file does not know.

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Result { form: usize, text: String },
    Done { form: usize, results: usize },
}

/// The records among the lines of `output`.
pub(super) fn read(output: &str) -> Vec<Record> {
    output.lines().filter_map(record).collect()
}

/// The record that a line is, if it is one.
pub(crate) fn record(line: &str) -> Option<Record> {
    let members = object(line.trim())?;
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let number = |name| match member(name) {
        Some(Value::Bare(text)) => text.parse().ok(),
        _ => None,
    };
    let form = number("form")?;
    match member("result") {
        Some(Value::Text(text)) => Some(Record::Result { form, text: text.clone() }),
        _ => Some(Record::Done { form, results: number("results")? }),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Value {
    Text(String),
    /// A number, `true`, `false` or `null`, as written.
    Bare(String),
}

/// The members of an object that holds no array and no object.
fn object(line: &str) -> Option<Vec<(String, Value)>> {
    let mut rest = line.strip_prefix('{')?.trim_start();
    let mut members = Vec::new();
    while !rest.starts_with('}') {
        let (name, after) = string(rest.strip_prefix('"')?)?;
        let (value, after) = value(after.trim_start().strip_prefix(':')?.trim_start())?;
        members.push((name, value));
        rest = after.trim_start();
        rest = rest.strip_prefix(',').map_or(rest, str::trim_start);
    }
    (rest == "}").then_some(members)
}

fn value(text: &str) -> Option<(Value, &str)> {
    if let Some(inside) = text.strip_prefix('"') {
        let (text, rest) = string(inside)?;
        return Some((Value::Text(text), rest));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '+' | '.'))?;
    (end > 0).then(|| (Value::Bare(text[..end].to_owned()), &text[end..]))
}

/// The string whose opening quote is in front of `text`, and what follows its closing quote.
fn string(mut text: &str) -> Option<(String, &str)> {
    let mut read = String::new();
    loop {
        let at = text.find(['"', '\\'])?;
        read.push_str(&text[..at]);
        let rest = &text[at + 1..];
        if text[at..].starts_with('"') {
            return Some((read, rest));
        }
        let (c, length) = escaped(rest)?;
        read.push(c);
        text = &rest[length..];
    }
}

/// The character that the escape in front of `text` stands for, and the bytes it takes after the backslash.
fn escaped(text: &str) -> Option<(char, usize)> {
    let c = match text.chars().next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => return unicode(text),
        c @ ('"' | '\\' | '/') => c,
        _ => return None,
    };
    Some((c, 1))
}

fn unicode(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| u32::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let first = unit(1)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first)?, 5));
    }
    // The first half of a character beyond 16 bits; the second follows as another escape.
    text.get(5..7).filter(|mark| *mark == "\\u")?;
    let second = unit(7)?.checked_sub(0xDC00)?;
    Some((char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + second)?, 11))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_ends_are_read() {
        let output = "{\"form\":1,\"line\":3,\"result\":\"(foo \\\"a\\\")\"}\nprinted by the program\n\
                      {\"form\":1,\"line\":3,\"done\":true,\"results\":1,\"error\":false}\n";
        let result = Record::Result { form: 1, text: "(foo \"a\")".to_owned() };
        assert_eq!(read(output), [result, Record::Done { form: 1, results: 1 }]);
    }

    #[test]
    fn escapes_space_and_unknown_names_are_understood() {
        let line = r#"{ "new" : null , "result" : "\u0041\n\ud83d\ude00\\" , "form" : 12 }"#;
        assert_eq!(read(line), [Record::Result { form: 12, text: "A\n😀\\".to_owned() }]);
    }

    #[test]
    fn other_lines_are_passed_over() {
        for line in
            ["", "{", "{}", "[1]", "{\"form\":1}", "{\"form\":\"x\",\"result\":\"y\"}", "{\"form\":1,\"result\":\"y"]
        {
            assert_eq!(read(line), [], "{line}");
        }
        assert_eq!(read("{\"form\":1,\"result\":\"\\ud83d\"}"), []);
    }
}
