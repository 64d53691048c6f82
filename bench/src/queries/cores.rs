//! Keeping this process to one core while it is compared with a peer that has one thread.
//!
//! A join of ours takes as many threads as the process has cores. `taskset` of util-linux sets those; it does not change what
//! processes that run already have, so peers are started before.

use std::error::Error;
use std::process::{Command, Stdio};

/// Does some work while this process has one core, and gives it back the others afterwards.
///
/// # Errors
/// The work failed, or the cores could not be set.
pub(super) fn on_one_core<T>(work: impl FnOnce() -> Result<T, Box<dyn Error>>) -> Result<T, Box<dyn Error>> {
    let all = allowed()?;
    allow(last(&all))?;
    let done = work();
    allow(&all)?;
    done
}

/// The cores that this process has, such as `0-1,4`.
fn allowed() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| format!("cannot read which cores this process has, which needs Linux: {error}"))?;
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(cores.ok_or("/proc/self/status does not say which cores this process has")?.trim().to_owned())
}

/// The last one of some cores.
fn last(cores: &str) -> &str {
    cores.rsplit([',', '-']).next().unwrap_or(cores)
}

/// Gives all threads of this process these cores.
fn allow(cores: &str) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new("taskset");
    command.args(["-a", "-p", "-c", cores, &std::process::id().to_string()]).stdout(Stdio::null());
    let status = command.status().map_err(|error| format!("cannot start taskset; install util-linux: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_core_for_a_while() {
        let before = allowed().unwrap();
        let during = on_one_core(|| Ok((allowed()?, std::thread::available_parallelism()?.get()))).unwrap();
        assert_eq!(during, (last(&before).to_owned(), 1));
        assert_eq!(allowed().unwrap(), before);
        assert_eq!([last("0-1,4"), last("0-7"), last("3")], ["4", "7", "3"]);
    }
}
