//! Checkpoints of bases: a base that is opened from one is the base that its journal comes to, whatever a program did before and does
//! after; and one that is damaged costs time, never an answer.

use crate::base_model::{contents, program};
use crate::harness::one_of;
use crate::history::{DIRECTORY, engine, results, run, world};
use journal::simulated::SimulatedDisk;
use journal::{Access, Disk, MemoryDisk};
use metroon::history::LogEntry;
use metroon::storage::{CheckpointVerdict, CommitJournal};
use metroon::tape::find_error;
use metroon::{
    Engine, History, KnowledgeBase, KnowledgeBaseError, KnowledgeBaseOptions, LiveEvent, LiveRequest, MemoryWorld,
    RunEnd, View,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn checkpoint_names(disk: &dyn Disk) -> Vec<String> {
    let mut names: Vec<String> =
        disk.list().expect("it lists").into_iter().filter(|name| name.contains("checkpoint")).collect();
    names.sort();
    names
}

pub(crate) fn bytes_of(disk: &dyn Disk, name: &str) -> Vec<u8> {
    disk.map(name).expect("it is there").to_vec()
}

fn put(disk: &dyn Disk, name: &str, bytes: &[u8]) {
    disk.create(name).and_then(|file| file.write_full(0, bytes)).expect("memory takes everything");
}

/// The journal of a disk without checkpoints.
fn journal_of(disk: &dyn Disk) -> Arc<dyn Disk> {
    let copy: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let names = disk.list().expect("it lists").into_iter().filter(|name| !name.contains("checkpoint"));
    names.for_each(|segment| put(&*copy, &segment, &bytes_of(disk, &segment)));
    copy
}

/// The journal of a disk with one checkpoint.
pub(crate) fn with_only(disk: &dyn Disk, name: &str, checkpoint: &[u8]) -> Arc<dyn Disk> {
    let copy = journal_of(disk);
    put(&*copy, name, checkpoint);
    copy
}

fn log_of(history: &mut History, from: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let read = history.log(from..=u64::MAX, true, &mut |entry| {
        lines.push(match entry {
            LogEntry::Commit(commit) => format!("{commit:?}"),
            LogEntry::Change(change) => crate::history::plain(&format!("{change:?}")),
        });
        true
    });
    read.expect("the journal reads");
    lines
}

/// From whichever commit a base is opened, it comes to the same contents in the same order, by the same hash after each later commit.
#[test]
fn a_base_opened_from_any_checkpoint_is_the_one_replayed() {
    for seed in (200..230).step_by(one_of(3)) {
        let (sources, writer) = program(seed);
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let mut base = engine(&disk, world());
        let mut checkpoints: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for source in &sources {
            run(&mut base, source);
            if base.checkpoint().is_ok() {
                let names = checkpoint_names(&*disk);
                assert_eq!(names.len(), 1, "older ones are taken away: {names:?}");
                checkpoints.insert(names[0].clone(), bytes_of(&*disk, &names[0]));
            }
        }
        let epoch = base.epoch().expect("it is in a base");
        base.finish().expect("the base closes");
        // What is asked makes a space, so that each is asked on a disk of its own.
        let replayed = journal_of(&*disk);
        let mut replayed = engine(&replayed, world());
        let expected = contents(&mut replayed, &writer);
        for (name, bytes) in &checkpoints {
            let context = format!("seed {seed}, {name}: {sources:#?}");
            let disk = with_only(&*disk, name, bytes);
            check_opened(&disk, epoch, &context);
            let mut opened = engine(&disk, world());
            assert_eq!(opened.warnings(), [""; 0], "{context}");
            assert_eq!(expected, contents(&mut opened, &writer), "{context}");
            let atoms = |engine: &mut Engine| results(engine, &format!("!(get-atoms (as-of &self {}))", epoch / 2));
            let shown = |engine: &mut Engine| {
                format!("{:?}", atoms(engine).iter().map(ToString::to_string).collect::<Vec<_>>())
            };
            assert_eq!(
                crate::history::plain(&shown(&mut opened)),
                crate::history::plain(&shown(&mut replayed)),
                "{context}"
            );
        }
    }
}

fn check_opened(disk: &Arc<dyn Disk>, epoch: u64, context: &str) {
    let mut history = History::on_disk(disk, DIRECTORY).expect("it is sound");
    assert_eq!(history.warnings(), [""; 0], "{context}");
    assert!(history.report().checkpoint.is_some(), "{context}");
    let (report, verdict) =
        History::verify_on_disk(disk, DIRECTORY).unwrap_or_else(|error| panic!("{context}: {error:?}"));
    assert!(matches!(verdict, CheckpointVerdict::Sound { .. }), "{context}: {verdict:?}");
    assert_eq!(report.commits, epoch, "{context}");
    let mut shown = history.report().clone();
    shown.checkpoint = None;
    assert_eq!(shown, report, "{context}");
    let view = View::on_disk(disk, DIRECTORY).expect("it is sound");
    assert_eq!((view.epoch(), view.hash(), view.warnings()), (epoch, report.hash, Vec::new()), "{context}");
    let without = journal_of(&**disk);
    let mut replayed = History::on_disk(&without, DIRECTORY).expect("it is sound");
    assert_eq!(log_of(&mut history, 1), log_of(&mut replayed, 1), "{context}");
    check_parts(&mut history, &mut replayed, context);
    let atoms = history.atoms().expect("it reads");
    for atom in atoms.iter().take(5).filter(|atom| atom.is_ground()) {
        let why = |history: &mut History| {
            let reasons = history.why(atom).expect("it reads").reasons;
            reasons.iter().map(|reason| (reason.epoch, reason.line, reason.origin.clone())).collect::<Vec<_>>()
        };
        assert_eq!(why(&mut history), why(&mut replayed), "{atom}, {context}");
    }
}

/// A part of the log and what differs between two commits are the same, whether they are read from a checkpoint on or from the first commit.
fn check_parts(history: &mut History, replayed: &mut History, context: &str) {
    let last = history.epoch();
    for from in 1..=last {
        assert_eq!(log_of(history, from), log_of(replayed, from), "from {from}, {context}");
        for to in [0, last / 2, last] {
            let differences = [&mut *history, &mut *replayed].map(|history| differences(history, from, to));
            assert_eq!(differences[0], differences[1], "{from} and {to}, {context}");
        }
    }
}

fn differences(history: &mut History, from: u64, to: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let read = history.difference(from, to, &mut |change| {
        lines.push(crate::history::plain(&format!("{change:?}")));
        true
    });
    read.expect("the journal reads");
    lines
}

/// What a base held after the very commit of a checkpoint is not what came after it.
#[test]
fn the_commit_of_a_checkpoint_is_shown_as_it_was() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut base = engine(&disk, MemoryWorld::default());
    run(&mut base, "(a 1)");
    assert_eq!(base.checkpoint().expect("something was committed").epoch, 1);
    run(&mut base, "(a 2)");
    run(&mut base, "(a 3)");
    base.finish().expect("the base closes");
    let history = History::on_disk(&disk, DIRECTORY).expect("it is sound");
    let counts: Vec<usize> = (0..4).map(|epoch| history.atoms_at(epoch).expect("it reads").len()).collect();
    assert_eq!(counts, [0, 1, 2, 3]);
    let mut base = engine(&disk, MemoryWorld::default());
    assert_eq!(results(&mut base, "!(get-atoms (as-of &self 1))").len(), 1);
}

