//! Tabled functions of Datalog shape: what rows answer is what a plain evaluation finds, in the order that is defined, in both
//! evaluators.

use crate::harness::{Program, Ran, unnumbered};
use generate::Dice;
use metta::{Evaluator, LimitReached, Limits, RunEnd};
use std::collections::BTreeSet;

const EVALUATORS: [Evaluator; 2] = [Evaluator::Machine, Evaluator::Interpreter];

/// What a text comes to, the same from both evaluators.
#[track_caller]
fn both(text: &str) -> Ran {
    let [machine, interpreter] = EVALUATORS.map(|evaluator| Program::new(text).with_evaluator(evaluator).run());
    let nameless = |ran: &Ran| ran.answers.iter().map(|line| generate::nameless(text, line)).collect::<Vec<_>>();
    assert_eq!(nameless(&machine), nameless(&interpreter), "{text}");
    assert_eq!(machine.statistics.tabled, interpreter.statistics.tabled, "{text}");
    assert_eq!(machine.statistics.answers, interpreter.statistics.answers, "{text}");
    machine
}

/// The results of an answer, sorted.
fn sorted(answer: &str) -> BTreeSet<&str> {
    let inside = answer.trim_start_matches('[').trim_end_matches(']');
    inside.split(", ").filter(|result| !result.is_empty()).collect()
}

/// A text with functions tabled; with their types declared, calls are evaluated, since rows do not answer typed functions.
fn tabled(text: &str, functions: &[(&str, usize)], is_typed: bool) -> String {
    let mut program = String::new();
    for (name, arguments) in functions {
        program += &format!("!(pragma! table {name})\n");
        if is_typed {
            program += &format!("(: {name} (-> {}%Undefined%))\n", "%Undefined% ".repeat(*arguments));
        }
    }
    program + text
}

/// What a text comes to over rows: as sets, what it comes to if calls are evaluated.
#[track_caller]
fn rows(text: &str, functions: &[(&str, usize)]) -> Vec<String> {
    let found = both(&tabled(text, functions, false));
    assert!(found.statistics.row_rounds > 0, "it is answered over rows: {text}");
    same_sets(&found, &both(&tabled(text, functions, true)), text);
    found.answers[functions.len()..].to_vec()
}

#[track_caller]
fn same_sets(found: &Ran, evaluated: &Ran, text: &str) {
    assert_eq!(evaluated.statistics.row_rounds, 0, "it is evaluated: {text}");
    assert_eq!(found.answers.len(), evaluated.answers.len(), "{text}");
    for (found, evaluated) in found.answers.iter().zip(&evaluated.answers) {
        let [found, evaluated] = [found, evaluated].map(|answer| unnumbered(answer));
        assert_eq!(sorted(&found), sorted(&evaluated), "{text}");
    }
}

/// What a text comes to whose calls rows do not answer.
#[track_caller]
fn evaluated(text: &str, functions: &[(&str, usize)]) -> Vec<String> {
    let found = both(&tabled(text, functions, false));
    assert_eq!(found.statistics.row_rounds, 0, "{text}");
    same_sets(&found, &both(&tabled(text, functions, true)), text);
    found.answers[functions.len()..].to_vec()
}

const GRAPH: &str = "(edge a b) (edge b c) (edge c a) (edge c d) (edge e a) (edge a d)\n";

#[test]
fn a_closure_to_the_left_comes_in_the_order_in_which_it_is_walked() {
    let path = "(= (path $x) (match &self (edge $x $y) $y))
        (= (path $x) (let $y (path $x) (match &self (edge $y $z) $z)))\n";
    let found = rows(&format!("{GRAPH}{path} !(path a) !(path e) !(path d) !(path nowhere)"), &[("path", 1)]);
    assert_eq!(found, ["[b, d, c, a]", "[a, b, d, c]", "[]", "[]"]);
}

