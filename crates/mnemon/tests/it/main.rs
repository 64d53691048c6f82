//! Tests of the engine as a library.

mod corpus;
mod documents;
mod examples;
mod fixture;
mod formats;
mod harness;
mod modes;
mod system_world;
