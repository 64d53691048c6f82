//! Prepared queries find what queries find, in the same order, one by one and many together.

use crate::atoms::atom;
use space::{Atom, PreparedQuery, SharedSpace, Snapshot, Term, Terms, VariableSource, variables};

/// Queries of three columns, each of which is a head, a value, a name that is nowhere, or one of two variables; and others.
fn queries() -> Vec<Atom> {
    let columns =
        [["edge", "h1", "nowhere", "$x", "$y"], ["a7", "3", "nowhere", "$x", "$y"], ["b2", "3.0", "b9", "$x", "$y"]];
    let [first, second, third] = columns;
    let pairs = || second.into_iter().flat_map(move |second| third.into_iter().map(move |third| (second, third)));
    let flat =
        first.into_iter().flat_map(|first| pairs().map(move |(second, third)| format!("({first} {second} {third})")));
    let others = [
        "()",
        "(one)",
        "($one)",
        "(edge (pair a7 $k) $y)",
        "(edge $p $y)",
        "(edge (pair a7 k1) $y)",
        "(, (edge a7 $y) (edge $z $y))",
        "(, (edge a7 b7) (one))",
        "(edge $a $a2 $a3 $a4 $a5 $a6 $a7)",
    ];
    flat.map(|text| atom(&text)).chain(others.map(atom)).collect()
}

/// What a snapshot answers to a query, as texts.
fn expected(snapshot: &Snapshot, query: &Atom) -> Vec<String> {
    let solutions = snapshot.query(query, &mut VariableSource::default());
    let names = variables(query);
    let value = |solution: &space::Solution, name| {
        let bound = solution.iter().find(|(variable, _)| variable == name).expect("a fact binds every variable");
        bound.1.to_string()
    };
    solutions.iter().map(|solution| names.iter().map(|name| value(solution, name) + " ").collect()).collect()
}

fn shown(snapshot: &Snapshot, answer: &[Term]) -> String {
    answer.iter().map(|&term| format!("{} ", snapshot.terms().atom(term))).collect()
}

/// Asks queries one by one and all together.
fn check(snapshot: &Snapshot, atoms: &[Atom], prepared: &[PreparedQuery]) {
    let mut together = vec![Vec::new(); prepared.len()];
    let asked = snapshot.ask_many(prepared, |place, answer| together[place].push(shown(snapshot, answer)));
    assert_eq!(asked, Ok(()));
    for ((query, prepared), together) in atoms.iter().zip(prepared).zip(together) {
        assert_eq!(prepared.variables(), variables(query).len(), "{query}");
        let mut alone = Vec::new();
        assert!(snapshot.ask(prepared, |answer| alone.push(shown(snapshot, answer))), "{query}");
        assert_eq!(alone, expected(snapshot, query), "{query}");
        assert_eq!(together, alone, "{query}");
    }
}

fn fact(number: usize, targets: usize) -> Atom {
    atom(&format!("(edge a{number} b{})", number % targets))
}

/// Facts of several heads, with copies, equal numbers, compounds, rows that went and one that came back.
fn space_of(facts: usize) -> SharedSpace {
    let space = SharedSpace::new(1, "s", Terms::shared());
    let all: Vec<Atom> = (0..facts).map(|number| fact(number, 5)).collect();
    space.add_many(&all);
    for text in ["(edge a7 b2)", "(edge 3 b2)", "(edge 3.0 3)", "(h1 a7 b2)", "(h1 3 3.0)", "(edge (pair a7 k1) b2)"] {
        (0..2).for_each(|_| space.add(&atom(text)));
    }
    space.add_many(&["(edge (pair a7 k2) b3)", "(edge (pair a7 k3) b3)", "(one)", "(two)"].map(atom));
    assert_eq!(space.remove_many(&[fact(7, 5), fact(12, 5), atom("(edge 3 b2)")]), 3);
    space.add(&fact(12, 5));
    space
}

