//! Keeping secrets off a cassette.
//!
//! 1. Values of secret names: headers, cookies, parameters of URLs, fields of forms, members of JSON. In `Authorization` the
//!    scheme stays, in cookies the names do.
//! 2. What looks like a secret whatever it is called: keys of well-known services, tokens, private keys.
//! 3. What the user says: names, places in JSON, expressions, and secrets themselves.
//!
//! Each is replaced by `REDACTED`, whatever its length: a request with another secret, or with a dummy for it, is then the same
//! request. `Content-Length` is corrected, and chunks keep their times. Redacting twice is redacting once. A live request must
//! be redacted before it is looked up.
//!
//! Only text is edited: a program or an archive would be spoiled. What looks like a secret in anything else stays, is
//! reported, and keeps the cassette from being sealed. Of a JSON Web Token that a server gives, header and claims stay, since programs take
//! them apart.

mod calls;
mod content;
pub(crate) mod decode;
mod exchange;
mod joined;
mod jwt;
mod lines;
mod markup;
mod messages;
mod names;
mod passes;
mod patterns;
mod quotes;
mod schema;
mod secrets;
mod sniff;
mod stream;
mod tail;
mod tally;
mod text;
mod words;

pub use crate::finding::Finding;
pub use calls::{PlaceholderWatch, calls_with_placeholder};
pub(crate) use content::MessageSender;
pub use decode::DECODED_BYTES_MAX;
pub(crate) use decode::{codings, decode};
pub(crate) use exchange::{ReceivedMessages, correct_length, kept_finding, kept_note, opaque_note, stays_note};
pub(crate) use joined::JoinedTexts;
pub use joined::{HELD_BYTES_MAX, HELD_TEXT_BYTES_MAX};
pub use messages::MessageReader;
pub(crate) use messages::{ConversationMessages, is_compressed as is_compressed_message};
pub(crate) use sniff::may_be_coded;
pub use stream::{BodyRedactor, LOOKAHEAD_BYTES};
pub use tally::Findings;
pub(crate) use tally::Tally;

use crate::dialect::units::Framing;
use crate::matching::JsonPath;
use crate::message::Header;
use crate::websocket::Opcode;
use content::{BodyContext, SecretSyntax, TextDetector};
use joined::HeldBack;
use names::SecretNames;
use patterns::SecretPatterns;
use regex::bytes::Regex;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use text::{
    PLACEHOLDER, TextMatches, find_arguments, find_fields, find_members, find_parameters, find_parts, find_places,
};

/// The name of the note that says how many secrets were taken out of the body of a request as it came. Its head was recorded
/// before that was known, so `Content-Length` is corrected when the exchange is over.
pub(crate) const REQUEST_BODY_NOTE: &str = "redacted.request-body";
/// The name of the note that says how many secrets were taken out of the body of a response as it came.
pub(crate) const RESPONSE_BODY_NOTE: &str = "redacted.response-body";

/// A secret that is shorter would be found all over a cassette.
const SECRET_BYTES_MIN: usize = 6;

/// What is a secret.
#[derive(Clone, Debug)]
pub struct Redaction {
    names: SecretNames,
    patterns: SecretPatterns,
    /// The patterns of secrets in what is not text.
    patterns_of_binaries: SecretPatterns,
    /// Secrets themselves, however they may be written.
    secrets: Vec<Regex>,
    /// Places in JSON.
    paths: Vec<JsonPath>,
    /// Whether a secret may have a line feed in it, beside a private key.
    spans_lines: bool,
    /// How long the longest secret of the user is, if there is one.
    secret_bytes: Option<usize>,
}

