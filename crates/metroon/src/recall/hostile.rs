//! Frames that are sound for the journal and make no sense to recall: they give an error soon, and never a panic.

use super::BegunRun;
use crate::commit_journal::CommitJournal;
use crate::commit_journal::record::{
    AtomRecord, CauseRecord, CommitHeader, CommitWriter, Frame, Record, begin_frame, note_frame,
};
use crate::history::History;
use crate::program::RunRequest;
use crate::tape::{HaltReason, Request, Tape, TapeBase, TapeBegin, TapeCommit, TapeHalted, TapeReader};
use crate::{Engine, MemoryWorld};
use journal::{Disk, Durability, Journal, MemoryDisk, Options, Reader};
use metta::{Generator, Source};
use space::{Atom, canonical};
use std::sync::Arc;
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(10);

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most);
        // Small numbers mean something more often.
        (0..length).map(|_| if self.below(2) == 0 { self.below(20) as u8 } else { self.below(256) as u8 }).collect()
    }
}

fn journal_of(frames: &[Vec<u8>]) -> Arc<dyn Disk> {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let (journal, _) = Journal::open(Arc::clone(&disk), Options::default()).expect("it opens");
    journal.append_all(frames, Durability::Os).expect("they are appended");
    journal.close().expect("it closes");
    disk
}

fn frames_of(disk: &Arc<dyn Disk>) -> Vec<Vec<u8>> {
    let mut reader = Reader::from_frame(Arc::clone(disk), 0).expect("it reads");
    let mut frames = Vec::new();
    while let Some(frame) = reader.read_next().expect("it reads") {
        frames.push(frame.payload.to_vec());
    }
    frames
}

/// Opens a base of these frames and looks at all of it; an error if there is one.
fn open(frames: &[Vec<u8>]) -> Result<(), String> {
    let disk = journal_of(frames);
    let begun = Instant::now();
    let history = look(&disk);
    let base = CommitJournal::on_disk(disk, "/kb").map_err(|error| error.to_string())?;
    let loaded = BegunRun::new(Box::new(MemoryWorld::default()), Some(base), None, &RunRequest::default());
    let outcome = loaded.map(drop).map_err(|error| error.to_string());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(history.is_ok(), outcome.is_ok(), "{history:?}, {outcome:?}");
    outcome
}

fn look(disk: &Arc<dyn Disk>) -> Result<(), String> {
    let text = |error: crate::KnowledgeBaseError| error.to_string();
    let mut history = History::on_disk(disk, "/kb").map_err(text)?;
    let last = history.epoch();
    history.atoms_at(last).map_err(text)?;
    history.atoms_at(last / 2).map_err(text)?;
    history.why(&Atom::variable("x")).map_err(text)?;
    history.log(0..=last, true, &mut |_| true).map_err(text)
}

/// A commit of these records, with the hash of nothing.
fn commit(epoch: u64, records: &[Record<'_>]) -> Vec<Vec<u8>> {
    let mut writer = CommitWriter::default();
    records.iter().for_each(|record| writer.push(record));
    writer.finish(CommitHeader { epoch, hash: [0; 16], parts: 0, variables: 0, tape_frame: None, time: None })
}

fn base_of(commits: &[Vec<Vec<u8>>]) -> Vec<Vec<u8>> {
    std::iter::once(begin_frame()).chain(commits.iter().flatten().cloned()).collect()
}

fn atom(bytes: &[u8]) -> AtomRecord<'_> {
    AtomRecord { bytes, names: Vec::new() }
}

