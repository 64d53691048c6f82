//! A crate's integration tests are one program, `tests/it/main.rs`, and every file beside it is mounted there.
//!
//! Each program in `tests/` is linked on its own, which is slow; a file that no `mod` names is never compiled at all,
//! so a test in it passes by not existing. A program that makes its tests itself (`harness = false` in `Cargo.toml`) cannot be in
//! that one, so it lies beside it, in a folder `tests/NAME` of its own.

use super::Finding;
use super::manifest;
use super::rust::Source;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in packages(tree) {
        let tests = format!("{package}/tests/");
        let mut programs = vec!["it".to_owned()];
        let manifest = format!("{package}/Cargo.toml");
        match manifest::tests_without_harness(tree.text(&manifest).unwrap_or_default()) {
            Ok(names) => programs.extend(names),
            Err(message) => found.push(Finding::new(&manifest, 0, message)),
        }
        for (path, _) in tree.under(&tests, ".rs") {
            let name = &path[tests.len()..];
            let (folder, file) = name.split_once('/').unwrap_or(("", name));
            if programs.iter().any(|program| program == folder) {
                found.extend(unmounted(tree, &format!("{tests}{folder}"), path, file));
            } else if is_program(name) {
                let message = "a second test program: move it into tests/it/ and mount it in tests/it/main.rs";
                found.push(Finding::new(path, 0, message));
            }
        }
    }
    found
}

fn packages(tree: &Tree) -> Vec<String> {
    let shelves = ["crates", "libraries"].into_iter();
    let crates = shelves.flat_map(|shelf| tree.folders(shelf).into_iter().map(move |name| format!("{shelf}/{name}")));
    crates.chain(std::iter::once("xtask".to_owned())).collect()
}

/// Cargo makes a program of `tests/NAME.rs` and of `tests/NAME/main.rs`.
fn is_program(name: &str) -> bool {
    match name.split_once('/') {
        None => true,
        Some((_, rest)) => rest == "main.rs",
    }
}

/// A finding unless the module above `path` (the file `name` in `folder`) has a `mod` for it.
fn unmounted(tree: &Tree, folder: &str, path: &str, name: &str) -> Option<Finding> {
    if name == "main.rs" {
        return None;
    }
    let module = name.trim_end_matches(".rs").trim_end_matches("/mod");
    let (parents, module) = match module.rsplit_once('/') {
        None => (vec![format!("{folder}/main.rs")], module),
        Some((above, module)) => (vec![format!("{folder}/{above}.rs"), format!("{folder}/{above}/mod.rs")], module),
    };
    let declares = |source: &Source| source.declared_modules().iter().any(|(_, name)| name == module);
    if parents.iter().filter_map(|parent| tree.source(parent)).any(declares) {
        return None;
    }
    Some(Finding::new(path, 0, format!("never compiled: write `mod {module};` in {}", parents[0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_file_that_no_mod_names_is_found() {
        let main = ("crates/a/tests/it/main.rs", "mod one;\n// mod two;\nmod deep;\n");
        let one = ("crates/a/tests/it/one.rs", "");
        assert!(found(&[main, one]).is_empty());
        let two = found(&[main, one, ("crates/a/tests/it/two.rs", "")]);
        assert_eq!(two, ["crates/a/tests/it/two.rs:1: never compiled: write `mod two;` in crates/a/tests/it/main.rs"]);
    }

    #[test]
    fn nested_files_are_mounted_by_their_parent() {
        let main = ("crates/a/tests/it/main.rs", "mod deep;\n");
        let inner = ("crates/a/tests/it/deep/inner.rs", "");
        assert!(found(&[main, ("crates/a/tests/it/deep.rs", "mod inner;"), inner]).is_empty());
        assert!(found(&[main, ("crates/a/tests/it/deep/mod.rs", "mod inner;"), inner]).is_empty());
        assert_eq!(found(&[main, ("crates/a/tests/it/deep.rs", ""), inner]).len(), 1);
    }

    #[test]
    fn a_second_program_is_found() {
        let main = ("crates/a/tests/it/main.rs", "");
        assert_eq!(found(&[main, ("crates/a/tests/other.rs", "")]).len(), 1);
        assert_eq!(found(&[main, ("crates/a/tests/more/main.rs", "")]).len(), 1);
        assert!(found(&[main, ("crates/a/tests/data/x.metta", "")]).is_empty());
        let manifest = ("crates/a/Cargo.toml", "[[test]]\nname = \"more\"\nharness = false\n");
        assert!(found(&[main, manifest, ("crates/a/tests/more/main.rs", "")]).is_empty());
        let lost = found(&[main, manifest, ("crates/a/tests/more/lost.rs", "")]);
        assert_eq!(
            lost,
            ["crates/a/tests/more/lost.rs:1: never compiled: write `mod lost;` in crates/a/tests/more/main.rs"]
        );
    }
}
