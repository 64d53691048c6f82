//! Mended defects of bases and tapes, one test each.

use crate::history::{DIRECTORY, engine, results, run};
use journal::simulated::{Fault, SimulatedDisk};
use journal::{Directory, Disk, Durability, Journal, MemoryDisk, Options};
use metroon::storage::CommitJournal;
use metroon::tape::find_error;
use metroon::{Engine, History, KnowledgeBaseError, MemoryWorld, RunEnd};
use std::path::Path;
use std::sync::Arc;

fn empty() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

/// What a text prints in the base on a disk.
fn sitting(disk: &Arc<dyn Disk>, text: &str) -> Vec<String> {
    run(&mut engine(disk, MemoryWorld::default()), text).0
}

#[test]
fn a_source_that_changes_nothing_does_not_spoil_the_base() {
    let disk = empty();
    let mut base = engine(&disk, MemoryWorld::default());
    for text in ["! (+ 1 2)", "(a)", "! (match &self (a) found)", "(b)"] {
        run(&mut base, text);
    }
    drop(base);
    assert_eq!(sitting(&disk, "! (get-atoms &self)"), ["[(a), (b)]"]);
    let mut view = History::on_disk(&disk, DIRECTORY).expect("it is sound");
    let asked = view.read("(b)").expect("it is an atom");
    assert_eq!(view.why(&asked).expect("it reads").reasons[0].origin, "text");
}

#[test]
fn what_a_rolled_back_transaction_made_is_only_a_name_in_its_error() {
    let disk = empty();
    let leaks = [
        "! (case (transaction (let $s (new-state 1) (Error $s leaked))) (($error (add-atom &self (from $error)))))",
        "! (case (transaction (let $s (new-space) (Error (x $s) leaked))) (($error (add-atom &self (from $error)))))",
        "! (import! &self random)",
        "! (case (transaction (let $g (new-random-generator 1) (Error $g leaked))) (($error (add-atom &self (from $error)))))",
    ];
    for leak in leaks {
        sitting(&disk, leak);
        assert_eq!(sitting(&disk, "! (+ 1 1)"), ["[2]"], "the base opens after {leak}");
    }
    let held = sitting(&disk, "! (get-atoms &self)");
    assert!(held[0].starts_with("[(from (Error (State 1) leaked)), (from (Error (x GroundingSpace-"), "{held:?}");
    // The numbers are given again, and nothing of before is mistaken for what has them now.
    let text = "! (bind! &t (new-state 5)) ! (add-atom &self (holds &t)) ! (change-state! &t 6)";
    sitting(&disk, text);
    let held = sitting(&disk, "! (match &self (from (Error $x leaked)) $x) ! (match &self (holds $x) $x)");
    assert!(held[0].starts_with("[(State 1), ") && held[1] == "[(State 6)]", "{held:?}");
}

#[test]
fn a_value_of_this_process_is_kept_by_no_setting_and_no_type() {
    let disk = empty();
    let open = "! (import! &self fileio) ! (bind! &f (file-open! \"f\" \"rwc\"))";
    for keep in ["! (pragma! mine &f)", "! (_new-state 1 (&f))", "! (new-state &f)", "! (add-atom &self (f &f))"] {
        let mut base = engine(&disk, MemoryWorld::default());
        run(&mut base, open);
        let (answers, end) = run(&mut base, keep);
        assert!(matches!(end, RunEnd::Error), "{keep}: {answers:?}");
        drop(base);
        assert_eq!(sitting(&disk, "! (+ 1 1)"), ["[2]"], "the base opens after {keep}");
    }
}

#[test]
fn a_big_atom_beside_others_takes_a_frame_of_its_own() {
    let disk = empty();
    let text = format!("(small \"{}\") (big \"{}\") (after)", "s".repeat(3_500_000), "b".repeat(13_500_000));
    let (_, end) = run(&mut engine(&disk, MemoryWorld::default()), &text);
    assert!(matches!(end, RunEnd::Finished), "{end:?}");
    assert_eq!(engine(&disk, MemoryWorld::default()).atom_count(), 3);
}

#[test]
fn an_atom_longer_than_a_frame_is_kept_in_pieces() {
    let disk = empty();
    let mut base = engine(&disk, MemoryWorld::default());
    run(&mut base, "(before)");
    let (answers, end) = run(&mut base, &format!("! (add-atom &self (big \"{}\"))", "b".repeat(17 << 20)));
    assert!(answers == ["[()]"] && matches!(end, RunEnd::Finished), "{end:?}");
    drop(base);
    assert_eq!(sitting(&disk, "! (match &self (big $x) found)"), ["[found]"]);
}

#[test]
fn looking_at_the_past_does_not_change_the_library() {
    let disk = empty();
    let mut base = engine(&disk, MemoryWorld::default());
    run(&mut base, "! (add-atom (mod-space! corelib) (in the library))");
    run(&mut base, "! (add-atom &self (x))");
    let asked = "! (match (mod-space! corelib) (in the library) found)";
    for epoch in [0, 1, 2, 1] {
        let past =
            results(&mut base, &format!("! (match (as-of (mod-space! corelib) {epoch}) (in the library) found)"));
        assert_eq!(past.len(), usize::from(epoch > 0), "as of {epoch}");
        assert_eq!(run(&mut base, asked).0, ["[found]"], "after looking at {epoch}");
        assert_eq!(run(&mut base, "! (epoch &self)").0, ["[2]"]);
    }
    drop(base);
    let view = History::on_disk(&disk, DIRECTORY).expect("it is sound");
    for epoch in [1, 2] {
        view.atoms_at(epoch).expect("there is such a commit");
    }
    assert_eq!(sitting(&disk, asked), ["[found]"]);
}