#[test]
fn records_that_say_impossible_things_are_errors() {
    let symbol = canonical::encode(&Atom::symbol("a"));
    let [space, state, host] = [
        [&[0x60][..], &u64::MAX.to_be_bytes()].concat(),
        [&[0x68][..], &7_u64.to_be_bytes()].concat(),
        [&[0x50][..], b"no such operation@4000000000", &[0, 1]].concat(),
    ];
    let count = |space, copies, bytes| Record::Count { space, copies, atom: atom(bytes) };
    let twice = [&symbol[..], &symbol].concat();
    let deep = [0x80].repeat(1 << 20);
    let cases: Vec<(&str, Record<'_>)> = vec![
        ("a copy in a space that is not", count(9, 1, &symbol)),
        ("a copy in a space of an absurd number", count(u64::MAX, 1, &symbol)),
        ("the least count", count(1, i64::MIN, &symbol)),
        ("the greatest count", count(1, i64::MAX, &symbol)),
        ("no copy", count(1, 0, &symbol)),
        ("two copies", count(1, 2, &symbol)),
        ("an atom taken away that is not there", count(1, -1, &symbol)),
        ("no atom", count(1, 1, &[])),
        ("an atom cut off", count(1, 1, &symbol[..2])),
        ("an atom and more", count(1, 1, &twice)),
        ("an atom that opens for ever", count(1, 1, &deep)),
        ("a space in an atom that is not", count(1, 1, &space)),
        ("a state in an atom that is not", count(1, 1, &state)),
        ("an operation that is not", count(1, 1, &host)),
        ("state 0 set", Record::State { state: 0, value: atom(&symbol) }),
        ("a state set that is not", Record::State { state: u64::MAX, value: atom(&symbol) }),
        ("a space made out of order", Record::SpaceMade { serial: 1 << 40 }),
        ("a space made twice", Record::SpaceMade { serial: 1 }),
        ("state 0 made", Record::StateMade { serial: 0, value: atom(&symbol), type_atom: atom(&symbol) }),
        ("a state made out of order", Record::StateMade { serial: 2, value: atom(&symbol), type_atom: atom(&symbol) }),
        ("a state of nothing", Record::StateMade { serial: 1, value: atom(&[]), type_atom: atom(&symbol) }),
        ("a module made out of order", Record::ModuleMade { serial: 0, path: "", directory: "", file: None }),
        ("a module named that is not", Record::ModuleNamed { path: "top:a", module: u32::MAX }),
        ("a module forgotten that is not", Record::ModuleForgotten { module: 2 }),
        ("an import into a module that is not", Record::Imported { into: 5, from: 1 }),
        ("an import from a module that is not", Record::Imported { into: 1, from: u32::MAX }),
        ("words into a module that is not", Record::WordsImported { into: 2, from: 0 }),
        (
            "a word of a module that is not",
            Record::Bound { module: 3, token: "x", is_pattern: false, atom: atom(&symbol) },
        ),
        ("a word that is no pattern", Record::Bound { module: 1, token: "(((", is_pattern: true, atom: atom(&symbol) }),
        (
            "a word of endless work",
            Record::Bound { module: 1, token: "(a{999}){999}{999}", is_pattern: true, atom: atom(&symbol) },
        ),
        ("a setting of nothing", Record::Setting { key: "x", value: atom(&[0x12]) }),
        (
            "a source that begins out of order",
            Record::SourceBegun { source: u32::MAX, module: 1, origin: "", file: None, content: [0; 32] },
        ),
        ("a source ended that is not", Record::SourceEnded { source: 0 }),
        ("a generator out of order", Record::GeneratorSet { number: u64::MAX, generator: Generator::World }),
    ];
    for (what, record) in &cases {
        let error = open(&base_of(&[commit(1, std::slice::from_ref(record))])).expect_err(what);
        assert!(error.contains("cannot be used") || error.contains("commit 1 was recorded"), "{what}: {error}");
        // In a note, what is impossible is as impossible.
        let noted = open(&base_of(&[vec![note_frame(std::slice::from_ref(record))]]));
        assert!(noted.is_err() || matches!(record, Record::ModuleMade { .. }), "{what}, in a note: {noted:?}");
    }
}

#[test]
fn frames_out_of_place_are_errors() {
    let header = |epoch, parts, variables| {
        let hash = [0; 16];
        CommitHeader { epoch, hash, parts, variables, tape_frame: None, time: None }
    };
    let framed = |header: &CommitHeader| postcard::to_extend(header, vec![3]).expect("a vector takes it");
    let cause = Record::Cause { source: 9, kind: CauseRecord::Statement, line: 1, column: 1 };
    let cases: Vec<(&str, Vec<Vec<u8>>)> = vec![
        ("no beginning", commit(1, &[])),
        ("two beginnings", vec![begin_frame(), begin_frame()]),
        ("commit 0", base_of(&[commit(0, &[])])),
        ("the second commit first", base_of(&[commit(2, &[])])),
        ("the last commit there can be", base_of(&[commit(u64::MAX, &[])])),
        ("a commit twice", base_of(&[commit(1, &[]), commit(1, &[])])),
        ("commits backwards", base_of(&[commit(1, &[]), commit(2, &[]), commit(1, &[])])),
        ("parts that are not there", base_of(&[vec![framed(&header(1, u32::MAX, 0))]])),
        ("one part that is not there", base_of(&[vec![framed(&header(1, 1, 0))]])),
        ("variables without end", base_of(&[vec![framed(&header(1, 0, u64::MAX))]])),
        ("a part of nonsense", base_of(&[vec![vec![2, 0xFF, 0xFF], framed(&header(1, 1, 0))]])),
        ("an empty frame", base_of(&[vec![Vec::new()]])),
        ("a kind that is not", base_of(&[vec![vec![77, 1, 2]]])),
        ("a header cut off", base_of(&[vec![vec![3, 1]]])),
        ("a time and no commit", base_of(&[vec![vec![5, 2]]])),
        ("a time cut off", base_of(&[vec![vec![5, 0x80]]])),
        ("another format", vec![vec![1, 200, 1, 1]]),
        ("a beginning and more", vec![[begin_frame(), vec![0]].concat()]),
        (
            "a length without end",
            base_of(&[vec![vec![4, 1, 1, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]]]),
        ),
    ];
    for (what, frames) in &cases {
        let error = open(frames).expect_err(what);
        assert!(error.contains("cannot be used") && error.contains("offset"), "{what}: {error}");
    }
    assert_eq!(open(&base_of(&[commit(1, &[cause])])), Ok(()), "a cause by itself means nothing");
    assert_eq!(
        open(&base_of(&[vec![vec![2, 0xFF]], commit(1, &[])])),
        Ok(()),
        "a part that no commit wants is left out"
    );
}

