//! Packages: folders of MeTTa sources with a file `metroon.toml` that says where the program begins, which modules it has, and what it asks
//! for.
//!
//! ```toml
//! name = "family"
//! entry = "main.metta"
//! search = ["vendor"]
//!
//! [modules]
//! kinship = "lib/kinship.metta"
//! people = "data/people"
//!
//! [permissions]
//! read = ["data"]
//! env = ["LANG"]
//! ```
//!
//! 1. Paths begin at the folder of the file.
//! 2. Whoever runs `metroon.toml` runs its entry, with its modules. It is a source like any other: it is read through the [`World`](metta::World), a tape
//!    has it, and a replay takes it from there.
//! 3. Permissions are what the program would like. They are given by whoever runs it, never by the file.

use crate::permissions::Permissions;
use metta::ModuleSearch;
use metta::syntax::{Diagnostic, Span};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// What a `metroon.toml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Package {
    /// What it is called.
    pub name: Option<String>,
    /// The file that its program begins with.
    pub entry: Option<String>,
    /// Where its modules are.
    pub modules: ModuleSearch,
    /// What its program asks for.
    pub permissions: PackagePermissions,
}

/// What the program of a package asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PackagePermissions {
    /// Files and folders that it reads.
    pub read: Vec<String>,
    /// Files and folders that it writes.
    pub write: Vec<String>,
    /// Environment variables that it reads.
    pub env: Vec<String>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
struct Manifest {
    name: Option<String>,
    entry: Option<toml::Spanned<String>>,
    search: Vec<toml::Spanned<String>>,
    modules: BTreeMap<toml::Spanned<String>, toml::Spanned<String>>,
    permissions: PackagePermissions,
}

impl Package {
    /// How the file of a package is called.
    pub const FILE: &str = "metroon.toml";

    /// Whether this is the file of a package.
    pub fn is_file(path: &str) -> bool {
        path.rsplit('/').next() == Some(Self::FILE)
    }

    /// Reads the text of a package's file, which lies at `path`.
    ///
    /// # Errors
    /// It is not such a file; the place and what is wrong there.
    pub fn parse(path: &str, text: &str) -> Result<Self, Box<Diagnostic>> {
        let manifest: Manifest = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            // What the library adds in further lines shows the place, which a caret does here.
            let message = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
            wrong(span, message)
        })?;
        let folder = path.strip_suffix(Self::FILE).unwrap_or_default();
        let below = |path: &str| placed(folder, path);
        let mut modules = ModuleSearch::default();
        for (name, place) in &manifest.modules {
            let (name, place) = (check_name(name)?, check_path(place)?);
            modules.name(name, &below(place));
        }
        for place in &manifest.search {
            modules.folder(&below(check_path(place)?));
        }
        let entry = manifest.entry.as_ref().map(check_path).transpose()?.map(below);
        let PackagePermissions { read, write, env } = manifest.permissions;
        let named = |path: &str| if path.is_empty() { ".".to_owned() } else { path.to_owned() };
        let all_below = |paths: Vec<String>| paths.iter().map(|path| named(&below(path))).collect();
        let permissions = PackagePermissions { read: all_below(read), write: all_below(write), env };
        Ok(Self { name: manifest.name, entry, modules, permissions })
    }
}

impl PackagePermissions {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty() && self.env.is_empty()
    }

    /// Gives what it asks for.
    ///
    /// # Errors
    /// The system does not say where a path leads.
    pub fn give(&self, permissions: Permissions) -> io::Result<Permissions> {
        let with_read = self.read.iter().try_fold(permissions, Permissions::read)?;
        let with_write = self.write.iter().try_fold(with_read, Permissions::write)?;
        Ok(self.env.iter().fold(with_write, |given, name| given.variable(name)))
    }

    /// The values of `--allow` that name what it asks for.
    pub fn named(&self) -> Vec<String> {
        let kinds = [("read", &self.read), ("write", &self.write), ("env", &self.env)];
        kinds.into_iter().flat_map(|(kind, all)| all.iter().map(move |what| format!("{kind}={what}"))).collect()
    }
}

/// A path from the folder of the package, if it is not absolute; the folder in which the process runs is empty.
fn placed(folder: &str, path: &str) -> String {
    if Path::new(path).is_absolute() {
        return path.to_owned();
    }
    let path = path.trim_start_matches("./").trim_end_matches('/');
    match path {
        "" | "." if folder == "/" => folder.to_owned(),
        "" | "." => folder.trim_end_matches('/').to_owned(),
        path => format!("{folder}{path}"),
    }
}

fn check_path(path: &toml::Spanned<String>) -> Result<&str, Box<Diagnostic>> {
    match path.get_ref().as_str() {
        "" => Err(wrong(path.span(), "a path is missing".to_owned())),
        path => Ok(path),
    }
}

/// A module is named by one word: what is below it is named by its folder.
fn check_name(name: &toml::Spanned<String>) -> Result<&str, Box<Diagnostic>> {
    let is_word = |name: &str| {
        !matches!(name, "" | "." | ".." | "top" | "self" | "corelib" | "stdlib")
            && !name.contains(|one: char| matches!(one, ':' | '/' | '\\' | '(' | ')' | '"') || one.is_whitespace())
    };
    match name.get_ref().as_str() {
        word if is_word(word) => Ok(word),
        other => {
            Err(wrong(name.span(), format!("{other:?} cannot be the name of a module: write one word without a colon")))
        }
    }
}

fn wrong(span: std::ops::Range<usize>, message: String) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error("package", Span { start: span.start as u32, end: span.end as u32 }, message)
            .with_label("in the file of the package"),
    )
}
