//! What holds: predicates, and the rules that their rows follow from.

use crate::atom::{Atom, Variable};
use crate::space_handle::SharedSpace;
use std::collections::BTreeSet;

/// How many columns, variables and operands predicates, patterns and tests have at most.
pub(super) const COLUMNS_MAX: usize = 16;

/// What stands in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A variable of the rule, by its number.
    Variable(u32),
    /// A value.
    Constant(Atom),
}

/// A part of a rule.
#[derive(Clone)]
pub enum Part {
    /// A pattern, or a conjunction of patterns, of a space.
    Match {
        /// The space that is asked.
        space: SharedSpace,
        /// What it is asked.
        query: Atom,
        /// The numbers of the variables of the query.
        variables: Vec<(Variable, u32)>,
    },
    /// Rows of a predicate.
    Call {
        /// Its place in the program.
        predicate: usize,
        /// What stands in each column; the result comes last.
        columns: Vec<Operand>,
    },
    /// There is nothing of the kind.
    Absent(Box<Part>),
    /// A test that the caller makes, by a number of its own.
    Test {
        /// The number of the test.
        test: usize,
        /// What is tested.
        operands: Vec<Operand>,
    },
}

/// A rule.
pub struct Rule {
    /// What stands in each column of a row that follows; the result comes last.
    pub head: Vec<Operand>,
    /// What it follows from, from left to right.
    pub parts: Vec<Part>,
    /// How many variables there are.
    pub variables: u32,
    /// Variables that have a value from the beginning.
    pub fixed: Vec<(u32, Atom)>,
}

/// A predicate.
pub struct Predicate {
    /// How many columns may be known when it is asked.
    pub arguments: usize,
    /// The result of all its rows, if that is one value: then it is not a column.
    pub result: Option<Atom>,
    /// Whether a call matches one of its rules, whatever its arguments are.
    pub is_total: bool,
    /// Its rules as they are written.
    pub rules: Vec<Rule>,
}

impl Predicate {
    /// How many columns its rows have.
    pub fn columns(&self) -> usize {
        self.arguments + usize::from(self.result.is_none())
    }
}

/// Predicates that refer to each other.
pub struct Program {
    /// All of them.
    pub predicates: Vec<Predicate>,
    /// For each predicate those that it depends on, and that depend on it; it is one of them if it is recursive.
    pub components: Vec<BTreeSet<usize>>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The goal is not of the shape that rows answer, for this reason.
    NotRows(&'static str),
    /// The caller gave up.
    Stopped,
}

impl Part {
    /// How many variables, columns or operands it has.
    fn width(&self) -> usize {
        match self {
            Self::Match { variables, .. } => variables.len(),
            Self::Call { columns, .. } => columns.len(),
            Self::Absent(part) => part.width(),
            Self::Test { operands, .. } => operands.len(),
        }
    }

