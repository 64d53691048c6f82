//! Tabling: against a plain transitive closure, against the same program untabled, one evaluator against the other, and after
//! every kind of change.

use crate::harness::{line_of, on_stack, unnumbered};
use generate::Dice;
use metta::{Evaluator, LimitReached, Limits, MemoryWorld, RunEnd, Session, Statistics};
use std::collections::BTreeSet;

/// What a run of a program printed, how it ended and what was counted.
struct Ran {
    answers: Vec<String>,
    end: RunEnd,
    counts: Statistics,
}

/// A program's session and its evaluator, for several texts one after the other.
struct Program(Session);

impl Program {
    fn new(evaluator: Evaluator) -> Self {
        Self::with_world(evaluator, MemoryWorld::default())
    }

    fn with_world(evaluator: Evaluator, world: MemoryWorld) -> Self {
        let mut session = Session::new(Box::new(world));
        session.set_evaluator(evaluator);
        Self(session)
    }

    fn run(&mut self, text: &str) -> Ran {
        let mut answers = Vec::new();
        let run = self.0.run(text, &mut |_, answer| {
            answers.push(unnumbered(&line_of(answer)));
            Ok(())
        });
        Ran { answers, end: run.end, counts: self.0.statistics() }
    }
}

const EVALUATORS: [Evaluator; 2] = [Evaluator::Machine, Evaluator::Interpreter];

/// The answers of a text, the same from both evaluators, and how many evaluations filled tables.
#[track_caller]
fn both(text: &str) -> (Vec<String>, u64) {
    let [machine, interpreter] = EVALUATORS.map(|evaluator| Program::new(evaluator).run(text));
    assert_eq!(machine.answers, interpreter.answers, "{text}");
    assert_eq!(machine.counts.tabled, interpreter.counts.tabled, "{text}");
    assert_eq!(machine.counts.answers, interpreter.counts.answers, "{text}");
    (machine.answers, machine.counts.tabled)
}

/// The last answer of a text, as a set of results that hold no comma.
fn last_set(answers: &[String]) -> BTreeSet<String> {
    let last = answers.last().expect("there is an answer");
    let inside = last.trim_start_matches('[').trim_end_matches(']');
    inside.split(", ").filter(|result| !result.is_empty()).map(str::to_owned).collect()
}

type Edges = BTreeSet<(usize, usize)>;

fn facts(edges: &Edges) -> String {
    edges.iter().map(|(from, to)| format!("(edge {from} {to})\n")).collect()
}

/// The plain oracle: all pairs that a path of one edge or more joins.
fn closure(edges: &Edges) -> Edges {
    let mut paths = edges.clone();
    loop {
        let longer = paths.iter().flat_map(|&(from, middle)| {
            edges.iter().filter(move |edge| edge.0 == middle).map(move |&(_, to)| (from, to))
        });
        let all: Edges = paths.iter().copied().chain(longer).collect();
        if all == paths {
            return paths;
        }
        paths = all;
    }
}

fn reached(edges: &Edges, from: usize) -> BTreeSet<String> {
    closure(edges).iter().filter(|pair| pair.0 == from).map(|pair| pair.1.to_string()).collect()
}

fn random_graph(dice: &mut Dice, nodes: usize, edges: usize, is_acyclic: bool) -> Edges {
    let edge = |dice: &mut Dice| (dice.below(nodes), dice.below(nodes));
    let found = (0..edges).map(|_| edge(dice));
    found.filter(|(from, to)| !is_acyclic || from < to).collect()
}

const TABLES: &str = "!(pragma! table left) !(pragma! table right) !(pragma! table twice) !(pragma! table here)
    !(pragma! table there) !(pragma! table path) ";

/// Ways to walk a graph: to the left, to the right, twice, in turns, and with the end as an argument.
const RULES: &str = "
    (= (next $x) (match &self (edge $x $y) $y))
    (= (left $x) (next $x))
    (= (left $x) (let $y (left $x) (next $y)))
    (= (right $x) (next $x))
    (= (right $x) (right (next $x)))
    (= (twice $x) (next $x))
    (= (twice $x) (let $y (twice $x) (twice $y)))
    (= (here $x) (next $x))
    (= (here $x) (there $x))
    (= (there $x) (let $y (here $x) (next $y)))
    (= (path $x $y) (let $y (next $x) True))
    (= (path $x $z) (let True (path $x $y) (path $y $z)))
    ";

const WALKS: [&str; 4] = ["left", "right", "twice", "here"];

