//! Modules: named spaces with tokenizers of their own, and how an import finds its file.
//!
//! A module's name is a path of words joined by `:`, from `top`, the program itself. `top:a:b` begins at the top and
//! `self:a`, like `a` alone, at the importing module. The words after that point name a file: `a:b` is `a/b.metta`
//! or `a/b/module.metta` beside the importing module's own file, or else beside the program. One file is one module,
//! however often and under whatever name it is imported.

use crate::tokenizer::Tokenizer;
use crate::world::WorldError;
use rustc_hash::FxHashSet;
use space::SharedSpace;
use std::fmt;

/// The name of the module of the program itself.
pub(crate) const TOP_PATH: &str = "top";

/// How deep imports may be nested: each nested import runs inside the one before.
pub(crate) const IMPORT_DEPTH_MAX: usize = 64;

/// A module of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ModuleId(pub(crate) u32);

impl ModuleId {
    /// The library, which all other modules import.
    pub const LIBRARY: Self = Self(0);

    /// The program itself.
    pub const TOP: Self = Self(1);

    /// The module of a number.
    pub fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number: modules are numbered in the order in which they are made.
    pub fn number(self) -> u32 {
        self.0
    }

    /// Its place among the modules of its program.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

pub(crate) struct Module {
    /// Its path, `top:a:b`.
    pub(crate) path: String,
    /// Where its file lies; imports are looked up from here.
    pub(crate) directory: String,
    pub(crate) file: Option<String>,
    pub(crate) space: SharedSpace,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) imports: Vec<ModuleId>,
    /// Whether it comes from another process, and its file has not been looked at in this one.
    pub(crate) is_restored: bool,
    /// The words that a knowledge base has bound: they stay bound when a source that binds them runs again.
    pub(crate) bound_before: FxHashSet<String>,
}

/// Why a module could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModuleError {
    /// A name with an empty part, or with a path separator in it.
    BadName {
        /// The name.
        name: String,
    },
    /// No file of that name.
    NotFound {
        /// The module's path.
        path: String,
        /// The files looked for.
        tried: Vec<String>,
        /// Why it was not looked for elsewhere, if the program may not.
        refused: Option<WorldError>,
    },
    /// No file at a path that was given as one.
    NotAPath {
        /// The path.
        path: String,
        /// The files looked for.
        tried: Vec<String>,
    },
    /// The file is being loaded already: the import goes round in a circle.
    Circular {
        /// The modules on the way, the first one again at the end.
        cycle: Vec<String>,
    },
    /// A file imports the module of the library whose name it has: that is the file itself.
    HidesLibrary {
        /// The name.
        name: String,
    },
    /// Imports nested too deep.
    TooDeep,
    /// One of the modules that come with Hyperon and not yet with Metroon.
    NotSupported {
        /// Its name.
        name: String,
    },
    /// The file does not parse, or cannot be read; the message says where and why.
    Source {
        /// The message.
        message: String,
    },
    /// The world failed in a way that ends the run.
    World(WorldError),
    /// An evaluation in the module ended in an error.
    Failed {
        /// The module's path.
        path: String,
        /// The error.
        error: String,
    },
}

impl fmt::Display for ModuleError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { name } => write!(
                formatter,
                "{name} is not the name of a module: write words joined by ':', such as a:b for the file a/b.metta"
            ),
            Self::NotFound { path, tried, refused } => {
                write!(formatter, "Failed to resolve module {path}: ")?;
                if !tried.is_empty() {
                    write!(formatter, "there is no {}", tried.join(" or "))?;
                }
                let last = path.rsplit(':').next().unwrap_or(path);
                if let Some(name) = last.strip_suffix(".metta") {
                    write!(formatter, "; a module is named without the ending of its file: {name}")?;
                }
                let between = if tried.is_empty() { "" } else { ", and " };
                refused.as_ref().map_or(Ok(()), |refused| write!(formatter, "{between}{refused}"))
            }
            Self::NotAPath { path, tried } => write!(
                formatter,
                "Failed to resolve module {path}: there is no file {}; a folder is a module if it has a file module.metta",
                tried.join(" or ")
            ),
            Self::HidesLibrary { name } => write!(
                formatter,
                "this file has the name of the library's module {name} and comes before it: rename the file"
            ),
            Self::Circular { cycle } => {
                write!(
                    formatter,
                    "circular import: {}; move what both need into a module of its own",
                    cycle.join(" -> ")
                )
            }
            Self::TooDeep => write!(formatter, "imports are nested deeper than {IMPORT_DEPTH_MAX}"),
            Self::NotSupported { name } => write!(formatter, "module {name} is not supported yet"),
            Self::World(error) => error.fmt(formatter),
            Self::Source { message } => formatter.write_str(message),
            Self::Failed { path, error } => write!(formatter, "module {path} ended in an error: {error}"),
        }
    }
}

impl std::error::Error for ModuleError {}

/// A module name as a path from the top.
///
/// # Errors
/// When it is no module name.
pub(crate) fn absolute_path(name: &str, from: &str) -> Result<String, ModuleError> {
    let bad = || ModuleError::BadName { name: name.to_owned() };
    let trimmed = name.strip_suffix(':').unwrap_or(name);
    let mut parts: Vec<&str> = trimmed.split(':').collect();
    let base = match parts.first() {
        Some(&TOP_PATH) => {
            parts.remove(0);
            TOP_PATH
        }
        Some(&"self") => {
            parts.remove(0);
            from
        }
        _ => from,
    };
    let is_word = |part: &&str| !part.is_empty() && !part.contains(['/', '\\', '\0']) && *part != "." && *part != "..";
    if !parts.iter().all(is_word) {
        return Err(bad());
    }
    Ok(parts.iter().fold(base.to_owned(), |path, part| format!("{path}:{part}")))
}

/// The files a module may lie in, looked for from a directory.
pub(crate) fn candidates(relative: &str, directory: &str) -> [String; 2] {
    let file = relative.replace(':', "/");
    [join(directory, &format!("{file}.metta")), join(directory, &format!("{file}/module.metta"))]
}

/// The file of other data that a module's path names, such as `a:cities.csv` the file `a/cities.csv`.
pub(crate) fn data_candidate(relative: &str, directory: &str, endings: &[&str]) -> Option<String> {
    let (_, ending) = relative.rsplit_once('.')?;
    endings.contains(&ending).then(|| join(directory, &relative.replace(':', "/")))
}

/// A path inside a directory; the empty directory is the current one.
pub(crate) fn join(directory: &str, file: &str) -> String {
    if directory.is_empty() || file.starts_with('/') { file.to_owned() } else { format!("{directory}/{file}") }
}

/// The directory of a file's path.
pub(crate) fn directory_of(file: &str) -> String {
    file.rsplit_once('/')
        .map_or(String::new(), |(directory, _)| if directory.is_empty() { "/" } else { directory }.to_owned())
}