/// A base in which there is something of everything.
fn rich_base() -> Vec<Vec<u8>> {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let world = MemoryWorld::default().with_source("lib.metta", "(lib 1) (= (f $x) $x)");
    let base = CommitJournal::on_disk(Arc::clone(&disk), "/kb").expect("it opens");
    let mut engine = Engine::with_base(world, base).expect("it loads");
    let texts = [
        "(a 1) (a 1.5) (b $x $y $x) ! (add-atom &self (c \"text\"))",
        "! (bind! &s (new-space)) ! (bind! &t (new-state (x 1))) ! (add-atom &s (in &self &t))",
        "! (import! &self lib) ! (import! &self random) ! (bind! &r (new-random-generator 7)) ! (random-int &r 0 9)",
        "! (pragma! max-stack-depth 700) ! (change-state! &t (y 2)) ! (remove-atom &self (a 1))",
    ];
    for text in texts {
        let run = engine.run_source(&Source { file: Some("/kb/f"), ..Source::text(text) }, &mut |_, _| Ok(()));
        assert!(matches!(run.end, crate::RunEnd::Finished), "{:?}", run.end);
    }
    engine.finish().expect("it closes");
    frames_of(&disk)
}

#[test]
fn mutated_frames_are_errors_or_harmless() {
    let frames = rich_base();
    assert_eq!(open(&frames), Ok(()));
    assert!(frames.len() > 10 && frames.iter().all(|frame| Frame::decode(frame).is_ok()));
    let mut dice = Dice(1);
    let mut refused = 0;
    for _ in 0..400 {
        let mut mutated = frames.clone();
        for _ in 0..=dice.below(2) {
            mutate(&mut mutated, &mut dice);
        }
        refused += u32::from(open(&mutated).is_err());
    }
    assert!(refused > 250, "{refused} of 400");
}

fn mutate(frames: &mut Vec<Vec<u8>>, dice: &mut Dice) {
    if frames.is_empty() {
        return;
    }
    let (at, other) = (dice.below(frames.len()), dice.below(frames.len()));
    let frame = frames[other].clone();
    match dice.below(10) {
        0 => drop(frames.remove(at)),
        1 => frames.swap(at, other),
        2 => frames.insert(at, frame),
        3 => frames[at] = dice.bytes(60),
        4 => frames[at].extend(frame),
        _ if frames[at].is_empty() => {}
        5 => {
            let length = dice.below(frames[at].len());
            frames[at].truncate(length);
        }
        6 => {
            let place = dice.below(frames[at].len());
            let bytes = dice.bytes(12);
            frames[at].splice(place..place, bytes);
        }
        _ => {
            let place = dice.below(frames[at].len());
            frames[at][place] = [0, 1, 0x7F, 0x80, 0xFF, dice.below(256) as u8][dice.below(6)];
        }
    }
}

#[test]
fn random_frames_are_errors() {
    let mut dice = Dice(2);
    for _ in 0..300 {
        let frames = (0..1 + dice.below(4)).map(|_| [vec![dice.below(6) as u8], dice.bytes(60)].concat());
        let frames: Vec<Vec<u8>> = std::iter::once(begin_frame()).chain(frames).collect();
        drop(open(&frames));
    }
}

/// Replays a tape of these frames as far as it goes.
fn replay(frames: &[Vec<u8>]) -> Result<(), String> {
    let disk = journal_of(frames);
    let begun = Instant::now();
    let outcome = replay_disk(disk);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    outcome
}

fn replay_disk(disk: Arc<dyn Disk>) -> Result<(), String> {
    let tape = TapeReader::on_disk(disk).map_err(|error| error.to_string())?;
    let replaying = Engine::replaying(MemoryWorld::default(), tape, None);
    let (mut engine, mut program) = replaying.map_err(|error| error.to_string())?;
    program.steps_max = Some(program.steps_max.unwrap_or(10_000).min(10_000));
    engine.run_program(&program, &mut Nobody);
    let (_, ended) = engine.replayed().expect("it replays");
    engine.finish().map_err(|error| error.to_string())?;
    ended.map_or(Ok(()), |end| Err(end.to_string()))
}

struct Nobody;

