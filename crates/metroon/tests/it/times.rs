//! When commits were made: what a world says is kept with them, changes no state, and comes again in a replay.

use crate::tapes::{Nobody, frames};
use journal::{Disk, MemoryDisk};
use metroon::history::{LogEntry, Moment};
use metroon::run::{ProgramEnd, RunRequest};
use metroon::storage::CommitJournal;
use metroon::tape::TapeReader;
use metroon::{Engine, History, KnowledgeBase, KnowledgeBaseOptions, MemoryWorld, RunEnd, Tape};
use std::sync::Arc;

const DIRECTORY: &str = "/kb";
const HOUR: i64 = 3_600_000_000_000;

fn run(disk: &Arc<dyn Disk>, world: MemoryWorld, text: &str) {
    let base = CommitJournal::on_disk(Arc::clone(disk), DIRECTORY).expect("it opens");
    let mut engine = Engine::with_base(world, base).expect("it loads");
    let run = engine.run_text(text, &mut |_, _| Ok(()));
    assert!(matches!(run.end, RunEnd::Finished), "{:?}", run.end);
    engine.finish().expect("it closes");
}

/// The times and the hashes of all commits.
fn commits(disk: &Arc<dyn Disk>) -> Vec<(Option<i64>, u128)> {
    let mut history = History::on_disk(disk, DIRECTORY).expect("it reads");
    let mut found = Vec::new();
    let walked = history.log(1..=u64::MAX, false, &mut |entry| {
        if let LogEntry::Commit(commit) = entry {
            found.push((commit.time, commit.hash));
        }
        true
    });
    walked.expect("it reads");
    found
}

fn disk() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

const TEXT: &str = "(a 1) ! (add-atom &self (a 2)) ! (+ 1 2) ! (add-atom &self (a 3))";

#[test]
fn a_commit_has_the_time_that_the_world_says_and_no_state_has_it() {
    let (dated, undated) = (disk(), disk());
    run(&dated, MemoryWorld::default().with_commit_times(HOUR, HOUR), TEXT);
    run(&undated, MemoryWorld::default(), TEXT);
    let (with, without) = (commits(&dated), commits(&undated));
    // A form that changes nothing is no commit of a base, and asks for no time.
    assert_eq!(with.iter().map(|(time, _)| *time).collect::<Vec<_>>(), [Some(HOUR), Some(2 * HOUR)]);
    assert!(without.iter().all(|(time, _)| time.is_none()));
    let hashes = |commits: &[(Option<i64>, u128)]| commits.iter().map(|(_, hash)| *hash).collect::<Vec<_>>();
    assert_eq!(hashes(&with), hashes(&without));
    // Both kinds lie in one base.
    run(&undated, MemoryWorld::default().with_commit_times(9 * HOUR, HOUR), "(a 4)");
    assert_eq!(commits(&undated)[2].0, Some(9 * HOUR));
    run(&dated, MemoryWorld::default(), "(a 4)");
    assert_eq!(commits(&dated)[2].0, None);
    assert_eq!(commits(&dated)[2].1, commits(&undated)[2].1);
}

#[test]
fn a_moment_is_the_last_commit_that_was_made_by_then() {
    let disk = disk();
    let at = |time: &str| {
        let moment: Moment = time.parse().expect("it is a moment");
        let world = KnowledgeBaseOptions::new(MemoryWorld::default());
        let base = KnowledgeBase::on_disk(Arc::clone(&disk), DIRECTORY, world).expect("it opens");
        let found = base.epoch_at(moment).map_err(|error| error.to_string());
        base.close().expect("it closes");
        found
    };
    assert_eq!(
        at("2026-11-20"),
        Err("no commit has a date: nothing was committed, or by runs that write none".to_owned())
    );
    run(&disk, MemoryWorld::default(), "(undated)");
    assert!(at("2026-11-20").is_err());
    // Commits 2, 3 and 4: at one, two and three o'clock.
    run(&disk, MemoryWorld::default().with_commit_times(HOUR, HOUR), "! (add-atom &self a) ! (add-atom &self b) (c)");
    // Commit 5, by a clock that was set back; commit 6 has no date.
    run(&disk, MemoryWorld::default().with_commit_times(2 * HOUR + 1, HOUR), "(d)");
    run(&disk, MemoryWorld::default(), "(e)");
    let early = "no commit was made at 1970-01-01T00:59:59Z or before: the first one that has a date is commit 2, of 1970-01-01T01:00:00Z";
    assert_eq!(at("1970-01-01T00:59:59Z"), Err(early.to_owned()));
    for (time, epoch) in [
        ("1970-01-01T01:00:00Z", 2),
        ("1970-01-01T02:00:00.0Z", 3),
        // The date of a log is of a whole second.
        ("1970-01-01T02:00:00Z", 5),
        ("1970-01-01", 5),
        ("2026-11-20", 5),
        ("0", 0),
        ("99", 99),
    ] {
        assert_eq!(at(time), Ok(epoch), "{time}");
    }
}

