//! Patterns: the heads of rules, and what `let` and `case` take apart.

use super::{Compiler, DEPTH_MAX, Fix, Label};
use crate::machine::code::{Instruction, NEXT_RULE, PatternShape, Pc, Slot};
use crate::machine::words::INTEGER;
use region::Ref;
use space::{Atom, Expression, Variable, variables};

/// Where to go on if a pattern does not match.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Or {
    NextRule,
    Destination(Label),
}

impl Compiler<'_, '_> {
    /// Matches the arguments of a rule with the slots they are in; says whether they always match.
    pub(super) fn head(&mut self, arguments: &[Atom]) -> bool {
        for slot in 0..arguments.len() {
            self.mark_live(slot as Slot);
        }
        let mut always = true;
        // Variables first: what is known of them helps with the patterns.
        for (slot, argument) in arguments.iter().enumerate() {
            if let Atom::Variable(variable) = argument
                && !self.state.variables.contains_key(variable)
            {
                self.put_variable(variable, slot as Slot);
            }
        }
        for (slot, argument) in arguments.iter().enumerate() {
            let is_first = matches!(argument, Atom::Variable(variable)
                if self.state.variables.get(variable) == Some(&(slot as Slot)));
            always &= is_first || self.pattern(slot as Slot, argument, Or::NextRule);
        }
        always
    }

    /// Matches what a slot holds with a pattern; says whether it always does.
    pub(super) fn pattern(&mut self, slot: Slot, pattern: &Atom, or: Or) -> bool {
        match pattern {
            Atom::Variable(variable) => match self.state.variables.get(variable) {
                Some(&known) => {
                    self.emit_or(Instruction::MatchSame { left: known, right: slot, or: NEXT_RULE }, or);
                    false
                }
                None => {
                    self.name_in_form(variable, slot);
                    self.put_variable(variable, slot);
                    self.mark_live(slot);
                    true
                }
            },
            Atom::Expression(expression) => {
                self.depth += 1;
                self.is_too_large |= self.depth > DEPTH_MAX;
                if !self.is_too_large {
                    self.shape(slot, expression, or);
                }
                self.depth -= 1;
                false
            }
            leaf => {
                let leaf = self.run.m.values.constant_leaf(leaf).expect("it is a leaf");
                self.emit_or(Instruction::MatchLeaf { slot, leaf, or: NEXT_RULE }, or);
                false
            }
        }
    }

    /// A variable that the form wrote keeps its name where it meets one that a rule has made.
    fn name_in_form(&mut self, variable: &Variable, slot: Slot) {
        if self.is_form {
            let index = self.run.m.values.form_variable(variable);
            self.emit(Instruction::NameVariable { slot, index });
        }
    }

    fn emit_or(&mut self, instruction: Instruction, or: Or) {
        match or {
            Or::NextRule => {
                self.emit(instruction);
            }
            Or::Destination(label) => self.emit_to(instruction, label),
        }
    }

    fn shape(&mut self, slot: Slot, expression: &Expression, or: Or) {
        let children = expression.children();
        let head = children.first().and_then(|head| self.run.m.values.constant_leaf(head));
        let inner = &children[usize::from(head.is_some())..];
        let dst = self.slots(inner.len());
        let shape = self.new_shape(children.len(), head, or);
        self.emit_or(Instruction::MatchShape { slot, dst, shape, or: NEXT_RULE }, or);
        let known: Vec<Variable> = self.state.variables.keys().cloned().collect();
        for (index, child) in inner.iter().enumerate() {
            self.pattern(dst + index as Slot, child, or);
        }
        let whole = Atom::Expression(expression.clone());
        let fresh: Vec<(Slot, Ref)> = variables(&whole)
            .into_iter()
            .filter(|variable| !known.contains(variable))
            .map(|variable| {
                let name = match self.is_form {
                    true => Ref::new(INTEGER, self.run.m.values.form_variable(&variable)),
                    false => self.run.m.values.symbol(variable.name()),
                };
                (self.state.variables[&variable], name)
            })
            .collect();
        let template = self.template(&whole);
        let built = self.here();
        let shape = &mut self.run.m.code.shapes[shape as usize];
        (shape.template, shape.variables, shape.built) = (template, fresh.into(), built);
    }

    fn new_shape(&mut self, length: usize, head: Option<Ref>, or: Or) -> u32 {
        let length = length as u32;
        let shape =
            PatternShape { length, head, template: 0, variables: Box::default(), built: Pc::MAX, or: NEXT_RULE };
        self.run.m.code.shapes.push(shape);
        let index = (self.run.m.code.shapes.len() - 1) as u32;
        if let Or::Destination(label) = or {
            self.fixes.push((Fix::ShapeOr(index), label));
        }
        index
    }
}
