//! MeTTa: the evaluation of an atom with an expected type, after the language specification, step by step.
//!
//! 1. *metta*: what is raw by its type, a variable or already evaluated is its own result; a symbol or grounded atom
//!    is cast to the type; an expression goes through 2, inside a barrier.
//! 2. *interpret expression*: the first function type of the head that applies (3) decides: head and arguments are
//!    evaluated by that type (5) and the call is made (6). If none applies, its errors are results, and if the head
//!    also has another type or none, the expression is a tuple (4).
//! 3. *applicability*: as many arguments as the type says; each argument raw by a metatype or of a type that agrees;
//!    a return type that agrees with the expected one.
//! 4. *tuple*: the children are evaluated from left to right; `Empty` or an error among them is the result.
//! 5. *arguments*: likewise, each with the type of its position.
//! 6. *call*: a native function, the rules that match, or the call itself when there are none; what comes out is
//!    evaluated again with the return type.

use super::frame::{Arguments, Call, Progress, Target, Tuple, Waiting};
use super::minimal::{Reduction, bindings_of};
use super::{Alternative, Evaluation, Work};
use crate::instructions::function_body;
use crate::names::{self, error, error_text, is_empty_or_error, is_error};
use crate::types::{self, AtomType, accepts_raw, agree, bad_argument, function_parts};
use space::{Atom, Bindings, Expression, SharedSpace, Solution, alpha_equivalent, variables};

/// A function type that applies to a call, with what that binds.
struct Applicable {
    function: Expression,
    return_type: Atom,
    solution: Solution,
}

