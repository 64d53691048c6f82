//! Where things are: the root of the checkout and the folder for everything that is built or fetched.

use std::path::{Path, PathBuf};

/// The manifest of each workspace, from the root of the checkout.
pub(crate) const WORKSPACES: [&str; 5] = [
    "Cargo.toml",
    "bench/Cargo.toml",
    "fuzz/Cargo.toml",
    "editors/tree-sitter-metta/Cargo.toml",
    "crates/region/models/Cargo.toml",
];

/// The root of the checkout: the folder above `xtask`.
///
/// Cargo says at run time where the package is; the path compiled in serves a binary started by hand.
pub(crate) fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.filter(|folder| folder.ends_with("xtask"));
    let package = package.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    package.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Cargo's target folder, where every task also keeps what it fetches.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => std::path::absolute(&folder).unwrap_or_else(|_| PathBuf::from(folder)),
        None => root().join("target"),
    }
}

/// `path` as a person in the root would write it.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").is_file());
        assert!(root().join("xtask/Cargo.toml").is_file());
        assert_eq!(shown(&root().join("xtask").join("src")), "xtask/src");
    }
}
