//! Region memory: a heap of small cells for the terms of an evaluation.
//!
//! A [`Heap`] is chunks of 64 cells of eight bytes. A [`Region`] takes chunks from it and gives them back, all at once or
//! down to a [`Mark`]. In a region are made
//!
//! - expressions: a header and references to children, contiguous,
//! - variables: a cell with a binding and a label,
//! - numbers: a cell with 64 raw bits,
//!
//! and a [`Ref`] refers to one of them, or is an immediate value. What the tags of immediates, labels, notes and marks of
//! references mean is the owner's: this crate knows nothing of atoms.
#![forbid(unsafe_code)]

mod chunks;
mod copy;
mod heap;
mod limit;
mod reference;
mod region;
mod statistics;
mod stray;

pub use copy::{Bound, Copying};
pub use heap::Heap;
pub use limit::{Full, LENGTH_MAX, Limit};
pub use reference::{Ref, tag};
pub use region::{Mark, Region};
pub use statistics::Statistics;
