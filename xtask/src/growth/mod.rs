//! How the work of programs grows with their size: `cargo xtask growth`.
//!
//! 1. Each program of `xtask/growth/programs.toml` runs at three sizes: n, 2n and 4n ([`programs`]).
//! 2. The work of each run is counted: instructions under valgrind's cachegrind if that is installed, else seconds of the processor in the
//!    mode of users ([`measure`]).
//! 3. What a run takes whatever the size falls out of the *exponent*: the binary logarithm of how much more the step from 2n to 4n
//!    adds than the one from n to 2n. It is 1 if the work is a multiple of the size, and 2 if it is one of its square.
//! 4. A program may have an exponent of at most [`EXPONENT_MAX`], or what it is listed with, together with the reason. One that is known to
//!    grow faster and is not mended yet says so; once it is mended it fails until that is taken out.

mod measure;
mod programs;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{Outcome, conformance, repository};
use measure::{Counter, Work};
use programs::{Evaluator, Program};

/// Run small programs at n, 2n and 4n, and say how their work grows
#[derive(Debug, clap::Args)]
#[command(
    after_help = "xtask/growth/programs.toml has the programs. The work is counted in instructions if valgrind is installed, else in\n\
                        seconds of the processor, which are less exact: what grows too fast then is measured again before it is said."
)]
pub(crate) struct Flags {
    /// Only programs whose names hold this
    name: Option<String>,
    /// Only those that take little time
    #[arg(long)]
    fast: bool,
    /// Count seconds of the processor even if valgrind is installed
    #[arg(long)]
    seconds: bool,
    /// The program, instead of a release build
    #[arg(long, value_name = "PATH")]
    metroon: Option<PathBuf>,
}

/// The exponent of the size up to which work may grow: sorting and the logarithms of tables have room in it.
const EXPONENT_MAX: f64 = 1.2;
/// How often a program is measured before it is said that it grows too fast, if seconds are counted.
const TRIALS: usize = 4;
/// A program that takes fewer seconds than this is measured at a greater size, up to this many times its own.
const SECONDS_LEAST: f64 = 0.05;
const SCALE_MAX: usize = 64;
/// Seconds vary: a little more is let pass, since what grows with the square of the size is far beyond.
const EXPONENT_SLACK: f64 = 0.3;

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let metroon = match &flags.metroon {
        Some(path) => std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?,
        None => conformance::build()?,
    };
    let counter = if flags.seconds { Counter::Seconds } else { Counter::best() };
    let is_asked = |program: &Program| {
        let has_name = flags.name.as_ref().is_none_or(|name| program.name.contains(name.as_str()));
        has_name && (program.fast || !flags.fast)
    };
    check(&metroon, counter, is_asked)
}

fn check(metroon: &Path, counter: Counter, is_asked: impl Fn(&Program) -> bool) -> Result<Outcome, String> {
    println!("counted are {}", counter.unit());
    let programs: Vec<Program> = programs::read()?.into_iter().filter(is_asked).collect();
    let asked: Vec<(&Program, Evaluator)> = programs
        .iter()
        .flat_map(|program| program.evaluators().into_iter().map(move |found| (program, found)))
        .collect();
    if asked.is_empty() {
        return Err("no program has such a name: xtask/growth/programs.toml lists them".to_owned());
    }
    // Instructions are the same whatever else a machine does; seconds are not.
    let threads = match counter {
        Counter::Instructions => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        Counter::Seconds => 1,
    };
    let next = AtomicUsize::new(0);
    let judge_some = || {
        let mut bad = 0;
        while let Some(&(program, evaluator)) = asked.get(next.fetch_add(1, Ordering::Relaxed)) {
            let verdict = judge(program, evaluator, counter, metroon)?;
            println!("{verdict}");
            bad += usize::from(!verdict.is_good());
        }
        Ok::<usize, String>(bad)
    };
    let found: Result<Vec<usize>, String> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(judge_some)).collect();
        started.into_iter().map(|thread| thread.join().expect("no panic in a thread that measures")).collect()
    });
    let (measured, bad) = (asked.len(), found?.into_iter().sum::<usize>());
    println!("{measured} measured, {bad} grow too fast");
    Ok(if bad == 0 { Outcome::Good } else { Outcome::Bad })
}

/// What came of one program in one evaluator.
struct Verdict<'a> {
    program: &'a Program,
    evaluator: Evaluator,
    counter: Counter,
    /// The first size.
    size: usize,
    growth: Growth,
}

/// How work grows.
#[derive(Clone, Debug, PartialEq)]
enum Growth {
    /// What a run takes whatever the size hides the rest.
    Flat([f64; 3]),
    /// The work at each size, and the exponent.
    Exponent([f64; 3], f64),
    /// A run was stopped, or did not end as the program says.
    Ended(String),
}