/// Without another recursive rule a closure to the left comes in the order in which it is evaluated.
#[test]
fn one_rule_to_the_left_gives_the_order_of_an_evaluation() {
    for seed in 0..30 {
        let mut dice = Dice::new(seed);
        let edges: String = (0..12).map(|_| format!("(edge {} {})", dice.below(7), dice.below(7))).collect();
        let text = format!(
            "{edges} (= (path $x) (match &self (edge $x $y) $y))
            (= (path $x) (let $y (path $x) (match &self (edge $y $z) $z)))
            (= (pair $x $y) (match &self (edge $x $y) True))
            (= (pair $x $z) (let True (pair $x $y) (match &self (edge $y $z) True)))
            !(path 0) !(path 3) !(let True (pair 1 $y) $y) !(let True (pair $x $y) ($x $y))"
        );
        let functions = [("path", 1), ("pair", 2)];
        let found = both(&tabled(&text, &functions, false));
        let evaluated = both(&tabled(&text, &functions, true));
        assert!(found.statistics.row_rounds > 0 && evaluated.statistics.row_rounds == 0);
        assert_eq!(found.answers, evaluated.answers, "{text}");
    }
}

/// Where most rows are asked for by their first column, and each is there once, they are copied by value, which changes no order; atoms that
/// come later count.
#[test]
fn a_closure_over_many_rows_comes_in_the_order_of_an_evaluation() {
    for seed in 0..3 {
        let mut dice = Dice::new(seed);
        let mut edges = Vec::new();
        while edges.len() < 700 {
            let edge = format!("(edge {} {})", dice.below(200), dice.below(200));
            if !edges.contains(&edge) {
                edges.push(edge);
            }
        }
        let edges = edges.concat();
        let text = format!(
            "{edges} (= (path $x) (match &self (edge $x $y) $y))
            (= (path $x) (let $y (path $x) (match &self (edge $y $z) $z)))
            !(path 0) !(add-atom &self (edge 0 new)) !(add-atom &self (edge new newer)) !(path 0)"
        );
        let found = both(&tabled(&text, &[("path", 1)], false));
        let evaluated = both(&tabled(&text, &[("path", 1)], true));
        assert!(found.statistics.row_rounds > 0 && evaluated.statistics.row_rounds == 0);
        assert_eq!(found.answers, evaluated.answers, "{seed}");
        assert!(found.answers[1].matches(',').count() > 150, "most nodes are reached");
    }
}

#[test]
fn closures_to_the_right_and_in_the_middle_find_the_same() {
    let rules = "(= (right $x) (match &self (edge $x $y) $y))
        (= (right $x) (match &self (edge $x $y) (right $y)))
        (= (twice $x) (match &self (edge $x $y) $y))
        (= (twice $x) (let $y (twice $x) (twice $y)))
        (= (reach $x $y) (match &self (edge $x $y) True))
        (= (reach $x $z) (match &self (edge $x $y) (reach $y $z)))\n";
    let goals = "!(right a) !(twice a) !(let True (reach a $y) $y) !(reach a d) !(reach d a)
        !(let True (reach $x $y) ($x $y)) !(let True (reach $x d) $x) !(let True (reach $x $x) $x)
        !(let $y (twice $x) ($x $y)) !(count-results (reach $x $y)) !(count-results (right e))
        !(has-result (reach d $x))";
    let found = rows(&format!("{GRAPH}{rules}{goals}"), &[("right", 1), ("twice", 1), ("reach", 2)]);
    assert_eq!(found[..5], ["[b, d, c, a]", "[b, d, c, a]", "[b, d, c, a]", "[True]", "[]"]);
    assert_eq!(found[6..8], ["[c, a, b, e]", "[a, b, c]"]);
    assert_eq!(found[9..], ["[16]", "[4]", "[False]"]);
    // An evaluation has another order for several calls that depend on each other.
    let first = "!(once (right a)) !(limit 2 (twice e))";
    let found = both(&tabled(&format!("{GRAPH}{rules}{first}"), &[("right", 1), ("twice", 1)], false));
    assert_eq!(found.answers[2..], ["[b]", "[a, b]"]);
}

