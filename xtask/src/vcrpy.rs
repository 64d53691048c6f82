//! vcrpy from PyPI, in a virtual environment below the target folder: the tests of cassettes record and replay with it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::{process, repository};

/// The version whose cassettes are compared, and the client that it records.
const REQUIREMENTS: [&str; 2] = ["vcrpy==9.4.2", "urllib3==2.8.0"];
const FOLDER: &str = "vcrpy-9.4.2";

/// The variable in which the tests look for a Python that has it.
pub(crate) const VARIABLE: &str = "METROON_VCRPY";

fn folder() -> PathBuf {
    repository::target().join(FOLDER)
}

fn python() -> PathBuf {
    folder().join("bin").join("python")
}

fn is_there() -> bool {
    let mut command = Command::new(python());
    command.args(["-c", "import vcr"]);
    process::bounded(&mut command, Duration::from_secs(60)).is_ok_and(|finished| finished.succeeded())
}

/// A Python that has it.
///
/// # Errors
/// It is not there and is not to be got, or cannot be.
pub(crate) fn prepare(installs: bool) -> Result<PathBuf, String> {
    if !is_there() && installs {
        install()?;
    }
    if is_there() {
        return Ok(python());
    }
    let shown = repository::shown(&folder());
    Err(format!("vcrpy is not in {shown}: `cargo xtask test --only vcrpy` gets it from PyPI (needs python3 with venv)"))
}

fn install() -> Result<(), String> {
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(folder());
    let mut package = Command::new(python());
    package.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(REQUIREMENTS);
    for mut command in [environment, package] {
        if !process::shown(&mut command)? {
            return Err(format!("cannot install {}: {command:?} failed", REQUIREMENTS.join(" and ")));
        }
    }
    Ok(())
}
