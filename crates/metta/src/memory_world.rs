//! A world in memory, for tests and embedding: files, a clock, random numbers and an environment that are the same in
//! every run, and an output that is kept.

use crate::memory_pages::MemoryPages;
use crate::memory_stores::MemoryStores;
use crate::random::mixed;
use crate::service_requests::{ServiceAnswer, ServiceRequest};
use crate::world::{FileId, OpenMode, READ_BYTES_MAX, World, WorldError, clean_path};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// How far the clock goes on at each look, unless set otherwise.
const CLOCK_STEP: i64 = 1_000_000;

/// What programs printed and wrote in a [`MemoryWorld`].
#[derive(Clone, Debug, Default)]
pub struct MemoryOutput(Arc<Mutex<Outside>>);

#[derive(Debug, Default)]
struct Outside {
    printed: Vec<String>,
    traced: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
}

impl MemoryOutput {
    fn outside(&self) -> MutexGuard<'_, Outside> {
        self.0.lock().expect("no panic while output is locked")
    }

    /// The lines printed so far.
    pub fn printed(&self) -> Vec<String> {
        self.outside().printed.clone()
    }

    /// The lines traced so far.
    pub fn traced(&self) -> Vec<String> {
        self.outside().traced.clone()
    }

    /// What a file holds.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.outside().files.get(path).cloned()
    }

    /// The paths of all files, in alphabetical order.
    pub fn paths(&self) -> Vec<String> {
        self.outside().files.keys().cloned().collect()
    }
}

#[derive(Debug)]
struct OpenFile {
    path: String,
    mode: OpenMode,
    position: u64,
}

/// A world whose files are texts and whose output is kept. Its working directory is the root; a name is a directory
/// when a file lies below it.
#[derive(Debug)]
pub struct MemoryWorld {
    output: MemoryOutput,
    lines_taken: Option<usize>,
    standard_input: Vec<u8>,
    now: i64,
    clock_step: i64,
    /// The time of the next commit, and how far it goes on at each.
    commit_clock: Option<(i64, i64)>,
    seed: u64,
    drawn: u64,
    environment: BTreeMap<String, String>,
    open: BTreeMap<FileId, OpenFile>,
    opened: u64,
    stores: MemoryStores,
    pages: MemoryPages,
}

impl Default for MemoryWorld {
    fn default() -> Self {
        Self {
            output: MemoryOutput::default(),
            lines_taken: None,
            standard_input: Vec::new(),
            now: 0,
            clock_step: CLOCK_STEP,
            commit_clock: None,
            seed: 0,
            drawn: 0,
            environment: BTreeMap::new(),
            open: BTreeMap::new(),
            opened: 0,
            stores: MemoryStores::default(),
            pages: MemoryPages::default(),
        }
    }
}

impl MemoryWorld {
    /// The world with one more file, which may be a source.
    #[must_use]
    pub fn with_source(self, path: &str, text: impl Into<Vec<u8>>) -> Self {
        self.output.outside().files.insert(path.to_owned(), text.into());
        self
    }

    /// The world with an output whose reader goes away after `lines` lines.
    #[must_use]
    pub fn with_lines_taken(self, lines: usize) -> Self {
        Self { lines_taken: Some(lines), ..self }
    }

    /// The world with something on its standard input.
    #[must_use]
    pub fn with_standard_input(self, bytes: impl Into<Vec<u8>>) -> Self {
        Self { standard_input: bytes.into(), ..self }
    }

    /// The world whose clock shows this time at the first look, in nanoseconds, and goes on by a step at each.
    #[must_use]
    pub fn with_clock(self, now: i64, step: i64) -> Self {
        Self { now, clock_step: step, ..self }
    }

    /// The world in which commits have times: the first this one, in nanoseconds, and each other one a step more.
    #[must_use]
    pub fn with_commit_times(self, first: i64, step: i64) -> Self {
        Self { commit_clock: Some((first, step)), ..self }
    }

    /// The world with other random numbers.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The world with one more environment variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// A handle on what is printed and written.
    pub fn output(&self) -> MemoryOutput {
        self.output.clone()
    }

