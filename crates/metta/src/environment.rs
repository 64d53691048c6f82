//! What a native function may ask of the run that calls it.
//!
//! A function gets its arguments and an [`Environment`] ([`Call`](crate::Call)). It reaches the program, the world and the transactions of
//! the run through these methods and in no other way; how atoms are evaluated, it cannot know.

use crate::documentation::Documentation;
use crate::effects::Effects;
use crate::host_call::HostCall;
use crate::limits::LimitReached;
pub(crate) use crate::outcome::{Outcome, Refused, Stop};
use crate::program::ModuleSearch;
use crate::program::history::Reason;
use crate::program::modules::{ModuleError, ModuleId};
use crate::random::Generator;
use crate::tokenizer::{Tokenizer, WordMaker};
use crate::world::{FileId, World};
use space::{Atom, HostValue, SharedSpace, SharedState, Solution, Symbol, VariableSource};
use std::any::Any;
use std::sync::{Arc, Weak};

/// An open file and its handle, an atom. A file whose handle nobody holds can be closed.
pub type OpenFile = (FileId, Weak<dyn HostValue>);

/// A function of the host: what carries out its calls, on whichever thread evaluates.
pub trait HostFunction: Any + Send + Sync {
    /// Carries a call out.
    fn call(&self, environment: &mut dyn Environment, call: &HostCall<'_>) -> Outcome;
}

/// Carries out a call that nothing has the answer of.
pub type CarryOut<'a> = dyn FnMut(&mut dyn Environment) -> Outcome + 'a;

/// The run, as native functions see it.
pub trait Environment {
    /// The world outside.
    fn world(&mut self) -> &mut dyn World;

    /// Where fresh variables come from.
    fn variables(&mut self) -> &mut VariableSource;

    /// Counts a call of a native function; gives why it must not be: the run that is replayed did not come to it, or the run is one of a
    /// view, which refuses it.
    fn begin_call(&mut self, operation: &str, effects: Effects, arguments: &[Atom]) -> Option<Stop>;

    /// The limit that is reached in the middle of a call if `more` further bytes are taken.
    fn limit_reached(&self, more: usize) -> Option<LimitReached>;

    /// Notes that a call is given up since a limit is reached: it has done nothing.
    fn refuse_call(&mut self, limit: LimitReached);

    /// The solutions of a query of a space.
    ///
    /// # Errors
    /// A limit is reached before all are found.
    fn query(&mut self, space: &SharedSpace, pattern: &Atom) -> Result<Vec<Solution>, LimitReached>;

    /// Whether what is put into spaces must outlive the process.
    fn is_durable(&self) -> bool;

    /// Whether something remembers the run.
    fn is_remembered(&self) -> bool;

    /// Whether `(pragma! semantics strict)` asks for results better than Hyperon's.
    fn is_strict(&self) -> bool;

    /// An empty space with a serial number of its own.
    fn new_space(&mut self) -> SharedSpace;

    /// A state with a serial number of its own.
    fn new_state(&mut self, value: Atom, type_atom: Atom) -> SharedState;

    /// Says that a state is about to be changed.
    fn state_changes(&mut self, state: &SharedState);

    /// The module whose source is being run.
    fn current_module(&self) -> ModuleId;

    /// The space of a module.
    fn module_space(&self, module: ModuleId) -> SharedSpace;

    /// The space of a module that is loaded, by its path.
    fn space_of_path(&self, path: &str) -> Option<SharedSpace>;

    /// What the words of a module's sources mean.
    fn words(&self, module: ModuleId) -> &Tokenizer;

    /// The directory from which a module's imports are looked up.
    fn module_directory(&self, module: ModuleId) -> &str;

    /// The paths of the modules that are loaded, in alphabetical order.
    fn module_paths(&self) -> Vec<String>;

    /// Where modules are looked for beside the usual places.
    fn module_search(&self) -> &ModuleSearch;

    /// What is documented about an atom in a space; words mean what they mean to the current module.
    fn documentation(&mut self, space: &SharedSpace, atom: &Atom) -> Vec<Documentation>;

    /// The word of the library that stands for a value in the current module.
    fn value_word(&self, atom: &Atom) -> Option<Atom>;

    /// The module of a name, loaded if need be: its source is run.
    ///
    /// # Errors
    /// It cannot be found, or its source does not run to its end.
    fn load_module(&mut self, name: &str) -> Result<ModuleId, ModuleError>;

    /// The module of a file, under a path; its source is run, unless it is loaded already.
    ///
    /// # Errors
    /// As [`Environment::load_module`].
    fn load_file(&mut self, path: String, file: String) -> Result<ModuleId, ModuleError>;

    /// The first of these files that there is; `path` is what messages call it.
    ///
    /// # Errors
    /// There is none, or the world ends the run.
    fn find_source(&mut self, path: &str, files: Vec<String>) -> Result<String, ModuleError>;

    /// Runs a file's forms in the current module; gives the results of its last `!`.
    ///
    /// # Errors
    /// It cannot be found or read, or does not parse.
    fn include(&mut self, name: &str) -> Result<Vec<Atom>, ModuleError>;

