//! Fuzz target: see `src/cassettes.rs`.
#![no_main]

#[path = "../src/cassettes.rs"]
mod cassettes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    cassettes::run("cassette", bytes);
});
