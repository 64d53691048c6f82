//! Recorded runs, replayed: alike to the end and up to every commit, without the base and the world they had; and every
//! kind of difference is found where it is.

use crate::history::{DIRECTORY, Writer, engine, run};
use journal::simulated::SimulatedDisk;
use journal::{Disk, Durability, Journal, MemoryDisk, Options, Reader};
use metroon::limits::LimitReached;
use metroon::run::{ProgramEnd, Reporter, RunRequest};
use metroon::storage::CommitJournal;
use metroon::tape::{ReplayEnd, TapeReader};
use metroon::world::MemoryOutput;
use metroon::{Engine, Evaluator, MemoryWorld, Tape, syntax};
use std::sync::Arc;
use std::time::Duration;

/// Asks the world for everything there is to ask.
const PROGRAM: &str = r#"
! (import! &self lib)
! (import! &self random)
! (import! &self system)
! (import! &self fileio)
! (println! (hello world))
(fact 1)
! (add-reduct &self (now (current-time)))
! (add-reduct &self (home (environment-variable "HOME")))
! (add-reduct &self (drawn (random-int &rng 0 1000000)))
! (bind! &file (file-open! "notes.txt" "rwc"))
! (file-write! &file "remember this")
! (file-seek! &file 9)
! (file-read-to-string! &file)
! (file-get-size! &file)
! (file-close! &file)
! (remove-atom &self (fact 1))
! (match &self (drawn $x) $x)
"#;

const PROGRAMS: u64 = 30;

/// Hears nothing.
pub(crate) struct Nobody;

