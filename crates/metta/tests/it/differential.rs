//! Generated programs, run in two ways, print the same.
//!
//! `MNEMON_SEEDS=A..B` runs other programs than usual, `MNEMON_FEATURES=types,match` those with these features only
//! (`-types,-match`: without them).

use crate::harness::{Program, Ran, line_of};
use generate::{Features, Report, compare, renamed, seeds};
use metta::{Limits, MemoryWorld, RunEnd, Runner};

/// A program that asks for more is stopped, and counted.
const STEPS_MAX: u64 = 20_000;
/// How long programs are.
const SIZE: usize = 4;

fn features() -> Features {
    let words = std::env::var("MNEMON_FEATURES").unwrap_or_default();
    Features::all().narrowed(&words).unwrap_or_else(|error| panic!("MNEMON_FEATURES: {error}"))
}

fn program(seed: u64) -> String {
    generate::program(seed, features(), SIZE)
}

/// What a run printed, and how it ended.
fn printed(lines: &[String], end: &RunEnd) -> generate::Ran {
    if matches!(end, RunEnd::Limit(_)) {
        return generate::Ran::Stopped;
    }
    let lines = lines.iter().map(|line| renamed(line));
    generate::Ran::Printed(lines.chain([format!("{end:?}")]).collect())
}

fn at_once(text: &str) -> generate::Ran {
    let ran: Ran = Program::new(text).with_steps(STEPS_MAX).run();
    printed(&ran.lines, &ran.end)
}

/// Each line of the program is a run of its own, of one runner.
fn line_by_line(text: &str) -> generate::Ran {
    let world = MemoryWorld::default();
    let output = world.output();
    let mut runner = Runner::new(Box::new(world));
    *runner.limits_mut() = Limits { steps_max: Some(STEPS_MAX), ..Limits::default() };
    let ends = text.lines().map(|line| runner.run(line, &mut |world, answer| world.print(&line_of(answer))).end);
    let end = ends.into_iter().find(|end| !matches!(end, RunEnd::Finished)).unwrap_or(RunEnd::Finished);
    printed(&output.printed(), &end)
}

/// Nothing differs, and most programs were compared.
#[track_caller]
fn assert_agree(report: &Report) {
    println!("{report}");
    assert!(report.differences.is_empty(), "{report}");
    assert!(report.stopped * 20 <= report.compared, "too many programs do not end: {report}");
}

#[test]
fn generated_programs_print_the_same_line_by_line() {
    assert_agree(&compare(seeds(0..1000), program, at_once, line_by_line));
}

/// Prints what programs are like: `cargo test … measure_generated_programs -- --ignored --nocapture`.
#[test]
#[ignore = "shows programs and counts, proves nothing"]
fn measure_generated_programs() {
    let range = seeds(0..1000);
    let (mut answers, mut errors, mut empty, mut unreduced, mut early, mut stopped) = (0, 0, 0, 0, 0, 0);
    let count = range.end - range.start;
    for seed in range {
        let text = program(seed);
        let ran = Program::new(text.as_str()).with_steps(STEPS_MAX).run();
        answers += ran.answers.len();
        errors += ran.answers.iter().filter(|line| line.contains("(Error")).count();
        empty += ran.answers.iter().filter(|line| ["[]", "[(bag ())]"].contains(&line.as_str())).count();
        unreduced += ran.answers.iter().filter(|line| !line.contains("(Error") && line.contains("(f")).count();
        early += usize::from(matches!(ran.end, RunEnd::Error));
        if matches!(ran.end, RunEnd::Limit(_)) {
            stopped += 1;
            println!("seed {seed} is stopped");
        }
        if count < 10 {
            println!("; seed {seed}\n{text}\n{}\n{:?}\n", ran.lines.join("\n"), ran.end);
        }
    }
    println!(
        "{answers} answers: {errors} with errors, {empty} empty, {unreduced} with calls left; {early} runs ended early, {stopped} stopped"
    );
}
