//! What the index of a base's history answers is what the journal answers, whatever became of the index.

use crate::history::{Writer, run, world};
use generate::Dice;
use journal::{Directory, Disk, FRAMES_AT};
use metroon::history::{CommitView, History, LogEntry, Moment, Origins};
use metroon::storage::CommitJournal;
use metroon::{Atom, Engine, KnowledgeBase, KnowledgeBaseOptions, MemoryWorld};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const HISTORIES: u64 = 6;
const ROUNDS: usize = 6;
const FORMS: usize = 12;
const HOUR: i64 = 3_600_000_000_000;

/// A folder for one test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("metroon-index-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An engine in a base whose segments are short, so that old commits can be given up.
fn engine_in_short_segments(folder: &Path, world: MemoryWorld) -> Engine {
    drop(CommitJournal::open(folder).expect("the base opens"));
    let disk: Arc<dyn Disk> = Arc::new(Directory::open(folder.join("journal")).expect("there is a journal"));
    let directory = folder.to_str().expect("it is UTF-8");
    let base = CommitJournal::on_disk_in_segments(disk, directory, FRAMES_AT + 300).expect("the base opens");
    Engine::with_base(world, base).expect("the base loads")
}

fn engine(folder: &Path) -> Engine {
    Engine::with_base(world(), CommitJournal::open(folder).expect("the base opens")).expect("the base loads")
}

/// The base as its journal alone says.
fn by_journal(folder: &Path) -> History {
    let disk: Arc<dyn Disk> = Arc::new(Directory::open(folder.join("journal")).expect("there is a journal"));
    History::on_disk(&disk, folder.to_str().expect("it is UTF-8")).expect("it is sound")
}

/// Atoms without variables that a base has, had or never had.
fn asked(history: &History, writer: &mut Writer) -> Vec<Atom> {
    let mut atoms: Vec<Atom> = (history.first() - 1..=history.epoch())
        .step_by(3)
        .flat_map(|epoch| history.atoms_at(epoch).expect("it reads"))
        .collect();
    atoms.extend((0..20).filter_map(|_| history.read(&writer.atom()).ok()));
    // A space or a state of one program is another one to another program.
    atoms.retain(|atom| atom.is_ground() && !["Space", "State"].iter().any(|one| atom.to_string().contains(one)));
    atoms.sort_by_key(ToString::to_string);
    atoms.dedup_by_key(|atom| atom.to_string());
    atoms
}

/// The commits that changed an atom, with what they did to it, and how many copies are older.
fn log_of(history: &mut History, atom: &Atom, from: u64, to: u64, with_changes: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let given_up = history.log_of(atom, from..=to, with_changes, &mut |entry| {
        lines.push(format!("{entry:?}"));
        true
    });
    match given_up {
        Ok(copies) => lines.push(format!("{copies} copies are older")),
        Err(error) => lines.push(error.to_string()),
    }
    lines
}

/// The commits of the whole log among whose changes an atom is, in the program's space or in those of modules.
fn searched(history: &mut History, atom: &Atom) -> Vec<u64> {
    let (text, mut commit, mut found) = (history.text(atom), 0, Vec::new());
    let walked = history.log(history.first()..=u64::MAX, true, &mut |entry| {
        match entry {
            LogEntry::Commit(view) => commit = view.epoch,
            LogEntry::Change(change) => {
                let is_asked = change.copies != 0 && change.space.is_none() && change.text == text;
                found.extend(is_asked.then_some(commit));
            }
        }
        true
    });
    walked.expect("it reads");
    found.dedup();
    found
}

