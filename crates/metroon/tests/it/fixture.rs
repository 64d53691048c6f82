//! What version 1 wrote is readable for ever.
//!
//! `tests/data/version-1` holds a base and tapes that [`write`] made when version 1 was new, from the programs beside them:
//! `first` was run in a new base, then `second` in the same base, recorded: on `second.tape` by the machine, on
//! `interpreted.tape` by the interpreter. They are never written again: a later version gets a folder of its own, and this one
//! stays, with the tests that read it. `METROON_BLESS=1` writes what is missing, once, when a version is new.

use crate::harness::{Nobody, programs, read, text_of};
use journal::{Directory, Disk, Durability, Journal, MemoryDisk, Options, Reader, SingleFile};
use metroon::history::LogEntry;
use metroon::run::RunRequest;
use metroon::storage::{CheckpointVerdict, CommitJournal};
use metroon::tape::TapeReader;
use metroon::{Engine, Evaluator, History, MemoryWorld, Tape, View};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SEGMENT: &str = "journal/00000000000000000000.segment";

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/version-1"))
}

/// An empty folder for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn program(evaluator: Evaluator) -> RunRequest {
    RunRequest {
        files: vec!["program.metta".to_owned()],
        steps_max: Some(100_000),
        evaluator,
        // As all runs were when version 1 was new.
        no_memo: true,
        ..RunRequest::default()
    }
}

/// A base, and a tape of its second sitting; gives what that printed. Nothing in them tells when, where or by whom they were made.
fn write(to: &Path, evaluator: Evaluator) -> String {
    let sit = |sitting: &str, tape| {
        let world = programs(&folder().join(sitting), "", MemoryWorld::default()).with_variable("LANG", "C.UTF-8");
        let output = world.output();
        let disk = Directory::create(to.join("base/journal")).expect("the base's folder can be made");
        let base = CommitJournal::on_disk(Arc::new(disk), "/somewhere/base").expect("the base opens");
        let mut engine = Engine::remembering(world, Some(base), tape, &program(evaluator)).expect("the base loads");
        engine.run_program(&program(evaluator), &mut Nobody);
        engine.finish().expect("the base closes");
        text_of(&output)
    };
    sit("first", None);
    sit("second", Some(Tape::create(to.join("second.tape")).expect("a tape is made")))
}

/// The history of a base, and what it holds.
fn shown(mut view: History) -> String {
    let mut shown = String::new();
    view.log(1..=u64::MAX, true, &mut |entry| {
        shown += &match entry {
            LogEntry::Commit(commit) => {
                format!("commit {} {:032x} {}:{}\n", commit.epoch, commit.hash, commit.origin, commit.line)
            }
            LogEntry::Change(change) => {
                format!("  {}:{} {:+} {}\n", change.origin, change.line, change.copies, change.text)
            }
        };
        true
    })
    .expect("the base is whole");
    shown.extend(view.atoms().expect("the base is whole").iter().map(|atom| format!("{atom}\n")));
    shown
}

#[test]
fn a_base_of_version_1_reads_for_ever() {
    let shown = shown(History::open(folder().join("base")).expect("the fixture is part of the sources"));
    assert_eq!(shown, read(&folder().join("base.expected")));
}

#[test]
fn a_base_of_version_1_can_be_continued() {
    let to = scratch("base-of-version-1");
    fs::create_dir(to.join("journal")).expect("a folder can be made");
    for name in ["MANIFEST", SEGMENT] {
        fs::copy(folder().join("base").join(name), to.join(name)).expect("the fixture is part of the sources");
    }
    let base = CommitJournal::open(&to).expect("the base opens");
    assert!(base.warnings().is_empty());
    let world = MemoryWorld::default();
    let output = world.output();
    let mut engine = Engine::with_base(world, base).expect("the base loads");
    let text = "!(get-state &runs) !(random-int &dice 1 7) !(eats Sam) !(get-atoms &box) !(deep) !(epoch &self)";
    engine.run_program(&RunRequest { expressions: vec![text.to_owned()], ..RunRequest::default() }, &mut Nobody);
    engine.finish().expect("the base closes");
    let held = "(held 1.5 -7 123456789012345678901234567890 \"a text\" True (State 2))";
    assert_eq!(text_of(&output), format!("[2]\n[6]\n[flies]\n[{held}]\n[2]\n[19]\n"));
}

