//! The power fails at every operation of a base's life, or an operation fails. What opens then is a prefix of the
//! commits that holds every one whose answer was handed out; then the base goes on.
//!
//! `METROON_KILLS=1000` says how many lives with a clock that is set back are made up, each of which ends somewhere.

use crate::harness::one_of;
use crate::history::{DIRECTORY, results, run};
use generate::Dice;
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{Disk, FRAMES_AT};
use metroon::run::Source;
use metroon::storage::CommitJournal;
use metroon::{Engine, History, MemoryWorld, RunEnd};
use std::sync::Arc;

/// A step of the script: what runs, or the end of a sitting.
#[derive(Clone, Copy)]
enum Step {
    Text(&'static str),
    /// A file of this name, which the base knows.
    File(&'static str, &'static str),
    Close,
    Drop,
    /// Writes a checkpoint, which may fail: no commit depends on it.
    Checkpoint,
    /// Gives up all but the last commits, which may fail.
    Compact,
    /// A new sitting, with short segments, whose first commit has this time by a clock that goes backwards.
    Clock(i64),
}

use Step::{Checkpoint, Clock, Close, Compact, Drop, File, Text};

/// Small commits, commits in the middle of a form, notes, edits, sittings with and without an end.
const SCRIPT: &[Step] = &[
    Text("(a 1) (a 2) ! (add-atom &self (b 1))"),
    Text("! (+ 1 2)"),
    Text("! (bind! &s (new-state 1))"),
    File("/kb/f.metta", "(f 1) (f 2) ! (add-atom &self (from f))"),
    Close,
    Text("! (let* (($a (change-state! &s 2)) ($b (commit!))) (add-atom &self (c 1)))"),
    File("/kb/f.metta", "(f 2) (f 3)"),
    Text("(plain 1) (plain 2)"),
    Drop,
    Text("! (transaction (let $a (add-atom &self (t 1)) (Error a b)))"),
    Text("! (remove-atom &self (a 1))"),
    File("/kb/f.metta", "(f 2) (f 3)"),
    Text("! (add-atom &self (last (state &s)))"),
];

/// The script with checkpoints: after commits, before anything is committed, two after each other, and in sittings with and without an end.
fn script_with_checkpoints() -> Vec<Step> {
    let mut script = vec![Checkpoint];
    for (number, step) in SCRIPT.iter().enumerate() {
        script.push(*step);
        if number % 2 == 0 && !matches!(step, Close | Drop) {
            script.push(Checkpoint);
        }
    }
    script.push(Checkpoint);
    script
}

/// What a base holds after each commit, and after which commit each step of the script ends.
struct Reference {
    states: Vec<Vec<String>>,
    epochs: Vec<u64>,
    operations: u64,
}

fn shared(disk: &SimulatedDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

fn open(disk: &SimulatedDisk) -> Result<Engine, String> {
    let base = CommitJournal::on_disk(shared(disk), DIRECTORY).map_err(|error| error.to_string())?;
    Engine::with_base(MemoryWorld::default(), base).map_err(|error| error.to_string())
}

fn open_at(disk: &SimulatedDisk, time: i64) -> Result<Engine, String> {
    let base = CommitJournal::on_disk_in_segments(shared(disk), DIRECTORY, FRAMES_AT + 2_000);
    let world = MemoryWorld::default().with_commit_times(time, -1_000_000_000);
    Engine::with_base(world, base.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

fn epoch(engine: &mut Engine) -> u64 {
    results(engine, "!(epoch &self)")[0].to_string().parse().expect("it is a number")
}

/// Runs one step; whether it was acknowledged, and how it ended.
fn step(engine: &mut Engine, step: Step) -> (bool, RunEnd) {
    let (text, file) = match step {
        Text(text) => (text, None),
        File(name, text) => (text, Some(name)),
        _ => unreachable!("it runs nothing"),
    };
    let mut answers = 0;
    let source = Source { file, ..Source::text(text) };
    let run = engine.run_source(&source, &mut |_, _| {
        answers += 1;
        Ok(())
    });
    let is_acknowledged = answers > 0 || matches!(run.end, RunEnd::Finished);
    (is_acknowledged, run.end)
}

/// Runs the script; how many steps were acknowledged before something failed.
fn run_script(disk: &SimulatedDisk, script: &[Step], mut after: impl FnMut(usize, &mut Engine)) -> usize {
    let mut acknowledged = 0;
    let mut engine = None;
    for (number, next) in script.iter().enumerate() {
        match next {
            Close => {
                if let Some(Err(_)) = engine.take().map(Engine::finish) {
                    return acknowledged;
                }
            }
            Drop => engine = None,
            Clock(time) => {
                drop(engine.take());
                let Ok(opened) = open_at(disk, *time) else { return acknowledged };
                engine = Some(opened);
            }
            _ => {
                if engine.is_none() {
                    let Ok(opened) = open(disk) else { return acknowledged };
                    engine = Some(opened);
                }
                let engine = engine.as_mut().expect("it was opened");
                if matches!(next, Checkpoint | Compact) {
                    let _ = if matches!(next, Compact) {
                        engine.compact(Some(2), &mut |_| {}).map(drop)
                    } else {
                        engine.checkpoint().map(drop)
                    };
                    acknowledged = number + 1;
                    continue;
                }
                let (is_acknowledged, end) = step(engine, *next);
                if matches!(end, RunEnd::RunRecord(_)) {
                    assert_nothing_follows(engine);
                    return if is_acknowledged { number + 1 } else { acknowledged };
                }
                assert!(is_acknowledged, "step {number}: {end:?}");
                after(number, engine);
            }
        }
        acknowledged = number + 1;
    }
    acknowledged
}

/// After a commit that could not be kept, nothing is acknowledged, although the disk works again.
fn assert_nothing_follows(engine: &mut Engine) {
    for text in ["! (+ 1 2)", "(x)", "! (add-atom &self (x))", "! (get-atoms &self)", ""] {
        let (answers, end) = run(engine, text);
        assert!(answers.is_empty() && matches!(end, RunEnd::RunRecord(_)), "{text}: {answers:?}, {end:?}");
    }
}

fn reference(script: &[Step]) -> Reference {
    let disk = SimulatedDisk::new();
    let mut epochs = vec![0; script.len() + 1];
    let steps = run_script(&disk, script, |number, engine| epochs[number + 1] = epoch(engine));
    assert_eq!(steps, script.len());
    for number in 1..epochs.len() {
        epochs[number] = epochs[number].max(epochs[number - 1]);
    }
    let operations = disk.operations();
    let view = History::on_disk(&shared(&disk), DIRECTORY).expect("the base is sound");
    let last = view.epoch();
    let states = (0..=last).map(|epoch| {
        let atoms = view.atoms_at(epoch).expect("there is such a commit");
        atoms.iter().map(ToString::to_string).collect()
    });
    Reference { states: states.collect(), epochs, operations }
}

/// Opens what is left. It is a prefix that holds what was acknowledged, and goes on.
fn check(disk: &SimulatedDisk, reference: &Reference, acknowledged: usize, context: &str) {
    let mut engine = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let found = epoch(&mut engine);
    let least = reference.epochs[acknowledged];
    assert!(found >= least, "{context}: commit {found} is the last, and {least} was acknowledged");
    let view = History::on_disk(&shared(disk), DIRECTORY).unwrap_or_else(|error| panic!("{context}: {error}"));
    let atoms: Vec<String> = view.atoms().expect("it reads").iter().map(ToString::to_string).collect();
    assert_eq!(atoms, reference.states[found as usize], "{context}: commit {found}");
    assert_eq!(view.epoch(), found, "{context}");
    let (answers, end) = run(&mut engine, "! (add-atom &self (after the crash))");
    assert!(answers == ["[()]"] && matches!(end, RunEnd::Finished), "{context}: {answers:?}, {end:?}");
    drop(engine);
    let mut engine = open(&disk.power_loss(Fate::Drop, 0)).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(epoch(&mut engine), found + 1, "{context}");
    assert_eq!(run(&mut engine, "! (match &self (after $x $y) $y)").0, ["[crash]"], "{context}");
}

#[test]
fn power_loss_at_every_operation_leaves_the_acknowledged_commits() {
    let reference = reference(SCRIPT);
    assert!(reference.operations > 40, "{} operations", reference.operations);
    for operation in 0..=reference.operations {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = run_script(&disk, SCRIPT, |_, _| {});
        for fate in Fate::ALL {
            let context = format!("operation {operation}, {fate:?}");
            let survivor = disk.power_loss(fate, operation);
            check(&survivor, &reference, acknowledged, &context);
        }
    }
}

#[test]
fn power_loss_while_checkpoints_are_written_leaves_the_acknowledged_commits() {
    let script = script_with_checkpoints();
    let reference = reference(&script);
    for operation in (0..reference.operations).step_by(one_of(3)).chain([reference.operations]) {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = run_script(&disk, &script, |_, _| {});
        for fate in Fate::ALL {
            let context = format!("operation {operation}, {fate:?}");
            let survivor = disk.power_loss(fate, operation);
            // A checkpoint that has its name is whole.
            let opened = open(&survivor.duplicate()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!(opened.warnings().iter().all(|warning| !warning.contains("checkpoint")), "{context}");
            drop(opened);
            check(&survivor, &reference, acknowledged, &context);
        }
    }
}

#[test]
fn a_checkpoint_that_cannot_be_written_costs_no_commit() {
    let script = script_with_checkpoints();
    let reference = reference(&script);
    let faults = (0..reference.operations).flat_map(|n| [(n, Fault::Broken), (n, Fault::Full)]);
    for (operation, fault) in faults.step_by(one_of(3)) {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, fault);
        let acknowledged = run_script(&disk, &script, |_, _| {});
        let context = format!("operation {operation}, {fault:?}");
        if fault == Fault::Broken {
            check(&disk.power_loss(Fate::Drop, operation), &reference, acknowledged, &context);
        } else {
            check(&disk, &reference, acknowledged, &context);
        }
    }
}

#[test]
fn any_operation_may_fail_and_nothing_is_acknowledged_afterwards() {
    let reference = reference(SCRIPT);
    for (operation, fault) in (0..reference.operations).flat_map(|n| [(n, Fault::Broken), (n, Fault::Full)]) {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, fault);
        let acknowledged = run_script(&disk, SCRIPT, |_, _| {});
        let context = format!("operation {operation}, {fault:?}");
        // Whoever opens it next sees it on this disk, or after a power loss.
        if fault == Fault::Broken {
            check(&disk.power_loss(Fate::Drop, operation), &reference, acknowledged, &context);
        } else {
            check(&disk, &reference, acknowledged, &context);
        }
    }
}

/// A commit of several frames: all of it is there, or none.
#[test]
fn a_commit_of_several_frames_is_there_whole_or_not_at_all() {
    let big = format!("(one \"{0}\") (two \"{0}\") (three \"{0}\") ! (add-atom &self (small))", "x".repeat(2_500_000));
    let script = [Text("(before)"), Text(big.leak()), Text("(afterwards)")];
    let reference = reference(&script);
    for operation in 0..=reference.operations {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = run_script(&disk, &script, |_, _| {});
        let fate = if operation % 2 == 0 { Fate::Reordered } else { Fate::Keep };
        let context = format!("operation {operation}, {fate:?}");
        check(&disk.power_loss(fate, operation), &reference, acknowledged, &context);
    }
}

/// A step of a life that is made up.
fn some_step(dice: &mut Dice) -> Step {
    let (one, other) = (dice.below(6), dice.below(6));
    let text = match dice.below(14) {
        0 => return Checkpoint,
        1 => return Compact,
        2 => return Close,
        3 | 4 => return Clock(1_000_000_000_000 * (dice.below(40) as i64 - 20)),
        5 => return File("/kb/f.metta", format!("(f {one}) (f {other}) ! (add-atom &self (g {one}))").leak()),
        6 => format!("! (remove-atom &self (a {one}))"),
        7 => format!("! (let* (($a (add-atom &self (b {one}))) ($b (commit!))) (add-atom &self (b {other})))"),
        8 => format!("! (transaction (let $a (add-atom &self (t {one})) (Error a b)))"),
        9 | 10 => format!("(long {one} \"{}\")", "x".repeat(200 + 900 * other)),
        _ => format!("(a {one}) (a {other}) ! (add-atom &self (c {one}))"),
    };
    Text(text.leak())
}

/// Lives of a base that are made up, with short segments, checkpoints, commits that are given up, and a clock that is set back, in which the power
/// goes somewhere, mostly while something is half written.
#[test]
fn power_loss_somewhere_in_a_life_with_a_clock_that_is_set_back_leaves_the_acknowledged_commits() {
    let lives = std::env::var("METROON_KILLS").ok().and_then(|lives| lives.parse().ok()).unwrap_or(40);
    let mut losses = 0;
    for life in 0..lives {
        let mut dice = Dice::new(life);
        let script: Vec<Step> = (0..8 + dice.below(16)).map(|_| some_step(&mut dice)).collect();
        // What is given up cannot be looked at, so the states come from the life in which it is kept.
        let kept: Vec<Step> =
            script.iter().map(|step| if matches!(step, Compact) { Checkpoint } else { *step }).collect();
        let reference = reference(&kept);
        let whole = SimulatedDisk::new();
        assert_eq!(run_script(&whole, &script, |_, _| {}), script.len());
        for _ in 0..2 {
            let operation = dice.below(whole.operations() as usize + 1) as u64;
            let disk = SimulatedDisk::new();
            disk.schedule(operation, Fault::PowerLoss);
            let acknowledged = run_script(&disk, &script, |_, _| {});
            for fate in [Fate::Torn, Fate::Torn, Fate::Reordered, Fate::Drop] {
                let context = format!("life {life}, operation {operation}, {fate:?}");
                check(&disk.power_loss(fate, dice.below(1 << 30) as u64), &reference, acknowledged, &context);
                losses += 1;
            }
        }
    }
    assert!(losses > 0, "nothing was lost: the test proves nothing");
}