#[test]
fn walks_of_graphs_with_cycles_find_what_a_plain_closure_finds() {
    for seed in 0..40 {
        let mut dice = Dice::new(seed);
        let (nodes, count) = (2 + dice.below(7), 1 + dice.below(14));
        let edges = random_graph(&mut dice, nodes, count, false);
        let from = dice.below(nodes);
        for walk in WALKS {
            let (answers, _) = both(&format!("{TABLES}{}{RULES}!({walk} {from})", facts(&edges)));
            assert_eq!(last_set(&answers), reached(&edges, from), "seed {seed}: {walk} from {from} in {edges:?}");
        }
    }
}

#[test]
fn calls_with_unbound_variables_bind_them_in_each_answer() {
    for seed in 0..20 {
        let mut dice = Dice::new(seed);
        let edges = random_graph(&mut dice, 5, 7, false);
        let program = format!("{TABLES}{}{RULES}", facts(&edges));
        let pairs: BTreeSet<String> = closure(&edges).iter().map(|(from, to)| format!("({from} {to})")).collect();
        let (answers, _) = both(&format!("{program}!(let True (path $x $y) ($x $y))"));
        assert_eq!(last_set(&answers), pairs, "seed {seed}: {edges:?}");
        let rounds: BTreeSet<String> =
            closure(&edges).iter().filter(|(from, to)| from == to).map(|(from, _)| from.to_string()).collect();
        let (answers, _) = both(&format!("{program}!(let True (path $x $x) $x)"));
        assert_eq!(last_set(&answers), rounds, "seed {seed}: {edges:?}");
    }
}

#[test]
fn without_cycles_tables_change_nothing_but_copies() {
    for seed in 100..130 {
        let mut dice = Dice::new(seed);
        let edges = random_graph(&mut dice, 7, 14, true);
        for goal in ["(right 0)", "(right 1)", "(right (right 0))", "(pair (right 0) (right 2))"] {
            let program = format!("{}{RULES}!{goal}", facts(&edges));
            let (tabled, _) = both(&format!("{TABLES}{program}"));
            let (plain, rounds) = both(&program);
            assert_eq!((last_set(&tabled), rounds), (last_set(&plain), 0), "seed {seed}: {goal} in {edges:?}");
        }
    }
}

