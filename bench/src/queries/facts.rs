//! Facts that programs are asked about, other than graphs: a line each, in the words that MeTTa has for them.

use super::graphs::{Edge, Form, Shape};
use crate::random::Random;
use crate::{Plan, peers};
use std::collections::HashSet;
use std::error::Error;

/// Facts in every form.
pub(super) struct Facts {
    /// What Prolog calls the relation that has most of them, such as `edge/2`.
    pub(super) relation: &'static str,
    /// How many facts that relation has.
    pub(super) count: usize,
    pub(super) note: String,
    stated: Stated,
}

enum Stated {
    Edges(Vec<Edge>),
    /// The head and the arguments of each, with spaces between them.
    Lines(Vec<String>),
}

/// Facts, or why there are none.
pub(super) type Made = Result<Facts, Box<dyn Error>>;

impl Facts {
    pub(super) fn of_graph(shape: Shape) -> Self {
        let edges = shape.edges();
        let (count, note) = (edges.len(), shape.note(edges.len()));
        Self { relation: "edge/2", count, note, stated: Stated::Edges(edges) }
    }

    pub(super) fn of_lines(relation: &'static str, count: usize, note: String, lines: Vec<String>) -> Self {
        Self { relation, count, note, stated: Stated::Lines(lines) }
    }

    pub(super) fn text(&self, form: Form) -> String {
        match &self.stated {
            Stated::Edges(edges) => form.text(edges),
            Stated::Lines(lines) => lines.iter().map(|line| stated(form, line)).collect(),
        }
    }
}

/// A fact on a line of its own. A table has a row of subject, predicate and object.
fn stated(form: Form, line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match (form, words.as_slice()) {
        (Form::Csv, [head, subject, objects @ ..]) => format!("{subject},{head},{}\n", objects.join(",")),
        (Form::Prolog, [head, arguments @ ..]) => format!("{head}({}).\n", arguments.join(", ")),
        _ => format!("({line})\n"),
    }
}

/// The hash of the hypernyms of WordNet 3.0, by [`hash`].
const HYPERNYMS_HASH: u64 = 0x9e1d_8da5_6e2d_4146;

/// What each noun of WordNet is a kind of or an instance of, the nouns themselves, and pairs of them.
pub(super) fn hypernyms(plan: &Plan) -> Made {
    let file = peers::wordnet(plan.may_install)?;
    let text = std::fs::read_to_string(&file)?;
    let between = |line: &str, head: &str| Some(line.strip_prefix(head)?.strip_suffix(')')?.to_owned());
    let of_line = |line: &str| between(line, "(hypernym n").or_else(|| between(line, "(instance-hypernym n"));
    let mut links: Vec<String> = text.lines().filter_map(of_line).map(|link| format!("hypernym n{link}")).collect();
    if hash(&links) != HYPERNYMS_HASH {
        let file = file.display();
        return Err(format!("{file} is not what `cargo xtask wordnet` makes of WordNet 3.0: make it anew").into());
    }
    if plan.is_quick {
        links.truncate(4_000);
    }
    let mut seen = HashSet::new();
    let noun = |link: &String| Some(link.split(' ').nth(1)?.to_owned());
    let nouns: Vec<String> = links.iter().filter_map(noun).filter(|noun| seen.insert(noun.clone())).collect();
    let mut random = Random::new(30);
    let mut drawn = || nouns[random.below(nouns.len())].as_str();
    let pairs: Vec<String> = (0..PAIRS).map(|_| format!("pair {} {}", drawn(), drawn())).collect();
    let (count, note) = (links.len(), format!("{} nouns of WordNet 3.0 with {} hypernyms", nouns.len(), links.len()));
    let lines = links.into_iter().chain(nouns.iter().map(|noun| format!("noun {noun}"))).chain(pairs).collect();
    Ok(Facts::of_lines("hypernym/2", count, note, lines))
}

/// How many pairs of nouns are asked about.
const PAIRS: usize = 1_000;

/// The hash of lines, by Fowler, Noll and Vo (FNV-1a).
fn hash(lines: &[String]) -> u64 {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([b'\n']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Statements that a concept inherits another one, with strength and confidence, and the strength of each concept.
pub(super) fn statements(plan: &Plan) -> Made {
    let (concepts, count) = if plan.is_quick { (200, 1_000) } else { (2_000, 10_000) };
    let links = Shape::Random { nodes: concepts, edges: count }.edges();
    let mut random = Random::new(31);
    // Neither 0 nor 1, so that nothing is divided by zero.
    let mut degree = || format!("0.{:02}", 5 + random.below(90));
    let concept_lines: Vec<String> = (0..concepts).map(|concept| format!("strength c{concept} {}", degree())).collect();
    let statement = |(from, to): Edge| format!("inherits c{from} c{to} {} {}", degree(), degree());
    let lines = concept_lines.into_iter().chain(links.into_iter().map(statement)).collect();
    let note = format!("{count} statements among {concepts} concepts");
    Ok(Facts::of_lines("inherits/4", count, note, lines))
}

fn point_count(plan: &Plan) -> u32 {
    if plan.is_quick { 20_000 } else { 1_000_000 }
}

/// Values by number.
pub(super) fn values(plan: &Plan) -> Made {
    let count = point_count(plan);
    let lines = (1..=count).map(|key| format!("value {key} {}", key % 1_000));
    let lines = lines.chain([format!("facts {count}")]).collect();
    Ok(Facts::of_lines(
        "value/2",
        count as usize,
        format!("{count} facts, asked for in the order of their keys"),
        lines,
    ))
}

/// Numbers that name each other in one circle without an order (Sattolo).
pub(super) fn circle(plan: &Plan) -> Made {
    let count = point_count(plan);
    let mut next: Vec<u32> = (0..count).collect();
    let mut random = Random::new(32);
    (1..next.len()).rev().for_each(|last| next.swap(last, random.below(last)));
    let lines = next.iter().enumerate().map(|(at, to)| format!("next {at} {to}"));
    let lines = lines.chain([format!("steps {}", count - 1)]).collect();
    Ok(Facts::of_lines("next/2", count as usize, format!("{count} facts, asked for in no order"), lines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_fact_is_a_line_in_each_form() {
        assert_eq!(stated(Form::Metta, "type a b"), "(type a b)\n");
        assert_eq!(stated(Form::Csv, "type a b"), "a,type,b\n");
        assert_eq!(stated(Form::Prolog, "type a b"), "type(a, b).\n");
    }

    #[test]
    fn a_circle_goes_through_all_numbers() {
        let plan = Plan { is_quick: true, divisor: 8, only: None, may_install: false, scratch: PathBuf::new() };
        let text = circle(&plan).unwrap().text(Form::Metta);
        let next: Vec<usize> = text
            .lines()
            .filter_map(|line| line.strip_prefix("(next ")?.strip_suffix(')')?.split(' ').nth(1)?.parse().ok())
            .collect();
        let (mut at, mut steps) = (next[0], 1);
        while at != 0 {
            (at, steps) = (next[at], steps + 1);
        }
        assert_eq!(steps, next.len());
    }
}
