//! The `mnemon` command as a person runs it: what it prints, what it says, how it ends.

mod harness;
mod input;
mod limits;
mod output;
