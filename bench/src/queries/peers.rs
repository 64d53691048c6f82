//! The peers, each a process that measures itself, and what they are told.

use super::cases::Query;
use super::rivals::{Answer, Rival};
use crate::compare::Timed;
use crate::worker::Worker;
use crate::{Plan, peers};
use std::error::Error;
use std::path::Path;
use std::process::Command;

const SCRIPTS: &str = "bench/programs/queries";

/// The process of a peer.
pub(super) struct Peer {
    pub(super) rival: Rival,
    worker: Worker,
}

impl Peer {
    pub(super) fn start(rival: Rival, plan: &Plan) -> Result<Self, Box<dyn Error>> {
        Ok(Self { rival, worker: Worker::start(&mut command(rival, plan)?)? })
    }

    /// Loads so many edges from the file that is written for it.
    ///
    /// # Errors
    /// It failed, or loaded another number of them.
    pub(super) fn load(&mut self, file: &Path, edges: usize) -> Result<(), Box<dyn Error>> {
        let path = file.display();
        let line = if self.rival == Rival::Swipl { format!("load('{path}').") } else { format!("load {path}") };
        let loaded = self.worker.ask(&line)?.checksum;
        if loaded != edges as u64 {
            return Err(format!("{} loaded {loaded} edges of {edges}", self.rival.name()).into());
        }
        Ok(())
    }

    /// Makes ready to be asked a query.
    pub(super) fn take(&mut self, query: &Query) -> Result<(), Box<dyn Error>> {
        self.worker.ask(&take_line(self.rival, query)).map(drop)
    }

    /// Asks it: the checksum is the number of answers.
    pub(super) fn ask(&mut self, query: &Query) -> Result<Timed, Box<dyn Error>> {
        self.worker.ask(ask_line(self.rival, query.answer))
    }
}

fn command(rival: Rival, plan: &Plan) -> Result<Command, Box<dyn Error>> {
    let (script, words): (_, &[&str]) = match rival {
        Rival::DuckdbOneThread => ("with_duckdb.py", &["count", "1"]),
        Rival::Duckdb => ("with_duckdb.py", &["count"]),
        Rival::DuckdbTable => ("with_duckdb.py", &["table", "1"]),
        Rival::Ladybug => ("with_ladybug.py", &[]),
        Rival::Egglog => ("with_egglog.py", &[]),
        Rival::Clingo => ("with_clingo.py", &[]),
        Rival::Swipl => {
            let mut command = peers::swipl(plan.may_install)?.command();
            // Without the user's own settings, and with room for what the large sizes take.
            command.args(["-q", "-f", "none", "-O", "--stack-limit=8g", "-g", "main", "-t", "halt"]);
            command.arg(format!("{SCRIPTS}/with_swipl.pl"));
            return Ok(command);
        }
    };
    let mut command = Command::new(peers::python_with_query_engines(plan.may_install)?);
    // Python's compiled files would lie among the sources.
    command.arg("-B").arg(format!("{SCRIPTS}/{script}")).args(words);
    Ok(command)
}

/// The line that tells a peer a query.
fn take_line(rival: Rival, query: &Query) -> String {
    if rival != Rival::Swipl {
        return format!("take {}", query.patterns);
    }
    let capital = |pair: &str, between: &str| {
        pair.to_uppercase().chars().map(|variable| variable.to_string()).collect::<Vec<_>>().join(between)
    };
    let goals: Vec<String> = query.by_hand.split(',').map(|pair| capital(pair, "-")).collect();
    let answer = match query.answer {
        Answer::Tuple => format!("t({})", capital(&query.variables(), ", ")),
        Answer::Count => "found".to_owned(),
    };
    format!("take({answer}, [{}]).", goals.join(", "))
}

fn ask_line(rival: Rival, answer: Answer) -> &'static str {
    match (rival, answer) {
        (Rival::Swipl, Answer::Tuple) => "ask(gather).",
        (Rival::Swipl, Answer::Count) => "ask(count).",
        _ => "ask",
    }
}

#[cfg(test)]
mod tests {
    use super::super::cases::queries;
    use super::*;

    #[test]
    fn a_query_is_told_in_the_words_of_the_peer() {
        let query = |name: &str| queries().find(|query| query.name.starts_with(name)).unwrap();
        let triangles = query("triangles, preferential");
        assert_eq!(take_line(Rival::Egglog, triangles), "take ab,bc,ac");
        assert_eq!(take_line(Rival::Swipl, triangles), "take(t(A, B, C), [A-B, B-C, A-C]).");
        assert_eq!(take_line(Rival::Swipl, query("two hops, counted")), "take(found, [A-B, B-C]).");
    }
}
