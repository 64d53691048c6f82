//! A side that runs a program in two sizes, and what an operation takes by the difference.

use super::counts::Count;
use super::programs::{Program, joined};
use crate::command::bounded;
use std::error::Error;
use std::process::Command;
use std::time::Duration;

/// A process that does one size.
pub(super) struct SizedRun {
    size: Vec<u64>,
    count: Count,
    command: Command,
}

impl SizedRun {
    pub(super) fn new(program: &Program, size: &[u64], command: Command) -> Self {
        Self { size: size.to_vec(), count: (program.count)(size), command }
    }

    /// How long it took; nothing if it reached the limit.
    ///
    /// # Errors
    /// It failed, or the last line it printed is not the answer.
    fn run(&mut self, limit: Duration) -> Result<Option<Duration>, Box<dyn Error>> {
        let Some(finished) = bounded(&mut self.command, limit)? else { return Ok(None) };
        let expected = format!("[{}]", self.count.answer);
        let answer = finished.stdout.lines().last().unwrap_or_default();
        if answer != expected {
            return Err(format!("{:?} answered {answer:?} and not {expected}", self.command).into());
        }
        Ok(Some(finished.elapsed))
    }
}

/// One of those that are compared.
pub(super) struct Side {
    /// Ours is 0, then the peers in the order of their rows.
    pub(super) rank: u32,
    pub(super) name: &'static str,
    small: SizedRun,
    large: SizedRun,
    /// Nanoseconds an operation, of each round that counts.
    slopes: Vec<f64>,
    unfinished: Option<String>,
}

impl Side {
    pub(super) fn new(rank: u32, name: &'static str, [small, large]: [SizedRun; 2]) -> Self {
        Self { rank, name, small, large, slopes: Vec::new(), unfinished: None }
    }

    /// Runs both sizes, unless one did not finish before.
    pub(super) fn round(&mut self, counts: bool, limit: Duration) -> Result<(), Box<dyn Error>> {
        if self.unfinished.is_some() {
            return Ok(());
        }
        let mut nanoseconds = [0.0; 2];
        for (run, nanoseconds) in [&mut self.small, &mut self.large].into_iter().zip(&mut nanoseconds) {
            let Some(elapsed) = run.run(limit)? else {
                let seconds = limit.as_secs();
                let size = joined(&run.size, " ");
                self.unfinished = Some(format!("{} did not finish (run {size}) in {seconds} s", self.name));
                return Ok(());
            };
            *nanoseconds = elapsed.as_nanos() as f64;
        }
        if counts {
            let [small, large] = nanoseconds;
            self.slopes.push((large - small) / self.operations() as f64);
        }
        Ok(())
    }

    /// By how many operations the sizes differ.
    pub(super) fn operations(&self) -> u64 {
        self.large.count.operations - self.small.count.operations
    }

    /// Of the large size.
    pub(super) fn answer(&self) -> u64 {
        self.large.count.answer
    }

    /// Nanoseconds an operation, round by round, if they are worth something.
    pub(super) fn slopes(&self) -> Option<&[f64]> {
        self.why_without_slopes().is_none().then_some(&self.slopes)
    }

    /// Why there are no slopes, if there are none.
    pub(super) fn why_without_slopes(&self) -> Option<String> {
        let drowned = || format!("{}'s two sizes differ by less than its times do from round to round", self.name);
        let is_drowned = self.slopes.iter().any(|slope| *slope <= 0.0);
        self.unfinished.clone().or_else(|| is_drowned.then(drowned))
    }

    /// The two sizes, for a note.
    pub(super) fn span(&self, program: &Program) -> String {
        let (small, large) = (&self.small.size[..], &self.large.size[..]);
        match (program.is_repeated, small.split_last(), large.split_last()) {
            (true, Some((few, once)), Some((many, again))) if once == again => {
                format!("{}, {few} and {many} times", program.sized(large))
            }
            _ => format!("{} and {}", program.sized(small), program.sized(large)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::programs::PROGRAMS;
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn program(name: &str) -> &'static Program {
        PROGRAMS.iter().find(|program| program.name == name).unwrap()
    }

    fn side(scripts: [&str; 2]) -> Side {
        let [small, large] = [(scripts[0], 3), (scripts[1], 5)].map(|(script, n)| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            SizedRun::new(program("collapse"), &[n], command)
        });
        Side::new(1, "sh", [small, large])
    }

    #[test]
    fn the_difference_of_the_sizes_counts() {
        let mut side = side(["echo '[3]'", "sleep 0.4; echo '[5]'"]);
        side.round(false, LIMIT).unwrap();
        assert_eq!(side.slopes(), Some(&[][..]));
        side.round(true, LIMIT).unwrap();
        let slopes = side.slopes().unwrap();
        assert!(slopes.len() == 1 && slopes[0] > 1e8 && slopes[0] < 1e9, "{slopes:?}");
        assert_eq!(side.span(program("collapse")), "collapse 3 and collapse 5");
        assert_eq!(side.span(program("zebra")), "zebra, 3 and 5 times");
    }

    #[test]
    fn a_wrong_answer_ends_the_suite() {
        let error = side(["echo '[4]'", "echo '[5]'"]).round(true, LIMIT).unwrap_err().to_string();
        assert!(error.contains("answered \"[4]\" and not [3]"), "{error}");
    }

    #[test]
    fn what_does_not_finish_is_said_and_not_tried_again() {
        let mut side = side(["echo '[3]'", "exec sleep 60"]);
        for _ in 0..50 {
            side.round(true, Duration::from_millis(500)).unwrap();
        }
        assert_eq!(side.slopes(), None);
        assert_eq!(side.why_without_slopes().unwrap(), "sh did not finish (run 5) in 0 s");
    }

    #[test]
    fn a_slope_that_goes_down_is_noise() {
        let mut side = side(["sleep 0.3; echo '[3]'", "echo '[5]'"]);
        side.round(true, LIMIT).unwrap();
        assert_eq!(side.slopes(), None);
        assert!(side.why_without_slopes().unwrap().contains("differ by less"));
    }
}
