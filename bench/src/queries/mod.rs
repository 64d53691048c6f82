//! Queries: conjunctions of patterns and recursive programs, beside databases, Datalog and Prolog.
//!
//! 1. [`graphs`] makes the graphs, [`cases`] says what is asked about each, beside which of the [`rivals`], and [`peers`]
//!    says it to these, which measure themselves.
//! 2. Ours is a program as a user writes it: edges as facts, a rule that gathers what `match` finds with `collapse`, or counts it with
//!    `count-results` where peers count as well, and its call by
//!    `!`, which is what is measured. It runs in an [`Engine`], as `metroon run` runs it.
//! 3. Every side has loaded the graph and prepared the query before, and was asked once, but in cases of the first question. The
//!    number of answers is compared in each round.
//! 4. Beside a peer that has one thread, ours has one core, by [`cores`].
//! 5. A row takes about [`ROW_SECONDS`]: where a round takes long, there are fewer of them, and what takes most of that time is asked once,
//!    without a round before.
//! 6. [`orders`] compares ours with itself, the patterns written in other orders; [`memory`] counts what a join's answers take.
//! 7. [`programs`] are questions that each side has a file for, and [`lubm`] is a knowledge graph with its fourteen questions.

mod cases;
mod cores;
mod facts;
mod graphs;
mod lubm;
mod memory;
mod orders;
mod peers;
mod programs;
mod rivals;

use crate::compare::{self, Case, Clock, Side, Timed, compare, judged};
use crate::row::Row;
use crate::{Part, Plan, Rows};
use cases::{ATTACHMENT, CLIQUES, Graph, HOPS, HUB, Query, SMALL};
use cores::on_one_core;
use graphs::{Edge, Form};
use metroon::{Engine, MemoryWorld, RunEnd};
use peers::Peer;
use rivals::Rival;
use std::error::Error;
use std::time::{Duration, Instant};

const SUITE: &str = "queries";
const ROUNDS_MAX: usize = 7;
/// How long the rounds of a row may take, about.
const ROW_SECONDS: f64 = 10.0;

const PARTS: &[Part] = &[
    ("cliques", |plan| rows(plan, &CLIQUES)),
    ("orders", orders::rows),
    ("hub", |plan| rows(plan, &HUB)),
    ("attachment", |plan| rows(plan, &ATTACHMENT)),
    ("hops", |plan| rows(plan, &HOPS)),
    ("metta", |plan| rows(plan, &SMALL)),
    ("recursion", |plan| programs::rows(plan, programs::RECURSION)),
    ("wordnet", |plan| programs::rows(plan, programs::WORDNET)),
    ("inference", |plan| programs::rows(plan, programs::INFERENCE)),
    ("points", |plan| programs::rows(plan, programs::POINTS)),
    ("lubm", lubm::rows),
    ("memory", memory::rows),
];

pub(crate) fn run(plan: &Plan) -> Rows {
    crate::rows_of(SUITE, PARTS, plan)
}