impl Verdict<'_> {
    /// Whether it is as the table says. What is mended is taken off the list of what is not.
    fn is_good(&self) -> bool {
        self.is_within() != self.program.unmended.is_some()
    }

    fn is_within(&self) -> bool {
        match self.growth {
            Growth::Flat(_) => true,
            Growth::Exponent(_, exponent) => {
                exponent <= self.program.listed(self.evaluator).unwrap_or(EXPONENT_MAX) + self.counter.slack()
            }
            Growth::Ended(_) => false,
        }
    }
}

impl std::fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Program { name, reason, unmended, .. } = self.program;
        let is_listed = self.program.listed(self.evaluator).is_some();
        let (word, reason) = match (self.is_good(), unmended) {
            (true, Some(unmended)) => ("known", Some(unmended)),
            (true, None) if is_listed => ("listed", reason.as_ref()),
            (true, None) => ("good", None),
            (false, Some(_)) => ("MENDED", None),
            (false, None) => ("BAD", None),
        };
        let (exponent, work) = match &self.growth {
            Growth::Flat(work) => ("flat".to_owned(), self.counter.shown(work)),
            Growth::Exponent(work, exponent) => (format!("{exponent:.2}"), self.counter.shown(work)),
            Growth::Ended(how) => ("-".to_owned(), how.clone()),
        };
        write!(f, "{word:<7}{exponent:>6}  {name} (n = {}, {}): {work}", self.size, self.evaluator.name())?;
        reason.map_or(Ok(()), |reason| write!(f, "; {reason}"))
    }
}

fn judge<'a>(
    program: &'a Program,
    evaluator: Evaluator,
    counter: Counter,
    metroon: &Path,
) -> Result<Verdict<'a>, String> {
    let folder = repository::target().join("growth").join(format!("{}-{}", program.name, evaluator.name()));
    let work = |size: usize| measure::work(program, (evaluator, size), counter, (metroon, &folder));
    let verdict = |size, growth| Verdict { program, evaluator, counter, size, growth };
    let mut size = program.size;
    while counter == Counter::Seconds && size < SCALE_MAX * program.size {
        match work(size)? {
            Work::Counted(seconds) if seconds < SECONDS_LEAST => size *= 2,
            _ => break,
        }
    }
    let mut least = [f64::INFINITY; 3];
    let trials = if counter == Counter::Seconds { TRIALS } else { 1 };
    for trial in 1..=trials {
        for (least, size) in least.iter_mut().zip([1, 2, 4].map(|times| times * size)) {
            match work(size)? {
                Work::Counted(found) => *least = least.min(found),
                Work::Ended(how) => return Ok(verdict(size, Growth::Ended(format!("at {size}: {how}")))),
            }
        }
        let found = verdict(size, growth_of(least, counter));
        if found.is_good() || trial == trials {
            return Ok(found);
        }
    }
    unreachable!("there is a last trial")
}

fn growth_of(work: [f64; 3], counter: Counter) -> Growth {
    let (first, second) = (work[1] - work[0], work[2] - work[1]);
    let least = counter.least_told(work[0]);
    if second < least {
        return Growth::Flat(work);
    }
    // What cannot be told from nothing counts as just that: so growth that begins late is seen.
    Growth::Exponent(work, (second / first.max(least / 4.0)).log2())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponent(work: [f64; 3]) -> Option<f64> {
        match growth_of(work, Counter::Seconds) {
            Growth::Exponent(_, exponent) => Some(exponent),
            _ => None,
        }
    }

    #[test]
    fn what_a_run_takes_in_any_case_falls_out_of_the_exponent() {
        let about = |found: Option<f64>, wanted: f64| found.is_some_and(|found| (found - wanted).abs() < 0.01);
        assert!(about(exponent([7.0 + 1.0, 7.0 + 2.0, 7.0 + 4.0]), 1.0));
        assert!(about(exponent([7.0 + 1.0, 7.0 + 4.0, 7.0 + 16.0]), 2.0));
        assert!(about(exponent([1.0, 8.0, 64.0]), 3.0));
        assert_eq!(exponent([7.0, 7.0, 7.001]), None);
        assert!(exponent([7.0, 7.0, 9.0]).is_some_and(|found| found > 3.0), "it begins late");
    }

    #[test]
    fn the_programs_are_read_and_each_exception_has_a_reason() {
        let programs = programs::read().unwrap();
        assert!(programs.len() >= 60, "{}", programs.len());
        for program in &programs {
            let is_listed = program.evaluators().into_iter().any(|evaluator| program.listed(evaluator).is_some());
            assert_eq!(is_listed, program.reason.is_some(), "{}", program.name);
        }
        let mut names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), programs.len(), "names are told apart");
    }
}
