//! Calls of tabled functions: see [`crate::tables`].
//!
//! 1. The code of such a function is entered through here. A call whose table can be read has its answers as results.
//! 2. If the table is not complete, but something above the call that fills it asks for all results, the form ends with an error.
//!    Otherwise, if no choices were made since the expression of the call began, its frame is left:
//!    the caller goes on with each answer, those included that are found meanwhile.
//! 3. Any other call has a collector of its own, and a second frame above its arguments, in which the code runs. A result of
//!    that becomes an answer; only errors are collected.
//! 4. If the table says so, the code runs again; else the answers are the results of the first frame.

use super::choices::{Caller, Choice, ChoiceKind, CollectorPurpose, Destination, Filling, Followed, TableRows};
use super::code::{
    CHANGED, Code, ESCAPE, HEADER, HOLE, Instruction, Kind, OPEN, Pc, REDUCE, ReturnPoint, Slot, Tabled,
};
use super::collected::{CollectedResult, CollectedResults};
use super::values::Scope;
use super::words::raw;
use super::{Halt, Reason, Running};
use crate::datalog::{Asked, RowAnswers, RowValue};
use crate::environment::Stop;
use crate::tables::{CallKey, CallState, RoundEnd};
use region::Ref;
use std::rc::Rc;

impl Code {
    /// Makes the entry of a function that is tabled, or whose results are remembered, and whose code this is.
    pub(super) fn table(&mut self, function: u32, arguments: Slot, body: Kind) {
        let known = self.tabled.get(&function).copied();
        let (return_point, begun) =
            known.map_or_else(|| self.table_return_point(arguments), |known| (known.return_point, known.begun));
        self.tabled.insert(function, Tabled { body, return_point, begun });
    }

    fn table_return_point(&mut self, arguments: Slot) -> (u32, Slot) {
        let (begun, slot) = (arguments, arguments + 1);
        let pc = self.instructions.len() as Pc;
        let collected = Instruction::Collected { begun, slot };
        self.instructions.extend([collected, Instruction::Take { dst: slot }, collected]);
        let live = (0..arguments).collect();
        self.return_points.push(ReturnPoint {
            pc,
            dst: slot,
            at: arguments + 2,
            error: pc + 1,
            slots: arguments + 2,
            live,
            is_as_written: false,
        });
        ((self.return_points.len() - 1) as u32, begun)
    }
}