/// The rows of a graph: query after query, and in each the peers in their order.
fn rows(plan: &Plan, graph: &Graph) -> Rows {
    let shape = graph.shape(plan.is_quick);
    let edges = shape.edges();
    let graph_note = shape.note(edges.len());
    let mut ours = Ours::new(&edges)?;
    let mut rows = Vec::new();
    for rival in Rival::ALL {
        let must_of = |query: &Query| query.rivals.iter().find(|(other, _)| *other == rival).map(|(_, must)| *must);
        let asked: Vec<_> =
            graph.queries.iter().zip(0..).filter_map(|(query, place)| Some((query, place, must_of(query)?))).collect();
        if asked.is_empty() {
            continue;
        }
        let file = plan.scratch.join("edges").with_extension(rival.form().extension());
        std::fs::write(&file, rival.form().text(&edges))?;
        let mut peer = Peer::start(rival, plan)?;
        peer.load(&file, RELATION, edges.len())?;
        for (query, place, must) in asked {
            ours.take(query)?;
            peer.take(query)?;
            let note = format!("{graph_note}; {}, {}", query.note(), rival.note(query.answer));
            let contest = Contest { name: query.name.to_owned(), n: 1, peer: rival.name(), must, note };
            let mut ask_ours = || {
                if query.is_first {
                    ours = Ours::new(&edges)?;
                    ours.take(query)?;
                }
                ours.ask()
            };
            let mut ask_peer = || {
                if query.is_first {
                    peer.load(&file, RELATION, edges.len())?;
                    peer.take(query)?;
                }
                peer.ask(query)
            };
            rows.push((place, with_cores(rival, || contest.run(plan, &mut ask_ours, &mut ask_peer))?));
        }
    }
    rows.sort_by_key(|&(place, _): &(usize, Row)| place);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// What Prolog calls the edges of a graph.
const RELATION: &str = "edge/2";

/// Does some work on as many cores as a comparison with a peer needs.
fn with_cores<T>(rival: Rival, work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<T, Box<dyn Error>> {
    if rival.has_one_thread() { on_one_core(work) } else { work() }
}

/// A row to be.
struct Contest {
    name: String,
    /// Operations in a round.
    n: u64,
    peer: &'static str,
    must: Option<f64>,
    note: String,
}

impl Contest {
    fn run(self, plan: &Plan, ours: Side<'_>, peer: Side<'_>) -> Result<Row, Box<dyn Error>> {
        let Self { name, n, peer: peer_name, must, note } = self;
        // Asked once: what is made on first use is there, and how long a round takes is known.
        let began = Instant::now();
        let (our, their) = (ours()?, peer()?);
        let rounds = plan.rounds(rounds_within(began.elapsed()));
        let case = Case { suite: SUITE, name, n, peer: peer_name, rounds, note: String::new() };
        let mut row = if rounds == 0 { once(case, &our, &their)? } else { compare(case, ours, peer)? };
        let note = format!("{note}; the answer is {}", our.checksum);
        row.note = judged(&note, must.map(|least| (least, "the issue")), row.ratio.map(|ratio| ratio.median));
        Ok(row)
    }
}

/// The row of sides that are too slow to be asked again.
fn once(case: Case, our: &Timed, their: &Timed) -> Result<Row, Box<dyn Error>> {
    if our.checksum != their.checksum {
        let (name, ours, theirs) = (&case.name, our.checksum, their.checksum);
        return Err(format!("{name}: the sides did different work: checksums {ours:x} and {theirs:x}").into());
    }
    let nanoseconds = |timed: &Timed| vec![timed.elapsed.as_nanos() as f64];
    Ok(compare::row(Case { rounds: 1, ..case }, (nanoseconds(our), nanoseconds(their))))
}

/// How many rounds a row may take, if one takes so long: none if the first one was too much already.
fn rounds_within(round: Duration) -> usize {
    // A round that takes no time has them all. One more is not measured.
    let rounds = (ROW_SECONDS / round.as_secs_f64().max(f64::MIN_POSITIVE)) as usize;
    rounds.saturating_sub(1).min(ROUNDS_MAX)
}

/// Our side: a program that has stated the edges.
struct Ours {
    engine: Engine,
    /// How many queries it was told; the rule of the last one is called.
    queries: usize,
}

impl Ours {
    fn new(edges: &[Edge]) -> Result<Self, Box<dyn Error>> {
        Self::of(&Form::Metta.text(edges))
    }

    /// It, with the facts of a text.
    fn of(facts: &str) -> Result<Self, Box<dyn Error>> {
        let mut ours = Self { engine: Engine::new(MemoryWorld::default()), queries: 0 };
        ours.run(facts)?;
        ours.run("!(bind! &rounds (new-state 0))")?;
        Ok(ours)
    }

    /// Calls the rule `answers` while all tables are empty.
    fn ask_anew(&mut self) -> Result<Timed, Box<dyn Error>> {
        self.run("!(change-state! &rounds (+ 1 (get-state &rounds)))")?;
        self.call("!(answers)")
    }

    /// States the rule of a query.
    fn take(&mut self, query: &Query) -> Result<(), Box<dyn Error>> {
        self.take_ordered(query, query.patterns)
    }

    /// States the rule of a query with its patterns in an order.
    fn take_ordered(&mut self, query: &Query, patterns: &str) -> Result<(), Box<dyn Error>> {
        self.state_query(|name| query.rule(name, patterns))
    }

    /// States the rule that is made for a name that no other has.
    fn state_query(&mut self, rule: impl FnOnce(&str) -> String) -> Result<(), Box<dyn Error>> {
        self.queries += 1;
        self.run(&rule(&format!("found-{}", self.queries))).map(drop)
    }

    /// Calls the last rule: the checksum is the number of answers.
    fn ask(&mut self) -> Result<Timed, Box<dyn Error>> {
        self.ask_number(self.queries)
    }

    /// Calls the rule with a number.
    fn ask_number(&mut self, number: usize) -> Result<Timed, Box<dyn Error>> {
        self.call(&format!("!(found-{number})"))
    }

    /// Calls a rule: the checksum is the number that is its last result.
    fn call(&mut self, call: &str) -> Result<Timed, Box<dyn Error>> {
        let mut clock = Clock::default();
        let answered = clock.run(|| self.run(call))?;
        Ok(clock.done(answered.ok_or("our program did not answer with a number")?))
    }

    /// Runs a text to its end, and gives the number that was its last result, if there is one.
    fn run(&mut self, text: &str) -> Result<Option<u64>, Box<dyn Error>> {
        let mut number = None;
        let run = self.engine.run_text(text, &mut |_, answer| {
            number = answer.results.last().and_then(|result| result.to_string().parse().ok());
            Ok(())
        });
        match run.end {
            RunEnd::Finished => Ok(number),
            end => Err(format!("our program ended early: {end:?}").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::graphs::Shape;
    use super::rivals::Answer;
    use super::*;

    /// How many ways there are to map the variables of a query to nodes, tried one after the other.
    fn count(query: &Query, nodes: u32, edges: &[Edge]) -> u64 {
        let variables: Vec<char> = query.variables().chars().collect();
        let place = |variable: char| variables.iter().position(|other| *other == variable).unwrap();
        let patterns: Vec<(usize, usize)> = query
            .patterns
            .split(',')
            .map(|pair| (place(pair.chars().next().unwrap()), place(pair.chars().last().unwrap())))
            .collect();
        let mut values = Vec::new();
        count_from(&patterns, variables.len(), nodes, edges, &mut values)
    }

    fn count_from(
        patterns: &[(usize, usize)],
        variables: usize,
        nodes: u32,
        edges: &[Edge],
        values: &mut Vec<u32>,
    ) -> u64 {
        let is_edge = |&(from, to): &(usize, usize)| match (values.get(from), values.get(to)) {
            (Some(from), Some(to)) => edges.contains(&(*from, *to)),
            _ => true,
        };
        if !patterns.iter().all(is_edge) {
            return 0;
        }
        if values.len() == variables {
            return 1;
        }
        (0..nodes)
            .map(|node| {
                values.push(node);
                let count = count_from(patterns, variables, nodes, edges, values);
                values.pop();
                count
            })
            .sum()
    }

    #[test]
    fn our_program_of_each_query_finds_what_there_is() {
        let edges = Shape::Ordered { nodes: 20, edges: 110 }.edges();
        for query in cases::queries() {
            let mut ours = Ours::new(&edges).unwrap();
            ours.take(query).unwrap();
            let expected = count(query, 20, &edges);
            assert!(expected > 0 || query.patterns == "ab,bc,ca", "{}", query.name);
            assert_eq!(ours.ask().unwrap().checksum, expected, "{}", query.name);
        }
        assert!(cases::queries().any(|query| query.answer == Answer::Count));
    }

    #[test]
    fn slow_rounds_are_few() {
        let rounds = |milliseconds| rounds_within(Duration::from_millis(milliseconds));
        assert_eq!((rounds(0), rounds(10), rounds(3_000), rounds(60_000)), (7, 7, 2, 0));
    }
}
