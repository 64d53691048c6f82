//! Whether the arguments of a call are what is written, which says whether a call that nothing reduces came to itself.

use super::Compiler;
use crate::machine::code::{ArgumentOrigin, Instruction, Origin, Slot};
use crate::machine::types::{Formal, HeadKind, Signature, untyped};
use region::Ref;
use space::{Atom, Variable, variables};

/// What is known of the arguments of a call when its code is written.
#[derive(Clone, Copy)]
pub(super) enum CallOrigin {
    Same,
    Other,
    ArgumentOrigin(ArgumentOrigin),
}

impl Compiler<'_, '_> {
    /// Where the arguments of a call come from that are laid out from a slot on.
    pub(super) fn origin_of(
        &mut self,
        function: u32,
        formals: &[Formal],
        arguments: &[Atom],
        block: Slot,
    ) -> CallOrigin {
        let head = self.run.m.code.functions[function as usize].head;
        self.origin_of_head(head, formals, arguments, block)
    }

    fn origin_of_head(&mut self, head: Ref, formals: &[Formal], arguments: &[Atom], block: Slot) -> CallOrigin {
        let mut first = None;
        for (index, (formal, argument)) in formals.iter().zip(arguments).enumerate() {
            if matches!(formal, Formal::Raw | Formal::Expression) {
                continue;
            }
            let is_raw = matches!(argument, Atom::Variable(variable) if self.is_raw(variable));
            if !is_raw && self.facts().is_same(argument) {
                continue;
            }
            let first_of = match argument.head() {
                None if is_raw => None,
                Some(Atom::Symbol(name)) => Some(self.run.m.values.symbol(name)),
                Some(operation @ Atom::Grounded(_)) => self.run.m.values.constant_leaf(operation),
                _ => return CallOrigin::Other,
            };
            first = first.or(Some((index, first_of)));
        }
        let Some((index, first_of)) = first else { return CallOrigin::Same };
        let is_kept = |atom: &Atom| {
            variables(atom).iter().all(|variable| self.state.variables.get(variable).is_some_and(|&slot| slot < block))
        };
        if !arguments.iter().all(is_kept) {
            return CallOrigin::Other;
        }
        let name = self.run.m.values.leaf_atom(head);
        let call = Atom::expression(std::iter::once(name).chain(arguments.iter().cloned()).collect::<Vec<_>>());
        let template = self.template(&call);
        CallOrigin::ArgumentOrigin(ArgumentOrigin { index, head: first_of, template })
    }

    /// What data is as it is written, where it may be a call that comes to itself.
    pub(super) fn written_data(&mut self, head: Ref, arguments: &[Atom]) -> Option<ArgumentOrigin> {
        let formals = untyped(arguments.len());
        match self.origin_of_head(head, &formals, arguments, Slot::MAX) {
            CallOrigin::ArgumentOrigin(written) => Some(written),
            CallOrigin::Same | CallOrigin::Other => None,
        }
    }

    /// A call in place of the frame whose arguments may be what is written: asked before the frame is gone.
    pub(super) fn tail_call_if_written(&mut self, function: u32, at: Slot, written: ArgumentOrigin) {
        let changed = self.label();
        self.emit_to(Instruction::GuardUnchanged { at, or: 0 }, changed);
        let here = self.here();
        self.run.m.code.maybes.insert(here, written);
        self.emit(Instruction::TailCall { function, at });
        self.note_call(CallOrigin::Same, true);
        self.place(changed);
        self.emit(Instruction::TailCall { function, at });
    }

    /// Whether a variable of the head may hold what is not evaluated.
    fn is_raw(&mut self, variable: &Variable) -> bool {
        if self.raw.is_none() {
            let whole = self.whole.clone();
            let arguments = whole.children().map_or(&[][..], |children| &children[..self.heads]);
            self.raw = Some(self.raw_variables(arguments));
        }
        self.raw.as_ref().is_some_and(|raw| raw.contains(variable))
    }

    fn raw_variables(&mut self, arguments: &[Atom]) -> Vec<Variable> {
        let head = self.run.m.code.functions[self.function as usize].head;
        let formals = match self.run.types().head_kind(head, arguments.len()) {
            HeadKind::Typed(signature) => signature.formals,
            HeadKind::Raw { result } => Signature::raw(arguments.len(), result).formals,
            _ => return Vec::new(),
        };
        let raw = formals.iter().zip(arguments).filter(|(formal, _)| !matches!(formal, Formal::Typed(_)));
        raw.flat_map(|(_, argument)| variables(argument)).collect()
    }

    /// Notes that of the call that was just written.
    pub(super) fn note_call(&mut self, origin: CallOrigin, is_tail: bool) {
        let here = self.here();
        let code = &mut self.run.m.code;
        match origin {
            CallOrigin::Same => code.note_origin(here, Origin::Unchanged),
            // The frame that would tell is gone.
            CallOrigin::ArgumentOrigin(_) if is_tail => {}
            CallOrigin::ArgumentOrigin(maybe) => {
                code.note_origin(here, Origin::Uncertain);
                code.maybes.insert(here, maybe);
            }
            CallOrigin::Other => {}
        }
    }
}
