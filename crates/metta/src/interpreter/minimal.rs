//! Minimal MeTTa: the instructions, one step each.
//!
//! | instruction | result |
//! |---|---|
//! | `(eval a)`, `(evalc a space)` | one reduction of `a`: a native call or a rule; `NotReducible` if there is none |
//! | `(chain a $v t)` | `t` with each result of `a` for `$v` |
//! | `(function b)` | what `b` returns with `(return r)`; `b` runs as long as it is an instruction |
//! | `(unify a p t e)` | `t` for each way in which `a` and `p` match, else `e` |
//! | `(cons-atom h t)`, `(decons-atom e)` | an expression put together, taken apart |
//! | `(collapse-bind a)`, `(superpose-bind ps)` | all results of `a` with their bindings; the inverse |
//! | `(collapse-bind a n)` | the first `n` results, errors only if there is nothing else; `a` is not evaluated further |
//! | `(metta a type space)` | `a` evaluated as MeTTa |
//! | `(context-space)` | the space of the evaluation |
//!
//! Arguments are not evaluated. What is not an instruction is data and its own result.

use super::frame::{Target, Waiting};
use super::{Alternative, BarrierKind, Evaluation, Work};
use crate::instructions::{MinimalInstruction, function_body, has_variable_head, instruction_of, is_instruction};
use crate::lowering::Lowering;
use crate::names::{self, error, error_text};
use crate::operation::{Operation, Outcome, results_wanted};
use crate::stdlib::forms::{asks_for_absence, branches_of_case};
use space::{
    Atom, Bindings, Grounded, SharedSpace, Solution, Unifier, Variable, VariableSource, substitute, variables,
};

/// What one reduction of an atom gives.
pub(super) enum Reduction {
    /// Nothing applies.
    NotReducible,
    /// These, each with what it binds.
    Alternatives(Vec<(Solution, Atom)>),
    /// The atom is an instruction, to be run.
    Instruction(Atom),
}

/// The error of an instruction whose arguments are not what it takes.
fn malformed(instruction: &Atom, expected: &str) -> Option<Work> {
    let message = format!("expected: {expected}, found: {}", names::brief(instruction));
    Some(Work::Return(error_text(instruction.clone(), &message)))
}

fn as_space(atom: &Atom) -> Option<&SharedSpace> {
    match atom {
        Atom::Grounded(Grounded::Space(space)) => Some(space),
        _ => None,
    }
}

