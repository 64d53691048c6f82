//! Where a text may go on as a secret that is not all there.

use super::Redaction;
use super::patterns::may_begin;
use super::stream::LOOKAHEAD_BYTES;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// How many bytes a byte of a secret of a user may take, if it is escaped twice.
const ESCAPED_BYTES: usize = 12;

/// What is before a secret, and after which space may be: at the end of a text.
static BEFORE_SECRET: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r#"(?i-u)(?:\bbearer(?:[ \t+]|%20)+[^\s]*|\\*"[\w.\[\] -]{0,64}(?:\\*"\s*(?::\s*)?)?|-----BEGIN[A-Z +%20]{0,64}-{0,5})\z"#,
    )
});
/// How far back that may begin.
const BEFORE_BYTES: usize = LOOKAHEAD_BYTES;

static PRIVATE_KEY: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?-u)-----BEGIN[A-Z +%20]*PRIVATE[ +%20]{1,3}KEY(?: BLOCK)?-----"));
static KEY_END: LazyLock<Regex> =
    LazyLock::new(|| expression(r"(?-u)-----END[A-Z +%20]*PRIVATE[ +%20]{1,3}KEY(?: BLOCK)?-----"));

fn expression(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| unreachable!("the expression is a constant: {error}"))
}

impl Redaction {
    /// Where something begins at the end of a text that may become a secret with what follows; its length if nothing does.
    /// `members` are the secret names in it with their values.
    pub(crate) fn may_go_on_from(&self, text: &[u8], members: &[Range<usize>]) -> usize {
        let mut from = text.len();
        if self.spans_lines {
            from = text.len().saturating_sub(LOOKAHEAD_BYTES);
        }
        if let Some(longest) = self.secret_bytes {
            from = from.min(text.len().saturating_sub(longest * ESCAPED_BYTES));
        }
        let open = members.iter().filter(|member| member.end >= text.len()).map(|member| member.start);
        from = from.min(open.min().unwrap_or(from));
        let word = text.iter().rev().take(LOOKAHEAD_BYTES).take_while(|byte| !byte.is_ascii_whitespace()).count();
        from = from.min(may_begin(text, text.len() - word));
        let behind = text.len().saturating_sub(BEFORE_BYTES);
        from = from.min(BEFORE_SECRET.find(&text[behind..]).map_or(from, |found| behind + found.start()));
        from.min(open_private_key(text).unwrap_or(from))
    }
}

/// Where a private key begins that does not end.
fn open_private_key(text: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, b"-----BEGIN")?;
    let done = KEY_END.find_iter(text).last().map_or(0, |end| end.end());
    PRIVATE_KEY.find(&text[done..]).map(|begin| done + begin.start())
}
