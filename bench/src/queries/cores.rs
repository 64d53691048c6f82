//! Keeping ours to one core while it is compared with a peer that has one thread.
//!
//! A join of ours takes as many threads as the calling thread has cores, and those have its cores. `taskset` of util-linux sets them; it
//! does not change what processes that run already have, so peers are started before.

use std::error::Error;
use std::process::{Command, Stdio};

/// Does some work while this thread has one core, and gives it back the others afterwards.
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

/// The cores that this thread has, such as `0-1,4`.
fn allowed() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/thread-self/status")
        .map_err(|error| format!("cannot read which cores this thread has, which needs Linux: {error}"))?;
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Ok(cores.ok_or("/proc/thread-self/status does not say which cores this thread has")?.trim().to_owned())
}

/// The last one of some cores.
fn last(cores: &str) -> &str {
    cores.rsplit([',', '-']).next().unwrap_or(cores)
}

/// Gives this thread these cores.
fn allow(cores: &str) -> Result<(), Box<dyn Error>> {
    // The link leads to the folder of this thread, whose name is its number.
    let folder = std::fs::read_link("/proc/thread-self")?;
    let thread = folder.file_name().ok_or("/proc/thread-self does not name this thread")?;
    let mut command = Command::new("taskset");
    command.args(["-p", "-c", cores]).arg(thread).stdout(Stdio::null());
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
