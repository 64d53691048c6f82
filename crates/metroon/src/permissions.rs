//! What a program may reach of the machine: a world that passes permitted questions on to another one and refuses the rest.
//!
//! 1. [`Permissions::everything`] refuses nothing that a [`World`] can be asked for. A user's own program runs with it.
//! 2. [`Permissions::nothing`] is for programs of others. What they may reach is then named one by one: folders or files to
//!    read, folders or files to write, variables. The clock, random numbers and the output are always there.
//! 3. The sources that a run is given are its user's choice, so they may be read, and `import!` may read other sources in their
//!    folders and below. `file-open!` may not.
//! 4. Places are compared after every symbolic link and every `..` has been followed; a file that is to be made lies where its
//!    folder does. What is opened then is the place that was compared, and no link on the way to it is followed. So neither a
//!    link in a permitted folder nor a path through `..` leads out of it, and no program that exchanges links meanwhile can lead a file out.
//!    That does not hold for services: a store, or a state of pages, is a folder of many files, which are opened by its place: the place of the folder is compared before
//!    it is opened and after, so a link that another program exchanges in between and puts back is not noticed, and links inside the
//!    folder are followed. Nobody else should be able to write where they lie.
//! 5. A refusal is [`WorldError::NotPermitted`], which says what would permit it. Whether there is such a file is not said.
//!
//! A recorded run writes refusals to its tape like any other answer, so its replay refuses the same.

use crate::file_place::FilePlace;
use metta::{FileId, MemoryWorld, OpenMode, ServiceAnswer, ServiceRequest, World, WorldError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A path whose links are exchanged while it is opened is looked at this many times.
const LOOKS_MAX: u32 = 64;

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
        let path = place_of(path.as_ref())?;
        Ok(self.with(|named| named.read.push(path)))
    }

    /// Making and writing a file, or files in a folder and below.
    ///
    /// # Errors
    /// The system does not say where the path leads.
    pub fn write(self, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = place_of(path.as_ref())?;
        Ok(self.with(|named| named.write.push(path)))
    }

    /// Running a program's file, and importing sources from its folder and below.
    ///
    /// # Errors
    /// The system does not say where the path leads.
    pub fn program(self, file: impl AsRef<Path>) -> io::Result<Self> {
        let file = file.as_ref();
        let folder = place_of(match file.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        })?;
        // The file itself may be a link that leads elsewhere.
        let file = place_of(file)?;
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

fn place_of(path: &Path) -> io::Result<PathBuf> {
    FilePlace::of(path).map(|place| place.path().to_owned())
}

/// A world that opens what lies at a place, and follows no link on the way there.
///
/// The answers are those of the methods of [`World`] with these names, or `Ok(None)` if a link has been put on the way since the place was
/// looked up: then the path has to be looked at anew.
pub trait OpensPlaces: World {
    /// As [`World::read_source`].
    ///
    /// # Errors
    /// As there.
    fn read_source_at(&mut self, path: &str, place: &FilePlace) -> Result<Option<Arc<Vec<u8>>>, WorldError>;

    /// As [`World::has_source`].
    ///
    /// # Errors
    /// As there.
    fn has_source_at(&mut self, path: &str, place: &FilePlace) -> Result<Option<bool>, WorldError>;

    /// As [`World::open_file`].
    ///
    /// # Errors
    /// As there.
    fn open_file_at(&mut self, path: &str, place: &FilePlace, mode: OpenMode) -> Result<Option<FileId>, WorldError>;
}

/// In memory there are no links.
impl OpensPlaces for MemoryWorld {
    fn read_source_at(&mut self, path: &str, _: &FilePlace) -> Result<Option<Arc<Vec<u8>>>, WorldError> {
        self.read_source(path).map(Some)
    }

    fn has_source_at(&mut self, path: &str, _: &FilePlace) -> Result<Option<bool>, WorldError> {
        self.has_source(path).map(Some)
    }

    fn open_file_at(&mut self, path: &str, _: &FilePlace, mode: OpenMode) -> Result<Option<FileId>, WorldError> {
        self.open_file(path, mode).map(Some)
    }
}

/// A world that asks another one for what is permitted, and refuses the rest.
pub struct PermittedWorld<W> {
    inner: W,
    permissions: Permissions,
}

impl<W: OpensPlaces> PermittedWorld<W> {
    /// Puts permissions before a world.
    pub fn new(inner: W, permissions: Permissions) -> Self {
        Self { inner, permissions }
    }

