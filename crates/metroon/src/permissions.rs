//! What a program may reach of the machine: a world that passes permitted questions on to another one and refuses the rest.
//!
//! 1. [`Permissions::everything`] refuses nothing that a [`World`] can be asked for. A user's own program runs with it.
//! 2. [`Permissions::nothing`] is for programs of others. What they may reach is then named one by one: folders or files to
//!    read, folders or files to write, variables. The clock, random numbers and the output are always there.
//! 3. The sources that a run is given are its user's choice, so they may be read, and `import!` may read other sources in their
//!    folders and below. `file-open!` may not.
//! 4. Places are compared after every symbolic link and every `..` has been followed; a file that is to be made lies where its
//!    folder does. So neither a link in a permitted folder nor a path through `..` leads out of it. Other programs that
//!    change links while this one runs are trusted: they are the user's.
//! 5. A refusal is [`WorldError::NotPermitted`], which says what would permit it. Whether there is such a file is not said.
//!
//! A recorded run writes refusals to its tape like any other answer, so its replay refuses the same.

use metta::{FileId, OpenMode, World, WorldError};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// A path may lead over this many links.
const LINKS_MAX: u32 = 40;

/// What a program may reach.
#[derive(Clone, Debug)]
pub struct Permissions {
    /// `None` for all that there is.
    named: Option<Named>,
}

#[derive(Clone, Debug, Default)]
struct Named {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    /// Where sources may be read, and nothing else.
    sources: Vec<PathBuf>,
    variables: Vec<String>,
}

impl Permissions {
    /// All that a world can be asked for.
    pub fn everything() -> Self {
        Self { named: None }
    }

    /// The clock, random numbers and the output alone.
    pub fn nothing() -> Self {
        Self { named: Some(Named::default()) }
    }

    /// Reading a file, or all files in a folder and below.
    ///
    /// # Errors
    /// The system does not say where the path leads.
    pub fn read(self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = resolve(path.as_ref())?;
        Ok(self.with(|named| named.read.push(path)))
    }

    /// Making and writing a file, or files in a folder and below.
    ///
    /// # Errors
    /// The system does not say where the path leads.
    pub fn write(self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = resolve(path.as_ref())?;
        Ok(self.with(|named| named.write.push(path)))
    }

    /// Running a program's file, and importing sources from its folder and below.
    ///
    /// # Errors
    /// The system does not say where the path leads.
    pub fn program(self, file: impl AsRef<Path>) -> io::Result<Self> {
        let file = file.as_ref();
        let folder = resolve(match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        })?;
        // The file itself may be a link that leads elsewhere.
        let file = resolve(file)?;
        Ok(self.with(|named| named.sources.extend([folder, file])))
    }

    /// Reading an environment variable.
    #[must_use]
    pub fn variable(self, name: &str) -> Self {
        self.with(|named| named.variables.push(name.to_owned()))
    }

    fn with(mut self, name: impl FnOnce(&mut Named)) -> Self {
        if let Some(named) = &mut self.named {
            name(named);
        }
        self
    }
}

/// Where a path leads, every link followed. What is not there lies where its folder does.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let mut left = parts(&absolute);
    let mut at = PathBuf::new();
    let mut links = 0;
    while let Some(part) = left.pop() {
        let part = Path::new(&part);
        match part.components().next() {
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::Normal(name)) => {
                let next = at.join(name);
                match std::fs::read_link(&next) {
                    Ok(target) => {
                        links += 1;
                        if links > LINKS_MAX {
                            return Err(io::Error::other("it leads over too many symbolic links"));
                        }
                        left.extend(parts(&target));
                    }
                    // It is not a link, or not there.
                    Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => at = next,
                    Err(error) if error.kind() == ErrorKind::NotADirectory => at = next,
                    Err(error) => return Err(error),
                }
            }
            Some(root) => at = PathBuf::from(root.as_os_str()),
            None => {}
        }
    }
    Ok(at)
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    let mut parts: Vec<OsString> = parts.map(|part| part.as_os_str().to_owned()).collect();
    parts.reverse();
    parts
}

