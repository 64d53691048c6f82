//! Filters: tests of an answer that a plan makes as soon as the variables of the test are bound.
//!
//! 1. A [`Filter`] is an expression of comparisons, arithmetic and logic over what variables are bound to and values that differ from one
//!    execution to the next, or a [subquery](super::subquery): whether some patterns have an answer.
//! 2. A filter drops an answer only if its test certainly has the value that drops it. A test of other values than numbers, truth values and
//!    texts is mostly *undecided*, as is one that ends in an error: then the answer passes, and whoever asked looks at it again.
//! 3. Filters stand in an order. An answer for which one is undecided passes all that follow, so none is made before those that stand
//!    before it.
//!
//! Whether any filter was undecided is noted: if none was, each answer that is left has passed all tests.

use super::loops::{LoopStep, Loops};
use super::pattern::{NO_TERM, PatternPart};
use super::subquery::Subquery;
use super::unfinished::Unfinished;
use super::view::View;
use crate::atom::Atom;
use crate::grounded::Grounded;
use crate::number::{ArithmeticError, Number};
use crate::term::{Term, Terms};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

/// Tests that hold more values at a time are not made filters.
const VALUES_MAX: usize = 8;

/// How many answers are tested between two looks whether the caller has given up.
const TESTS_BETWEEN_LOOKS: usize = 1_024;

/// A part of a test, after the parts that it takes.
#[derive(Clone, Copy, Debug)]
pub enum FilterPart {
    /// What a variable of the plan is bound to, by its number.
    Variable(u32),
    /// A value that is given with each execution, by its number.
    Given(u32),
    /// A number made of the two numbers before it.
    Arithmetic(fn(&Number, &Number) -> Result<Number, ArithmeticError>),
    /// Whether the two numbers before it are in such an order.
    Compare(fn(Ordering) -> bool),
    /// Whether the two values before it are equal.
    Equal,
    /// Whether tests decide about the value before it: that is so, or undecided.
    IsDecided,
    /// Whether the truth value before it is false.
    Not,
    /// A truth value made of the two before it.
    Logic(fn(bool, bool) -> bool),
}

/// A value in a test.
#[derive(Clone, Debug)]
pub enum FilterValue {
    /// A number.
    Number(Number),
    /// A truth value.
    Truth(bool),
    /// A text, by its match key.
    Text(Term),
    /// A symbol, by its match key.
    Symbol(Term),
    /// What tests do not decide about.
    Undecided,
}

/// What the filters of a plan are given in an execution.
#[derive(Debug)]
pub struct FilterInputs<'a> {
    /// The values that are not bound by the plan.
    values: &'a [FilterValue],
    /// The match keys of symbols that no test decides about.
    reserved: &'a [Term],
    /// Whether two symbols that differ are certainly not equal.
    symbols_differ: bool,
    /// Whether all values are data, so that any two are equal or not.
    are_data: bool,
    /// Whether a filter was undecided about an answer.
    was_undecided: AtomicBool,
}

/// What differs from one execution of a plan to the next.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The match keys that are the parameters of the plan.
    pub parameters: &'a [Term],
    /// What its filters are given.
    pub filters: &'a FilterInputs<'a>,
}

static NO_INPUTS: FilterInputs<'static> = FilterInputs {
    values: &[],
    reserved: &[],
    symbols_differ: false,
    are_data: false,
    was_undecided: AtomicBool::new(false),
};

impl<'a> From<&'a [Term]> for Given<'a> {
    /// The parameters of a plan without filters.
    fn from(parameters: &'a [Term]) -> Self {
        Self { parameters, filters: &NO_INPUTS }
    }
}

impl Given<'_> {
    /// For plans without parameters and filters.
    pub(super) fn nothing() -> Self {
        Self { parameters: &[], filters: &NO_INPUTS }
    }
}

