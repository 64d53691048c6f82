//! What comes with our dependencies: licences, sources, banned crates and known vulnerabilities, checked with cargo-deny.
//!
//! 1. `deny.toml` at the root says what is allowed. It holds for each of the [`repository::WORKSPACES`].
//! 2. cargo-deny is built by cargo from crates.io, below the target folder, in three minutes on two cores.
//! 3. Licences, sources and bans need nothing else. Known vulnerabilities are in a database that only GitHub has, and that no test
//!    fetches: `cargo xtask supply --advisories` gets it. Where it is not, that is said.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::install::Install;
use crate::process::cargo;
use crate::{Outcome, process, repository};

/// Check licences, sources and known vulnerabilities of all dependencies.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "deny.toml at the root says what is allowed. The database of vulnerabilities comes from GitHub and lies in \
                        target/advisory-dbs; without it that check is left out."
)]
pub(crate) struct Flags {
    /// Get the newest database of vulnerabilities first
    #[arg(long)]
    advisories: bool,
    #[command(flatten)]
    install: Install,
}

const VERSION: &str = "0.20.2";
/// As `deny.toml` says, from the root.
const DATABASES: &str = "target/advisory-dbs";
pub(crate) const HOW_TO_GET_ADVISORIES: &str =
    "no database of vulnerabilities in target/advisory-dbs: `cargo xtask supply --advisories` gets it from GitHub";
const ASK_LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let program = prepare(flags.install.is_wanted())?;
    if flags.advisories && !process::shown(&mut deny(&program, repository::WORKSPACES[0], &["fetch", "db"]))? {
        return Err(format!(
            "cannot get the database of vulnerabilities into {DATABASES}: is GitHub reached from here?"
        ));
    }
    let known = check(&program)?;
    if !has_advisories() {
        println!("{HOW_TO_GET_ADVISORIES}");
        return Ok(known);
    }
    let advisories = check_advisories(&program)?;
    Ok(if advisories == Outcome::Good { known } else { advisories })
}

/// Where cargo-deny is.
///
/// # Errors
/// It is not there and is not to be got, or cannot be.
pub(crate) fn prepare(installs: bool) -> Result<PathBuf, String> {
    let folder = repository::target().join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX));
    if installs && !is_there(&program) {
        install(&folder)?;
    }
    if is_there(&program) {
        return Ok(program);
    }
    let shown = repository::shown(&folder);
    Err(format!(
        "cargo-deny {VERSION} is not in {shown}: `cargo xtask supply --install` builds it there, in some minutes"
    ))
}

fn is_there(program: &Path) -> bool {
    let run = process::bounded(Command::new(program).arg("--version"), ASK_LIMIT);
    run.is_ok_and(|run| run.stdout.trim_end().ends_with(VERSION))
}

fn install(folder: &Path) -> Result<(), String> {
    let build = folder.join("build");
    let mut command = cargo(&["install", "cargo-deny", "--locked", "--version", VERSION, "--root"]);
    let is_built = process::shown(command.arg(folder).arg("--target-dir").arg(&build).current_dir(repository::root()))?;
    // What was built on the way is a hundred times what is kept; if it cannot be removed, it is in nobody's way.
    let _ = std::fs::remove_dir_all(&build);
    if is_built { Ok(()) } else { Err(format!("cannot build cargo-deny {VERSION}: see above")) }
}

fn deny(program: &Path, manifest: &str, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(repository::root()).args(["--manifest-path", manifest, "--config", "deny.toml", "--locked"]);
    command.args(words);
    command
}

/// Runs a check on each workspace, whatever comes of the ones before.
fn check_each(program: &Path, words: &[&str]) -> Result<Outcome, String> {
    let mut outcome = Outcome::Good;
    for manifest in repository::WORKSPACES {
        println!("-- {manifest}");
        if !process::shown(&mut deny(program, manifest, words))? {
            outcome = Outcome::Bad;
        }
    }
    Ok(outcome)
}

/// Checks licences, sources and bans.
///
/// # Errors
/// cargo-deny cannot be started.
pub(crate) fn check(program: &Path) -> Result<Outcome, String> {
    check_each(program, &["check", "licenses", "sources", "bans"])
}

/// Checks the versions in the lock files against the known vulnerabilities, by the database that is there.
///
/// # Errors
/// cargo-deny cannot be started.
pub(crate) fn check_advisories(program: &Path) -> Result<Outcome, String> {
    check_each(program, &["--offline", "check", "advisories"])
}

/// Whether there is a database of vulnerabilities.
pub(crate) fn has_advisories() -> bool {
    let entries = std::fs::read_dir(repository::root().join(DATABASES)).into_iter().flatten();
    entries.filter_map(Result::ok).any(|entry| entry.path().join("crates").is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the task says of `deny.toml` is in it, and the workspaces are those of the repository.
    #[test]
    fn the_rules_are_where_they_are_looked_for() {
        let root = repository::root();
        let rules = std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml lies at the root");
        assert!(rules.contains(&format!("db-path = \"{DATABASES}\"")), "{rules}");
        for denied in ["unknown-registry = \"deny\"", "unknown-git = \"deny\"", "[licenses]", "[bans]"] {
            assert!(rules.contains(denied), "{denied}");
        }
        for manifest in repository::WORKSPACES {
            let text = std::fs::read_to_string(root.join(manifest)).expect("each workspace has a manifest");
            assert!(text.contains("[workspace]"), "{manifest}");
        }
    }

    #[test]
    fn a_command_names_the_rules_and_the_lock() {
        let command = deny(Path::new("cargo-deny"), "bench/Cargo.toml", &["check", "sources"]);
        let words: Vec<&str> = command.get_args().filter_map(|word| word.to_str()).collect();
        let expected = ["--manifest-path", "bench/Cargo.toml", "--config", "deny.toml", "--locked", "check", "sources"];
        assert_eq!(words, expected);
    }
}
