//! Minimal MeTTa: the bodies of `function`, and instructions that are written out in a program.
//!
//! 1. An instruction comes to an atom as it stands: here errors and `Empty` are values like any other.
//! 2. `(chain n $v t)` gives the result of `n` a name in `t`. Nothing is collected: `t` is done for one alternative of `n` after the other.
//! 3. `(eval x)` calls a function whose results are not evaluated further; such a function is compiled apart from that of the same name
//!    whose results are.
//! 4. Inside `function` a result that can be seen here is code that goes on; what cannot be seen is looked at when it is there.
//! 5. `collapse-bind` with what takes its pairs apart again is a collection of results.
//! 6. What remains is run by the interpreter.
//! 7. Evaluated data is not evaluated as a result, or by `metta`, whatever was bound in it since what is bound was put in. So code puts that in
//!    where the interpreter does: where it begins, for what `eval` reduces, behind `metta`, and where `unify` has matched.

use super::Lower;
use crate::instructions::{MinimalInstruction, free_variables, instruction_of, is_function, is_instruction};
use crate::lowering::Lowering;
use crate::machine::code::{REDUCE, Slot};
use crate::machine::core::{
    Asked, AtomTest, Called, Collected, Core, IfAtoms, List, ListOperation, Reduce, Reducer, Test, Unify,
};
use crate::machine::depth::DEPTH_MAX;
use crate::names;
use crate::operation::{Operation, lowering_of};
use crate::stdlib::forms::{asks_for_absence, branches_of_case};
use rustc_hash::FxHashSet;
use space::{Atom, Grounded, Variable, variables};
use std::rc::Rc;

/// Calls with more arguments are looked at when they are there.
const ARGUMENTS_MAX: usize = 64;

/// Where code stands, which says what becomes of its result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// The result is what is asked for.
    Code,
    /// The code of a `function` goes on with it.
    Function,
}

/// Lowers minimal code.
struct MinimalCode<'m, 'l> {
    lower: &'m mut Lower<'l>,
    /// The variables that stand for a value: no `chain` can bind them.
    fixed: FxHashSet<Variable>,
    /// Those that stand for the space of the evaluation.
    contexts: FxHashSet<Variable>,
}

impl<'l> Lower<'l> {
    /// What minimal code comes to. All variables that are known before stand for values.
    pub(super) fn minimal(&mut self, code: &Atom) -> Core {
        self.minimal_code().resolved(code, |minimal| minimal.whole(code))
    }

    /// The body of a rule that is `(function …)`: what it returns.
    pub(in crate::machine) fn function(&mut self, function: &Atom, call: Called) -> Core {
        self.minimal_code().resolved(function, |minimal| minimal.function(function, call))
    }

    fn minimal_code(&mut self) -> MinimalCode<'_, 'l> {
        let fixed = self.facts.scope.all().cloned().collect();
        MinimalCode { lower: self, fixed, contexts: FxHashSet::default() }
    }

    /// Whether an atom is the space of the evaluation.
    pub(super) fn is_own_space(&self, atom: &Atom) -> bool {
        matches!(atom, Atom::Grounded(Grounded::Space(space)) if space.is_same(self.facts.run.space()))
    }

    /// The variables of the branches of a choice that occur elsewhere, so that both have the same.
    pub(super) fn shared_by_branches(&mut self, branches: &[&Atom]) -> Vec<Variable> {
        let mut fresh = Vec::new();
        for branch in branches {
            let seen = self.facts.seen_elsewhere(free_variables(branch), &[branch]);
            self.add_fresh(&mut fresh, seen);
        }
        fresh
    }

    /// What comes before two atoms are made one: the variables to be made, the first atom, and the variables of the pattern that
    /// stand for something in `then` only.
    pub(super) fn before_unify(&mut self, [left, pattern, then]: [&Atom; 3]) -> (Vec<Variable>, Core, Vec<Variable>) {
        let mut fresh = Vec::new();
        self.add_fresh(&mut fresh, self.facts.unknown(left));
        let seen = self.facts.seen_elsewhere(self.facts.unknown(pattern), &[pattern, then]);
        self.add_fresh(&mut fresh, seen);
        let left = self.quote(left);
        let new = self.facts.unknown(pattern);
        (fresh, left, new)
    }
}