#[test]
fn tapes_of_version_1_replay_for_ever() {
    check_replay(&folder().join("second.tape"), Evaluator::Machine);
    check_replay(&folder().join("interpreted.tape"), Evaluator::Interpreter);
}

/// A tape whose only difference is the version of the semantics, the second number of its first frame.
#[test]
fn a_tape_of_other_semantics_is_refused() {
    let mut frames =
        payloads(SingleFile::open(folder().join("second.tape")).expect("the fixture is part of the sources"));
    assert_eq!(frames[0][..3], [1, 1, 1]);
    frames[0][2] = 2;
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (journal, _) = Journal::open(Arc::clone(&disk), Options::default()).expect("a journal is made");
    for frame in &frames {
        journal.append(frame, Durability::Os).expect("a frame is written");
    }
    journal.close().expect("the journal closes");
    let tape = TapeReader::on_disk(disk).expect("the tape opens");
    let error = Engine::replaying(MemoryWorld::default(), tape, None).err().expect("it is of version 2").to_string();
    assert!(error.contains("version 2 of the language's semantics, and this program has 1"), "{error}");
}

fn check_replay(tape: &Path, evaluator: Evaluator) {
    let world = MemoryWorld::default();
    let output = world.output();
    let tape = TapeReader::open(tape).expect("the fixture is part of the sources");
    let (mut engine, found) = Engine::replaying(world, tape, None).expect("the tape begins");
    assert_eq!(found, program(evaluator));
    engine.run_program(&found, &mut Nobody);
    engine.finish().expect("all is the same");
    assert_eq!(text_of(&output), read(&folder().join("second.expected")));
}

/// The payloads of a journal.
fn payloads(disk: impl Disk + 'static) -> Vec<Vec<u8>> {
    let mut reader = Reader::from_frame(Arc::new(disk), 0).expect("the journal opens");
    let next = || reader.read_next().expect("the journal is whole").map(|frame| frame.payload.to_vec());
    std::iter::from_fn(next).collect()
}

/// What a base says before a module that comes with the program was imported, whose documentation may change.
fn before_bundled(folder: &Path) -> Vec<Vec<u8>> {
    let payloads = payloads(Directory::open(folder.join("base/journal")).expect("the base is there"));
    let has_documentation = |payload: &Vec<u8>| payload.windows(4).any(|part| part == b"@doc");
    let before: Vec<_> = payloads.into_iter().take_while(|payload| !has_documentation(payload)).collect();
    assert_eq!(before.len(), 12, "the frame that says the format, ten commits, and a note that a module was read");
    before.into_iter().map(without_variable_count).collect()
}

/// A frame without the number of variables that a commit says were handed out: how many the evaluator needs is no matter of the
/// format. Before it come the kind, the number of the commit, its hash and the number of its parts.
fn without_variable_count(frame: Vec<u8>) -> Vec<u8> {
    const COMMIT: u8 = 3;
    let number_ends = |from: usize| from + frame[from..].iter().take_while(|byte| **byte >= 0x80).count() + 1;
    if frame[0] != COMMIT {
        return frame;
    }
    let from = number_ends(number_ends(1) + 16);
    [&frame[..from], &frame[number_ends(from)..]].concat()
}

/// What a tape says of the program and of the world, without the base and its state.
fn of_tape(tape: &Path) -> Vec<Vec<u8>> {
    let payloads = payloads(SingleFile::open(tape).expect("the tape is there"));
    payloads.into_iter().filter(|payload| [1, 3, 5, 6].contains(&payload[0])).collect()
}

/// As long as version 1 is what this crate writes.
#[test]
fn what_is_written_is_version_1_to_the_byte() {
    for (evaluator, tape) in [(Evaluator::Machine, "second.tape"), (Evaluator::Interpreter, "interpreted.tape")] {
        let to = scratch(&format!("what-is-written-{tape}"));
        let printed = write(&to, evaluator);
        let disk: Arc<dyn Disk> = Arc::new(Directory::open(to.join("base/journal")).expect("the base is there"));
        let view = History::on_disk(&disk, "/somewhere/base").expect("it is sound");
        fs::write(to.join("base.expected"), shown(view)).expect("a file can be written");
        drop(CommitJournal::open(to.join("new")).expect("a base is made"));
        if std::env::var_os("METROON_BLESS").is_some() {
            bless(&to, tape, &printed);
        }
        assert_eq!(printed, read(&folder().join("second.expected")));
        // The evaluators number variables in ways of their own, which a base holds.
        if evaluator == Evaluator::Machine {
            assert!(before_bundled(&to) == before_bundled(&folder()), "bases are written in another way");
        }
        assert!(of_tape(&to.join("second.tape")) == of_tape(&folder().join(tape)), "tapes are written in another way");
        assert_eq!(read(&to.join("new/MANIFEST")), read(&folder().join("base/MANIFEST")));
    }
}

