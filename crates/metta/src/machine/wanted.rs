//! `once`, `limit`, `has-result`, `count-results`: goals of whose results only some are wanted, or their number.
//!
//! 1. A collector is made for the results, and the goal is called in an open frame: each result comes here when it is found.
//! 2. If no further result is wanted, the choices above the collector are taken away (a cut), so that nothing else of the goal is
//!    evaluated. Only then is an error that was met before dropped; without any other result it counts.
//! 3. What is counted is not kept.
//! 4. If the goal is a `match` and each answer comes to one result, as many answers are searched for as results are wanted. Whether
//!    it does shows when answers are there: a template that is data around values in normal form is its own result.

use super::choices::{Choice, ChoiceKind, CollectorPurpose, Destination};
use super::code::{HEADER, Instruction, OPEN, Query, Slot};
use super::collected::CollectedResults;
use super::normal_terms::Makes;
use super::queries::{QueryRoom, REPLANS_MIN};
use super::values::Values;
use super::words::{EMPTY, ERROR, FALSE, FOREIGN, NOT_REDUCIBLE, TERM, TRUE, is_small, raw, word};
use super::{Halt, Machine, Running};
use crate::lowering::Wanted;
use crate::names;
use crate::operation::results_wanted;
use region::{Ref, tag};
use space::{Asked, NO_TERM, Term};

/// What is wanted of the answers of a query.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    /// Some of the results that are collected next: which, and how many.
    Some(Wanted, usize),
    /// All, in the list of the collector at a level.
    List(usize),
}

impl Machine {
    /// How many results a value asks for, if it is a whole number that is not negative.
    pub(super) fn count_of(&self, value: Ref) -> Option<usize> {
        match value {
            _ if is_small(value) => usize::try_from(word(value)).ok(),
            _ if value.tag() == tag::NUMBER || self.values.is_big(value) => {
                results_wanted(&self.values.leaf_atom(value))
            }
            _ => None,
        }
    }

    /// Takes the choices from a level on away: their alternatives are not tried.
    pub(super) fn cut(&mut self, level: usize) {
        self.choices.stack.truncate(level);
        self.end_backtracking();
        self.choices.protected = self.choices.stack.last().map_or(0, |choice| choice.top);
        self.choices.floor.choices = self.choices.floor.choices.min(level);
    }