impl Reporter for Nobody {
    fn diagnostic(&mut self, _: &str, _: &syntax::LineIndex<'_>, _: &syntax::Diagnostic) {}
}

fn program() -> RunRequest {
    RunRequest {
        files: vec!["main.metta".to_owned(), "-".to_owned()],
        expressions: vec!["! (get-atoms &self)".to_owned()],
        ..RunRequest::default()
    }
}

fn world() -> MemoryWorld {
    MemoryWorld::default()
        .with_source("main.metta", PROGRAM)
        .with_source("lib.metta", "(lib 1)\n! (println! (loaded))")
        .with_standard_input("(typed in) ! (match &self (lib $x) $x)")
        .with_variable("HOME", "/rooms/a")
        .with_clock(1_700_000_000_000_000_000, 7)
        .with_seed(5)
}

/// Another world than any run was recorded in.
fn elsewhere() -> MemoryWorld {
    MemoryWorld::default().with_clock(1, 1).with_seed(99).with_variable("HOME", "/nowhere")
}

fn record(world: MemoryWorld, base: Option<CommitJournal>, program: &RunRequest) -> (Arc<dyn Disk>, Vec<String>) {
    let output = world.output();
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(world, base, Some(tape), program).expect("the tape begins");
    let end = engine.run_program(program, &mut Nobody);
    assert!(matches!(end, ProgramEnd::Finished), "{end:?}");
    engine.finish().expect("the tape ends");
    (disk, output.printed())
}

/// What a replay came to.
struct Replayed {
    output: MemoryOutput,
    commits: u64,
    atoms: usize,
    ended: Option<ReplayEnd>,
    finish: Result<(), String>,
}

fn replay(disk: Arc<dyn Disk>, stop_after: Option<u64>) -> Result<Replayed, String> {
    let world = elsewhere();
    let output = world.output();
    let tape = TapeReader::on_disk(disk).map_err(|error| error.to_string())?;
    let (mut engine, program) = Engine::replaying(world, tape, stop_after).map_err(|error| error.to_string())?;
    engine.run_program(&program, &mut Nobody);
    let (commits, ended) = engine.replayed().expect("it replays");
    let atoms = engine.atom_count();
    let finish = engine.finish().map_err(|error| error.to_string());
    Ok(Replayed { output, commits, atoms, ended, finish })
}

/// The frames of a journal.
pub(crate) fn frames(disk: &Arc<dyn Disk>) -> Vec<Vec<u8>> {
    let mut reader = Reader::from_frame(Arc::clone(disk), 0).expect("it reads");
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_next().expect("it reads") {
        frames.push(frame.payload.to_vec());
    }
    frames
}

fn tape_of(frames: &[Vec<u8>]) -> Arc<dyn Disk> {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (journal, _) = Journal::open(Arc::clone(&disk), Options::default()).expect("it opens");
    journal.append_all(frames, Durability::Os).expect("they are appended");
    journal.close().expect("it closes");
    disk
}

#[test]
fn everything_a_run_asked_is_answered_again() {
    let (disk, recorded) = record(world(), None, &program());
    assert!(recorded.len() > 15, "{recorded:#?}");
    let replayed = replay(disk, None).expect("the tape is sound");
    assert_eq!((replayed.ended, replayed.finish), (None, Ok(())));
    assert_eq!(replayed.output.printed(), recorded);
    assert!(replayed.output.paths().is_empty(), "a replay writes no file: {:?}", replayed.output.paths());
}

#[test]
fn spaces_made_of_spaces_are_replayed() {
    let text = "! (bind! &s (new-space)) ! (add-atoms &s (a a b (p $x))) ! (bind! &fork (fork-space &s))
        ! (add-atom &fork c) ! (remove-atom &s a) ! (bind! &two (union-spaces &s &fork)) ! (get-atoms (subtract-spaces &two &s))
        ! (get-atoms (intersect-spaces &two &fork)) ! (match-prefix &two ()) ! (collapse (transaction (Error (fork-space &two) no)))";
    let program = RunRequest { files: vec!["spaces.metta".to_owned()], ..RunRequest::default() };
    let (disk, recorded) = record(MemoryWorld::default().with_source("spaces.metta", text), None, &program);
    let all = replay(Arc::clone(&disk), None).expect("the tape is sound");
    assert_eq!((all.ended, all.finish), (None, Ok(())));
    assert_eq!(all.output.printed(), recorded);
    assert!(all.commits > 5, "{} commits", all.commits);
    for stop in 0..all.commits {
        let replayed = replay(Arc::clone(&disk), Some(stop)).expect("the tape is sound");
        assert_eq!(replayed.finish, Ok(()), "stopped after {stop}");
    }
}

#[test]
fn a_replay_stops_after_any_commit() {
    let (disk, recorded) = record(world(), None, &program());
    let all = replay(Arc::clone(&disk), None).expect("the tape is sound").commits;
    assert!(all > 17, "{all} commits");
    let mut lines = 0;
    for last in 0..=all + 1 {
        let replayed = replay(Arc::clone(&disk), Some(last)).expect("the tape is sound");
        assert_eq!(replayed.commits, last.min(all));
        let printed = replayed.output.printed();
        assert!(recorded.starts_with(&printed) && printed.len() >= lines, "{last}: {printed:?}");
        lines = printed.len();
        match replayed.ended {
            Some(ReplayEnd::Reached(reached)) => assert_eq!((reached, replayed.finish), (last, Ok(()))),
            None => assert!(last > all || printed == recorded, "{last}"),
            Some(other) => panic!("{last}: {other}"),
        }
    }
    assert_eq!(lines, recorded.len());
}

/// The number of the only frame that holds these bytes, and of the commit that it belongs to.
fn find(frames: &[Vec<u8>], kind: u8, bytes: &[u8]) -> (usize, u64) {
    let holds = |frame: &&Vec<u8>| {
        frame[0] == kind && !frame.starts_with(&READ_SOURCE) && frame.windows(bytes.len()).any(|window| window == bytes)
    };
    let index = frames.iter().position(|frame| holds(&frame)).expect("a frame holds it");
    let commits = frames[..index].iter().filter(|frame| frame[0] == 4).count();
    (index, commits as u64 + 1)
}

fn with_bytes(frame: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = frame.windows(from.len()).position(|window| window == from).expect("it is there");
    [&frame[..at], to, &frame[at + from.len()..]].concat()
}

const EFFECT: u8 = 3;
/// What the text of a source is the answer of: it holds all words.
const READ_SOURCE: [u8; 2] = [EFFECT, 1];
const COMMIT: u8 = 4;

/// A kind of frame, the bytes in it that are replaced, by which, and what each side is then said to have.
type Case = (u8, &'static [u8], &'static [u8], &'static str, &'static str);

#[test]
fn every_kind_of_difference_is_found_where_it_is() {
    let (disk, _) = record(world(), None, &program());
    let frames = frames(&disk);
    // What the tape is made to say instead, and what is said of it.
    let cases: [Case; 10] = [
        (EFFECT, b"(hello world)", b"(hullo world)", "print (hullo world)", "print (hello world)"),
        (EFFECT, b"HOME", b"HUME", "HUME", "HOME"),
        (EFFECT, b"notes.txt", b"nates.txt", "nates.txt", "notes.txt"),
        (EFFECT, b"lib.metta", b"lob.metta", "lob.metta", "lib.metta"),
        (EFFECT, b"remember this", b"remember thus", "remember thus", "remember this"),
        (COMMIT, b"+ (fact 1)", b"+ (fact 2)", "+ (fact 2)", "+ (fact 1)"),
        (COMMIT, b"+ (now ", b"- (now ", "- (now", "+ (now"),
        (COMMIT, b"main.metta", b"mane.metta", "mane.metta", "main.metta"),
        (COMMIT, b"- (fact 1)", b"- (fact 7)", "- (fact 7)", "- (fact 1)"),
        // An answer: what the program makes of it differs from what the recorded run made of the recorded one.
        (EFFECT, b"/rooms/a", b"/rooms/b", "/rooms/a", "/rooms/b"),
    ];
    for (kind, from, to, recorded, replayed) in cases {
        let (index, commit) = find(&frames, kind, from);
        let mut changed = frames.clone();
        changed[index] = with_bytes(&frames[index], from, to);
        let outcome = replay(tape_of(&changed), None).expect("the tape is sound");
        let context = format!("{:?}", String::from_utf8_lossy(from));
        match outcome.ended {
            Some(ReplayEnd::Differs(difference)) => {
                assert_eq!(difference.commit, commit, "{context}: {difference}");
                let [left, right] = [difference.recorded.join("\n"), difference.replayed.join("\n")];
                assert!(left.contains(recorded) && right.contains(replayed), "{context}: {difference}");
            }
            other => panic!("{context}: {other:?}"),
        }
        assert_eq!(outcome.commits, commit - 1, "{context}");
    }
}

#[test]
fn effects_that_are_missing_too_many_or_in_another_order_are_differences() {
    let (disk, _) = record(world(), None, &program());
    let frames = frames(&disk);
    let effects: Vec<usize> = (0..frames.len()).filter(|&index| frames[index][0] == EFFECT).collect();
    for (position, &index) in effects.iter().enumerate() {
        let mut missing = frames.clone();
        missing.remove(index);
        let mut twice = frames.clone();
        twice.insert(index, frames[index].clone());
        let mut exchanged = frames.clone();
        if let Some(&next) = effects.get(position + 1) {
            exchanged.swap(index, next);
        }
        for (what, changed) in [("missing", missing), ("twice", twice), ("exchanged", exchanged)] {
            if frames == changed || (what == "twice" && frames.get(index + 1) == frames.get(index)) {
                continue;
            }
            let outcome = replay(tape_of(&changed), None).expect("the tape is sound");
            let is_found = match &outcome.ended {
                Some(ReplayEnd::Differs(difference)) => {
                    // Effects before the first commit, or between two, belong to the one that follows.
                    let commits = frames[..index].iter().filter(|frame| frame[0] == COMMIT).count() as u64;
                    let next = effects.get(position + 1).copied().unwrap_or(index);
                    let later = frames[..=next].iter().filter(|frame| frame[0] == COMMIT).count() as u64 + 2;
                    !difference.recorded.is_empty()
                        && !difference.replayed.is_empty()
                        && (commits..=later).contains(&difference.commit)
                }
                Some(ReplayEnd::Unreadable(_) | ReplayEnd::TapeEnds(_)) => true,
                _ => outcome.finish.is_err(),
            };
            assert!(is_found, "{what} {index}: {:?}, {:?}", outcome.ended, outcome.finish);
        }
    }
}

#[test]
fn a_tape_cut_off_anywhere_replays_as_far_as_it_goes() {
    let (disk, recorded) = record(world(), None, &program());
    let frames = frames(&disk);
    for length in 1..frames.len() {
        let outcome = replay(tape_of(&frames[..length]), None).expect("the tape is sound");
        let printed = outcome.output.printed();
        assert!(recorded.starts_with(&printed), "{length}: {printed:?}");
        let commits = frames[..length].iter().filter(|frame| frame[0] == COMMIT).count() as u64;
        assert_eq!(outcome.commits, commits, "{length}");
        let is_told = matches!(outcome.ended, Some(ReplayEnd::TapeEnds(_))) || outcome.finish.is_err();
        assert!(is_told, "{length}: {:?}, {:?}", outcome.ended, outcome.finish);
    }
}

#[test]
fn a_cancelled_run_is_cancelled_again_at_the_same_step() {
    let text = "(= (loop $n) (loop (+ $n 1))) (first) ! (add-atom &self (kept)) (lost) \
                ! (let $a (add-atom &self (lost too)) (loop 0))";
    let program =
        RunRequest { expressions: vec![text.to_owned(), "! (get-atoms &self)".to_owned()], ..RunRequest::default() };
    for is_timeout in [false, true] {
        let world = MemoryWorld::default();
        let output = world.output();
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
        let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("the tape begins");
        let interrupt = engine.limits_mut().interrupt.clone();
        let watch = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(40));
            if is_timeout { interrupt.time_is_up() } else { interrupt.cancel() }
        });
        let end = engine.run_program(&program, &mut Nobody);
        watch.join().expect("it ends");
        let limit = if is_timeout { LimitReached::Time } else { LimitReached::Cancelled };
        assert!(matches!(&end, ProgramEnd::Limit { limit: found, .. } if *found == limit), "{end:?}");
        engine.finish().expect("the tape ends");
        let replayed = replay(disk, None).expect("the tape is sound");
        assert_eq!((replayed.ended, replayed.finish), (None, Ok(())));
        assert_eq!(replayed.output.printed(), output.printed());
    }
}

