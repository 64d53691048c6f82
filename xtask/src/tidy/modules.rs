//! A Rust file opens with `//!`, which says what it is; no module is called after nothing in particular.

use super::Finding;
use super::tree::Tree;

/// Names that say only that something did not find its place.
const SAYS_NOTHING: &[&str] = &["utils", "util", "common", "helpers", "helper", "manager", "misc"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in tree.rust().filter(|(path, _)| is_module(path)) {
        if !tree.text(path).is_some_and(|text| text.starts_with("//!")) {
            found.push(Finding::new(path, 0, "a module opens with `//!`: say what it is, what holds, what it costs"));
        }
        if let Some(name) = path.split(['/', '.']).find(|part| SAYS_NOTHING.contains(part)) {
            found.push(Finding::new(path, 0, nothing(name)));
        }
        // A module with a file of its own is found at that file.
        for (line, name) in source.declared_modules() {
            if SAYS_NOTHING.contains(&name.as_str()) && !has_file(tree, path, &name) {
                found.push(Finding::new(path, line, nothing(&name)));
            }
        }
    }
    found
}

/// Library, program and integration-test sources; examples and benchmarks are programs to be read on their own.
fn is_module(path: &str) -> bool {
    let ours = ["crates/", "libraries/", "bindings/", "xtask/"].iter().any(|shelf| path.starts_with(shelf));
    ours && (path.contains("/src/") || path.contains("/tests/"))
}

fn has_file(tree: &Tree, path: &str, name: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let inner = path.trim_end_matches(".rs");
    [folder, inner].iter().any(|at| {
        let (file, module) = (format!("{at}/{name}.rs"), format!("{at}/{name}/mod.rs"));
        tree.text(&file).is_some() || tree.text(&module).is_some()
    })
}

fn nothing(name: &str) -> String {
    format!("`{name}` says nothing: name the module after what it knows")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_module_without_a_header_is_found() {
        assert!(found(&[("crates/a/src/lib.rs", "//! Atoms.\n")]).is_empty());
        assert_eq!(found(&[("crates/a/src/lib.rs", "// Atoms.\n")]).len(), 1);
        assert_eq!(found(&[("crates/a/tests/it/main.rs", "mod x;\n")]).len(), 1);
        assert!(found(&[("crates/a/benches/load.rs", "")]).is_empty());
    }

    #[test]
    fn names_that_say_nothing_are_found_once() {
        let files = [("crates/a/src/lib.rs", "//! x\nmod utils;\n"), ("crates/a/src/utils.rs", "//! x\n")];
        assert_eq!(
            found(&files),
            ["crates/a/src/utils.rs:1: `utils` says nothing: name the module after what it knows"]
        );
        assert!(found(&[("crates/a/src/lib.rs", "//! x\nmod common {}\n")])[0].starts_with("crates/a/src/lib.rs:2:"));
        assert_eq!(found(&[("crates/a/src/helpers/mod.rs", "//! x\n")]).len(), 1);
    }
}