/// What redacting an exchange came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// What was replaced.
    pub findings: Vec<Finding>,
    /// What was found in bodies and messages that are not text, and is as it was. A note of the exchange, `redacted.kept`,
    /// says the same, and keeps the cassette from being sealed.
    pub kept: Vec<Finding>,
    /// Values of secret names that stay, since a tool is called with them: a replay without them would call it with something else. A note
    /// of the exchange, `redacted.stays`, says the same.
    pub stays: Vec<Finding>,
    /// Bodies and messages that could not be looked into, or not to their end, such as those in an unknown compression. What
    /// could not be is as it was. A note of the exchange, `redacted.opaque`, says the same.
    pub opaque: Vec<String>,
}

/// A rule that cannot be used.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RuleError {
    /// An expression cannot be read.
    Pattern(regex::Error),
    /// A secret is so short that it would be found by chance.
    ShortSecret,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(error) => write!(f, "an expression for secrets cannot be read: {error}"),
            Self::ShortSecret => {
                write!(
                    f,
                    "a secret has fewer than {SECRET_BYTES_MIN} bytes and would be found by chance; name its place instead"
                )
            }
        }
    }
}

impl std::error::Error for RuleError {}

/// What a user adds to the usual rules, or puts in their place.
#[derive(Clone, Debug, Default)]
pub struct RedactionRules {
    /// Whether the usual rules are left out.
    pub without_usual: bool,
    /// Names of headers, parameters, fields and members whose values are secrets, in any case, with or without `-` and `_`.
    pub names: Vec<String>,
    /// Expressions whose first group, or all of them, is a secret.
    pub patterns: Vec<String>,
    /// Places in JSON whose values are secrets, or hold some: in bodies and messages that are JSON, and in lines of one that is
    /// not, with `data:` before it or not.
    pub paths: Vec<JsonPath>,
    /// Secrets, as they are: they are also found with escapes of URLs and of JSON.
    pub secrets: Vec<Vec<u8>>,
}

impl RedactionRules {
    /// What these rules come to.
    ///
    /// # Errors
    /// An expression cannot be read, or a secret is too short.
    pub fn compile(self) -> Result<Redaction, RuleError> {
        let mut names = if self.without_usual { SecretNames::default() } else { SecretNames::usual() };
        self.names.iter().for_each(|name| names.add(name));
        let spans_lines = !self.patterns.is_empty() || self.secrets.iter().any(|secret| secret.contains(&b'\n'));
        let more: Vec<_> =
            self.patterns.into_iter().map(|pattern| ("an expression of the user".to_owned(), pattern)).collect();
        let usual = !self.without_usual;
        let patterns = SecretPatterns::of_texts(usual, &more).map_err(RuleError::Pattern)?;
        let patterns_of_binaries = SecretPatterns::of_binaries(usual, &more).map_err(RuleError::Pattern)?;
        if self.secrets.iter().any(|secret| secret.len() < SECRET_BYTES_MIN) {
            return Err(RuleError::ShortSecret);
        }
        let secret_bytes = self.secrets.iter().map(Vec::len).max();
        let secrets = self.secrets.iter().map(|secret| secrets::expression(secret));
        let secrets = secrets.collect::<Result<_, _>>().map_err(RuleError::Pattern)?;
        Ok(Redaction { names, patterns, patterns_of_binaries, secrets, paths: self.paths, spans_lines, secret_bytes })
    }
}

impl Default for Redaction {
    /// The usual rules.
    fn default() -> Self {
        (*Self::usual()).clone()
    }
}

/// Something to be replaced: where, by what, and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Replacement<'r> {
    pub(crate) range: Range<usize>,
    pub(crate) placeholder: Cow<'static, str>,
    pub(crate) what: &'r str,
}

/// What was found in a text.
#[derive(Default)]
pub(crate) struct TextFindings<'r> {
    /// What is to be replaced, in order, without overlaps.
    pub(crate) replacements: Vec<Replacement<'r>>,
    /// What is found and stays.
    pub(crate) kept: Vec<(Range<usize>, &'r str)>,
    /// All secret names with their values.
    pub(crate) members: Vec<Range<usize>>,
    /// What tools are called with.
    pub(crate) arguments: Vec<Range<usize>>,
    /// Values of secret names that stay, since a tool is called with them.
    pub(crate) stays: Vec<Range<usize>>,
    /// What may be a secret by what comes after it.
    pub(crate) held: HeldBack,
}