impl MinimalCode<'_, '_> {
    /// Code on its own.
    fn whole(&mut self, code: &Atom) -> Core {
        let is_run = !is_function(code) && takes_pairs(code);
        self.apart(code, |code, atom| match is_run {
            true => code.at_run_time(atom, Within::Code),
            false => code.code(atom, Within::Code),
        })
    }

    /// Code that begins where the interpreter has put in what is bound. Step 7.
    fn resolved(&mut self, code: &Atom, make: impl FnOnce(&mut Self) -> Core) -> Core {
        let facts = &self.lower.facts;
        let mut handed = Vec::new();
        add_handed_on(code, &mut handed);
        handed.retain(|variable| facts.scope.is_known(variable) && facts.scope.fact(variable).is_none());
        let node = make(self);
        handed.into_iter().fold(node, |then, variable| {
            let value = Core::Resolved(Box::new(Core::Variable(variable.clone())));
            Core::Let { variable, value: Box::new(value), then: Box::new(then) }
        })
    }

    fn apart(&mut self, atom: &Atom, make: impl FnOnce(&mut Self, &Atom) -> Core) -> Core {
        let shared = self.lower.facts.shared(atom);
        self.lower.facts.scope.learn_each(&shared);
        let mark = self.lower.facts.scope.mark();
        let node = make(self, atom);
        self.lower.facts.scope.forget_from(mark);
        Core::fresh(shared, node)
    }

    /// What `(function body)` returns.
    fn function(&mut self, function: &Atom, call: Called) -> Core {
        let mut fresh = Vec::new();
        if let Called::Written { atom, .. } = &call {
            self.lower.add_fresh(&mut fresh, self.lower.facts.unknown(atom));
        }
        let body = &function.children().expect("it is a function")[1];
        let shared = self.lower.facts.shared(body);
        self.lower.add_fresh(&mut fresh, shared);
        let mark = self.lower.facts.scope.mark();
        // What bare pairs bind would be lost between two visits to the interpreter: it runs the whole.
        let body = Box::new(match takes_pairs(body) {
            true => self.at_run_time(body, Within::Function),
            false => self.code(body, Within::Function),
        });
        self.lower.facts.scope.forget_from(mark);
        Core::fresh(fresh, Core::Function { call, body })
    }

    fn code(&mut self, atom: &Atom, within: Within) -> Core {
        if self.lower.depth == DEPTH_MAX {
            self.lower.is_too_large = true;
            return Core::Fail;
        }
        self.lower.depth += 1;
        let node = self.instruction(atom, within);
        self.lower.depth -= 1;
        node
    }

    fn instruction(&mut self, atom: &Atom, within: Within) -> Core {
        let (name, arguments) = match atom.children() {
            Some([Atom::Symbol(name), arguments @ ..]) => (name.as_str(), arguments),
            Some([Atom::Variable(_), ..]) => return self.at_run_time(atom, within),
            _ if matches!(atom, Atom::Variable(_)) => return self.at_run_time(atom, within),
            _ => return self.data(atom, within),
        };
        match (instruction_of(name), arguments) {
            (Some(MinimalInstruction::Chain), [nested, Atom::Variable(variable), template])
                if !self.fixed.contains(variable) =>
            {
                self.chain(nested, variable, template, within)
            }
            (Some(MinimalInstruction::Eval), [call]) => self.eval(atom, call, within),
            (Some(MinimalInstruction::EvalInSpace), [call, space]) if self.is_context(space) => {
                self.eval(atom, call, within)
            }
            (Some(MinimalInstruction::Function), [Atom::Expression(_)]) => self.nested_function(atom, within),
            (Some(MinimalInstruction::Unify), [left, pattern, then, otherwise]) => {
                self.unify([left, pattern, then, otherwise], within)
            }
            (Some(MinimalInstruction::Cons), [_, _]) => self.list(ListOperation::Cons, atom, within),
            (Some(MinimalInstruction::Decons), [_]) => self.list(ListOperation::Decons, atom, within),
            (Some(MinimalInstruction::Metta), [goal, type_atom, space]) if self.is_context(space) => {
                self.metta(atom, goal, type_atom, within)
            }
            (Some(MinimalInstruction::ContextSpace), []) => {
                let space = Atom::from(self.lower.facts.run.space().clone());
                let space = self.lower.quote(&space);
                result(space, within)
            }
            (None, [value]) if name == names::RETURN => match within {
                Within::Function => self.lower.quote(value),
                Within::Code => self.data(atom, within),
            },
            (Some(MinimalInstruction::CollapseBind | MinimalInstruction::SuperposeBind), _) => {
                self.lower.is_too_large = true;
                Core::Fail
            }
            (Some(_), _) => self.at_run_time(atom, within),
            (None, _) => self.data(atom, within),
        }
    }

