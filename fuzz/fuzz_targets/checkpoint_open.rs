//! Fuzz target: see `src/checkpoints.rs`.
#![no_main]

#[path = "../src/checkpoints.rs"]
mod checkpoints;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checkpoints::run(bytes);
});
