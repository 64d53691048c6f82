//! JSON bodies in a form in which equal ones have equal bytes, and places in them.
//!
//! As RFC 8785 has it, members are sorted and space is left out. Numbers that a double cannot hold are not rounded as it would
//! have them be: a body with one is not JSON here, and is compared as bytes.

use serde_json::{Number, Value};
use std::fmt;
use std::ops::Range;

/// A place in a JSON value, or many: names and positions, with `*` for any one of them and `**` for any number.
///
/// Written as a dotted path, `messages.0.id`, `choices.*.index`, `**.created`, with `$.` before it or not; or as a JSON
/// Pointer (RFC 6901), `/messages/0/id`, for names with dots in them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JsonPath {
    steps: Vec<PathStep>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PathStep {
    /// A name of a member or the position of an element.
    Name(String),
    Any,
    AnyDepth,
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// A name is empty, as in `a..b`, or nothing is named after `**`.
    pub fn new(text: &str) -> Result<Self, PathError> {
        let steps: Vec<_> = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(pointer_step).collect(),
            None => dotted(text).split('.').map(step).collect(),
        };
        let has_gap = !text.starts_with('/') && steps.contains(&PathStep::Name(String::new()));
        match has_gap || steps.last() == Some(&PathStep::AnyDepth) {
            true => Err(PathError { path: text.to_owned() }),
            false => Ok(Self { steps }),
        }
    }
}

fn dotted(text: &str) -> &str {
    text.strip_prefix("$.").unwrap_or(text)
}

fn step(name: &str) -> PathStep {
    match name {
        "*" => PathStep::Any,
        "**" => PathStep::AnyDepth,
        _ => PathStep::Name(name.to_owned()),
    }
}

fn pointer_step(name: &str) -> PathStep {
    step(&name.replace("~1", "/").replace("~0", "~"))
}

/// A path that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    path: String,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path } = self;
        write!(f, "the JSON path `{path}` has an empty name or ends in `**`; write it as `a.0.b` or `**.b`, ")?;
        f.write_str("or as `/a/0/b` if a name has dots in it")
    }
}

impl std::error::Error for PathError {}

/// Reads a body; `None` if it is not JSON, or holds an integer that would be rounded.
pub(crate) fn read(body: &[u8]) -> Option<Value> {
    let value = serde_json::from_slice(body).ok()?;
    (!has_long_integer(body)).then_some(value)
}

/// Whether there are 20 digits in a row outside of strings: more than 64 bits hold.
fn has_long_integer(body: &[u8]) -> bool {
    let mut run = 0;
    let mut in_text = false;
    let mut escaped = false;
    body.iter().any(|&byte| {
        let is_digit = !in_text && byte.is_ascii_digit();
        run = if is_digit { run + 1 } else { 0 };
        in_text ^= byte == b'"' && !escaped;
        escaped = in_text && byte == b'\\' && !escaped;
        run > 19
    })
}

/// Takes places out of a value.
pub(crate) fn remove(value: &mut Value, paths: &[JsonPath]) {
    for path in paths {
        remove_at(value, &path.steps);
    }
}

fn remove_at(value: &mut Value, steps: &[PathStep]) {
    let Some((first, rest)) = steps.split_first() else { return };
    if *first == PathStep::AnyDepth {
        remove_at(value, rest);
        children(value).for_each(|(_, child)| remove_at(child, steps));
        return;
    }
    if !rest.is_empty() {
        children(value).filter(|(name, _)| is_at(first, name)).for_each(|(_, child)| remove_at(child, rest));
        return;
    }
    match value {
        Value::Object(members) => members.retain(|name, _| !is_at(first, &ChildNames::Name(name))),
        // Later elements keep their positions, so that another path still means what it meant.
        Value::Array(_) => {
            children(value).filter(|(name, _)| is_at(first, name)).for_each(|(_, child)| *child = Value::Null);
        }
        _ => {}
    }
}

/// What the children of a value are called.
enum ChildNames<'a> {
    Name(&'a str),
    Position(usize),
}

fn is_at(step: &PathStep, place: &ChildNames<'_>) -> bool {
    match (step, place) {
        (PathStep::Any | PathStep::AnyDepth, _) => true,
        (PathStep::Name(step), ChildNames::Name(name)) => step == name,
        (PathStep::Name(step), ChildNames::Position(position)) => step.parse() == Ok(*position),
    }
}