/// Texts of a stream, and where in what is looked at those of its events begin that were not given out.
#[derive(Clone, Copy)]
pub(crate) struct StreamPosition<'j> {
    pub(crate) joined: &'j JoinedTexts,
    pub(crate) from: usize,
    pub(crate) framing: Framing,
}

/// The place of what tools are called with, in a place.
pub(crate) fn arguments_of(place: &str) -> String {
    format!("{place}, in what a tool is called with")
}

impl TextFindings<'_> {
    /// Where a replacement is, in a place.
    fn place_of(&self, place: &str, replacement: &Replacement<'_>) -> String {
        let has = |arguments: &Range<usize>| {
            arguments.start <= replacement.range.start && replacement.range.end <= arguments.end
        };
        if self.arguments.iter().any(has) { arguments_of(place) } else { place.to_owned() }
    }
}

pub(crate) const OF_A_NAME: &str = "the value of a secret name";

impl Redaction {
    /// The usual rules, which are compiled once for the whole process.
    pub fn usual() -> Arc<Self> {
        static USUAL: LazyLock<Arc<Redaction>> = LazyLock::new(|| {
            let usual = RedactionRules::default().compile();
            Arc::new(usual.unwrap_or_else(|error| unreachable!("the usual rules are constants: {error}")))
        });
        USUAL.clone()
    }

    /// Only what has a well-known form, whatever it is called: what keeps a cassette from being sealed.
    pub fn known_forms() -> Arc<Self> {
        static KNOWN: LazyLock<Arc<Redaction>> = LazyLock::new(|| {
            let made = SecretPatterns::of_texts(true, &[])
                .and_then(|texts| Ok((texts, SecretPatterns::of_binaries(true, &[])?)));
            let (patterns, patterns_of_binaries) =
                made.unwrap_or_else(|error| unreachable!("the well-known forms are constants: {error}"));
            Arc::new(Redaction {
                names: SecretNames::default(),
                patterns,
                patterns_of_binaries,
                secrets: Vec::new(),
                paths: Vec::new(),
                spans_lines: false,
                secret_bytes: None,
            })
        });
        KNOWN.clone()
    }

    /// Nothing is a secret.
    pub fn nothing() -> Self {
        let rules = RedactionRules { without_usual: true, ..RedactionRules::default() };
        rules.compile().unwrap_or_else(|error| unreachable!("there are no rules: {error}"))
    }

    /// Whether only a whole body shows what is a secret in it.
    pub(crate) fn needs_whole_bodies(&self) -> bool {
        !self.paths.is_empty()
    }

    /// What the first secret in some bytes is that looks like one, whatever it is called.
    pub fn secret_in(&self, bytes: &[u8]) -> Option<&str> {
        let about = BodyContext::of(&[], MessageSender::Client);
        let mut watch = TextDetector::default();
        watch.push(bytes);
        let patterns = if about.is_binary(&watch) { &self.patterns_of_binaries } else { &self.patterns };
        self.patterned(patterns, bytes).into_iter().min_by_key(|(range, _)| range.start).map(|(_, what)| what)
    }

    /// Whether the value of a name is a secret, whatever it is.
    pub fn is_secret_name(&self, name: &str) -> bool {
        self.names.has(name.as_bytes())
    }

