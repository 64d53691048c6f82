//! The licences of what is shipped: `cargo xtask licences` writes them to one file, to be put beside a released program.
//!
//! 1. `cargo metadata` says which packages there are, at the versions of the lock file, and what each depends on.
//! 2. What [`SHIPPED`] reach on a platform by dependencies that are neither for tests nor for building is in the file.
//! 3. Each entry has name, version, licence and source, and the texts that lie beside the package's manifest.
//! 4. A package without a text gets that of another package of its repository, or our text of the Apache licence if it may be had
//!    under that. Anything else is an error, so that nothing goes out without its text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::process::{self, cargo};
use crate::{Outcome, repository};

/// Write the licences of all third-party code in a release to one file.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "For each crate that the program or the C library links: its name, version, licence, source and texts."
)]
pub(crate) struct Flags {
    /// Where to write (target/THIRD-PARTY-LICENCES.txt)
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The platform of the release (this one)
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
}

/// The packages whose binaries are released.
const SHIPPED: [&str; 2] = ["metroon-cli", "metroon-region-c"];
/// How the names of files with a licence begin.
const BEGINNINGS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE"];
const METADATA_LIMIT: Duration = Duration::from_secs(300);

/// A package of somebody else.
struct Package {
    name: String,
    version: String,
    licence: String,
    repository: String,
    folder: PathBuf,
    /// The texts of its licences, by the names of their files.
    texts: BTreeMap<String, String>,
}

pub(crate) fn run(flags: &Flags) -> Result<Outcome, String> {
    let out = flags.out.clone().unwrap_or_else(|| repository::target().join("THIRD-PARTY-LICENCES.txt"));
    let target = flags.target.clone().map_or_else(host, Ok)?;
    let (text, count) = list(&target)?;
    std::fs::write(&out, &text).map_err(|error| format!("cannot write {}: {error}", repository::shown(&out)))?;
    println!("{count} packages in {} ({} KB)", repository::shown(&out), text.len() / 1000);
    Ok(Outcome::Good)
}

/// The platform that this runs on.
fn host() -> Result<String, String> {
    let finished = process::bounded(&mut cargo(&["-vV"]), METADATA_LIMIT)?;
    let host = finished.stdout.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`cargo -vV` names no host: name the platform with --target".to_owned())
}

/// The file, and how many packages are in it.
fn list(target: &str) -> Result<(String, usize), String> {
    let metadata = metadata(target)?;
    let mut packages = shipped(&metadata)?;
    for package in &mut packages {
        package.texts = texts_in(&package.folder)?;
    }
    let borrowed =
        packages.iter().map(|package| text_from_elsewhere(package, &packages)).collect::<Result<Vec<_>, _>>()?;
    let mut text =
        "The licences of code by others in Metroon. Metroon itself is licensed under MIT or Apache-2.0, as you prefer.\n"
            .to_owned();
    for (package, borrowed) in packages.iter().zip(&borrowed) {
        let Package { name, version, licence, repository, texts, .. } = package;
        let line = "=".repeat(80);
        let _ = writeln!(text, "\n{line}\n{name} {version}\nLicence: {licence}\nSource: {repository}");
        for (file, content) in texts.iter().chain(borrowed.iter().map(|(file, text)| (file, text))) {
            let _ = writeln!(text, "\n--- {file}\n\n{}", content.trim_end());
        }
    }
    Ok((text, packages.len()))
}

fn metadata(target: &str) -> Result<Value, String> {
    let mut command = cargo(&["metadata", "--locked", "--format-version", "1", "--filter-platform", target]);
    let finished = process::bounded(command.current_dir(repository::root()), METADATA_LIMIT)?;
    if !finished.succeeded() {
        return Err(format!("`cargo metadata` failed ({}):\n{}", finished.ending(), finished.stderr));
    }
    serde_json::from_str(&finished.stdout).map_err(|error| format!("`cargo metadata` printed something else: {error}"))
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The packages of others that are linked into what is shipped, by name and version.
fn shipped(metadata: &Value) -> Result<Vec<Package>, String> {
    let nodes: BTreeMap<&str, &Value> =
        items(&metadata["resolve"]["nodes"]).filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let is_shipped = |package: &&Value| SHIPPED.iter().any(|name| package["name"] == *name);
    let mut open: Vec<&str> =
        items(&metadata["packages"]).filter(is_shipped).filter_map(|package| package["id"].as_str()).collect();
    if open.len() != SHIPPED.len() {
        return Err(format!(
            "there is no package {}: name those that are shipped in xtask/src/licences.rs",
            SHIPPED.join(" or ")
        ));
    }
    let mut reached = BTreeSet::new();
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            let dependencies = nodes.get(id).into_iter().flat_map(|node| items(&node["deps"]));
            let linked =
                dependencies.filter(|dependency| items(&dependency["dep_kinds"]).any(|kind| kind["kind"].is_null()));
            open.extend(linked.filter_map(|dependency| dependency["pkg"].as_str()));
        }
    }
    let is_theirs = |package: &&Value| {
        !package["source"].is_null() && package["id"].as_str().is_some_and(|id| reached.contains(id))
    };
    let mut packages: Vec<Package> = items(&metadata["packages"]).filter(is_theirs).map(package).collect();
    packages.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(packages)
}

