//! Joining patterns one variable after the other, all patterns that have it at once.
//!
//! 1. The rows of each pattern are a trie whose levels are its variables in the order of the join. A variable is bound to each value
//!    that all of its patterns have below what is bound already: the least of the next values is sought in the others, until all agree.
//! 2. A value that many rows of one pattern share costs as much as the pattern with the fewest has of it: the join never takes longer
//!    than the largest number of answers that relations of these sizes may have.
//! 3. An answer with its variables all bound has the rows below the last levels, whose ordinals say where it comes.
//!
//! Source: T. Veldhuizen, Leapfrog Triejoin (ICDT 2014); H. Ngo, C. Ré, A. Rudra, Skew strikes back (SIGMOD Record 2013).

use super::super::pattern::{NO_TERM, PatternPart, Patterns};
use super::super::view::View;
use super::house_order::HouseOrder;
use super::pattern::{JoinPattern, Sources};
use crate::relation::Trie;
use crate::term::Term;
use std::ops::Range;
use std::sync::Arc;

/// So many values are bound between two looks whether the caller has given up.
const VALUES_BETWEEN_LOOKS: u32 = 1 << 12;

/// A join of several patterns, made ready.
pub(in crate::query) struct Join {
    pub(super) patterns: Vec<JoinPattern>,
    /// The variables of the query, and its parameters after them, as many as there are.
    variables: u32,
    /// The variables and parameters in the order in which they are bound.
    pub(super) order: Vec<u32>,
    /// For each pattern its own variables in that order.
    columns: Vec<Vec<usize>>,
    /// For each variable in order the patterns that have it, and the level in the trie of each.
    steps: Vec<Vec<(usize, usize)>>,
    /// The patterns whose rows decide where an answer comes.
    deciding: Vec<usize>,
}

/// The patterns with a variable that no pattern before them has.
pub(in crate::query) fn deciding(patterns: &Patterns) -> Vec<usize> {
    let mut is_known = vec![false; patterns.variables];
    let (mut start, mut deciding) = (0, Vec::new());
    for (number, &end) in patterns.ends.iter().enumerate() {
        let mut has_new = false;
        for part in &patterns.parts[start..end] {
            if let PatternPart::Variable(variable) = part {
                has_new |= !std::mem::replace(&mut is_known[*variable as usize], true);
            }
        }
        if has_new {
            deciding.push(number);
        }
        start = end;
    }
    deciding
}

impl Join {
    /// A join that binds variables in this order.
    pub(super) fn new(query: &Patterns, patterns: Vec<JoinPattern>, order: Vec<u32>) -> Self {
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
        let steps = steps.collect();
        let variables = query.variables as u32;
        Self { variables, columns, steps, deciding: deciding(query), patterns, order }
    }

    /// How many terms of rows are to be sorted before it can begin.
    pub(super) fn terms_to_sort(&self, view: View<'_>) -> f64 {
        let patterns = self.patterns.iter().zip(&self.columns);
        let missing = patterns.map(|(pattern, columns)| {
            let sources = pattern.sources(view);
            if pattern.has_trie(columns, &sources) { 0.0 } else { f64::from(sources.rows) * columns.len() as f64 }
        });
        missing.sum()
    }

