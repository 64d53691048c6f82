//! Where the time of loading goes: a row a stage, beside the whole.
//!
//! A stage is run by itself on what the stage before has made. Reading cuts a text into records and hands them to nobody; encoding makes
//! terms of their names in an empty dictionary, in batches as a load does; inserting adds rows of such terms, one by one; indexing is the
//! first question by the second argument.
//!
//! Of atoms, encoding is told apart from interning: the names of some facts are looked up in a dictionary that has them, and in an empty
//! one, which has to take them as well.

use super::facts::{TARGETS, atom, report_fact, text};
use super::{Contest, Failure};
use crate::compare::{Clock, Timed};
use crate::row::Row;
use crate::{Plan, Rows};
use metta::{Format, LoadSource, MemoryWorld, MettaText, Out, Session};
use space::{Appender, Atom, Batch, SharedSpace, SharedTerms, Space, Term, Terms, VariableSource};
use std::hint::black_box;

const EDGES: u64 = 1_000_000;
const ROUNDS: usize = 5;

/// The most that encoding may take of the whole is half.
const ENCODING_MUST: Option<f64> = Some(2.0);

pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    let text = text(super::Form::Metta, edges)?;
    let facts: Vec<Atom> = (0..1000).map(|number| atom(&report_fact(number))).collect();
    let mut rows = Vec::new();
    for (name, must, stage) in stages(&text, edges) {
        let name = format!("load of a text of 1M, {name}");
        rows.push(row(plan, &name, must, edges, stage, &mut || Ok(whole(&text)))?);
    }
    rows.extend(of_atoms(plan, &facts)?);
    Ok(rows)
}

/// The stages of adding atoms one by one to a space that is made and dropped, as the report does.
fn of_atoms(plan: &Plan, facts: &[Atom]) -> Rows {
    let repeats = plan.scaled(100);
    let n = repeats * facts.len() as u64;
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
    let repeated = |work: &mut dyn FnMut()| {
        let mut clock = Clock::default();
        (0..repeats).for_each(|_| clock.run(&mut *work));
        Ok(clock.done(n))
    };
    let known = encode(facts);
    let mut encoding = || repeated(&mut || look_up(facts, &known));
    let mut both = || repeated(&mut || drop(black_box(encode(facts))));
    let rows_of_terms = rows_of(facts, &known);
    let mut inserting = || {
        repeated(&mut || {
            let space = SharedSpace::new(1, "space", SharedTerms::clone(&known));
            space.append(|appender| black_box(&rows_of_terms).iter().for_each(|row| appender.row(row)));
        })
    };
    Ok(vec![
        row(plan, "the report's 1000 facts, encoding", ENCODING_MUST, n, &mut encoding, &mut whole)?,
        row(plan, "the report's 1000 facts, encoding and interning", None, n, &mut both, &mut whole)?,
        row(plan, "the report's 1000 facts, inserting", None, n, &mut inserting, &mut whole)?,
    ])
}

type Stage<'a> = Box<dyn FnMut() -> Result<Timed, Failure> + 'a>;

fn stages(text: &str, edges: u64) -> Vec<(&'static str, Option<f64>, Stage<'_>)> {
    let timed = move |work: &mut dyn FnMut()| {
        let mut clock = Clock::default();
        clock.run(work);
        Ok(clock.done(edges))
    };
    let reading = move || {
        let mut format = MettaText::new(Session::new(Box::new(MemoryWorld::default())).words());
        let mut nobody = Nobody::default();
        let done = timed(&mut || assert_eq!(format.read(black_box(text.as_bytes()), true, &mut nobody), text.len()));
        assert_eq!(nobody.records, edges, "all records are read");
        done
    };
    let encoding = move || {
        let space = SharedSpace::new(1, "space", Terms::shared());
        timed(&mut || space.append(|appender| encode_text(text, appender)))
    };
    let inserting = move || {
        let shared = Terms::shared();
        let rows = terms_of(text, &shared);
        let space = SharedSpace::new(1, "space", shared);
        timed(&mut || space.append(|appender| black_box(&rows).iter().for_each(|row| appender.row(row))))
    };
    let indexing = move || {
        let shared = Terms::shared();
        let rows = terms_of(text, &shared);
        let space = SharedSpace::new(1, "space", shared);
        space.append(|appender| rows.iter().for_each(|row| appender.row(row)));
        timed(&mut || assert!(ask(&space) > 0))
    };
    vec![
        ("reading", None, Box::new(reading)),
        ("encoding", ENCODING_MUST, Box::new(encoding)),
        ("inserting", None, Box::new(inserting)),
        ("indexing", None, Box::new(indexing)),
    ]
}

/// Takes records and does nothing with them.
#[derive(Default)]
struct Nobody {
    records: u64,
}

impl Out for Nobody {
    fn record(&mut self, _: u64) {
        self.records += 1;
    }

    fn open(&mut self) {}

    fn symbol(&mut self, name: &str) {
        black_box(name);
    }

    fn leaf(&mut self, atom: Atom) {
        black_box(atom);
    }

    fn close(&mut self) {}

    fn atom(&mut self, atom: Atom) {
        black_box(atom);
    }

    fn skip(&mut self, _: &str, _: bool) {}
}

/// Makes the terms of the names of each line, `(edge a7 b7)`.
fn encode_text(text: &str, appender: &mut Appender<'_>) {
    let mut batch = Batch::default();
    for line in black_box(text).lines() {
        batch.open();
        line[1..line.len() - 1].split(' ').for_each(|name| batch.symbol(name));
        assert!(batch.close(), "an edge has no expressions inside");
        if batch.is_full() {
            appender.encode(&mut batch);
        }
    }
    appender.encode(&mut batch);
}

/// The terms of the names of each line, `(edge a7 b7)`.
fn terms_of(text: &str, shared: &SharedTerms) -> Vec<[Term; 3]> {
    let mut terms = shared.write().expect("nobody else has it");
    let names = |line: &str| -> [Term; 3] {
        let mut names = line[1..line.len() - 1].split(' ').map(|name| terms.intern_symbol(name));
        std::array::from_fn(|_| names.next().expect("an edge has three names"))
    };
    black_box(text).lines().map(names).collect()
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

/// Makes the terms of names that are known, so that none is new.
fn look_up(atoms: &[Atom], known: &SharedTerms) {
    let mut terms = known.write().expect("nobody else has it");
    for child in black_box(atoms).iter().flat_map(|atom| atom.children().unwrap_or_default()) {
        black_box(terms.intern(child));
    }
}

fn rows_of(atoms: &[Atom], known: &SharedTerms) -> Vec<Vec<Term>> {
    let terms = known.read().expect("nobody else has it");
    let row = |atom: &Atom| atom.children().unwrap_or_default().iter().filter_map(|child| terms.find(child)).collect();
    atoms.iter().map(row).collect()
}

fn ask(space: &SharedSpace) -> usize {
    let pattern = atom(&format!("(edge $x b{})", TARGETS / 8 / 10));
    space.query(&pattern, &mut VariableSource::default()).len()
}

/// Reading, encoding, inserting and indexing.
fn whole(text: &str) -> Timed {
    let mut session = Session::new(Box::new(MemoryWorld::default().with_source("edges.metta", text)));
    let mut clock = Clock::default();
    let added = clock.run(|| {
        let mut format = MettaText::new(session.words());
        let source = LoadSource { origin: "edges", file: Some("edges.metta") };
        let report = session.load(&source, &mut format, &mut |_| {}).expect("a file in memory is loaded");
        assert!(ask(&session.top_space()) > 0);
        report.added
    });
    clock.done(added)
}
