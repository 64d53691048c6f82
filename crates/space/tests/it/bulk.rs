//! Many atoms at once: what one by one would have come to, and never at a higher price.

use crate::atoms::atom;
use space::{Atom, ChangeKind, ChangeLog, Keeps, SharedTerms, SpaceRef, Terms, VariableSource};

/// Atoms of every kind that a space tells apart, some of them twice.
fn mixed() -> Vec<Atom> {
    let texts =
        ["(edge a 1)", "lone", "(edge a 1.0)", "(= (f $x) $x)", "(edge a 1)", "()", "(q (r 1))", "(= (f $y) $y)", "7"];
    texts.map(atom).into()
}

fn watched(serial: u64, terms: &SharedTerms, log: &ChangeLog) -> SpaceRef {
    let space = SpaceRef::counting(serial, "s", SharedTerms::clone(terms), log.clone(), |atom| {
        usize::from(atom.head().is_some_and(|head| head.is_symbol("=")))
    });
    space.keep_hash();
    space
}

/// The atoms with their variables numbered anew, the hash, and what the log has kept.
fn state(space: &SpaceRef, log: &ChangeLog) -> (Vec<String>, Option<u128>, Vec<String>, [u64; 4]) {
    let atoms = space.atoms(&mut VariableSource::default()).iter().map(Atom::to_string).collect();
    let noted = log.take().changes.into_iter().map(|change| match change.kind {
        ChangeKind::Added { atom, .. } => format!("+ {atom}"),
        ChangeKind::Removed { atom, number, .. } => format!("- {atom} {number}"),
        ChangeKind::Set { .. } => unreachable!("no state is set"),
    });
    (atoms, space.read(space::Space::hash), noted.collect(), space.changes())
}

#[test]
fn many_at_once_come_to_what_one_by_one_does() {
    let (terms, log) = (Terms::shared(), ChangeLog::default());
    log.keep(Keeps::Changes);
    let (single, many) = (watched(1, &terms, &log), watched(2, &terms, &log));
    mixed().iter().for_each(|atom| single.add(atom));
    let expected = state(&single, &log);
    assert_eq!(many.add_many(&mixed()), mixed().len());
    assert_eq!(state(&many, &log), expected);

    let gone = ["(edge a 1)", "nothing", "(= (f $z) $z)", "(edge a 1)", "(edge a 1)", "7.0"].map(atom);
    let removed = gone.iter().filter(|atom| single.remove(atom)).count();
    let expected = state(&single, &log);
    assert_eq!(many.remove_many(&gone), removed);
    assert_eq!(removed, 5);
    assert_eq!(state(&many, &log), expected);
}

#[test]
fn rows_of_terms_come_to_what_their_atoms_do() {
    let (terms, log) = (Terms::shared(), ChangeLog::default());
    log.keep(Keeps::Changes);
    let (single, many) = (watched(1, &terms, &log), watched(2, &terms, &log));
    for text in ["(edge a 1)", "(edge (q b 2.0) \"x\")", "(edge a 1)", "()", "(= (f $x) $x)"] {
        single.add(&atom(text));
    }
    let (atoms, hash, noted, _) = state(&single, &log);
    let before = many.changes();
    many.append(|appender| {
        appender.reserve(3, 3);
        let (edge, a, one) = (appender.symbol("edge"), appender.symbol("a"), appender.leaf(&atom("1")));
        appender.row(&[edge, a, one]);
        let parts = [appender.symbol("q"), appender.symbol("b"), appender.leaf(&atom("2.0"))];
        let (compound, text) = (appender.expression(&parts), appender.leaf(&atom("\"x\"")));
        appender.row(&[edge, compound, text]);
        appender.row(&[edge, a, one]);
        appender.row(&[]);
        appender.atom(&atom("(= (f $x) $x)"));
    });
    let (found, found_hash, found_noted, after) = state(&many, &log);
    assert_eq!((found, found_hash, found_noted), (atoms, hash, noted));
    assert!(before.iter().zip(after).all(|(before, after)| *before < after), "whatever was derived is looked at again");
}
