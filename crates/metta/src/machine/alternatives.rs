//! Choices: the alternatives that are still to be tried, and the collecting of results.
//!
//! 1. A choice keeps what the machine must return to: a frame, how much was bound, how much memory was in use.
//! 2. The number of choices tells whether an expression may have further results: its frame remembers how many there were
//!    when it began. Only if there are more when it comes to a result is that result *gathered*: a collector is put below
//!    the expression's own choices, the result is kept with what it bound outside, and the next alternative is tried.
//! 3. When nothing is left above a collector, errors are dropped if anything else was found, and the evaluation goes on
//!    with each of the results in turn.
//! 4. What was gathered stays where it is in memory: from then on no choice above the collector gives memory back that was
//!    in use before (the *floor*). What becomes garbage by that, the collection of garbage finds.

use super::choices::{
    BoundResults, Choice, ChoiceKind, Collector, CollectorPurpose, Destination, MemoryFloor, NONE, Trying,
};
use super::code::{
    Branches, CollectedInto, ESCAPE, Exclusive, FACTS, Group, HEADER, Instruction, Key, Listed, OPEN, Pc, ReturnPoint,
    RuleCode, Slot,
};
use super::collected::{CollectedResult, CollectedResults};
use super::evaluate;
use super::values::{Scope, Values};
use super::words::{EMPTY, FALSE, FOREIGN, TERM, TRUE, is_lasting, is_plain_word, is_small, raw, shape_key};
use super::{Halt, Machine, Reason, Running};
use crate::stdlib::forms::asks_for_absence;
use crate::tables::Policy;
use region::{Ref, tag};

impl Machine {
    /// Undoes bindings.
    #[inline]
    pub(super) fn undo_to(&mut self, length: usize) {
        while self.choices.trail.len() > length {
            let variable = self.choices.trail.pop().expect("the trail is longer");
            self.values.heap.unbind(variable);
        }
    }

    /// Binds a variable.
    #[inline]
    pub(super) fn bind(&mut self, variable: Ref, value: Ref) {
        self.choices.trail.push(variable);
        self.values.open_data.forget();
        self.values.heap.bind(variable, value);
    }

    /// Binds a variable that an alternative has bound, again.
    pub(super) fn bind_again(&mut self, variable: Ref, value: Ref) {
        let variable = self.values.heap.walk(variable);
        if variable.is_variable() && variable != self.values.heap.walk(value) {
            self.bind(variable, value);
        }
    }

    /// Binds again what the result at a place binds.
    pub(super) fn bind_as(&mut self, results: &CollectedResults, place: usize) {
        if results.bind_something() {
            results.bound_at(place).for_each(|(variable, value)| self.bind_again(variable, value));
        }
    }

    pub(super) fn push_choice(&mut self, base: usize, top: usize, kind: ChoiceKind) {
        let heap = self.values.heap.mark(&self.values.region);
        let foreign = self.values.foreign.len();
        let choice = Choice { frame_base: base, end: top, top, trail: self.choices.trail.len(), heap, foreign, kind };
        self.push_made(choice);
    }

    pub(super) fn push_made(&mut self, mut choice: Choice) {
        choice.top = choice.top.max(self.choices.protected);
        self.choices.protected = choice.top;
        self.choices.stack.push(choice);
    }

    /// What collects the results of an expression that begins now.
    pub(super) fn collector(&self, purpose: CollectorPurpose, return_point: u32) -> Collector {
        let begun = self.values.heap.mark(&self.values.region);
        Collector { purpose, return_point, results: CollectedResults::default(), begun, floor: self.choices.floor }
    }

    /// Takes the last choice away.
    pub(super) fn pop_choice(&mut self) -> Choice {
        let choice = self.choices.stack.pop().expect("there is a choice");
        self.choices.protected = self.choices.stack.last().map_or(0, |choice| choice.top);
        self.choices.floor.choices = self.choices.floor.choices.min(self.choices.stack.len());
        choice
    }