fn children(value: &mut Value) -> Box<dyn Iterator<Item = (ChildNames<'_>, &mut Value)> + '_> {
    match value {
        Value::Object(members) => Box::new(members.iter_mut().map(|(name, child)| (ChildNames::Name(name), child))),
        Value::Array(elements) => {
            Box::new(elements.iter_mut().enumerate().map(|(position, child)| (ChildNames::Position(position), child)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// What is at a path, every place of it, in order.
pub(crate) fn at<'v>(value: &'v Value, path: &JsonPath) -> Vec<&'v Value> {
    let mut found = Vec::new();
    gather(value, &path.steps, &mut found);
    found
}

fn gather<'v>(value: &'v Value, steps: &[PathStep], found: &mut Vec<&'v Value>) {
    let Some((first, rest)) = steps.split_first() else {
        found.push(value);
        return;
    };
    if *first == PathStep::AnyDepth {
        gather(value, rest, found);
    }
    let below = if *first == PathStep::AnyDepth { steps } else { rest };
    for (place, child) in members(value) {
        if is_at(first, &place) {
            gather(child, below, found);
        }
    }
}

/// Where in a text of JSON the values at some paths stand, in order; none inside of another. A text that is not JSON has none.
pub(crate) fn ranges(text: &[u8], paths: &[JsonPath]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // A value that is too deep to be one is none here either.
    if serde_json::from_slice::<Value>(text).is_ok() {
        JsonWalker { text, at: 0, found: &mut found }
            .value(&paths.iter().map(|path| &path.steps[..]).collect::<Vec<_>>());
    }
    found
}

/// Goes through a text that is JSON, which is known: nothing is too deep, and everything ends.
struct JsonWalker<'t> {
    text: &'t [u8],
    at: usize,
    found: &'t mut Vec<Range<usize>>,
}

impl JsonWalker<'_> {
    /// Goes over a value, of which the places at these steps are wanted.
    fn value(&mut self, wanted: &[&[PathStep]]) {
        self.space();
        // `**` is also nothing at all.
        let here: Vec<&[PathStep]> = wanted
            .iter()
            .flat_map(|steps| [Some(*steps), steps.strip_prefix(&[PathStep::AnyDepth])])
            .flatten()
            .collect();
        let begin = self.at;
        let is_it = here.iter().any(|steps| steps.is_empty());
        let below = if is_it { &[][..] } else { &here };
        match self.text.get(begin) {
            Some(b'{') => self.children(b'}', true, below),
            Some(b'[') => self.children(b']', false, below),
            Some(b'"') => self.string(),
            _ => self.word(),
        }
        if is_it {
            self.found.push(begin..self.at);
        }
    }

    fn children(&mut self, end: u8, has_names: bool, wanted: &[&[PathStep]]) {
        self.at += 1;
        let mut position = 0;
        loop {
            self.space();
            match self.text.get(self.at) {
                Some(byte) if *byte != end => {}
                _ => break,
            }
            let name = has_names.then(|| self.name());
            let place = name.as_ref().map_or(ChildNames::Position(position), |name| ChildNames::Name(name));
            let goes_on = |steps: &&[PathStep]| -> Option<usize> {
                let first = steps.first().filter(|first| is_at(first, &place))?;
                Some(usize::from(*first != PathStep::AnyDepth))
            };
            let below: Vec<_> = wanted.iter().filter_map(|steps| Some(&steps[goes_on(steps)?..])).collect();
            self.value(&below);
            position += 1;
            self.space();
            self.at += usize::from(self.text.get(self.at) == Some(&b','));
        }
        self.at += 1;
    }

    /// A name with its colon.
    fn name(&mut self) -> String {
        let begin = self.at;
        self.string();
        let name = serde_json::from_slice(&self.text[begin..self.at]).unwrap_or_default();
        self.space();
        self.at += 1;
        name
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at).filter(|byte| **byte != b'"') {
            self.at += if *byte == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }

    fn word(&mut self) {
        let is_word = |byte: &&u8| !b",]} \t\r\n".contains(byte);
        self.at += self.text[self.at..].iter().take_while(is_word).count();
    }

    fn space(&mut self) {
        self.at += self.text[self.at..].iter().take_while(|byte| b" \t\r\n".contains(byte)).count();
    }
}

fn members(value: &Value) -> Vec<(ChildNames<'_>, &Value)> {
    match value {
        Value::Object(members) => {
            sorted(members).into_iter().map(|(name, child)| (ChildNames::Name(name), child)).collect()
        }
        Value::Array(elements) => {
            elements.iter().enumerate().map(|(position, child)| (ChildNames::Position(position), child)).collect()
        }
        _ => Vec::new(),
    }
}

fn sorted(members: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    sorted
}

/// Writes a value so that equal ones have equal bytes.
pub(crate) fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(members) => {
            out.push(b'{');
            for (at, (name, child)) in sorted(members).into_iter().enumerate() {
                out.extend((at > 0).then_some(b','));
                write_text(name, out);
                out.push(b':');
                write(child, out);
            }
            out.push(b'}');
        }
        Value::Array(elements) => {
            out.push(b'[');
            for (at, child) in elements.iter().enumerate() {
                out.extend((at > 0).then_some(b','));
                write(child, out);
            }
            out.push(b']');
        }
        Value::String(text) => write_text(text, out),
        Value::Number(number) => out.extend(in_one_form(number).into_bytes()),
        Value::Bool(_) | Value::Null => out.extend(value.to_string().into_bytes()),
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a list of bytes takes everything");
}

