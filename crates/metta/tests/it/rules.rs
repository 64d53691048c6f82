//! Functions of many rules: what a call can reach is found by its arguments and compiled by need, in the order and with the results of
//! the specification.

use crate::harness::{Program, Ran, run, unnumbered};
use crate::measure::{Clock, assert_ratio};
use metta::{Evaluator, LimitReached, Limits, MemoryWorld, ModuleId, RunEnd, Session};
use std::fmt::Write;
use std::time::Duration;

/// A text of `count` lines.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "{}", line(number));
        text
    })
}

/// What both evaluators answer.
#[track_caller]
fn both(program: &str) -> Vec<String> {
    let by = |evaluator| {
        let ran = Program::new(program).with_evaluator(evaluator).run();
        assert!(matches!(ran.end, RunEnd::Finished | RunEnd::Error), "{:?}", ran.end);
        ran.answers.iter().map(|line| unnumbered(line)).collect::<Vec<_>>()
    };
    let (machine, interpreter) = (by(Evaluator::Machine), by(Evaluator::Interpreter));
    for (own, expected) in machine.iter().zip(&interpreter) {
        assert_eq!(own, expected);
    }
    assert_eq!(machine.len(), interpreter.len());
    machine
}

/// How often memory was asked for while a program ran, and how long it took.
fn measured(program: &str) -> (u64, Duration, Ran) {
    let (clock, mut ran) = (Clock::start(), None);
    let counted = allocation_counter::measure(|| ran = Some(run(program)));
    (counted.count_total, clock.elapsed(), ran.expect("the program was run"))
}

/// Asserts that eight times as many rules cost about eight times as much: exactly what is allocated, and the time nearly.
#[track_caller]
fn assert_grows_linearly(name: &str, answer: &str, program: impl Fn(usize) -> String) {
    const FEW: usize = 2_000;
    let (few, many) = (program(FEW), program(8 * FEW));
    let (allocations_of_few, _, _) = measured(&few);
    let (allocations_of_many, _, ran) = measured(&many);
    assert_eq!(ran.answers.last().map(String::as_str), Some(answer), "{name}");
    let ratio = allocations_of_many as f64 / allocations_of_few as f64;
    assert!(ratio < 9.6, "{name}: {ratio} times the allocations: {allocations_of_many}, {allocations_of_few}");
    assert_ratio(24.0, || measured(&few).1, || measured(&many).1);
}

#[test]
fn the_first_call_of_a_function_is_linear_in_its_rules() {
    let ground = |n: usize| lines(n, |i| format!("(= (rule {i}) result-{i})")) + "!(rule 5)";
    assert_grows_linearly("ground", "[result-5]", ground);
    let calling = |n: usize| lines(n, |i| format!("(= (f {i}) (f {}))", i + 1)) + &format!("!(f {})", n - 3);
    assert_grows_linearly("calling", "[(f 16000)]", calling);
    let second = |n: usize| lines(n, |i| format!("(= (g a {i}) (h {i}))")) + "!(g a 7)";
    assert_grows_linearly("second argument", "[(h 7)]", second);
    let compound = |n: usize| lines(n, |i| format!("(= (g (pair a {i})) (h {i}))")) + "!(g (pair a 7))";
    assert_grows_linearly("compound", "[(h 7)]", compound);
    let texts = |n: usize| lines(n, |i| format!("(= (g \"text {i}\") {i})")) + "!(g \"text 9\")";
    assert_grows_linearly("texts", "[9]", texts);
    let mixed = |n: usize| {
        lines(n, |i| match i % 100 {
            0 => format!("(= (g (pair {i} $x)) $x)"),
            1 => format!("(= (g {i} ) (g (pair {} here)))", i - 1),
            _ => format!("(= (g {i}) {i})"),
        }) + "(= (g $any) (any $any)) !(g 301)"
    };
    assert_grows_linearly("mixed", "[here, (any (pair 300 here)), (any 301)]", mixed);
}

