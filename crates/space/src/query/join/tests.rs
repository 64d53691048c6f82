//! Joins and reordered loops find what loops in the order as written find, in the same order.

use super::super::execute::Answers;
use super::super::loops::Loops;
use super::super::pattern::{PatternPart, Patterns};
use super::super::view::View;
use super::pattern::JoinPattern;
use super::prepared::{Ended, Join};
use super::reorder::Reordered;
use crate::atom::Atom;
use crate::contents::Contents;
use crate::term::{Term, Terms};

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn shuffled(&mut self, length: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..length).collect();
        (1..length).rev().for_each(|last| order.swap(last, self.below(last + 1)));
        order
    }
}

/// A name; the first of them is a hub.
fn any_name(random: &mut Random, names: usize) -> Atom {
    Atom::symbol(&match random.below(3) {
        0 => "n0".to_owned(),
        _ => format!("n{}", random.below(names)),
    })
}

fn any_fact(random: &mut Random, names: usize) -> Atom {
    let name = any_name;
    let head = Atom::symbol(["edge", "edge", "edge", "likes"][random.below(4)]);
    match random.below(8) {
        0 => Atom::expression(vec![Atom::symbol("color"), name(random, names), Atom::symbol("red"), name(random, 4)]),
        1 => {
            let pair = Atom::expression(vec![Atom::symbol("pair"), name(random, names), name(random, 3)]);
            Atom::expression(vec![head, pair, name(random, names)])
        }
        _ => Atom::expression(vec![head, name(random, names), name(random, names)]),
    }
}

/// A conjunction of patterns with some variables and parameters, and the values of the parameters.
fn any_query(random: &mut Random, terms: &Terms) -> (Patterns, Vec<Term>) {
    let (count, variables, given) = (1 + random.below(5), 1 + random.below(4), random.below(3));
    let key = |name: &str| PatternPart::Key(terms.find_symbol(name).unwrap_or(super::super::pattern::NO_TERM));
    let mut patterns = Patterns::default();
    let mut parameters = Vec::new();
    for _ in 0..count {
        let leaf = |random: &mut Random, parameters: &mut Vec<Term>| match random.below(10) {
            0 => key(&format!("n{}", random.below(5))),
            1 if given > 0 => {
                let name = format!("n{}", random.below(4));
                parameters.push(terms.find_symbol(&name).unwrap_or(super::super::pattern::NO_TERM));
                PatternPart::Parameter(parameters.len() as u32 - 1)
            }
            _ => PatternPart::Variable(random.below(variables) as u32),
        };
        let mut parts = match random.below(6) {
            0 => vec![PatternPart::Open(4), key("color")],
            _ => vec![PatternPart::Open(3), key(["edge", "edge", "likes"][random.below(3)])],
        };
        let columns = if parts[0] == PatternPart::Open(4) { 3 } else { 2 };
        for column in 0..columns {
            if columns == 2 && column == 0 && random.below(8) == 0 {
                parts.extend([PatternPart::Open(3), key("pair")]);
                parts.extend([leaf(random, &mut parameters), leaf(random, &mut parameters)]);
            } else {
                parts.push(leaf(random, &mut parameters));
            }
        }
        parts.into_iter().for_each(|part| patterns.push(part));
        patterns.end_pattern();
    }
    // Variables that occur nowhere are none of the query's.
    (patterns, parameters)
}

/// The numbers that variables of a query have, as they first occur.
fn occurring(patterns: &Patterns) -> Vec<u32> {
    let variables = patterns.parts.iter().filter_map(|part| match part {
        PatternPart::Variable(variable) => Some(*variable),
        _ => None,
    });
    let mut occurring: Vec<u32> = variables.collect();
    occurring.sort_unstable();
    occurring.dedup();
    occurring
}

/// Compares answers with those of loops; says where the first difference is.
fn compare(ended: Option<Ended>, found: &[Term], expected: &(usize, Vec<Term>), what: &dyn Fn() -> String) {
    assert_eq!(ended, Some(Ended::Answers(expected.0)), "{}", what());
    let first = found.iter().zip(&expected.1).position(|(found, expected)| found != expected);
    assert_eq!(first, None, "{}", what());
    assert_eq!(found.len(), expected.1.len(), "{}", what());
}

