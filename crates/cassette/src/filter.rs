//! What is not recorded: a recorder that leaves exchanges out says why, and how many there were.
//!
//! A [`Filter`] is a list of [conditions](LeaveOutRule) with a reason each. An exchange that meets all of one of them is left out, and is
//! counted under its reason on the cassette: [`Cassette::left_out`](crate::Cassette::left_out) has the counts, and `metroon cassette stats` shows
//! them. Some conditions are known with the request, others with the head of the response; a recorder holds an exchange back
//! until then, if it has such conditions.

use crate::exchange::Note;
use crate::message::{Request, Response};
use regex::bytes::Regex;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

/// Under these names a cassette keeps how many exchanges were left out, the reason behind it.
const NOTE: &str = "left_out.";

/// Says which exchanges are not recorded. The first condition that an exchange meets is its reason.
///
/// ```
/// use cassette::{Filter, LeaveOutRule, Request, Response, Verdict};
///
/// let filter = Filter::default()
///     .leave_out(LeaveOutRule { methods: vec!["OPTIONS".into()], ..LeaveOutRule::for_reason("preflight") })
///     .leave_out(LeaveOutRule { hosts: vec!["*.pond.example".into()], content_types: vec!["image/*".into()], ..LeaveOutRule::for_reason("pictures") });
/// let request = Request { method: "GET".into(), host: "cdn.pond.example".into(), target: "/frog".into(), ..Request::default() };
/// assert_eq!(filter.decide(&request, None), Verdict::Kept);
/// let headers = vec![cassette::Header::new("Content-Type", "image/png")];
/// let response = Response { status: 200, headers, ..Response::default() };
/// assert_eq!(filter.decide(&request, Some(&response)), Verdict::LeftOut("pictures"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filter {
    rules: Vec<LeaveOutRule>,
}

/// What an exchange must be to be left out: all of what is given here. If nothing is given, none is.
#[derive(Clone, Debug, Default)]
pub struct LeaveOutRule {
    /// What it is called where exchanges are counted. Several may have one reason.
    pub reason: String,
    /// Methods, in any case.
    pub methods: Vec<String>,
    /// Names of servers, in any case; `*.example.com` is every name that ends so, and not `example.com`.
    pub hosts: Vec<String>,
    /// An expression that is found in the target before its `?`.
    pub path: Option<Regex>,
    /// The status of the response.
    pub status: Option<RangeInclusive<u16>>,
    /// Types of the response's content without parameters, in any case: `text/css`, or `image/*` for all of a kind.
    pub content_types: Vec<String>,
    /// More bytes than these in the body of the response, as its `Content-Length` says, or the body if it is there. One whose length
    /// nobody announces is kept.
    pub body_bytes_over: Option<u64>,
}

/// What becomes of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'f> {
    /// It is recorded, as far as is known by now.
    Kept,
    /// It is not recorded, for this reason.
    LeftOut(&'f str),
}

impl LeaveOutRule {
    /// Nothing yet, under this reason.
    pub fn for_reason(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }

    fn needs_response(&self) -> bool {
        self.status.is_some() || !self.content_types.is_empty() || self.body_bytes_over.is_some()
    }

    fn is_met(&self, request: &Request<'_>, response: Option<&Response<'_>>) -> bool {
        let is_any =
            |texts: &[String], holds: &dyn Fn(&str) -> bool| texts.is_empty() || texts.iter().any(|text| holds(text));
        let asks = !self.methods.is_empty() || !self.hosts.is_empty() || self.path.is_some();
        (asks || self.needs_response())
            && is_any(&self.methods, &|method| request.method.eq_ignore_ascii_case(method.as_bytes()))
            && is_any(&self.hosts, &|pattern| is_host(pattern, &request.host))
            && self.path.as_ref().is_none_or(|path| path.is_match(request.path()))
            && (!self.needs_response() || response.is_some_and(|response| self.is_met_by(response)))
    }

    fn is_met_by(&self, response: &Response<'_>) -> bool {
        let is_of = |pattern: &String| content_type(response).is_some_and(|found| is_type(pattern, found));
        self.status.as_ref().is_none_or(|range| range.contains(&response.status))
            && (self.content_types.is_empty() || self.content_types.iter().any(is_of))
            && self.body_bytes_over.is_none_or(|most| length(response).is_some_and(|length| length > most))
    }
}

impl Filter {
    /// With one more condition.
    #[must_use]
    pub fn leave_out(mut self, rule: LeaveOutRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Whether an exchange is recorded, as far as its request and, if it is there, its response say.
    pub fn decide(&self, request: &Request<'_>, response: Option<&Response<'_>>) -> Verdict<'_> {
        let met = self.rules.iter().find(|rule| rule.is_met(request, response));
        met.map_or(Verdict::Kept, |rule| Verdict::LeftOut(&rule.reason))
    }

    /// Whether a request that is kept so far may be left out for its response.
    pub(crate) fn needs_response(&self) -> bool {
        self.rules.iter().any(LeaveOutRule::needs_response)
    }
}

fn is_host(pattern: &str, host: &[u8]) -> bool {
    match pattern.strip_prefix('*') {
        // What the star stands for has a letter at least.
        Some(end) => host.len() > end.len() && host[host.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes()),
        None => host.eq_ignore_ascii_case(pattern.as_bytes()),
    }
}

fn is_type(pattern: &str, found: &[u8]) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => found.len() >= begin.len() && found[..begin.len()].eq_ignore_ascii_case(begin.as_bytes()),
        None => found.eq_ignore_ascii_case(pattern.as_bytes()),
    }
}

