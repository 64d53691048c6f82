//! `metroon record` and `metroon replay -- COMMAND`, with the programs that people use.

mod at_once;
mod bindings;
mod bodies;
mod clients;
pub(crate) mod harness;
mod isolation;
mod verbs;
