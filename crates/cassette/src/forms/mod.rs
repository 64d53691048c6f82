//! Other forms of a tape: JSON for people and differences, MessagePack for other programs, what the Magneto-Serge system wrote, and
//! the forms of others, HAR and VCR.
//!
//! A form of ours holds everything that a tape holds: exchanges, and what is known of the tape. HAR and VCR hold less; writing them
//! says what was lost. Which form a file has is told by its
//! content; its name says what to write.

mod document;
mod fields;
mod foreign;
mod har;
mod losses;
mod report;
mod url;
mod vcr;

pub use losses::Loss;
pub use vcr::VcrStyle;

use crate::error::Failure;
use crate::exchange::{Exchange, Note};
use crate::key::KeyScheme;
use crate::tape::{Tape, folder_and_name, write_tape};
use crate::{ReadError, SealError};
use journal::Disk;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
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
    /// HAR 1.2, which browsers write and read.
    Har,
    /// A cassette of VCR in YAML.
    VcrYaml,
    /// A cassette of VCR in JSON.
    VcrJson,
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
    /// The form that a file of this name is to be written in, by its extension: `json`, `msgpack` or `mp`, `har`, `yaml` or `yml`,
    /// `vcr.json`; else a tape.
    pub fn of_name(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
        let extensions = [
            (".vcr.json", Self::VcrJson),
            (".json", Self::Json),
            (".msgpack", Self::MessagePack),
            (".mp", Self::MessagePack),
            (".har", Self::Har),
            (".yaml", Self::VcrYaml),
            (".yml", Self::VcrYaml),
        ];
        extensions.iter().find(|(extension, _)| name.ends_with(extension)).map_or(Self::Tape, |(_, form)| *form)
    }

    /// The form that bytes have: by their beginning, of JSON by the names at the top, of YAML by lines; `None` if it is none of them.
    pub fn of_content(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"MNEMON") {
            return Some(Self::Tape);
        }
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii_start();
        match text.first()? {
            b'{' => Some(of_json(text)),
            0x80..=0x9F | 0xDC..=0xDF => Some(Self::MessagePack),
            _ => vcr::is_yaml(text).then_some(Self::VcrYaml),
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
            Some(Form::Har) => Self::from_har(&bytes).map_err(|error| error.of(&shown)),
            Some(Form::VcrYaml) => Self::from_vcr_yaml(&bytes).map_err(|error| error.of(&shown)),
            Some(Form::VcrJson) => Self::from_vcr_json(&bytes).map_err(|error| error.of(&shown)),
            // A cassette that is so broken that nothing tells it but its name.
            None if Form::of_name(path) == Form::VcrYaml => {
                Self::from_vcr_yaml(&bytes).map_err(|error| error.of(&shown))
            }
            None => Err(FormError::Unknown { file: shown }),
        }
    }

    /// Writes a tape in the form that its name says, durably, in place of any file of the name. Gives what the form has no room
    /// for: nothing but for HAR and VCR.
    ///
    /// # Errors
    /// The system refuses; what lay there stays then.
    pub fn write(&self, path: impl AsRef<Path>, key: KeyScheme) -> Result<Vec<Loss>, FormError> {
        let path = path.as_ref();
        let (bytes, losses) = match Form::of_name(path) {
            Form::Tape => {
                write_tape(path, &self.exchanges, &self.meta, key)?;
                return Ok(Vec::new());
            }
            Form::Json => (self.to_json(true)?, Vec::new()),
            Form::MessagePack => (self.to_msgpack()?, Vec::new()),
            Form::Har => self.to_har()?,
            Form::VcrYaml => self.to_vcr_yaml(VcrStyle::default())?,
            Form::VcrJson => self.to_vcr_json(VcrStyle::default())?,
        };
        write_file(path, &bytes)?;
        Ok(losses)
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

    /// As HAR 1.2, indented, and what it cannot hold: chunks and their times, trailers, responses before the response, how frames of
    /// a WebSocket were cut, the compressed bytes of a response, and what is no UTF-8 in headers and URLs.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_har(&self) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
        har::write(self)
    }

    /// From HAR 1.0 to 1.2. Nothing is lost: what an exchange has no place for becomes a note.
    ///
    /// # Errors
    /// It is no HAR; the message names the place.
    pub fn from_har(bytes: &[u8]) -> Result<Self, FormError> {
        har::read(bytes)
    }

    /// As a VCR cassette in YAML, and what it cannot hold: times but that of the recording, chunks, trailers, errors, WebSockets.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_vcr_yaml(&self, style: VcrStyle) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
        vcr::write(self, style, vcr::Syntax::Yaml)
    }

    /// As a VCR cassette in JSON, and what it cannot hold: as in YAML, and in the style of Python bodies that are no UTF-8.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_vcr_json(&self, style: VcrStyle) -> Result<(Vec<u8>, Vec<Loss>), FormError> {
        vcr::write(self, style, vcr::Syntax::Json)
    }

    /// From a VCR cassette in YAML, of vcrpy or of VCR for Ruby. Nothing is lost: what an exchange has no place for becomes a note.
    ///
    /// # Errors
    /// It is no such cassette; the message names the place.
    pub fn from_vcr_yaml(bytes: &[u8]) -> Result<Self, FormError> {
        vcr::read(bytes, vcr::Syntax::Yaml)
    }

    /// The same of a cassette in JSON.
    ///
    /// # Errors
    /// As [`Content::from_vcr_yaml`].
    pub fn from_vcr_json(bytes: &[u8]) -> Result<Self, FormError> {
        vcr::read(bytes, vcr::Syntax::Json)
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
    let fields: Result<std::collections::BTreeMap<&str, IgnoredAny>, _> = serde_json::from_slice(bytes);
    fields.is_ok_and(|fields| fields.contains_key(name))
}

/// The form that JSON has, by the names at its top, as far as it can be read.
fn of_json(bytes: &[u8]) -> Form {
    let mut names = Vec::new();
    // What is wrong farther on is said by who reads it.
    let _ = serde_json::Deserializer::from_slice(bytes).deserialize_map(Names(&mut names));
    let has = |name: &str| names.iter().any(|other| other == name);
    // The cassettes of the Magneto-Serge system have a name.
    if has("log") && !has("format") {
        Form::Har
    } else if has("http_interactions") || has("interactions") && !has("name") && !has("format") {
        Form::VcrJson
    } else {
        Form::Json
    }
}

/// Takes down the names of a map.
struct Names<'n>(&'n mut Vec<String>);

impl<'de> Visitor<'de> for Names<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key()? {
            self.0.push(name);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
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
                write!(
                    f,
                    "{file} is neither a tape nor any other form that is read: JSON, MessagePack, HAR, VCR; name a file that a recording made"
                )
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
