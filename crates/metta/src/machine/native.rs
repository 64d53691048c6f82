//! Native functions that are called on atoms, as the library defines them in Rust.

use super::code::Slot;
use super::control::choices::Destination;
use super::control::collected::CollectedResults;
use super::handover::as_evaluated;
use super::values::Scope;
use super::words::{EMPTY, INTEGER, SYMBOL};
use super::{Halt, Reason, Running};
use crate::lowering::Lowering;
use crate::operation::{Operation, Outcome};
use crate::program::modules::ModuleId;
use crate::{instructions, names, stdlib};
use region::Ref;
use space::{Atom, Solution};

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
            && let Some(list) = self.difference(self.m.frames.slot(first), self.m.frames.slot(first + 1))?
        {
            self.limits().collect_soon();
            return self.resume(return_point, list);
        }
        let arguments: Vec<Ref> = (first..first + count).map(|slot| self.m.frames.slot(slot)).collect();
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
        if self.m.values.is_function(list) || self.m.values.is_error(list) {
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
                loaded.push(self.m.values.load_result(solution, &call, &mut scope)?);
            } else if instructions::is_function(&atom) {
                // What is code is run, whatever type the function has.
                self.run_function(&call, (solution, atom), &mut scope, &mut loaded)?;
            } else {
                loaded.push(self.m.values.load_result(solution, &atom, &mut scope)?);
            }
        }
        self.limits().collect_soon();
        self.deliver_all(loaded, Destination::ReturnPoint(return_point))
    }
}
