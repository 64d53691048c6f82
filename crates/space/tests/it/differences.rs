//! Answers that are kept up to date: after any history of changes they are what a query finds, and what a commit changed in them
//! costs what it met.

use crate::atoms::atom;
use crate::generated::config;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use space::{
    AnswersAt, Atom, ChangeDetail, ChangeLog, DeltaQuery, Filter, FilterPart, Head, SharedSpace, SharedTerms,
    SignedAnswers, SignedRows, Terms, Variable, VariableSource, conjunction, substitute, variables,
};
use std::cmp::Ordering;

/// Two spaces, of which the first imports the second, and what is noted of their changes.
struct World {
    spaces: [SharedSpace; 2],
    terms: SharedTerms,
    log: ChangeLog,
    source: VariableSource,
}

/// A query and its answers, with their copies.
struct Live {
    patterns: Atom,
    absences: Vec<(Atom, bool)>,
    below: Option<(Variable, i64)>,
    query: DeltaQuery,
    held: Vec<(Vec<Atom>, i64)>,
}

impl World {
    fn new() -> Self {
        let (log, terms) = (ChangeLog::default(), Terms::shared());
        log.keep(ChangeDetail::Changes);
        let space = |serial, name| SharedSpace::watched(serial, name, SharedTerms::clone(&terms), log.clone());
        let spaces = [space(1, "&self"), space(2, "&other")];
        spaces[0].import(&spaces[1]);
        Self { spaces, terms, log, source: VariableSource::default() }
    }

    fn rows(&self) -> SignedRows {
        SignedRows::of(&self.log.take())
    }

    fn read(&self, answers: &SignedAnswers) -> Vec<(Vec<Atom>, i64)> {
        let terms = self.terms.read().expect("nobody panics");
        let atoms = |answer: &[space::Term]| answer.iter().map(|&term| terms.atom(term).clone()).collect();
        answers.each().map(|(answer, count)| (atoms(answer), count)).collect()
    }

    /// What the query of a live query finds by itself, copies added up.
    fn found(&mut self, live: &Live) -> Vec<(Vec<Atom>, i64)> {
        let mut found: Vec<(Vec<Atom>, i64)> = Vec::new();
        let names = variables(&live.patterns);
        for solution in self.spaces[0].query(&live.patterns, &mut self.source) {
            let value =
                |name: &Variable| solution.iter().find(|(bound, _)| bound == name).map(|(_, value)| value.clone());
            let answer: Vec<Atom> = names.iter().map(|name| value(name).expect("rows bind each variable")).collect();
            let is_below = live.below.as_ref().is_none_or(|(name, most)| {
                let number = |atom: &Atom| atom.to_string().parse::<f64>().ok();
                value(name).and_then(|value| number(&value)).is_some_and(|value| value < *most as f64)
            });
            let holds = live.absences.iter().all(|(patterns, is_absence)| {
                let bind = |bound: Atom, name: &Variable| {
                    value(name).map_or(bound.clone(), |value| substitute(&bound, name, &value))
                };
                let bound = names.iter().fold(patterns.clone(), bind);
                self.spaces[0].query(&bound, &mut self.source).is_empty() == *is_absence
            });
            if is_below && holds {
                add(&mut found, answer, 1);
            }
        }
        found
    }
}

fn add(held: &mut Vec<(Vec<Atom>, i64)>, answer: Vec<Atom>, count: i64) {
    let same = |known: &[Atom]| known.iter().map(Atom::to_string).eq(answer.iter().map(Atom::to_string));
    match held.iter_mut().find(|(known, _)| same(known)) {
        Some((_, copies)) => *copies += count,
        None => held.push((answer, count)),
    }
    held.retain(|(_, copies)| *copies != 0);
}

/// As text, in an order of its own.
fn sorted(held: &[(Vec<Atom>, i64)]) -> Vec<String> {
    let mut lines: Vec<String> = held.iter().map(|(answer, copies)| format!("{copies} {answer:?}")).collect();
    lines.sort();
    lines
}

