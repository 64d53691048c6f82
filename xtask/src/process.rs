//! Starting other programs: with a bound on their time and their output kept, or shown as they run.
//!
//! A bounded run never waits longer than its limit: the child is killed at the limit, and what it printed until then
//! is returned. Output beyond [`OUTPUT_BYTES_MAX`] is read and dropped, so a child that floods cannot fill memory.

use std::ffi::OsString;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The most bytes kept of each of a child's two streams.
const OUTPUT_BYTES_MAX: usize = 64 << 20;
/// How often a running child is looked at.
const POLL: Duration = Duration::from_millis(5);

/// What a bounded run left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    /// `None` if the child was killed at the limit.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed: Duration,
}

impl Finished {
    pub(crate) fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// How it ended, in words for a message.
    pub(crate) fn ending(&self) -> String {
        match self.status {
            None => format!("stopped after {:.0} s", self.elapsed.as_secs_f64()),
            Some(status) => status.to_string(),
        }
    }
}

/// Runs `command` to its end or to `limit`, whichever comes first, with no input.
///
/// # Errors
/// The program cannot be started; the message names it.
pub(crate) fn bounded(command: &mut Command, limit: Duration) -> Result<Finished, String> {
    let started = Instant::now();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| cannot_start(command, &error))?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait(&mut child, started, limit)?;
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr), elapsed: started.elapsed() })
}

/// Runs `command` with its output shown as it comes; true if it succeeded.
///
/// # Errors
/// The program cannot be started; the message names it.
pub(crate) fn shown(command: &mut Command) -> Result<bool, String> {
    let status = command.stdin(Stdio::null()).status().map_err(|error| cannot_start(command, &error))?;
    Ok(status.success())
}

/// A `cargo` command of the same toolchain as this one.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.args(arguments);
    command
}

/// Whether `program` can be started at all (with `argument`, which must do no harm).
pub(crate) fn exists(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    bounded(command.arg(argument), Duration::from_secs(20)).is_ok_and(|finished| finished.succeeded())
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start {}: {error}", command.get_program().to_string_lossy())
}

fn collect(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut block = [0_u8; 1 << 14];
        let Some(mut stream) = stream else {
            return kept;
        };
        while let Ok(count @ 1..) = stream.read(&mut block) {
            let room = OUTPUT_BYTES_MAX.saturating_sub(kept.len());
            kept.extend_from_slice(&block[..count.min(room)]);
        }
        kept
    })
}

fn text(reader: thread::JoinHandle<Vec<u8>>) -> String {
    let bytes = reader.join().expect("a reader of child output does not panic");
    String::from_utf8_lossy(&bytes).into_owned()
}

fn wait(child: &mut Child, started: Instant, limit: Duration) -> Result<Option<ExitStatus>, String> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Some(status)),
            Ok(None) if started.elapsed() >= limit => break,
            Ok(None) => thread::sleep(POLL),
            Err(error) => return Err(format!("cannot wait for a child: {error}")),
        }
    }
    // It may have ended by itself just now; killing it then is an error that changes nothing.
    let _ = child.kill();
    child.wait().map_err(|error| format!("cannot wait for a child: {error}"))?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_are_kept() {
        let finished = bounded(&mut shell("echo out; echo err >&2; exit 3"), Duration::from_secs(20)).unwrap();
        assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(finished.status.and_then(|status| status.code()), Some(3));
        assert!(!finished.succeeded());
    }

    #[test]
    fn a_child_is_stopped_at_its_limit_and_keeps_what_it_said() {
        let finished = bounded(&mut shell("echo early; exec sleep 60"), Duration::from_millis(300)).unwrap();
        assert_eq!(finished.status, None);
        assert_eq!(finished.stdout, "early\n");
        assert!(finished.elapsed < Duration::from_secs(30));
        assert!(finished.ending().starts_with("stopped after"));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = bounded(&mut Command::new("no-such-program-here"), Duration::from_secs(1)).unwrap_err();
        assert!(error.starts_with("cannot start no-such-program-here"), "{error}");
        assert!(!exists("no-such-program-here", "--version"));
    }
}
