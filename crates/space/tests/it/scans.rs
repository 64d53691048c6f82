//! Queries of many rows, whose columns are copied many at once, find what a walk over all atoms finds, in its order:
//! with rows that went, came back or came twice, in one segment and in several, in heads, forks and snapshots.

use crate::atoms::atom;
use crate::generated::config;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use space::{
    Atom, ChangeDetail, ChangeLog, DictionaryReader, Executor, Outcome, PatternPart, Plan, Question, SharedSpace,
    SharedTerms, Snapshot, Terms, VariableSource, conjunction, variables,
};

#[derive(Clone, Debug)]
enum Step {
    /// Adds this many facts from a number on; those that are there get another copy.
    Add(usize, usize),
    /// Removes this many from a number on, each at this distance from the last.
    Remove(usize, usize, usize),
    /// Removes as `Remove` does, and then goes back to where they were.
    Undo(usize, usize, usize),
    Snapshot,
    Forget,
    Fork,
    /// A rule that may answer some queries is there for a while.
    Rule,
}

fn step() -> impl Strategy<Value = Step> {
    let removed = || (0..3_000_usize, 1..40_usize, 1..12_usize);
    prop_oneof![
        6 => (0..2_000_usize, 1..1_500_usize).prop_map(|(from, count)| Step::Add(from, count)),
        3 => removed().prop_map(|(from, count, apart)| Step::Remove(from, count, apart)),
        3 => removed().prop_map(|(from, count, apart)| Step::Undo(from, count, apart)),
        3 => Just(Step::Snapshot),
        1 => Just(Step::Forget),
        1 => Just(Step::Fork),
        1 => Just(Step::Rule),
    ]
}

/// Facts of two heads, of which the first has long runs. Some say the same of both columns, some differ in the kind of
/// a number only.
fn fact(number: usize) -> Atom {
    let head = if number / 900 % 3 == 2 && number.is_multiple_of(3) { "other" } else { "edge" };
    match number % 50 {
        7 => atom(&format!("({head} a{number} a{number})")),
        11 => atom(&format!("({head} {number} {number}.0)")),
        12 => atom(&format!("({head} {}.0 b3)", number - 1)),
        _ => atom(&format!("({head} a{number} b{})", number % 7)),
    }
}

fn facts((from, count, apart): (usize, usize, usize)) -> Vec<Atom> {
    (0..count).map(|place| fact(from + place * apart)).collect()
}

const QUERIES: &[&str] = &[
    "(edge $x $y)",
    "(other $y $x)",
    "($h $x $y)",
    "($h $x b3)",
    "($h $x $x)",
    "(edge $x b3)",
    "(other $x b3)",
    "(edge $x $x)",
    "(edge a107 $x)",
    "(edge 111 $x)",
    "(edge $x 111)",
    "(edge a57 a57)",
    "($x $x $y)",
    "(nothing $x $y)",
    "(, (edge $x b3) (edge $x $y))",
    "(, (other $x $y) ($h $x $y))",
    "(, (edge $x $x) (edge $y b3) ($h $x $w))",
];

/// What a pattern of keys and variables makes of atoms, one after the other, going on from what is bound.
fn walked(atoms: &[Atom], pattern: &Atom, bound: &[(Atom, Atom)]) -> Vec<Vec<(Atom, Atom)>> {
    let columns = pattern.children().expect("a pattern is an expression");
    let keys: Vec<(usize, &Atom)> = columns.iter().enumerate().filter(|(_, key)| key.is_ground()).collect();
    let matched = |atom: &Atom| {
        let values = atom.children().filter(|values| values.len() == columns.len())?;
        if keys.iter().any(|&(column, key)| values[column] != *key) {
            return None;
        }
        let mut bound = bound.to_vec();
        for (name, value) in columns.iter().zip(values).filter(|(name, _)| !name.is_ground()) {
            match bound.iter().find(|(known, _)| known == name) {
                Some((_, known)) if known != value => return None,
                Some(_) => {}
                None => bound.push((name.clone(), value.clone())),
            }
        }
        Some(bound)
    };
    atoms.iter().filter_map(matched).collect()
}

/// The first answers by the words of the definition, as texts in the order of the variables.
fn expected(atoms: &[Atom], query: &Atom, most: usize) -> Vec<String> {
    let mut answers = vec![Vec::new()];
    for pattern in conjunction(query).unwrap_or(std::slice::from_ref(query)) {
        let mut next = Vec::new();
        for bound in &answers {
            next.extend(walked(atoms, pattern, bound));
            if next.len() >= most && conjunction(query).is_some() {
                break;
            }
        }
        answers = next;
    }
    let value = |bound: &[(Atom, Atom)], name: &Atom| {
        bound.iter().find(|(bound, _)| bound == name).expect("a fact binds every variable").1.to_string()
    };
    let names: Vec<Atom> = variables(query).into_iter().map(Atom::Variable).collect();
    answers.iter().map(|bound| names.iter().map(|name| value(bound, name) + " ").collect()).collect()
}

