//! What a suite measures: a hash of that code, kept beside a run as `SUITE.code`, says whether the run is older than the code.

use crate::repository;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of code that a suite measures, with the parts of `bench` that it consists of.
const MEASURED: &[(&str, &[&str])] = &[
    ("cassette", &["crates/cassette/src", "crates/journal/src", "bench/src/cassette"]),
    ("gpu", &["libraries/reactive/src", "bench/src/gpu"]),
    ("journal", &["crates/journal/src", "bench/src/journal"]),
    ("live", &["crates/metta/src", "crates/metroon/src", "crates/space/src", "bench/src/live"]),
    (
        "metta",
        &["crates/metta/src", "crates/region/src", "crates/space/src", "bench/src/metta", "bench/programs/metta"],
    ),
    ("proxy", &["crates/cassette/src", "crates/cli/src", "bench/src/proxy", "bench/programs/proxy"]),
    ("python", &["bindings/python/src", "crates/metta/src", "crates/space/src", "bench/src/python"]),
    ("queries", &["crates/metta/src", "crates/space/src", "bench/src/queries", "bench/programs/queries"]),
    ("reactive", &["libraries/reactive/src", "crates/journal/src", "bench/src/reactive"]),
    ("recall", &["crates/cli/src", "crates/journal/src", "crates/metroon/src", "crates/metta/src", "bench/src/recall"]),
    ("region", &["crates/region/src", "libraries/region-c", "bench/src/region", "bench/programs/region"]),
    ("space", &["crates/metta/src", "crates/space/src", "bench/src/space", "bench/programs/space"]),
    ("store", &["libraries/store/src", "crates/journal/src", "bench/src/store"]),
];

/// A hash of the code that a suite measures, as it lies in the checkout.
///
/// # Errors
/// The suite is in no list, or a file cannot be read.
pub(super) fn hash(suite: &str) -> Result<String, String> {
    let unknown = || format!("xtask/src/bench/code.rs does not say which code the suite {suite} measures");
    let (_, folders) = MEASURED.iter().find(|(name, _)| *name == suite).ok_or_else(unknown)?;
    let root = repository::root();
    let mut files = Vec::new();
    for folder in *folders {
        add_files(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut hasher = blake3::Hasher::new();
    for file in files {
        let bytes = fs::read(&file).map_err(|error| cannot_read(&file, &error))?;
        let name = repository::shown(&file);
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(&bytes);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

/// All files below a folder that are sources: what tools leave beside them has other endings.
fn add_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    const SOURCES: [&str; 10] = ["rs", "c", "h", "py", "metta", "pl", "egg", "lp", "sql", "dl"];
    for entry in fs::read_dir(folder).map_err(|error| cannot_read(folder, &error))? {
        let path = entry.map_err(|error| cannot_read(folder, &error))?.path();
        if path.is_dir() {
            add_files(&path, files)?;
        } else if path.extension().is_some_and(|end| SOURCES.iter().any(|source| end == *source)) {
            files.push(path);
        }
    }
    Ok(())
}

/// Where the hash of the code of a run is kept.
pub(super) fn beside(run: &Path) -> PathBuf {
    run.with_extension("code")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_suite_says_what_it_measures_and_each_hash_is_another() {
        let cases = repository::root().join("bench").join("cases");
        let suites = fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path());
        let hashes: Vec<_> = suites.map(|path| hash(path.file_stem().unwrap().to_str().unwrap()).unwrap()).collect();
        let distinct: std::collections::HashSet<_> = hashes.iter().collect();
        assert_eq!((hashes.len(), distinct.len()), (MEASURED.len(), MEASURED.len()));
        assert!(hash("nothing").unwrap_err().contains("does not say"));
    }
}
