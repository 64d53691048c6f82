//! Loops over the patterns in another order than they are written in.

use super::super::filter::{Filter, Filters, Given};
use super::super::loops::{LoopStep, Loops};
use super::super::made::Made;
use super::super::matching::{Match, matches};
use super::super::pattern::{NO_TERM, Patterns};
use super::super::unfinished::Unfinished;
use super::super::usage::Usages;
use super::super::view::View;
use super::house_order::{HouseOrder, deciding};
use super::prepared::Room;
use crate::relation::{Path, Relation};
use crate::term::{Term, Terms};

/// How many partial answers are extended between two looks whether the caller has given up.
const ANSWERS_BETWEEN_LOOKS: usize = 256;

/// Patterns in another order, with what puts the answers back into the order of the patterns as written.
pub(super) struct Reordered {
    loops: Loops,
    filters: Filters,
    usages: Usages,
    /// For each step, the pattern that it answers, by its number.
    pub(super) order: Vec<usize>,
    /// The patterns whose rows decide where an answer comes.
    deciding: Vec<usize>,
}

/// The relations that may have rows for a step, with the ordinal of the first row of each.
type Asked<'a> = Vec<(&'a Relation, u32)>;

/// Answers as far as they were found: the terms of each, and what says where it comes.
#[derive(Default)]
struct Partial {
    cells: Vec<Term>,
    count: usize,
}

impl Reordered {
    /// The patterns in this order.
    pub(super) fn new(patterns: &Patterns, filters: &[Filter], order: &[usize]) -> Self {
        let mut reordered = Patterns { variables: patterns.variables, ..Patterns::default() };
        for &number in order {
            let start = number.checked_sub(1).map_or(0, |before| patterns.ends[before]);
            reordered.parts.extend_from_slice(&patterns.parts[start..patterns.ends[number]]);
            reordered.end_pattern_in(patterns.place(number));
        }
        let mut loops = Loops::default();
        loops.patterns = reordered;
        loops.make();
        let filters = Filters::of_loops(filters, &loops);
        let mut usages = Usages::default();
        usages.begin(loops.steps.len());
        Self { loops, filters, usages, order: order.to_vec(), deciding: deciding(patterns) }
    }

