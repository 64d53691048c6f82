//! A query whose answers are kept up to date: its patterns, what must be absent, and tests.

use super::head::Head;
use crate::atom::{Atom, Variable};
use crate::patterns::Patterns;
use crate::query::filter::{Filter, FilterInputs, FilterValue};
use crate::query::matching::{Match, matches};
use crate::query::pattern::{NO_TERM, PARTS_MAX, PatternPart, leaves};
use crate::query::view::View;
use crate::relation::Path;
use crate::rewrite::variables;
use crate::term::{Term, Terms};

/// More variables than this are not kept up to date by rows: which of them are bound are bits of a word.
pub(super) const VARIABLES_MAX: usize = 64;

/// More patterns than this are not.
const PATTERNS_MAX: usize = 64;

/// Queries that are nested deeper are not.
const DEPTH_MAX: usize = 16;

/// A query whose answers change with the rows of spaces.
///
/// Its answers are those of its patterns that pass its filters, and for which the patterns of each
/// [absence](DeltaQuery::filter_by) have an answer, or have none.
pub struct DeltaQuery {
    patterns: Vec<Atom>,
    absences: Vec<(Vec<Atom>, bool)>,
    /// Which spaces each pattern asks, a bit for each, and those of the patterns of each absence.
    asked: Vec<u64>,
    asked_by_absences: Vec<Vec<u64>>,
    /// The variables: those of the patterns, as they first occur, then those that only absences have.
    names: Vec<Variable>,
    /// How many are of the patterns.
    outer: usize,
    /// Which of them are asked for.
    wanted: Vec<usize>,
    filters: Vec<Filter>,
    values: Vec<Atom>,
    made: Option<Made>,
}

/// A query in terms of a dictionary.
pub(super) struct Made {
    /// How many terms the dictionary had, if parts of the query were not among them.
    unknown_of: Option<usize>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) absences: Vec<Absence>,
    pub(super) filters: Vec<(u64, Filter)>,
    pub(super) values: Vec<FilterValue>,
    /// The versions of the atoms that are not rows for which it was looked whether one matches, and whether one does.
    looked_at: Option<(Vec<u64>, bool)>,
}

/// Patterns of which an answer must exist, or none.
pub(super) struct Absence {
    pub(super) patterns: Vec<Pattern>,
    /// Whether answers are kept for which they have none.
    pub(super) is_absence: bool,
}

/// A pattern of rows.
pub(super) struct Pattern {
    /// Its parts, without what opens it.
    pub(super) parts: Vec<PatternPart>,
    pub(super) length: usize,
    pub(super) is_flat: bool,
    /// Where indexes see a key or a variable; the head comes last.
    pub(super) paths: Vec<(Path, PatternPart)>,
    /// Its variables, as bits.
    pub(super) variables: u64,
    /// Which spaces it asks, as bits.
    pub(super) spaces: u64,
    /// The pattern itself, and whether parts of it are not in the dictionary.
    atom: Atom,
    is_unknown: bool,
}

impl DeltaQuery {
    /// One of patterns that must all match. `None` if rows do not answer it: a pattern is not an expression, holds a state or a space, or
    /// there are too many.
    pub fn new(patterns: &[Atom]) -> Option<Self> {
        let mut names = Vec::new();
        if patterns.is_empty() || patterns.len() > PATTERNS_MAX || !patterns.iter().all(is_of_rows) {
            return None;
        }
        patterns.iter().for_each(|pattern| number(pattern, &mut names));
        let outer = names.len();
        let wanted = (0..outer).collect();
        let (absences, asked_by_absences, filters, values) = Default::default();
        let (patterns, asked) = (patterns.to_vec(), vec![u64::MAX; patterns.len()]);
        let query =
            Self { patterns, absences, asked, asked_by_absences, names, outer, wanted, filters, values, made: None };
        (outer <= VARIABLES_MAX).then_some(query)
    }

    /// Keeps the answers for which other patterns have an answer, or those for which they have none. `false` if rows do not say.
    pub fn filter_by(&mut self, patterns: &[Atom], is_absence: bool) -> bool {
        let are_rows = !patterns.is_empty() && patterns.len() <= PATTERNS_MAX && patterns.iter().all(is_of_rows);
        patterns.iter().for_each(|pattern| number(pattern, &mut self.names));
        self.absences.push((patterns.to_vec(), is_absence));
        self.asked_by_absences.push(vec![u64::MAX; patterns.len()]);
        are_rows && self.names.len() <= VARIABLES_MAX
    }

