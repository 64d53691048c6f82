//! Where SWI-Prolog and the wheels of PyPI are, and how they come into the target folder.
//!
//! SWI-Prolog is the one the system has. If there is none, Debian's packages are downloaded and unpacked below the target folder,
//! which needs no rights and installs nothing. `hyperon`, `pymetta`, `duckdb`, `vcrpy`, `cassetter`, `mitmproxy`,
//! `requests`, `ladybug`, `egglog` and `clingo` are wheels of PyPI, in virtual environments below the target folder. Nothing is fetched unless asked for.

use crate::command::target;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Wheels of PyPI, with the folder that their environment lies in.
struct Wheel {
    folder: &'static str,
    python: &'static str,
    requirements: &'static [&'static str],
    missing: &'static str,
}

/// The Python that makes an environment, where any recent one will do.
const PYTHON: &str = "python3";
const HYPERON: Wheel =
    Wheel { folder: "hyperon", python: PYTHON, requirements: &["hyperon==0.2.6"], missing: WITHOUT_HYPERON };
const DUCKDB: Wheel =
    Wheel { folder: "duckdb", python: PYTHON, requirements: &["duckdb==1.4.1"], missing: WITHOUT_DUCKDB };
const CASSETTES: Wheel = Wheel {
    folder: "cassettes",
    python: PYTHON,
    requirements: &["vcrpy==9.4.2", "cassetter==0.16.1"],
    missing: WITHOUT_CASSETTES,
};
const MITMPROXY: Wheel =
    Wheel { folder: "mitmproxy", python: PYTHON, requirements: &["mitmproxy==11.0.2"], missing: WITHOUT_MITMPROXY };
const REQUESTS: Wheel = Wheel {
    folder: "requests",
    python: PYTHON,
    requirements: &["vcrpy==9.4.2", "requests==2.34.2"],
    missing: WITHOUT_REQUESTS,
};
/// Of DuckDB a newer release than that of the suite `space`, whose figures are of the older one.
const QUERY_ENGINES: Wheel = Wheel {
    folder: "queries",
    python: PYTHON,
    requirements: &["duckdb==2.0.0", "ladybug==0.22.0", "egglog==13.2.0", "clingo==5.8.3"],
    missing: WITHOUT_QUERY_ENGINES,
};
const HYPERON_LATER: Wheel = Wheel {
    folder: "hyperon-0.2.10",
    python: PYTHON,
    requirements: &["hyperon==0.2.10"],
    missing: WITHOUT_HYPERON_LATER,
};
/// It needs Python 3.12 or a later one.
const PYMETTA: Wheel =
    Wheel { folder: "pymetta", python: "python3.12", requirements: &["pymetta==0.9.4"], missing: WITHOUT_PYMETTA };
/// All that `swipl` needs and a small Debian does not have.
const DEBIAN_PACKAGES: [&str; 2] = ["swi-prolog-core", "libtcmalloc-minimal4"];

const WITHOUT_SWIPL: &str = "SWI-Prolog is missing. To get it: `cargo xtask bench metta --install` downloads Debian's packages \
    into the target folder (needs apt-get and dpkg, installs nothing); or install Debian's swi-prolog-nox, or any other \
    package that has `swipl`";
const WITHOUT_HYPERON: &str = "the Python wheel hyperon 0.2.6 is missing. To get it: `cargo xtask bench metta --install` \
    puts it into a virtual environment below the target folder (needs python3 with venv, up to Python 3.12 or so)";
const WITHOUT_DUCKDB: &str = "the Python wheel duckdb 1.4.1 is missing. To get it: `cargo xtask bench space --install` \
    puts it into a virtual environment below the target folder (needs python3 with venv)";
const WITHOUT_CASSETTES: &str = "the Python wheels vcrpy 9.4.2 and cassetter 0.16.1 are missing. To get them: `cargo xtask bench \
    cassette --install` puts them into a virtual environment below the target folder (needs python3 with venv)";
const WITHOUT_MITMPROXY: &str = "the Python wheel mitmproxy 11.0.2 is missing. To get it: `cargo xtask bench proxy --install` \
    puts it into a virtual environment below the target folder (needs python3 with venv)";
const WITHOUT_REQUESTS: &str = "the Python wheels vcrpy 9.4.2 and requests 2.34.2 are missing. To get them: `cargo xtask bench \
    proxy --install` puts them into a virtual environment below the target folder (needs python3 with venv)";
