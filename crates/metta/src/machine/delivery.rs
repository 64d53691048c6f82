//! Results: where they go.
//!
//! 1. The result of a frame goes to the slot that its return point names. If choices were made since its expression began, it is
//!    [gathered](super::alternatives) first.
//! 2. `Empty` is not a result: the next alternative is tried. An error goes where the return point sends errors.
//! 3. If there are several results the machine goes on with each in turn: a choice for those that are left.

use super::code::{ESCAPE, HEADER, HOLE, OPEN, ReturnPoint, TypeId};
use super::control::choices::{BoundResults, Choice, ChoiceKind, Destination};
use super::control::collected::CollectedResults;
use super::holes::Filled;
use super::values::Scope;
use super::words::{EMPTY, TERM};
use super::{Halt, Running};
use crate::interpreter::Task;
use crate::names;
use region::{Ref, tag};
use space::Atom;

/// If more choices are left, their memory is worth the time that gathering takes.
const CHOICES_LEFT_MAX: usize = 1 << 12;

impl Running<'_> {
    /// The result of the frame at hand.
    #[inline(always)]
    pub(super) fn give(&mut self, value: Ref) -> Result<(), Halt> {
        if value == EMPTY {
            return self.give_empty();
        }
        if self.m.frames.stack[self.m.frames.base + HOLE] != 0 {
            return self.give_in_holes(value);
        }
        self.give_whole(value)
    }

    /// The result of the frame at hand, which goes into holes.
    fn give_in_holes(&mut self, value: Ref) -> Result<(), Halt> {
        match self.fill_holes(value)? {
            Filled::Whole(value) => self.give_whole(value),
            Filled::Call(call) => {
                self.interpret(call, Destination::Frame, |call| Task::Call(call, names::undefined(), true))
            }
            Filled::Elsewhere => Ok(()),
        }
    }

    /// The result of the frame at hand, put into what it goes into.
    #[inline]
    fn give_whole(&mut self, value: Ref) -> Result<(), Halt> {
        let base = self.m.frames.base;
        let (return_point, caller, level) =
            (self.m.frames.stack[base], self.m.frames.stack[base + 1], self.m.frames.stack[base + 2]);
        if self.m.choices.stack.len() as u32 == level {
            self.m.frames.base = caller as usize;
            return self.resume(return_point, value);
        }
        self.gather(value, level, return_point, caller)
    }

    /// Goes on at a return point of the frame at hand with a result.
    #[inline(always)]
    pub(super) fn resume(&mut self, return_point: u32, value: Ref) -> Result<(), Halt> {
        let ReturnPoint { pc, dst, error, .. } = self.m.code.return_points[return_point as usize];
        // What is marked as evaluated is no error.
        if matches!(value.tag(), tag::EXPRESSION | TERM) && self.m.values.is_error(value) {
            self.m.choices.must_gather()?;
            self.m.frames.acc = value;
            self.m.frames.pc = error;
            return Ok(());
        }
        self.m.frames.set_slot(dst, value);
        self.m.frames.pc = pc;
        Ok(())
    }

    /// `Empty` as the result of the frame at hand: a value only if the frame is open.
    #[cold]
    fn give_empty(&mut self) -> Result<(), Halt> {
        let base = self.m.frames.base;
        if self.m.frames.stack[base + 2] == OPEN {
            let (return_point, caller) = (self.m.frames.stack[base], self.m.frames.stack[base + 1]);
            self.m.frames.resume_open(&self.m.code, return_point, EMPTY, caller);
            return Ok(());
        }
        self.fail()
    }

    /// Goes on with the first result of a list of facts.
    pub(super) fn resume_facts(&mut self, return_point: u32, value: Ref, caller: u32) -> Result<(), Halt> {
        self.m.frames.base = caller as usize;
        self.m.frames.own_at(&self.m.code, return_point)?;
        self.resume(return_point, value)
    }

    /// Goes on at a return point of a frame with a result whose expression has alternatives left.
    pub(super) fn resume_backtracking(&mut self, return_point: u32, value: Ref, caller: u32) -> Result<(), Halt> {
        if self.m.choices.stack.len() > self.m.choices.backtracking.level.saturating_add(CHOICES_LEFT_MAX) {
            self.m.choices.must_gather()?;
        }
        self.m.frames.base = caller as usize;
        self.m.frames.own_at(&self.m.code, return_point)?;
        self.resume(return_point, value)
    }

    pub(super) fn deliver(&mut self, to: Destination, value: Ref) -> Result<(), Halt> {
        match to {
            Destination::Frame => {
                // Not here: the next result might be tried from within, and so on, on the native stack.
                (self.m.frames.acc, self.m.frames.pc) = (value, ESCAPE);
                Ok(())
            }
            Destination::ReturnPoint(return_point) => self.resume(return_point, value),
            Destination::Slot(return_point) => {
                self.m.frames.resume_raw(&self.m.code, return_point, value);
                Ok(())
            }
        }
    }

    /// The next result of the choice on top, some of whose results bind something.
    #[inline(never)]
    pub(super) fn next_bound_result(&mut self) -> Result<(), Halt> {
        let Some(Choice { kind: ChoiceKind::BoundResults(left), .. }) = self.m.choices.stack.last_mut() else {
            unreachable!("the choice on top has results that bind something")
        };
        let (place, to) = (left.next, left.to);
        left.next += 1;
        let results = std::mem::take(&mut left.results);
        self.m.choices.bind_as(&mut self.m.values, &results, place);
        let value = results.values()[place];
        match self.m.choices.stack.last_mut() {
            Some(Choice { kind: ChoiceKind::BoundResults(left), .. }) if place + 1 < results.len() => {
                left.results = results;
            }
            _ => self.m.choices.pop(&mut self.m.frames),
        }
        self.deliver(to, value)
    }

    /// Goes on with each of these results in turn.
    #[inline(never)]
    pub(super) fn deliver_all(&mut self, results: CollectedResults, to: Destination) -> Result<(), Halt> {
        match *results.values() {
            [] => self.fail(),
            [only] => {
                self.m.choices.bind_as(&mut self.m.values, &results, 0);
                self.deliver(to, only)
            }
            [first, ..] => {
                let base = self.m.frames.base;
                let top = match to {
                    Destination::Frame => base + HEADER,
                    Destination::ReturnPoint(return_point) | Destination::Slot(return_point) => {
                        self.m.frames.end_at(&self.m.code, base, return_point)
                    }
                };
                if results.bind_something() {
                    let left = Box::new(BoundResults { results, next: 0, to });
                    self.m.choices.push(
                        &mut self.m.frames,
                        &self.m.values,
                        (base, top),
                        ChoiceKind::BoundResults(left),
                    );
                    return self.next_bound_result();
                }
                let mut values = results.into_values().into_iter();
                values.next();
                self.m.choices.push(
                    &mut self.m.frames,
                    &self.m.values,
                    (base, top),
                    ChoiceKind::Results { values, to },
                );
                self.deliver(to, first)
            }
        }
    }

    /// Lets the interpreter do something and goes on with its results.
    pub(super) fn interpret(
        &mut self,
        value: Ref,
        to: Destination,
        task: impl FnOnce(Atom) -> Task,
    ) -> Result<(), Halt> {
        let mut scope = Scope::default();
        let atom = self.m.values.store(value, &mut scope, self.session.program.variables())?;
        let most =
            if to == Destination::Frame { self.m.choices.results_left(&self.m.frames, &self.m.code) } else { None };
        let found = self.hand_over(task(atom), most)?;
        let mut results = CollectedResults::default();
        for (solution, atom) in self.accept_found(found)? {
            results.push(self.m.values.load_result(solution, &atom, &mut scope)?);
        }
        self.deliver_all(results, to)
    }

    /// Hands the evaluation of a value, as the result of the frame at hand, to the interpreter.
    pub(super) fn interpret_here(&mut self, value: Ref, type_id: TypeId) -> Result<(), Halt> {
        let type_atom = self.types().type_atom(type_id);
        self.interpret(value, Destination::Frame, |atom| Task::Metta(atom, type_atom))
    }

    /// Hands one reduction of a call to the interpreter.
    pub(super) fn interpret_reduction(&mut self, call: Ref, to: Destination) -> Result<(), Halt> {
        self.interpret(call, to, |call| Task::Minimal(Atom::expression([Atom::symbol("eval"), call])))
    }
}
