//! A world whose answers are written to a tape.

use super::secrets::{Tails, in_words, readable};
use super::{Request, Tape, TapeError};
use metta::{FileId, HostCall, OpenMode, RecordedAnswer, ServiceAnswer, ServiceRequest, World, WorldError};
use serde::Serialize;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Writes down what is asked of another world, and what it answers.
pub(crate) struct RecordingWorld {
    inner: Box<dyn World>,
    tape: SharedTape,
    /// What went last through each file.
    tails: Tails,
}

/// The tape of a run, shared by the world, which writes effects, and the memory, which writes commits.
pub(crate) type SharedTape = Rc<RefCell<Option<Tape>>>;

impl RecordingWorld {
    pub(crate) fn new(inner: Box<dyn World>, tape: SharedTape) -> Self {
        Self { inner, tape, tails: Tails::default() }
    }

    /// Writes an effect down after it has happened. A run that cannot be written down does not go on.
    fn note<T: Serialize>(&mut self, request: &Request<'_>, answer: Result<T, WorldError>) -> Result<T, WorldError> {
        self.write(|tape| tape.effect(request, &answer))?;
        answer
    }

    fn note_bytes(
        &mut self,
        request: &Request<'_>,
        answer: Result<Vec<u8>, WorldError>,
    ) -> Result<Vec<u8>, WorldError> {
        let shared = self.note_shared(request, answer.map(Arc::new))?;
        Ok(Arc::try_unwrap(shared).unwrap_or_else(|shared| shared.to_vec()))
    }

    fn note_shared(
        &mut self,
        request: &Request<'_>,
        answer: Result<Arc<Vec<u8>>, WorldError>,
    ) -> Result<Arc<Vec<u8>>, WorldError> {
        let bytes = match answer {
            Ok(bytes) => bytes,
            Err(error) => {
                self.note::<()>(request, Err(error.clone()))?;
                return Err(error);
            }
        };
        self.check(request, &bytes)?;
        self.write(|tape| tape.effect_of_bytes(request, &bytes))?;
        Ok(bytes)
    }

    /// That what is asked or answered has no secret in it.
    fn check(&mut self, request: &Request<'_>, bytes: &[u8]) -> Result<(), WorldError> {
        let place = || match request {
            Request::Print(_) => "what the program prints".to_owned(),
            Request::ReadSource(path) => format!("the source {path}"),
            Request::ReadStandardInput => "the standard input".to_owned(),
            Request::WriteFile(..) => "what the program writes to a file".to_owned(),
            _ => "what the program reads from a file".to_owned(),
        };
        match request {
            Request::ReadFile(file, _) | Request::WriteFile(file, _) => {
                let mut tails = std::mem::take(&mut self.tails);
                let checked = self.write(|tape| tails.check(tape, place, *file, bytes));
                self.tails = tails;
                checked
            }
            _ => self.write(|tape| tape.check(place, bytes)),
        }
    }

    /// That no atom of these canonical bytes has a secret in it. It is looked for in what the atom says, since the letter before a text in the bytes
    /// hides where the text begins, and in the bytes, of which printing changes some.
    fn check_atoms(&mut self, place: &str, contents: &[&[u8]]) -> Result<(), WorldError> {
        let place = || place.to_owned();
        let look = |tape: &mut Tape, bytes: &[u8]| {
            tape.check(place, bytes)?;
            readable(bytes).map_or(Ok(()), |atom| tape.check(place, in_words(&atom).as_bytes()))
        };
        self.write(|tape| contents.iter().try_for_each(|bytes| look(tape, bytes)))
    }

    fn write(&mut self, write: impl FnOnce(&mut Tape) -> Result<(), TapeError>) -> Result<(), WorldError> {
        let mut tape = self.tape.borrow_mut();
        let written = tape.as_mut().map_or(Ok(()), write);
        written.map_err(|error| WorldError::RecordingFailed { reason: error.to_string() })
    }
}

impl World for RecordingWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        let request = Request::Print(line.into());
        self.check(&request, line.as_bytes())?;
        let answer = self.inner.print(line);
        self.note(&request, answer)
    }

    fn trace(&mut self, line: &str) {
        self.inner.trace(line);
    }

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        let answer = self.inner.read_source(path);
        self.note_shared(&Request::ReadSource(path.into()), answer)
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        let answer = self.inner.has_source(path);
        self.note(&Request::HasSource(path.into()), answer)
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        let answer = self.inner.read_standard_input();
        self.note_bytes(&Request::ReadStandardInput, answer)
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        let answer = self.inner.absolute_path(path);
        self.note(&Request::AbsolutePath(path.into()), answer)
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        let answer = self.inner.now();
        self.note(&Request::Now, answer)
    }

    fn commit_time(&mut self) -> Result<Option<i64>, WorldError> {
        match self.inner.commit_time() {
            Ok(None) => Ok(None),
            answer => self.note(&Request::CommitTime, answer),
        }
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        let answer = self.inner.random();
        self.note(&Request::Random, answer)
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        let answer = self.inner.environment(name);
        if let Ok(Some(value)) = &answer {
            self.write(|tape| tape.check_variable(name, value))?;
        }
        self.note(&Request::Environment(name.into()), answer)
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        let answer = self.inner.open_file(path, mode);
        self.note(&Request::OpenFile(path.into(), mode), answer)
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        let answer = self.inner.read_file(file, bytes_max);
        self.note_bytes(&Request::ReadFile(file, bytes_max), answer)
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        let request = Request::WriteFile(file, bytes.into());
        self.check(&request, bytes)?;
        let answer = self.inner.write_file(file, bytes);
        self.note(&request, answer)
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        let answer = self.inner.seek_file(file, position);
        if answer.is_ok() {
            self.tails.seek(file, position);
        }
        self.note(&Request::SeekFile(file, position), answer)
    }

    fn note_function(&mut self, identity: &str) -> Result<(), WorldError> {
        self.note(&Request::Function(identity.into()), Ok(()))
    }

    fn records_answers(&self) -> bool {
        true
    }

    fn note_answer(&mut self, call: &HostCall<'_>, answer: &RecordedAnswer) -> Result<(), WorldError> {
        let bytes = call.bytes();
        self.check_atoms(&format!("a call of {}", call.name), &[&bytes, answer.bytes()])?;
        self.note(&Request::Call(bytes.into()), Ok(answer)).map(drop)
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        let answer = self.inner.file_size(file);
        self.note(&Request::FileSize(file), answer)
    }

    fn ask_service(&mut self, request: &ServiceRequest) -> Result<ServiceAnswer, WorldError> {
        let noun = request.kind().noun();
        self.check_atoms(&format!("what the program writes to a {noun}"), &request.contents())?;
        let answer = self.inner.ask_service(request);
        if let Ok(answer) = &answer {
            self.check_atoms(&format!("what the program reads from a {noun}"), &answer.contents())?;
        }
        self.note(&Request::from(request), answer)
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        let answer = self.inner.close_file(file);
        self.tails.close(file);
        self.note(&Request::CloseFile(file), answer)
    }
}