/// The steps of a form and those of the forms that it imports are counted apart.
/// Where a limit ends a run depends on what evaluates: the tape says what that was.
#[test]
fn a_run_that_a_limit_ended_is_replayed_by_what_evaluated_it() {
    let text = "(= (fill $n) (let $added (add-atom &self (n $n)) (fill (+ $n 1)))) ! (fill 0)";
    let all = [Evaluator::Machine, Evaluator::Interpreter].map(|evaluator| {
        let expressions = vec![text.to_owned()];
        let program = RunRequest { expressions, steps_max: Some(1000), evaluator, ..RunRequest::default() };
        let (disk, recorded) = record_to_its_end(&program, LimitReached::Steps(1000));
        let replayed = replay(disk, None).expect("the tape is sound");
        assert_eq!((replayed.ended, replayed.finish), (None, Ok(())));
        assert_eq!(replayed.output.printed(), recorded);
        replayed.atoms
    });
    assert_ne!(all[0], all[1], "steps of the two differ");
}

#[test]
fn a_run_that_the_limit_of_the_heap_ended_is_replayed() {
    let text = "(= (grow $list) (grow (Cons $list $list))) ! (grow Nil)";
    let heap_bytes_max = Some(100 << 10);
    let program = RunRequest { expressions: vec![text.to_owned()], heap_bytes_max, ..RunRequest::default() };
    let (disk, recorded) = record_to_its_end(&program, LimitReached::Heap(100 << 10));
    assert_eq!(recorded, ["[(Error (grow Nil) (HeapLimit 102400))]"]);
    let replayed = replay(disk, None).expect("the tape is sound");
    assert_eq!((replayed.ended, replayed.finish), (None, Ok(())));
    assert_eq!(replayed.output.printed(), recorded);
}

