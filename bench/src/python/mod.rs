//! The engine from Python, beside the Python packages of other implementations of MeTTa.
//!
//! 1. Each side is a process of `bench/programs/python/side.py`, which measures itself; [`CASES`] says what each is asked.
//! 2. Ours is the wheel as `cargo xtask wheel` builds it, installed below the target folder, in the environment that the tests of the
//!    package have, whose pandas makes the frames.
//! 3. Where `hyperon` is the peer, both sides run the same program through the same names, but for frames and for functions of Python:
//!    there ours is what `metroon` offers.
//! 4. A case that must take no longer than some time says in its note what it took.

use crate::compare::{Case, compare, judged};
use crate::peers;
use crate::row::Row;
use crate::worker::Worker;
use crate::{Part, Plan, Rows};
use std::error::Error;
use std::process::Command;

const SUITE: &str = "python";
const SCRIPT: &str = "bench/programs/python/side.py";
/// Where ours is installed, below the folder of the peers.
const OURS: &str = "metroon";

const PARTS: &[Part] = &[
    ("programs", |plan| rows(plan, "programs")),
    ("functions", |plan| rows(plan, "functions")),
    ("spaces", |plan| rows(plan, "spaces")),
    ("frames", |plan| rows(plan, "frames")),
    ("threads", |plan| rows(plan, "threads")),
];

pub(crate) fn run(plan: &Plan) -> Rows {
    crate::rows_of(SUITE, PARTS, plan)
}

/// What ours is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Hyperon,
    HyperonLater,
    Pymetta,
    /// Ours again, or Python without MeTTa: its name, and the question it is asked.
    Itself(&'static str, &'static str),
}

impl Peer {
    fn name(self) -> &'static str {
        match self {
            Self::Hyperon => "hyperon 0.2.6",
            Self::HyperonLater => "hyperon 0.2.10",
            Self::Pymetta => "PyMeTTa 0.9.4",
            Self::Itself(name, _) => name,
        }
    }

    fn start(self, plan: &Plan) -> Result<Worker, Box<dyn Error>> {
        let (python, module) = match self {
            Self::Hyperon => (peers::python_with_hyperon(plan.may_install)?, "hyperon"),
            Self::HyperonLater => (peers::python_with_hyperon_later(plan.may_install)?, "hyperon"),
            Self::Pymetta => (peers::python_with_pymetta(plan.may_install)?, "metta"),
            Self::Itself(..) => return ours(plan),
        };
        Worker::start(Command::new(python).args(["-B", SCRIPT, module]))
    }
}

fn ours(plan: &Plan) -> Result<Worker, Box<dyn Error>> {
    let (python, folder) = peers::python_with_metroon(OURS, plan.may_install)?;
    Worker::start(Command::new(python).env("PYTHONPATH", folder).args(["-B", SCRIPT, "metroon"]))
}

/// The target that the issue sets for a case.
#[derive(Clone, Copy)]
enum Must {
    Nothing,
    /// The ratio is this or more.
    Ratio(f64),
    /// Ours takes this many nanoseconds an operation at most.
    Nanoseconds(f64),
    /// Ours takes this many nanoseconds an operation more than the peer at most.
    Over(f64),
}

/// A case.
struct Asked {
    part: &'static str,
    name: &'static str,
    /// Its name in the script.
    question: &'static str,
    /// The number that the script is told.
    size: u64,
    /// How many operations these are.
    n: u64,
    peers: &'static [Peer],
    rounds: usize,
    must: Must,
    note: &'static str,
}

use Peer::{Hyperon, HyperonLater, Pymetta};
const BOTH: &[Peer] = &[Hyperon, HyperonLater];
const ALL: &[Peer] = &[Hyperon, HyperonLater, Pymetta];
const MILLISECOND: f64 = 1e6;

