//! Generated programs, and programs spliced together from those of the corpus, print the same in memory, in a base, in a base that is
//! opened again half-way, and recorded and replayed.
//!
//! `METROON_SEEDS=A..B` runs other programs than usual.

use crate::harness::{Nobody, files, halves, print_answer, read, root, text_of};
use generate::{Features, Ran, Report, compare, renamed, seeds};
use journal::{Disk, MemoryDisk};
use metroon::run::{ProgramEnd, RunRequest, Source};
use metroon::storage::CommitJournal;
use metroon::tape::TapeReader;
use metroon::{Engine, MemoryWorld, RunEnd, Tape};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// A program that asks for more is stopped, and counted. The steps of a program whose data grow with each take longer and longer.
const STEPS_MAX: u64 = 2_000;
/// How long programs are.
const SIZE: usize = 4;

fn program(seed: u64) -> String {
    generate::program(seed, Features::all(), SIZE)
}

/// What a text prints in an engine, and how it ends.
fn run(mut engine: Engine, text: &str) -> RunEnd {
    engine.limits_mut().steps_max = Some(STEPS_MAX);
    let run = engine.run_source(&Source::text(text), &mut print_answer);
    engine.finish().expect("the base closes");
    run.end
}

/// The parts of a program, one after the other, each in an engine of its own.
fn run_parts(parts: &[&str], engine: impl Fn(MemoryWorld) -> Engine) -> Ran {
    let mut lines = Vec::new();
    for part in parts {
        let world = MemoryWorld::default();
        let output = world.output();
        let end = run(engine(world), part);
        lines.extend(text_of(&output).lines().map(renamed));
        match end {
            RunEnd::Limit(_) => return Ran::Stopped,
            RunEnd::Finished => {}
            other => {
                lines.push(format!("{other:?}"));
                break;
            }
        }
    }
    Ran::Printed(lines)
}

fn in_memory(text: &str) -> Ran {
    run_parts(&[text], Engine::new)
}

fn in_base(parts: &[&str]) -> Ran {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    run_parts(parts, |world| {
        let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("the base opens");
        Engine::with_base(world, base).expect("the base loads")
    })
}

/// Runs the first half of a text in a base, and the second half in the base opened again.
fn in_reopened_base(text: &str) -> Ran {
    let (first, second) = halves(text);
    in_base(&[first, second])
}

/// Compares programs with what they print if their base is opened again half-way. Other rules may change in the half than in the whole, so the
/// variables that were made equal may have another of their names.
fn compare_reopened(seeds: Range<u64>, make: impl Fn(u64) -> String, reopened: impl Fn(&str) -> Ran) -> Report {
    compare(seeds, make, |text| in_memory(text).nameless(text), |text| reopened(text).nameless(text))
}

/// The text as a file that is run, recorded, and replayed in a world with nothing in it and another clock.
fn replayed(text: &str) -> Ran {
    let name = "program.metta".to_owned();
    let world = MemoryWorld::default().with_source(&name, text);
    let recorded = world.output();
    let request = RunRequest { files: vec![name], steps_max: Some(STEPS_MAX), ..RunRequest::default() };
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(world, None, Some(tape), &request).expect("the tape begins");
    let end = engine.run_program(&request, &mut Nobody);
    engine.finish().expect("the tape ends");
    if matches!(end, ProgramEnd::Limit { .. }) {
        return Ran::Stopped;
    }
    let world = MemoryWorld::default().with_clock(1, 1).with_seed(99);
    let again = world.output();
    let tape = TapeReader::on_disk(disk).expect("the tape opens");
    let (mut engine, request) = Engine::replaying(world, tape, None).expect("the tape begins");
    let replayed = engine.run_program(&request, &mut Nobody);
    engine.finish().unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(format!("{replayed:?}"), format!("{end:?}"), "a replay ends otherwise:\n{text}");
    assert_eq!(text_of(&again), text_of(&recorded), "a replay prints something else:\n{text}");
    let end = match end {
        ProgramEnd::Finished => None,
        ProgramEnd::Error => Some(format!("{:?}", RunEnd::Error)),
        other => Some(format!("{other:?}")),
    };
    Ran::Printed(text_of(&recorded).lines().map(renamed).chain(end).collect())
}

#[track_caller]
fn assert_agree(report: &Report) {
    assert!(report.differences.is_empty(), "{report}");
    assert!(report.stopped * 12 <= report.compared, "too many programs do not end: {report}");
    report.say();
}

#[test]
fn generated_programs_print_the_same_in_a_base() {
    assert_agree(&compare(seeds(0..100), program, in_memory, |text| in_base(&[text])));
}

#[test]
fn generated_programs_print_the_same_when_their_base_is_reopened_half_way() {
    assert_agree(&compare_reopened(seeds(0..100), program, in_reopened_base));
}

#[test]
fn generated_programs_print_the_same_when_they_are_replayed() {
    assert_agree(&compare(seeds(0..60), program, in_memory, replayed));
}

/// Nothing differs; a function that got the body of another one goes on for ever more often.
#[track_caller]
fn assert_spliced_agree(report: &Report) {
    assert!(report.differences.is_empty(), "{report}");
    assert!(report.stopped * 6 <= report.compared, "too many programs do not end: {report}");
    report.say();
}

/// Makes programs spliced together from those of the corpus, but for those with open files: a base cannot keep these, and says so.
fn spliced() -> impl Fn(u64) -> String {
    let mut programs: Vec<String> = files(&root().join("corpus"), "metta").iter().map(|path| read(path)).collect();
    programs.retain(|program| !program.contains("file-open!"));
    move |seed| generate::spliced(seed, &programs)
}

#[test]
fn spliced_programs_print_the_same_in_a_base() {
    assert_spliced_agree(&compare(seeds(0..60), spliced(), in_memory, |text| in_base(&[text])));
}

/// Whether a program means the same in two runs as in one: a second run draws its random numbers from the beginning, as the clock of
/// its world begins anew, and it keeps what a word was bound to in the first, unless that is an open store or state.
fn means_the_same_in_two_runs(text: &str) -> bool {
    let bound = |part: &str| -> HashSet<String> {
        part.split("(bind! ").skip(1).filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned).collect()
    };
    let (first, second) = halves(text);
    let is_of_its_run =
        ["random", "flip", "current-time", "store-open!", "pages-"].iter().any(|word| text.contains(word));
    !is_of_its_run && bound(first).is_disjoint(&bound(second))
}

#[test]
fn spliced_programs_print_the_same_when_their_base_is_reopened_half_way() {
    let reopened = |text: &str| if means_the_same_in_two_runs(text) { in_reopened_base(text) } else { Ran::Stopped };
    assert_spliced_agree(&compare_reopened(seeds(0..60), spliced(), reopened));
}

#[test]
fn spliced_programs_print_the_same_when_they_are_replayed() {
    assert_spliced_agree(&compare(seeds(0..60), spliced(), in_memory, replayed));
}

#[test]
fn a_bind_without_a_value_is_an_error_in_a_reopened_base_as_well() {
    let text = "!(bind! &shop new-space)\n!(bind! &shop)\n";
    assert_eq!(in_reopened_base(text), in_memory(text));
}
