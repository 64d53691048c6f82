//! Executing a plan over a view: patterns one after the other, each for all answers so far.

use super::counted::{self, Counted};
use super::filter::{Filter, Given};
use super::grouped::Factored;
use super::join::{Chosen, Ended};
use super::loops::{Known, Loops, Step};
use super::matching::{Match, matches};
use super::pattern::{NO_TERM, PatternPart};
use super::plan::{Made, Plan};
use super::project::Projection;
use super::view::View;
use crate::relation::{Path, Relation, RowSelection};
use crate::term::{Term, Terms};
use std::ops::Range;

/// Says whether the caller of a query has given up. It is called now and then.
pub type ShouldStop<'a> = &'a dyn Fn() -> bool;

/// How many partial answers are extended before it is called.
pub(super) const ANSWERS_BETWEEN_LOOKS: usize = 16;

/// The answers of a query, a term for each variable, and room for finding them.
#[derive(Debug, Default)]
pub struct Answers {
    pub(super) found: Vec<Term>,
    pub(super) next: Vec<Term>,
    /// The answer that is being extended.
    pub(super) current: Vec<Term>,
    rows: Vec<u32>,
    keys: Vec<(Path, Term)>,
    row: Vec<Term>,
    pub(super) width: usize,
    /// Whether answers may be left grouped by the rows of the last pattern, and those rows, if they are.
    pub(super) may_be_grouped: bool,
    pub(super) factored: Option<Factored>,
    is_stopped: bool,
    /// How many rows may be looked at before it is chosen how to go on.
    rows_left: Option<usize>,
    /// Whether answers are counted: what the last pattern makes of those so far is not kept then, where that need not be looked at.
    counts_only: bool,
    /// What was counted before of the last pattern.
    counted: Counted,
    /// How many answers there were so far after each pattern, or each variable of a join.
    after_each: Vec<usize>,
    /// How many answers were made by all patterns, those that filters dropped included.
    looked_at: usize,
    /// Whether they were found in the way that was chosen for their plan.
    are_chosen: bool,
}

/// Some of the rows that are listed for the first pattern of a plan, in their order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// How many are left out at the beginning.
    skipped: usize,
    /// How many are taken then.
    taken: usize,
}

impl Window {
    /// Moves on by `rows` rows; gives which of them are within.
    fn pass(&mut self, rows: usize) -> Range<usize> {
        let skipped = self.skipped.min(rows);
        let taken = self.taken.min(rows - skipped);
        (self.skipped, self.taken) = (self.skipped - skipped, self.taken - taken);
        skipped..skipped + taken
    }
}

/// How many rows are looked at in the order in which patterns are written before another order is thought of.
pub(super) const ROWS_BEFORE_CHOICE: usize = 1_000;

/// How many rows that may not match are looked at in place of one that does: a choice of another order takes longer than to look at them.
const LOOKS_FOR_A_ROW: usize = 16;

/// Room for more terms than this is given back.
const ROOM_TERMS_MAX: usize = 1 << 12;

impl Answers {
    /// The answers one after the other; [`NO_TERM`] stands for a variable without a value, and for an answer without variables.
    pub fn terms(&mut self) -> &mut Vec<Term> {
        &mut self.found
    }

    /// Whether the search was given up before all answers were found: those that there are mean nothing.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Says that they are about to be found by a first look.
    pub(super) fn begin_first_look(&mut self) {
        self.are_chosen = false;
    }

    /// Puts other answers into their place.
    pub(super) fn replace(&mut self, found: Vec<Term>) {
        self.found = found;
    }

    /// Says how many rows may be looked at.
    pub(super) fn limit_rows(&mut self, rows: Option<usize>) {
        self.rows_left = rows;
    }

    /// How many answers there were so far after each pattern, or each variable of a join.
    pub(super) fn after_each(&self) -> &[usize] {
        &self.after_each
    }

    /// Whether they were found in the way that was chosen for their plan, and not by a first look.
    pub(super) fn are_chosen(&self) -> bool {
        self.are_chosen
    }

    /// How many answers were made by all patterns, those that filters dropped included.
    pub(super) fn looked_at(&self) -> usize {
        self.looked_at
    }

    /// An answer by its place.
    pub(super) fn get(&self, place: usize) -> &[Term] {
        &self.found[place * self.width..][..self.width]
    }

