//! Finding facts among a million through the API, beside a trie in this process: a fact that is known, and facts by their first
//! argument. Patterns are made outside of the clock.

use super::facts::{TARGETS, edge, number_at, trie_bytes};
use super::{Contest, PATHMAP, ROUNDS};
use crate::compare::{Clock, Timed};
use crate::{Plan, Rows};
use pathmap::PathMap;
use pathmap::zipper::{ZipperIteration, ZipperMoving};
use space::{Atom, SharedSpace, Solution, Terms, VariableSource};
use std::hint::black_box;

const EDGES: u64 = 1_000_000;
/// How many questions a round has.
const QUESTIONS: u64 = 200_000;

/// The rows whose peer is a trie in this process.
pub(super) fn rows(plan: &Plan) -> Rows {
    let edges = plan.scaled(EDGES);
    in_process(plan, &space_of(edges), edges)
}

fn space_of(edges: u64) -> SharedSpace {
    let space = SharedSpace::new(1, "space", Terms::shared());
    (0..edges).for_each(|position| space.add(&edge(number_at(position, edges))));
    space
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
    const UNKNOWN: &str = "the same of facts that are not there, with a name that no fact has";
    const IN_SNAPSHOT: &str = "the same, asked of a snapshot, which locks nothing, as the trie does not";
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
    let unknown: Vec<Atom> = (0..questions).map(unknown_edge).collect();
    let has_unknown = contest("has fact, 1M, of unknown names", None, UNKNOWN).run(
        plan,
        &mut || Ok(counted(&unknown, |atom| space.read(|space| space.contains(atom)))),
        &mut || Ok(counted(&unknown, &mut in_bytes)),
    )?;
    let snapshot = space.snapshot();
    let in_snapshot = contest("has fact, 1M, in a snapshot", None, IN_SNAPSHOT).run(
        plan,
        &mut || Ok(counted(&known, |atom| snapshot.contains(atom))),
        &mut || Ok(counted(&known, &mut in_bytes)),
    )?;
    let point =
        contest("first argument bound, 1M", None, OPEN)
            .run(plan, &mut || Ok(asked(space, &open)), &mut || Ok(in_trie(&trie, &open)))?;
    Ok(vec![has, has_unknown, in_snapshot, point])
}

/// `(edge n7 b7)`, where no fact is about `n7`.
fn unknown_edge(number: u64) -> Atom {
    let name = |letter: char, number: u64| Atom::symbol(&format!("{letter}{number}"));
    Atom::expression([Atom::symbol("edge"), name('n', number), name('b', number % TARGETS)])
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