impl<'a> FilterInputs<'a> {
    /// These values, the match keys of symbols that no test decides about, and whether two other symbols that differ are certainly not
    /// equal.
    pub fn new(values: &'a [FilterValue], reserved: &'a [Term], symbols_differ: bool) -> Self {
        Self { values, reserved, symbols_differ, are_data: false, was_undecided: AtomicBool::new(false) }
    }

    /// These values, where nothing is evaluated: any two of them are equal or not.
    pub(super) fn of_data(values: &'a [FilterValue]) -> Self {
        let was_undecided = AtomicBool::new(false);
        Self { values, reserved: &[], symbols_differ: true, are_data: true, was_undecided }
    }

    /// Whether a filter was undecided about an answer since this was made.
    pub fn was_undecided(&self) -> bool {
        self.was_undecided.load(Memory::Relaxed)
    }

    /// The value that an atom is in tests, given its match key.
    pub fn value_of(&self, atom: &Atom, key: Term) -> FilterValue {
        match atom {
            Atom::Grounded(Grounded::Number(number)) => FilterValue::Number(number.clone()),
            Atom::Grounded(Grounded::Bool(truth)) => FilterValue::Truth(*truth),
            Atom::Grounded(Grounded::Text(_)) => FilterValue::Text(key),
            Atom::Symbol(_) if !self.reserved.contains(&key) => FilterValue::Symbol(key),
            _ if self.are_data => FilterValue::Symbol(key),
            _ => FilterValue::Undecided,
        }
    }
}

/// A test that drops answers.
#[derive(Clone, Debug)]
pub struct Filter {
    test: Test,
    /// The value of the test that drops an answer.
    drops: bool,
}

#[derive(Clone, Debug)]
enum Test {
    Parts(Arc<[FilterPart]>),
    Subquery(Arc<Subquery>),
}

impl Filter {
    /// A test of parts that drops answers for one truth value; `None` if it is too large, tests no variable or comes to no value.
    pub fn of_parts(parts: Vec<FilterPart>, drops: bool) -> Option<Self> {
        let mut held = 0_usize;
        for part in &parts {
            held = match part {
                FilterPart::Variable(_) | FilterPart::Given(_) => held + 1,
                FilterPart::Not | FilterPart::IsDecided => held,
                _ => held.checked_sub(1)?,
            };
            if !(1..=VALUES_MAX).contains(&held) {
                return None;
            }
        }
        let has_variable = parts.iter().any(|part| matches!(part, FilterPart::Variable(_)));
        (held == 1 && has_variable).then(|| Self { test: Test::Parts(parts.into()), drops })
    }

    /// A test whether some patterns have an answer that drops answers if they have, or if they have not.
    pub(super) fn of_subquery(subquery: Subquery, drops: bool) -> Self {
        Self { test: Test::Subquery(Arc::new(subquery)), drops }
    }

    /// The variables of the plan that it tests.
    pub(super) fn variables(&self) -> Vec<u32> {
        match &self.test {
            Test::Parts(parts) => {
                let variable =
                    |part: &FilterPart| if let FilterPart::Variable(number) = part { Some(*number) } else { None };
                parts.iter().filter_map(variable).collect()
            }
            Test::Subquery(subquery) => subquery.variables().collect(),
        }
    }

    /// The patterns that it looks for, if it does.
    pub(super) fn subquery(&self) -> Option<&Subquery> {
        if let Test::Subquery(subquery) = &self.test { Some(subquery) } else { None }
    }

    /// The value of its test that drops an answer.
    pub(super) fn drops(&self) -> bool {
        self.drops
    }

    /// The value of its test, if that is certain.
    pub(super) fn value(&self, answer: &[Term], given: Given<'_>, view: View<'_>) -> Option<bool> {
        match &self.test {
            Test::Parts(parts) => value_of_parts(parts, answer, given.filters, view.terms),
            Test::Subquery(subquery) => Some(subquery.has_answer(answer, given.parameters, view)),
        }
    }
}

