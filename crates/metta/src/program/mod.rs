//! A program as its sources have made it, without anything that evaluates it: modules and their words, spaces and states,
//! settings, random generators.
//!
//! 1. A [`Program`] begins with two modules: the library, and the program itself, which imports it.
//! 2. Sources are read with the words of a module; what they state is added to the module's space.
//! 3. While somebody wants to undo or to remember what is done, each change is noted with the way to undo it (`undo.rs`).
//!
//! An editor needs no more than this:
//!
//! ```
//! use metta::{ModuleId, Program};
//! use space::Atom;
//!
//! let mut program = Program::new();
//! let (atoms, diagnostics) = program.read(ModuleId::TOP, "(= (half $x) (/ $x 2))\n(area PI");
//! assert_eq!(atoms.len(), 1, "what comes before the error is read");
//! assert_eq!(diagnostics.len(), 1);
//!
//! // Words are resolved as the module has them: `+` is a native function, `half` a symbol.
//! let words = program.tokenizer_of(ModuleId::TOP).expect("the program's own module is always there");
//! assert!(words.atom("+").as_symbol().is_none());
//! assert_eq!(words.atom("half"), Atom::symbol("half"));
//!
//! // What the library says of a word.
//! let plus = words.atom("+");
//! let documentation = program.documentation(ModuleId::TOP, &plus);
//! assert!(documentation[0].description.to_string().contains("The sum of two numbers"));
//! assert_eq!(documentation[0].function.as_ref().map(|(parameters, _)| parameters.len()), Some(2));
//!
//! // A module by its path, with its space.
//! assert_eq!(program.module_named("top"), Some(ModuleId::TOP));
//! program.space_of(ModuleId::TOP).expect("it has a space").add(&atoms[0]);
//! ```

mod bundled;
mod documentation;
pub(crate) mod history;
mod linking;
pub(crate) mod modules;
mod restore;
mod search;
mod snapshot;
mod undo;

use crate::bundled::Bundle;
use crate::environment::HostFunction;
use crate::names;
use crate::random::Generator;
use crate::reader::read_atom;
use crate::stdlib;
use crate::syntax::{self, Diagnostic};
use crate::tokenizer::Tokenizer;
use history::Event;
pub use history::PAST_SERIALS;
use modules::{Module, ModuleId, TOP_PATH};
pub use restore::{RestoreError, resolve_host};
use rustc_hash::FxHashMap;
pub use search::ModuleSearch;
pub use snapshot::{ChangeExtent, ProgramSnapshot, SnapshotSpaces};
use space::{Atom, ChangeDetail, ChangeLog, Classify, SharedSpace, SharedState, SharedTerms, Terms, VariableSource};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
pub(crate) use undo::Undo;

/// The functions of the host by name.
type HostFunctions = FxHashMap<String, Arc<dyn HostFunction>>;

/// The setting that limits the depth of the stack.
const STACK_DEPTH: &str = "max-stack-depth";

/// What the library states, read once in a process.
static LIBRARY_ATOMS: OnceLock<Vec<Atom>> = OnceLock::new();

