//! The tests of what has unsafe code or threads of its own, under the sanitizers of a nightly toolchain.
//!
//! 1. A run is a package under a sanitizer: its unit and integration tests are built with it, for the machine at hand, below the
//!    target folder.
//! 2. The address sanitizer needs nothing else; it looks for leaks as well.
//! 3. The thread sanitizer is only run where the sources of the standard library are there, which is then built with it. Without
//!    them it knows nothing of the locks, channels and joins of `std`, and reports races that are none; those that remain after
//!    dropping such reports would prove nothing, so it is skipped and said to be.
//! 4. Tests that cannot run under a sanitizer are named beside the package in [`RUNS`], and printed.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::install::Install;
use crate::{Outcome, process, repository};

/// Run the tests of region under the address and the thread sanitizer.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "This needs the toolchain `nightly` and, for the thread sanitizer, its component `rust-src`. If something is \
                        missing, the task says so and counts the run as skipped. The last line is `N passed, N failed, N skipped`, \
                        counting runs."
)]
pub(crate) struct Flags {
    #[command(flatten)]
    install: Install,
}

/// Sanitizer, package, and the tests that are left out under it.
const RUNS: &[(Sanitizer, &str, &[&str])] =
    &[(Sanitizer::Address, "metroon-region", LEFT_OUT), (Sanitizer::Thread, "metroon-region", LEFT_OUT)];
/// They limit the address space of a process, of which sanitizers need terabytes.
const LEFT_OUT: &[&str] =
    &["limits::a_system_that_refuses_is_an_error", "limits::address_space_that_is_refused_is_an_error"];

const ASK_LIMIT: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sanitizer {
    Address,
    Thread,
}

impl Sanitizer {
    fn name(self) -> &'static str {
        match self {
            Sanitizer::Address => "address",
            Sanitizer::Thread => "thread",
        }
    }

    /// Why it cannot be run here, and what to do about that.
    fn missing(self, nightly: &Nightly) -> Option<&'static str> {
        match self {
            Sanitizer::Thread if !nightly.has_sources => {
                Some("without its sources `std` is not checked: `rustup component add rust-src --toolchain nightly`")
            }
            _ => None,
        }
    }
}

/// A nightly toolchain.
struct Nightly {
    host: String,
    has_sources: bool,
}

impl Nightly {
    fn find() -> Option<Nightly> {
        let about = said(&["-vV"])?;
        let host = about.lines().find_map(|line| line.strip_prefix("host: "))?.to_owned();
        let sources = PathBuf::from(said(&["--print", "sysroot"])?.trim()).join("lib/rustlib/src/rust/library/std");
        Some(Nightly { host, has_sources: sources.is_dir() })
    }
}

/// What the compiler of the nightly toolchain prints.
fn said(words: &[&str]) -> Option<String> {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "rustc"]).args(words);
    process::bounded(&mut command, ASK_LIMIT).ok().filter(process::Finished::succeeded).map(|finished| finished.stdout)
}

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let nightly = Nightly::find();
    for (sanitizer, package, left_out) in RUNS {
        let missing = match &nightly {
            None => Some("there is no toolchain `nightly`: `rustup toolchain install nightly`"),
            Some(nightly) => sanitizer.missing(nightly),
        };
        let name = format!("{} {package}", sanitizer.name());
        match (&nightly, missing) {
            (Some(nightly), None) => {
                println!("== {name}, without {}", left_out.join(", "));
                let good = process::shown(&mut command(nightly, *sanitizer, package, left_out))?;
                println!("{name}: {}", if good { "passed" } else { "failed" });
                (passed, failed) = if good { (passed + 1, failed) } else { (passed, failed + 1) };
            }
            (_, missing) => {
                println!("{name}: skipped: {}", missing.unwrap_or_default());
                skipped += 1;
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    let is_bad = failed > 0 || skipped > 0 && flags.install.is_wanted();
    Ok(if is_bad { Outcome::Bad } else { Outcome::Good })
}

/// The tests of a package. Code is built for a named target so that what runs while building is not sanitized.
fn command(nightly: &Nightly, sanitizer: Sanitizer, package: &str, left_out: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "test", "--package", package, "--lib", "--tests"]);
    command.args(["--target", &nightly.host]);
    if nightly.has_sources {
        command.arg("-Zbuild-std");
    }
    command.arg("--").args(left_out.iter().flat_map(|test| ["--skip", test]));
    let flags = format!("-Zsanitizer={} -Cunsafe-allow-abi-mismatch=sanitizer", sanitizer.name());
    command
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", repository::target().join("sanitize").join(sanitizer.name()));
    // Requests that no system could grant are tested, and get what a system without sanitizer gives.
    command.env("ASAN_OPTIONS", "allocator_may_return_null=1").current_dir(repository::root());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nightly(has_sources: bool) -> Nightly {
        Nightly { host: "x86_64-unknown-linux-gnu".to_owned(), has_sources }
    }

    #[test]
    fn threads_are_not_checked_without_the_sources_of_std() {
        assert!(Sanitizer::Thread.missing(&nightly(false)).is_some_and(|missing| missing.contains("rust-src")));
        assert!(
            Sanitizer::Thread.missing(&nightly(true)).is_none()
                && Sanitizer::Address.missing(&nightly(false)).is_none()
        );
    }

    #[test]
    fn what_is_left_out_is_skipped_by_name() {
        let command = command(&nightly(true), Sanitizer::Thread, "metroon-region", &["a::b"]);
        let words: Vec<&str> = command.get_args().filter_map(|word| word.to_str()).collect();
        assert!(words.contains(&"-Zbuild-std") && words.ends_with(&["--", "--skip", "a::b"]), "{words:?}");
    }
}
