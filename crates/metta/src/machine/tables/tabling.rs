//! Asking tables for the answers of a call.

use super::Caller;
use super::filling::Filling;
use super::leaf_key::add_leaf;
use crate::datalog::Asked;
use crate::environment::Stop;
use crate::machine::code::{CHANGED, Code, FACTS, HEADER, OPEN, Tabled};
use crate::machine::control::choices::Choices;
use crate::machine::control::collected::CollectedResults;
use crate::machine::control::frames::Frames;
use crate::machine::normal_calls::call_of;
use crate::machine::types::Types;
use crate::machine::values::{Scope, Values};
use crate::machine::{Halt, Reason, Running};
use crate::session::Session;
use crate::tables::{Answers, AutomaticTables, CallKey, CallState};
use space::SharedSpace;

/// How many calls that the machine remembers by itself may be in progress, one inside the other. A tail call keeps its frame while it is one.
const NESTED_MAX: usize = 1 << 14;

/// What is needed to keep the answers of calls.
pub(in crate::machine) struct Tabling<'a> {
    pub(in crate::machine) choices: &'a mut Choices,
    pub(in crate::machine) code: &'a Code,
    pub(in crate::machine) frames: &'a mut Frames,
    pub(in crate::machine) values: &'a mut Values,
    pub(in crate::machine) types: &'a Types,
    pub(in crate::machine) automatic: &'a mut AutomaticTables,
    pub(in crate::machine) session: &'a mut Session,
    pub(in crate::machine) space: &'a SharedSpace,
}

/// What is known of a call.
pub(super) enum Known {
    /// These are its answers.
    Complete(Answers, Caller),
    /// This table has its answers so far.
    Growing(usize, Caller),
    /// It is to be evaluated, and its answers are to be kept.
    Nothing(Filling),
    /// It is evaluated like any other.
    NotKept,
    /// As all calls of its function are from now on.
    GivenUp,
}

/// What a call comes to by its table.
pub(in crate::machine) enum Answered {
    Results(CollectedResults),
    /// Rows: the choice on top has them.
    Rows,
    /// Its code runs once more, in a frame that is laid out.
    Again,
}

impl Running<'_> {
    /// What is needed to keep the answers of calls.
    pub(in crate::machine) fn tabling(&mut self) -> Tabling<'_> {
        Tabling {
            choices: &mut self.m.choices,
            code: &self.m.code,
            frames: &mut self.m.frames,
            values: &mut self.m.values,
            types: &self.m.types,
            automatic: &mut self.m.automatic,
            session: self.session,
            space: &self.space,
        }
    }
}

impl Tabling<'_> {
    /// What is known of the call of the frame at hand, of a function that the program has tabled.
    pub(super) fn ask_declared(&mut self, function: u32) -> Result<Known, Halt> {
        self.choices.must_gather()?;
        let mut scope = Scope::default();
        let call = call_of(self.code, self.frames, self.values, function)?;
        let call = self.values.store(call, &mut scope, self.session.program.variables())?;
        let type_id = self.code.functions[function as usize].type_id;
        let type_atom = self.types.ids.atom(type_id);
        let Some(asking) = CallKey::new(&call, type_atom, self.space) else {
            self.frames.pc = CHANGED;
            return Ok(Known::NotKept);
        };
        let wanted = Asked { call: &call, type_atom, space: self.space, is_reference: false };
        let state = self.session.ask_table(&asking, &wanted).map_err(|limit| Halt::from(Reason::Limit(limit)))?;
        let caller = Caller::new(asking.variables, &scope);
        Ok(match state {
            CallState::Read(answers) => Known::Complete(answers, caller),
            CallState::Follow(table) => {
                let asks_all_above =
                    self.choices.asks_all_above(self.session.tables.depth(), self.session.tables.floor());
                match self.session.tables.cycle(table, asks_all_above) {
                    Some(error) => return Err(Reason::Stop(Stop::NotStratified(error)).into()),
                    None => Known::Growing(table, caller),
                }
            }
            CallState::Fill(_) => {
                let depth = self.session.tables.depth() - 1;
                let asks_all_above = self.choices.asks_all_above(depth, self.session.tables.floor());
                Known::Nothing(Filling::Declared { caller, asks_all_above })
            }
        })
    }

    /// What is known of the call of the frame at hand, of a function that the machine remembers by itself.
    pub(super) fn ask_automatic(&mut self, function: u32) -> Known {
        let level = self.frames.stack[self.frames.base + 2];
        // Of an open frame only the first results may be wanted.
        if matches!(level, OPEN | FACTS) {
            return Known::NotKept;
        }
        let found = self.code.functions[function as usize];
        let word = u64::from(found.head.bits()) | u64::from(found.arguments) << 32 | u64::from(found.type_id) << 48;
        if !self.automatic.begin_key(word, self.code.version) {
            return Known::GivenUp;
        }
        let mut slots = 0..found.arguments;
        if !slots.all(|slot| add_leaf(self.values, self.values.heap.walk(self.frames.slot(slot)), self.automatic)) {
            return Known::NotKept;
        }
        match self.automatic.find() {
            Some(answers) => Known::Complete(answers, Caller::default()),
            None if self.choices.fillings.automatic_depth() < NESTED_MAX => {
                let Tabled { return_point, .. } = self.code.tabled[&function];
                let words = HEADER + usize::from(self.code.return_point(return_point).at);
                let call = self.in_form_apart(|tabling| tabling.automatic.open());
                Known::Nothing(Filling::Automatic { call, words, depth: self.choices.fillings.automatic_depth() + 1 })
            }
            None => Known::NotKept,
        }
    }

    /// Does something whose memory is not the form's.
    pub(super) fn in_form_apart<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = region::memory::of_thread();
        let done = work(self);
        self.session.form_steps.leave_out(region::memory::of_thread() - before);
        done
    }
}