#[test]
fn same_generation_and_mutual_recursion() {
    let facts = "(parent ann bob) (parent ann cid) (parent bob dan) (parent bob eve) (parent cid fay) (parent dan gil)
        (edge 1 2) (edge 2 3) (edge 3 1) (edge 3 4)\n";
    let rules = "(= (same $x) (match &self (parent $p $x) (match &self (parent $p $y) $y)))
        (= (same $x) (match &self (parent $p $x) (let $q (same $p) (match &self (parent $q $y) $y))))
        (= (both $x $y) (match &self (, (parent $p $x) (parent $p $y)) True))
        (= (both $x $y) (match &self (parent $p $x) (let True (both $p $q) (match &self (parent $q $y) True))))
        (= (odd $x) (match &self (edge $x $y) $y))
        (= (odd $x) (let $y (even $x) (match &self (edge $y $z) $z)))
        (= (even $x) (let $y (odd $x) (match &self (edge $y $z) $z)))\n";
    let goals = "!(same dan) !(let True (both $x $y) ($x $y)) !(let True (both fay $y) $y) !(odd 1) !(even 1)
        !(let $y (even $x) ($x $y))";
    let functions = [("same", 1), ("both", 2), ("odd", 1), ("even", 1)];
    let found = rows(&format!("{facts}{rules}{goals}"), &functions);
    assert_eq!([&found[0], &found[2]], ["[dan, eve, fay]", "[fay, dan, eve]"]);
    assert_eq!(found[3..5], ["[2, 1, 4, 3]", "[3, 2, 1, 4]"]);
}

#[test]
fn constants_filters_alternatives_and_absence() {
    let rules = "(= (from 1) (match &self (edge 1 $y) $y))
        (= (from $x) (superpose ((match &self (edge $x $y) $y) (if (== $x 2) two (empty)))))
        (= (up $x) (match &self (edge $x $y) (if (< $x $y) $y (empty))))
        (= (up $x) (let* (($y (up $x)) ($z (up $y))) $z))
        (= (kind $x) (match &self (edge $x $y) (if (>= $y 3) high low)))
        (= (leaf $x) (match &self (edge $y $x) (if (has-result (from $x)) (empty) $x)))
        (= (alone $x) (let $y (from $x) (if (not (has-result (match &self (edge $y $x) $y))) $y (empty))))
        (= (next $x) (let $y (match &self (edge $x $z) $z) $y))
        (= (second $x) (next (next $x)))\n";
    let facts = "(edge 1 2) (edge 2 3) (edge 3 1) (edge 3 4) (edge 1 2) (edge 5 5)\n";
    let goals =
        "!(from 1) !(from 2) !(from $x) !(up 1) !(kind 3) !(leaf 4) !(leaf $x) !(alone 1) !(alone 5) !(second 2)";
    let functions = [("from", 1), ("up", 1), ("kind", 1), ("leaf", 1), ("alone", 1), ("next", 1), ("second", 1)];
    let found = rows(&format!("{facts}{rules}{goals}"), &functions);
    assert_eq!([&found[1], &found[3], &found[4]], ["[3, two]", "[2, 3, 4]", "[high, low]"]);
    assert_eq!([&found[5], &found[7], &found[8]], ["[4]", "[2]", "[]"]);
}

#[test]
fn what_is_not_certainly_of_the_shape_is_evaluated() {
    let path = "(= (path $x) (match &self (edge $x $y) $y))
        (= (path $x) (let $y (path $x) (match &self (edge $y $z) $z)))\n";
    let cases = [
        // A value that is reduced, one that matches another number, an atom with a variable.
        ("(edge a (f 1)) (= (f $x) b) (edge b c)", "!(path a)", "[b, c]"),
        ("(edge 1 1.0) (edge 1.0 2)", "!(path 1)", "[1.0, 2]"),
        ("(edge a b) (edge b $x)", "!(count-results (path b))", "[2]"),
        ("(edge a b) (= (path $x) (println! $x))", "!(path b)", "[()]"),
        ("(edge a b)", "!(path (first a))", "[]"),
    ];
    for (facts, goal, expected) in cases {
        let found = evaluated(&format!("{facts}\n{path}{goal}"), &[("path", 1)]);
        assert_eq!(found[0], expected, "{facts}");
    }
    let named = "(edge a b) (= (walk a) (match &self (edge a $y) $y))\n!(walk b)";
    assert_eq!(evaluated(named, &[("walk", 1)]), ["[(walk b)]"]);
}

#[test]
fn changes_between_calls_are_seen() {
    let text = format!(
        "{GRAPH}(= (path $x) (match &self (edge $x $y) $y))
        (= (path $x) (let $y (path $x) (match &self (edge $y $z) $z)))
        !(path c) (edge d f) !(path c) !(remove-atom &self (edge c a)) !(path c)
        !(add-atom &self (= (path $x) (match &self (link $x $y) $y))) (link c g) !(path c)"
    );
    let found = rows(&text, &[("path", 1)]);
    assert_eq!(
        [&found[0], &found[1], &found[3], &found[5]],
        ["[a, d, b, c]", "[a, d, b, f, c]", "[d, f]", "[d, g, f]"]
    );
}