impl Evaluation<'_> {
    /// Step 1.
    pub(super) fn metta(&mut self, atom: Atom, target: Target) -> Option<Work> {
        let is_error = names::is_whole_error(&atom) && self.may_be_an_error(&target.type_atom)?;
        if is_error || atom.is_symbol(names::EMPTY) || accepts_raw(&target.type_atom, &atom) {
            return Some(Work::Same(atom));
        }
        match &atom {
            Atom::Variable(_) => Some(Work::Return(atom)),
            Atom::Symbol(_) | Atom::Grounded(_) => self.type_cast(atom, &target),
            Atom::Expression(expression) if expression.is_evaluated() => Some(Work::Same(atom)),
            Atom::Expression(expression) if expression.is_empty() => self.type_cast(atom, &target),
            Atom::Expression(_) if self.is_too_deep() => {
                Some(Work::Return(error_text(self.resolve(&atom)?, names::STACK_OVERFLOW)))
            }
            Atom::Expression(_) => {
                let is_reduct = self.raise_expression_barrier();
                // What an earlier part of the expression around it has bound, types see as well.
                let atom = self.resolve(&atom)?;
                self.interpret_expression(&atom, target, is_reduct)
            }
        }
    }

    /// Whether a type is one that an error may be of; what is expected of another is an error of its own.
    fn may_be_an_error(&mut self, type_atom: &Atom) -> Option<bool> {
        Some(match self.resolve(type_atom)? {
            Atom::Symbol(name) => [names::UNDEFINED, names::ATOM, names::ERROR_TYPE].contains(&name.as_str()),
            other => !other.is_ground(),
        })
    }

    /// Whether the program has set a depth and the stack is that deep.
    fn is_too_deep(&self) -> bool {
        self.session.program.depth_set().is_some_and(|depth_max| super::frame::depth(&self.frame) >= depth_max)
    }

    /// The atom, if one of its types agrees with the expected one; otherwise an error for each of them.
    fn type_cast(&mut self, atom: Atom, target: &Target) -> Option<Work> {
        let expected = self.resolve(&target.type_atom)?;
        if expected.is_symbol(names::UNDEFINED) {
            return Some(Work::Return(atom));
        }
        let mut errors = Vec::new();
        for actual in self.types.types_of(&target.space, &atom, self.session.program.variables()) {
            if !actual.is_valid() {
                continue;
            }
            let matched = self.agreements(&expected, &actual.atom);
            if !matched.is_empty() {
                let cast = |solution| Alternative::new(solution, Work::Return(atom.clone()));
                return self.fork(matched.into_iter().map(cast).collect());
            }
            let message = Atom::expression([Atom::symbol(names::BAD_TYPE), expected.clone(), actual.atom]);
            errors.push(Alternative::new(Solution::new(), Work::Return(error(atom.clone(), message))));
        }
        self.fork(errors)
    }

    fn agreements(&mut self, left: &Atom, right: &Atom) -> Vec<Solution> {
        let wanted = variables(&Atom::expression([left.clone(), right.clone()]));
        let found = agree(left, right, &Bindings::default(), self.session.program.variables());
        found.iter().map(|bindings| bindings.solution_for(&wanted)).collect()
    }

    /// Step 2.
    fn interpret_expression(&mut self, atom: &Atom, target: Target, is_reduct: bool) -> Option<Work> {
        let Atom::Expression(expression) = atom else { unreachable!("only expressions are interpreted") };
        let progress = Progress::begin(expression.clone(), is_reduct);
        let head_types =
            self.types.types_of_head(&target.space, expression.children(), self.session.program.variables());
        if let Some(errors) = all_errors(&head_types) {
            let results = errors.into_iter().map(|atom| Alternative::new(Solution::new(), Work::Return(atom)));
            return self.fork(results.collect());
        }
        let mut errors = Vec::new();
        for function in head_types.iter().filter(|found| found.is_valid() && found.is_function()) {
            match self.check_applicable(atom, &function.atom, &target) {
                Ok(applicable) => return self.call_function(progress, applicable, &target.space),
                Err(found) => errors.extend(found),
            }
        }
        let is_tuple = head_types.iter().any(|found| found.is_valid() && !found.is_function());
        let mut alternatives = Vec::new();
        if is_tuple {
            let tuple = Tuple { progress, target };
            alternatives.push(self.tuple_alternative(tuple));
        }
        let errors = errors.into_iter().map(|atom| Alternative::new(Solution::new(), Work::Return(atom)));
        alternatives.extend(errors);
        self.fork(alternatives)
    }

    /// Step 3. The errors are those of every way in which the types of the arguments can be chosen.
    fn check_applicable(&mut self, call: &Atom, function: &Atom, target: &Target) -> Result<Applicable, Vec<Atom>> {
        let (formals, return_type) = function_parts(function);
        let arguments = &call.children().expect("a call is an expression")[1..];
        if formals.len() != arguments.len() {
            return Err(vec![error_text(call.clone(), names::INCORRECT_NUMBER_OF_ARGUMENTS)]);
        }
        let expected = self.resolve(&target.type_atom).ok_or_else(Vec::new)?;
        let mut check = Check { call, errors: Vec::new(), alternatives: vec![Bindings::default()] };
        for (position, (formal, argument)) in formals.iter().zip(arguments).enumerate() {
            if !accepts_raw(formal, argument) {
                let actuals = self.types.types_of(&target.space, argument, self.session.program.variables());
                check.argument(position + 1, formal, &actuals, self.session.program.variables());
            }
        }
        let Some(bindings) = check.result(return_type, &expected, self.session.program.variables()) else {
            return Err(check.errors);
        };
        // The variables of the function type are its own: their values are put in. Those of the expected type are
        // seen by others: they are bound.
        let function = types::instantiated(function, &bindings);
        let return_type = function.children().last().expect("a function type has a result").clone();
        Ok(Applicable { function, return_type, solution: bindings.solution_for(&variables(&expected)) })
    }

    /// Steps 5 and 6 with the function type that applies.
    fn call_function(&mut self, progress: Progress, applicable: Applicable, space: &SharedSpace) -> Option<Work> {
        let Applicable { function, return_type, solution } = applicable;
        self.store.bind_all(solution);
        // `Expression` as a return type would otherwise end the evaluation as `Atom` does.
        let is_expression = return_type.is_symbol(names::EXPRESSION);
        let type_atom = if is_expression { names::undefined() } else { return_type };
        let types = function.tail().expect("a function type has a head");
        let target = Target { type_atom, space: space.clone() };
        let head = progress.next().expect("a call has a head").clone();
        let arguments = Arguments { progress, types, target, behind: self.behind.take() };
        if matches!(head, Atom::Expression(_)) {
            let head_target = Target { type_atom: Atom::Expression(function), space: space.clone() };
            self.push(Waiting::Arguments(arguments));
            return Some(Work::Metta(head, head_target));
        }
        // The type was found among the head's own: casting the head to it would change nothing.
        self.continue_arguments(&arguments, head, true)
    }

    /// Step 5: the next argument, or the call when there is none left.
    fn next_argument(&mut self, arguments: Arguments) -> Option<Work> {
        let (Some(argument), Some(type_atom)) = (arguments.progress.next(), arguments.types.children().first()) else {
            if arguments.behind.is_some_and(|behind| behind.leaves_out()) {
                return self.next_alternative();
            }
            return self.metta_call(arguments.progress.call(), arguments.target);
        };
        let type_atom = self.resolve(type_atom)?;
        // What an earlier argument has bound is evaluated as this one.
        let argument = if let Atom::Variable(_) = argument { self.resolve(argument)? } else { argument.clone() };
        let work = Work::Metta(argument, Target { type_atom, space: arguments.target.space.clone() });
        self.push(Waiting::Arguments(arguments));
        Some(work)
    }

    pub(super) fn continue_arguments(&mut self, arguments: &Arguments, result: Atom, itself: bool) -> Option<Work> {
        let Arguments { progress, types, target, behind } = arguments;
        let is_final = is_empty_or_error(&result);
        let (target, behind) = (target.clone(), behind.clone());
        if progress.is_at_head() {
            if is_final {
                return Some(Work::Return(result));
            }
            let progress = progress.with(result, itself);
            return self.next_argument(Arguments { progress, types: types.clone(), target, behind });
        }
        let argument = progress.next().expect("an argument was evaluated");
        // An argument that is an error as it stands is passed on, whatever has been bound in it since.
        if is_final && !alpha_equivalent(&self.resolve(&result)?, &self.resolve(argument)?) {
            let is_left_out = is_error(&result) && behind.is_some_and(|behind| behind.leaves_out());
            return if is_left_out { self.next_alternative() } else { Some(Work::Return(result)) };
        }
        let progress = progress.with(result, itself);
        let types = types.tail().expect("an argument has a type");
        self.next_argument(Arguments { progress, types, target, behind })
    }

    /// Step 4, as an alternative among others.
    fn tuple_alternative(&mut self, tuple: Tuple) -> Alternative {
        let first = tuple.progress.next().expect("a tuple has a head").clone();
        let work = Work::Metta(first, undefined(&tuple.target.space));
        Alternative { solution: Solution::new(), work, frames: vec![Waiting::Tuple(tuple)] }
    }

    pub(super) fn continue_tuple(&mut self, tuple: &Tuple, result: Atom, itself: bool) -> Option<Work> {
        if is_empty_or_error(&result) {
            return Some(Work::Return(result));
        }
        let progress = tuple.progress.with(result, itself);
        let target = tuple.target.clone();
        match progress.next().cloned() {
            None => self.metta_call(progress.call(), target),
            Some(child) => {
                let work = Work::Metta(child, undefined(&target.space));
                self.push(Waiting::Tuple(Tuple { progress, target }));
                Some(work)
            }
        }
    }

    /// Step 6.
    pub(super) fn metta_call(&mut self, mut call: Call, target: Target) -> Option<Work> {
        if is_error(&call.atom) {
            return Some(Work::Return(call.atom));
        }
        // What parts that came to themselves have bound is no change.
        call.atom = self.resolve(&call.atom)?;
        match self.is_tabled(&call.atom, &target.space) {
            true => self.tabled_call(call, target),
            false => self.untabled_call(call, target),
        }
    }

    /// Makes a call that is resolved, without a look at its table.
    pub(super) fn untabled_call(&mut self, call: Call, target: Target) -> Option<Work> {
        let alternatives = match self.reduce(&call.atom, &target.space) {
            Reduction::NotReducible => return Some(unreduced(call)),
            Reduction::Instruction(atom) => {
                self.push(Waiting::Reduct { call, target });
                return Some(Work::Minimal(atom));
            }
            Reduction::Alternatives(alternatives) => alternatives,
        };
        let go_on = |(solution, result): (Solution, Atom)| match function_body(&result).cloned() {
            None => {
                let bound = || Some(bindings_of(&solution).resolve(&call.atom));
                let frames = self.called(&call, &result).into_iter().collect();
                let work = after_reduction(&call, bound, result, &target)?;
                Some(Alternative { solution, work, frames })
            }
            Some(body) => {
                let reduct = Waiting::Reduct { call: call.clone(), target: target.clone() };
                let function = Waiting::Function { call: call.atom.clone() };
                let frames = [Some(reduct), self.called(&call, &result), Some(function)];
                let frames = frames.into_iter().flatten().collect();
                Some(Alternative { solution, work: Work::Minimal(body), frames })
            }
        };
        let alternatives: Option<Vec<Alternative>> = alternatives.into_iter().map(go_on).collect();
        self.fork(alternatives?)
    }

    /// The code that a call was reduced to has come to this.
    pub(super) fn after_code(&mut self, call: &Call, result: Atom, target: &Target) -> Option<Work> {
        // A variable that the code has bound is what it stands for, which may be of another type than is expected.
        let result = if matches!(result, Atom::Variable(_)) { self.resolve(&result)? } else { result };
        after_reduction(call, || self.resolve(&call.atom), result, target)
    }
}