    /// Says which of the spaces that are looked at together each pattern asks, a bit for each, and each pattern of each absence; all of them
    /// unless this is said.
    pub(crate) fn ask_of(&mut self, asked: Vec<u64>, asked_by_absences: Vec<Vec<u64>>) {
        debug_assert_eq!((asked.len(), asked_by_absences.len()), (self.patterns.len(), self.absences.len()));
        (self.asked, self.asked_by_absences) = (asked, asked_by_absences);
    }

    /// Keeps the answers that certainly pass these tests, whose variables are those of the patterns, in the order of
    /// [`DeltaQuery::variables`], and whose given values are these atoms.
    pub fn test_by(&mut self, filters: Vec<Filter>, values: Vec<Atom>) {
        (self.filters, self.values) = (filters, values);
    }

    /// The variables of its patterns, as they first occur.
    pub fn variables(&self) -> &[Variable] {
        &self.names[..self.outer]
    }

    /// Asks for these variables only; all are of its patterns.
    pub fn ask_for(&mut self, wanted: &[Variable]) {
        self.wanted =
            wanted.iter().filter_map(|name| self.variables().iter().position(|known| known == name)).collect();
    }

    /// Which of the variables are asked for.
    pub(super) fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// How many variables there are, those of absences counted.
    pub(super) fn width(&self) -> usize {
        self.names.len()
    }

    /// The variables of its patterns, as bits.
    pub(super) fn outer(&self) -> u64 {
        u64::MAX.checked_shr(64 - self.outer as u32).unwrap_or(0)
    }

    /// The lengths and heads of the rows that its answers depend on.
    pub fn heads(&self) -> impl Iterator<Item = Head> {
        let absent = self.absences.iter().flat_map(|(patterns, _)| patterns);
        self.patterns.iter().chain(absent).map(Head::of)
    }

    /// The query in terms of a dictionary, made anew if the dictionary has grown and lacked parts of it.
    pub(super) fn made(&mut self, terms: &Terms) -> &mut Made {
        let is_made = self.made.as_ref().is_some_and(|made| made.unknown_of.is_none_or(|length| length == terms.len()));
        if !is_made {
            self.made = Some(self.make(terms));
        }
        self.made.as_mut().expect("it has been made")
    }

    /// The query as it was made last.
    pub(super) fn kept(&self) -> &Made {
        self.made.as_ref().expect("it has been made")
    }

    fn make(&self, terms: &Terms) -> Made {
        let mut has_unknown = false;
        let mut pattern = |(atom, &spaces): (&Atom, &u64)| Pattern {
            spaces,
            ..Pattern::new(atom, &self.names, terms, &mut has_unknown)
        };
        let patterns = self.patterns.iter().zip(&self.asked).map(&mut pattern).collect();
        let absence = |((patterns, is_absence), asked): (&(Vec<Atom>, bool), &Vec<u64>)| Absence {
            patterns: patterns.iter().zip(asked).map(&mut pattern).collect(),
            is_absence: *is_absence,
        };
        let absences = self.absences.iter().zip(&self.asked_by_absences).map(absence).collect();
        let tested = |filter: &Filter| filter.variables().iter().fold(0_u64, |bits, variable| bits | 1 << variable);
        let filters = self.filters.iter().map(|filter| (tested(filter), filter.clone())).collect();
        let values = self.values.iter().enumerate().map(|(place, atom)| {
            let key = terms.find_key(atom);
            has_unknown |= key.is_none();
            // What was never interned equals no row, and no other value.
            let is_same = |other: &Atom| other == atom;
            let first = self.values.iter().position(is_same).unwrap_or(place);
            let key = key.unwrap_or(Term::new(NO_TERM.number() - 1 - first as u32));
            FilterInputs::of_data(&[]).value_of(atom, key)
        });
        let values = values.collect();
        let unknown_of = has_unknown.then_some(terms.len());
        Made { unknown_of, patterns, absences, filters, values, looked_at: None }
    }
}

