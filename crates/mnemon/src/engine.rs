//! The engine: programs run one after the other in one space.

use metta::syntax::{self, Diagnostic};
use metta::{FormAnswer, Limits, Run, Runner, Statistics, World, WorldError};
use std::fmt;

/// Takes each answer as it comes, with the world to print it on.
pub type OnAnswer<'a> = dyn FnMut(&mut dyn World, &FormAnswer<'_>) -> Result<(), WorldError> + 'a;

/// Runs MeTTa programs.
pub struct Engine {
    runner: Runner,
}

/// Why a source could not be run at all.
#[derive(Debug)]
#[non_exhaustive]
pub enum SourceError {
    /// The file cannot be read.
    World(WorldError),
    /// The file is no text.
    NotText(Box<Diagnostic>),
}

impl fmt::Display for SourceError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::World(error) => write!(formatter, "{error}"),
            Self::NotText(diagnostic) => formatter.write_str(&diagnostic.message),
        }
    }
}

impl std::error::Error for SourceError {}

impl Engine {
    /// An engine with the standard library, acting in this world.
    pub fn new(world: impl World + 'static) -> Self {
        Self { runner: Runner::new(Box::new(world)) }
    }

    /// An engine whose standard library lacks some names, for tests of what depends on them.
    pub fn without(world: impl World + 'static, missing: &[&str]) -> Self {
        Self { runner: Runner::without(Box::new(world), missing) }
    }

    /// The limits of every evaluation.
    pub fn limits_mut(&mut self) -> &mut Limits {
        self.runner.limits_mut()
    }

    /// The world the engine acts in.
    pub fn world(&mut self) -> &mut dyn World {
        self.runner.world()
    }

    /// Counts of what was done so far.
    pub fn statistics(&self) -> Statistics {
        self.runner.statistics()
    }

    /// How many atoms the program's space holds.
    pub fn atom_count(&self) -> usize {
        self.runner.top_space().len()
    }

    /// Reads the text of a source file through the world.
    ///
    /// # Errors
    /// When the file cannot be read or is no text.
    pub fn read_source(&mut self, path: &str) -> Result<String, SourceError> {
        let bytes = self.world().read_source(path).map_err(SourceError::World)?;
        let text = syntax::decode(&bytes).map_err(|diagnostic| SourceError::NotText(Box::new(diagnostic)))?;
        Ok(text.to_owned())
    }

    /// Runs a text whose imports are looked for in a directory; the empty one is the current directory.
    pub fn run_text_in(&mut self, directory: &str, text: &str, on_answer: &mut OnAnswer<'_>) -> Run {
        self.runner.set_directory(directory);
        self.runner.run(text, on_answer)
    }

    /// Runs a text whose imports are looked for in the current directory.
    pub fn run_text(&mut self, text: &str, on_answer: &mut OnAnswer<'_>) -> Run {
        self.run_text_in("", text, on_answer)
    }
}
