//! Why nothing recorded answers a request: the nearest recorded one, and what differs.

use crate::matching::canonical::{BodyContent, RequestPart, without_boundary};
use crate::matching::json;
use crate::matching::recorded::RecordedExchanges;
use crate::matching::rules::{BodyRule, MatchRules, PathRule, QueryRule};
use crate::message::{Header, Request, line_of};
use crate::url::{QueryPair, sorted_pairs};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// How many recorded requests a request is compared with when the nearest is looked for.
const COMPARED_MAX: usize = 10_000;
/// How many bytes of a value are shown.
const SHOWN_BYTES: usize = 60;
/// How many places of a JSON body are told apart.
const PLACES_MAX: usize = 50;

/// A request that nothing recorded answers. Printed, it is a few lines for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// What was asked, as method and URL.
    pub request: String,
    /// Why there is no answer.
    pub reason: Reason,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing is recorded.
    Empty,
    /// It was answered as often as it was recorded.
    AllGiven {
        /// How often.
        count: usize,
        /// The number of the exchange that was given last.
        last: u64,
    },
    /// It is like nothing that is recorded.
    Unlike(NearestExchange),
}

/// The recorded request that is nearest to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearestExchange {
    /// The number of the exchange.
    pub number: u64,
    /// What was asked then, as method and URL.
    pub request: String,
    /// What differs; never empty.
    pub differences: Vec<Difference>,
}

/// Something in which two requests differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is: `host`, `query page`, `body at messages.0.content`; a long name is shortened.
    pub place: String,
    /// What was recorded, shortened; `None` is nothing at all.
    pub recorded: Option<String>,
    /// What is asked now, shortened; `None` is nothing at all.
    pub live: Option<String>,
    /// The [path](crate::matching::JsonPath) that leaves it out, if it is in a JSON body.
    pub json_path: Option<String>,
    /// How much it says about two requests being different ones.
    weight: u32,
}

impl Miss {
    pub(crate) fn new(live: &Request<'_>, reason: Reason) -> Self {
        Self { request: line_of(live), reason }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no recorded exchange answers {}", self.request)?;
        match &self.reason {
            Reason::Empty => f.write_str("nothing is recorded"),
            Reason::AllGiven { count, last } => {
                let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
                write!(
                    f,
                    "it was recorded {times}, and each was given (exchange {last} last); allow repeats, or record again"
                )
            }
            Reason::Unlike(nearest) => nearest.fmt(f),
        }
    }
}

impl std::error::Error for Miss {}

impl fmt::Display for NearestExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nearest is exchange {}, {}; what differs:", self.number, self.request)?;
        self.differences.iter().try_for_each(|difference| write!(f, "\n  {difference}"))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, recorded, live, .. } = self;
        let [recorded, live] = [recorded, live].map(|side| side.as_deref().unwrap_or("nothing"));
        write!(f, "{place}: recorded {recorded}, now {live}")
    }
}

/// The recorded request that is nearest to a request, or that all that are the same were given.
pub(crate) fn nearest<R: RecordedExchanges + ?Sized>(
    recorded: &R,
    rules: &MatchRules,
    live: &Request<'_>,
    given: &[usize],
) -> Result<Reason, R::Error> {
    let mut best: Option<(u32, usize, Vec<Difference>)> = None;
    let is_given: HashSet<usize> = given.iter().copied().collect();
    for position in (0..recorded.count().min(COMPARED_MAX)).filter(|position| !is_given.contains(position)) {
        let differences = differences(rules, recorded.request(position)?.as_ref(), live);
        let distance = differences.iter().map(|difference| difference.weight).sum();
        if best.as_ref().is_none_or(|(least, ..)| distance < *least) {
            best = Some((distance, position, differences));
        }
    }
    Ok(match (best, given) {
        (Some((_, position, differences)), _) => {
            let request = line_of(recorded.request(position)?.as_ref());
            Reason::Unlike(NearestExchange { number: recorded.number(position)?, request, differences })
        }
        (None, [.., last]) => Reason::AllGiven { count: given.len(), last: recorded.number(*last)? },
        (None, []) => Reason::Empty,
    })
}

