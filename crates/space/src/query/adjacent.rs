//! Answering a pattern for many answers at once, by an [adjacency](crate::relation::Adjacency).
//!
//! 1. If one column of a pattern is a variable that is known, others are constants, and the rest are variables of its own, the rows for an
//!    answer so far are those of one value. Where most rows are asked for, they are copied together by value.
//! 2. If the pattern is the last one, its rows need not be written beside each answer: the answers are left *factored*, as the answers of the
//!    patterns before, each with the place of its rows (a factorised representation). Callers that can read that ask for it.
//!
//! Source: D. Olteanu, J. Závodný, Size bounds for factorised representations of query results (TODS 2015), for what factoring saves.

use super::execute::{ANSWERS_BETWEEN_LOOKS, Answers, ShouldStop};
use super::extent::Extent;
use super::grouped::{AnswerGroup, Factored, PartialAnswers, write_group};
use super::loops::{LoopStep, Loops};
use super::made::Made;
use super::usage::{ANSWERS_MIN, Adjacent};
use super::view::View;
use crate::relation::Relation;
use crate::term::{Term, Terms};
use std::sync::Arc;

impl<'a> View<'a> {
    /// What answers a step for `count` answers, if there is something, or if making it pays.
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
            _ if count < ANSWERS_MIN && !made.usages.has_adjacent(number) => return None,
            _ => self.only_relation((step, made.loops), parameters)?,
        };
        let known = made.usages.adjacent(number, relation);
        known.or_else(|| made.usages.made_for((number, step, made.loops), count, (relation, self.terms), should_stop))
    }

    /// The relation that may answer a step, if there is only one.
    fn only_relation(self, (step, loops): (&LoopStep, &Loops), parameters: &[Term]) -> Option<&'a Relation> {
        let relations = self.of(step.place).iter().map(|contents| contents.relation_of_length(step.length));
        let mut relations =
            relations.filter(|relation| step.may_answer(&loops.known, Some(parameters), relation, self.terms));
        relations.next().filter(|_| relations.next().is_none())
    }
}

impl Answers {
    /// Extends `count` partial answers by the rows of their values, as far as is said; gives how many answers that makes. `None` if more
    /// rows were to be looked at than are left.
    pub(super) fn extend_adjacent(
        &mut self,
        adjacent: &Adjacent,
        count: usize,
        extent: &mut Extent,
        (parameters, terms): (&[Term], &Terms),
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let (mut made, variables, left) = (0, &adjacent.variables, self.rows_left.unwrap_or(usize::MAX));
        while extent.next.answer < count {
            let place = extent.next.answer;
            if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && should_stop() {
                return Some(self.stop());
            }
            self.take_up(place);
            let (all, mut window) = (adjacent.rows(parameters, &self.current, terms), extent.window());
            let within = window.pass(all.len());
            let rows = all.start + within.start as u32..all.start + within.end as u32;
            made += rows.len();
            if made > left {
                return None;
            }
            write_group(&self.current, adjacent.adjacency.cells(&rows), variables, &mut self.next);
            if extent.pass(window, made) {
                break;
            }
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

    /// Whether `count` answers, or part of them, are left grouped by the rows of the last pattern.
    pub(super) fn are_grouped(&self, count: usize) -> bool {
        self.may_be_grouped && (count >= ANSWERS_MIN || self.has_factored)
    }

    /// Leaves `count` answers factored by the rows of their values; gives how many there are.
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
        (self.factored, self.has_factored) = (Some(Factored { adjacency, variables, rows }), true);
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

    /// Takes out the part of the answers that was found last.
    pub(super) fn take_part(&mut self) -> PartialAnswers {
        PartialAnswers { cells: std::mem::take(&mut self.found), factored: self.factored.take() }
    }

    /// Puts other answers into their place.
    pub(super) fn replace_by(&mut self, PartialAnswers { cells, factored }: PartialAnswers) {
        (self.found, self.factored) = (cells, factored);
    }

    /// Writes grouped answers out, so that [`Answers::terms`] has each as a whole.
    pub fn write_out(&mut self) {
        if let Some(factored) = self.factored.take() {
            self.found = factored.written_out(&self.found, self.width);
        }
    }
}
