//! Plans: for each pattern of a query, what is known of its rows when its turn comes.
//!
//! A plan depends on the query alone, so it is made once and kept as long as it is used: match keys that differ from one
//! execution to the next are its *parameters*. How several patterns are answered is [chosen](super::join) where rows are many.

use super::filter::{Filter, Filters};
use super::join::Chosen;
use super::loops::Loops;
use super::made::Made;
use super::pattern::PatternPart;
use super::question::Asked;
use super::strategy::{Course, Strategy};
use super::subquery::Subquery;
use super::usage::Usages;
use super::view::View;
use crate::space_handle::{ChangeCounter, SharedSpace};
use crate::term::Term;
use std::sync::Arc;

/// A query, made ready to be executed any number of times; see [`SharedSpace::execute`](crate::SharedSpace::execute).
#[derive(Default)]
pub struct Plan {
    /// The patterns in the order in which they are written.
    pub(super) loops: Loops,
    /// What answers are tested for, and after which patterns.
    pub(super) filters: Filters,
    unmade_filters: Vec<Filter>,
    /// How they are answered where rows are many, as far as that was asked.
    pub(super) chosen: Option<Box<Chosen>>,
    /// How they were answered last.
    pub(super) course: Course,
    /// What answers its steps where most rows of a relation were asked for.
    pub(super) usages: Usages,
    /// Whether it is chosen as if nothing had been sorted yet: what was, depends on other queries.
    pub(super) forgets_sorted: bool,
    /// Whether the steps are those of the patterns, and whether rows can answer them.
    state: State,
    /// Whether it is to be found out what [`OnlyOwnRows`] says where it is executed next.
    pub(super) next_look: NextLook,
    /// What was found out, as long as it holds.
    pub(super) only_own_rows: Option<Box<OnlyOwnRows>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    New,
    Made,
    NotRows,
}

/// When the spaces that a plan is executed in are looked at for more than its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NextLook {
    /// Not at the first execution: many plans serve once.
    #[default]
    Later,
    Now,
    /// It was done in vain, and would be so again and again.
    Never,
}

/// What holds of the spaces that a plan was executed in until they change: only rows of the space itself can answer it.
pub(super) struct OnlyOwnRows {
    pub(super) space: SharedSpace,
    /// How often atoms that are not rows were added to the space or removed.
    pub(super) patterns: u64,
    /// What counts the changes of its list of imports and of each import, and how many there were.
    pub(super) others: Vec<(Arc<ChangeCounter>, u64)>,
}

impl Plan {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.loops.patterns.clear();
        self.filters = Filters::default();
        self.unmade_filters.clear();
        self.state = State::New;
        self.next_look = NextLook::default();
        self.only_own_rows = None;
        self.chosen = None;
        self.usages.begin(0);
        self.forgets_sorted = false;
    }

    /// Adds a part to the last pattern.
    pub fn push(&mut self, part: PatternPart) {
        self.loops.patterns.push(part);
    }

    /// Ends a pattern.
    pub fn end_pattern(&mut self) {
        self.end_pattern_in(0);
    }

    /// Ends a pattern that asks another space than the first, by its number, which begins at one.
    pub fn end_pattern_in(&mut self, place: u8) {
        self.loops.patterns.end_pattern_in(place);
    }

    /// Tests answers, after the filters that were added before. Its variables are those of the patterns.
    pub fn filter(&mut self, filter: Filter) {
        self.unmade_filters.push(filter);
    }

    /// Drops answers for which the patterns of another plan have an answer, or those for which they have none. Its variables are those of
    /// this plan, as many as there are `outer`, and more of its own. `false` if rows cannot answer them.
    pub fn filter_by(&mut self, patterns: &Self, outer: u32, drops: bool) -> bool {
        let subquery = Subquery::new(&patterns.loops.patterns, outer);
        let filter = subquery.map(|subquery| Filter::of_subquery(subquery, drops));
        let is_made = filter.is_some();
        self.unmade_filters.extend(filter);
        is_made
    }

    /// The key that stands first in the first pattern, if that begins with one.
    pub fn head(&self) -> Option<Term> {
        match self.loops.patterns.parts.as_slice() {
            [PatternPart::Open(_), PatternPart::Key(head), ..] => Some(*head),
            _ => None,
        }
    }

    /// What it was made to.
    pub(super) fn made(&self) -> Made<'_> {
        Made { loops: &self.loops, filters: &self.filters, usages: &self.usages }
    }

    /// In which way it is answered: at first, or if the way that was taken before did not come to its end.
    pub(super) fn strategy(&mut self, view: View<'_>, asked: Asked, before: Option<Strategy>) -> Strategy {
        let counts = asked.counts();
        match (self.loops.steps.as_slice(), before, asked) {
            ([step], _, Asked::All | Asked::Grouped | Asked::Number) => {
                let are_columns = step.taken > 0 && self.filters.is_empty();
                if are_columns && (counts || view.of(step.place).len() == 1) {
                    Strategy::Columns
                } else {
                    Strategy::AsWritten
                }
            }
            ([_], _, Asked::First(_)) => Strategy::AsWritten,
            (_, None, Asked::First(_)) => Strategy::FirstLook,
            (_, None, _) if !self.chosen.as_ref().is_some_and(|chosen| chosen.is_for(view, counts)) => {
                Strategy::FirstLook
            }
            (_, None | Some(Strategy::FirstLook), _) => self.chosen_for(view, counts).strategy(view),
            (_, Some(Strategy::Join), Asked::Number) => self.chosen_for(view, counts).loops(),
            (_, Some(_), _) => Strategy::AsWritten,
        }
    }

    /// What was chosen for about as many rows as there are.
    fn chosen_for(&mut self, view: View<'_>, counts: bool) -> &mut Chosen {
        let chosen = self.chosen.take().filter(|chosen| chosen.is_for(view, counts));
        let new = || Box::new(Chosen::new((&self.loops, &self.filters), view, (counts, self.forgets_sorted)));
        self.chosen.insert(chosen.unwrap_or_else(new))
    }

    /// How many variables it has: as many terms as each answer has.
    pub(super) fn variables(&self) -> usize {
        self.loops.patterns.variables
    }

    /// Makes the steps, unless they are there; `false` if rows cannot answer the patterns.
    pub(super) fn make(&mut self) -> bool {
        if self.state == State::New {
            self.state = if self.loops.make() { State::Made } else { State::NotRows };
            self.filters = Filters::of_loops(&self.unmade_filters, &self.loops);
            self.usages.begin(self.loops.steps.len());
        }
        self.state == State::Made
    }
}
