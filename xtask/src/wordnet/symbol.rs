//! A word as MeTTa source: the word itself if it reads as a symbol, else a string.

/// `word` as a symbol, or as a string if MeTTa would read something else.
pub(super) fn word(word: &str) -> String {
    if reads_as_symbol(word) { word.to_owned() } else { string(word) }
}

/// `text` as a MeTTa string.
pub(super) fn string(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

fn reads_as_symbol(word: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | ';' | '\\');
    let starts = |c: char| matches!(c, '$' | '!' | '&');
    !word.is_empty()
        && !word.chars().any(ends)
        && !word.starts_with(starts)
        && !matches!(word, "True" | "False")
        && !is_number(word)
}

/// Digits, perhaps with a sign, a fraction and an exponent.
fn is_number(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && fraction.is_none_or(digits) && exponent.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        for text in ["dog", "domestic_dog", "'hood", "A.D.", "1st", "24/7", "3-D", "1900s", "e", "2e", ".22", "x&y"] {
            assert_eq!(word(text), text);
        }
    }

    #[test]
    fn what_would_read_as_something_else_is_a_string() {
        for text in
            ["7", "1000000", "-1", "0.5", "1e9", "1.5e-3", "True", "False", "$5", "!bang", "&self", "a(b)", "a;b"]
        {
            assert_eq!(word(text), format!("\"{text}\""));
        }
        assert_eq!(word(""), "\"\"");
    }

    #[test]
    fn strings_escape_quotes_and_backslashes() {
        assert_eq!(string("say \"a\\b\""), "\"say \\\"a\\\\b\\\"\"");
    }
}