    /// The loops by which its answers are counted.
    pub(super) fn made(&self) -> Made<'_> {
        Made { loops: &self.loops, filters: &self.filters, usages: &self.usages }
    }

    /// Adds the answers, in the order of the patterns as written; gives how many there are.
    pub(super) fn execute(
        &self,
        view: View<'_>,
        given: Given<'_>,
        Room { answers, after_each, most }: Room<'_>,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<usize, Unfinished> {
        let steps = self.loops.steps.iter();
        let asked: Option<Vec<(Asked<'_>, u32)>> = steps.map(|step| self.asked(step, view, given.parameters)).collect();
        let asked = asked.ok_or(Unfinished::NotRows)?;
        let are_plain =
            asked.iter().all(|(asked, _)| asked.len() < 2 && asked.iter().all(|(relation, _)| relation.is_plain()));
        let rows_of = |pattern: usize| asked[self.order.iter().position(|&number| number == pattern).unwrap_or(0)].1;
        let rows: Vec<u32> = match are_plain {
            true => self.deciding.iter().map(|&pattern| rows_of(pattern)).collect(),
            false => (0..self.order.len()).flat_map(|pattern| [rows_of(pattern), u32::MAX]).collect(),
        };
        let variables = self.loops.variables();
        let width = variables + rows.len();
        let mut found = Partial { cells: vec![NO_TERM; width], count: 1 };
        let steps = self.loops.steps.iter().zip(&self.order).zip(&asked).enumerate();
        for (number, ((step, &pattern), (asked, _))) in steps {
            let place = match are_plain {
                true => self.deciding.iter().position(|&deciding| deciding == pattern),
                false => Some(2 * pattern),
            };
            let place = Place { variables, width, ordinal: place.map(|place| variables + place), are_plain };
            let inputs = (given.parameters, view.terms, most);
            let next = self.extend(&found, (step, asked), place, inputs, should_stop);
            found = next.ok_or(Unfinished::Stopped)?;
            if self.filters.has(number) {
                let widths = [width, variables];
                let answers = (&mut found.cells, found.count);
                found.count = self.filters.keep(number, answers, widths, (given, view), should_stop)?;
            }
            if found.count > most {
                return Err(Unfinished::TooMany);
            }
            after_each.push(found.count);
        }
        let mut order = HouseOrder::new(rows.into_iter());
        for answer in found.cells.chunks_exact(width.max(1)).take(found.count) {
            answers.extend_from_slice(&answer[..variables]);
            order.push(answer[variables..].iter().map(|ordinal| ordinal.number()));
        }
        order.sort(variables, answers);
        Ok(found.count)
    }

    /// The relations that may have rows for a step, and how many ordinals there are; `None` if rows of one may be equal to others, or
    /// lie out of order.
    fn asked<'a>(&self, step: &LoopStep, view: View<'a>, parameters: &[Term]) -> Option<(Asked<'a>, u32)> {
        let (mut asked, mut first) = (Vec::new(), 0);
        for contents in view.of(step.place) {
            let relation = contents.relation_of_length(step.length);
            if !relation.is_ordered() || !relation.is_without_keys() {
                return None;
            }
            if step.may_answer(&self.loops.known, Some(parameters), relation, view.terms) {
                asked.push((relation, first));
            }
            first += relation.len();
        }
        Some((asked, first))
    }

    /// What the rows for a step make of the answers so far, as far as that is not more than there is room for; `None` if the caller has
    /// given up.
    fn extend(
        &self,
        found: &Partial,
        (step, asked): (&LoopStep, &Asked<'_>),
        place: Place,
        (parameters, terms, most): (&[Term], &Terms, usize),
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Partial> {
        let Place { variables, width, ordinal, are_plain } = place;
        let parts = &self.loops.patterns.parts[step.parts[0]..step.parts[1]];
        let known = &self.loops.known[step.known[0]..step.known[1]];
        let (mut next, mut keys) = (Partial::default(), Vec::with_capacity(known.len()));
        let mut room = (Vec::new(), Vec::new());
        for number in 0..found.count {
            if number % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && should_stop() {
                return None;
            }
            if next.count > most {
                break;
            }
            let current = &found.cells[number * width..][..width];
            keys.clear();
            keys.extend(known.iter().map(|&(path, key)| (path, key.key(parameters, current, terms))));
            if keys.iter().any(|&(_, key)| key == NO_TERM) {
                continue;
            }
            for &(relation, first) in asked {
                each_row(step, relation, &keys, terms, &mut room, &mut |row, row_terms, copies| {
                    let cells = &mut next.cells;
                    let start = cells.len();
                    cells.extend_from_slice(current);
                    let mut answer = Match { answer: &mut cells[start..start + variables], parameters, terms };
                    if row_terms.len() != step.length || !matches(step.is_flat, parts, row_terms, &mut answer) {
                        return cells.truncate(start);
                    }
                    if let Some(place) = ordinal {
                        cells[start + place] = Term::new(first + row);
                    }
                    next.count += copies as usize;
                    for copy in 0..copies {
                        let start = if copy == 0 { start } else { cells.len() };
                        if copy > 0 {
                            cells.extend_from_within(start - width..start);
                        }
                        if let (Some(place), false) = (ordinal, are_plain) {
                            cells[start + place + 1] = Term::new(copy);
                        }
                    }
                });
            }
        }
        Some(next)
    }
}

/// Where things stand in an answer so far.
#[derive(Clone, Copy)]
struct Place {
    variables: usize,
    width: usize,
    /// Where the ordinal of a row of the pattern goes, and the number of its copy after it unless each row has one.
    ordinal: Option<usize>,
    are_plain: bool,
}

/// Goes through the rows that may have these keys, with the number of each and of its copies.
fn each_row(
    step: &LoopStep,
    relation: &Relation,
    keys: &[(Path, Term)],
    terms: &Terms,
    (row, rows): &mut (Vec<Term>, Vec<u32>),
    visit: &mut impl FnMut(u32, &[Term], u32),
) {
    rows.clear();
    if !step.is_known {
        return relation.walk(keys, terms, rows, &mut |selected| selected.each_numbered(&mut *visit));
    }
    row.clear();
    row.extend(keys.iter().map(|&(_, key)| key));
    relation.find_rows(row, terms, rows);
    for &row in rows.iter() {
        let (found, copies) = relation.row(row);
        visit(row, found, copies);
    }
}