    /// Forgets answers that took much room.
    pub(super) fn shrink(&mut self) {
        self.factored = None;
        for terms in [&mut self.found, &mut self.next] {
            terms.clear();
            terms.shrink_to(ROOM_TERMS_MAX);
        }
        self.rows.clear();
        self.rows.shrink_to(ROOM_TERMS_MAX);
    }
}

impl View<'_> {
    /// Whether an atom that is not a row may match one of the patterns of a plan; without `parameters` the
    /// answer holds whatever they are.
    pub(super) fn may_match_others(self, plan: &Plan, parameters: Option<&[Term]>) -> bool {
        let subqueries = plan.filters.all().iter().filter_map(Filter::subquery);
        self.may_match_others_of(&plan.loops, parameters)
            || subqueries.into_iter().any(|subquery| self.may_match_others_of(subquery.loops(), None))
    }

    fn may_match_others_of(self, loops: &Loops, parameters: Option<&[Term]>) -> bool {
        let mut room = Vec::new();
        loops.each_pattern().any(|(place, parts)| {
            let mut trees = self.of(place).iter().map(|contents| contents.patterns()).filter(|tree| !tree.is_empty());
            trees.any(|tree| match parameters {
                Some(parameters) if parts.iter().any(|part| matches!(part, PatternPart::Parameter(_))) => {
                    room.clear();
                    room.extend(parts.iter().map(|&part| match part {
                        PatternPart::Parameter(parameter) => PatternPart::Key(parameters[parameter as usize]),
                        part => part,
                    }));
                    tree.may_match(&room, self.terms)
                }
                _ => tree.may_match(parts, self.terms),
            })
        })
    }

    /// Whether a space has rows that may answer one of the patterns of a plan, whatever its parameters are.
    pub(super) fn may_answer(self, plan: &Plan) -> bool {
        let mut subqueries = plan.filters.all().iter().filter_map(Filter::subquery);
        self.may_answer_loops(&plan.loops) || subqueries.any(|subquery| self.may_answer_loops(subquery.loops()))
    }

    fn may_answer_loops(self, loops: &Loops) -> bool {
        loops.steps.iter().any(|step| {
            self.of(step.place).iter().any(|contents| {
                let relation = contents.relation_of_length(step.length);
                step.may_answer(&loops.known, None, relation, self.terms)
            })
        })
    }

    /// Whether rows alone answer a plan, whose steps are made then.
    #[inline]
    pub(super) fn is_answered(self, plan: &mut Plan, parameters: &[Term]) -> bool {
        plan.make() && !self.may_match_others(plan, Some(parameters))
    }

    /// Finds the answers of a plan; `None` if they are not all rows.
    pub(super) fn execute(
        self,
        plan: &mut Plan,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        self.is_answered(plan, given.parameters).then(|| self.find_rows(plan, given, answers, should_stop))
    }

    /// Finds the rows that answer a plan whose steps are made; gives how many answers there are.
    pub(super) fn find_rows(
        self,
        plan: &mut Plan,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        let loops = &plan.loops;
        answers.begin_first_look();
        match (loops.steps.as_slice(), self.spaces) {
            ([step], [contents]) if step.taken > 0 && plan.filters.is_empty() => {
                let relation = contents.relation_of_length(step.length);
                let adjacent = self.adjacent(plan.made(), 0, 1, given.parameters, should_stop);
                let taken =
                    adjacent.and_then(|adjacent| answers.take_adjacent(&adjacent, given.parameters, self.terms));
                taken.unwrap_or_else(|| {
                    let count = answers.take_only(step, loops, given.parameters, relation, self.terms);
                    plan.usages.note(0, count);
                    count
                })
            }
            ([_], _) => self.find_within(None, plan.made(), given, answers, should_stop).unwrap_or_default(),
            _ => self.find_joined(plan, given, answers, should_stop),
        }
    }

    /// Finds the answers of several patterns. The first rows are looked at in the order in which the patterns are written; if there are
    /// more, it is chosen how to go on.
    fn find_joined(
        self,
        plan: &mut Plan,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> usize {
        if !plan.chosen.as_ref().is_some_and(|chosen| chosen.is_for(self, false)) {
            answers.rows_left = Some(ROWS_BEFORE_CHOICE);
            let found = self.find_within(None, plan.made(), given, answers, should_stop);
            answers.rows_left = None;
            if let Some(count) = found {
                return count;
            }
        }
        let found = self.find_chosen(plan, given, answers, should_stop);
        let as_written = || self.find_within(None, plan.made(), given, answers, should_stop).unwrap_or_default();
        found.unwrap_or_else(as_written)
    }

    /// Finds the answers in the way that is chosen, or counts them if that is asked; `None` if that is to loop over the patterns as they are written.
    pub(super) fn find_chosen(
        self,
        plan: &mut Plan,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let counts = answers.counts_only;
        let mut chosen = self.chosen(plan, counts);
        answers.are_chosen = true;
        let room = answers.found_for(plan.variables());
        let ended = match counts {
            true => chosen.count(self, given, room, should_stop),
            false => chosen.execute(self, given, room, should_stop),
        };
        plan.chosen = Some(chosen);
        Some(match ended? {
            Ended::Answers(count) if counts => count,
            Ended::Answers(count) => answers.complete(count),
            Ended::Stopped => answers.stop(),
        })
    }

    /// How several patterns are answered, taken out of their plan if that was chosen for about as many rows as there are.
    fn chosen(self, plan: &mut Plan, counts: bool) -> Box<Chosen> {
        let chosen = plan.chosen.take().filter(|chosen| chosen.is_for(self, counts));
        chosen
            .unwrap_or_else(|| Box::new(Chosen::new((&plan.loops, &plan.filters), self, (counts, plan.forgets_sorted))))
    }

    /// Finds those answers that begin with some of the rows that are listed for the first pattern: `rows` of them, from `from` on.
    /// Gives how many answers there are, and whether rows may be left. Only what does not change meanwhile lists the same rows each
    /// time. `None` if more rows were to be looked at than are left.
    pub(super) fn find_batch(
        self,
        [from, rows]: [usize; 2],
        made: Made<'_>,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<(usize, bool)> {
        let mut window = Window { skipped: from, taken: rows };
        let count = self.find_within(Some(&mut window), made, given, answers, should_stop)?;
        Some((count, window.taken == 0))
    }

    /// `None` if more rows were to be looked at than are left.
    pub(super) fn find_within(
        self,
        mut window: Option<&mut Window>,
        made: Made<'_>,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let Made { loops, filters, usages } = made;
        answers.begin(loops.variables());
        let mut count = 1;
        for (number, step) in loops.steps.iter().enumerate() {
            let is_tested = filters.has(number);
            let is_last = number > 0 && number + 1 == loops.steps.len();
            let is_counted = answers.counts_only && is_last && step.is_countable() && !is_tested;
            answers.next.clear();
            let adjacent = match &window {
                None if !is_counted => self.adjacent(made, number, count, given.parameters, should_stop),
                _ => None,
            };
            if let Some(adjacent) = adjacent {
                let values = (given.parameters, self.terms);
                if is_last && !is_tested && answers.are_grouped(count) {
                    count = answers.factor(&adjacent, count, values);
                    answers.looked_at += count;
                    answers.after_each.push(count);
                    return Some(count);
                }
                let most = answers.rows_left.unwrap_or(usize::MAX);
                match answers.extend_adjacent(&adjacent, (count, most), values, should_stop) {
                    Some(made) if made > most => return None,
                    Some(made) => count = made,
                    None => return Some(answers.stop()),
                }
            } else {
                let so_far = SoFar { count, is_counted, window: window.take() };
                count = self.extend_each(so_far, (step, loops), given.parameters, answers, should_stop)?;
                if answers.is_stopped {
                    return Some(0);
                }
                usages.note(number, count);
            }
            answers.rows_left = answers.rows_left.map(|left| left.saturating_sub(count));
            answers.looked_at += count;
            if is_tested {
                let widths = [answers.width; 2];
                match filters.keep(number, (&mut answers.next, count), widths, (given, self), should_stop) {
                    Some(kept) => count = kept,
                    None => return Some(answers.stop()),
                }
            }
            std::mem::swap(&mut answers.found, &mut answers.next);
            answers.after_each.push(count);
        }
        Some(answers.complete(count))
    }

    /// Extends each answer so far by the rows that an index lists for it; gives how many answers that makes. `None` if more rows were to be
    /// looked at than are left.
    fn extend_each(
        self,
        SoFar { count, is_counted, mut window }: SoFar<'_>,
        (step, loops): (&Step, &Loops),
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let by = if is_counted && count >= counted::ANSWERS_MIN { step.counted_by(&loops.known) } else { None };
        let (spaces, asked) = (self.of(step.place), self.asked(count, (step, loops), parameters));
        let mut made = 0;
        for place in 0..count {
            if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && should_stop() {
                return Some(answers.stop());
            }
            let value = by.map(|variable| answers.get(place)[variable as usize]);
            if let Some(known) = value.and_then(|value| answers.counted.get(value)) {
                made += known;
                continue;
            }
            let before = made;
            answers.take_up(place);
            for (_, contents) in spaces.iter().enumerate().filter(|(place, _)| asked >> place & 1 == 1) {
                let relation = contents.relation_of_length(step.length);
                made += if is_counted {
                    answers.count(step, loops, parameters, relation, self.terms)
                } else {
                    answers.extend((step, window.as_deref_mut()), loops, parameters, relation, self.terms)
                };
            }
            if let Some(value) = value {
                answers.counted.put(value, made - before);
            }
            if !is_counted && answers.rows_left.is_some_and(|left| made > left) {
                return None;
            }
        }
        Some(made)
    }

    /// Which spaces are asked for `count` answers, a bit for each. One without rows for a step is passed over, whatever was found so far;
    /// one answer and one space are as soon asked.
    fn asked(self, count: usize, (step, loops): (&Step, &Loops), parameters: &[Term]) -> u64 {
        match self.of(step.place) {
            [_] if count == 1 => 1,
            spaces => {
                let relations = spaces.iter().map(|contents| contents.relation_of_length(step.length)).enumerate();
                let asked = relations
                    .filter(|(_, relation)| step.may_answer(&loops.known, Some(parameters), relation, self.terms));
                asked.fold(0_u64, |asked, (place, _)| asked | 1 << place)
            }
        }
    }
}