impl crate::run::Reporter for Nobody {
    fn diagnostic(&mut self, _: &str, _: &metta::syntax::LineIndex<'_>, _: &metta::syntax::Diagnostic) {}
}

/// A tape in which there is something of everything, a base among it.
fn rich_tape() -> Vec<Vec<u8>> {
    let base = CommitJournal::on_disk(journal_of(&rich_base()), "/kb").expect("it opens");
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let tape = Tape::on_disk(Arc::clone(&disk)).expect("a tape is made");
    let expressions =
        vec!["! (println! (a)) ! (random-int &r 0 9) ! (random-int &rng 0 9)", "(d 1) ! (get-atoms &self)"];
    let program =
        RunRequest { expressions: expressions.into_iter().map(str::to_owned).collect(), ..RunRequest::default() };
    let world = MemoryWorld::default();
    let mut engine = Engine::remembering(world, Some(base), Some(tape), &program).expect("the tape begins");
    engine.run_program(&program, &mut Nobody);
    engine.finish().expect("the tape ends");
    frames_of(&disk)
}

#[test]
fn mutated_tapes_are_errors_or_harmless() {
    let frames = rich_tape();
    assert_eq!(replay(&frames), Ok(()));
    let mut dice = Dice(3);
    let mut refused = 0;
    for _ in 0..300 {
        let mut mutated = frames.clone();
        mutate(&mut mutated, &mut dice);
        refused += u32::from(replay(&mutated).is_err());
    }
    assert!(refused > 200, "{refused} of 300");
}

#[test]
fn tapes_that_say_impossible_things_are_errors() {
    let framed = |kind: u8, bytes: Vec<u8>| [vec![kind], bytes].concat();
    let value = |value: &dyn Fn() -> Result<Vec<u8>, postcard::Error>| value().expect("a vector takes it");
    let begin = |format, semantics, frames: Option<u64>| {
        let base = frames.map(|frames| TapeBase { directory: "/kb".to_owned(), frames });
        let program = RunRequest { expressions: vec!["! (+ 1 2)".to_owned()], ..RunRequest::default() };
        let begin = TapeBegin { format, semantics, program, base };
        framed(1, postcard::to_allocvec(&begin).expect("a vector takes it"))
    };
    let effect = framed(3, value(&|| postcard::to_allocvec(&Request::Now)));
    let cancelled = framed(5, value(&|| postcard::to_allocvec(&(u64::MAX, u64::MAX, true))));
    let halted = |evaluations, acts| {
        let (steps, results) = (u64::MAX, u64::MAX);
        let halted = TapeHalted { evaluations, steps, acts, results, reason: HaltReason::Heap(u64::MAX) };
        framed(7, value(&|| postcard::to_allocvec(&halted)))
    };
    let commit = TapeCommit {
        number: u64::MAX,
        epoch: u64::MAX,
        hash: [7; 16],
        origin: String::new(),
        line: u32::MAX,
        column: u32::MAX,
        added: u64::MAX,
        removed: u64::MAX,
        others: u64::MAX,
        sample: Vec::new(),
    };
    let commit = framed(4, value(&|| postcard::to_allocvec(&commit)));
    let end = vec![6, 0];
    for (what, frames) in [
        ("nothing", vec![]),
        ("an effect first", vec![effect.clone()]),
        ("an end first", vec![end.clone()]),
        ("another format", vec![begin(9, 2, None), end.clone()]),
        ("another language", vec![begin(3, 99, None), end.clone()]),
        ("an earlier language", vec![begin(3, 1, None), end.clone()]),
        ("a base that is not there", vec![begin(3, 2, Some(1)), end.clone()]),
        ("a base without end", vec![begin(3, 2, Some(u64::MAX)), end.clone()]),
        ("a base of nonsense", vec![begin(3, 2, Some(1)), vec![2, 9, 9], end.clone()]),
        ("an effect without an answer", vec![begin(3, 2, None), effect.clone(), end.clone()]),
        ("an absurd commit", vec![begin(3, 2, None), commit, end.clone()]),
        ("a cancellation that never was", vec![begin(3, 2, None), cancelled, end.clone()]),
        ("a limit of memory that never was", vec![begin(3, 2, None), halted(u64::MAX, None), end.clone()]),
        ("a limit of memory after all steps", vec![begin(3, 2, None), halted(0, Some(u64::MAX)), end.clone()]),
        ("two beginnings", vec![begin(3, 2, None), begin(3, 2, None), end.clone()]),
        ("a beginning alone", vec![begin(3, 2, None)]),
        ("an end that says more", vec![begin(3, 2, None), vec![6, 0, 0]]),
        ("a frame of nothing", vec![begin(3, 2, None), Vec::new()]),
    ] {
        let error = replay(&frames).expect_err(what);
        assert!(!error.is_empty(), "{what}");
    }
}
