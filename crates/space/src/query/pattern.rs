//! Patterns as sequences of parts, in the order in which they are written.

use crate::atom::{Atom, Expression, Variable};
use crate::relation::{COLUMNS_INDEXED_MAX, Path};
use crate::term::{Term, Terms};

/// A part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternPart {
    /// An expression of this many parts begins.
    Open(u32),
    /// Something with this match key.
    Key(Term),
    /// Something whose match key is a parameter of the plan, by its number.
    Parameter(u32),
    /// A variable, by its number.
    Variable(u32),
    /// Anything: what it must be is looked at by unification.
    Any,
}

/// A match key that nothing has: that of an atom that was never interned.
pub const NO_TERM: Term = Term::new(u32::MAX);

/// Queries of atoms with more variables than this are answered by unification.
pub(crate) const VARIABLES_MAX: usize = 8;

/// Queries that are nested deeper are answered by unification.
const DEPTH_MAX: usize = 16;

/// So are those of more parts, each counted wherever it stands.
pub(super) const PARTS_MAX: usize = 1 << 16;

/// Variables by their numbers.
pub(super) type Variables<'a> = [Option<&'a Variable>; VARIABLES_MAX];

/// Patterns that must all match.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    pub(super) parts: Vec<PatternPart>,
    /// Where each pattern ends in `parts`.
    pub(super) ends: Vec<usize>,
    /// Which of the spaces that are asked each pattern asks, by its number; those that are left out ask the first.
    pub(super) places: Vec<u8>,
    /// How many variables they have.
    pub(super) variables: usize,
}

impl Patterns {
    pub(super) fn clear(&mut self) {
        self.parts.clear();
        self.ends.clear();
        self.places.clear();
        self.variables = 0;
    }

    pub(super) fn push(&mut self, part: PatternPart) {
        if let PatternPart::Variable(variable) = part {
            self.variables = self.variables.max(variable as usize + 1);
        }
        self.parts.push(part);
    }

    pub(super) fn end_pattern(&mut self) {
        self.end_pattern_in(0);
    }

    /// Ends a pattern that asks one of several spaces.
    pub(super) fn end_pattern_in(&mut self, place: u8) {
        if place > 0 {
            self.places.resize(self.ends.len(), 0);
            self.places.push(place);
        }
        self.ends.push(self.parts.len());
    }

    /// Which of the spaces a pattern asks.
    pub(super) fn place(&self, pattern: usize) -> u8 {
        self.places.get(pattern).copied().unwrap_or_default()
    }

