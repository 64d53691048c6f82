//! Generated programs, run in two ways, print the same.
//!
//! `METROON_SEEDS=A..B` runs other programs than usual, `METROON_FEATURES=types,match` those with these features only
//! (`-types,-match`: without them), `METROON_SIZE=8` longer ones.

use crate::harness::{Program, Ran, line_of};
use generate::{Features, Report, compare, renamed, seeds};
use metta::{Evaluator, Limits, MemoryWorld, RunEnd, Session};
use std::cell::Cell;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// A program that asks for more is stopped, and counted.
const STEPS_MAX: u64 = 20_000;
/// Tables of calls that grow take ever more.
const HEAP_BYTES_MAX: usize = 64 << 20;
/// A program that calls itself with ever larger values makes few steps, each of them long.
const TIME_MAX: Duration = Duration::from_secs(20);
/// How long programs are.
const SIZE: usize = 4;

fn features() -> Features {
    let words = std::env::var("METROON_FEATURES").unwrap_or_default();
    Features::all().narrowed(&words).unwrap_or_else(|error| panic!("METROON_FEATURES: {error}"))
}

/// How long programs are now.
fn size() -> usize {
    let size = std::env::var("METROON_SIZE").unwrap_or_default();
    if size.is_empty() { SIZE } else { size.parse().unwrap_or_else(|_| panic!("METROON_SIZE={size}: write a number")) }
}

fn program(seed: u64) -> String {
    generate::program(seed, features(), size())
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

/// Each line of the program is a run of its own, of one session.
fn line_by_line(text: &str) -> generate::Ran {
    let world = MemoryWorld::default();
    let output = world.output();
    let mut session = Session::new(Box::new(world));
    *session.limits_mut() = Limits { steps_max: Some(STEPS_MAX), ..Limits::default() };
    let ends = text.lines().map(|line| session.run(line, &mut |world, answer| world.print(&line_of(answer))).end);
    let end = ends.into_iter().find(|end| !matches!(end, RunEnd::Finished)).unwrap_or(RunEnd::Finished);
    printed(&output.printed(), &end)
}

/// Each evaluator in turn. If it keeps going, an answer with an error in it is not the last.
fn by(evaluator: Evaluator, keeps_going: bool) -> impl Fn(&str) -> generate::Ran {
    move |text| {
        let limits = Limits { steps_max: Some(STEPS_MAX), heap_bytes_max: Some(HEAP_BYTES_MAX), ..Limits::default() };
        let interrupt = limits.interrupt.clone();
        let (ended, watched) = mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            if watched.recv_timeout(TIME_MAX) == Err(mpsc::RecvTimeoutError::Timeout) {
                interrupt.time_is_up();
            }
        });
        let program = Program::new(text).with_evaluator(evaluator).with_limits(limits);
        let ran = if keeps_going { program.keep_going() } else { program }.run();
        drop(ended);
        watch.join().expect("waiting does not fail");
        printed(&ran.lines, &ran.end)
    }
}

/// Nothing differs, and nine of ten programs were compared.
#[track_caller]
fn assert_agree(report: &Report) {
    assert!(report.differences.is_empty(), "{report}");
    // Of a program that searches, or counts down to something, a mutant goes on for ever now and then.
    assert!(report.stopped * 9 <= report.compared, "too many programs do not end: {report}");
    report.say();
}

#[test]
fn generated_programs_print_the_same_line_by_line() {
    assert_agree(&compare(seeds(0..120), program, at_once, line_by_line));
}

/// Compares what programs of these seeds print in both evaluators, but for the names of variables.
fn compare_evaluators(seeds: Range<u64>, keeps_going: bool, make: impl Fn(u64) -> String) -> Report {
    let (interpreter, machine) = (by(Evaluator::Interpreter, keeps_going), by(Evaluator::Machine, keeps_going));
    compare(seeds, make, |text| interpreter(text).nameless(text), |text| machine(text).nameless(text))
}

/// Programs of these seeds print the same in both evaluators.
#[track_caller]
fn assert_evaluators_agree(seeds: Range<u64>, make: impl Fn(u64) -> String) {
    assert_agree(&compare_evaluators(seeds, false, make));
}

#[test]
fn generated_programs_print_the_same_in_both_evaluators() {
    assert_evaluators_agree(seeds(0..120), program);
}

#[test]
fn calls_whose_types_hold_lengths_print_the_same_in_both_evaluators() {
    assert_evaluators_agree(seeds(0..100), generate::vectors);
}

#[test]
fn arguments_that_are_evaluated_to_open_types_print_the_same_in_both_evaluators() {
    assert_agree(&compare_evaluators(seeds(0..100), true, generate::typed_parts));
}

