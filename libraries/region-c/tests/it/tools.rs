//! The tools that the tests need: found, or named and skipped.
//!
//! A test that lacks a tool prints `skipped: …`, says what is missing, and passes; with `CI=true` it fails instead.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of this package.
pub(crate) fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo has put the libraries, beside this program.
pub(crate) fn libraries() -> PathBuf {
    let program = std::env::current_exe().expect("a program has a path");
    program.parent().expect("it lies in a folder").to_owned()
}

/// An empty folder for what a test builds.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// Runs a command to its end; `None` if there is no such program.
pub(crate) fn run(command: &mut Command) -> Option<Output> {
    command.output().ok()
}

/// Runs a command that must succeed. Gives what it printed.
pub(crate) fn expect(command: &mut Command) -> String {
    let output = run(command).unwrap_or_else(|| panic!("cannot run {command:?}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// Whether a tool is there. If not, says so: that is a failure where everything should be.
pub(crate) fn has(tool: &str, package: &str) -> bool {
    let is_there = run(Command::new(tool).arg("--version")).is_some_and(|output| output.status.success());
    is_there || skip(&format!("`{tool}` is missing: the package {package} has it"))
}

/// Notes that something was not tested. Always `false`.
pub(crate) fn skip(reason: &str) -> bool {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
    #[allow(clippy::print_stdout)]
    {
        println!("skipped: 1, {reason}");
    }
    false
}