    /// Looks through all of a body.
    pub(crate) fn look_through(&self, body: &[u8], about: &BodyContext) -> TextFindings<'_> {
        let mut watch = TextDetector::default();
        watch.push(body);
        let joined = JoinedTexts::default();
        let stream = about.framing(body).map(|framing| StreamPosition { joined: &joined, from: 0, framing });
        self.look_through_stream(body, about, about.is_binary(&watch), stream)
    }

    /// Looks through a piece of a body of which it is known whether it is text.
    pub(crate) fn look_through_some(&self, body: &[u8], about: &BodyContext, is_binary: bool) -> TextFindings<'_> {
        self.look_through_stream(body, about, is_binary, None)
    }

    /// Looks through a piece of a body, and through the texts that its events join if it is a stream.
    pub(crate) fn look_through_stream(
        &self,
        body: &[u8],
        about: &BodyContext,
        is_binary: bool,
        stream: Option<StreamPosition<'_>>,
    ) -> TextFindings<'_> {
        let stream = stream.filter(|_| !is_binary);
        passes::until_done(body, stream.map_or(0, |stream| stream.from), |body, from| {
            let mut looked = self.look_once(body, about, is_binary);
            if let Some(StreamPosition { joined, framing, .. }) = stream {
                let found = joined.look(self, body, (from, framing));
                looked.replacements.retain(|replacement| !found.goes_over_events(&replacement.range));
                let undecided = looked.held.from;
                looked.held = found.held;
                looked.held.from = looked.held.from.into_iter().chain(undecided).min();
                looked.arguments.extend(found.arguments);
                let is_new = |stays: &Range<usize>| !looked.stays.iter().any(|before| before.start == stays.start);
                let new: Vec<_> = found.stays.into_iter().filter(is_new).collect();
                looked.stays.extend(new);
                looked.replacements = with_joined(looked.replacements, found.replacements);
            }
            looked
        })
    }

    /// What shows at once. What is put in its place may show more.
    fn look_once(&self, body: &[u8], about: &BodyContext, is_binary: bool) -> TextFindings<'_> {
        let mut looked = TextFindings::default();
        if is_binary {
            looked.kept = self.patterned(&self.patterns_of_binaries, body);
            return looked;
        }
        let TextMatches { hits, members, parts, arguments, stays, undecided } = self.named(body, about.kind);
        (looked.members, looked.arguments, looked.stays) = (members, arguments, stays);
        looked.held.from = undecided;
        let named = hits.into_iter().map(|(range, placeholder)| (range, placeholder, OF_A_NAME));
        let patterned = self.patterned(&self.patterns, body).into_iter();
        let found = named.chain(patterned.map(|(range, what)| (range, PLACEHOLDER, what)));
        let found = found.filter(|(range, placeholder, _)| body[range.clone()] != *placeholder.as_bytes());
        for mut replacement in without_overlaps(found.collect()) {
            let Replacement { range, what, .. } = &replacement;
            if !parts.contains(range) && !about.is_text_at(body, range) {
                looked.kept.push((range.clone(), what));
                continue;
            }
            if about.speaker == MessageSender::Server && replacement.placeholder == PLACEHOLDER {
                let shape = self.shape(&body[range.clone()]);
                replacement.placeholder = shape.map_or(Cow::Borrowed(PLACEHOLDER), Cow::Owned);
            }
            if body[replacement.range.clone()] != *replacement.placeholder.as_bytes() {
                looked.replacements.push(replacement);
            }
        }
        looked
    }

    /// What looks like a secret, whatever it is called, and secrets themselves.
    fn patterned<'r>(&'r self, patterns: &'r SecretPatterns, text: &[u8]) -> Vec<(Range<usize>, &'r str)> {
        let mut found = Vec::new();
        patterns.find(text, &mut found);
        for secret in &self.secrets {
            found.extend(secret.find_iter(text).map(|hit| (hit.range(), "a secret of the user")));
        }
        found
    }

    fn named(&self, text: &[u8], kind: SecretSyntax) -> TextMatches {
        let mut found = TextMatches::default();
        if !matches!(kind, SecretSyntax::Line | SecretSyntax::Form) {
            find_places(text, &self.paths, &mut found);
        }
        if self.names.is_empty() {
            return found;
        }
        let mut parameters = TextMatches::default();
        find_parameters(text, &self.names, &mut parameters);
        match kind {
            SecretSyntax::Line => {}
            SecretSyntax::Form => find_fields(text, &self.names, &mut found),
            SecretSyntax::Arguments => find_arguments(text, &self.names, &mut found),
            SecretSyntax::Body | SecretSyntax::Plain | SecretSyntax::Xml | SecretSyntax::Yaml => {
                find_members(text, &self.names, &mut found);
                find_parts(text, &self.names, &mut found);
            }
        }
        match kind {
            SecretSyntax::Line | SecretSyntax::Form | SecretSyntax::Body | SecretSyntax::Arguments => {}
            SecretSyntax::Plain => {
                markup::find_elements(text, &self.names, &mut found);
                lines::find_in_lines(text, &self.names, &mut found);
            }
            SecretSyntax::Xml => {
                markup::find_elements(text, &self.names, &mut found);
                markup::find_attributes(text, &self.names, &mut found);
            }
            SecretSyntax::Yaml => lines::find_in_yaml(text, &self.names, &mut found),
        }
        self.take_parameters(text, parameters, &mut found);
        found
    }

    /// Takes what was found in parameters of URLs. What a tool is called with stays, but for names of the user.
    fn take_parameters(&self, text: &[u8], parameters: TextMatches, found: &mut TextMatches) {
        let is_argument = |range: &Range<usize>| {
            found.arguments.iter().any(|arguments| arguments.start <= range.start && range.end <= arguments.end)
        };
        let (stays, hits): (Vec<_>, Vec<_>) = parameters.hits.into_iter().partition(|(range, _)| is_argument(range));
        found.hits.extend(hits);
        found.members.extend(parameters.members);
        if stays.is_empty() {
            return;
        }
        let mut of_user = TextMatches::default();
        find_parameters(text, &self.names.of_user(), &mut of_user);
        let is_of_user = |range: &Range<usize>| of_user.hits.iter().any(|(hit, _)| hit == range);
        let (hits, stays): (Vec<_>, Vec<_>) = stays.into_iter().partition(|(range, _)| is_of_user(range));
        found.hits.extend(hits);
        found.stays.extend(stays.into_iter().map(|(range, _)| range));
    }

    /// What keeps the shape of a secret: a JSON Web Token whose secret claims are replaced, and whose signature is gone.
    fn shape(&self, secret: &[u8]) -> Option<String> {
        jwt::without_signature(secret, |claims| {
            let about = BodyContext::message(Opcode::TEXT, MessageSender::Client);
            let replacements = self.look_through(claims, &about).replacements;
            (!replacements.is_empty()).then(|| replaced(claims, &replacements))
        })
    }

    /// The value of a header, if it has secrets in it, and what they are.
    pub(crate) fn header(&self, name: &[u8], value: &[u8]) -> Option<(Vec<u8>, &str)> {
        if self.names.has_header(name) {
            // What stays of it may be a secret of another kind, and what stays of that is a value again.
            let redacted = passes::until_same(value, |value| {
                let redacted = header_value(name, value);
                self.redacted_line(&redacted).map_or(redacted, |(redacted, _)| redacted)
            });
            return (redacted != value).then_some((redacted, OF_A_NAME));
        }
        self.redacted_line(value)
    }

    /// A text without the secrets that are in it, if there are any, and what the first of them is.
    pub(crate) fn redacted_line(&self, text: &[u8]) -> Option<(Vec<u8>, &str)> {
        let replacements = self.look_through_some(text, &BodyContext::line(), false).replacements;
        let what = replacements.first()?.what;
        Some((replaced(text, &replacements), what))
    }
}

