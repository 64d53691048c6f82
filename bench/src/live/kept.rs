//! Going on after the process that followed was killed: what it had not been told comes from the journal, and nothing else is read.
//!
//! The peer is asking anew, as somebody would who cannot go on: following from the beginning of what there is.

use super::base::stated;
use super::graph::Graph;
use super::{ROUNDS, SUITE};
use crate::compare::{Case, Clock, contest};
use crate::{Plan, Rows};
use metroon::live::LiveFollower;
use metroon::storage::CommitJournal;
use metroon::{Engine, LiveEvent, LiveRequest, MemoryWorld, RunEnd};
use std::error::Error;
use std::path::Path;

const EDGES: u64 = 500_000;
/// The commits that the follower had not heard of.
const MISSED: u64 = 100;

pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES) as usize;
    let mut graph = Graph::random((edges / 2) as u32, edges);
    let directory = plan.scratch.join("followed");
    let run = |engine: &mut Engine, text: &str| match engine.run_text(text, &mut |_, _| Ok(())).end {
        RunEnd::Finished => Ok(()),
        end => Err(format!("a commit ended early: {end:?}")),
    };
    let mut engine = Engine::with_base(MemoryWorld::default(), CommitJournal::open(&directory)?)?;
    run(&mut engine, &stated(graph.edges()))?;
    engine.checkpoint()?;
    let heard = engine.epoch().ok_or("a base counts its commits")?;
    for change in graph.changes(MISSED as usize) {
        run(&mut engine, &super::base::text_of(&change))?;
    }
    // As if it had been killed: closing would write a checkpoint after the last commit.
    std::mem::forget(engine);
    let note = format!("{edges} rows, {MISSED} commits since; a new process in both cases, whose start is left out");
    let case = Case {
        suite: SUITE,
        name: "going on after the last commit that was heard".to_owned(),
        n: 1,
        peer: "following anew",
        rounds: plan.rounds(ROUNDS),
        note,
    };
    let last = heard + MISSED;
    let row = contest(
        case,
        Some((1.0, "no more than the tail's work")),
        &mut || followed(&directory, Some(heard), last),
        &mut || followed(&directory, None, last),
    )?;
    Ok(vec![row])
}

fn followed(directory: &Path, after: Option<u64>, last: u64) -> Result<crate::compare::Timed, Box<dyn Error>> {
    let request = LiveRequest::new("(, (edge $a $b) (edge $b $c))").template("($a $b $c)");
    let mut clock = Clock::default();
    clock.run(|| {
        let mut follower = LiveFollower::open(directory, &request, after)?;
        while let Some(event) = follower.next_event()? {
            if event.epoch() >= last && !matches!(event, LiveEvent::Answers { .. }) {
                break;
            }
        }
        Ok::<(), Box<dyn Error>>(())
    })?;
    Ok(clock.done(last))
}
