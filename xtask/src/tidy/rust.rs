//! Just enough of Rust's surface to find words and braces: text in comments and literals is blanked out.
//!
//! [`blanked`] keeps every line break and every column, so that a place in the result is a place in the source.
//! Algorithm: one pass over the characters. At each position the longest of these is taken, else one character:
//! 1. `//` to the end of the line; `/*` to its `*/`, nested;
//! 2. `r"…"` with any number of `#`, also after `b` or `c`;
//! 3. `"…"` with backslash escapes; `'x'` and `'\…'`, but not the lifetime `'a`.

/// `source` with comments, strings and character literals turned into spaces.
pub(super) fn blanked(source: &str) -> Vec<char> {
    let source: Vec<char> = source.chars().collect();
    let mut result = Vec::with_capacity(source.len());
    let mut at = 0;
    while at < source.len() {
        let end = hidden(&source, at);
        if end > at {
            result.extend(source[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            result.push(source[at]);
            at += 1;
        }
    }
    result
}

/// Where the comment or literal that starts at `at` ends; `at` if none starts there.
fn hidden(source: &[char], at: usize) -> usize {
    match source[at] {
        '/' if source.get(at + 1) == Some(&'/') => find(source, at, |c| c == '\n'),
        '/' if source.get(at + 1) == Some(&'*') => block_comment(source, at),
        '"' => string(source, at + 1),
        '\'' => character(source, at),
        'r' if at == 0 || !joins_word(source, at - 1) => raw_string(source, at),
        _ => at,
    }
}

/// Whether the character at `at` makes an `r` after it part of a longer word; the prefixes `b` and `c` do not.
fn joins_word(source: &[char], at: usize) -> bool {
    let prefix = matches!(source[at], 'b' | 'c') && (at == 0 || !is_word(source[at - 1]));
    is_word(source[at]) && !prefix
}

fn find(source: &[char], from: usize, wanted: impl Fn(char) -> bool) -> usize {
    source[from..].iter().position(|&c| wanted(c)).map_or(source.len(), |distance| from + distance)
}

fn block_comment(source: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < source.len() {
        match (source[at], source.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(source: &[char], mut at: usize) -> usize {
    while at < source.len() {
        match source[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    source.len()
}

fn character(source: &[char], at: usize) -> usize {
    match (source.get(at + 1), source.get(at + 2)) {
        // The quote is looked for after the escaped character, which may be a quote itself.
        (Some('\\'), Some(_)) => (find(source, (at + 3).min(source.len()), |c| c == '\'') + 1).min(source.len()),
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

fn raw_string(source: &[char], at: usize) -> usize {
    let open = find(source, at + 1, |c| c != '#');
    if source.get(open) != Some(&'"') {
        return at;
    }
    let hashes = open - at - 1;
    let mut end = open + 1;
    while end < source.len() {
        let closes = source[end] == '"' && source[end + 1..].iter().take_while(|&&c| c == '#').count() >= hashes;
        end += 1;
        if closes {
            return end + hashes;
        }
    }
    source.len()
}

pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The line of a position, from 1.
pub(super) fn line(text: &[char], at: usize) -> usize {
    1 + text[..at].iter().filter(|&&c| c == '\n').count()
}

/// Every word of blanked text with its position; `r#name` counts as no word.
pub(super) fn words(text: &[char]) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if !is_word(text[at]) {
            at += 1;
            continue;
        }
        let end = find(text, at, |c| !is_word(c));
        if at == 0 || text[at - 1] != '#' {
            words.push((at, text[at..end].iter().collect()));
        }
        at = end;
    }
    words
}

/// The names that `mod name` declares in blanked text.
pub(super) fn declared_modules(text: &[char]) -> Vec<(usize, String)> {
    let words = words(text);
    let pairs = words.windows(2).filter(|pair| pair[0].1 == "mod");
    pairs.map(|pair| (line(text, pair[1].0), pair[1].1.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> String {
        blanked(source).into_iter().collect()
    }

    #[test]
    fn comments_and_literals_are_blanked_and_places_stay() {
        assert_eq!(shown("a // {\nb"), "a     \nb");
        assert_eq!(shown("a /* { /* } */\n} */ b"), "a             \n     b");
        assert_eq!(shown("f(\"{ \\\" {\") }"), "f(        ) }");
        let blank = |count: usize| " ".repeat(count);
        assert_eq!(shown("r#\"a \" { \"# }"), blank(12) + "}");
        assert_eq!(shown("br\"{\" }"), format!("b{}}}", blank(5)));
        assert_eq!(shown("'{' '\\'' '\\u{7b}' }"), blank(18) + "}");
        assert_eq!(shown("<'a>{ 'outer: loop {}"), "<'a>{ 'outer: loop {}");
        assert_eq!(shown("our\"{\""), "our   ");
        assert_eq!(shown("r#fn r"), "r#fn r");
    }

    #[test]
    fn unfinished_literals_end_with_the_text() {
        for text in ["\"abc", "r#\"abc\"", "/* abc", "'\\", "'", "\"\\"] {
            assert_eq!(shown(text).chars().count(), text.chars().count(), "{text}");
        }
    }

    #[test]
    fn words_and_modules_are_found() {
        let text = blanked("pub mod one;\nmod two { } // mod three;\nr#mod four");
        assert_eq!(declared_modules(&text), [(1, "one".to_owned()), (2, "two".to_owned())]);
    }
}