#[test]
fn prepared_queries_are_answered_as_queries_are() {
    for facts in [20, 300, 30_000] {
        let space = space_of(facts);
        let before = space.snapshot();
        let atoms: Vec<Atom> = queries().into_iter().filter(|query| *query != atom("(,)")).collect();
        let prepared: Vec<PreparedQuery> =
            atoms.iter().map(|query| space.prepare_query(query).expect("facts are rows")).collect();
        // Of before what was prepared, so that it knows fewer terms; then of two segments, and with holes in one that is shared.
        check(&before, &atoms, &prepared);
        space.add_many(&[fact(7, 5), atom("(nowhere a7 b9)"), atom("(edge a7 b9)")]);
        check(&space.snapshot(), &atoms, &prepared);
        assert!(space.remove(&atom("(h1 a7 b2)")) && space.remove(&fact(8, 5)));
        check(&space.snapshot(), &atoms, &prepared);
        check(&before, &atoms, &prepared);
    }
}

/// More queries than wait together, of many rows each and of few.
#[test]
fn many_prepared_queries_are_answered_in_their_order() {
    let space = space_of(40_000);
    let text = |number: usize| match number % 7 {
        6 => format!("(edge $x b{})", number % 4),
        5 => format!("(h1 a{number} $x)"),
        _ => format!("(edge a{} $x)", number * 37),
    };
    let atoms: Vec<Atom> = (0..1_000).map(|number| atom(&text(number))).collect();
    let prepared: Vec<PreparedQuery> = atoms.iter().filter_map(|query| space.prepare_query(query)).collect();
    let snapshot = space.snapshot();
    let (mut answers, mut last) = (0, 0);
    let asked = snapshot.ask_many(&prepared, |place, _| {
        assert!(place >= last, "answers come in the order of the queries");
        (last, answers) = (place, answers + 1);
    });
    assert_eq!(asked, Ok(()));
    let alone = |query: &Atom| snapshot.query(query, &mut VariableSource::default()).len();
    assert_eq!(answers, atoms.iter().map(alone).sum::<usize>());
}

/// What an index was made of while the rows were sealed goes on when nobody shares them any more: keys inside of its range come, one
/// beyond it, and some go. Going through all atoms is the oracle.
#[test]
fn indexes_of_sealed_rows_follow_them_when_they_change_again() {
    for step in [1, 7] {
        let space = SharedSpace::new(1, "s", Terms::shared());
        let number = |place: usize| place * step;
        // Terms of names that the first rows do not have lie between those that they have.
        (0..700).for_each(|name| space.add(&atom(&format!("a{name}"))));
        let edge = |name: usize, target: usize| atom(&format!("(edge a{name} b{target})"));
        let check = |names: &mut dyn Iterator<Item = usize>| {
            let snapshot = space.snapshot();
            let all: Vec<String> =
                snapshot.atoms(&mut VariableSource::default()).iter().map(ToString::to_string).collect();
            let names: Vec<usize> = names.collect();
            let query = |name: &usize| space.prepare_query(&atom(&format!("(edge a{name} $x)")));
            let prepared: Vec<PreparedQuery> = names.iter().filter_map(query).collect();
            let mut found = vec![Vec::new(); names.len()];
            let asked = snapshot.ask_many(&prepared, |place, answer| found[place].push(shown(&snapshot, answer)));
            assert_eq!(asked, Ok(()));
            for (name, found) in names.iter().zip(found) {
                let start = format!("(edge a{name} ");
                let rest = |text: &String| Some(text.strip_prefix(&start)?.replace(')', " "));
                assert_eq!(found, all.iter().filter_map(rest).collect::<Vec<_>>(), "a{name}");
            }
        };
        (0..100).filter(|place| place % 10 != 3).for_each(|place| space.add(&edge(number(place), place % 5)));
        check(&mut (0..120).map(number));
        (0..100).step_by(3).for_each(|place| space.add(&edge(number(place), 7)));
        check(&mut (0..120).map(number));
        let gone: Vec<Atom> = (0..100).step_by(9).map(|place| edge(number(place), 7)).collect();
        space.remove_many(&gone);
        check(&mut (0..120).map(number));
        space.add(&atom("(edge far b1)"));
        space.add(&edge(699, 2));
        check(&mut (0..700));
    }
}