    fn open_mut(&mut self, file: FileId) -> Result<&mut OpenFile, WorldError> {
        self.open.get_mut(&file).ok_or(WorldError::FileNotOpen { file })
    }
}

impl World for MemoryWorld {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        let mut outside = self.output.outside();
        if self.lines_taken.is_some_and(|most| outside.printed.len() >= most) {
            return Err(WorldError::OutputClosed);
        }
        outside.printed.push(line.to_owned());
        Ok(())
    }

    fn trace(&mut self, line: &str) {
        self.output.outside().traced.push(line.to_owned());
    }

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        self.output.file(path).map(Arc::new).ok_or_else(|| WorldError::NotFound { path: path.to_owned() })
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        Ok(self.output.outside().files.contains_key(path))
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        Ok(std::mem::take(&mut self.standard_input))
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        Ok(clean_path("/", path))
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        let now = self.now;
        self.now = now.checked_add(self.clock_step).ok_or_else(|| {
            let reason = "the time does not fit".to_owned();
            WorldError::ClockFailed { reason }
        })?;
        Ok(now)
    }

    fn commit_time(&mut self) -> Result<Option<i64>, WorldError> {
        Ok(self.commit_clock.as_mut().map(|(next, step)| {
            let after = next.saturating_add(*step);
            std::mem::replace(next, after)
        }))
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        self.drawn += 1;
        Ok(mixed(self.seed, self.drawn))
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        Ok(self.environment.get(name).cloned())
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        let refused = |reason: &str| WorldError::NotOpened { path: path.to_owned(), reason: reason.to_owned() };
        if let Some(problem) = mode.problem() {
            return Err(refused(problem));
        }
        let mut outside = self.output.outside();
        let below = format!("{}/", path.trim_end_matches('/'));
        if path.is_empty() || outside.files.keys().any(|file| file.starts_with(&below)) {
            return Err(refused("it is a directory"));
        }
        match outside.files.get_mut(path) {
            Some(content) if mode.truncate => content.clear(),
            Some(_) => {}
            None if mode.create => drop(outside.files.insert(path.to_owned(), Vec::new())),
            None => return Err(WorldError::NotFound { path: path.to_owned() }),
        }
        drop(outside);
        self.opened += 1;
        let file = FileId(self.opened);
        self.open.insert(file, OpenFile { path: path.to_owned(), mode, position: 0 });
        Ok(file)
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        if bytes_max > READ_BYTES_MAX {
            return Err(WorldError::ReadTooLarge { bytes: bytes_max });
        }
        let output = self.output.clone();
        let open = self.open_mut(file)?;
        if !open.mode.read {
            let reason = "it was not opened to be read".to_owned();
            return Err(WorldError::Unreadable { path: open.path.clone(), reason });
        }
        let outside = output.outside();
        let content = outside.files.get(&open.path).map(Vec::as_slice).unwrap_or_default();
        let start = usize::try_from(open.position).map_or(content.len(), |start| start.min(content.len()));
        let end = content.len().min(start + bytes_max as usize);
        open.position += (end - start) as u64;
        Ok(content[start..end].to_vec())
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        let output = self.output.clone();
        let open = self.open_mut(file)?;
        let refused = |reason: &str| WorldError::Unwritable { path: open.path.clone(), reason: reason.to_owned() };
        if !open.mode.write && !open.mode.append {
            return Err(refused("it was not opened to be written"));
        }
        let mut outside = output.outside();
        let content = outside.files.entry(open.path.clone()).or_default();
        let start = if open.mode.append { content.len() } else { open.position as usize };
        // What lies before a position in memory is real: no file has holes.
        if start > content.len() + (1 << 30) {
            return Err(refused("it would grow too large"));
        }
        let end = start + bytes.len();
        content.resize(content.len().max(end), 0);
        content[start..end].copy_from_slice(bytes);
        open.position = end as u64;
        Ok(())
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        let open = self.open_mut(file)?;
        if i64::try_from(position).is_err() {
            let reason = "no file is that long".to_owned();
            return Err(WorldError::Unseekable { path: open.path.clone(), reason });
        }
        open.position = position;
        Ok(())
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        let output = self.output.clone();
        let path = &self.open_mut(file)?.path;
        Ok(output.outside().files.get(path).map_or(0, Vec::len) as u64)
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
