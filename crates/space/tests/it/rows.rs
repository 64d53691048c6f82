//! Queries answered as rows find what queries answered as atoms find, in the same order; rows that are added without an
//! atom are atoms like any other.

use crate::atoms::atom;
use crate::plans::Planned;
use space::{
    Atom, Change, ChangeDetail, ChangeLog, SharedSpace, SharedTerms, Solution, Terms, VariableSource, canonical,
};

fn by_rows(space: &SharedSpace, terms: &SharedTerms, query: &Atom) -> Option<Vec<Solution>> {
    Planned::new(query, terms).execute(space, terms)
}

/// A space that imports another, with repeated, nested and mixed rows, some of them removed again.
fn graph(terms: &SharedTerms) -> SharedSpace {
    let space = SharedSpace::new(2, "graph", SharedTerms::clone(terms));
    let library = SharedSpace::new(1, "library", SharedTerms::clone(terms));
    for (step, text) in ["(edge 1 2)", "(: a A)", "(edge 2 1.0)"].iter().cycle().take(6).enumerate() {
        library.add(&atom(&text.replace('2', &(2 + step % 2).to_string())));
    }
    for from in 0..12_u32 {
        for to in (0..12).filter(|to| (from * 5 + to * 3) % 4 == 0) {
            space.add(&atom(&format!("(edge {from} {to})")));
        }
        space.add(&atom(&format!("(node (pair {from} {}) {from}.0)", from % 3)));
        space.add(&atom("(edge 3 3)"));
    }
    for from in (0..12).step_by(4) {
        assert!(space.remove(&atom(&format!("(edge {from} 0)"))));
    }
    space.add(&atom("(edge 0 0)"));
    space.import(&library);
    space
}

const QUERIES: &[&str] = &[
    "(edge $x $y)",
    "(edge 3 $y)",
    "(edge $x $x)",
    "(edge 3 3)",
    "(edge 3.0 $y)",
    "($r 1 $y)",
    "(edge nowhere $y)",
    "(node (pair $x 1) $y)",
    "(node (pair $x $x) $y)",
    "(node $p $x)",
    "(node ($f 4 $z) $x)",
    "(, (edge $x $y) (edge $y $z) (edge $z $x))",
    "(, (edge $x $y) (edge $y $x))",
    "(, (node (pair $x $k) $n) (edge $n $z))",
    "(, (edge 3 3) (edge $x 1))",
    "(, (edge $x $y) (nothing $y $z))",
    "(edge 3 3)",
    "(edge 3.0 4)",
    "()",
    "(,)",
    "(, (edge 3 3))",
    "(, (edge 1 $a) (: $b $c) (: $d $e) (: $f $g) (: $h $i) (edge $a $j))",
];

#[test]
fn rows_are_what_a_query_finds_in_its_order() {
    let terms = Terms::shared();
    let space = graph(&terms);
    let mut found = 0;
    let own = space.fork(3, "own");
    for text in QUERIES {
        let query = atom(text);
        let expected = space.query_atoms(&query, &mut VariableSource::default());
        let own_expected = own.query_atoms(&query, &mut VariableSource::default());
        for (asked, expected) in [
            (space.query(&query, &mut VariableSource::default()), &expected),
            (own.query(&query, &mut VariableSource::default()), &own_expected),
            (space.snapshot().query(&query, &mut VariableSource::default()), &expected),
            (own.snapshot().query(&query, &mut VariableSource::default()), &own_expected),
            (space.snapshot().cursor(&query, &mut VariableSource::default()).collect(), &expected),
        ] {
            assert_eq!(format!("{asked:?}"), format!("{expected:?}"), "{text}");
        }
        let cursor = || space.snapshot().cursor(&query, &mut VariableSource::default());
        for taken in [0, 1, 17, 1000] {
            let mut cursor = cursor();
            let begun = cursor.by_ref().take(taken).count();
            assert_eq!(begun + cursor.count(), expected.len(), "{text}");
        }
        if *text == "(,)" {
            continue;
        }
        let rows = by_rows(&space, &terms, &query).unwrap_or_else(|| panic!("{text} has rows only"));
        assert_eq!(format!("{rows:?}"), format!("{expected:?}"), "{text}");
        found += rows.len();
    }
    assert!(found > 100, "{found} answers");
}

