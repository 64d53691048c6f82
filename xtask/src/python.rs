//! The package for Python: its wheel, and its tests in an environment of their own below the target folder.
//!
//! 1. The environment has what `bindings/python/requirements.txt` says, maturin among it. It is made anew when that list changes.
//! 2. [`Wheel`] builds the wheel of a profile into `target/wheels`. The program `metroon` goes into it as a script, built by the same profile:
//!    maturin takes scripts from a folder beside the package.
//! 3. The tests run with the wheel installed, not with the source folder, in that environment. Their wheel is built with the profile of
//!    other tests, whose libraries are compiled already.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::install::Install;
use crate::process::cargo;
use crate::{Outcome, process, repository};

const PACKAGE: &str = "bindings/python";
/// What lies here becomes a command of whoever installs the wheel. The name is the one that maturin looks for.
const SCRIPTS: &str = "bindings/python/metroon._engine.data/scripts";
const LIST: &str = "bindings/python/requirements.txt";
const ENVIRONMENT: &str = "venv-metroon";
/// Where the tests make files, and an environment of their own.
const SCRATCH: &str = "pytest-metroon";
/// The tests of the package take a minute.
const TESTS_LIMIT: Duration = Duration::from_secs(600);
/// A wheel for people is not larger.
const WHEEL_BYTES_MAX: u64 = 15_000_000;
/// The profile of the wheel for people.
const FOR_PEOPLE: &str = "dist";
/// The profile whose libraries the tests have compiled already.
const FOR_TESTS: &str = "dev";
/// The variable in which the tests look for the wheel that they install elsewhere.
const WHEEL_VARIABLE: &str = "METROON_WHEEL";

/// Build the wheel of the package for Python into target/wheels.
#[derive(Debug, clap::Args)]
pub(crate) struct Wheel {
    /// How it is compiled: release for people, dev for a quick look
    #[arg(long, value_name = "PROFILE", default_value = FOR_PEOPLE)]
    profile: String,
    #[command(flatten)]
    install: Install,
}

fn environment() -> PathBuf {
    repository::target().join(ENVIRONMENT)
}

fn python() -> PathBuf {
    environment().join("bin/python")
}

/// Removes a folder with all that is in it, if it is there.
///
/// # Errors
/// It cannot be removed.
pub(crate) fn discard(folder: &Path) -> Result<(), String> {
    if !folder.exists() {
        return Ok(());
    }
    fs::remove_dir_all(folder).map_err(|error| format!("cannot empty {}: {error}", repository::shown(folder)))
}

/// The list as it was when the environment was filled.
fn stamp() -> PathBuf {
    environment().join("installed-requirements.txt")
}

fn is_filled() -> bool {
    let wanted = fs::read(repository::root().join(LIST));
    wanted.is_ok_and(|wanted| fs::read(stamp()).is_ok_and(|there| there == wanted))
}

/// Sees that the environment is there, and fills it if that is wanted.
///
/// # Errors
/// It is not there and is not to be filled, or cannot be.
pub(crate) fn prepare(installs: bool) -> Result<(), String> {
    if is_filled() {
        return Ok(());
    }
    let shown = repository::shown(&environment());
    if !installs {
        return Err(format!(
            "maturin and pytest are not in {shown}: `cargo xtask test --only python` gets them from PyPI (needs python3 with venv)"
        ));
    }
    discard(&environment())?;
    let mut made = Command::new("python3");
    made.args(["-m", "venv"]).arg(environment());
    let mut packages = Command::new(python());
    packages
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(repository::root().join(LIST));
    for mut command in [made, packages] {
        if !process::shown(&mut command)? {
            return Err(format!("cannot fill {shown}: {command:?} failed"));
        }
    }
    fs::copy(repository::root().join(LIST), stamp())
        .map(drop)
        .map_err(|error| format!("cannot write to {shown}: {error}"))
}

pub(crate) fn run(flags: &Wheel) -> Result<Outcome, String> {
    prepare(flags.install.is_wanted())?;
    let wheel = build(&flags.profile)?;
    let bytes = fs::metadata(&wheel).map_err(|error| format!("{}: {error}", wheel.display()))?.len();
    println!("{}: {:.1} MB", repository::shown(&wheel), bytes as f64 / 1e6);
    if flags.profile == FOR_PEOPLE && bytes > WHEEL_BYTES_MAX {
        return Err(format!("the wheel is to have {:.0} MB or less", WHEEL_BYTES_MAX as f64 / 1e6));
    }
    Ok(Outcome::Good)
}

