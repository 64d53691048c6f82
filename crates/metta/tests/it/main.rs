//! Tests of the language: what programs mean, seen from outside.
#![forbid(unsafe_code)]

mod bundled;
mod choosing;
mod determinism;
mod differential;
mod evaluation;
mod evaluators;
mod forms;
mod frozen;
mod garbage;
mod gates;
mod generated;
mod harness;
mod instructions;
mod limits;
mod loading;
mod loops;
mod measure;
mod modules;
mod places;
mod printing;
mod regressions;
mod restoring;
mod robustness;
mod rollback;
mod scale;
mod scopes;
mod settings;
mod spaces;
mod stored;
mod stored_patterns;
mod tabling;
mod transactions;
mod typed_data;
mod types;
mod well_typed;
