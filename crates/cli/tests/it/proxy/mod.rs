//! `mnemon record` and `mnemon replay -- COMMAND`, with the programs that people use.

mod bindings;
mod clients;
pub(crate) mod harness;
mod isolation;
mod verbs;