    /// Writes down a pattern, or a conjunction of patterns; `false` if rows cannot answer them.
    pub(super) fn put<'a>(&mut self, query: &'a Atom, variables: &mut Variables<'a>, terms: &Terms) -> bool {
        self.clear();
        match conjunction(query) {
            Some([]) => false,
            Some(patterns) => patterns.iter().all(|pattern| self.put_pattern(pattern, variables, terms)),
            None => self.put_pattern(query, variables, terms),
        }
    }

    fn put_pattern<'a>(&mut self, pattern: &'a Atom, variables: &mut Variables<'a>, terms: &Terms) -> bool {
        let Atom::Expression(expression) = pattern else { return false };
        self.push(PatternPart::Open(expression.len() as u32));
        let is_put = self.put_deep(expression.children(), 0, variables, terms);
        self.end_pattern();
        is_put
    }

    /// Writes down anything but an expression with variables; `false` if rows do not hold such things.
    #[inline]
    fn put_leaf<'a>(&mut self, atom: &'a Atom, variables: &mut Variables<'a>, terms: &Terms) -> bool {
        let part = match atom {
            Atom::Variable(variable) => match number_of(variable, variables) {
                Some(number) => PatternPart::Variable(number),
                None => return false,
            },
            atom if atom.is_rigid() => PatternPart::Key(terms.find_key(atom).unwrap_or(NO_TERM)),
            _ => return false,
        };
        self.push(part);
        true
    }

    /// Writes down all of these; `false` also if they are nested too deep.
    fn put_deep<'a>(
        &mut self,
        children: &'a [Atom],
        depth: usize,
        variables: &mut Variables<'a>,
        terms: &Terms,
    ) -> bool {
        children.iter().all(|child| match child {
            Atom::Expression(expression) if !child.is_rigid() => {
                self.push(PatternPart::Open(expression.len() as u32));
                let is_small = depth < DEPTH_MAX && self.parts.len() < PARTS_MAX;
                is_small && self.put_deep(expression.children(), depth + 1, variables, terms)
            }
            leaf => self.put_leaf(leaf, variables, terms),
        })
    }

    /// Writes down what an index can know of an expression: keys of rigid columns and of the children of the others. `false`
    /// if a rigid part was never interned, so that no row matches.
    pub(super) fn put_indexable(&mut self, query: &Expression, terms: &Terms) -> bool {
        self.clear();
        self.push(PatternPart::Open(query.len() as u32));
        let is_put = query.children().iter().enumerate().all(|(column, child)| match child {
            Atom::Expression(inner) if !child.is_rigid() && column < COLUMNS_INDEXED_MAX => {
                self.push(PatternPart::Open(inner.len() as u32));
                inner.children().iter().all(|child| self.put_key(child, terms))
            }
            child => self.put_key(child, terms),
        });
        self.end_pattern();
        is_put
    }

    fn put_key(&mut self, atom: &Atom, terms: &Terms) -> bool {
        let key = if atom.is_rigid() { terms.find_key(atom) } else { None };
        self.push(key.map_or(PatternPart::Any, PatternPart::Key));
        key.is_some() || !atom.is_rigid()
    }
}

/// The number of a variable, which is the next one if it is new; `None` if there are too many.
fn number_of<'a>(variable: &'a Variable, variables: &mut Variables<'a>) -> Option<u32> {
    let place = variables.iter().position(|known| known.is_none_or(|known| known == variable))?;
    variables[place] = Some(variable);
    Some(place as u32)
}

/// How many parts the first subpattern has.
pub(crate) fn extent(parts: &[PatternPart]) -> usize {
    let (mut open, mut at) = (1_usize, 0);
    while open > 0 {
        open -= 1;
        if let PatternPart::Open(length) = parts[at] {
            open += length as usize;
        }
        at += 1;
    }
    at
}

/// The parts of the columns of a pattern, and of those that are not openings where an index sees them: their column, or their column and
/// their place in what is opened there. `None` for what lies deeper or further to the right.
pub(crate) fn leaves(columns: &[PatternPart]) -> Vec<(PatternPart, Option<Path>)> {
    let mut found = Vec::with_capacity(columns.len());
    // For each open expression, how many parts are left and which comes next.
    let mut open: Vec<[u32; 2]> = Vec::new();
    let mut column = 0;
    for &part in columns {
        while open.last().is_some_and(|[left, _]| *left == 0) {
            open.pop();
        }
        let path = match open.as_slice() {
            [] => Some((column, None)),
            [[_, child]] => Some((column - 1, Some(*child))),
            _ => None,
        };
        match open.last_mut() {
            None => column += 1,
            Some([left, child]) => (*left, *child) = (*left - 1, *child + 1),
        }
        if let PatternPart::Open(length) = part {
            open.push([length, 0]);
        }
        let is_seen = |(column, child): &Path| {
            (*column as usize) < COLUMNS_INDEXED_MAX && child.is_none_or(|child| (child as usize) < COLUMNS_INDEXED_MAX)
        };
        found.push((part, path.filter(is_seen)));
    }
    found
}

/// The patterns of a conjunction `(, p1 p2 …)`.
pub fn conjunction(query: &Atom) -> Option<&[Atom]> {
    match query.children()? {
        [head, patterns @ ..] if head.is_symbol(",") => Some(patterns),
        _ => None,
    }
}
