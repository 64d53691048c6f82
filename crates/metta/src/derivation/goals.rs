//! Goals, and what each is replaced by.

use crate::lowering::{Comparison, Form, Logic, Lowering, Wanted};
use crate::names;
use crate::operation::lowering_of;
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
    let Some([head, arguments @ ..]) = expression.children() else {
        let is_name = matches!(expression, Atom::Symbol(_));
        let call = || Goal::Call { call: expression.clone(), result: result.clone(), parent };
        return Ok(vec![vec![if is_name { call() } else { same(expression) }]]);
    };
    let form = head.as_symbol().and_then(special_form).filter(|form| form.arity == arguments.len());
    match (form.map(|form| form.form), lowering_of(head), arguments) {
        (Some(Form::Empty), ..) => Ok(Vec::new()),
        (Some(Form::If), _, [condition, then, otherwise]) => Ok([(true, then), (false, otherwise)]
            .into_iter()
            .map(|(truth, branch)| {
                vec![Goal::Test { condition: condition.clone(), truth, parent }, value(branch, result)]
            })
            .collect()),
        (Some(Form::Let), _, [pattern, argument, body]) => {
            Ok(vec![vec![value(argument, pattern), value(body, result)]])
        }
        (Some(Form::Identity), _, [only]) => Ok(vec![vec![value(only, result)]]),
        (_, Some(Lowering::LetAll), [pairs, body]) => {
            let pairs = pairs.children().unwrap_or_default().iter().map(|pair| match pair.children() {
                Some([pattern, argument]) => Ok(value(argument, pattern)),
                _ => Err(names::brief(expression)),
            });
            let goals: Result<Vec<Goal>, String> = pairs.chain([Ok(value(body, result))]).collect();
            Ok(vec![goals?])
        }
        (_, Some(Lowering::Superpose), [choices]) => {
            Ok(choices.children().unwrap_or_default().iter().map(|choice| vec![value(choice, result)]).collect())
        }
        (_, Some(Lowering::Query), [asked, pattern, body]) => {
            let facts = facts_of(asked, pattern, parent, space)?;
            // What the result must be narrows what is looked for.
            let goals = if is_plain(body) {
                std::iter::once(same(body)).chain(facts).collect()
            } else {
                facts.into_iter().chain([value(body, result)]).collect()
            };
            Ok(vec![goals])
        }
        (_, Some(Lowering::Arithmetic(_) | Lowering::Comparison(_) | Lowering::Logic(_)), _) => {
            match computed(expression) {
                Some(found) => Ok(vec![vec![same(&found)]]),
                None => with_arguments(expression, result, parent, source),
            }
        }
        (Some(_), ..) | (None, Some(_), _) => Err(names::brief(expression)),
        (None, None, _) => {
            let called = |argument: &Atom| is_call(argument, space);
            if arguments.iter().any(called) {
                return with_arguments(expression, result, parent, source);
            }
            Ok(vec![vec![Goal::Call { call: expression.clone(), result: result.clone(), parent }]])
        }
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
    if let Some([Atom::Symbol(name), goal]) = condition.children()
        && special_form(name.as_str()).is_some_and(|form| form.form == Form::Some(Wanted::Whether))
        && let Some([head, asked, pattern, _]) = goal.children()
        && lowering_of(head) == Some(Lowering::Query)
    {
        let facts = facts_of(asked, pattern, parent, space)?;
        let absence = || Goal::Absence { query: pattern.clone(), parent };
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
    let [head, arguments @ ..] = expression.children()? else { return None };
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
    match (lowering_of(head)?, arguments) {
        (Lowering::Arithmetic(arithmetic), [left, right]) => {
            let made: Number = arithmetic.operation()(&number(left)?, &number(right)?).ok()?;
            Some(Atom::Grounded(Grounded::Number(made)))
        }
        (Lowering::Comparison(Comparison::Equal), [left, right]) => {
            let are_known = [left, right].iter().all(|side| side.is_ground() && side.children().is_none());
            if are_known { of_bool(left == right) } else { None }
        }
        (Lowering::Comparison(comparison), [left, right]) => {
            let order: Option<Ordering> = number(left)?.compare(&number(right)?);
            of_bool(order.is_some_and(comparison.holds()))
        }
        (Lowering::Logic(Logic::Not), [only]) => of_bool(!truth(only)?),
        (Lowering::Logic(logic), [left, right]) => of_bool(logic.truth()(truth(left)?, truth(right)?)),
        _ => None,
    }
}
