//! `mnemon record` and `mnemon replay -- COMMAND`, with the programs that people use.

mod bindings;
mod bodies;
mod clients;
pub(crate) mod harness;
mod isolation;
mod verbs;