    /// Returns to what was when the last choice was made. If one below it needs what is above its frame, that moves up.
    pub(super) fn restore(&mut self) -> Result<(), Halt> {
        let last = self.choices.stack.len() - 1;
        let choice = &self.choices.stack[last];
        let (base, trail, heap, foreign) = (choice.frame_base, choice.trail, choice.heap, choice.foreign);
        self.undo_to(trail);
        let (heap, foreign) = if last < self.choices.floor.choices {
            (self.choices.floor.heap, self.choices.floor.foreign)
        } else {
            (heap, foreign)
        };
        self.values.heap.rewind(&mut self.values.region, heap);
        self.rooms.found_same.forget();
        self.values.open_data.forget();
        self.values.interned.forget();
        self.values.kept.forget();
        self.values.foreign.truncate(foreign);
        self.frames.base = base;
        let end = self.choices.stack[last].end;
        if last.checked_sub(1).is_some_and(|below| self.choices.stack[below].top > end) {
            self.move_up(end, self.slots_of(&self.choices.stack[last].kind))?;
        }
        Ok(())
    }

    /// How many slots a frame has that a choice goes on in, beside those that it is made with.
    fn slots_of(&self, kind: &ChoiceKind) -> usize {
        let return_point = match kind {
            ChoiceKind::Rules { group, .. } => return self.code.groups[*group as usize].slots,
            ChoiceKind::TableRows(_) => return 0,
            ChoiceKind::Results { to, .. } => return self.slots_at(*to),
            ChoiceKind::BoundResults(left) => return self.slots_at(left.to),
            ChoiceKind::Children { return_point, .. } | ChoiceKind::Alternative { return_point } => *return_point,
            ChoiceKind::Rows(rows) => rows.return_point,
            ChoiceKind::Candidates(tries) => tries.return_point,
            ChoiceKind::Answers(followed) => followed.return_point,
            ChoiceKind::Collector(collector) => collector.return_point,
        };
        usize::from(self.return_point(return_point).slots)
    }

    fn slots_at(&self, to: Destination) -> usize {
        to.return_point().map_or(0, |return_point| usize::from(self.return_point(return_point).slots))
    }

    /// Moves the frame at hand, which is needed up to this end, above what choices need; it has `slots` slots there.
    #[cold]
    pub(super) fn move_up(&mut self, end: usize, slots: usize) -> Result<(), Halt> {
        let (from, to) = (self.frames.base, self.choices.protected);
        self.ensure(to - from + slots.max(end - from))?;
        self.frames.stack.copy_within(from..end, to);
        self.frames.base = to;
        Ok(())
    }

    /// Moves a frame that goes on at a return point above what choices need, if one of them needs what the frame would write over.
    #[inline]
    pub(super) fn own_at(&mut self, return_point: u32) -> Result<(), Halt> {
        if self.frames.base >= self.choices.protected {
            return Ok(());
        }
        self.move_up(self.frame_end(self.frames.base, return_point), usize::from(self.return_point(return_point).slots))
    }

    /// The end of the frame at hand as far as a return point needs it.
    pub(super) fn frame_end(&self, base: usize, return_point: u32) -> usize {
        let return_point = self.return_point(return_point);
        let slots = match self.code.instructions[return_point.pc as usize] {
            Instruction::Child { .. } => evaluate::slots_of_whole_tuple(self.frames.stack[base + HEADER]),
            _ => usize::from(return_point.at),
        };
        base + HEADER + slots
    }

    /// The place of the collector that lists the results of a frame, if all that is done with them is that: whether such a result has
    /// others beside it makes no difference.
    #[inline]
    fn list_of_results(&self, level: usize, return_point: u32, caller: u32) -> Option<usize> {
        let ReturnPoint { pc, dst, .. } = self.return_point(return_point);
        let Instruction::Collected { begun, slot } = self.code.instructions[*pc as usize] else { return None };
        let list = level.checked_sub(1).filter(|_| slot == *dst)?;
        let noted = Ref::from_bits(self.frames.stack[caller as usize + HEADER + usize::from(begun)]);
        let ChoiceKind::Collector(collector) = &self.choices.stack[list].kind else { return None };
        let is_list = matches!(collector.purpose, CollectorPurpose::List) && noted.payload() as usize == list;
        is_list.then_some(list)
    }

