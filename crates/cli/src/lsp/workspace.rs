//! The files of a folder that an editor has open, as far as they belong together.
//!
//! 1. Two files belong together if one imports or includes the other, or both belong together with a third one: they share names.
//! 2. The text of a file is what the editor shows, or else what is on the disk. Files are read when they are asked about.
//! 3. A folder that begins with a dot, `target` and `node_modules` are passed over, and so is what would be too much.

use super::document::{Document, Text, path_of, uri_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most files that are looked at.
const FILES_MAX: usize = 2_000;
/// The largest one, in bytes: larger ones are data.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A file that belongs to another one.
pub(super) struct Near {
    pub(super) uri: String,
    pub(super) text: Text,
    path: PathBuf,
    /// What it imports.
    imported: Vec<String>,
}

/// The files below these folders that belong to the one of a document, without itself.
pub(super) fn near(folders: &[PathBuf], documents: &BTreeMap<String, Document>, uri: &str) -> Vec<Near> {
    let Some(own) = path_of(uri).map(PathBuf::from) else { return Vec::new() };
    let Some(document) = documents.get(uri) else { return Vec::new() };
    let mut found = Vec::new();
    for folder in folders.iter().filter(|folder| own.starts_with(folder)) {
        collect(folder, &mut found);
    }
    found.retain(|path| *path != own);
    let mut others: Vec<Near> = found.into_iter().filter_map(|path| read(documents, path)).collect();
    let mut belonging: Vec<Near> = Vec::new();
    let mut reached = vec![(own, document.text.imported())];
    while let Some((path, imported)) = reached.pop() {
        let is_near = |other: &mut Near| imports(&imported, &other.path) || imports(&other.imported, &path);
        for other in others.extract_if(.., is_near) {
            reached.push((other.path.clone(), other.imported.clone()));
            belonging.push(other);
        }
    }
    belonging.sort_by(|left, right| left.path.cmp(&right.path));
    belonging
}

/// Whether one of these names may mean the file: `a:b` is `a/b.metta` or `a/b/module.metta`.
fn imports(names: &[String], file: &Path) -> bool {
    names.iter().any(|name| {
        let name = name.trim_start_matches("top:").trim_start_matches("self:").replace(':', "/");
        file.ends_with(format!("{name}.metta")) || file.ends_with(format!("{name}/module.metta"))
    })
}

fn read(documents: &BTreeMap<String, Document>, path: PathBuf) -> Option<Near> {
    let open = documents.iter().find(|(open, _)| path_of(open).is_some_and(|open| Path::new(&open) == path));
    let (uri, text) = match open {
        Some((uri, document)) => (uri.clone(), document.text.text.clone()),
        None => (uri_of(path.to_str()?), std::fs::read_to_string(&path).ok()?),
    };
    let text = Text::new(text);
    Some(Near { uri, imported: text.imported(), text, path })
}

/// The MeTTa files in a folder and below, in the order of their names.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !name.starts_with('.') && name != "target" && name != "node_modules" {
                folders.push(path);
            } else if kind.is_file()
                && name.ends_with(".metta")
                && entry.metadata().is_ok_and(|about| about.len() <= FILE_BYTES_MAX)
                && found.len() < FILES_MAX
            {
                found.push(path);
            }
        }
    }
}