/// Compares what is said of the past of some atoms by an index and by the journal, and the journal's answers with the atoms that there were. Gives
/// how often the past was asked of the base as it is now.
fn compare_past(folder: &Path, atoms: &[Atom], dice: &mut Dice, context: &str) -> usize {
    let mut asked_now = 0;
    let (mut journal, mut reader) = (by_journal(folder), History::open(folder).expect("it is sound"));
    let (first, last) = (journal.first(), journal.epoch());
    check_times(folder, &mut journal, dice, context);
    for round in 0..6 {
        let Some(atom) = atoms.get(dice.below(atoms.len().max(1))) else { return asked_now };
        let from = dice.below(last as usize + 2) as u64;
        for (from, to) in [(first, u64::MAX), (from, from + dice.below(6) as u64)] {
            let with_changes = dice.below(2) == 0;
            let [expected, found] =
                [&mut journal, &mut reader].map(|history| log_of(history, atom, from, to, with_changes));
            assert_eq!(found, expected, "{atom}, log from {from} to {to}, {context}");
        }
        let epoch = dice.below(last as usize + 2) as u64;
        let [expected, found] =
            [&mut journal, &mut reader].map(|history| history.why_at(atom, epoch).map_err(|error| error.to_string()));
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{atom}, after {epoch}, {context}");
        let [expected, found] = [&mut journal, &mut reader]
            .map(|history| history.copies_at(atom, epoch).map_err(|error| error.to_string()));
        assert_eq!(found, expected, "{atom}, copies after {epoch}, {context}");
        if round == 0 {
            check_past(&mut journal, atom, epoch, context);
        }
        let text = journal.text(atom);
        let by_hand = History::open_at(folder, epoch).map(|history| (history.read(&text), history));
        let asked = History::open_to_ask(folder, Some(epoch), &text);
        match (by_hand, asked) {
            (Ok((Ok(atom), mut then)), Ok((mut now, Ok(same)))) => {
                let expected = then.why(&atom).expect("it reads");
                let found = now.why_at(&same, epoch).expect("it reads");
                let [expected, found] = [(atom, expected), (same, found)].map(|found| format!("{found:?}"));
                assert_eq!(found, expected, "{text} after {epoch}, {context}");
                asked_now += usize::from(now.epoch() > epoch);
            }
            (Err(expected), Err(found)) => assert_eq!(found.to_string(), expected.to_string(), "{context}"),
            (expected, found) => panic!("{:?}, {:?}", expected.map(|(atom, _)| atom), found.map(|(_, atom)| atom)),
        }
    }
    asked_now
}

/// A time means the last commit that the log has of that time or before.
fn check_times(folder: &Path, journal: &mut History, dice: &mut Dice, context: &str) {
    let mut made = Vec::new();
    let walked = journal.log(journal.first()..=u64::MAX, false, &mut |entry| {
        if let LogEntry::Commit(CommitView { epoch, time: Some(time), .. }) = entry {
            made.push((*epoch, *time));
        }
        true
    });
    walked.expect("it reads");
    for time in [0; 4].map(|_| dice.below(60) as i64 * HOUR / 3) {
        let expected = made.iter().rev().find(|(_, made)| *made <= time).map(|(epoch, _)| *epoch);
        let found = Moment::Time(time).epoch_in(folder);
        assert_eq!(found.ok(), expected, "{time}, {context}: {made:?}");
    }
}

/// What the journal says of the copies of an atom is how many of the atoms that there were are it.
fn check_past(journal: &mut History, atom: &Atom, epoch: u64, context: &str) {
    let Ok(atoms) = journal.atoms_at(epoch) else { return };
    let bytes = space::canonical::encode(atom);
    let there = atoms.iter().filter(|held| held.is_ground() && space::canonical::encode(held) == bytes).count() as u64;
    let copies = journal.copies_at(atom, epoch).expect("it reads");
    // Modules that are imported have atoms as well.
    assert!(copies >= there, "{atom}, {copies} copies after {epoch}, {there} are there, {context}");
    let searched = searched(journal, atom);
    let (mut logged, mut commit) = (Vec::new(), 0);
    let walked = journal.log_of(atom, journal.first()..=u64::MAX, true, &mut |entry| {
        match entry {
            LogEntry::Commit(view) => commit = view.epoch,
            LogEntry::Change(change) => logged.extend(change.space.is_none().then_some(commit)),
        }
        true
    });
    walked.expect("it reads");
    logged.dedup();
    assert_eq!(logged, searched, "{atom}, {context}");
}

