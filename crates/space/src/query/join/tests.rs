//! Joins and reordered loops find what loops in the order as written find, in the same order.

mod estimate;

use super::super::executor::Executor;
use super::super::filter::{Filter, FilterInputs, FilterPart, FilterValue, Filters, Given};
use super::super::loops::Loops;
use super::super::made::Made;
use super::super::pattern::{PatternPart, Patterns};
use super::super::question::Asked;
use super::super::search::Search;
use super::super::subquery::Subquery;
use super::super::unfinished::Unfinished;
use super::super::usage::Usages;
use super::super::view::View;
use super::pattern::JoinPattern;
use super::prepared::{Join, Room};
use super::reorder::Reordered;
use crate::atom::Atom;
use crate::contents::Contents;
use crate::number::Number;
use crate::term::{Term, Terms};
use std::cmp::Ordering;

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

fn made<'a>(loops: &'a Loops, filters: &'a Filters, usages: &'a Usages) -> Made<'a> {
    Made { loops, filters, usages }
}

/// A name, of which the first is a hub, or a number.
fn any_name(random: &mut Random, names: usize) -> Atom {
    match random.below(6) {
        0 | 1 => Atom::symbol("n0"),
        2 => Number::from(random.below(names) as i64).into(),
        _ => Atom::symbol(&format!("n{}", random.below(names))),
    }
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
        patterns.end_pattern_in(u8::from(random.below(4) == 0));
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

/// Two spaces, whose facts have copies and lie in several segments.
fn any_spaces(random: &mut Random, names: usize, terms: &mut Terms, row: &mut Vec<Term>) -> [Contents; 2] {
    let mut spaces = [Contents::default(), Contents::default()];
    for _ in 0..random.below(120) {
        let fact = any_fact(random, names);
        let space = &mut spaces[usize::from(random.below(4) == 0)];
        if random.below(6) == 0 {
            space.take_row(&fact, terms, |_, _| ());
        } else if random.below(20) == 0 {
            // Its rows are sealed, and the next begins a new segment.
            drop(space.share());
        } else {
            space.add(&fact, None, terms, row);
        }
    }
    spaces
}

/// What loops over the patterns as written find.
fn find_within(view: View<'_>, given: Given<'_>, made: Made<'_>) -> (usize, Vec<Term>) {
    let mut executor = Executor::default();
    let count = executor.begin(view, (Asked::All, given), &|| false).find_within(made).expect("there is no budget");
    let width = made.loops.variables();
    let found = executor.answers().cells[..count * width].to_vec();
    (count, found)
}

/// Room for any number of answers.
fn everything<'a>(answers: &'a mut Vec<Term>, after_each: &'a mut Vec<usize>) -> Room<'a> {
    Room { answers, after_each, most: usize::MAX }
}

/// Compares what a search finds in parts of some size with all answers: it goes on where it was, though a limit of rows interrupts it.
fn compare_parts(
    random: &mut Random,
    (view, given, made): (View<'_>, Given<'_>, Made<'_>),
    expected: &(usize, Vec<Term>),
    what: &dyn Fn() -> String,
) {
    for size in [1, 2, 7] {
        let (mut search, mut executor) = (Search::beginning_with(size), Executor::default());
        let mut execution = executor.begin(view, (Asked::All, given), &|| false);
        let (mut count, mut found) = (0, Vec::new());
        while !search.is_over() {
            search.part = 1 + random.below(size);
            execution.rows_left = (random.below(3) == 0).then(|| random.below(8));
            let made = execution.advance_search(&mut search, made).unwrap_or(0);
            found.extend_from_slice(&execution.answers.cells[..made * execution.answers.width]);
            count += made;
        }
        compare(Ok(count), &found, expected, &|| format!("{}, in parts of {size}", what()));
    }
}

/// Compares answers with those of loops; says where the first difference is.
fn compare(ended: Result<usize, Unfinished>, found: &[Term], expected: &(usize, Vec<Term>), what: &dyn Fn() -> String) {
    assert_eq!(ended, Ok(expected.0), "{}", what());
    let first = found.iter().zip(&expected.1).position(|(found, expected)| found != expected);
    assert_eq!(first, None, "{}", what());
    assert_eq!(found.len(), expected.1.len(), "{}", what());
}

/// Compares what loops in another order find and count with all answers.
fn compare_order(
    reordered: &Reordered,
    (view, given): (View<'_>, Given<'_>),
    expected: &(usize, Vec<Term>),
    what: &dyn Fn() -> String,
) {
    let find = |most| {
        let (mut found, mut after_each) = (Vec::new(), Vec::new());
        let room = Room { most, ..everything(&mut found, &mut after_each) };
        (reordered.execute(view, given, room, &|| false), found)
    };
    let (ended, found) = find(usize::MAX);
    compare(ended, &found, expected, what);
    if let Some(few) = expected.0.checked_sub(1) {
        assert_eq!(find(few).0, Err(Unfinished::TooMany), "{}", what());
    }
    let mut counting = Executor::default();
    let counted = counting.begin(view, (Asked::Number, given), &|| false).count_as_written(reordered.made());
    assert_eq!(counted, Ok(expected.0), "{}, counted", what());
}

#[test]
fn joins_and_other_orders_find_what_loops_find_in_their_order() {
    let (mut joined, mut with_answers, mut several_rows) = (0, 0, 0);
    for seed in 0..600 {
        let mut random = Random(seed);
        let (mut terms, mut row) = (Terms::default(), Vec::new());
        let names = 3 + random.below(12);
        let spaces = any_spaces(&mut random, names, &mut terms, &mut row);
        let few = [&spaces[0]];
        let both = [&spaces[0], &spaces[1]];
        for _ in 0..6 {
            let others = [vec![&spaces[random.below(2)]]];
            let view = View { spaces: if random.below(2) == 0 { &few } else { &both }, others: &others, terms: &terms };
            let (patterns, parameters) = any_query(&mut random, &terms);
            if occurring(&patterns).len() != patterns.variables {
                continue;
            }
            let order = random.shuffled(patterns.ends.len());
            let reordered = Reordered::new(&patterns, &[], &order);
            let mut loops = Loops::default();
            loops.patterns = patterns;
            assert!(loops.make());
            let plain = (Filters::default(), Usages::default());
            let expected = find_within(view, parameters[..].into(), made(&loops, &plain.0, &plain.1));
            let count = expected.0;
            let parts = &loops.patterns.parts;
            with_answers += usize::from(count > 0);
            several_rows += usize::from(count > 20);

            let (none, usages) = (Filters::default(), Usages::default());
            let given = (view, parameters[..].into(), made(&loops, &none, &usages));
            let what = || format!("seed {seed}: {parts:?} and in the order {order:?}");
            compare_parts(&mut random, given, &expected, &what);
            compare_order(&reordered, (view, parameters[..].into()), &expected, &what);

            let Some(join_patterns) = JoinPattern::all(&loops.patterns) else { continue };
            let variables = loops.patterns.variables;
            let given = variables..variables + parameters.len();
            let order: Vec<u32> = given.chain(random.shuffled(variables)).map(|variable| variable as u32).collect();
            let join = Join::new((&loops.patterns, &[]), join_patterns, order.clone(), 0.0);
            // The second time its tries are there.
            for threads in [1, 1, 2, 8] {
                let mut found = Vec::new();
                let after_each = &mut Vec::new();
                let room = everything(&mut found, after_each);
                let ended = join.execute_on(threads, view, parameters[..].into(), room, &|| false);
                compare(ended, &found, &expected, &|| format!("seed {seed}: {parts:?} by {order:?} on {threads}"));
                let counted = join.count_on(threads, view, parameters[..].into(), &mut Vec::new(), &|| false);
                assert_eq!(counted, Ok(expected.0), "seed {seed}: {parts:?} by {order:?} on {threads}, counted");
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
    let join = Join::new((&patterns, &[]), JoinPattern::all(&patterns).expect("they are joined"), vec![0, 1, 2], 0.0);
    let (view, mut found) = (View { spaces: &[&contents], others: &[], terms: &terms }, Vec::new());
    assert_eq!(
        join.execute(view, Given::nothing(), everything(&mut found, &mut Vec::new()), &|| true),
        Err(Unfinished::Stopped)
    );
    assert!(found.is_empty());
    let stopped = join.execute_on(8, view, Given::nothing(), everything(&mut found, &mut Vec::new()), &|| true);
    assert_eq!((stopped, found.len()), (Err(Unfinished::Stopped), 0));
    assert_eq!(join.execute(view, Given::nothing(), everything(&mut found, &mut Vec::new()), &|| false), Ok(1_000_000));
}

/// A test as a tree, and what drops an answer.
enum Tree {
    Variable(u32),
    Two,
    Sum(Box<[Tree; 2]>),
    Less(Box<[Tree; 2]>),
    Same(Box<[Tree; 2]>),
    Not(Box<Tree>),
    Both(Box<[Tree; 2]>),
}

fn any_truth(random: &mut Random, variables: usize) -> Tree {
    let value = |random: &mut Random| match random.below(6) {
        0 => Tree::Two,
        1 => Tree::Sum(Box::new([Tree::Variable(random.below(variables) as u32), Tree::Two])),
        _ => Tree::Variable(random.below(variables) as u32),
    };
    match random.below(6) {
        0 => Tree::Not(Box::new(any_truth(random, variables))),
        1 => Tree::Both(Box::new([any_truth(random, variables), any_truth(random, variables)])),
        2 | 3 => Tree::Less(Box::new([value(random), value(random)])),
        _ => Tree::Same(Box::new([value(random), value(random)])),
    }
}

impl Tree {
    fn put(&self, parts: &mut Vec<FilterPart>) {
        let mut two = |both: &[Tree; 2], part| {
            both.iter().for_each(|tree| tree.put(parts));
            parts.push(part);
        };
        match self {
            Self::Variable(variable) => parts.push(FilterPart::Variable(*variable)),
            Self::Two => parts.push(FilterPart::Given(0)),
            Self::Sum(both) => two(both, FilterPart::Arithmetic(Number::add)),
            Self::Less(both) => two(both, FilterPart::Compare(Ordering::is_lt)),
            Self::Same(both) => two(both, FilterPart::Equal),
            Self::Both(both) => two(both, FilterPart::Logic(|left, right| left && right)),
            Self::Not(only) => {
                only.put(parts);
                parts.push(FilterPart::Not);
            }
        }
    }

    fn number(&self, answer: &[Atom]) -> Option<i64> {
        match self {
            Self::Variable(variable) => answer[*variable as usize].to_string().parse().ok(),
            Self::Two => Some(2),
            Self::Sum(both) => Some(both[0].number(answer)? + both[1].number(answer)?),
            _ => None,
        }
    }

    fn symbol<'a>(&self, answer: &'a [Atom]) -> Option<&'a Atom> {
        let Self::Variable(variable) = self else { return None };
        Some(&answer[*variable as usize]).filter(|atom| matches!(atom, Atom::Symbol(_)))
    }

    /// What it certainly comes to.
    fn truth(&self, answer: &[Atom], symbols_differ: bool) -> Option<bool> {
        match self {
            Self::Less(both) => Some(both[0].number(answer)? < both[1].number(answer)?),
            Self::Same(both) => match (both[0].symbol(answer), both[1].symbol(answer)) {
                (Some(left), Some(right)) => (left == right || symbols_differ).then_some(left == right),
                _ => Some(both[0].number(answer)? == both[1].number(answer)?),
            },
            Self::Not(only) => Some(!only.truth(answer, symbols_differ)?),
            Self::Both(both) => {
                let [left, right] = both.each_ref().map(|tree| tree.truth(answer, symbols_differ));
                Some(left? & right?)
            }
            _ => None,
        }
    }
}

/// A filter, with what says for itself whether it drops an answer, if that is certain.
type Oracle<'a> = Box<dyn Fn(&[Atom], &[Term]) -> Option<bool> + 'a>;

/// A test of values, or of the answers of other patterns.
fn any_filter<'a>(
    random: &mut Random,
    (view, parameters, symbols_differ): (View<'a>, &'a [Term], bool),
    outer: &'a Patterns,
) -> Option<(Filter, Oracle<'a>)> {
    let drops = random.below(2) == 0;
    if random.below(3) > 0 {
        let (tree, mut parts) = (any_truth(random, outer.variables), Vec::new());
        tree.put(&mut parts);
        let filter = Filter::of_parts(parts, drops)?;
        return Some((filter, Box::new(move |answer, _| Some(tree.truth(answer, symbols_differ)? == drops))));
    }
    let (inner, more) = any_query(random, view.terms);
    let has_parameter = |part: &PatternPart| matches!(part, PatternPart::Parameter(_));
    let filter = Filter::of_subquery(Subquery::new(&inner, outer.variables as u32)?, drops);
    if !more.is_empty() || inner.parts.iter().any(has_parameter) || filter.variables().is_empty() {
        return None;
    }
    // The conjunction of both has the answer, or has not.
    let has_answer = move |_: &[Atom], answer: &[Term]| {
        let mut loops = Loops::default();
        let mut start = 0;
        for (number, &end) in inner.ends.iter().enumerate() {
            for &part in &inner.parts[start..end] {
                loops.patterns.push(match part {
                    PatternPart::Variable(variable) if (variable as usize) < answer.len() => {
                        PatternPart::Key(view.terms.key(answer[variable as usize]))
                    }
                    part => part,
                });
            }
            loops.patterns.end_pattern_in(inner.place(number));
            start = end;
        }
        assert!(loops.make());
        let plain = (Filters::default(), Usages::default());
        let (found, _) = find_within(view, parameters.into(), made(&loops, &plain.0, &plain.1));
        Some((found > 0) == drops)
    };
    Some((filter, Box::new(has_answer)))
}

#[test]
fn filters_drop_what_is_certainly_dropped_wherever_they_are_made() {
    let (mut dropped, mut undecided, mut subqueries) = (0, 0, 0);
    for seed in 0..400 {
        let mut random = Random(seed);
        let (mut terms, mut row) = (Terms::default(), Vec::new());
        let names = 3 + random.below(12);
        let spaces = any_spaces(&mut random, names, &mut terms, &mut row);
        for _ in 0..6 {
            let (own, others) = ([&spaces[0]], [vec![&spaces[1]]]);
            let view = View { spaces: &own, others: &others, terms: &terms };
            let (patterns, parameters) = any_query(&mut random, &terms);
            if occurring(&patterns).len() != patterns.variables || patterns.variables == 0 {
                continue;
            }
            let differ = random.below(2) == 0;
            let made = (0..1 + random.below(3))
                .filter_map(|_| any_filter(&mut random, (view, &parameters, differ), &patterns));
            let (filters, oracles): (Vec<Filter>, Vec<Oracle<'_>>) = made.collect();
            subqueries += filters.iter().filter(|filter| filter.subquery().is_some()).count();
            let counts = check_filters(&mut random, (view, &parameters, differ), &patterns, (filters, &oracles));
            (dropped, undecided) = (dropped + counts[0], undecided + counts[1]);
        }
    }
    assert!(dropped > 1_000 && undecided > 100 && subqueries > 100, "{dropped} {undecided} {subqueries}");
}

/// Finds answers in some way.
type Find<'a> = &'a dyn Fn(Given<'_>) -> (Result<usize, Unfinished>, Vec<Term>);

/// Compares what each way finds with filters with what the oracles leave; how many answers are dropped, and how many are undecided.
fn check_filters(
    random: &mut Random,
    (view, parameters, symbols_differ): (View<'_>, &[Term], bool),
    patterns: &Patterns,
    (filters, oracles): (Vec<Filter>, &[Oracle<'_>]),
) -> [usize; 2] {
    let mut loops = Loops::default();
    loops.patterns = patterns.clone();
    assert!(loops.make());
    let plain = (Filters::default(), Usages::default());
    let (all, found) = find_within(view, parameters.into(), made(&loops, &plain.0, &plain.1));
    let (mut expected, mut undecided) = (Vec::new(), 0);
    for answer in found.chunks_exact(patterns.variables) {
        let atoms: Vec<Atom> = answer.iter().map(|&term| view.terms.atom(term).clone()).collect();
        let decided = oracles.iter().map(|oracle| oracle(&atoms, answer)).find(|decided| *decided != Some(false));
        undecided += usize::from(decided == Some(None));
        if decided != Some(Some(true)) {
            expected.extend_from_slice(answer);
        }
    }
    let expected = (expected.len() / patterns.variables, expected);
    let values = [FilterValue::Number(Number::from(2_i64))];
    let inputs = || FilterInputs::new(&values, &[], symbols_differ);
    let of_loops = Filters::of_loops(&filters, &loops);
    let parts = loops.patterns.parts.clone();
    let check = |name: &str, find: Find<'_>| {
        let inputs = inputs();
        let (ended, found) = find(Given { parameters, filters: &inputs });
        compare(ended, &found, &expected, &|| format!("{parts:?}, {name}, {:?}", filters));
        // A filter may be undecided about what no other pattern has a row for.
        assert!(inputs.was_undecided() || undecided == 0, "{parts:?}, {name}");
    };
    let usages = Usages::default();
    let tests = inputs();
    let given = Given { parameters, filters: &tests };
    compare_parts(random, (view, given, made(&loops, &of_loops, &usages)), &expected, &|| format!("{parts:?}"));
    check("as written", &|given| {
        let (count, found) = find_within(view, given, made(&loops, &of_loops, &Usages::default()));
        (Ok(count), found)
    });
    let reordered = Reordered::new(&loops.patterns, &filters, &random.shuffled(patterns.ends.len()));
    check("reordered", &|given| {
        let mut found = Vec::new();
        (reordered.execute(view, given, everything(&mut found, &mut Vec::new()), &|| false), found)
    });
    let variables = patterns.variables;
    let parameters_of_join = variables..variables + parameters.len();
    let order = parameters_of_join.chain(random.shuffled(variables)).map(|variable| variable as u32).collect();
    let Some(join_patterns) = JoinPattern::all(&loops.patterns) else { return [all - expected.0, undecided] };
    let join = Join::new((&loops.patterns, &filters), join_patterns, order, 0.0);
    for threads in [1, 2, 8] {
        check("joined", &|given| {
            let mut found = Vec::new();
            (join.execute_on(threads, view, given, everything(&mut found, &mut Vec::new()), &|| false), found)
        });
    }
    let inputs = inputs();
    let counted = join.count(view, Given { parameters, filters: &inputs }, &mut Vec::new(), &|| false);
    assert_eq!(counted, Ok(expected.0), "{parts:?}, counted");
    [all - expected.0, undecided]
}
