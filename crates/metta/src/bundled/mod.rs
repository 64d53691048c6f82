//! The modules that come with the program and are imported by name.
//!
//! | module | what it has |
//! |---|---|
//! | `random`, `fileio`, `json`, `catalog` | as in Hyperon: numbers from generators, files, JSON, which modules there are |
//! | `system`, `dates` | the clock, the environment, the calendar |
//! | `strings`, `regex` | texts, regular expressions |
//! | `tuples`, `sets`, `assoc`, `queues` | tuples as lists, sets, association lists and priority queues |
//! | `graphs` | relations of a space as graphs |
//! | `reasons` | why a call has a result, and what a missing one lacks |
//! | `live-queries` | queries with names that follow each commit |
//! | `concurrency` | independent goals in a fixed order |
//! | `store` | keys and values on the disk, in the order of keys |
//! | `pages` | pages of numbers that change together, and what they were |
//! | `valid-time` | facts that hold from a time on, up to another |
//!
//! 1. Each lists its functions, the words that stand for values, and a source of rules, types and documentation.
//! 2. Loading one makes a module, `top:random`, whose space holds what the source says.
//! 3. `(import! &self random)` also gives the words of the module to the importing module: before it they are symbols,
//!    as in Hyperon.
//!
//! Hyperon's modules come before files of the same name, as they do there; those that Hyperon lacks come after,
//! so that a program written for Hyperon finds its own file. Names that programs are likely to use themselves are in modules, not in
//! the library, so that a program has them only if it asks for them.

mod catalog;
mod concurrency;
mod dates;
mod fileio;
mod graphs;
mod handles;
mod json;
mod live_queries;
mod order;
mod pages;
mod queues;
mod random;
mod reasons;
mod regex;
mod services;
mod sets;
mod store;
mod strings;
mod system;
mod tuples;
mod valid_time;

pub use fileio::{FILE_TEXT_BYTES_MAX, FILES_OPEN_MAX};
pub use random::{GENERATORS_MAX, generator_atom};
pub(crate) use random::{generator_number, generator_of_identity};

use crate::environment::Stop;
use crate::operation::{OperationSpec, Outcome};
use crate::world::WorldError;
use rustc_hash::FxHashMap;
use space::Atom;
use std::sync::LazyLock;

/// A word and how the value it stands for is made.
pub(crate) type Value = (&'static str, fn() -> Atom);

/// A module that comes with the program.
pub(crate) struct Bundle {
    pub(crate) name: &'static str,
    pub(crate) operations: &'static [OperationSpec],
    /// The words that stand for values.
    pub(crate) values: &'static [Value],
    /// Its rules and their types, and a `@doc` fact for each rule and each value.
    pub(crate) source: &'static str,
    /// Whether a file of the same name is preferred.
    pub(crate) yields: bool,
}

/// All of them.
pub(crate) const BUNDLES: [&Bundle; 19] = [
    &catalog::MODULE,
    &random::MODULE,
    &json::MODULE,
    &fileio::MODULE,
    &system::MODULE,
    &dates::MODULE,
    &strings::MODULE,
    &regex::MODULE,
    &tuples::MODULE,
    &sets::SETS,
    &sets::ASSOCIATIONS,
    &queues::MODULE,
    &graphs::MODULE,
    &live_queries::MODULE,
    &reasons::MODULE,
    &concurrency::MODULE,
    &valid_time::MODULE,
    &store::MODULE,
    &pages::MODULE,
];

/// The modules that come with Hyperon and not yet with Metroon.
pub(crate) const LACKING: [&str; 2] = ["das", "skel"];

/// The module of each function; of two that have it, the one that is listed first.
static MODULE_OF: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    let mut modules = FxHashMap::default();
    functions().for_each(|(function, module)| _ = modules.entry(function).or_insert(module));
    modules
});

/// The module that has a function of this name.
pub(crate) fn module_of(name: &str) -> Option<&'static str> {
    MODULE_OF.get(name).copied()
}

/// The words that mean something only once a module is imported: its native functions and its values.
pub(crate) fn words_of(module: &str) -> impl Iterator<Item = &'static str> {
    let bundles = BUNDLES.iter().filter(move |bundle| bundle.name == module);
    bundles.flat_map(|bundle| {
        bundle.operations.iter().map(|spec| spec.name).chain(bundle.values.iter().map(|(word, _)| *word))
    })
}

/// The functions of all modules, each with the name of its module.
pub(crate) fn functions() -> impl Iterator<Item = (&'static str, &'static str)> {
    BUNDLES.iter().flat_map(|bundle| {
        let stated = bundle.source.lines().filter_map(|line| line.strip_prefix("(= (")?.split([' ', ')']).next());
        let native = bundle.operations.iter().map(|spec| spec.name);
        native.chain(stated).map(|name| (name, bundle.name))
    })
}

/// What a call comes to when the world refuses: an error atom, or the end of the run when nobody reads its output.
fn refused(message: &str, error: WorldError) -> Outcome {
    if error.ends_run() { Outcome::Stop(Stop::World(error)) } else { Outcome::failure(format!("{message}: {error}")) }
}
