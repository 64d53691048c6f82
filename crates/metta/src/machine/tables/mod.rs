//! Calls that are remembered, whatever the policy is: see [`crate::tables`].
//!
//! 1. The code of a function whose calls are remembered is entered through here. It is asked what is known of the call.
//! 2. The answers of a call that is complete are its results.
//! 3. If its table is not complete, but something above the call that fills it asks for all results, the form ends with an error.
//!    Otherwise, if no choices were made since the expression of the call began, its frame is left:
//!    the caller goes on with each answer, those included that are found meanwhile.
//! 4. Any other call has a collector of its own, and a second frame above its arguments, in which the code runs. If the program has
//!    tabled it, a result becomes an answer at once, and only errors are collected; if the table says so, the code runs again. Else all results are
//!    collected: they are kept if they are small, ground and without errors.
//! 5. The answers are the results of the first frame.

mod answers;
mod filling;
mod leaf_key;
mod tree_recursion;

pub(super) use filling::{Caller, FilledCall, Fillings};

use answers::few_answers;
use filling::Filling;
use leaf_key::add_leaf;

use super::choices::{Choice, ChoiceKind, CollectorPurpose, Destination, Followed};
use super::code::{CHANGED, Code, FACTS, HEADER, HOLE, Instruction, Kind, OPEN, Pc, REDUCE, ReturnPoint, Slot, Tabled};
use super::collected::{CollectedResult, CollectedResults};
use super::values::Scope;
use super::words::raw;
use super::{Halt, Reason, Running};
use crate::datalog::Asked;
use crate::environment::Stop;
use crate::tables::{Answers, CallKey, CallState, Policy, RoundEnd};
use region::Ref;

/// How many calls that the machine remembers by itself may be in progress, one inside the other. A tail call keeps its frame while it is one.
const NESTED_MAX: usize = 1 << 14;

