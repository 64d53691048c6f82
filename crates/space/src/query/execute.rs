//! Executing a plan over a view: patterns one after the other, each for many answers so far.

use super::counted::{self, Counted};
use super::extent::{Extent, Window};
use super::filter::{Filter, Given};
use super::grouped::Factored;
use super::join::{Chosen, Ended, Room};
use super::loops::{Known, LoopStep, Loops};
use super::made::Made;
use super::matching::{Match, matches};
use super::pattern::{NO_TERM, PatternPart};
use super::plan::Plan;
use super::project::Projection;
use super::view::View;
use crate::relation::{Path, Relation, RowSelection};
use crate::term::{Term, Terms};

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
    /// Whether a part of them was left so.
    pub(super) has_factored: bool,
    is_stopped: bool,
    /// How many rows may be looked at before it is chosen how to go on.
    pub(super) rows_left: Option<usize>,
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
            ([_], _) => self.find_within(plan.made(), given, answers, should_stop).unwrap_or_default(),
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
            let found = self.find_within(plan.made(), given, answers, should_stop);
            answers.rows_left = None;
            if let Some(count) = found {
                return count;
            }
        }
        let found = self.find_chosen(plan, usize::MAX, given, answers, should_stop);
        let as_written = || self.find_within(plan.made(), given, answers, should_stop).unwrap_or_default();
        found.unwrap_or_else(as_written)
    }

    /// Finds the answers in the way that is chosen, or counts them if that is asked; `None` if that is to loop over the patterns as they are
    /// written, or if it finds more than `most`.
    pub(super) fn find_chosen(
        self,
        plan: &mut Plan,
        most: usize,
        given: Given<'_>,
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let counts = answers.counts_only;
        let mut chosen = self.chosen(plan, counts);
        answers.are_chosen = true;
        let ended = if counts {
            let room = answers.room(plan.variables(), most);
            let joined = chosen.count(self, given, room.after_each, should_stop);
            joined.or_else(|| {
                let count = self.count_as_written(chosen.other_loops()?, given, answers, should_stop)?;
                Some(if answers.is_stopped { Ended::Stopped } else { Ended::Answers(count) })
            })
        } else {
            chosen.execute(self, given, answers.room(plan.variables(), most), should_stop)
        };
        plan.chosen = Some(chosen);
        Some(match ended? {
            Ended::Answers(count) if counts => count,
            Ended::Answers(count) => answers.complete(count),
            Ended::Stopped => answers.stop(),
            Ended::TooMany => {
                answers.are_chosen = false;
                return None;
            }
        })
    }

    /// How several patterns are answered, taken out of their plan if that was chosen for about as many rows as there are.
    fn chosen(self, plan: &mut Plan, counts: bool) -> Box<Chosen> {
        let chosen = plan.chosen.take().filter(|chosen| chosen.is_for(self, counts));
        chosen
            .unwrap_or_else(|| Box::new(Chosen::new((&plan.loops, &plan.filters), self, (counts, plan.forgets_sorted))))
    }

    /// Extends partial answers by the rows for a step, as far as is said, into those that come next; gives how many that makes. `None` if
    /// more rows were to be looked at than are left.
    pub(super) fn extend_step(
        self,
        number: usize,
        count: usize,
        extent: &mut Extent,
        (made, given): (Made<'_>, Given<'_>),
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        let Made { loops, filters, usages } = made;
        let step = &loops.steps[number];
        let is_tested = filters.has(number);
        let is_last = number > 0 && number + 1 == loops.steps.len();
        let is_counted = answers.counts_only && is_last && step.is_countable() && !is_tested;
        answers.next.clear();
        let adjacent = match is_counted {
            true => None,
            false => self.adjacent(made, number, count, given.parameters, should_stop),
        };
        let mut count = if let Some(adjacent) = adjacent {
            let values = (given.parameters, self.terms);
            if is_last && !is_tested && answers.are_grouped(count) {
                let count = answers.factor(&adjacent, count, values);
                answers.note(number, count);
                extent.next.answer = count;
                return Some(count);
            }
            answers.extend_adjacent(&adjacent, count, extent, values, should_stop)?
        } else {
            let extended =
                self.extend_each((count, is_counted), extent, (step, loops), given.parameters, answers, should_stop)?;
            usages.note(number, extended);
            extended
        };
        if answers.is_stopped {
            return Some(0);
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
        answers.note(number, count);
        Some(count)
    }

    /// Extends each partial answer by the rows that an index lists for it; gives how many answers that makes. `None` if more rows were to be
    /// looked at than are left.
    fn extend_each(
        self,
        (count, is_counted): (usize, bool),
        extent: &mut Extent,
        (step, loops): (&LoopStep, &Loops),
        parameters: &[Term],
        answers: &mut Answers,
        should_stop: ShouldStop<'_>,
    ) -> Option<usize> {
        if is_counted {
            *extent = Extent::whole();
        }
        let by = if is_counted && count >= counted::ANSWERS_MIN { step.counted_by(&loops.known) } else { None };
        let (spaces, asked) = (self.of(step.place), self.asked(count, (step, loops), parameters));
        let mut made = 0;
        while extent.next.answer < count {
            let place = extent.next.answer;
            if place % ANSWERS_BETWEEN_LOOKS == ANSWERS_BETWEEN_LOOKS - 1 && should_stop() {
                return Some(answers.stop());
            }
            let mut window = extent.window();
            let value = by.map(|variable| answers.get(place)[variable as usize]);
            if let Some(known) = value.and_then(|value| answers.counted.get(value)) {
                made += known;
                extent.pass(window, made);
                continue;
            }
            let before = made;
            answers.take_up(place);
            for (_, contents) in spaces.iter().enumerate().filter(|(place, _)| asked >> place & 1 == 1) {
                let relation = contents.relation_of_length(step.length);
                made += if is_counted {
                    answers.count(step, loops, parameters, relation, self.terms)
                } else {
                    answers.extend((step, &mut window), loops, parameters, relation, self.terms)
                };
            }
            if let Some(value) = value {
                answers.counted.put(value, made - before);
            }
            if !is_counted && answers.rows_left.is_some_and(|left| made > left) {
                return None;
            }
            if extent.pass(window, made) {
                break;
            }
        }
        Some(made)
    }

    /// Which spaces are asked for `count` answers, a bit for each. One without rows for a step is passed over, whatever was found so far;
    /// one answer and one space are as soon asked.
    fn asked(self, count: usize, (step, loops): (&LoopStep, &Loops), parameters: &[Term]) -> u64 {
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

impl Answers {
    /// Notes how many answers there are after a step.
    fn note(&mut self, step: usize, count: usize) {
        if self.after_each.len() <= step {
            self.after_each.resize(step + 1, 0);
        }
        self.after_each[step] += count;
    }

    /// Keeps a cell for each of `count` answers if they have no variables, unless only their number is wanted.
    pub(super) fn complete(&mut self, count: usize) -> usize {
        if self.width == 0 && !self.counts_only {
            self.found.clear();
            self.found.resize(count, NO_TERM);
        }
        count
    }

    /// The caller has given up.
    pub(super) fn stop(&mut self) -> usize {
        self.is_stopped = true;
        self.found.clear();
        0
    }

    /// Room for `most` answers of `width` terms.
    pub(super) fn room(&mut self, width: usize, most: usize) -> Room<'_> {
        self.begin(width);
        self.found.clear();
        Room { answers: &mut self.found, after_each: &mut self.after_each, most }
    }

    /// One answer, in which nothing is bound yet.
    pub(super) fn begin(&mut self, width: usize) {
        self.is_stopped = false;
        (self.factored, self.has_factored) = (None, false);
        self.width = width;
        self.looked_at = 0;
        self.after_each.clear();
        self.found.clear();
        self.found.resize(width, NO_TERM);
    }

    /// Takes the answers of the only pattern, each of whose columns is known or the place of a variable, from one relation.
    fn take_only(
        &mut self,
        step: &LoopStep,
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

    /// How many answers the rows of a relation make of the current one, for a step that [can be counted](LoopStep::is_countable).
    fn count(
        &mut self,
        step: &LoopStep,
        loops: &Loops,
        parameters: &[Term],
        relation: &Relation,
        terms: &Terms,
    ) -> usize {
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
    /// Of the rows that are listed only those within the window are looked at.
    fn extend(
        &mut self,
        (step, window): (&LoopStep, &mut Window),
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
            let copies: usize = rows[window.pass(rows.len())].iter().map(|&row| relation.row(row).1 as usize).sum();
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
            let within = window.pass(selected.len());
            let selected = if within.len() == selected.len() { &selected } else { &selected.slice(within) };
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
    step: &LoopStep,
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