impl Live {
    fn new(patterns: &str, absences: &[(&str, bool)], below: Option<(&str, i64)>) -> Self {
        let patterns = atom(patterns);
        let parts = |atom: &Atom| conjunction(atom).unwrap_or(std::slice::from_ref(atom)).to_vec();
        let mut query = DeltaQuery::new(&parts(&patterns)).expect("rows answer it");
        let absences: Vec<(Atom, bool)> = absences.iter().map(|(text, is_absence)| (atom(text), *is_absence)).collect();
        for (patterns, is_absence) in &absences {
            assert!(query.filter_by(&parts(patterns), *is_absence));
        }
        let below = below.map(|(name, most)| (Variable::new(name), most));
        if let Some((name, most)) = &below {
            let number = query.variables().iter().position(|known| known == name).expect("it is a variable");
            let parts =
                vec![FilterPart::Variable(number as u32), FilterPart::Given(0), FilterPart::Compare(Ordering::is_lt)];
            query.test_by(vec![Filter::of_parts(parts, false).expect("it is a test")], vec![Atom::from(*most)]);
        }
        Self { patterns, absences, below, query, held: Vec::new() }
    }
}

fn live_queries() -> Vec<Live> {
    vec![
        Live::new("(e $x $y)", &[], None),
        Live::new("(e a $y)", &[], None),
        Live::new("(, (e $x $y) (e $y $z))", &[], None),
        Live::new("(, (e $x $y) (e $y $z) (e $z $x))", &[], None),
        Live::new("(, (e $x $y) (f $y $z) (e $x $x))", &[], None),
        Live::new("(, (e $x $y) (f $z))", &[], Some(("z", 2))),
        Live::new("(, (e $x $y) (f $y $z) (e $z $w) (f $w $x))", &[], None),
        Live::new("(, (e $x $y) (n $y $v))", &[], Some(("v", 3))),
        Live::new("(e $x $y)", &[("(f $y $u)", true)], None),
        Live::new("(, (e $x $y) (e $y $z))", &[("(e $x $z)", true)], None),
        Live::new("(e $x $y)", &[("(, (f $y $u) (e $u $w))", false), ("(g $x)", true)], None),
        Live::new("(e $x $y)", &[("(f a b)", true)], None),
        Live::new("(p (q $x) $y)", &[("(e $x $y)", true)], None),
        Live::new("(, (n $x $v) (n $y $v))", &[], None),
        Live::new("($r a $y)", &[], None),
    ]
}

fn fact() -> impl Strategy<Value = String> {
    let name = || prop::sample::select(vec!["a", "b", "c", "d"]);
    let value = || prop::sample::select(vec!["1", "2", "3", "1.0", "2.5"]);
    prop_oneof![
        4 => (name(), name()).prop_map(|(left, right)| format!("(e {left} {right})")),
        2 => (name(), name()).prop_map(|(left, right)| format!("(f {left} {right})")),
        1 => value().prop_map(|value| format!("(f {value})")),
        1 => name().prop_map(|name| format!("(g {name})")),
        2 => (name(), value()).prop_map(|(name, value)| format!("(n {name} {value})")),
        2 => (name(), name()).prop_map(|(left, right)| format!("(p (q {left}) {right})")),
    ]
}

/// A commit: facts that are added to one of the spaces, or removed if they are there.
fn commit() -> impl Strategy<Value = Vec<(String, bool, usize)>> {
    vec((fact(), prop::bool::weighted(0.65), prop::bool::weighted(0.2).prop_map(usize::from)), 1..12)
}

