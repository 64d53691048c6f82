//! The files of the repository, as text, by path.
//!
//! Git lists them (tracked, or new and not ignored). In a copy without git the folder is walked instead, leaving out
//! what the root's `.gitignore` names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::rust::Source;
use crate::process;

/// Files larger than this are listed without their text; no rule reads data.
const TEXT_BYTES_MAX: u64 = 4 << 20;
const LISTING_LIMIT: Duration = Duration::from_secs(60);

/// Paths are relative to the root and use `/`.
#[derive(Default)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
    /// The Rust files among them, each read once for all rules.
    sources: BTreeMap<String, Source>,
}

impl Tree {
    /// Reads the repository at `root`.
    ///
    /// # Errors
    /// A folder or file cannot be read; the message names it.
    pub(super) fn read(root: &Path) -> Result<Tree, String> {
        let mut tree = Tree::default();
        for path in listed(root)? {
            let place = root.join(&path);
            let Ok(facts) = fs::symlink_metadata(&place) else {
                continue;
            };
            if facts.is_dir() {
                continue;
            }
            let text = if facts.is_file() && facts.len() <= TEXT_BYTES_MAX {
                let bytes = fs::read(&place).map_err(|error| format!("cannot read {path}: {error}"))?;
                String::from_utf8(bytes).unwrap_or_default()
            } else {
                String::new()
            };
            tree.add(path, text);
        }
        Ok(tree)
    }

    fn add(&mut self, path: String, text: String) {
        if path.ends_with(".rs") {
            self.sources.insert(path.clone(), Source::read(&text));
        }
        self.files.insert(path, text);
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files whose path starts with `prefix` and ends with `suffix`.
    pub(super) fn under<'a>(&'a self, prefix: &'a str, suffix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.iter().filter(move |(path, _)| path.starts_with(prefix) && path.ends_with(suffix))
    }

    /// The Rust files.
    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &Source)> {
        self.sources.iter().map(|(path, source)| (path.as_str(), source))
    }

    /// The Rust file of this path.
    pub(super) fn source(&self, path: &str) -> Option<&Source> {
        self.sources.get(path)
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether a file or a folder of this path is there.
    pub(super) fn holds(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// The folders directly below `folder`, by name.
    pub(super) fn folders(&self, folder: &str) -> Vec<&str> {
        let prefix = format!("{folder}/");
        let inside = self.files.keys().filter_map(|path| path.strip_prefix(&prefix));
        let mut names: Vec<&str> = inside.filter_map(|rest| rest.split_once('/')).map(|(name, _)| name).collect();
        names.dedup();
        names
    }

    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        files.iter().for_each(|(path, text)| tree.add((*path).to_owned(), (*text).to_owned()));
        tree
    }
}

fn listed(root: &Path) -> Result<Vec<String>, String> {
    let mut git = Command::new("git");
    git.current_dir(root).args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    if let Ok(finished) = process::bounded(&mut git, LISTING_LIMIT)
        && finished.succeeded()
    {
        return Ok(finished.stdout.split_terminator('\0').map(str::to_owned).collect());
    }
    let ignored = fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
    let ignored: Vec<&str> = ignored.lines().map(|line| line.trim_matches('/')).collect();
    let mut paths = Vec::new();
    walk(root, "", &ignored, &mut paths)?;
    Ok(paths)
}

fn walk(root: &Path, folder: &str, ignored: &[&str], paths: &mut Vec<String>) -> Result<(), String> {
    let cannot_read = |error| format!("cannot read the folder {}: {error}", root.join(folder).display());
    for entry in fs::read_dir(root.join(folder)).map_err(cannot_read)? {
        let entry = entry.map_err(cannot_read)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if path == ".git" || ignored.contains(&path.as_str()) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(root, &path, ignored, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_answer_by_place() {
        let tree = Tree::of(&[("crates/a/src/lib.rs", ""), ("crates/b/Cargo.toml", ""), ("README.md", "hello")]);
        assert_eq!(tree.folders("crates"), ["a", "b"]);
        assert!(tree.holds("crates/a/src") && tree.holds("README.md") && !tree.holds("crates/a/sr"));
        assert_eq!(tree.text("README.md"), Some("hello"));
        assert_eq!(tree.rust().count(), 1);
    }

    #[test]
    fn a_walk_leaves_out_what_is_ignored() {
        let root = crate::repository::root();
        let mut paths = Vec::new();
        walk(&root, "", &["target", "data", "crates", "docs"], &mut paths).unwrap();
        assert!(paths.iter().any(|path| path == "xtask/Cargo.toml"));
        assert!(!paths.iter().any(|path| path.starts_with("crates/") || path.starts_with(".git/")));
    }
}