/// Ranges in order; where some overlap, one that has all of them, replaced as the first of them is.
fn without_overlaps<'r>(mut found: Vec<(Range<usize>, &'static str, &'r str)>) -> Vec<Replacement<'r>> {
    found.sort_by_key(|(range, ..)| (range.start, std::cmp::Reverse(range.end)));
    let mut apart: Vec<Replacement<'r>> = Vec::with_capacity(found.len());
    for (range, placeholder, what) in found {
        match apart.last_mut().filter(|last| range.start < last.range.end) {
            Some(last) => last.range.end = last.range.end.max(range.end),
            None => apart.push(Replacement { range, placeholder: placeholder.into(), what }),
        }
    }
    apart
}

/// Replacements in a body with those in texts that its events give in pieces. Where one has all of another, it stays as it is.
fn with_joined<'r>(found: Vec<Replacement<'r>>, joined: Vec<Replacement<'r>>) -> Vec<Replacement<'r>> {
    if joined.is_empty() {
        return found;
    }
    let mut all: Vec<_> = joined.into_iter().chain(found).collect();
    all.sort_by_key(|replacement| (replacement.range.start, std::cmp::Reverse(replacement.range.end)));
    let mut apart: Vec<Replacement<'r>> = Vec::with_capacity(all.len());
    for next in all {
        match apart.last_mut().filter(|last| next.range.start < last.range.end) {
            Some(last) if next.range.end <= last.range.end => {}
            Some(last) => {
                last.range.end = next.range.end;
                (last.placeholder, last.what) = (PLACEHOLDER.into(), next.what);
            }
            None => apart.push(next),
        }
    }
    apart
}

