//! The peers, each a process that measures itself, and what they are told.
//!
//! A peer is asked a [`Query`] in its own words, or a program that a file states.

use super::cases::Query;
use super::graphs::Form;
use super::rivals::{Answer, Rival};
use crate::compare::Timed;
use crate::worker::Worker;
use crate::{Plan, peers};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of their scripts, and of the programs of all sides.
pub(super) const SCRIPTS: &str = "bench/programs/queries";

/// The process of a peer.
pub(super) struct Peer {
    pub(super) rival: Rival,
    worker: Worker,
    /// A folder for what it is to read.
    scratch: PathBuf,
}

impl Peer {
    pub(super) fn start(rival: Rival, plan: &Plan) -> Result<Self, Box<dyn Error>> {
        Ok(Self { rival, worker: Worker::start(&mut command(rival, plan)?)?, scratch: plan.scratch.clone() })
    }

    /// Loads the facts of a file that is written for it: `count` of a relation such as `edge/2`.
    ///
    /// # Errors
    /// It failed, or loaded another number of them.
    pub(super) fn load(&mut self, file: &Path, relation: &str, count: usize) -> Result<(), Box<dyn Error>> {
        let path = file.display();
        let line = match (self.rival, relation) {
            (Rival::Swipl, _) => format!("load('{path}', {relation})."),
            (_, "triple/3") => format!("load_triples {path}"),
            _ => format!("load {path}"),
        };
        let loaded = self.worker.ask(&line)?.checksum;
        if loaded != count as u64 {
            return Err(format!("{} loaded {loaded} facts of {count}", self.rival.name()).into());
        }
        Ok(())
    }

    /// Makes ready to be asked a query.
    pub(super) fn take(&mut self, query: &Query) -> Result<(), Box<dyn Error>> {
        if self.rival.form() == Form::Metta {
            return self.state(&query.rule("answers", query.patterns));
        }
        self.worker.ask(&take_line(self.rival, query)).map(drop)
    }

    /// Makes ready to be asked what a text in its language says.
    pub(super) fn state(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        let file = self.scratch.join("program").with_extension(self.rival.language());
        std::fs::write(&file, text)?;
        let path = file.display();
        let line = if self.rival == Rival::Swipl { format!("state('{path}').") } else { format!("state {path}") };
        self.worker.ask(&line).map(drop)
    }

    /// Asks what the text says: the checksum is the number that it answers with.
    pub(super) fn ask_program(&mut self) -> Result<Timed, Box<dyn Error>> {
        self.worker.ask(if self.rival == Rival::Swipl { "ask(program)." } else { "ask" })
    }

    /// Asks it: the checksum is the number of answers.
    pub(super) fn ask(&mut self, query: &Query) -> Result<Timed, Box<dyn Error>> {
        self.worker.ask(ask_line(self.rival, query.answer))
    }
}

fn command(rival: Rival, plan: &Plan) -> Result<Command, Box<dyn Error>> {
    let python = match rival {
        Rival::Hyperon => peers::python_with_hyperon,
        Rival::HyperonLater => peers::python_with_hyperon_later,
        Rival::Pymetta => peers::python_with_pymetta,
        _ => peers::python_with_query_engines,
    };
    let (script, words): (_, &[&str]) = match rival {
        Rival::DuckdbOneThread => ("with_duckdb.py", &["count", "1"]),
        Rival::Duckdb => ("with_duckdb.py", &["count"]),
        Rival::DuckdbTable => ("with_duckdb.py", &["table", "1"]),
        Rival::Ladybug => ("with_ladybug.py", &[]),
        Rival::Egglog => ("with_egglog.py", &[]),
        Rival::Clingo => ("with_clingo.py", &[]),
        Rival::Hyperon | Rival::HyperonLater => ("with_metta.py", &["hyperon"]),
        Rival::Pymetta => ("with_metta.py", &["metta"]),
        Rival::Swipl => {
            let mut command = peers::swipl(plan.may_install)?.command();
            // Without the user's own settings, and with room for what the large sizes take.
            let room = ["--stack-limit=8g", "--table-space=8g"];
            command.args(["-q", "-f", "none", "-O"]).args(room).args(["-g", "main", "-t", "halt"]);
            command.arg(format!("{SCRIPTS}/with_swipl.pl"));
            return Ok(command);
        }
    };
    let mut command = Command::new(python(plan.may_install)?);
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