#[test]
fn joins_and_other_orders_find_what_loops_find_in_their_order() {
    let (mut joined, mut with_answers, mut several_rows) = (0, 0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let (mut terms, mut row) = (Terms::default(), Vec::new());
        let names = 3 + random.below(12);
        let mut spaces = [Contents::default(), Contents::default()];
        for _ in 0..random.below(120) {
            let fact = any_fact(&mut random, names);
            let space = &mut spaces[usize::from(random.below(4) == 0)];
            if random.below(6) == 0 {
                space.take_row(&fact, &terms, |_, _| ());
            } else if random.below(20) == 0 {
                // Its rows are sealed, and the next begins a new segment.
                drop(space.share());
            } else {
                space.add(&fact, None, &mut terms, &mut row);
            }
        }
        let few = [&spaces[0]];
        let both = [&spaces[0], &spaces[1]];
        for _ in 0..6 {
            let view = View { spaces: if random.below(2) == 0 { &few } else { &both }, terms: &terms };
            let (patterns, parameters) = any_query(&mut random, &terms);
            if occurring(&patterns).len() != patterns.variables {
                continue;
            }
            let order = random.shuffled(patterns.ends.len());
            let reordered = Reordered::new(&patterns, &order);
            let mut loops = Loops::default();
            loops.patterns = patterns;
            assert!(loops.make());
            let mut expected = Answers::default();
            let count =
                view.find_within(None, &loops, &parameters, &mut expected, &|| false).expect("there is no budget");
            let mut terms_expected = std::mem::take(expected.terms());
            if loops.patterns.variables == 0 {
                terms_expected.clear();
            }
            let expected = (count, terms_expected);
            let parts = &loops.patterns.parts;
            with_answers += usize::from(count > 0);
            several_rows += usize::from(count > 20);

            let mut found = Vec::new();
            let ended = reordered.execute(view, &parameters, (&mut found, &mut Vec::new()), &|| false);
            compare(ended, &found, &expected, &|| format!("seed {seed}: {parts:?} in the order {order:?}"));

            let Some(join_patterns) = JoinPattern::all(&loops.patterns) else { continue };
            let variables = loops.patterns.variables;
            let given = variables..variables + parameters.len();
            let order: Vec<u32> = given.chain(random.shuffled(variables)).map(|variable| variable as u32).collect();
            let join = Join::new(&loops.patterns, join_patterns, order.clone(), 0.0);
            // The second time its tries are there.
            for threads in [1, 1, 2, 8] {
                let mut found = Vec::new();
                let room = (&mut found, &mut Vec::new());
                let ended = join.execute_on(threads, view, &parameters, room, &|| false);
                compare(ended, &found, &expected, &|| format!("seed {seed}: {parts:?} by {order:?} on {threads}"));
            }
            joined += 1;
        }
    }
    assert!(joined > 1_000 && with_answers > 300 && several_rows > 100, "{joined} {with_answers} {several_rows}");
}

#[test]
fn a_join_that_is_given_up_has_no_answers() {
    let (mut terms, mut row, mut contents) = (Terms::default(), Vec::new(), Contents::default());
    for (from, to) in (0..100).flat_map(|from| (0..100).map(move |to| (from, to))) {
        let name = |number: u32| Atom::symbol(&format!("n{number}"));
        contents.add(&Atom::expression(vec![Atom::symbol("edge"), name(from), name(to)]), None, &mut terms, &mut row);
    }
    let edge = PatternPart::Key(terms.find_symbol("edge").expect("it is there"));
    let mut patterns = Patterns::default();
    for variables in [[0, 1], [1, 2], [0, 2]] {
        [PatternPart::Open(3), edge].into_iter().for_each(|part| patterns.push(part));
        variables.into_iter().for_each(|variable| patterns.push(PatternPart::Variable(variable)));
        patterns.end_pattern();
    }
    let join = Join::new(&patterns, JoinPattern::all(&patterns).expect("they are joined"), vec![0, 1, 2], 0.0);
    let (view, mut found) = (View { spaces: &[&contents], terms: &terms }, Vec::new());
    assert_eq!(join.execute(view, &[], (&mut found, &mut Vec::new()), &|| true), Some(Ended::Stopped));
    assert!(found.is_empty());
    let stopped = join.execute_on(8, view, &[], (&mut found, &mut Vec::new()), &|| true);
    assert_eq!((stopped, found.len()), (Some(Ended::Stopped), 0));
    assert_eq!(join.execute(view, &[], (&mut found, &mut Vec::new()), &|| false), Some(Ended::Answers(1_000_000)));
}
