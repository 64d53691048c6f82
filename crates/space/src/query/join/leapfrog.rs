//! Joining patterns one variable after the other, all patterns that have it at once.
//!
//! 1. The rows of each pattern are a trie whose levels are its variables in the order of the join. A variable is bound to each value
//!    that all of its patterns have below what is bound already: those of the shortest list are sought in the others, and where one of
//!    these has no value for a long stretch, that stretch is passed over. Where all are bitmaps, 64 values are looked at at once.
//! 2. A value that many rows of one pattern share costs as much as the pattern with the fewest has of it: the join never takes longer
//!    than the largest number of answers that relations of these sizes may have.
//! 3. An answer with its variables all bound has the rows below the last levels, whose ordinals say where it comes.
//! 4. If answers are only counted, the join ends where each variable that is left stands in one pattern: the numbers of the rows there
//!    are multiplied.
//!
//! Source: T. Veldhuizen, Leapfrog Triejoin (ICDT 2014); H. Ngo, C. Ré, A. Rudra, Skew strikes back (SIGMOD Record 2013).

use super::super::filter::Given;
use super::super::pattern::NO_TERM;
use super::super::unfinished::Unfinished;
use super::super::view::View;
use super::house_order::HouseOrder;
use super::pattern::Sources;
use super::prepared::Join;
use crate::relation::{Bitmap, Level, Trie};
use crate::term::Term;
use std::ops::Range;
use std::sync::Arc;

/// How many values are bound between two looks whether the caller has given up.
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
    pub(super) wanted: Wanted,
}

/// Whether a join finds its answers or counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Its answers, unless they are more than this.
    Answers { most: usize },
    /// Their number only.
    Number,
}

/// What a join, or a part of it, has found, in the order in which it was found.
pub(super) struct JoinPart {
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
    /// Of each of them, the node of the level before that they lie below.
    above: Vec<Vec<u32>>,
    /// For each variable in order, the lists of the patterns that have it.
    lists: Vec<Vec<List<'a>>>,
    bound: Vec<Term>,
    /// Room for the ordinals of an answer, with the number of the copy of each row.
    ordinals: Vec<u32>,
    found: JoinPart,
    values_left: u32,
    should_stop: &'a dyn Fn() -> bool,
}

/// The values that a pattern has for a variable, below what is bound.
struct List<'a> {
    pattern: usize,
    level: usize,
    values: &'a Level,
    nodes: Range<u32>,
    /// Where the values begin that were not looked at.
    next: u32,
    bitmap: Option<Bitmap<'a>>,
}

/// That a list does not have a value.
enum Missing {
    /// Nothing more is known.
    Here,
    /// Nor any before this one, which it has.
    Until(Term),
    /// Nor any after it.
    Everywhere,
}

impl List<'_> {
    /// Looks for a value, which is not less than those that were looked for before; `None` if it is there.
    #[inline]
    fn misses(&mut self, value: Term) -> Option<Missing> {
        if let Some(bitmap) = &self.bitmap {
            let Some(place) = bitmap.find(value) else { return Some(Missing::Here) };
            self.next = self.nodes.start + place;
            return None;
        }
        if self.values.is_direct() {
            let Some(node) = self.values.find(&self.nodes, value) else { return Some(Missing::Here) };
            self.next = node;
            return None;
        }
        self.next = self.values.seek(self.next, self.nodes.end, value);
        if self.next == self.nodes.end {
            return Some(Missing::Everywhere);
        }
        let found = self.values.value(self.next);
        (found != value).then_some(Missing::Until(found))
    }
}

/// The numbers of the words that lists have in common whose values are bitmaps; `None` if those of one are not.
fn words_in_common(lists: &[List<'_>]) -> Option<Range<u32>> {
    let mut common = 0..u32::MAX;
    for list in lists {
        let own = list.bitmap.as_ref()?.numbers();
        common = common.start.max(own.start)..common.end.min(own.end);
    }
    Some(common)
}

impl Inputs<'_> {
    /// No answer yet.
    pub(super) fn nothing(&self) -> JoinPart {
        JoinPart {
            answers: Vec::new(),
            order: self.join.order_of(self.sources, self.are_plain),
            made: 0,
            after_each: vec![0; self.join.order.len()],
        }
    }
}