impl Running<'_> {
    /// How a function is entered that has this code: through its tables, if the program wants that; or through the memo.
    pub(super) fn entry_of(&mut self, function: u32, kind: Kind) -> Kind {
        let found = &self.m.code.functions[function as usize];
        let (arguments, is_reduction) = (found.arguments, found.type_id == REDUCE);
        let is_tabled = !is_reduction && self.session.tables.is_tabled(self.m.values.symbol_of(found.head));
        if !is_tabled {
            return self.memoised_entry(function, kind);
        }
        self.m.code.table(function, arguments, kind);
        Kind::Tabled
    }

    /// Enters a tabled function, its frame made.
    pub(super) fn enter_tabled(&mut self, function: u32) -> Result<(), Halt> {
        self.must_gather()?;
        let mut scope = Scope::default();
        let call = self.call_of(function)?;
        let call = self.m.values.store(call, &mut scope, self.session.program.variables())?;
        let type_id = self.m.code.functions[function as usize].type_id;
        let type_atom = self.m.types.ids.atom(type_id);
        let Some(asking) = CallKey::new(&call, type_atom, &self.space) else { return self.enter_body(function) };
        let wanted = Asked { call: &call, type_atom, space: &self.space, is_reference: false };
        match self.session.ask_table(&asking, &wanted).map_err(|limit| Halt::from(Reason::Limit(limit)))? {
            CallState::Read(table) => self.give_answers(table, &Caller::new(asking.variables, &scope)),
            CallState::Follow(table) => {
                let asks_all_above = self.asks_all_above();
                match self.session.tables.cycle(table, asks_all_above) {
                    Some(error) => Err(Reason::Stop(Stop::NotStratified(error)).into()),
                    None => self.follow(table, Caller::new(asking.variables, &scope)),
                }
            }
            CallState::Fill(_) => {
                let depth = self.session.tables.depth() - 1;
                let asks_all_above = self.m.choices.asks_all_above(depth, self.session.tables.floor());
                let caller = Caller::new(asking.variables, &scope);
                self.m.choices.filling.push(Filling { caller, asks_all_above });
                self.begin_second_frame(function, CollectorPurpose::Table(function))?;
                self.enter_body(function)
            }
        }
    }

    /// How many tabled calls are in progress below the innermost part of the evaluation that asks for all results.
    pub(super) fn asks_all_above(&self) -> usize {
        self.m.choices.asks_all_above(self.session.tables.depth(), self.session.tables.floor())
    }

    /// Lays out a frame for the code of the call of the frame at hand, and a collector for its results.
    pub(super) fn begin_second_frame(&mut self, function: u32, purpose: CollectorPurpose) -> Result<(), Halt> {
        let Tabled { return_point, begun, .. } = self.m.code.tabled[&function];
        let count = usize::from(self.m.code.functions[function as usize].arguments);
        let at = usize::from(self.m.return_point(return_point).at);
        self.m.ensure(at + HEADER + count)?;
        let (base, place) = (self.m.frames.base, self.m.frames.base + HEADER + at);
        self.m.set_slot(begun, raw(self.m.choices.stack.len()));
        let collector = self.m.collector(purpose, return_point);
        self.m.push_choice(base, place, ChoiceKind::Collector(Box::new(collector)));
        self.m.frames.stack.copy_within(base + HEADER..base + HEADER + count, place + HEADER);
        self.m.write_header(place, return_point);
        self.m.frames.stack[place + 2] = OPEN;
        self.m.frames.base = place;
        Ok(())
    }

    /// Goes on with the code of a tabled function.
    fn enter_body(&mut self, function: u32) -> Result<(), Halt> {
        if self.m.code.functions[function as usize].version != self.m.code.version {
            self.compile(function)?;
        }
        let found = &self.m.code.functions[function as usize];
        let (kind, slots) = (found.kind, found.slots);
        self.m.ensure(slots)?;
        // A call that its table answers with has not come to itself.
        self.m.frames.pc = CHANGED;
        match if matches!(kind, Kind::Tabled) { self.m.code.tabled[&function].body } else { kind } {
            Kind::Rule(pc) => {
                self.m.frames.pc = pc;
                Ok(())
            }
            Kind::Group(group) => self.enter_group(group),
            Kind::Exclusive(exclusive) => self.enter_exclusive(exclusive),
            Kind::Indexed(index) => self.enter_indexed(function, index),
            Kind::Constructor => self.give_unreduced(function, CHANGED),
            Kind::Stale | Kind::Interpreted | Kind::Tabled | Kind::Memoised | Kind::Guarded(_) => {
                self.interpret_call(function, CHANGED)
            }
        }
    }

    /// Goes on with the answers of a table that is not complete.
    fn follow(&mut self, table: usize, caller: Caller) -> Result<(), Halt> {
        let base = self.m.frames.base;
        let (return_point, below, level) =
            (self.m.frames.stack[base], self.m.frames.stack[base + 1] as usize, self.m.frames.stack[base + 2]);
        let has_hole = Ref::from_bits(self.m.frames.stack[base + HOLE]).is_expression();
        if level != self.m.choices.stack.len() as u32 || has_hole {
            self.session.tables.leave(table);
            return self.give_answers(table, &caller);
        }
        self.m.frames.base = below;
        let top = self.m.frame_end(below, return_point);
        let followed = Followed { table, next: 0, caller, return_point };
        self.m.push_choice(below, top, ChoiceKind::Answers(Box::new(followed)));
        self.fail()
    }

    /// The next answer for the choice on top, which waits for them; says whether there was one.
    pub(super) fn next_answer(&mut self) -> Result<bool, Halt> {
        self.count_step()?;
        let Some(Choice { kind: ChoiceKind::Answers(followed), .. }) = self.m.choices.stack.last_mut() else {
            unreachable!("the choice on top waits for answers")
        };
        let Followed { table, next, caller, return_point } = &mut **followed;
        let Some((behind, solution, atom)) = self.session.follow(*table, *next, &caller.variables) else {
            self.m.pop_choice();
            return Ok(false);
        };
        *next = behind;
        let return_point = *return_point;
        let mut scope = caller.scope();
        let CollectedResult { value, bound } = self.load_result(solution, &atom, &mut scope)?;
        for (variable, value) in bound {
            self.m.bind_again(variable, value);
        }
        self.resume(return_point, value)?;
        Ok(true)
    }

    /// A result of the call of the frame at hand.
    pub(super) fn found_answer(&mut self, value: Ref) -> Result<(), Halt> {
        self.add_answer(value)?;
        self.limit_heap();
        self.fail()
    }

    /// A round of the call of the frame at hand has come to its end, and to these errors.
    pub(super) fn end_round(&mut self, function: u32, errors: CollectedResults) -> Result<(), Halt> {
        for (place, &value) in errors.values().iter().enumerate() {
            let mark = self.m.choices.trail.len();
            self.m.bind_as(&errors, place);
            self.add_answer(value)?;
            self.m.undo_to(mark);
        }
        match self.session.end_round() {
            RoundEnd::Done(table) => {
                let filling = self.m.choices.filling.pop().expect("a call is being evaluated");
                self.give_answers(table, &filling.caller)
            }
            RoundEnd::NotStratified(error) => Err(Reason::Stop(Stop::NotStratified(error)).into()),
            RoundEnd::Again => {
                self.begin_second_frame(function, CollectorPurpose::Table(function))?;
                self.count_call(function)?;
                self.enter_body(function)
            }
        }
    }

    /// A result, and what the variables of the call are with it, become an answer.
    fn add_answer(&mut self, value: Ref) -> Result<(), Halt> {
        let mut scope = Scope::default();
        let cells = &self.m.choices.filling.last().expect("a call is being evaluated").caller.cells;
        let (values, source) = (&mut self.m.values, self.session.program.variables());
        let bound: Result<_, Halt> = cells.iter().map(|&cell| values.store(cell, &mut scope, source)).collect();
        let (bound, result) = (bound?, values.store(value, &mut scope, source)?);
        self.session.add_answer(bound, result).map_err(|limit| Halt::from(Reason::Limit(limit)))
    }

    /// The answers of a table are the results of the frame at hand.
    fn give_answers(&mut self, table: usize, caller: &Caller) -> Result<(), Halt> {
        if let Some(answers) = self.session.row_answers(table) {
            return self.give_rows(answers, caller.cells.clone());
        }
        let answers = self.session.answers(table, &caller.variables);
        let mut scope = caller.scope();
        let mut results = CollectedResults::with_capacity(answers.len());
        for (solution, atom) in answers {
            results.push(self.load_result(solution, &atom, &mut scope)?);
        }
        self.deliver_all(results, Destination::Frame)
    }

    /// Answers that are rows are the results of the frame at hand, one after the other.
    fn give_rows(&mut self, answers: Rc<RowAnswers>, cells: Vec<Ref>) -> Result<(), Halt> {
        let has_hole = Ref::from_bits(self.m.frames.stack[self.m.frames.base + HOLE]).is_expression();
        if answers.len() == 0 || (!has_hole && self.m.count_all_of_frame(answers.len())) {
            return self.fail();
        }
        let base = self.m.frames.base;
        let rows = TableRows { answers, next: 0, cells };
        self.m.push_choice(base, base + HEADER, ChoiceKind::TableRows(Box::new(rows)));
        self.next_table_row()
    }

    /// The next answer for the choice on top, whose answers are rows.
    pub(super) fn next_table_row(&mut self) -> Result<(), Halt> {
        self.count_step()?;
        let Some(Choice { kind: ChoiceKind::TableRows(rows), .. }) = self.m.choices.stack.last_mut() else {
            unreachable!("the choice on top has answers that are rows")
        };
        let (answers, place, cells) = (Rc::clone(&rows.answers), rows.next, std::mem::take(&mut rows.cells));
        rows.next += 1;
        if rows.next == answers.len() {
            self.m.pop_choice();
        }
        for (column, &cell) in cells.iter().enumerate() {
            let value = self.load_row_value(answers.value(place, column))?;
            self.m.bind_again(cell, value);
        }
        let result = self.load_row_value(answers.value(place, cells.len()))?;
        (self.m.frames.acc, self.m.frames.pc) = (result, ESCAPE);
        if place + 1 < answers.len()
            && let Some(Choice { kind: ChoiceKind::TableRows(rows), .. }) = self.m.choices.stack.last_mut()
        {
            rows.cells = cells;
        }
        Ok(())
    }

    fn load_row_value(&mut self, value: RowValue) -> Result<Ref, Halt> {
        Ok(match value {
            RowValue::Term(term) => self.m.values.load_term(term)?,
            RowValue::Atom(atom) => self.m.values.load(&atom, &mut Scope::default())?,
        })
    }
}
