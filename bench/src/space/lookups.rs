//! Finding facts among a million: one that is known, by the first argument, by the second, and all of them.
//!
//! Patterns are made outside of the clock, except where a row is of programs. A peer that is slow answers the first of the questions,
//! and is compared by the question.

use super::facts::{self, TARGETS, edge, number_at, trie_bytes, write_file};
use super::{Contest, DUCKDB, Failure, HYPERON, PATHMAP, Peer, ROUNDS};
use crate::compare::{Clock, Timed};
use crate::row::Row;
use crate::{Plan, Rows};
use metroon::{Engine, MemoryWorld};
use pathmap::PathMap;
use pathmap::zipper::{ZipperIteration, ZipperMoving};
use space::{Atom, NO_TERM, Prepared, PreparedQuery, RowPart, RowQuery, Snapshot, Solution};
use space::{SharedSpace, Term, Terms, VariableSource};
use std::hint::black_box;

pub(super) const EDGES: u64 = 1_000_000;
/// How many questions of the fast kinds a round has.
pub(super) const QUESTIONS: u64 = 200_000;

/// The rows whose peer is a trie in this process.
pub(super) fn rows_with_trie(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    in_process(plan, &space_of(edges), edges)
}

pub(super) fn space_of(edges: u64) -> SharedSpace {
    let space = SharedSpace::new(1, "space", Terms::shared());
    (0..edges).for_each(|position| space.add(&edge(number_at(position, edges))));
    space
}

pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    let (space, mut rows) = (space_of(edges), Vec::new());
    let mut peers = [Peer::hyperon(plan)?, Peer::duckdb(plan)?, Peer::swipl(plan)?];
    for peer in &mut peers {
        let path = plan.scratch.join("lookups").with_extension(peer.form.extension());
        write_file(&path, peer.form, edges)?;
        peer.load(&path)?;
    }
    let snapshot = space.snapshot();
    let lengths = Lengths::of(&snapshot);
    for kind in KINDS {
        for peer in &mut peers {
            rows.push(kind.row(plan, edges, peer, &mut |questions| asked(&space, questions))?);
        }
    }
    for kind in KINDS_AS_TERMS {
        for peer in &mut peers {
            rows.push(kind.row(plan, edges, peer, &mut |questions| asked_for_terms(&snapshot, questions, &lengths))?);
        }
    }
    let [mut hyperon, ..] = peers;
    rows.push(programs(plan, edges, &mut hyperon)?);
    Ok(rows)
}

