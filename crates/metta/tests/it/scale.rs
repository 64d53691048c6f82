//! Named defects of other implementations that show only at some size: long loops, deep recursion, large spaces.

use crate::harness::{answers, on_stack, run};
use crate::measure::{Clock, assert_linear, assert_ratio, cost};
use metta::{MemoryWorld, Session};
use std::fmt::Write;

/// A stack on which a walk that recursed a hundred thousand levels would overflow ten times over.
const SMALL_STACK_BYTES: usize = 256 << 10;

const MEBIBYTE: u64 = 1 << 20;

fn fill_loop(times: usize) -> String {
    format!(
        "! (bind! &s (new-space))
         (= (fill $n) (if (== $n 0) done (let $_ (add-atom &s (item $n)) (fill (- $n 1)))))
         ! (fill {times})"
    )
}

fn state_loop(times: usize) -> String {
    format!(
        "! (bind! &st (new-state 0))
         (= (loop $n) (if (== $n 0) (get-state &st)
            (let $_ (change-state! &st (+ 1 (get-state &st))) (loop (- $n 1)))))
         ! (loop {times})"
    )
}

fn filling_a_space_is_linear() {
    let (small, large) = (cost(&fill_loop(10_000)), cost(&fill_loop(100_000)));
    assert_eq!(large.ran.answers, ["[()]", "[done]"]);
    assert_eq!(large.ran.statistics.depth_max, small.ran.statistics.depth_max, "the loop is in tail position");
    assert!(large.bytes_max < 64 * MEBIBYTE, "{} bytes for 100,000 atoms", large.bytes_max);
    assert_linear(&small, &large);
}

/// Each level would copy the list of the level below.
#[test]
fn a_list_around_calls_is_written_once() {
    let list = |length: usize| {
        format!(
            "(= (upto $n) (if (== $n 0) () (let $rest (upto (- $n 1)) (cons-atom $n $rest))))
             ! (let $list (upto {length}) (size-atom $list))"
        )
    };
    let (small, large) = (cost(&list(20_000)), cost(&list(200_000)));
    assert_eq!(large.ran.answers, ["[200000]"]);
    let cells = |cost: &crate::measure::Cost| cost.ran.statistics.cells;
    // What collections of garbage copy is among them; copies of the list would be a hundred times as many.
    assert!(cells(&large) < 30 * cells(&small), "{} cells, {} for a tenth", cells(&large), cells(&small));
    assert_linear(&small, &large);
}

fn changing_a_state_is_linear() {
    let (small, large) = (cost(&state_loop(50_000)), cost(&state_loop(500_000)));
    assert_eq!(large.ran.answers, ["[()]", "[500000]"]);
    assert!(large.bytes_max < 8 * MEBIBYTE, "{} bytes for one state", large.bytes_max);
    assert_linear(&small, &large);
}

#[test]
fn effect_loop_linear() {
    std::thread::scope(|scope| {
        scope.spawn(filling_a_space_is_linear);
        scope.spawn(changing_a_state_is_linear);
    });
}

#[test]
fn deep_recursion_linear() {
    let recursion = |depth: usize| format!("(= (f $n) (if (== $n 0) 0 (+ 1 (f (- $n 1))))) ! (f {depth})");
    on_stack(SMALL_STACK_BYTES, || {
        let (small, large) = (cost(&recursion(200_000)), cost(&recursion(2_000_000)));
        assert_eq!(large.ran.answers, ["[2000000]"]);
        assert!(large.bytes_max < 400 * MEBIBYTE, "{} bytes for 2,000,000 calls inside each other", large.bytes_max);
        assert_linear(&small, &large);
    });
}

