//! Metroon compared with peers, round by round.
//!
//! `metroon-bench SUITE --into FOLDER [--quick] [--only PROGRAM] [--install]` runs the cases of a suite and writes
//! `FOLDER/SUITE.json`, and the list of its cases as `FOLDER/SUITE.txt`; `cargo xtask bench` calls it, keeps both and renders the pages. How times are taken is in
//! [`compare`]; each suite is a module with a function from a [`Plan`] to rows, and its line in [`SUITES`].
// Opening LMDB is a function that is unsafe; its module alone allows it.
#![deny(unsafe_code)]

mod cassette;
mod command;
mod compare;
#[cfg(feature = "gpu")]
mod gpu;
mod journal;
mod live;
mod metta;
mod peers;
mod proxy;
mod python;
mod queries;
mod random;
mod reactive;
mod recall;
mod region;
mod row;
mod space;
mod store;
mod worker;

use row::Row;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// How a suite is to be run.
struct Plan {
    /// Fewer rounds and smaller inputs: to see that a suite works, not to compare.
    is_quick: bool,
    /// By how much inputs are smaller than in full.
    divisor: u64,
    /// The one program or part that is run, where a suite consists of them.
    only: Option<String>,
    /// Whether peers that are missing may be fetched into the target folder.
    may_install: bool,
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
        (full / self.divisor).max(1)
    }
}

/// A suite: its cases run in order, and a row comes of each.
#[derive(Clone, Copy)]
struct Suite {
    name: &'static str,
    /// Whether it consists of programs or parts that can be run one at a time.
    has_programs: bool,
    run: fn(&Plan) -> Rows,
}

/// The rows of a suite, or why there are none.
type Rows = Result<Vec<Row>, Box<dyn Error>>;

/// A part of a suite: its name for `--only`, and what makes its rows.
type Part = (&'static str, fn(&Plan) -> Rows);

/// The rows of the parts of a suite that are wanted, in order.
fn rows_of(suite: &str, parts: &[Part], plan: &Plan) -> Rows {
    let is_wanted = |part: &&Part| plan.only.as_deref().is_none_or(|only| only == part.0);
    let wanted: Vec<&Part> = parts.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        let names: Vec<&str> = parts.iter().map(|part| part.0).collect();
        return Err(format!("there is no such part; the parts of {suite} are {}", names.join(", ")).into());
    }
    let rows: Result<Vec<_>, _> = wanted.into_iter().map(|(_, rows)| rows(plan)).collect();
    Ok(rows?.into_iter().flatten().collect())
}

const SUITES: &[Suite] = &[
    Suite { name: "cassette", has_programs: false, run: cassette::run },
    #[cfg(feature = "gpu")]
    Suite { name: "gpu", has_programs: false, run: gpu::run },
    Suite { name: "journal", has_programs: false, run: journal::run },
    Suite { name: "live", has_programs: true, run: live::run },
    Suite { name: "metta", has_programs: true, run: metta::run },
    Suite { name: "proxy", has_programs: true, run: proxy::run },
    Suite { name: "python", has_programs: true, run: python::run },
    Suite { name: "queries", has_programs: true, run: queries::run },
    Suite { name: "reactive", has_programs: true, run: reactive::run },
    Suite { name: "recall", has_programs: true, run: recall::run },
    Suite { name: "region", has_programs: true, run: region::run },
    Suite { name: "space", has_programs: true, run: space::run },
    Suite { name: "store", has_programs: true, run: store::run },
];

/// The parts of the suites `cassette`, `space` and `store` that run in a process of their own, since they measure the memory of the process.
const ALONE: &[Suite] =
    &[Suite { name: space::MEMORY, has_programs: false, run: space::alone }, store::ALONE, cassette::ALONE];

/// The part of the suite `region` that runs in a process with another allocator.
const WITH_MIMALLOC: &[Suite] = &[Suite { name: region::MIMALLOC, has_programs: false, run: region::with_mimalloc }];

const USAGE: &str = "usage: metroon-bench SUITE --into FOLDER [--quick] [--only PROGRAM] [--install]";

/// Runs the suite that the command line names.
pub fn main() -> ExitCode {
    exit(&[SUITES, region::IN_PROCESSES].concat())
}

/// Runs the suite that the command line names in a process whose allocator is mimalloc.
pub fn with_mimalloc() -> ExitCode {
    exit(WITH_MIMALLOC)
}

fn exit(suites: &[Suite]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    // A child that this process starts is told apart by its suite, which nobody else names.
    let is_alone = words.first().is_some_and(|name| ALONE.iter().any(|suite| suite.name == name));
    match run(if is_alone { ALONE } else { suites }, &words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("metroon-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(suites: &[Suite], words: &[String]) -> Result<(), Box<dyn Error>> {
    let (name, words) = words.split_first().ok_or(USAGE)?;
    let suite = suite(suites, name)?;
    let (plan, folder) = plan(words)?;
    if plan.only.is_some() && !suite.has_programs {
        return Err(format!("--only chooses a program or a part, and {name} has none: leave it out").into());
    }
    std::fs::create_dir_all(&plan.scratch)?;
    let rows = (suite.run)(&plan);
    std::fs::remove_dir_all(&plan.scratch)?;
    let rows = rows?;
    std::fs::write(folder.join(format!("{name}.json")), row::json(&rows))?;
    std::fs::write(folder.join(format!("{name}.txt")), row::names(&rows))?;
    Ok(())
}

fn suite<'s>(suites: &'s [Suite], name: &str) -> Result<&'s Suite, String> {
    suites.iter().find(|suite| suite.name == name).ok_or_else(|| {
        let shown = suites.iter().filter(|suite| !region::IN_PROCESSES.iter().any(|part| part.name == suite.name));
        let names: Vec<&str> = shown.map(|suite| suite.name).collect();
        format!("there is no suite {name}; the suites are {}", names.join(", "))
    })
}

/// Reads the words after the suite's name, and gives also the folder for the result.
fn plan(words: &[String]) -> Result<(Plan, PathBuf), &'static str> {
    let mut plan = Plan { is_quick: false, divisor: 1, only: None, may_install: false, scratch: PathBuf::new() };
    let mut words = words.iter().map(String::as_str);
    let mut folder = None;
    while let Some(word) = words.next() {
        match word {
            "--quick" => (plan.is_quick, plan.divisor) = (true, 8),
            "--install" => plan.may_install = true,
            "--only" => plan.only = Some(words.next().ok_or(USAGE)?.to_owned()),
            "--into" => folder = Some(PathBuf::from(words.next().ok_or(USAGE)?)),
            _ => return Err(USAGE),
        }
    }
    let folder = folder.ok_or(USAGE)?;
    // Beside the result and not in the system's folder for temporary files, which may lie in memory.
    plan.scratch = folder.join("scratch");
    Ok((plan, folder))
}