const CASES: &[Asked] = &[
    Asked {
        part: "programs",
        name: "a runner made and asked `(+ 1 2)`",
        question: "startup",
        size: 10,
        n: 10,
        peers: ALL,
        rounds: 5,
        must: Must::Nanoseconds(10.0 * MILLISECOND),
        note: "",
    },
    Asked {
        part: "programs",
        name: "fib, a call",
        question: "fib",
        size: 12,
        n: 465,
        peers: ALL,
        rounds: 3,
        must: Must::Ratio(100.0),
        note: "fib 12",
    },
    Asked {
        part: "programs",
        name: "chaining, a step",
        question: "chain",
        size: 50,
        n: 50,
        peers: BOTH,
        rounds: 3,
        must: Must::Ratio(100.0),
        note: "50 steps of a rule that matches 50 facts",
    },
    Asked {
        part: "functions",
        name: "a call into a function of Python",
        question: "call",
        size: 200,
        n: 200,
        peers: BOTH,
        rounds: 3,
        must: Must::Ratio(100.0),
        note: "a loop of MeTTa; ours by `metroon.function`, the peer by `OperationAtom`",
    },
    Asked {
        part: "functions",
        name: "a call into an operation atom",
        question: "operation",
        size: 200,
        n: 200,
        peers: BOTH,
        rounds: 3,
        must: Must::Nothing,
        note: "the same, by `OperationAtom` on both sides",
    },
    Asked {
        part: "functions",
        name: "a call into a function of Python, over Python's own",
        question: "call",
        size: 500_000,
        n: 500_000,
        peers: &[Peer::Itself("Python alone", "alone")],
        rounds: 5,
        must: Must::Over(1_000.0),
        note: "the peer is the same loop in Python",
    },
    Asked {
        part: "spaces",
        name: "add_atom, an atom",
        question: "add",
        size: 100_000,
        n: 100_000,
        peers: &[Hyperon],
        rounds: 3,
        must: Must::Ratio(100.0),
        note: "both make the atoms by `E`, `S` and `ValueAtom`, which is part of it",
    },
    Asked {
        part: "spaces",
        name: "a query in a loop",
        question: "query",
        size: 200,
        n: 200,
        peers: BOTH,
        rounds: 3,
        must: Must::Ratio(100.0),
        note: "1,000 facts; both make the pattern and read what it binds, which is part of it",
    },
    Asked {
        part: "frames",
        name: "facts from a frame of pandas, a fact",
        question: "frame",
        size: 100_000,
        n: 100_000,
        peers: &[Hyperon],
        rounds: 3,
        must: Must::Nothing,
        note: "rows of two numbers and a text; ours into a base, in one commit; the peer adds atoms of lists of values",
    },
    Asked {
        part: "frames",
        name: "1M facts from a frame of pandas, a fact",
        question: "frame",
        size: 1_000_000,
        n: 1_000_000,
        peers: &[Peer::Itself("the same, from a list of tuples", "tuples")],
        rounds: 3,
        must: Must::Nanoseconds(1_000.0),
        note: "rows of two numbers and a text, into a base, in one commit",
    },
    Asked {
        part: "frames",
        name: "answers as a frame of pandas, an answer",
        question: "answers",
        size: 100_000,
        n: 100_000,
        peers: &[Hyperon],
        rounds: 3,
        must: Must::Nothing,
        note: "answers of two numbers; the peer's come as lists of values",
    },
    Asked {
        part: "frames",
        name: "1M answers as a frame of pandas, an answer",
        question: "answers",
        size: 1_000_000,
        n: 1_000_000,
        peers: &[Peer::Itself("the same, as tuples", "answer_tuples")],
        rounds: 3,
        must: Must::Nanoseconds(1_000.0),
        note: "answers of two numbers",
    },
    Asked {
        part: "threads",
        name: "questions of two threads at once",
        question: "two_threads",
        size: 100_000,
        n: 2,
        peers: &[Peer::Itself("the same, one after the other", "one_thread")],
        rounds: 5,
        must: Must::Ratio(1.5),
        note: "chains of three facts among 100,000",
    },
];

fn rows(plan: &Plan, part: &str) -> Rows {
    let mut rows = Vec::new();
    for asked in CASES.iter().filter(|asked| asked.part == part) {
        for peer in asked.peers {
            rows.push(row(plan, asked, *peer)?);
        }
    }
    Ok(rows)
}

fn row(plan: &Plan, asked: &Asked, peer: Peer) -> Result<Row, Box<dyn Error>> {
    // Where much is done at once, a quick run does less.
    let is_large = asked.size > 1_000;
    let size = if is_large { plan.scaled(asked.size) } else { asked.size };
    let n = if is_large && asked.n == asked.size { size } else { asked.n };
    let (mut our_side, mut their_side) = (ours(plan)?, peer.start(plan)?);
    let question = if let Peer::Itself(_, question) = peer { question } else { asked.question };
    let (our_line, their_line) = (format!("{} {size}", asked.question), format!("{question} {size}"));
    let rounds = plan.rounds(asked.rounds);
    let case = Case { suite: SUITE, name: asked.name.to_owned(), n, peer: peer.name(), rounds, note: String::new() };
    let mut row = compare(case, &mut || our_side.ask(&our_line), &mut || their_side.ask(&their_line))?;
    row.note = noted(asked, &row);
    Ok(row)
}

/// The note of a row, with what must hold.
fn noted(asked: &Asked, row: &Row) -> String {
    let each = |figure: Option<f64>| figure.unwrap_or(f64::INFINITY) / row.n as f64;
    let within = |took: f64, most: f64, of: &str| {
        let verdict = if took <= most { "met" } else { "missed" };
        let separator = if asked.note.is_empty() { "" } else { "; " };
        format!("{}{separator}must be {most} ns{of} or less (the issue): {verdict}, {took:.0} ns", asked.note)
    };
    match asked.must {
        Must::Nothing => asked.note.to_owned(),
        Must::Ratio(least) => judged(asked.note, Some((least, "the issue")), row.ratio.map(|ratio| ratio.median)),
        Must::Nanoseconds(most) => within(each(row.ours), most, ""),
        Must::Over(most) => within(each(row.ours) - each(row.peer_figure), most, " over the peer's"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::kept_names;

    #[test]
    fn the_kept_list_is_that_of_the_cases() {
        let made =
            CASES.iter().flat_map(|asked| asked.peers.iter().map(|peer| format!("{}\t{}", asked.name, peer.name())));
        assert_eq!(made.collect::<std::collections::BTreeSet<_>>(), kept_names(SUITE));
    }

    #[test]
    fn every_case_belongs_to_a_part() {
        assert!(CASES.iter().all(|asked| PARTS.iter().any(|(part, _)| *part == asked.part)));
    }
}
