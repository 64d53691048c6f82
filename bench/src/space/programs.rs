//! Questions as programs ask them: by the first argument, by the second, and for all facts, among half a million.
//!
//! 1. Ours is a rule that asks `match` once for each name of a list. It is called by `!` and runs in an [`Engine`], where rules are compiled.
//!    hyperon runs the same text; DuckDB is asked prepared statements by a program in Python, with one index of the column that is
//!    asked about; SWI-Prolog calls `edge/2` in a `forall`.
//! 2. Half of the names are nowhere among the facts. Names come in another order than the facts did.
//! 3. Each side hands every result to its program, which adds up the lengths of the names: the checksum. Reading the rule or the list
//!    of names is outside of the clock.
//! 4. A slow peer is asked fewer questions, and ours is then asked the same few.

use super::facts::{self, Form, TARGETS, write_file};
use super::lookups::asked_about;
use super::{Contest, DUCKDB, Failure, HYPERON, Peer, ROUNDS};
use crate::compare::{Clock, Timed};
use crate::row::Row;
use crate::{Plan, Rows};
use metroon::{Engine, MemoryWorld, RunEnd};
use space::Atom;

const EDGES: u64 = 500_000;
/// hyperon takes a minute to hand out all facts.
const SCAN_OF_HYPERON_ROUNDS: usize = 1;

/// A kind of question.
struct Kind {
    name: &'static str,
    /// What the peers call it, and the name of the rule.
    command: &'static str,
    /// The name that a question is about, among a number of edges; none if the question is about all facts.
    asked: Option<fn(u64, u64) -> String>,
    /// What the rule does with the name `$k`, or without one.
    body: &'static str,
    /// How many questions a round has for hyperon, for DuckDB and for SWI-Prolog.
    questions: [u64; 3],
    /// How many operations a number of questions are, among a number of edges.
    operations: fn(u64, u64) -> u64,
    note: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "a program asks by the first argument, 500k",
        command: "point",
        asked: Some(point),
        body: "(match &self (edge $k $x) $x)",
        questions: [1_000, 2_000, 100_000],
        operations: |questions, _| questions,
        note: "(match &self (edge $k $x) $x) for each $k of a list, half of them names that are nowhere; a question",
    },
    Kind {
        name: "a program asks by the second argument, 500k",
        command: "second",
        asked: Some(second),
        body: "(match &self (edge $x $k) $x)",
        questions: [4, 200, 200],
        operations: |questions, edges| questions.div_ceil(2) * (edges / TARGETS).max(1),
        note: "(match &self (edge $x $k) $x) for each $k of a list, half of them names that are nowhere and each of the others with 500 results; a result",
    },
    Kind {
        name: "a program asks for all facts, 500k",
        command: "scan",
        asked: None,
        body: "(match &self (edge $x $y) ($x $y))",
        questions: [1, 1, 1],
        operations: |_, edges| edges,
        note: "(match &self (edge $x $y) ($x $y)); a result",
    },
];

pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    let mut rows = Vec::new();
    for (place, mut peer) in [Peer::hyperon(plan)?, Peer::duckdb(plan)?, Peer::swipl(plan)?].into_iter().enumerate() {
        let path = plan.scratch.join("asked").with_extension(peer.form.extension());
        write_file(&path, peer.form, edges)?;
        peer.load(&path)?;
        let mut engine = engine_of(edges)?;
        for kind in KINDS {
            rows.push(kind.row(plan, edges, place, &mut engine, &mut peer)?);
        }
        if peer.name == HYPERON {
            rows.push(texts(plan, edges, &mut engine, &mut peer)?);
        }
    }
    Ok(rows)
}

/// The name that a question by the first argument is about.
fn point(question: u64, edges: u64) -> String {
    let letter = if question.is_multiple_of(2) { 'a' } else { 'n' };
    format!("{letter}{}", asked_about(question, edges))
}

/// The name that a question by the second argument is about.
fn second(question: u64, _: u64) -> String {
    let letter = if question.is_multiple_of(2) { 'b' } else { 'n' };
    format!("{letter}{}", question / 2 % TARGETS)
}

fn engine_of(edges: u64) -> Result<Engine, Failure> {
    let mut engine = Engine::new(MemoryWorld::default());
    run(&mut engine, &facts::text(Form::Metta, edges)?)?;
    Ok(engine)
}

impl Kind {
    fn names(&self, questions: u64, edges: u64) -> Vec<String> {
        self.asked.map(|asked| (0..questions).map(|question| asked(question, edges)).collect()).unwrap_or_default()
    }

    /// The rule that asks about these names.
    fn rule(&self, names: &[String]) -> String {
        let (command, body) = (self.command, self.body);
        match self.asked {
            Some(_) => format!("(= ({command}) (let $k (superpose ({})) {body}))\n", names.join(" ")),
            None => format!("(= ({command}) {body})\n"),
        }
    }

