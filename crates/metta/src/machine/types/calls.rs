//! How calls of functions whose types have variables are evaluated, by what the rules of functions say.

use super::TypeChecker;
use super::instances::Instance;
use super::rules::FunctionTypes;
use super::signatures::{HeadKind, Signature};
use crate::machine::code::{Slot, TypeId};
use crate::machine::halt::Halt;
use crate::machine::words::SYMBOL;
use crate::types;
use region::Ref;
use space::Atom;

/// What is known of the types of a call before its arguments are evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum KnownTypes {
    /// They are declared without variables.
    Declared,
    /// They follow from what the arguments are. So an argument may be evaluated to a type that only a later one says.
    Inferred,
    /// What arguments come to may say more.
    Open,
}

impl FunctionTypes<'_> {
    /// How a call of a function with variables in its type is evaluated, if that is known.
    pub(in crate::machine) fn instance_of_call(
        &mut self,
        call: Ref,
        head: Ref,
        function: &Atom,
        type_id: TypeId,
    ) -> Result<Option<(Signature, KnownTypes)>, Halt> {
        let mut checker = self.rules.types();
        let Some(arguments) = checker.schemes_of_arguments(call) else { return Ok(None) };
        let TypeChecker { types, values, variables, .. } = checker;
        let count = values.heap.length(call) - 1;
        let found = types.instance_for(head, function, &arguments[..count], type_id, variables);
        let Some(Instance { signature, open }) = found else { return Ok(None) };
        let mut evaluated_first = 0;
        for place in (0..count).filter(|place| open >> place & 1 == 1) {
            let TypeChecker { types, values, .. } = self.rules.types();
            let child = values.heap.walk(values.heap.child(call, place + 1));
            let is_evaluated = types.own_result(values, child, 0).is_none();
            evaluated_first += u32::from(is_evaluated && !self.stays_open(child)?);
        }
        match evaluated_first {
            0 => Ok(Some((signature, KnownTypes::Inferred))),
            // What that binds, nothing else sees; or the rules follow from the types whatever it is.
            1 if self.is_well_typed((head, count as Slot)) => Ok(Some((signature, KnownTypes::Inferred))),
            1 if head.tag() == SYMBOL && self.rules.is_constructor(head, count)? => {
                Ok(Some((signature, KnownTypes::Inferred)))
            }
            _ if self.depends_on_ways(call, function, open)? => Ok(None),
            _ => Ok(Some((signature, KnownTypes::Open))),
        }
    }

    /// Whether it depends on the way of an evaluation if one of these arguments, a bit for each, says of which type it is. Where that is not
    /// known it is taken for said, unless an argument has effects: then the call could not be begun again.
    fn depends_on_ways(&mut self, call: Ref, function: &Atom, open: u32) -> Result<bool, Halt> {
        let count = self.rules.types().values.heap.length(call) - 1;
        for place in (0..count).filter(|place| open >> place & 1 == 1) {
            let argument = self.rules.types().values.heap.child(call, place + 1);
            if self.type_flow(argument)?.depends() {
                return Ok(true);
            }
        }
        if !self.takes_for_said(call, function)? {
            return Ok(false);
        }
        for place in 1..=count {
            let argument = self.rules.types().values.heap.child(call, place);
            if self.names_effects(argument)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether types of a call that cannot be begun again are not known: of an argument whose type has variables it is not known if its
    /// evaluation says the type.
    pub(in crate::machine) fn is_untold(&mut self, call: Ref) -> Result<bool, Halt> {
        let TypeChecker { values, .. } = self.rules.types();
        let (head, count) = (values.heap.walk(values.heap.child(call, 0)), values.heap.length(call) - 1);
        match self.rules.types().head_kind(head, count) {
            HeadKind::Parametric(function) => self.takes_for_said(call, &function),
            _ => Ok(false),
        }
    }

    /// Whether of an argument whose declared type has variables it is not known if its evaluation says the type.
    fn takes_for_said(&mut self, call: Ref, function: &Atom) -> Result<bool, Halt> {
        let (formals, _) = types::function_parts(function);
        for (place, _) in formals.iter().enumerate().filter(|(_, formal)| !formal.is_ground()) {
            let argument = self.rules.types().values.heap.child(call, place + 1);
            if self.type_flow(argument)?.is_taken_for_said() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The type that the result of a call is evaluated to whose arguments are evaluated, by the types of those that say one; `None`
    /// if they do not agree with the type of the function.
    pub(in crate::machine) fn result_of_values(
        &mut self,
        head: Ref,
        values: &[Ref],
        says_type: &[bool],
        type_id: TypeId,
    ) -> Result<Option<TypeId>, Halt> {
        let HeadKind::Parametric(function) = self.rules.types().head_kind(head, values.len()) else { return Ok(None) };
        if head.tag() == SYMBOL
            && says_type.iter().all(|&says_type| says_type)
            && self.rules.is_constructor(head, values.len())?
            && let Some(scheme) = self.rules.types().indexed_type(head, values, None)
            && self.rules.types().types.each_agrees_with(scheme, type_id)
        {
            return Ok(Some(type_id));
        }
        let Some(schemes) = self.rules.types().schemes_of_values(values, says_type) else { return Ok(None) };
        let schemes = &schemes[..values.len()];
        // Of data nothing is asked but whether the types agree.
        if head.tag() == SYMBOL
            && self.rules.is_constructor(head, values.len())?
            && let Some(expected) = self.rules.types().types.scheme_of_type(type_id)
            && self.rules.types().types.result_of_schemes(&function, schemes, expected).is_some()
        {
            return Ok(Some(type_id));
        }
        let TypeChecker { types, variables, .. } = self.rules.types();
        let instance = types.instance_for(head, &function, schemes, type_id, variables);
        Ok(instance.map(|instance| instance.signature.result.unwrap_or(type_id)))
    }

    /// How the rest of a call's arguments is evaluated, by the types of those that say one: some are evaluated, others as they stand.
    pub(in crate::machine) fn signature_for_values(
        &mut self,
        head: Ref,
        values: &[Ref],
        says_type: &[bool],
        type_id: TypeId,
    ) -> Option<Signature> {
        let mut checker = self.rules.types();
        let HeadKind::Parametric(function) = checker.head_kind(head, values.len()) else { return None };
        let schemes = checker.schemes_of_values(values, says_type)?;
        let TypeChecker { types, variables, .. } = checker;
        let instance = types.instance_for(head, &function, &schemes[..values.len()], type_id, variables);
        instance.map(|instance| instance.signature)
    }

    /// Whether an expression is data without a type, whatever its children come to: that binds no variable of a type.
    fn stays_open(&mut self, value: Ref) -> Result<bool, Halt> {
        if !value.is_expression() || !self.rules.types().is_open(value) {
            return Ok(false);
        }
        let heap = &self.rules.types().values.heap;
        let (head, arity) = (heap.walk(heap.child(value, 0)), heap.length(value) - 1);
        Ok(head.tag() == SYMBOL && self.rules.makes_data(head, arity)?)
    }
}
