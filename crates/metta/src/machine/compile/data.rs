//! Data: expressions whose heads have no rules.
//!
//! 1. Children that are calls are evaluated first, each into a slot.
//! 2. If all children are leaves and variables, they are taken as they are, in the hope that each is its own result; where
//!    one is not, code that is written later evaluates them one by one and does the same again.
//! 3. If the head has one function type, its arguments are evaluated to their types; if it needs more than that to know them, types
//!    are looked at when the data is built ([`crate::machine::typed_data`]).
//! 4. In last place, data whose last child is a call becomes a hole of what the frame comes to, and the call takes the
//!    place of the frame.

use super::body::Whole;
use super::{CodeState, Compiler, Dest, Errors, Label, Later};
use crate::machine::code::{ArgumentOrigin, Data, DataSlot, Instruction, Pc, Position, Slot, TypeId};
use crate::machine::kept_types::{ARITY_MAX, TypedData};
use crate::machine::types::{Formal, HeadKind};
use crate::machine::words::{COMPOUND, EMPTY, ERROR, SYMBOL};
use crate::names;
use crate::operation::Operation;
use crate::types;
use region::{Ref, Stamp};
use space::Atom;
use std::rc::Rc;

/// What data is made of.
#[derive(Clone)]
pub(super) struct Parts {
    function: u32,
    children: Vec<Ref>,
    slots: Vec<DataSlot>,
    is_same: bool,
    /// Whether a child was evaluated because it was not its own result.
    is_changed: bool,
    by: Option<Rc<DataTypes>>,
}

/// How data is made whose head has a type.
pub(super) struct DataTypes {
    /// What its children are evaluated to, if the code has looked at their types; otherwise they are leaves and variables whose
    /// types are looked at when it is built.
    pub(super) formals: Option<Rc<[Formal]>>,
    /// What is evaluated as it stands if a child needs that, and the type that is expected of it.
    pub(super) whole: Atom,
    pub(super) type_id: TypeId,
}

impl DataTypes {
    /// The type that a child is evaluated to.
    fn formal(&self, place: usize) -> TypeId {
        match self.formals.as_ref().map(|formals| formals[place]) {
            Some(Formal::Typed(type_id)) => type_id,
            Some(Formal::Raw | Formal::Expression) | None => 0,
        }
    }

    /// What is kept beside the code.
    fn typed_data(&self, last: Option<TypeId>) -> Box<TypedData> {
        let expected = if self.formals.is_some() { None } else { Some(self.type_id) };
        Box::new(TypedData::new(expected, last))
    }
}

impl Parts {
    /// Whether the code goes on elsewhere for no child.
    fn are_certain(&self) -> bool {
        let are_looked_at = self.by.as_ref().is_none_or(|by| by.formals.is_some());
        are_looked_at && self.slots.iter().all(|slot| slot.is_value)
    }
}

/// Where data goes whose children had to be evaluated.
#[derive(Clone)]
pub(super) enum Rebuilt {
    /// It is the result of the frame.
    Result,
    /// Into a slot, and on to a label.
    Slot(Slot, Option<Label>),
    /// It wraps the result of the frame, which is that of this call; its code begins at a label.
    Wrapper(Atom, Label),
}

/// Data whose children had to be evaluated.
pub(super) struct Unnormalized {
    label: Label,
    parts: Parts,
    made: Rebuilt,
    state: CodeState,
    errors: Errors,
}

impl Compiler<'_, '_> {
    /// Data whose head has neither rules nor types.
    pub(super) fn construct(&mut self, function: u32, head: Ref, arguments: &[Atom], dest: Dest) {
        self.construct_by(None, (function, head), arguments, dest);
    }

