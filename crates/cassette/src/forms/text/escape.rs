//! Bytes in a line of text: as they are if they can be seen, else `\{…}` with their hexadecimal digits, or `\{cr}`, `\{lf}`,
//! `\{tab}`. A backslash that no `{` follows is a backslash.

use std::fmt::Write;
use std::ops::Range;

const NAMES: [(&str, u8); 3] = [("cr", b'\r'), ("lf", b'\n'), ("tab", b'\t')];

/// What begins an escape.
const BEGIN: &str = "\\{";

/// Appends bytes that take the rest of a line. A space at its end, of any width, is escaped: many editors take it away.
pub(super) fn put_rest(out: &mut String, bytes: &[u8]) {
    let last = bytes.utf8_chunks().last().filter(|chunk| chunk.invalid().is_empty());
    let last = last.and_then(|chunk| chunk.valid().chars().next_back()).filter(|last| last.is_whitespace());
    let end = bytes.len() - last.map_or(0, char::len_utf8);
    put(out, &bytes[..end], b"");
    if bytes.len() - end > 1 { put_escaped(out, &mut bytes[end..].to_vec()) } else { put(out, &bytes[end..], b" \t") }
}

/// Appends bytes with other bytes after them; what ends them there is escaped, too.
pub(super) fn put(out: &mut String, bytes: &[u8], more: &[u8]) {
    // What is escaped and follows each other shares its braces.
    let mut escaped: Vec<u8> = Vec::new();
    let is_plain = |byte: &&u8| matches!(byte, b' '..=b'~') && **byte != b'\\' && !more.contains(byte);
    let mut at = 0;
    while at < bytes.len() {
        let plain = bytes[at..].iter().take_while(is_plain).count();
        let count = if plain > 0 { plain } else { length_of_first(&bytes[at..]) };
        let chunk = &bytes[at..at + count];
        at += count;
        if plain > 0 || !must_escape(chunk, bytes.get(at), more) {
            put_escaped(out, &mut escaped);
            out.push_str(std::str::from_utf8(chunk).unwrap_or_default());
        } else if let Some((name, _)) = NAMES.iter().find(|(_, byte)| chunk == [*byte]) {
            put_escaped(out, &mut escaped);
            let _ = write!(out, "{BEGIN}{name}}}");
        } else {
            escaped.extend_from_slice(chunk);
        }
    }
    put_escaped(out, &mut escaped);
}

/// How many bytes the first character has; 1 if it is none.
fn length_of_first(bytes: &[u8]) -> usize {
    let first = bytes[..bytes.len().min(4)].utf8_chunks().next();
    first.and_then(|chunk| chunk.valid().chars().next()).map_or(1, char::len_utf8)
}

fn put_escaped(out: &mut String, escaped: &mut Vec<u8>) {
    if escaped.is_empty() {
        return;
    }
    out.push_str(BEGIN);
    for byte in escaped.drain(..) {
        let _ = write!(out, "{byte:02x}");
    }
    out.push('}');
}

fn must_escape(chunk: &[u8], behind: Option<&u8>, more: &[u8]) -> bool {
    match chunk {
        [b'\\'] => behind == Some(&b'{'),
        [b'\t'] => more.contains(&b'\t'),
        [byte] => is_hidden(chunk) || more.contains(byte),
        _ => is_hidden(chunk),
    }
}

/// Whether a character cannot be seen, or changes how others are seen; or is not a character.
fn is_hidden(chunk: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(chunk) else { return true };
    text.chars().any(|character| {
        let is_invisible = matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}');
        is_invisible || character.is_control() && character != '\t'
    })
}

/// Whether enough of some bytes can be seen that they are best written as text.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let is_plain = |byte: &&u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let (mut at, mut hidden) = (0, 0);
    while at < bytes.len() {
        at += bytes[at..].iter().take_while(is_plain).count();
        let Some(length) = bytes.get(at..).filter(|rest| !rest.is_empty()).map(length_of_first) else { break };
        hidden += if is_hidden(&bytes[at..at + length]) { length } else { 0 };
        at += length;
    }
    hidden <= bytes.len() / 16
}

