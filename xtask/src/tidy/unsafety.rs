//! Every crate root forbids unsafe code, except those whose purpose needs a documented block of it.

use super::Finding;
use super::rust;
use super::tree::Tree;

/// Packages that may hold unsafe blocks, each block with its SAFETY sentence and its line in docs/safety.md.
const MAY_BE_UNSAFE: &[&str] = &["crates/region", "crates/journal", "crates/reactive", "bindings/python", "bindings/c"];
const ATTRIBUTE: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| is_crate_root(path)) {
        let exempt = MAY_BE_UNSAFE.iter().any(|package| path.starts_with(&format!("{package}/")));
        let code: String = rust::blanked(text).into_iter().filter(|c| *c != ' ').collect();
        if !exempt && !code.contains(ATTRIBUTE) {
            found.push(Finding::new(path, 0, format!("a crate root without `{ATTRIBUTE}`")));
        }
    }
    found
}

/// `src/lib.rs`, `src/main.rs` and `src/bin/*.rs` of a package of the workspace.
fn is_crate_root(path: &str) -> bool {
    let Some((package, file)) = path.split_once("/src/") else {
        return false;
    };
    let ours = package == "xtask" || package.starts_with("crates/") || package.starts_with("bindings/");
    let binary = file.strip_prefix("bin/").is_some_and(|name| !name.contains('/') || name.ends_with("/main.rs"));
    ours && (matches!(file, "lib.rs" | "main.rs") || binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_root_without_the_attribute_is_found() {
        assert_eq!(found("crates/space/src/lib.rs", "//! x\n"), 1);
        assert_eq!(found("crates/space/src/lib.rs", "//! x\n// #![forbid(unsafe_code)]\n"), 1);
        assert_eq!(found("crates/space/src/lib.rs", "//! x\n#![forbid(unsafe_code)]\n"), 0);
        assert_eq!(found("crates/cli/src/bin/more.rs", ""), 1);
    }

    #[test]
    fn other_files_and_exempt_crates_pass() {
        assert_eq!(found("crates/space/src/atom.rs", ""), 0);
        assert_eq!(found("crates/region/src/lib.rs", ""), 0);
        assert_eq!(found("examples/src/lib.rs", ""), 0);
    }
}
