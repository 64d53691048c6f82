//! Joining patterns one variable after the other, all patterns that have it at once.
//!
//! 1. The rows of each pattern are a trie whose levels are its variables in the order of the join. A variable is bound to each value
//!    that all of its patterns have below what is bound already: the least of the next values is sought in the others, until all agree.
//! 2. A value that many rows of one pattern share costs as much as the pattern with the fewest has of it: the join never takes longer
//!    than the largest number of answers that relations of these sizes may have.
//! 3. An answer with its variables all bound has the rows below the last levels, whose ordinals say where it comes.
//!
//! Source: T. Veldhuizen, Leapfrog Triejoin (ICDT 2014); H. Ngo, C. Ré, A. Rudra, Skew strikes back (SIGMOD Record 2013).

use super::super::filter::Given;
use super::super::pattern::NO_TERM;
use super::super::view::View;
use super::house_order::HouseOrder;
use super::pattern::Sources;
use super::prepared::Join;
use crate::relation::Trie;
use crate::term::Term;
use std::ops::Range;
use std::sync::Arc;

/// So many values are bound between two looks whether the caller has given up.
const VALUES_BETWEEN_LOOKS: u32 = 1 << 12;

/// What a join goes through.
pub(super) struct Inputs<'a> {
    pub(super) join: &'a Join,
    pub(super) tries: &'a [Arc<Trie>],
    pub(super) sources: &'a [Sources<'a>],
    /// Whether each binding has one row in each pattern, and one copy of it.
    pub(super) are_plain: bool,
    pub(super) given: Given<'a>,
    pub(super) view: View<'a>,
    /// Whether answers are only counted.
    pub(super) counts: bool,
}

/// What a join, or a part of it, has found, in the order in which it was found.
pub(super) struct Part {
    pub(super) answers: Vec<Term>,
    pub(super) order: HouseOrder,
    pub(super) made: usize,
    /// How often each variable was bound, in their order.
    pub(super) after_each: Vec<usize>,
}

struct Running<'a> {
    inputs: &'a Inputs<'a>,
    join: &'a Join,
    tries: &'a [Arc<Trie>],
    /// Between which values the first variable is bound.
    within: Option<[Term; 2]>,
    /// For each pattern and each of its levels the nodes below what is bound; the last are rows.
    nodes: Vec<Vec<Range<u32>>>,
    /// For each variable in order, where the patterns that have it are.
    cursors: Vec<Vec<u32>>,
    bound: Vec<Term>,
    /// Room for the ordinals of an answer, with the number of the copy of each row.
    ordinals: Vec<u32>,
    found: Part,
    values_left: u32,
    should_stop: &'a dyn Fn() -> bool,
}

impl Inputs<'_> {
    /// No answer yet.
    pub(super) fn nothing(&self) -> Part {
        Part {
            answers: Vec::new(),
            order: self.join.order_of(self.sources, self.are_plain),
            made: 0,
            after_each: vec![0; self.join.order.len()],
        }
    }
}

/// Binds all variables in turn, the first of them from one value on and below another if that is said; `None` if the caller has given
/// up.
pub(super) fn run(inputs: &Inputs<'_>, within: Option<[Term; 2]>, should_stop: &dyn Fn() -> bool) -> Option<Part> {
    let Inputs { join, tries, given: Given { parameters, .. }, .. } = *inputs;
    let mut nodes: Vec<Vec<Range<u32>>> = join.columns.iter().map(|own| vec![0..0; own.len() + 1]).collect();
    nodes.iter_mut().zip(tries).for_each(|(nodes, trie)| nodes[0] = trie.root());
    let width = join.variables as usize;
    let mut bound = vec![NO_TERM; width + parameters.len()];
    bound[width..].copy_from_slice(parameters);
    let mut running = Running {
        inputs,
        join,
        tries,
        within,
        nodes,
        cursors: join.steps.iter().map(|step| vec![0; step.len()]).collect(),
        bound,
        ordinals: vec![0; 2 * join.patterns.len()],
        found: inputs.nothing(),
        values_left: VALUES_BETWEEN_LOOKS,
        should_stop,
    };
    running.bind(0).then_some(running.found)
}