/// The number of the edge that a question is about. Questions come in another order than the edges did, as users' do: what was added
/// one after the other lies side by side. The mixing is that of SplitMix64.
pub(super) fn asked_about(question: u64, edges: u64) -> u64 {
    let mixed = (question.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % edges
}

/// Ours and a trie, in this process.
fn in_process(plan: &Plan, space: &SharedSpace, edges: u64) -> Rows {
    let mut trie = PathMap::<()>::new();
    let mut bytes = Vec::new();
    for position in 0..edges {
        bytes.clear();
        trie_bytes(&edge(number_at(position, edges)), &mut bytes);
        trie.insert(&bytes, ());
    }
    let questions = plan.scaled(QUESTIONS);
    let known: Vec<Atom> = (0..questions).map(|question| edge(asked_about(question, edges))).collect();
    let open: Vec<Atom> = (0..questions).map(|question| pattern(asked_about(question, edges))).collect();
    let contest = |name, must, note| Contest { name, n: questions, peer: PATHMAP, must, rounds: ROUNDS, note };
    const KNOWN: &str =
        "whether a fact is there, given as an atom; both sides turn it into their own form inside the clock";
    const IN_SNAPSHOT: &str = "the same, asked of a snapshot, which locks nothing, as the trie does not";
    const PREPARED: &str =
        "whether a fact is there, turned into the form of each side before: a prepared atom, and bytes";
    const OPEN: &str = "(edge aI $x), the answer read; the trie descends to the prefix and reads what lies below";
    let mut in_bytes = |atom: &Atom| {
        bytes.clear();
        trie_bytes(atom, &mut bytes);
        trie.get(&bytes).is_some()
    };
    let has = contest("has fact, 1M", None, KNOWN).run(
        plan,
        &mut || Ok(counted(&known, |atom| space.read(|space| space.contains(atom)))),
        &mut || Ok(counted(&known, &mut in_bytes)),
    )?;
    let snapshot = space.snapshot();
    let in_snapshot = contest("has fact, 1M, in a snapshot", None, IN_SNAPSHOT).run(
        plan,
        &mut || Ok(counted(&known, |atom| snapshot.contains(atom))),
        &mut || Ok(counted(&known, &mut in_bytes)),
    )?;
    let prepared: Vec<Prepared> = known.iter().map(|atom| space.prepare(atom)).collect();
    let keys: Vec<Vec<u8>> = known.iter().map(key).collect();
    let ready = contest("has fact, 1M, prepared", Some(3.0), PREPARED).run(
        plan,
        &mut || Ok(counted(&prepared, |atom| snapshot.count_prepared(atom) > 0)),
        &mut || Ok(counted(&keys, |key| trie.get(key).is_some())),
    )?;
    let point =
        contest("first argument bound, 1M", None, OPEN)
            .run(plan, &mut || Ok(asked(space, &open)), &mut || Ok(in_trie(&trie, &open)))?;
    let (queries, lengths) = (prepared_queries(space, &open), Lengths::of(&snapshot));
    let prefixes: Vec<Vec<u8>> = open.iter().map(prefix).collect();
    let mut prefix_asked = || Ok(in_trie_by_bytes(&trie, &prefixes));
    let contest = |name, note| Contest { name, n: questions, peer: PATHMAP, must: Some(3.0), rounds: ROUNDS, note };
    let one = contest("first argument bound, 1M, prepared", ONE_PREPARED).run(
        plan,
        &mut || Ok(asked_prepared(&snapshot, &queries, &lengths)),
        &mut prefix_asked,
    )?;
    let together = contest("first argument bound, 1M, prepared, many together", MANY_PREPARED).run(
        plan,
        &mut || Ok(asked_together(&snapshot, &queries, &lengths)),
        &mut prefix_asked,
    )?;
    Ok(vec![has, in_snapshot, ready, point, one, together])
}

const ONE_PREPARED: &str = "(edge aI $x), queries prepared and prefixes written as bytes before; one after the other";
const MANY_PREPARED: &str = "the same, ours in one call, in which many wait for memory at once";

pub(super) fn prepared_queries(space: &SharedSpace, open: &[Atom]) -> Vec<PreparedQuery> {
    open.iter().map(|query| space.prepare_query(query).expect("facts are rows")).collect()
}

/// Ours: the lengths of all names that answer prepared queries.
pub(super) fn asked_prepared(snapshot: &Snapshot, queries: &[PreparedQuery], lengths: &Lengths) -> Timed {
    let (mut clock, mut sum) = (Clock::default(), 0);
    clock.run(|| {
        for query in black_box(queries) {
            assert!(snapshot.ask(query, |answer| sum += lengths.sum(answer)), "facts are rows");
        }
    });
    clock.done(sum)
}

/// The same for all of them in one call.
pub(super) fn asked_together(snapshot: &Snapshot, queries: &[PreparedQuery], lengths: &Lengths) -> Timed {
    let (mut clock, mut sum) = (Clock::default(), 0);
    let asked = clock.run(|| snapshot.ask_many(black_box(queries), |_, answer| sum += lengths.sum(answer)));
    assert_eq!(asked, Ok(()), "facts are rows");
    clock.done(sum)
}

/// What a trie descends to for a question.
fn prefix(question: &Atom) -> Vec<u8> {
    let mut bytes = vec![3];
    question.children().unwrap_or_default()[..2].iter().for_each(|child| trie_bytes(child, &mut bytes));
    bytes
}

fn in_trie_by_bytes(trie: &PathMap<()>, prefixes: &[Vec<u8>]) -> Timed {
    let mut clock = Clock::default();
    let sum = clock.run(|| {
        let mut sum = 0;
        for prefix in black_box(prefixes) {
            let mut zipper = trie.read_zipper_at_borrowed_path(prefix);
            while zipper.to_next_val() {
                // The first byte says how many bytes of the name follow.
                sum += zipper.path().len() as u64 - 1;
            }
        }
        sum
    });
    clock.done(sum)
}

/// The bytes of a fact.
fn key(atom: &Atom) -> Vec<u8> {
    let mut bytes = Vec::new();
    trie_bytes(atom, &mut bytes);
    bytes
}

/// How many of the facts are there.
fn counted<T>(atoms: &[T], mut is_there: impl FnMut(&T) -> bool) -> Timed {
    let mut clock = Clock::default();
    let count = clock.run(|| black_box(atoms).iter().filter(|atom| is_there(atom)).count());
    clock.done(count as u64)
}

/// `(edge a7 $x)`.
pub(super) fn pattern(number: u64) -> Atom {
    Atom::expression([Atom::symbol("edge"), Atom::symbol(&format!("a{number}")), Atom::variable("x")])
}

/// Ours: the lengths of all names that answer the questions.
fn asked(space: &SharedSpace, questions: &[Atom]) -> Timed {
    let (mut clock, mut source) = (Clock::default(), VariableSource::default());
    let sum = clock.run(|| {
        let questions = black_box(questions).iter();
        questions.map(|question| space.query(question, &mut source).iter().map(lengths).sum::<u64>()).sum()
    });
    clock.done(sum)
}

fn lengths(solution: &Solution) -> u64 {
    solution.iter().map(|(_, value)| value.as_symbol().map_or(0, str::len) as u64).sum()
}

fn in_trie(trie: &PathMap<()>, questions: &[Atom]) -> Timed {
    let (mut clock, mut bytes) = (Clock::default(), Vec::new());
    let sum = clock.run(|| {
        let mut sum = 0;
        for question in black_box(questions) {
            let known = &question.children().unwrap_or_default()[..2];
            bytes.clear();
            bytes.push(3);
            known.iter().for_each(|child| trie_bytes(child, &mut bytes));
            let mut zipper = trie.read_zipper_at_borrowed_path(&bytes);
            while zipper.to_next_val() {
                // The first byte says how many bytes of the name follow.
                sum += zipper.path().len() as u64 - 1;
            }
        }
        sum
    });
    clock.done(sum)
}

/// A kind of question that the peers are asked as well.
struct Kind {
    name: &'static str,
    /// The command of the peers.
    command: &'static str,
    ask: fn(u64, u64) -> Atom,
    /// How many answers each question has, among so many edges.
    answers: fn(u64) -> u64,
    /// Questions in a round: ours and those that DuckDB and SWI-Prolog do, and those that hyperon does.
    questions: [u64; 2],
    musts: &'static [(&'static str, f64)],
    note: &'static str,
}

