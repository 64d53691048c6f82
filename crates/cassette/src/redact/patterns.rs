//! What secrets look like, whatever they are called.

use regex::bytes::{Regex, RegexSet};
use std::ops::Range;
use std::sync::OnceLock;

/// Well-known tokens, each a word that begins in a way of its own.
const TOKENS: [(&str, &str); 27] = [
    ("an API key that begins with sk-", "sk-[A-Za-z0-9_-]{16,}"),
    ("a GitHub token", "gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}"),
    ("a GitLab token", "glpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", "xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("an AWS access key", r"(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("a Google API key", "AIza[A-Za-z0-9_-]{35}"),
    ("a Google access token", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("a JSON Web Token", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"),
    ("a Stripe key", "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("an npm token", "npm_[A-Za-z0-9]{36}"),
    ("a Hugging Face token", "hf_[A-Za-z0-9]{30,}"),
    ("a PyPI token", "pypi-[A-Za-z0-9_-]{50,}"),
    ("a SendGrid key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    // In a path it stands after `bot`.
    ("a Telegram token", "(?:bot)?[0-9]{8,10}(?::|%3[Aa])AA[A-Za-z0-9_-]{32,}"),
    (
        "a Slack webhook",
        r"(?:services|workflows|triggers)/[TE][A-Z0-9]{6,}/[A-Z0-9]{6,}/(?:[0-9]{6,}/)?[A-Za-z0-9]{16,}",
    ),
    ("a Discord webhook", "webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{60,}"),
    ("a Groq key", "gsk_[A-Za-z0-9]{30,}"),
    ("an xAI key", "xai-[A-Za-z0-9]{30,}"),
    ("a Perplexity key", "pplx-[A-Za-z0-9]{30,}"),
    ("a Tavily key", "tvly-[A-Za-z0-9-]{20,}"),
    ("a LangSmith key", "lsv2_(?:pt|sk)_[A-Za-z0-9_]{30,}"),
    ("a Replicate token", "r8_[A-Za-z0-9]{30,}"),
    ("a Pinecone key", "pcsk_[A-Za-z0-9_]{30,}"),
    ("a Databricks token", "dapi[a-f0-9]{32}(?:-[0-9]+)?\\b"),
    ("a DigitalOcean token", "do[opr]_v1_[a-f0-9]{40,}"),
    ("a Shopify token", "shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    ("a HashiCorp Vault token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
];

/// How tokens begin.
const BEGINNINGS: [&[u8]; 45] = [
    b"sk-",
    b"gho_",
    b"ghp_",
    b"ghr_",
    b"ghs_",
    b"ghu_",
    b"github_pat_",
    b"glpat-",
    b"xoxa-",
    b"xoxb-",
    b"xoxe-",
    b"xoxo-",
    b"xoxp-",
    b"xoxr-",
    b"xoxs-",
    b"AKIA",
    b"ASIA",
    b"AIza",
    b"ya29.",
    b"eyJ",
    b"sk_",
    b"rk_",
    b"npm_",
    b"hf_",
    b"pypi-",
    b"SG.",
    b"gsk_",
    b"xai-",
    b"pplx-",
    b"tvly-",
    b"lsv2_",
    b"r8_",
    b"pcsk_",
    b"dapi",
    b"doo_v1_",
    b"dop_v1_",
    b"dor_v1_",
    b"shpat_",
    b"shpca_",
    b"shppa_",
    b"shpss_",
    b"hvs.",
    b"hvb.",
    b"hvr.",
    b"-----BEGIN",
];

/// Other well-known forms, in texts: the first group, or all of it, is the secret.
const FORMS: [(&str, &str); 3] = [
    // Its spaces may be escaped for a URL.
    (
        "a private key",
        r"(?s-u)-----BEGIN[A-Z +%20]*PRIVATE[ +%20]{1,3}KEY(?: BLOCK)?-----.*?-----END[A-Z +%20]*PRIVATE[ +%20]{1,3}KEY(?: BLOCK)?-----",
    ),
    ("a bearer token", r"(?i-u)\bbearer(?:[ \t+]|%20)+([A-Za-z0-9._~+/-]{16,}=*)"),
    ("a password in a URL", r"(?-u)(?::|%3[Aa])(?:/|%2[Ff]){2}[^/\s:@%]*(?::|%3[Aa])([^/\s:@]+?)(?:@|%40)"),
];

/// The forms of secrets in what is not text: programs have names of users and passwords in their help, and the lines around a private
/// key without one between them.
const FORMS_OF_BINARIES: [(&str, &str); 1] = [(
    "a private key",
    r"(?-u)-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[\\rnt\s]*[A-Za-z0-9+/=:, -]{16,}){2,}[\\rnt\s]*-----END [A-Z ]*PRIVATE KEY-----",
)];

/// An expression for a token. It may stand after an escape of JSON or of a URL, whose last letter is not part of it.
fn of_token(pattern: &str) -> String {
    format!(r"(?-u)(?:\A|[^A-Za-z0-9_]|\\[bfnrt]|\\u[0-9A-Fa-f]{{4}}|%[0-9A-Fa-f]{{2}})({pattern})")
}

/// Expressions that find secrets. Those that come with the program are compiled when they are first needed, which takes
/// milliseconds; those of the user at once, since they may be wrong.
#[derive(Clone, Debug)]
pub(crate) struct SecretPatterns {
    /// Says quickly which of them occur.
    set: OnceLock<RegexSet>,
    named: Vec<NamedPattern>,
}

/// An expression, and what it finds.
#[derive(Clone, Debug)]
struct NamedPattern {
    name: String,
    pattern: String,
    compiled: OnceLock<Regex>,
}

impl NamedPattern {
    /// One that comes with the program.
    fn known(name: &str, pattern: String) -> Self {
        Self { name: name.to_owned(), pattern, compiled: OnceLock::new() }
    }

    /// One of the user.
    fn of_user(name: &str, pattern: &str) -> Result<Self, regex::Error> {
        let compiled = OnceLock::from(Regex::new(pattern)?);
        Ok(Self { name: name.to_owned(), pattern: pattern.to_owned(), compiled })
    }

    fn regex(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(&self.pattern).unwrap_or_else(|error| not_constant(&error)))
    }
}

fn not_constant(error: &regex::Error) -> ! {
    unreachable!("the expression is a constant: {error}")
}

impl SecretPatterns {
    /// The well-known forms, or none, and some more.
    pub(crate) fn of_texts(usual: bool, more: &[(String, String)]) -> Result<Self, regex::Error> {
        Self::new(&FORMS, usual, more)
    }

    /// The well-known forms in what is not text, or none, and some more.
    pub(crate) fn of_binaries(usual: bool, more: &[(String, String)]) -> Result<Self, regex::Error> {
        Self::new(&FORMS_OF_BINARIES, usual, more)
    }

    fn new(forms: &[(&str, &str)], usual: bool, more: &[(String, String)]) -> Result<Self, regex::Error> {
        let tokens = TOKENS.iter().map(|(name, pattern)| NamedPattern::known(name, of_token(pattern)));
        let forms = forms.iter().map(|(name, pattern)| NamedPattern::known(name, (*pattern).to_owned()));
        let known = tokens.chain(forms).filter(|_| usual).map(Ok);
        let of_user = more.iter().map(|(name, pattern)| NamedPattern::of_user(name, pattern));
        let named = known.chain(of_user).collect::<Result<_, regex::Error>>()?;
        let patterns = Self { set: OnceLock::new(), named };
        if more.is_empty() {
            return Ok(patterns);
        }
        Ok(Self { set: OnceLock::from(patterns.compile_set()?), ..patterns })
    }

    fn compile_set(&self) -> Result<RegexSet, regex::Error> {
        RegexSet::new(self.named.iter().map(|named| &named.pattern))
    }

    fn set(&self) -> &RegexSet {
        self.set.get_or_init(|| self.compile_set().unwrap_or_else(|error| not_constant(&error)))
    }

    /// Secrets in a text, each with what it is.
    pub(crate) fn find<'p>(&'p self, text: &[u8], found: &mut Vec<(Range<usize>, &'p str)>) {
        // Most texts have none, which this tells without making a list.
        if !self.set().is_match(text) {
            return;
        }
        for index in self.set().matches(text) {
            let named = &self.named[index];
            for captures in named.regex().captures_iter(text) {
                let secret = captures.get(1).or_else(|| captures.get(0)).map(|secret| secret.range());
                found.extend(secret.filter(|secret| is_plausible(text, secret)).map(|secret| (secret, &*named.name)));
            }
        }
    }
}

/// Where in the last word of a text, which begins at a place, something begins that may become a token, or have a password in it, with what
/// follows. The length of the text if nothing does.
pub(crate) fn may_begin(text: &[u8], word: usize) -> usize {
    let rest = &text[word..];
    // A URL, a path, a parameter, a member of JSON, an escape: what is before the secret is part of its form.
    if rest.iter().any(|byte| b"\"\\=:%&?/".contains(byte)) {
        return word;
    }
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = (0..rest.len()).filter(|&at| at == 0 || !is_of_word(rest[at - 1]));
    let may_go_on = |at: &usize| {
        let rest = &rest[*at..];
        let is_begun = |whole: &[u8]| rest.starts_with(whole) || whole.starts_with(rest);
        let is_bearer = rest.len() <= 6 && b"bearer"[..rest.len()].eq_ignore_ascii_case(rest);
        // A token of Telegram.
        let digits = rest.strip_prefix(b"bot").unwrap_or(if b"bot".starts_with(rest) { b"" } else { rest });
        is_bearer || digits.iter().all(u8::is_ascii_digit) || BEGINNINGS.iter().any(|whole| is_begun(whole))
    };
    begins.into_iter().find(may_go_on).map_or(text.len(), |at| word + at)
}

/// Whether what an expression found is a secret.
fn is_plausible(text: &[u8], found: &Range<usize>) -> bool {
    match &text[found.clone()] {
        // An expression may match nothing at all, which cannot be replaced.
        [] => false,
        key @ [b's', b'k', b'-', ..] => is_key(key) && !is_in_base64(&text[..found.start]),
        // The documentation of AWS has such keys, and every program that was made of it.
        [b'A', b'K' | b'S', b'I', b'A', .., b'E', b'X', b'A', b'M', b'P', b'L', b'E'] => false,
        _ => !is_in_base64(&text[..found.start]),
    }
}

/// How many characters the longest word of a key has at least.
const KEY_WORD_BYTES: usize = 12;

/// Words joined by hyphens are not a key: `sk-ecdsa-sha2-nistp256` is a kind of one.
fn is_key(key: &[u8]) -> bool {
    let mut words = key.split(|byte| b"-_".contains(byte));
    words.any(|word| word.len() >= KEY_WORD_BYTES && word.iter().any(u8::is_ascii_digit))
}

/// Behind this many characters of base64 there may be anything.
const BASE64_BYTES: usize = 24;

/// Whether a text ends in the middle of something in the alphabet of base64 for URLs, in which a hyphen parts no words.
fn is_in_base64(before: &[u8]) -> bool {
    let is_of_it = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    before.last() == Some(&b'-') && before.iter().rev().take(BASE64_BYTES).take_while(is_of_it).count() == BASE64_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_that_comes_with_the_program_compiles() {
        for patterns in [SecretPatterns::of_texts(true, &[]), SecretPatterns::of_binaries(true, &[])] {
            let patterns = patterns.expect("nothing is compiled yet");
            assert!(patterns.set.get().is_none(), "a run that is told nothing compiles nothing");
            assert_eq!(patterns.set().len(), patterns.named.len());
            patterns.named.iter().for_each(|named| drop(named.regex().clone()));
        }
    }

    /// What is wrong in a pattern of the user is said when the rules are made, and not when something is recorded.
    #[test]
    fn a_wrong_pattern_of_the_user_is_an_error_at_once() {
        let wrong = [("mine".to_owned(), "(".to_owned())];
        assert!(SecretPatterns::of_texts(true, &wrong).is_err());
        let right = [("mine".to_owned(), "mine[0-9]{4}".to_owned())];
        let patterns = SecretPatterns::of_texts(false, &right).expect("the pattern is right");
        let mut found = Vec::new();
        patterns.find(b"a mine1234 b", &mut found);
        assert_eq!(found, [(2..10, "mine")]);
    }
}