/// A base with facts, rules, states, spaces, words and an edited library, and a checkpoint in the middle.
fn rich(disk: &Arc<dyn Disk>) {
    let mut base = engine(disk, world());
    let facts: String = (0..60).map(|n| format!("(edge node-number-{n} node-number-{})", (n * 7) % 60)).collect();
    for text in [
        facts.as_str(),
        "(= (twice $x) (+ $x $x)) (: twice (-> Number Number)) ! (bind! &s (new-state (twice 2)))",
        "! (import! &self lib) ! (bind! &box (new-space)) ! (add-atom &box (held &s 1.5 \"text\"))",
        "! (add-atom &self (in &box)) ! (remove-atom &self (edge node-number-3 node-number-21))",
        "! (add-atom (mod-space! corelib) (library fact))",
        "! (change-state! &s (new value))",
    ] {
        run(&mut base, text);
    }
    base.checkpoint().expect("something was committed");
    run(&mut base, "! (add-atom &self (edge new-node node-number-1)) (edge new-node new-node)");
    base.finish().expect("the base closes");
}

const ASKED: [&str; 8] = [
    "!(collapse (match &self (edge node-number-2 $x) $x))",
    "!(collapse (match &self (, (edge $x node-number-1) (edge $x $y)) ($x $y)))",
    "!(twice 21)",
    "!(get-state &s)",
    "!(collapse (get-atoms &box))",
    "!(lib-rule 3)",
    "!(collapse (match (mod-space! corelib) (library $x) $x))",
    "!(match &self (in $space) (match $space (held $s $n $t) ($n $t)))",
];

