//! What an execution of a plan has at hand.

use super::answers::Answers;
use super::counted::Counted;
use super::filter::Given;
use super::question::Asked;
use super::strategy::Course;
use super::unfinished::ShouldStop;
use super::view::View;
use crate::relation::Path;
use crate::term::Term;

/// Room for what is at work in an execution.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The partial answers that come next.
    pub(super) next: Vec<Term>,
    /// The answer that is being extended.
    pub(super) current: Vec<Term>,
    pub(super) rows: Vec<u32>,
    pub(super) keys: Vec<(Path, Term)>,
    pub(super) row: Vec<Term>,
    /// What was counted before of the last pattern.
    pub(super) counted: Counted,
}

/// An execution that is under way.
pub(super) struct Execution<'a> {
    pub(super) view: View<'a>,
    pub(super) given: Given<'a>,
    pub(super) asked: Asked,
    pub(super) should_stop: ShouldStop<'a>,
    /// The partial answers, and in the end those that were found.
    pub(super) answers: &'a mut Answers,
    pub(super) scratch: &'a mut Scratch,
    pub(super) course: Course,
    /// How many rows may be looked at.
    pub(super) rows_left: Option<usize>,
    /// How many answers were made by all patterns, those that filters dropped included.
    pub(super) looked_at: usize,
    /// Whether a part of the answers was left grouped.
    pub(super) has_groups: bool,
}

impl Execution<'_> {
    /// Begins with one answer of `width` terms, in which nothing is bound yet.
    pub(super) fn begin(&mut self, width: usize) {
        self.answers.begin(width);
        self.course.after_each.clear();
        (self.looked_at, self.has_groups) = (0, false);
    }
}
