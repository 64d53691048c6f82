//! The loops of the MORK serialization baseline report: an empty space is made, facts or rules are added, the space is dropped.
//!
//! Atoms are made outside of the clock and rules are cloned inside of it, as there. The peer is a trie of the crate that MORK
//! stands on, which gets the same atoms: turning them into its bytes is part of the work, without text in between.

use super::facts::{atom, report_fact, report_rule, trie_bytes};
use super::{Contest, PATHMAP, ROUNDS, SUITE};
use crate::compare::{Clock, Timed, compare};
use crate::row::Row;
use crate::{Plan, Rows};
use metta::Tokenizer;
use metta::syntax;
use pathmap::PathMap;
use space::{Atom, Space, Terms};
use std::error::Error;
use std::hint::black_box;

/// How many items each round adds, whatever the size.
const ITEMS: u64 = 100_000;

/// What the report says of a size, in microseconds for all items: facts one by one and in bulk, rules one by one and in bulk.
const PUBLISHED: &[(u64, [f64; 4])] = &[
    (10, [79.1, 84.7, 92.1, 98.9]),
    (50, [411.9, 432.4, 483.7, 509.3]),
    (100, [873.3, 908.8, 1020.0, 1180.0]),
    (500, [4560.0, 4940.0, 5350.0, 5660.0]),
    (1000, [9430.0, 10_200.0, 10_850.0, 11_570.0]),
];

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for &(size, [facts, facts_in_bulk, rules, rules_in_bulk]) in PUBLISHED {
        rows.push(one_by_one(plan, "facts", size, report_fact, facts)?);
        rows.push(in_bulk(plan, "facts", size, report_fact, facts_in_bulk)?);
        rows.push(one_by_one(plan, "rules", size, report_rule, rules)?);
        rows.push(in_bulk(plan, "rules", size, report_rule, rules_in_bulk)?);
    }
    rows.push(from_text(plan)?);
    Ok(rows)
}

fn items(size: u64, text: fn(u64) -> String) -> Vec<Atom> {
    (0..size).map(|number| atom(&text(number))).collect()
}

fn one_by_one(
    plan: &Plan,
    kind: &str,
    size: u64,
    text: fn(u64) -> String,
    published: f64,
) -> Result<Row, Box<dyn Error>> {
    let (items, repeats) = (items(size, text), plan.scaled(ITEMS / size));
    let note = note(published, size);
    let contest = Contest {
        name: &format!("the report's {size} {kind}, one by one"),
        n: repeats * size,
        peer: PATHMAP,
        must: Some(1.0),
        rounds: ROUNDS,
        note: &note,
    };
    contest.run(plan, &mut || Ok(in_space(&items, repeats)), &mut || Ok(in_trie(&items, repeats)))
}

/// A row of all items in one call, beside our own time for them one by one.
fn in_bulk(plan: &Plan, kind: &str, size: u64, text: fn(u64) -> String, published: f64) -> Result<Row, Box<dyn Error>> {
    let (items, repeats) = (items(size, text), plan.scaled(ITEMS / size));
    let contest = Contest {
        name: &format!("the report's {size} {kind}, in bulk"),
        n: repeats * size,
        peer: "ours, one by one",
        must: Some(1.0),
        rounds: ROUNDS,
        note: &note(published, size),
    };
    contest.run(plan, &mut || Ok(all_at_once(&items, repeats)), &mut || Ok(in_space(&items, repeats)))
}

fn all_at_once(items: &[Atom], repeats: u64) -> Timed {
    let (mut clock, mut count) = (Clock::default(), 0);
    for _ in 0..repeats {
        clock.run(|| {
            let items = black_box(items).to_vec();
            let mut space = Space::new(Terms::shared());
            space.add_many(&items);
            count += space.len() as u64;
        });
    }
    clock.done(count)
}

fn note(published: f64, size: u64) -> String {
    let each = published / size as f64;
    format!("making and dropping the space included; the report has {each:.1} µs on its machine")
}

fn in_space(items: &[Atom], repeats: u64) -> Timed {
    let (mut clock, mut count) = (Clock::default(), 0);
    for _ in 0..repeats {
        clock.run(|| {
            let mut space = Space::new(Terms::shared());
            for item in black_box(items) {
                space.add(&item.clone());
            }
            count += space.len() as u64;
        });
    }
    clock.done(count)
}

fn in_trie(items: &[Atom], repeats: u64) -> Timed {
    let (mut clock, mut count) = (Clock::default(), 0);
    for _ in 0..repeats {
        clock.run(|| {
            let (mut trie, mut bytes) = (PathMap::<()>::new(), Vec::new());
            let mut length = 0;
            for item in black_box(items) {
                bytes.clear();
                trie_bytes(&item.clone(), &mut bytes);
                length += u64::from(trie.insert(&bytes, ()).is_none());
            }
            count += length;
            drop(black_box(trie));
        });
    }
    clock.done(count)
}

/// A row of the report's facts when the caller has a text: beside our own time from atoms.
fn from_text(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    const SIZE: u64 = 1000;
    let (items, repeats) = (items(SIZE, report_fact), plan.scaled(ITEMS / SIZE));
    let text: String = (0..SIZE).map(|number| report_fact(number) + "\n").collect();
    let words = Tokenizer::literals();
    let mut from_text = || {
        let (mut clock, mut count) = (Clock::default(), 0);
        for _ in 0..repeats {
            clock.run(|| {
                let mut space = Space::new(Terms::shared());
                let parsed = syntax::parse(black_box(&text));
                for form in parsed.tree.forms() {
                    space.add(&metta::read_atom(&parsed.tree, form.node, &words));
                }
                count += space.len() as u64;
            });
        }
        Ok(clock.done(count))
    };
    let name = format!("the report's {SIZE} facts, from a text");
    let note = "the peer is ours with the atoms made before".to_owned();
    let rounds = plan.rounds(ROUNDS);
    let case = crate::compare::Case { suite: SUITE, name, n: repeats * SIZE, peer: "ours, from atoms", rounds, note };
    compare(case, &mut from_text, &mut || Ok(in_space(&items, repeats)))
}
