//! Data: expressions whose heads have no rules ([`crate::machine::lower`] says how they are made).
//!
//! 1. Children that are calls are evaluated first, each into a slot.
//! 2. If a child that is taken as it is turns out not to be its own result, code that is written later evaluates them one by one and
//!    does the same again.
//! 3. If the head has one function type, its arguments are evaluated to their types; if it needs more than that to know them, types
//!    are looked at when the data is built ([`crate::machine::types`]).
//! 4. In last place, data whose last child is a call becomes a hole of what the frame comes to, and the call takes the
//!    place of the frame.

use super::held::{hold_all, hold_data, open_flag};
use super::{CodeState, Compiler, Dest, Errors, Label, Later};
use crate::machine::code::{ArgumentOrigin, Data, DataSlot, Instruction, Pc, Position, Slot};
use crate::machine::core::{self, Core, DataTypes, Evaluator, Test, Written};
use crate::machine::types::kept_types::TypedData;
use crate::machine::words::{EMPTY, ERROR};
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
    /// The slots of children that were evaluated because they were not plainly their own results, and of what these came to.
    evaluated: Vec<[Slot; 2]>,
    written: Option<ArgumentOrigin>,
    by: Option<Rc<DataTypes>>,
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
    /// Puts data together.
    pub(super) fn construct(&mut self, data: &core::Data, dest: Dest) {
        if let Some(around) = &data.around {
            return self.wrap(data, around);
        }
        match data.is_at_once.then(|| self.nested_data(data)).flatten() {
            Some(nested) => self.construct_whole(nested, data, dest),
            None => self.construct_each(data, dest),
        }
    }

    /// Data of which all is there already, in one go, or else expression by expression.
    fn construct_whole(&mut self, nested: u32, data: &core::Data, dest: Dest) {
        let join = match dest {
            Dest::Tail => {
                self.emit(Instruction::ReturnNested { data: nested });
                None
            }
            Dest::Slot(dst) => {
                let join = self.label();
                self.emit_to(Instruction::ConstructNested { data: nested, dst, then: 0 }, join);
                Some(join)
            }
        };
        let live = self.state.live.clone();
        self.construct_each(data, dest);
        if let (Some(join), Dest::Slot(dst)) = (join, dest) {
            self.place(join);
            // Made in one go, the parts were in no slots.
            self.state.live = live;
            self.mark_live(dst);
        }
    }

    /// Data whose arguments are evaluated one by one.
    fn construct_each(&mut self, data: &core::Data, dest: Dest) {
        let begins = data.is_gathered;
        let outer = self.errors;
        let begun = if begins { self.slot() } else { 0 };
        let label = begins.then(|| self.begin_barrier(begun));
        let mut parts = self.parts_of(data);
        parts.is_same = data.is_same;
        let dst = if begins { self.slot() } else { self.target(dest) };
        let written = data.written.as_ref().and_then(|arguments| self.written_data(data.head, arguments));
        // Where rules do not change, it is asked only of data with variables.
        let written = written.filter(|written| {
            parts.written = Some(*written);
            self.run.m.code.is_exact
        });
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
    fn wrap(&mut self, data: &core::Data, around: &core::Around) {
        let mut parts = self.parts_of(data);
        parts.children.push(EMPTY);
        let behind = self.label();
        self.build(parts, Rebuilt::Wrapper(around.atom.clone(), behind));
        self.place(behind);
        let call = self.here() as usize;
        self.node(&around.call, Dest::Tail);
        let code = &mut self.run.m.code.instructions;
        if let (Instruction::BuildHole { data }, Instruction::TailCallWith { function, arguments }) =
            (code[call - 1], code[call])
        {
            code[call - 1] = Instruction::BuildHoleCall { data, function, arguments };
        }
    }

    /// Leaves and slots, after the code that evaluates what is evaluated first.
    fn parts_of(&mut self, data: &core::Data) -> Parts {
        let (mut children, mut slots) = (vec![data.head], Vec::new());
        let held = match data.by {
            Some(_) => hold_data(self, &data.children),
            // What can be built at once is not evaluated part by part where nothing is to be evaluated.
            None if data.is_at_once || self.run.m.code.is_exact && !data.is_flat => hold_all(self, &data.children),
            None => self.hold(&data.held),
        };
        for child in &data.children {
            let place = children.len() as Slot;
            let taken = match child {
                Core::Leaf(_) => None,
                Core::Fail => {
                    self.emit(Instruction::Fail);
                    None
                }
                Core::Evaluate { variable, .. } if data.is_flat => Some((self.state.variables[variable], false)),
                child => Some((self.slot_of_node(child), true)),
            };
            slots.extend(taken.map(|(slot, is_value)| DataSlot { place, slot, is_value }));
            children.push(if let Core::Leaf(leaf) = child { *leaf } else { EMPTY });
        }
        self.held = held;
        let (function, by) = (data.function, data.by.clone());
        Parts { function, children, slots, is_same: false, evaluated: Vec::new(), written: None, by }
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
        let Parts { function, children, slots, is_same, evaluated, written, by } = parts.clone();
        let dst = match made {
            Rebuilt::Slot(dst, _) => *dst,
            Rebuilt::Result | Rebuilt::Wrapper(..) => self.slot(),
        };
        let return_point = self.return_point(dst, None);
        // In the places of slots is `Empty`, which evaluates to nothing: it is no child.
        let is_normal = children.iter().all(|&leaf| leaf != ERROR);
        let data = self.run.m.code.data.len() as u32;
        let last = matches!(made, Rebuilt::Wrapper(..)).then(|| children.len() - 2);
        let typed = by.map(|by| {
            let expected = if by.formals.is_some() { None } else { Some(by.type_id) };
            Box::new(TypedData::new(expected, last.map(|last| by.formal(last))))
        });
        let stamp = Stamp::new(&children).expect("longer expressions are not compiled");
        self.run.m.code.data.push(Data {
            function,
            return_point,
            stamp,
            slots: slots.into(),
            or: Pc::MAX,
            is_normal,
            is_same,
            evaluated: evaluated.into(),
            written,
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
        let written = Written { atom: by.whole.clone(), type_id: by.type_id, by: Evaluator::Machine };
        let (node, state, errors) = (Rc::new(Core::Written(written)), self.state.clone(), self.errors);
        self.write_behind(Later::Node { label, node, dest, state, join, errors, gathers: None });
    }

    /// Evaluates the children of data one by one, and builds it then.
    pub(super) fn write_unnormalized(&mut self, unnormalized: Unnormalized) {
        let Unnormalized { label, mut parts, made, state, errors } = unnormalized;
        (self.state, self.errors) = (state, errors);
        self.place(label);
        // What is evaluated first may bind the others.
        let others = parts.slots.iter().filter(|part| !part.is_value).skip(1);
        let flags: Vec<(Slot, Slot)> = others.map(|part| (part.slot, open_flag(self, part.slot, false))).collect();
        for part in parts.slots.iter_mut().filter(|part| !part.is_value) {
            let dst = self.slot();
            if let Some((_, flag)) = flags.iter().find(|(slot, _)| *slot == part.slot) {
                self.emit(Instruction::KeepOpen { flag: *flag, slot: part.slot, dst });
            }
            let return_point = self.return_point(dst, None);
            self.emit(Instruction::Value { slot: part.slot, dst, type_id: 0, return_point, position: Position::Child });
            self.mark_live(dst);
            parts.evaluated.push([part.slot, dst]);
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
                let written = Written { atom: call, type_id: 0, by: Evaluator::Machine };
                let as_written = self.elsewhere(Rc::new(Core::Written(written)), Dest::Tail);
                self.test_or(&Test::Unchanged, as_written);
                self.emit_to(Instruction::Jump { to: 0 }, behind);
            }
        }
    }
}