#[test]
fn equal_clocks_make_equal_bytes() {
    let [first, second] = [disk(), disk()];
    for disk in [&first, &second] {
        run(disk, MemoryWorld::default().with_commit_times(HOUR, 7), TEXT);
    }
    assert_eq!(frames(&first), frames(&second));
}

/// What a sink is told of each commit, in a recorded run and in its replay.
#[test]
fn a_replay_has_the_times_of_the_tape() {
    let program = RunRequest { expressions: vec![TEXT.to_owned()], ..RunRequest::default() };
    let (tape, base) = (disk(), disk());
    let told = Told::default();
    let world = MemoryWorld::default().with_commit_times(HOUR, HOUR);
    let kept = CommitJournal::on_disk(Arc::clone(&base), DIRECTORY).expect("it opens");
    let recorder = Tape::on_disk(Arc::clone(&tape)).expect("a tape is made");
    let mut engine = Engine::remembering(world, Some(kept), Some(recorder), &program).expect("it opens");
    engine.session_mut().add_sink(Box::new(told.clone()));
    assert!(matches!(engine.run_program(&program, &mut Nobody), ProgramEnd::Finished));
    engine.finish().expect("it closes");
    let recorded = told.times();
    assert_eq!(recorded, [Some(HOUR), None, Some(2 * HOUR)]);

    let again = Told::default();
    let reader = TapeReader::on_disk(Arc::clone(&tape)).expect("it is a tape");
    // A world of another time.
    let world = MemoryWorld::default().with_commit_times(77 * HOUR, 1);
    let (mut engine, program) = Engine::replaying(world, reader, None).expect("it opens");
    engine.session_mut().add_sink(Box::new(again.clone()));
    assert!(matches!(engine.run_program(&program, &mut Nobody), ProgramEnd::Finished));
    engine.finish().expect("it ends as the tape does");
    assert_eq!(again.times(), recorded);
}

/// Keeps the times of the commits that it takes.
#[derive(Clone, Default)]
struct Told(Arc<std::sync::Mutex<Vec<Option<i64>>>>);

impl Told {
    fn times(&self) -> Vec<Option<i64>> {
        self.0.lock().expect("nobody panicked").clone()
    }
}

impl metroon::commits::CommitSink for Told {
    fn name(&self) -> &'static str {
        "a list of times"
    }

    fn detail(&self) -> metroon::commits::ChangeDetail {
        metroon::commits::ChangeDetail::Nothing
    }

    fn take(
        &mut self,
        _: &metroon::run::Program,
        _: &metroon::commits::Commit,
        stamp: &mut metroon::commits::CommitStamp,
    ) -> Result<(), metroon::commits::SinkError> {
        self.0.lock().expect("nobody panicked").push(stamp.time);
        Ok(())
    }
}

/// What was believed on a day about another one.
#[test]
fn both_times_are_asked_at_once() {
    const DAY: i64 = 24 * HOUR;
    let world = MemoryWorld::default().with_commit_times(100 * DAY, 100 * DAY);
    let base = KnowledgeBase::in_memory(KnowledgeBaseOptions::new(world)).expect("it opens");
    // Three commits, on the days 100, 200 and 300 of 1970; on the last of these it is found out that Ann had moved on day 50.
    base.run("!(import! &self valid-time) !(believe! &self (lives Ann Oslo) 0 forever)").expect("it runs");
    base.run("!(supersede! &self (lives Ann Oslo) (lives Ann Voss) 50)").expect("it runs");
    let believed = |on: &str, of: u32| {
        let epoch = base.epoch_at(on.parse().expect("it is a day")).expect("there is a commit");
        let view = base.view_at(epoch).expect("it opens");
        let answers = view.evaluate(&format!("!(believed-at &self (lives Ann $town) $town {of})")).expect("it runs");
        answers[0].results.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    // 1970-07-20 is day 200, and 1970-10-28 day 300.
    assert_eq!(believed("1970-07-20", 49), ["Oslo"]);
    assert_eq!(believed("1970-07-20", 51), ["Oslo"]);
    assert_eq!(believed("1970-10-28", 49), ["Oslo"]);
    assert_eq!(believed("1970-10-28", 51), ["Voss"]);
    base.close().expect("it closes");
}
