//! Bases of which old commits were given up: what is kept is what there was, what was given up is said to be, and a crash at any moment
//! leaves one or the other.

use crate::base_model::{contents, is_closed, program};
use crate::harness::one_of;
use crate::history::{DIRECTORY, plain, results, run, run_source, world};
use journal::simulated::{Fate, Fault, SimulatedDisk};
use journal::{Disk, FRAMES_AT, MemoryDisk};
use metroon::history::LogEntry;
use metroon::live::SubscribeError;
use metroon::run::Source;
use metroon::storage::{CheckpointVerdict, CommitJournal};
use metroon::{
    Engine, History, KnowledgeBase, KnowledgeBaseError, KnowledgeBaseOptions, LiveRequest, MemoryWorld, View,
};
use std::sync::Arc;
use std::time::Duration;

/// Few frames fill a segment.
const SHORT: u64 = FRAMES_AT + 300;

fn open(disk: &Arc<dyn Disk>, world: MemoryWorld) -> Result<Engine, String> {
    let base = CommitJournal::on_disk_in_segments(Arc::clone(disk), DIRECTORY, SHORT);
    Engine::with_base(world, base.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

fn engine(disk: &Arc<dyn Disk>) -> Engine {
    open(disk, world()).expect("the base opens")
}

fn copy_of(disk: &dyn Disk) -> Arc<dyn Disk> {
    let copy: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    for name in disk.list().expect("it lists") {
        let bytes = disk.map(&name).expect("it is there");
        copy.create(&name).and_then(|file| file.write_full(0, &bytes)).expect("memory takes everything");
    }
    copy
}

fn beginning_of(disk: &dyn Disk) -> Option<String> {
    let names = disk.list().expect("it lists");
    names.into_iter().find(|name| name.ends_with(".beginning"))
}

/// The lines of the commits from one on, with their changes.
fn log(history: &mut History, from: u64) -> Result<Vec<String>, KnowledgeBaseError> {
    let mut lines = Vec::new();
    history.log(from..=u64::MAX, true, &mut |entry| {
        lines.push(match entry {
            LogEntry::Commit(commit) => format!("{commit:?}"),
            LogEntry::Change(change) => plain(&format!("{change:?}")),
        });
        true
    })?;
    Ok(lines)
}

fn difference(history: &mut History, from: u64, to: u64) -> Result<Vec<String>, KnowledgeBaseError> {
    let mut lines = Vec::new();
    history.difference(from, to, &mut |change| {
        lines.push(plain(&format!("{change:?}")));
        true
    })?;
    Ok(lines)
}

fn atoms(history: &History, epoch: u64) -> Result<Vec<String>, KnowledgeBaseError> {
    Ok(history.atoms_at(epoch)?.iter().map(|atom| plain(&atom.to_string())).collect())
}

fn is_given_up<T: std::fmt::Debug>(result: &Result<T, KnowledgeBaseError>) -> bool {
    matches!(result, Err(KnowledgeBaseError::GivenUp { .. }))
}

/// Programs run in a base, of which all but the last commits are given up, and in one that keeps all: both hold the same, now and after
/// each commit that is kept, and go on alike.
#[test]
fn a_base_of_which_commits_were_given_up_is_the_one_it_was() {
    let mut given_up = 0;
    for seed in (300..340).step_by(one_of(3)) {
        let (sources, writer) = program(seed);
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let (early, late) = sources.split_at(sources.len() * 3 / 4);
        let mut base = engine(&disk);
        early.iter().for_each(|source| drop(run(&mut base, source)));
        base.finish().expect("the base closes");
        let whole = copy_of(&*disk);
        let mut base = engine(&disk);
        if base.epoch() == Some(0) {
            continue;
        }
        let compacted =
            base.compact(Some(seed % 5), &mut |_| {}).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let context = format!("seed {seed}, {compacted:?}: {sources:#?}");
        let first = compacted.given_up.expect("it was asked for").first;
        given_up += u64::from(first > 1);
        assert_eq!(beginning_of(&*disk).is_some(), first > 1, "{context}");
        check_kept(&disk, &whole, first, &context);
        // It goes on, and is reopened, as the other one.
        let mut other = engine(&whole);
        for source in late {
            let (expected, found) = (run(&mut other, source), run(&mut base, source));
            assert_eq!((expected.0, format!("{:?}", expected.1)), (found.0, format!("{:?}", found.1)), "{context}");
        }
        base.finish().expect("the base closes");
        other.finish().expect("the base closes");
        check_kept(&disk, &whole, first, &context);
        assert_eq!(contents(&mut engine(&disk), &writer), contents(&mut engine(&whole), &writer), "{context}");
    }
    assert!(given_up as usize > 25 / one_of(3), "{given_up} bases gave something up");
}

/// Compares a base with one that kept all.
fn check_kept(disk: &Arc<dyn Disk>, whole: &Arc<dyn Disk>, first: u64, context: &str) {
    for without_checkpoint in [false, true] {
        let disk = copy_of(&**disk);
        if without_checkpoint {
            let names = disk.list().expect("it lists");
            names
                .iter()
                .filter(|name| name.ends_with(".checkpoint"))
                .for_each(|name| disk.remove(name).expect("it goes"));
        }
        let [mut kept, mut all] = [&disk, whole]
            .map(|disk| History::on_disk(disk, DIRECTORY).unwrap_or_else(|error| panic!("{context}: {error}")));
        assert_eq!((kept.first(), kept.epoch()), (first, all.epoch()), "{context}");
        assert_eq!(kept.report().hash, all.report().hash, "{context}");
        assert_eq!(kept.warnings(), [""; 0], "{context}");
        for epoch in 0..=all.epoch() {
            let found = atoms(&kept, epoch);
            if epoch + 1 < first {
                assert!(is_given_up(&found), "commit {epoch}: {found:?}, {context}");
                let found = difference(&mut kept, epoch, all.epoch());
                assert!(is_given_up(&found), "commit {epoch}: {found:?}, {context}");
                continue;
            }
            assert_eq!(
                found.expect("it is kept"),
                atoms(&all, epoch).expect("it is there"),
                "commit {epoch}: {context}"
            );
            let [found, expected] =
                [&mut kept, &mut all].map(|history| difference(history, epoch, history.epoch()).expect("it is kept"));
            assert_eq!(found, expected, "commit {epoch}: {context}");
        }
        assert_eq!(log(&mut kept, first).expect("it is kept"), log(&mut all, first).expect("it is there"), "{context}");
        assert!(first == 1 || is_given_up(&log(&mut kept, first - 1)), "{context}");
        for atom in all.atoms().expect("it reads").iter().take(6).filter(|atom| atom.is_ground() && is_closed(atom)) {
            let [found, expected] = [&mut kept, &mut all].map(|history| history.why(atom).expect("it reads"));
            let kept = expected.reasons.iter().filter(|reason| reason.epoch >= first);
            let epochs: Vec<u64> = kept.map(|reason| reason.epoch).collect();
            assert_eq!(
                found.reasons.iter().map(|reason| reason.epoch).collect::<Vec<_>>(),
                epochs,
                "{atom}: {context}"
            );
            assert_eq!(found.given_up, (expected.reasons.len() - epochs.len()) as u64, "{atom}: {context}");
        }
        let (report, verdict) =
            History::verify_on_disk(&disk, DIRECTORY).unwrap_or_else(|error| panic!("{context}: {error:?}"));
        assert_eq!((report.first, report.hash), (first, all.report().hash), "{context}");
        assert_eq!(matches!(verdict, CheckpointVerdict::Sound { .. }), !without_checkpoint, "{context}: {verdict:?}");
        let mut engine = engine(&disk);
        if first > 1 {
            let (_, end) = run(&mut engine, "! (as-of &self 0)");
            let shown = format!("{:?} {end:?}", run(&mut engine, "! (collapse (get-atoms (as-of &self 0)))"));
            assert!(shown.contains("given up"), "{end:?}, {shown}");
        }
        let form = format!("! (collapse (get-atoms (as-of &self {})))", first.max(all.epoch() / 2));
        let mut other = open(&copy_of(&**whole), world()).expect("it opens");
        let [found, expected] = [&mut engine, &mut other].map(|engine| plain(&format!("{:?}", results(engine, &form))));
        assert_eq!(found, expected, "{context}");
    }
}

/// A file that was run in a commit that was given up is edited, forgotten, and listed as before.
#[test]
fn what_files_state_outlives_their_commits() {
    let [disk, whole]: [Arc<dyn Disk>; 2] = [Arc::new(MemoryDisk::new()), Arc::new(MemoryDisk::new())];
    let file = |engine: &mut Engine, name: &str, text: &str| {
        let source = Source { file: Some(name), ..Source::text(text) };
        run_source(engine, &source)
    };
    for disk in [&disk, &whole] {
        let mut base = engine(disk);
        file(&mut base, "/kb/a.metta", "(a 1) (a 2) (a 2) (a $x) ! (add-atom &self (added by a))");
        file(&mut base, "/kb/b.metta", "(b 1) (a 1)");
        file(&mut base, "/kb/a.metta", "(a 2) (a 2) (a $x) (a 3)");
        run(&mut base, "! (remove-atom &self (b 1))");
        run(&mut base, "(text of no file) ! (add-atom &self (last))");
        base.finish().expect("the base closes");
    }
    let mut base = engine(&disk);
    let given_up = base.compact(Some(1), &mut |_| {}).expect("it is sound").given_up.expect("it was asked for");
    assert!(given_up.commits > 0 && given_up.bytes > 0, "{given_up:?}");
    base.finish().expect("the base closes");
    let sources =
        |disk| format!("{:?}", History::on_disk(disk, DIRECTORY).expect("it is sound").sources().expect("it reads"));
    assert_eq!(sources(&disk), sources(&whole));
    for disk in [&disk, &whole] {
        let mut base = engine(disk);
        // What it does not say any more goes, what it says once less goes once.
        file(&mut base, "/kb/a.metta", "(a 2) (a 4)");
        base.forget_source("forgotten", "/kb/b.metta");
        base.finish().expect("the base closes");
    }
    assert_eq!(sources(&disk), sources(&whole));
    let held = |disk| {
        let history = History::on_disk(disk, DIRECTORY).expect("it is sound");
        atoms(&history, history.epoch()).expect("it reads")
    };
    assert_eq!(held(&disk), held(&whole));
    assert!(
        held(&disk).contains(&"(a 4)".to_owned()) && !held(&disk).contains(&"(a 3)".to_owned()),
        "{:?}",
        held(&disk)
    );
}

/// What is written while the power may fail at any moment: small commits, two trims, sittings.
const SCRIPT: [&str; 9] = [
    "(a 1) (a 2) ! (add-atom &self (b 1))",
    "! (bind! &s (new-state 1))",
    "! (change-state! &s 2)",
    "keep 1",
    "(plain 1) ! (remove-atom &self (a 1))",
    "! (add-atom &self (c (state &s)))",
    "close",
    "keep 0",
    "! (add-atom &self (last))",
];

/// Runs the script; the last commit that was acknowledged, and the first that must be kept.
fn run_script(disk: &Arc<dyn Disk>) -> u64 {
    let mut acknowledged = 0;
    let mut base = None;
    for step in SCRIPT {
        let Some(engine) = base.get_or_insert_with(|| open(disk, MemoryWorld::default())).as_mut().ok() else { break };
        match step.strip_prefix("keep ") {
            Some(keep) => drop(engine.compact(Some(keep.parse().expect("a number")), &mut |_| {})),
            None if step == "close" => match base.take().expect("it was opened").expect("it is").finish() {
                Ok(()) => continue,
                Err(_) => break,
            },
            None => match run(engine, step).1 {
                metroon::RunEnd::Finished => acknowledged = engine.epoch().unwrap_or_default(),
                _ => break,
            },
        }
    }
    acknowledged
}

#[test]
fn power_loss_while_commits_are_given_up_loses_no_other() {
    let rehearsal = SimulatedDisk::new();
    let shared: Arc<dyn Disk> = Arc::new(rehearsal.clone());
    let last = run_script(&shared);
    assert!(History::on_disk(&shared, DIRECTORY).expect("it is sound").first() > 4);
    let whole = reference();
    let operations = rehearsal.operations();
    for operation in (0..operations).step_by(one_of(5)).chain([operations]) {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, Fault::PowerLoss);
        let acknowledged = run_script(&(Arc::new(disk.clone()) as Arc<dyn Disk>));
        assert!(operation < operations || acknowledged == last);
        for fate in [Fate::Drop, Fate::ALL[operation as usize % Fate::ALL.len()]] {
            let survivor: Arc<dyn Disk> = Arc::new(disk.power_loss(fate, operation));
            check_survivor(&survivor, &whole, acknowledged, &format!("operation {operation}, {fate:?}"));
        }
    }
}

/// An operation fails, and nothing more works, or nothing grows any more.
#[test]
fn any_operation_may_fail_while_commits_are_given_up() {
    let rehearsal = SimulatedDisk::new();
    run_script(&(Arc::new(rehearsal.clone()) as Arc<dyn Disk>));
    let whole = reference();
    let faults = (0..rehearsal.operations()).flat_map(|n| [(n, Fault::Broken), (n, Fault::Full)]);
    for (operation, fault) in faults.step_by(one_of(5)) {
        let disk = SimulatedDisk::new();
        disk.schedule(operation, fault);
        let acknowledged = run_script(&(Arc::new(disk.clone()) as Arc<dyn Disk>));
        let left = if fault == Fault::Broken { disk.power_loss(Fate::Drop, operation) } else { disk };
        let left: Arc<dyn Disk> = Arc::new(left);
        check_survivor(&left, &whole, acknowledged, &format!("operation {operation}, {fault:?}"));
    }
}

/// The script where nothing is given up.
fn reference() -> History {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut base = open(&disk, MemoryWorld::default()).expect("it opens");
    let texts = SCRIPT.iter().filter(|step| **step != "close" && !step.starts_with("keep"));
    texts.for_each(|text| drop(run(&mut base, text)));
    base.finish().expect("the base closes");
    History::on_disk(&disk, DIRECTORY).expect("it is sound")
}

fn check_survivor(disk: &Arc<dyn Disk>, whole: &History, acknowledged: u64, context: &str) {
    let mut base = open(disk, MemoryWorld::default()).unwrap_or_else(|error| panic!("{context}: {error}"));
    let epoch = base.epoch().unwrap_or_default();
    assert!(epoch >= acknowledged, "{context}: commit {epoch} of {acknowledged}");
    let history = History::on_disk(disk, DIRECTORY).unwrap_or_else(|error| panic!("{context}: {error}"));
    for kept in history.first().saturating_sub(1)..=epoch {
        let found = atoms(&history, kept).unwrap_or_else(|error| panic!("{context}, commit {kept}: {error}"));
        assert_eq!(found, atoms(whole, kept).expect("it is there"), "{context}, commit {kept}");
    }
    History::verify_on_disk(disk, DIRECTORY).unwrap_or_else(|error| panic!("{context}: {error:?}"));
    assert_eq!(run(&mut base, "! (add-atom &self (after the crash))").0, ["[()]"], "{context}");
    if epoch > 0 {
        base.compact(Some(1), &mut |_| {}).unwrap_or_else(|error| panic!("{context}: {error}"));
        base.finish().expect("the base closes");
        let left = disk.list().expect("it lists").iter().filter(|name| name.ends_with(".beginning")).count();
        assert!(left <= 1, "{context}: {left} beginnings");
    }
}

/// What the kept commits begin with is damaged, byte by byte: the base still opens by its checkpoint and answers; what is asked of the
/// history is answered rightly or said to be damaged; and nothing is made up.
#[test]
fn a_damaged_beginning_is_a_precise_error() {
    let disk = SimulatedDisk::new();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    run_script(&shared);
    let name = beginning_of(&*shared).expect("commits were given up");
    let bytes = disk.contents(&name).expect("it is there");
    let expected = View::on_disk(&shared, DIRECTORY).expect("it is sound").query("(c $x)", "$x").expect("it answers");
    let mut told = 0;
    for offset in (0..bytes.len()).step_by(bytes.len() / 300 + 1) {
        let damaged = disk.duplicate();
        assert!(damaged.flip(&name, offset as u64, 1 << (offset % 8)));
        let damaged: Arc<dyn Disk> = Arc::new(damaged);
        let view = View::on_disk(&damaged, DIRECTORY).unwrap_or_else(|error| panic!("byte {offset}: {error}"));
        assert_eq!(view.query("(c $x)", "$x").expect("it answers"), expected, "byte {offset}");
        match History::verify_on_disk(&damaged, DIRECTORY) {
            Ok(_) => {}
            Err(unsound) => {
                told += 1;
                assert!(matches!(unsound.error, KnowledgeBaseError::NoBeginning { .. }), "byte {offset}: {unsound:?}");
                assert!(unsound.error.to_string().contains(&name), "{unsound:?}");
                let mut base = open(&damaged, MemoryWorld::default()).expect("it opens by its checkpoint");
                let refused = base.compact(Some(0), &mut |_| {});
                assert!(matches!(refused, Err(KnowledgeBaseError::NoBeginning { .. })), "byte {offset}: {refused:?}");
            }
        }
    }
    assert!(told > 100, "{told} told");
    // With the checkpoint gone as well there is nothing to open.
    let names = disk.names();
    names.iter().filter(|name| name.contains(".checkpoint")).for_each(|name| disk.put(name, b"rubbish"));
    disk.put(&name, &bytes[..bytes.len() / 2]);
    let refused = View::on_disk(&shared, DIRECTORY);
    assert!(matches!(refused, Err(KnowledgeBaseError::NoBeginning { .. })), "{refused:?}");
}

/// A checkpoint that is not what the journal comes to stops everything: nothing is given up for it.
#[test]
fn nothing_is_given_up_if_nothing_was_asked_or_little_is_there() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut base = engine(&disk);
    assert!(base.compact(Some(0), &mut |_| {}).is_err(), "nothing was committed yet");
    run(&mut base, "(a 1) ! (add-atom &self (a 2))");
    assert_eq!(base.compact(None, &mut |_| {}).expect("it is sound").given_up, None);
    let given_up = base.compact(Some(100), &mut |_| {}).expect("it is sound").given_up.expect("it was asked for");
    assert_eq!((given_up.first, given_up.commits, given_up.bytes), (1, 0, 0));
    base.finish().expect("the base closes");
    assert_eq!(beginning_of(&*disk), None);
    // Segments of the usual length hold everything here.
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut base = crate::history::engine(&disk, world());
    (0..20).for_each(|n| drop(run(&mut base, &format!("(a {n})"))));
    let given_up = base.compact(Some(1), &mut |_| {}).expect("it is sound").given_up.expect("it was asked for");
    assert_eq!((given_up.first, given_up.commits), (1, 0));
}

