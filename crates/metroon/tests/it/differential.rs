//! Generated programs print the same in memory, in a base, and in a base that is opened again half-way.
//!
//! `METROON_SEEDS=A..B` runs other programs than usual.

use crate::harness::{halves, print_answer, text_of};
use generate::{Features, Ran, Report, compare, renamed, seeds};
use journal::{Disk, MemoryDisk};
use metroon::{CommitJournal, Engine, MemoryWorld, RunEnd, Source};
use std::sync::Arc;

/// A program that asks for more is stopped, and counted.
const STEPS_MAX: u64 = 20_000;
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

#[track_caller]
fn assert_agree(report: &Report) {
    assert!(report.differences.is_empty(), "{report}");
    assert!(report.stopped * 20 <= report.compared, "too many programs do not end: {report}");
}

#[test]
fn generated_programs_print_the_same_in_a_base() {
    assert_agree(&compare(seeds(0..300), program, in_memory, |text| in_base(&[text])));
}

#[test]
fn generated_programs_print_the_same_when_their_base_is_reopened_half_way() {
    let reopened = |text: &str| {
        let (first, second) = halves(text);
        in_base(&[first, second])
    };
    assert_agree(&compare(seeds(0..300), program, in_memory, reopened));
}
