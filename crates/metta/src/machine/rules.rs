//! What types ask of the rules of functions.

use super::code::Callee;
use super::types::{Rule, Rules, TypeChecker};
use super::{Halt, Running};
use crate::lowering::Form;
use region::Ref;

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