fn replaced(text: &[u8], replacements: &[Replacement<'_>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut done = 0;
    for replacement in replacements {
        out.extend_from_slice(&text[done..replacement.range.start]);
        out.extend_from_slice(replacement.placeholder.as_bytes());
        done = replacement.range.end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// The value of a secret header: the scheme of credentials and the names of cookies stay.
fn header_value(name: &[u8], value: &[u8]) -> Vec<u8> {
    match name.to_ascii_lowercase().as_slice() {
        b"authorization" | b"proxy-authorization" => credentials(value),
        b"cookie" => value.split(|&byte| byte == b';').map(cookie).collect::<Vec<_>>().join(&b';'),
        b"set-cookie" => {
            let (pair, attributes) = value.split_at(value.iter().position(|&byte| byte == b';').unwrap_or(value.len()));
            [&*cookie(pair), attributes].concat()
        }
        _ if value.is_empty() => Vec::new(),
        _ => PLACEHOLDER.into(),
    }
}

/// Schemes of `Authorization`: those that are registered (RFC 9110, section 16.4.1), and some that are in use.
const SCHEMES: [&str; 18] = [
    "apikey",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "concealed",
    "digest",
    "dpop",
    "gnap",
    "hmac",
    "hoba",
    "key",
    "mutual",
    "negotiate",
    "ntlm",
    "oauth",
    "scram-sha-256",
    "sharedkey",
    "token",
];

/// `Bearer REDACTED`. A first word that is not a scheme is a secret as well.
fn credentials(value: &[u8]) -> Vec<u8> {
    let at = value.iter().position(|&byte| byte == b' ');
    let is_scheme = |word: &[u8]| SCHEMES.iter().any(|scheme| scheme.as_bytes().eq_ignore_ascii_case(word));
    match at.filter(|&at| is_scheme(&value[..at])) {
        Some(at) => [&value[..=at], PLACEHOLDER.as_bytes()].concat(),
        None if value.is_empty() => Vec::new(),
        None => PLACEHOLDER.into(),
    }
}

/// `name=REDACTED`. A cookie without a name is all value.
fn cookie(pair: &[u8]) -> Cow<'_, [u8]> {
    match pair.iter().position(|&byte| byte == b'=') {
        Some(at) if at + 1 == pair.len() => Cow::Borrowed(pair),
        Some(at) => Cow::Owned([&pair[..=at], PLACEHOLDER.as_bytes()].concat()),
        None if pair.trim_ascii().is_empty() => Cow::Borrowed(pair),
        None => Cow::Owned([&pair[..pair.len() - pair.trim_ascii_start().len()], PLACEHOLDER.as_bytes()].concat()),
    }
}

/// Whether headers say that a body is compressed.
pub(crate) fn is_compressed(headers: &[Header<'_>]) -> bool {
    !codings(headers).is_empty()
}
