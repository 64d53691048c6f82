//! Goals, and what each is replaced by.

use crate::lowering::Comparison;
use crate::names;
use crate::operation::lowering_of;
use crate::rules::{Match, Reading, Shape};
use crate::stdlib::forms::special_form;
use space::{Atom, Grounded, Number, SharedSpace, Variable, VariableSource, conjunction};
use std::cmp::Ordering;

/// Something that must hold.
#[derive(Clone)]
pub(super) enum Goal {
    /// An expression comes to a result.
    Value { expression: Atom, result: Atom, parent: usize },
    /// Both are one atom.
    Same { left: Atom, right: Atom },
    /// An atom is in the space.
    Fact { pattern: Atom, parent: usize },
    /// Patterns have no answer.
    Absence { query: Atom, parent: usize },
    /// A condition has a truth value.
    Test { condition: Atom, truth: bool, parent: usize },
    /// A call has a result by one of its rules, or is data.
    Call { call: Atom, result: Atom, parent: usize },
}

/// What a goal is replaced by: one of these lists.
pub(super) type Alternatives = Vec<Vec<Goal>>;

impl Goal {
    /// The atoms that tell it apart.
    pub(super) fn atoms(&self) -> Vec<&Atom> {
        match self {
            Self::Value { expression, result, .. } => vec![expression, result],
            Self::Same { left, right } => vec![left, right],
            Self::Fact { pattern, .. } => vec![pattern],
            Self::Absence { query, .. } => vec![query],
            Self::Test { condition, .. } => vec![condition],
            Self::Call { call, result, .. } => vec![call, result],
        }
    }

    /// What kind it is.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Self::Value { .. } => 0,
            Self::Same { .. } => 1,
            Self::Fact { .. } => 2,
            Self::Absence { .. } => 3,
            Self::Test { truth, .. } => 4 + u8::from(*truth),
            Self::Call { .. } => 6,
        }
    }
}

/// What it takes that an expression, with what is bound put in, comes to a result. The error names a form that is not looked into.
pub(super) fn alternatives(
    expression: &Atom,
    result: &Atom,
    parent: usize,
    (space, source): (&SharedSpace, &mut VariableSource),
) -> Result<Alternatives, String> {
    let same = |left: &Atom| Goal::Same { left: left.clone(), right: result.clone() };
    let value = |expression: &Atom, result: &Atom| Goal::Value {
        expression: expression.clone(),
        result: result.clone(),
        parent,
    };
    let reading = Reading::of(expression);
    let call = || Goal::Call { call: expression.clone(), result: result.clone(), parent };
    let Some((_, arguments)) = reading.call else {
        let is_name = matches!(expression, Atom::Symbol(_));
        return Ok(vec![vec![if is_name { call() } else { same(expression) }]]);
    };
    match reading.shape {
        Shape::Nothing => Ok(Vec::new()),
        Shape::If { condition, ways } => Ok([true, false]
            .into_iter()
            .zip(ways)
            .map(|(truth, way)| vec![Goal::Test { condition: condition.clone(), truth, parent }, value(way, result)])
            .collect()),
        Shape::Let { pattern, value: argument, body } => Ok(vec![vec![value(argument, pattern), value(body, result)]]),
        Shape::Same(only) => Ok(vec![vec![value(only, result)]]),
        Shape::LetAll { pairs, body } => {
            let pairs = pairs.children().unwrap_or_default().iter().map(|pair| match pair.children() {
                Some([pattern, argument]) => Ok(value(argument, pattern)),
                _ => Err(names::brief(expression)),
            });
            let goals: Result<Vec<Goal>, String> = pairs.chain([Ok(value(body, result))]).collect();
            Ok(vec![goals?])
        }
        Shape::Alternatives(list) => {
            Ok(list.children().unwrap_or_default().iter().map(|choice| vec![value(choice, result)]).collect())
        }
        Shape::Match(Match { space: asked, query, template }) => {
            let facts = facts_of(asked, query, parent, space)?;
            // What the result must be narrows what is looked for.
            let goals = if is_plain(template) {
                std::iter::once(same(template)).chain(facts).collect()
            } else {
                facts.into_iter().chain([value(template, result)]).collect()
            };
            Ok(vec![goals])
        }
        Shape::Call => {
            let called = |argument: &Atom| is_call(argument, space);
            if arguments.iter().any(called) {
                return with_arguments(expression, result, parent, source);
            }
            Ok(vec![vec![call()]])
        }
        _ if reading.operation.is_some_and(|operation| operation.lowering().is_plain()) => match computed(expression) {
            Some(found) => Ok(vec![vec![same(&found)]]),
            None => with_arguments(expression, result, parent, source),
        },
        _ => Err(names::brief(expression)),
    }
}

