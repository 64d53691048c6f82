//! What the steps of a plan were asked for from one execution to the next, and what answers them where that was most of a relation.

use super::loops::{Known, LoopStep, Loops};
use super::pattern::{NO_TERM, PatternPart};
use crate::relation::{Adjacency, AdjacencyShape, Relation, Stamp};
use crate::term::{Term, Terms};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// For fewer answers no adjacency is made, and they are written out.
pub(super) const ANSWERS_MIN: usize = 1 << 8;
/// Until indexes have found this many rows no adjacency is made for what executions find together.
const FOUND_MIN: usize = 1 << 8;
/// An adjacency is made for an execution that has an answer for each of this many rows: copying a row costs about as much as asking an
/// index for one.
const ROWS_FOR_AN_ANSWER_MAX: usize = 2;
/// One is also made if indexes have found, in one execution after the other, one row for this many.
const ROWS_FOR_A_FOUND_ROW_MAX: usize = 8;

/// How a step is answered by one value.
pub(super) struct Adjacent {
    pub(super) adjacency: Arc<Adjacency>,
    /// The variable or the parameter whose value has the rows, and the variables that the columns of the rows are.
    by: Known,
    pub(super) variables: Vec<u32>,
    /// Whether those are all variables of the query, in their order.
    pub(super) are_all: bool,
}

/// What is known of the steps of a plan from one execution to the next.
#[derive(Default)]
pub(super) struct Usages(RefCell<Vec<Usage>>);

/// How often indexes were asked for a step while the rows stayed the same, and what is asked instead.
#[derive(Default)]
struct Usage {
    stamp: Option<Stamp>,
    /// How many rows indexes have found, and at how many it is seen whether somebody else has made an adjacency.
    found: usize,
    next_look: usize,
    /// Whether none can be made.
    is_vain: bool,
    adjacent: Option<Arc<Adjacent>>,
}

impl Usages {
    /// Forgets everything: there are now `steps` other steps.
    pub(super) fn begin(&mut self, steps: usize) {
        let usages = self.0.get_mut();
        usages.clear();
        usages.resize_with(steps, Usage::default);
    }

    /// Whether there may be something that answers a step of this number.
    pub(super) fn has_adjacent(&self, number: usize) -> bool {
        self.0.borrow().get(number).is_some_and(|usage| usage.adjacent.is_some())
    }

    /// What answers a step of this number, if there is something for the rows that a relation has.
    #[inline]
    pub(super) fn adjacent(&self, number: usize, relation: &Relation) -> Option<Arc<Adjacent>> {
        let usages = self.0.borrow();
        let usage = usages.get(number)?;
        let adjacent = usage.adjacent.as_ref()?;
        (usage.stamp == Some(relation.stamp()) && relation.is_plain()).then(|| Arc::clone(adjacent))
    }

    /// What answers a step of this number for `count` answers, made if that pays.
    pub(super) fn made_for(
        &self,
        (number, step, loops): (usize, &LoopStep, &Loops),
        count: usize,
        (relation, terms): (&Relation, &Terms),
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Arc<Adjacent>> {
        let usages = &mut *self.0.borrow_mut();
        let usage = usages.get_mut(number)?;
        if count < ANSWERS_MIN && usage.found < FOUND_MIN {
            return None;
        }
        let stamp = Some(relation.stamp());
        if usage.stamp != stamp {
            *usage = Usage { stamp, ..Usage::default() };
        }
        let rows = relation.len() as usize;
        let has_answers = count >= ANSWERS_MIN && count.saturating_mul(ROWS_FOR_AN_ANSWER_MAX) >= rows;
        let has_found = usage.found >= FOUND_MIN && usage.found.saturating_mul(ROWS_FOR_A_FOUND_ROW_MAX) >= rows;
        let pays = has_answers || has_found;
        if usage.is_vain || !(pays || usage.found >= usage.next_look) || !relation.is_uniform() {
            return None;
        }
        usage.next_look = usage.found.max(FOUND_MIN) * 2;
        let shape = shape_of(step, loops);
        let adjacency = shape.as_ref().and_then(|(_, shape, _)| match pays {
            true => relation.adjacency(shape, terms, should_stop),
            false => relation.known_adjacency(shape),
        });
        // What cannot be made of these rows is not tried again.
        usage.is_vain = adjacency.is_none() && (pays || shape.is_none());
        let (by, _, variables) = shape?;
        let are_all = variables.iter().copied().eq(0..loops.variables() as u32);
        usage.adjacent = Some(Arc::new(Adjacent { adjacency: adjacency?, by, variables, are_all }));
        usage.adjacent.clone()
    }

    /// Notes how many rows indexes have found for a step.
    #[inline]
    pub(super) fn note(&self, number: usize, found: usize) {
        if let Some(usage) = self.0.borrow_mut().get_mut(number) {
            usage.found = usage.found.saturating_add(found);
        }
    }
}

impl Adjacent {
    /// Where the rows for an answer are.
    #[inline]
    pub(super) fn rows(&self, parameters: &[Term], answer: &[Term], terms: &Terms) -> Range<u32> {
        self.adjacency.rows(self.by.key(parameters, answer, terms))
    }
}

/// The variable or parameter that the rows of a step are asked for by, which rows those are, and the variables that they have values of.
/// `None` if something else than constants is known as well.
fn shape_of(step: &LoopStep, loops: &Loops) -> Option<(Known, AdjacencyShape, Vec<u32>)> {
    let (mut by, mut constants) = (None, Vec::new());
    for &(path, known) in &loops.known[step.known[0]..step.known[1]] {
        match known {
            Known::Key(key) => constants.push((path, key)),
            Known::Variable(_) | Known::Parameter(_) => {
                if path.1.is_some() || by.replace((known, path.0)).is_some() {
                    return None;
                }
            }
        }
    }
    let (by, key) = by.filter(|_| constants.iter().all(|&(_, constant)| constant != NO_TERM))?;
    let parts = loops.patterns.parts[step.parts[0]..step.parts[1]].iter().zip(0..);
    let new = parts.filter_map(|(part, column)| match part {
        PatternPart::Variable(variable) if column != key => Some((*variable, column)),
        _ => None,
    });
    let (variables, columns) = new.unzip();
    Some((by, AdjacencyShape { constants, key, columns }, variables))
}
