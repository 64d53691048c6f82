//! What a query returned stays as it was, whatever happens to the space afterwards, and whoever asks beside it.

use crate::atoms::{Base, atom, expression};
use space::{Atom, SharedSpace, Solution, Terms, VariableSource};
use std::thread;

fn rows(count: usize) -> Base {
    let base = Base::new();
    (0..count).for_each(|number| base.add(&format!("(row {number} (part {number}))")));
    base
}

fn printed(solutions: &[Solution]) -> Vec<String> {
    solutions.iter().map(|solution| format!("{solution:?}")).collect()
}

#[test]
fn later_additions_and_removals_change_no_result() {
    let mut base = rows(100);
    base.add("(row any $x)");
    let query = atom("(row $n $part)");
    let found = base.solutions(&query);
    let atoms = base.space.atoms(&mut base.source);
    let (before, all) = (printed(&found), format!("{atoms:?}"));
    for number in 0..100 {
        assert!(base.remove(&format!("(row {number} (part {number}))")));
        base.add(&format!("(row {} new)", number + 1_000));
    }
    assert!(base.remove("(row any $x)"));
    assert_eq!(printed(&found), before);
    assert_eq!(format!("{atoms:?}"), all);
    base.space.clear();
    drop(base);
    assert_eq!(printed(&found), before, "results outlive the space");
}

/// A program that adds to the space what it finds there finds what was there when it asked.
#[test]
fn a_walk_over_the_results_may_change_the_space() {
    let mut base = rows(50);
    for solution in base.solutions(&atom("(row $n $part)")) {
        let row = expression([Atom::symbol("row"), solution[0].1.clone(), solution[1].1.clone()]);
        assert!(base.space.remove(&row));
        base.space.add(&expression([Atom::symbol("row"), row, Atom::symbol("again")]));
    }
    assert_eq!(base.space.len(), 50);
    assert_eq!(base.answers("(row (row $n (part $n)) again)", "$n").len(), 50);
}

#[test]
fn answers_come_in_the_order_of_insertion_after_any_removals() {
    let mut base = rows(300);
    for number in (0..300).filter(|number| number % 3 != 1) {
        assert!(base.remove(&format!("(row {number} (part {number}))")));
    }
    base.add("(row 0 (part 0))");
    let expected: Vec<String> = (0..300).filter(|number| number % 3 == 1).chain([0]).map(|n| n.to_string()).collect();
    assert_eq!(base.answers("(row $n $part)", "$n"), expected);
    assert_eq!(base.answers("(row $n (part $n))", "$n"), expected);
    assert_eq!(base.answers("(row $n (part 100))", "$n"), ["100"]);
}

/// Facts and rules are kept apart and answer together, by age.
#[test]
fn facts_and_rules_answer_in_one_order() {
    let mut base = Base::of(&["(p 1)", "(p $x)", "(p 2)", "s", "(p 1)", "(p (f $y))", "(p 3)"]);
    assert_eq!(base.answers("(p $v)", "$v"), ["1", "1", "$_0", "2", "(f $_0)", "3"]);
    assert_eq!(base.contents(), ["(p 1)", "(p 1)", "(p $_0)", "(p 2)", "s", "(p (f $_0))", "(p 3)"]);
    assert_eq!(base.answers("$v", "$v").len(), 7);
}

/// Every query hands out variables that occur nowhere else.
#[test]
fn variables_of_stored_atoms_come_back_fresh_each_time() {
    let mut base = Base::of(&["(rule $x $y $x)"]);
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..3 {
        let found = base.solutions(&atom("(rule (f $x) $b $c)"));
        assert_eq!(format!("{:?}", found[0].last()), "Some(($c, (f $x)))");
        seen.extend(base.solutions(&atom("$all")).iter().map(|solution| solution[0].1.to_string()));
    }
    seen.extend(base.space.atoms(&mut base.source).iter().map(Atom::to_string));
    let mut different = seen.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), seen.len(), "{seen:?}");
}

#[test]
fn a_variable_of_the_query_is_not_the_stored_one_of_the_same_name() {
    let mut base = Base::of(&["(f $x (g $x))"]);
    assert_eq!(base.answers("(f (h $x) $y)", "$y"), ["(g (h $_0))"]);
    assert_eq!(base.answers("(f $y $y)", "$y"), [""; 0], "it would be inside itself");
    assert_eq!(base.answers("(f $x $x)", "$x"), [""; 0]);
}

#[test]
fn a_query_leaves_out_variables_it_learned_nothing_of() {
    let mut base = Base::of(&["(p $any 1)"]);
    let found = base.solutions(&atom("(p $x $y)"));
    assert_eq!(format!("{found:?}"), "[[($y, 1)]]");
}

/// Many threads ask one space at once, which makes its indexes meanwhile: all get the answers of one.
#[test]
fn threads_that_ask_together_get_the_same_answers() {
    let base = rows(2_000);
    base.add("(row any $x)");
    let queries = ["(row $n (part 7))", "(row 1999 $p)", "(row $n (part $n))", "(row any $x)", "(row $n $p)"];
    let ask = |space: &SharedSpace| -> Vec<usize> {
        let mut source = VariableSource::default();
        queries.iter().map(|query| space.query(&atom(query), &mut source).len()).collect()
    };
    let together: Vec<Vec<usize>> = thread::scope(|scope| {
        let started: Vec<_> = (0..8).map(|_| scope.spawn(|| ask(&base.space))).collect();
        started.into_iter().map(|thread| thread.join().expect("no query panics")).collect()
    });
    let alone = ask(&base.space);
    assert_eq!(alone, [2, 1, 2_001, 1, 2_001]);
    assert!(together.iter().all(|answers| *answers == alone), "{together:?}");
}

/// Writers and readers of one space take turns; nothing is lost.
#[test]
fn threads_that_add_and_remove_together_lose_nothing() {
    let space = SharedSpace::new(1, "&s", Terms::shared());
    thread::scope(|scope| {
        for writer in 0..4 {
            let space = &space;
            scope.spawn(move || {
                for number in 0..500 {
                    space.add(&atom(&format!("(fact {writer} {number})")));
                    space.add(&atom(&format!("(rule {writer} {number} $x)")));
                    let mut source = VariableSource::default();
                    assert_eq!(space.query(&atom(&format!("(fact {writer} $n)")), &mut source).len(), number + 1);
                    assert!(space.remove(&atom(&format!("(rule {writer} {number} $y)"))));
                }
            });
        }
    });
    assert_eq!(space.len(), 2_000);
    assert_eq!(space.query(&atom("(fact $w $n)"), &mut VariableSource::default()).len(), 2_000);
}
