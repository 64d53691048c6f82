//! Both licences of the project lie at the root, and every package names them.

use super::Finding;
use super::tree::Tree;

const FILES: &[(&str, &str)] = &[("LICENSE-MIT", "MIT License"), ("LICENSE-APACHE", "Apache License")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, title) in FILES {
        if !tree.text(path).is_some_and(|text| text.contains(title)) {
            found.push(Finding::new(path, 0, format!("missing: the text of the {title}")));
        }
    }
    let shelves = ["crates/", "libraries/"].into_iter();
    for (path, text) in shelves.flat_map(|shelf| tree.under(shelf, "/Cargo.toml")) {
        if !text.lines().any(|line| line.trim_start().starts_with("license")) {
            found.push(Finding::new(path, 0, "names no licence: write `license.workspace = true`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_texts_and_every_package_are_looked_at() {
        let texts = [("LICENSE-MIT", "MIT License\n"), ("LICENSE-APACHE", "Apache License\n")];
        assert!(check(&Tree::of(&texts)).is_empty());
        assert_eq!(check(&Tree::of(&texts[..1])).len(), 1);
        let package = [texts[0], texts[1], ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n")];
        assert!(check(&Tree::of(&package))[0].to_string().starts_with("crates/a/Cargo.toml:1: names no licence"));
    }
}
