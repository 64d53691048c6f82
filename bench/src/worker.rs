//! A peer in a process of its own, which is told what to do and measures itself.

use crate::compare::Timed;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A process that takes commands, a line each, and answers each with nanoseconds and a checksum.
pub(crate) struct Worker {
    process: Child,
    /// Gone when the process is told to end.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        let shown = format!("{command:?}");
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = started.map_err(|error| format!("cannot start {shown}: {error}"))?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().ok_or("the standard output was asked for")?);
        Ok(Self { process, input, output })
    }

    /// Does what a line says.
    pub(crate) fn ask(&mut self, line: &str) -> Result<Timed, Box<dyn Error>> {
        let input = self.input.as_mut().ok_or("the process was told to end")?;
        writeln!(input, "{line}")?;
        input.flush()?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        let numbers =
            answer.split_once(' ').and_then(|(left, right)| Some((left.parse().ok()?, right.trim_end().parse().ok()?)));
        let Some((nanoseconds, checksum)) = numbers else {
            return Err(format!("a peer answered {answer:?} to {line:?}").into());
        };
        Ok(Timed { elapsed: Duration::from_nanos(nanoseconds), checksum })
    }

    /// The bytes of memory that the process has in use, where the system says so.
    pub(crate) fn memory(&self) -> Result<u64, Box<dyn Error>> {
        memory_of(&self.process.id().to_string())
    }

    /// The most bytes of memory that the process has had in use.
    pub(crate) fn peak(&self) -> Result<u64, Box<dyn Error>> {
        peak_of(&self.process.id().to_string())
    }
}

/// The bytes of memory that a process has in use; `self` is this one.
pub(crate) fn memory_of(process: &str) -> Result<u64, Box<dyn Error>> {
    memory_by(process, "VmRSS:")
}

/// The most bytes of memory that a process has had in use.
pub(crate) fn peak_of(process: &str) -> Result<u64, Box<dyn Error>> {
    memory_by(process, "VmHWM:")
}

fn memory_by(process: &str, name: &str) -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no memory in use is known")?;
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes << 10)
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Its input ends, and so does it; what it says about that is of no interest any more.
        self.input = None;
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_answers_line_by_line() {
        let mut command = Command::new("sh");
        command.args(["-c", "while read number; do echo 5 $number; done"]);
        let mut worker = Worker::start(&mut command).unwrap();
        for number in [7, 8] {
            let timed = worker.ask(&number.to_string()).unwrap();
            assert_eq!((timed.elapsed.as_nanos(), timed.checksum), (5, number));
        }
        assert!(worker.ask("nothing").is_err());
        assert!(worker.memory().is_err() || worker.memory().unwrap() > 0);
    }
}