/// `1` for `1`, `1.0` and `1e0`.
fn in_one_form(number: &Number) -> String {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.as_f64() {
        Some(double) if number.is_f64() && double.fract() == 0.0 && double.abs() < EXACT => {
            format!("{}", double as i64)
        }
        _ => number.to_string(),
    }
}

/// A place where two values differ, and what is there: `None` is nothing at all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValueDifference<'v> {
    /// As a dotted path, with names as they are.
    pub(crate) place: String,
    /// The path that leaves the difference out, as [`JsonPath::new`] reads it; empty if it is all of the value.
    pub(crate) path: String,
    pub(crate) sides: ValuePair<'v>,
}

pub(crate) type ValuePair<'v> = (Option<&'v Value>, Option<&'v Value>);

/// The first place where two values differ, and what is there: `None` is nothing at all.
pub(crate) fn first_difference<'v>(
    one: &'v Value,
    other: &'v Value,
) -> Option<(String, Option<&'v Value>, Option<&'v Value>)> {
    let first = differences(one, other, 1).into_iter().next()?;
    Some((first.place, first.sides.0, first.sides.1))
}

/// The first `most` places where two values differ. Of lists that are not equally long it is the first place in them: what comes
/// later may have moved, and only all of the list can be left out.
pub(crate) fn differences<'v>(one: &'v Value, other: &'v Value, most: usize) -> Vec<ValueDifference<'v>> {
    let mut found = Vec::new();
    differ(one, other, &mut ValueComparison { steps: Vec::new(), list: None, most, found: &mut found });
    found
}

struct ValueComparison<'w, 'v> {
    steps: Vec<String>,
    /// How many steps lead to a list that can be left out as a whole only.
    list: Option<usize>,
    most: usize,
    found: &'w mut Vec<ValueDifference<'v>>,
}

fn differ<'v>(one: &'v Value, other: &'v Value, comparison: &mut ValueComparison<'_, 'v>) {
    match (one, other) {
        (Value::Object(ones), Value::Object(others)) => {
            let mut names: Vec<_> = ones.keys().chain(others.keys()).collect();
            names.sort();
            names.dedup();
            names.into_iter().for_each(|name| below(ones.get(name), others.get(name), name, comparison));
        }
        (Value::Array(ones), Value::Array(others)) => {
            let (before, before_list, most) = (comparison.found.len(), comparison.list, comparison.most);
            if ones.len() != others.len() {
                comparison.list = before_list.or(Some(comparison.steps.len()));
                comparison.most = most.min(before + 1);
            }
            let elements = 0..ones.len().max(others.len());
            elements.for_each(|at| below(ones.get(at), others.get(at), &at.to_string(), comparison));
            (comparison.list, comparison.most) = (before_list, most);
        }
        _ if canonical(one) != canonical(other) => comparison.find((Some(one), Some(other))),
        _ => {}
    }
}

fn below<'v>(one: Option<&'v Value>, other: Option<&'v Value>, name: &str, comparison: &mut ValueComparison<'_, 'v>) {
    if comparison.found.len() >= comparison.most {
        return;
    }
    comparison.steps.push(name.to_owned());
    match (one, other) {
        (Some(one), Some(other)) => differ(one, other, comparison),
        sides => comparison.find(sides),
    }
    comparison.steps.pop();
}

impl<'v> ValueComparison<'_, 'v> {
    fn find(&mut self, sides: ValuePair<'v>) {
        let path = path_of(&self.steps[..self.list.unwrap_or(self.steps.len())]);
        self.found.push(ValueDifference { place: self.steps.join("."), path, sides });
    }
}

/// A path that [`JsonPath::new`] reads: dotted, or a pointer if a name has something in it that means more there.
fn path_of(steps: &[String]) -> String {
    let is_plain = |name: &String| !name.is_empty() && !name.contains(['.', '/', '~', '$']);
    if steps.iter().all(is_plain) {
        return steps.join(".");
    }
    steps.iter().map(|name| format!("/{}", name.replace('~', "~0").replace('/', "~1"))).collect()
}