fn shown<'a>(values: impl Iterator<Item = &'a Atom>) -> String {
    values.map(|value| format!("{value} ")).collect()
}

/// How many answers of a conjunction are compared.
const MOST: usize = 40;

fn check(space: &SharedSpace, snapshots: &[(Snapshot, Vec<Atom>)], has_rule: bool) -> TestCaseResult {
    let source = &mut VariableSource::default();
    let atoms = space.atoms(source);
    for text in QUERIES {
        let query = atom(text);
        let most = if conjunction(&query).is_some() { MOST } else { usize::MAX };
        let first = |solutions: Vec<space::Solution>| -> Vec<String> {
            solutions.iter().take(most).map(|solution| shown(solution.iter().map(|(_, value)| value))).collect()
        };
        if has_rule {
            let by_atoms = format!("{:?}", space.query_atoms(&query, &mut VariableSource::default()));
            let by_any = format!("{:?}", space.query(&query, &mut VariableSource::default()));
            prop_assert_eq!(by_any, by_atoms, "{}", text);
        } else {
            let mut expected = expected(&atoms, &query, most);
            expected.truncate(most);
            prop_assert_eq!(first(space.query(&query, source)), expected, "{}", text);
        }
        for (snapshot, atoms) in snapshots {
            let mut expected = expected(atoms, &query, most);
            expected.truncate(most);
            prop_assert_eq!(&first(snapshot.query(&query, source)), &expected, "{}", text);
            prop_assert_eq!(&first(snapshot.cursor(&query, source).take(most).collect()), &expected, "{}", text);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn many_rows_are_what_a_walk_over_all_atoms_finds(steps in proptest::collection::vec(step(), 3..12)) {
        let log = ChangeLog::default();
        log.keep(ChangeDetail::Changes);
        let mut space = SharedSpace::watched(1, "s", Terms::shared(), log.clone());
        let (mut snapshots, mut has_rule) = (Vec::new(), false);
        let rule = atom("(edge $any b3)");
        for step in steps {
            match step {
                Step::Add(from, count) => drop(space.add_many(&facts((from, count, 1)))),
                Step::Remove(from, count, apart) => drop(space.remove_many(&facts((from, count, apart)))),
                Step::Undo(from, count, apart) => {
                    let mark = log.mark();
                    space.remove_many(&facts((from, count, apart)));
                    log.undo_to(mark);
                }
                Step::Snapshot if has_rule => {}
                Step::Snapshot => {
                    check(&space, &[], false)?;
                    snapshots.push((space.snapshot(), space.atoms(&mut VariableSource::default())));
                }
                Step::Forget => drop(snapshots.pop()),
                Step::Fork => space = space.fork(2, "fork"),
                Step::Rule if has_rule => has_rule = !space.remove(&rule),
                Step::Rule => {
                    space.add(&rule);
                    has_rule = true;
                }
            }
        }
        check(&space, &snapshots, has_rule)?;
    }
}

/// Copies are counted in blocks of rows, which are there where a row has not just one: before, between and behind such
/// blocks rows are taken together.
#[test]
fn rows_before_and_behind_blocks_of_counts_are_found() {
    for changed in [&[1_500][..], &[3, 4_999], &[1_023, 1_024, 3_071], &[2_047]] {
        let space = SharedSpace::new(1, "s", Terms::shared());
        space.add_many(&facts((0, 5_000, 1)));
        for (place, &number) in changed.iter().enumerate() {
            match place % 2 {
                0 => assert!(space.remove(&fact(number))),
                _ => space.add(&fact(number)),
            }
        }
        let snapshot = (space.snapshot(), space.atoms(&mut VariableSource::default()));
        assert_eq!(snapshot.0.len(), 5_000 - changed.len().div_ceil(2) + changed.len() / 2);
        check(&space, &[snapshot], false).expect("a walk over all atoms finds the same");
    }
}

/// One row comes back to its place while a snapshot holds the segment in which it was, so that it lies in another one,
/// in order there.
#[test]
fn one_row_that_came_back_is_found_in_its_place() {
    for count in [5, 3_000] {
        let log = ChangeLog::default();
        log.keep(ChangeDetail::Changes);
        let space = SharedSpace::watched(1, "s", Terms::shared(), log.clone());
        space.add_many(&facts((0, count, 1)));
        let before = (space.snapshot(), space.atoms(&mut VariableSource::default()));
        let mark = log.mark();
        assert!(space.remove(&fact(3)));
        log.undo_to(mark);
        check(&space, &[], false).expect("a walk over all atoms finds the same");
        let after = (space.snapshot(), space.atoms(&mut VariableSource::default()));
        assert_eq!(before.1, after.1);
        check(&space, &[before, after], false).expect("a walk over all atoms finds the same");
    }
}

/// Rows of many lengths in one relation, which has no columns that lie at equal distances, and rows without columns.
#[test]
fn wide_rows_and_empty_ones_are_scanned_as_well() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    let wide = |number: usize| {
        let length = 17 + number % 3;
        Atom::expression((0..length).map(|column| atom(&format!("c{}", number * column % 5))).collect::<Vec<_>>())
    };
    space.add_many(&(0..200).map(wide).collect::<Vec<_>>());
    (0..3).for_each(|_| space.add(&Atom::unit()));
    assert!(space.remove(&wide(4)));
    let open = |length: usize| Atom::expression((0..length).map(|_| Atom::variable("x")).collect::<Vec<_>>());
    let some = |length: usize| {
        let column = |column: usize| if column < 7 { Atom::variable(&format!("v{column}")) } else { atom("c0") };
        Atom::expression((0..length).map(column).collect::<Vec<_>>())
    };
    let mut found = 0;
    for query in (0..20).flat_map(|length| [open(length), some(length)]) {
        let solutions = space.query(&query, &mut VariableSource::default());
        assert_eq!(solutions, space.query_atoms(&query, &mut VariableSource::default()), "{query}");
        let snapshot = space.snapshot().query(&query, &mut VariableSource::default());
        let cursor: Vec<_> = space.snapshot().cursor(&query, &mut VariableSource::default()).collect();
        assert_eq!(cursor, snapshot, "{query}");
        assert_eq!(snapshot, solutions, "{query}");
        found += solutions.len();
    }
    assert!(found > 10, "{found} answers");
}

/// Answers are given their room once: what is listed is counted first.
#[test]
fn room_for_many_answers_is_made_once() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    space.add_many(&(0..20_000).map(|number| atom(&format!("(edge a{number} b{})", number % 9))).collect::<Vec<_>>());
    let edge = terms.read().expect("nobody panics").find(&atom("edge")).expect("it is there");
    let ask = || {
        let (mut plan, mut executor) = (Plan::default(), Executor::default());
        let parts = [PatternPart::Open(3), PatternPart::Key(edge)];
        parts.into_iter().chain((0..2).map(PatternPart::Variable)).for_each(|part| plan.push(part));
        plan.end_pattern();
        space.execute(&mut plan, &Question::new(&[], &|| false), &mut DictionaryReader::new(&terms), &mut executor)
    };
    // The first question makes the index.
    assert_eq!(ask(), Some(Outcome::Rows(20_000)));
    let (info, _) = crate::measure::allocations(ask);
    assert!(info.bytes_total < 164_000, "{} bytes for 160,000 of answers", info.bytes_total);
}