/// The bytes that a text stands for; what is wrong and where, in bytes of the text.
pub(super) fn unescape(text: &str) -> Result<Vec<u8>, (usize, String)> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(begin) = text[at..].find(BEGIN).map(|found| at + found) {
        bytes.extend_from_slice(&text.as_bytes()[at..begin]);
        let inside = begin + BEGIN.len();
        let Some(length) = text[inside..].find('}') else {
            return Err((begin, "an escape that does not end: write `\\{5c}` for a backslash before `{`".to_owned()));
        };
        put_unescaped(&text[inside..inside + length], &mut bytes).ok_or_else(|| (begin, unknown()))?;
        at = inside + length + 1;
    }
    bytes.extend_from_slice(&text.as_bytes()[at..]);
    Ok(bytes)
}

fn unknown() -> String {
    "an unknown escape: inside of `\\{…}` are two hexadecimal digits for each byte, or cr, lf or tab".to_owned()
}

fn put_unescaped(inside: &str, bytes: &mut Vec<u8>) -> Option<()> {
    if let Some((_, byte)) = NAMES.iter().find(|(name, _)| *name == inside) {
        bytes.push(*byte);
        return Some(());
    }
    let is_hexadecimal = !inside.is_empty() && inside.len().is_multiple_of(2);
    if !is_hexadecimal || !inside.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for at in (0..inside.len()).step_by(2) {
        let pair: Range<usize> = at..at + 2;
        bytes.push(u8::from_str_radix(&inside[pair], 16).ok()?);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_seen_is_as_it_is() {
        for (bytes, text) in [
            (&b"{\"a\": \"b\\n\\\"c\\\"\"}"[..], r#"{"a": "b\n\"c\""}"#),
            ("é 日本 😀 न\u{94d}".as_bytes(), "é 日本 😀 न\u{94d}"),
            (b"a\r\nb\tc\x00\xff\xfe", "a\\{cr}\\{lf}b\tc\\{00fffe}"),
            (br"\d\{2\}", r"\d\{5c}{2\}"),
            (b"  two spaces  ", r"  two spaces \{20}"),
            (b"\t", "\\{tab}"),
            ("a\u{202e}b".as_bytes(), r"a\{e280ae}b"),
            (b"\\", "\\"),
        ] {
            let mut out = String::new();
            put_rest(&mut out, bytes);
            assert_eq!(out, text);
            assert_eq!(unescape(&out).as_deref(), Ok(bytes));
        }
    }

    /// Also those that are not of ASCII: an editor may take them for spaces.
    #[test]
    fn no_line_ends_in_a_space() {
        for text in ["a ", "a\t", "\u{a0}", "a \u{3000}", "\u{2003}\u{1680}", "a\u{a0}b", ""] {
            let mut out = String::new();
            put_rest(&mut out, text.as_bytes());
            assert_eq!((out.trim_end(), unescape(&out).unwrap()), (out.as_str(), text.as_bytes().to_vec()));
        }
    }

    #[test]
    fn what_is_no_escape_is_named() {
        for (text, at) in [(r"ab\{", 2), (r"\{}", 0), (r"\{f}", 0), (r"\{+f}", 0), (r"é\{zz}", 2), (r"\{aé}", 0)] {
            assert_eq!(unescape(text).map_err(|(at, _)| at), Err(at), "{text}");
        }
    }

    #[test]
    fn text_is_told_from_bytes() {
        assert!(is_text(b"") && is_text(b"a\r\nb") && is_text("Zo\u{eb}".as_bytes()));
        assert!(is_text(b"caf\xe9 au lait, s'il vous plait") && !is_text(b"\x00") && !is_text(b"\x1f\x8b\x08\0\0\0\0"));
    }
}
