//! Other forms of a tape: JSON for people and differences, MessagePack for other programs, and what the Magneto-Serge system wrote.
//!
//! A form holds everything that a tape holds: exchanges, and what is known of the tape. Which form a file has is told by its
//! content; its name says what to write.

mod fields;
mod report;

use crate::error::Failure;
use crate::exchange::{Exchange, Note};
use crate::key::KeyScheme;
use crate::tape::{Tape, folder_and_name, write_tape};
use crate::{ReadError, SealError};
use journal::Disk;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;
use std::fs;
use std::path::Path;

/// How the file of a tape says what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Sealed or being recorded, as [`Tape`] reads it.
    Tape,
    /// JSON, indented: for people, differences and edits.
    Json,
    /// MessagePack; with the feature `msgpack` only.
    MessagePack,
}

/// All that is on a tape, in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// In the order of their numbers.
    pub exchanges: Vec<Exchange<'static>>,
    /// What is known of the tape: names and values.
    pub meta: Vec<Note<'static>>,
}

impl Form {
    /// The form that a file of this name is to be written in: by its extension `json`, `msgpack` or `mp`, else a tape.
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some(extension) if extension.eq_ignore_ascii_case("json") => Self::Json,
            Some(extension) if ["msgpack", "mp"].iter().any(|known| extension.eq_ignore_ascii_case(known)) => {
                Self::MessagePack
            }
            _ => Self::Tape,
        }
    }

    /// The form that bytes have, as far as their beginning tells; `None` if it is none of them.
    pub fn of_content(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"MNEMON") {
            return Some(Self::Tape);
        }
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
        match text.first()? {
            b'{' => Some(Self::Json),
            0x80..=0x9F | 0xDC..=0xDF => Some(Self::MessagePack),
            _ => None,
        }
    }
}

impl Content {
    /// Reads a tape of any form.
    ///
    /// # Errors
    /// There is none, it is none of the forms, or what it says is no tape.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FormError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let bytes = match fs::read(path) {
            // A tape whose recording has not been sealed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Self::of_tape(&Tape::open(path)?),
            bytes => bytes.map_err(Failure::new("read", &shown))?,
        };
        match Form::of_content(&bytes) {
            Some(Form::Tape) => Self::of_tape(&Tape::open(path)?),
            Some(Form::Json) => Self::from_json(&bytes).map_err(|error| error.of(&shown)),
            Some(Form::MessagePack) => Self::from_msgpack(&bytes).map_err(|error| error.of(&shown)),
            None => Err(FormError::Unknown { file: shown }),
        }
    }

    /// Writes a tape in the form that its name says, durably, in place of any file of the name.
    ///
    /// # Errors
    /// The system refuses; what lay there stays then.
    pub fn write(&self, path: impl AsRef<Path>, key: KeyScheme) -> Result<(), FormError> {
        let path = path.as_ref();
        let bytes = match Form::of_name(path) {
            Form::Tape => return Ok(write_tape(path, &self.exchanges, &self.meta, key)?),
            Form::Json => self.to_json(true)?,
            Form::MessagePack => self.to_msgpack()?,
        };
        Ok(write_file(path, &bytes)?)
    }

    /// All that is on a tape.
    ///
    /// # Errors
    /// The tape is not what was written.
    pub fn of_tape(tape: &Tape) -> Result<Self, FormError> {
        let exchanges: Result<_, ReadError> =
            tape.exchanges().map(|exchange| exchange.map(Exchange::into_owned)).collect();
        let meta = tape.meta()?.into_iter().map(Note::into_owned).collect();
        Ok(Self { exchanges: exchanges?, meta })
    }

    /// As JSON; indented with a line at the end, or in one line.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_json(&self, is_indented: bool) -> Result<Vec<u8>, FormError> {
        let document = DocumentOut::of(self);
        let written = if is_indented { serde_json::to_vec_pretty(&document) } else { serde_json::to_vec(&document) };
        let mut bytes = written.map_err(|error| FormError::malformed("JSON", &error))?;
        if is_indented {
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    /// From JSON: ours, or that of the Magneto-Serge system.
    ///
    /// # Errors
    /// It is neither.
    pub fn from_json(bytes: &[u8]) -> Result<Self, FormError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let read = serde_json::from_slice::<Document>(bytes);
        match read {
            Ok(document) => document.content(),
            // Not ours: if it is not theirs either, what is wrong with it as ours is of no use.
            Err(error) if has_field(bytes, "exchanges") => Err(FormError::malformed("JSON", &error)),
            Err(_) => report::from_json(bytes),
        }
    }

    /// As MessagePack.
    ///
    /// # Errors
    /// Memory is too small, in effect, or the feature `msgpack` is off.
    pub fn to_msgpack(&self) -> Result<Vec<u8>, FormError> {
        msgpack::write(&DocumentOut::of(self))
    }

    /// From MessagePack: ours, or that of the Magneto-Serge system.
    ///
    /// # Errors
    /// It is neither, or the feature `msgpack` is off.
    pub fn from_msgpack(bytes: &[u8]) -> Result<Self, FormError> {
        // Ours begins with our name.
        match bytes.get(2..2 + FORMAT.len()) == Some(FORMAT.as_bytes()) {
            true => msgpack::read::<Document>(bytes)?.content(),
            false => report::from_msgpack(bytes),
        }
    }
}

