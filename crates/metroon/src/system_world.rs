//! The machine a program runs on: its files, its clock and its standard output.

use crate::file_place::{self, FilePlace};
use crate::permissions::OpensPlaces;
use crate::system_pages::SystemPages;
use crate::system_stores::SystemStores;
use metta::{FileId, OpenMode, READ_BYTES_MAX, ServiceAnswer, ServiceRequest, World, WorldError, clean_path};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where what a program prints goes, line by line, if not to the standard output.
pub type Printer = Box<dyn FnMut(&str) -> Result<(), WorldError> + Send>;

/// The world of a command line program. Lines are written when they are complete.
#[derive(Default)]
pub struct SystemWorld {
    open: BTreeMap<FileId, OpenFile>,
    opened: u64,
    stores: SystemStores,
    pages: SystemPages,
    source_bytes_max: Option<u64>,
    printer: Option<Printer>,
    /// Whether commits have no times.
    is_undated: bool,
}

struct OpenFile {
    path: String,
    file: File,
}

impl SystemWorld {
    /// A world that reads no source of more than `most` bytes, and no more of its standard input.
    pub fn with_source_bytes_max(most: Option<u64>) -> Self {
        Self { source_bytes_max: most, ..Self::default() }
    }

    /// This world, but its lines go somewhere else.
    #[must_use]
    pub fn printing(self, printer: Printer) -> Self {
        Self { printer: Some(printer), ..self }
    }

    /// This world, but its commits have no times: equal runs make equal bytes.
    #[must_use]
    pub fn undated(self) -> Self {
        Self { is_undated: true, ..self }
    }

    /// All bytes of a source, unless they are too many.
    fn read_whole(&self, from: impl Read) -> io::Result<Vec<u8>> {
        let most = self.source_bytes_max.unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let message =
                format!("it has more than {most} bytes, which is the most that may be read: allow more with --heap");
            return Err(io::Error::new(ErrorKind::FileTooLarge, message));
        }
        Ok(bytes)
    }

    fn keep_open(&mut self, path: &str, file: File) -> FileId {
        self.opened += 1;
        let id = FileId(self.opened);
        self.open.insert(id, OpenFile { path: path.to_owned(), file });
        id
    }

    fn open_mut(&mut self, file: FileId) -> Result<&mut OpenFile, WorldError> {
        self.open.get_mut(&file).ok_or(WorldError::FileNotOpen { file })
    }
}

/// The file, or `NotFound`, or another error that says why.
fn found<T>(
    path: &str,
    result: io::Result<T>,
    other: fn(path: String, reason: String) -> WorldError,
) -> Result<T, WorldError> {
    result.map_err(|error| match error.kind() {
        ErrorKind::NotFound => WorldError::NotFound { path: path.to_owned() },
        _ => other(path.to_owned(), error.to_string()),
    })
}

fn unreadable(path: String, reason: String) -> WorldError {
    WorldError::Unreadable { path, reason }
}

fn not_opened(path: String, reason: String) -> WorldError {
    WorldError::NotOpened { path, reason }
}

impl World for SystemWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        if let Some(printer) = &mut self.printer {
            return printer(line);
        }
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

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        let read = File::open(path).and_then(|file| self.read_whole(file));
        found(path, read, unreadable).map(Arc::new)
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        Ok(Path::new(path).is_file())
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        let read = self.read_whole(io::stdin().lock());
        read.map_err(|error| WorldError::InputFailed { reason: error.to_string() })
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        if path.starts_with('/') {
            return Ok(clean_path("/", path));
        }
        let unknown = |reason: String| WorldError::NoWorkingDirectory { path: path.to_owned(), reason };
        let directory = std::env::current_dir().map_err(|error| unknown(error.to_string()))?;
        let directory = directory.to_str().ok_or_else(|| unknown("its name is not UTF-8".to_owned()))?;
        Ok(clean_path(directory, path))
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        let now = SystemTime::now();
        let nanoseconds = match now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_nanos()).ok(),
            Err(before) => i64::try_from(before.duration().as_nanos()).ok().map(|before| -before),
        };
        nanoseconds.ok_or_else(|| WorldError::ClockFailed { reason: "it shows a year beyond 2262".to_owned() })
    }

    fn commit_time(&mut self) -> Result<Option<i64>, WorldError> {
        // No commit fails for a clock that shows what no number says.
        Ok((!self.is_undated).then(|| self.now().unwrap_or(i64::MAX)))
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        getrandom::u64().map_err(|error| WorldError::RandomFailed { reason: error.to_string() })
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        // No variable can have such a name, and the system's own look-up may not survive it.
        if name.is_empty() || name.contains(['=', '\0']) {
            return Ok(None);
        }
        let value = std::env::var_os(name).map(|value| value.into_string());
        value.transpose().map_err(|_| WorldError::VariableNotText { name: name.to_owned() })
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        if let Some(problem) = mode.problem() {
            return Err(not_opened(path.to_owned(), problem.to_owned()));
        }
        let file = found(path, file_place::open_anywhere(path, mode), not_opened)?;
        Ok(self.keep_open(path, file))
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        if bytes_max > READ_BYTES_MAX {
            return Err(WorldError::ReadTooLarge { bytes: bytes_max });
        }
        let open = self.open_mut(file)?;
        let mut bytes = Vec::new();
        let read = (&open.file).take(bytes_max).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(open.path.clone(), error.to_string()))?;
        Ok(bytes)
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        let open = self.open_mut(file)?;
        let failed = |error: io::Error| WorldError::Unwritable { path: open.path.clone(), reason: error.to_string() };
        (&open.file).write_all(bytes).map_err(failed)
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        let open = self.open_mut(file)?;
        let sought = (&open.file).seek(SeekFrom::Start(position));
        sought.map(drop).map_err(|error| WorldError::Unseekable { path: open.path.clone(), reason: error.to_string() })
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        let open = self.open_mut(file)?;
        let size = open.file.metadata().map(|found| found.len());
        size.map_err(|error| unreadable(open.path.clone(), error.to_string()))
    }

    fn ask_service(&mut self, request: &ServiceRequest) -> Result<ServiceAnswer, WorldError> {
        match request {
            ServiceRequest::Store(request) => self.stores.ask(request).map(ServiceAnswer::Store),
            ServiceRequest::Pages(request) => self.pages.ask(request).map(ServiceAnswer::Pages),
        }
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        self.open.remove(&file).map(drop).ok_or(WorldError::FileNotOpen { file })
    }
}

impl OpensPlaces for SystemWorld {
    fn read_source_at(&mut self, path: &str, place: &FilePlace) -> Result<Option<Arc<Vec<u8>>>, WorldError> {
        let Some(file) = found(path, place.open(TO_READ), unreadable)? else { return Ok(None) };
        found(path, self.read_whole(file), unreadable).map(|bytes| Some(Arc::new(bytes)))
    }

    fn has_source_at(&mut self, _: &str, place: &FilePlace) -> Result<Option<bool>, WorldError> {
        place.is_file().map_or(Ok(Some(false)), Ok)
    }

    fn open_file_at(&mut self, path: &str, place: &FilePlace, mode: OpenMode) -> Result<Option<FileId>, WorldError> {
        if let Some(problem) = mode.problem() {
            return Err(not_opened(path.to_owned(), problem.to_owned()));
        }
        let file = found(path, place.open(mode), not_opened)?;
        Ok(file.map(|file| self.keep_open(path, file)))
    }
}

const TO_READ: OpenMode = OpenMode { read: true, write: false, create: false, append: false, truncate: false };
