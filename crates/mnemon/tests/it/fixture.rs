//! What earlier versions wrote is readable for ever.
//!
//! `tests/data/version-1` holds a base and a tape that [`write`] made when version 1 was new, from the programs beside them:
//! `first` was run in a new base, then `second` in the same base, recorded. They are never written again: a later version gets
//! a folder of its own, and this one stays, with the tests that read it. Version 2 changed only the beginning of tapes, which says
//! what evaluated: `tests/data/version-2` holds the tape of `second` by the machine. Version 3 says where a limit of memory has
//! ended a form, which `second` comes to none of.
//!
//! Tapes of these versions up to here are of version 1 of the language's semantics: they are read, and not replayed (decision
//! 0046). `tests/data/version-3` holds the tape of `second` by the machine with version 2 of the semantics; but for these numbers it is that of
//! version 2. A base says what happened, so that of version 1 stays what it was.

use crate::harness::{programs, read};
use crate::modes::{Nobody, text_of};
use journal::{Directory, Disk, Reader, SingleFile};
use mnemon::{Base, Engine, Evaluator, LogEntry, MemoryWorld, Program, Tape, TapeReader, View};
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

fn program(evaluator: Evaluator) -> Program {
    Program { files: vec!["program.metta".to_owned()], steps_max: Some(100_000), evaluator, ..Program::default() }
}

/// A base, and a tape of its second sitting; gives what that printed. Nothing in them tells when, where or by whom they were made.
fn write(to: &Path, evaluator: Evaluator) -> String {
    let sit = |sitting: &str, tape| {
        let world = programs(&folder().join(sitting), "", MemoryWorld::default()).with_variable("LANG", "C.UTF-8");
        let output = world.output();
        let disk = Directory::create(to.join("base/journal")).expect("the base's folder can be made");
        let base = Base::on_disk(Arc::new(disk), "/somewhere/base").expect("the base opens");
        let mut engine = Engine::remembering(world, Some(base), tape, &program(evaluator)).expect("the base loads");
        engine.run_program(&program(evaluator), &mut Nobody);
        engine.finish().expect("the base closes");
        text_of(&output)
    };
    sit("first", None);
    sit("second", Some(Tape::create(to.join("second.tape")).expect("a tape is made")))
}

/// The history of a base, and what it holds.
fn shown(mut view: View) -> String {
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
    let shown = shown(View::open(folder().join("base")).expect("the fixture is part of the sources"));
    assert_eq!(shown, read(&folder().join("base.expected")));
}

#[test]
fn a_base_of_version_1_can_be_continued() {
    let to = scratch("base-of-version-1");
    fs::create_dir(to.join("journal")).expect("a folder can be made");
    for name in ["MANIFEST", SEGMENT] {
        fs::copy(folder().join("base").join(name), to.join(name)).expect("the fixture is part of the sources");
    }
    let base = Base::open(&to).expect("the base opens");
    assert!(base.warnings().is_empty());
    let world = MemoryWorld::default();
    let output = world.output();
    let mut engine = Engine::with_base(world, base).expect("the base loads");
    let text = "!(get-state &runs) !(random-int &dice 1 7) !(eats Sam) !(get-atoms &box) !(deep) !(epoch &self)";
    engine.run_program(&Program { expressions: vec![text.to_owned()], ..Program::default() }, &mut Nobody);
    engine.finish().expect("the base closes");
    let held = "(held 1.5 -7 123456789012345678901234567890 \"a text\" True (State 2))";
    assert_eq!(text_of(&output), format!("[2]\n[6]\n[flies]\n[{held}]\n[2]\n[19]\n"));
}

#[test]
fn a_tape_of_version_3_replays_for_ever() {
    check_replay(&folder().join("../version-3/second.tape"), Evaluator::Machine);
}

#[test]
fn tapes_of_earlier_semantics_are_refused() {
    for tape in [folder().join("second.tape"), folder().join("../version-2/second.tape")] {
        let tape = TapeReader::open(&tape).expect("the fixture is part of the sources");
        let error = Engine::replaying(MemoryWorld::default(), tape, None).err().expect("it is of version 1");
        let error = error.to_string();
        assert!(error.contains("version 1 of the language's semantics, and this program has 2"), "{error}");
    }
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
    before
}

/// What a tape says of the program and of the world, without the base and its state.
fn effects(folder: &Path) -> Vec<Vec<u8>> {
    frames_of_kinds(folder, &[3, 5, 6])
}

fn frames_of_kinds(folder: &Path, kinds: &[u8]) -> Vec<Vec<u8>> {
    let payloads = payloads(SingleFile::open(folder.join("second.tape")).expect("the tape is there"));
    payloads.into_iter().filter(|payload| kinds.contains(&payload[0])).collect()
}

/// As long as version 1 is what this crate writes, but for the version of the semantics behind that of the format.
#[test]
fn what_is_written_is_version_1_to_the_byte() {
    let to = scratch("what-is-written");
    let printed = write(&to, Evaluator::Interpreter);
    let disk: Arc<dyn Disk> = Arc::new(Directory::open(to.join("base/journal")).expect("the base is there"));
    let view = View::on_disk(&disk, "/somewhere/base").expect("it is sound");
    fs::write(to.join("base.expected"), shown(view)).expect("a file can be written");
    assert_eq!(printed, read(&folder().join("second.expected")));
    let (mut written, kept) = (before_bundled(&to), before_bundled(&folder()));
    assert_eq!((&written[0], &kept[0]), (&vec![1, 1, 2], &vec![1, 1, 1]));
    written[0][2] = 1;
    assert!(written == kept, "bases are written in another way");
    assert!(effects(&to) == effects(&folder()), "tapes are written in another way");
    drop(Base::open(to.join("new")).expect("a base is made"));
    assert_eq!(read(&to.join("new/MANIFEST")), read(&folder().join("base/MANIFEST")));
}

#[test]
fn tapes_are_written_as_version_2_has_them_but_for_its_numbers() {
    let to = scratch("tapes-are-written");
    assert_eq!(write(&to, Evaluator::Machine), read(&folder().join("second.expected")));
    let of_tape = |folder: &Path| frames_of_kinds(folder, &[1, 3, 5, 6]);
    let (mut written, kept) = (of_tape(&to), of_tape(&folder().join("../version-2")));
    assert!(written == of_tape(&folder().join("../version-3")), "tapes are written in another way");
    // Behind the kind of the first frame stand the versions of the format and of the semantics.
    assert_eq!((&written[0][1..3], &kept[0][1..3]), (&[3, 2][..], &[2, 1][..]));
    written[0][1..3].copy_from_slice(&[2, 1]);
    assert!(written == kept, "tapes are written in another way");
}
