//! Functions made for an expression: see [`crate::machine::lower`].

use super::{Compiler, Dest, TooLarge};
use crate::lowering::Loop;
use crate::machine::Running;
use crate::machine::code::{Function, HEADER, Instruction, Kind, OPEN, Slot, SyntheticBody, SyntheticFunction};
use crate::machine::core::{Core, Evaluator, Made, Written};
use crate::machine::lower::locals_among;
use crate::machine::words::COMPOUND;
use region::Ref;
use space::{Atom, Variable};
use std::rc::Rc;

/// How many arguments the function of an expression has besides its variables. See `Lower::loop_code` and `Lower::open_loop_code`.
fn further_arguments(what: &SyntheticBody) -> usize {
    match what {
        SyntheticBody::Loop { .. } => 3,
        SyntheticBody::OpenLoop(Loop::Fold) => 7,
        SyntheticBody::OpenLoop(Loop::Map | Loop::Filter) => 5,
        SyntheticBody::Some { has_most, .. } => usize::from(*has_most),
        SyntheticBody::Minimal(_) | SyntheticBody::Body(_) | SyntheticBody::Transaction(_) | SyntheticBody::Goal => 0,
    }
}

impl Compiler<'_, '_> {
    /// Calls a function made for an expression.
    pub(super) fn made(&mut self, made: &Made, dest: Dest) {
        let Made { what, call, captured, further, type_id, is_open } = made;
        let further: Vec<Slot> = further.iter().map(|node| self.slot_of_node(node)).collect();
        let captured: Box<[Variable]> = captured.as_slice().into();
        let sources: Vec<Slot> =
            captured.iter().map(|variable| self.state.variables[variable]).chain(further).collect();
        let (what, call, type_id, is_form) = (what.clone(), call.clone(), *type_id, self.is_form);
        let function =
            self.run.make_function(SyntheticFunction { captured, is_form, what, call, type_id }, sources.len());
        let block = self.slots(HEADER + sources.len());
        for (dst, src) in (block + HEADER as Slot..).zip(sources) {
            self.emit(Instruction::Move { dst, src });
        }
        match dest {
            Dest::Slot(dst) if *is_open => {
                self.emit(Instruction::Load { dst: block + 2, value: Ref::from_bits(OPEN) });
                let (return_point, back) = self.raw_return_point(dst, Some(block));
                self.emit(Instruction::Call { function, return_point, begun: true });
                self.place(back);
                self.mark_live(dst);
            }
            Dest::Slot(dst) => {
                let return_point = self.return_point(dst, Some(block));
                self.emit(Instruction::Call { function, return_point, begun: false });
                self.mark_live(dst);
                self.state.is_stale = true;
            }
            Dest::Tail => _ = self.emit(Instruction::TailCall { function, at: block }),
        }
    }

    /// Calls the function whose code this is, in place of its frame.
    pub(super) fn again(&mut self, arguments: &[Core]) {
        let block = self.slots(HEADER + arguments.len());
        for (slot, argument) in (block + HEADER as Slot..).zip(arguments) {
            self.node(argument, Dest::Slot(slot));
        }
        self.emit(Instruction::TailCall { function: self.function, at: block });
    }

    /// The code of a function made for an expression.
    fn made_code(&mut self, made: &SyntheticFunction) -> Result<(), TooLarge> {
        self.name_captured(made);
        let first = made.captured.len();
        let further: Vec<Variable> =
            (first..first + further_arguments(&made.what)).map(|slot| self.name_slot(slot as Slot)).collect();
        further.iter().for_each(|variable| self.mark_live(self.state.variables[variable]));
        self.in_last_place(|lower| lower.made_code(made, &further));
        self.complete()
    }

    fn name_captured(&mut self, made: &SyntheticFunction) {
        // They may be names of values around, so those in here are others.
        self.locals.set(locals_among(&made.captured));
        for (slot, variable) in made.captured.iter().enumerate() {
            self.state.variables.insert(variable.clone(), slot as Slot);
            self.mark_live(slot as Slot);
        }
    }

    /// The code of a function made for an expression that is too large for code: the interpreter does it.
    fn made_plain(&mut self, made: &SyntheticFunction) {
        self.name_captured(made);
        let type_id = if made.type_id == self.run.m.types.atom_type { 0 } else { made.type_id };
        let (atom, by) = (made.call.clone(), Evaluator::InterpreterWithArguments);
        self.node(&Core::Written(Written { atom, type_id, by }), Dest::Tail);
    }
}

impl Running<'_> {
    fn make_function(&mut self, made: SyntheticFunction, arguments: usize) -> u32 {
        let (code, type_id) = (&mut self.m.code, made.type_id);
        let arguments = arguments as Slot;
        code.functions.push(Function::stale(COMPOUND, arguments, type_id));
        let function = (code.functions.len() - 1) as u32;
        code.made.insert(function, Rc::new(made));
        function
    }

    /// Compiles a function made for an expression as rules stand now.
    pub(super) fn compile_made(&mut self, function: u32, made: &SyntheticFunction) {
        let count = made.captured.len() + further_arguments(&made.what);
        let whole = match &made.what {
            SyntheticBody::Minimal(code)
            | SyntheticBody::Body(code)
            | SyntheticBody::Transaction(code)
            | SyntheticBody::Some { goal: code, .. } => Atom::expression([code.clone(), made.call.clone()]),
            SyntheticBody::Loop { template, .. } => template.clone(),
            SyntheticBody::Goal => made.call.clone(),
            SyntheticBody::OpenLoop(_) => Atom::unit(),
        };
        let mut begin = self.m.code.instructions.len() as u32;
        let mut compiler = Compiler::new(self, count, whole);
        // The variables of the template of a loop are new for each element.
        let is_loop = matches!(made.what, SyntheticBody::Loop { .. });
        (compiler.is_form, compiler.shows_form) = (made.is_form && !is_loop, made.is_form);
        compiler.function = function;
        let is_coded = compiler.made_code(made).is_ok();
        let mut slots = compiler.most;
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
