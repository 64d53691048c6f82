//! Which features do all builds share?
//!
//! Cargo compiles a crate anew for each set of features, and whatever stands on it as well. Which set it is depends on what else is built:
//! `cargo run` builds the command, `cargo xtask` the tasks, maturin the package for Python, `cargo test --workspace` everything. The
//! dependencies here, of which no code is used, make the sets the same. `cargo xtask tidy` compares them.
#![forbid(unsafe_code)]
