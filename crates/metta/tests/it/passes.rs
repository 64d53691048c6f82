//! The passes of the compiler: programs mean the same without each of them, and a limit of changes finds the one that is wrong.

use crate::differential::corpus;
use crate::garbage::programs;
use crate::harness::line_of;
use generate::{Features, Ran, compare, renamed, seeds};
use metta::{Explained, Limits, MemoryWorld, Pass, Passes, RunEnd, Session};

/// A program that asks for more is left out.
const STEPS_MAX: u64 = 10_000;

/// What a program prints with these passes.
fn printed(text: &str, world: MemoryWorld, passes: Passes) -> Vec<String> {
    let output = world.output();
    let mut session = Session::new(Box::new(world));
    *session.limits_mut() = Limits { steps_max: Some(STEPS_MAX), ..Limits::default() };
    session.passes = passes;
    let end = session.run(text, &mut |world, answer| world.print(&line_of(answer))).end;
    drop(session);
    output.printed().iter().map(|line| renamed(line)).chain([format!("{end:?}")]).collect()
}

fn ran(text: &str, passes: Passes) -> Ran {
    match printed(text, MemoryWorld::default(), passes) {
        lines if lines.last().is_some_and(|end| end.contains("Limit")) => Ran::Stopped,
        lines => Ran::Printed(lines),
    }
}

fn none() -> Passes {
    Pass::ALL.into_iter().fold(Passes::default(), Passes::without)
}

#[test]
fn the_corpus_prints_the_same_without_each_pass() {
    let all = programs("");
    let sources = || all.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let world = || sources().fold(MemoryWorld::default(), |world, (path, text)| world.with_source(path, text));
    // Each program without one of them in turn and without all; on demand without each.
    let is_exhaustive = std::env::var_os("METROON_EXHAUSTIVE").is_some();
    let mut differ = Vec::new();
    for (place, (path, text)) in all.iter().filter(|(path, _)| !path.contains('/')).enumerate() {
        let expected = printed(text, world(), Passes::default());
        let each =
            Pass::ALL.iter().enumerate().filter(|(number, _)| is_exhaustive || place % Pass::ALL.len() == *number);
        let each = each.map(|(_, pass)| (pass.name(), Passes::default().without(*pass)));
        for (left_out, passes) in each.chain([("all", none())]) {
            if printed(text, world(), passes) != expected {
                differ.push(format!("{path} without {left_out}"));
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn generated_programs_print_the_same_without_passes() {
    let make = |seed| generate::program(seed, Features::all(), 4);
    let report = compare(seeds(0..40), make, |text| ran(text, Passes::default()), |text| ran(text, none()));
    assert!(report.differences.is_empty(), "{report}");
    let programs = corpus();
    let make = |seed| generate::mutant(seed, &programs);
    let report = compare(seeds(0..40), make, |text| ran(text, Passes::default()), |text| ran(text, none()));
    assert!(report.differences.is_empty(), "{report}");
}

const FIB: &str = "(= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2)))))";

/// What is shown of `fib` with these passes.
fn shown(passes: Passes, what: Explained) -> String {
    let mut session = Session::new(Box::new(MemoryWorld::default()));
    session.passes = passes;
    assert!(matches!(session.run(FIB, &mut |_, _| Ok(())).end, RunEnd::Finished));
    session.explain("fib", what).expect("it has a rule")
}

#[test]
fn each_step_of_the_compiler_is_shown_that_changes_something() {
    let text = shown(Passes::default(), Explained::Core);
    let steps = ["lowered", "known-tests", "unchanged-types", "compare-small"].map(|step| {
        let line = format!("\n    {step}\n");
        text.find(&line).unwrap_or_else(|| panic!("{step} is not shown:\n{text}"))
    });
    assert!(steps.is_sorted(), "{text}");
    assert!(!text.contains("\n    leaf-answers\n"), "{text}");
    assert!(text.contains("small integers compared before the tests"), "{text}");
    let without = shown(Passes::default().without(Pass::CompareSmall), Explained::Core);
    assert!(!without.contains("compared before the tests") && without.contains("\n    code\n"), "{without}");
    assert!(!shown(Passes::default(), Explained::Code).contains("lowered"));
}

#[test]
fn a_limit_of_changes_finds_each_of_them() {
    let code = |limit| shown(Passes::default().up_to(limit), Explained::Code);
    assert_eq!(code(0), shown(none(), Explained::Code));
    let all = shown(Passes::default(), Explained::Code);
    let mut seen = vec![code(0)];
    for limit in 1.. {
        let text = code(limit);
        let is_all = text == all;
        if seen.last() != Some(&text) {
            seen.push(text);
        }
        if is_all {
            break;
        }
        assert!(limit < 100, "the limit is reached before all changes are made");
    }
    // Most changes show in the code by themselves.
    assert!(seen.len() > 5, "{} kinds of code", seen.len());
}