#[test]
fn a_query_that_a_rule_may_answer_is_not_answered_by_rows_alone() {
    let space = space_of(100);
    let atoms = ["(h1 a7 $x)", "(edge a9 $x)", "(h1 3 $x)"].map(atom);
    let prepared: Vec<PreparedQuery> = atoms.iter().filter_map(|query| space.prepare_query(query)).collect();
    space.add(&atom("(edge $any b77)"));
    let snapshot = space.snapshot();
    assert!(!snapshot.ask(&prepared[1], |_| panic!("nothing is answered")));
    let mut asked = Vec::new();
    assert_eq!(snapshot.ask_many(&prepared, |place, _| asked.push(place)), Err(1));
    assert!(asked.iter().all(|&place| place == 0) && !asked.is_empty());
    assert_eq!(snapshot.query(&atoms[1], &mut VariableSource::default()).len(), 2);
}

#[test]
fn what_asks_for_more_than_rows_is_not_prepared() {
    let space = space_of(20);
    let deep = (0..40).fold(atom("$x"), |inner, _| Atom::expression([Atom::symbol("s"), inner]));
    let wide: Vec<Atom> = (0..9).map(|number| Atom::variable(&format!("v{number}"))).collect();
    for query in [atom("$x"), atom("edge"), deep, Atom::expression(wide)] {
        assert!(space.prepare_query(&query).is_none(), "{query}");
    }
}

#[test]
#[should_panic(expected = "dictionary it was prepared with")]
fn a_prepared_query_is_of_one_dictionary() {
    let prepared = space_of(20).prepare_query(&atom("(edge a1 $x)")).expect("facts are rows");
    space_of(20).snapshot().ask(&prepared, |_| ());
}

/// One question allocates nothing.
#[test]
fn a_prepared_query_takes_no_allocation() {
    let space = space_of(30_000);
    let prepared = space.prepare_query(&fact_query()).expect("facts are rows");
    let snapshot = space.snapshot();
    let ask = || {
        let mut found = 0;
        assert!(snapshot.ask(&prepared, |answer| found += answer.len()));
        found
    };
    // The first question makes the index.
    assert_eq!(ask(), 1);
    let (info, found) = crate::measure::allocations(ask);
    assert_eq!((info.count_total, found), (0, 1));
}

