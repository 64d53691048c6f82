//! Live queries: answers that follow every commit.
//!
//! - [`definition`] is what a live query asks: patterns, tests, absence, and what is made of the matches.
//! - [`query`] finds what a commit changes in its answers, from the rows that changed, or by asking again where atoms with variables may
//!   match.
//! - [`groups`] keeps counts, sums, extremes and first answers.
//! - [`LiveQueries`] are those of a run. A commit costs what the queries cost that it touches.
//!
//! The answers after each commit are those that the query has if it is asked then. What is said of a commit has the same order in each
//! run, and after a base was opened again.

mod change;
mod definition;
mod error;
mod exact_sum;
mod groups;
mod held;
mod query;
mod tests;

pub use change::AnswerChange;
pub use definition::{Aggregate, LiveDefinition, Top};
pub use error::LiveError;
pub use query::{LiveQuery, LiveStatistics};

use crate::commit::Commit;
use crate::program::ChangeExtent;
use space::{Changes, Dispatch, SignedRows};
use std::collections::BTreeSet;

/// The live queries of a run, by their numbers.
#[derive(Default)]
pub struct LiveQueries {
    queries: Vec<Option<LiveQuery>>,
    dispatch: Dispatch,
    /// Those that are asked again after each commit.
    held: BTreeSet<usize>,
    /// How many queries were looked at in all commits.
    touched: u64,
}

impl LiveQueries {
    /// Adds a query; gives its number.
    pub fn add(&mut self, query: LiveQuery) -> usize {
        let number = self.queries.iter().position(Option::is_none).unwrap_or_else(|| {
            self.queries.push(None);
            self.queries.len() - 1
        });
        self.file(number, &query);
        self.queries[number] = Some(query);
        number
    }

    /// Takes a query out.
    pub fn remove(&mut self, number: usize) {
        self.dispatch.remove(number);
        self.held.remove(&number);
        if let Some(place) = self.queries.get_mut(number) {
            *place = None;
        }
    }

    /// The query of a number.
    pub fn get(&self, number: usize) -> Option<&LiveQuery> {
        self.queries.get(number)?.as_ref()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.queries.iter().all(Option::is_none)
    }

    /// How many queries were looked at in all commits.
    pub fn touched(&self) -> u64 {
        self.touched
    }

    /// What a commit changes in the answers of each query, by its number; those that it does not change are left out.
    pub fn take(&mut self, commit: &Commit) -> Vec<(usize, Vec<AnswerChange>)> {
        self.take_changes(&commit.changes, commit.extent, commit.variables)
    }

    /// The same for changes that were noted in another way.
    pub fn take_changes(
        &mut self,
        changes: &Changes,
        extent: ChangeExtent,
        variables: u64,
    ) -> Vec<(usize, Vec<AnswerChange>)> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut rows = SignedRows::of(changes);
        let mut touched = match changes.spaces.first() {
            Some(space) => {
                let dictionary = space.dictionary();
                let terms = dictionary.read().expect("no panic while terms are locked");
                self.dispatch.touched(&rows, &terms)
            }
            None => BTreeSet::new(),
        };
        touched.extend(&self.held);
        let is_other = |query: &LiveQuery| query.may_differ(&rows, extent.modules);
        let others = self.queries.iter().enumerate().filter(|(_, query)| query.as_ref().is_some_and(is_other));
        touched.extend(others.map(|(number, _)| number));
        self.touched += touched.len() as u64;
        let found = touched.into_iter().map(|number| (number, self.take_one(number, &mut rows, variables)));
        found.filter(|(_, changes)| !changes.is_empty()).collect()
    }

    fn take_one(&mut self, number: usize, rows: &mut SignedRows, variables: u64) -> Vec<AnswerChange> {
        let Some(mut query) = self.queries[number].take() else { return Vec::new() };
        let was_held = query.is_held();
        let changes = query.take(rows, variables);
        if query.is_held() != was_held {
            self.dispatch.remove(number);
            self.held.remove(&number);
            self.file(number, &query);
        }
        self.queries[number] = Some(query);
        changes
    }

    /// Notes what the answers of a query depend on.
    fn file(&mut self, number: usize, query: &LiveQuery) {
        let heads = query.heads();
        if heads.is_empty() {
            self.held.insert(number);
        }
        self.dispatch.add(heads.into_iter(), number);
    }
}