fn canonical(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(value, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(body: &str, paths: &[&str]) -> String {
        let mut value = read(body.as_bytes()).expect("JSON");
        remove(&mut value, &paths.iter().map(|path| JsonPath::new(path).unwrap()).collect::<Vec<_>>());
        String::from_utf8(canonical(&value)).unwrap()
    }

    #[test]
    fn one_value_is_written_one_way() {
        assert_eq!(
            without(r#"{"b": 1.0, "a": [true, null, "\u00e4\n"], "c": 1e2}"#, &[]),
            r#"{"a":[true,null,"ä\n"],"b":1,"c":100}"#
        );
        assert_eq!(without("-0.5", &[]), "-0.5");
        assert!(read(b"{} {}").is_none());
    }

    #[test]
    fn numbers_that_would_be_rounded_are_not_read() {
        assert!(read(b"[123456789012345678901]").is_none());
        assert!(read(b"[1234567890123456789]").is_some());
        assert!(read(br#"["\"12345678901234567890123"]"#).is_some());
    }

    #[test]
    fn paths_are_taken_out() {
        let body = r#"{"id": 7, "list": [{"id": 1, "x": 2}, {"id": 3}], "a.b": 1, "deep": {"deeper": {"id": 9}}}"#;
        assert_eq!(without(body, &["id"]), r#"{"a.b":1,"deep":{"deeper":{"id":9}},"list":[{"id":1,"x":2},{"id":3}]}"#);
        assert_eq!(without(body, &["**.id", "/a.b"]), r#"{"deep":{"deeper":{}},"list":[{"x":2},{}]}"#);
        assert_eq!(without(body, &["list.*.id", "$.deep", "a.b"]), r#"{"a.b":1,"id":7,"list":[{"x":2},{}]}"#);
        assert_eq!(without("[1,2,3]", &["0", "2"]), "[null,2,null]");
    }

    #[test]
    fn a_path_has_no_empty_name() {
        assert!(["a..b", "", "a.**"].iter().all(|path| JsonPath::new(path).is_err()));
        assert!(JsonPath::new("/a//b").is_ok());
    }

    #[test]
    fn places_are_found_in_the_text() {
        let text = r#" {"a.b": [1, {"id" : "x\"y"}], "i\u0064":{"id":2} , "c": null} "#;
        let found = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(|path| JsonPath::new(path).unwrap()).collect();
            ranges(text.as_bytes(), &paths).into_iter().map(|range| &text[range]).collect::<Vec<_>>()
        };
        assert_eq!(found(&["**.id"]), [r#""x\"y""#, r#"{"id":2}"#]);
        assert_eq!(found(&["id.id", "c"]), ["2", "null"]);
        assert_eq!(found(&["/a.b/0", "/a.b/1/*"]), ["1", r#""x\"y""#]);
        assert_eq!(found(&["none", "*.7"]), [""; 0]);
        assert!(ranges(b"{\"a\": 1", &[JsonPath::new("a").unwrap()]).is_empty());
    }

    #[test]
    fn the_first_difference_is_named() {
        let [one, other] =
            [r#"{"a":[1,{"b":2}],"z":0}"#, r#"{"z":0,"a":[1,{"b":3}]}"#].map(|text| read(text.as_bytes()).unwrap());
        let (place, one_is, other_is) = first_difference(&one, &other).unwrap();
        assert_eq!((place.as_str(), one_is, other_is), ("a.1.b", Some(&2.into()), Some(&3.into())));
        assert!(first_difference(&one, &one).is_none());
    }

    #[test]
    fn every_difference_has_a_path_that_leaves_it_out() {
        for (one, other, paths) in [
            (r#"{"a":1,"b":[1,{"c":2}],"d":0}"#, r#"{"a":2,"b":[1,{"c":3}]}"#, &["a", "b.1.c", "d"][..]),
            (r#"{"a.b":{"~c/d":1},"":1}"#, r#"{"a.b":{"~c/d":2},"":2}"#, &["/", "/a.b/~0c~1d"]),
            // What follows the first difference of these may be the same, moved.
            (r#"{"list":[{"x":1},{"y":[1]}],"z":1}"#, r#"{"list":[{"y":[2]}],"z":2}"#, &["list", "z"]),
            (r#"{"list":[1,2,3]}"#, r#"{"list":[1,2]}"#, &["list"]),
        ] {
            let [mut one, mut other] = [one, other].map(|text| read(text.as_bytes()).unwrap());
            let found: Vec<_> = differences(&one, &other, 99).into_iter().map(|found| found.path).collect();
            assert_eq!(found, paths);
            let paths: Vec<_> = found.iter().map(|path| JsonPath::new(path).unwrap()).collect();
            [&mut one, &mut other].into_iter().for_each(|value| remove(value, &paths));
            assert_eq!(one, other);
        }
    }
}
