//! The module `queues`: priority queues that are atoms, so that each state of one stays as it is.
//!
//! A queue is `(priority-queue size next heap)`. The heap is leftist: `()` or `(rank priority number value left right)`, in which no
//! priority below is smaller and the shorter way down is on the right. `number` counts what was put in, and `next` is the number of the
//! next, so that of equal priorities the earlier comes first. To put in and to take out share all of the heap but the way that they
//! go, a number of nodes that grows with the logarithm of the size.

use super::Bundle;
use super::order::compare;
use crate::effects::Effects;
use crate::operation::{Call, Compatibility, Native, OperationSpec as Spec, Outcome};
use space::{Atom, Expression, Grounded, Number};
use std::cmp::Ordering;

const QUEUE: &str = "priority-queue";

const fn pure(name: &'static str, signature: &'static str, native: Native) -> Spec {
    Spec::typed(name, signature, native)
        .with(Effects::NONE)
        .compared(Compatibility::MetroonOnly("of the module `queues`"))
}

pub(super) const MODULE: Bundle = Bundle {
    name: "queues",
    operations: &[
        pure("new-queue", "(-> Atom)", |_| queue(0, 0, Atom::unit())).documented(
            "A priority queue with nothing in it.",
            &[],
            "The queue, an atom",
        ),
        pure("queue-push", "(-> %Undefined% %Undefined% Atom Atom)", push).documented(
            "Puts an atom into a queue.",
            &["Evaluated: the queue", "Evaluated: the priority; the smallest comes first", "Raw: the atom"],
            "The new queue",
        ),
        pure("queue-pop", "(-> %Undefined% Atom)", pop).documented(
            "Takes the first atom out of a queue: that of the smallest priority, and of equal ones the earliest.",
            &["Evaluated: the queue"],
            "(priority atom others), where others is the new queue; no result if nothing is in it",
        ),
        pure("queue-peek", "(-> %Undefined% Atom)", |call| match parts(call) {
            Ok(Queue { heap, .. }) => match heap.children() {
                Some([_, priority, _, value, ..]) => Outcome::one(Atom::expression([priority.clone(), value.clone()])),
                _ => Outcome::Results(Vec::new()),
            },
            Err(refused) => refused,
        })
        .documented(
            "Looks at the first atom of a queue.",
            &["Evaluated: the queue"],
            "(priority atom); no result if nothing is in it",
        ),
        pure("queue-size", "(-> %Undefined% Number)", |call| match parts(call) {
            Ok(Queue { size, .. }) => Outcome::one(size),
            Err(refused) => refused,
        })
        .documented("How many atoms are in a queue.", &["Evaluated: the queue"], "The number"),
    ],
    values: &[],
    source: "",
    yields: true,
};

/// A queue taken apart.
struct Queue<'a> {
    size: i64,
    next: i64,
    heap: &'a Atom,
}

fn integer(atom: &Atom) -> Option<i64> {
    match atom {
        Atom::Grounded(Grounded::Number(Number::Int(integer))) => Some(*integer),
        _ => None,
    }
}

/// The queue that the first argument is.
fn parts<'a>(call: &Call<'a>) -> Result<Queue<'a>, Outcome> {
    if let Some([head, size, next, heap]) = call.children(0)
        && head.is_symbol(QUEUE)
        && let (Some(size), Some(next)) = (integer(size), integer(next))
        && (size == 0) == heap.children().is_some_and(<[Atom]>::is_empty)
    {
        return Ok(Queue { size, next, heap });
    }
    Err(Outcome::failure("a priority queue is expected, as new-queue makes one"))
}

/// An expression that is data, however it is passed on.
fn data(children: Vec<Atom>) -> Atom {
    Expression::new(children).into_evaluated().into()
}

fn queue(size: i64, next: i64, heap: Atom) -> Outcome {
    Outcome::one(data(vec![Atom::symbol(QUEUE), size.into(), next.into(), heap]))
}

fn rank(heap: &Atom) -> i64 {
    heap.children().and_then(<[Atom]>::first).and_then(integer).unwrap_or(0)
}

/// Whether the root of a heap comes before that of another.
fn comes_first(left: &[Atom], right: &[Atom]) -> bool {
    let by_number = || integer(&left[2]).cmp(&integer(&right[2]));
    compare(&left[1], &right[1]).then_with(by_number) != Ordering::Greater
}

/// Both heaps in one, without recursion: down the right sides, then up again with the longer side put on the left.
fn merge(left: &Atom, right: &Atom) -> Option<Atom> {
    let (mut one, mut other) = (left.clone(), right.clone());
    let mut way = Vec::new();
    let mut merged = loop {
        let (Some(first), Some(second)) = (one.children(), other.children()) else { return None };
        let (Some(_), Some(_)) = (first.first(), second.first()) else {
            break if first.is_empty() { other } else { one };
        };
        if first.len() != 6 || second.len() != 6 {
            return None;
        }
        let (root, next) = if comes_first(first, second) { (one.clone(), other) } else { (other.clone(), one) };
        one = root.children()?[5].clone();
        other = next;
        way.push(root);
    };
    while let Some(root) = way.pop() {
        let [_, priority, number, value, side, _] = root.children()? else { return None };
        let (left, right) = if rank(side) < rank(&merged) { (merged, side.clone()) } else { (side.clone(), merged) };
        let rank = rank(&right) + 1;
        merged = data(vec![rank.into(), priority.clone(), number.clone(), value.clone(), left, right]);
    }
    Some(merged)
}

const DAMAGED: &str = "this is no priority queue as new-queue and queue-push make them";

fn push(call: &mut Call<'_>) -> Outcome {
    let Queue { size, next, heap } = match parts(call) {
        Ok(parts) => parts,
        Err(refused) => return refused,
    };
    let (Some(priority), Some(value)) = (call.argument(1), call.argument(2)) else {
        return Outcome::failure("queue-push expects a queue, a priority and an atom");
    };
    let alone = data(vec![1.into(), priority.clone(), next.into(), value.clone(), Atom::unit(), Atom::unit()]);
    match (merge(heap, &alone), size.checked_add(1), next.checked_add(1)) {
        (Some(heap), Some(size), Some(next)) => queue(size, next, heap),
        _ => Outcome::failure(DAMAGED),
    }
}

fn pop(call: &mut Call<'_>) -> Outcome {
    let Queue { size, next, heap } = match parts(call) {
        Ok(parts) => parts,
        Err(refused) => return refused,
    };
    match heap.children() {
        Some([]) => Outcome::Results(Vec::new()),
        Some([_, priority, _, value, left, right]) => match merge(left, right) {
            Some(others) => {
                let others = data(vec![Atom::symbol(QUEUE), (size - 1).into(), next.into(), others]);
                Outcome::one(Atom::expression([priority.clone(), value.clone(), others]))
            }
            None => Outcome::failure(DAMAGED),
        },
        _ => Outcome::failure(DAMAGED),
    }
}