/// Binds all variables in turn, the first of them from one value on and below another if that is said.
pub(super) fn run(
    inputs: &Inputs<'_>,
    within: Option<[Term; 2]>,
    should_stop: &dyn Fn() -> bool,
) -> Result<JoinPart, Unfinished> {
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
        above: join.columns.iter().map(|own| vec![0; own.len() + 1]).collect(),
        lists: join.steps.iter().map(|step| Vec::with_capacity(step.len())).collect(),
        bound,
        ordinals: vec![0; 2 * join.patterns.len()],
        found: inputs.nothing(),
        values_left: VALUES_BETWEEN_LOOKS,
        should_stop,
    };
    match (running.bind(0), running.has_too_many()) {
        (true, _) => Ok(running.found),
        (false, true) => Err(Unfinished::TooMany),
        (false, false) => Err(Unfinished::Stopped),
    }
}

impl<'a> Running<'a> {
    /// Binds the variables from a place in the order on; `false` if the caller has given up, or if there are too many answers.
    fn bind(&mut self, place: usize) -> bool {
        let join = self.join;
        if join.filters.has(place) && !self.passes(place) {
            return true;
        }
        if self.inputs.wanted == Wanted::Number && place == join.private.from {
            return self.count_private();
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
                for node in self.nodes[pattern][level].clone() {
                    self.bound[variable] = self.tries[pattern].level(level).value(node);
                    self.enter(pattern, level, node);
                    if !(self.goes_on(place) && self.bind(place + 1)) {
                        return false;
                    }
                }
                true
            }
            _ => self.bind_shared(place, variable),
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

    /// Whether there are more answers than there is room for.
    fn has_too_many(&self) -> bool {
        matches!(self.inputs.wanted, Wanted::Answers { most } if self.found.made > most)
    }

    /// Counts a value that was bound; `false` if the caller has given up, or if there are too many answers.
    fn goes_on(&mut self, place: usize) -> bool {
        self.found.after_each[place] += 1;
        self.values_left -= 1;
        if self.values_left > 0 {
            return true;
        }
        self.values_left = VALUES_BETWEEN_LOOKS;
        !self.has_too_many() && !(self.should_stop)()
    }

    /// Goes on if all patterns with a parameter have its value.
    fn bind_parameter(&mut self, place: usize, variable: usize) -> bool {
        let (join, tries) = (self.join, self.tries);
        for &(pattern, level) in &join.steps[place] {
            let within = &self.nodes[pattern][level];
            let Some(node) = tries[pattern].level(level).find(within, self.bound[variable]) else { return true };
            self.enter(pattern, level, node);
        }
        self.found.after_each[place] += 1;
        self.bind(place + 1)
    }

    /// Binds a variable to what several patterns have in common: each value of the shortest list is sought in the others.
    fn bind_shared(&mut self, place: usize, variable: usize) -> bool {
        let mut lists = std::mem::take(&mut self.lists[place]);
        lists.clear();
        for &(pattern, level) in &self.join.steps[place] {
            let (nodes, values) = (self.nodes[pattern][level].clone(), self.tries[pattern].level(level));
            let bitmap = if level == 0 { None } else { values.bitmap(self.above[pattern][level]) };
            lists.push(List { pattern, level, values, next: nodes.start, nodes, bitmap });
        }
        lists.sort_unstable_by_key(|list| list.nodes.len());
        let goes_on = match words_in_common(&lists) {
            Some(words) if words.len() <= lists[0].nodes.len() => self.bind_by_words(place, variable, &lists, words),
            _ => self.bind_by_values(place, variable, &mut lists),
        };
        self.lists[place] = lists;
        goes_on
    }

    /// Binds a variable to what several patterns have in common, where the values of each list are a bitmap.
    fn bind_by_words(&mut self, place: usize, variable: usize, lists: &[List<'a>], words: Range<u32>) -> bool {
        let is_counted = self.counts_values(place);
        for number in words {
            let word = |list: &List<'a>| list.bitmap.map_or(0, |bitmap| bitmap.word(number));
            let mut common = lists.iter().fold(u64::MAX, |common, list| common & word(list));
            if is_counted {
                let count = common.count_ones() as usize;
                self.found.made += count;
                self.found.after_each[place] += count;
                continue;
            }
            while common != 0 {
                let bit = common.trailing_zeros();
                common &= common - 1;
                for list in lists {
                    let within = list.bitmap.map_or(0, |bitmap| bitmap.place_at(number, bit));
                    self.enter(list.pattern, list.level, list.nodes.start + within);
                }
                self.bound[variable] = Term::new(number * u64::BITS + bit);
                if !(self.goes_on(place) && self.bind(place + 1)) {
                    return false;
                }
            }
        }
        true
    }

    /// Binds a variable to what several patterns have in common, where the values of some lists are not a bitmap.
    fn bind_by_values(&mut self, place: usize, variable: usize, lists: &mut [List<'a>]) -> bool {
        let is_counted = self.counts_values(place);
        let Some((shortest, others)) = lists.split_first_mut() else { return true };
        while shortest.next < shortest.nodes.end {
            let value = shortest.values.value(shortest.next);
            match others.iter_mut().find_map(|other| other.misses(value)) {
                None if is_counted => {
                    self.found.made += 1;
                    self.found.after_each[place] += 1;
                }
                None => {
                    self.enter(shortest.pattern, shortest.level, shortest.next);
                    others.iter().for_each(|other| self.enter(other.pattern, other.level, other.next));
                    self.bound[variable] = value;
                    if !(self.goes_on(place) && self.bind(place + 1)) {
                        return false;
                    }
                }
                Some(Missing::Here) => {}
                Some(Missing::Until(found)) => {
                    let values = shortest.values;
                    shortest.next = values.seek(shortest.next, shortest.nodes.end, found);
                    continue;
                }
                Some(Missing::Everywhere) => return true,
            }
            shortest.next += 1;
        }
        true
    }

    /// Goes below a node of a level.
    #[inline(always)]
    fn enter(&mut self, pattern: usize, level: usize, node: u32) {
        self.nodes[pattern][level + 1] = self.tries[pattern].level(level).below(node);
        self.above[pattern][level + 1] = node;
    }

    /// Whether each value of the variable at a place is an answer that is only counted.
    fn counts_values(&self, place: usize) -> bool {
        let is_last = place + 1 == self.join.steps.len() && !self.join.filters.has(place + 1);
        is_last && self.inputs.wanted == Wanted::Number && self.inputs.are_plain
    }

    /// Counts the answers that what is bound leads to, where each variable that is left stands in one pattern.
    fn count_private(&mut self) -> bool {
        let of = |(pattern, &level): (usize, &usize)| {
            let rows = self.tries[pattern].ordinals_below(level, self.nodes[pattern][level].clone());
            match self.inputs.are_plain {
                true => rows.len(),
                false => rows.iter().map(|&row| self.inputs.sources[pattern].copies(row) as usize).sum(),
            }
        };
        let made: usize = self.join.private.levels.iter().enumerate().map(of).product();
        self.found.made += made;
        true
    }

    /// Takes what is bound for an answer.
    fn take(&mut self) -> bool {
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
        let goes_on = self.take_rows(0, &mut ordinals);
        self.ordinals = ordinals;
        goes_on
    }

    /// Takes answers where a binding has several rows, or copies of them: one for each choice of a copy of a row of each pattern. `false` if
    /// there are too many.
    fn take_rows(&mut self, pattern: usize, ordinals: &mut [u32]) -> bool {
        if 2 * pattern == ordinals.len() {
            self.found.answers.extend_from_slice(&self.bound[..self.join.variables as usize]);
            self.found.order.push(ordinals.iter().copied());
            self.found.made += 1;
            return !self.has_too_many();
        }
        let leaf = self.nodes[pattern].last().expect("there is a last level").clone();
        for &ordinal in self.tries[pattern].ordinals(leaf) {
            for copy in 0..self.inputs.sources[pattern].copies(ordinal) {
                ordinals[2 * pattern..][..2].copy_from_slice(&[ordinal, copy]);
                if !self.take_rows(pattern + 1, ordinals) {
                    return false;
                }
            }
        }
        true
    }
}
