//! Native functions: called through their Rust side on atoms.

use super::choices::Gathered;
use super::code::Slot;
use super::values::Scope;
use super::{Halt, Running};
use crate::names;
use crate::operation::{Operation, Outcome};
use crate::stdlib;
use region::Ref;
use space::{Atom, Solution};

impl Running<'_> {
    /// Calls a native function on the arguments in slots in a row.
    pub(super) fn native(&mut self, operation: Ref, first: Slot, count: Slot, site: u32) -> Result<(), Halt> {
        let arguments: Vec<Ref> = (first..first + count).map(|slot| self.m.slot(slot)).collect();
        let head = self.m.values.foreign_of(operation).clone();
        self.call_native(&head, operation, &arguments, site)
    }

    /// Calls a native function of the library by name.
    pub(super) fn native_on(&mut self, name: &str, arguments: &[Ref], site: u32) -> Result<(), Halt> {
        let head = stdlib::operation(name, crate::modules::ModuleId(0)).expect("the library has it");
        let reference = self.m.values.constant_leaf(&head).expect("it is a leaf");
        self.call_native(&head, reference, arguments, site)
    }

    fn call_native(&mut self, head: &Atom, reference: Ref, arguments: &[Ref], site: u32) -> Result<(), Halt> {
        let mut scope = Scope::default();
        let mut atoms = Vec::with_capacity(arguments.len());
        for &argument in arguments {
            atoms.push(self.m.values.store(argument, &mut scope, &mut self.runner.variables));
        }
        let operation = Operation::of(head).expect("it is a native function");
        let outcome = operation.call(self.runner, head, &atoms, &self.space);
        self.refresh();
        let results: Vec<(Solution, Atom)> = match outcome {
            Outcome::Results(results) => results.into_iter().map(|result| (Solution::new(), result)).collect(),
            Outcome::Solutions(solutions) => solutions,
            Outcome::NotReducible => {
                let children: Vec<Ref> = std::iter::once(reference).chain(arguments.iter().copied()).collect();
                let call = self.m.values.heap.expression(&mut self.m.values.region, &children)?;
                return self.deliver_all(vec![Gathered { value: call, bound: Vec::new() }], site);
            }
            Outcome::Failure(message) => {
                let call = Atom::expression(std::iter::once(head.clone()).chain(atoms).collect::<Vec<_>>());
                vec![(Solution::new(), names::error(call, message))]
            }
            Outcome::Stop(stop) => return Err(Halt::Stop(stop)),
        };
        let mut loaded = Vec::with_capacity(results.len());
        for (solution, atom) in results {
            loaded.push(self.load_result(solution, &atom, &mut scope)?);
        }
        self.deliver_all(loaded, site)
    }

    pub(super) fn form_variable(&mut self, index: u32) -> Result<Ref, Halt> {
        Ok(self.m.values.make_form_variable(index)?)
    }
}