const WITHOUT_QUERY_ENGINES: &str = "the Python wheels duckdb 2.0.0, ladybug 0.22.0, egglog 13.2.0 and clingo 5.8.3 are missing. To get \
    them: `cargo xtask bench queries --install` puts them into a virtual environment below the target folder (needs python3 with venv)";

const WITHOUT_HYPERON_LATER: &str = "the Python wheel hyperon 0.2.10 is missing. To get it: `cargo xtask bench queries --install` \
    puts it into a virtual environment below the target folder (needs python3 with venv, up to Python 3.12 or so)";
const WITHOUT_PYMETTA: &str = "the Python wheel pymetta 0.9.4 is missing. To get it: `cargo xtask bench queries --install` \
    puts it into a virtual environment below the target folder (needs python3.12 with venv)";
const WITHOUT_METROON: &str = "the wheel of Metroon is not built. To get it: `cargo xtask bench python --install` builds it by `cargo \
    xtask wheel` and installs it below the target folder (needs python3 with venv)";
const WITHOUT_WORDNET: &str = "there is no data/wordnet.metta: make it with `cargo xtask wordnet --install`, or let \
    `cargo xtask bench queries --install` do that";

/// SWI-Prolog.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn swipl(may_install: bool) -> Result<Swipl, Box<dyn Error>> {
    let folder = folder()?;
    found(WITHOUT_SWIPL, may_install, || Swipl::find(&folder), || unpack_swipl(&folder))
}

/// The program of the wheel `hyperon` that runs a file.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn hyperon(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    HYPERON.find(may_install, "metta-py")
}

/// The Python that has `hyperon`.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn python_with_hyperon(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    HYPERON.find(may_install, "metta-py")?;
    HYPERON.find(may_install, "python")
}

/// The Python that has `hyperon` in a later release.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn python_with_hyperon_later(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    HYPERON_LATER.find(may_install, "python")
}

/// The Python that has `pymetta`.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn python_with_pymetta(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    PYMETTA.find(may_install, "python")
}

/// The Python that the tests of our package have, and the folder in which the wheel of this checkout is, which is built anew if it may be.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn python_with_metroon(name: &str, may_build: bool) -> Result<(PathBuf, PathBuf), Box<dyn Error>> {
    static BUILT: OnceLock<()> = OnceLock::new();
    let (python, installed) = (std::path::absolute(target())?.join("venv-metroon/bin/python"), folder()?.join(name));
    if may_build && BUILT.get().is_none() {
        build_metroon(&python, &installed).map_err(|error| format!("{WITHOUT_METROON}. ({error})"))?;
        // Once in a run.
        let _ = BUILT.set(());
    }
    let is_there = python.is_file() && installed.join("metroon/__init__.py").is_file();
    if is_there { Ok((python, installed)) } else { Err(WITHOUT_METROON.into()) }
}

fn build_metroon(python: &Path, installed: &Path) -> Result<(), Box<dyn Error>> {
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    checked(cargo().args(["xtask", "wheel", "--profile", "release", "--install"]))?;
    let wheels = std::path::absolute(target())?.join("wheels/release");
    let mut all = fs::read_dir(&wheels)?.filter_map(Result::ok).map(|entry| entry.path());
    let wheel = all.find(|path| path.extension().is_some_and(|end| end == "whl")).ok_or("no wheel was built")?;
    if installed.exists() {
        fs::remove_dir_all(installed)?;
    }
    let words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"];
    checked(Command::new(python).args(words).arg(installed).arg(wheel))
}

/// WordNet as MeTTa facts.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn wordnet(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    let file = PathBuf::from("data/wordnet.metta");
    let cargo = || Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let find = || file.is_file().then(|| file.clone());
    found(WITHOUT_WORDNET, may_install, find, || checked(cargo().args(["xtask", "wordnet", "--install"])))
}

/// The Python that has `duckdb`.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn python_with_duckdb(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    DUCKDB.find(may_install, "python")
}

/// The Python that has `vcrpy` and `cassetter`.
///
/// # Errors
/// They are missing; how to get them.
pub(crate) fn python_with_cassettes(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    CASSETTES.find(may_install, "python")
}

/// The program of `mitmproxy` that needs no terminal.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn mitmproxy(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    MITMPROXY.find(may_install, "mitmdump")
}

/// The Python that has `mitmproxy`.
///
/// # Errors
/// It is missing; how to get it.
pub(crate) fn python_with_mitmproxy(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    MITMPROXY.find(may_install, "python")
}

