//! Tests of region memory.
//!
//! 1. [`model`] runs generated programs against an obvious model.
//! 2. [`basics`] shows each operation by example, [`sizes`] pins what others count on.
//! 3. [`defects`] has one test for each known defect of an earlier region memory.
//! 4. [`shapes`] and [`limits`] go to the ends of what there is.
//! 5. [`models`] goes through every interleaving of what threads do to a tether word.
#![forbid(unsafe_code)]

mod arena;
mod basics;
mod defects;
mod limits;
mod model;
mod models;
mod shapes;
mod sizes;
mod tethers;
