//! The instructions of minimal MeTTa, as code has them (`compile/minimal.rs`).
//!
//! A call that is reduced once has an *open* frame: its results go on at their return point as they come, errors and `Empty`
//! included, and nothing is collected. The caller's frame then moves above what choices need (`Own`).

use super::choices::Destination;
use super::code::{HEADER, OPEN, REDUCE, Slot, TypeId};
use super::collected::CollectedResults;
use super::unify::Unified;
use super::values::{LOOKS_BETWEEN_LIMITS, Scope};
use super::words::{EMPTY, ERROR, NOT_REDUCIBLE, RETURN, SYMBOL, TERM, plain};
use super::{Halt, Machine, Reason, Running};
use crate::instructions::is_instruction_name;
use crate::interpreter::Task;
use crate::names;
use crate::operation::{Operation, Outcome};
use region::{Ref, tag};
use rustc_hash::FxHashMap;
use space::{Atom, Bindings, Met, Solution, Symbol, Unifier, variables};

impl Running<'_> {
    pub(super) fn run_minimal(&mut self, slot: Slot, return_point: u32, only_function: bool) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if !self.is_code(value, only_function)? {
            self.resume_raw(return_point, value);
            return Ok(());
        }
        match self.reduced_by(value)? {
            Some(call) => self.reduce_value(call, return_point),
            None => self.interpret(value, Destination::Slot(return_point), Task::Minimal),
        }
    }

    /// The result of an open frame.
    pub(super) fn resume_open(&mut self, return_point: u32, value: Ref, caller: u32) -> Result<(), Halt> {
        self.m.frames.base = caller as usize;
        self.resume_raw(return_point, value);
        Ok(())
    }

    /// `Empty` as the result of the frame at hand: a value only if the frame is open.
    #[cold]
    pub(super) fn give_empty(&mut self) -> Result<(), Halt> {
        let base = self.m.frames.base;
        if self.m.frames.stack[base + 2] == OPEN {
            return self.resume_open(self.m.frames.stack[base], EMPTY, self.m.frames.stack[base + 1]);
        }
        self.fail()
    }

    pub(super) fn own(&mut self, at: Slot, slots: Slot) -> Result<(), Halt> {
        let (base, slots) = (self.m.frames.base, usize::from(slots));
        let end = base + HEADER + usize::from(at);
        if end < self.m.choices.protected { self.m.move_up(end, slots) } else { self.m.ensure(slots) }
    }

    pub(super) fn leave(
        &mut self,
        slot: Slot,
        type_id: TypeId,
        call: u32,
        came: impl FnOnce(&mut Self, Ref) -> Result<bool, Halt>,
    ) -> Result<(), Halt> {
        let value = self.m.read(slot);
        if value == NOT_REDUCIBLE {
            let call = self.build(call)?;
            let call = self.resolve(call)?;
            let value = if came(self, call)? { self.m.evaluated(call) } else { call };
            return self.give(value);
        }
        if type_id == self.m.types.atom_type || self.m.is_error(value) {
            return self.give(value);
        }
        self.evaluate_here(value, type_id)
    }

    pub(super) fn leave_function(&mut self, slot: Slot, call: u32, return_point: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        let value = self.opened(value)?;
        if value.is_expression()
            && let [RETURN, returned] = *self.m.values.heap.children(value)
        {
            let returned = self.m.values.heap.walk(returned);
            self.resume_raw(return_point, returned);
            return Ok(());
        }
        let call = self.build(call)?;
        if !self.is_code(value, false)? {
            let message = self.m.values.symbol(&Symbol::new(names::NO_RETURN));
            let error = self.m.values.heap.expression(&mut self.m.values.region, &[ERROR, call, message])?;
            self.resume_raw(return_point, error);
            return Ok(());
        }
        let both = self.m.values.heap.expression(&mut self.m.values.region, &[value, call])?;
        self.interpret(both, Destination::Slot(return_point), |both| {
            let both = both.children().expect("it is a pair");
            Task::Function(both[0].clone(), both[1].clone())
        })
    }

    /// Whether a value is an instruction, or a `function`.
    pub(super) fn is_code(&mut self, value: Ref, only_function: bool) -> Result<bool, Halt> {
        if only_function {
            return Ok(self.m.values.is_function(value));
        }
        if !value.is_expression() && value.tag() != TERM {
            return Ok(false);
        }
        let value = self.opened(value)?;
        let Some(&head) = self.m.values.heap.children(value).first() else { return Ok(false) };
        let head = self.m.values.heap.walk(head);
        Ok(head.tag() == SYMBOL && is_instruction_name(self.m.values.symbol_of(head).as_str()))
    }

    /// Hands one reduction of a call to the interpreter.
    pub(super) fn interpret_reduction(&mut self, call: Ref, to: Destination) -> Result<(), Halt> {
        self.interpret(call, to, |call| Task::Minimal(Atom::expression([Atom::symbol("eval"), call])))
    }

    /// The call that `(eval call)` reduces.
    fn reduced_by(&mut self, code: Ref) -> Result<Option<Ref>, Halt> {
        let code = self.opened(code)?;
        let &[head, call] = self.m.values.heap.children(code) else { return Ok(None) };
        let head = self.m.values.heap.walk(head);
        let is_eval = head.tag() == SYMBOL && self.m.values.symbol_of(head).as_str() == "eval";
        Ok(is_eval.then(|| self.m.values.heap.walk(call)))
    }

    pub(super) fn reduce(&mut self, slot: Slot, return_point: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        self.reduce_value(value, return_point)
    }

    fn reduce_value(&mut self, value: Ref, return_point: u32) -> Result<(), Halt> {
        let value = self.opened(value)?;
        if !value.is_expression() || self.m.values.heap.length(value) == 0 {
            return self.interpret_reduction(value, Destination::Slot(return_point));
        }
        let children: Vec<Ref> = self.m.values.heap.children(value).to_vec();
        let (head, arguments) = (self.m.values.heap.walk(children[0]), &children[1..]);
        match head.tag() {
            tag::VARIABLE => {
                self.resume_raw(return_point, NOT_REDUCIBLE);
                Ok(())
            }
            SYMBOL if is_instruction_name(self.m.values.symbol_of(head).as_str()) => {
                self.interpret(value, Destination::Slot(return_point), Task::Minimal)
            }
            SYMBOL if arguments.len() < 64 => self.call_open(head, arguments, return_point),
            _ => {
                let atom = if head.is_immediate() { self.m.values.leaf_atom(head) } else { Atom::unit() };
                match Operation::of(&atom) {
                    Some(_) => self.reduce_native(&atom, arguments, return_point),
                    None => self.interpret_reduction(value, Destination::Slot(return_point)),
                }
            }
        }
    }

    /// Calls a function in an open frame.
    fn call_open(&mut self, head: Ref, arguments: &[Ref], return_point: u32) -> Result<(), Halt> {
        let function = self.m.code.function(head, arguments.len() as Slot, REDUCE);
        let at = self.m.return_point(return_point).at;
        self.m.ensure(usize::from(at) + HEADER + arguments.len())?;
        let place = self.m.frames.base + HEADER + usize::from(at);
        self.m.write_header(place, return_point);
        self.m.frames.stack[place + 2] = OPEN;
        for (index, argument) in arguments.iter().enumerate() {
            self.m.frames.stack[place + HEADER + index] = argument.bits();
        }
        self.m.frames.base = self.m.frame_at(at, arguments.len())?;
        self.enter(function)
    }

    /// One reduction of a native call on arguments as they stand.
    pub(super) fn reduce_native(&mut self, head: &Atom, arguments: &[Ref], return_point: u32) -> Result<(), Halt> {
        let mut scope = Scope::default();
        let (call, outcome) = self.outcome_of(head, arguments, &mut scope)?;
        let mut results: Vec<(Solution, Atom)> = match outcome {
            Outcome::Results(results) => results.into_iter().map(|result| (Solution::new(), result)).collect(),
            Outcome::Solutions(solutions) => solutions,
            Outcome::NotReducible => vec![(Solution::new(), names::not_reducible())],
            Outcome::Failure(message) => vec![(Solution::new(), names::error(call, message))],
            Outcome::Stop(stop) => return Err(Reason::Stop(stop).into()),
        };
        if results.is_empty() {
            results.push((Solution::new(), names::empty()));
        }
        let mut loaded = CollectedResults::with_capacity(results.len());
        for (solution, atom) in results {
            loaded.push(self.load_result(solution, &atom, &mut scope)?);
        }
        if let [value] = *loaded.values()
            && self.is_code(value, true)?
        {
            return self.interpret(value, Destination::Slot(return_point), Task::Minimal);
        }
        self.deliver_all(loaded, Destination::Slot(return_point))
    }

    /// Matches two slots in every way there is.
    pub(super) fn unify_every_way(&mut self, left: Slot, right: Slot, return_point: u32, or: u32) -> Result<(), Halt> {
        let (left, right) = (self.m.read(left), self.m.read(right));
        let length = self.m.choices.trail.len();
        match self.m.unify(left, right)? {
            Unified::Yes => self.m.frames.pc = self.m.return_point(return_point).pc,
            Unified::No => {
                self.m.undo_to(length);
                self.m.frames.pc = or;
            }
            Unified::Custom => {
                self.m.undo_to(length);
                let found = self.query_between(left, right)?;
                if !found.is_empty() {
                    return self.deliver_all(found, Destination::Slot(return_point));
                }
                self.m.frames.pc = or;
            }
        }
        Ok(())
    }

    /// The ways in which two values match, one of which holds a space.
    fn query_between(&mut self, left: Ref, right: Ref) -> Result<CollectedResults, Halt> {
        let mut scope = Scope::default();
        let left = self.m.values.store(left, &mut scope, self.session.program.variables())?;
        let right = self.m.values.store(right, &mut scope, self.session.program.variables())?;
        let wanted = variables(&Atom::expression([left.clone(), right.clone()]));
        let mut unifier = Unifier::under(Bindings::default(), self.session.program.variables());
        if !unifier.unify(&left, &right) {
            return Ok(CollectedResults::default());
        }
        let solutions: Vec<Solution> = unifier.finish().iter().map(|bindings| bindings.solution_for(&wanted)).collect();
        let unit = Atom::unit();
        solutions.into_iter().map(|solution| self.load_result(solution, &unit, &mut scope)).collect()
    }

    /// Whether two values are equal but for the names of variables.
    pub(super) fn are_alike(&mut self, left: Ref, right: Ref) -> Result<bool, Halt> {
        let (mut forth, mut back) = (FxHashMap::default(), FxHashMap::default());
        let (mut pairs, mut looks) = (vec![(left, right)], 0_usize);
        let mut met = Met::default();
        while let Some((left, right)) = pairs.pop() {
            looks += 1;
            if looks.is_multiple_of(LOOKS_BETWEEN_LIMITS) && self.m.values.ceiling.is_passed() {
                return Err(self.m.values.ceiling.passed());
            }
            let (left, right) = (self.m.values.heap.walk(left), self.m.values.heap.walk(right));
            let compound = |side: Ref| side.is_expression() || side.tag() == TERM;
            match (left.tag(), right.tag()) {
                (tag::VARIABLE, tag::VARIABLE)
                    if *forth.entry(left).or_insert(right) == right && *back.entry(right).or_insert(left) == left => {}
                (tag::VARIABLE, _) | (_, tag::VARIABLE) => return Ok(false),
                // What a pair says of variables, it says each time.
                _ if compound(left) && compound(right) && !met.is_new((plain(left), plain(right))) => {}
                _ if compound(left) && compound(right) => {
                    let (left, right) = (self.opened(left)?, self.opened(right)?);
                    let heap = &self.m.values.heap;
                    if heap.length(left) != heap.length(right) {
                        return Ok(false);
                    }
                    pairs.extend(heap.children(left).iter().copied().zip(heap.children(right).iter().copied()));
                }
                _ if compound(left) || compound(right) => return Ok(false),
                _ if !self.m.values.equal_leaves(left, right) => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }
}

impl Machine {
    /// Whether a value holds no unbound variable.
    pub(super) fn is_ground(&self, value: Ref) -> bool {
        let (mut work, mut met) = (vec![value], Met::default());
        while let Some(value) = work.pop() {
            let value = self.values.heap.walk(value);
            match value.tag() {
                tag::VARIABLE => return false,
                tag::EXPRESSION if !self.types.notes.hold(self.values.heap.note(value)) && met.is_new(value) => {
                    work.extend(self.values.heap.children(value));
                }
                _ => {}
            }
        }
        true
    }
}
