//! The modules that come with the program, as modules of a program: see [`crate::bundled`].

use super::modules::{ModuleError, ModuleId, TOP_PATH};
use super::{Program, Undo};
use crate::bundled::{BUNDLES, Bundle, LACKING};
use crate::program::history::Event;
use crate::stdlib;
use crate::tokenizer::Tokenizer;
use space::Atom;

impl Program {
    fn lacks(&self, name: &str) -> bool {
        self.missing.iter().any(|missing| missing == name)
    }

    /// The bundled module of a path, if files do not come before it.
    pub(crate) fn bundled_before_files(&mut self, path: &str) -> Option<ModuleId> {
        let name = path.strip_prefix(TOP_PATH)?.strip_prefix(':')?;
        let bundle = BUNDLES.iter().find(|bundle| bundle.name == name && !bundle.yields)?;
        (!self.lacks(name)).then(|| self.load_bundle(bundle))
    }

    /// The bundled module of a name for which there is no file.
    pub(crate) fn bundled_after_files(&mut self, name: &str, not_found: ModuleError) -> Result<ModuleId, ModuleError> {
        if LACKING.contains(&name) {
            return Err(ModuleError::NotSupported { name: name.to_owned() });
        }
        match BUNDLES.iter().find(|bundle| bundle.name == name) {
            Some(bundle) if !self.lacks(name) => Ok(self.load_bundle(bundle)),
            _ => Err(not_found),
        }
    }

    fn load_bundle(&mut self, bundle: &'static Bundle) -> ModuleId {
        if let Some((known, _)) = self.bundles.iter().find(|(_, loaded)| loaded.name == bundle.name) {
            return *known;
        }
        let module = self.add_module(format!("{TOP_PATH}:{}", bundle.name), String::new(), None);
        self.bundles.push((module, bundle));
        self.import_bundled_words(module, module);
        let mut words = self.module(module).tokenizer.clone();
        for (word, _) in bundle.values {
            words.register_name(word, Atom::symbol(word));
        }
        self.fill_bundle(module, bundle, &words);
        module
    }

    /// Puts the rules of a bundled module, their types and what is documented into its space.
    fn fill_bundle(&self, module: ModuleId, bundle: &Bundle, words: &Tokenizer) {
        let missing: Vec<&str> = self.missing.iter().map(String::as_str).collect();
        for fact in stdlib::documentation_facts(bundle.source, bundle.operations.iter(), words) {
            if !stdlib::defines_one_of(&fact, &missing) {
                self.module(module).space.add(&fact);
            }
        }
    }

    /// Makes the words of a module known to another, if it is a bundled one.
    pub(crate) fn import_bundled_words(&mut self, into: ModuleId, from: ModuleId) {
        let Some(&(_, bundle)) = self.bundles.iter().find(|(module, _)| *module == from) else { return };
        let before = self.is_noting().then(|| Box::new(self.module(into).tokenizer.clone()));
        let functions =
            bundle.operations.iter().map(|spec| (spec.name, stdlib::operation_atom(spec, ModuleId::LIBRARY)));
        let values = bundle.values.iter().map(|(word, value)| (*word, value()));
        for (word, atom) in functions.chain(values) {
            if !self.lacks(word) {
                self.module_mut(into).tokenizer.register_name(word, atom);
            }
        }
        if let Some(before) = before {
            self.note(Event::WordsImported { into, from }, Undo::Tokens { module: into, before });
        } else {
            self.events += 1;
        }
    }

    /// Makes a module that was bundled with the program the bundled module again.
    pub(super) fn restore_bundle(&mut self, module: ModuleId, path: &str) {
        let name = path.rsplit(':').next().unwrap_or(path);
        if let Some(bundle) = BUNDLES.iter().find(|bundle| bundle.name == name) {
            self.bundles.push((module, bundle));
        }
    }
}