    /// Data whose head has no rules; how it is made if it has a type.
    fn construct_by(
        &mut self,
        by: Option<Rc<DataTypes>>,
        (function, head): (u32, Ref),
        arguments: &[Atom],
        dest: Dest,
    ) {
        self.make_ahead_of_parts(arguments);
        if let (Dest::Tail, Some((last, others))) = (dest, arguments.split_last())
            && !self.run.m.code.is_exact
            && self.is_call(last)
        {
            return self.wrap(by, (function, head), others, last);
        }
        self.make_written(arguments);
        match by.is_none().then(|| self.nested_data(function, head, arguments)).flatten() {
            Some(data) => self.construct_whole(data, (function, head), arguments, dest),
            None => self.construct_each(by, (function, head), arguments, dest),
        }
    }

    /// Data of which all is there already, in one go, or else expression by expression.
    fn construct_whole(&mut self, data: u32, head: (u32, Ref), arguments: &[Atom], dest: Dest) {
        let join = match dest {
            Dest::Tail => {
                self.emit(Instruction::ReturnNested { data });
                None
            }
            Dest::Slot(dst) => {
                let join = self.label();
                self.emit_to(Instruction::ConstructNested { data, dst, then: 0 }, join);
                Some(join)
            }
        };
        let live = self.state.live.clone();
        self.is_inside_data = true;
        self.construct_each(None, head, arguments, dest);
        self.is_inside_data = false;
        if let (Some(join), Dest::Slot(dst)) = (join, dest) {
            self.place(join);
            // Made in one go, the parts were in no slots.
            self.state.live = live;
            self.mark_live(dst);
        }
    }

    /// Data whose arguments are evaluated one by one.
    fn construct_each(
        &mut self,
        by: Option<Rc<DataTypes>>,
        (function, head): (u32, Ref),
        arguments: &[Atom],
        dest: Dest,
    ) {
        let begins = dest != Dest::Tail && self.is_gathered(arguments);
        let outer = self.errors;
        let begun = if begins { self.slot() } else { 0 };
        let label = begins.then(|| self.begin_barrier(begun));
        let mut parts = self.parts_of(by, (function, head), arguments);
        parts.is_same = arguments.iter().all(|argument| self.is_same(argument));
        let dst = if begins { self.slot() } else { self.target(dest) };
        let written = if parts.is_same { None } else { self.written_data(head, arguments) };
        match (dest, written) {
            (_, Some(written)) => {
                self.build_joined(parts, dst);
                self.compare(dst, written);
            }
            (_, None) if begins => self.build_joined(parts, dst),
            (Dest::Tail, None) => self.build(parts, Rebuilt::Result),
            (Dest::Slot(_), None) => {
                let join = if parts.are_certain() { None } else { self.join(dest) };
                self.build(parts, Rebuilt::Slot(dst, join));
            }
        }
        self.errors = outer;
        if dest == Dest::Tail && written.is_none() {
            return;
        }
        if !begins {
            return self.finish(dst, dest);
        }
        let target = self.target(dest);
        self.forget_from(begun);
        let return_point = self.return_point(target, None);
        self.emit(Instruction::End { begun, value: dst, return_point });
        self.end_barrier(label, begun, return_point);
        self.state.is_stale = true;
        self.finish(target, dest);
    }

    /// Whether the alternatives of data that is no result of a frame are collected together: what is evaluated later must not
    /// come between those of what is evaluated before. Where rules may change, nor may a rule for the data.
    fn is_gathered(&self, arguments: &[Atom]) -> bool {
        let branching = arguments.iter().filter(|argument| self.may_branch(argument)).count();
        branching > 1 && arguments.iter().any(|argument| matches!(argument, Atom::Expression(_)))
            || branching > 0 && self.run.m.code.is_exact
    }

    /// Data in a slot, whether or not its children had to be evaluated.
    fn build_joined(&mut self, parts: Parts, dst: Slot) {
        let is_open = !parts.are_certain();
        let join = self.label();
        let before = self.state.clone();
        self.build(parts, Rebuilt::Slot(dst, Some(join)));
        self.place(join);
        if is_open {
            self.state = before;
            self.state.is_stale = true;
        }
        self.mark_live(dst);
    }

