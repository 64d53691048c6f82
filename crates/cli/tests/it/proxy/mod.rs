//! `mnemon record` and `mnemon replay -- COMMAND`, with the programs that people use.

mod clients;
mod harness;
mod verbs;
