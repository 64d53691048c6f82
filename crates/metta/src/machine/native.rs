//! Native functions that are called on atoms, as the library defines them in Rust.

use super::choices::Destination;
use super::code::Slot;
use super::collected::CollectedResults;
use super::values::Scope;
use super::words::{EMPTY, INTEGER, SYMBOL};
use super::{Halt, Reason, Running};
use crate::instructions;
use crate::interpreter::{Task, TaskOutcome};
use crate::lowering::Lowering;
use crate::names;
use crate::operation::{Operation, Outcome};
use crate::program::modules::ModuleId;
use crate::stdlib;
use crate::types;
use region::Ref;
use space::{Atom, Rewrite, Solution, Variable, rewrite};

/// Longer lists are not compared word by word.
const SHORT: usize = 32;

/// Whether an atom is the native function that takes the elements of one list from another.
fn is_difference(head: &Atom) -> bool {
    Operation::of(head).is_some_and(|operation| operation.lowering() == Lowering::Difference)
}

impl Running<'_> {
    /// Calls a native function on the arguments in slots in a row.
    pub(super) fn native(&mut self, operation: Ref, first: Slot, count: Slot, return_point: u32) -> Result<(), Halt> {
        if count == 2
            && is_difference(self.m.values.foreign_of(operation))
            && let Some(list) = self.difference(self.m.slot(first), self.m.slot(first + 1))?
        {
            self.collect_soon();
            return self.resume(return_point, list);
        }
        let arguments: Vec<Ref> = (first..first + count).map(|slot| self.m.slot(slot)).collect();
        let head = self.m.values.foreign_of(operation).clone();
        self.call_native(&head, operation, &arguments, return_point)
    }

    /// What `subtraction-atom` gives for two short lists of names and small integers, each of which is one word.
    fn difference(&mut self, left: Ref, right: Ref) -> Result<Option<Ref>, Halt> {
        let heap = &self.m.values.heap;
        let (left, right) = (heap.walk(left), heap.walk(right));
        let words = |list: Ref| {
            let children = if list.is_expression() { heap.children(list) } else { return None };
            let are_words = children.iter().all(|child| matches!(child.tag(), INTEGER | SYMBOL));
            (children.len() <= SHORT && are_words).then_some(children)
        };
        let Some((left, right)) = words(left).zip(words(right)) else { return Ok(None) };
        let (mut kept, mut length) = ([EMPTY; SHORT], 0);
        let (mut taken, mut left_to_take) = ([EMPTY; SHORT], right.len());
        taken[..right.len()].copy_from_slice(right);
        for &word in left {
            if let Some(place) = taken[..left_to_take].iter().position(|&other| other == word) {
                left_to_take -= 1;
                taken.swap(place, left_to_take);
            } else {
                kept[length] = word;
                length += 1;
            }
        }
        let list = self.m.values.heap.expression(&mut self.m.values.region, &kept[..length])?;
        if self.m.values.is_function(list) || self.m.is_error(list) {
            return Ok(None);
        }
        if length == 0 || self.is_normal_list(list)? {
            self.m.values.note_normal(list, self.m.types.notes);
        }
        Ok(Some(list))
    }

    /// Calls the native function that an instruction stands for, since its arguments are not what the instruction takes.
    pub(super) fn native_on(&mut self, lowering: Lowering, arguments: &[Ref], return_point: u32) -> Result<(), Halt> {
        let head = stdlib::operation_atom(stdlib::lowered(lowering), ModuleId::LIBRARY);
        let reference = self.m.values.constant_leaf(&head).expect("it is a leaf");
        self.call_native(&head, reference, arguments, return_point)
    }

    fn call_native(&mut self, head: &Atom, reference: Ref, arguments: &[Ref], return_point: u32) -> Result<(), Halt> {
        let mut scope = Scope::default();
        let (call, outcome) = self.outcome_of(head, arguments, &mut scope)?;
        let results: Vec<(Solution, Atom)> = match outcome {
            Outcome::Results(results) => results.into_iter().map(|result| (Solution::new(), result)).collect(),
            Outcome::Solutions(solutions) => solutions,
            Outcome::NotReducible => {
                let children: Vec<Ref> = std::iter::once(reference).chain(arguments.iter().copied()).collect();
                let call = self.m.values.heap.expression(&mut self.m.values.region, &children)?;
                let is_as_written = self.m.code.return_points[return_point as usize].is_as_written;
                let value = if is_as_written { self.m.evaluated(call) } else { call };
                return self.resume(return_point, value);
            }
            Outcome::Failure(message) => vec![(Solution::new(), names::error(call.clone(), message))],
            Outcome::Stop(stop) => return Err(Reason::Stop(stop).into()),
        };
        let mut loaded = CollectedResults::with_capacity(results.len());
        for (solution, atom) in results {
            if atom.is_symbol(names::NOT_REDUCIBLE) {
                let call = as_evaluated(&call, &solution);
                loaded.push(self.load_result(solution, &call, &mut scope)?);
            } else if instructions::is_function(&atom) {
                // What is code is run, whatever type the function has.
                self.run_function(&call, (solution, atom), &mut scope, &mut loaded)?;
            } else {
                loaded.push(self.load_result(solution, &atom, &mut scope)?);
            }
        }
        self.collect_soon();
        self.deliver_all(loaded, Destination::ReturnPoint(return_point))
    }

    /// Calls the Rust side of a native function: the call as an atom, and what came of it.
    ///
    /// # Errors
    /// Its arguments are too much for the limits, or it has effects and results are not gathered.
    pub(super) fn outcome_of(
        &mut self,
        head: &Atom,
        arguments: &[Ref],
        scope: &mut Scope,
    ) -> Result<(Atom, Outcome), Halt> {
        let mut children = Vec::with_capacity(arguments.len() + 1);
        children.push(head.clone());
        for &argument in arguments {
            children.push(self.m.values.store(argument, scope, self.session.program.variables())?);
        }
        let operation = Operation::of(head).expect("it is a native function");
        self.must_gather_unless_read(operation.effects())?;
        self.settle_fuel();
        let outcome = operation.call(self.session, head, &children[1..], &self.space);
        self.refresh();
        Ok((Atom::expression(children), outcome))
    }

    /// Lets the interpreter run code that a call was reduced to, in one way.
    pub(super) fn run_function(
        &mut self,
        call: &Atom,
        (bound, body): (Solution, Atom),
        scope: &mut Scope,
        loaded: &mut CollectedResults,
    ) -> Result<(), Halt> {
        let type_atom = match types::types_of(
            &self.space,
            call.head().expect("a call has a head"),
            self.session.program.variables(),
        )
        .as_slice()
        {
            [only] if only.is_function() => types::function_parts(&only.atom).1.clone(),
            _ => names::undefined(),
        };
        let call = with_bound(call, &bound);
        let found = self.hand_over(Task::Code { call, code: body, type_atom, changed: false }, None)?;
        for (mut solution, atom) in self.accept_found(found)? {
            solution.extend(bound.iter().cloned());
            loaded.push(self.load_result(solution, &atom, scope)?);
        }
        Ok(())
    }

    /// What the interpreter has found, unless the evaluation ends with it.
    pub(super) fn accept_found(&mut self, found: TaskOutcome) -> Result<Vec<(Solution, Atom)>, Halt> {
        self.m.counters.interpreted += 1;
        self.m.counters.steps += found.steps;
        self.m.counters.depth_max = self.m.counters.depth_max.max(found.depth_max);
        self.refresh();
        match (found.stop, found.limit) {
            (Some(stop), _) => Err(Reason::Stop(stop).into()),
            (None, Some(limit)) => Err(Reason::Limit(limit).into()),
            (None, None) => Ok(found.results),
        }
    }
}

/// A call with what a solution binds put in.
pub(super) fn with_bound(call: &Atom, solution: &Solution) -> Atom {
    let value = |variable: &Variable| solution.iter().find(|(known, _)| known == variable).map(|(_, value)| value);
    let put = |variable: &Variable| value(variable).map_or(Rewrite::Keep, |value| Rewrite::Continue(value.clone()));
    rewrite(call, put).unwrap_or_else(|| call.clone())
}

/// A call with what a solution binds put in, which stands for itself because its function has answered so.
pub(super) fn as_evaluated(call: &Atom, solution: &Solution) -> Atom {
    match with_bound(call, solution) {
        Atom::Expression(call) => call.into_evaluated().into(),
        call => call,
    }
}