/// A world that asks another one for what is permitted, and refuses the rest.
pub struct PermittedWorld<W> {
    inner: W,
    permissions: Permissions,
}

impl<W: World> PermittedWorld<W> {
    /// Puts permissions before a world.
    pub fn new(inner: W, permissions: Permissions) -> Self {
        Self { inner, permissions }
    }

    /// An error unless a path leads to one of the permitted places.
    fn check(&self, path: &str, doing: &str, kinds: &str, places: Places) -> Result<(), WorldError> {
        let Some(named) = &self.permissions.named else { return Ok(()) };
        let is_in = |resolved: &Path, places: &[PathBuf]| places.iter().any(|place| resolved.starts_with(place));
        // Where the system does not say where it leads, it leads to no permitted place.
        let is_permitted = resolve(Path::new(path)).is_ok_and(|resolved| match places {
            Places::Sources => is_in(&resolved, &named.sources) || is_in(&resolved, &named.read),
            Places::Files(mode) => {
                let writes = mode.is_outward();
                (!mode.read || is_in(&resolved, &named.read)) && (!writes || is_in(&resolved, &named.write))
            }
        });
        let permission = || {
            let each: Vec<String> = kinds.split(' ').map(|kind| format!("{kind}={path}")).collect();
            each.join(",")
        };
        if is_permitted { Ok(()) } else { Err(refusal(format!("{doing} {path}"), permission())) }
    }

    fn check_source(&self, path: &str) -> Result<(), WorldError> {
        self.check(path, "reading", "read", Places::Sources)
    }
}

/// Where something may lie.
#[derive(Clone, Copy)]
enum Places {
    Sources,
    Files(OpenMode),
}

fn refusal(asked: String, permission: String) -> WorldError {
    WorldError::NotPermitted { asked, permission }
}

impl<W: World> World for PermittedWorld<W> {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        self.inner.print(line)
    }

    fn trace(&mut self, line: &str) {
        self.inner.trace(line);
    }

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        self.check_source(path)?;
        self.inner.read_source(path)
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        self.check_source(path)?;
        self.inner.has_source(path)
    }

    fn read_standard_input(&mut self) -> Result<Vec<u8>, WorldError> {
        self.inner.read_standard_input()
    }

    fn absolute_path(&mut self, path: &str) -> Result<String, WorldError> {
        self.inner.absolute_path(path)
    }

    fn now(&mut self) -> Result<i64, WorldError> {
        self.inner.now()
    }

    fn commit_time(&mut self) -> Result<Option<i64>, WorldError> {
        self.inner.commit_time()
    }

    fn random(&mut self) -> Result<u64, WorldError> {
        self.inner.random()
    }

    fn environment(&mut self, name: &str) -> Result<Option<String>, WorldError> {
        let named = self.permissions.named.as_ref();
        if named.is_some_and(|named| !named.variables.iter().any(|variable| variable == name)) {
            return Err(refusal(format!("reading the environment variable {name}"), format!("env={name}")));
        }
        self.inner.environment(name)
    }

    fn open_file(&mut self, path: &str, mode: OpenMode) -> Result<FileId, WorldError> {
        let (doing, kinds) = match (mode.read, mode.is_outward()) {
            (true, true) => ("reading and writing", "read write"),
            (_, true) => ("writing", "write"),
            (_, false) => ("reading", "read"),
        };
        // A mode that neither reads nor writes opens nothing; the world says so.
        self.check(path, doing, kinds, Places::Files(mode))?;
        self.inner.open_file(path, mode)
    }

    fn read_file(&mut self, file: FileId, bytes_max: u64) -> Result<Vec<u8>, WorldError> {
        self.inner.read_file(file, bytes_max)
    }

    fn write_file(&mut self, file: FileId, bytes: &[u8]) -> Result<(), WorldError> {
        self.inner.write_file(file, bytes)
    }

    fn seek_file(&mut self, file: FileId, position: u64) -> Result<(), WorldError> {
        self.inner.seek_file(file, position)
    }

    fn file_size(&mut self, file: FileId) -> Result<u64, WorldError> {
        self.inner.file_size(file)
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        self.inner.close_file(file)
    }
}
