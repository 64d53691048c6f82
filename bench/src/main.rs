//! Mnemon compared with peers, round by round.
//!
//! `mnemon-bench SUITE --into FOLDER [--quick]` runs the cases of a suite and writes `FOLDER/SUITE.json`; `cargo xtask bench`
//! calls it, keeps the runs and renders the table. How times are taken is in [`compare`]; each suite is a module with a
//! function from a [`Plan`] to rows, and its line in [`SUITES`].
#![forbid(unsafe_code)]

mod compare;
mod journal;
mod recall;
mod row;

use row::Row;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How a suite is to be run.
struct Plan {
    /// Fewer rounds and smaller inputs: to see that a suite works, not to compare.
    is_quick: bool,
    /// A folder for whatever cases write. It is gone when the suite ends.
    scratch: PathBuf,
}

impl Plan {
    /// How many rounds to take where `full` are due.
    fn rounds(&self, full: usize) -> usize {
        if self.is_quick { full.min(2) } else { full }
    }

    /// How many operations to do where `full` are due.
    fn scaled(&self, full: u64) -> u64 {
        if self.is_quick { (full / 8).max(1) } else { full }
    }
}

/// A suite: its cases run in order, and a row comes of each.
struct Suite {
    name: &'static str,
    run: fn(&Plan) -> Rows,
}

/// The rows of a suite, or why there are none.
type Rows = Result<Vec<Row>, Box<dyn Error>>;

const SUITES: &[Suite] = &[Suite { name: "journal", run: journal::run }, Suite { name: "recall", run: recall::run }];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mnemon-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<(), Box<dyn Error>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (name, folder, is_quick) = match words[..] {
        [name, "--into", folder] => (name, folder, false),
        [name, "--into", folder, "--quick"] => (name, folder, true),
        _ => return Err("usage: mnemon-bench SUITE --into FOLDER [--quick]".into()),
    };
    let Some(suite) = SUITES.iter().find(|suite| suite.name == name) else {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        return Err(format!("there is no suite {name}; the suites are {}", names.join(", ")).into());
    };
    let folder = Path::new(folder);
    // Beside the result and not in the system's folder for temporary files, which may lie in memory.
    let plan = Plan { is_quick, scratch: folder.join("scratch") };
    std::fs::create_dir_all(&plan.scratch)?;
    let rows = (suite.run)(&plan);
    std::fs::remove_dir_all(&plan.scratch)?;
    std::fs::write(folder.join(format!("{name}.json")), row::json(&rows?))?;
    Ok(())
}
