//! Modules are made, get names and words, and import each other.

use super::modules::{Module, ModuleId};
use super::{Program, Undo};
use crate::environment::HostFunction;
use crate::host::HostSignature;
use crate::names;
use crate::program::history::Event;
use crate::stdlib;
use crate::tokenizer::{Tokenizer, WordMaker};
use rustc_hash::FxHashSet;
use space::{Atom, SharedSpace, canonical};
use std::sync::Arc;

impl Program {
    pub(crate) fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.index()]
    }

    pub(super) fn module_mut(&mut self, id: ModuleId) -> &mut Module {
        &mut self.modules[id.index()]
    }

    pub(crate) fn add_module(&mut self, path: String, directory: String, file: Option<String>) -> ModuleId {
        let id = ModuleId(self.modules.len() as u32);
        let bare_name = format!("GroundingSpace-{path}");
        let space = self.make_space(format!("ModuleSpace({bare_name})")).with_bare_name(bare_name);
        let space = self.add_space(space);
        let mut tokenizer = Tokenizer::over(Arc::clone(&self.base_tokens));
        stdlib::register_at_home(&mut tokenizer, id, &space);
        for (name, atom) in &self.host_words {
            tokenizer.register_name(name, atom.clone());
        }
        let mut imports = Vec::new();
        if id != ModuleId::LIBRARY {
            space.import(&self.module(ModuleId::LIBRARY).space);
            imports.push(ModuleId::LIBRARY);
        }
        self.names.insert(path.clone(), id);
        if self.is_noting() {
            let (serial, path, directory, file) = (space.serial(), path.clone(), directory.clone(), file.clone());
            self.note(Event::ModuleMade { serial, path, directory, file }, Undo::Module);
        } else {
            self.events += 1;
        }
        self.modules.push(Module {
            path,
            directory,
            file,
            space,
            tokenizer,
            imports,
            is_restored: false,
            bound_before: FxHashSet::default(),
        });
        id
    }

    /// Says where the imports of a module are looked for.
    pub(crate) fn set_directory(&mut self, module: ModuleId, directory: String) {
        self.module_mut(module).directory = directory;
    }

    /// Says which file a module is read from.
    pub(crate) fn set_file(&mut self, module: ModuleId, file: String) {
        self.module_mut(module).file = Some(file);
    }

    /// Whether a module comes from another process, and its file has not been looked at in this one; it is looked at from now on.
    pub(crate) fn take_restored(&mut self, module: ModuleId) -> bool {
        let known = self.module_mut(module);
        if !std::mem::take(&mut known.is_restored) || known.file.is_none() {
            return false;
        }
        self.note(None, Undo::Refreshed(module));
        true
    }

    /// The module that a file was read for.
    pub(crate) fn module_of_file(&self, file: &str) -> Option<ModuleId> {
        let known = self.modules.iter().position(|module| module.file.as_deref() == Some(file))?;
        Some(ModuleId(known as u32))
    }

    /// Gives a module another name.
    pub(crate) fn name_module(&mut self, path: String, module: ModuleId) {
        let before = self.is_noting().then(|| self.names.clone());
        self.names.insert(path.clone(), module);
        if let Some(before) = before {
            self.note(Event::ModuleNamed { path, module }, Undo::Names(before));
        } else {
            self.events += 1;
        }
    }

    /// Frees the names of a module that could not be loaded.
    pub(crate) fn forget_module(&mut self, module: ModuleId) {
        let before = self.is_noting().then(|| self.names.clone());
        self.names.retain(|_, known| *known != module);
        let file = self.module_mut(module).file.take();
        if let Some(names) = before {
            self.note(Event::ModuleForgotten { module }, Undo::Forgotten { names, module, file });
        } else {
            self.events += 1;
        }
    }

    /// Makes everything in a module answer queries of another.
    pub(crate) fn import_module(&mut self, into: ModuleId, from: ModuleId) {
        let deep = self.module(from).imports.clone();
        for id in std::iter::once(from).chain(deep) {
            if id != into && !self.module(into).imports.contains(&id) {
                let space = self.module(id).space.clone();
                self.module(into).space.import(&space);
                self.module_mut(into).imports.push(id);
                self.note(Event::Imported { into, from: id }, Undo::Import { into, from: id });
            }
        }
    }

    /// The loaded modules' paths, in alphabetical order.
    pub fn module_paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.names.keys().cloned().collect();
        paths.sort();
        paths
    }

    /// The space of the module that was made under a path.
    pub(crate) fn space_of_path(&self, path: &str) -> Option<SharedSpace> {
        self.modules.iter().find(|module| module.path == path).map(|module| module.space.clone())
    }

    /// Whether a name has rules in the library.
    pub(crate) fn has_library_rules(&mut self, name: &str) -> bool {
        let is_rule_of = |atom: &Atom| match atom.children() {
            Some([equal, call, ..]) => {
                equal.is_symbol(names::EQUAL) && call.head().is_some_and(|head| head.is_symbol(name))
            }
            _ => false,
        };
        let library = self.library_space();
        library.atoms(&mut self.variables).iter().any(is_rule_of)
    }

    /// The names that have rules in the library.
    pub(crate) fn library_rule_names(&mut self) -> FxHashSet<String> {
        let name_of = |atom: &Atom| match atom.children() {
            Some([equal, call, ..]) if equal.is_symbol(names::EQUAL) => call.head()?.as_symbol().map(str::to_owned),
            _ => None,
        };
        let library = self.library_space();
        library.atoms(&mut self.variables).iter().filter_map(name_of).collect()
    }

    /// Makes a word of a module's sources mean an atom; as a regular expression, every word that it covers.
    ///
    /// # Errors
    /// The word is not the regular expression it is to be.
    pub(crate) fn bind(&mut self, module: ModuleId, token: &str, is_pattern: bool, atom: Atom) -> Result<(), String> {
        let is_noting = self.is_noting();
        let tokenizer = &mut self.module_mut(module).tokenizer;
        let before = is_noting.then(|| Box::new(tokenizer.clone()));
        if is_pattern {
            tokenizer.register_token(token, atom.clone())?;
        } else {
            tokenizer.register_name(token, atom.clone());
        }
        // A word for a value of this process is bound for as long as the process lives.
        let is_durable = canonical::find_opaque(&atom).is_none();
        self.events += u64::from(!is_noting && is_durable);
        if let Some(before) = before {
            let event = is_durable.then(|| Event::Bound { module, token: token.to_owned(), is_pattern, atom });
            self.note(event, Undo::Tokens { module, before });
        }
        Ok(())
    }

    /// Makes the words of a module's sources that a regular expression covers mean what the host makes of each, as long as the
    /// process lives.
    ///
    /// # Errors
    /// The text is not a regular expression.
    pub fn bind_maker(&mut self, module: ModuleId, token: &str, maker: Arc<WordMaker>) -> Result<(), String> {
        let is_noting = self.is_noting();
        let tokenizer = &mut self.module_mut(module).tokenizer;
        let before = is_noting.then(|| Box::new(tokenizer.clone()));
        tokenizer.register_maker(token, maker)?;
        if let Some(before) = before {
            self.note(None, Undo::Tokens { module, before });
        }
        Ok(())
    }

    /// Makes the name of a function of the host mean that function in every module, now and later. Registering a name again replaces
    /// the function.
    pub fn add_host_function(&mut self, signature: &HostSignature, function: Arc<dyn HostFunction>) {
        Arc::make_mut(&mut self.host_functions).insert(signature.name().to_owned(), function);
        self.declare_host_function(signature);
    }

    /// Makes the name of a function of the host mean it in every module, without the function itself: its calls must be on record.
    pub fn declare_host_function(&mut self, signature: &HostSignature) {
        let (name, atom) = (signature.name(), signature.atom());
        for module in &mut self.modules {
            module.tokenizer.register_name(name, atom.clone());
        }
        self.host_words.retain(|(known, _)| known != name);
        self.host_words.push((name.to_owned(), atom));
    }

    /// The function of the host that is registered under a name.
    pub(crate) fn host_function(&self, name: &str) -> Option<Arc<dyn HostFunction>> {
        self.host_functions.get(name).cloned()
    }
}