#[test]
fn limits_hold_inside_a_closure() {
    let cycle = |nodes: usize| -> String {
        let edges = (0..nodes).map(|node| format!("(edge {node} {})", (node + 1) % nodes));
        let rules = "(= (path $x $y) (match &self (edge $x $y) True))
            (= (path $x $z) (let True (path $x $y) (match &self (edge $y $z) True)))";
        tabled(&format!("{}{rules} !(count-results (path $x $y))", edges.collect::<String>()), &[("path", 2)], false)
    };
    let heap = 4 << 20;
    for evaluator in EVALUATORS {
        let ran = Program::new(cycle(60)).with_evaluator(evaluator).with_steps(1_000).run();
        assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Steps(1_000))), "{evaluator:?}: {:?}", ran.end);
        let limits = Limits { heap_bytes_max: Some(heap), ..Limits::default() };
        let ran = Program::new(cycle(1_200)).with_evaluator(evaluator).with_limits(limits).run();
        assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Heap(_))), "{evaluator:?}: {:?}", ran.end);
    }
    assert_eq!(Program::new(cycle(400)).run().answers[1], "[160000]");
}

/// A rule program made by chance.
struct Maker {
    dice: Dice,
    variables: usize,
}

/// An evaluation that takes more steps is not compared with.
const STEPS_MAX: u64 = 5_000;

const FUNCTIONS: [(&str, usize); 4] = [("f0", 1), ("f1", 2), ("f2", 1), ("f3", 2)];

impl Maker {
    fn value(&mut self, bound: &[String]) -> String {
        match self.dice.below(8) {
            0 => self.dice.below(4).to_string(),
            _ if bound.is_empty() => self.dice.below(4).to_string(),
            _ => bound[self.dice.below(bound.len())].clone(),
        }
    }

    /// A value or a variable, which is bound then.
    fn place(&mut self, bound: &mut Vec<String>) -> String {
        if self.dice.one_in(2) {
            return self.value(bound);
        }
        self.variables += 1;
        bound.push(format!("$v{}", self.variables));
        bound[bound.len() - 1].clone()
    }

    fn pattern(&mut self, bound: &mut Vec<String>) -> String {
        let relation = ["edge", "edge", "link"][self.dice.below(3)];
        let [from, to] = [self.value(bound), self.place(bound)];
        let [from, to] = if self.dice.one_in(4) { [to, from] } else { [from, to] };
        format!("({relation} {from} {to})")
    }