fn asked(base: &mut Engine) -> Vec<(Vec<String>, String)> {
    let asked = ASKED.iter().map(|form| run(base, form));
    asked.map(|(answers, end)| (answers, format!("{end:?}"))).collect()
}

#[test]
fn everything_that_a_base_keeps_is_in_a_checkpoint() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    rich(&disk);
    let replayed = CommitJournal::on_disk(Arc::clone(&disk), DIRECTORY).expect("it opens").without_checkpoints();
    let expected = asked(&mut Engine::with_base(world(), replayed).expect("it loads"));
    assert!(expected.iter().all(|(answers, end)| answers.len() == 1 && end == "Finished"), "{expected:#?}");
    assert_eq!(expected[3].0, ["[(new value)]"]);
    let mut opened = engine(&disk, world());
    assert_eq!(opened.warnings(), [""; 0]);
    assert_eq!(expected, asked(&mut opened));
}

/// One byte after the other of a checkpoint is changed, and it is cut off at many lengths: what is asked gets the right answer, or a run
/// is told which checkpoint is damaged, and the next one goes on from the journal.
#[test]
fn a_damaged_checkpoint_costs_no_answer() {
    let disk = SimulatedDisk::new();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    rich(&shared);
    let expected = asked(&mut engine(&shared, world()));
    let query = |disk: &Arc<dyn Disk>| {
        let view = View::on_disk(disk, DIRECTORY).expect("the journal is sound");
        let found = view.query("(edge $x node-number-1)", "$x").expect("it answers");
        let evaluated = view.evaluate("!(twice 4)").expect("it answers");
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        (found, format!("{:?}", evaluated[0].results), view.warnings())
    };
    let (found, evaluated, warnings) = query(&shared);
    assert_eq!(warnings, [""; 0]);
    let name = checkpoint_names(&*shared).remove(0);
    let bytes = disk.contents(&name).expect("it is there");
    let (mut warned, mut told) = (0, 0);
    for offset in (0..bytes.len()).step_by(bytes.len() / 400) {
        let damaged = disk.duplicate();
        assert!(damaged.flip(&name, offset as u64, 1 << (offset % 8)));
        let damaged: Arc<dyn Disk> = Arc::new(damaged);
        let (now, now_evaluated, warnings) = query(&damaged);
        assert_eq!((&now, &now_evaluated), (&found, &evaluated), "byte {offset}");
        warned += usize::from(!warnings.is_empty());
        assert!(warnings.iter().all(|warning| warning.contains("checkpoint") && warning.contains("journal")));
        let mut base = engine(&damaged, world());
        for (form, expected) in ASKED.iter().zip(&expected) {
            let (answers, end) = run(&mut base, form);
            if let RunEnd::RunRecord(error) = end {
                told += 1;
                let error = find_error::<KnowledgeBaseError>(error.as_ref()).expect("it is of the base");
                assert!(
                    matches!(error, KnowledgeBaseError::Checkpoint { is_removed: true, .. }),
                    "byte {offset}: {error}"
                );
                assert!(error.to_string().contains("every commit is kept"), "{error}");
                break;
            }
            assert_eq!((answers, format!("{end:?}")), *expected, "byte {offset}");
        }
        drop(base);
        // Whoever comes next has all of it, also after a run that was ended by the damage.
        assert_eq!(asked(&mut engine(&damaged, world())).len(), expected.len(), "byte {offset}");
    }
    assert!(warned > 150 && told > 0, "{warned} warned, {told} told");
    for length in (0..bytes.len()).step_by(bytes.len() / 12) {
        let cut = disk.duplicate();
        cut.put(&name, &bytes[..length]);
        let cut: Arc<dyn Disk> = Arc::new(cut);
        let (now, now_evaluated, warnings) = query(&cut);
        assert_eq!((now, now_evaluated, warnings.len()), (found.clone(), evaluated.clone(), 1), "{length} bytes");
    }
}

