//! The instructions of minimal MeTTa, as code has them (`compile/minimal.rs`).
//!
//! A call that is reduced once has an *open* frame: its results go on at their return point as they come, errors and `Empty`
//! included, and nothing is collected. The caller's frame then moves above what choices need (`Own`).

use super::code::{HEADER, OPEN, REDUCE, Slot, TypeId};
use super::control::choices::Destination;
use super::control::collected::CollectedResults;
use super::held::is_evaluated_open;
use super::matching::unification::Unified;
use super::values::{LOOKS_BETWEEN_LIMITS, Scope, Values};
use super::words::{ERROR, NOT_REDUCIBLE, RETURN, SYMBOL, TERM, plain};
use super::{Halt, Reason, Running};
use crate::instructions::is_instruction_name;
use crate::interpreter::Task;
use crate::names;
use crate::operation::{Operation, Outcome};
use region::{Ref, tag};
use rustc_hash::FxHashMap;
use space::{Atom, Bindings, Met, Solution, Symbol, Unifier, VariableSource, variables};

impl Running<'_> {
    pub(super) fn run_minimal(&mut self, slot: Slot, return_point: u32, only_function: bool) -> Result<(), Halt> {
        let stands = self.m.frames.slot(slot);
        let value = self.m.values.heap.walk(stands);
        if !self.m.values.is_code(value, only_function)? {
            self.m.frames.resume_raw(&self.m.code, return_point, stands);
            return Ok(());
        }
        match reduced_by(&mut self.m.values, value)? {
            Some(call) => self.reduce_value(call, return_point),
            None => self.interpret(value, Destination::Slot(return_point), Task::Minimal),
        }
    }

    pub(super) fn leave(
        &mut self,
        slot: Slot,
        type_id: TypeId,
        call: u32,
        came: impl FnOnce(&mut Self, Ref) -> Result<bool, Halt>,
    ) -> Result<(), Halt> {
        let value = self.m.frames.slot(slot);
        if is_evaluated_open(&self.m.values, value) {
            let value = self.m.resolve(value)?;
            return self.give(value);
        }
        let value = self.m.values.heap.walk(value);
        if value == NOT_REDUCIBLE {
            let call = self.m.build(call)?;
            let call = self.m.resolve(call)?;
            let value = if came(self, call)? { self.m.evaluated(call) } else { call };
            return self.give(value);
        }
        if type_id == self.m.types.atom_type || self.m.values.is_error(value) {
            return self.give(value);
        }
        self.evaluate_here(value, type_id)
    }

    pub(super) fn leave_function(&mut self, slot: Slot, call: u32, return_point: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        let value = self.m.values.opened(value)?;
        if value.is_expression()
            && let [RETURN, returned] = *self.m.values.heap.children(value)
        {
            self.m.frames.resume_raw(&self.m.code, return_point, returned);
            return Ok(());
        }
        let call = self.m.build(call)?;
        if !self.m.values.is_code(value, false)? {
            let message = self.m.values.symbol(&Symbol::new(names::NO_RETURN));
            let error = self.m.values.heap.expression(&mut self.m.values.region, &[ERROR, call, message])?;
            self.m.frames.resume_raw(&self.m.code, return_point, error);
            return Ok(());
        }
        let both = self.m.values.heap.expression(&mut self.m.values.region, &[value, call])?;
        self.interpret(both, Destination::Slot(return_point), |both| {
            let both = both.children().expect("it is a pair");
            Task::Function(both[0].clone(), both[1].clone())
        })
    }

    pub(super) fn reduce(&mut self, slot: Slot, return_point: u32) -> Result<(), Halt> {
        let value = self.m.read(slot);
        self.reduce_value(value, return_point)
    }

    fn reduce_value(&mut self, value: Ref, return_point: u32) -> Result<(), Halt> {
        let value = self.m.values.opened(value)?;
        if !value.is_expression() || self.m.values.heap.length(value) == 0 {
            return self.interpret_reduction(value, Destination::Slot(return_point));
        }
        let children: Vec<Ref> = self.m.values.heap.children(value).to_vec();
        let (head, arguments) = (self.m.values.heap.walk(children[0]), &children[1..]);
        match head.tag() {
            tag::VARIABLE => {
                self.m.frames.resume_raw(&self.m.code, return_point, NOT_REDUCIBLE);
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
        let at = self.m.code.return_point(return_point).at;
        self.m.frames.ensure(usize::from(at) + HEADER + arguments.len())?;
        let place = self.m.frames.base + HEADER + usize::from(at);
        self.m.frames.write_header(place, return_point);
        self.m.frames.stack[place + 2] = OPEN;
        for (index, argument) in arguments.iter().enumerate() {
            self.m.frames.stack[place + HEADER + index] = argument.bits();
        }
        self.m.frames.base = self.m.frames.frame_at(at, arguments.len())?;
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
            loaded.push(self.m.values.load_result(solution, &atom, &mut scope)?);
        }
        if let [value] = *loaded.values()
            && self.m.values.is_code(value, true)?
        {
            return self.interpret(value, Destination::Slot(return_point), Task::Minimal);
        }
        self.deliver_all(loaded, Destination::Slot(return_point))
    }

    /// Matches two slots in every way there is.
    pub(super) fn unify_every_way(&mut self, left: Slot, right: Slot, return_point: u32, or: u32) -> Result<(), Halt> {
        let (left, right) = (self.m.read(left), self.m.read(right));
        let length = self.m.choices.bindings.trail.len();
        match self.m.unify(left, right)? {
            Unified::Yes => self.m.frames.pc = self.m.code.return_point(return_point).pc,
            Unified::No => {
                self.m.undo_to(length);
                self.m.frames.pc = or;
            }
            Unified::Custom => {
                self.m.undo_to(length);
                let found = query_between(&mut self.m.values, self.session.program.variables(), left, right)?;
                if !found.is_empty() {
                    return self.deliver_all(found, Destination::Slot(return_point));
                }
                self.m.frames.pc = or;
            }
        }
        Ok(())
    }
}