fn fact_query() -> Atom {
    atom("(edge a12345 $x)")
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A fact: mostly of one head with a name of its own and one of few targets, numbers that are equal and compounds among them.
fn any_fact(random: &mut Random, names: usize) -> Atom {
    let head = random.one(&["edge", "edge", "edge", "edge", "edge", "color"]);
    let name = match random.below(20) {
        0 => random.one(&["3", "3.0", "4.5"]).to_owned(),
        1 => format!("(pair a{} k)", random.below(4)),
        _ => format!("a{}", random.below(names)),
    };
    let target = match random.below(30) {
        0 => random.one(&["3", "3.0", "(pair a1 k)"]).to_owned(),
        _ => format!("b{}", random.below(7)),
    };
    atom(&format!("({head} {name} {target})"))
}

/// Queries of all forms about facts like these, known names and unknown ones, in runs of one form and mixed.
fn any_queries(random: &mut Random, names: usize) -> Vec<Atom> {
    let mut queries = Vec::new();
    while queries.len() < 150 {
        let head = random.one(&["edge", "edge", "edge", "color", "nothing", "$h"]);
        let form = random.below(5);
        for _ in 0..1 + random.below(12) {
            let name = match random.below(12) {
                0 => random.one(&["3", "3.0", "4.5", "unknown", "(pair a1 k)", "b1"]).to_owned(),
                _ => format!("a{}", random.below(names + 10)),
            };
            let target = random.one(&["b1", "b5", "3", "3.0", "unknown", "(pair a1 k)", "a1"]);
            queries.push(atom(&match form {
                0..3 => format!("({head} {name} $x)"),
                3 => format!("({head} $x {target})"),
                _ => format!("({head} {name} {target})"),
            }));
        }
    }
    queries
}

/// Changes a space somehow: facts come, alone and many at once, copies and equal ones among them unless it is plain; some go, or most; rules
/// come.
fn change(space: &SharedSpace, random: &mut Random, (names, is_plain, has_rules): (usize, bool, bool)) {
    let facts: Vec<Atom> = (0..names / 2).map(|_| any_fact(random, names)).collect();
    match random.below(9) {
        0 if has_rules => space.add(&atom("(= (color $x) (edge $x b1))")),
        1 if has_rules && random.below(2) == 0 => {
            space.add(&atom(random.one(&["(color $any b77)", "(edge $any b77)", "(edge a3 $any)"])));
        }
        2 if !is_plain => {
            space.remove_many(&facts);
        }
        3 if !is_plain && random.below(2) == 0 => {
            let all = space.snapshot().atoms(&mut VariableSource::default());
            space.remove_many(&all[..all.len() * 2 / 3]);
        }
        4 if !is_plain => space.add(&facts[0]),
        5 if !is_plain => {
            space.add_many(&facts);
        }
        _ => {
            for fact in &facts {
                if !space.read(|space| space.contains(fact)) {
                    space.add(fact);
                }
            }
        }
    }
}

/// Whatever happens to a space, its snapshots and those of its forks answer prepared queries as they answer queries. Names come in order, so
/// that they lie side by side, or in none; snapshots are kept, so that there are several segments, or dropped, so that what was sealed
/// changes again; half of the spaces have one copy of each fact, always.
#[test]
fn prepared_queries_of_generated_spaces_are_answered_as_queries_are() {
    for seed in 0..40 {
        let (random, names) = (&mut Random(seed), 40 + 30 * (seed as usize % 4));
        let how = (names, seed % 4 < 2, seed % 3 == 0);
        let space = SharedSpace::new(1, "s", Terms::shared());
        if seed % 2 == 0 {
            (0..names).for_each(|name| space.add(&fact(name, 7)));
        }
        let (mut kept, mut forks) = (Vec::new(), Vec::new());
        for _ in 0..12 {
            change(&space, random, how);
            let queries = any_queries(random, names);
            let prepare = |query: &Atom| space.prepare_query(query).expect("facts are rows");
            let prepared: Vec<PreparedQuery> = queries.iter().map(prepare).collect();
            let snapshot = space.snapshot();
            check_with_rules(&snapshot, &queries, &prepared);
            forks.iter().for_each(|fork: &SharedSpace| check_with_rules(&fork.snapshot(), &queries, &prepared));
            kept.iter().for_each(|before: &Snapshot| check_with_rules(before, &queries, &prepared));
            match random.below(4) {
                0 => kept.push(snapshot),
                1 => kept.clear(),
                2 if forks.len() < 3 => forks.push(space.fork(2, "fork")),
                _ => {}
            }
        }
    }
}

/// The same as [`check`] where a rule may answer some: of those nothing is answered.
fn check_with_rules(snapshot: &Snapshot, atoms: &[Atom], prepared: &[PreparedQuery]) {
    let mut start = 0;
    while start < prepared.len() {
        let mut together = vec![Vec::new(); prepared.len() - start];
        let asked =
            snapshot.ask_many(&prepared[start..], |place, answer| together[place].push(shown(snapshot, answer)));
        let end = start + asked.err().unwrap_or(together.len());
        for place in start..end {
            let mut alone = Vec::new();
            assert!(snapshot.ask(&prepared[place], |answer| alone.push(shown(snapshot, answer))), "{}", atoms[place]);
            assert_eq!(alone, expected(snapshot, &atoms[place]), "{}", atoms[place]);
            assert_eq!(together[place - start], alone, "{}", atoms[place]);
        }
        if end < prepared.len() {
            assert!(!snapshot.ask(&prepared[end], |_| panic!("nothing is answered")), "{}", atoms[end]);
        }
        start = end + 1;
    }
}