/// Compares what is said of each atom: with the index in an engine, with the index of one who reads, and by the journal. The one who reads
/// comes first, while the index may be behind. Gives how often the past was asked of the base as it is now.
fn compare(folder: &Path, writer: &mut Writer, context: &str) -> usize {
    let mut journal = by_journal(folder);
    let atoms = asked(&journal, writer);
    let mut dice = Dice::new(journal.epoch() * 31 + context.len() as u64);
    let behind = compare_past(folder, &atoms, &mut dice, &format!("behind, {context}"));
    let expected: Vec<Origins> = atoms.iter().map(|atom| journal.why(atom).expect("it reads")).collect();
    let mut engine = engine(folder);
    for (atom, expected) in atoms.iter().zip(&expected) {
        match engine.why(atom) {
            Ok(found) => {
                assert_eq!(
                    format!("{found:?} 0"),
                    format!("{:?} {}", expected.reasons, expected.given_up),
                    "{context}"
                );
            }
            Err(error) => assert!(expected.given_up > 0, "{atom}, {context}: {error}"),
        }
        let epoch = dice.below(journal.epoch() as usize + 2) as u64;
        match (engine.why_at(atom, epoch), journal.why_at(atom, epoch)) {
            (Ok(found), Ok(Origins { reasons, given_up: 0, .. })) => {
                assert_eq!(format!("{found:?}"), format!("{reasons:?}"))
            }
            (Err(found), Ok(Origins { given_up: 1.., .. })) => {
                assert!(found.contains("added before commit"), "{found}")
            }
            (Err(found), Err(expected)) => assert_eq!(found, expected.to_string(), "{context}"),
            (found, expected) => panic!("{atom} after {epoch}, {context}: {found:?}, {expected:?}"),
        }
    }
    engine.finish().expect("the base closes");
    let mut reader = History::open(folder).expect("it is sound");
    for (atom, expected) in atoms.iter().zip(&expected) {
        let found = reader.why(atom).expect("it reads");
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{atom}, read, {context}");
    }
    behind + compare_past(folder, &atoms, &mut dice, context)
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("a folder can be made");
    for entry in fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it can be read");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("it can be copied");
    }
}

/// Does something to an index that must change no answer.
fn harm(dice: &mut Dice, index: &Path, old: &Path, foreign: &Path) -> &'static str {
    match dice.below(6) {
        0 => {
            let files = fs::read_dir(index).expect("it is there").map(|entry| entry.expect("it reads").path());
            let mut runs: Vec<PathBuf> =
                files.filter(|path| path.extension().is_some_and(|end| end == "run")).collect();
            runs.sort();
            let Some(run) = runs.get(dice.below(runs.len().max(1))) else { return "nothing to damage" };
            let mut bytes = fs::read(run).expect("it is there");
            let at = dice.below(bytes.len());
            bytes[at] ^= 0x10;
            fs::write(run, bytes).expect("it can be written");
            "a byte is changed"
        }
        1 if old.exists() => {
            copy(old, index);
            "an old one is in its place"
        }
        2 if foreign.exists() => {
            copy(foreign, index);
            "one of another history is in its place"
        }
        3 => {
            fs::write(index.join("MANIFEST"), "METROONS cut").expect("it can be written");
            "its manifest is damaged"
        }
        4 => {
            copy(index, old);
            "nothing is done to it"
        }
        _ => "nothing is done to it",
    }
}

