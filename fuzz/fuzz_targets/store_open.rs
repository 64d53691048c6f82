//! Fuzz target: see `src/stores.rs`.
#![no_main]

#[path = "../src/stores.rs"]
mod stores;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    stores::run(bytes);
});