/// What is known of a call.
enum Known {
    /// These are its answers.
    Complete(Answers, Caller),
    /// This table has its answers so far.
    Growing(usize, Caller),
    /// It is to be evaluated, and its answers are to be kept.
    Nothing(Filling),
    /// It is evaluated like any other.
    NotKept,
}

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
    /// Says whether the machine remembers calls by itself in the form that begins.
    pub(super) fn begin_remembering(&mut self) {
        let is_on = self.session.memoises && self.session.program.memoises();
        if self.m.code.memoises != is_on {
            self.m.code.memoises = is_on;
            self.m.next_version(false);
        }
    }

    /// How a function is entered that has this code: by a policy, if its calls are remembered.
    pub(super) fn entry_of(&mut self, function: u32, kind: Kind) -> Kind {
        let found = self.m.code.functions[function as usize];
        let is_declared = found.type_id != REDUCE && self.session.tables.is_tabled(self.m.values.symbol_of(found.head));
        let has_rules = matches!(kind, Kind::Rule(_) | Kind::Group(_) | Kind::Exclusive(_));
        let policy = match is_declared {
            true => Policy::Declared,
            false if has_rules && self.is_remembered(function) => Policy::Automatic,
            false => return kind,
        };
        self.m.code.table(function, found.arguments, kind);
        Kind::Tabled(policy)
    }

    /// Whether the machine remembers the calls of a function by itself, as rules and settings stand.
    pub(super) fn is_remembered(&mut self, function: u32) -> bool {
        let found = self.m.code.functions[function as usize];
        let may_be = self.m.code.memoises && !self.m.code.is_exact && found.type_id != REDUCE;
        may_be && self.is_pure_tree_recursion((found.head, found.arguments))
    }

    /// Enters a function whose calls are remembered, its frame made.
    pub(super) fn enter_tabled(&mut self, function: u32, policy: Policy) -> Result<(), Halt> {
        let known = match policy {
            Policy::Declared => self.ask_declared(function)?,
            Policy::Automatic => self.ask_automatic(function),
        };
        match known {
            Known::Complete(answers, caller) => self.give_answers(answers, &caller),
            Known::Growing(table, caller) => self.follow(table, caller),
            Known::Nothing(filling) => {
                self.m.frames.stack_max += filling.words();
                let place = self.m.choices.fillings.open(filling);
                self.begin_second_frame(FilledCall { function, policy, place })?;
                self.enter_body(function)
            }
            Known::NotKept => self.enter_body(function),
        }
    }

    /// What is known of the call of the frame at hand, of a function that the program has tabled.
    fn ask_declared(&mut self, function: u32) -> Result<Known, Halt> {
        self.must_gather()?;
        let mut scope = Scope::default();
        let call = self.call_of(function)?;
        let call = self.m.values.store(call, &mut scope, self.session.program.variables())?;
        let type_id = self.m.code.functions[function as usize].type_id;
        let type_atom = self.m.types.ids.atom(type_id);
        let Some(asking) = CallKey::new(&call, type_atom, &self.space) else {
            self.m.frames.pc = CHANGED;
            return Ok(Known::NotKept);
        };
        let wanted = Asked { call: &call, type_atom, space: &self.space, is_reference: false };
        let state = self.session.ask_table(&asking, &wanted).map_err(|limit| Halt::from(Reason::Limit(limit)))?;
        let caller = Caller::new(asking.variables, &scope);
        Ok(match state {
            CallState::Read(answers) => Known::Complete(answers, caller),
            CallState::Follow(table) => {
                let asks_all_above = self.asks_all_above();
                match self.session.tables.cycle(table, asks_all_above) {
                    Some(error) => return Err(Reason::Stop(Stop::NotStratified(error)).into()),
                    None => Known::Growing(table, caller),
                }
            }
            CallState::Fill(_) => {
                let depth = self.session.tables.depth() - 1;
                let asks_all_above = self.m.choices.asks_all_above(depth, self.session.tables.floor());
                Known::Nothing(Filling::Declared { caller, asks_all_above })
            }
        })
    }

    /// What is known of the call of the frame at hand, of a function that the machine remembers by itself.
    fn ask_automatic(&mut self, function: u32) -> Known {
        let level = self.m.frames.stack[self.m.frames.base + 2];
        // Of an open frame only the first results may be wanted.
        if matches!(level, OPEN | FACTS) {
            return Known::NotKept;
        }
        let found = self.m.code.functions[function as usize];
        let word = u64::from(found.head.bits()) | u64::from(found.arguments) << 32 | u64::from(found.type_id) << 48;
        let has_key = self.m.automatic.begin_key(word, self.m.code.version)
            && (0..found.arguments).all(|slot| add_leaf(&self.m.values, self.m.read(slot), &mut self.m.automatic));
        if !has_key {
            return Known::NotKept;
        }
        match self.m.automatic.find() {
            Some(answers) => Known::Complete(answers, Caller::default()),
            None if self.m.choices.fillings.automatic_depth() < NESTED_MAX => {
                let Tabled { return_point, .. } = self.m.code.tabled[&function];
                let words = HEADER + usize::from(self.m.return_point(return_point).at);
                let call = self.in_form_apart(|run| run.m.automatic.open());
                Known::Nothing(Filling::Automatic { call, words, depth: self.m.choices.fillings.automatic_depth() + 1 })
            }
            None => Known::NotKept,
        }
    }

    /// How many tabled calls are in progress below the innermost part of the evaluation that asks for all results.
    pub(super) fn asks_all_above(&self) -> usize {
        self.m.choices.asks_all_above(self.session.tables.depth(), self.session.tables.floor())
    }

    /// Lays out a frame for the code of the call of the frame at hand, and a collector for its results.
    fn begin_second_frame(&mut self, call: FilledCall) -> Result<(), Halt> {
        let Tabled { return_point, begun, .. } = self.m.code.tabled[&call.function];
        let count = usize::from(self.m.code.functions[call.function as usize].arguments);
        let at = usize::from(self.m.return_point(return_point).at);
        self.m.ensure(at + HEADER + count)?;
        let (base, place) = (self.m.frames.base, self.m.frames.base + HEADER + at);
        self.m.set_slot(begun, raw(self.m.choices.stack.len()));
        let collector = self.m.collector(CollectorPurpose::Table(call), return_point);
        self.m.push_choice(base, place, ChoiceKind::Collector(Box::new(collector)));
        self.m.frames.stack.copy_within(base + HEADER..base + HEADER + count, place + HEADER);
        self.m.write_header(place, return_point);
        self.m.frames.stack[place + 2] = match call.policy {
            Policy::Declared => OPEN,
            // As of any call, so that what returns to it is data with a hole where it would be if nothing was remembered.
            Policy::Automatic => {
                self.m.pause_backtracking();
                self.m.choices.stack.len() as u32
            }
        };
        self.m.frames.base = place;
        // A call that its table answers with has not come to itself.
        self.m.frames.pc = CHANGED;
        Ok(())
    }

    /// Goes on with the code of a function in the frame at hand.
    fn enter_body(&mut self, function: u32) -> Result<(), Halt> {
        if self.m.code.functions[function as usize].version != self.m.code.version {
            self.compile(function)?;
        }
        let found = &self.m.code.functions[function as usize];
        let (kind, slots) = (found.kind, found.slots);
        self.m.ensure(slots)?;
        match if matches!(kind, Kind::Tabled(_)) { self.m.code.tabled[&function].body } else { kind } {
            Kind::Rule(pc) => {
                self.m.frames.pc = pc;
                Ok(())
            }
            Kind::Group(group) => self.enter_group(group),
            Kind::Exclusive(exclusive) => self.enter_exclusive(exclusive),
            Kind::Indexed(index) => self.enter_indexed(function, index),
            Kind::Constructor => self.give_unreduced(function, CHANGED),
            Kind::Stale | Kind::Interpreted | Kind::Tabled(_) | Kind::Guarded(_) => {
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
            let answers = self.session.answers_so_far(table);
            return self.give_answers(answers, &caller);
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

    /// The code of a call has come to its end, and to these results, or to these errors if the others are answers already.
    pub(super) fn end_filling(&mut self, call: FilledCall, results: CollectedResults) -> Result<(), Halt> {
        match call.policy {
            Policy::Declared => self.end_round(call, &results),
            Policy::Automatic => self.end_automatic(call, results),
        }
    }

    fn end_round(&mut self, call: FilledCall, errors: &CollectedResults) -> Result<(), Halt> {
        for (place, &value) in errors.values().iter().enumerate() {
            let mark = self.m.choices.trail.len();
            self.m.bind_as(errors, place);
            self.add_answer(value)?;
            self.m.undo_to(mark);
        }
        match self.session.end_round() {
            RoundEnd::Done(answers) => match self.m.choices.fillings.close(call.place) {
                (Filling::Declared { caller, .. }, _) => self.give_answers(answers, &caller),
                (Filling::Automatic { .. }, _) => unreachable!("the program has tabled it"),
            },
            RoundEnd::NotStratified(error) => Err(Reason::Stop(Stop::NotStratified(error)).into()),
            RoundEnd::Again => {
                self.begin_second_frame(call)?;
                self.count_call(call.function)?;
                self.enter_body(call.function)
            }
        }
    }

    fn end_automatic(&mut self, call: FilledCall, results: CollectedResults) -> Result<(), Halt> {
        let (filling, words) = self.m.choices.fillings.close(call.place);
        self.m.frames.stack_max -= words;
        let may_be_kept = !results.bind_something() && !results.values().iter().any(|&value| self.m.is_error(value));
        if let (Filling::Automatic { call, .. }, true) = (filling, may_be_kept) {
            self.in_form_apart(|run| {
                let source = run.session.program.variables();
                if let Some(answers) = few_answers(results.values(), &mut run.m.values, source)? {
                    run.m.automatic.complete(call, answers);
                }
                Ok::<(), Halt>(())
            })?;
        }
        self.deliver_all(results, Destination::Frame)
    }

    /// The form has ended: what the machine has remembered by itself is forgotten.
    pub(super) fn end_remembering(&mut self) {
        self.in_form_apart(|run| {
            run.m.choices.fillings.leave_from(0);
            run.m.automatic.forget();
        });
    }

    /// Does something whose memory is not the form's.
    fn in_form_apart<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = region::memory::of_thread();
        let done = work(self);
        self.session.form_steps.leave_out(region::memory::of_thread() - before);
        done
    }
}