/// Values in MessagePack, structures as arrays.
#[cfg(feature = "msgpack")]
mod msgpack {
    use super::FormError;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    pub(super) fn write(value: &impl Serialize) -> Result<Vec<u8>, FormError> {
        rmp_serde::to_vec(value).map_err(|error| FormError::malformed("MessagePack", &error))
    }

    /// A value of all of these bytes.
    pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, FormError> {
        let mut reader = rmp_serde::Deserializer::new(std::io::Cursor::new(bytes));
        let value = T::deserialize(&mut reader).map_err(|error| FormError::malformed("MessagePack", &error))?;
        let is_all = reader.position() == bytes.len() as u64;
        if is_all { Ok(value) } else { Err(FormError::malformed("MessagePack", &"something follows its end")) }
    }
}

/// The same in a program without MessagePack: it says so.
#[cfg(not(feature = "msgpack"))]
mod msgpack {
    use super::FormError;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    const OFF: &str = "this program was built without the feature `msgpack`";

    pub(super) fn write(_: &impl Serialize) -> Result<Vec<u8>, FormError> {
        Err(FormError::malformed("MessagePack", &OFF))
    }

    pub(super) fn read<T: DeserializeOwned>(_: &[u8]) -> Result<T, FormError> {
        Err(FormError::malformed("MessagePack", &OFF))
    }
}

/// What the forms call themselves.
const FORMAT: &str = "mnemon-tape";
/// The version that is written. All versions up to it are read.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct DocumentOut<'c> {
    format: &'static str,
    version: u32,
    meta: &'c [Note<'static>],
    exchanges: &'c [Exchange<'static>],
}

impl<'c> DocumentOut<'c> {
    fn of(content: &'c Content) -> Self {
        Self { format: FORMAT, version: VERSION, meta: &content.meta, exchanges: &content.exchanges }
    }
}

#[derive(Deserialize)]
struct Document {
    format: String,
    version: u32,
    #[serde(default)]
    meta: Vec<Note<'static>>,
    exchanges: Vec<Exchange<'static>>,
}

impl Document {
    fn content(self) -> Result<Content, FormError> {
        if self.format != FORMAT || self.version > VERSION {
            return Err(FormError::Version { file: String::new(), version: self.version });
        }
        Ok(Content { exchanges: self.exchanges, meta: self.meta })
    }
}

/// Whether JSON is an object that has this field.
fn has_field(bytes: &[u8], name: &str) -> bool {
    let fields: Result<std::collections::BTreeMap<&str, serde::de::IgnoredAny>, _> = serde_json::from_slice(bytes);
    fields.is_ok_and(|fields| fields.contains_key(name))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let (folder, name) = folder_and_name(path)?;
    let unfinished = format!(".{name}.writing");
    let file = folder.create(&unfinished).map_err(Failure::new("create", &unfinished))?;
    file.write_full(0, bytes).map_err(Failure::new("write", &unfinished))?;
    file.sync().map_err(Failure::new("sync", &unfinished))?;
    folder.rename(&unfinished, &name).map_err(Failure::new("rename", &unfinished))?;
    folder.sync_names().map_err(Failure::new("sync the folder of", &name))
}

/// Why a form cannot be read or written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FormError {
    /// The system refused.
    Disk(Failure),
    /// The tape is not what was written.
    Unreadable(ReadError),
    /// The tape was not sealed.
    Seal(SealError),
    /// It is neither a tape nor any form of one.
    Unknown {
        /// The file.
        file: String,
    },
    /// It is of a later version, or of another program.
    Version {
        /// The file; empty if it lies in memory.
        file: String,
        /// The version.
        version: u32,
    },
    /// It has a form and says nothing in it.
    Malformed {
        /// The file; empty if it lies in memory.
        file: String,
        /// Its form.
        form: &'static str,
        /// What is wrong, and where.
        message: String,
    },
}

impl FormError {
    fn malformed(form: &'static str, error: &impl ToString) -> Self {
        Self::Malformed { file: String::new(), form, message: error.to_string() }
    }

    fn of(mut self, shown: &str) -> Self {
        if let Self::Version { file, .. } | Self::Malformed { file, .. } = &mut self {
            shown.clone_into(file);
        }
        self
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(failure) => failure.fmt(f),
            Self::Unreadable(error) => error.fmt(f),
            Self::Seal(error) => error.fmt(f),
            Self::Unknown { file } => {
                write!(f, "{file} is neither a tape nor JSON or MessagePack; name a file that a recording made")
            }
            Self::Version { file, version } => {
                write!(
                    f,
                    "{file}: a tape of version {version}, but this program reads up to {VERSION}; use a newer one"
                )
            }
            Self::Malformed { file, form, message } => {
                write!(f, "{file}: no tape in {form}: {message}; mend it there, or convert the tape again")
            }
        }
    }
}

impl Error for FormError {}

impl From<Failure> for FormError {
    fn from(failure: Failure) -> Self {
        Self::Disk(failure)
    }
}

impl From<ReadError> for FormError {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<SealError> for FormError {
    fn from(error: SealError) -> Self {
        Self::Seal(error)
    }
}
