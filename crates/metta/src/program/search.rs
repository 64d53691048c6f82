//! Where modules are looked for that lie neither beside the importing module nor beside the program.

use super::modules;

/// Names of modules with the files or folders that they mean, and folders in which any module is looked for.
///
/// 1. A name that is listed means what the list says, whatever lies beside the importing module. `name:part` lies below it, if that is a folder.
/// 2. The folders are looked through in their order, after the folders of the importing module and of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleSearch {
    named: Vec<(String, String)>,
    folders: Vec<String>,
}

impl ModuleSearch {
    /// Looks for a module of this name in this file, or in this folder, in which `module.metta` is the module itself.
    pub fn name(&mut self, name: &str, path: &str) {
        self.named.push((name.to_owned(), path.to_owned()));
    }

    /// Looks for modules in this folder as well.
    pub fn folder(&mut self, folder: &str) {
        self.folders.push(folder.to_owned());
    }

    /// Adds what another search has, after what this one has.
    pub fn extend(&mut self, other: Self) {
        self.named.extend(other.named);
        self.folders.extend(other.folders);
    }

    /// The names of the modules that are listed, in the order in which they were.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// The files of the modules that are listed, in the order in which they were.
    pub fn files(&self) -> impl Iterator<Item = String> {
        self.named.iter().map(|(_, path)| file_of(path))
    }

    /// The files that a name has by its list, if it is listed.
    pub(crate) fn listed(&self, relative: &str) -> Option<Vec<String>> {
        let (first, rest) = relative.split_once(':').map_or((relative, None), |(first, rest)| (first, Some(rest)));
        let mut found = self.named.iter().filter(|(name, _)| name == first).map(|(_, path)| match rest {
            Some(rest) => modules::candidates(rest, path).to_vec(),
            None => vec![file_of(path)],
        });
        found.next()
    }

    /// The folders in which any module is looked for.
    pub(crate) fn folders(&self) -> &[String] {
        &self.folders
    }
}

/// The file of a module that lies at this path.
fn file_of(path: &str) -> String {
    if path.ends_with(".metta") { path.to_owned() } else { modules::join(path, "module.metta") }
}
