//! Those who take the commits of a run: a sink beside those of the base and the tape, and what a sink costs.

use journal::{Disk, MemoryDisk};
use metroon::commits::{CauseKind, ChangeDetail, Commit, CommitError, CommitSink, CommitStamp, SinkError, SpaceChange};
use metroon::run::{Program, RunRequest};
use metroon::storage::CommitJournal;
use metroon::tape::find_error;
use metroon::{Engine, History, MemoryWorld, RunEnd, Tape};
use std::cell::RefCell;
use std::convert::Infallible;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;

/// What a subscriber has seen: a line for each commit.
type Seen = Rc<RefCell<Vec<String>>>;

/// Writes down each signed row with its cause, and where the commit stands; fails at a commit if it is told to.
struct Subscriber {
    name: &'static str,
    seen: Seen,
    fails_at: Option<usize>,
    stamps: Rc<RefCell<Vec<CommitStamp>>>,
}

impl Subscriber {
    fn new(name: &'static str, seen: &Seen) -> Self {
        Self { name, seen: Rc::clone(seen), fails_at: None, stamps: Rc::default() }
    }
}

impl CommitSink for Subscriber {
    fn name(&self) -> &'static str {
        self.name
    }

    fn detail(&self) -> ChangeDetail {
        ChangeDetail::Changes
    }

    fn take(&mut self, _: &Program, commit: &Commit, stamp: &mut CommitStamp) -> Result<(), SinkError> {
        if self.fails_at == Some(self.seen.borrow().len()) {
            return Err(SinkError::Failed("its queue is closed".into()));
        }
        let mut line = format!("{}:", self.name);
        let Ok(()) = commit.changes.each(|change| {
            let written = match change {
                SpaceChange::Row(delta) => {
                    let cause = commit.causes[delta.cause as usize];
                    let kind = if cause.kind == CauseKind::Statement { "stated" } else { "evaluated" };
                    let count = delta.count;
                    let number = PROGRAM[..cause.offset as usize].matches('\n').count() + 1;
                    write!(line, " {count:+} {} {kind} on line {number};", delta.atom())
                }
                SpaceChange::Set { state, .. } => write!(line, " {:?};", state.value()),
            };
            written.expect("a string takes all");
            Ok::<(), Infallible>(())
        });
        self.seen.borrow_mut().push(line);
        self.stamps.borrow_mut().push(*stamp);
        Ok(())
    }
}

/// What was undone is in no commit.
const PROGRAM: &str = "(a 1) (b &self)
! (add-atom &self (c 2))
! (case (transaction (let () (add-atom &self (no)) (Error e no))) (((Error $e $why) undone)))
! (transaction (let () (remove-atom &self (a 1)) (add-atom &self d)))
(e)";

fn expected(name: &str) -> Vec<String> {
    [
        " +1 (a 1) stated on line 1; +1 (b ModuleSpace(GroundingSpace-top)) stated on line 1; +1 (c 2) evaluated on line 2;",
        "",
        " -1 (a 1) evaluated on line 4; +1 d evaluated on line 4;",
        " +1 (e) stated on line 5;",
    ]
    .map(|line| format!("{name}:{line}"))
    .into()
}

fn run(engine: &mut Engine, text: &str) -> RunEnd {
    engine.run_text(text, &mut |_, _| Ok(())).end
}

fn base_on(disk: &Arc<dyn Disk>) -> CommitJournal {
    CommitJournal::on_disk(Arc::clone(disk), "/kb").expect("the base opens")
}

