//! Conjunctions over many rows: however they are answered, they find what unification finds, in the order of the patterns as written.

use crate::atoms::atom;
use crate::plans::{Planned, Random};
use space::{Atom, SharedSpace, SharedTerms, Terms, VariableSource};
use std::collections::HashSet;

const NODES: usize = 40;

/// A node; the first of them are hubs.
fn any_node(random: &mut Random, nodes: usize) -> String {
    format!("n{}", if random.below(3) == 0 { random.below(3) } else { random.below(nodes) })
}

fn any_fact(random: &mut Random, nodes: usize) -> Atom {
    let (from, to) = (any_node(random, nodes), any_node(random, nodes));
    atom(&match random.below(10) {
        0 => format!("(color {from} c{})", random.below(3)),
        1 => format!("(near (pair {from} {to}) c{})", random.below(3)),
        _ => format!("(edge {from} {to})"),
    })
}

/// Patterns that share variables, in any order.
fn any_conjunction(random: &mut Random) -> Atom {
    let patterns: &[&str] = match random.below(10) {
        0 => &["(edge $x $y)", "(edge $y $z)", "(edge $x $z)"],
        1 => &["(edge $x $y)", "(edge $y $z)", "(edge $z $x)", "(color $x c1)"],
        2 => &["(edge $x $y)", "(color $y $c)", "(color $x $c)"],
        3 => &["(edge $x $y)", "(edge $y n1)", "(edge $x n0)"],
        4 => &["(near (pair $x $y) $c)", "(edge $x $y)", "(color $x $c)"],
        5 => &["(edge $x $x)", "(edge $x $y)", "(edge $y $y)"],
        6 => &["(color $x $c)", "(near (pair $x $y) $c)", "(near (pair $y $x) $d)"],
        7 => &["(edge $x $y)", "(color n2 c1)", "(edge $y $x)"],
        8 => &["(color $x $c)", "(edge $x $y)", "(near (pair $y $z) $d)"],
        _ => &["(edge $x $y)", "(edge $y $z)"],
    };
    let mut order: Vec<usize> = (0..patterns.len()).collect();
    (1..order.len()).rev().for_each(|last| order.swap(last, random.below(last + 1)));
    let patterns: Vec<&str> = order.into_iter().map(|place| patterns[place]).collect();
    atom(&format!("(, {})", patterns.join(" ")))
}

#[test]
fn conjunctions_over_many_rows_find_what_unification_finds() {
    let (mut asked, mut answers, mut grouped) = (0, 0, 0);
    for seed in 0..24 {
        let random = &mut Random(seed);
        let terms = Terms::shared();
        let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
        let library = SharedSpace::new(2, "library", SharedTerms::clone(&terms));
        ["edge", "color", "near", "pair", "c1", "n0", "n1", "n2"].iter().for_each(|name| space.add(&atom(name)));
        let mut seen = HashSet::new();
        let queries: Vec<Atom> = (0..6).map(|_| any_conjunction(random)).collect();
        let mut plans: Vec<Planned> = queries.iter().map(|query| Planned::new(query, &terms)).collect();
        for round in 0..5 {
            // Of large graphs each fact is there once.
            let (nodes, count) = if seed % 3 == 1 { (10 * NODES, 300) } else { (NODES, 120) };
            let mut facts: Vec<Atom> = (0..count).map(|_| any_fact(random, nodes)).collect();
            facts.retain(|fact| nodes == NODES || seen.insert(fact.clone()));
            match round {
                1 if seed % 3 == 0 => space.import(&library),
                2 if seed % 4 == 0 => drop(space.remove_many(&facts)),
                3 if seed % 5 == 0 => drop(space.snapshot()),
                4 if seed % 7 == 0 => space.add(&atom("(edge n1 1.0)")),
                _ => {}
            }
            (if round % 3 == 1 { &library } else { &space }).add_many(&facts);
            for (query, plan) in queries.iter().zip(&mut plans) {
                let expected = space.query_atoms(query, &mut VariableSource::default());
                let found = space.query(query, &mut VariableSource::default());
                assert!(found == expected, "{query}, seed {seed}, round {round}");
                let planned = plan.execute(&space, &terms).expect("facts are rows");
                assert!(planned == expected, "{query}, planned, seed {seed}, round {round}");
                let most = [1, 40, usize::MAX][asked % 3];
                plan.check_first(&space, &terms, &planned, most);
                grouped += usize::from(plan.check_grouped(&space, &terms, &planned));
                asked += 1;
                answers += expected.len();
            }
        }
    }
    assert!(asked == 720 && answers > 100_000, "{asked} asked, {answers} answers");
    assert!(grouped >= 10, "{grouped} grouped");
}

#[test]
fn a_triangle_through_a_hub_is_not_looked_for_in_all_pairs_of_its_neighbours() {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    let edges =
        (1..=4_096).flat_map(|node| [atom(&format!("(edge hub n{node})")), atom(&format!("(edge n{node} hub)"))]);
    space.add_many(&edges.collect::<Vec<Atom>>());
    let triangle = atom("(, (edge $x $y) (edge $y $z) (edge $z $x))");
    assert!(terms.read().expect("nobody panics").find(&atom("edge")).is_some());
    let mut plan = Planned::new(&triangle, &terms);
    // Loops would look at 16 million pairs, and ask a million times whether to go on.
    let (found, looks) = plan.execute_counting_looks(&space, &terms);
    assert_eq!((found, space.query(&triangle, &mut VariableSource::default()).len()), (0, 0));
    assert!(looks < 1_000, "the search asked {looks} times whether to go on");
    for most in [Some(1), None] {
        let (found, looks) = Planned::new(&triangle, &terms).find_some_counting_looks(most, &space, &terms);
        assert_eq!(found, 0, "{most:?}");
        assert!(looks < 4_000, "the search asked {looks} times whether to go on for {most:?}");
    }
}
