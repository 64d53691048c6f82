//! Each `Cargo.lock` names what the crates of this repository depend on. The benches and the fuzz targets have workspaces of their own,
//! with locks that no build of the first workspace looks at.

use super::Finding;
use super::manifest;
use super::tree::Tree;
use std::collections::HashMap;
use toml::de::{DeTable, DeValue};

const LOCK: &str = "Cargo.lock";
const MANIFEST: &str = "Cargo.toml";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let shared = tree.text(MANIFEST).and_then(|text| manifest::dependencies(text).ok()).unwrap_or_default();
    let renamed: HashMap<&str, &[String]> =
        shared.iter().map(|found| (found.names[0].as_str(), found.names.as_slice())).collect();
    let crates: HashMap<String, Vec<Vec<String>>> =
        tree.under("", MANIFEST).filter_map(|(_, text)| Some((package_name(text)?, needed(text, &renamed)))).collect();
    tree.under("", LOCK).flat_map(|(path, lock)| stale(path, lock, &crates)).collect()
}

/// What a crate needs wherever it is built: the names that each dependency goes by. What only its tests need is in the lock of its own
/// workspace alone, and what a feature brings only where that is on.
fn needed(text: &str, renamed: &HashMap<&str, &[String]>) -> Vec<Vec<String>> {
    let found = manifest::dependencies(text).unwrap_or_default();
    let always = found.into_iter().filter(|dependency| !dependency.is_for_tests && !dependency.is_optional);
    always
        .map(|mut dependency| {
            let shared = renamed.get(dependency.names[0].as_str()).copied().unwrap_or_default();
            dependency.names.extend_from_slice(shared);
            dependency.names
        })
        .collect()
}

fn package_name(manifest: &str) -> Option<String> {
    let table = DeTable::parse(manifest).ok()?;
    let package = table.get_ref().get("package")?.get_ref().as_table()?;
    Some(package.get("name")?.get_ref().as_str()?.to_owned())
}

/// The crates of this repository that the lock has without one of their dependencies.
fn stale(path: &str, lock: &str, crates: &HashMap<String, Vec<Vec<String>>>) -> Vec<Finding> {
    let Ok(table) = DeTable::parse(lock) else { return vec![Finding::new(path, 0, "this is not TOML")] };
    let packages = table.get_ref().get("package").and_then(|packages| packages.get_ref().as_array());
    let mut found = Vec::new();
    for package in packages.into_iter().flat_map(|packages| packages.iter()) {
        let Some(package) = package.get_ref().as_table() else { continue };
        let text = |key: &str| package.get(key).and_then(|value| value.get_ref().as_str());
        let Some(name) = text("name").filter(|_| text("source").is_none()) else { continue };
        let locked: Vec<&str> = package.get("dependencies").map(|list| names(list.get_ref())).unwrap_or_default();
        let missing = crates.get(name).into_iter().flatten();
        let missing = missing.filter(|names| !names.iter().any(|name| locked.contains(&name.as_str())));
        found.extend(missing.map(|names| {
            let folder = path.strip_suffix(LOCK).unwrap_or_default();
            let command = format!("cargo update --workspace --manifest-path {folder}{MANIFEST}");
            Finding::new(path, 0, format!("{name} needs `{}` by now: `{command}`", names[0]))
        }));
    }
    found
}

/// The dependencies of a package in a lock, without their versions.
fn names<'a>(list: &'a DeValue<'_>) -> Vec<&'a str> {
    let items = list.as_array().into_iter().flat_map(|items| items.iter());
    items.filter_map(|item| item.get_ref().as_str()?.split(' ').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_lacks_a_dependency_is_found() {
        let root =
            "[workspace.dependencies]\nspace = { package = \"m-space\", path = \"crates/space\" }\nlibm = \"1\"\n";
        let engine = "[package]\nname = \"m\"\n[dependencies]\nspace.workspace = true\nlibm.workspace = true\nwgpu = { version = \"1\", optional = true }\n[dev-dependencies]\nproptest = \"1\"\n";
        let lock = |dependencies: &str| {
            format!(
                "[[package]]\nname = \"m\"\nversion = \"0\"\ndependencies = [{dependencies}]\n\n[[package]]\nname = \"libm\"\nversion = \"1\"\nsource = \"registry\"\n"
            )
        };
        let messages = |dependencies: &str| -> Vec<String> {
            let lock = lock(dependencies);
            let files = [(MANIFEST, root), ("crates/m/Cargo.toml", engine), ("bench/Cargo.lock", lock.as_str())];
            check(&Tree::of(&files)).iter().map(Finding::to_string).collect()
        };
        assert!(messages("\"libm 1.0.0\", \"m-space\"").is_empty());
        let expected =
            "bench/Cargo.lock:1: m needs `libm` by now: `cargo update --workspace --manifest-path bench/Cargo.toml`";
        assert_eq!(messages("\"m-space\""), [expected]);
    }
}
