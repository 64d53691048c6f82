//! Where the time of loading goes: a row a stage, beside the whole.
//!
//! A stage is run by itself on what the stage before has made. Reading makes atoms of a text; encoding makes terms of the atoms in
//! an empty dictionary; inserting adds the atoms to a space whose dictionary has them, so it looks each up once more; indexing is
//! the first question by the second argument.

use super::facts::{TARGETS, atom, report_fact, text};
use super::{Contest, Failure};
use crate::compare::{Clock, Timed};
use crate::row::Row;
use crate::{Plan, Rows};
use metta::Tokenizer;
use metta::syntax;
use space::{Atom, SharedTerms, Space, SpaceRef, Terms, VariableSource};
use std::hint::black_box;

const EDGES: u64 = 1_000_000;
const ROUNDS: usize = 5;

/// The most that encoding may take of the whole is half.
const ENCODING_MUST: Option<f64> = Some(2.0);

pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    let text = text(super::Form::Metta, edges)?;
    let atoms = read(&text);
    let facts: Vec<Atom> = (0..1000).map(|number| atom(&report_fact(number))).collect();
    let mut rows = Vec::new();
    for (name, must, stage) in stages(&text, &atoms) {
        let name = format!("load of a text of 1M, {name}");
        rows.push(row(plan, &name, must, edges, stage, &mut || Ok(whole(&text)))?);
    }
    let repeats = plan.scaled(100);
    let mut encoding = || {
        let mut clock = Clock::default();
        for _ in 0..repeats {
            clock.run(|| drop(black_box(encode(&facts))));
        }
        Ok(clock.done(repeats * facts.len() as u64))
    };
    let mut whole = || {
        let (mut clock, mut count) = (Clock::default(), 0);
        for _ in 0..repeats {
            clock.run(|| {
                let mut space = Space::new(Terms::shared());
                facts.iter().for_each(|fact| space.add(fact));
                count += space.len() as u64;
            });
        }
        Ok(clock.done(count))
    };
    let n = repeats * facts.len() as u64;
    rows.push(row(plan, "the report's 1000 facts, encoding", ENCODING_MUST, n, &mut encoding, &mut whole)?);
    Ok(rows)
}

type Stage<'a> = Box<dyn FnMut() -> Result<Timed, Failure> + 'a>;

fn stages<'a>(text: &'a str, atoms: &'a [Atom]) -> Vec<(&'static str, Option<f64>, Stage<'a>)> {
    let n = atoms.len() as u64;
    let timed = move |work: &mut dyn FnMut()| {
        let mut clock = Clock::default();
        clock.run(work);
        Ok(clock.done(n))
    };
    vec![
        ("reading", None, Box::new(move || timed(&mut || drop(black_box(read(text)))))),
        ("encoding", ENCODING_MUST, Box::new(move || timed(&mut || drop(black_box(encode(atoms)))))),
        (
            "inserting",
            None,
            Box::new(move || {
                let terms = encode(atoms);
                timed(&mut || drop(black_box(insert(atoms, &terms))))
            }),
        ),
        (
            "indexing",
            None,
            Box::new(move || {
                let space = SpaceRef::new(1, "space", Terms::shared());
                atoms.iter().for_each(|atom| space.add(atom));
                timed(&mut || assert!(ask(&space) > 0))
            }),
        ),
    ]
}

fn row(
    plan: &Plan,
    name: &str,
    must: Option<f64>,
    n: u64,
    mut stage: impl FnMut() -> Result<Timed, Failure>,
    whole: &mut dyn FnMut() -> Result<Timed, Failure>,
) -> Result<Row, Failure> {
    let note = "a stage by itself beside all of them: the ratio says how often it would fit in";
    let contest = Contest { name, n, peer: "ours, the whole", must, rounds: ROUNDS, note };
    contest.run(plan, &mut stage, &mut || whole())
}

fn read(text: &str) -> Vec<Atom> {
    let words = Tokenizer::literals();
    let parsed = syntax::parse(black_box(text));
    parsed.tree.forms().iter().map(|form| metta::read_atom(&parsed.tree, form.node, &words)).collect()
}

fn encode(atoms: &[Atom]) -> SharedTerms {
    let shared = Terms::shared();
    let mut terms = shared.write().expect("nobody else has it");
    for atom in black_box(atoms) {
        for child in atom.children().unwrap_or_default() {
            black_box(terms.intern(child));
        }
    }
    drop(terms);
    shared
}

fn insert(atoms: &[Atom], terms: &SharedTerms) -> Space {
    let mut space = Space::new(SharedTerms::clone(terms));
    black_box(atoms).iter().for_each(|atom| space.add(atom));
    space
}

fn ask(space: &SpaceRef) -> usize {
    let pattern = atom(&format!("(edge $x b{})", TARGETS / 8 / 10));
    space.query(&pattern, &mut VariableSource::default()).len()
}

/// Reading, encoding, inserting and indexing.
fn whole(text: &str) -> Timed {
    let mut clock = Clock::default();
    let count = clock.run(|| {
        let space = SpaceRef::new(1, "space", Terms::shared());
        let words = Tokenizer::literals();
        let parsed = syntax::parse(black_box(text));
        for form in parsed.tree.forms() {
            space.add(&metta::read_atom(&parsed.tree, form.node, &words));
        }
        assert!(ask(&space) > 0);
        space.len() as u64
    });
    clock.done(count)
}
