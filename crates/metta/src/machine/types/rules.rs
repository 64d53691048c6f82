//! What types follow from: the rules of functions.

use super::TypeChecker;
use crate::lowering::Form;
use crate::machine::code::Callee;
use crate::machine::halt::Halt;
use region::Ref;
use space::Atom;

/// The arguments and the body of a rule.
pub(in crate::machine) type Rule = (Vec<Atom>, Atom);

/// The rules of functions as they stand, with the types beside them.
pub(in crate::machine) trait Rules {
    fn types(&mut self) -> TypeChecker<'_>;

    /// The rules of a function; `None` if they are not for the machine.
    fn rules_of(&mut self, callee: Callee) -> Option<Vec<Rule>>;

    /// Those rules, looked at so that the variables that are made later have the numbers that they would have had.
    fn rules_taking_no_numbers(&mut self, callee: Callee) -> Option<Vec<Rule>>;

    fn has_rules(&mut self, callee: Callee) -> bool;

    /// Whether rules may change while a form is evaluated.
    fn may_change(&self) -> bool;

    /// Whether the results of all functions with this name are tabled.
    fn is_tabled(&mut self, head: Ref) -> bool;

    /// The special form that this is, if it means what the library says.
    fn special_form(&mut self, name: &str, arity: usize) -> Option<Form>;

    /// Whether a symbol with `arity` arguments, whatever its type, has no rules.
    fn is_constructor(&mut self, head: Ref, arity: usize) -> Result<bool, Halt>;

    /// Whether a head makes data of `arity` arguments in normal form.
    fn makes_data(&mut self, head: Ref, arity: usize) -> Result<bool, Halt>;
}

/// Questions about the types of functions that their rules answer.
pub(in crate::machine) struct FunctionTypes<'q> {
    pub(super) rules: &'q mut (dyn Rules + 'q),
}

impl<'q> FunctionTypes<'q> {
    pub(in crate::machine) fn new(rules: &'q mut (dyn Rules + 'q)) -> Self {
        Self { rules }
    }
}
