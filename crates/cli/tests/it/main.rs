//! The `mnemon` command as a person runs it: what it prints, what it says, how it ends.

mod endurance;
mod harness;
mod input;
mod journal_verbs;
mod limits;
mod messages;
mod output;
mod sources;
mod tutorial;