/// Shapes of strongly connected components.
#[test]
fn components_are_complete_with_their_leaders() {
    let shapes: [&[(usize, usize)]; 7] = [
        &[(0, 0)],
        &[(0, 1), (1, 0)],
        &[(0, 1), (1, 2), (2, 1), (2, 0), (2, 3)],
        &[(0, 1), (1, 2), (2, 3), (3, 1), (2, 4), (4, 5), (5, 4)],
        &[(0, 1), (1, 0), (0, 2), (2, 0), (1, 3), (3, 4), (4, 3), (4, 0)],
        &[(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (4, 5), (5, 3), (5, 1)],
        &[(0, 5), (5, 4), (4, 3), (3, 2), (2, 1), (1, 0), (3, 0), (1, 5)],
    ];
    for shape in shapes {
        let edges: Edges = shape.iter().copied().collect();
        for walk in WALKS {
            let goals: String = (0..6).map(|from| format!("!({walk} {from})\n")).collect();
            let (answers, _) = both(&format!("{TABLES}{}{RULES}{goals}", facts(&edges)));
            for from in 0..6 {
                let found = last_set(&answers[..answers.len() - 5 + from]);
                assert_eq!(found, reached(&edges, from), "{walk} from {from} in {edges:?}");
            }
        }
    }
}

/// Without components that are complete as a whole, each node of a ladder would double the work of the next.
#[test]
fn a_ladder_of_cycles_takes_rounds_in_proportion() {
    let rounds = |height: usize| {
        let edges = (0..height).flat_map(|step| [(step, step + 1), (step + 1, step)]).collect();
        let (answers, rounds) = both(&format!("{TABLES}{}{RULES}!(right 0)", facts(&edges)));
        assert_eq!(last_set(&answers).len(), height + 1);
        rounds
    };
    let (small, large) = (rounds(6), rounds(24));
    assert!(large <= 24 * 24 * 2 && large > small, "{small} rounds for 6 steps, {large} for 24");
}

#[test]
fn a_call_is_evaluated_once() {
    let fib = "!(pragma! table fib) (= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2))))) ";
    let (answers, rounds) = both(&format!("{fib} !(fib 80)"));
    assert_eq!((answers[1].as_str(), rounds), ("[23416728348467685]", 81));
    let (_, rounds) = both(&format!("(: fib (-> Number Number)) {fib} !(fib 30) !(fib 40) !(fib 20)"));
    assert_eq!(rounds, 41, "what is complete is read, by later forms too");
    let left = format!("{TABLES}{}{RULES}!(left 0)", facts(&(0..40).map(|node| (node, (node + 1) % 40)).collect()));
    assert_eq!(both(&left).1, 1, "a reader that stays on needs no second round");
}

#[test]
fn without_tables_nothing_is_remembered() {
    let fib = "(= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2))))) ";
    let calls = |text: &str| {
        let mut session = Program::new(Evaluator::Machine);
        session.0.memoise(false);
        let ran = session.run(text);
        (ran.counts.calls, ran.counts.tabled)
    };
    assert_eq!(calls(&format!("{fib} !(fib 15)")), (1973, 0));
    assert_eq!(calls(&format!("!(pragma! table other) {fib} !(fib 15)")), (1973, 0));
    let (calls, tabled) = calls(&format!("!(pragma! table fib) !(pragma! untable fib) {fib} !(fib 15)"));
    assert_eq!((calls, tabled), (1973, 0));
}

/// After every kind of change the next call says what is true then.
#[test]
fn no_change_leaves_a_stale_answer() {
    let head = "!(pragma! table f) (a 1) (= (f) (match &self (a $x) $x)) ";
    let cases: [(&str, &[&str]); 10] = [
        ("!(f) (a 2) !(f)", &["[1]", "[1, 2]"]),
        ("!(f) !(remove-atom &self (a 1)) !(f)", &["[1]", "[()]", "[]"]),
        ("!(f) (= (f) new) !(f) !(remove-atom &self (= (f) new)) !(f)", &["[1]", "[1, new]", "[()]", "[1]"]),
        ("(= (f) word) (: f (-> Number)) !(f) (: word String) !(f)", &["[1, word]", "[1]"]),
        (
            "!(bind! &s (new-state 1)) (= (f) (in (get-state &s))) !(f) !(change-state! &s 2) !(f)",
            &["[()]", "[1, (in 1)]", "[(State 2)]", "[1, (in 2)]"],
        ),
        (
            "!(bind! &k (new-space)) (= (f) (match &k (b $x) $x)) !(f) !(add-atom &k (b 7)) !(f)",
            &["[()]", "[1]", "[()]", "[1, 7]"],
        ),
        ("!(f) !(import! &self m) !(f)", &["[1]", "[()]", "[1, 5]"]),
        (
            "!(f) !(transaction (let () (add-atom &self (a 2)) (Error (f) no-more))) !(f)",
            &["[1]", "[(Error (f) no-more)]"],
        ),
        (
            "!(f) !(case (transaction (let () (add-atom &self (a 2)) (let $all (collapse (f)) (Error $all no)))) (((Error $all $why) $all))) !(f)",
            &["[1]", "[(1 2)]", "[1]"],
        ),
        ("!(let $before (f) (let () (add-atom &self (a 2)) ($before (f))))", &["[(1 1), (1 2)]"]),
    ];
    for (text, expected) in cases {
        for evaluator in EVALUATORS {
            let world = MemoryWorld::default().with_source("m.metta", "(a 5)");
            let ran = Program::with_world(evaluator, world).run(&format!("{head}{text}"));
            assert_eq!(ran.answers[1..], *expected, "{evaluator:?}: {text}");
        }
    }
}

/// A state of a transaction that was undone gives its number to the next one.
#[test]
fn what_a_transaction_made_is_in_no_table_after_it() {
    let text = "!(pragma! table s) (= (s) (new-state 1))
        !(case (transaction (let $made (s) (Error x no))) (((Error $x $why) $why)))
        !(bind! &other (new-state other)) !(get-state (s))";
    assert_eq!(both(text).0, ["[()]", "[no]", "[()]", "[1]"]);
}

#[test]
fn the_setting_goes_with_its_transaction() {
    let fib = "(= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2))))) ";
    let undone = "!(case (transaction (let () (pragma! table fib) (Error x no))) (((Error $x $why) $why)))";
    assert_eq!(both(&format!("{fib}{undone} !(fib 10)")), (vec!["[no]".to_owned(), "[55]".to_owned()], 0));
}

#[test]
fn what_changes_while_a_table_is_filled_is_seen_afterwards() {
    let text = "!(pragma! table f) (a 1)
        (= (f) (match &self (a $x) $x))
        (= (f) (let () (add-atom &self (a 2)) (f)))
        !(f) !(f)";
    for evaluator in EVALUATORS {
        let ran = Program::new(evaluator).run(text);
        assert_eq!(ran.answers.last().map(String::as_str), Some("[1, 2]"), "{evaluator:?}: {:?}", ran.answers);
    }
}

#[test]
fn a_limit_leaves_no_half_of_a_table() {
    let edges: Edges = (0..30).map(|node| (node, (node + 1) % 30)).collect();
    let program = format!("{TABLES}{}{RULES}", facts(&edges));
    for evaluator in EVALUATORS {
        for steps in [20, 50, 100, 200, 400, 800, 1600] {
            let mut session = Program::new(evaluator);
            session.run(&program);
            session.0.limits_mut().steps_max = Some(steps);
            let _ = session.run("!(right 0)");
            session.0.limits_mut().steps_max = None;
            let after = session.run("!(right 3)");
            assert_eq!(last_set(&after.answers), reached(&edges, 3), "{evaluator:?} after {steps} steps");
        }
    }
}

#[test]
fn a_limit_of_an_imported_source_ends_its_own_tables_only() {
    let program =
        "!(pragma! table f) (a 1) (= (f $x) (match &self (a $y) $y)) (= (f $x) (let $y (f $x) (+ $y (load $x))))
        (= (load $x) (let () (import! &self m) 0)) !(f 1)";
    for evaluator in EVALUATORS {
        let world = MemoryWorld::default().with_source("m.metta", "(= (g $x) (h $x)) !(f 2)");
        let ran = Program::with_world(evaluator, world).run(program);
        assert_eq!(ran.answers.last().map(String::as_str), Some("[1]"), "{evaluator:?}");
    }
}

#[test]
fn tables_count_in_the_limit_of_the_heap() {
    let answers = "!(pragma! table up) (= (up) 0) (= (up) (let $n (up) (+ $n 1))) !(up)";
    let calls = "!(pragma! table up) (= (up $n) (up (S $n))) !(up Z)";
    for (evaluator, text) in EVALUATORS.into_iter().flat_map(|evaluator| [(evaluator, answers), (evaluator, calls)]) {
        let mut session = Program::new(evaluator);
        *session.0.limits_mut() = Limits { heap_bytes_max: Some(4 << 20), ..Limits::default() };
        let ran = session.run(text);
        assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Heap(bytes)) if bytes == 4 << 20), "{:?}", ran.end);
    }
}