/// Makes what is missing of the fixtures.
fn bless(from: &Path, tape: &str, printed: &str) {
    let copy = |what: &str, to: &str| {
        let to = folder().join(to);
        if !to.exists() {
            fs::create_dir_all(to.parent().expect("it lies in a folder")).expect("a folder can be made");
            fs::copy(from.join(what), to).expect("a file can be copied");
        }
    };
    copy("second.tape", tape);
    copy("new/MANIFEST", "base/MANIFEST");
    copy("base/journal/00000000000000000000.segment", "base/journal/00000000000000000000.segment");
    copy("base.expected", "base.expected");
    if !folder().join("second.expected").exists() {
        fs::write(folder().join("second.expected"), printed).expect("a file can be written");
    }
}

/// The journal of a base whose old commits were given up, with what it begins with, and its checkpoint.
fn trimmed() -> PathBuf {
    folder().join("trimmed/journal")
}

/// A base with something of each kind, of which all but two commits are given up, and with a commit after its checkpoint.
fn write_trimmed(to: &Path) {
    let disk: Arc<dyn Disk> = Arc::new(Directory::create(to).expect("the folder can be made"));
    let base = || CommitJournal::on_disk_in_segments(Arc::clone(&disk), "/somewhere/base", 13_000).expect("it opens");
    let mut engine = Engine::with_base(MemoryWorld::default(), base()).expect("it loads");
    let mut run = |text: &str| drop(engine.run_text(text, &mut |_, _| Ok(())));
    run("(edge a b) (edge b c) (edge a b) (size a 1.5) (name a \"text\") (= (twice $x) (+ $x $x))");
    run("! (bind! &s (new-state (a b))) ! (bind! &box (new-space)) ! (add-atom &box (held &s))");
    (0..40).for_each(|n| run(&format!("! (add-atom &self (edge node-{n} node-{}))", n / 2)));
    run("! (change-state! &s (c d)) ! (remove-atom &self (edge b c))");
    engine.compact(Some(2), &mut |_| {}).expect("it is sound");
    engine.run_text("(edge z a)", &mut |_, _| Ok(()));
    engine.finish().expect("the base closes");
}

#[test]
fn version_1_of_a_trimmed_base_is_opened_by_its_checkpoint() {
    if std::env::var_os("METROON_BLESS").is_some() && !trimmed().exists() {
        write_trimmed(&trimmed());
    }
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    for entry in fs::read_dir(trimmed()).expect("it is there") {
        let entry = entry.expect("it can be read");
        let bytes = fs::read(entry.path()).expect("it can be read");
        let name = entry.file_name().into_string().expect("it is a name");
        disk.create(&name).and_then(|file| file.write_full(0, &bytes)).expect("memory has room");
    }
    let mut names = disk.list().expect("memory can be read");
    names.retain(|name| !name.ends_with(".segment"));
    names.sort();
    let expected = ["00000000000000000044.beginning", "00000000000000000046.checkpoint", "beginning"];
    assert_eq!(names, expected);
    let view = View::on_disk(&disk, "/somewhere/base").expect("it is sound");
    assert_eq!((view.epoch(), view.warnings()), (47, Vec::new()));
    let found = view.query("(edge $x a)", "$x").expect("it answers");
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), ["z"]);
    let answers = view.evaluate("!(twice 21) !(get-state &s) !(get-atoms &box)").expect("it answers");
    assert_eq!(answers[0].results[0].to_string(), "42");
    assert_eq!(answers[1].results[0].to_string(), "(c d)");
    assert_eq!(answers[2].results.len(), 1);
    let (report, verdict) = History::verify_on_disk(&disk, "/somewhere/base").expect("it is sound");
    assert_eq!((report.first, report.commits), (45, 47));
    assert!(matches!(verdict, CheckpointVerdict::Sound { epoch: 46 }), "{verdict:?}");
    let history = History::on_disk(&disk, "/somewhere/base").expect("it is sound");
    let before = history.atoms_at(44).expect("it is kept");
    assert!(before.iter().any(|atom| atom.to_string() == "(edge b c)"), "{before:?}");
}