    /// An atom that is not an instruction is its own result.
    fn data(&mut self, atom: &Atom, within: Within) -> Core {
        let data = self.lower.quote(atom);
        result(data, within)
    }

    /// What a variable holds may be code; so may what it makes the head of.
    fn at_run_time(&mut self, atom: &Atom, within: Within) -> Core {
        let code = Box::new(self.lower.quote(atom));
        match within {
            Within::Function => Core::Proceed(code),
            Within::Code => Core::Run { code, is_only_function: false },
        }
    }

    /// Steps 2 and 5.
    fn chain(&mut self, nested: &Atom, variable: &Variable, template: &Atom, within: Within) -> Core {
        if let Some((goal, result, rest, into)) = self.collected_together(nested, variable, template) {
            let value = self.apart(nested, |code, _| code.collected(goal, into));
            return self.bound(result, value, false, rest, within);
        }
        let is_context =
            nested.children().is_some_and(|nested| nested.len() == 1 && nested[0].is_symbol("context-space"));
        let value = self.whole(nested);
        self.bound(variable, value, is_context, template, within)
    }

    /// All results of a goal as a value, which a list that begins with the word `Error` is as well.
    fn collected(&mut self, goal: &Atom, into: Collected) -> Core {
        self.apart(goal, |code, goal| {
            let collected = code.lower.collected(goal, into);
            Core::AsValue(Box::new(collected))
        })
    }

    /// Code in which a variable stands for a value.
    fn bound(&mut self, variable: &Variable, value: Core, is_context: bool, code: &Atom, within: Within) -> Core {
        let mark = self.lower.facts.scope.mark();
        self.lower.facts.scope.learn(variable, None);
        self.fixed.insert(variable.clone());
        if is_context {
            self.contexts.insert(variable.clone());
        }
        let then = self.code(code, within);
        self.fixed.remove(variable);
        self.contexts.remove(variable);
        self.lower.facts.scope.forget_from(mark);
        Core::Let { variable: variable.clone(), value: Box::new(value), then: Box::new(then) }
    }