    /// Adds its answers, in order; `None` if the caller gave up or rows are not to be joined any more.
    pub(in crate::query) fn execute(
        &self,
        view: View<'_>,
        parameters: &[Term],
        answers: &mut Vec<Term>,
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Ended> {
        let sources: Vec<Sources<'_>> = self.patterns.iter().map(|pattern| pattern.sources(view)).collect();
        if !sources.iter().all(Sources::can_be_joined) {
            return None;
        }
        let patterns = self.patterns.iter().zip(&self.columns).zip(&sources);
        let tries: Vec<Arc<Trie>> =
            patterns.map(|((pattern, columns), sources)| pattern.trie(columns, sources, view.terms)).collect();
        if tries.iter().any(|trie| trie.len() == 0) {
            return Some(Ended::Answers(0));
        }
        let are_plain = sources.iter().all(Sources::are_plain) && tries.iter().all(|trie| trie.are_leaves_single());
        let width = self.variables as usize;
        let from = answers.len();
        let mut nodes: Vec<Vec<Range<u32>>> = self.columns.iter().map(|own| vec![0..0; own.len() + 1]).collect();
        nodes.iter_mut().zip(&tries).for_each(|(nodes, trie)| nodes[0] = trie.root());
        let mut bound = vec![NO_TERM; width + parameters.len()];
        bound[width..].copy_from_slice(parameters);
        let mut running = Running {
            join: self,
            tries: &tries,
            sources: &sources,
            nodes,
            cursors: self.steps.iter().map(|step| vec![0; step.len()]).collect(),
            bound,
            answers,
            order: self.order_of(&sources, are_plain),
            are_plain,
            made: 0,
            values_left: VALUES_BETWEEN_LOOKS,
            should_stop,
        };
        if !running.bind(0) {
            running.answers.truncate(from);
            return Some(Ended::Stopped);
        }
        let Running { order, made, answers, .. } = running;
        order.sort(width, answers);
        Some(Ended::Answers(made))
    }
}

impl Join {
    /// What puts its answers into order. Where rows have copies, each copy of each row makes answers that come before those of the next.
    fn order_of(&self, sources: &[Sources<'_>], are_plain: bool) -> HouseOrder {
        if are_plain {
            return HouseOrder::new(self.deciding.iter().map(|&pattern| sources[pattern].rows));
        }
        HouseOrder::new(sources.iter().flat_map(|sources| [sources.rows, u32::MAX]))
    }
}

/// How a join ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Ended {
    /// With so many answers.
    Answers(usize),
    /// The caller gave up.
    Stopped,
}

struct Running<'a> {
    join: &'a Join,
    tries: &'a [Arc<Trie>],
    sources: &'a [Sources<'a>],
    /// For each pattern and each of its levels the nodes below what is bound; the last are rows.
    nodes: Vec<Vec<Range<u32>>>,
    /// For each variable in order, where the patterns that have it are.
    cursors: Vec<Vec<u32>>,
    bound: Vec<Term>,
    answers: &'a mut Vec<Term>,
    order: HouseOrder,
    /// Whether each binding has one row in each pattern, and one copy of it.
    are_plain: bool,
    made: usize,
    values_left: u32,
    should_stop: &'a dyn Fn() -> bool,
}

