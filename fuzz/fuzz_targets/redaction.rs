//! Fuzz target: see `src/redaction.rs`.
#![no_main]

#[path = "../src/redaction.rs"]
mod redaction;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    redaction::run(bytes);
});