impl Evaluation<'_> {
    /// Runs one instruction.
    pub(super) fn minimal(&mut self, atom: Atom) -> Option<Work> {
        let Some([Atom::Symbol(name), arguments @ ..]) = atom.children() else {
            return Some(Work::Return(atom));
        };
        match instruction_of(name.as_str()) {
            Some(MinimalInstruction::Eval) => self.eval(&atom, arguments),
            Some(MinimalInstruction::EvalInSpace) => self.eval_in_space(&atom, arguments),
            Some(MinimalInstruction::Chain) => self.chain(&atom, arguments),
            Some(MinimalInstruction::Function) => self.function(&atom, arguments, &atom),
            Some(MinimalInstruction::Unify) => self.unify(&atom, arguments),
            Some(MinimalInstruction::Cons) => self.cons_atom(&atom, arguments),
            Some(MinimalInstruction::Decons) => self.decons_atom(&atom, arguments),
            Some(MinimalInstruction::CollapseBind) => self.collapse_bind(&atom, arguments),
            Some(MinimalInstruction::SuperposeBind) => self.superpose_bind(&atom, arguments),
            Some(MinimalInstruction::Metta) => self.metta_instruction(&atom, arguments),
            Some(MinimalInstruction::ContextSpace) => self.context_space(&atom, arguments),
            Some(MinimalInstruction::CallNative) => {
                let message = "call-native is reserved for the interpreter; call the function by its name";
                Some(Work::Return(error_text(atom.clone(), message)))
            }
            None => Some(Work::Return(atom)),
        }
    }

    fn eval(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let [atom] = arguments else { return malformed(instruction, "(eval <atom>)") };
        let space = self.context.clone();
        self.eval_one(atom, &space)
    }

    fn eval_in_space(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let expected = "(evalc <atom> <space>)";
        let [atom, space] = arguments else { return malformed(instruction, expected) };
        match as_space(&self.resolve(space)?) {
            Some(space) => self.eval_one(atom, space),
            None => malformed(instruction, expected),
        }
    }

    fn eval_one(&mut self, atom: &Atom, space: &SharedSpace) -> Option<Work> {
        let call = self.resolve(atom)?;
        let alternatives = match self.reduce(&call, space) {
            Reduction::NotReducible => return Some(Work::Return(names::not_reducible())),
            Reduction::Instruction(atom) => return Some(Work::Minimal(atom)),
            Reduction::Alternatives(alternatives) => alternatives,
        };
        // A list of results is data, whatever stands first in it.
        let is_list =
            call.head().and_then(Operation::of).is_some_and(|found| found.lowering() == Lowering::CollapsedAtoms);
        let enter = |(solution, result): (Solution, Atom)| match function_body(&result).cloned().filter(|_| !is_list) {
            None => Alternative::new(solution, Work::Return(result)),
            Some(body) => Alternative {
                solution,
                work: Work::Minimal(body),
                frames: vec![Waiting::Function { call: call.clone() }],
            },
        };
        self.fork(alternatives.into_iter().map(enter).collect())
    }

    /// One reduction of an atom that is fully resolved: a native call, an instruction, or the rules that match.
    pub(super) fn reduce(&mut self, call: &Atom, space: &SharedSpace) -> Reduction {
        if let Some([head, arguments @ ..]) = call.children()
            && let Some(operation) = Operation::of(head)
        {
            let outcome = operation.call(self.session, head, arguments, &self.context);
            return self.native_outcome(call, outcome);
        }
        if is_instruction(call) {
            return Reduction::Instruction(call.clone());
        }
        if has_variable_head(call) {
            return Reduction::NotReducible;
        }
        let body = self.session.program.variables().fresh(names::asked());
        let rule = Atom::expression([names::equal(), call.clone(), Atom::Variable(body.clone())]);
        let solutions =
            self.unless_over(|_, program, should_stop| space.query_unless(&rule, program.variables(), should_stop));
        let Some(solutions) = solutions else { return Reduction::Alternatives(Vec::new()) };
        let source = self.session.program.variables();
        let found: Vec<_> = solutions.into_iter().map(|solution| split_off(solution, &body, source)).collect();
        if !found.is_empty() {
            return Reduction::Alternatives(found);
        }
        match self.reason_not_supported(call, space) {
            Some(message) => Reduction::Alternatives(vec![(Solution::new(), error_text(call.clone(), &message))]),
            None => Reduction::NotReducible,
        }
    }

    /// What to say of a call to a part of Hyperon's library that is not here yet; nothing when the program itself
    /// declares the name.
    fn reason_not_supported(&mut self, call: &Atom, space: &SharedSpace) -> Option<String> {
        let message = crate::stdlib::not_supported(call)?;
        let types = crate::types::types_of(space, call.head()?, self.session.program.variables());
        types.iter().all(|found| found.atom.is_symbol(names::UNDEFINED)).then_some(message)
    }

    fn native_outcome(&mut self, call: &Atom, outcome: Outcome) -> Reduction {
        let unbound = |atom| (Solution::new(), atom);
        match outcome {
            Outcome::Results(results) if results.is_empty() => Reduction::Alternatives(vec![unbound(names::empty())]),
            Outcome::Results(results) => Reduction::Alternatives(results.into_iter().map(unbound).collect()),
            Outcome::Solutions(solutions) if solutions.is_empty() => {
                Reduction::Alternatives(vec![unbound(names::empty())])
            }
            Outcome::Solutions(solutions) => Reduction::Alternatives(solutions),
            Outcome::NotReducible => Reduction::NotReducible,
            Outcome::Failure(message) => Reduction::Alternatives(vec![unbound(error(call.clone(), message))]),
            Outcome::Stop(stop) => {
                self.stop = Some(stop);
                Reduction::Alternatives(Vec::new())
            }
        }
    }

    fn chain(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let [nested, Atom::Variable(variable), template] = arguments else {
            return malformed(instruction, "(chain <nested> (: <var> Variable) <templ>)");
        };
        self.push(Waiting::Chain { variable: variable.clone(), template: template.clone() });
        Some(Work::Minimal(nested.clone()))
    }

    pub(super) fn continue_chain(&mut self, variable: &Variable, template: &Atom, result: &Atom) -> Option<Work> {
        Some(Work::Minimal(substitute(template, variable, result)))
    }

    fn function(&mut self, instruction: &Atom, arguments: &[Atom], call: &Atom) -> Option<Work> {
        let [body @ Atom::Expression(_)] = arguments else {
            return malformed(instruction, "(function (: <body> Expression))");
        };
        self.push(Waiting::Function { call: call.clone() });
        Some(Work::Minimal(body.clone()))
    }

    /// A result inside `function`: `return` leaves it, an instruction runs on, anything else is an error.
    pub(super) fn leave_function(&mut self, call: &Atom, result: Atom) -> Option<Work> {
        if let Some([head, value]) = result.children()
            && head.is_symbol(names::RETURN)
        {
            return Some(Work::Return(value.clone()));
        }
        if is_instruction(&result) {
            self.push(Waiting::Function { call: call.clone() });
            return Some(Work::Minimal(result));
        }
        Some(Work::Return(error_text(call.clone(), names::NO_RETURN)))
    }

    fn unify(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let [atom, pattern, then, otherwise] = arguments else {
            return malformed(instruction, "(unify <atom> <pattern> <then> <else>)");
        };
        let (atom, pattern) = (self.resolve(atom)?, self.resolve(pattern)?);
        let found = self.unifications(&atom, &pattern)?;
        if found.is_empty() {
            return Some(Work::Return(otherwise.clone()));
        }
        let alternatives = found.into_iter().map(|solution| Alternative::new(solution, Work::Return(then.clone())));
        let alternatives = alternatives.collect();
        self.fork_resolved(alternatives)
    }

    /// Like `fork`, with each result resolved as soon as its bindings are made.
    fn fork_resolved(&mut self, alternatives: Vec<Alternative>) -> Option<Work> {
        let mut resolved = Vec::with_capacity(alternatives.len());
        for mut alternative in alternatives {
            let bindings = bindings_of(&alternative.solution);
            if let Work::Return(atom) = &alternative.work {
                let atom = self.resolve(atom)?;
                let bound = self.unless_over(|_, _, should_stop| bindings.resolve_unless(&atom, should_stop))?;
                alternative.work = Work::Return(bound);
            }
            resolved.push(alternative);
        }
        self.fork(resolved)
    }

    /// The ways in which two resolved atoms match; `None` if finding them ends the evaluation.
    pub(super) fn unifications(&mut self, left: &Atom, right: &Atom) -> Option<Vec<Solution>> {
        let wanted = variables(&Atom::expression([left.clone(), right.clone()]));
        let mut unifier = Unifier::under(Bindings::default(), self.session.program.variables());
        if !unifier.unify(left, right) {
            return Some(Vec::new());
        }
        let found = unifier.finish();
        self.unless_over(|_, _, should_stop| {
            found.iter().map(|bindings| bindings.solution_unless(&wanted, should_stop)).collect()
        })
    }

    fn cons_atom(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let expected = "(cons-atom <head> (: <tail> Expression))";
        let [head, tail] = arguments else { return malformed(instruction, expected) };
        let tail = self.resolve(tail)?;
        let Some(tail) = tail.children() else { return malformed(instruction, expected) };
        let mut children = Vec::with_capacity(tail.len() + 1);
        children.push(head.clone());
        children.extend_from_slice(tail);
        Some(Work::Return(Atom::expression(children)))
    }

    fn decons_atom(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let expected = "(decons-atom (: <expr> Expression))";
        let [atom] = arguments else { return malformed(instruction, expected) };
        let Atom::Expression(expression) = self.resolve(atom)? else { return malformed(instruction, expected) };
        match (expression.children().first(), expression.tail()) {
            (Some(head), Some(tail)) => Some(Work::Return(Atom::expression([head.clone(), tail.into()]))),
            _ => malformed(instruction, expected),
        }
    }

    fn collapse_bind(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let expected = if arguments.len() == 2 { "(collapse-bind <atom> <number>)" } else { "(collapse-bind <atom>)" };
        let (nested, kind) = match arguments {
            [nested] => (nested, BarrierKind::Collapse),
            [nested, most] => match results_wanted(&self.resolve(most)?) {
                Some(0) => return Some(Work::Return(Atom::unit())),
                Some(left) => (nested, BarrierKind::First { left }),
                None => return malformed(instruction, expected),
            },
            _ => return malformed(instruction, expected),
        };
        if self.asks_for_all()? {
            self.raise_barrier(kind);
        } else {
            let around = self.barriers.last().expect("the barrier of the whole evaluation is there");
            self.raise_barrier_above(kind, around.asks_all_above);
        }
        Some(Work::Minimal(nested.clone()))
    }

    /// Whether it makes a difference if what is collected now has further results. It does not for a `case` none of whose branches matches
    /// `Empty`, which goes on with each. `None` if that ends the evaluation.
    fn asks_for_all(&mut self) -> Option<bool> {
        let Some(Waiting::Chain { template, .. }) = self.frame.as_deref().map(|frame| &frame.waiting) else {
            return Some(true);
        };
        let Some(branches) = branches_of_case(template).cloned() else { return Some(true) };
        Some(asks_for_absence(&self.resolve(&branches)?))
    }

    fn superpose_bind(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let expected = "(superpose-bind (: <collapsed> Expression))";
        let [collapsed] = arguments else { return malformed(instruction, expected) };
        let collapsed = self.resolve(collapsed)?;
        let pairs: Option<Vec<_>> = collapsed.children().and_then(|pairs| pairs.iter().map(as_pair).collect());
        let Some(pairs) = pairs else { return malformed(instruction, expected) };
        let mut alternatives = Vec::new();
        for (atom, solution) in pairs {
            let (left, right) = sides(solution);
            let (left, right) = (self.resolve(&left)?, self.resolve(&right)?);
            for solution in self.unifications(&left, &right)? {
                alternatives.push(Alternative::new(solution, Work::Return(atom.clone())));
            }
        }
        self.fork(alternatives)
    }

    fn metta_instruction(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        let expected = "(metta <atom> <type> <space>)";
        let [atom, type_atom, space] = arguments else { return malformed(instruction, expected) };
        match as_space(&self.resolve(space)?) {
            Some(space) => {
                let target = Target { type_atom: type_atom.clone(), space: space.clone() };
                Some(Work::Metta(atom.clone(), target))
            }
            None => malformed(instruction, expected),
        }
    }

    fn context_space(&mut self, instruction: &Atom, arguments: &[Atom]) -> Option<Work> {
        match arguments {
            [] => Some(Work::Return(Atom::from(self.context.clone()))),
            _ => malformed(instruction, "(context-space)"),
        }
    }
}

