//! Trees as YAML that every reader understands, of version 1.1 or 1.2: blocks, a member a line, texts in quotes unless they can mean
//! nothing else, bytes as `!!binary`.

use super::Node;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// A longer name of a member is written with `?`: readers look so far for its colon, and not farther.
const NAME_BYTES_MAX: usize = 100;

const BASE64_LINE_BYTES: usize = 76;

/// A tree as a document, with a line at its end.
pub(crate) fn to_yaml(node: &Node) -> String {
    let mut out = String::new();
    match node {
        Node::Map(members) if !members.is_empty() => put_members(&mut out, members, 0),
        Node::List(list) if !list.is_empty() => put_list(&mut out, list, 0),
        scalar => put_scalar(&mut out, scalar, 0),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn put_members(out: &mut String, members: &[(String, Node)], indent: usize) {
    for (name, node) in members {
        put_indent(out, indent);
        let name = written(name);
        if name.len() > NAME_BYTES_MAX {
            let _ = writeln!(out, "? {name}");
            put_indent(out, indent);
        } else {
            out.push_str(&name);
        }
        out.push(':');
        match node {
            Node::Map(members) if !members.is_empty() => {
                out.push('\n');
                put_members(out, members, indent + 2);
            }
            Node::List(list) if !list.is_empty() => {
                out.push('\n');
                put_list(out, list, indent);
            }
            scalar => {
                out.push(' ');
                put_scalar(out, scalar, indent);
            }
        }
    }
}

fn put_list(out: &mut String, list: &[Node], indent: usize) {
    for node in list {
        put_indent(out, indent);
        match node {
            Node::Map(members) if !members.is_empty() => {
                put_first_beside(out, |out| put_members(out, members, indent + 2))
            }
            Node::List(list) if !list.is_empty() => put_first_beside(out, |out| put_list(out, list, indent + 2)),
            scalar => {
                out.push_str("- ");
                put_scalar(out, scalar, indent);
            }
        }
    }
}

/// What is indented by two more begins in the line of its hyphen.
fn put_first_beside(out: &mut String, put: impl FnOnce(&mut String)) {
    let begin = out.len();
    put(out);
    // Its first line has the indentation of this one, and two more.
    let spaces = out[begin..].len() - out[begin..].trim_start_matches(' ').len();
    out.replace_range(begin..begin + spaces, "- ");
}

fn put_indent(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A scalar or something empty, and the end of its line.
fn put_scalar(out: &mut String, node: &Node, indent: usize) {
    match node {
        Node::Null => out.push_str("null"),
        Node::Bool(is_so) => out.push_str(if *is_so { "true" } else { "false" }),
        Node::Number(number) => put_number(out, &number.to_string()),
        Node::Plain(plain) => out.push_str(plain),
        Node::Text(text) => out.push_str(&written(text)),
        Node::Bytes(bytes) if bytes.is_empty() => out.push_str("!!binary \"\""),
        Node::Bytes(bytes) => {
            out.push_str("!!binary |");
            for line in STANDARD.encode(bytes).as_bytes().chunks(BASE64_LINE_BYTES) {
                out.push('\n');
                put_indent(out, indent + 2);
                out.extend(line.iter().map(|&byte| char::from(byte)));
            }
        }
        Node::List(_) => out.push_str("[]"),
        Node::Map(_) => out.push_str("{}"),
    }
    out.push('\n');
}

/// A number. One with an exponent has a point and a sign: YAML 1.1 reads `1e20` as a text, and `1.0e+20` as a number.
fn put_number(out: &mut String, number: &str) {
    let Some((mantissa, exponent)) = number.split_once(['e', 'E']) else { return out.push_str(number) };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    let _ = write!(out, "{mantissa}{point}e{sign}{exponent}");
}

/// A text: as it is, in single quotes, or in double quotes with escapes, whichever comes first.
fn written(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    text.chars().for_each(|character| put_escaped(&mut out, character));
    out.push('"');
    out
}

fn put_escaped(out: &mut String, character: char) {
    let number = u32::from(character);
    let _ = match character {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        ' '..='~' => out.write_char(character),
        // Letters and digits of other scripts are printable everywhere; of the rest, readers disagree.
        _ if character.is_alphanumeric() => out.write_char(character),
        _ if number < 0x100 => write!(out, "\\x{number:02X}"),
        _ if number < 0x1_0000 => write!(out, "\\u{number:04X}"),
        _ => write!(out, "\\U{number:08X}"),
    };
}

/// Words that mean something else than themselves, in one version of YAML or the other.
const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// Whether a text needs no quotes: it begins with a letter or a slash, so it is not a number or a time, and has no character that
/// could mean something.
fn is_plain(text: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'/';
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b" /.:_+=?&%*;-()$~!".contains(&byte);
    text.bytes().next().is_some_and(is_first)
        && text.bytes().all(is_inner)
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}
