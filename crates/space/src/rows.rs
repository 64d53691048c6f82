//! Queries whose answers are rows of terms, and rows that come and go without an atom being built.
//!
//! 1. A pattern is its parts in the order in which it is written: the opening of an expression, the match key of what must
//!    be there, or a variable.
//! 2. If an atom that is no row may match, in the space or in one it imports, the query is not answered here.
//! 3. The patterns of a conjunction are answered one after the other, each for all that was found before: this is the order
//!    in which [`SpaceRef::query`] answers.
//! 4. For each, the shortest index among the paths whose keys are known is walked, as in [`Relation`].
//!
//! The spaces are locked in the order of their serial numbers, then the dictionary; the locks are held to the end.

use crate::handle::SpaceRef;
use crate::relation::{Path, Relation};
use crate::space::{COLUMNS_INDEXED_MAX, Space};
use crate::term::{Term, Terms};

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowPart {
    /// An expression of so many parts begins.
    Open(u32),
    /// What has this match key.
    Key(Term),
    /// A variable, by its number.
    Variable(u32),
}

/// A match key that nothing has: that of an atom which was never interned.
pub const NO_TERM: Term = Term::new(u32::MAX);

/// A query for rows.
#[derive(Clone, Debug, Default)]
pub struct RowQuery {
    parts: Vec<RowPart>,
    /// Where each pattern ends in `parts`.
    ends: Vec<usize>,
    variables: usize,
}

impl RowQuery {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.ends.clear();
        self.variables = 0;
    }

    /// Adds a part to the pattern at hand.
    pub fn push(&mut self, part: RowPart) {
        if let RowPart::Variable(variable) = part {
            self.variables = self.variables.max(variable as usize + 1);
        }
        self.parts.push(part);
    }

    /// Ends a pattern.
    pub fn end_pattern(&mut self) {
        self.ends.push(self.parts.len());
    }

    /// The key that stands first in the first pattern, if that begins with one.
    pub fn head(&self) -> Option<Term> {
        match self.parts.as_slice() {
            [RowPart::Open(_), RowPart::Key(head), ..] => Some(*head),
            _ => None,
        }
    }

    /// How many variables it has: as many terms as each answer.
    pub fn variables(&self) -> usize {
        self.variables
    }

    fn patterns(&self) -> impl Iterator<Item = &[RowPart]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.parts[start..end])
    }
}

/// A key that is known at a path of a pattern's rows.
#[derive(Clone, Copy)]
enum Known {
    Key(Term),
    /// That of what an earlier pattern has bound.
    Variable(u32),
}

/// A pattern, made ready.
struct Plan<'a> {
    length: usize,
    parts: &'a [RowPart],
    known: Vec<(Path, Known)>,
    /// Whether its columns are keys and variables only.
    is_flat: bool,
    /// Whether all of its columns are known, so that it has one row, if any.
    is_known: bool,
}

impl<'a> Plan<'a> {
    /// `bound` says which variables earlier patterns bind; those of this pattern are added. `None` for what is no row.
    fn new(parts: &'a [RowPart], bound: &mut [bool]) -> Option<Self> {
        let [RowPart::Open(length), columns @ ..] = parts else { return None };
        let length = *length as usize;
        let is_known = !columns.is_empty() && columns.iter().all(|&part| known_part(part, bound).is_some());
        let mut known = Vec::new();
        let mut at = 0;
        for column in 0..length {
            let part = columns[at];
            let path = (column as u32, None);
            match part {
                _ if column >= COLUMNS_INDEXED_MAX && !is_known => {}
                RowPart::Open(inner) => known_inside(column as u32, &columns[at + 1..], inner, bound, &mut known),
                part => known.extend(known_part(part, bound).map(|key| (path, key))),
            }
            at += extent(&columns[at..]);
        }
        // The head of an expression is its least selective column: it is asked last.
        if !is_known && known.first().is_some_and(|&((column, child), _)| column == 0 && child.is_none()) {
            known.rotate_left(1);
        }
        for part in columns {
            if let RowPart::Variable(variable) = part {
                bound[*variable as usize] = true;
            }
        }
        Some(Self { length, parts: columns, known, is_flat: columns.len() == length, is_known })
    }
}

fn known_part(part: RowPart, bound: &[bool]) -> Option<Known> {
    match part {
        RowPart::Key(key) => Some(Known::Key(key)),
        RowPart::Variable(variable) if bound[variable as usize] => Some(Known::Variable(variable)),
        _ => None,
    }
}

/// Adds what is known of the children of a compound column.
fn known_inside(column: u32, parts: &[RowPart], length: u32, bound: &[bool], known: &mut Vec<(Path, Known)>) {
    let mut at = 0;
    let from = known.len();
    for child in 0..length.min(COLUMNS_INDEXED_MAX as u32) {
        known.extend(known_part(parts[at], bound).map(|key| ((column, Some(child)), key)));
        at += extent(&parts[at..]);
    }
    known[from..].reverse();
}

/// How many parts the first subpattern has.
fn extent(parts: &[RowPart]) -> usize {
    let (mut open, mut at) = (1_usize, 0);
    while open > 0 {
        open -= 1;
        if let RowPart::Open(length) = parts[at] {
            open += length as usize;
        }
        at += 1;
    }
    at
}

/// The variables of an answer that is being made.
struct Answers {
    found: Vec<Term>,
    next: Vec<Term>,
    /// The answer at hand.
    current: Vec<Term>,
    rows: Vec<u32>,
    keys: Vec<(Path, Term)>,
    row: Vec<Term>,
}