/// A cursor finds the first answers without the others, and counts answers that it does not make.
#[test]
fn the_first_answers_of_a_cursor_cost_no_others() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let facts: Vec<Atom> = (0..50_000).map(|number| atom(&format!("(edge a{} b{number})", number % 7))).collect();
    space.add_many(&facts);
    let snapshot = space.snapshot();
    for text in ["(edge $x $y)", "(edge a3 $y)", "(, (edge $x $y) (edge a3 $y))"] {
        let query = atom(text);
        let cursor = || snapshot.cursor(&query, &mut VariableSource::default());
        let all = snapshot.query(&query, &mut VariableSource::default());
        assert_eq!(format!("{:?}", cursor().next()), format!("{:?}", all.first()));
        let (first, _) = crate::measure::allocations(|| cursor().take(10).count());
        assert!(first.bytes_max < 20_000, "{text}: {} bytes for ten answers", first.bytes_max);
        let (counted, count) = crate::measure::allocations(|| cursor().count());
        assert_eq!(count, all.len());
        assert!(counted.bytes_max < 400_000, "{text}: {} bytes for a number", counted.bytes_max);
        space.add(&atom(&format!("(edge new {count})")));
        assert_eq!(format!("{:?}", cursor().collect::<Vec<_>>()), format!("{all:?}"));
    }
}
