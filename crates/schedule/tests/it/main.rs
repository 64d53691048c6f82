//! The schedule as its owners use it.

mod relations;