impl Made {
    /// Whether rows alone answer the query: no other atom matches one of its patterns.
    pub(super) fn is_of_rows(&mut self, view: View<'_>) -> bool {
        let versions: Vec<u64> = view.spaces.iter().map(|contents| contents.patterns().version()).collect();
        if let Some((known, is_of_rows)) = &self.looked_at
            && *known == versions
            && self.unknown_of.is_none()
        {
            return *is_of_rows;
        }
        let absent = self.absences.iter().flat_map(|absence| &absence.patterns);
        let may_match = self.patterns.iter().chain(absent).any(|pattern| pattern.may_match_others(view));
        self.looked_at = Some((versions, !may_match));
        !may_match
    }
}

impl Pattern {
    fn new(atom: &Atom, names: &[Variable], terms: &Terms, has_unknown: &mut bool) -> Self {
        let children = atom.children().unwrap_or_default();
        let (mut parts, mut bits, mut is_unknown) = (Vec::new(), 0_u64, false);
        let mut work: Vec<&Atom> = children.iter().rev().collect();
        while let Some(atom) = work.pop() {
            parts.push(match atom {
                Atom::Variable(variable) => {
                    let number = names.iter().position(|name| name == variable).expect("each variable has a number");
                    bits |= 1 << number;
                    PatternPart::Variable(number as u32)
                }
                Atom::Expression(inner) if !atom.is_rigid() => {
                    work.extend(inner.children().iter().rev());
                    PatternPart::Open(inner.len() as u32)
                }
                rigid => {
                    let key = terms.find_key(rigid);
                    is_unknown |= key.is_none();
                    PatternPart::Key(key.unwrap_or(NO_TERM))
                }
            });
        }
        let seen = leaves(&parts).into_iter().filter_map(|(part, path)| match part {
            PatternPart::Key(_) | PatternPart::Variable(_) => path.map(|path| (path, part)),
            _ => None,
        });
        let mut paths: Vec<(Path, PatternPart)> = seen.collect();
        if paths.first().is_some_and(|&(path, _)| path == (0, None)) {
            paths.rotate_left(1);
        }
        let is_flat = parts.len() == children.len();
        *has_unknown |= is_unknown;
        let atom = atom.clone();
        Self { parts, length: children.len(), is_flat, paths, variables: bits, spaces: u64::MAX, atom, is_unknown }
    }

    /// Binds variables by a row; `false` if it does not match.
    pub(super) fn matches(&self, row: &[Term], answer: &mut [Term], terms: &Terms) -> bool {
        let mut found = Match { answer, parameters: &[], terms };
        row.len() == self.length && matches(self.is_flat, &self.parts, row, &mut found)
    }

    /// Whether it asks a space.
    pub(super) fn asks(&self, space: usize) -> bool {
        self.spaces >> space & 1 == 1
    }

    /// Whether an atom that is not a row may match.
    fn may_match_others(&self, view: View<'_>) -> bool {
        let opening = PatternPart::Open(self.length as u32);
        let parts: Vec<PatternPart> = std::iter::once(opening).chain(self.parts.iter().copied()).collect();
        let asked = view.spaces.iter().enumerate().filter(|(space, _)| self.asks(*space));
        let mut trees = asked.map(|(_, contents)| contents.patterns()).filter(|tree| !tree.is_empty());
        // Of what was never interned no part says what it is; and what has been removed may still be seen by its parts.
        let is_ruled_out = |tree: &&Patterns| !self.is_unknown && !tree.may_match(&parts, view.terms);
        trees.any(|tree| !is_ruled_out(&tree) && !tree.candidates(&self.atom).is_empty())
    }
}

/// Numbers the variables of a pattern that have no number yet.
fn number(pattern: &Atom, names: &mut Vec<Variable>) {
    for variable in variables(pattern) {
        if !names.contains(&variable) {
            names.push(variable);
        }
    }
}

/// Whether rows can match a pattern: it is an expression without states and spaces.
fn is_of_rows(pattern: &Atom) -> bool {
    let mut work = vec![(pattern, 0)];
    let is_expression = pattern.children().is_some();
    is_expression
        && std::iter::from_fn(|| {
            let (atom, depth) = work.pop()?;
            Some(match atom {
                Atom::Variable(_) => true,
                Atom::Expression(inner) if !atom.is_rigid() => {
                    work.extend(inner.children().iter().map(|child| (child, depth + 1)));
                    depth <= DEPTH_MAX
                }
                leaf => leaf.is_rigid(),
            })
        })
        .enumerate()
        .all(|(number, is_of_rows)| is_of_rows && number < PARTS_MAX)
}
