//! Heads that share a relation and values: what one of them has is found without walking what the others have.

use crate::atoms::atom;
use crate::measure::{assert_ratio, time};
use space::{Atom, SharedSpace, Terms, VariableSource};

/// Rows of twelve heads, in which most values stand behind each head: numbers of either kind, and the insides of compounds.
fn mixed() -> Vec<Atom> {
    let row = |number: u32| {
        let (head, value) = (number % 12, number / 12 % 4);
        let float = if number.is_multiple_of(5) { ".0" } else { "" };
        atom(&format!("(h{head} (in n{number} {}) {value}{float})", number % 3))
    };
    (0..6_000).map(row).collect()
}

const QUERIES: &[&str] = &[
    "(h3 $x 2)",
    "(h3 $x 2.0)",
    "($h $x 2)",
    "(h3 $x $y)",
    "(h11 (in $n 1) $y)",
    "(h11 (in $n 1) 3)",
    "(h1 (in n13 $k) 1)",
    "(h3 $x 9)",
    "(h12 $x 2)",
    "(, (h1 (in $n 0) 1) (h2 $m 1))",
];

/// The answers as texts, of the space and of a snapshot, which are the same.
fn answers(space: &SharedSpace, query: &Atom) -> Vec<String> {
    let source = &mut VariableSource::default();
    let shown = |solutions: Vec<space::Solution>| -> Vec<String> {
        solutions
            .iter()
            .map(|solution| format!("{:?}", solution.iter().map(|(_, value)| value).collect::<Vec<_>>()))
            .collect()
    };
    let answers = shown(space.query(query, source));
    assert_eq!(shown(space.snapshot().query(query, source)), answers, "{query}");
    assert_eq!(shown(space.query_atoms(query, source)), answers, "{query}");
    answers
}

/// The rows that agree with a query, by the words of the model: each is asked alone.
fn expected(rows: &[Atom], query: &Atom) -> usize {
    let alone = |row: &&Atom| {
        let space = SharedSpace::new(9, "alone", Terms::shared());
        space.add(row);
        !space.query(query, &mut VariableSource::default()).is_empty()
    };
    rows.iter().filter(alone).count()
}

#[test]
fn rows_of_a_head_are_found_among_those_of_others() {
    let space = SharedSpace::new(1, "s", Terms::shared());
    let mut rows = mixed();
    let (first, second) = rows.split_at(2_000);
    space.add_many(first);
    let queries: Vec<Atom> = QUERIES.iter().map(|text| atom(text)).collect();
    // Indexes that are there are kept up to date, in the head and behind a snapshot.
    queries.iter().for_each(|query| drop(space.query(query, &mut VariableSource::default())));
    space.add_many(&second[..2_000]);
    let snapshot = space.snapshot();
    space.add_many(&second[2_000..]);
    let gone: Vec<Atom> = rows.iter().step_by(3).cloned().collect();
    assert_eq!(space.remove_many(&gone), gone.len());
    assert_eq!(snapshot.len(), 4_000);
    let mut number = 0;
    rows.retain(|_| {
        number += 1;
        (number - 1) % 3 != 0
    });
    for query in &queries[..9] {
        assert_eq!(answers(&space, query).len(), expected(&rows, query), "{query}");
    }
    assert_eq!(
        answers(&space, &queries[9]).len(),
        expected(&rows, &atom("(h1 (in $n 0) 1)")) * expected(&rows, &atom("(h2 $m 1)"))
    );
}

/// Ten rows of a head among 50,000 of others with the same value cost what they cost alone.
#[test]
fn a_value_that_other_heads_have_too_costs_nothing() {
    let space_of = |others: u32| {
        let space = SharedSpace::new(1, "s", Terms::shared());
        let other = |number: u32| atom(&format!("(other{} x{number} frog)", number % 7));
        let wanted = |number: u32| {
            atom(&format!("(is-a y{number} {})", if number.is_multiple_of(100) { "frog" } else { "toad" }))
        };
        space.add_many(&(0..1_000).map(wanted).collect::<Vec<_>>());
        space.add_many(&(0..others).map(other).collect::<Vec<_>>());
        space
    };
    let (few, many) = (space_of(0), space_of(50_000));
    let query = atom("(is-a $x frog)");
    let ask = |space: &SharedSpace| {
        time(|| (0..200).for_each(|_| assert_eq!(space.query(&query, &mut VariableSource::default()).len(), 10)))
    };
    assert_ratio(3.0, || ask(&few), || ask(&many));
}
