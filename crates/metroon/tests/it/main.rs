//! Tests of the engine as a library.

mod base_model;
mod compiled;
mod corpus;
mod differential;
mod documents;
mod edits;
mod examples;
mod fixture;
mod formats;
mod harm;
mod harness;
mod history;
mod loading;
mod modes;
mod power;
mod regressions;
mod system_world;
mod tapes;
