//! The report's loops in C: a program that calls the header, beside malloc or mimalloc in the same program.
//!
//! The program, `bench/programs/region/loops.c`, does the rounds by itself and prints a line for each. It is built here, once for
//! each allocator, with the library as its users build it. An arena of bumpalo cannot be had in C without calls that C does not
//! inline, so it has no row here.

use super::{Failure, ROUNDS, SUITE};
use crate::compare::{self, Case};
use crate::{Plan, Rows, command};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The part of rows in C.
pub(super) const NAME: &str = "c";
const PROGRAM: &str = "bench/programs/region/loops.c";
const HEADER: &str = "libraries/region-c/include";
const LIMIT: Duration = Duration::from_secs(300);

/// The rows: their names in the program, and whether the other side has an allocator.
const NAMES: [(&str, bool); 7] = [
    ("from C: open, 1 pair, close", true),
    ("from C: open, 10 pairs, close", true),
    ("from C: a pair of 1,000 in a region", true),
    ("from C: open, a boxed integer, close", true),
    ("from C, by calls: open, a boxed integer, close", true),
    ("from C: a look into a map of 1,000", false),
    ("from C, by calls: a look into a map of 1,000", false),
];
const TABLE: &str = "a table in C, made for integers";
const ALLOCATED: &str = "both sides are in one program in C; each object is read before it is freed";
const LOOKED_UP: &str = "both sides are in one program in C; the table of the other side knows one kind of keys and has no order, the map knows all kinds";

/// The allocator of the other side: its name, and the arguments that the compiler gets for it.
struct Allocator {
    name: &'static str,
    defined: &'static [&'static str],
    library: Option<PathBuf>,
}

pub(super) fn rows(plan: &Plan) -> Rows {
    let system = Allocator { name: "malloc and free in C", defined: &[], library: None };
    let mimalloc =
        Allocator { name: "mimalloc in C", defined: &["-DWITH_MIMALLOC"], library: Some(mimalloc_library()?) };
    let library = library()?;
    let mut rows = Vec::new();
    for allocator in [system, mimalloc] {
        let program = built(plan, &allocator, &library)?;
        let (rounds, divisor) = (plan.rounds(ROUNDS).to_string(), plan.divisor.to_string());
        let finished = command::bounded(Command::new(program).args([rounds, divisor]), LIMIT)?;
        let printed = finished.ok_or("the loops in C took longer than five minutes")?.stdout;
        rows.extend(read(&printed, allocator.name, allocator.library.is_none())?);
    }
    Ok(rows)
}

/// Builds the library for C and says where the static one is.
fn library() -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--release", "--quiet", "--package", "metroon-region-c"];
    if !Command::new(cargo).args(words).status()?.success() {
        return Err("the region library for C does not build".into());
    }
    Ok(command::target().join("release/libmetroon_region.a"))
}

/// The library that the crate `mimalloc`, which this program has, was built with.
fn mimalloc_library() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?;
    let built = program.with_file_name("build");
    for entry in std::fs::read_dir(&built)? {
        let path = entry?.path();
        let is_it = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libmimalloc-sys-"));
        let library = path.join("out/libmimalloc.a");
        if is_it && library.is_file() {
            return Ok(library);
        }
    }
    Err(format!("no libmimalloc.a in {}; build the bench anew", built.display()).into())
}

fn built(plan: &Plan, allocator: &Allocator, library: &Path) -> Result<PathBuf, Failure> {
    let program = plan.scratch.join(allocator.name.replace(' ', "-"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-O2", "-I", HEADER]).args(allocator.defined);
    compiler.arg(PROGRAM).arg(library).args(&allocator.library).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    let status = compiler.status().map_err(|error| format!("cannot start cc, a compiler of C: {error}"))?;
    if status.success() { Ok(program) } else { Err(format!("{compiler:?}: {status}").into()) }
}

/// Makes rows of what the program printed; those that allocate nothing only once.
fn read(printed: &str, allocator: &'static str, has_all: bool) -> Rows {
    let mut rows = Vec::new();
    for (name, allocates) in NAMES {
        if !allocates && !has_all {
            continue;
        }
        let (mut n, mut times) = (0, (Vec::new(), Vec::new()));
        for line in printed.lines() {
            let [of, operations, ours, theirs] = line.split('\t').collect::<Vec<_>>()[..] else {
                return Err(format!("the loops in C printed `{line}`").into());
            };
            if of == name {
                n = operations.parse()?;
                times.0.push(ours.parse::<f64>()?);
                times.1.push(theirs.parse::<f64>()?);
            }
        }
        if times.0.is_empty() {
            return Err(format!("the loops in C printed nothing of `{name}`").into());
        }
        let (peer, note) = if allocates { (allocator, ALLOCATED) } else { (TABLE, LOOKED_UP) };
        let case = Case { suite: SUITE, name: name.to_owned(), n, peer, rounds: times.0.len(), note: note.to_owned() };
        rows.push(compare::row(case, times));
    }
    Ok(rows)
}

/// Rows as the program would give them, for the list of names.
#[cfg(test)]
pub(super) fn rows_of_lines() -> Rows {
    let printed: String = NAMES.iter().map(|(name, _)| format!("{name}\t10\t20\t40\n")).collect();
    let mut rows = read(&printed, "malloc and free in C", true)?;
    rows.extend(read(&printed, "mimalloc in C", false)?);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_has_all_rows() {
        let program = include_str!("../../programs/region/loops.c");
        for (name, _) in NAMES {
            assert!(program.contains(&format!("{{\"{name}\", ")), "{name}");
        }
        assert_eq!(program.matches("{\"from C").count(), NAMES.len());
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(read("", "malloc", true).is_err_and(|error| error.to_string().contains("open, 1 pair, close")));
        assert!(read("a\tb", "malloc", true).is_err());
    }
}
