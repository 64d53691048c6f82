//! What an expression of a right side is, as it is written: a form or an operation of the library, or a call.
//!
//! Programs may give forms other rules. [`Reading::form`] says which form a shape rests on: whether it means what the library says is for the
//! reader to ask, where that matters.

use crate::lowering::{Arithmetic, Comparison, Form, Logic, Lowering, SpecialForm, Wanted};
use crate::names;
use crate::operation::Operation;
use crate::stdlib::forms::special_form;
use space::Atom;

/// The arguments of a `match`.
#[derive(Clone, Copy)]
pub(crate) struct Match<'a> {
    pub(crate) space: &'a Atom,
    pub(crate) query: &'a Atom,
    pub(crate) template: &'a Atom,
}

/// What an expression is.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// No expression, or the empty one.
    Leaf,
    /// `(empty)`
    Nothing,
    /// `(id value)`
    Same(&'a Atom),
    /// `(if condition way way)`
    If {
        condition: &'a Atom,
        ways: [&'a Atom; 2],
    },
    /// `(let pattern value body)`
    Let {
        pattern: &'a Atom,
        value: &'a Atom,
        body: &'a Atom,
    },
    /// `(let* pairs body)`
    LetAll {
        pairs: &'a Atom,
        body: &'a Atom,
    },
    /// `(case subject branches)`
    Case {
        subject: &'a Atom,
        branches: &'a Atom,
    },
    /// `(switch subject branches)`
    Switch {
        subject: &'a Atom,
        branches: &'a Atom,
    },
    /// `(superpose list)`
    Alternatives(&'a Atom),
    /// `(match space query template)`
    Match(Match<'a>),
    /// `(collapse goal)`
    Collapse(&'a Atom),
    /// `(has-result goal)`
    HasResult(&'a Atom),
    Arithmetic(Arithmetic, [&'a Atom; 2]),
    Comparison(Comparison, [&'a Atom; 2]),
    Logic(Logic, [&'a Atom; 2]),
    /// `(not condition)`
    Not(&'a Atom),
    /// Another form.
    Form,
    /// A call of another operation, or of one of these with another number of arguments.
    Operation,
    /// Anything else: a call of a function, or data.
    Call,
}

/// An expression as it was read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) shape: Shape<'a>,
    /// The form of the library that it is, if its rules were not changed.
    pub(crate) form: Option<&'static SpecialForm>,
    /// The operation that it calls.
    pub(crate) operation: Option<&'a Operation>,
    /// The head and the arguments of an expression that is not empty.
    pub(crate) call: Option<(&'a Atom, &'a [Atom])>,
}

impl<'a> Reading<'a> {
    /// Reads an atom.
    pub(crate) fn of(atom: &'a Atom) -> Self {
        let Some([head, arguments @ ..]) = atom.children() else {
            return Self { shape: Shape::Leaf, form: None, operation: None, call: None };
        };
        let form = head.as_symbol().and_then(special_form).filter(|form| form.arity == arguments.len());
        let operation = Operation::of(head);
        let shape = match (form, operation) {
            (Some(form), _) => of_form(form.form, arguments),
            (None, Some(operation)) => of_operation(operation.lowering(), arguments),
            (None, None) => Shape::Call,
        };
        Self { shape, form, operation, call: Some((head, arguments)) }
    }
}

fn of_form(form: Form, arguments: &[Atom]) -> Shape<'_> {
    match (form, arguments) {
        (Form::Empty, []) => Shape::Nothing,
        (Form::Identity, [value]) => Shape::Same(value),
        (Form::If, [condition, then, otherwise]) => Shape::If { condition, ways: [then, otherwise] },
        (Form::Let, [pattern, value, body]) => Shape::Let { pattern, value, body },
        (Form::Case, [subject, branches]) => Shape::Case { subject, branches },
        (Form::Switch, [subject, branches]) => Shape::Switch { subject, branches },
        (Form::Collapse, [goal]) => Shape::Collapse(goal),
        (Form::Some(Wanted::Whether), [goal]) => Shape::HasResult(goal),
        _ => Shape::Form,
    }
}

fn of_operation(lowering: Lowering, arguments: &[Atom]) -> Shape<'_> {
    match (lowering, arguments) {
        (Lowering::LetAll, [pairs, body]) => Shape::LetAll { pairs, body },
        (Lowering::Superpose, [list]) => Shape::Alternatives(list),
        (Lowering::Query, [space, query, template]) => Shape::Match(Match { space, query, template }),
        (Lowering::Arithmetic(operation), [left, right]) => Shape::Arithmetic(operation, [left, right]),
        (Lowering::Comparison(comparison), [left, right]) => Shape::Comparison(comparison, [left, right]),
        (Lowering::Logic(Logic::Not), [condition]) => Shape::Not(condition),
        (Lowering::Logic(logic), [left, right]) => Shape::Logic(logic, [left, right]),
        _ => Shape::Operation,
    }
}

/// Whether an atom is written as what has no result.
pub(crate) fn has_no_result(atom: &Atom) -> bool {
    matches!(Reading::of(atom).shape, Shape::Nothing) || atom.is_symbol(names::EMPTY)
}

/// The parts of an expression that takes values apart and chooses among its parts, and does nothing else.
#[derive(Default)]
pub(crate) struct Parts<'a> {
    /// What values are matched with.
    pub(crate) patterns: Vec<&'a Atom>,
    /// What is evaluated whatever is chosen.
    pub(crate) always: Vec<&'a Atom>,
    /// One of these is evaluated, if there are any.
    pub(crate) one_of: Vec<&'a Atom>,
}

impl<'a> Shape<'a> {
    /// Its parts, if it does no more than to take values apart and to choose, and its parts are written out.
    pub(crate) fn parts(self) -> Option<Parts<'a>> {
        let evaluated = |always: Vec<&'a Atom>| Parts { always, ..Parts::default() };
        Some(match self {
            Self::Nothing => Parts::default(),
            Self::Same(value) => evaluated(vec![value]),
            Self::If { condition, ways } => Parts { one_of: ways.to_vec(), ..evaluated(vec![condition]) },
            Self::Let { pattern, value, body } => Parts { patterns: vec![pattern], ..evaluated(vec![value, body]) },
            Self::LetAll { pairs, body } => {
                let (patterns, mut always) = pairs_of(pairs)?;
                always.push(body);
                Parts { patterns, always, one_of: Vec::new() }
            }
            Self::Case { subject, branches } | Self::Switch { subject, branches } => {
                let (patterns, one_of) = pairs_of(branches)?;
                Parts { patterns, always: vec![subject], one_of }
            }
            Self::Alternatives(list) => evaluated(list.children()?.iter().collect()),
            _ => return None,
        })
    }
}

/// The first and the second of each pair of a list.
fn pairs_of(list: &Atom) -> Option<(Vec<&Atom>, Vec<&Atom>)> {
    list.children()?
        .iter()
        .map(|pair| match pair.children()? {
            [first, second] => Some((first, second)),
            _ => None,
        })
        .collect()
}