#[test]
fn a_subscriber_sees_every_delta_of_a_run() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let new_tape = || Tape::on_disk(Arc::new(MemoryDisk::new())).expect("a tape is made");
    for (base, tape) in [(false, false), (true, false), (false, true), (true, true)] {
        let disk: Arc<dyn Disk> = if base { Arc::clone(&disk) } else { Arc::new(MemoryDisk::new()) };
        let (base, tape) = (base.then(|| base_on(&disk)), tape.then(new_tape));
        let has_record = base.is_some() || tape.is_some();
        let world = MemoryWorld::default();
        let mut engine = Engine::remembering(world, base, tape, &RunRequest::default()).expect("the engine begins");
        let before = engine.epoch().unwrap_or(0);
        let seen = Seen::default();
        let subscriber = Subscriber::new("first", &seen);
        let stamps = Rc::clone(&subscriber.stamps);
        engine.session_mut().add_sink(Box::new(subscriber));
        engine.session_mut().add_sink(Box::new(Subscriber::new("second", &seen)));
        assert!(matches!(run(&mut engine, PROGRAM), RunEnd::Finished));
        // Both take each commit, in the order in which they were added.
        let pairs = expected("first").into_iter().zip(expected("second")).flat_map(|(first, second)| [first, second]);
        assert_eq!(*seen.borrow(), pairs.collect::<Vec<_>>());
        let stamps = stamps.borrow();
        // Commits have the same numbers, whether somebody keeps them or not.
        let epochs: Vec<u64> = stamps.iter().filter_map(|stamp| stamp.epoch).collect();
        assert_eq!(epochs, [before + 1, before + 1, before + 2, before + 3]);
        if has_record {
            let hashes: Vec<u128> = stamps.iter().filter_map(|stamp| stamp.state_hash).collect();
            assert!(hashes[0] == hashes[1] && hashes[1] != hashes[2] && hashes[2] != hashes[3]);
        } else {
            assert!(stamps.iter().all(|stamp| stamp.state_hash.is_none()));
        }
        engine.finish().expect("the run ends");
    }
}

#[test]
fn a_sink_that_fails_ends_the_run_and_is_named() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let mut engine = Engine::with_base(MemoryWorld::default(), base_on(&disk)).expect("the base loads");
    let (seen, after) = (Seen::default(), Seen::default());
    engine
        .session_mut()
        .add_sink(Box::new(Subscriber { fails_at: Some(1), ..Subscriber::new("the subscriber", &seen) }));
    engine.session_mut().add_sink(Box::new(Subscriber::new("the one after it", &after)));
    let RunEnd::RunRecord(error) = run(
        &mut engine,
        "! (add-atom &self (a (((((((((((b) c)))) 2.5)))))) d))\n! (add-atom &self (b))\n! (add-atom &self (c))",
    ) else {
        panic!("the run goes on");
    };
    assert_eq!(error.to_string(), "the subscriber cannot take the commit: its queue is closed");
    let failed = find_error::<CommitError>(error.as_ref());
    assert!(matches!(failed, Some(CommitError::Failed { sink: "the subscriber", .. })), "{failed:?}");
    assert_eq!((seen.borrow().len(), after.borrow().len()), (1, 1), "the one after it has not taken the commit");
    let RunEnd::RunRecord(error) = run(&mut engine, "! (add-atom &self (d))") else { panic!("the run goes on") };
    let refused = "nothing more is kept, since the subscriber failed before: its queue is closed";
    assert_eq!(error.to_string(), refused);
    engine.finish().expect("the base closes");
    // The journal comes before the subscriber, so it has the commit that the subscriber did not take, and nothing else.
    let view = History::on_disk(&disk, "/kb").expect("the base is sound");
    assert_eq!((view.report().commits, view.report().atoms), (2, 2));
}

/// Between the machine and the journal no atom is made of a row, nor anything else that is allocated for each.
#[test]
fn a_row_that_is_added_to_a_base_allocates_nothing() {
    const FEW: usize = 4_000;
    const MANY: usize = 44_000;
    let program = "(= (fill $n) (if (== $n 0) done (let $x (add-atom &self (edge $n (node $n) v)) (fill (- $n 1)))))";
    let allocations = |rows: usize, base: bool| {
        let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
        let mut engine = match base {
            true => Engine::with_base(MemoryWorld::default(), base_on(&disk)).expect("the base loads"),
            false => Engine::new(MemoryWorld::default()),
        };
        run(&mut engine, program);
        let form = format!("! (fill {rows})");
        let measured = allocation_counter::measure(|| assert!(matches!(run(&mut engine, &form), RunEnd::Finished)));
        assert_eq!(engine.session().interpreted_forms(), [], "the program is compiled");
        measured.count_total
    };
    allocations(FEW, true);
    let of_rows = |base: bool| allocations(MANY, base) as f64 - allocations(FEW, base) as f64;
    let (plain, kept) = (of_rows(false), of_rows(true));
    let a_row = (kept - plain) / (MANY - FEW) as f64;
    assert!(a_row < 0.01, "{a_row} allocations for each row more than without a base ({kept}, {plain})");
}
