//! Live queries: answers that follow every commit.
//!
//! - [`definition`] is what a live query asks: patterns, tests, absence, and what is made of the matches.
//! - [`query`] finds what a commit changes in its answers, from the rows that changed, or by asking again where atoms with variables may
//!   match.
//! - [`rules`] follows calls of functions, recursive ones included: their answers are rows that queries ask.
//! - [`groups`] keeps counts, sums, extremes and first answers.
//! - A [`LiveSource`] is what the answers of a query depend on: which queries a commit touches is found by these. Who holds queries
//!   schedules them.
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
mod rules;
mod source;
mod tests;

pub use change::AnswerChange;
pub use definition::{Aggregate, LiveDefinition, Top};
pub use error::LiveError;
pub use query::{LiveQuery, LiveStatistics};
pub use rules::{LiveRules, LiveRulesUpdate};
pub use source::LiveSource;