/// The answers that a step extends.
struct SoFar<'a> {
    count: usize,
    /// Whether what they are extended by is counted and not kept.
    is_counted: bool,
    /// Which of the rows that are listed are looked at, if not all are.
    window: Option<&'a mut Window>,
}

impl Answers {
    /// Notes how many answers there are.
    fn complete(&mut self, count: usize) -> usize {
        if self.width == 0 {
            self.found.clear();
            self.found.resize(count, NO_TERM);
        }
        count
    }

    /// The caller has given up.
    fn stop(&mut self) -> usize {
        self.is_stopped = true;
        self.found.clear();
        0
    }

    /// Room for answers of `width` terms.
    fn found_for(&mut self, width: usize) -> (&mut Vec<Term>, &mut Vec<usize>) {
        self.begin(width);
        self.found.clear();
        (&mut self.found, &mut self.after_each)
    }

    /// One answer, in which nothing is bound yet.
    pub(super) fn begin(&mut self, width: usize) {
        self.is_stopped = false;
        self.factored = None;
        self.width = width;
        self.looked_at = 0;
        self.after_each.clear();
        self.found.clear();
        self.found.resize(width, NO_TERM);
    }

    /// Takes the answers of the only pattern, each of whose columns is known or the place of a variable, from one relation.
    fn take_only(
        &mut self,
        step: &Step,
        loops: &Loops,
        parameters: &[Term],
        relation: &Relation,
        terms: &Terms,
    ) -> usize {
        self.factored = None;
        let Self { found, current, rows, keys, is_stopped, width, after_each, .. } = self;
        (*is_stopped, *width) = (false, loops.variables());
        after_each.clear();
        found.clear();
        current.clear();
        current.resize(*width, NO_TERM);
        keys.clear();
        for &(path, known) in &loops.known[step.known[0]..step.known[1]] {
            let key = known.key(parameters, current, terms);
            if key == NO_TERM {
                return 0;
            }
            keys.push((path, key));
        }
        let parts = &loops.patterns.parts[step.parts[0]..step.parts[1]];
        let projection = Projection { parts, count: step.taken, keys, current, terms };
        let mut made = 0;
        relation.walk(keys, terms, rows, &mut |selected| made += projection.take(&selected, found));
        after_each.push(made);
        made
    }