    /// The predicates that it asks, and whether for absence.
    pub fn called(&self) -> Option<(usize, bool)> {
        match self {
            Self::Call { predicate, .. } => Some((*predicate, false)),
            Self::Absent(part) => part.called().map(|(predicate, _)| (predicate, true)),
            Self::Match { .. } | Self::Test { .. } => None,
        }
    }
}

impl Program {
    /// A program of these predicates, each with a result as its last column.
    ///
    /// # Errors
    /// An absence is part of a recursion.
    pub fn new(mut predicates: Vec<Predicate>) -> Result<Self, Refused> {
        let reached: Vec<BTreeSet<usize>> = (0..predicates.len()).map(|from| reached(&predicates, from)).collect();
        let joined = |of: usize| reached[of].iter().copied().filter(|&other| reached[other].contains(&of)).collect();
        let components: Vec<BTreeSet<usize>> = (0..predicates.len()).map(joined).collect();
        for (predicate, component) in predicates.iter().zip(&components) {
            let parts = || predicate.rules.iter().flat_map(|rule| &rule.parts);
            if predicate.arguments >= COLUMNS_MAX || parts().any(|part| part.width() > COLUMNS_MAX) {
                return Err(Refused::NotRows("a pattern has more than 16 variables"));
            }
            if parts().filter_map(Part::called).any(|(called, is_absent)| is_absent && component.contains(&called)) {
                return Err(Refused::NotRows("an absence is part of a recursion"));
            }
        }
        drop_constant_results(&mut predicates)?;
        Ok(Self { predicates, components })
    }
}

fn reached(predicates: &[Predicate], from: usize) -> BTreeSet<usize> {
    let (mut found, mut work) = (BTreeSet::new(), vec![from]);
    while let Some(of) = work.pop() {
        let parts = predicates[of].rules.iter().flat_map(|rule| &rule.parts);
        work.extend(parts.filter_map(Part::called).map(|(called, _)| called).filter(|&called| found.insert(called)));
    }
    found
}

impl Part {
    /// Whether a variable stands in it, the result of a call apart.
    fn mentions(&self, variable: u32) -> bool {
        let is_it = |operand: &Operand| *operand == Operand::Variable(variable);
        match self {
            Self::Match { variables, .. } => variables.iter().any(|&(_, number)| number == variable),
            Self::Call { columns, .. } => columns.split_last().is_some_and(|(_, rest)| rest.iter().any(is_it)),
            Self::Absent(part) => part.mentions(variable),
            Self::Test { operands, .. } => operands.iter().any(is_it),
        }
    }
}

/// Whether the result of a call is a variable that a part before it, its arguments or the head mention.
fn has_result_from_before(rule: &Rule, results: &[Option<Atom>]) -> bool {
    let arguments = rule.head.split_last().map_or(&[][..], |(_, rest)| rest);
    rule.parts.iter().enumerate().any(|(place, part)| match part {
        Part::Call { predicate, columns } if results[*predicate].is_some() => match columns.last() {
            Some(Operand::Variable(variable)) => {
                arguments.contains(&Operand::Variable(*variable))
                    || rule.parts[..=place].iter().any(|part| part.mentions(*variable))
            }
            _ => false,
        },
        _ => false,
    })
}

/// Results that are one value in all rules of a predicate are not columns.
fn drop_constant_results(predicates: &mut [Predicate]) -> Result<(), Refused> {
    let results = constant_results(predicates);
    if predicates.iter().flat_map(|predicate| &predicate.rules).any(|rule| has_result_from_before(rule, &results)) {
        return Err(Refused::NotRows("a result that is always the same is bound to what is known before"));
    }
    for (predicate, result) in predicates.iter_mut().zip(&results) {
        if result.is_some() {
            predicate.rules.iter_mut().for_each(|rule| _ = rule.head.pop());
        }
        predicate.result.clone_from(result);
        predicate.rules.retain_mut(|rule| {
            let Rule { parts, fixed, .. } = rule;
            parts.iter_mut().all(|part| drop_result(part, &results, fixed))
        });
    }
    Ok(())
}

/// Drops the result of a call, which its variable is fixed to; `false` if the call asks for another one.
fn drop_result(part: &mut Part, results: &[Option<Atom>], fixed: &mut Vec<(u32, Atom)>) -> bool {
    let (columns, result) = match part {
        Part::Call { predicate, columns } => (columns, &results[*predicate]),
        // What is absent is so whatever its result is.
        Part::Absent(part) => {
            if let Part::Call { predicate, columns } = &mut **part
                && results[*predicate].is_some()
            {
                columns.pop();
            }
            return true;
        }
        Part::Match { .. } | Part::Test { .. } => return true,
    };
    let Some(result) = result else { return true };
    match columns.pop().expect("a call has a result") {
        Operand::Constant(wanted) => wanted == *result,
        Operand::Variable(variable) => {
            let known = fixed.iter().find(|(known, _)| *known == variable);
            let is_same = known.is_none_or(|(_, value)| value == result);
            fixed.push((variable, result.clone()));
            is_same
        }
    }
}

/// The results that are one value: those of rules that end in such a call included.
fn constant_results(predicates: &[Predicate]) -> Vec<Option<Atom>> {
    let mut found: Vec<Option<Option<Atom>>> = vec![None; predicates.len()];
    loop {
        let mut is_changed = false;
        for place in 0..predicates.len() {
            let mut merged = None;
            for rule in &predicates[place].rules {
                let result = match rule.head.last() {
                    Some(Operand::Constant(value)) => Some(Some(value.clone())),
                    Some(Operand::Variable(variable)) => result_of_call(rule, *variable, &found),
                    None => Some(None),
                };
                merged = match (merged, result) {
                    (None, result) => result,
                    (merged, None) => merged,
                    (Some(merged), Some(result)) => Some(if merged == result { merged } else { None }),
                };
            }
            if merged != found[place] && found[place] != Some(None) {
                found[place] = merged;
                is_changed = true;
            }
        }
        if !is_changed {
            return found.into_iter().map(Option::flatten).collect();
        }
    }
}

/// What is known of a variable that is the result of a call: nothing yet, or whether it is one value.
fn result_of_call(rule: &Rule, variable: u32, found: &[Option<Option<Atom>>]) -> Option<Option<Atom>> {
    let mut known = Some(None);
    for part in &rule.parts {
        if let Part::Call { predicate, columns } = part
            && columns.last() == Some(&Operand::Variable(variable))
        {
            known = found[*predicate].clone();
        }
    }
    known
}
