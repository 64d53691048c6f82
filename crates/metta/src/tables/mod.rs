//! Tables: what calls have come to.
//!
//! All that is remembered of calls is here, whoever asked for it. A [`Policy`] says which calls are remembered, how long, and how much of them.
//!
//! 1. A call is looked up by its *key* in the [store](store) of its policy. If it is there, and nothing has changed since, its
//!    [answers](answer) are the results.
//! 2. Otherwise it is evaluated, and its answers become an entry when they are complete.
//! 3. What a program declares may be recursive in any way: such calls are filled in [rounds] until they are complete, by both evaluators in
//!    like manner. `docs/tabling.md` says what that means.
//! 4. What the machine remembers by itself is [automatic]: it changes nothing but the time that a form takes.

mod answer;
mod automatic;
mod call_key;
mod policy;
mod rounds;
mod store;

pub(crate) use answer::{Answer, Answers};
pub(crate) use automatic::{AutomaticTables, OpenCall};
pub(crate) use call_key::CallKey;
pub(crate) use policy::{PARTS_MAX, Policy, RESULTS_MAX};
pub(crate) use rounds::{CallState, RoundEnd, SETTING, Tables};