    /// Whether a chain collects the results of a goal and does nothing else with their bindings: the goal, the variable
    /// for its results, what is done with them, and what they become.
    fn collected_together<'a>(
        &self,
        nested: &'a Atom,
        pairs: &'a Variable,
        template: &'a Atom,
    ) -> Option<(&'a Atom, &'a Variable, &'a Atom, Collected)> {
        let [collapse, evaluated] = nested.children()? else { return None };
        let [metta, goal, type_atom, space] = evaluated.children()? else { return None };
        let is_goal = collapse.is_symbol("collapse-bind") && metta.is_symbol("metta");
        if !is_goal || !type_atom.is_symbol(names::UNDEFINED) || !self.is_context(space) {
            return None;
        }
        let (lowering, argument, result, rest) = evaluated_next(template)?;
        if *argument != Atom::Variable(pairs.clone()) || variables(rest).contains(pairs) || self.fixed.contains(result)
        {
            return None;
        }
        if lowering == Lowering::CollapsedAtoms {
            return Some((goal, result, rest, Collected::List));
        }
        let [chain, superpose, Atom::Variable(one), rest] = rest.children()? else { return None };
        let [bind, subjects] = superpose.children()? else { return None };
        let is_one_by_one =
            lowering == Lowering::CaseSubjects && chain.is_symbol("chain") && bind.is_symbol("superpose-bind");
        let is_all = *subjects == Atom::Variable(result.clone()) && !variables(rest).contains(result);
        let asked = match branches_of_case(template) {
            Some(Atom::Variable(variable)) if self.lower.facts.scope.is_known(variable) => Asked::Of(variable.clone()),
            Some(Atom::Variable(_)) | None => Asked::Known { asks_for_absence: true },
            Some(branches) => Asked::Known { asks_for_absence: asks_for_absence(branches) },
        };
        let is_such = is_one_by_one && is_all && !self.fixed.contains(one);
        is_such.then_some((goal, one, rest, Collected::Subjects(asked)))
    }

    /// Whether an atom stands for the space of the evaluation.
    fn is_context(&self, space: &Atom) -> bool {
        match space {
            Atom::Variable(variable) => self.contexts.contains(variable),
            space => self.lower.is_own_space(space),
        }
    }

    /// Step 3.
    fn eval(&mut self, atom: &Atom, call: &Atom, within: Within) -> Core {
        let Some([head, arguments @ ..]) = call.children() else { return self.reduced(call, within) };
        match head {
            Atom::Symbol(_) if is_instruction(call) => self.resolved(call, |code| code.code(call, within)),
            Atom::Symbol(name)
                if name.as_str() == "collapse"
                    && self.lower.facts.run.special_form("collapse", arguments.len()).is_some() =>
            {
                let collected = self.collected(&arguments[0], Collected::List);
                // What `collapse` means may have changed since the code began.
                let tests =
                    if self.lower.facts.run.machine().code.is_exact { vec![Test::Unchanged] } else { Vec::new() };
                let mark = self.lower.facts.scope.mark();
                let as_written = if tests.is_empty() { Core::Fail } else { self.open_call(head, arguments) };
                self.lower.facts.scope.forget_from(mark);
                result(Core::guarded(tests, collected, as_written), within)
            }
            Atom::Symbol(_) if arguments.len() < ARGUMENTS_MAX => {
                let call = self.open_call(head, arguments);
                result(call, within)
            }
            Atom::Grounded(_) if Operation::of(head).is_some() => self.eval_native(head, arguments, within),
            Atom::Symbol(_) => self.at_run_time(atom, within),
            _ => self.reduced(call, within),
        }
    }

    /// What is seen only when it is there is reduced.
    fn reduced(&mut self, call: &Atom, within: Within) -> Core {
        let operands = vec![self.lower.quote(call)];
        result(Core::Reduce(Box::new(Reduce { by: Reducer::Head, operands })), within)
    }

    /// A call whose results are not evaluated further, and not collected.
    fn open_call(&mut self, head: &Atom, arguments: &[Atom]) -> Core {
        let mut fresh = Vec::new();
        for argument in arguments {
            let shared = self.lower.facts.shared(argument);
            self.lower.add_fresh(&mut fresh, shared);
        }
        let operands = arguments.iter().map(|argument| self.lower.quote(argument)).collect();
        let machine = self.lower.facts.run.machine_mut();
        let head = machine.values.constant_leaf(head).expect("it is a leaf");
        let function = machine.code.function(head, arguments.len() as Slot, REDUCE);
        Core::fresh(fresh, Core::Reduce(Box::new(Reduce { by: Reducer::Function(function), operands })))
    }

    /// A native function on arguments as they stand.
    fn eval_native(&mut self, head: &Atom, arguments: &[Atom], within: Within) -> Core {
        match (lowering_of(head), arguments) {
            (Some(Lowering::IfEqual), [left, right, then, otherwise]) => {
                self.if_atoms(AtomTest::AreEqual, &[left, right], [then, otherwise], within)
            }
            (Some(Lowering::IfError), [tested, then, otherwise]) => {
                self.if_atoms(AtomTest::IsError, &[tested], [then, otherwise], within)
            }
            _ => {
                let operands = arguments.iter().map(|argument| self.lower.quote(argument)).collect();
                let operation = self.lower.facts.run.machine_mut().values.constant_leaf(head).expect("it is a leaf");
                result(Core::Reduce(Box::new(Reduce { by: Reducer::Native(operation), operands })), within)
            }
        }
    }

    fn if_atoms(&mut self, asks: AtomTest, tested: &[&Atom], branches: [&Atom; 2], within: Within) -> Core {
        let fresh = self.lower.shared_by_branches(&branches);
        let operands = tested.iter().map(|tested| self.lower.quote(tested)).collect();
        let [then, otherwise] = branches.map(|branch| {
            let mark = self.lower.facts.scope.mark();
            let node = self.resolved(branch, |code| code.eval_branch(branch, within));
            self.lower.facts.scope.forget_from(mark);
            node
        });
        Core::fresh(fresh, Core::IfAtoms(Box::new(IfAtoms { asks, operands, then, otherwise })))
    }

    /// What `unify` answers with: data as the result of an instruction, code inside `function`.
    fn branch(&mut self, atom: &Atom, within: Within) -> Core {
        match within {
            Within::Code => self.data(atom, within),
            Within::Function => self.code(atom, within),
        }
    }

    /// What `eval` answers with: a `function` is entered.
    fn eval_branch(&mut self, atom: &Atom, within: Within) -> Core {
        match within {
            Within::Code if is_function(atom) => self.nested_function(atom, within),
            Within::Code if matches!(atom, Atom::Variable(_)) || may_be_code(atom) => {
                let code = Box::new(self.lower.quote(atom));
                Core::Run { code, is_only_function: true }
            }
            _ => self.branch(atom, within),
        }
    }

    fn nested_function(&mut self, atom: &Atom, within: Within) -> Core {
        let function = self.function(atom, Called::written(atom));
        result(function, within)
    }

    fn unify(&mut self, [left, pattern, then, otherwise]: [&Atom; 4], within: Within) -> Core {
        let mut fresh = self.lower.shared_by_branches(&[then, otherwise]);
        let (more, left, new) = self.lower.before_unify([left, pattern, then]);
        fresh.extend(more);
        let mark = self.lower.facts.scope.mark();
        self.lower.facts.scope.learn_each(&new);
        let added: Vec<Variable> = new.into_iter().filter(|variable| self.fixed.insert(variable.clone())).collect();
        let then = self.resolved(then, |code| code.branch(then, within));
        added.iter().for_each(|variable| _ = self.fixed.remove(variable));
        self.lower.facts.scope.forget_from(mark);
        let otherwise = self.branch(otherwise, within);
        self.lower.facts.scope.forget_from(mark);
        let pattern = pattern.clone();
        Core::fresh(fresh, Core::Unify(Box::new(Unify { left, pattern, then, otherwise })))
    }

    /// A list taken apart or put together; what cannot be is run.
    fn list(&mut self, operation: ListOperation, atom: &Atom, within: Within) -> Core {
        let arguments = &atom.children().expect("an instruction is an expression")[1..];
        let mut fresh = Vec::new();
        self.lower.add_fresh(&mut fresh, self.lower.facts.unknown(atom));
        // The list comes first.
        let operands = arguments.iter().rev().map(|argument| self.lower.quote(argument)).collect();
        let as_written = Rc::new(self.at_run_time(atom, Within::Code));
        let list = Core::List(Box::new(List { operation, operands, as_written }));
        Core::fresh(fresh, result(list, within))
    }

    /// A goal is evaluated; its errors are results.
    fn metta(&mut self, atom: &Atom, goal: &Atom, type_atom: &Atom, within: Within) -> Core {
        // An error is passed on if it is of the type, and an error of another type otherwise.
        let is_plain = type_atom.is_ground() && !names::is_error(goal);
        let types = &mut self.lower.facts.run.machine_mut().types;
        let type_id = if is_plain { types.ids.id(type_atom) } else { None };
        // Where an expression is asked for, what is one stays as it is, and what a variable holds may be one.
        let asks_for_expression = type_atom.is_symbol(names::EXPRESSION);
        let is_odd = asks_for_expression && matches!(goal, Atom::Variable(_));
        let is_raw = asks_for_expression && matches!(goal, Atom::Expression(_)) || type_id == Some(types.atom_type);
        let Some(type_id) = type_id.filter(|_| !is_odd) else { return self.at_run_time(atom, within) };
        let node = self.apart(goal, |code, goal| {
            if is_raw {
                return Core::AsValue(Box::new(code.lower.quote(goal)));
            }
            let was_known = |variable: &Variable| code.lower.facts.scope.is_known(variable);
            let goal_of = match goal {
                Atom::Variable(variable) if was_known(variable) => Some(variable.clone()),
                _ => None,
            };
            let value = Core::AsValue(Box::new(code.lower.argument(goal, type_id)));
            let value = Core::Resolved(Box::new(value));
            match goal_of {
                Some(variable) => Core::UnlessEvaluated { variable, otherwise: Box::new(value) },
                None => value,
            }
        });
        result(node, within)
    }
}

