//! A world of texts: sources and output in memory.

use metta::{World, WorldError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What programs printed in a [`MemoryWorld`].
#[derive(Clone, Debug, Default)]
pub struct MemoryOutput(Arc<Mutex<Output>>);

#[derive(Debug, Default)]
struct Output {
    printed: Vec<String>,
    traced: Vec<String>,
}

impl MemoryOutput {
    /// The lines printed so far.
    pub fn printed(&self) -> Vec<String> {
        self.0.lock().expect("no panic while output is locked").printed.clone()
    }

    /// The lines traced so far.
    pub fn traced(&self) -> Vec<String> {
        self.0.lock().expect("no panic while output is locked").traced.clone()
    }
}

/// A world whose files are texts and whose output is kept.
#[derive(Debug, Default)]
pub struct MemoryWorld {
    sources: BTreeMap<String, Vec<u8>>,
    output: MemoryOutput,
}

impl MemoryWorld {
    /// The world with one more source file.
    #[must_use]
    pub fn with_source(mut self, path: &str, text: impl Into<Vec<u8>>) -> Self {
        self.sources.insert(path.to_owned(), text.into());
        self
    }

    /// A handle on what is printed.
    pub fn output(&self) -> MemoryOutput {
        self.output.clone()
    }
}

impl World for MemoryWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        self.output.0.lock().expect("no panic while output is locked").printed.push(line.to_owned());
        Ok(())
    }

    fn trace(&mut self, line: &str) {
        self.output.0.lock().expect("no panic while output is locked").traced.push(line.to_owned());
    }

    fn read_source(&mut self, path: &str) -> Result<Vec<u8>, WorldError> {
        self.sources.get(path).cloned().ok_or_else(|| WorldError::NotFound { path: path.to_owned() })
    }

    fn has_source(&mut self, path: &str) -> bool {
        self.sources.contains_key(path)
    }
}