#[test]
fn rules_of_many_constructors_with_types_are_linear() {
    let typed = |n: usize| {
        let types = lines(n, |i| format!("(: c{i} T) (= (name c{i}) {i})"));
        format!("(: name (-> T Number)) {types} !(name c17)")
    };
    assert_grows_linearly("typed", "[17]", typed);
}

#[test]
fn an_unbound_argument_tries_all_rules_in_linear_time() {
    let all = |n: usize| lines(n, |i| format!("(= (rule {i}) (r {i}))")) + "!(count-results (rule $x))";
    assert_grows_linearly("all", "[16000]", all);
}

#[test]
fn each_call_of_a_rule_is_found_by_its_arguments() {
    let called = |n: usize| {
        let rules = lines(n, |i| format!("(= (rule {i}) (r {i}))"));
        format!(
            "{rules} (= (all $n $sum) (if (== $n 0) $sum (let (r $m) (rule $n) (all (- $n 1) (+ $sum 1)))))
             !(all {} 0)",
            n - 1
        )
    };
    assert_grows_linearly("called", "[15999]", called);
    let with_a_variable = |n: usize| {
        let rules = lines(n, |i| format!("(= (rule {i} $x) (r {i} $x))"));
        format!(
            "{rules} (= (all $n $sum) (if (== $n 0) $sum (let (r $m a) (rule $n a) (all (- $n 1) (+ $sum 1)))))
             !(all {} 0)",
            n - 1
        )
    };
    assert_grows_linearly("called with a variable in the head", "[15999]", with_a_variable);
}

#[test]
fn a_call_takes_no_more_if_there_are_more_rules_that_it_cannot_reach() {
    // Heads with variables, which a space keeps otherwise than those without.
    let heads: [fn(usize) -> String; 4] =
        [|i| format!("{i} $x"), |i| format!("$x {i}"), |i| format!("\"text {i}\" $x"), |i| format!("(pair a {i}) $x")];
    for head in heads {
        let rules = |n: usize| lines(n, |i| format!("(= (rule {}) (+ 1 {i}))", head(i)));
        let calls = lines(40, |i| format!("!(rule {})", head(7 * i + 3).replace('$', "")));
        let asked = |n| measured(&(rules(n) + &calls)).0 - measured(&rules(n)).0;
        let (few, many) = (asked(2_000), asked(16_000));
        let name = head(0);
        assert!(many < few + few / 4, "{name}: {many} allocations with 16,000 rules, {few} with 2,000");
        let ran = run(&(rules(16_000) + &calls));
        assert_eq!(ran.answers.last().map(String::as_str), Some("[277]"), "{name}");
    }
}

#[test]
fn a_rule_that_is_added_does_not_make_the_others_anew() {
    let rules = |n: usize| lines(n, |i| format!("(= (rule {i}) (r {i}))"));
    // Arguments that are like those of the other rules, and such as none of them has.
    let arguments: [fn(usize) -> String; 5] = [
        |i| format!("new-{i}"),
        |i| format!("(new {i})"),
        |i| format!("(new (inner {i}) a)"),
        |i| format!("\"text {i}\""),
        |i| format!("{}", 1_000_000 + i),
    ];
    for argument in arguments {
        let added = lines(40, |i| format!("!(add-atom &self (= (rule {0}) {i})) !(rule {0})", argument(i)));
        // What the adding and the calling takes does not depend on how many rules there are.
        let asked = |n| measured(&(rules(n) + &added)).0 - measured(&rules(n)).0;
        let (few, many) = (asked(2_000), asked(16_000));
        let name = argument(0);
        assert!(many < few + few / 4, "{name}: {many} allocations with 16,000 rules, {few} with 2,000");
    }
}

#[test]
fn a_rule_that_is_removed_is_not_found_any_more() {
    let rules = lines(300, |i| format!("(= (rule {i}) (r {i}))"));
    let program = format!(
        "{rules} !(rule 5) !(remove-atom &self (= (rule 5) (r 5))) !(rule 5)
         !(add-atom &self (= (rule $x) (any $x))) !(rule 5) !(rule 6)
         !(remove-atom &self (= (rule $x) (any $x))) !(rule 6) !(add-atom &self (= (rule 5) again)) !(rule 5)"
    );
    let answers = both(&program);
    let asked: Vec<&str> = answers.iter().map(String::as_str).filter(|line| *line != "[()]").collect();
    assert_eq!(asked, ["[(r 5)]", "[(rule 5)]", "[(any 5)]", "[(r 6), (any 6)]", "[(r 6)]", "[again]"]);
}