/// The ways in which two values match, one of which holds a space.
fn query_between(
    values: &mut Values,
    source: &mut VariableSource,
    left: Ref,
    right: Ref,
) -> Result<CollectedResults, Halt> {
    let mut scope = Scope::default();
    let left = values.store(left, &mut scope, source)?;
    let right = values.store(right, &mut scope, source)?;
    let wanted = variables(&Atom::expression([left.clone(), right.clone()]));
    let mut unifier = Unifier::under(Bindings::default(), source);
    if !unifier.unify(&left, &right) {
        return Ok(CollectedResults::default());
    }
    let solutions: Vec<Solution> = unifier.finish().iter().map(|bindings| bindings.solution_for(&wanted)).collect();
    let unit = Atom::unit();
    solutions.into_iter().map(|solution| values.load_result(solution, &unit, &mut scope)).collect()
}

/// Whether two values are equal but for the names of variables.
pub(super) fn are_alike(values: &mut Values, left: Ref, right: Ref) -> Result<bool, Halt> {
    let (mut forth, mut back) = (FxHashMap::default(), FxHashMap::default());
    let (mut pairs, mut looks) = (vec![(left, right)], 0_usize);
    let mut met = Met::default();
    while let Some((left, right)) = pairs.pop() {
        looks += 1;
        if looks.is_multiple_of(LOOKS_BETWEEN_LIMITS) && values.ceiling.is_passed() {
            return Err(values.ceiling.passed());
        }
        let (left, right) = (values.heap.walk(left), values.heap.walk(right));
        let compound = |side: Ref| side.is_expression() || side.tag() == TERM;
        match (left.tag(), right.tag()) {
            (tag::VARIABLE, tag::VARIABLE)
                if *forth.entry(left).or_insert(right) == right && *back.entry(right).or_insert(left) == left => {}
            (tag::VARIABLE, _) | (_, tag::VARIABLE) => return Ok(false),
            // What a pair says of variables, it says each time.
            _ if compound(left) && compound(right) && !met.is_new((plain(left), plain(right))) => {}
            _ if compound(left) && compound(right) => {
                let (left, right) = (values.opened(left)?, values.opened(right)?);
                let heap = &values.heap;
                if heap.length(left) != heap.length(right) {
                    return Ok(false);
                }
                pairs.extend(heap.children(left).iter().copied().zip(heap.children(right).iter().copied()));
            }
            _ if compound(left) || compound(right) => return Ok(false),
            _ if !values.equal_leaves(left, right) => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}

/// The call that `(eval call)` reduces.
fn reduced_by(values: &mut Values, code: Ref) -> Result<Option<Ref>, Halt> {
    let code = values.opened(code)?;
    let &[head, call] = values.heap.children(code) else { return Ok(None) };
    let head = values.heap.walk(head);
    let is_eval = head.tag() == SYMBOL && values.symbol_of(head).as_str() == "eval";
    Ok(is_eval.then(|| values.heap.walk(call)))
}
