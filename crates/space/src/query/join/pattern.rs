//! The patterns of a join: what each asks of rows, and the rows that may have it.

use super::super::matching::{Match, matches};
use super::super::pattern::{NO_TERM, PatternPart, Patterns, leaves};
use super::super::view::View;
use crate::relation::{COLUMNS_INDEXED_MAX, Path, Relation, Stamp, Trie};
use crate::term::{Term, Terms};
use std::sync::Arc;

/// A pattern of a join. Parameters of the query are variables of the join that are bound from the beginning.
pub(in crate::query) struct JoinPattern {
    pub(super) length: usize,
    /// Which of the spaces it asks.
    place: u8,
    is_flat: bool,
    /// Its parts, what opens it left out; its variables and parameters have numbers of its own, as they first occur.
    parts: Vec<PatternPart>,
    /// The variable of the join for each of its own, and where an index sees it, if it does.
    pub(super) variables: Vec<(u32, Option<Path>)>,
    /// What must stand where, as far as an index sees it.
    pub(super) constants: Vec<(Path, Term)>,
}

/// What ends the list of parts in the shape of a trie.
const END_OF_PARTS: u32 = u32::MAX;

impl JoinPattern {
    /// The patterns of a query; `None` if rows are not joined for it.
    pub(super) fn all(patterns: &Patterns) -> Option<Vec<Self>> {
        let mut start = 0;
        let of = |(number, &end): (usize, &usize)| {
            let from = std::mem::replace(&mut start, end);
            Self::new(&patterns.parts[from..end], patterns.place(number), patterns.variables as u32)
        };
        patterns.ends.iter().enumerate().map(of).collect()
    }

    /// Parameters are numbered after `query_variables` variables.
    fn new(parts: &[PatternPart], place: u8, query_variables: u32) -> Option<Self> {
        let [PatternPart::Open(length), columns @ ..] = parts else { return None };
        let length = *length as usize;
        let mut pattern = Self {
            length,
            place,
            is_flat: columns.len() == length,
            parts: Vec::with_capacity(columns.len()),
            variables: Vec::new(),
            constants: Vec::new(),
        };
        if length > COLUMNS_INDEXED_MAX {
            return None;
        }
        for (part, path) in leaves(columns) {
            let part = match part {
                PatternPart::Any | PatternPart::Key(NO_TERM) => return None,
                PatternPart::Key(key) => {
                    pattern.constants.extend(path.map(|path| (path, key)));
                    part
                }
                PatternPart::Variable(variable) => pattern.own(variable, path),
                PatternPart::Parameter(parameter) => pattern.own(query_variables + parameter, path),
                PatternPart::Open(_) => part,
            };
            pattern.parts.push(part);
        }
        Some(pattern)
    }

    fn own(&mut self, variable: u32, path: Option<Path>) -> PatternPart {
        let known = self.variables.iter().position(|(known, _)| *known == variable);
        let number = known.unwrap_or_else(|| {
            self.variables.push((variable, path));
            self.variables.len() - 1
        });
        PatternPart::Variable(number as u32)
    }

    /// The relations that may have rows for it, in the order in which answers come.
    pub(super) fn sources<'a>(&self, view: View<'a>) -> Sources<'a> {
        let mut first = 0;
        let mut relations = Vec::new();
        for contents in view.of(self.place) {
            let relation = contents.relation_of_length(self.length);
            let may_have = |&(path, key): &(Path, Term)| relation.has(path, key, view.terms);
            if !relation.is_empty() && self.constants.iter().all(may_have) {
                relations.push((relation, first));
                first += relation.len();
            }
        }
        Sources { relations, rows: first }
    }

    /// The trie of its rows, sorted by its own variables in this order; `None` if the caller has given up.
    pub(super) fn trie(
        &self,
        columns: &[usize],
        sources: &Sources<'_>,
        terms: &Terms,
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Arc<Trie>> {
        let (shape, stamps) = (self.shape(columns), sources.stamps());
        let Some((keeper, _)) = sources.relations.first() else {
            return Trie::new(columns.len(), &[], &[], should_stop).map(Arc::new);
        };
        if let Some(trie) = keeper.trie(&shape, &stamps) {
            return Some(trie);
        }
        let (mut cells, mut ordinals) = (Vec::new(), Vec::new());
        let mut answer = Vec::new();
        for &(relation, first) in &sources.relations {
            relation.walk(&self.constants, terms, &mut Vec::new(), &mut |selected| {
                selected.each_numbered(|row, found, _| {
                    if self.takes(found, &mut answer, terms) {
                        cells.extend(columns.iter().map(|&column| answer[column]));
                        ordinals.push(first + row);
                    }
                });
            });
        }
        let trie = Arc::new(Trie::new(columns.len(), &cells, &ordinals, should_stop)?);
        keeper.keep_trie(&shape, &stamps, &trie);
        Some(trie)
    }

    /// Whether a row matches it; then the values of its own variables are put into the answer.
    #[inline]
    pub(super) fn takes(&self, row: &[Term], answer: &mut Vec<Term>, terms: &Terms) -> bool {
        answer.clear();
        answer.resize(self.variables.len(), NO_TERM);
        row.len() == self.length
            && matches(self.is_flat, &self.parts, row, &mut Match { answer, parameters: &[], terms })
    }

    /// Whether its trie is there.
    pub(super) fn has_trie(&self, columns: &[usize], sources: &Sources<'_>) -> bool {
        let keeper = sources.relations.first();
        keeper.is_none_or(|(keeper, _)| keeper.trie(&self.shape(columns), &sources.stamps()).is_some())
    }

    fn shape(&self, columns: &[usize]) -> Vec<u32> {
        let mut shape = vec![self.length as u32];
        for part in &self.parts {
            shape.extend(match *part {
                PatternPart::Open(length) => [0, length],
                PatternPart::Key(key) => [1, key.number()],
                PatternPart::Variable(variable) | PatternPart::Parameter(variable) => [2, variable],
                PatternPart::Any => [3, 0],
            });
        }
        shape.push(END_OF_PARTS);
        shape.extend(columns.iter().map(|&column| column as u32));
        shape
    }
}

/// Where the rows of a pattern lie.
pub(super) struct Sources<'a> {
    /// Relations, with the ordinal of the first row of each.
    pub(super) relations: Vec<(&'a Relation, u32)>,
    /// How many ordinals there are.
    pub(super) rows: u32,
}

impl Sources<'_> {
    fn stamps(&self) -> Vec<Stamp> {
        self.relations.iter().map(|(relation, _)| relation.stamp()).collect()
    }

    /// Whether its rows can be joined: each term is compared as it is, and they lie in insertion order.
    pub(super) fn can_be_joined(&self) -> bool {
        self.relations.iter().all(|(relation, _)| relation.is_without_keys() && relation.is_ordered())
    }

    /// Whether each row has one copy.
    pub(super) fn are_plain(&self) -> bool {
        self.relations.iter().all(|(relation, _)| relation.is_plain())
    }

    /// How many copies there are of the row with an ordinal.
    pub(super) fn copies(&self, ordinal: u32) -> u32 {
        let after = self.relations.partition_point(|&(_, first)| first <= ordinal);
        let (relation, first) = self.relations[after - 1];
        relation.row(ordinal - first).1
    }
}