    /// Data is marked as evaluated if it is what is written.
    fn compare(&mut self, dst: Slot, written: ArgumentOrigin) {
        self.emit(Instruction::MarkNormalForm { slot: dst });
        let here = self.here();
        self.run.m.code.maybes.insert(here, written);
    }

    /// Data in last place whose last child is a call.
    fn wrap(&mut self, by: Option<Rc<DataTypes>>, (function, head): (u32, Ref), others: &[Atom], last: &Atom) {
        let type_id = by.as_ref().map_or(0, |by| by.formal(others.len()));
        let mut parts = self.parts_of(by, (function, head), others);
        parts.children.push(EMPTY);
        let behind = self.label();
        self.build(parts, Rebuilt::Wrapper(last.clone(), behind));
        self.place(behind);
        let call = self.here() as usize;
        self.expression(last, type_id, Dest::Tail);
        let code = &mut self.run.m.code.instructions;
        if let (Instruction::BuildHole { data }, Instruction::TailCallWith { function, arguments }) =
            (code[call - 1], code[call])
        {
            code[call - 1] = Instruction::BuildHoleCall { data, function, arguments };
        }
    }

    /// Whether an atom calls a function with rules.
    pub(super) fn is_call(&mut self, atom: &Atom) -> bool {
        let Some([Atom::Symbol(name), arguments @ ..]) = atom.children() else { return false };
        let head = self.run.m.values.symbol(name);
        !names::is_error(atom)
            && !self.run.is_special_form(name.as_str(), arguments.len())
            && self.run.has_rules(head, arguments.len() as Slot)
    }

    /// Leaves and slots, after the code that evaluates what is evaluated first.
    fn parts_of(&mut self, by: Option<Rc<DataTypes>>, (function, head): (u32, Ref), arguments: &[Atom]) -> Parts {
        // What stands before `Empty` is evaluated all the same: it may be an error.
        let is_simple = |argument: &Atom| !matches!(argument, Atom::Expression(_)) && !argument.is_symbol(names::EMPTY);
        let are_simple = arguments.iter().all(is_simple);
        let (mut children, mut slots) = (vec![head], Vec::new());
        // What an argument before it has bound is evaluated as any other argument, where these have types.
        let holds = !self.is_well_typed && by.is_none();
        let held = if holds { self.hold(arguments.iter()) } else { Vec::new() };
        for (place, argument) in arguments.iter().enumerate() {
            let type_id = by.as_ref().map_or(0, |by| by.formal(place));
            let leaf = self.run.m.values.constant_leaf(argument);
            match (leaf, argument) {
                (Some(EMPTY), _) => _ = self.emit(Instruction::Fail),
                (Some(_), _) => {}
                (None, Atom::Variable(variable)) if are_simple => {
                    let slot = self.slot_of(variable);
                    let is_value = self.is_normal(slot, type_id);
                    slots.push(DataSlot { place: children.len() as Slot, slot, is_value });
                }
                (None, _) => {
                    let slot =
                        if by.is_some() { self.native_operand(argument, type_id) } else { self.operand(argument, 0) };
                    slots.push(DataSlot { place: children.len() as Slot, slot, is_value: true });
                }
            }
            children.push(leaf.unwrap_or(EMPTY));
        }
        self.held = held;
        Parts { function, children, slots, is_same: false, is_changed: false, by }
    }

    /// The instruction that builds data, and what is to be done where a child is not its own result.
    fn build(&mut self, parts: Parts, made: Rebuilt) {
        let (state, errors) = (self.state.clone(), self.errors);
        let data = self.emit_data(&parts, &made);
        if parts.are_certain() {
            return;
        }
        let label = self.label();
        self.fixes.push((super::Fix::DataOr(data), label));
        if let Some(by) = &parts.by {
            return self.plain_later(by, label, made);
        }
        self.write_behind(Later::Unnormalized(Box::new(Unnormalized { label, parts, made, state, errors })));
    }