#[test]
fn numbers_that_are_equal_reach_the_same_rules() {
    let rules = lines(200, |i| format!("(= (f {i}) i{i}) (= (f {i}.0) d{i})"));
    assert_eq!(both(&format!("{rules} !(f 3) !(f 3.0) !(f (+ 1 2)) !(f (/ 6.0 2))")), ["[i3, d3]"; 4]);
}

#[test]
fn rules_of_a_module_come_after_those_of_the_program() {
    let own = lines(200, |i| format!("(= (f {i}) own-{i})"));
    let imported = lines(200, |i| format!("(= (f {}) imported-{i})", i + 100));
    let ran = Program::new(format!("!(import! &self there) {own} !(f 50) !(f 150) !(f 250) !(f 500)"))
        .with_file("there.metta", imported)
        .run();
    assert_eq!(ran.answers[1..], ["[own-50]", "[own-150, imported-50]", "[imported-150]", "[(f 500)]"]);
}

#[test]
fn a_rule_stated_twice_answers_twice() {
    let rules = lines(200, |i| format!("(= (f {i}) {i}) (= (g $x {i}) ($x {i}))"));
    let program = format!("{rules} (= (f 7) 7) (= (g $y 7) ($y 7)) !(f 7) !(g a 7)");
    assert_eq!(both(&program), ["[7, 7]", "[(a 7), (a 7)]"]);
}

#[test]
fn rules_whose_names_are_variables_are_among_many_others() {
    let rules = lines(200, |i| format!("(= (f {i} a) {i})"));
    let program = format!("{rules} (= ($any 7 a) (any $any)) {} !(f 7 a) !(g 7 a) !(f 250 a)", "(= (f 250 a) last)");
    assert_eq!(both(&program), ["[7, (any f)]", "[(any g)]", "[last]"]);
}

#[test]
fn an_interrupt_is_heard_while_rules_are_asked_for_and_compiled() {
    let program = lines(20_000, |i| format!("(= (rule {i}) (r {i}))")) + "!(rule $x)";
    let free = allocation_counter::measure(|| drop(run(&program)));
    let limits = Limits::default();
    limits.interrupt.time_is_up();
    let mut ran = None;
    let cut = allocation_counter::measure(|| ran = Some(Program::new(&program).with_limits(limits).run()));
    let ran = ran.expect("it was run");
    assert!(matches!(ran.end, RunEnd::Limit(LimitReached::Time)), "{:?}", ran.end);
    // Without a look the rules would all be compiled first.
    assert!(cut.count_total < free.count_total / 2, "{cut:?} {free:?}");
}

/// What it takes to look for mistakes in a text that was read: allocations, time and findings.
fn checked(text: &str) -> (u64, Duration, usize) {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.run(text, &mut |_, _| Ok(()));
    let parsed = metta::syntax::parse(text);
    let (clock, mut found) = (Clock::start(), 0);
    let counted = allocation_counter::measure(|| {
        found = metta::check(session.program_mut(), ModuleId::TOP, &parsed.tree).len();
    });
    (counted.count_total, clock.elapsed(), found)
}

/// One long rule is not many rules.
#[test]
fn a_function_of_a_long_rule_is_compiled() {
    let branches: String = (0..400).map(|i| format!("((k {i} $y) r{i}) ")).collect();
    let text = format!("(= (f $x) (case $x ({branches})))\n!(f (k 399 a))");
    let ran = Program::new(text).run();
    assert_eq!((ran.answers.last().map(String::as_str), ran.statistics.interpreted), (Some("[r399]"), 0));
}

