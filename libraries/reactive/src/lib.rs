//! Pages of bytes, and values derived from them: every change is logged, propagated once, and can be made to happen again.
//!
//! A [`State`] holds pages. A [`Transaction`] writes some of them; the pages that are derived from what was written follow before
//! [`State::commit`] returns, each at most once and only if what it is derived from has changed. The log keeps what was written.
//! What was derived is derived again when the log is read. So a state can be opened again, looked at as it was after any commit, and
//! forked there.
//!
//! # What is promised
//!
//! 1. **All or nothing.** A transaction that is refused, because a step cannot be made, a function fails or the log does not take it,
//!    leaves pages, derivations and names as they were.
//! 2. **No glitch.** Nobody sees a derived page that belongs to another epoch than what it is derived from.
//! 3. **Order.** A transaction's steps are made in their order. Commits are numbered in theirs. Inside a commit, the log has
//!    pages made and deleted in the order of the steps, then the bytes that differ in the order of the pages. Equal transactions make
//!    equal logs, for any number of threads.
//! 4. **Nothing for nothing.** A write of bytes that are there already is not logged, and nothing runs because of it.
//!
//! # Where things are
//!
//! `transaction` makes lists of steps; `commit` applies them, `settle` finds out what they have changed, `derive` runs functions in the
//! order that a [schedule](schedule::Schedule) says, `log` writes the bytes of `record`. `history` and `checkpoint` read them back, `verify` compares them with what the state holds.
//! `sets` works over many pages at once, on a GPU if built for it.
//! The schedule knows nothing of pages and is a crate of its own: live queries are scheduled by it as well.
#![warn(missing_docs)]

mod checkpoint;
mod commit;
mod derive;
mod diff;
mod error;
mod events;
mod function;
mod hash;
mod history;
mod kept_statistics;
mod location;
mod log;
mod merge;
mod metadata;
mod node;
mod options;
mod page;
mod pool;
mod record;
mod sets;
mod settle;
mod shared;
mod state;
mod statistics;
mod survey;
mod transaction;
mod verify;
mod warning;
mod work;

pub use self::statistics::{Latency, Stages, Statistics};
pub use commit::Commit;
pub use error::{CommitError, OpenError};
pub use events::{Change, Filter, Notice, Subscription};
pub use function::{Function, FunctionError, FunctionName, Functions, Inputs, UndeclaredRead};
pub use location::{Cost, Location};
pub use merge::Merge;
pub use metadata::Metadata;
pub use options::{Clock, Options};
pub use page::{PAGE_BYTES_MAX, PageId, Snapshot};
pub use pool::{Pool, PoolCounts};
pub use record::{Malformed, VERSION};
#[cfg(feature = "gpu")]
pub use sets::{Adapter, GpuOptions, NoGpu, Threshold};
pub use sets::{Neighbor, PageSet, Refused, Router, RoutingCounts, SetError};
pub use shared::SharedState;
pub use state::{Reason, State, Why};
pub use survey::{Survey, SurveyedCommit, SurveyedDerivation, SurveyedPage};
pub use transaction::{Mask, NewPage, PageRef, Transaction};
pub use verify::{Problem, Verification};
pub use warning::StateWarning;

/// The programs of the page for users, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reactive.md")]
mod page_for_users {}

/// The number of a commit: the commits of a state are counted from 1.
pub type Epoch = u64;