/// Where the machine cannot tell whether types agree, the call is an error that says so. What a program does before that is compared.
#[test]
fn effects_behind_queries_print_the_same_in_both_evaluators_up_to_an_error_that_says_why() {
    let (untold, compared) = (Cell::new(None), Cell::new(0));
    let begin_of_form = |lines: &[String], form: usize| {
        let line = format!("(form {form})");
        lines.iter().position(|printed| *printed == line)
    };
    let told = |ran: generate::Ran, text: &str| match (ran, untold.get()) {
        (generate::Ran::Printed(mut lines), Some(form)) => {
            lines.truncate(begin_of_form(&lines, form).unwrap_or(0));
            generate::Ran::Printed(lines).nameless(text)
        }
        (ran, _) => ran.nameless(text),
    };
    let machine = |text: &str| {
        let ran = by(Evaluator::Machine, true)(text);
        let generate::Ran::Printed(lines) = &ran else { return ran };
        let at = lines.iter().position(|line| line.contains("an argument had an effect while its type was not known"));
        let before = &lines[..at.unwrap_or(lines.len())];
        let forms = (0..100).filter(|&form| begin_of_form(before, form).is_some()).count();
        untold.set(at.is_some().then(|| forms.saturating_sub(1)));
        compared.set(compared.get() + forms);
        told(ran, text)
    };
    let interpreter = |text: &str| told(by(Evaluator::Interpreter, true)(text), text);
    let report = compare(seeds(0..100), generate::typed_parts_behind_queries, machine, interpreter);
    assert_agree(&report);
    assert!(compared.get() > 2 * report.compared, "only {} forms were compared", compared.get());
}

#[test]
fn values_that_are_carried_along_print_the_same_in_both_evaluators() {
    assert_evaluators_agree(seeds(0..100), generate::countdowns);
}

#[test]
fn tabled_recursion_prints_the_same_in_both_evaluators() {
    assert_evaluators_agree(seeds(0..100), generate::recursion);
}

#[test]
fn branches_that_hold_variables_print_the_same_in_both_evaluators() {
    assert_agree(&compare_evaluators(seeds(0..100), true, generate::branches));
}

#[test]
fn values_that_are_bound_late_print_the_same_in_both_evaluators() {
    let report = compare_evaluators(seeds(0..100), true, generate::bound_late);
    assert!(report.differences.is_empty(), "{report}");
    report.say();
}

#[test]
fn results_that_say_of_which_type_others_are_print_the_same_in_both_evaluators() {
    assert_agree(&compare_evaluators(seeds(0..100), true, generate::results));
}

#[test]
fn heads_that_come_to_names_print_the_same_in_both_evaluators() {
    assert_agree(&compare_evaluators(seeds(0..100), true, generate::heads));
}

/// The programs of the corpus.
pub(crate) fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let entries = fs::read_dir(folder).expect("the corpus can be listed");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the corpus can be listed").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "metta"));
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("a program of the corpus can be read")).collect()
}

#[test]
fn mutants_of_the_corpus_print_the_same_in_both_evaluators() {
    let programs = corpus();
    assert_evaluators_agree(seeds(0..150), |seed| generate::mutant(seed, &programs));
}

/// How many of some lines are like this, in percent.
fn percent(lines: &[String], is_like: impl Fn(&str) -> bool) -> usize {
    100 * lines.iter().filter(|line| is_like(line)).count() / lines.len()
}

#[test]
fn generated_programs_say_something() {
    let run = |seed| Program::new(program(seed)).with_steps(STEPS_MAX).run();
    let ran: Vec<Ran> = (0..200).map(run).collect();
    let answers: Vec<String> = ran.into_iter().flat_map(|ran| ran.answers).collect();
    assert!(answers.len() > 200 * 5, "{} answers", answers.len());
    let errors = percent(&answers, |line| line.contains("(Error"));
    assert!((2..20).contains(&errors), "{errors} % of the answers have errors");
    let empty = percent(&answers, |line| ["[]", "[(bag ())]"].contains(&line));
    assert!((2..20).contains(&empty), "{empty} % of the answers are empty");
    let many = percent(&answers, |line| line.contains(", ") || line.contains(") ("));
    assert!(many > 10, "{many} % of the answers have parts or are many");
}

#[test]
fn spliced_programs_print_the_same_in_both_evaluators() {
    let programs = corpus();
    let report = compare_evaluators(seeds(0..100), true, |seed| generate::spliced(seed, &programs));
    assert!(report.differences.is_empty(), "{report}");
    // A function that got the body of another one goes on for ever more often.
    assert!(report.stopped * 4 <= report.compared, "too many programs do not end: {report}");
    report.say();
}
