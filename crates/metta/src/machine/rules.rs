//! What types and lowering ask of the run.

use super::code::Callee;
use super::lower::Surroundings;
use super::types::{FunctionTypes, Rule, Rules, TypeChecker};
use super::{Halt, Machine, Running};
use crate::lowering::Form;
use crate::passes::Passes;
use crate::program::modules::ModuleId;
use region::Ref;
use space::{SharedSpace, VariableSource};

impl Rules for Running<'_> {
    fn types(&mut self) -> TypeChecker<'_> {
        self.types()
    }

    fn rules_of(&mut self, (head, count): Callee) -> Option<Vec<Rule>> {
        self.rules_of(head, count)
    }

    fn rules_taking_no_numbers(&mut self, (head, count): Callee) -> Option<Vec<Rule>> {
        self.taking_no_numbers(|run| run.rules_of(head, count))
    }

    fn has_rules(&mut self, (head, count): Callee) -> bool {
        self.has_rules(head, count)
    }

    fn may_change(&self) -> bool {
        self.m.code.is_exact
    }

    fn is_tabled(&mut self, head: Ref) -> bool {
        self.session.tables.is_tabled(self.m.values.symbol_of(head))
    }

    fn special_form(&mut self, name: &str, arity: usize) -> Option<Form> {
        self.special_form(name, arity)
    }

    fn is_constructor(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        self.is_named_constructor(head, arity)
    }

    fn makes_data(&mut self, head: Ref, arity: usize) -> Result<bool, Halt> {
        self.makes_data(head, arity)
    }
}

impl Surroundings for Running<'_> {
    fn machine(&self) -> &Machine {
        &self.m
    }

    fn machine_mut(&mut self) -> &mut Machine {
        &mut self.m
    }

    fn function_types(&mut self) -> FunctionTypes<'_> {
        self.function_types()
    }

    fn variables(&mut self) -> &mut VariableSource {
        self.session.program.variables()
    }

    fn take_numbers_from(&mut self, last: u64) {
        self.take_numbers_from(last);
    }

    fn space(&self) -> &SharedSpace {
        &self.space
    }

    fn space_of(&self, module: ModuleId) -> SharedSpace {
        self.session.program.module(module).space.clone()
    }

    fn passes(&self) -> Passes {
        self.session.passes
    }
}
