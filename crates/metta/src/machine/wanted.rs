//! `once`, `limit`, `has-result`, `count-results`: goals of whose results only some are wanted, or their number.
//!
//! 1. A collector is made for the results, and the goal is called in an open frame: each result comes here when it is found.
//! 2. If no further result is wanted, the choices above the collector are taken away (a cut), so that nothing else of the goal is
//!    evaluated. Only then is an error that was met before dropped; without any other result it counts.
//! 3. What is counted is not kept.
//! 4. If the goal is a `match` and each answer comes to one result, as many answers are searched for as results are wanted. Whether
//!    it does shows when answers are there: a template that is data around values in normal form is its own result.

use super::choices::{Choice, ChoiceKind, CollectedResult, CollectorPurpose, Destination};
use super::code::{HEADER, Instruction, OPEN, Slot};
use super::normal_terms::Makes;
use super::queries::QueryRoom;
use super::values::Values;
use super::words::{EMPTY, ERROR, FALSE, NOT_REDUCIBLE, TERM, TRUE, is_small, raw, word};
use super::{Halt, Machine, Running};
use crate::lowering::Wanted;
use crate::names;
use crate::operation::results_wanted;
use region::{Ref, tag};
use space::{Asked, NO_TERM, Term};

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
    fn cut(&mut self, level: usize) {
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
        results.retain(|gathered| !self.m.is_error(gathered.value) || self.m.is_overflow(gathered.value));
        if let ChoiceKind::Collector(collector) = &mut self.m.choices.stack[level].kind {
            collector.results = results;
        }
    }

    /// All results that are wanted are there, needless errors dropped; says whether the evaluation goes on from here.
    pub(super) fn end_some(
        &mut self,
        wanted: Wanted,
        [found, most]: [usize; 2],
        mut results: Vec<CollectedResult>,
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
                    results.retain(|gathered| self.m.is_overflow(gathered.value));
                }
                results.truncate(1);
                // Nobody sees what was bound on the way to an answer about results.
                results.iter_mut().for_each(|gathered| gathered.bound.clear());
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
        let may_ask = self.m.code.queries[query as usize].leaps == 0 && self.is_template_data(query)?;
        let wanted = self.m.wanted_next().filter(|_| may_ask);
        if wanted.is_some() && self.ask_some(query, space, return_point, wanted)? {
            return Ok(());
        }
        self.query(query, space, return_point)
    }

    /// Asks a space for as many answers as results are wanted, or for all; `false` if what was found may not come to one result for each
    /// answer.
    pub(super) fn ask_some(
        &mut self,
        query: u32,
        space: Slot,
        return_point: u32,
        wanted: Option<(Wanted, usize)>,
    ) -> Result<bool, Halt> {
        if !self.m.code.queries[query as usize].filters.filters.is_empty() {
            self.refresh();
        }
        let space = self.m.read(space);
        let mut room = self.m.take_query_room();
        let asked = match wanted {
            Some((Wanted::First | Wanted::Whether, most)) => Asked::First(most),
            Some((Wanted::Number, _)) if self.has_no_variables(query) => Asked::Number,
            Some((Wanted::Number, _)) | None => Asked::All,
        };
        let count = self.m.ask(query, space, &mut room, asked);
        if count.is_some() && room.is_stopped() {
            return Err(self.m.values.ceiling.passed());
        }
        let count = match count {
            // What no test has decided about is tested in the template.
            Some(_) if room.was_undecided() => None,
            Some(count) if asked == Asked::Number || self.are_their_own_results(query, &mut room)? => Some(count),
            _ => None,
        };
        let done = match (count, wanted) {
            (None, _) => Ok(()),
            (Some(count), Some((Wanted::Number, _))) => {
                self.m.count_found(count);
                self.fail()
            }
            (Some(count), _) => self.go_through(query, count, &mut room, return_point),
        };
        self.m.rooms.query_room = Some(room);
        done.map(|()| count.is_some())
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
            let Some(column) = self.column_of(query, slot, room) else {
                if self.is_normal_value(slot, arity)? {
                    continue;
                }
                return Ok(false);
            };
            for answer in 0..room.terms().len() / width {
                let term = room.terms()[answer * width + column];
                if term == NO_TERM || !self.is_its_own_result(term, arity)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Which term of each answer is the value of a slot, if one is.
    fn column_of(&self, query: u32, slot: Slot, room: &QueryRoom) -> Option<usize> {
        let fresh = &self.m.code.queries[query as usize].fresh;
        let column = fresh.iter().position(|&(fresh, _)| fresh == slot);
        column.or_else(|| {
            let value = self.m.read(slot);
            let outer = room.outer().iter().position(|&variable| variable == value);
            outer.map(|outer| fresh.len() + outer)
        })
    }

    /// Whether a slot holds a value from outside that comes to itself, and makes data of so many arguments if it is a head.
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

    /// Whether a term comes to itself where it is a result, as rules stand, and makes data of so many arguments if it is a head.
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
    /// Counts so many results of the frame at hand, none of them an error, if only their number is wanted; says whether it is.
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
        let terms = self.terms.read().expect("no panic while terms are locked");
        if terms.children(term).is_some_and(|children| !children.is_empty()) {
            return None;
        }
        let atom = terms.atom(term);
        Some(!atom.is_symbol(names::EMPTY) && !atom.is_symbol(names::NOT_REDUCIBLE))
    }
}
