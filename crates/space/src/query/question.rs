//! What is asked of a plan, and what that comes to.

use super::filter::Given;
use super::unfinished::ShouldStop;
use crate::space_handle::SharedSpace;
use crate::term::Term;

/// What is asked of a plan.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// Which answers are wanted.
    pub asked: Asked,
    /// What differs from one execution to the next.
    pub given: Given<'a>,
    /// The spaces that patterns ask beside the first, in the order of their numbers.
    pub others: &'a [SharedSpace],
    /// Says whether the caller has given up.
    pub should_stop: ShouldStop<'a>,
}

/// Which answers are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// All of them.
    All,
    /// All of them, which may be left [grouped](super::Answers::groups).
    Grouped,
    /// The first, up to this many: the search ends with the last that is wanted.
    First(usize),
    /// None: only their number is wanted.
    Number,
}

/// What a question comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// How many answers there are, each a row of terms.
    Rows(usize),
    /// How many answers there are, which are grouped.
    Groups(usize),
    /// How many answers there are, of which none was kept.
    Number(usize),
    /// The caller gave up before all were found.
    Stopped,
}

impl<'a> Question<'a> {
    /// Asks one space for all answers of a plan without filters.
    pub fn new(parameters: &'a [Term], should_stop: ShouldStop<'a>) -> Self {
        Self { asked: Asked::All, given: parameters.into(), others: &[], should_stop }
    }
}

impl Asked {
    /// Whether answers are counted and not kept.
    pub(super) fn counts(self) -> bool {
        self == Self::Number
    }
}

impl Outcome {
    /// How many answers there are, unless the caller gave up.
    pub fn count(self) -> Option<usize> {
        match self {
            Self::Rows(count) | Self::Groups(count) | Self::Number(count) => Some(count),
            Self::Stopped => None,
        }
    }
}
