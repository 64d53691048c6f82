//! The command that is compared, and processes that may take too long.

use crate::worker::peak_of;
use std::error::Error;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Cargo's target folder of the root, where all that is built or fetched goes.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from)
}

/// Builds the command `metroon` with a profile, `release` or `dist`, and says where it is.
pub(crate) fn build(profile: &str) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["build", "--profile", profile, "--quiet", "--package", "metroon-cli"];
    if !Command::new(cargo).args(words).status()?.success() {
        return Err("the command does not build".into());
    }
    Ok(target().join(profile).join("metroon").canonicalize()?)
}

/// The most bytes of memory that a process had in use, up to some milliseconds before its end; it must end well.
pub(crate) fn peak_of_run(command: &mut Command) -> Result<u64, Box<dyn Error>> {
    const PAUSE: Duration = Duration::from_millis(2);
    let shown = format!("{command:?}");
    let started = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {shown}: {error}"))?;
    let process = child.id().to_string();
    let mut peak = 0;
    loop {
        // While it ends there is nothing to read any more.
        peak = peak_of(&process).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(peak) } else { Err(format!("{shown}: {status}").into()) };
        }
        thread::sleep(PAUSE);
    }
}

/// A process that ended well.
pub(crate) struct Finished {
    /// From before it was started until it was gone.
    pub(crate) elapsed: Duration,
    pub(crate) stdout: String,
}

/// Runs a process to its end; nothing, if it had to be killed at the limit. Its errors are shown as they come.
pub(crate) fn bounded(command: &mut Command, limit: Duration) -> Result<Option<Finished>, Box<dyn Error>> {
    let shown = format!("{command:?}");
    let began = Instant::now();
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("cannot start {shown}: {error}"))?;
    let mut stdout = child.stdout.take().ok_or("the standard output was asked for")?;
    let (sender, receiver) = mpsc::channel();
    // Waiting for the end of its output wakes at once; looking now and then would blur the times.
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.read_to_end(&mut bytes).map(|_| bytes);
        // Nobody listens any more if the limit was reached.
        let _ = sender.send(read);
    });
    let Ok(read) = receiver.recv_timeout(limit) else {
        child.kill()?;
        child.wait()?;
        return Ok(None);
    };
    let status = child.wait()?;
    let elapsed = began.elapsed();
    if !status.success() {
        return Err(format!("{shown}: {status}").into());
    }
    Ok(Some(Finished { elapsed, stdout: String::from_utf8(read?)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Result<Option<Finished>, Box<dyn Error>> {
        bounded(Command::new("sh").args(["-c", script]), limit)
    }

    #[test]
    fn a_process_ends_by_itself_or_at_the_limit() {
        let limit = Duration::from_secs(30);
        assert_eq!(shell("echo out", limit).unwrap().unwrap().stdout, "out\n");
        assert!(shell("exit 3", limit).is_err_and(|error| error.to_string().ends_with("exit status: 3")));
        assert!(shell("exec sleep 60", Duration::from_millis(100)).unwrap().is_none());
    }
}
