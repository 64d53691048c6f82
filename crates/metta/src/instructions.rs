//! The instructions of minimal MeTTa, by name.

use crate::names;
use space::{Atom, Grounded, Variable, distinct_open_parts, distinct_parts, variables};

/// An instruction of minimal MeTTa.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MinimalInstruction {
    Eval,
    EvalInSpace,
    Chain,
    Function,
    Unify,
    Cons,
    Decons,
    CollapseBind,
    SuperposeBind,
    Metta,
    ContextSpace,
    /// Kept for the interpreter; a program may not use it.
    CallNative,
}

/// All of them.
const INSTRUCTIONS: [(&str, MinimalInstruction); 12] = [
    ("eval", MinimalInstruction::Eval),
    ("evalc", MinimalInstruction::EvalInSpace),
    ("chain", MinimalInstruction::Chain),
    ("function", MinimalInstruction::Function),
    ("unify", MinimalInstruction::Unify),
    ("cons-atom", MinimalInstruction::Cons),
    ("decons-atom", MinimalInstruction::Decons),
    ("collapse-bind", MinimalInstruction::CollapseBind),
    ("superpose-bind", MinimalInstruction::SuperposeBind),
    ("metta", MinimalInstruction::Metta),
    ("context-space", MinimalInstruction::ContextSpace),
    ("call-native", MinimalInstruction::CallNative),
];

/// The instruction of a name.
pub(crate) fn instruction_of(name: &str) -> Option<MinimalInstruction> {
    INSTRUCTIONS.iter().find(|(known, _)| *known == name).map(|(_, instruction)| *instruction)
}

/// Whether a symbol at the head of an expression makes it an instruction.
pub(crate) fn is_instruction_name(name: &str) -> bool {
    instruction_of(name).is_some()
}

/// Whether an atom is an instruction, well formed or not.
pub(crate) fn is_instruction(atom: &Atom) -> bool {
    atom.head().and_then(Atom::as_symbol).is_some_and(is_instruction_name)
}

/// The body of `(function body)`, when it is well formed.
pub(crate) fn function_body(atom: &Atom) -> Option<&Atom> {
    match atom.children()? {
        [head, body @ Atom::Expression(_)] if head.is_symbol("function") => Some(body),
        _ => None,
    }
}

/// Whether an atom is the code of a function, well formed.
pub(crate) fn is_function(atom: &Atom) -> bool {
    function_body(atom).is_some()
}

/// Whether an answer of a form is not a value to be evaluated: the form stands for itself, or code is entered.
pub(crate) fn is_odd(answer: &Atom) -> bool {
    answer.is_symbol(names::NOT_REDUCIBLE) || is_function(answer)
}

/// Whether the head of an expression, or the head of that, and so on, is a variable: such a call is never reduced.
pub(crate) fn has_variable_head(atom: &Atom) -> bool {
    let mut head = atom.head();
    while let Some(atom) = head {
        if matches!(atom, Atom::Variable(_)) {
            return true;
        }
        head = atom.head();
    }
    false
}

/// Whether a space stands somewhere in an atom.
pub(crate) fn has_space(atom: &Atom) -> bool {
    distinct_open_parts(atom).any(|part| matches!(part, Atom::Grounded(Grounded::Space(_))))
}

/// The variables of code that no `chain` in it binds.
pub(crate) fn free_variables(code: &Atom) -> Vec<Variable> {
    let binder = |part: &Atom| match part.children() {
        Some([chain, _, Atom::Variable(variable), _]) if chain.is_symbol("chain") => Some(variable.clone()),
        _ => None,
    };
    let binders: Vec<Variable> = distinct_parts(code).filter_map(binder).collect();
    variables(code).into_iter().filter(|variable| !binders.contains(variable)).collect()
}