#[test]
fn the_index_answers_as_the_journal_does() {
    let foreign = Folder::new("foreign");
    let (mut given_up, mut asked_now) = (0, 0);
    for seed in 0..HISTORIES {
        let (folder, old) = (Folder::new("base"), Folder::new("old"));
        let (mut writer, mut dice) = (Writer::new(seed), Dice::new(seed + 1000));
        let index = folder.0.join("history/store");
        let mut done = "there is none";
        for round in 0..ROUNDS {
            // The clock goes on, stands still, or was set back meanwhile; some runs have none.
            let (hour, step) = (dice.below(9) as i64 * HOUR, dice.below(3) as i64 * HOUR);
            let world = if dice.below(4) == 0 { world() } else { world().with_commit_times(hour, step) };
            let mut base = match seed % 2 {
                0 => Engine::with_base(world, CommitJournal::open(&folder.0).expect("it opens")).expect("it loads"),
                _ => engine_in_short_segments(&folder.0, world),
            };
            for _ in 0..FORMS {
                run(&mut base, &writer.form());
            }
            if seed % 2 == 1 && round % 2 == 1 && base.epoch() > Some(0) {
                let compacted =
                    base.compact(Some(dice.below(8) as u64), &mut |_| {}).expect("old commits are given up");
                given_up += compacted.given_up.map_or(0, |given_up| given_up.commits);
            }
            base.finish().expect("the base closes");
            let context = format!("seed {seed}, round {round}, {done}");
            asked_now += compare(&folder.0, &mut writer, &context);
            if round == 1 {
                let report = CommitJournal::open(&folder.0).expect("it opens").index_history().expect("it is made");
                assert!(report.is_new, "{context}");
                asked_now += compare(&folder.0, &mut writer, &context);
            }
            let history = by_journal(&folder.0);
            // Without a commit that is kept, an index has nothing to go on from.
            if round > 1 && history.first() <= history.epoch() {
                let base = CommitJournal::open(&folder.0).expect("it opens");
                let report = base.index_history().expect("it is there");
                // No question may have come to the byte; then it is found where all of the index is read.
                let is_kept_up = (report.is_new, report.taken) == (false, 0) || done == "a byte is changed";
                assert!(is_kept_up, "an engine that is asked keeps it up: {report:?}, {context}");
            }
            done = if round > 0 { harm(&mut dice, &index, &old.0, &foreign.0) } else { done };
            asked_now += compare(&folder.0, &mut writer, &format!("seed {seed}, round {round}, {done}"));
        }
        copy(&index, &foreign.0);
    }
    assert!(given_up > 20, "{given_up} commits were given up");
    assert!(asked_now > 50, "{asked_now} times the past was asked of the base as it is now");
}

#[test]
fn a_base_without_an_index_gets_none_unasked_and_something_else_is_not_replaced() {
    let folder = Folder::new("none");
    let mut base = engine(&folder.0);
    run(&mut base, "(a) (b)");
    assert_eq!(base.why(&Atom::expression([Atom::symbol("a")])).expect("it is known").len(), 1);
    base.finish().expect("the base closes");
    assert!(!folder.0.join("history").exists());

    fs::create_dir(folder.0.join("history")).expect("it can be made");
    fs::write(folder.0.join("history/mine.txt"), "mine").expect("it can be written");
    let refused = CommitJournal::open(&folder.0).expect("it opens").index_history();
    assert!(format!("{refused:?}").contains("not the index of a history"), "{refused:?}");
    assert_eq!(fs::read_to_string(folder.0.join("history/mine.txt")).expect("it is there"), "mine");
    let refused = CommitJournal::read(&folder.0).expect("it opens").index_history();
    assert!(format!("{refused:?}").contains("ReadOnly"), "{refused:?}");
}

/// A commit of more events than one batch of the index, and commits that were given up.
#[test]
fn long_commits_and_commits_that_were_given_up_are_indexed() {
    let folder = Folder::new("long");
    let mut base = engine(&folder.0);
    let text: String = (0..40_000).map(|number| format!("(fact {number} of-many)\n")).collect();
    run(&mut base, &text);
    run(&mut base, "!(remove-atom &self (fact 5 of-many))");
    run(&mut base, "!(add-atom &self (fact 6 of-many))");
    base.finish().expect("the base closes");
    let report = CommitJournal::open(&folder.0).expect("it opens").index_history().expect("it is made");
    assert_eq!((report.epoch, report.taken), (3, 40_002));
    let mut base = engine(&folder.0);
    for (fact, expected) in [("(fact 5 of-many)", 0), ("(fact 6 of-many)", 2), ("(fact 39999 of-many)", 1)] {
        let atom = by_journal(&folder.0).read(fact).expect("it parses");
        assert_eq!(base.why(&atom).expect("it is known").len(), expected, "{fact}");
    }
    base.finish().expect("the base closes");
}

