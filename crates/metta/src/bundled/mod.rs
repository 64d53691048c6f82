//! The modules that come with the program and are imported by name: `random`, `fileio`, `system`.
//!
//! 1. Each lists its functions, the words that stand for values, and its documentation.
//! 2. Loading one makes a module, `top:random`, whose space holds the documentation.
//! 3. `(import! &self random)` also gives the words of the module to the importing module: before it they are symbols,
//!    as in Hyperon.
//!
//! Hyperon's modules come before files of the same name, as they do there; `system`, which Hyperon lacks, comes after,
//! so that a program written for Hyperon finds its own file.

mod fileio;
mod random;
mod system;

pub use fileio::{FILE_TEXT_BYTES_MAX, FILES_OPEN_MAX};
pub use random::{GENERATORS_MAX, generator_atom};
pub(crate) use random::{generator_number, generator_of_identity};

use crate::commit::Event;
use crate::modules::{ModuleError, ModuleId, TOP};
use crate::operation::{OperationSpec, Outcome, Stop};
use crate::random::Generator;
use crate::reader::read_atom;
use crate::runner::Runner;
use crate::stdlib;
use crate::syntax;
use crate::tokenizer::Tokenizer;
use crate::transaction::Undo;
use crate::world::{FileId, WorldError};
use fileio::FileHandle;
use space::Atom;
use std::sync::Weak;

/// A word and how the value it stands for is made.
pub(crate) type Value = (&'static str, fn() -> Atom);

/// A module that comes with the program.
pub(crate) struct Bundle {
    pub(crate) name: &'static str,
    pub(crate) operations: &'static [OperationSpec],
    /// The words that stand for values.
    pub(crate) values: &'static [Value],
    /// A `@doc` fact for each name.
    pub(crate) documentation: &'static str,
    /// Whether a file of the same name is preferred.
    yields: bool,
}

/// All of them.
pub(crate) const BUNDLES: [&Bundle; 3] = [&random::MODULE, &fileio::MODULE, &system::MODULE];

/// The modules that come with Hyperon and not yet with Metroon.
pub(crate) const LACKING: [&str; 4] = ["json", "catalog", "das", "skel"];

/// What a runner keeps for these modules.
pub(crate) struct State {
    /// The generators of random numbers; the first is `&rng`.
    pub(crate) generators: Vec<Generator>,
    /// The handles of open files. One that nobody else holds can be closed.
    files: Vec<(FileId, Weak<FileHandle>)>,
    pub(crate) loaded: Vec<(ModuleId, &'static Bundle)>,
    /// Names left out, for tests of what depends on them.
    missing: Vec<String>,
}

impl State {
    pub(crate) fn without(missing: &[&str]) -> Self {
        Self {
            generators: vec![Generator::World],
            files: Vec::new(),
            loaded: Vec::new(),
            missing: missing.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    fn lacks(&self, name: &str) -> bool {
        self.missing.iter().any(|missing| missing == name)
    }
}

impl Runner {
    /// The bundled module of a path, if files do not come before it.
    pub(crate) fn bundled_before_files(&mut self, path: &str) -> Option<ModuleId> {
        let name = path.strip_prefix(TOP)?.strip_prefix(':')?;
        let bundle = BUNDLES.iter().find(|bundle| bundle.name == name && !bundle.yields)?;
        (!self.bundled.lacks(name)).then(|| self.load_bundle(bundle))
    }

    /// The bundled module of a name for which there is no file.
    pub(crate) fn bundled_after_files(&mut self, name: &str, not_found: ModuleError) -> Result<ModuleId, ModuleError> {
        if LACKING.contains(&name) {
            return Err(ModuleError::NotSupported { name: name.to_owned() });
        }
        match BUNDLES.iter().find(|bundle| bundle.name == name) {
            Some(bundle) if !self.bundled.lacks(name) => Ok(self.load_bundle(bundle)),
            _ => Err(not_found),
        }
    }

    fn load_bundle(&mut self, bundle: &'static Bundle) -> ModuleId {
        if let Some((known, _)) = self.bundled.loaded.iter().find(|(_, loaded)| loaded.name == bundle.name) {
            return *known;
        }
        let module = self.add_module(format!("{TOP}:{}", bundle.name), String::new(), None);
        self.bundled.loaded.push((module, bundle));
        self.import_bundled_words(module, module);
        let mut words = self.module(module).tokenizer.clone();
        for (word, _) in bundle.values {
            words.register_name(word, Atom::symbol(word));
        }
        self.document(module, bundle, &words);
        module
    }

    fn document(&self, module: ModuleId, bundle: &Bundle, words: &Tokenizer) {
        let parsed = syntax::parse(bundle.documentation);
        assert!(parsed.first_error().is_none(), "{}: {:?}", bundle.name, parsed.first_error());
        for form in parsed.tree.forms() {
            let fact = read_atom(&parsed.tree, form.node, words);
            let is_missing = fact.children().is_some_and(|parts| self.bundled.lacks(&parts[1].to_string()));
            if !is_missing {
                self.module(module).space.add(&fact);
            }
        }
    }

    /// Makes the words of a module known to another, if it is a bundled one.
    pub(crate) fn import_bundled_words(&mut self, into: ModuleId, from: ModuleId) {
        let Some(&(_, bundle)) = self.bundled.loaded.iter().find(|(module, _)| *module == from) else { return };
        let before = self.is_noting().then(|| Box::new(self.module(into).tokenizer.clone()));
        let functions = bundle.operations.iter().map(|spec| (spec.name, stdlib::operation_atom(spec, ModuleId(0))));
        let values = bundle.values.iter().map(|(word, value)| (*word, value()));
        for (word, atom) in functions.chain(values) {
            if !self.bundled.lacks(word) {
                self.modules[into.0 as usize].tokenizer.register_name(word, atom);
            }
        }
        if let Some(before) = before {
            self.note(Event::WordsImported { into, from }, Undo::Tokens { module: into, before });
        }
    }

    /// Makes a module that was bundled with the program the bundled module again.
    pub(crate) fn restore_bundle(&mut self, module: ModuleId, path: &str) {
        let name = path.rsplit(':').next().unwrap_or(path);
        if let Some(bundle) = BUNDLES.iter().find(|bundle| bundle.name == name) {
            self.bundled.loaded.push((module, bundle));
        }
    }
}

/// What a call comes to when the world refuses: an error atom, or the end of the run when nobody reads its output.
fn refused(message: &str, error: WorldError) -> Outcome {
    if error.ends_run() { Outcome::Stop(Stop::World(error)) } else { Outcome::failure(format!("{message}: {error}")) }
}