    fn emit_data(&mut self, parts: &Parts, made: &Rebuilt) -> u32 {
        let Parts { function, children, slots, is_same, is_changed, by } = parts.clone();
        let dst = match made {
            Rebuilt::Slot(dst, _) => *dst,
            Rebuilt::Result | Rebuilt::Wrapper(..) => self.slot(),
        };
        let return_point = self.return_point(dst, None);
        // In the places of slots is `Empty`, which evaluates to nothing: it is no child.
        let is_normal = children.iter().all(|&leaf| leaf != ERROR);
        let data = self.run.m.code.data.len() as u32;
        let last = matches!(made, Rebuilt::Wrapper(..)).then(|| children.len() - 2);
        let typed = by.map(|by| by.typed_data(last.map(|last| by.formal(last))));
        let stamp = Stamp::new(&children).expect("longer expressions are not compiled");
        self.run.m.code.data.push(Data {
            function,
            return_point,
            stamp,
            slots: slots.into(),
            or: Pc::MAX,
            is_normal,
            is_same,
            is_changed,
            typed,
        });
        self.emit(match made {
            Rebuilt::Result => Instruction::ReturnConstruct { data },
            Rebuilt::Slot(..) => Instruction::Construct { data },
            Rebuilt::Wrapper(..) => Instruction::BuildHole { data },
        });
        if let Rebuilt::Result = made {
            self.emit(Instruction::Return { slot: dst });
        }
        data
    }

    /// Evaluates data as it stands if that is to be done.
    fn plain_later(&mut self, by: &DataTypes, label: Label, made: Rebuilt) {
        let (dest, join) = match made {
            Rebuilt::Result | Rebuilt::Wrapper(..) => (Dest::Tail, None),
            Rebuilt::Slot(dst, join) => (Dest::Slot(dst), join),
        };
        let (state, errors, atom, type_id) = (self.state.clone(), self.errors, by.whole.clone(), by.type_id);
        self.write_behind(Later::Plain { label, atom, is_answer: false, type_id, dest, state, join, errors });
    }

    /// Data whose head has one function type, by which its arguments are evaluated to types; `false` if it is made otherwise.
    pub(super) fn construct_typed(
        &mut self,
        (function, head): (u32, Ref),
        formals: &Rc<[Formal]>,
        whole: Whole<'_>,
        dest: Dest,
    ) -> bool {
        let arguments = &whole.atom.children().expect("it is an expression")[1..];
        let are_evaluated = formals.iter().all(|formal| matches!(formal, Formal::Typed(_)));
        if !are_evaluated || !self.is_data_by_type(head, arguments) {
            return false;
        }
        let by = DataTypes { formals: Some(Rc::clone(formals)), whole: whole.atom.clone(), type_id: whole.type_id };
        self.construct_by(Some(Rc::new(by)), (function, head), arguments, dest);
        true
    }

    /// Data of leaves and variables whose head has a type with variables; `false` if it is made otherwise.
    pub(super) fn construct_open(&mut self, function: &Atom, head: Ref, whole: Whole<'_>, dest: Dest) -> bool {
        let Whole { atom, type_id } = whole;
        let arguments = &atom.children().expect("it is an expression")[1..];
        let is_simple = !arguments.iter().any(|argument| matches!(argument, Atom::Expression(_)))
            && arguments.iter().any(|argument| matches!(argument, Atom::Variable(_)));
        let expected = &self.run.m.code.types[usize::from(type_id)];
        let says_how = types::says_how(function) || type_id != 0 && types::says_how(expected);
        let (formals, _) = types::function_parts(function);
        if !is_simple || says_how || formals.len() != arguments.len() || !self.is_data_by_type(head, arguments) {
            return false;
        }
        let by = DataTypes { formals: None, whole: atom.clone(), type_id };
        let function = self.run.m.code.function(head, arguments.len() as Slot, type_id);
        self.construct_by(Some(Rc::new(by)), (function, head), arguments, dest);
        true
    }

