//! Quotes of JSON that may stand in strings of JSON, in strings of those, and so on: each level has its backslashes.

/// How many strings may be in each other.
pub(super) const LEVELS: usize = 4;

/// How many backslashes a quote of a level has before it, at least.
pub(super) fn backslashes(level: usize) -> usize {
    (1 << level) - 1
}

/// The level of the string that a quote delimits.
pub(super) fn level(text: &[u8], quote: usize) -> usize {
    let before = text[..quote].iter().rev().take_while(|&&byte| byte == b'\\').count();
    before.trailing_ones() as usize
}

/// Goes over space. In a string, a line feed is written as backslashes and an `n`.
pub(super) fn skip_space(text: &[u8], from: usize, level: usize) -> usize {
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

/// Whether a text begins with this number of backslashes and one of these letters.
pub(super) fn is_escaped(text: &[u8], escapes: usize, letters: &[u8]) -> bool {
    let begins = text.iter().take_while(|&&byte| byte == b'\\').take(escapes).count() == escapes;
    begins && escapes > 0 && text.get(escapes).is_some_and(|byte| letters.contains(byte))
}

pub(super) fn begins_string(text: &[u8], at: usize, level: usize) -> bool {
    match level {
        0 => text.get(at) == Some(&b'"'),
        _ => is_escaped(&text[at.min(text.len())..], backslashes(level), b"\""),
    }
}

/// Where the content of a string begins and ends, and where the string ends.
pub(super) fn string(text: &[u8], at: usize, wanted: usize) -> (usize, usize, usize) {
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