/// The rest of a solution and the value it gives a variable: a variable of its own, when the rule's body is one.
fn split_off(mut solution: Solution, variable: &Variable, source: &mut VariableSource) -> (Solution, Atom) {
    match solution.iter().position(|(bound, _)| bound == variable) {
        Some(position) => {
            let (_, value) = solution.remove(position);
            (solution, value)
        }
        None => {
            let own = Atom::Variable(source.fresh(variable.name()));
            for (_, value) in &mut solution {
                *value = substitute(value, variable, &own);
            }
            (solution, own)
        }
    }
}

/// A solution as bindings.
pub(super) fn bindings_of(solution: &Solution) -> Bindings {
    let mut bindings = Bindings::default();
    for (variable, value) in solution {
        bindings.bind(variable.clone(), value.clone());
    }
    bindings
}

/// An element of what `collapse-bind` returns.
fn as_pair(atom: &Atom) -> Option<(Atom, &Solution)> {
    match atom.children()? {
        [atom, Atom::Grounded(Grounded::Bindings(solution))] => Some((atom.clone(), solution)),
        _ => None,
    }
}

/// The variables of a solution and their values, as two expressions to be unified.
fn sides(solution: &Solution) -> (Atom, Atom) {
    let variables: Vec<Atom> = solution.iter().map(|(variable, _)| Atom::Variable(variable.clone())).collect();
    let values: Vec<Atom> = solution.iter().map(|(_, value)| value.clone()).collect();
    (Atom::expression(variables), Atom::expression(values))
}