/// What differs between two requests; nothing if and only if the rules take them for the same.
pub(crate) fn differences(rules: &MatchRules, recorded: &Request<'_>, live: &Request<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    for part in RequestPart::ALL {
        if rules.canonical_part(part, recorded) != rules.canonical_part(part, live) {
            explain(rules, part, recorded, live, &mut found);
        }
    }
    for condition in rules.custom.iter().filter(|condition| !condition.holds(recorded, live)) {
        found.push(Difference {
            place: format!("condition {}", condition.name()),
            recorded: None,
            live: None,
            json_path: None,
            weight: 200,
        });
    }
    found
}

fn explain(
    rules: &MatchRules,
    part: RequestPart,
    recorded: &Request<'_>,
    live: &Request<'_>,
    found: &mut Vec<Difference>,
) {
    let mut whole = |place: &str, of: fn(&Request<'_>) -> String, weight| {
        let (recorded, live) = (Some(of(recorded)), Some(of(live)));
        found.push(Difference { place: place.to_owned(), recorded, live, json_path: None, weight });
    };
    match part {
        RequestPart::Method => whole("method", |request| request.method.to_text_lossy().into_owned(), 800),
        RequestPart::Scheme => whole("scheme", |request| request.scheme.to_text_lossy().into_owned(), 200),
        RequestPart::Host => whole("host", |request| request.host.to_text_lossy().into_owned(), 3_200),
        RequestPart::Port => whole("port", |request| request.port.to_string(), 400),
        RequestPart::Path => {
            let weight = 200 + 1_400 * unlikeness(recorded.path(), live.path()) / 1_000;
            let [recorded, live] =
                [recorded, live].map(|request| Some(String::from_utf8_lossy(request.path()).into_owned()));
            let place = if matches!(rules.path, PathRule::Captures(_)) { "path, in what is captured" } else { "path" };
            found.push(Difference { place: place.to_owned(), recorded, live, json_path: None, weight });
        }
        RequestPart::Query => explain_query(rules, recorded, live, found),
        RequestPart::Headers => explain_headers(rules, recorded, live, found),
        RequestPart::Body => explain_body(rules, recorded, live, found),
    }
}

fn explain_query(rules: &MatchRules, recorded: &Request<'_>, live: &Request<'_>, found: &mut Vec<Difference>) {
    let [one, other] = [recorded, live].map(|request| request.query());
    match &rules.query {
        QueryRule::AsSent => {
            let [recorded, live] = [one, other].map(|query| query.map(|query| shown(query, 0)));
            let place = "query, as it was sent".to_owned();
            found.push(Difference { place, recorded, live, json_path: None, weight: 100 });
        }
        QueryRule::Without(names) => explain_pairs("query", one, other, names, found),
        QueryRule::Pairs | QueryRule::Ignored => explain_pairs("query", one, other, &[], found),
    }
}

/// A difference for each name whose values are not the same.
fn explain_pairs(
    what: &str,
    recorded: Option<&[u8]>,
    live: Option<&[u8]>,
    left_out: &[String],
    found: &mut Vec<Difference>,
) {
    let [recorded, live] = [recorded, live].map(|query| sorted_pairs(query.unwrap_or_default()));
    let pair = |(name, value): QueryPair<'_>| (name.into_owned(), value.map(|value| value.into_owned()));
    let by_name = by_name([recorded, live].map(|pairs| pairs.into_iter().map(pair)));
    let compared = |name: &[u8]| !left_out.iter().any(|out| out.as_bytes() == name);
    for (name, [recorded, live]) in by_name.into_iter().filter(|(name, _)| compared(name)) {
        if recorded != live {
            // A long body that is said to be a form is one long name.
            let place = format!("{what} {}", shorten(String::from_utf8_lossy(&name).into_owned()));
            let [recorded, live] =
                [recorded, live].map(|values| values.into_iter().map(Option::unwrap_or_default).collect());
            found.push(values_differ(place, recorded, live));
        }
    }
}

/// The values of each name on both sides, in their order.
pub(crate) fn by_name<V>(sides: [impl Iterator<Item = (Vec<u8>, V)>; 2]) -> BTreeMap<Vec<u8>, [Vec<V>; 2]> {
    let mut by_name: BTreeMap<Vec<u8>, [Vec<V>; 2]> = BTreeMap::new();
    for (side, pairs) in sides.into_iter().enumerate() {
        for (name, value) in pairs {
            by_name.entry(name).or_insert_with(|| [Vec::new(), Vec::new()])[side].push(value);
        }
    }
    by_name
}