/// Somebody who follows a live query from a commit that was given up is told so.
#[test]
fn who_follows_from_a_commit_that_was_given_up_is_told() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    run_script(&disk);
    let options = KnowledgeBaseOptions::new(MemoryWorld::default());
    let base = KnowledgeBase::on_disk(Arc::clone(&disk), DIRECTORY, options).expect("it opens");
    let last = base.view().epoch();
    let request = LiveRequest::new("(c $x)");
    let mut late = base.subscribe_with(&request, 10, Some(1)).expect("it is followed");
    let told = late.next_within(Duration::from_secs(5));
    assert!(
        matches!(told, Err(SubscribeError::KnowledgeBase(KnowledgeBaseError::GivenUp { epoch: 1, .. }))),
        "{told:?}"
    );
    let mut now = base.subscribe_with(&request, 10, Some(last)).expect("it is followed");
    base.run("! (add-atom &self (c 9))").expect("it runs");
    let told = now.next_within(Duration::from_secs(5)).expect("it reads").expect("something changed");
    assert_eq!(told.epoch(), last + 1);
    base.close().expect("the base closes");
}

/// `why` inside a program says what it does not know.
#[test]
fn why_says_that_a_commit_was_given_up() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    run_script(&disk);
    let mut base = open(&disk, MemoryWorld::default()).expect("it opens");
    assert!(results(&mut base, "! (why &self (last))")[0].to_string().contains("commit"));
    let told = format!("{:?}", run(&mut base, "! (why &self (b 1))"));
    assert!(told.contains("not known any more") && told.contains("before commit"), "{told}");
}