#[test]
fn looking_for_mistakes_is_linear_in_the_text() {
    let rules = |n: usize| lines(n, |i| format!("(= (rule {i}) result-{i})"));
    let calling = |n: usize| lines(n, |i| format!("(= (f{i} $x) (f{} (g{i} $x)))", (i + 1) % n));
    let everything = |n: usize| lines(n, |i| format!("(= (f $x) (g{i} $x))"));
    let facts = |n: usize| lines(n, |i| format!("(= (rule {i}) {i}) (rule {i})"));
    let modules = |n: usize| lines(n, |i| format!("(= (f {i}) (json-encode {i} unknown-{i}))"));
    let types = |n: usize| lines(n, |i| format!("(: c{i} Kind{i}) (: d{i} (-> Kynd{i} Number))"));
    let texts: [(&str, &dyn Fn(usize) -> String); 6] = [
        ("rules", &rules),
        ("calling", &calling),
        ("everything", &everything),
        ("facts", &facts),
        ("modules", &modules),
        ("types", &types),
    ];
    for (name, text) in texts {
        let (few, many) = (text(1_000), text(8_000));
        let ratio = checked(&many).0 as f64 / checked(&few).0 as f64;
        assert!(ratio < 9.6, "{name}: {ratio} times the allocations");
        assert_ratio(24.0, || checked(&few).1, || checked(&many).1);
    }
    assert_eq!(checked(&(rules(2_000) + "(= (rool 1) (rule 2)) (= (h $x) (rulle $x))")).2, 1);
}

/// Numbers as a linear congruential generator draws them.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    /// A part of the head of a rule or of a call, of few enough kinds that they meet.
    fn part(&mut self, levels: u64, variable: &str) -> String {
        let number = self.below(60);
        match self.below(if levels == 0 { 9 } else { 14 }) {
            0 | 1 => number.to_string(),
            2 => format!("{number}.0"),
            3 => format!("c{}", number % 20),
            4 => format!("\"t{}\"", number % 20),
            5 => ["True", "False", "()"][number as usize % 3].to_owned(),
            6 => format!("${variable}{}", number % 2),
            7 | 8 => format!("k{number}"),
            9 => format!("(7 {})", self.part(levels - 1, variable)),
            10 => format!("((p) {})", self.part(levels - 1, variable)),
            _ => format!("(pair {} {})", self.part(levels - 1, variable), self.part(levels - 1, variable)),
        }
    }

    fn head(&mut self, variable: &str) -> String {
        let arguments = 1 + self.below(3);
        let parts: Vec<String> = (0..arguments).map(|_| self.part(2, variable)).collect();
        format!("(f{arguments} {})", parts.join(" "))
    }

    fn rule(&mut self) -> String {
        let (head, number) = (self.head("x"), self.below(1_000));
        match self.below(6) {
            0 => format!("(= {head} $x0)"),
            1 => format!("(= {head} (r{number} $x1))"),
            2 => format!("(= {head} (+ {number} 1))"),
            3 => format!("(= {head} (g (pair $x0 {number})))"),
            _ => format!("(= {head} r{number})"),
        }
    }
}

/// Programs of some hundred rules, with rules that come and go, and calls of all kinds.
#[test]
fn functions_of_many_rules_are_the_same_in_both_evaluators() {
    for seed in generate::seeds(0..12) {
        let mut drawn = Drawn(seed);
        let mut rules: Vec<String> = (0..600).map(|_| drawn.rule()).collect();
        let mut program = rules.join("\n") + "\n(= (g (pair $a $b)) (seen $b $a))\n";
        for _ in 0..120 {
            match drawn.below(8) {
                0 => {
                    let rule = drawn.rule();
                    let _ = writeln!(program, "!(add-atom &self {rule})");
                    rules.push(rule);
                }
                1 => {
                    let place = drawn.below(rules.len() as u64) as usize;
                    let _ = writeln!(program, "!(remove-atom &self {})", rules.swap_remove(place));
                }
                2 => {
                    let _ = writeln!(program, "!(let $v {} (f1 $v))", drawn.part(2, "q"));
                }
                3 => {
                    let _ = writeln!(program, "!(collapse {})", drawn.head("q"));
                }
                _ => {
                    let _ = writeln!(program, "!{}", drawn.head("q"));
                }
            }
        }
        both(&program);
    }
}