/// What a call was reduced to is evaluated again, unless it says that nothing was reduced. Then the call stands for itself
/// with what has been bound on the way, which is no reason to evaluate it again.
///
/// `None` if finding that out ends the evaluation.
fn after_reduction(call: &Call, bound: impl FnOnce() -> Option<Atom>, result: Atom, target: &Target) -> Option<Work> {
    Some(match () {
        () if result.is_symbol(names::NOT_REDUCIBLE) => unreduced(Call { atom: bound()?, ..*call }),
        () if is_empty_or_error(&result) => Work::Return(result),
        () => Work::Reduct(result, target.clone()),
    })
}

/// A call that nothing reduces is its own result, and needs no further evaluation if its children came to themselves.
fn unreduced(call: Call) -> Work {
    let atom = match call.atom {
        Atom::Expression(expression) if !call.changed => expression.into_evaluated().into(),
        atom => atom,
    };
    if call.changed || call.is_reduct { Work::Return(atom) } else { Work::Same(atom) }
}

/// The state of an applicability check: the ways in which the arguments so far agree with their types.
struct Check<'a> {
    call: &'a Atom,
    errors: Vec<Atom>,
    alternatives: Vec<Bindings>,
}

impl Check<'_> {
    fn argument(&mut self, position: usize, formal: &Atom, actuals: &[AtomType], source: &mut space::VariableSource) {
        let mut next = Vec::new();
        for bindings in &self.alternatives {
            if next.len() >= types::TYPES_PER_ATOM_MAX {
                break;
            }
            for actual in actuals {
                if let Some(error) = &actual.error {
                    self.errors.push(error.clone());
                    continue;
                }
                let matched = agree(formal, &actual.atom, bindings, source);
                if matched.is_empty() {
                    let message = bad_argument(position, bindings.resolve(formal), actual.atom.clone());
                    self.errors.push(error(self.call.clone(), message));
                }
                next.extend(matched);
            }
        }
        next.truncate(types::TYPES_PER_ATOM_MAX);
        self.alternatives = next;
    }

    /// The first way in which the return type agrees too.
    fn result(&mut self, actual: &Atom, expected: &Atom, source: &mut space::VariableSource) -> Option<Bindings> {
        for bindings in &self.alternatives {
            if let Some(matched) = agree(actual, expected, bindings, source).into_iter().next() {
                return Some(matched);
            }
            let actual = bindings.resolve(actual);
            let message = Atom::expression([Atom::symbol(names::BAD_TYPE), expected.clone(), actual]);
            self.errors.push(error(self.call.clone(), message));
        }
        None
    }
}

fn all_errors(types: &[AtomType]) -> Option<Vec<Atom>> {
    types.iter().map(|found| found.error.clone()).collect()
}

fn undefined(space: &SharedSpace) -> Target {
    Target { type_atom: names::undefined(), space: space.clone() }
}
