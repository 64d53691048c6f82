//! Questions that are programs in the language of each side: recursion, WordNet, inference, facts by their keys.
//!
//! 1. `bench/programs/queries/NAME.metta` is ours: its rule `answers` has one result, a number, and its call is what is measured. The
//!    files of the same name are those of peers.
//! 2. Tables are empty when a side is asked. Ours are emptied by a change of a state, which empties all of them, Prolog's by
//!    `abolish_all_tables/0`.
//! 3. The numbers are compared in each round. If ours takes longer than [`SLOW_SECONDS`], it is asked once, on one core, and that time stands
//!    beside all peers.

use super::cores::on_one_core;
use super::facts::{self, Facts, Made};
use super::graphs::{Form, Shape};
use super::peers::{Peer, SCRIPTS};
use super::rivals::Rival;
use super::{Contest, Ours, with_cores};
use crate::compare::Timed;
use crate::{Plan, Rows};
use std::error::Error;
use std::path::Path;

/// If ours takes longer, it is asked once, and not beside each peer.
const SLOW_SECONDS: f64 = 5.0;

/// The least ratio to a peer that is a target, if there is one.
type Must = Option<f64>;

/// A program, and what it is asked about.
pub(super) struct Program {
    name: &'static str,
    /// The name of its files.
    file: &'static str,
    facts: fn(&Plan) -> Made,
    /// How many operations this many facts are.
    operations: fn(usize) -> u64,
    rivals: &'static [(Rival, Must)],
    note: &'static str,
}

/// Those that compute what follows from what follows.
const RECURSIVE: &[(Rival, Must)] = &[
    (Rival::DuckdbOneThread, Some(1.0)),
    (Rival::Duckdb, Some(1.0)),
    (Rival::Egglog, Some(1.0)),
    (Rival::Clingo, Some(1.0)),
    (Rival::Swipl, Some(1.0)),
];

const PLAIN: Program = Program {
    name: "",
    file: "",
    facts: |_| Err("a program has facts".into()),
    operations: |_| 1,
    rivals: RECURSIVE,
    note: "",
};

pub(super) const RECURSION: &[Program] = &[
    Program {
        name: "closure from one node",
        file: "reach",
        facts: |plan| graph(plan, [(50_000, 1_000_000), (2_000, 20_000)]),
        ..PLAIN
    },
    Program {
        name: "whole closure",
        file: "closure",
        facts: |plan| graph(plan, [(2_000, 40_000), (200, 1_000)]),
        ..PLAIN
    },
    Program { name: "same generation", file: "generation", facts: generations, ..PLAIN },
];

const WITH_TABLES: &[(Rival, Must)] = &[(Rival::Swipl, Some(3.0))];

pub(super) const WORDNET: &[Program] = &[
    Program {
        name: "WordNet, hypernym closure of every noun",
        file: "hypernyms",
        facts: facts::hypernyms,
        rivals: WITH_TABLES,
        note: "ours goes on from what was found by one link, SWI-Prolog begins with a link, which is faster there",
        ..PLAIN
    },
    Program {
        name: "WordNet, lowest common hypernyms of 1,000 pairs",
        file: "lowest",
        facts: facts::hypernyms,
        rivals: WITH_TABLES,
        ..PLAIN
    },
];

pub(super) const INFERENCE: &[Program] = &[Program {
    name: "deduction with strength and confidence",
    file: "deduction",
    facts: facts::statements,
    rivals: &[(Rival::Swipl, Some(1.0))],
    note: "chains of three statements or fewer; the answer is how many conclusions are likelier than 0.5",
    ..PLAIN
}];

pub(super) const POINTS: &[Program] = &[
    Program {
        name: "a fact by its key in a loop, in order",
        file: "point",
        facts: facts::values,
        operations: |facts| facts as u64,
        rivals: &[(Rival::Swipl, Some(2.0))],
        note: "a turn is a question by a number, an addition and a comparison; ours must take 60 ns at most",
    },
    Program {
        name: "a fact by its key in a loop, without order",
        file: "walk",
        facts: facts::circle,
        operations: |facts| facts as u64 - 1,
        rivals: &[(Rival::Swipl, Some(2.0))],
        note: "a turn is a question by the number that the one before has answered with",
    },
];

/// A random graph in full or small.
fn graph(plan: &Plan, [full, quick]: [(u32, usize); 2]) -> Made {
    let (nodes, edges) = if plan.is_quick { quick } else { full };
    Ok(Facts::of_graph(Shape::Random { nodes, edges }))
}

fn generations(plan: &Plan) -> Made {
    let (generations, persons) = if plan.is_quick { (5, 30) } else { (10, 400) };
    Ok(Facts::of_graph(Shape::Generations { generations, persons, parents: 2 }))
}