    fn row(&self, plan: &Plan, edges: u64, place: usize, engine: &mut Engine, peer: &mut Peer) -> Result<Row, Failure> {
        let questions = self.questions[place];
        // Half of the questions have no answer, so there are two at least.
        let questions = if self.asked.is_some() { plan.scaled(questions).max(2) } else { questions };
        let names = self.names(questions, edges);
        let rule = self.rule(&names);
        run(engine, &rule)?;
        let text = if peer.name == HYPERON { rule } else { names.join("\n") };
        peer.take(plan, self.command, &text)?;
        let contest = Contest {
            name: self.name,
            n: (self.operations)(questions, edges),
            peer: peer.name,
            must: None,
            rounds: self.rounds(peer),
            note: &self.noted(peer),
        };
        let call = format!("!({})", self.command);
        contest.run(plan, &mut || timed(engine, [&call]), &mut || peer.ask())
    }

    fn rounds(&self, peer: &Peer) -> usize {
        match (peer.name == HYPERON, self.asked.is_some()) {
            (true, true) => 3,
            (true, false) => SCAN_OF_HYPERON_ROUNDS,
            (false, _) => ROUNDS,
        }
    }

    fn noted(&self, peer: &Peer) -> String {
        match peer.name {
            HYPERON => format!("{}; hyperon runs the same text", self.note),
            DUCKDB => format!("{}; DuckDB has one index, a prepared statement, and a program in Python", self.note),
            _ => self.note.to_owned(),
        }
    }
}

/// Questions as texts that are read and evaluated one by one.
fn texts(plan: &Plan, edges: u64, engine: &mut Engine, peer: &mut Peer) -> Result<Row, Failure> {
    const COUNT: u64 = 1_000;
    let count = plan.scaled(COUNT);
    let text = |question| format!("!(match &self (edge {} $x) $x)", point(question, edges));
    let texts: Vec<String> = (0..count).map(text).collect();
    peer.take(plan, "text", &texts.join("\n"))?;
    let contest = Contest {
        name: "a text asks by the first argument, 500k",
        n: count,
        peer: peer.name,
        must: None,
        rounds: 3,
        note: "!(match &self (edge aI $x) $x), half of the names nowhere; each question is a text that both sides read and evaluate",
    };
    contest.run(plan, &mut || timed(engine, &texts), &mut || peer.ask())
}

/// Runs texts one after the other: how long they took, and the lengths of all names in their results.
fn timed(engine: &mut Engine, texts: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Timed, Failure> {
    let (mut clock, mut sum) = (Clock::default(), 0);
    clock.run(|| texts.into_iter().try_for_each(|text| run(engine, text.as_ref()).map(|lengths| sum += lengths)))?;
    Ok(clock.done(sum))
}

/// Runs a text to its end, and gives the lengths of all names in its results.
fn run(engine: &mut Engine, text: &str) -> Result<u64, Failure> {
    let mut sum = 0;
    let run = engine.run_text(text, &mut |_, answer| {
        sum += answer.results.iter().map(length).sum::<u64>();
        Ok(())
    });
    match run.end {
        RunEnd::Finished => Ok(sum),
        end => Err(format!("our program ended early: {end:?}").into()),
    }
}

fn length(atom: &Atom) -> u64 {
    match atom {
        Atom::Symbol(name) => name.as_str().len() as u64,
        other => other.children().unwrap_or_default().iter().map(length).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: u64 = 2_000;

    #[test]
    fn our_program_of_each_kind_finds_what_there_is() {
        let mut engine = engine_of(FEW).unwrap();
        let edge = |number: u64| (format!("a{number}"), format!("b{}", number % TARGETS));
        let all: Vec<(String, String)> = (0..FEW).map(edge).collect();
        for kind in KINDS {
            let names = kind.names(20, FEW);
            let of_name = |name: &String| -> usize {
                let found = all.iter().map(|(left, right)| match kind.command {
                    "point" if left == name => right.len(),
                    "second" if right == name => left.len(),
                    _ => 0,
                });
                found.sum()
            };
            let expected: usize = match kind.asked {
                Some(_) => names.iter().map(of_name).sum(),
                None => all.iter().map(|(left, right)| left.len() + right.len()).sum(),
            };
            run(&mut engine, &kind.rule(&names)).unwrap();
            let call = format!("!({})", kind.command);
            assert_eq!(timed(&mut engine, [call]).unwrap().checksum, expected as u64, "{}", kind.name);
        }
    }

    #[test]
    fn half_of_the_names_are_nowhere() {
        for kind in KINDS.iter().filter(|kind| kind.asked.is_some()) {
            let names = kind.names(1_000, FEW);
            assert_eq!(names.iter().filter(|name| name.starts_with('n')).count(), 500, "{}", kind.name);
        }
    }

    #[test]
    fn our_programs_are_compiled() {
        let mut engine = engine_of(FEW).unwrap();
        for kind in KINDS {
            run(&mut engine, &kind.rule(&kind.names(20, FEW))).unwrap();
            run(&mut engine, &format!("!({})", kind.command)).unwrap();
        }
        assert_eq!(engine.session().interpreted_forms(), []);
    }
}