fn check(commits: &[Vec<(String, bool, usize)>], are_sealed: bool) -> TestCaseResult {
    let (mut world, mut queries) = (World::new(), live_queries());
    let mut answers = SignedAnswers::default();
    let mut snapshots = Vec::new();
    for commit in commits {
        for (text, is_added, space) in commit {
            let fact = atom(text);
            if *is_added {
                world.spaces[*space].add(&fact);
            } else {
                world.spaces[*space].remove(&fact);
            }
        }
        if are_sealed {
            snapshots.push(world.spaces[0].snapshot());
        }
        let mut rows = world.rows();
        let touched = rows.touched(&world.terms.read().expect("nobody panics"));
        for live in &mut queries {
            let before = live.query.find(AnswersAt::Before, &world.spaces, &mut rows, &mut answers);
            prop_assert!(before.is_some());
            prop_assert_eq!(sorted(&world.read(&answers)), sorted(&live.held), "before, {}", live.patterns);
            prop_assert!(live.query.find(AnswersAt::Difference, &world.spaces, &mut rows, &mut answers).is_some());
            let changed = world.read(&answers);
            let is_touched = live.query.heads().any(|head| touched.contains(&head));
            prop_assert!(changed.is_empty() || is_touched, "not touched: {}", live.patterns);
            changed.into_iter().for_each(|(answer, count)| add(&mut live.held, answer, count));
            let found = world.found(live);
            prop_assert_eq!(sorted(&live.held), sorted(&found), "after {:?}, {}", commit, live.patterns);
            prop_assert!(live.query.find(AnswersAt::Now, &world.spaces, &mut rows, &mut answers).is_some());
            // All answers come in the order of a query.
            let text = |held: &[(Vec<Atom>, i64)]| format!("{held:?}");
            prop_assert_eq!(text(&world.read(&answers)), text(&found), "now, {}", live.patterns);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn answers_that_are_kept_up_to_date_are_those_of_a_query(commits in vec(commit(), 1..10), are_sealed: bool) {
        check(&commits, are_sealed)?;
    }
}

/// Edges along a ring, each to the next and to some further on.
fn ring(world: &World, nodes: i64) {
    let edges = (0..nodes).flat_map(|from| [1, 7, 50].map(|step| (from, (from + step) % nodes)));
    edges.for_each(|(from, to)| world.spaces[0].add(&atom(&format!("(e {from} {to})"))));
}

#[test]
fn a_change_looks_at_what_it_meets() {
    let looked_at = |nodes: i64| {
        let world = World::new();
        ring(&world, nodes);
        drop(world.rows());
        world.spaces[0].add(&atom("(e 3 5)"));
        let mut rows = world.rows();
        let mut answers = SignedAnswers::default();
        let mut looked_at = |text: &str| {
            let mut live = Live::new(text, &[], None);
            live.query.find(AnswersAt::Difference, &world.spaces, &mut rows, &mut answers).expect("rows answer it")
        };
        ["(, (e $x $y) (e $y $z))", "(, (e $x $y) (e $y $z) (e $z $x))", "(, (e $x $y) (e $y $z) (e $z $w))"]
            .map(&mut looked_at)
    };
    assert_eq!(looked_at(200), looked_at(4_000));
    assert!(looked_at(4_000).iter().all(|&rows| rows < 60), "{:?}", looked_at(4_000));
}

#[test]
fn rows_that_changed_have_two_heads_each_once() {
    let world = World::new();
    for text in ["(e a b)", "(f a b)", "(e b c)", "(f a)", "((p q) a)"] {
        world.spaces[0].add(&atom(text));
    }
    let touched = world.rows().touched(&world.terms.read().expect("nobody panics"));
    let expected = ["($h $x $y)", "(e $x $y)", "(f $x $y)", "($h $x)", "(f $x)", "((p q) $x)"];
    assert_eq!(touched, expected.map(|pattern| Head::of(&atom(pattern))));
}

#[test]
fn an_atom_with_variables_that_may_match_is_told() {
    let world = World::new();
    world.spaces[0].add(&atom("(e a b)"));
    let mut answers = SignedAnswers::default();
    let mut live = Live::new("(e $x b)", &[], None);
    let mut is_found = |asked| live.query.find(asked, &world.spaces, &mut world.rows(), &mut answers).is_some();
    assert!(is_found(AnswersAt::Difference));
    world.spaces[0].add(&atom("(g $x)"));
    assert!(is_found(AnswersAt::Difference));
    world.spaces[0].add(&atom("(e c $x)"));
    assert!(!is_found(AnswersAt::Difference) && !is_found(AnswersAt::Now));
    world.spaces[0].remove(&atom("(e c $x)"));
    assert!(is_found(AnswersAt::Now));
    // What was never met matches no atom with variables that has another head.
    let mut unknown = DeltaQuery::new(&[atom("(never-met $x b)")]).expect("rows answer it");
    world.spaces[0].add(&atom("(h $x b)"));
    assert!(unknown.find(AnswersAt::Now, &world.spaces, &mut world.rows(), &mut SignedAnswers::default()).is_some());
    world.spaces[0].add(&atom("($any a b)"));
    assert!(unknown.find(AnswersAt::Now, &world.spaces, &mut world.rows(), &mut SignedAnswers::default()).is_none());
    for unfit in ["$x", "e", "(, $x (e a b))"] {
        let pattern = atom(unfit);
        assert!(DeltaQuery::new(conjunction(&pattern).unwrap_or(std::slice::from_ref(&pattern))).is_none());
    }
}