/// The rows of programs, one after the other.
pub(super) fn rows(plan: &Plan, programs: &[Program]) -> Rows {
    let rows: Result<Vec<_>, _> = programs.iter().map(|program| program.rows(plan)).collect();
    Ok(rows?.into_iter().flatten().collect())
}

impl Program {
    fn rows(&self, plan: &Plan) -> Rows {
        let facts = (self.facts)(plan)?;
        let mut ours = Ours::of(&facts.text(Form::Metta))?;
        ours.run(&self.text("metta")?)?;
        let first = on_one_core(|| ours.ask_anew())?;
        let is_slow = first.elapsed.as_secs_f64() > SLOW_SECONDS;
        let row = |&(rival, must): &(Rival, Must)| {
            let file = plan.scratch.join("facts").with_extension(rival.form().extension());
            std::fs::write(&file, facts.text(rival.form()))?;
            let mut peer = Peer::start(rival, plan)?;
            peer.load(&file, facts.relation, facts.count)?;
            peer.state(&self.text(rival.language())?)?;
            let between = if self.note.is_empty() { "" } else { "; " };
            let once = if is_slow { "; ours was asked once for all peers" } else { "" };
            let note = format!("{}{between}{}; {}{once}", facts.note, self.note, rival.note_of_program());
            let n = (self.operations)(facts.count);
            let contest = Contest { name: self.name.to_owned(), n, peer: rival.name(), must, note };
            let mut ask_ours = || match is_slow {
                true => Ok(Timed { elapsed: first.elapsed, checksum: first.checksum }),
                false => ours.ask_anew(),
            };
            with_cores(rival, || contest.run(plan, &mut ask_ours, &mut || peer.ask_program()))
        };
        self.rivals.iter().map(row).collect()
    }

    /// Its text in a language.
    fn text(&self, language: &str) -> Result<String, Box<dyn Error>> {
        let file = Path::new(SCRIPTS).join(self.file).with_extension(language);
        std::fs::read_to_string(&file).map_err(|error| format!("cannot read {}: {error}", file.display()).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::path::PathBuf;

    const PROGRAMS: &[&[Program]] = &[RECURSION, WORDNET, INFERENCE, POINTS];

    fn plan() -> Plan {
        Plan { is_quick: true, divisor: 8, only: None, may_install: false, scratch: PathBuf::new() }
    }

    /// What ours answers to a program, asked twice.
    fn answered(program: &Program) -> u64 {
        let facts = (program.facts)(&plan()).unwrap();
        let mut ours = Ours::of(&facts.text(Form::Metta)).unwrap();
        ours.run(&program.text("metta").unwrap()).unwrap();
        let first = ours.ask_anew().unwrap().checksum;
        assert_eq!(ours.ask_anew().unwrap().checksum, first, "{}", program.name);
        first
    }

    #[test]
    fn a_program_has_a_text_for_each_of_its_peers() {
        // Suites run in the root of the repository.
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        for program in PROGRAMS.iter().copied().flatten() {
            assert!(program.text("metta").unwrap().contains("\n(= (answers)"), "{}", program.name);
            for (rival, _) in program.rivals {
                let text = program.text(rival.language()).unwrap();
                assert!(!text.contains("pragma!") && !text.is_empty(), "{}", program.name);
            }
        }
    }

    #[test]
    fn our_closures_are_those_of_a_search() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        let edges = Shape::Random { nodes: 200, edges: 1_000 }.edges();
        let reached = |from: u32| {
            let mut seen = vec![false; 200];
            let mut open = vec![from];
            while let Some(node) = open.pop() {
                for (_, to) in edges.iter().filter(|(from, _)| *from == node) {
                    if !std::mem::replace(&mut seen[*to as usize], true) {
                        open.push(*to);
                    }
                }
            }
            seen.into_iter().filter(|seen| *seen).count() as u64
        };
        assert_eq!(answered(&RECURSION[1]), (0..200).map(reached).sum::<u64>());
    }

    #[test]
    fn a_generation_is_related_and_values_are_added_up() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).unwrap();
        let edges = Shape::Generations { generations: 5, persons: 30, parents: 2 }.edges();
        let parents = |child: u32| edges.iter().filter(move |edge| edge.1 == child).map(|edge| edge.0);
        let mut related = HashSet::new();
        // A parent stands before its children, so those of a generation are known when the next one asks for them.
        for (one, other) in (30..150).flat_map(|one| (30..150).map(move |other| (one, other))) {
            let are = |(parent, others)| parent == others || related.contains(&(parent, others));
            if parents(one).any(|parent| parents(other).any(|others| are((parent, others)))) {
                related.insert((one, other));
            }
        }
        assert_eq!(answered(&RECURSION[2]), related.len() as u64);
        assert_eq!(answered(&POINTS[0]), (1..=20_000_u64).map(|key| key % 1_000).sum::<u64>());
        assert!(answered(&INFERENCE[0]) > 1_000);
    }
}