impl Running<'_> {
    /// Binds the variables from a place in the order on; `false` if the caller has given up.
    fn bind(&mut self, place: usize) -> bool {
        let join = self.join;
        let Some(step) = join.steps.get(place) else { return self.take() };
        let variable = join.order[place] as usize;
        if variable >= join.variables as usize {
            return self.bind_parameter(place, variable);
        }
        match step.as_slice() {
            [] => self.bind(place + 1),
            &[(pattern, level)] => {
                let nodes = self.nodes[pattern][level].clone();
                let trie = &self.tries[pattern];
                for node in nodes {
                    self.bound[variable] = trie.level(level).value(node);
                    self.nodes[pattern][level + 1] = trie.level(level).below(node);
                    if !(self.goes_on() && self.bind(place + 1)) {
                        return false;
                    }
                }
                true
            }
            &[first, second] => self.bind_both(place, variable, first, second),
            _ => self.bind_all(place, variable),
        }
    }

    fn goes_on(&mut self) -> bool {
        self.values_left -= 1;
        if self.values_left > 0 {
            return true;
        }
        self.values_left = VALUES_BETWEEN_LOOKS;
        !(self.should_stop)()
    }

    /// Goes on if all patterns with a parameter have its value.
    fn bind_parameter(&mut self, place: usize, variable: usize) -> bool {
        let (join, tries) = (self.join, self.tries);
        for &(pattern, level) in &join.steps[place] {
            let within = &self.nodes[pattern][level];
            let Some(node) = tries[pattern].level(level).find(within, self.bound[variable]) else { return true };
            self.nodes[pattern][level + 1] = tries[pattern].level(level).below(node);
        }
        self.bind(place + 1)
    }

    /// Binds a variable to what two patterns have in common.
    fn bind_both(&mut self, place: usize, variable: usize, first: (usize, usize), second: (usize, usize)) -> bool {
        let tries = self.tries;
        let nodes_of = |this: &Self, (pattern, level): (usize, usize)| this.nodes[pattern][level].clone();
        let (mut few, mut many) = (first, second);
        if nodes_of(self, first).len() > nodes_of(self, second).len() {
            (few, many) = (second, first);
        }
        let (mut left, mut right) = (nodes_of(self, few), nodes_of(self, many));
        let (few_level, many_level) = (tries[few.0].level(few.1), tries[many.0].level(many.1));
        let is_direct = many_level.is_direct();
        while left.start < left.end {
            let value = few_level.value(left.start);
            let node = if is_direct {
                let Some(node) = many_level.find(&right, value) else {
                    left.start += 1;
                    continue;
                };
                node
            } else {
                right.start = many_level.seek(right.start, right.end, value);
                if right.start == right.end {
                    return true;
                }
                let found = many_level.value(right.start);
                if found != value {
                    left.start = few_level.seek(left.start, left.end, found);
                    continue;
                }
                right.start
            };
            self.bound[variable] = value;
            self.nodes[few.0][few.1 + 1] = few_level.below(left.start);
            self.nodes[many.0][many.1 + 1] = many_level.below(node);
            if !(self.goes_on() && self.bind(place + 1)) {
                return false;
            }
            left.start += 1;
        }
        true
    }

    /// Binds a variable to what three patterns or more have in common.
    fn bind_all(&mut self, place: usize, variable: usize) -> bool {
        let (join, tries) = (self.join, self.tries);
        let step = &join.steps[place];
        let mut cursors = std::mem::take(&mut self.cursors[place]);
        for (cursor, &(pattern, level)) in cursors.iter_mut().zip(step) {
            *cursor = self.nodes[pattern][level].start;
        }
        let (mut agreed, mut at, mut value) = (0, 0, Term::new(0));
        let mut goes_on = true;
        loop {
            let (pattern, level) = step[at];
            let (nodes, end) = (tries[pattern].level(level), self.nodes[pattern][level].end);
            cursors[at] = nodes.seek(cursors[at], end, value);
            if cursors[at] == end {
                break;
            }
            let found = nodes.value(cursors[at]);
            agreed = if found == value { agreed + 1 } else { 1 };
            value = found;
            if agreed == step.len() {
                self.bound[variable] = value;
                for (&cursor, &(pattern, level)) in cursors.iter().zip(step) {
                    self.nodes[pattern][level + 1] = tries[pattern].level(level).below(cursor);
                }
                goes_on = self.goes_on() && self.bind(place + 1);
                if !goes_on {
                    break;
                }
                cursors[at] += 1;
                if cursors[at] == end {
                    break;
                }
                (agreed, value) = (1, nodes.value(cursors[at]));
            }
            at = (at + 1) % step.len();
        }
        self.cursors[place] = cursors;
        goes_on
    }

    /// Takes what is bound for an answer.
    fn take(&mut self) -> bool {
        let width = self.join.variables as usize;
        if self.are_plain {
            self.made += 1;
            self.answers.extend_from_slice(&self.bound[..width]);
            let (tries, nodes) = (self.tries, &self.nodes);
            let ordinal = |&pattern: &usize| {
                let leaf = nodes[pattern].last().expect("there is a last level").clone();
                tries[pattern].ordinals(leaf)[0]
            };
            self.order.push(self.join.deciding.iter().map(ordinal));
            return true;
        }
        let mut ordinals = vec![0; 2 * self.join.patterns.len()];
        self.take_rows(0, &mut ordinals);
        true
    }

    /// The same where a binding has several rows, or copies of them: an answer for each choice of a copy of a row of each pattern.
    fn take_rows(&mut self, pattern: usize, ordinals: &mut [u32]) {
        if 2 * pattern == ordinals.len() {
            self.answers.extend_from_slice(&self.bound[..self.join.variables as usize]);
            self.order.push(ordinals.iter().copied());
            self.made += 1;
            return;
        }
        let leaf = self.nodes[pattern].last().expect("there is a last level").clone();
        for &ordinal in self.tries[pattern].ordinals(leaf) {
            for copy in 0..self.sources[pattern].copies(ordinal) {
                ordinals[2 * pattern..][..2].copy_from_slice(&[ordinal, copy]);
                self.take_rows(pattern + 1, ordinals);
            }
        }
    }
}
