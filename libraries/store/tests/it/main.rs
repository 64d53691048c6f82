//! Tests of the store: against the map of the standard library, against crashes, against damage, against other threads.
//!
//! 1. [`model`] compares any sequence of calls with a map, and [`peer`] any batches with redb; [`regressions`] has each defect of earlier
//!    systems by name.
//! 2. [`crash`] lets the power fail at every operation and every operation fail; [`kill`] ends a real process.
//! 3. [`damage`] flips every byte; [`fixture`] reads what each version wrote;
//!    [`fuzzed`] changes files and puts their checksums right.
//! 4. [`threads`] has many at work, [`folder`] is on real files, and [`processes`] has several read what one writes.
//! 5. [`budget`] counts what a lookup touches and what is held in memory, and [`lookups`] what all of them did; [`owner`] leaves the log to somebody else.
//!
//! [`history`] makes batches and reads everything back.
#![forbid(unsafe_code)]

mod budget;
mod crash;
mod damage;
mod fixture;
mod folder;
mod fuzzed;
mod history;
mod kill;
mod lookups;
mod model;
mod owner;
mod peer;
mod processes;
mod regressions;
mod threads;
