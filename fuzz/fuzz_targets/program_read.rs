//! Fuzz target: see `src/programs.rs`.
#![no_main]

#[path = "../src/programs.rs"]
mod programs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    programs::read(bytes);
});