/// Records a program that reaches a limit.
fn record_to_its_end(program: &RunRequest, expected: LimitReached) -> (Arc<dyn Disk>, Vec<String>) {
    let (world, disk): (_, Arc<dyn Disk>) = (MemoryWorld::default(), Arc::new(MemoryDisk::new()));
    let output = world.output();
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(world, None, Some(tape), program).expect("the tape begins");
    let end = engine.run_program(program, &mut Nobody);
    assert!(matches!(end, ProgramEnd::Limit { limit, .. } if limit == expected), "{end:?}");
    engine.finish().expect("the tape ends");
    (disk, output.printed())
}

#[test]
fn a_run_cancelled_inside_an_import_is_cancelled_there_again() {
    let module = "(= (loop $n) (loop (+ $n 1))) ! (println! begun) \
                  ! (let $x (foldl-atom (1 2 3 4 5 6 7 8) 0 $a $b (+ $a $b)) (println! $x)) ! (loop 0)";
    let program = RunRequest { expressions: vec!["! (import! &self lib)".to_owned()], ..RunRequest::default() };
    let world = MemoryWorld::default().with_source("lib.metta", module);
    let output = world.output();
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let mut engine = Engine::remembering(world, None, Some(tape), &program).expect("the tape begins");
    let interrupt = engine.limits_mut().interrupt.clone();
    let watch = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(60));
        interrupt.cancel();
    });
    let end = engine.run_program(&program, &mut Nobody);
    watch.join().expect("it ends");
    assert!(matches!(&end, ProgramEnd::Limit { limit: LimitReached::Cancelled, .. }), "{end:?}");
    engine.finish().expect("the tape ends");
    let replayed = replay(disk, None).expect("the tape is sound");
    assert_eq!((replayed.ended, replayed.finish), (None, Ok(())));
    assert_eq!(replayed.output.printed(), output.printed());
}

