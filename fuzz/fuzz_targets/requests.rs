//! Fuzz target: see `src/requests.rs`.
#![no_main]

#[path = "../src/requests.rs"]
mod requests;

libfuzzer_sys::fuzz_target!(|program: &[u8]| requests::run(program));