    /// Whether an expression whose head has a type is data, as rules stand, and put together in place.
    pub(super) fn is_data_by_type(&mut self, head: Ref, arguments: &[Atom]) -> bool {
        let is_plain = |argument: &Atom| !argument.is_symbol(names::EMPTY) && !names::is_error(argument);
        head.tag() == SYMBOL
            && head != EMPTY
            && head != ERROR
            && !self.run.m.code.is_exact
            && arguments.len() <= ARITY_MAX
            && arguments.iter().all(is_plain)
            && !self.run.may_have_whole_type(head, arguments.len())
            && !self.run.has_rules(head, arguments.len() as Slot)
    }

    /// Evaluates the children of data one by one, and builds it then.
    pub(super) fn write_unnormalized(&mut self, unnormalized: Unnormalized) {
        let Unnormalized { label, mut parts, made, state, errors } = unnormalized;
        (self.state, self.errors) = (state, errors);
        self.place(label);
        for part in parts.slots.iter_mut().filter(|part| !part.is_value) {
            let dst = self.slot();
            let return_point = self.return_point(dst, None);
            self.emit(Instruction::Value { slot: part.slot, dst, type_id: 0, return_point, position: Position::Child });
            self.mark_live(dst);
            *part = DataSlot { slot: dst, is_value: true, ..*part };
        }
        parts.is_changed = true;
        self.emit_data(&parts, &made);
        match made {
            Rebuilt::Result => {}
            Rebuilt::Slot(_, join) => {
                let join = join.expect("the code goes on somewhere");
                self.emit_to(Instruction::Jump { to: 0 }, join);
            }
            Rebuilt::Wrapper(call, behind) => {
                let shapes = self.run.m.code.type_epoch;
                self.or_plain(Instruction::GuardTypeEpoch { shapes, or: 0 }, &call, 0, Dest::Tail);
                self.emit_to(Instruction::Jump { to: 0 }, behind);
            }
        }
    }

    /// Whether a rule matches an expression as it stands, or may when its variables are bound.
    fn may_be_reduced(&mut self, atom: &Atom) -> bool {
        let source = self.run.session.program.variables();
        let body = Atom::Variable(source.fresh(names::asked()));
        let rule = Atom::expression([names::equal(), atom.clone(), body]);
        !self.run.space.query(&rule, source).is_empty()
    }

    /// Whether an atom evaluates to itself, whatever its variables hold.
    pub(super) fn is_same(&mut self, atom: &Atom) -> bool {
        match atom {
            Atom::Variable(_) => true,
            Atom::Expression(expression) if !expression.is_empty() => {
                let children = expression.children();
                if !matches!(children[0], Atom::Symbol(_)) {
                    let is_data = match &children[0] {
                        head @ Atom::Grounded(_) => Operation::of(head).is_none(),
                        Atom::Expression(head) => head.is_empty() && self.run.is_unit_open(),
                        _ => false,
                    };
                    return is_data
                        && !(self.run.has_rules(COMPOUND, (children.len() - 1) as Slot) && self.may_be_reduced(atom))
                        && children[1..].iter().all(|child| self.is_same(child));
                }
                let head = self.run.m.values.constant_leaf(&children[0]).expect("it is a leaf");
                let arity = children.len() - 1;
                let kind = self.run.head_kind(head, arity);
                let is_open = |place: usize| match &kind {
                    HeadKind::Untyped | HeadKind::Other => true,
                    HeadKind::Raw { .. } => false,
                    HeadKind::Typed(signature) => matches!(signature.formals[place], Formal::Typed(_)),
                    HeadKind::Parametric(function) => {
                        let formal = &types::function_parts(function).0[place];
                        !formal.is_symbol(names::ATOM) && !formal.is_symbol(names::EXPRESSION)
                    }
                };
                !matches!(kind, HeadKind::Other)
                    && !self.run.has_rules(head, arity as Slot)
                    && children[1..].iter().enumerate().all(|(place, child)| !is_open(place) || self.is_same(child))
            }
            _ => true,
        }
    }
}