/// A checkpoint of another journal, or of commits that this one does not have, is not used.
#[test]
fn a_checkpoint_belongs_to_its_journal() {
    let [one, other]: [Arc<dyn Disk>; 2] = [Arc::new(MemoryDisk::new()), Arc::new(MemoryDisk::new())];
    for (disk, text) in [(&one, "(a 1) ! (add-atom &self (a 2))"), (&other, "(a 1) ! (add-atom &self (a 3))")] {
        let mut base = engine(disk, MemoryWorld::default());
        run(&mut base, text);
        base.checkpoint().expect("something was committed");
        base.finish().expect("the base closes");
    }
    let name = checkpoint_names(&*other).remove(0);
    put(&*one, &name, &bytes_of(&*other, &name));
    let view = View::on_disk(&one, DIRECTORY).expect("the journal is sound");
    assert_eq!(view.query("(a $x)", "$x").expect("it answers").len(), 2);
    assert_eq!(view.query("(a 3)", "found").expect("it answers").len(), 0);
    let warnings = view.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains(&name) && warnings[0].contains("does not have the frames"));
    let (_, verdict) = History::verify_on_disk(&one, DIRECTORY).expect("the journal is sound");
    assert!(matches!(verdict, CheckpointVerdict::Unsound { .. }), "{verdict:?}");
}

/// What is half written is worth nothing, and the next checkpoint takes its place.
#[test]
fn an_unfinished_checkpoint_is_not_looked_at() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    put(&*disk, ".checkpoint.new", b"half");
    let mut base = engine(&disk, MemoryWorld::default());
    assert!(base.checkpoint().is_err(), "nothing was committed yet");
    run(&mut base, "(a 1)");
    assert_eq!(base.checkpoint().expect("it is written").epoch, 1);
    base.finish().expect("the base closes");
    assert_eq!(checkpoint_names(&*disk), ["00000000000000000001.checkpoint"]);
    assert!(disk.open("00000000000000000001.checkpoint", Access::Read).is_ok());
}

/// A base that was much added to leaves a checkpoint when it is closed, and none while little has happened since.
#[test]
fn a_checkpoint_is_written_when_it_is_worth_it() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut base = engine(&disk, MemoryWorld::default());
    run(&mut base, "(little)");
    base.finish().expect("the base closes");
    assert_eq!(checkpoint_names(&*disk), [""; 0]);
    let facts: String = (0..30_000).map(|n| format!("(edge node-{n} node-{})\n", n / 3)).collect();
    let mut base = engine(&disk, MemoryWorld::default());
    run(&mut base, &facts);
    base.finish().expect("the base closes");
    assert_eq!(checkpoint_names(&*disk), ["00000000000000000002.checkpoint"]);
    let mut base = engine(&disk, MemoryWorld::default());
    assert_eq!(
        run(&mut base, "(little again) ! (match &self (edge $x node-77) $x)").0,
        ["[node-231, node-232, node-233]"]
    );
    base.finish().expect("the base closes");
    assert_eq!(checkpoint_names(&*disk), ["00000000000000000002.checkpoint"]);
}