/// Each level of it is an expression that comes to itself, and was compared with all that is inside it. A call lies in it, of
/// which it is not known before that it comes to itself.
#[test]
fn a_fact_nested_deep_is_evaluated_level_by_level() {
    let inside = |before: &str, after: &str, levels| format!("{}(z 1){}", before.repeat(levels), after.repeat(levels));
    for (before, after) in [("(s ", ")"), ("(s (a b) ", " (c d))")] {
        for goal in ["(let $y (match &self (fact $x) $x) (add-atom &self $y))", "(keep (match &self (fact $x) $x))"] {
            let compared = |levels| {
                let rule = "(= (keep $x) (add-atom &self $x)) (= (z 0) none)";
                let ran = run(&format!("(fact {}) {rule} ! {goal}", inside(before, after, levels)));
                assert_eq!(ran.answers, ["[()]"]);
                ran.statistics.compared
            };
            let (small, large) = (compared(2_000), compared(4_000));
            assert!(small > 1_000 && large * 10 <= small * 23, "{before}{after} {goal}: {small}, then {large}");
        }
    }
}

#[test]
fn a_tail_call_takes_no_memory() {
    let count = |times: usize| format!("(= (f $n $a) (if (== $n 0) $a (f (- $n 1) (+ $a 1)))) ! (f {times} 0)");
    on_stack(SMALL_STACK_BYTES, || {
        let (small, large) = (cost(&count(200_000)), cost(&count(2_000_000)));
        assert_eq!(large.ran.answers, ["[2000000]"]);
        assert!(large.ran.statistics.depth_max < 10, "{} frames", large.ran.statistics.depth_max);
        assert!(large.bytes_max < 8 * MEBIBYTE, "{} bytes", large.bytes_max);
        assert_linear(&small, &large);
    });
}

/// `(s (s … leaf))`, this many levels deep.
fn nested(levels: usize, leaf: &str) -> String {
    "(s ".repeat(levels) + leaf + &")".repeat(levels)
}

#[test]
fn no_host_stack_overflow() {
    const LEVELS: usize = 30_000;
    let [a, x, y] = ["a", "$x", "$y"].map(|leaf| nested(LEVELS, leaf));
    let program = format!(
        "(fact {a}) (rule {x}) (= (deep {x}) $x)
         ! (deep {a})
         ! (let {x} {a} $x)
         ! (let $all (collapse {a}) (size-atom $all))
         ! (collapse (match &self (fact {y}) $y))
         ! (collapse (match &self (rule {a}) found))
         ! (case (quote {a}) (((quote {y}) $y)))
         ! (unify ({x} $x) ($x $x) loops no)
         ! (get-type {a})
         ! (== {a} {a})
         ! (=alpha {x} {y})
         ! (assertAlphaEqual (quote {x}) (quote {y}))
         ! (let $st (new-state (quote {a})) (let (quote $now) (get-state $st) (size-atom $now)))
         ! (remove-atom &self (fact {a}))
         ! (match &self (fact $any) $any)
         ! (sealed (quote {x}) ok)"
    );
    let ran = on_stack(SMALL_STACK_BYTES, || run(&program));
    let expected = [
        "[a]",
        "[a]",
        "[1]",
        "[(a)]",
        "[(found)]",
        "[a]",
        "[no]",
        "[%Undefined%]",
        "[True]",
        "[True]",
        "[()]",
        "[2]",
        "[()]",
        "[]",
        "[ok]",
    ];
    assert_eq!(ran.answers, expected, "{:?}", ran.diagnostics);
}

#[test]
fn a_million_levels_are_read_added_and_printed() {
    let program = format!("{} ! (quote {})", nested(1_000_000, "a"), nested(1_000_000, "$x"));
    let ran = on_stack(SMALL_STACK_BYTES, || run(&program));
    assert_eq!(ran.statistics.atoms_added, 1);
    assert_eq!(ran.answers[0].len(), "[(quote )]".len() + 4 * 1_000_000 + "$x".len());
}

