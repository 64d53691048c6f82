//! Data: expressions whose heads have no rules.
//!
//! 1. Children that are expressions are evaluated first.
//! 2. If all children are leaves and variables, they are taken as they are, in the hope that each is its own result.
//! 3. If the head has one function type, its arguments are evaluated to their types; if it needs more than that to know them, types
//!    are looked at when the data is built ([`crate::machine::types`]).
//! 4. In last place, data whose last child is a call is built around that: the call takes the place of the frame.

use super::{Lower, Place, Whole};
use crate::machine::code::{Position, Slot};
use crate::machine::core::{Around, Core, Data, DataTypes};
use crate::machine::types::Formal;
use crate::machine::words::EMPTY;
use crate::names;
use crate::passes::Pass;
use crate::types;
use region::Ref;
use space::{Atom, Variable, variables};
use std::rc::Rc;

impl Lower<'_> {
    /// Data, and how it is made if its head has a type.
    pub(super) fn data(&mut self, by: Option<DataTypes>, head: (u32, Ref), atom: &Atom, place: Place) -> Core {
        let by = by.map(Rc::new);
        let arguments = &atom.children().expect("data is an expression")[1..];
        let mut fresh = self.facts.needed_after_first(arguments);
        self.facts.scope.learn_each(&fresh);
        let is_exact = self.facts.run.machine().code.is_exact;
        if let (Place::Tail, Some((last, others))) = (place, arguments.split_last())
            && !is_exact
            && self.facts.is_call(last)
            && self.facts.makes(Pass::DataAroundCalls)
        {
            let type_id = by.as_ref().map_or(0, |by| by.formal(others.len()));
            let mut data = self.data_of(by, head, others, &mut fresh);
            let call = self.expression(last, type_id, Place::Tail);
            data.around = Some(Box::new(Around { call, atom: last.clone() }));
            return Core::fresh(fresh, Core::Data(Box::new(data)));
        }
        let is_same = arguments.iter().all(|argument| self.facts.is_same(argument));
        if is_exact && !is_same {
            // Where rules may change, it can be seen only so that an argument came to itself.
            self.add_fresh(&mut fresh, arguments.iter().flat_map(variables).collect());
        }
        let is_gathered = place != Place::Tail && self.facts.is_gathered(arguments);
        let mut data = self.data_of(by, head, arguments, &mut fresh);
        (data.is_same, data.is_gathered) = (is_same, is_gathered);
        data.written = (!is_same).then(|| arguments.to_vec());
        Core::fresh(fresh, Core::Data(Box::new(data)))
    }

    /// Data with these children.
    fn data_of(
        &mut self,
        by: Option<Rc<DataTypes>>,
        (function, head): (u32, Ref),
        arguments: &[Atom],
        fresh: &mut Vec<Variable>,
    ) -> Data {
        // What stands before `Empty` is evaluated all the same: it may be an error.
        let is_simple = |argument: &Atom| !matches!(argument, Atom::Expression(_)) && !argument.is_symbol(names::EMPTY);
        let is_flat = arguments.iter().all(is_simple);
        // What an argument before it has bound is evaluated as any other argument, where these have types.
        let held = if self.facts.is_well_typed || by.is_some() { Vec::new() } else { self.held(arguments) };
        self.add_fresh(fresh, held.clone());
        let mut children = Vec::with_capacity(arguments.len());
        for (place, argument) in arguments.iter().enumerate() {
            let type_id = by.as_ref().map_or(0, |by| by.formal(place));
            children.push(match (self.facts.run.machine_mut().values.constant_leaf(argument), argument) {
                (Some(EMPTY), _) => Core::Fail,
                (Some(leaf), _) => Core::Leaf(leaf),
                (None, Atom::Variable(variable)) if is_flat => {
                    self.add_fresh(fresh, vec![variable.clone()]);
                    self.evaluated(variable, type_id, Position::Child)
                }
                (None, _) if by.is_some() => self.argument(argument, type_id),
                (None, _) => self.value(argument, 0, Place::Inside),
            });
        }
        Data {
            function,
            head,
            children,
            is_flat,
            by,
            is_same: false,
            is_gathered: false,
            held,
            written: None,
            around: None,
            is_at_once: false,
        }
    }

    /// Data whose head has one function type, by which its arguments are evaluated to types; `None` if it is not data of that kind.
    pub(super) fn data_by_type(
        &mut self,
        head: (u32, Ref),
        formals: &Rc<[Formal]>,
        whole: Whole<'_>,
        place: Place,
    ) -> Option<Core> {
        let arguments = &whole.atom.children().expect("it is an expression")[1..];
        let are_evaluated = formals.iter().all(|formal| matches!(formal, Formal::Typed(_)));
        if !are_evaluated || !self.facts.is_data_by_type(head.1, arguments) {
            return None;
        }
        let by = DataTypes { formals: Some(Rc::clone(formals)), whole: whole.atom.clone(), type_id: whole.type_id };
        Some(self.data(Some(by), head, whole.atom, place))
    }

    /// Data of leaves and variables whose head has a type with variables; `None` if it is not data of that kind.
    pub(super) fn data_with_open_type(
        &mut self,
        function: &Atom,
        head: Ref,
        whole: Whole<'_>,
        place: Place,
    ) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let arguments = &atom.children().expect("it is an expression")[1..];
        let is_simple = !arguments.iter().any(|argument| matches!(argument, Atom::Expression(_)))
            && arguments.iter().any(|argument| matches!(argument, Atom::Variable(_)));
        let expected = self.facts.run.machine().types.ids.atom(type_id);
        let says_how = types::says_how(function) || type_id != 0 && types::says_how(expected);
        let (formals, _) = types::function_parts(function);
        if !is_simple || says_how || formals.len() != arguments.len() || !self.facts.is_data_by_type(head, arguments) {
            return None;
        }
        let by = DataTypes { formals: None, whole: atom.clone(), type_id };
        let function = self.facts.run.machine_mut().code.function(head, arguments.len() as Slot, type_id);
        Some(self.data(Some(by), (function, head), atom, place))
    }

    /// Data whose head changes a parameter of an argument's type ([`crate::machine::types`]): a call of which nothing is known is
    /// evaluated to the type with that parameter open, whatever it comes to. `None` if it is not data of that kind.
    pub(super) fn data_with_changed_type(
        &mut self,
        function: &Atom,
        head: Ref,
        whole: Whole<'_>,
        place: Place,
    ) -> Option<Core> {
        let Whole { atom, type_id } = whole;
        let arguments = &atom.children().expect("it is an expression")[1..];
        let changed = self.facts.run.machine_mut().types.changed_parameters(head, function);
        if changed.is_empty() || !self.facts.is_data_by_type(head, arguments) {
            return None;
        }
        let (known, mut tests) = self.facts.known_type(function, arguments, type_id)?;
        let formals = self.facts.formals_left_open(&known, &changed, arguments)?;
        let (_, result) = types::function_parts(&known);
        let agrees = self
            .facts
            .run
            .machine_mut()
            .types
            .ids
            .intern_type(result)
            .is_some_and(|result| self.facts.run.types().agrees_statically(result, type_id));
        if !agrees || !self.facts.arguments_agree(&formals, arguments, &mut tests) {
            return None;
        }
        let function = self.facts.run.machine_mut().code.function(head, arguments.len() as Slot, type_id);
        Some(self.guarded(tests, whole, |lower| {
            let data = lower.data_by_type((function, head), &formals, whole, place);
            data.unwrap_or_else(|| lower.written(atom, type_id))
        }))
    }
}
