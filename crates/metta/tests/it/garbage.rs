//! The collection of garbage, at every call: whatever is held, nothing of it is lost.

use crate::harness::{Program, line_of};
use generate::{Features, Ran, compare, renamed, seeds};
use metta::{Limits, MemoryWorld, Session};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A program that asks for more is left out: each of its steps may be a walk over all that it holds.
const STEPS_MAX: u64 = 5_000;
/// How long generated programs are.
const SIZE: usize = 8;

/// When garbage is collected.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Collects {
    /// As always.
    Seldom,
    /// At every call.
    Always,
    /// Whenever the heap has doubled, however small it is.
    Doubled,
}

/// What a program on the files of a folder prints, and how often garbage was collected.
fn printed(text: &str, world: MemoryWorld, collects: Collects, steps_max: u64) -> (Vec<String>, u64) {
    let output = world.output();
    let mut session = Session::new(Box::new(world));
    *session.limits_mut() = Limits { steps_max: Some(steps_max), ..Limits::default() };
    match collects {
        Collects::Seldom => {}
        Collects::Always => session.collect_garbage_from(0),
        Collects::Doubled => session.collect_garbage_from(1),
    }
    let end = session.run(text, &mut |world, answer| world.print(&line_of(answer))).end;
    let collections = session.statistics().collections;
    drop(session);
    let mut lines: Vec<String> = output.printed().iter().map(|line| renamed(line)).collect();
    lines.push(format!("{end:?}"));
    (lines, collections)
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// The programs in a folder of the corpus, by their paths from there.
pub(crate) fn programs(below: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(corpus().join(below)).expect("the corpus can be listed") {
        let path = entry.expect("the corpus can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8");
        let from_there = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        if path.is_dir() {
            found.extend(programs(&from_there));
        } else if name.ends_with(".metta") {
            found.push((from_there, fs::read_to_string(&path).expect("programs can be read")));
        }
    }
    found.sort();
    found
}

/// Programs that print something else when garbage is collected more often, and how often it was.
fn compare_corpus(
    programs: impl Iterator<Item = (String, String)>,
    world: impl Fn() -> MemoryWorld,
    steps_max: u64,
) -> (Vec<String>, u64) {
    let (mut differ, mut total) = (Vec::new(), 0);
    for (name, text) in programs {
        let (expected, _) = printed(&text, world(), Collects::Seldom, steps_max);
        if expected.last().is_some_and(|end| end.contains("Limit")) {
            continue;
        }
        for collects in [Collects::Always, Collects::Doubled] {
            let (actual, collections) = printed(&text, world(), collects, steps_max);
            total += collections;
            if let Some((expected, actual)) = expected.iter().zip(&actual).find(|(expected, actual)| expected != actual)
            {
                differ.push(format!("{name}, {collects:?}:\n  expected {expected}\n  got      {actual}"));
            }
        }
    }
    (differ, total)
}

#[test]
fn the_corpus_prints_the_same_when_garbage_is_collected_at_every_call() {
    let all = programs("");
    let sources = || all.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let world = || sources().fold(MemoryWorld::default(), |world, (path, text)| world.with_source(path, text));
    let of_the_corpus = all.iter().filter(|(path, _)| !path.contains('/')).cloned();
    let (differ, collections) = compare_corpus(of_the_corpus, world, u64::MAX);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(collections > 5_000, "{collections} collections");
}

/// Programs of these seeds print the same when garbage is collected more often, which happens this often at least.
#[track_caller]
fn assert_same_when_collecting(seeds: Range<u64>, collections_min: u64, make: impl Fn(u64) -> String) {
    let run = |text: &str, collects| printed(text, MemoryWorld::default(), collects, STEPS_MAX);
    let seldom = |text: &str| match run(text, Collects::Seldom).0 {
        lines if lines.last().is_some_and(|end| end.contains("Limit")) => Ran::Stopped,
        lines => Ran::Printed(lines),
    };
    let mut total = 0;
    for collects in [Collects::Always, Collects::Doubled] {
        let report = compare(seeds.clone(), &make, seldom, |text| {
            let (lines, collections) = run(text, collects);
            total += collections;
            Ran::Printed(lines)
        });
        assert!(report.differences.is_empty(), "{collects:?}: {report}");
    }
    assert!(total > collections_min, "{total} collections");
}

#[test]
fn generated_programs_print_the_same_when_garbage_is_collected_at_every_call() {
    assert_same_when_collecting(seeds(0..60), 3_000, |seed| generate::program(seed, Features::all(), SIZE));
}

/// A call that is begun again undoes what its arguments have bound, wherever that is on the trail since garbage was collected.
#[test]
fn calls_that_are_begun_again_print_the_same_when_garbage_is_collected_at_every_call() {
    assert_same_when_collecting(seeds(0..60), 500, generate::typed_parts);
}

/// Data that is made in one go leaves the slots of its parts as they were; and a call in the tail of code that is forgotten is still known to
/// have come to itself.
#[test]
fn what_was_not_written_is_not_held_and_what_is_asked_for_is_kept() {
    let programs = [
        "!(collapse (unique empty)) !(has-result $k) !(case (limit 1 (f0 (let* (($d (S (Z)))) (eval 2)))) ())",
        "!(add-atom &self $x) (= (ask $s $a $b) (quote $n)) (= (again $k) (let* (($more (ask &p1 $w $v))) $more)) !(again 3)",
    ];
    let (differ, collections) = compare_corpus(
        programs.iter().map(|text| ((*text).to_owned(), (*text).to_owned())),
        MemoryWorld::default,
        STEPS_MAX,
    );
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert!(collections > 10, "{collections} collections");
}

/// What was gathered before garbage is collected holds variables that are newer than its expression. They are none of those
/// that a result may bind: else each later result would keep a copy of what each of them is bound to.
#[test]
fn results_bind_no_more_after_garbage_was_collected() {
    let text = "(= (f $y) a) (= (f $x) a) (= (f (s $x)) (s (f $x))) !(collapse (f $z))";
    let cells = |steps| Program::new(text).with_steps(steps).run().statistics.cells;
    let (some, twice) = (cells(300), cells(600));
    assert!(twice < 8 * some, "{some} cells for 300 steps, {twice} for 600");
}