#[test]
fn ten_thousand_symbols_exact() {
    let mut program = String::new();
    for i in 0..10_000 {
        let _ = writeln!(program, "(edge a{i} b{})", i % 1000);
    }
    let asked: Vec<usize> = (0..10_000).step_by(97).chain([1022, 1023, 1024, 1025, 9_999]).collect();
    for i in &asked {
        let _ = writeln!(program, "! (match &self (edge a{i} $x) $x)\n! (match &self (edge $x b{}) $x)", i % 1000);
    }
    let actual = answers(&program);
    assert_eq!(actual.len(), 2 * asked.len());
    for (i, pair) in asked.iter().zip(actual.chunks(2)) {
        let sources: Vec<String> = (i % 1000..10_000).step_by(1000).map(|source| format!("a{source}")).collect();
        assert_eq!(pair, [format!("[b{}]", i % 1000), format!("[{}]", sources.join(", "))]);
    }
}

#[test]
fn wide_expression_5000() {
    for width in [1_022, 1_023, 1_024, 1_025, 4_096, 5_000] {
        let children: Vec<String> = (2..=width).map(|i| format!("c{i}")).collect();
        let (all, most) = (children.join(" "), children[..width - 2].join(" "));
        let program = format!(
            "(wide {all})
             (= (last {most} $x) $x)
             ! (match &self (wide {most} $x) $x)
             ! (last {all})
             ! (size-atom (wide {all}))
             ! (data {all})"
        );
        let expected = [format!("[c{width}]"), format!("[c{width}]"), format!("[{width}]"), format!("[(data {all})]")];
        assert_eq!(answers(&program), expected, "{width} children");
    }
}

#[test]
fn many_variables_200() {
    let list = |prefix: &str| (0..200).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(" ");
    let backwards = |prefix: &str| (0..200).rev().map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(" ");
    let program = format!(
        "(fact {variables})
         (= (turn {variables}) (turned {turned}))
         ! (match &self (fact {values}) found)
         ! (turn {values})
         ! (let ({variables}) ({values}) ({turned}))
         ! (assertAlphaEqual (turn {variables}) (turned {turned}))",
        variables = list("$v"),
        values = list("c"),
        turned = backwards("$v"),
    );
    let turned = backwards("c");
    assert_eq!(
        answers(&program),
        ["[found]".to_owned(), format!("[(turned {turned})]"), format!("[({turned})]"), "[()]".into()]
    );
}

/// A space of facts about numbers, floats and texts, and the time that asking for single ones takes.
fn time_to_ask(facts: usize) -> std::time::Duration {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    let mut known = String::new();
    for i in 0..facts {
        let _ = writeln!(known, "(int {i} v) (float {i}.5 v) (text \"t{i}\" v)");
    }
    session.run(&known, &mut |_, _| Ok(()));
    let asked: String = (0..300).map(|i| i * facts / 300).fold(String::new(), |mut text, i| {
        let _ = write!(
            text,
            "! (match &self (int {i} $x) $x) ! (match &self (float {i}.5 $x) $x) ! (match &self (text \"t{i}\" $x) $x)"
        );
        text
    });
    let clock = Clock::start();
    session.run(&asked, &mut |_, answer| {
        assert_eq!(answer.results.len(), 1);
        Ok(())
    });
    clock.elapsed()
}

#[test]
fn he_706() {
    assert_ratio(5.0, || time_to_ask(600), || time_to_ask(18_000));
}

/// Only one branch runs, so they share their slots: a function with thousands of them is compiled like any other.
#[test]
fn a_case_of_thousands_of_branches_is_compiled() {
    let branches: String = (0..6_000).map(|number| format!("(k{number} (v{number} $x))")).collect();
    let ran = run(&format!("(= (f $x) (case $x ({branches} ($y (other $y)))))\n!(f k5999)\n!(f zz)"));
    assert_eq!(ran.answers, ["[(v5999 k5999)]", "[(other zz)]"]);
    assert_eq!(ran.statistics.interpreted, 0);
}