/// Threads that share a base opened from a checkpoint ask and write at once.
#[test]
fn threads_share_a_base_that_is_opened_from_a_checkpoint() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    rich(&disk);
    let options = KnowledgeBaseOptions::new(world());
    let base = KnowledgeBase::on_disk(Arc::clone(&disk), DIRECTORY, options).expect("it opens");
    assert_eq!(base.warnings(), [""; 0]);
    let before = base.view().query("(edge $x node-number-1)", "$x").expect("it answers").len();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..20).for_each(|n| drop(base.run(&format!("! (add-atom &self (edge w{n} node-number-1))")))));
        for _ in 0..2 {
            scope.spawn(|| {
                let found = base.view().query("(edge $x node-number-1)", "$x").expect("it answers").len();
                assert!((before..=before + 20).contains(&found), "{found}");
            });
        }
    });
    assert_eq!(base.view().query("(edge $x node-number-1)", "$x").expect("it answers").len(), before + 20);
    base.close().expect("the base closes");
}

/// Live queries over a damaged checkpoint: whoever subscribes gets the right answers or a precise error, a commit whose rows lie in a damaged
/// block ends the run with an error, whoever follows hears the end, and the thread that writes never dies of it.
#[test]
fn damage_under_live_queries_is_an_error_and_an_end() {
    let disk = SimulatedDisk::new();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let facts: String = (0..4_000).map(|n| format!("(edge node-{n} node-{})", (n * 7) % 4_000)).collect();
    let mut base = engine(&shared, world());
    run(&mut base, &facts);
    base.checkpoint().expect("something was committed");
    base.finish().expect("the base closes");
    let request = || LiveRequest::new("(, (edge $x $y) (edge $y $z))").template("($x $z)");
    let expected = first_answers(&shared, &request()).expect("it is sound");
    let name = checkpoint_names(&*shared).remove(0);
    let bytes = disk.contents(&name).expect("it is there");
    let (mut refused, mut ended) = (0, 0);
    for offset in (0..bytes.len()).step_by(bytes.len() / 80) {
        let damaged = disk.duplicate();
        assert!(damaged.flip(&name, offset as u64, 1 << (offset % 8)));
        let damaged: Arc<dyn Disk> = Arc::new(damaged);
        match first_answers(&damaged, &request()) {
            Ok(answers) => assert_eq!(answers, expected, "byte {offset}"),
            Err(error) => {
                refused += 1;
                assert!(
                    error.contains("checkpoint") && error.contains("every commit is kept"),
                    "byte {offset}: {error}"
                );
            }
        }
        let base = KnowledgeBase::on_disk(Arc::clone(&damaged), DIRECTORY, KnowledgeBaseOptions::new(world()));
        let base = base.expect("the journal is sound");
        let Ok(mut following) = base.subscribe(&request()) else { continue };
        for text in ["! (add-atom &self (edge node-2 node-9))", "! (remove-atom &self (edge node-2 node-14))"] {
            let Err(error) = base.run(text) else { continue };
            ended += 1;
            assert!(error.to_string().contains("checkpoint"), "byte {offset}: {error}");
            // What was told before is told, and then there is an end, at once.
            let begun = std::time::Instant::now();
            while let Ok(Some(_)) = following.next_within(Duration::from_secs(20)) {}
            assert!(begun.elapsed() < Duration::from_secs(10), "byte {offset}: whoever follows hears nothing");
            let again = base.run("! (+ 1 2)").expect_err("nothing is done any more").to_string();
            assert!(again.contains("checkpoint"), "byte {offset}: {again}");
            break;
        }
        assert!(base.live_statistics().is_ok(), "byte {offset}: the thread that writes is there");
    }
    assert!(ended > 0, "{refused} refused, {ended} ended");
}

/// The answers that somebody is told first who follows a live query.
fn first_answers(disk: &Arc<dyn Disk>, request: &LiveRequest) -> Result<Vec<String>, String> {
    let base = KnowledgeBase::on_disk(Arc::clone(disk), DIRECTORY, KnowledgeBaseOptions::new(world()));
    let base = base.map_err(|error| error.to_string())?;
    let mut following = base.subscribe(request).map_err(|error| error.to_string())?;
    let mut answers = Vec::new();
    while let Some(event) = following.next_within(Duration::from_secs(20)).map_err(|error| error.to_string())? {
        match event {
            LiveEvent::Answers { changes, .. } => answers.extend(changes.iter().map(|change| format!("{change:?}"))),
            _ => break,
        }
    }
    Ok(answers)
}
