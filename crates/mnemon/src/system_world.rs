//! The machine a program runs on: its files and its standard output.

use metta::{World, WorldError};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// The world of a command line program. Lines are written when they are complete.
#[derive(Debug, Default)]
pub struct SystemWorld;

impl World for SystemWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        let mut output = io::stdout().lock();
        let written = output.write_all(line.as_bytes()).and_then(|()| output.write_all(b"\n"));
        written.and_then(|()| output.flush()).map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => WorldError::OutputClosed,
            _ => WorldError::OutputFailed { reason: error.to_string() },
        })
    }

    fn trace(&mut self, line: &str) {
        // Nobody can be told that standard error is closed.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    fn read_source(&mut self, path: &str) -> Result<Vec<u8>, WorldError> {
        std::fs::read(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => WorldError::NotFound { path: path.to_owned() },
            _ => WorldError::Unreadable { path: path.to_owned(), reason: error.to_string() },
        })
    }

    fn has_source(&mut self, path: &str) -> bool {
        Path::new(path).is_file()
    }
}
