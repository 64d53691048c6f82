//! Sides that take the same changes of edges, round by round.

use super::graph::{Change, Graph};
use super::{ROUNDS, SUITE};
use crate::Plan;
use crate::compare::{Case, Clock, Timed, contest};
use crate::row::Row;
use crate::worker::Worker;
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// What changes in answers came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) come: u64,
    pub(super) gone: u64,
}

impl Told {
    /// As a number that only the same counts have.
    pub(super) fn checksum(self) -> u64 {
        self.come << 32 | self.gone
    }
}

/// Something that keeps the answers of a query up to date.
pub(super) trait Follows {
    /// How many answers there are.
    fn answers(&self) -> i64;

    /// Applies changes, `each` a commit, and counts what they change in the answers.
    fn apply(&mut self, changes: &[Change], each: usize) -> Result<(Clock, Told), Box<dyn Error>>;
}

/// A side that is handed the changes of each round.
type Side<'a> = &'a mut dyn FnMut(&[Change]) -> Result<Timed, Box<dyn Error>>;

/// A comparison over a graph.
pub(super) struct Changes<'a> {
    pub(super) name: &'a str,
    pub(super) peer: &'static str,
    /// What the ratio must be.
    pub(super) must: f64,
    /// How many changes a round has, and how many of them a commit.
    pub(super) n: u64,
    pub(super) each: usize,
    pub(super) note: String,
}

impl Changes<'_> {
    /// Compares with what follows as well: the checksum is how many answers came and went.
    pub(super) fn beside(
        self,
        plan: &Plan,
        graph: &mut Graph,
        ours: &mut dyn Follows,
        theirs: &mut dyn Follows,
    ) -> Result<Row, Box<dyn Error>> {
        let each = self.each;
        self.same_answers(ours.answers(), theirs.answers())?;
        let side = |follower: &mut dyn Follows, changes: &[Change]| {
            let (clock, told) = follower.apply(changes, each)?;
            Ok(clock.done(told.checksum()))
        };
        self.run(plan, ROUNDS, graph, &mut |changes| side(ours, changes), &mut |changes| side(theirs, changes))
    }

    /// Compares with a process that finds all answers again: the checksum is how many there are.
    pub(super) fn beside_asking_again(
        self,
        plan: &Plan,
        graph: &mut Graph,
        ours: &mut dyn Follows,
        (python, script): (&Path, &str),
    ) -> Result<Row, Box<dyn Error>> {
        let mut peer = Worker::start(Command::new(python).arg("-B").arg(format!("bench/programs/live/{script}")))?;
        let file = plan.scratch.join("edges");
        std::fs::write(&file, graph.edges().iter().map(|(from, to)| format!("{from},{to}\n")).collect::<String>())?;
        self.same_answers(ours.answers(), peer.ask(&format!("load {}", file.display()))?.checksum as i64)?;
        let each = self.each;
        let ours = &mut |changes: &[Change]| {
            let (clock, _) = ours.apply(changes, each)?;
            Ok(clock.done(ours.answers() as u64))
        };
        self.run(plan, ROUNDS_AGAIN, graph, ours, &mut |changes| peer.ask(&change_line(changes)))
    }

    fn same_answers(&self, ours: i64, theirs: i64) -> Result<(), Box<dyn Error>> {
        if ours == theirs {
            return Ok(());
        }
        Err(format!("{}: {ours} answers, and {theirs} of {}", self.name, self.peer).into())
    }

    fn run(
        self,
        plan: &Plan,
        rounds: usize,
        graph: &mut Graph,
        ours: Side<'_>,
        theirs: Side<'_>,
    ) -> Result<Row, Box<dyn Error>> {
        let Self { name, peer, must, n, each, note } = self;
        let (rounds, n) = (plan.rounds(rounds), n.next_multiple_of(each as u64));
        // One round more is not measured.
        let changes = graph.changes(n as usize * (rounds + 1));
        let (mut left, mut right) = (changes.chunks(n as usize), changes.chunks(n as usize));
        let lacking = "there are changes for each round";
        let case = Case { suite: SUITE, name: name.to_owned(), n, peer, rounds, note };
        contest(case, Some((must, "the issue")), &mut || ours(left.next().ok_or(lacking)?), &mut || {
            theirs(right.next().ok_or(lacking)?)
        })
    }
}

/// The rounds beside what takes seconds for a change.
const ROUNDS_AGAIN: usize = 3;

/// The line that tells a process of changes.
fn change_line(changes: &[Change]) -> String {
    let sign = |change: &Change| if change.is_added { '+' } else { '-' };
    let words = changes.iter().map(|change| format!(" {}{},{}", sign(change), change.edge.0, change.edge.1));
    format!("change{}", words.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_told_of_changes_in_a_line() {
        let change = |edge, is_added| Change { edge, is_added };
        assert_eq!(change_line(&[change((1, 2), true), change((3, 4), false)]), "change +1,2 -3,4");
    }
}