    /// Keeps the memory of a result.
    pub(super) fn keep_memory_of(&mut self, value: Ref) {
        if !is_lasting(value) {
            self.raise_floor();
        }
    }

    /// Keeps all memory that is in use now.
    pub(super) fn raise_floor(&mut self) {
        let heap = self.values.heap.mark(&self.values.region);
        self.choices.floor =
            MemoryFloor { choices: self.choices.stack.len(), heap, foreign: self.values.foreign.len() };
    }
}

impl Running<'_> {
    /// Tries the next alternative.
    pub(super) fn fail(&mut self) -> Result<(), Halt> {
        loop {
            match self.m.choices.stack.last() {
                None => return Err(Reason::Complete.into()),
                Some(Choice { kind: ChoiceKind::Collector(_), .. }) => {}
                // Alternatives may multiply where nothing is called.
                Some(_) => self.count_step()?,
            }
            self.m.restore()?;
            let last = self.m.choices.stack.last_mut().expect("there is a choice");
            match &mut last.kind {
                ChoiceKind::Rules { group, list, next, from, noted } => {
                    let (group, list, next, from, noted) = (*group, *list, *next, *from, *noted);
                    self.m.pop_choice();
                    if self.m.is_matched_as_it_was(group, noted) {
                        self.m.try_place(group, list, next, (from, true));
                        return self.try_rules_as_it_was(noted);
                    }
                    return self.try_rule(group, list, next, (from, true));
                }
                ChoiceKind::Results { values, to } => {
                    let (to, value) = (*to, values.next().expect("a choice with nothing left is removed"));
                    if values.len() == 0 {
                        self.m.pop_choice();
                    }
                    return self.deliver(to, value);
                }
                ChoiceKind::BoundResults(_) => return self.next_bound_result(),
                ChoiceKind::Children { list, next, return_point } => {
                    let (list, index, return_point) = (*list, *next, *return_point);
                    *next += 1;
                    if index + 1 == self.m.values.heap.length(list) {
                        self.m.pop_choice();
                    }
                    let child = self.m.values.heap.child(list, index);
                    self.resume_raw(return_point, child);
                    return Ok(());
                }
                ChoiceKind::Alternative { return_point } => {
                    let return_point = *return_point;
                    self.m.pop_choice();
                    self.m.frames.pc = self.m.return_point(return_point).pc;
                    return Ok(());
                }
                ChoiceKind::Rows(_) => return self.m.next_row(),
                ChoiceKind::Candidates(_) => {
                    if self.m.next_candidate()? {
                        return Ok(());
                    }
                }
                ChoiceKind::Answers(_) => {
                    if self.next_answer()? {
                        return Ok(());
                    }
                }
                ChoiceKind::TableRows(_) => return self.next_table_row(),
                ChoiceKind::Collector(_) => {
                    if self.complete()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn deliver(&mut self, to: Destination, value: Ref) -> Result<(), Halt> {
        match to {
            Destination::Frame => {
                // Not here: the next result might be tried from within, and so on, on the native stack.
                (self.m.frames.acc, self.m.frames.pc) = (value, ESCAPE);
                Ok(())
            }
            Destination::ReturnPoint(return_point) => self.resume(return_point, value),
            Destination::Slot(return_point) => {
                self.resume_raw(return_point, value);
                Ok(())
            }
        }
    }

    /// The next result of the choice on top, some of whose results bind something.
    fn next_bound_result(&mut self) -> Result<(), Halt> {
        let Some(Choice { kind: ChoiceKind::BoundResults(left), .. }) = self.m.choices.stack.last_mut() else {
            unreachable!("the choice on top has results that bind something")
        };
        let (place, to) = (left.next, left.to);
        left.next += 1;
        let results = std::mem::take(&mut left.results);
        self.m.bind_as(&results, place);
        let value = results.values()[place];
        match self.m.choices.stack.last_mut() {
            Some(Choice { kind: ChoiceKind::BoundResults(left), .. }) if place + 1 < results.len() => {
                left.results = results;
            }
            _ => drop(self.m.pop_choice()),
        }
        self.deliver(to, value)
    }

    /// Goes on with each of these results in turn.
    pub(super) fn deliver_all(&mut self, results: CollectedResults, to: Destination) -> Result<(), Halt> {
        match *results.values() {
            [] => self.fail(),
            [only] => {
                self.m.bind_as(&results, 0);
                self.deliver(to, only)
            }
            [first, ..] => {
                let base = self.m.frames.base;
                let top = match to {
                    Destination::Frame => base + HEADER,
                    Destination::ReturnPoint(return_point) | Destination::Slot(return_point) => {
                        self.m.frame_end(base, return_point)
                    }
                };
                if results.bind_something() {
                    let left = Box::new(BoundResults { results, next: 0, to });
                    self.m.push_choice(base, top, ChoiceKind::BoundResults(left));
                    return self.next_bound_result();
                }
                let mut values = results.into_values().into_iter();
                values.next();
                self.m.push_choice(base, top, ChoiceKind::Results { values, to });
                self.deliver(to, first)
            }
        }
    }

    /// Keeps a result of an expression that has further alternatives, and tries the next one.
    pub(super) fn gather(&mut self, value: Ref, level: u32, return_point: u32, base: u32) -> Result<(), Halt> {
        match level {
            FACTS => return self.resume_facts(return_point, value, base),
            OPEN => return self.resume_open(return_point, value, base),
            _ => {}
        }
        let level = level as usize;
        // If an error has come before, the results are collected below, and what is in use then is given back when they are all there.
        let is_collected =
            matches!(self.m.choices.stack.get(level), Some(Choice { kind: ChoiceKind::Collector(_), .. }));
        if !is_collected
            && !self.m.is_error(value)
            && let Some(list) = self.m.list_of_results(level, return_point, base)
        {
            self.keep_child(value, list)?;
            return self.fail();
        }
        if self.m.backtracks_into(level) {
            return self.resume_backtracking(return_point, value, base);
        }
        if !is_collected {
            let oldest = &self.m.choices.stack[level];
            let (trail, heap, foreign) = (oldest.trail, oldest.heap, oldest.foreign);
            let base = base as usize;
            let below = level.checked_sub(1).map_or(0, |below| self.m.choices.stack[below].top);
            let end = self.m.frame_end(base, return_point);
            let top = end.max(below);
            let floor = self.m.choices.floor;
            let collector = Collector {
                purpose: CollectorPurpose::Expression,
                return_point,
                results: CollectedResults::default(),
                begun: heap,
                floor,
            };
            let kind = ChoiceKind::Collector(Box::new(collector));
            self.m.choices.stack.insert(level, Choice { frame_base: base, end, top, trail, heap, foreign, kind });
            // The frame may have moved up above choices that were left for later.
            for above in &mut self.m.choices.stack[level + 1..] {
                above.top = above.top.max(top);
            }
            self.m.choices.protected = self.m.choices.protected.max(top);
            if self.m.choices.floor.choices > level {
                self.m.choices.floor.choices += 1;
            }
        }
        self.keep(value, level)?;
        self.fail()
    }

    /// Adds a result to a collector.
    pub(super) fn keep(&mut self, value: Ref, level: usize) -> Result<(), Halt> {
        let Choice { trail, kind: ChoiceKind::Collector(collector), .. } = &self.m.choices.stack[level] else {
            unreachable!("it is a collector")
        };
        if matches!(collector.purpose, CollectorPurpose::List) {
            return self.keep_child(value, level);
        }
        let (trail, begun) = (*trail, collector.begun);
        let mut bound = Vec::new();
        for place in trail..self.m.choices.trail.len() {
            let variable = self.m.choices.trail[place];
            if self.m.values.heap.precedes(variable, &self.m.values.region, begun) {
                let value = self.m.values.heap.walk(variable);
                bound.push((variable, self.resolve(value)?));
            }
        }
        let value = self.resolve(value)?;
        if !(bound.is_empty() && is_lasting(value)) {
            self.m.raise_floor();
        }
        let ChoiceKind::Collector(collector) = &mut self.m.choices.stack[level].kind else {
            unreachable!("it is a collector")
        };
        collector.results.push(CollectedResult { value, bound });
        Ok(())
    }

    /// Adds a result to a collector whose results become a list: nobody looks at what they have bound.
    fn keep_child(&mut self, value: Ref, level: usize) -> Result<(), Halt> {
        let value = self.resolve(value)?;
        self.m.keep_memory_of(value);
        if let ChoiceKind::Collector(collector) = &mut self.m.choices.stack[level].kind {
            collector.results.push_value(value);
        }
        Ok(())
    }

    /// Completes the collector on top; says whether the evaluation goes on from it.
    fn complete(&mut self) -> Result<bool, Halt> {
        let choice = self.m.choices.stack.pop().expect("a collector is on top");
        self.m.end_backtracking();
        self.m.choices.protected = self.m.choices.stack.last().map_or(0, |choice| choice.top);
        let ChoiceKind::Collector(collector) = choice.kind else { unreachable!("it is a collector") };
        let Collector { purpose, return_point, mut results, floor, .. } = *collector;
        self.m.choices.floor = floor;
        self.m.choices.floor.choices = self.m.choices.floor.choices.min(self.m.choices.stack.len());
        self.drop_needless_errors(&mut results)?;
        match purpose {
            CollectorPurpose::List => {
                let list = self.m.values.heap.expression(&mut self.m.values.region, results.values())?;
                self.resume(return_point, list)?;
            }
            CollectorPurpose::Table(call) => self.end_filling(call, results)?,
            CollectorPurpose::Subjects { .. } if results.is_empty() => self.resume_raw(return_point, EMPTY),
            CollectorPurpose::Some { wanted, found, most } => {
                return self.end_some(wanted, [found, most], results, return_point);
            }
            CollectorPurpose::Transaction(depth) => return self.close_transaction(depth, results, return_point),
            CollectorPurpose::Expression if results.is_empty() => return Ok(false),
            CollectorPurpose::Subjects { .. } => self.deliver_all(results, Destination::Slot(return_point))?,
            CollectorPurpose::Expression => self.deliver_all(results, Destination::ReturnPoint(return_point))?,
        }
        Ok(true)
    }

    /// Errors count only if nothing else was found; that a limit was reached always counts.
    fn drop_needless_errors(&mut self, results: &mut CollectedResults) -> Result<(), Halt> {
        let is_error = |value: &Ref| self.m.is_error(*value);
        let Some(error) = results.values().iter().position(is_error) else { return Ok(()) };
        if results.values().iter().all(is_error) {
            return Ok(());
        }
        for place in error..results.len() {
            let value = results.values()[place];
            if self.m.is_error(value) && self.is_about_types(value)? {
                self.session.form_steps.hide_type_errors();
                break;
            }
        }
        results.retain(|value| !self.m.is_error(value) || self.m.is_overflow(value));
        Ok(())
    }

    /// Goes on at a return point with a value, whatever it is.
    pub(super) fn resume_raw(&mut self, return_point: u32, value: Ref) {
        let (pc, dst) = (self.m.return_point(return_point).pc, self.m.return_point(return_point).dst);
        self.m.set_slot(dst, value);
        self.m.frames.pc = pc;
    }

    /// Each child of a list is an alternative.
    pub(super) fn superpose(&mut self, slot: Slot, return_point: u32) -> Result<(), Halt> {
        let mut list = self.m.read(slot);
        if list.tag() == TERM {
            list = self.m.values.open_term(list)?;
        }
        debug_assert!(list.is_expression(), "the compiler guards it");
        let length = self.m.values.heap.length(list);
        if length == 0 {
            return self.fail();
        }
        if length > 1 {
            let base = self.m.frames.base;
            let top = self.m.frame_end(base, return_point);
            self.m.push_choice(base, top, ChoiceKind::Children { list, next: 1, return_point });
        }
        let first = self.m.values.heap.child(list, 0);
        self.resume_raw(return_point, first);
        Ok(())
    }

    /// What is at a return point of the frame at hand is an alternative to what follows.
    pub(super) fn begin_alternative(&mut self, return_point: u32) -> Result<(), Halt> {
        let base = self.m.frames.base;
        let top = self.m.frame_end(base, return_point);
        self.m.push_choice(base, top, ChoiceKind::Alternative { return_point });
        Ok(())
    }

    /// Begins to collect results.
    pub(super) fn collect(&mut self, slot: Slot, return_point: u32, into: CollectedInto) -> Result<(), Halt> {
        let level = raw(self.m.choices.stack.len());
        self.m.set_slot(slot, level);
        match into {
            CollectedInto::List => {
                self.begin_collecting(CollectorPurpose::List, return_point)?;
                self.m.begin_backtracking();
                Ok(())
            }
            CollectedInto::Subjects(branches) => {
                let asks_for_absence = match branches {
                    Branches::Known { asks_for_absence } => asks_for_absence,
                    Branches::In(slot) => {
                        let branches = self.m.read(slot);
                        let source = self.session.program.variables();
                        asks_for_absence(&self.m.values.store(branches, &mut Scope::default(), source)?)
                    }
                };
                self.begin_collecting(CollectorPurpose::Subjects { asks_for_absence }, return_point)
            }
        }
    }

    /// Collects the results of what follows, for a return point of the frame at hand.
    pub(super) fn begin_collecting(&mut self, purpose: CollectorPurpose, return_point: u32) -> Result<(), Halt> {
        let collector = self.m.collector(purpose, return_point);
        let base = self.m.frames.base;
        let top = self.m.frame_end(base, return_point);
        self.m.push_choice(base, top, ChoiceKind::Collector(Box::new(collector)));
        Ok(())
    }

    /// A result of what is being collected.
    pub(super) fn collected(&mut self, begun: Slot, slot: Slot) -> Result<(), Halt> {
        let level = self.m.slot(begun).payload() as usize;
        let value = self.m.read(slot);
        if value == EMPTY {
            return self.fail();
        }
        let is_last = self.m.choices.stack.len() == level + 1;
        let ChoiceKind::Collector(collector) = &self.m.choices.stack[level].kind else {
            unreachable!("it is a collector")
        };
        match collector.purpose {
            CollectorPurpose::Subjects { .. } if is_last && collector.results.is_empty() => {
                // The only one: what it has bound stays bound.
                let return_point = collector.return_point;
                self.m.pop_choice();
                self.resume_raw(return_point, value);
                return Ok(());
            }
            CollectorPurpose::Table(call) if call.policy == Policy::Declared && !self.m.is_error(value) => {
                return self.found_answer(value);
            }
            CollectorPurpose::Some { .. } => return self.found_one(value, level),
            _ => {}
        }
        self.keep(value, level)?;
        self.fail()
    }

    /// Tries the rules of a group on the arguments of the frame at hand.
    #[inline]
    pub(super) fn enter_group(&mut self, group: u32) -> Result<(), Halt> {
        let list = self.list_for(group);
        match self.m.candidate(group, list, 0) {
            Some(first) => self.try_rule(group, list, first, (self.m.frames.pc, false)),
            None => {
                let function = self.m.code.groups[group as usize].function;
                self.give_unreduced(function, self.m.frames.pc)
            }
        }
    }

    /// Goes on with the one rule that an argument leaves, its children laid out.
    #[inline(always)]
    pub(super) fn enter_exclusive(&mut self, exclusive: u32) -> Result<(), Halt> {
        let m = &mut self.m;
        let Exclusive { group, argument, .. } = m.code.exclusives[exclusive as usize];
        let mut value = m.read(argument);
        let key = match m.values.switch_key(value) {
            None if value.tag() == TERM => {
                value = m.values.open_term(value)?;
                m.set_slot(argument, value);
                m.values.switch_key(value)
            }
            key => key,
        };
        let Exclusive { ref cases, .. } = m.code.exclusives[exclusive as usize];
        let Some(key) = key else { return self.enter_group(group) };
        let Some(case) = cases.iter().find(|case| case.key == key) else {
            let function = m.code.groups[group as usize].function;
            return self.give_unreduced(function, self.m.frames.pc);
        };
        m.frames.pc = case.body;
        if case.children > 0 {
            let to = m.frames.base + HEADER + usize::from(case.dst);
            let count = usize::from(case.children);
            lay_out(&mut m.frames.stack[to..to + count], m.values.heap.children_from(value, 1, count));
        }
        Ok(())
    }

    /// The rules of a group that the switch leaves.
    #[inline]
    fn list_for(&self, group: u32) -> u32 {
        let Some(switch) = &self.m.code.groups[group as usize].switch else { return 0 };
        let argument = self.m.read(switch.argument);
        match self.m.values.switch_key(argument) {
            None => 0,
            Some(key) => switch.cases.get(&key).copied().unwrap_or(switch.otherwise),
        }
    }

    /// Tries the rule at a place of a list, which may match.
    #[inline]
    fn try_rule(&mut self, group: u32, list: u32, place: u32, made: (Pc, bool)) -> Result<(), Halt> {
        self.m.try_place(group, list, place, made);
        Ok(())
    }

    /// The head of the rule that is being tried does not match.
    pub(super) fn mismatch(&mut self) -> Result<(), Halt> {
        let Trying { place, next, trail, .. } = self.m.choices.trying;
        self.m.undo_to(trail);
        if next == NONE {
            return self.no_rule();
        }
        let Listed { goes_on, .. } = self.m.go_to_rule(next);
        // What the rule before it has taken apart is still in its slots.
        if goes_on.is_some_and(|slot| next == place + 1 && self.m.read(slot).is_expression()) {
            self.m.frames.pc += 1;
        }
        Ok(())
    }

    /// No rule is left: the call stands for itself, unless a rule has matched before.
    fn no_rule(&mut self) -> Result<(), Halt> {
        if self.m.choices.trying.matched {
            return self.fail();
        }
        let function = self.m.code.groups[self.m.choices.trying.group as usize].function;
        self.give_unreduced(function, self.m.choices.trying.from)
    }

    /// Whether an argument of the frame at hand is a space that a rule looks into: where all have a variable, it is a value like
    /// any other.
    fn has_space_argument(&self, group: u32) -> bool {
        let asked = self.m.code.groups[group as usize].looked_into.iter();
        asked.map(|&slot| self.m.read(slot)).any(|value| self.m.values.space_of(value).is_some())
    }

    /// The head of a rule has matched.
    #[inline]
    pub(super) fn commit(&mut self) -> Result<(), Halt> {
        let Trying { group, list, next, trail, heap, foreign, from, .. } = self.m.choices.trying;
        if next != NONE {
            if self.has_space_argument(group) {
                // What further rules make of it, the interpreter knows; their results must be of one lookup.
                self.m.undo_to(trail);
                let function = self.m.code.groups[group as usize].function;
                return self.interpret_call(function, from);
            }
            let Group { function, are_facts, .. } = self.m.code.groups[group as usize];
            if are_facts {
                self.m.leave_choices();
            }
            let top = self.m.frames.base + HEADER + usize::from(self.m.code.functions[function as usize].arguments);
            let noted = self.m.choices.changed_states.len() as u32;
            let kind = ChoiceKind::Rules { group, list, next, from, noted };
            self.m.push_made(Choice { frame_base: self.m.frames.base, end: top, top, trail, heap, foreign, kind });
        }
        Ok(())
    }
}

/// Copies references to slots. Few, mostly: that is faster than a call to copy them.
#[inline(always)]
pub(super) fn lay_out(slots: &mut [u32], values: &[Ref]) {
    match (slots, values) {
        ([a], &[x]) => *a = x.bits(),
        ([a, b], &[x, y]) => (*a, *b) = (x.bits(), y.bits()),
        ([a, b, c], &[x, y, z]) => (*a, *b, *c) = (x.bits(), y.bits(), z.bits()),
        ([a, b, c, d], &[w, x, y, z]) => (*a, *b, *c, *d) = (w.bits(), x.bits(), y.bits(), z.bits()),
        ([a, b, c, d, e], &[v, w, x, y, z]) => {
            (*a, *b, *c, *d, *e) = (v.bits(), w.bits(), x.bits(), y.bits(), z.bits());
        }
        (slots, values) => slots.iter_mut().zip(values).for_each(|(slot, value)| *slot = value.bits()),
    }
}

impl Machine {
    /// Tries the rule at a place of a list; behind which place the call was made, and whether a rule has matched before.
    #[inline]
    pub(super) fn try_place(&mut self, group: u32, list: u32, place: u32, (from, matched): (Pc, bool)) {
        let trail = self.choices.trail.len();
        let heap = self.values.heap.mark(&self.values.region);
        let foreign = self.values.foreign.len();
        self.choices.trying = Trying { group, list, next: NONE, trail, heap, foreign, from, place, matched };
        self.go_to_rule(place);
    }

    /// Goes to the code of the rule at a place of the list that is being tried, and looks for the next that may match.
    #[inline(always)]
    fn go_to_rule(&mut self, place: u32) -> Listed {
        let list = &self.code.groups[self.choices.trying.group as usize].lists[self.choices.trying.list as usize];
        let found = list[place as usize];
        let is_last = place as usize + 1 == list.len();
        self.frames.pc = found.pc;
        self.choices.trying.place = place;
        self.choices.trying.next = match found.is_with_next {
            true => place + 1,
            false if is_last => NONE,
            false => self.candidate(self.choices.trying.group, self.choices.trying.list, place + 1).unwrap_or(NONE),
        };
        found
    }

    /// The place of the first rule of a list from a place on that the arguments do not rule out.
    fn candidate(&self, group: u32, list: u32, from: u32) -> Option<u32> {
        let group = &self.code.groups[group as usize];
        let list = &group.lists[list as usize];
        if list.get(from as usize).is_some_and(|first| first.is_certain) {
            return Some(from);
        }
        let fits = |rule: &RuleCode| {
            let mut keys = rule.keys.iter().enumerate();
            keys.all(|(slot, key)| *key == Key::Any || self.may_match(slot as Slot, *key))
        };
        (from..list.len() as u32).find(|&place| fits(&group.rules[list[place as usize].rule as usize]))
    }

    #[inline]
    fn may_match(&self, slot: Slot, key: Key) -> bool {
        let value = self.read(slot);
        match key {
            Key::Any => true,
            Key::Leaf(leaf) => value == leaf || self.may_equal(value, leaf),
            Key::Shape(length, head) => match value.tag() {
                tag::EXPRESSION | tag::MARKED => {
                    let children = self.values.heap.children(value);
                    children.len() == length as usize
                        && head.is_none_or(|head| {
                            let first = children[0];
                            first == head || first.tag() == tag::VARIABLE || self.may_equal(first, head)
                        })
                }
                TERM => self.values.term_shape(value, length, head),
                tag::VARIABLE => true,
                FOREIGN => self.values.space_of(value).is_some(),
                _ => false,
            },
        }
    }

    /// Whether two values that are not the same word may be equal all the same, or become so.
    #[inline]
    fn may_equal(&self, value: Ref, leaf: Ref) -> bool {
        match value.tag() {
            tag::VARIABLE => true,
            FOREIGN | tag::NUMBER => leaf.tag() == FOREIGN || leaf.tag() == tag::NUMBER || is_small(leaf),
            tag::EXPRESSION | tag::MARKED | TERM => false,
            _ => leaf.tag() == FOREIGN && is_small(value) || leaf.tag() == tag::NUMBER && is_small(value),
        }
    }
}

impl Values {
    /// What the switch looks a value up by; `None` if it may be anything.
    #[inline]
    pub(super) fn switch_key(&self, value: Ref) -> Option<u64> {
        match value.tag() {
            tag::EXPRESSION | tag::MARKED => {
                let (length, head) = self.heap.shape(value);
                (length > 0 && is_plain_word(head)).then(|| shape_key(length as u32, head))
            }
            tag::VARIABLE | tag::NUMBER | TERM => None,
            // What is no truth value may equal another constant.
            FOREIGN if value != TRUE && value != FALSE => None,
            _ => Some(u64::from(value.bits())),
        }
    }
}
