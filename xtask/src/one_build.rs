//! Each crate is compiled once, whatever is built: its features are the same in all builds. See `crates/one-build`.

use crate::process::{self, cargo};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

/// The sets of features in which each package is built, of all kinds but build scripts.
fn features(selection: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut command = cargo(&["tree", "--locked", "--prefix", "none", "--format", "{p}|{f}"]);
    let run = process::bounded(command.args(selection), LIMIT).unwrap();
    assert!(run.succeeded(), "{}", run.stderr);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in run.stdout.lines().filter(|line| !line.is_empty()) {
        let (package, features) = line.trim_end_matches(" (*)").split_once('|').expect("the format has a bar");
        found.entry(package.to_owned()).or_default().insert(features.to_owned());
    }
    found
}

/// What a person builds first, the tasks, the package for Python, and the tests of some crates.
#[test]
fn every_build_shares_what_it_compiles() {
    let all = features(&["--workspace", "--edges", "normal,dev"]);
    for (package, edges) in [
        ("metroon-cli", "normal"),
        ("xtask", "normal"),
        ("metroon-python", "normal"),
        ("metroon-metta", "normal,dev"),
        ("metroon-space", "normal,dev"),
        ("metroon-cassette", "normal,dev"),
        ("metroon-server", "normal,dev"),
    ] {
        let alone = features(&["--package", package, "--edges", edges]);
        assert!(alone.len() > 20, "{package}: {alone:?}");
        for (name, sets) in alone {
            // Only tests have it, and it takes a second.
            if name.starts_with("rand v") {
                continue;
            }
            let shared = &all[&name];
            let others: Vec<&String> = sets.difference(shared).collect();
            assert!(others.is_empty(), "{package} builds {name} with {others:?}, the tests with {shared:?}");
        }
    }
}
