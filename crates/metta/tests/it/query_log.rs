//! Notes of how queries were answered.

use metta::{Evaluator, LoggedKind, LoggedQuery, MemoryWorld, Session};
use space::QueryWay;

const EDGES: &str = "(= (add-edges $n)
       (if (== $n 0)
           done
           (let $added
                (collapse (let $step (superpose (1 3 9 27)) (let $to (% (+ $n $step) 60) (add-atom &self (edge $n $to)))))
              (add-edges (- $n 1)))))
     !(add-edges 60)
     !(bind! &b (new-space))
     !(add-atom &b (color 8 red))\n";

/// What was noted of a program's queries that have a word in them, a line each: `QUERY: WAY TIMES ANSWERS; STEP EXPECTED FOUND; …`.
fn noted(program: &str, word: &str, evaluator: Evaluator) -> Vec<String> {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.set_evaluator(evaluator);
    session.log_queries();
    drop(session.run(&format!("{EDGES}{program}"), &mut |_, _| Ok(())));
    let log = session.query_log().expect("it was asked for");
    assert_eq!(log.left_out(), 0);
    log.queries().iter().filter(|query| query.query.to_string().contains(word)).flat_map(lines).collect()
}

fn lines(query: &LoggedQuery) -> Vec<String> {
    let ways = query.ways.iter().map(|way| {
        let name = match way.way {
            LoggedKind::Planned(QueryWay::LoopsAsWritten) => "as written",
            LoggedKind::Planned(QueryWay::LoopsReordered) => "reordered",
            LoggedKind::Planned(QueryWay::Join) => "join",
            LoggedKind::Planned(QueryWay::Unification) => "unification",
            LoggedKind::Code => "code",
        };
        let answers = way.answers.map_or("-".to_owned(), |answers| answers.to_string());
        let mut line = format!("{}: {name} {} {answers}", query.query, way.times);
        for step in &way.steps {
            let expected = step.expected.map_or("-".to_owned(), |expected| format!("{expected:.0}"));
            let found = step.found.map_or("-".to_owned(), |found| found.to_string());
            line += &format!("; {} {expected} {found}", step.of);
        }
        line
    });
    ways.collect()
}

#[test]
fn each_query_is_noted_with_its_ways_and_their_steps() {
    let machine = |program: &str| noted(program, "edge", Evaluator::Machine);
    assert_eq!(
        machine("(= (next $a) (match &self (edge $a $y) $y))\n!(next 7)\n!(next (next 7))"),
        ["(edge $a $y): as written 6 24; (edge $a $y) - 24"]
    );
    let cycles = "(, (edge $x $y) (edge $y $z) (edge $z $w) (edge $w $x))";
    let found = machine(&format!("!(let $found (collapse (match &self {cycles} ($x $y))) (size-atom $found))"));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(&format!("{cycles}: join 1 336; $")), "{found:?}");
    assert!(found[0].ends_with(" 336"), "{found:?}");
    assert_eq!(
        machine("!(collapse (match &self (edge 7 $y) (match &b (color $y $c) ($y $c))))"),
        ["(, (edge 7 $y) (color $y $c)): as written 1 1; (edge 7 $y) - 4; (color $y $c) - 1"]
    );
    assert_eq!(
        machine("!(once (match &self (edge $x $y) (found $y)))"),
        ["(edge $x $y): as written 1 1; (edge $x $y) - -"]
    );
}

#[test]
fn what_atoms_with_variables_answer_is_noted_as_such() {
    let program = "(edge $any 61)\n!(match &self (edge 7 $y) $y)\n!(match &self (, (edge 7 $y) (edge $y 61)) $y)";
    let found = noted(program, "edge", Evaluator::Machine);
    let of = |query: &str| found.iter().find(|line| line.starts_with(query)).expect("it is noted").clone();
    assert!(
        of("(edge 7 $y): ").contains(": code 1 -") || of("(edge 7 $y): ").contains(": unification 1 5"),
        "{found:?}"
    );
    assert_eq!(of("(, (edge"), "(, (edge 7 $y) (edge $y 61)): unification 1 5");
}

#[test]
fn the_interpreter_notes_what_it_asks_with_its_values() {
    let program = "(= (next $x) (match &self (edge $x $y) $y))\n!(next 7)\n!(next 8)";
    let found = noted(program, "edge 7", Evaluator::Interpreter);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("(edge 7 $y"), "{found:?}");
    assert!(found[0].contains(": as written 1 4; "), "{found:?}");
}

#[test]
fn nothing_is_noted_unless_it_is_asked_for() {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    drop(session.run(&format!("{EDGES}!(match &self (edge 7 $y) $y)"), &mut |_, _| Ok(())));
    assert!(session.query_log().is_none());
}

/// What is believed of a key: one interval is found and tested, of the two thousand that there are.
#[test]
fn what_was_believed_of_a_key_is_found_among_the_intervals_of_the_key() {
    let facts: String = (0..2_000).map(|n| format!("(valid (lives p{n} t{n}) {n} forever)\n")).collect();
    let program = format!("!(import! &self valid-time)\n{facts}!(believed-at &self (lives p7 $town) $town 9)");
    let found = noted(&program, "(valid ", Evaluator::Machine);
    assert_eq!(found, ["(valid $a $from $to): as written 1 1; (valid $a $from $to) - 1"]);
}