    /// Why the form at hand must end, if a source that it ran did.
    fn take_end_inside(&mut self) -> Option<Stop>;

    /// Makes what a module has known to another: its atoms answer queries there, and its words mean the same.
    fn import_module(&mut self, into: ModuleId, from: ModuleId);

    /// Makes a word of a module's sources mean an atom; as a regular expression, every word that it covers.
    ///
    /// # Errors
    /// The word is not the regular expression it is to be.
    fn bind(&mut self, module: ModuleId, token: &str, is_pattern: bool, atom: Atom) -> Result<(), String>;

    /// Changes a setting of the program.
    fn set_setting(&mut self, key: String, value: Atom);

    /// Where the form stands that is being evaluated, as `file:line`, if that is known.
    fn form_place(&self) -> Option<String>;

    /// What a setting of the program is set to.
    fn setting(&self, key: &str) -> Option<&Atom>;

    /// Sees to it that a named live query can be kept up to date, which is given as the program keeps it.
    ///
    /// # Errors
    /// A message that says why it cannot.
    fn check_live(&self, entry: &Atom) -> Result<(), String>;

    /// What commits have changed in the answers of a named live query since the program was told, or after one, each change as data; the
    /// answers, if it was not told yet.
    ///
    /// # Errors
    /// A message that says why that is not known.
    fn live_news(&mut self, name: &str, from: Option<u64>) -> Result<Vec<Atom>, String>;

    /// Notes that the program was told of a named live query now, and whether there was something to tell.
    fn note_told(&mut self, name: &str, has_news: bool);

    /// Makes the functions of a name remember what their calls came to, or ends that.
    fn set_tabled(&mut self, name: &Symbol, is_tabled: bool);

    /// Whether a name has rules in the library.
    fn has_library_rules(&mut self, name: &str) -> bool;

    /// Commits what precedes an effect on the world outside.
    ///
    /// # Errors
    /// A `(transaction …)` is open, which such an effect could not be undone in; or a sink fails.
    fn before_outward_effect(&mut self) -> Result<(), Refused>;

    /// Commits in the middle of a form.
    ///
    /// # Errors
    /// A `(transaction …)` is open, or a sink fails.
    fn commit_early(&mut self) -> Result<(), Refused>;

    /// Opens a `(transaction …)`; gives how many are open then.
    fn open_transaction(&mut self) -> usize;

    /// Closes the transaction that was opened as this one of those open, and all inside it; undoes what they did unless it is to be kept.
    fn close_transaction(&mut self, depth: usize, keep: bool);

    /// A result of a transaction that was undone, with symbols for what was made there.
    fn without_undone(&self, atom: &Atom) -> Atom;

    /// The number of the last commit.
    ///
    /// # Errors
    /// A message that says why there is none.
    fn epoch(&self) -> Result<u64, String>;

    /// A space as it was after a commit.
    ///
    /// # Errors
    /// A message that says why that is not known.
    fn as_of(&mut self, space: &SharedSpace, epoch: u64) -> Result<SharedSpace, String>;

    /// Where the atoms of a space that match a pattern come from.
    ///
    /// # Errors
    /// A message that says why that is not known.
    fn why(&mut self, space: &SharedSpace, pattern: &Atom) -> Result<Vec<Reason>, String>;

    /// A generator of random numbers, with the world that it may draw from.
    fn generator(&mut self, number: usize) -> Option<(&mut Generator, &mut dyn World)>;

    /// How many generators there are.
    fn generator_count(&self) -> usize;

    /// One generator more; gives its number.
    fn add_generator(&mut self, generator: Generator) -> usize;

    /// The files that the program has open.
    fn open_files(&mut self) -> &mut Vec<OpenFile>;

    /// The function of the host that is registered under a name.
    fn host_function(&self, name: &str) -> Option<Arc<dyn HostFunction>>;

    /// What a call of a function of the host came to: as it is on record, or carried out now and put on record, if the run is.
    fn ask_host(&mut self, call: &HostCall<'_>, carry_out: &mut CarryOut<'_>) -> Outcome;

    /// Runs a text in the current module, as a part of the form that is being evaluated; gives what its `!` forms came to, up to one
    /// with an error among its results.
    ///
    /// # Errors
    /// It does not parse, is nested too deep, or must not be run here; what it did before stands.
    fn run_inside(&mut self, text: &str) -> Result<Vec<Vec<Atom>>, ModuleError>;

    /// Evaluates an atom in the current module, as a part of the form that is being evaluated.
    ///
    /// # Errors
    /// As [`Environment::run_inside`].
    fn evaluate_inside(&mut self, atom: &Atom) -> Result<Vec<Atom>, ModuleError>;

    /// The atoms of a text, with the words of the current module; nothing is added or evaluated.
    ///
    /// # Errors
    /// It does not parse.
    fn read_inside(&self, text: &str) -> Result<Vec<Atom>, ModuleError>;

    /// Makes the words of a module's sources that a regular expression covers mean what the host makes of each.
    ///
    /// # Errors
    /// The text is not a regular expression.
    fn bind_maker(&mut self, module: ModuleId, token: &str, maker: Arc<WordMaker>) -> Result<(), String>;
}