/// The lines of an atom's origins, as an engine and as a reader says them.
fn lines_of(folder: &Path, fact: &str) -> [Vec<u32>; 2] {
    let atom = by_journal(folder).read(fact).expect("it parses");
    let mut base = engine(folder);
    let by_engine = base.why(&atom).expect("it is known").iter().map(|reason| reason.line).collect();
    base.finish().expect("the base closes");
    let mut reader = History::open(folder).expect("it is sound");
    [by_engine, reader.why(&atom).expect("it reads").reasons.iter().map(|reason| reason.line).collect()]
}

#[test]
fn an_index_of_the_same_atoms_from_other_lines_is_one_of_another_history() {
    let (first, second) = (Folder::new("lines-first"), Folder::new("lines-second"));
    for (folder, text) in [(&first, "(a)\n(b)\n"), (&second, "; a line more\n(a)\n(b)\n")] {
        let mut base = engine(&folder.0);
        run(&mut base, text);
        base.finish().expect("the base closes");
        CommitJournal::open(&folder.0).expect("it opens").index_history().expect("it is made");
    }
    assert_eq!(lines_of(&first.0, "(b)"), [[2], [2]]);
    // The states are the same; the journals are not.
    copy(&first.0.join("history/store"), &second.0.join("history/store"));
    let mut reader = History::open(&second.0).expect("it is sound");
    let atom = by_journal(&second.0).read("(b)").expect("it parses");
    assert_eq!(reader.why(&atom).expect("it reads").reasons[0].line, 3);
    assert_eq!(lines_of(&second.0, "(b)"), [[3], [3]]);
}

#[test]
fn an_index_that_somebody_has_open_is_left_alone_and_the_journal_is_read() {
    let folder = Folder::new("locked");
    let mut base = engine(&folder.0);
    run(&mut base, "(a)\n(b)\n");
    base.finish().expect("the base closes");
    CommitJournal::open(&folder.0).expect("it opens").index_history().expect("it is made");
    let path = folder.0.join("history/store");
    let held = store::Store::open(&path, store::Options::default()).expect("it opens");
    assert_eq!(lines_of(&folder.0, "(b)"), [[2], [2]]);
    assert!(CommitJournal::open(&folder.0).expect("it opens").index_history().is_err());
    assert!(path.join("MANIFEST").is_file());
    held.close().expect("it closes");
    assert_eq!(lines_of(&folder.0, "(b)"), [[2], [2]]);
}

#[test]
fn a_store_of_somebody_else_is_not_taken_for_the_index() {
    let folder = Folder::new("foreign-store");
    let mut base = engine(&folder.0);
    run(&mut base, "(a)\n(b)\n");
    base.finish().expect("the base closes");
    for name in ["history", "store"] {
        let mine = store::Store::create(folder.0.join(name), store::Options::default()).expect("it is made");
        mine.keyspace("events", store::KeyShape::Bytes).expect("it is made");
        mine.close().expect("it closes");
    }
    assert_eq!(lines_of(&folder.0, "(b)"), [[2], [2]]);
    let refused = CommitJournal::open(&folder.0).expect("it opens").index_history();
    assert!(format!("{refused:?}").contains("not the index of a history"), "{refused:?}");
    for name in ["history", "store"] {
        let mine = store::Store::open_read_only(folder.0.join(name)).expect("it is as it was");
        assert_eq!(mine.keyspaces().len(), 1, "{name}");
    }
}

#[test]
fn a_history_of_an_open_base_knows_its_commits() {
    let base = KnowledgeBase::in_memory(KnowledgeBaseOptions::new(MemoryWorld::default())).expect("it is made");
    base.run("(town Oslo)").expect("it runs");
    base.run("!(remove-atom &self (town Oslo))").expect("it runs");
    let mut history = base.history().expect("it is read");
    let atom = history.read("(town Oslo)").expect("it is an atom");
    let mut epochs = Vec::new();
    let given_up = history.log_of(&atom, 1..=u64::MAX, false, &mut |entry| {
        if let LogEntry::Commit(commit) = entry {
            epochs.push(commit.epoch);
        }
        true
    });
    assert_eq!((given_up.expect("it is read"), epochs), (0, vec![1, 2]));
}