/// The Python that has `requests` and `vcrpy`.
///
/// # Errors
/// They are missing; how to get them.
pub(crate) fn python_with_requests(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    REQUESTS.find(may_install, "python")
}

/// The Python that has the databases and solvers of the suite `queries`.
///
/// # Errors
/// They are missing; how to get them.
pub(crate) fn python_with_query_engines(may_install: bool) -> Result<PathBuf, Box<dyn Error>> {
    QUERY_ENGINES.find(may_install, "python")
}

fn folder() -> Result<PathBuf, Box<dyn Error>> {
    Ok(std::path::absolute(target())?.join("peers"))
}

impl Wheel {
    fn find(&self, may_install: bool, program: &str) -> Result<PathBuf, Box<dyn Error>> {
        let environment = folder()?.join(self.folder);
        let program = environment.join("bin").join(program);
        let find = || program.is_file().then(|| program.clone());
        found(self.missing, may_install, find, || self.install(&environment))
    }

    fn install(&self, environment: &Path) -> Result<(), Box<dyn Error>> {
        let mut python = Command::new(self.python);
        // Where pyenv chooses among several Pythons, it is told which one is meant.
        if let Some(version) = self.python.strip_prefix("python").filter(|version| version.contains('.')) {
            python.env("PYENV_VERSION", version);
        }
        checked(python.args(["-m", "venv"]).arg(environment))?;
        let pip = environment.join("bin").join("pip");
        let words = ["install", "--quiet", "--disable-pip-version-check"];
        checked(Command::new(pip).args(words).args(self.requirements))
    }
}

fn found<T>(
    missing: &str,
    may_install: bool,
    find: impl Fn() -> Option<T>,
    install: impl FnOnce() -> Result<(), Box<dyn Error>>,
) -> Result<T, Box<dyn Error>> {
    if let Some(peer) = find() {
        return Ok(peer);
    }
    if may_install {
        install().map_err(|error| format!("{missing}. ({error})"))?;
    }
    find().ok_or_else(|| missing.into())
}

/// SWI-Prolog, the system's or unpacked.
pub(crate) struct Swipl {
    program: PathBuf,
    /// Where packages were unpacked, if the system has none.
    root: Option<PathBuf>,
}

impl Swipl {
    fn find(folder: &Path) -> Option<Self> {
        let system = Self { program: PathBuf::from("swipl"), root: None };
        [system, Self::unpacked(folder)].into_iter().find(Self::starts)
    }

    fn unpacked(folder: &Path) -> Self {
        let root = folder.join("swi-prolog");
        let machine = format!("{}-linux", std::env::consts::ARCH);
        let program = root.join("usr/lib/swi-prolog/bin").join(machine).join("swipl");
        Self { program, root: Some(root) }
    }

    /// It, with what it needs to find itself.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(root) = &self.root {
            let libraries = root.join("usr/lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
            command.env("SWI_HOME_DIR", root.join("usr/lib/swi-prolog")).env("LD_LIBRARY_PATH", libraries);
        }
        command
    }

    fn starts(&self) -> bool {
        let mut command = self.command();
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }
}

fn unpack_swipl(folder: &Path) -> Result<(), Box<dyn Error>> {
    let store = folder.join("packages");
    fs::create_dir_all(&store)?;
    checked(Command::new("apt-get").args(["-qq", "download"]).args(DEBIAN_PACKAGES).current_dir(&store))?;
    let swipl = Swipl::unpacked(folder);
    for entry in fs::read_dir(&store)? {
        checked(Command::new("dpkg").arg("-x").arg(entry?.path()).arg(folder.join("swi-prolog")))?;
    }
    // Debian makes this when the package is installed; without it member/2 would not be found.
    checked(swipl.command().args(["-q", "-g", "make_library_index(swi(library))", "-t", "halt"]))
}

fn checked(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let shown = format!("{command:?}");
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("cannot start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_how_to_get_it() {
        let missing = |may_install| found(WITHOUT_SWIPL, may_install, || None::<()>, || Err("no network".into()));
        assert_eq!(missing(false).unwrap_err().to_string(), WITHOUT_SWIPL);
        assert!(missing(true).unwrap_err().to_string().ends_with("(no network)"));
        for (text, suite) in [(WITHOUT_SWIPL, "metta"), (WITHOUT_HYPERON, "metta"), (WITHOUT_DUCKDB, "space")] {
            assert!(text.contains(&format!("`cargo xtask bench {suite} --install`")));
        }
    }
}
