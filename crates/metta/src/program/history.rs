//! What happens to a program: its sources, the events beside the changes of spaces and states, and where atoms come from.

use super::modules::ModuleId;
use crate::random::Generator;
use space::Atom;

/// A source of a run, as numbered by the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// Something that happened to a run beside changes of its spaces and states.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A space was made.
    SpaceMade {
        /// Its serial number.
        serial: u64,
    },
    /// A state was made.
    StateMade {
        /// Its serial number.
        serial: u64,
        /// Its first content.
        value: Atom,
        /// Its type, `(StateMonad T)`.
        type_atom: Atom,
    },
    /// A module was made.
    ModuleMade {
        /// The serial number of its space.
        serial: u64,
        /// Its path, `top:a:b`.
        path: String,
        /// Where its imports are looked for.
        directory: String,
        /// The file it was read from.
        file: Option<String>,
    },
    /// A module got another name.
    ModuleNamed {
        /// The name, a path.
        path: String,
        /// The module.
        module: ModuleId,
    },
    /// A module could not be loaded: its names are free again.
    ModuleForgotten {
        /// The module.
        module: ModuleId,
    },
    /// A module's atoms answer queries of another.
    Imported {
        /// The importer.
        into: ModuleId,
        /// The imported.
        from: ModuleId,
    },
    /// A word got a meaning.
    Bound {
        /// The module in whose sources.
        module: ModuleId,
        /// The word.
        token: String,
        /// Whether the word is a regular expression.
        is_pattern: bool,
        /// Its meaning.
        atom: Atom,
    },
    /// The words of a module that comes with the program became known to another.
    WordsImported {
        /// The module whose sources know them now.
        into: ModuleId,
        /// The module that has them.
        from: ModuleId,
    },
    /// A generator of random numbers was made, used or changed.
    GeneratorSet {
        /// Its number.
        number: u64,
        /// What it is now.
        generator: Generator,
    },
    /// A setting was changed by `pragma!`.
    Set {
        /// Its name.
        key: String,
        /// Its value.
        value: Atom,
    },
    /// A source that was edited no longer states an atom.
    Unstated {
        /// The source.
        source: SourceId,
        /// The atom.
        atom: Atom,
    },
}

/// Where an atom comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The atom.
    pub atom: Atom,
    /// The commit that put it there.
    pub epoch: u64,
    /// The source whose form did.
    pub origin: String,
    /// The line of the form, from 1.
    pub line: u32,
    /// The column of the form, from 1.
    pub column: u32,
}