    /// Asks the world for what lies at a path, or refuses to unless the path leads to one of the permitted places.
    fn asked<T>(
        &mut self,
        path: &str,
        places: Places,
        mut ask: impl FnMut(&mut W, &FilePlace) -> Result<Option<T>, WorldError>,
    ) -> Result<T, WorldError> {
        for _ in 0..LOOKS_MAX {
            // Where the system does not say where it leads, it leads to no permitted place.
            let place = FilePlace::of(Path::new(path)).ok().filter(|place| self.permissions.permit(place, places));
            let Some(place) = place else { return Err(places.refusal(path)) };
            if let Some(answer) = ask(&mut self.inner, &place)? {
                return Ok(answer);
            }
        }
        let reason = "it is not what it was a moment ago: somebody keeps exchanging links or folders on the way to it";
        Err(WorldError::NotOpened { path: path.to_owned(), reason: reason.to_owned() })
    }
}

impl<W: OpensPlaces> PermittedWorld<W> {
    /// Opens a service at a permitted place, or refuses to. The place is looked up again afterwards, in case that somebody has exchanged links on
    /// the way to it meanwhile.
    fn open_service(
        &mut self,
        request: &ServiceRequest,
        path: &str,
        for_writing: bool,
    ) -> Result<ServiceAnswer, WorldError> {
        let mode = OpenMode { read: true, write: for_writing, create: for_writing, ..OpenMode::default() };
        self.asked(path, Places::Files(mode), |world, place| {
            let name = place.path().to_str();
            let name = name.ok_or_else(|| WorldError::service_failed(path, "its path is not UTF-8"))?;
            let answer = world.ask_service(&request.clone().in_folder(name))?;
            if FilePlace::of(place.path()).is_ok_and(|now| now.path() == place.path()) {
                return Ok(Some(answer));
            }
            if let Some(opened) = answer.opened() {
                world.ask_service(&ServiceRequest::close(request.kind(), opened))?;
            }
            Ok(None)
        })
    }
}

impl Permissions {
    fn permit(&self, place: &FilePlace, places: Places) -> bool {
        let Some(named) = &self.named else { return true };
        let is_in = |places: &[PathBuf]| places.iter().any(|permitted| place.path().starts_with(permitted));
        match places {
            Places::Sources => is_in(&named.sources) || is_in(&named.read),
            Places::Files(mode) => (!mode.read || is_in(&named.read)) && (!mode.is_outward() || is_in(&named.write)),
        }
    }
}

/// Where something may lie.
#[derive(Clone, Copy)]
enum Places {
    Sources,
    Files(OpenMode),
}

impl Places {
    /// That a path may not be reached, and what would permit it.
    fn refusal(self, path: &str) -> WorldError {
        let (doing, kinds): (_, &[&str]) = match self {
            Self::Files(mode) if mode.is_outward() && mode.read => ("reading and writing", &["read", "write"]),
            Self::Files(mode) if mode.is_outward() => ("writing", &["write"]),
            // A mode that neither reads nor writes opens nothing; the world says so.
            Self::Files(_) | Self::Sources => ("reading", &["read"]),
        };
        let permission: Vec<String> = kinds.iter().map(|kind| format!("{kind}={path}")).collect();
        refusal(format!("{doing} {path}"), permission.join(","))
    }
}

fn refusal(asked: String, permission: String) -> WorldError {
    WorldError::NotPermitted { asked, permission }
}

impl<W: OpensPlaces> World for PermittedWorld<W> {
    fn print(&mut self, line: &str) -> Result<(), WorldError> {
        self.inner.print(line)
    }

    fn trace(&mut self, line: &str) {
        self.inner.trace(line);
    }

    fn read_source(&mut self, path: &str) -> Result<Arc<Vec<u8>>, WorldError> {
        if self.permissions.named.is_none() {
            return self.inner.read_source(path);
        }
        self.asked(path, Places::Sources, |world, place| world.read_source_at(path, place))
    }

    fn has_source(&mut self, path: &str) -> Result<bool, WorldError> {
        if self.permissions.named.is_none() {
            return self.inner.has_source(path);
        }
        self.asked(path, Places::Sources, |world, place| world.has_source_at(path, place))
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
        if self.permissions.named.is_none() {
            return self.inner.open_file(path, mode);
        }
        self.asked(path, Places::Files(mode), |world, place| world.open_file_at(path, place, mode))
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

    fn ask_service(&mut self, request: &ServiceRequest) -> Result<ServiceAnswer, WorldError> {
        match request.folder().filter(|_| self.permissions.named.is_some()) {
            Some((path, for_writing)) => self.open_service(request, path, for_writing),
            None => self.inner.ask_service(request),
        }
    }

    fn close_file(&mut self, file: FileId) -> Result<(), WorldError> {
        self.inner.close_file(file)
    }
}