const KINDS: &[Kind] = &[
    Kind {
        name: "first argument bound, 1M",
        command: "point",
        ask: |position, edges| pattern(number_at(position, edges)),
        answers: |_| 1,
        questions: [2_000, 1_000],
        musts: &[],
        note: "(edge aI $x) through the API, patterns made before; MORK's recorded figure is 6.9 µs",
    },
    Kind {
        name: "second argument bound, 1M, a result as atoms",
        command: "second",
        ask: |position, _| facts::atom(&format!("(edge $x b{position})")),
        answers: |edges| edges / TARGETS,
        questions: [100, 2],
        musts: &[],
        note: "(edge $x bJ), 1,000 results a question; MORK's recorded figure is 176 µs a result",
    },
    Kind {
        name: "full scan, 1M, a result as atoms",
        command: "scan",
        ask: |_, _| facts::atom("(edge $x $y)"),
        answers: |edges| edges,
        questions: [1, 1],
        musts: &[],
        note: "(edge $x $y); MORK's recorded figure is 552 ns a result",
    },
];

/// The same kinds, ours answered as the engine answers itself: by rows of terms.
const KINDS_AS_TERMS: &[Kind] = &[
    Kind {
        name: "first argument bound, 1M, as terms",
        command: "point",
        ask: |position, edges| pattern(number_at(position, edges)),
        answers: |_| 1,
        questions: [2_000, 1_000],
        musts: &[(HYPERON, 1000.0)],
        note: "(edge aI $x), ours as terms, the names looked up inside the clock; few questions, and caches that the peer has filled; MORK's recorded figure is 6.9 µs",
    },
    Kind {
        name: "second argument bound, 1M, a result",
        command: "second",
        ask: |position, _| facts::atom(&format!("(edge $x b{position})")),
        answers: |edges| edges / TARGETS,
        questions: [100, 2],
        musts: &[(HYPERON, 1000.0), (DUCKDB, 1.0)],
        note: "(edge $x bJ), 1,000 results a question, ours as terms; MORK's recorded figure is 176 µs a result",
    },
    Kind {
        name: "full scan, 1M, a result",
        command: "scan",
        ask: |_, _| facts::atom("(edge $x $y)"),
        answers: |edges| edges,
        questions: [1, 1],
        musts: &[(HYPERON, 1000.0)],
        note: "(edge $x $y), ours as terms; MORK's recorded figure is 552 ns a result",
    },
];