/// Builds the program `metroon` and puts it where maturin takes the scripts of a wheel from.
fn bring_program(profile: &str) -> Result<(), String> {
    // For tests its libraries are those of the whole workspace, which are compiled already.
    let packages: &[&str] = if profile == FOR_TESTS { &["--workspace"] } else { &["--package", "metroon-cli"] };
    let mut build = cargo(&["build", "--quiet", "--bin", "metroon", "--profile", profile]);
    if !process::shown(build.args(packages))? {
        return Err("the program metroon cannot be built".to_owned());
    }
    let name = format!("metroon{}", std::env::consts::EXE_SUFFIX);
    let folder = if profile == FOR_TESTS { "debug" } else { profile };
    let (from, to) = (repository::target().join(folder).join(&name), repository::root().join(SCRIPTS).join(&name));
    let failed = |error| format!("cannot write {}: {error}", repository::shown(&to));
    fs::create_dir_all(repository::root().join(SCRIPTS)).map_err(failed)?;
    // Without what debuggers read it is packed and installed sooner; where there is no `strip`, it is the same program.
    let is_stripped = process::bounded(Command::new("strip").arg("-o").arg(&to).arg(&from), TESTS_LIMIT);
    match is_stripped.is_ok_and(|finished| finished.succeeded()) {
        true => Ok(()),
        false => fs::copy(&from, &to).map(drop).map_err(failed),
    }
}

/// Builds the wheel; gives where it lies.
fn build(profile: &str) -> Result<PathBuf, String> {
    let folder = repository::target().join("wheels").join(profile);
    discard(&folder)?;
    bring_program(profile)?;
    let mut maturin = Command::new(environment().join("bin/maturin"));
    maturin.args(["build", "--quiet", "--strip", "--profile", profile, "--out"]).arg(&folder);
    maturin.arg("--interpreter").arg(python()).current_dir(repository::root().join(PACKAGE));
    if !process::shown(&mut maturin)? {
        return Err(format!("{maturin:?} failed"));
    }
    only_wheel(&folder)
}

fn only_wheel(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut wheels = entries.filter_map(Result::ok).map(|entry| entry.path());
    wheels
        .find(|path| path.extension().is_some_and(|end| end == "whl"))
        .ok_or_else(|| format!("there is no wheel in {}", repository::shown(folder)))
}

/// A command of pip that installs a wheel, without what it depends on.
fn installing(wheel: &Path) -> Command {
    let mut command = Command::new(python());
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "--no-deps"]);
    command.arg(wheel);
    command
}

fn installed(mut command: Command, wheel: &Path) -> Result<(), String> {
    match process::shown(&mut command)? {
        true => Ok(()),
        false => Err(format!("{} cannot be installed", repository::shown(wheel))),
    }
}

/// Builds the wheel and installs it in the environment; gives its Python.
///
/// # Errors
/// It cannot be built or installed.
pub(crate) fn install() -> Result<PathBuf, String> {
    let wheel = build(FOR_TESTS)?;
    installed(installing(&wheel), &wheel)?;
    Ok(python())
}

/// Builds the wheel and installs it in a folder, for a Python of another environment. What was in the folder is gone even if that fails.
///
/// # Errors
/// It cannot be built or installed.
pub(crate) fn install_into(folder: &Path) -> Result<(), String> {
    discard(folder)?;
    let wheel = build(FOR_TESTS)?;
    let mut command = installing(&wheel);
    command.arg("--target").arg(folder);
    installed(command, &wheel)
}

/// Builds the wheel, installs it and runs the tests of the package.
///
/// # Errors
/// Something cannot be built or started.
pub(crate) fn check() -> Result<Outcome, String> {
    install()?;
    let wheel = only_wheel(&repository::target().join("wheels").join(FOR_TESTS))?;
    let mut tests = Command::new(python());
    // From elsewhere, so that the wheel is found and not the source folder beside it.
    tests
        .args(["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .arg(repository::root().join(PACKAGE).join("tests"))
        .arg("--basetemp")
        .arg(repository::target().join(SCRATCH))
        .env(WHEEL_VARIABLE, wheel);
    let finished = process::bounded(tests.current_dir(repository::target()), TESTS_LIMIT)?;
    print!("{}", finished.stdout);
    eprint!("{}", finished.stderr);
    if finished.succeeded() {
        return Ok(Outcome::Good);
    }
    println!("the tests of {PACKAGE}: {}", finished.ending());
    Ok(Outcome::Bad)
}