/// Whether an answer certainly passes filters that test no patterns, given the values of its variables and theirs. Nothing is evaluated.
pub fn passes(filters: &[Filter], values: &[Atom], answer: &[Atom]) -> bool {
    let mut terms = Terms::default();
    // A value that is not interned decides nothing.
    let mut term = |atom: &Atom| if atom.is_rigid() { terms.intern(atom) } else { NO_TERM };
    let answer: Vec<Term> = answer.iter().map(&mut term).collect();
    let given: Vec<Term> = values.iter().map(&mut term).collect();
    let nothing = FilterInputs::of_data(&[]);
    let given: Vec<FilterValue> =
        values.iter().zip(given).map(|(value, term)| nothing.value_of(value, terms.key(term))).collect();
    let inputs = FilterInputs::of_data(&given);
    let view = View { spaces: &[], others: &[], terms: &terms };
    filters.iter().all(|filter| {
        let are_known = filter.variables().iter().all(|&variable| answer[variable as usize] != NO_TERM);
        let given = Given { parameters: &[], filters: &inputs };
        are_known && filter.value(&answer, given, view) == Some(!filter.drops)
    })
}

/// The filters of patterns that are answered in an order, and where they are made.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    all: Vec<Filter>,
    /// Which of them are made after each step: as many as have all of their variables bound.
    after: Vec<Range<usize>>,
}

impl Filters {
    /// Filters of patterns that are answered one after the other.
    pub(super) fn of_loops(all: &[Filter], loops: &Loops) -> Self {
        let variable = |part: &PatternPart| if let PatternPart::Variable(number) = part { Some(*number) } else { None };
        let parts = &loops.patterns.parts;
        let bound = |step: &LoopStep| parts[step.parts[0]..step.parts[1]].iter().filter_map(variable).collect();
        Self::after(all, loops.steps.iter().map(bound))
    }

    /// Filters of steps that bind such variables each.
    pub(super) fn after(all: &[Filter], bound_by_each: impl Iterator<Item = Vec<u32>>) -> Self {
        if all.is_empty() {
            return Self::default();
        }
        let (mut made, mut bound) = (0, Vec::new());
        let after = bound_by_each.map(|more| {
            bound.extend(more);
            let from = made;
            while all.get(made).is_some_and(|next| next.variables().iter().all(|variable| bound.contains(variable))) {
                made += 1;
            }
            from..made
        });
        Self { after: after.collect(), all: all.to_vec() }
    }

