//! What secrets look like, whatever they are called.

use regex::bytes::{Regex, RegexSet};
use std::ops::Range;

/// Well-known tokens, each a word that begins in a way of its own.
const TOKENS: [(&str, &str); 14] = [
    ("an API key that begins with sk-", "sk-[A-Za-z0-9_-]{16,}"),
    ("a GitHub token", "gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}"),
    ("a GitLab token", "glpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", "xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("an AWS access key", r"(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("a Google API key", "AIza[A-Za-z0-9_-]{35}"),
    ("a Google access token", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("a JSON Web Token", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("a Stripe key", "[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("an npm token", "npm_[A-Za-z0-9]{36}"),
    ("a Hugging Face token", "hf_[A-Za-z0-9]{30,}"),
    ("a PyPI token", "pypi-[A-Za-z0-9_-]{50,}"),
    ("a SendGrid key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("a Telegram token", "[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
];

/// Other well-known forms: the first group, or all of it, is the secret.
const FORMS: [(&str, &str); 3] = [
    ("a private key", "(?s-u)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----"),
    ("a bearer token", r"(?i-u)\bbearer[ \t]+([A-Za-z0-9._~+/-]{16,}=*)"),
    ("a password in a URL", r"(?-u)://[^/\s:@]*:([^/\s:@]+)@"),
];

/// An expression for a token. It may stand behind the letter of an escape of JSON, `\n`, which is no part of it.
fn of_token(pattern: &str) -> String {
    format!(r"(?-u)(?:\b|\\[nrt])({pattern})")
}

/// Expressions that find secrets.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    /// Says quickly which of them occur.
    set: RegexSet,
    named: Vec<(String, Regex)>,
}

impl Patterns {
    /// The well-known forms, or none, and some more.
    pub(crate) fn new(usual: bool, more: &[(String, String)]) -> Result<Self, regex::Error> {
        let tokens = TOKENS.iter().map(|(name, pattern)| ((*name).to_owned(), of_token(pattern)));
        let forms = FORMS.iter().map(|(name, pattern)| ((*name).to_owned(), (*pattern).to_owned()));
        let all: Vec<_> = tokens.chain(forms).filter(|_| usual).chain(more.iter().cloned()).collect();
        let set = RegexSet::new(all.iter().map(|(_, pattern)| pattern))?;
        let named = all.into_iter().map(|(name, pattern)| Ok((name, Regex::new(&pattern)?)));
        Ok(Self { set, named: named.collect::<Result<_, regex::Error>>()? })
    }

    /// Secrets in a text, each with what it is.
    pub(crate) fn find<'p>(&'p self, text: &[u8], found: &mut Vec<(Range<usize>, &'p str)>) {
        // Most texts have none, which this tells without making a list.
        if !self.set.is_match(text) {
            return;
        }
        for index in self.set.matches(text) {
            let (name, pattern) = &self.named[index];
            for captures in pattern.captures_iter(text) {
                let secret = captures.get(1).or_else(|| captures.get(0));
                found.extend(
                    secret.filter(|secret| is_plausible(secret.as_bytes())).map(|secret| (secret.range(), &**name)),
                );
            }
        }
    }
}

/// Words joined by hyphens are no key, and an expression may match nothing at all, which cannot be replaced.
fn is_plausible(secret: &[u8]) -> bool {
    !secret.is_empty() && (!secret.starts_with(b"sk-") || secret.iter().any(u8::is_ascii_digit))
}