fn content_type<'r>(response: &'r Response<'_>) -> Option<&'r [u8]> {
    let value = response.header_values("content-type").next()?;
    value.split(|&byte| byte == b';').next().map(<[u8]>::trim_ascii)
}

/// How long a body is; `None` if that is not known by the head.
fn length(response: &Response<'_>) -> Option<u64> {
    let announced = response.header_values("content-length").next();
    let announced = announced.and_then(|value| std::str::from_utf8(value).ok()?.trim().parse().ok());
    announced.max(response.body.as_ref().map(|body| body.bytes().len() as u64))
}

/// How many exchanges were left out, by reason.
#[derive(Debug, Default)]
pub(crate) struct LeftOutCounts(Mutex<BTreeMap<String, u64>>);

impl LeftOutCounts {
    /// Goes on from what notes of a cassette say.
    pub(crate) fn read(&self, note: &Note<'_>) {
        if let Some((reason, count)) = read(note) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(reason, count);
        }
    }

    /// Counts one more, and gives the note that says so. Notes are given in the order of their counts.
    pub(crate) fn add<T>(&self, reason: &str, give: impl FnOnce(Note<'static>) -> T) -> T {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(reason.to_owned()).or_default();
        *count += 1;
        give(Note::new(format!("{NOTE}{reason}"), count.to_string()))
    }
}

/// What a note says of exchanges that were left out: why, and how many.
pub(crate) fn read(note: &Note<'_>) -> Option<(String, u64)> {
    let reason = note.name.strip_prefix(NOTE.as_bytes())?;
    let count = std::str::from_utf8(&note.value).ok()?.parse().ok()?;
    Some((String::from_utf8_lossy(reason).into_owned(), count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Body, Header};

    fn request(line: [&'static str; 3]) -> Request<'static> {
        Request { method: line[0].into(), host: line[1].into(), target: line[2].into(), ..Request::default() }
    }

    fn response(status: u16, headers: &[(&'static str, &'static str)]) -> Response<'static> {
        let headers = headers.iter().map(|&(name, value)| Header::new(name, value)).collect();
        Response { status, headers, ..Response::default() }
    }

    fn of(rule: LeaveOutRule) -> Filter {
        Filter::default().leave_out(LeaveOutRule { reason: "r".to_owned(), ..rule })
    }

    fn left_out(filter: &Filter, request: &Request<'_>, response: Option<&Response<'_>>) -> bool {
        filter.decide(request, response) == Verdict::LeftOut("r")
    }

    #[test]
    fn conditions_on_requests() {
        let rule = |methods: &[&str], hosts: &[&str], path: Option<&str>| {
            let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
            let path = path.map(|path| Regex::new(path).unwrap());
            of(LeaveOutRule { methods: texts(methods), hosts: texts(hosts), path, ..LeaveOutRule::default() })
        };
        let asked = request(["GET", "a.Pond.example", "/frog.png?x=.js"]);
        for (filter, expected) in [
            (rule(&["get", "POST"], &[], None), true),
            (rule(&["POST"], &[], None), false),
            (rule(&[], &["*.pond.example"], None), true),
            (rule(&[], &["pond.example", "b.pond.example"], None), false),
            (rule(&[], &["*a.pond.example"], None), false),
            (rule(&[], &[], Some(r"\.(png|jpg)$")), true),
            (rule(&[], &[], Some(r"\.js")), false),
            (rule(&["GET"], &["a.pond.example"], Some("^/frog")), true),
            (rule(&["PUT"], &["a.pond.example"], Some("^/frog")), false),
            (rule(&[], &[], None), false),
        ] {
            assert_eq!(left_out(&filter, &asked, None), expected, "{filter:?}");
            assert!(!filter.needs_response());
        }
    }

    #[test]
    fn conditions_on_responses() {
        let asked = request(["GET", "pond.example", "/"]);
        let status = of(LeaveOutRule { status: Some(300..=399), ..LeaveOutRule::default() });
        let kind =
            of(LeaveOutRule { content_types: vec!["image/*".into(), "text/css".into()], ..LeaveOutRule::default() });
        let long = of(LeaveOutRule { body_bytes_over: Some(3), ..LeaveOutRule::default() });
        for filter in [&status, &kind, &long] {
            assert!(filter.needs_response() && !left_out(filter, &asked, None));
        }
        for (filter, answer, expected) in [
            (&status, response(304, &[]), true),
            (&status, response(200, &[]), false),
            (&kind, response(200, &[("content-type", "Image/PNG")]), true),
            (&kind, response(200, &[("content-type", "text/css; charset=utf-8")]), true),
            (&kind, response(200, &[("content-type", "text/html")]), false),
            (&kind, response(200, &[]), false),
            (&long, response(200, &[("content-length", "4")]), true),
            (&long, response(200, &[("content-length", "3")]), false),
            (&long, response(200, &[]), false),
            (&long, Response { body: Some(Body::new(0, "long")), ..response(200, &[]) }, true),
        ] {
            assert_eq!(left_out(filter, &asked, Some(&answer)), expected, "{filter:?} {answer:?}");
        }
    }

    #[test]
    fn counts_go_on_from_what_a_cassette_says() {
        let counts = LeftOutCounts::default();
        counts.read(&Note::new("left_out.pictures", "7"));
        counts.read(&Note::new("name", "7"));
        assert_eq!(counts.add("pictures", |note| note), Note::new("left_out.pictures", "8"));
        assert_eq!(counts.add("ads", |note| read(&note)), Some(("ads".to_owned(), 1)));
    }
}
