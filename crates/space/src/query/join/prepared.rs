//! Joins made ready: which variable is bound when, and where each pattern has it.

use super::super::filter::{Filter, Filters};
use super::super::pattern::Patterns;
use super::super::view::View;
use super::house_order::{HouseOrder, deciding};
use super::pattern::{JoinPattern, Sources};
use crate::term::Term;

/// A join of several patterns, made ready.
pub(in crate::query) struct Join {
    pub(super) patterns: Vec<JoinPattern>,
    /// The variables of the query, and its parameters after them, as many as there are.
    pub(super) variables: u32,
    /// The variables and parameters in the order in which they are bound.
    pub(super) order: Vec<u32>,
    /// For each pattern its own variables in that order.
    pub(super) columns: Vec<Vec<usize>>,
    /// For each variable in order the patterns that have it, and the level in the trie of each.
    pub(super) steps: Vec<Vec<(usize, usize)>>,
    /// The patterns whose rows decide where an answer comes.
    pub(super) deciding: Vec<usize>,
    /// What answers are tested for: the tests of each place are made before the variable there is bound, or after the last.
    pub(super) filters: Filters,
    /// Where only such variables are left that stand in one pattern.
    pub(super) private: Private,
    /// What it is estimated to cost.
    pub(super) cost_ns: f64,
}

/// The end of an order of variables, from a place on: each of them stands in one pattern at most, and nothing is tested there.
pub(super) struct Private {
    pub(super) from: usize,
    /// For each pattern, how many of its variables are bound before.
    pub(super) levels: Vec<usize>,
}

impl Private {
    fn new(steps: &[Vec<(usize, usize)>], filters: &Filters, given: usize, patterns: usize) -> Self {
        // What is tested after a variable is bound is tested at the next place.
        let is_private = |&place: &usize| steps[place].len() <= 1 && !filters.has(place + 1) && place >= given;
        let from = steps.len() - (0..steps.len()).rev().take_while(is_private).count();
        let bound = |pattern| steps[..from].iter().flatten().filter(|(own, _)| *own == pattern).count();
        Self { from, levels: (0..patterns).map(bound).collect() }
    }
}

impl Join {
    /// A join that binds variables in this order.
    pub(super) fn new(
        (query, filters): (&Patterns, &[Filter]),
        patterns: Vec<JoinPattern>,
        order: Vec<u32>,
        cost_ns: f64,
    ) -> Self {
        let place = |variable: u32| order.iter().position(|ordered| *ordered == variable).expect("all are ordered");
        let columns: Vec<Vec<usize>> = patterns
            .iter()
            .map(|pattern| {
                let mut own: Vec<usize> = (0..pattern.variables.len()).collect();
                own.sort_by_key(|&number| place(pattern.variables[number].0));
                own
            })
            .collect();
        let level_of = |pattern: usize, variable: u32| {
            columns[pattern].iter().position(|&own| patterns[pattern].variables[own].0 == variable)
        };
        let steps = order.iter().map(|&variable| {
            (0..patterns.len()).filter_map(|pattern| Some((pattern, level_of(pattern, variable)?))).collect()
        });
        let steps: Vec<Vec<(usize, usize)>> = steps.collect();
        let variables = query.variables as u32;
        let bound_before = std::iter::once(Vec::new()).chain(order.iter().map(|&variable| vec![variable]));
        let filters = Filters::after(filters, bound_before);
        let given = order.iter().filter(|&&variable| variable >= variables).count();
        let private = Private::new(&steps, &filters, given, patterns.len());
        Self { private, filters, variables, columns, steps, deciding: deciding(query), patterns, order, cost_ns }
    }

    /// How many terms of rows are to be sorted before it can begin; all of them if what was sorted before is forgotten.
    pub(super) fn terms_to_sort(&self, view: View<'_>, forgets_sorted: bool) -> f64 {
        let patterns = self.patterns.iter().zip(&self.columns);
        let missing = patterns.map(|(pattern, columns)| {
            let sources = pattern.sources(view);
            if !forgets_sorted && pattern.has_trie(columns, &sources) {
                0.0
            } else {
                f64::from(sources.rows) * columns.len() as f64
            }
        });
        missing.sum()
    }

    /// What puts its answers into order. Where rows have copies, each copy of each row makes answers that come before those of the next.
    pub(super) fn order_of(&self, sources: &[Sources<'_>], are_plain: bool) -> HouseOrder {
        if are_plain {
            return HouseOrder::new(self.deciding.iter().map(|&pattern| sources[pattern].rows));
        }
        HouseOrder::new(sources.iter().flat_map(|sources| [sources.rows, u32::MAX]))
    }
}

/// Where answers go that are found in another way than by loops over the patterns as written.
pub(in crate::query) struct Room<'a> {
    pub(in crate::query) answers: &'a mut Vec<Term>,
    /// How many answers there were so far after each pattern, or each variable of a join.
    pub(in crate::query) after_each: &'a mut Vec<usize>,
    /// How many answers, or partial answers, are kept.
    pub(in crate::query) most: usize,
}