#[test]
fn a_query_whose_head_is_a_variable_is_answered_as_rows_beside_rules_of_its_length() {
    let terms = Terms::shared();
    let space = graph(&terms);
    for rule in ["(= (path $x $y) (edge $x $y))", "(: pair (-> $a $b))", "(= (same $x) ($x edge $x))"] {
        space.add(&atom(rule));
    }
    for text in ["($r 1 $y)", "($r $x 3)", "(, ($r 1 $y) ($r $y 3))"] {
        let query = atom(text);
        let rows = by_rows(&space, &terms, &query).unwrap_or_else(|| panic!("{text} has rows only"));
        let expected = space.query_atoms(&query, &mut VariableSource::default());
        assert_eq!(format!("{rows:?}"), format!("{expected:?}"), "{text}");
    }
    for text in ["($r (path $x $y) $z)", "($r $x (edge $y $z))", "($r pair $y)"] {
        assert!(by_rows(&space, &terms, &atom(text)).is_none(), "{text}");
    }
    space.add(&atom("(tagged $x 3)"));
    assert!(by_rows(&space, &terms, &atom("($r 1 3)")).is_none());
    assert!(by_rows(&space, &terms, &atom("($r 1 4)")).is_some());
}

#[test]
fn a_conjunction_of_which_a_later_pattern_is_open_finds_what_atoms_find() {
    let terms = Terms::shared();
    let space = graph(&terms);
    for (place, text) in ["(gap $a $b (_ $a $b))", "(gap $a $b ($a _ $b))", "(gap $a $b ($a $b _))"].iter().enumerate()
    {
        space.add(&atom(text));
        if place > 0 {
            space.add(&atom(text));
        }
    }
    for text in [
        "(, (edge $x $y) (edge $y $z) (gap $x $z $row))",
        "(, (edge $x $y) (edge $y $x) (gap $x $y $row) (edge $y 3))",
        "(, (edge 3 $y) (edge $y $z) (gap $free $z $row))",
        "(, (edge nowhere $y) (edge $y $z) (gap $x $z $row))",
        "(, (edge $x $y) (edge $y $z) (gap $x))",
    ] {
        let query = atom(text);
        let found = space.query(&query, &mut VariableSource::default());
        let expected = space.query_atoms(&query, &mut VariableSource::default());
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{text}");
        assert_eq!(found.is_empty(), text.contains("nowhere") || text.contains("(gap $x)"), "{text}");
    }
}

#[test]
fn a_query_that_something_open_may_match_is_not_answered_as_rows() {
    let terms = Terms::shared();
    let space = graph(&terms);
    space.add(&atom("(edge $a 7)"));
    assert!(by_rows(&space, &terms, &atom("(edge 1 $x)")).is_none());
    assert!(by_rows(&space, &terms, &atom("(, (node $p $x) (edge 1 $x))")).is_none());
    assert!(by_rows(&space, &terms, &atom("(node $p $x)")).is_some());
    assert!(by_rows(&space, &terms, &atom("$x")).is_none());
    assert!(space.remove(&atom("(edge $a 7)")));
    assert!(by_rows(&space, &terms, &atom("(edge 1 $x)")).is_some());
}

#[test]
fn a_row_that_is_added_is_an_atom_that_is_added() {
    let (terms, log) = (Terms::shared(), ChangeLog::default());
    log.keep(ChangeDetail::Changes);
    let by_atom = SharedSpace::watched(1, "atoms", SharedTerms::clone(&terms), log.clone());
    let by_row = SharedSpace::watched(2, "rows", SharedTerms::clone(&terms), log.clone());
    by_atom.keep_hash();
    by_row.keep_hash();
    let added = ["(p 1 (q 2.0))", "(p 1 (q 2.0))", "(r)", "(p 1 (q 2))"].map(atom);
    for added in &added {
        by_atom.add(added);
        let children = added.children().expect("it is an expression");
        let intern = |terms: &mut Terms, row: &mut Vec<space::Term>| {
            row.clear();
            row.extend(children.iter().map(|child| terms.intern(child)));
            true
        };
        assert!(by_row.add_row(0, &mut Vec::new(), intern));
    }
    assert!(!by_row.add_row(0, &mut Vec::new(), |_, _| false));
    let source = &mut VariableSource::default();
    assert_eq!(by_row.atoms(source), by_atom.atoms(source));
    assert_eq!(by_row.read(space::Space::hash), by_atom.read(space::Space::hash));
    assert_eq!(by_row.changes(), by_atom.changes());
    let mut noted: Vec<(u64, Vec<u8>)> = Vec::new();
    let walked = log.take().each(|change| {
        let Change::Row(delta) = change else { panic!("no state is set") };
        let mut bytes = Vec::new();
        delta.row.encode_into(delta.terms, &mut bytes, |_| {});
        noted.push((delta.space.serial(), bytes));
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(()) = walked;
    for (pair, added) in noted.chunks(2).zip(&added) {
        assert_eq!(pair, [(1, canonical::encode(added)), (2, canonical::encode(added))]);
    }
    assert_eq!(noted.len(), 2 * added.len());
}
