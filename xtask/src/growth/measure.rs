//! The work of one run: instructions, or seconds of the processor.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::programs::{Evaluator, Program};
use crate::{process, repository};

/// The longest one run may take.
const LIMIT: Duration = Duration::from_secs(240);
/// The most seconds of the processor that a run may take, so that what grows without end is stopped early.
const SECONDS_MAX: u32 = 60;
/// The most bytes of address space, in KiB.
const KIBIBYTES_MAX: u32 = 64 << 20;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counter {
    /// Instructions, by cachegrind: the same in each run, but for a few.
    Instructions,
    /// Seconds of the processor in the mode of users.
    Seconds,
}

/// What came of a run.
pub(super) enum Work {
    Counted(f64),
    /// It was stopped, or ended with another exit status than the program says.
    Ended(String),
}

impl Counter {
    /// Instructions if they can be counted here.
    pub(super) fn best() -> Counter {
        if process::exists("valgrind", "--version") { Counter::Instructions } else { Counter::Seconds }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Counter::Instructions => "millions of instructions",
            Counter::Seconds => "seconds of the processor (valgrind is not installed, or not asked)",
        }
    }

    /// How much more than the usual exponent is let pass.
    pub(super) fn slack(self) -> f64 {
        match self {
            Counter::Instructions => 0.0,
            Counter::Seconds => super::EXPONENT_SLACK,
        }
    }

    /// What can be told from nothing, beside the work of a small run.
    pub(super) fn least_told(self, small: f64) -> f64 {
        match self {
            Counter::Instructions => small / 50.0,
            Counter::Seconds => 0.06_f64.max(small / 10.0),
        }
    }

    pub(super) fn shown(self, work: &[f64; 3]) -> String {
        match self {
            Counter::Instructions => work.map(|work| format!("{:.1}", work / 1e6)).join(", "),
            Counter::Seconds => work.map(|work| format!("{work:.3}")).join(", "),
        }
    }
}

/// The work of a program at a size.
///
/// # Errors
/// The program cannot be started, or its files cannot be written.
pub(super) fn work(
    program: &Program,
    (evaluator, size): (Evaluator, usize),
    counter: Counter,
    (metroon, folder): (&Path, &Path),
) -> Result<Work, String> {
    empty(folder)?;
    program.write(folder, size)?;
    for words in program.preparations() {
        let run = process::bounded(Command::new(metroon).args(&words).current_dir(folder), LIMIT)?;
        if !run.succeeded() {
            return Ok(Work::Ended(format!("`metroon {}`: {}: {}", words.join(" "), run.ending(), run.stderr.trim())));
        }
    }
    let mut command = measured(counter, metroon);
    command.args(program.command(evaluator)).current_dir(folder);
    let run = process::bounded(&mut command, LIMIT)?;
    if run.status.and_then(|status| status.code()) != Some(program.ends) {
        let told = run.stderr.lines().find(|line| !line.is_empty()).unwrap_or("it said nothing");
        return Ok(Work::Ended(format!("{}, not {}: {told}", run.ending(), program.ends)));
    }
    let log = fs::read_to_string(folder.join(LOG)).unwrap_or_default();
    let counted = match counter {
        Counter::Instructions => instructions_in(&log),
        Counter::Seconds => log.trim().parse().ok(),
    };
    counted.map(Work::Counted).ok_or_else(|| format!("{} counted nothing: {log}", command.get_program().display()))
}

/// Where the count is written.
const LOG: &str = "count.log";

/// A command that counts what a program does whose arguments follow.
fn measured(counter: Counter, metroon: &Path) -> Command {
    match counter {
        Counter::Instructions => {
            let mut command = Command::new("valgrind");
            command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
            command.arg(format!("--log-file={LOG}")).arg(metroon);
            command
        }
        Counter::Seconds => {
            let mut command = Command::new("bash");
            let script = format!(
                "ulimit -t {SECONDS_MAX} -v {KIBIBYTES_MAX}; TIMEFORMAT=%3U; {{ time \"$@\" 2>&3; }} 3>&2 2>{LOG}"
            );
            command.args(["-c", &script, "bash"]).arg(metroon);
            command
        }
    }
}

/// The count in what cachegrind writes: `==7== I   refs:      30,450,785`.
fn instructions_in(log: &str) -> Option<f64> {
    let line = log.lines().find(|line| line.contains("refs:"))?;
    let digits: String = line.split_once("refs:")?.1.chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn empty(folder: &Path) -> Result<(), String> {
    let failed = |error| format!("cannot empty {}: {error}", repository::shown(folder));
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(failed)?;
    }
    fs::create_dir_all(folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_cachegrind_is_read() {
        assert_eq!(instructions_in("==7== \n==7== I   refs:      30,450,785\n"), Some(30_450_785.0));
        assert_eq!(instructions_in("==7== \n"), None);
    }
}
