//! The answers of a query as a table: what the solutions say, cell by cell.

use crate::atoms::{Base, atom};
use crate::generated::{config, holes, stored, with_holes};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use space::{AnswerTable, Atom, Solution};

/// A table that is made of solutions, and that of a snapshot, if rows alone answer the query.
fn tables(base: &mut Base, query: &str) -> (AnswerTable, Option<AnswerTable>) {
    let query = atom(query);
    let solutions = base.solutions(&query);
    (AnswerTable::of_solutions(&query, &solutions), base.space.snapshot().query_table(&query))
}

fn shown(table: &AnswerTable) -> Vec<Vec<String>> {
    (0..table.row_count).map(|place| table.row(place).iter().map(ToString::to_string).collect()).collect()
}

fn names(table: &AnswerTable) -> Vec<&str> {
    table.variables.iter().map(|variable| variable.name().as_str()).collect()
}

#[test]
fn rows_and_solutions_make_the_same_table() {
    let mut base =
        Base::of(&["(e 1 2)", "(e 2 3)", "(e 2 4)", "(e 3 3)", "(e 2 3)", "(w 3 (deep 7))", "(w 4 (deep 8))"]);
    for (query, rows) in [
        ("(e $a $b)", 5),
        ("(e 2 $b)", 3),
        ("(e $a $a)", 1),
        ("(e 2 3)", 2),
        ("(e 9 $b)", 0),
        ("(, (e $a $b) (w $b (deep $c)))", 4),
        ("(, (e $a $b) (w $b $c))", 4),
        ("(, (e 2 3) (e 3 3))", 2),
    ] {
        let (of_solutions, of_rows) = tables(&mut base, query);
        assert_eq!(of_solutions.row_count, rows, "{query}");
        assert_eq!(of_rows, Some(of_solutions), "{query}");
    }
}

#[test]
fn columns_follow_the_variables_as_they_first_occur() {
    let mut base = Base::of(&["(e 1 2)", "(e 3 4)"]);
    let (table, _) = tables(&mut base, "(, (e $second $first) (e $second $first))");
    assert_eq!(names(&table), ["second", "first"]);
    assert_eq!(shown(&table), [["1", "2"], ["3", "4"]]);
    let column = |place: usize| table.column(place).map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!((column(0), column(1)), (vec!["1".to_owned(), "3".to_owned()], vec!["2".to_owned(), "4".to_owned()]));
}

#[test]
fn a_query_without_variables_has_rows_without_cells() {
    let mut base = Base::of(&["(fact)", "(fact)", "(other)"]);
    let (table, of_rows) = tables(&mut base, "(fact)");
    assert_eq!((table.row_count, table.variables.len(), table.cells.len()), (2, 0, 0));
    assert_eq!(table.row(1), &[] as &[Atom]);
    assert_eq!(table.column(0).count(), 0);
    assert!(of_rows.is_none_or(|found| found == table));
}

#[test]
#[should_panic(expected = "there are 1 answers")]
fn an_answer_that_is_not_there_is_no_row() {
    let mut base = Base::of(&["(fact 1)"]);
    tables(&mut base, "(fact $x)").0.row(1);
}

/// An atom with variables answers by unification, and leaves open what it says nothing of.
#[test]
fn what_an_answer_leaves_open_is_the_variable() {
    let mut base = Base::of(&["(p 1 2)", "(p $any rest)"]);
    let (table, of_rows) = tables(&mut base, "(p $x $y)");
    assert_eq!(of_rows, None, "rows do not answer it");
    assert_eq!(names(&table), ["x", "y"]);
    assert_eq!(table.row(0).iter().map(ToString::to_string).collect::<Vec<_>>(), ["1", "2"]);
    assert!(matches!(table.row(1)[0], Atom::Variable(_)));
    assert_eq!(table.row(1)[1].to_string(), "rest");
    let nothing_bound: Solution = Solution::new();
    let open = AnswerTable::of_solutions(&atom("(q $x)"), &[nothing_bound]);
    assert_eq!(shown(&open), [["$x"]]);
}

#[test]
fn a_table_stays_as_it_was() {
    let base = Base::new();
    (0..200).for_each(|number| base.add(&format!("(n {number} text{number})")));
    let snapshot = base.space.snapshot();
    let before = snapshot.query_table(&atom("(n $x $y)")).expect("rows answer it");
    for number in 0..200 {
        assert!(base.remove(&format!("(n {number} text{number})")));
    }
    assert_eq!(snapshot.query_table(&atom("(n $x $y)")), Some(before.clone()));
    assert_eq!(base.space.snapshot().query_table(&atom("(n $x $y)")).expect("rows answer it").row_count, 0);
    drop((base, snapshot));
    assert_eq!(before.row(199)[1].to_string(), "text199");
}

proptest! {
    #![proptest_config(config(60))]

    /// Whatever rows answer, they answer as unification does.
    #[test]
    fn generated_queries_have_one_table(trees in vec(stored(), 1..40), asked in vec((any::<Index>(), holes()), 10)) {
        let mut base = Base::new();
        trees.iter().for_each(|tree| base.space.add(&tree.to_atom()));
        for (index, holes) in asked {
            let query = with_holes(index.get(&trees), &holes).to_atom();
            let table = AnswerTable::of_solutions(&query, &base.solutions(&query));
            if let Some(found) = base.space.snapshot().query_table(&query) {
                prop_assert_eq!(found, table);
            }
        }
    }
}