    fn space(&mut self) -> &'static str {
        if self.dice.one_in(5) { "&kb" } else { "&self" }
    }

    /// A call of one of the functions from a number on.
    fn call(&mut self, from: usize, bound: &mut Vec<String>) -> String {
        let (name, arguments) = FUNCTIONS[from + self.dice.below(FUNCTIONS.len() - from)];
        let first = self.value(bound);
        let second = if arguments == 2 { format!(" {}", self.place(bound)) } else { String::new() };
        format!("({name} {first}{second})")
    }

    fn body(&mut self, depth: usize, from: usize, bound: &mut Vec<String>) -> String {
        if depth == 0 {
            return match self.dice.below(4) {
                0 => self.call(from, bound),
                _ => self.value(bound),
            };
        }
        match self.dice.below(12) {
            0..4 => {
                let (space, pattern) = (self.space(), self.pattern(bound));
                format!("(match {space} {pattern} {})", self.body(depth - 1, from, bound))
            }
            4 => {
                let patterns = [self.pattern(bound), self.pattern(bound)];
                format!("(match &self (, {} {}) {})", patterns[0], patterns[1], self.body(depth - 1, from, bound))
            }
            5..8 => {
                let call = self.call(from, bound);
                let pattern = self.place(bound);
                format!("(let {pattern} {call} {})", self.body(depth - 1, from, bound))
            }
            8 => {
                let test = ["<", ">=", "=="][self.dice.below(3)];
                let [one, other] = [self.value(bound), self.value(bound)];
                let rest = self.body(depth - 1, from, bound);
                match self.dice.one_in(2) {
                    true => format!("(if ({test} {one} {other}) {rest} (empty))"),
                    false => format!("(if ({test} {one} {other}) (empty) {rest})"),
                }
            }
            9 if from == 0 => {
                let mut inner = bound.clone();
                let absent = match self.dice.one_in(2) {
                    true => self.call(2, &mut inner),
                    false => format!("(match &self {} True)", self.pattern(&mut inner)),
                };
                format!("(if (has-result {absent}) (empty) {})", self.body(depth - 1, from, bound))
            }
            _ => {
                let one = self.body(depth - 1, from, &mut bound.clone());
                let other = self.body(depth - 1, from, &mut bound.clone());
                format!("(superpose ({one} {other}))")
            }
        }
    }

    fn facts(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..3 + self.dice.below(6) {
            let relation = ["edge", "edge", "link"][self.dice.below(3)];
            let fact = format!("({relation} {} {})", self.dice.below(4), self.dice.below(4));
            text += &match self.dice.one_in(4) {
                true => format!("!(add-atom &kb {fact})\n"),
                false => format!("{fact}\n"),
            };
        }
        text
    }

    fn program(&mut self) -> String {
        let mut text = "!(bind! &kb (new-space))\n".to_owned() + &self.facts();
        for (number, (name, arguments)) in FUNCTIONS.into_iter().enumerate() {
            for rule in 0..1 + self.dice.below(2) {
                self.variables = 0;
                let mut bound = vec!["$x".to_owned()];
                if arguments == 2 {
                    bound.push("$y".to_owned());
                }
                let head =
                    if rule > 0 && self.dice.one_in(6) { bound.join(" ").replace("$x", "1") } else { bound.join(" ") };
                let depth = 1 + self.dice.below(2);
                let body = self.body(depth, number / 2 * 2, &mut bound);
                text += &format!("(= ({name} {head}) {body})\n");
            }
        }
        let goals = "!(f0 1) !(f0 2) !(f1 0 3) !(let $r (f1 1 $y) ($y $r)) !(let $r (f1 $x $y) ($x $y $r)) !(f2 3)
            !(let $r (f3 $x 2) ($x $r)) !(let $r (f3 $x $x) ($x $r)) !(let $r (f0 $x) ($x $r)) !(count-results (f3 $x $y))\n";
        text += goals;
        text += &self.facts();
        text + goals
    }
}

#[test]
fn rule_programs_made_by_chance_come_to_what_an_evaluation_comes_to() {
    let (mut over_rows, mut compared) = (0, 0);
    for seed in 0..40 {
        let text = Maker { dice: Dice::new(seed), variables: 0 }.program();
        // Some take very long if each call is evaluated.
        let evaluated = Program::new(tabled(&text, &FUNCTIONS, true)).with_steps(STEPS_MAX).run();
        if matches!(evaluated.end, RunEnd::Limit(_)) {
            continue;
        }
        let found = both(&tabled(&text, &FUNCTIONS, false));
        compared += 1;
        over_rows += usize::from(found.statistics.row_rounds > 20);
        same_sets(&found, &evaluated, &text);
    }
    assert!(compared > 20 && over_rows > 10, "{compared} were compared, {over_rows} were answered over rows");
}

/// Which calls there are may depend on rows from the first part of a rule on, also of a rule that is asked for all of its rows.
#[test]
fn calls_that_follow_from_the_rows_of_an_open_call_are_found() {
    let rules = [
        "(= (p) 3) (= (q $x) (let $z (p) yes)) (= (p) (let $y (p) (q $y))) !(p)",
        "(= (p) 3) (= (p) 4) (= (q 3) 5) (= (q $x) (let $z (p) $x)) (= (p) (let $y (p) (q $y))) !(p) !(q 4)",
        "(= (p) 1) (= (p) (let* (($x (p)) ($y (q $x))) (q $y))) (= (q $x) (match &self (edge $x $y) $y)) (= (q $x) (let $a (p) $a))
         (edge 1 2) (edge 2 3) !(p) !(q 1)",
    ];
    for text in rules {
        rows(text, &[("p", 0), ("q", 1)]);
    }
    rows("(= (p 5) 3) (= (q $x) (let $z (p $y) yes)) (= (p 5) (let $y (p $x) (q $y))) !(p $x)", &[("p", 1), ("q", 1)]);
}
