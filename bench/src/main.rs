//! The command that `cargo xtask bench` runs: see the library of this package.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    metroon_bench::main()
}