    /// The filters, in their order.
    pub(super) fn all(&self) -> &[Filter] {
        &self.all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether any is made after a step.
    #[inline]
    pub(super) fn has(&self, step: usize) -> bool {
        self.after.get(step).is_some_and(|which| !which.is_empty())
    }

    /// Whether an answer passes the filters that are made after a step, those of the steps before having been made already.
    pub(super) fn passes(&self, step: usize, answer: &[Term], given: Given<'_>, view: View<'_>) -> bool {
        let which = &self.after[step];
        // An answer that an earlier filter was undecided about passes.
        let from = if given.filters.was_undecided() { 0 } else { which.start };
        for filter in &self.all[from..which.end] {
            match filter.value(answer, given, view) {
                Some(value) if value == filter.drops => return false,
                Some(_) => {}
                None => {
                    given.filters.was_undecided.store(true, Memory::Relaxed);
                    return true;
                }
            }
        }
        true
    }

    /// Keeps those of `count` answers, each `width` cells wide, that pass the filters after a step; gives how many there are. The first
    /// `variables` cells of an answer are its terms; a query without variables has none.
    pub(super) fn keep(
        &self,
        step: usize,
        (cells, count): (&mut Vec<Term>, usize),
        [width, variables]: [usize; 2],
        (given, view): (Given<'_>, View<'_>),
        should_stop: &dyn Fn() -> bool,
    ) -> Result<usize, Unfinished> {
        let mut kept = 0;
        for place in 0..count {
            if place % TESTS_BETWEEN_LOOKS == TESTS_BETWEEN_LOOKS - 1 && should_stop() {
                return Err(Unfinished::Stopped);
            }
            let from = place * width;
            if self.passes(step, &cells[from..from + variables], given, view) {
                if kept < place {
                    cells.copy_within(from..from + width, kept * width);
                }
                kept += 1;
            }
        }
        cells.truncate(kept * width);
        Ok(kept)
    }
}

/// The truth value of parts, if it is certain.
fn value_of_parts(parts: &[FilterPart], answer: &[Term], inputs: &FilterInputs<'_>, terms: &Terms) -> Option<bool> {
    let operand = |part: &FilterPart| match part {
        FilterPart::Variable(number) => {
            let term = answer[*number as usize];
            Some(inputs.value_of(terms.atom(term), terms.key(term)))
        }
        FilterPart::Given(number) => Some(inputs.values[*number as usize].clone()),
        _ => None,
    };
    // Most tests compare two values.
    if let [left, right, made] = parts
        && let (Some(left), Some(right)) = (operand(left), operand(right))
    {
        return truth(&combine(made, &left, &right, inputs));
    }
    let (mut values, mut held) = ([const { FilterValue::Undecided }; VALUES_MAX], 0);
    for part in parts {
        match (operand(part), part) {
            (Some(value), _) => {
                values[held] = value;
                held += 1;
            }
            (None, FilterPart::Not) => {
                let value = truth(&values[held - 1]);
                values[held - 1] = value.map_or(FilterValue::Undecided, |value| FilterValue::Truth(!value));
            }
            (None, FilterPart::IsDecided) => {
                let is_decided = !matches!(values[held - 1], FilterValue::Undecided);
                values[held - 1] = if is_decided { FilterValue::Truth(true) } else { FilterValue::Undecided };
            }
            (None, made) => {
                let value = combine(made, &values[held - 2], &values[held - 1], inputs);
                held -= 1;
                values[held - 1] = value;
            }
        }
    }
    truth(&values[0])
}

fn truth(value: &FilterValue) -> Option<bool> {
    if let FilterValue::Truth(truth) = value { Some(*truth) } else { None }
}

/// What a part makes of two values.
fn combine(part: &FilterPart, left: &FilterValue, right: &FilterValue, inputs: &FilterInputs<'_>) -> FilterValue {
    let made = match (part, left, right) {
        (FilterPart::Arithmetic(operation), FilterValue::Number(left), FilterValue::Number(right)) => {
            operation(left, right).ok().map(FilterValue::Number)
        }
        (FilterPart::Compare(holds), FilterValue::Number(left), FilterValue::Number(right)) => {
            Some(FilterValue::Truth(left.compare(right).is_some_and(*holds)))
        }
        (FilterPart::Equal, left, right) => are_equal(left, right, inputs).map(FilterValue::Truth),
        (FilterPart::Logic(operation), FilterValue::Truth(left), FilterValue::Truth(right)) => {
            Some(FilterValue::Truth(operation(*left, *right)))
        }
        _ => None,
    };
    made.unwrap_or(FilterValue::Undecided)
}

/// Whether two values are equal, if that is certain.
fn are_equal(left: &FilterValue, right: &FilterValue, inputs: &FilterInputs<'_>) -> Option<bool> {
    match (left, right) {
        (FilterValue::Number(left), FilterValue::Number(right)) => Some(left.compare(right) == Some(Ordering::Equal)),
        (FilterValue::Truth(left), FilterValue::Truth(right)) => Some(left == right),
        (FilterValue::Text(left), FilterValue::Text(right)) => Some(left == right),
        (FilterValue::Symbol(left), FilterValue::Symbol(right)) if left == right => Some(true),
        (FilterValue::Symbol(_), FilterValue::Symbol(_)) if inputs.symbols_differ => Some(false),
        _ if inputs.are_data => Some(false),
        _ => None,
    }
}