fn explain_headers(rules: &MatchRules, recorded: &Request<'_>, live: &Request<'_>, found: &mut Vec<Difference>) {
    let [recorded, live] = [recorded, live].map(|request| rules.headers_of(request));
    let header = |header: &Header<'_>| (header.name.to_ascii_lowercase(), header.value.to_vec());
    for (name, [recorded, live]) in by_name([recorded, live].map(|headers| headers.into_iter().map(header))) {
        if recorded != live {
            found.push(values_differ(format!("header {}", String::from_utf8_lossy(&name)), recorded, live));
        }
    }
}

/// All values of a name, on both sides.
fn values_differ(place: String, recorded: Vec<Vec<u8>>, live: Vec<Vec<u8>>) -> Difference {
    let [recorded, live] = [recorded, live].map(|values| (!values.is_empty()).then(|| values.join(&b", "[..])));
    let at = common_start(recorded.as_deref().unwrap_or_default(), live.as_deref().unwrap_or_default());
    let [recorded, live] = [recorded, live].map(|side| side.map(|side| shown(&side, at)));
    Difference { place, recorded, live, json_path: None, weight: 100 }
}

fn explain_body(rules: &MatchRules, recorded: &Request<'_>, live: &Request<'_>, found: &mut Vec<Difference>) {
    let (recorded, live) = (&*rules.decompressed(recorded), &*rules.decompressed(live));
    let [one, other] = [recorded, live].map(Request::body_bytes);
    let weight = 100 + 400 * unlikeness(one, other) / 1_000;
    let contents = [recorded, live].map(|request| BodyContent::of(&request.headers));
    match (&rules.body, &contents) {
        (BodyRule::Length, _) => {
            let [recorded, live] = [one, other].map(|body| Some(format!("{} bytes", body.len())));
            let place = "length of the body".to_owned();
            found.push(Difference { place, recorded, live, json_path: None, weight });
        }
        (BodyRule::Content, [BodyContent::Form, BodyContent::Form]) => {
            explain_pairs("form field", Some(one), Some(other), &[], found);
        }
        (BodyRule::Content, [BodyContent::Json, BodyContent::Json]) => explain_json(one, other, &[], weight, found),
        (BodyRule::JsonWithout(paths), _) => explain_json(one, other, paths, weight, found),
        (BodyRule::Content, [BodyContent::Multipart(of_one), BodyContent::Multipart(of_other)]) => {
            found.push(bytes_differ(&without_boundary(one, of_one), &without_boundary(other, of_other), weight));
        }
        _ => found.push(bytes_differ(one, other, weight)),
    }
}

fn explain_json(recorded: &[u8], live: &[u8], left_out: &[json::JsonPath], weight: u32, found: &mut Vec<Difference>) {
    let [one, other] = [recorded, live].map(|body| {
        json::read(body).map(|mut value| {
            json::remove(&mut value, left_out);
            value
        })
    });
    let both = one.as_ref().zip(other.as_ref());
    let differing = both.map_or(Vec::new(), |(one, other)| json::differences(one, other, PLACES_MAX));
    if differing.is_empty() {
        found.push(bytes_differ(recorded, live, weight));
    }
    // All of them say together how unlike the bodies are.
    let weights = std::iter::once(weight).chain(std::iter::repeat(0));
    found.extend(differing.into_iter().zip(weights).map(|(json::ValueDifference { place, path, sides }, weight)| {
        let [recorded, live] = excerpts(sides);
        let place = if place.is_empty() { "body".to_owned() } else { format!("body at {}", shorten(place)) };
        Difference { place, recorded, live, json_path: (!path.is_empty()).then_some(path), weight }
    }));
}

/// Two values, each as much of it as shows where they differ.
fn excerpts((recorded, live): json::ValuePair<'_>) -> [Option<String>; 2] {
    if let (Some(Value::String(recorded)), Some(Value::String(live))) = (recorded, live) {
        let at = common_start(recorded.as_bytes(), live.as_bytes());
        return [recorded, live].map(|text| Some(shown_text(text, at)));
    }
    [recorded, live].map(|side| side.map(|value| shorten(value.to_string())))
}

