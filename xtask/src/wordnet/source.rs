//! Where the WordNet dictionary comes from.
//!
//! In order: a folder the caller names; `/usr/share/wordnet`, where Debian's package `wordnet-base` puts it; the package
//! itself, downloaded and unpacked below the target folder. The last needs no rights and installs nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::{process, repository};

/// What may be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetch {
    Nothing,
    /// The package, by the system's own package lists.
    Package,
    /// Also the lists, into the target folder, if the system has none.
    WithLists,
}

const SYSTEM: &str = "/usr/share/wordnet";
const PACKAGE: &str = "wordnet-base";
const LIMIT: Duration = Duration::from_secs(300);

/// What can be done by hand.
const BY_HAND: &str = "WordNet 3.0 is missing. To get it: `cargo xtask wordnet --install` downloads Debian's package \
    wordnet-base into the target folder (needs apt-get and dpkg, installs nothing); or install that package; or unpack \
    WordNet 3.0 anywhere and run `cargo xtask wordnet --dict DIR` with the folder that holds data.noun";

/// Checks a folder named by the caller.
pub(super) fn given(folder: &Path) -> Result<PathBuf, String> {
    if holds_dictionary(folder) {
        return Ok(folder.to_path_buf());
    }
    Err(format!("{} holds no data.noun: give the folder with WordNet's data.* and index.* files", folder.display()))
}

/// Finds the dictionary, or gets it as far as `fetch` allows.
///
/// # Errors
/// What is missing and how to get it.
pub(super) fn find(fetch: Fetch) -> Result<PathBuf, String> {
    let store = repository::target().join("wordnet");
    let unpacked = store.join("package").join(SYSTEM.trim_start_matches('/'));
    if let Some(folder) = [Path::new(SYSTEM), &unpacked].into_iter().find(|folder| holds_dictionary(folder)) {
        return Ok(folder.to_path_buf());
    }
    if fetch == Fetch::Nothing {
        return Err(BY_HAND.to_owned());
    }
    download(&store, fetch).map_err(|reason| format!("{BY_HAND}. ({reason})"))?;
    given(&unpacked)
}

fn holds_dictionary(folder: &Path) -> bool {
    super::database::FILES.iter().all(|file| folder.join(file).is_file())
}

/// Gets the package into `store` and unpacks it into `store/package`.
fn download(store: &Path, fetch: Fetch) -> Result<(), String> {
    let missing: Vec<&str> =
        ["apt-get", "dpkg"].into_iter().filter(|tool| !process::exists(tool, "--version")).collect();
    if !missing.is_empty() {
        return Err(format!("{} cannot be started here", missing.join(" and ")));
    }
    make(store)?;
    println!("downloading Debian's package {PACKAGE} into {}", repository::shown(store));
    let mut tried = apt(store, &[], &["download", PACKAGE]);
    if tried.is_err() && fetch == Fetch::WithLists {
        println!("no package list knows {PACKAGE}: fetching the lists into {}", repository::shown(store));
        let options = own_lists(store)?;
        apt(store, &options, &["update"])?;
        tried = apt(store, &options, &["download", PACKAGE]);
    }
    tried?;
    let package = downloaded(store).ok_or("apt-get ended well but left no package")?;
    let mut dpkg = Command::new("dpkg");
    checked(dpkg.arg("-x").arg(package).arg(store.join("package")), "dpkg -x")
}

fn make(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))
}

/// Options that keep apt's lists and cache in `store`, so that fetching them needs no rights and changes no system.
fn own_lists(store: &Path) -> Result<Vec<String>, String> {
    let apt = store.join("apt");
    make(&apt.join("lists/partial"))?;
    make(&apt.join("archives/partial"))?;
    let settings = [
        ("Dir::State::lists", apt.join("lists")),
        ("Dir::Cache", apt.clone()),
        ("Dir::Cache::archives", apt.join("archives")),
    ];
    Ok(settings.iter().flat_map(|(name, path)| ["-o".to_owned(), format!("{name}={}", path.display())]).collect())
}

fn apt(store: &Path, options: &[String], words: &[&str]) -> Result<(), String> {
    let mut apt = Command::new("apt-get");
    apt.current_dir(store).arg("-qq").args(options).args(words);
    checked(&mut apt, &format!("apt-get {}", words.join(" ")))
}

fn checked(command: &mut Command, name: &str) -> Result<(), String> {
    let finished = process::bounded(command, LIMIT)?;
    if finished.succeeded() {
        return Ok(());
    }
    let said = finished.stderr.lines().next().unwrap_or("it said nothing");
    Err(format!("`{name}` failed, {}: {said}", finished.ending()))
}

/// The package file in `store`; the last by name if there are several.
fn downloaded(store: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(store).ok()?;
    let names = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_package = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "deb")
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PACKAGE))
    };
    names.filter(is_package).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_dictionary_is_refused_with_the_next_step() {
        let error = given(Path::new("no-such-folder")).unwrap_err();
        assert_eq!(error, "no-such-folder holds no data.noun: give the folder with WordNet's data.* and index.* files");
    }

    #[test]
    fn what_is_missing_comes_with_how_to_get_it() {
        for way in ["--install", "wordnet-base", "--dict DIR"] {
            assert!(BY_HAND.contains(way));
        }
    }
}
