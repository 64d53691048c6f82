//! Answering a pattern for many answers at once, by an [adjacency](crate::relation::Adjacency).
//!
//! 1. If one column of a pattern is a variable that is known, others are constants, and the rest are variables of its own, the rows for an
//!    answer so far are those of one value. Where there are so many answers that most rows are asked for, they are copied together by value.
//! 2. If the pattern is the last one, its rows need not be written beside each answer: the answers are left *factored*, as the answers of the
//!    patterns before, each with the place of its rows (a factorised representation). Callers that can read that ask for it.
//!
//! Source: D. Olteanu, J. Závodný, Size bounds for factorised representations of query results (TODS 2015), for what factoring saves.

use super::execute::{ANSWERS_BETWEEN_LOOKS, Answers, ShouldStop};
use super::loops::{Known, Loops, Step};
use super::pattern::{NO_TERM, PatternPart};
use super::plan::Made;
use super::view::View;
use crate::relation::{Adjacency, AdjacencyShape, Relation, Stamp};
use crate::term::{Term, Terms};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

/// For fewer answers no adjacency is made, and they are written out.
const ANSWERS_MIN: usize = 1 << 8;
/// Until indexes have found so many rows no adjacency is made for what executions find together.
const FOUND_MIN: usize = 1 << 8;
/// An adjacency is made for an execution that has an answer for so many rows: copying a row costs about as much as asking an index for one.
const ROWS_FOR_AN_ANSWER_MAX: usize = 2;
/// Or if indexes have found, in one execution after the other, one row for so many.
const ROWS_FOR_A_FOUND_ROW_MAX: usize = 8;

/// How a step is answered by one value.
pub(super) struct Adjacent {
    adjacency: Arc<Adjacency>,
    /// The variable or the parameter whose value has the rows, and the variables that the columns of the rows are.
    by: Known,
    variables: Vec<u32>,
    /// Whether those are all variables of the query, in their order.
    are_all: bool,
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
    /// Forgets everything: there are other steps, so many.
    pub(super) fn begin(&mut self, steps: usize) {
        let usages = self.0.get_mut();
        usages.clear();
        usages.resize_with(steps, Usage::default);
    }

    /// What answers a step of this number, if there is something for the rows that a relation has.
    #[inline]
    pub(super) fn adjacent(&self, number: usize, relation: &Relation) -> Option<Arc<Adjacent>> {
        let usages = self.0.borrow();
        let usage = usages.get(number)?;
        let adjacent = usage.adjacent.as_ref()?;
        (usage.stamp == Some(relation.stamp()) && relation.is_plain()).then(|| Arc::clone(adjacent))
    }

    /// What answers a step of this number for so many answers, made if that pays.
    fn made_for(
        &self,
        (number, step, loops): (usize, &Step, &Loops),
        count: usize,
        (relation, terms): (&Relation, &Terms),
        should_stop: ShouldStop<'_>,
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

/// Answers whose last values are not written out: each that is listed stands for as many as there are rows at its place.
#[derive(Debug)]
pub(super) struct Factored {
    adjacency: Arc<Adjacency>,
    /// The variables whose values are in the rows, in the order of the columns.
    variables: Vec<u32>,
    /// For each answer that is listed, where its rows begin and end. There is at least one.
    rows: Vec<[u32; 2]>,
}

/// Answers that have all values but those of some variables in common.
pub struct AnswerGroup<'a> {
    /// The values that they have in common, [`NO_TERM`] where they differ.
    pub common: &'a [Term],
    /// The others, one answer after the other; each has those of the [variables](Answers::grouped_variables) in their order.
    pub others: &'a [Term],
}

impl Adjacent {
    /// Where the rows for an answer are.
    #[inline]
    fn rows(&self, parameters: &[Term], answer: &[Term], terms: &Terms) -> Range<u32> {
        self.adjacency.rows(self.by.key(parameters, answer, terms))
    }
}

impl Factored {
    fn others(&self, [start, end]: [u32; 2]) -> &[Term] {
        self.adjacency.cells(&(start..end))
    }
}

impl<'a> View<'a> {
    /// What answers a step for so many answers, if there is something, or if making it pays.
    pub(super) fn adjacent(
        self,
        made: Made<'_>,
        number: usize,
        count: usize,
        parameters: &[Term],
        should_stop: ShouldStop<'_>,
    ) -> Option<Arc<Adjacent>> {
        let step = &made.loops.steps[number];
        if step.taken == 0 {
            return None;
        }
        let relation = match self.of(step.place) {
            [contents] => contents.relation_of_length(step.length),
            _ if count < ANSWERS_MIN => return None,
            _ => self.only_relation((step, made.loops), parameters)?,
        };
        let known = made.usages.adjacent(number, relation);
        known.or_else(|| made.usages.made_for((number, step, made.loops), count, (relation, self.terms), should_stop))
    }

