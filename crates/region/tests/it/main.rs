//! Tests of region memory.
//!
//! 1. [`model`] runs generated programs against an obvious model.
//! 2. [`basics`] shows each operation by example, [`sizes`] pins what others count on.
//! 3. [`defects`] has one test for each known defect of an earlier region memory.
//! 4. [`leaving`] is what becomes of what outlives its region, [`escape_paths`] what becomes of maps on each way.
//! 5. [`handles`] is what keeps regions: tables; [`nested`] runs programs on a table.
//! 6. [`objects`] and [`object_models`] are about strings, arrays and maps, and about what is made as a whole.
//! 7. [`shapes`] and [`limits`] go to the ends of what there is.
//! 8. [`tethers`] runs what threads do to a tether word; `crates/region/models` goes through every interleaving of it.
//! 9. [`travels`] is a second model, of all kinds of things in three heaps at once.
//! 10. [`sharing`] is about lists that share their ends.
//! 11. [`requests`] asks for what no limit should grant: it runs what a fuzz target runs.
#![forbid(unsafe_code)]

mod basics;
mod defects;
mod escape_paths;
mod handles;
mod leaving;
mod limits;
mod model;
mod nested;
mod object_models;
mod objects;
mod requests;
mod shapes;
mod sharing;
mod sizes;
mod tethers;
mod travels;
