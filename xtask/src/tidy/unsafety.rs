//! Every crate root forbids unsafe code, except those whose purpose needs a documented block of it. A file with such a block is
//! named in docs/safety.md, which SECURITY.md relies on.

use super::Finding;
use super::tree::Tree;

/// Packages that may hold unsafe blocks, each block with its SAFETY sentence and its line in docs/safety.md.
const MAY_BE_UNSAFE: &[&str] = &["crates/region", "crates/journal", "crates/reactive", "bindings/python", "bindings/c"];
const SAFETY: &str = "docs/safety.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, source) in tree.rust().filter(|(path, _)| is_crate_root(path)) {
        let exempt = MAY_BE_UNSAFE.iter().any(|package| path.starts_with(&format!("{package}/")));
        if !exempt && !source.has_attribute("forbid", "unsafe_code") {
            found.push(Finding::new(path, 0, "a crate root without `#![forbid(unsafe_code)]`"));
        }
    }
    let safety = tree.text(SAFETY).unwrap_or_default();
    for (path, source) in tree.rust().filter(|(path, _)| is_shipped(path)) {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let is_in_table = safety.contains(&format!("`{folder}/`")) && safety.contains(&format!("`{file}`"));
        if source.has_unsafe() && !safety.contains(path) && !is_in_table {
            found.push(Finding::new(path, 0, format!("unsafe code without its argument: write it into {SAFETY}")));
        }
    }
    found
}

/// Sources of packages that may be unsafe; tests and benches are not shipped.
fn is_shipped(path: &str) -> bool {
    MAY_BE_UNSAFE.iter().any(|package| path.starts_with(&format!("{package}/src/")))
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
    fn unsafe_code_without_its_argument_is_found() {
        let code = "fn f() { g(unsafe { h() }) }\n";
        let with = |safety: &str| check(&Tree::of(&[("crates/region/src/a/b.rs", code), (SAFETY, safety)])).len();
        assert_eq!(with("`crates/region/src/a/c.rs`"), 1);
        assert_eq!(with("`b.rs`"), 1);
        assert_eq!(with("`crates/region/src/a/`: `b.rs`"), 0);
        assert_eq!(with("`crates/region/src/a/b.rs`"), 0);
        assert_eq!(found("crates/region/src/c.rs", "unsafe impl Send for A {}"), 1);
        assert_eq!(found("crates/region/src/c.rs", "// unsafe { }\n#[unsafe(no_mangle)] fn f() {}"), 0);
        assert_eq!(found("crates/region/tests/it/c.rs", code), 0);
    }

    #[test]
    fn other_files_and_exempt_crates_pass() {
        assert_eq!(found("crates/space/src/atom.rs", ""), 0);
        assert_eq!(found("crates/region/src/lib.rs", ""), 0);
        assert_eq!(found("examples/src/lib.rs", ""), 0);
    }
}