fn package(value: &Value) -> Package {
    let manifest = PathBuf::from(text_of(&value["manifest_path"]));
    Package {
        name: text_of(&value["name"]),
        version: text_of(&value["version"]),
        licence: text_of(&value["license"]),
        repository: text_of(&value["repository"]),
        folder: manifest.parent().map(Path::to_path_buf).unwrap_or_default(),
        texts: BTreeMap::new(),
    }
}

/// The texts of licences that lie in a folder.
fn texts_in(folder: &Path) -> Result<BTreeMap<String, String>, String> {
    let cannot = |error: std::io::Error| format!("cannot read the licences in {}: {error}", folder.display());
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_licence = BEGINNINGS.iter().any(|beginning| name.to_uppercase().starts_with(beginning));
        if is_licence && entry.path().is_file() {
            let bytes = std::fs::read(entry.path()).map_err(cannot)?;
            texts.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(texts)
}

/// A text for a package that has none of its own, and where it comes from.
fn text_from_elsewhere(package: &Package, packages: &[Package]) -> Result<Option<(String, String)>, String> {
    if !package.texts.is_empty() {
        return Ok(None);
    }
    let Package { name, version, licence, repository, .. } = package;
    let is_sibling =
        |other: &&Package| !repository.is_empty() && other.repository == *repository && other.licence == *licence;
    let sibling = packages.iter().filter(is_sibling).find_map(|other| Some((&other.name, other.texts.iter().next()?)));
    if let Some((other, (file, text))) = sibling {
        return Ok(Some((format!("{file}, of {other}, which has the same source"), text.clone())));
    }
    if licence.split([' ', '/']).any(|word| word == "Apache-2.0") && !licence.contains(" AND ") {
        let apache = std::fs::read_to_string(repository::root().join("LICENSE-APACHE"))
            .map_err(|error| format!("cannot read LICENSE-APACHE: {error}"))?;
        return Ok(Some(("Apache-2.0, under which it may be had".to_owned(), apache)));
    }
    if licence == "MIT" {
        return Ok(Some(("MIT, as its authors have declared without a text".to_owned(), mit_text(name))));
    }
    Err(format!("{name} {version} has no text of its licence ({licence}): say in xtask/src/licences.rs where one is"))
}

/// The text of the MIT licence for the authors of a package.
fn mit_text(name: &str) -> String {
    let ours = include_str!("../../LICENSE-MIT");
    let terms = ours.split_once("Permission is hereby granted").map_or(ours, |(_, terms)| terms);
    format!("Copyright (c) the authors of {name}\n\nPermission is hereby granted{terms}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, licence: &str, repository: &str, text: Option<&str>) -> Package {
        let texts = text.map(|text| ("LICENSE".to_owned(), text.to_owned())).into_iter().collect();
        let (name, licence, repository) = (name.to_owned(), licence.to_owned(), repository.to_owned());
        Package { name, version: "1.0.0".to_owned(), licence, repository, folder: PathBuf::new(), texts }
    }

    /// Every package that is linked has an entry with its text; none that is only for tests has one.
    #[test]
    fn every_package_of_a_release_has_its_text() {
        let (text, count) = list(&host().expect("cargo says it")).expect("every licence has a text");
        assert!(count > 60, "{count}");
        for entry in text.split(&"=".repeat(80)).skip(1) {
            let lines: Vec<&str> = entry.lines().collect();
            assert!(lines[2].starts_with("Licence: ") && lines[2].len() > 10, "{:?}", &lines[..4]);
            assert!(entry.contains("\n--- ") && entry.len() > 500, "{:?}", &lines[..4]);
        }
        assert!(text.contains("\nrustls 0.") && text.contains("\nring 0.") && text.contains("\nmemmap2 0."));
        assert!(!text.contains("\nproptest 1") && !text.contains("\nmetroon-"));
    }

    #[test]
    fn a_package_without_a_text_gets_one_or_is_named() {
        let packages = [
            sample("one", "BSD-3-Clause", "https://a.example", Some("the text")),
            sample("two", "BSD-3-Clause", "https://a.example", None),
            sample("three", "Apache-2.0 OR MIT", "https://b.example", None),
            sample("four", "MIT", "", None),
            sample("five", "BSD-3-Clause", "https://c.example", None),
        ];
        let found = |at: usize| text_from_elsewhere(&packages[at], &packages);
        assert_eq!(found(0), Ok(None));
        assert_eq!(found(1).unwrap().unwrap().1, "the text");
        assert!(found(2).unwrap().unwrap().1.contains("Apache License"));
        assert!(found(3).unwrap().unwrap().1.starts_with("Copyright (c) the authors of four\n\nPermission is hereby"));
        assert!(found(4).unwrap_err().starts_with("five 1.0.0 has no text of its licence (BSD-3-Clause)"));
    }
}