/// The modules of a program with all that their sources have made.
pub struct Program {
    variables: VariableSource,
    terms: SharedTerms,
    /// How many terms the dictionary had when the program was still empty.
    foundation: u32,
    /// Says of which class a change of a space is, for what is derived from spaces.
    classify: Classify,
    modules: Vec<Module>,
    names: FxHashMap<String, ModuleId>,
    /// Where modules are looked for beside the usual places.
    search: ModuleSearch,
    /// The words that mean the same in every module.
    base_tokens: Arc<Tokenizer>,
    /// Native functions that were looked up by identity.
    operations: FxHashMap<String, Atom>,
    /// The words of every module that mean functions of the host, and these by name.
    host_words: Vec<(String, Atom)>,
    host_functions: Arc<HostFunctions>,
    /// The modules that come with the program and are loaded.
    bundles: Vec<(ModuleId, &'static Bundle)>,
    /// Names left out, for tests of what depends on them.
    missing: Vec<String>,
    settings: FxHashMap<String, Atom>,
    /// Another number whenever a setting has changed.
    settings_version: u64,
    depth_set: Option<usize>,
    /// The generators of random numbers; the first is `&rng`.
    generators: Vec<Generator>,
    /// All spaces by serial number, to be emptied at the end: they may hold each other.
    spaces: Vec<SharedSpace>,
    /// How many states were made.
    states: u64,
    /// All states by serial number from 1, if the program is durable: atoms of a knowledge base name them.
    kept_states: Vec<SharedState>,
    /// Whether each space keeps the hash of its content.
    keeps_hashes: bool,
    /// Whether what is in it must outlive the process.
    is_durable: bool,
    /// Notes what changes in spaces and states.
    log: ChangeLog,
    /// What else happened since the last commit.
    happened: Vec<(Option<Event>, Undo)>,
    /// How many events there were, noted or not.
    events: u64,
    /// How many threads may work at once where that changes nothing but the time: one, unless more are asked for.
    pub threads: NonZeroUsize,
}

impl Default for Program {
    fn default() -> Self {
        Self::new()
    }
}

impl Program {
    /// Where modules are looked for beside the usual places.
    pub(crate) fn module_search(&self) -> &ModuleSearch {
        &self.search
    }

    /// Looks for modules in these places as well.
    pub fn search_modules(&mut self, search: ModuleSearch) {
        self.search.extend(search);
    }

    /// The standard library and an empty program.
    pub fn new() -> Self {
        Self::without(&[], |_| 0)
    }

    /// A program whose library lacks some names, for tests of what depends on them. Its spaces count changes by class.
    pub(crate) fn without(missing: &[&str], classify: Classify) -> Self {
        Self::with_dictionary(Terms::shared(), missing, classify)
    }

    /// A program whose library lacks some names, with a dictionary that may have terms already. Its spaces count changes by class.
    pub(crate) fn with_dictionary(terms: SharedTerms, missing: &[&str], classify: Classify) -> Self {
        let mut tokens = Tokenizer::literals();
        stdlib::register_shared(&mut tokens);
        for name in missing {
            tokens.forget(name);
        }
        let mut program = Self::without_modules(Arc::new(tokens), missing, classify);
        program.terms = terms;
        program.load_library(missing);
        let top = program.add_module(TOP_PATH.to_owned(), String::new(), None);
        debug_assert_eq!(top, ModuleId::TOP);
        for name in missing {
            program.module_mut(top).tokenizer.forget(name);
        }
        let terms = program.terms.read().expect("no panic while terms are locked");
        program.foundation = terms.foundation().unwrap_or(terms.len() as u32);
        drop(terms);
        program
    }

    /// A program without modules, whose words begin with these.
    fn without_modules(base_tokens: Arc<Tokenizer>, missing: &[&str], classify: Classify) -> Self {
        Self {
            variables: VariableSource::default(),
            terms: Terms::shared(),
            foundation: 0,
            classify,
            modules: Vec::new(),
            names: FxHashMap::default(),
            search: ModuleSearch::default(),
            base_tokens,
            operations: FxHashMap::default(),
            host_words: Vec::new(),
            host_functions: Arc::default(),
            bundles: Vec::new(),
            missing: missing.iter().map(|&name| name.to_owned()).collect(),
            settings: FxHashMap::default(),
            settings_version: 0,
            depth_set: None,
            generators: vec![Generator::World],
            spaces: Vec::new(),
            states: 0,
            kept_states: Vec::new(),
            keeps_hashes: false,
            is_durable: false,
            log: ChangeLog::default(),
            happened: Vec::new(),
            events: 0,
            threads: NonZeroUsize::MIN,
        }
    }

    fn load_library(&mut self, missing: &[&str]) {
        let library = self.add_module("corelib".to_owned(), String::new(), None);
        debug_assert_eq!(library, ModuleId::LIBRARY);
        for name in missing {
            self.module_mut(library).tokenizer.forget(name);
        }
        let rules = self.module(library).tokenizer.clone();
        let mut words = rules.clone();
        for word in stdlib::VALUE_WORDS {
            words.register_name(word, Atom::symbol(word));
        }
        let read = || {
            let mut atoms = library_atoms(stdlib::PRELUDE, &rules);
            stdlib::forms::read_off(&atoms);
            atoms.extend(stdlib::documentation_facts(stdlib::DOCUMENTATION, stdlib::operations(), &words));
            atoms
        };
        let some;
        let atoms = if missing.is_empty() {
            LIBRARY_ATOMS.get_or_init(read)
        } else {
            some = read();
            &some
        };
        self.add_to_library(atoms, missing);
    }

