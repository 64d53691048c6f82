//! Tests of the knowledge space, against obvious models and against the defects of other engines.
//!
//! 1. [`model`] and [`laws`] compare with the naive matcher of [`tree`] on generated atoms.
//! 2. [`numbers`] and [`canonical`] compare with big-integer arithmetic.
//! 3. [`defects`] has one test for each known defect of another engine, under the name the facts give it;
//!    [`regressions`] one for each of our own.
//! 4. [`rows`] compares the answers of rows with those of atoms, [`plans`] those of plans that are kept, [`joins`] those of several patterns at once, [`bulk`] and [`batch`] many at once with one by one.
//!    [`differences`] keeps answers up to date, [`prefix`] walks what stands behind a prefix, [`heads`] asks for one head among
//!    others, [`scans`] asks for many rows, [`segments`] puts spaces and snapshots that share segments beside lists, [`memory`] counts
//!    what a fact takes, [`images`] opens what was written of spaces, [`tables`] puts answers beside solutions.
//! 5. [`sizes`], [`depth`], [`states`], [`spaces`] and [`results`] go to the limits.
#![forbid(unsafe_code)]

mod atoms;
mod batch;
mod bulk;
mod canonical;
mod changes;
mod defects;
mod depth;
mod differences;
mod generated;
mod heads;
mod images;
mod joins;
mod laws;
mod measure;
mod memory;
mod model;
mod near_numbers;
mod numbers;
mod plans;
mod prefix;
mod regressions;
mod results;
mod rows;
mod scans;
mod segments;
mod shared_parts;
mod sizes;
mod spaces;
mod states;
mod tables;
mod tree;