/// What it takes that a condition has a truth value. The error names a form that is not looked into.
pub(super) fn alternatives_of_test(
    condition: &Atom,
    truth: bool,
    parent: usize,
    (space, source): (&SharedSpace, &mut VariableSource),
) -> Result<Alternatives, String> {
    if let Some(found) = computed(condition) {
        let is_so = found == Atom::Grounded(Grounded::Bool(truth));
        return Ok(if is_so { vec![Vec::new()] } else { Vec::new() });
    }
    if let Shape::HasResult(goal) = Reading::of(condition).shape
        && let Shape::Match(Match { space: asked, query, .. }) = Reading::of(goal).shape
    {
        let facts = facts_of(asked, query, parent, space)?;
        let absence = || Goal::Absence { query: query.clone(), parent };
        return Ok(vec![if truth { facts } else { vec![absence()] }]);
    }
    let truth = Atom::Grounded(Grounded::Bool(truth));
    with_arguments(condition, &truth, parent, source)
}

/// The facts that a `match` of the space asks for.
fn facts_of(asked: &Atom, pattern: &Atom, parent: usize, space: &SharedSpace) -> Result<Vec<Goal>, String> {
    match asked {
        Atom::Grounded(Grounded::Space(asked)) if asked.serial() == space.serial() => {}
        other => return Err(format!("(match {} {} …)", names::brief(other), names::brief(pattern))),
    }
    let patterns = conjunction(pattern).unwrap_or(std::slice::from_ref(pattern));
    Ok(patterns.iter().map(|pattern| Goal::Fact { pattern: pattern.clone(), parent }).collect())
}

/// What it takes that an expression comes to a result, its arguments evaluated first: a variable stands for each, and comes to its value.
fn with_arguments(
    expression: &Atom,
    result: &Atom,
    parent: usize,
    source: &mut VariableSource,
) -> Result<Alternatives, String> {
    let Some([head, arguments @ ..]) = expression.children() else { return Err(names::brief(expression)) };
    let (mut goals, mut children) = (Vec::new(), vec![head.clone()]);
    for argument in arguments {
        if argument.children().is_none_or(<[Atom]>::is_empty) {
            children.push(argument.clone());
            continue;
        }
        let name = Atom::Variable(source.fresh(Variable::new("value").name()));
        goals.push(Goal::Value { expression: argument.clone(), result: name.clone(), parent });
        children.push(name);
    }
    if goals.is_empty() {
        return Err(names::brief(expression));
    }
    let expression = Atom::expression(children);
    goals.push(Goal::Value { expression, result: result.clone(), parent });
    Ok(vec![goals])
}

/// Whether an atom stands for itself whatever it is bound to.
fn is_plain(atom: &Atom) -> bool {
    matches!(atom, Atom::Variable(_) | Atom::Grounded(_))
}

/// Whether an argument is evaluated to something else: it begins with an operation, a form, or a name that has rules.
fn is_call(argument: &Atom, space: &SharedSpace) -> bool {
    let Some([head, ..]) = argument.children() else { return false };
    if lowering_of(head).is_some() || head.as_symbol().and_then(special_form).is_some() {
        return true;
    }
    let rule = Atom::expression([Atom::symbol(names::EQUAL), argument.clone(), Atom::variable("body")]);
    matches!(head, Atom::Symbol(_)) && space.candidates(&rule, usize::MAX).is_ok_and(|found| !found.is_empty())
}

/// What an operation of numbers and truth values comes to, if all of its arguments are known.
fn computed(expression: &Atom) -> Option<Atom> {
    let number = |atom: &Atom| match atom {
        Atom::Grounded(Grounded::Number(number)) => Some(number.clone()),
        _ => None,
    };
    let truth = |atom: &Atom| match atom {
        Atom::Grounded(Grounded::Bool(truth)) => Some(*truth),
        other => match computed(other)? {
            Atom::Grounded(Grounded::Bool(truth)) => Some(truth),
            _ => None,
        },
    };
    let of_bool = |truth: bool| Some(Atom::Grounded(Grounded::Bool(truth)));
    match Reading::of(expression).shape {
        Shape::Arithmetic(arithmetic, [left, right]) => {
            let made: Number = arithmetic.operation()(&number(left)?, &number(right)?).ok()?;
            Some(Atom::Grounded(Grounded::Number(made)))
        }
        Shape::Comparison(Comparison::Equal, [left, right]) => {
            let are_known = [left, right].iter().all(|side| side.is_ground() && side.children().is_none());
            if are_known { of_bool(left == right) } else { None }
        }
        Shape::Comparison(comparison, [left, right]) => {
            let order: Option<Ordering> = number(left)?.compare(&number(right)?);
            of_bool(order.is_some_and(comparison.holds()))
        }
        Shape::Not(only) => of_bool(!truth(only)?),
        Shape::Logic(logic, [left, right]) => of_bool(logic.truth()(truth(left)?, truth(right)?)),
        _ => None,
    }
}