    /// Adds what a part of the library states to the library's space.
    fn add_to_library(&mut self, atoms: &[Atom], missing: &[&str]) {
        let space = &self.module(ModuleId::LIBRARY).space;
        atoms.iter().filter(|atom| !stdlib::defines_one_of(atom, missing)).for_each(|atom| space.add(atom));
    }

    /// Reads a text with the words of a module: the atoms of its forms up to the first error, those after `!` among them, and what
    /// the parser had to say. Nothing is added or evaluated.
    pub fn read(&self, module: ModuleId, text: &str) -> (Vec<Atom>, Vec<Diagnostic>) {
        let parsed = syntax::parse(text);
        let Some(words) = self.tokenizer_of(module) else { return (Vec::new(), parsed.diagnostics) };
        let atoms = parsed.forms_before_error().iter().map(|form| read_atom(&parsed.tree, form.node, words)).collect();
        (atoms, parsed.diagnostics)
    }

    /// The words of a module, if there is one of this number.
    pub fn tokenizer_of(&self, module: ModuleId) -> Option<&Tokenizer> {
        Some(&self.modules.get(module.index())?.tokenizer)
    }

    /// The space of a module, if there is one of this number.
    pub fn space_of(&self, module: ModuleId) -> Option<&SharedSpace> {
        Some(&self.modules.get(module.index())?.space)
    }

    /// The module of a path, such as `top:a:b`, if it is loaded.
    pub fn module_named(&self, path: &str) -> Option<ModuleId> {
        self.names.get(path).copied()
    }

    /// The space of the library.
    pub(crate) fn library_space(&self) -> SharedSpace {
        self.module(ModuleId::LIBRARY).space.clone()
    }

    /// The space of the program itself, `&self`.
    pub fn top_space(&self) -> SharedSpace {
        self.module(ModuleId::TOP).space.clone()
    }

    /// Where fresh variables come from.
    pub fn variables(&mut self) -> &mut VariableSource {
        &mut self.variables
    }

    /// How many variables were numbered.
    pub fn variables_numbered(&self) -> u64 {
        self.variables.last()
    }

    /// The dictionary of all its spaces.
    pub fn terms(&self) -> SharedTerms {
        SharedTerms::clone(&self.terms)
    }

    /// The space of a serial number.
    pub fn space(&self, serial: u64) -> Option<SharedSpace> {
        self.spaces.get(usize::try_from(serial).ok()?).cloned()
    }

    /// How many spaces there are, modules' included.
    pub fn space_count(&self) -> usize {
        self.spaces.len()
    }

    /// The state of a serial number, which must be one of those that were restored or made since.
    pub fn state(&self, serial: u64) -> Option<&SharedState> {
        self.kept_states.get(usize::try_from(serial).ok()?.checked_sub(1)?)
    }

    /// How many states were made.
    pub fn state_count(&self) -> usize {
        self.states as usize
    }

    /// The generators of random numbers, by number; the first is `&rng`.
    pub fn generators(&self) -> &[Generator] {
        &self.generators
    }

    pub(crate) fn generators_mut(&mut self) -> &mut Vec<Generator> {
        &mut self.generators
    }

    /// What notes the changes of its spaces and states.
    pub(crate) fn log(&self) -> &ChangeLog {
        &self.log
    }

    /// Says whether what is put into it must outlive the process.
    pub(crate) fn set_durable(&mut self, is_durable: bool) {
        self.is_durable = is_durable;
    }

    /// Whether the program's space is kept beyond the process.
    pub(crate) fn is_durable(&self) -> bool {
        self.is_durable
    }

