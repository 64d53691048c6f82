//! Tests of region memory.
#![forbid(unsafe_code)]

mod basics;
mod model;
