//! The world of a view: there is nothing in it.
//!
//! Operations that reach outside are refused before they ask a world, see [`metta::EffectRefused`]. One that was forgotten there is
//! told here that nothing is to be had.

use metta::{FileId, OpenMode, World, WorldError};
use std::sync::Arc;

const REASON: &str = "a view of a knowledge base reaches nothing outside it";

/// A world that gives nothing and takes nothing.
pub(crate) struct NoWorld;

fn reason() -> String {
    REASON.to_owned()
}

fn unreadable(path: &str) -> WorldError {
    WorldError::Unreadable { path: path.to_owned(), reason: reason() }
}

impl World for NoWorld {
    fn print(&mut self, _: &str) -> Result<(), WorldError> {
        Err(WorldError::OutputFailed { reason: reason() })
    }

    fn trace(&mut self, _: &str) {}

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        Err(unreadable(path))
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        Err(unreadable(path))
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        Err(WorldError::InputFailed { reason: reason() })
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        Err(WorldError::NoWorkingDirectory { path: path.to_owned(), reason: reason() })
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        Err(WorldError::ClockFailed { reason: reason() })
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        Err(WorldError::RandomFailed { reason: reason() })
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        Err(unreadable(name))
    }

    fn open_file(&mut self, path: &str, _: OpenMode) -> Result<FileId, WorldError> {
        Err(WorldError::NotOpened { path: path.to_owned(), reason: reason() })
    }

    fn read_file(&mut self, file: FileId, _: u64) -> Result<Vec<u8>, WorldError> {
        Err(WorldError::FileNotOpen { file })
    }

    fn write_file(&mut self, file: FileId, _: &[u8]) -> Result<(), WorldError> {
        Err(WorldError::FileNotOpen { file })
    }

    fn seek_file(&mut self, file: FileId, _: u64) -> Result<(), WorldError> {
        Err(WorldError::FileNotOpen { file })
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        Err(WorldError::FileNotOpen { file })
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        Err(WorldError::FileNotOpen { file })
    }
}