    /// What is wanted of the results that are collected next, and how many answers of a query that is, if no choice was made since that was
    /// asked.
    pub(super) fn wanted_next(&self) -> Option<(Wanted, usize)> {
        match &self.choices.stack.last()?.kind {
            ChoiceKind::Collector(collector) => match collector.purpose {
                CollectorPurpose::Some { wanted, found: 0, most } => Some((wanted, most)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Running<'_> {
    /// Begins to collect as many results as a slot says.
    pub(super) fn collect_some(
        &mut self,
        slot: Slot,
        most: Slot,
        wanted: Wanted,
        return_point: u32,
    ) -> Result<(), Halt> {
        let most = self.m.count_of(self.m.read(most)).expect("a guard stands before it");
        if most == 0 {
            return self.fail();
        }
        let level = raw(self.m.choices.stack.len());
        self.m.set_slot(slot, level);
        self.begin_collecting(CollectorPurpose::Some { wanted, found: 0, most }, return_point)?;
        match wanted {
            Wanted::Number => self.m.begin_backtracking(),
            Wanted::First | Wanted::Whether => self.m.pause_backtracking(),
        }
        Ok(())
    }

    /// A result of a goal of which some are wanted.
    pub(super) fn found_one(&mut self, value: Ref, level: usize) -> Result<(), Halt> {
        let is_error = self.m.is_error(value);
        if is_error && !self.m.is_overflow(value) {
            self.keep(value, level)?;
            return self.fail();
        }
        let Choice { kind: ChoiceKind::Collector(collector), trail, .. } = &mut self.m.choices.stack[level] else {
            unreachable!("it is a collector")
        };
        let CollectorPurpose::Some { wanted, found, most } = &mut collector.purpose else {
            unreachable!("some results are wanted")
        };
        *found += 1;
        let (wanted, most, return_point) = (*wanted, *most, collector.return_point);
        let is_last = *found == most && wanted != Wanted::Number;
        let (floor, trail) = (collector.floor, *trail);
        let only = match wanted {
            Wanted::Number if !is_error => return self.fail(),
            // What it has bound stays bound.
            Wanted::First if most == 1 => Some(value),
            Wanted::Whether if !is_error => {
                self.m.undo_to(trail);
                Some(TRUE)
            }
            _ => None,
        };
        if let Some(told) = only {
            self.m.choices.floor = floor;
            self.m.cut(level);
            self.resume_raw(return_point, told);
            return Ok(());
        }
        self.keep(value, level)?;
        if is_last {
            self.keep_certain(level);
            self.m.cut(level + 1);
        }
        self.fail()
    }

    /// Drops the errors that results hide.
    fn keep_certain(&mut self, level: usize) {
        let Choice { kind: ChoiceKind::Collector(collector), .. } = &mut self.m.choices.stack[level] else {
            unreachable!("it is a collector")
        };
        let mut results = std::mem::take(&mut collector.results);
        results.retain(|value| !self.m.is_error(value) || self.m.is_overflow(value));
        if let ChoiceKind::Collector(collector) = &mut self.m.choices.stack[level].kind {
            collector.results = results;
        }
    }

    /// All results that are wanted are there, needless errors dropped; says whether the evaluation goes on from here.
    pub(super) fn end_some(
        &mut self,
        wanted: Wanted,
        [found, most]: [usize; 2],
        mut results: CollectedResults,
        return_point: u32,
    ) -> Result<bool, Halt> {
        match wanted {
            Wanted::First => {
                results.truncate(most);
                if results.is_empty() {
                    return Ok(false);
                }
            }
            Wanted::Whether | Wanted::Number => {
                // What was counted is no error and was not kept.
                if found > 0 {
                    results.retain(|value| self.m.is_overflow(value));
                }
                results.truncate(1);
                // Nobody sees what was bound on the way to an answer about results.
                results.unbind();
                if results.is_empty() {
                    let value = match wanted {
                        Wanted::Number => self.m.values.integer(found as i64)?,
                        _ => FALSE,
                    };
                    self.resume_raw(return_point, value);
                    return Ok(true);
                }
            }
        }
        self.deliver_all(results, Destination::Slot(return_point))?;
        Ok(true)
    }

    /// Asks a space for as many answers as results are wanted, if each answer comes to one.
    pub(super) fn query_some(&mut self, query: u32, space: Slot, return_point: u32) -> Result<(), Halt> {
        let Query { leaps, replans, candidates, .. } = &self.m.code.queries[query as usize];
        let may_be_rows = *leaps == 0 && *replans < REPLANS_MIN && candidates.made.is_none();
        let may_ask = may_be_rows && self.is_template_data(query)?;
        let goal = self.goal_of(query).filter(|_| may_ask);
        if goal.is_some() && self.ask_some(query, space, return_point, goal)? {
            return Ok(());
        }
        self.query(query, space, return_point)
    }

    /// What is wanted of the answers of a query, if that is known.
    pub(super) fn goal_of(&self, query: u32) -> Option<Goal> {
        match &self.m.code.queries[query as usize].gathering {
            Some(_) => self.list_for_answers(query).map(Goal::List),
            None => self.m.wanted_next().map(|(wanted, most)| Goal::Some(wanted, most)),
        }
    }

    /// Asks a space for as many answers as results are wanted, or for all; `false` if what was found may not come to one result for each
    /// answer.
    pub(super) fn ask_some(
        &mut self,
        query: u32,
        space: Slot,
        return_point: u32,
        goal: Option<Goal>,
    ) -> Result<bool, Halt> {
        if !self.m.code.queries[query as usize].filters.filters.is_empty() {
            self.refresh();
        }
        let space = self.m.read(space);
        let mut room = self.m.take_query_room();
        let asked = match goal {
            Some(Goal::Some(Wanted::First | Wanted::Whether, most)) => Asked::First(most),
            Some(Goal::Some(Wanted::Number, _)) if self.has_no_variables(query) => Asked::Number,
            Some(Goal::List(_)) => Asked::Grouped,
            Some(Goal::Some(Wanted::Number, _)) | None => Asked::All,
        };
        let Some(count) = self.m.ask(query, space, &mut room, asked) else {
            self.m.rooms.query_room = Some(room);
            return Ok(false);
        };
        if room.answers().is_stopped() {
            return Err(self.m.values.ceiling.passed());
        }
        // What no test has decided about is tested in the template.
        let is_decided = !room.was_undecided();
        let are_results = is_decided && (asked == Asked::Number || self.are_their_own_results(query, &mut room)?);
        // All answers of one `match` are there: the template may as well be evaluated for each.
        let are_all = matches!(goal, Some(Goal::List(_))) && self.m.code.queries[query as usize].fused.is_none();
        if are_results || are_all {
            self.note_planned(query, asked, count, &room);
        }
        let done = match goal {
            Some(Goal::Some(Wanted::Number, _)) if are_results => {
                self.m.count_found(count);
                self.fail()
            }
            Some(Goal::List(level)) if are_results && self.is_bound_by_answers(query, &room) => {
                self.gather_answers(query, count, &mut room, level)
            }
            _ if are_results || are_all => {
                room.answers_mut().write_out();
                self.go_through(query, count, &mut room, return_point)
            }
            _ => Ok(()),
        };
        self.m.rooms.query_room = Some(room);
        done.map(|()| are_results || are_all)
    }

    fn has_no_variables(&self, query: u32) -> bool {
        let template = self.m.code.queries[query as usize].template_data.as_ref();
        template.is_some_and(|template| template.slots.is_empty())
    }

    /// Whether what a template is made of beside its variables is data as rules stand.
    pub(super) fn is_template_data(&mut self, query: u32) -> Result<bool, Halt> {
        let Some(template) = &self.m.code.queries[query as usize].template_data else { return Ok(false) };
        let count = template.heads.len();
        for place in 0..count {
            let template = self.m.code.queries[query as usize].template_data.as_ref();
            let (head, arguments) = template.expect("it is there").heads[place];
            if self.makes(head, arguments)? != Makes::Data {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the template comes to itself for each answer that was found.
    fn are_their_own_results(&mut self, query: u32, room: &mut QueryRoom) -> Result<bool, Halt> {
        let Some(template) = &self.m.code.queries[query as usize].template_data else { return Ok(false) };
        let count = template.slots.len();
        let width = self.m.code.queries[query as usize].fresh.len() + room.outer().len();
        for place in 0..count {
            let template = self.m.code.queries[query as usize].template_data.as_ref();
            let (slot, arity) = template.expect("it is there").slots[place];
            let is_own = match self.column_of(query, slot, room) {
                Some(column) => self.is_own_column(room, [column, width], arity)?,
                None => self.is_normal_value(slot, arity)?,
            };
            if !is_own {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether each term of a column of answers that are so wide comes to itself where it is a result.
    fn is_own_column(
        &mut self,
        room: &mut QueryRoom,
        [column, width]: [usize; 2],
        arity: Option<usize>,
    ) -> Result<bool, Halt> {
        let Some(differing) = room.answers().grouped_variables() else {
            let answers = room.answers_mut().terms();
            return self.are_own(answers.len() / width, answers.iter().skip(column).step_by(width).copied(), arity);
        };
        let different = || room.answers().different_others().flatten();
        match differing.iter().position(|&variable| variable as usize == column) {
            Some(place) => {
                let count = different().count() / differing.len();
                self.are_own(count, different().skip(place).step_by(differing.len()).copied(), arity)
            }
            None => {
                let count = room.answers().groups().count();
                self.are_own(count, room.answers().groups().map(|group| group.common[column]), arity)
            }
        }
    }

    /// Whether each of about `count` terms comes to itself where it is a result.
    fn are_own(&mut self, count: usize, terms: impl Iterator<Item = Term>, arity: Option<usize>) -> Result<bool, Halt> {
        let mut known = TermSet::for_answers(count);
        let mut last = NO_TERM;
        for term in terms {
            // Sorted and grouped answers have long runs of one value.
            if term == last && term != NO_TERM {
                continue;
            }
            if term == NO_TERM || (!known.has(term) && !self.is_its_own_result(term, arity)?) {
                return Ok(false);
            }
            known.insert(term);
            last = term;
        }
        Ok(true)
    }

    /// Which term of each answer is the value of a slot, if one is.
    pub(super) fn column_of(&self, query: u32, slot: Slot, room: &QueryRoom) -> Option<usize> {
        let fresh = &self.m.code.queries[query as usize].fresh;
        let column = fresh.iter().position(|&(fresh, _)| fresh == slot);
        column.or_else(|| {
            let value = self.m.read(slot);
            let outer = room.outer().iter().position(|&variable| variable == value);
            outer.map(|outer| fresh.len() + outer)
        })
    }

    /// Whether a slot holds a value from outside that comes to itself, and makes data of `arity` arguments if it is a head.
    fn is_normal_value(&mut self, slot: Slot, arity: Option<usize>) -> Result<bool, Halt> {
        let value = self.m.read(slot);
        if value.tag() == tag::VARIABLE {
            return Ok(arity.is_none());
        }
        let is_normal = self.normal(value, 0).is_some_and(|normal| normal != EMPTY && normal != NOT_REDUCIBLE);
        Ok(is_normal && self.m.is_ground(value) && self.makes_data_if_head(value, arity)?)
    }

    fn makes_data_if_head(&mut self, value: Ref, arity: Option<usize>) -> Result<bool, Halt> {
        match arity {
            None => Ok(true),
            Some(_) if value == ERROR => Ok(false),
            Some(arity) => Ok(self.makes(value, arity)? == Makes::Data),
        }
    }

    /// Whether a term comes to itself where it is a result, as rules stand, and makes data of `arity` arguments if it is a head.
    fn is_its_own_result(&mut self, term: Term, arity: Option<usize>) -> Result<bool, Halt> {
        let is_own = match self.m.values.is_own_leaf(term) {
            Some(is_own) => is_own,
            None => match self.m.values.load_term(term)? {
                value if value.tag() == TERM => self.settles(value)?,
                _ => false,
            },
        };
        if !is_own || arity.is_none() {
            return Ok(is_own);
        }
        let value = self.m.values.load_term(term)?;
        self.makes_data_if_head(value, arity)
    }
}

/// Terms that were looked at, as bits by their numbers: those whose numbers are not far above how many answers there are, so that its memory
/// and the time to clear it are a part of that of the answers. Of other terms it has none.
struct TermSet {
    bits: Vec<u64>,
}

/// How many bits there are for each answer.
const BITS_PER_ANSWER: usize = 8;

impl TermSet {
    fn for_answers(count: usize) -> Self {
        Self { bits: vec![0; count * BITS_PER_ANSWER / u64::BITS as usize] }
    }

    fn place(term: Term) -> (usize, u64) {
        let number = term.number();
        ((number / u64::BITS) as usize, 1 << (number % u64::BITS))
    }

    #[inline]
    fn has(&self, term: Term) -> bool {
        let (word, bit) = Self::place(term);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    #[inline]
    fn insert(&mut self, term: Term) {
        let (word, bit) = Self::place(term);
        if let Some(bits) = self.bits.get_mut(word) {
            *bits |= bit;
        }
    }
}

impl Machine {
    /// What is wanted of the results of the frame at hand, if it is that of such a goal: how many were found, and how many are asked for.
    fn wanted_of_frame(&self) -> Option<(Wanted, [usize; 2])> {
        match &self.choices.stack.get(self.level_of_goal()?)?.kind {
            ChoiceKind::Collector(collector) => match collector.purpose {
                CollectorPurpose::Some { wanted, found, most } => Some((wanted, [found, most])),
                _ => None,
            },
            _ => None,
        }
    }

    /// The place of the choice that collects the results of the frame at hand, if it is that of such a goal.
    fn level_of_goal(&self) -> Option<usize> {
        let base = self.frames.base;
        let (return_point, caller) = (self.frames.stack[base], self.frames.stack[base + 1] as usize);
        if self.frames.stack[base + 2] != OPEN {
            return None;
        }
        let place = self.return_point(return_point).pc;
        let Instruction::Collected { begun, .. } = self.code.instructions[place as usize] else { return None };
        Some(Ref::from_bits(self.frames.stack[caller + HEADER + usize::from(begun)]).payload() as usize)
    }

    /// What the frame at hand comes to goes into data: all results of that child are found before the first is wanted.
    #[cold]
    pub(super) fn gather_goal_from_here(&mut self) {
        if self.wanted_of_frame().is_some() {
            self.frames.stack[self.frames.base + 2] = self.choices.stack.len() as u32;
        }
    }

    /// How many more results of the frame at hand are wanted, if it is that of such a goal and not all are.
    #[cold]
    pub(super) fn results_left(&self) -> Option<usize> {
        match self.wanted_of_frame()? {
            (Wanted::First | Wanted::Whether, [found, most]) => Some(most - found),
            (Wanted::Number, _) => None,
        }
    }
}

impl Machine {
    /// Counts `count` results of the frame at hand, none of them an error, if only their number is wanted; says whether it is.
    pub(super) fn count_all_of_frame(&mut self, count: usize) -> bool {
        if !matches!(self.wanted_of_frame(), Some((Wanted::Number, _))) {
            return false;
        }
        let level = self.level_of_goal().expect("something is wanted");
        if let ChoiceKind::Collector(collector) = &mut self.choices.stack[level].kind
            && let CollectorPurpose::Some { found, .. } = &mut collector.purpose
        {
            *found += count;
        }
        true
    }

    /// Counts results that are not looked at.
    fn count_found(&mut self, count: usize) {
        if let Some(Choice { kind: ChoiceKind::Collector(collector), .. }) = self.choices.stack.last_mut()
            && let CollectorPurpose::Some { found, .. } = &mut collector.purpose
        {
            *found += count;
        }
    }
}

impl Values {
    /// Whether a term is a leaf that comes to itself where it is a result; `None` if it is a compound.
    fn is_own_leaf(&self, term: Term) -> Option<bool> {
        if let Some(known) = self.known_term(term).filter(|known| ![TERM, FOREIGN].contains(&known.tag())) {
            return Some(known != EMPTY && known != NOT_REDUCIBLE);
        }
        let terms = self.terms.read().expect("no panic while terms are locked");
        if terms.children(term).is_some_and(|children| !children.is_empty()) {
            return None;
        }
        let atom = terms.atom(term);
        Some(!atom.is_symbol(names::EMPTY) && !atom.is_symbol(names::NOT_REDUCIBLE))
    }
}
