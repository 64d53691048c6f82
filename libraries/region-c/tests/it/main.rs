//! Tests of region memory from C, most of them programs in C.
//!
//! 1. [`header`] compares what is declared with what the libraries export.
//! 2. [`programs`] builds the examples and the corpus of misuse in each way there is, and compares what they print.
//! 3. [`readme`] runs the commands of README.md.
//! 4. [`tools`] has the compiler, and what is done where it is missing.
#![forbid(unsafe_code)]

mod header;
mod programs;
mod readme;
mod tools;
