//! Clients from PyPI and npm, below the target folder: the tests of the proxy record and replay with them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{process, python, repository};

/// Where the lists of packages are.
const LISTS: &str = "crates/cli/tests/it/proxy/clients";
const NODE_LISTS: [&str; 2] = ["package.json", "package-lock.json"];

/// A virtual environment of Python, below the target folder.
struct Environment {
    folder: &'static str,
    list: &'static str,
    /// The variable in which the tests look for its Python.
    variable: &'static str,
}

/// litellm 1.106 wants an older `openai` than the one that is a client itself, so it has an environment of its own.
const ENVIRONMENTS: [Environment; 2] = [
    Environment { folder: "venv-proxy", list: "requirements.txt", variable: "METROON_CLIENTS_PYTHON" },
    Environment { folder: "venv-litellm", list: "requirements-litellm.txt", variable: "METROON_CLIENTS_LITELLM" },
];

/// The variables in which the tests look for the modules of Node, and the one that says that nothing may be missing.
const NODE: &str = "METROON_CLIENTS_NODE";
const ALL: &str = "METROON_CLIENTS_ALL";
/// The variable in which the tests look for our package for Python, on which the plugin for pytest stands.
const PACKAGE: &str = "METROON_CLIENTS_PACKAGE";

/// Programs that the tests run as they are.
const PROGRAMS: [(&str, &str); 6] = [
    ("curl", "--version"),
    ("git", "--version"),
    ("python3", "--version"),
    ("node", "--version"),
    ("go", "version"),
    ("java", "-version"),
];

impl Environment {
    fn path(&self) -> PathBuf {
        repository::target().join(self.folder)
    }

    fn python(&self) -> PathBuf {
        self.path().join("bin/python")
    }

    fn prepare(&self, installs: bool) -> Result<(), String> {
        fill(&self.path(), &[self.list], installs, |_| self.install())
    }

    fn install(&self) -> Result<(), String> {
        let mut environment = Command::new("python3");
        environment.args(["-m", "venv"]).arg(self.path());
        let mut packages = Command::new(self.python());
        packages
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
            .arg(list_path(self.list));
        done(&mut environment)?;
        done(&mut packages)
    }
}

fn node_folder() -> PathBuf {
    repository::target().join("npm-proxy")
}

fn package_folder() -> PathBuf {
    repository::target().join("package-for-plugin")
}

/// Our package is built anew each time: it is to be that of this checkout. Where it cannot be built there is none, and not an older one.
fn prepare_package(installs: bool) -> Result<(), String> {
    python::discard(&package_folder())?;
    python::prepare(installs).and_then(|()| python::install_into(&package_folder()))
}

/// Whether a folder was filled from the lists as they are now: copies of them were put there at the end.
fn is_filled(folder: &Path, lists: &[&str]) -> bool {
    let is_same = |list: &&str| {
        let (wanted, there) = (fs::read(list_path(list)), fs::read(stamp(folder, list)));
        wanted.is_ok_and(|wanted| there.is_ok_and(|there| there == wanted))
    };
    lists.iter().all(is_same)
}

fn list_path(list: &str) -> PathBuf {
    repository::root().join(LISTS).join(list)
}

fn stamp(folder: &Path, list: &str) -> PathBuf {
    folder.join(format!("installed-{list}"))
}

/// The variables for the tests, as far as their clients are there.
pub(crate) fn variables(installs: bool) -> Vec<(&'static str, OsString)> {
    let mut variables = Vec::new();
    for environment in ENVIRONMENTS.iter().filter(|environment| is_filled(&environment.path(), &[environment.list])) {
        variables.push((environment.variable, environment.python().into()));
    }
    if is_filled(&node_folder(), &NODE_LISTS) {
        variables.push((NODE, node_folder().join("node_modules").into()));
    }
    if package_folder().is_dir() {
        variables.push((PACKAGE, package_folder().into()));
    }
    if installs {
        variables.push((ALL, "1".into()));
    }
    variables
}

/// Sees that the clients are there, and gets them if that is wanted.
///
/// # Errors
/// Some are not there and are not to be got, or cannot be.
pub(crate) fn prepare(installs: bool) -> Result<(), String> {
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(name, word)| !process::exists(name, word)).map(|(name, _)| *name).collect();
    let programs = match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("{} missing: the tests of the proxy with them are skipped", missing.join(", "))),
    };
    let python = ENVIRONMENTS.iter().map(|environment| environment.prepare(installs));
    let node = fill(&node_folder(), &NODE_LISTS, installs, install_node);
    let missing: Vec<String> =
        [programs].into_iter().chain(python).chain([node, prepare_package(installs)]).filter_map(Result::err).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(missing.join("; ")),
    }
}

fn fill(
    folder: &Path,
    lists: &[&str],
    installs: bool,
    install: impl Fn(&Path) -> Result<(), String>,
) -> Result<(), String> {
    if is_filled(folder, lists) {
        return Ok(());
    }
    let shown = repository::shown(folder);
    if !installs {
        return Err(format!(
            "clients are not in {shown}: `cargo xtask test --only clients` gets them from PyPI and npm"
        ));
    }
    python::discard(folder)?;
    install(folder)?;
    let copied = lists.iter().try_for_each(|list| fs::copy(list_path(list), stamp(folder, list)).map(drop));
    copied.map_err(|error| format!("cannot write to {shown}: {error}"))
}

fn install_node(folder: &Path) -> Result<(), String> {
    let failed = |error| format!("cannot fill {}: {error}", repository::shown(folder));
    fs::create_dir_all(folder).map_err(failed)?;
    for list in NODE_LISTS {
        fs::copy(list_path(list), folder.join(list)).map_err(failed)?;
    }
    let mut packages = Command::new("npm");
    done(packages.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(folder))
}

fn done(command: &mut Command) -> Result<(), String> {
    match process::shown(command)? {
        true => Ok(()),
        false => Err(format!("cannot install clients: {command:?} failed")),
    }
}