    /// Takes `count` answers of `width` terms as they lie.
    pub(super) fn take_cells(&mut self, cells: &[Term], count: usize, width: usize) {
        self.factored = None;
        (self.is_stopped, self.width) = (false, width);
        self.after_each.clear();
        self.after_each.push(count);
        self.found.clear();
        self.found.extend_from_slice(cells);
    }

    /// Makes an answer that was found the current one.
    pub(super) fn take_up(&mut self, place: usize) {
        self.current.clear();
        self.current.extend_from_slice(&self.found[place * self.width..][..self.width]);
    }

    /// Says whether answers may be left [grouped](Answers::groups).
    pub(super) fn may_be_grouped(&mut self, may_be_grouped: bool) {
        self.may_be_grouped = may_be_grouped;
    }

    /// Lets answers be counted only, or made again.
    pub(super) fn count_only(&mut self, counts_only: bool) {
        self.counts_only = counts_only;
        self.counted.clear();
    }

    /// How many answers the rows of a relation make of the current one, for a step that [can be counted](Step::is_countable).
    fn count(&mut self, step: &Step, loops: &Loops, parameters: &[Term], relation: &Relation, terms: &Terms) -> usize {
        let Self { current, rows, keys, row, .. } = self;
        let known = &loops.known[step.known[0]..step.known[1]];
        keys.clear();
        keys.extend(known.iter().map(|&(path, known)| (path, known.key(parameters, current, terms))));
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        if step.is_known {
            row.clear();
            row.extend(keys.iter().map(|&(_, key)| key));
            return relation.count(row, terms);
        }
        let mut count = 0;
        relation.walk(keys, terms, rows, &mut |selected| count += selected.count_with(keys, terms));
        count
    }

