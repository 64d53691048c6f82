//! The root shows the architecture: only known entries, nothing with a date in its name, no toolchain file.

use super::Finding;
use super::tree::Tree;

/// Everything the root may hold.
const ENTRIES: &[&str] = &[
    ".cargo",
    ".ci",
    ".clippy.toml",
    ".gitignore",
    ".rustfmt.toml",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "SECURITY.md",
    "bench",
    "bindings",
    "corpus",
    "crates",
    "deny.toml",
    "docs",
    "editors",
    "examples",
    "fuzz",
    "libraries",
    "ui",
    "xtask",
];

/// Folders whose entries may not be dated either; the raw runs in `bench/runs` are, on purpose.
const UNDATED: &[&str] = &["docs/"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in entries(tree) {
        if is_dated(name) {
            found.push(Finding::new(
                name,
                0,
                "a date at the root: results live in bench/runs, decisions in docs/decisions",
            ));
        } else if !ENTRIES.contains(&name) && !is_toolchain(name) {
            let message = "the root has no place for this: move it into a folder, or add it to xtask/src/tidy/root.rs";
            found.push(Finding::new(name, 0, message));
        }
    }
    for (path, _) in tree.iter() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if UNDATED.iter().any(|folder| path.starts_with(folder)) && is_dated(name) {
            found.push(Finding::new(path, 0, "a date in its name: write what it says into the document it belongs to"));
        }
        if is_toolchain(name) {
            found.push(Finding::new(path, 0, "no toolchain file: `rust-version` in Cargo.toml says what is needed"));
        }
    }
    found
}

fn entries(tree: &Tree) -> Vec<&str> {
    let mut names: Vec<&str> = tree.iter().map(|(path, _)| path.split('/').next().unwrap_or(path)).collect();
    names.dedup();
    names
}

fn is_toolchain(name: &str) -> bool {
    matches!(name, "rust-toolchain" | "rust-toolchain.toml")
}

/// Whether a name holds a year from 1990 to 2099, alone (`notes_2025.md`) or in front of a month (`20250131`).
fn is_dated(name: &str) -> bool {
    let digits = name.split(|c: char| !c.is_ascii_digit());
    digits.filter(|run| matches!(run.len(), 4 | 6 | 8)).any(|run| run.starts_with("199") || run.starts_with("20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Vec<String> {
        check(&Tree::of(&[(path, "")])).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn known_entries_pass_and_others_are_found() {
        assert!(found("README.md").is_empty());
        assert!(found("crates/space/src/lib.rs").is_empty());
        assert!(found("NOTES.md")[0].contains("no place for this"));
        assert!(found("01-intro/a.md")[0].contains("no place for this"));
    }

    #[test]
    fn dates_are_found_at_the_root_and_in_docs() {
        for name in ["2026-01-02-report.md", "BASELINE_2025.md", "run20250131.txt", "202501.md"] {
            assert!(found(name)[0].contains("a date at the root"), "{name}");
        }
        assert!(found("docs/report-2025-11-11.md")[0].contains("a date in its name"));
        assert!(found("docs/decisions/0001-architecture.md").is_empty());
        assert!(found("bench/runs/2026-01-02.json").is_empty());
    }

    #[test]
    fn a_toolchain_file_is_found_anywhere() {
        assert_eq!(found("rust-toolchain.toml").len(), 1);
        assert_eq!(found("crates/cli/rust-toolchain").len(), 1);
    }
}
