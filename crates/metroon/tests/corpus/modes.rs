//! Every program in every mode: by the machine and by the interpreter, kept in a base, taken up again half-way, recorded and
//! replayed, seen by other threads. One expected output. The tests of every commit take a part of the modes that keep something.

use crate::harness::{Nobody, STEPS_MAX, halves, one_of, output_with, print_answer, programs, read, text_of};
use crate::programs::{compare, corpus, keep, names};
use journal::{Disk, MemoryDisk};
use libtest_mimic::Trial;
use metroon::run::{ProgramEnd, RunRequest, Source};
use metroon::storage::CommitJournal;
use metroon::tape::TapeReader;
use metroon::{Answer, Engine, Evaluator, KnowledgeBase, KnowledgeBaseOptions, MemoryWorld, RunEnd, Tape, syntax};
use std::sync::Arc;

/// Programs that hold something between two forms that lives as long as the process, and why.
const NOT_TAKEN_UP: [(&str, &str); 4] = [
    ("file-positions", "it holds a file open"),
    ("files", "it holds a file open"),
    ("sheets", "it holds a state open"),
    ("stores", "it holds a store open"),
];

/// The mode whose outputs `cargo xtask corpus --accept` takes: the obvious one.
const ACCEPTED: &str = "interpreter";

/// Gives what a program prints, given its name and its text.
type Run = fn(&str, &str) -> String;

const MODES: [(&str, Run); 9] = [
    ("machine", |_, text| output_with(Evaluator::Machine, &corpus(), text, &[]).0),
    (ACCEPTED, |_, text| output_with(Evaluator::Interpreter, &corpus(), text, &[]).0),
    ("durable", |_, text| in_a_base(Evaluator::Machine, text)),
    ("durable-interpreted", |_, text| in_a_base(Evaluator::Interpreter, text)),
    ("reopened", |name, text| reopened([Evaluator::Machine, Evaluator::Machine], name, text)),
    // A base is not the evaluator's that made it.
    ("reopened-by-the-other", |name, text| reopened([Evaluator::Interpreter, Evaluator::Machine], name, text)),
    ("recorded", |name, _| replayed(Evaluator::Machine, name)),
    ("recorded-interpreted", |name, _| replayed(Evaluator::Interpreter, name)),
    ("viewed", |_, text| viewed(text)),
];

/// The modes that every program goes through in every run of the tests. Of the others a program goes through each third one, and through
/// all with `METROON_EXHAUSTIVE`, or if tests are asked for by name.
const ALWAYS: [&str; 2] = ["machine", ACCEPTED];

pub(crate) fn trials(are_all_wanted: bool) -> Vec<Trial> {
    let step = if are_all_wanted { 1 } else { one_of(3) };
    let programs: Vec<String> = names("");
    let pairs = MODES.iter().enumerate().flat_map(|(place, mode)| {
        let is_tried = move |number: usize| ALWAYS.contains(&mode.0) || (number + place).is_multiple_of(step);
        let tried = programs.iter().enumerate().filter(move |(number, _)| is_tried(*number));
        tried.map(|(_, name)| (*mode, name.clone()))
    });
    pairs
        .map(|((mode, run), name)| {
            Trial::test(format!("{mode}::{name}"), move || {
                let printed = run(&name, &read(&corpus().join(&name).with_extension("metta")));
                if mode == ACCEPTED {
                    keep(&name, &printed);
                }
                compare(&name, &printed)
            })
        })
        .collect()
}

fn run_in_base(evaluator: Evaluator, disk: &Arc<dyn Disk>, text: &str) -> String {
    let world = programs(&corpus(), "", MemoryWorld::default());
    let output = world.output();
    let base = CommitJournal::on_disk(Arc::clone(disk), "/kb").expect("the base opens");
    let mut engine = Engine::with_base(world, base).expect("the base loads");
    engine.session_mut().set_evaluator(evaluator);
    engine.limits_mut().steps_max = Some(STEPS_MAX);
    engine.run_source(&Source::text(text), &mut print_answer);
    engine.finish().expect("the base closes");
    text_of(&output)
}

fn in_a_base(evaluator: Evaluator, text: &str) -> String {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    run_in_base(evaluator, &disk, text)
}

/// Runs the first half in a base, and the second half in the base opened again.
fn reopened(evaluators: [Evaluator; 2], name: &str, text: &str) -> String {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let is_whole = NOT_TAKEN_UP.iter().any(|(program, _)| *program == name);
    let (first, second) = if is_whole { (text, "") } else { halves(text) };
    [(first, evaluators[0]), (second, evaluators[1])]
        .map(|(half, evaluator)| run_in_base(evaluator, &disk, half))
        .concat()
}

fn replayed(evaluator: Evaluator, name: &str) -> String {
    let world = programs(&corpus(), "", MemoryWorld::default());
    let recorded = world.output();
    let files = vec![format!("{name}.metta")];
    let program = RunRequest { files, steps_max: Some(STEPS_MAX), evaluator, ..RunRequest::default() };
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("the tape begins");
    engine.run_program(&program, &mut Nobody);
    engine.finish().expect("the tape ends");

    // The world of the replay has no files, another clock and other random numbers.
    let world = MemoryWorld::default().with_clock(1, 1).with_seed(99);
    let replayed = world.output();
    let tape = TapeReader::on_disk(disk).expect("the tape opens");
    let (mut engine, program) = Engine::replaying(world, tape, None).expect("the tape begins");
    let end = engine.run_program(&program, &mut Nobody);
    assert!(!matches!(end, ProgramEnd::RunRecord(_) | ProgramEnd::NotRead(_)), "{end:?}");
    let (commits, stopped) = engine.replayed().expect("it replays");
    assert!(commits > 0 && stopped.is_none(), "{commits} commits, {stopped:?}");
    engine.finish().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(text_of(&recorded), text_of(&replayed));
    text_of(&replayed)
}

/// Runs a program form by form in a base that threads share. Each `!` form that a view answers comes to the same in the view before it,
/// on another thread.
fn viewed(text: &str) -> String {
    let world = programs(&corpus(), "", MemoryWorld::default());
    let output = world.output();
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let base = KnowledgeBase::on_disk(disk, "/kb", KnowledgeBaseOptions::new(world)).expect("the base opens");
    base.transact(|engine| engine.limits_mut().steps_max = Some(STEPS_MAX)).expect("the writer is there");
    for form in syntax::parse(text).forms_before_error() {
        let from = form.bang_span.unwrap_or(form.span).start as usize;
        let form = &text[from..form.span.end as usize];
        let view = base.view();
        let seen = std::thread::scope(|scope| {
            let seen = scope.spawn(|| {
                let mut reader = view.reader();
                reader.limits_mut().steps_max = Some(STEPS_MAX);
                reader.evaluate(form).ok().map(|answers| format!("{answers:?}"))
            });
            seen.join().expect("a view answers without a panic")
        });
        let asked = form.to_owned();
        let (answers, end) = base
            .transact(move |engine| {
                let mut answers = Vec::new();
                let run = engine.run_text(&asked, &mut |world, answer| {
                    answers.push(Answer::of(answer));
                    print_answer(world, answer)
                });
                (answers, run.end)
            })
            .expect("the writer is there");
        if let Some(seen) = seen {
            assert_eq!(seen, format!("{answers:?}"), "{form}");
        }
        if !matches!(end, RunEnd::Finished) {
            break;
        }
    }
    base.close().expect("the base closes");
    text_of(&output)
}