    /// Adds what the rows of a relation make of the current answer; gives how many answers that are.
    /// Of the rows that are listed only those within the window are looked at, if there is one.
    fn extend(
        &mut self,
        (step, mut window): (&Step, Option<&mut Window>),
        loops: &Loops,
        parameters: &[Term],
        relation: &Relation,
        terms: &Terms,
    ) -> usize {
        let Self { next, current, rows, keys, row, rows_left, .. } = self;
        let parts = &loops.patterns.parts[step.parts[0]..step.parts[1]];
        let known = &loops.known[step.known[0]..step.known[1]];
        let key_of = |known: Known| known.key(parameters, current, terms);
        rows.clear();
        if step.is_known {
            row.clear();
            row.extend(known.iter().map(|&(_, known)| key_of(known)));
            if !row.contains(&NO_TERM) {
                relation.find_rows(row, terms, rows);
            }
            let within = window.map_or(0..rows.len(), |window| window.pass(rows.len()));
            let copies: usize = rows[within].iter().map(|&row| relation.row(row).1 as usize).sum();
            (0..copies).for_each(|_| next.extend_from_slice(current));
            return copies;
        }
        keys.clear();
        keys.extend(known.iter().map(|&(path, known)| (path, key_of(known))));
        if keys.iter().any(|&(_, key)| key == NO_TERM) {
            return 0;
        }
        let (mut made, left) = (0, rows_left.unwrap_or(usize::MAX));
        let looks = left.saturating_mul(LOOKS_FOR_A_ROW);
        let projection = Projection { parts, count: step.taken, keys, current, terms };
        relation.walk(keys, terms, rows, &mut |selected| {
            let selected = match &mut window {
                Some(window) => &selected.slice(window.pass(selected.len())),
                None => &selected,
            };
            // That there are too many rows is known before they are looked at.
            if selected.len() > if selected.is_sure { left } else { looks } {
                made += selected.len();
                return;
            }
            made += if step.taken > 0 {
                projection.take(selected, next)
            } else {
                match_all(step, (parts, parameters), selected, current, next, terms)
            };
        });
        made
    }
}

/// Adds what rows make of an answer, each looked at as a whole; gives how many answers that are.
fn match_all(
    step: &Step,
    (parts, parameters): (&[PatternPart], &[Term]),
    selected: &RowSelection<'_>,
    current: &[Term],
    next: &mut Vec<Term>,
    terms: &Terms,
) -> usize {
    let mut made = 0;
    selected.each_row(|row, copies| {
        let start = next.len();
        next.extend_from_slice(current);
        if row.len() != step.length
            || !matches(step.is_flat, parts, row, &mut Match { answer: &mut next[start..], parameters, terms })
        {
            return next.truncate(start);
        }
        made += copies as usize;
        (1..copies).for_each(|_| next.extend_from_within(start..start + current.len()));
    });
    made
}
