//! Live queries: answers that follow every commit.
//!
//! - [`definition`] is what a live query asks: patterns, tests, absence, and what is made of the matches.
//! - [`query`] finds what a commit changes in its answers, from the rows that changed, or by asking again where atoms with variables may
//!   match.
//! - [`rules`] follows calls of functions, recursive ones included: their answers are rows that queries ask.
//! - [`groups`] keeps counts, sums, extremes and first answers.
//! - [`named`] is which queries a program has given names, and [`keeper`] what follows them.
//! - A [`LiveSource`] is what the answers of a query depend on: which queries a commit touches is found by these. The owner of
//!   queries schedules them.
//!
//! The answers after each commit are those that the query has if it is asked then. What is said of a commit has the same order in each
//! run, and after a base was opened again.

mod change;
mod definition;
mod error;
mod exact_sum;
mod groups;
mod held;
pub(crate) mod keeper;
pub(crate) mod named;
mod query;
mod rules;
mod source;
mod tests;

pub use change::AnswerChange;
pub use definition::{Aggregate, LiveDefinition, Top};
pub use error::LiveError;
pub use keeper::{LiveCall, LiveKeeper, LiveKept};
pub use named::{LIVE_QUERIES_MAX, LiveNews, LiveNewsKind, NamedQuery};
pub use query::{LiveQuery, LiveStatistics};
pub use rules::{LiveRules, LiveRulesUpdate};
pub use source::LiveSource;
