//! A world whose answers are written to a tape.

use super::tape::{Request, Tape};
use metta::{FileId, OpenMode, World, WorldError};
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;

/// Writes down what is asked of another world, and what it answers.
pub(super) struct RecordingWorld {
    inner: Box<dyn World>,
    tape: SharedTape,
}

/// The tape of a run, shared by the world, which writes effects, and the memory, which writes commits.
pub(super) type SharedTape = Rc<RefCell<Option<Tape>>>;

impl RecordingWorld {
    pub(super) fn new(inner: Box<dyn World>, tape: SharedTape) -> Self {
        Self { inner, tape }
    }

    /// Writes an effect down after it has happened. A run that cannot be written down does not go on.
    fn note<T: Serialize>(&mut self, request: &Request<'_>, answer: Result<T, WorldError>) -> Result<T, WorldError> {
        if let Some(tape) = &mut *self.tape.borrow_mut() {
            let noted = tape.effect(request, &answer);
            noted.map_err(|error| WorldError::RecordingFailed { reason: error.to_string() })?;
        }
        answer
    }
}

impl World for RecordingWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        let answer = self.inner.print(line);
        self.note(&Request::Print(line.into()), answer)
    }

    fn trace(&mut self, line: &str) {
        self.inner.trace(line);
    }

    fn read_source(&mut self, path: &str) -> Result<Vec<u8>, WorldError> {
        let answer = self.inner.read_source(path).map(serde_bytes::ByteBuf::from);
        self.note(&Request::ReadSource(path.into()), answer).map(serde_bytes::ByteBuf::into_vec)
    }

    fn has_source(&mut self, path: &str) -> bool {
        let answer = self.inner.has_source(path);
        self.note(&Request::HasSource(path.into()), Ok(answer)).unwrap_or(false)
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        let answer = self.inner.read_standard_input().map(serde_bytes::ByteBuf::from);
        self.note(&Request::ReadStandardInput, answer).map(serde_bytes::ByteBuf::into_vec)
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        let answer = self.inner.absolute_path(path);
        self.note(&Request::AbsolutePath(path.into()), answer)
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        let answer = self.inner.now();
        self.note(&Request::Now, answer)
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        let answer = self.inner.random();
        self.note(&Request::Random, answer)
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        let answer = self.inner.environment(name);
        self.note(&Request::Environment(name.into()), answer)
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        let answer = self.inner.open_file(path, mode);
        self.note(&Request::OpenFile(path.into(), mode), answer)
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        let answer = self.inner.read_file(file, bytes_max).map(serde_bytes::ByteBuf::from);
        self.note(&Request::ReadFile(file, bytes_max), answer).map(serde_bytes::ByteBuf::into_vec)
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        let answer = self.inner.write_file(file, bytes);
        self.note(&Request::WriteFile(file, bytes.into()), answer)
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        let answer = self.inner.seek_file(file, position);
        self.note(&Request::SeekFile(file, position), answer)
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        let answer = self.inner.file_size(file);
        self.note(&Request::FileSize(file), answer)
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        let answer = self.inner.close_file(file);
        self.note(&Request::CloseFile(file), answer)
    }
}
