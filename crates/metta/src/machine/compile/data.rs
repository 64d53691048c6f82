//! Data: expressions whose heads have neither rules nor types.
//!
//! 1. Children that are calls are evaluated first, each into a slot.
//! 2. If all children are leaves and variables, they are taken as they are, in the hope that each is its own result; where
//!    one is not, code that is written later evaluates them one by one and does the same again.
//! 3. In last place, data whose last child is a call becomes a hole of what the frame comes to, and the call takes the
//!    place of the frame.

use super::{Compiler, Dest, Errors, Label, Later, State};
use crate::machine::code::{ArgumentOrigin, Data, DataSlot, Instruction, Pc, Position, Slot};
use crate::machine::types::{Formal, HeadKind};
use crate::machine::words::{COMPOUND, EMPTY, ERROR};
use crate::names;
use crate::operation::Operation;
use region::{Ref, Stamp};
use space::Atom;

/// What data is made of.
#[derive(Clone)]
pub(super) struct Parts {
    function: u32,
    children: Vec<Ref>,
    slots: Vec<DataSlot>,
    is_same: bool,
}

impl Parts {
    fn are_values(&self) -> bool {
        self.slots.iter().all(|slot| slot.is_value)
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
    state: State,
    errors: Errors,
}

impl Compiler<'_, '_> {
    pub(super) fn construct(&mut self, function: u32, head: Ref, arguments: &[Atom], dest: Dest) {
        self.make_ahead_of_parts(arguments);
        if let (Dest::Tail, Some((last, others))) = (dest, arguments.split_last())
            && !self.run.m.code.is_exact
            && self.is_call(last)
        {
            return self.wrap(function, head, others, last);
        }
        self.make_written(arguments);
        let begins = dest != Dest::Tail && self.is_gathered(arguments);
        let outer = self.errors;
        let begun = if begins { self.slot() } else { 0 };
        let label = begins.then(|| self.begin_barrier(begun));
        let mut parts = self.parts_of(function, head, arguments);
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
                let join = if parts.are_values() { None } else { self.join(dest) };
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
        let is_open = !parts.are_values();
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
    fn wrap(&mut self, function: u32, head: Ref, others: &[Atom], last: &Atom) {
        let mut parts = self.parts_of(function, head, others);
        parts.children.push(EMPTY);
        let behind = self.label();
        self.build(parts, Rebuilt::Wrapper(last.clone(), behind));
        self.place(behind);
        let call = self.here() as usize;
        self.expression(last, 0, Dest::Tail);
        let code = &mut self.run.m.code.instructions;
        if let (Instruction::BuildHole { data }, Instruction::TailCallWith { function, arguments }) =
            (code[call - 1], code[call])
        {
            code[call - 1] = Instruction::BuildHoleCall { data, function, arguments };
        }
    }

    /// Whether an atom calls a function with rules.
    fn is_call(&mut self, atom: &Atom) -> bool {
        let Some([Atom::Symbol(name), arguments @ ..]) = atom.children() else { return false };
        let head = self.run.m.values.symbol(name);
        !names::is_error(atom)
            && !self.run.is_special_form(name.as_str(), arguments.len())
            && self.run.has_rules(head, arguments.len() as Slot)
    }

    /// Leaves and slots, after the code that evaluates what is evaluated first.
    fn parts_of(&mut self, function: u32, head: Ref, arguments: &[Atom]) -> Parts {
        let are_simple = arguments.iter().all(|argument| !matches!(argument, Atom::Expression(_)));
        let (mut children, mut slots) = (vec![head], Vec::new());
        let held = if self.is_well_typed { Vec::new() } else { self.hold(arguments.iter()) };
        for argument in arguments {
            let leaf = self.run.m.values.constant_leaf(argument);
            match (leaf, argument) {
                (Some(EMPTY), _) => _ = self.emit(Instruction::Fail),
                (Some(_), _) => {}
                (None, Atom::Variable(variable)) if are_simple => {
                    let slot = self.slot_of(variable);
                    let is_value = self.is_normal(slot, 0);
                    slots.push(DataSlot { place: children.len() as Slot, slot, is_value });
                }
                (None, _) => {
                    let slot = self.operand(argument, 0);
                    slots.push(DataSlot { place: children.len() as Slot, slot, is_value: true });
                }
            }
            children.push(leaf.unwrap_or(EMPTY));
        }
        self.held = held;
        Parts { function, children, slots, is_same: false }
    }

    /// The instruction that builds data, and what is to be done where a child is not its own result.
    fn build(&mut self, parts: Parts, made: Rebuilt) {
        let (state, errors) = (self.state.clone(), self.errors);
        let data = self.emit_data(&parts, &made);
        if parts.are_values() {
            return;
        }
        let label = self.label();
        self.fixes.push((super::Fix::DataOr(data), label));
        self.later.push(Later::Unnormalized(Box::new(Unnormalized { label, parts, made, state, errors })));
    }

    fn emit_data(&mut self, parts: &Parts, made: &Rebuilt) -> u32 {
        let Parts { function, children, slots, is_same } = parts.clone();
        let dst = match made {
            Rebuilt::Slot(dst, _) => *dst,
            Rebuilt::Result | Rebuilt::Wrapper(..) => self.slot(),
        };
        let return_point = self.return_point(dst, None);
        // In the places of slots is `Empty`, which evaluates to nothing: it is no child.
        let is_normal = children.iter().all(|&leaf| leaf != ERROR);
        let data = self.run.m.code.data.len() as u32;
        let stamp = Stamp::new(&children).expect("longer expressions are not compiled");
        self.run.m.code.data.push(Data {
            function,
            return_point,
            stamp,
            slots: slots.into(),
            or: Pc::MAX,
            is_normal,
            is_same,
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
        let source = self.run.session.variables();
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
                    let has_rules = self.run.has_rules(COMPOUND, (children.len() - 1) as Slot);
                    return is_data
                        && !(has_rules && self.may_be_reduced(atom))
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
                        let formal = &crate::types::function_parts(function).0[place];
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
