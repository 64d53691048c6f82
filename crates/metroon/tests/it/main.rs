//! Tests of the engine as a library.

mod base_model;
mod bases;
mod checkpoints;
mod compiled;
mod differential;
mod documents;
mod edits;
mod examples;
mod fixture;
mod formats;
mod fuzzed;
mod harm;
mod harness;
mod history;
mod host_functions;
mod live;
mod live_rules;
mod loading;
mod metrics;
mod power;
mod regressions;
mod retention;
mod sinks;
mod system_world;
mod tapes;
mod threads;