#[test]
fn a_deep_recursion_takes_no_native_stack() {
    let answers = on_stack(256 << 10, || {
        let sum = "!(pragma! table sum) (= (sum $n) (if (== $n 0) 0 (+ $n (sum (- $n 1))))) !(sum 20000)";
        let all = "!(pragma! table all) (= (all) (superpose (1 2 3))) (= (all) (+ 3 (all))) !(let $x (all) (if (> $x 2000) (empty) $x))";
        let mut session = Program::new(Evaluator::Machine);
        session.0.limits_mut().steps_max = Some(100_000);
        (session.run(sum).answers, session.run(all).answers.len())
    });
    assert_eq!((answers.0[1].as_str(), answers.1), ("[200010000]", 2));
}

#[test]
fn what_is_no_name_of_a_function_cannot_be_tabled() {
    let refused = |text: &str| both(text).0.pop().expect("there is an answer");
    for key in ["table", "untable"] {
        let name = refused(&format!("!(pragma! {key} 5)"));
        assert_eq!(name, format!("[(Error (pragma! {key} 5) pragma! {key} expects the name of a function, a symbol)]"));
    }
    for name in ["let", "eval"] {
        assert!(refused(&format!("!(pragma! table {name})")).contains("is part of the library"), "{name}");
    }
    let (answers, rounds) = both("!(pragma! table data) !(data 1) !(data $x)");
    assert_eq!((answers[1..].to_vec(), rounds), (vec!["[(data 1)]".to_owned(), "[(data $x)]".to_owned()], 0));
}

/// What readers and calls in progress hold moves with the rest.
#[test]
fn garbage_is_collected_while_tables_are_filled() {
    let text = "(edge 1 2) (edge 2 1)
        (= (make $n $list) (if (== $n 0) $list (make (- $n 1) (Cons $n $list))))
        (= (length Nil) 0) (= (length (Cons $head $tail)) (length $tail))
        (= (waste) (let $list (make 1500000 Nil) (length $list)))
        !(pragma! table path)
        (= (path $x $y) (let 0 (waste) (match &self (edge $x $y) True)))
        (= (path $x $z) (let True (path $x $y) (let 0 (waste) (match &self (edge $y $z) True))))
        !(let True (path $a $b) ($a $b))";
    let ran = Program::new(Evaluator::Machine).run(text);
    assert_eq!(ran.answers[1], "[(1 2), (2 1), (1 1), (2 2)]");
    assert!(ran.counts.collections > 0);
}
