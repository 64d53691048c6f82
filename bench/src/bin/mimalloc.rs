//! The rows of the suite region that need mimalloc as the allocator of the whole process. The suite starts it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    metroon_bench::with_mimalloc()
}
