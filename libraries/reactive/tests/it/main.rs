//! Tests of states: against a model that derives everything anew, against their own logs, against crashes.
//!
//! 1. [`model`] compares any sequence of transactions with the obvious implementation, and counts what ran.
//! 2. [`history`] opens, rewinds and forks; [`crash`] lets the power fail at every operation, [`kill`] ends a real process; [`damage`]
//!    flips every byte; [`fixture`] opens what version 1 wrote.
//! 3. [`refusals`] has every reason for which a transaction is refused, and that it leaves everything.
//! 4. [`order`] compares the logs of different numbers of threads; [`notices`] is about subscribers, [`sharing`] about many writers.
//! 5. [`scheduling`] counts what runs in chains, fans and diamonds.
//! 6. [`pools`] compares states that are used again with new ones, [`metadata`] is about what pages are to their users, [`beginning`] about states that have no folder before their first commit.
//! 7. [`earlier`] has what an earlier system got wrong and none of these is about.
//!
//! [`board`] makes states and functions for them.
#![forbid(unsafe_code)]

mod beginning;
mod board;
mod crash;
mod damage;
mod earlier;
mod fixture;
mod history;
mod kill;
mod metadata;
mod model;
mod notices;
mod order;
mod pools;
mod refusals;
mod scheduling;
mod sets;
mod sharing;
