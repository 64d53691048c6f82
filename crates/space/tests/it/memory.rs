//! What facts cost in memory: bytes that are held in the end, exactly, so no clock and no other process matters.

use crate::measure::allocations;
use space::{SharedSpace, Term, Terms, VariableSource};
use std::fmt::Write;

/// A space of `facts` facts `(edge aI bJ)`, J = I mod 1,000, and an index of their first argument.
fn edges(facts: usize) -> SharedSpace {
    let space = SharedSpace::new(1, "s", Terms::shared());
    space.append(|appender| {
        let edge = appender.symbol("edge");
        let mut name = String::new();
        let mut symbol = |letter: char, number: usize, appender: &mut space::Appender<'_>| -> Term {
            name.clear();
            let _ = write!(name, "{letter}{number}");
            appender.symbol(&name)
        };
        for number in 0..facts {
            let row = [edge, symbol('a', number, appender), symbol('b', number % 1_000, appender)];
            appender.row(&row);
        }
    });
    assert_eq!(found(&space, facts / 2), 1);
    space
}

/// How many edges begin at a node.
fn found(space: &SharedSpace, number: usize) -> usize {
    let query = crate::atoms::atom(&format!("(edge a{number} $x)"));
    space.query(&query, &mut VariableSource::default()).len()
}

/// Bytes held for a fact with one index, dictionary and all.
fn bytes_per_fact(facts: usize) -> f64 {
    let (info, space) = allocations(|| edges(facts));
    assert_eq!(space.len(), facts);
    info.bytes_current as f64 / facts as f64
}

/// Tables double, so that facts take most just after that; ten million are not there.
#[test]
fn a_fact_with_one_index_takes_60_bytes() {
    let bytes = bytes_per_fact(450_000);
    assert!(bytes <= 60.0, "450,000 facts: {bytes:.1} bytes each");
    let most = bytes_per_fact(460_000);
    assert!(most <= 70.0, "460,000 facts: {most:.1} bytes each");
}

/// Ten million facts with ten million different symbols.
#[test]
#[ignore = "takes a minute and half a gigabyte"]
fn ten_million_facts_take_60_bytes_each() {
    let bytes = bytes_per_fact(10_000_000);
    assert!(bytes <= 60.0, "{bytes:.1} bytes each");
}

#[test]
fn atoms_of_what_was_loaded_are_made_when_they_are_asked_for() {
    let space = edges(1_000);
    let source = &mut VariableSource::default();
    let found = space.query(&crate::atoms::atom("(edge $x b7)"), source);
    assert_eq!(found[0][0].1, space::Atom::symbol("a7"));
}