/// Adds the variables that code, which is no deeper than what is compiled, gives as they stand, or hands on to code inside, but for those where
/// what is bound is put in again.
fn add_handed_on(code: &Atom, handed: &mut Vec<Variable>) {
    if let Atom::Variable(variable) = code
        && !handed.contains(variable)
    {
        handed.push(variable.clone());
    }
    let inside = match code.children() {
        Some([chain, nested, Atom::Variable(_), template]) if chain.is_symbol("chain") => {
            [Some(nested), Some(template)]
        }
        Some([head, inside]) if head.is_symbol("function") || head.is_symbol(names::RETURN) => [Some(inside), None],
        Some([metta, goal @ Atom::Variable(_), _, _]) if metta.is_symbol("metta") => [Some(goal), None],
        Some([unify, _, _, _, otherwise]) if unify.is_symbol("unify") => [Some(otherwise), None],
        _ => [None, None],
    };
    inside.into_iter().flatten().for_each(|inside| add_handed_on(inside, handed));
}

/// What code comes to, or what a `function` does with it.
fn result(value: Core, within: Within) -> Core {
    match within {
        Within::Code => value,
        Within::Function => Core::Proceed(Box::new(value)),
    }
}

/// `(chain (eval (name argument)) $result rest)`, with a native function.
fn evaluated_next(template: &Atom) -> Option<(Lowering, &Atom, &Variable, &Atom)> {
    let [chain, evaluated, Atom::Variable(result), rest] = template.children()? else { return None };
    let [eval, call] = evaluated.children()? else { return None };
    let [head, argument] = call.children()? else { return None };
    let lowering = lowering_of(head)?;
    (chain.is_symbol("chain") && eval.is_symbol("eval")).then_some((lowering, argument, result, rest))
}

