//! Functions made for an expression: a frame of its own for minimal code, for what a library function says, for a loop.
//!
//! The arguments of such a function are the values of the variables that are known where the expression stands. Minimal code
//! needs a frame that can move, and a loop one that begins again; what the library says becomes code for the arguments as
//! they are written, so that a goal among them is compiled and not evaluated as it stands.

use super::{Compiler, Dest, TooLarge};
use crate::lowering::Form;
use crate::machine::Running;
use crate::machine::code::{
    Function, HEADER, Instruction, Kind, NO_FUNCTION, Slot, SyntheticBody, SyntheticFunction, TypeId,
};
use crate::machine::types::{Formal, HeadKind, Signature};
use crate::machine::words::COMPOUND;
use space::{Atom, Rewrite, Variable, rewrite, variables};
use std::rc::Rc;

/// The slots that a loop has besides those of its variables: the list, the position, what was found.
const LOOP_SLOTS: usize = 3;

impl Compiler<'_, '_> {
    /// Compiles a special form of the library.
    pub(super) fn library_form(&mut self, form: Form, atom: &Atom, type_id: TypeId, dest: Dest) {
        let arguments = &atom.children().expect("a form is an expression")[1..];
        let is_done = match (form, arguments) {
            (Form::Unify, [_, _, _, _]) => {
                self.unify_form(atom, type_id, dest);
                true
            }
            (Form::Chain | Form::Eval | Form::Function, _) => self.instruction_form(form, atom, type_id, dest),
            (Form::ContextSpace | Form::EvalInSpace | Form::Metta, _) => {
                self.is_plain_instruction(form, arguments) && self.instruction_form(form, atom, type_id, dest)
            }
            (Form::Loop(kind), _) => self.loop_form(kind, atom, type_id, dest),
            (Form::IfDecons, _) => self.decons_form(atom, type_id, dest),
            (Form::Transaction, [goal]) => self.transaction(atom, goal, type_id, dest),
            (Form::Some(wanted), [goal]) => self.some_results(atom, (wanted, goal), type_id, dest),
            (Form::Some(_), [most, goal]) => self.limited(atom, [most, goal], type_id, dest),
            _ => self.inline(atom, type_id, dest),
        };
        if !is_done {
            self.lowered(dest, |lower, place| lower.named(atom, type_id, place));
        }
    }

    /// An instruction written out in MeTTa.
    fn instruction_form(&mut self, form: Form, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let is_known = match (form, atom.children()) {
            (Form::Chain, Some([_, _, Atom::Variable(variable), _])) => !self.state.variables.contains_key(variable),
            (Form::Chain, _) => false,
            (Form::Function, _) => crate::instructions::is_function(atom),
            _ => true,
        };
        // What `chain` comes to is evaluated; what the others do is taken as it stands.
        let result = if form == Form::Chain { 0 } else { self.run.m.types.atom_type };
        if !is_known || !self.run.types().agrees_statically(result, type_id) {
            return false;
        }
        self.made(atom, SyntheticBody::Minimal(atom.clone()), result, &[], dest);
        true
    }

    /// What a library function says of these arguments, if it is one rule that takes them as they stand.
    fn inline(&mut self, atom: &Atom, type_id: TypeId, dest: Dest) -> bool {
        let children = atom.children().expect("a form is an expression");
        let (head, arguments) = (&children[0], &children[1..]);
        let head = self.run.m.values.constant_leaf(head).expect("it is a leaf");
        let (formals, result) = match self.run.types().head_kind(head, arguments.len()) {
            HeadKind::Raw { result } => (Signature::raw(arguments.len(), result).formals, result),
            HeadKind::Typed(signature) => (signature.formals, signature.result.unwrap_or(type_id)),
            HeadKind::Untyped | HeadKind::Parametric(_) | HeadKind::Other => return false,
        };
        let is_static = formals.iter().zip(arguments).all(|(formal, argument)| match formal {
            Formal::Raw => true,
            Formal::Expression => matches!(argument, Atom::Expression(_)),
            Formal::Typed(_) => false,
        });
        if !is_static || !self.run.types().agrees_statically(result, type_id) {
            return false;
        }
        let Some(body) = self.body_for(head, arguments) else { return false };
        let what = if crate::instructions::is_function(&body) {
            SyntheticBody::Minimal(body)
        } else {
            SyntheticBody::Body(body)
        };
        self.made(atom, what, result, &[], dest);
        true
    }

    /// The body of the only rule of a head, with these arguments put in.
    fn body_for(&mut self, head: region::Ref, arguments: &[Atom]) -> Option<Atom> {
        let rules = self.run.rules_of(head, arguments.len() as Slot)?;
        let [(formals, body)] = rules.as_slice() else { return None };
        let mut known: Vec<(&Variable, &Atom)> = Vec::new();
        for (formal, argument) in formals.iter().zip(arguments) {
            let Atom::Variable(variable) = formal else { return None };
            if known.iter().any(|(known, _)| *known == variable) {
                return None;
            }
            known.push((variable, argument));
        }
        let put_in = |variable: &Variable| match known.iter().find(|(known, _)| *known == variable) {
            Some((_, argument)) => Rewrite::Replace((*argument).clone()),
            None => Rewrite::Keep,
        };
        Some(rewrite(body, put_in).unwrap_or_else(|| body.clone()))
    }