    /// The relation that may answer a step, if there is only one.
    fn only_relation(self, (step, loops): (&Step, &Loops), parameters: &[Term]) -> Option<&'a Relation> {
        let relations = self.of(step.place).iter().map(|contents| contents.relation_of_length(step.length));
        let mut relations =
            relations.filter(|relation| step.may_answer(&loops.known, Some(parameters), relation, self.terms));
        relations.next().filter(|_| relations.next().is_none())
    }
}

/// The variable or parameter that the rows of a step are asked for by, which rows those are, and the variables that they have values of.
/// `None` if something else than constants is known as well.
fn shape_of(step: &Step, loops: &Loops) -> Option<(Known, AdjacencyShape, Vec<u32>)> {
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

impl Answers {
    /// Extends each of so many answers by the rows of its value; gives how many answers that makes, or more than are wanted. `None` if the
    /// caller has given up.
    pub(super) fn extend_adjacent(
        &mut self,
        adjacent: &Adjacent,
        (count, most): (usize, usize),
        (parameters, terms): (&[Term], &Terms),
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let (mut made, variables) = (0, &adjacent.variables);
        for place in 0..count {
            if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && should_stop() {
                return None;
            }
            self.take_up(place);
            let rows = adjacent.rows(parameters, &self.current, terms);
            made += rows.len();
            if made > most {
                break;
            }
            write_group(&self.current, adjacent.adjacency.cells(&rows), variables, &mut self.next);
        }
        Some(made)
    }

    /// Takes the rows of the only pattern of a query for answers, if they have nothing but all variables; gives how many there are.
    pub(super) fn take_adjacent(&mut self, adjacent: &Adjacent, parameters: &[Term], terms: &Terms) -> Option<usize> {
        if !adjacent.are_all {
            return None;
        }
        let rows = adjacent.rows(parameters, &[], terms);
        self.take_cells(adjacent.adjacency.cells(&rows), rows.len(), adjacent.variables.len());
        Some(rows.len())
    }

    /// Whether so many answers are left grouped by the rows of the last pattern.
    pub(super) fn are_grouped(&self, count: usize) -> bool {
        self.may_be_grouped && count >= ANSWERS_MIN
    }

    /// Leaves so many answers factored by the rows of their values; gives how many there are.
    pub(super) fn factor(
        &mut self,
        adjacent: &Adjacent,
        count: usize,
        (parameters, terms): (&[Term], &Terms),
    ) -> usize {
        let (mut rows, mut made) = (Vec::with_capacity(count), 0);
        for place in 0..count {
            let found = adjacent.rows(parameters, self.get(place), terms);
            if !found.is_empty() {
                made += found.len();
                let (from, width) = (place * self.width, self.width);
                self.found.copy_within(from..from + width, rows.len() * width);
                rows.push([found.start, found.end]);
            }
        }
        self.found.truncate(rows.len() * self.width);
        let (adjacency, variables) = (Arc::clone(&adjacent.adjacency), adjacent.variables.clone());
        self.factored = Some(Factored { adjacency, variables, rows });
        made
    }

    /// The variables whose values answers of a group do not have in common; `None` if the answers are not grouped.
    pub fn grouped_variables(&self) -> Option<&[u32]> {
        self.factored.as_ref().map(|factored| &*factored.variables)
    }

    /// The groups of answers in their order, if they are grouped; none else.
    pub fn groups(&self) -> impl Iterator<Item = AnswerGroup<'_>> {
        self.factored.iter().flat_map(|factored| {
            let groups = self.found.chunks_exact(self.width).zip(&factored.rows);
            groups.map(|(common, &rows)| AnswerGroup { common, others: factored.others(rows) })
        })
    }

    /// The different lists of values of the grouped variables, in the order in which they first occur; none if answers are not grouped.
    pub fn different_others(&self) -> impl Iterator<Item = &[Term]> {
        self.factored.iter().flat_map(|factored| {
            let mut is_seen = vec![false; factored.rows.iter().map(|rows| rows[1]).max().unwrap_or(0) as usize];
            let is_new = move |rows: &&[u32; 2]| !std::mem::replace(&mut is_seen[rows[0] as usize], true);
            factored.rows.iter().filter(is_new).map(|&rows| factored.others(rows))
        })
    }

    /// Writes grouped answers out, so that [`Answers::terms`] has each as a whole.
    pub fn write_out(&mut self) {
        let Some(factored) = self.factored.take() else { return };
        let count: usize = factored.rows.iter().map(|[start, end]| (end - start) as usize).sum();
        let mut written = Vec::with_capacity(count * self.width);
        for (common, &rows) in self.found.chunks_exact(self.width).zip(&factored.rows) {
            write_group(common, factored.others(rows), &factored.variables, &mut written);
        }
        self.found = written;
    }
}

/// Writes an answer for each row: the values that answers have in common, and those of the row.
fn write_group(common: &[Term], rows: &[Term], variables: &[u32], answers: &mut Vec<Term>) {
    answers.reserve(rows.len() / variables.len() * common.len());
    for row in rows.chunks_exact(variables.len()) {
        let start = answers.len();
        answers.extend_from_slice(common);
        let answer = &mut answers[start..];
        variables.iter().zip(row).for_each(|(&variable, &value)| answer[variable as usize] = value);
    }
}