/// Whether code takes pairs of results and bindings apart or hands them on, but for a collection of results.
fn takes_pairs(code: &Atom) -> bool {
    let mut work = vec![code];
    while let Some(atom) = work.pop() {
        let Some(children) = atom.children() else { continue };
        if let [chain, nested, Atom::Variable(_), template] = children
            && chain.is_symbol("chain")
            && nested.head().is_some_and(|head| head.is_symbol("collapse-bind"))
        {
            match evaluated_next(template) {
                Some((Lowering::CollapsedAtoms, _, _, rest)) => {
                    work.extend([nested.children().map_or(nested, |nested| &nested[1]), rest]);
                    continue;
                }
                Some((Lowering::CaseSubjects, _, _, rest)) => {
                    let rest = rest.children().filter(|rest| rest.len() == 4).map_or(rest, |rest| &rest[3]);
                    work.extend([nested.children().map_or(nested, |nested| &nested[1]), rest]);
                    continue;
                }
                _ => return true,
            }
        }
        if children.first().is_some_and(|head| head.is_symbol("collapse-bind") || head.is_symbol("superpose-bind")) {
            return true;
        }
        work.extend(children);
    }
    false
}

/// Whether an expression may turn out to be code, since it begins with a variable or is a `function` of one.
pub(in crate::machine) fn may_be_code(atom: &Atom) -> bool {
    matches!(atom.children(), Some([Atom::Variable(_), ..])) || may_be_function(atom)
}

/// Whether an atom is `(function $body)`, which can be run if the variable stands for an expression.
pub(in crate::machine) fn may_be_function(atom: &Atom) -> bool {
    matches!(atom.children(), Some([head, Atom::Variable(_)]) if head.is_symbol("function"))
}