/// The text around a place, in quotes, shortened.
fn shown_text(text: &str, at: usize) -> String {
    let from = if text.len() > SHOWN_BYTES { at.saturating_sub(SHOWN_BYTES / 3) } else { 0 };
    let from = text.floor_char_boundary(from);
    let to = text.floor_char_boundary(from + SHOWN_BYTES);
    let before = if from > 0 { "…" } else { "" };
    let after = if to < text.len() { "…" } else { "" };
    format!("{before}{:?}{after}", &text[from..to])
}

/// The first place where bodies differ.
fn bytes_differ(recorded: &[u8], live: &[u8], weight: u32) -> Difference {
    let at = common_start(recorded, live);
    if recorded == live {
        let place = "what the body is, as Content-Type says".to_owned();
        return Difference { place, recorded: None, live: None, json_path: None, weight };
    }
    let [recorded, live] = [recorded, live].map(|body| (!body.is_empty()).then(|| shown(body, at)));
    Difference { place: format!("body from byte {at}"), recorded, live, json_path: None, weight }
}

/// Bytes from a little before a place on, in quotes, shortened.
pub(crate) fn shown(bytes: &[u8], at: usize) -> String {
    let from = at.saturating_sub(SHOWN_BYTES / 3);
    let to = bytes.len().min(from + SHOWN_BYTES);
    let text = String::from_utf8_lossy(&bytes[from..to]);
    let before = if from > 0 { "…" } else { "" };
    let after = if to < bytes.len() { "…" } else { "" };
    format!("{before}{text:?}{after}")
}

pub(crate) fn shorten(text: String) -> String {
    match text.char_indices().nth(SHOWN_BYTES) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(crate) fn common_start(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// How much of two texts is not at both beginnings or both ends, in thousandths of the longer one.
fn unlikeness(one: &[u8], other: &[u8]) -> u32 {
    let (longer, shorter) = (one.len().max(other.len()), one.len().min(other.len()));
    let start = common_start(one, other);
    let ends = one.iter().rev().zip(other.iter().rev()).take(shorter - start);
    let end = ends.take_while(|(one, other)| one == other).count();
    (1_000 - 1_000 * (start + end) / longer.max(1)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Body;

    fn asked(body: &str) -> Request<'static> {
        Request {
            method: "POST".into(),
            scheme: "https".into(),
            host: "a.test".into(),
            port: 443,
            target: "/v1".into(),
            headers: vec![Header::new("Content-Type", "application/json")],
            body: Some(Body::new(0, body.to_owned())),
            ..Request::default()
        }
    }

    #[test]
    fn a_long_text_is_shown_where_it_differs() {
        let prompt = |word: &str| {
            let before = "You are a frog. Answer as frogs do. ".repeat(200);
            asked(&format!(r#"{{"prompt":"{before}Croak {word} ändern.{before}"}}"#))
        };
        let found = differences(&MatchRules::default(), &prompt("löud"), &prompt("söft"));
        assert_eq!(found.len(), 1);
        let [recorded, live] = [&found[0].recorded, &found[0].live].map(|side| side.as_deref().unwrap());
        assert!(recorded.contains("löud ändern") && live.contains("söft ändern"), "{recorded} {live}");
        assert!(recorded.starts_with('…') && recorded.ends_with('…') && recorded.len() < 100, "{recorded}");
        assert_eq!(found[0].json_path.as_deref(), Some("prompt"));
    }

    #[test]
    fn all_places_that_differ_are_named() {
        let one = asked(r#"{"id":1,"messages":[{"at":1,"text":"a"},{"at":2,"text":"b"}],"user":"x"}"#);
        let other = asked(r#"{"id":2,"messages":[{"at":3,"text":"a"},{"at":4,"text":"b"}]}"#);
        let found = differences(&MatchRules::default(), &one, &other);
        let places: Vec<_> = found.iter().map(|difference| difference.place.as_str()).collect();
        assert_eq!(places, ["body at id", "body at messages.0.at", "body at messages.1.at", "body at user"]);
        let paths = found.iter().map(|difference| json::JsonPath::new(difference.json_path.as_ref().unwrap()).unwrap());
        let rules = MatchRules { body: BodyRule::JsonWithout(paths.collect()), ..MatchRules::default() };
        assert!(rules.same(&one, &other));
    }
}
