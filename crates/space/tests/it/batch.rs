//! Batches of records: what one by one would have come to, term by term.

use crate::generated::{config, tree};
use crate::tree::Tree;
use proptest::collection::vec;
use proptest::prelude::*;
use space::{Appender, Atom, Batch, SharedSpace, SharedTerms, Space, Term, Terms, VariableSource};

/// The children of a record go to the batch.
fn put(children: &[Atom], batch: &mut Batch) -> bool {
    batch.open();
    for child in children {
        match child {
            Atom::Symbol(symbol) => batch.symbol(symbol.as_str()),
            Atom::Expression(inner) => assert!(!put(inner.children(), batch), "the record goes on"),
            leaf => batch.leaf(leaf.clone()),
        }
    }
    batch.close()
}

/// Makes the terms of the children one by one.
fn terms_of(children: &[Atom], appender: &mut Appender<'_>) -> Vec<Term> {
    let mut terms = Vec::new();
    for child in children {
        terms.push(match child {
            Atom::Symbol(symbol) => appender.symbol(symbol.as_str()),
            Atom::Expression(inner) => {
                let inner = terms_of(inner.children(), appender);
                appender.expression(&inner)
            }
            leaf => appender.leaf(leaf),
        });
    }
    terms
}

fn add_batched(records: &[Atom], appender: &mut Appender<'_>) {
    let mut batch = Batch::default();
    for record in records {
        assert!(put(record.children().expect("records are expressions"), &mut batch), "the record has ended");
        if batch.is_full() {
            appender.batch(&mut batch);
        }
    }
    appender.batch(&mut batch);
}

fn add_each(records: &[Atom], appender: &mut Appender<'_>) {
    for record in records {
        let row = terms_of(record.children().expect("records are expressions"), appender);
        appender.row(&row);
    }
}

fn space() -> (SharedTerms, SharedSpace) {
    let terms = Terms::shared();
    let space = SharedSpace::new(1, "s", SharedTerms::clone(&terms));
    space.keep_hash();
    (terms, space)
}

/// The atom of each term, in the order of their numbers.
fn dictionary(terms: &SharedTerms) -> Vec<String> {
    let terms = terms.read().expect("nobody panics");
    (0..terms.len() as u32).map(|number| format!("{:?}", terms.atom(Term::new(number)))).collect()
}

fn state((terms, space): &(SharedTerms, SharedSpace)) -> (Vec<String>, Vec<String>, Option<u128>) {
    let atoms = space.atoms(&mut VariableSource::default()).iter().map(Atom::to_string).collect();
    (dictionary(terms), atoms, space.read(Space::hash))
}

/// Pieces of a load, with a snapshot between each two.
fn assert_same(pieces: &[Vec<Atom>]) {
    let (single, batched) = (space(), space());
    let mut snapshots = Vec::new();
    for records in pieces {
        single.1.append(|appender| add_each(records, appender));
        batched.1.append(|appender| add_batched(records, appender));
        snapshots.push(batched.1.snapshot());
    }
    assert_eq!(state(&batched), state(&single));
    let lengths = pieces.iter().scan(0, |length, records| {
        *length += records.len();
        Some(*length)
    });
    assert!(snapshots.iter().map(|snapshot| snapshot.len()).eq(lengths), "snapshots stay as they were");
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn batches_come_to_what_one_by_one_does(pieces in vec(vec(vec(tree(0), 0..5), 0..100), 0..4)) {
        let record = |children: &Vec<Tree>| Atom::expression(children.iter().map(Tree::to_atom).collect::<Vec<_>>());
        let pieces: Vec<Vec<Atom>> = pieces.iter().map(|records| records.iter().map(record).collect()).collect();
        assert_same(&pieces);
    }
}

/// Tables so large that what they have is read ahead: new names and known ones, short and long, and rows that are there.
#[test]
fn batches_of_a_large_dictionary_come_to_what_one_by_one_does() {
    let name = |letter: &str, number: u64| Atom::symbol(&format!("{letter}{number}"));
    let record = |number: u64| {
        let own = name(if number.is_multiple_of(2) { "n" } else { "a-longer-name-" }, number * 7_919 % 40_000);
        let inner = Atom::expression([name("f", number % 7), Atom::from((number % 9) as f64 / 2.0)]);
        Atom::expression([name("edge", number % 3), own, inner])
    };
    let pieces = [0..45_000, 30_000..60_000, 0..100].map(|numbers| numbers.map(record).collect());
    assert_same(&pieces);
}

/// A name of any size goes into a batch, which is full then.
#[test]
fn a_batch_is_full_by_its_bytes_too() {
    let mut batch = Batch::default();
    batch.open();
    batch.symbol(&"x".repeat(1 << 20));
    assert!(!batch.is_full(), "its record goes on");
    assert!(batch.close() && batch.is_full());
    let (terms, space) = space();
    space.append(|appender| appender.batch(&mut batch));
    assert!(!batch.is_full());
    assert_eq!((space.len(), terms.read().expect("nobody panics").len()), (1, 1));
}