    /// Calls a function made for an expression; the slots of further arguments follow those of its variables.
    pub(super) fn made(&mut self, call: &Atom, what: SyntheticBody, type_id: TypeId, further: &[Slot], dest: Dest) {
        // The variables of a loop's template are new for each element, whatever else has their names.
        if !matches!(what, SyntheticBody::Loop { .. }) {
            self.make_shared(call);
        }
        let known = |variable: &Variable| self.state.variables.contains_key(variable);
        let captured: Box<[Variable]> = variables(call).into_iter().filter(known).collect();
        let sources: Vec<Slot> =
            captured.iter().map(|variable| self.state.variables[variable]).chain(further.iter().copied()).collect();
        let made = SyntheticFunction { captured, is_form: self.is_form, what, call: call.clone(), type_id };
        let function = self.run.make_function(made, sources.len());
        let block = self.slots(HEADER + sources.len());
        for (index, &src) in sources.iter().enumerate() {
            self.emit(Instruction::Move { dst: block + (HEADER + index) as Slot, src });
        }
        match dest {
            Dest::Tail => {
                self.emit(Instruction::TailCall { function, at: block });
            }
            Dest::Slot(dst) => {
                let return_point = self.return_point(dst, Some(block));
                self.emit(Instruction::Call { function, return_point, begun: false });
                self.mark_live(dst);
                self.state.is_stale = true;
            }
        }
    }

    /// The code of a function made for an expression.
    fn made_code(&mut self, made: &SyntheticFunction) -> Result<(), TooLarge> {
        for (slot, variable) in made.captured.iter().enumerate() {
            self.state.variables.insert(variable.clone(), slot as Slot);
            self.mark_live(slot as Slot);
            self.fixed.insert(variable.clone());
        }
        match &made.what {
            SyntheticBody::Minimal(code) => {
                let slot = self.minimal_value(code);
                let call = self.template(&made.call);
                self.emit(Instruction::Leave { slot, type_id: made.type_id, call, function: NO_FUNCTION });
            }
            SyntheticBody::Body(body) => self.value(body, made.type_id, Dest::Tail),
            SyntheticBody::Transaction(goal) => self.transaction_code(made, goal),
            SyntheticBody::Some { wanted, goal, has_most } => self.some_code(made, (*wanted, goal), *has_most),
            SyntheticBody::Goal => self.goal_code(&made.call),
            SyntheticBody::Loop { kind, item, found, template } => {
                let first = made.captured.len() as Slot;
                self.loop_code(made, (*kind, item, found.as_ref(), template), first);
            }
            SyntheticBody::OpenLoop(kind) => self.open_loop_code(*kind, made.type_id),
        }
        self.complete()
    }

    /// The code of a function made for an expression that is too large for code: the interpreter does it.
    fn made_plain(&mut self, made: &SyntheticFunction) {
        for (slot, variable) in made.captured.iter().enumerate() {
            self.state.variables.insert(variable.clone(), slot as Slot);
        }
        let template = self.template(&made.call);
        let slot = self.slot();
        self.emit(Instruction::Build { dst: slot, template });
        let is_raw = made.type_id == self.run.m.types.atom_type;
        let type_id = if is_raw { 0 } else { made.type_id };
        self.emit(Instruction::TailInterpret { slot, type_id });
    }
}

impl Running<'_> {
    pub(super) fn make_function(&mut self, made: SyntheticFunction, arguments: usize) -> u32 {
        let (code, type_id) = (&mut self.m.code, made.type_id);
        let arguments = arguments as Slot;
        code.functions.push(Function::stale(COMPOUND, arguments, type_id));
        let function = (code.functions.len() - 1) as u32;
        code.made.insert(function, Rc::new(made));
        function
    }

    /// Compiles a function made for an expression as rules stand now.
    pub(super) fn compile_made(&mut self, function: u32, made: &SyntheticFunction) {
        let further = match made.what {
            SyntheticBody::Loop { .. } => LOOP_SLOTS,
            SyntheticBody::OpenLoop(kind) => super::library::open_loop_slots(kind),
            SyntheticBody::Some { has_most, .. } => usize::from(has_most),
            _ => 0,
        };
        let count = made.captured.len() + further;
        let whole = match &made.what {
            SyntheticBody::Minimal(code)
            | SyntheticBody::Body(code)
            | SyntheticBody::Transaction(code)
            | SyntheticBody::Some { goal: code, .. } => Atom::expression([code.clone(), made.call.clone()]),
            SyntheticBody::Loop { template, .. } => template.clone(),
            SyntheticBody::Goal => made.call.clone(),
            SyntheticBody::OpenLoop(_) => Atom::unit(),
        };
        let pc = self.m.code.instructions.len() as u32;
        let mut compiler = Compiler::new(self, count, whole);
        let is_loop = matches!(made.what, SyntheticBody::Loop { .. });
        (compiler.is_form, compiler.function) = (made.is_form && !is_loop, function);
        let is_coded = compiler.made_code(made).is_ok();
        let mut slots = compiler.most;
        let mut begin = pc;
        if !is_coded {
            begin = self.m.code.instructions.len() as u32;
            let mut compiler = Compiler::new(self, count, made.call.clone());
            compiler.is_form = made.is_form;
            compiler.made_plain(made);
            slots = compiler.most;
        }
        let version = self.m.code.version;
        let found = &mut self.m.code.functions[function as usize];
        (found.kind, found.slots, found.version) = (Kind::Rule(begin), slots, version);
    }
}