/// A base with a few commits.
fn base() -> Arc<dyn Disk> {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut engine = engine(&disk, MemoryWorld::default());
    for text in ["(old 1) (old 2) ! (bind! &t (new-state 5))", "! (change-state! &t 6)", "(= (f $x) (g $x))"] {
        run(&mut engine, text);
    }
    engine.finish().expect("the base closes");
    disk
}

#[test]
fn a_tape_holds_the_base_that_it_began_with() {
    let disk = base();
    let expressions =
        ["! (f 1) ! (get-state &t)", "(new 1) ! (change-state! &t 7)", "! (get-atoms (as-of &self 1)) ! (epoch &self)"];
    let program = RunRequest { expressions: expressions.map(str::to_owned).to_vec(), ..RunRequest::default() };
    let opened = CommitJournal::on_disk(Arc::clone(&disk), DIRECTORY).expect("the base opens");
    let (tape, recorded) = record(world(), Some(opened), &program);
    // The base goes on, or is gone: the tape does not know.
    run(&mut engine(&disk, MemoryWorld::default()), "! (remove-atom &self (old 1))");
    drop(disk);
    let replayed = replay(tape, None).expect("the tape is sound");
    assert_eq!((replayed.ended, replayed.finish), (None, Ok(())));
    assert_eq!(replayed.output.printed(), recorded);
    assert!(recorded.contains(&"[6]".to_owned()) && recorded.contains(&"[4]".to_owned()), "{recorded:?}");
}

fn contents(disk: &SimulatedDisk) -> Vec<(String, Vec<u8>)> {
    disk.names().into_iter().map(|name| (name.clone(), disk.contents(&name).expect("it is there"))).collect()
}

/// The bytes of a base and of a tape that one program made in one world.
fn recorded_disks() -> [Vec<(String, Vec<u8>)>; 2] {
    let [base_disk, tape_disk] = [SimulatedDisk::new(), SimulatedDisk::new()];
    let base = CommitJournal::on_disk(Arc::new(base_disk.clone()), DIRECTORY).expect("the base opens");
    let tape = Tape::on_disk(Arc::new(tape_disk.clone())).expect("a tape is made");
    let mut engine = Engine::remembering(world(), Some(base), Some(tape), &program()).expect("the tape begins");
    engine.run_program(&program(), &mut Nobody);
    engine.finish().expect("the tape ends");
    [base_disk, tape_disk].map(|disk| contents(&disk))
}

#[test]
fn one_program_in_one_world_makes_the_same_bytes() {
    let [first, second] = [recorded_disks(), recorded_disks()];
    assert!(first.iter().flatten().all(|(_, bytes)| bytes.len() > 1000));
    assert_eq!(first, second);
}

#[test]
fn random_programs_replay_alike() {
    for seed in 500..500 + PROGRAMS {
        let mut writer = Writer::new(seed);
        let sources = 6 + writer.dice.below(12);
        let expressions: Vec<String> = (0..sources).map(|_| writer.form()).collect();
        let program = RunRequest { expressions, steps_max: Some(100_000), ..RunRequest::default() };
        for is_in_base in [false, true] {
            let base_disk = base();
            let opened = is_in_base.then(|| CommitJournal::on_disk(base_disk, DIRECTORY).expect("the base opens"));
            let (world, disk): (_, Arc<dyn Disk>) = (crate::history::world(), Arc::new(MemoryDisk::new()));
            let output = world.output();
            let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
            let mut engine = Engine::remembering(world, opened, Some(tape), &program).expect("the tape begins");
            engine.run_program(&program, &mut Nobody);
            engine.finish().expect("the tape ends");
            let replayed = replay(disk, None).expect("the tape is sound");
            assert_eq!((replayed.ended, replayed.finish), (None, Ok(())), "seed {seed}: {program:#?}");
            assert_eq!(replayed.output.printed(), output.printed(), "seed {seed}: {program:#?}");
        }
    }
}
