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

use crate::environment::Stop;
use crate::operation::{OperationSpec, Outcome};
use crate::world::WorldError;
use space::Atom;

/// A word and how the value it stands for is made.
pub(crate) type Value = (&'static str, fn() -> Atom);

/// A module that comes with the program.
pub(crate) struct Bundle {
    pub(crate) name: &'static str,
    pub(crate) operations: &'static [OperationSpec],
    /// The words that stand for values.
    pub(crate) values: &'static [Value],
    /// A `@doc` fact for each value.
    pub(crate) documentation: &'static str,
    /// Whether a file of the same name is preferred.
    pub(crate) yields: bool,
}

/// All of them.
pub(crate) const BUNDLES: [&Bundle; 3] = [&random::MODULE, &fileio::MODULE, &system::MODULE];

/// The modules that come with Hyperon and not yet with Metroon.
pub(crate) const LACKING: [&str; 4] = ["json", "catalog", "das", "skel"];

/// What a call comes to when the world refuses: an error atom, or the end of the run when nobody reads its output.
fn refused(message: &str, error: WorldError) -> Outcome {
    if error.ends_run() { Outcome::Stop(Stop::World(error)) } else { Outcome::failure(format!("{message}: {error}")) }
}
