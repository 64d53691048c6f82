//! A driver for Vulkan. Mesa's `llvmpipe` is one for any machine: the processor does the work of a GPU.

use crate::process;
use std::path::Path;
use std::process::Command;

/// Where the system lists its drivers, and the variables that name others.
const LISTS: [&str; 3] = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
const VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
const PACKAGE: &str = "mesa-vulkan-drivers";

/// Finds a driver. The package of the system that has one is installed only on a machine of continuous integration, which `installs` says.
///
/// # Errors
/// There is none; the message says what has one.
pub(crate) fn prepare(installs: bool) -> Result<(), String> {
    if is_there() {
        return Ok(());
    }
    if installs && process::exists("apt-get", "--version") {
        for words in [&["update", "-qq"][..], &["install", "-qq", "--yes", "--no-install-recommends", PACKAGE]] {
            process::shown(Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive"))?;
        }
    }
    let missing = || format!("no driver for Vulkan is there: the package {PACKAGE} of Debian has one for any machine");
    if is_there() { Ok(()) } else { Err(missing()) }
}

fn is_there() -> bool {
    let is_listed = |folder: &&str| std::fs::read_dir(Path::new(folder)).is_ok_and(|mut files| files.next().is_some());
    VARIABLES.iter().any(|name| std::env::var_os(name).is_some()) || LISTS.iter().any(is_listed)
}