impl SpaceRef {
    /// The solutions of a query, one after the other, a term for each variable: in the order in which
    /// [`SpaceRef::query`] finds them. `None` if they are not all rows: then it is to be asked instead.
    pub fn rows(&self, query: &RowQuery) -> Option<Vec<Term>> {
        let imports = self.imports();
        let mut order: Vec<&SpaceRef> = std::iter::once(self).chain(&imports).collect();
        let all = order.clone();
        order.sort_by_key(|space| space.serial());
        let is_repeated = |pair: &[&SpaceRef]| pair[0].serial() == pair[1].serial();
        if order.windows(2).any(is_repeated) {
            return None;
        }
        let guards: Vec<_> = order.iter().map(|space| (space.serial(), space.guard())).collect();
        let place = |space: &&SpaceRef| guards.iter().position(|(serial, _)| *serial == space.serial());
        let spaces: Vec<&Space> = all.iter().filter_map(place).map(|place| &*guards[place].1).collect();
        let terms = spaces[0].terms().read().expect("no panic while terms are locked");
        let mut bound = vec![false; query.variables];
        let plans: Option<Vec<Plan<'_>>> = query.patterns().map(|parts| Plan::new(parts, &mut bound)).collect();
        let plans = plans.filter(|plans| !plans.is_empty())?;
        let is_open = |space: &&Space| query.patterns().any(|parts| space.patterns().may_match(parts, &terms));
        if spaces.iter().any(is_open) {
            return None;
        }
        Some(answer(&plans, &spaces, query.variables, &terms))
    }

    /// Adds an expression of which `intern` makes the row of terms; says whether it was one. `class` is what its class of
    /// changes is.
    pub fn add_row(
        &self,
        class: usize,
        row: &mut Vec<Term>,
        intern: impl FnOnce(&mut Terms, &mut Vec<Term>) -> bool,
    ) -> bool {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        if !self.write(|space| space.add_row(row, intern)) {
            return false;
        }
        self.count_class(class);
        self.note_added_row(row);
        true
    }
}

fn answer(plans: &[Plan<'_>], spaces: &[&Space], width: usize, terms: &Terms) -> Vec<Term> {
    let mut answers = Answers {
        found: vec![NO_TERM; width],
        next: Vec::new(),
        current: vec![NO_TERM; width],
        rows: Vec::new(),
        keys: Vec::new(),
        row: Vec::new(),
    };
    let mut count = 1;
    for plan in plans {
        let mut made = 0;
        for place in 0..count {
            answers.current.copy_from_slice(&answers.found[place * width..][..width]);
            for space in spaces {
                made += answers.extend(plan, space.relation_of_length(plan.length), terms);
            }
        }
        std::mem::swap(&mut answers.found, &mut answers.next);
        answers.next.clear();
        count = made;
    }
    // Without variables an answer has no terms: each is one that stands for nothing.
    if width == 0 { vec![NO_TERM; count] } else { answers.found }
}

impl Answers {
    /// Adds what the rows of a relation make of the answer at hand; gives how many answers that are.
    fn extend(&mut self, plan: &Plan<'_>, relation: &Relation, terms: &Terms) -> usize {
        if relation.is_empty() {
            return 0;
        }
        let current = &self.current;
        self.keys.clear();
        self.keys.extend(plan.known.iter().map(|&(path, known)| match known {
            Known::Key(key) => (path, key),
            Known::Variable(variable) => (path, terms.key(current[variable as usize])),
        }));
        if self.keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        self.rows.clear();
        if plan.is_known {
            self.row.clear();
            self.row.extend(self.keys.iter().map(|&(_, key)| key));
            relation.find_rows(&self.row, terms, &mut self.rows);
        } else {
            relation.narrow(&self.keys, terms, &mut self.rows);
        }
        let from = self.next.len();
        let mut made = 0;
        for at in 0..self.rows.len() {
            let row = relation.found(self.rows[at]);
            let start = self.next.len();
            self.next.extend_from_slice(&self.current);
            if !matches(plan, row.terms, &mut self.next[start..], terms) {
                self.next.truncate(start);
                continue;
            }
            made += row.copies as usize;
            for _ in 1..row.copies {
                self.next.extend_from_within(start..start + self.current.len());
            }
        }
        debug_assert_eq!(self.next.len() - from, made * self.current.len());
        made
    }
}

/// Whether a row matches a pattern; what its variables are is put into the answer.
#[inline]
fn matches(plan: &Plan<'_>, row: &[Term], answer: &mut [Term], terms: &Terms) -> bool {
    if row.len() != plan.length {
        return false;
    }
    if plan.is_flat {
        return plan.parts.iter().zip(row).all(|(&part, &term)| matches_leaf(part, term, answer, terms));
    }
    matches_deeply(plan.parts, row, answer, terms)
}

#[inline]
fn matches_leaf(part: RowPart, term: Term, answer: &mut [Term], terms: &Terms) -> bool {
    match part {
        RowPart::Key(key) => term == key || terms.key(term) == key,
        RowPart::Variable(variable) => {
            let known = &mut answer[variable as usize];
            if *known == NO_TERM {
                *known = term;
                return true;
            }
            *known == term || terms.key(*known) == terms.key(term)
        }
        RowPart::Open(_) => false,
    }
}

fn matches_deeply(parts: &[RowPart], row: &[Term], answer: &mut [Term], terms: &Terms) -> bool {
    let mut open = vec![row.iter()];
    for &part in parts {
        let term = loop {
            let siblings = open.last_mut().expect("a pattern has as many parts as it opens");
            match siblings.next() {
                Some(&term) => break term,
                None => drop(open.pop()),
            }
        };
        match part {
            RowPart::Open(length) => match terms.children(term) {
                Some(children) if children.len() == length as usize => open.push(children.iter()),
                _ => return false,
            },
            part if !matches_leaf(part, term, answer, terms) => return false,
            _ => {}
        }
    }
    true
}
