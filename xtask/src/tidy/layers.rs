//! Imports point down: a crate names only crates of lower layers, in its `Cargo.toml` and in its code.
//!
//! [`MAY_IMPORT`] holds the layers of ARCHITECTURE.md and those to come. A crate that is not in it is a finding, so that
//! a new one gets a place. What is for tests only, [`TESTS`], may be a dependency of tests alone, and of `xtask`.

use super::Finding;
use super::manifest;
use super::tree::Tree;

/// Every library, lowest layer first.
const LIBRARIES: &[&str] = &[
    "statistics",
    "region",
    "journal",
    "schedule",
    "space",
    "store",
    "reactive",
    "cassette",
    "metta",
    "metroon",
    "server",
];

/// What keeps the features of all builds the same: it has no code, and every crate may depend on it.
pub(super) const WITHOUT_CODE: &str = "one-build";

/// What writes programs and answers requests for tests and chores; nothing that is shipped holds it.
const TESTS: &[&str] = &["generate", "origin"];

/// Package folder, and the libraries it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("crates/statistics", &[]),
    ("crates/region", &["statistics"]),
    ("crates/journal", &["statistics"]),
    ("crates/schedule", &[]),
    ("crates/generate", &[]),
    ("crates/origin", &[]),
    ("crates/one-build", &[]),
    ("crates/region/models", &[]),
    ("crates/space", &["statistics", "region"]),
    ("libraries/store", &["statistics", "journal"]),
    ("libraries/reactive", &["statistics", "journal", "schedule"]),
    ("crates/cassette", &["journal"]),
    ("crates/metta", &["statistics", "space", "region"]),
    (
        "crates/metroon",
        &["statistics", "region", "journal", "schedule", "space", "store", "reactive", "cassette", "metta"],
    ),
    ("crates/server", &["region", "journal", "space", "cassette", "metta", "metroon"]),
    ("crates/cli", LIBRARIES),
    ("xtask", LIBRARIES),
    ("bindings/python", LIBRARIES),
    ("libraries/region-c", LIBRARIES),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (manifest, text) in tree.under("", "/Cargo.toml") {
        let folder = manifest.trim_end_matches("/Cargo.toml");
        match MAY_IMPORT.iter().find(|(known, _)| *known == folder) {
            Some((_, allowed)) => {
                found.extend(manifest_findings(manifest, text, folder, allowed));
                found.extend(code_findings(tree, folder, allowed));
            }
            None if folder.starts_with("crates/") || folder.starts_with("libraries/") => {
                let message =
                    "this crate is in no layer: give it a place in xtask/src/tidy/layers.rs and ARCHITECTURE.md";
                found.push(Finding::new(manifest, 0, message));
            }
            None => {}
        }
    }
    found
}

fn manifest_findings(manifest: &str, text: &str, folder: &str, allowed: &[&str]) -> Vec<Finding> {
    let mut found = Vec::new();
    let dependencies = match manifest::dependencies(text) {
        Ok(dependencies) => dependencies,
        Err(message) => return vec![Finding::new(manifest, 0, message)],
    };
    for dependency in dependencies {
        let Some(library) = dependency.names.iter().find_map(|name| library(name)) else {
            continue;
        };
        // A crate whose tests run with a feature of its own depends on itself.
        if dependency.is_for_tests && folder.ends_with(&format!("/{library}")) {
            continue;
        }
        let is_of_tests = TESTS.contains(&library);
        if is_of_tests && !dependency.is_for_tests && folder != "xtask" {
            let message = format!("{library} is for tests: move it to [dev-dependencies]");
            found.push(Finding::new(manifest, dependency.line, message));
        }
        if !is_of_tests && !allowed.contains(&library) {
            found.push(Finding::new(manifest, dependency.line, points_up(folder, library, allowed)));
        }
    }
    found
}

/// The library of this package name or short name.
pub(super) fn library(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("metroon-").unwrap_or(name);
    LIBRARIES.iter().chain(TESTS).find(|library| **library == name).copied()
}

fn code_findings(tree: &Tree, folder: &str, allowed: &[&str]) -> Vec<Finding> {
    let prefix = format!("{folder}/");
    let files = || tree.rust().filter(|(path, _)| path.starts_with(&prefix));
    // A module of the crate's own may bear a library's name.
    let own: Vec<String> = files().flat_map(|(_, source)| source.declared_modules()).map(|(_, name)| name).collect();
    let itself = folder.rsplit('/').next().and_then(library);
    let mut found = Vec::new();
    for (path, source) in files() {
        for (line, name) in source.path_roots() {
            let Some(library) = LIBRARIES.iter().find(|library| **library == name) else {
                continue;
            };
            if !allowed.contains(library) && itself != Some(*library) && !own.contains(&name) {
                found.push(Finding::new(path, line, points_up(folder, library, allowed)));
            }
        }
    }
    found
}

fn points_up(folder: &str, library: &str, allowed: &[&str]) -> String {
    let allowed = if allowed.is_empty() { "no crate of ours".to_owned() } else { allowed.join(", ") };
    format!("{folder} may not import {library}: imports point down, and it may import {allowed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_dependency_that_points_up_is_found() {
        let up = found(&[("crates/space/Cargo.toml", "[dependencies]\nmetta.workspace = true\n")]);
        assert_eq!(up.len(), 1);
        assert!(up[0].starts_with("crates/space/Cargo.toml:2: crates/space may not import metta"), "{up:?}");
        let itself = "[dev-dependencies]\nregion = { path = \".\", package = \"metroon-region\" }\n";
        assert!(found(&[("crates/region/Cargo.toml", itself)]).is_empty());
        let renamed = "[dev-dependencies]\nm = { package = \"metroon-metta\", path = \"../metta\" }\n";
        assert_eq!(found(&[("crates/space/Cargo.toml", renamed)]).len(), 1);
        let down = "[dependencies]\nspace.workspace = true\nregex = \"1\"\n";
        assert!(found(&[("crates/metta/Cargo.toml", down)]).is_empty());
    }

    #[test]
    fn a_use_that_points_up_is_found() {
        let with = |source| found(&[("crates/space/Cargo.toml", ""), ("crates/space/src/lib.rs", source)]);
        assert!(with("//! x\nuse metta::parse;\n")[0].starts_with("crates/space/src/lib.rs:2:"));
        assert_eq!(with("fn f() { metroon::run(); }\n").len(), 1);
        assert!(with("mod store;\nuse store::Row;\nuse crate::metta::x; // metta::y\n").is_empty());
        assert!(with("use space::Atom;\nuse region::Heap;\n").is_empty());
    }

    #[test]
    fn what_is_for_tests_is_not_shipped() {
        let with =
            |section: &str| found(&[("crates/metta/Cargo.toml", &format!("[{section}]\ngenerate.workspace = true\n"))]);
        assert!(with("dependencies")[0].starts_with("crates/metta/Cargo.toml:2: generate is for tests"));
        assert!(with("dev-dependencies").is_empty());
        assert!(found(&[("xtask/Cargo.toml", "[dependencies]\ngenerate.workspace = true\n")]).is_empty());
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        assert!(found(&[("crates/extra/Cargo.toml", "")])[0].contains("in no layer"));
        assert!(found(&[("fuzz/Cargo.toml", "")]).is_empty());
    }
}