impl Running<'_> {
    /// Binds the variables from a place in the order on; `false` if the caller has given up.
    fn bind(&mut self, place: usize) -> bool {
        let join = self.join;
        if join.filters.has(place) && !self.passes(place) {
            return true;
        }
        let Some(step) = join.steps.get(place) else { return self.take() };
        let variable = join.order[place] as usize;
        if variable >= join.variables as usize {
            return self.bind_parameter(place, variable);
        }
        if let Some([from, end]) = self.within.take() {
            self.narrow(step, from, end);
        }
        match step.as_slice() {
            [] => self.bind(place + 1),
            &[(pattern, level)] => {
                let nodes = self.nodes[pattern][level].clone();
                let trie = &self.tries[pattern];
                for node in nodes {
                    self.bound[variable] = trie.level(level).value(node);
                    self.nodes[pattern][level + 1] = trie.level(level).below(node);
                    if !(self.goes_on(place) && self.bind(place + 1)) {
                        return false;
                    }
                }
                true
            }
            &[first, second] => self.bind_both(place, variable, first, second),
            _ => self.bind_all(place, variable),
        }
    }

    /// Whether what is bound before a place passes the filters that are made there.
    fn passes(&self, place: usize) -> bool {
        let Inputs { given, view, .. } = *self.inputs;
        self.join.filters.passes(place, &self.bound, given, view)
    }

    /// Keeps of the nodes for a variable those from one value on and below another.
    fn narrow(&mut self, step: &[(usize, usize)], from: Term, end: Term) {
        for &(pattern, level) in step {
            let (values, nodes) = (self.tries[pattern].level(level), &mut self.nodes[pattern][level]);
            *nodes = values.seek(nodes.start, nodes.end, from)..values.seek(nodes.start, nodes.end, end);
        }
    }

    /// Counts a value that was bound; `false` if the caller has given up.
    fn goes_on(&mut self, place: usize) -> bool {
        self.found.after_each[place] += 1;
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
        self.found.after_each[place] += 1;
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
            if !(self.goes_on(place) && self.bind(place + 1)) {
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
                goes_on = self.goes_on(place) && self.bind(place + 1);
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
        if self.inputs.counts {
            self.found.made += if self.inputs.are_plain { 1 } else { self.choices() };
            return true;
        }
        let width = self.join.variables as usize;
        if self.inputs.are_plain {
            self.found.made += 1;
            self.found.answers.extend_from_slice(&self.bound[..width]);
            let (tries, nodes) = (self.tries, &self.nodes);
            let ordinal = |&pattern: &usize| {
                let leaf = nodes[pattern].last().expect("there is a last level").clone();
                tries[pattern].ordinals(leaf)[0]
            };
            self.found.order.push(self.join.deciding.iter().map(ordinal));
            return true;
        }
        let mut ordinals = std::mem::take(&mut self.ordinals);
        self.take_rows(0, &mut ordinals);
        self.ordinals = ordinals;
        true
    }

    /// How many choices of a copy of a row of each pattern what is bound has.
    fn choices(&self) -> usize {
        let copies = |(pattern, trie): (usize, &Arc<Trie>)| -> usize {
            let leaf = self.nodes[pattern].last().expect("there is a last level").clone();
            trie.ordinals(leaf).iter().map(|&ordinal| self.inputs.sources[pattern].copies(ordinal) as usize).sum()
        };
        self.tries.iter().enumerate().map(copies).product()
    }

    /// The same where a binding has several rows, or copies of them: an answer for each choice of a copy of a row of each pattern.
    fn take_rows(&mut self, pattern: usize, ordinals: &mut [u32]) {
        if 2 * pattern == ordinals.len() {
            self.found.answers.extend_from_slice(&self.bound[..self.join.variables as usize]);
            self.found.order.push(ordinals.iter().copied());
            self.found.made += 1;
            return;
        }
        let leaf = self.nodes[pattern].last().expect("there is a last level").clone();
        for &ordinal in self.tries[pattern].ordinals(leaf) {
            for copy in 0..self.inputs.sources[pattern].copies(ordinal) {
                ordinals[2 * pattern..][..2].copy_from_slice(&[ordinal, copy]);
                self.take_rows(pattern + 1, ordinals);
            }
        }
    }
}