/// The lengths of names by the numbers of their terms, for the checksum.
pub(super) struct Lengths(Vec<u8>);

impl Lengths {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let terms = snapshot.terms();
        let length = |number| terms.atom(Term::new(number)).as_symbol().map_or(0, str::len) as u8;
        Self((0..terms.len() as u32).map(length).collect())
    }

    fn sum(&self, terms: &[Term]) -> u64 {
        terms.iter().map(|term| u64::from(self.0[term.number() as usize])).sum()
    }
}

/// Ours: the lengths of all names that answer, which are given as terms.
fn asked_for_terms(snapshot: &Snapshot, questions: &[Atom], lengths: &Lengths) -> Timed {
    let (mut clock, mut query) = (Clock::default(), RowQuery::default());
    let sum = clock.run(|| {
        let questions = black_box(questions).iter();
        questions
            .map(|question| {
                put(&mut query, question, snapshot);
                let count = snapshot.rows(&mut query);
                assert!(count.is_some(), "facts are rows");
                lengths.sum(query.answers())
            })
            .sum()
    });
    clock.done(sum)
}

/// Writes a pattern as a query for rows.
fn put(query: &mut RowQuery, pattern: &Atom, snapshot: &Snapshot) {
    query.clear();
    let parts = pattern.children().unwrap_or_default();
    query.push(RowPart::Open(parts.len() as u32));
    let mut variables = 0;
    for part in parts {
        query.push(match part {
            Atom::Variable(_) => {
                variables += 1;
                RowPart::Variable(variables - 1)
            }
            part => RowPart::Key(snapshot.terms().find_key(part).unwrap_or(NO_TERM)),
        });
    }
    query.end_pattern();
}

impl Kind {
    fn row(
        &self,
        plan: &Plan,
        edges: u64,
        peer: &mut Peer,
        ours: &mut dyn FnMut(&[Atom]) -> Timed,
    ) -> Result<Row, Failure> {
        let is_slow = peer.name == HYPERON;
        let count = self.questions[usize::from(is_slow)];
        let questions: Vec<Atom> = (0..count).map(|position| (self.ask)(position, edges)).collect();
        let contest = Contest {
            name: self.name,
            n: count * (self.answers)(edges),
            peer: peer.name,
            must: self.musts.iter().find(|(name, _)| *name == peer.name).map(|(_, least)| *least),
            rounds: if is_slow { 3 } else { ROUNDS },
            note: self.note,
        };
        contest.run(plan, &mut || Ok(ours(&questions)), &mut || peer.query(self.command, edges, count))
    }
}

/// Questions as texts of programs, read and evaluated.
fn programs(plan: &Plan, edges: u64, peer: &mut Peer) -> Result<Row, Failure> {
    const COUNT: u64 = 1_000;
    let mut engine = Engine::new(MemoryWorld::default());
    engine.run_text(&facts::text(facts::Form::Metta, edges)?, &mut |_, _| Ok(()));
    let number = |position| number_at(position, edges);
    let text = |position| format!("!(match &self (edge a{} $x) $x)", number(position));
    let texts: Vec<String> = (0..COUNT).map(text).collect();
    let mut ours = || {
        let (mut clock, mut sum) = (Clock::default(), 0);
        clock.run(|| {
            for text in &texts {
                engine.run_text(text, &mut |_, answer| {
                    sum += answer.results.iter().map(|atom| atom.as_symbol().map_or(0, str::len) as u64).sum::<u64>();
                    Ok(())
                });
            }
        });
        Ok(clock.done(sum))
    };
    let contest = Contest {
        name: "first argument bound, 1M, as a program",
        n: COUNT,
        peer: peer.name,
        must: None,
        rounds: 3,
        note: "!(match &self (edge aI $x) $x), a text that is read and evaluated on both sides",
    };
    contest.run(plan, &mut ours, &mut || peer.query("program", edges, COUNT))
}