#[test]
fn a_view_stays_with_what_it_saw() {
    let disk = empty();
    sitting(&disk, "(a 1)");
    let mut view = History::on_disk(&disk, DIRECTORY).expect("it is sound");
    let hash = view.report().hash;
    sitting(&disk, "! (add-atom &self (a (new-space))) ! (let $s (new-space) (add-atom &self (a $s)))");
    let asked = view.read("(a $x)").expect("it is an atom");
    assert_eq!(view.why(&asked).expect("it reads").reasons.len(), 1);
    let report = view.report().clone();
    assert_eq!((report.commits, report.hash, report.atoms), (1, hash, 1));
    let mut commits = 0;
    view.log(0..=u64::MAX, true, &mut |entry| {
        commits += u32::from(matches!(entry, metroon::history::LogEntry::Commit(_)));
        true
    })
    .expect("it reads");
    assert_eq!(commits, 1);
}

#[test]
fn a_broken_disk_is_not_called_a_full_one() {
    for (fault, word) in [(Fault::Broken, "the disk or its connection failed"), (Fault::Full, "make room")] {
        let simulated = SimulatedDisk::new();
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let mut base = engine(&disk, MemoryWorld::default());
        run(&mut base, "! (add-atom &self (a))");
        simulated.schedule(simulated.operations(), fault);
        let (_, end) = run(&mut base, "! (add-atom &self (b))");
        let RunEnd::RunRecord(error) = end else { panic!("{end:?}") };
        let help =
            find_error::<KnowledgeBaseError>(error.as_ref()).and_then(KnowledgeBaseError::help).expect("there is help");
        assert!(help.contains(word) && help.contains("what was committed before is kept"), "{fault:?}: {help}");
    }
}

/// How far the journal of a base was made.
#[derive(Debug)]
enum Journals {
    None,
    Folder,
    Empty,
    Begun,
}

impl Journals {
    fn make(&self, folder: &Path) {
        if matches!(self, Self::None) {
            return;
        }
        let disk = Arc::new(Directory::create(folder).expect("it is made"));
        if matches!(self, Self::Folder) {
            return;
        }
        let (journal, _) = Journal::open(disk, Options::default()).expect("it is made");
        if matches!(self, Self::Begun) {
            journal.append(&[1, 1, 1], Durability::Fsync).expect("the first frame of a base is appended");
        }
    }
}

/// Whoever makes a base may die between any two of its steps.
#[test]
fn a_base_that_was_half_made_is_made_whole() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("half-made");
    let steps: [(&[(&str, &str)], Journals); 7] = [
        (&[], Journals::None),
        (&[("LOCK", "")], Journals::None),
        (&[("LOCK", "123\n")], Journals::Folder),
        (&[("LOCK", "123\n"), ("journal/00000000000000000000.segment.new", "MN")], Journals::Folder),
        (&[("LOCK", "123\n")], Journals::Empty),
        (&[("LOCK", "123\n")], Journals::Begun),
        (&[("LOCK", "123\n"), ("MANIFEST.new", "mne")], Journals::Begun),
    ];
    for (files, journal) in steps {
        std::fs::remove_dir_all(&folder)
            .or_else(|error| if folder.exists() { Err(error) } else { Ok(()) })
            .expect("it goes");
        std::fs::create_dir_all(&folder).expect("it is made");
        journal.make(&folder.join("journal"));
        files.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).expect("it is written"));
        for expected in [1, 2] {
            let base = CommitJournal::open(&folder).unwrap_or_else(|error| panic!("{files:?}: {error}"));
            let mut engine = Engine::with_base(MemoryWorld::default(), base).expect("the base loads");
            run(&mut engine, "! (add-atom &self (a))");
            assert_eq!(engine.atom_count(), expected, "{files:?}");
            assert!(matches!(CommitJournal::open(&folder), Err(KnowledgeBaseError::InUse { .. })));
        }
    }
    std::fs::write(folder.join("MANIFEST"), "metroon base\nformat 9\n").expect("it is written");
    assert!(matches!(CommitJournal::open(&folder), Err(KnowledgeBaseError::Format { .. })));
    for damage in ["", "metroon", "metroon base\nform"] {
        std::fs::write(folder.join("MANIFEST"), damage).expect("it is written");
        assert!(matches!(CommitJournal::open(&folder), Err(KnowledgeBaseError::NoManifest { .. })), "{damage}");
    }
    std::fs::remove_file(folder.join("MANIFEST")).expect("it goes");
    assert!(matches!(CommitJournal::open(&folder), Err(KnowledgeBaseError::NoManifest { .. })));
    assert!(matches!(CommitJournal::read(&folder), Err(KnowledgeBaseError::NoManifest { .. })));
    std::fs::remove_dir_all(&folder).expect("it goes");
}
