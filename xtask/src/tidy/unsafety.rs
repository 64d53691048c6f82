//! Every crate root forbids unsafe code, except those whose purpose needs a documented block of it. A file with such a block is
//! named in docs/safety.md, and its package both there and in SECURITY.md.

use super::Finding;
use super::tree::Tree;

/// Packages that may hold unsafe blocks, each block with its SAFETY sentence and its line in docs/safety.md.
const MAY_BE_UNSAFE: &[&str] =
    &["crates/region", "crates/journal", "libraries/reactive", "bindings/python", "libraries/region-c"];
const SAFETY: &str = "docs/safety.md";
const SECURITY: &str = "SECURITY.md";

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

/// Both documents name the packages that have unsafe code, and no other that may have it.
pub(super) fn check_documents(tree: &Tree) -> Vec<Finding> {
    let has_unsafe = |package: &str| {
        let within = format!("{package}/");
        tree.rust().any(|(path, source)| path.starts_with(&within) && is_shipped(path) && source.has_unsafe())
    };
    let mut found = Vec::new();
    for document in [SAFETY, SECURITY] {
        let text = tree.text(document).unwrap_or_default();
        for package in MAY_BE_UNSAFE {
            let what = match (has_unsafe(package), text.contains(&format!("`{package}`"))) {
                (true, false) => format!("`{package}` has unsafe code: name it"),
                (false, true) => format!("`{package}` has no unsafe code: take its name out"),
                _ => continue,
            };
            found.push(Finding::new(document, 0, what));
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
    let ours =
        package == "xtask" || ["crates/", "libraries/", "bindings/"].iter().any(|shelf| package.starts_with(shelf));
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
    fn documents_that_name_other_packages_are_found() {
        let code = "fn f() { g(unsafe { h() }) }\n";
        let with = |safety: &str, security: &str| {
            let tree = Tree::of(&[("crates/region/src/a.rs", code), (SAFETY, safety), (SECURITY, security)]);
            check_documents(&tree).len()
        };
        assert_eq!(with("`crates/region`: `crates/region/src/a.rs`", "in `crates/region`"), 0);
        assert_eq!(with("`crates/region`", "`crates/region/src/a.rs`"), 1);
        assert_eq!(with("`crates/region`, `crates/journal`", "`libraries/region-c` and `crates/region`"), 2);
        assert_eq!(with("", ""), 2);
    }

    #[test]
    fn other_files_and_exempt_crates_pass() {
        assert_eq!(found("crates/space/src/atom.rs", ""), 0);
        assert_eq!(found("crates/region/src/lib.rs", ""), 0);
        assert_eq!(found("examples/src/lib.rs", ""), 0);
    }
}