    /// Keeps the hash of every space's content up to date from now on; of the library's only what a program changes in it.
    pub fn keep_hashes(&mut self) {
        self.keeps_hashes = true;
        let library = self.module(ModuleId::LIBRARY).space.serial();
        for space in &self.spaces {
            if space.serial() == library { space.keep_hash_of_changes() } else { space.keep_hash() }
        }
    }

    /// An empty space with a serial number of its own.
    pub(crate) fn new_space(&mut self) -> SharedSpace {
        let serial = self.spaces.len() as u64;
        let space = self.add_space(self.make_space(format!("GroundingSpace-{serial}")));
        self.note(Event::SpaceMade { serial }, Undo::Space);
        space
    }

    /// A space with the next serial number, which is not one of the program's yet.
    fn make_space(&self, name: String) -> SharedSpace {
        let serial = self.spaces.len() as u64;
        SharedSpace::counting(serial, name, Arc::clone(&self.terms), self.log.clone(), self.classify)
    }

    fn add_space(&mut self, space: SharedSpace) -> SharedSpace {
        if self.keeps_hashes {
            space.keep_hash();
        }
        self.spaces.push(space.clone());
        space
    }

    /// A state with a serial number of its own.
    pub(crate) fn new_state(&mut self, value: Atom, type_atom: Atom) -> SharedState {
        self.states += 1;
        let serial = self.states;
        if self.is_noting() {
            let event = Event::StateMade { serial, value: value.clone(), type_atom: type_atom.clone() };
            self.note(event, Undo::State);
        } else {
            self.events += 1;
        }
        let state = SharedState::watched(serial, value, type_atom, self.log.clone());
        if self.is_durable() {
            self.kept_states.push(state.clone());
        }
        state
    }

    /// What a setting is set to.
    pub fn setting(&self, key: &str) -> Option<&Atom> {
        self.settings.get(key)
    }

    fn has_setting(&self, key: &str, wanted: &str) -> bool {
        self.setting(key).is_some_and(|value| value.is_symbol(wanted))
    }

    pub(crate) fn set_setting(&mut self, key: String, value: Atom) {
        let before = self.settings.get(&key).cloned();
        self.put_setting(&key, Some(value.clone()));
        self.note(Event::Set { key: key.clone(), value }, Undo::Setting { key, before });
    }

    /// Another number whenever a setting has changed.
    pub(crate) fn settings_version(&self) -> u64 {
        self.settings_version
    }

    fn put_setting(&mut self, key: &str, value: Option<Atom>) {
        self.settings_version += 1;
        if key == STACK_DEPTH {
            let depth = value.as_ref().and_then(|value| names::brief(value).parse().ok());
            self.depth_set = depth.filter(|&depth| depth > 0);
        }
        match value {
            Some(value) => self.settings.insert(key.to_owned(), value),
            None => self.settings.remove(key),
        };
    }

    /// The depth at which `(pragma! max-stack-depth n)` makes an evaluation an error, in frames.
    pub(crate) fn depth_set(&self) -> Option<usize> {
        self.depth_set
    }

    /// Whether `(pragma! type-check auto)` asks for a look at the types of each form.
    pub(crate) fn checks_types(&self) -> bool {
        self.has_setting("type-check", "auto")
    }

    /// Whether `(pragma! interpreter bare-minimal)` makes forms minimal MeTTa.
    pub(crate) fn is_minimal(&self) -> bool {
        self.has_setting("interpreter", "bare-minimal")
    }

    /// Whether `(pragma! semantics strict)` asks for results better than Hyperon's.
    pub(crate) fn is_strict(&self) -> bool {
        self.has_setting("semantics", "strict")
    }

    /// Whether results of pure functions may be remembered while a form is evaluated.
    pub(crate) fn memoises(&self) -> bool {
        !self.has_setting("memoise", "off")
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.log.keep(ChangeDetail::Nothing);
        self.spaces.iter().for_each(SharedSpace::clear);
    }
}

/// What a part of the library states.
fn library_atoms(text: &str, tokenizer: &Tokenizer) -> Vec<Atom> {
    let parsed = syntax::parse(text);
    assert!(parsed.first_error().is_none(), "the library parses: {:?}", parsed.first_error());
    parsed.tree.forms().iter().map(|form| read_atom(&parsed.tree, form.node, tokenizer)).collect()
}
