//! Other forms of a cassette: text for people and differences, JSON, MessagePack for other programs, what the Magneto-Serge system
//! wrote, and the formats of others: HAR and VCR.
//!
//! Which form a file has is told by its content; its name says what to write. [`Form`] lists the forms; a new one gets a row
//! there, and an arm in [`Form::of_content`], [`Content::decode`] and [`Content::encode`]. What a form has no place for is said
//! when it is written.

mod detect;
mod document;
mod elements;
mod error;
mod fields;
mod foreign;
mod form;
mod har;
mod json_text;
mod lines;
mod losses;
mod memory;
mod msgpack;
mod report;
mod seal_long;
mod stream;
mod text;
mod url;
mod vcr;

pub use error::FormError;
pub use form::{Form, UnknownForm};
pub use losses::Loss;
pub use seal_long::{SealedDocument, seal_document};
pub use stream::DocumentProgress;
pub use vcr::VcrStyle;

use crate::cassette::{Cassette, write_cassette};
use crate::content::Content;
use crate::counts::ExchangeCounts;
use crate::error::FileError;
use crate::exchange::{Exchange, Note};
use crate::file::{self, ReadFileError, folder_and_name};
use crate::gzip;
use crate::limits::{MemoryBudget, ReadOptions};
use crate::outline::Outline;
use crate::scan::Scanner;
use crate::seal::options::SealOptions;
use crate::selection::{Selection, WHOLE_CASSETTE};
use crate::version::DOCUMENT_VERSION;
use journal::Disk;
use serde::{Deserialize, Serialize};
use std::path::Path;
use stream::LongDocument;

impl Form {
    /// The form that bytes have: by their beginning, of JSON by the names at its top, of YAML by its lines; `None` if it is none.
    pub fn of_content(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"METROON") {
            return Some(Self::Cassette);
        }
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if text.starts_with(text::MAGIC.as_bytes()) {
            return Some(Self::Text);
        }
        match text.trim_ascii_start().first()? {
            b'{' => Some(detect::form_of_json(text)),
            0x80..=0x9F | 0xDC..=0xDF => Some(Self::MessagePack),
            _ => {
                vcr::style_of_yaml(text).map(|style| if style == VcrStyle::Python { Self::Vcr } else { Self::VcrRuby })
            }
        }
    }
}

/// A cassette in a form that is not a cassette itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The file.
    pub bytes: Vec<u8>,
    /// What the form has no place for, and so is not in it: a sentence each.
    pub lost: Vec<String>,
    /// How many exchanges are not in it at all.
    pub exchanges_left_out: usize,
}

/// What was written to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenContent {
    /// What is in it.
    pub counts: ExchangeCounts,
    /// What is not in it at all, since the form has no place for it: exchanges without a response, messages of WebSockets.
    pub left_out: ExchangeCounts,
    /// What the form has no place for, and so is not in it: a sentence each.
    pub lost: Vec<String>,
}

impl Encoded {
    /// In a form that has a place for everything.
    fn whole(bytes: Vec<u8>) -> Self {
        Self { bytes, lost: Vec::new(), exchanges_left_out: 0 }
    }

    fn with((bytes, losses): (Vec<u8>, Vec<Loss>)) -> Self {
        let left_out =
            losses.iter().filter(|loss| loss.what == losses::WHOLE_EXCHANGES).map(|loss| loss.exchanges.len());
        Self { bytes, lost: losses.iter().map(Loss::to_string).collect(), exchanges_left_out: left_out.sum() }
    }
}

/// A file of any form: a cassette is used where it lies, everything else is read.
enum OpenedFile {
    Cassette(Box<Cassette>),
    Content(Content, Form),
}

/// The one place where a file of any form is opened.
fn find(path: &Path, options: ReadOptions) -> Result<OpenedFile, FormError> {
    let shown = path.display().to_string();
    // A pipe can be read once.
    let begins_as_cassette = if file::is_handed_over(path) { Ok(false) } else { Cassette::is_at(path) };
    let is_cassette = match begins_as_cassette {
        // A cassette whose recording has not been sealed, or nothing at all, as opening it says.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
        is_cassette => is_cassette.map_err(FileError::new("read", &shown))?,
    };
    if is_cassette {
        return Ok(OpenedFile::Cassette(Box::new(Cassette::open_with(path, options)?)));
    }
    if let Some(content) = find_long(path, options)? {
        return Ok(OpenedFile::Content(content, Form::Json));
    }
    let bytes = file::read(path, options).map_err(|error| match error {
        ReadFileError::Failed(error) => FormError::from(FileError::new("read", &shown)(error)),
        ReadFileError::TooMuch(excess) => excess.of(&shown).into(),
        ReadFileError::Gzip(flaw, bytes) => FormError::Gzip {
            file: shown.clone(),
            flaw,
            exchanges: stream::whole_exchanges(&bytes, options),
            bytes: bytes.len() as u64,
        },
    })?;
    // What is so broken that nothing tells it but its name.
    let named = Some(Form::of_name(path)).filter(|form| *form == Form::Vcr);
    let form = Form::of_content(&bytes).or(named).ok_or_else(|| FormError::Unknown { file: shown.clone() })?;
    if form == Form::Cassette {
        return Ok(OpenedFile::Cassette(Box::new(Cassette::from_bytes_with(bytes, &shown, options)?)));
    }
    let content = Content::decode_with(&bytes, form, options).map_err(|error| error.of(&shown))?;
    Ok(OpenedFile::Content(content, form))
}

/// All of a long document of JSON, without the text of it in memory; `None` if it is another file, or a short one.
fn find_long(path: &Path, options: ReadOptions) -> Result<Option<Content>, FormError> {
    let Some(document) = LongDocument::at(path)? else { return Ok(None) };
    let (mut exchanges, mut room) = (Vec::new(), MemoryBudget::new(options.most()));
    let meta = document.exchanges(options, &mut |exchange, _| {
        room.take(Outline::of(&exchange).memory_bytes(), WHOLE_CASSETTE)?;
        exchanges.push(exchange);
        Ok(())
    })?;
    Ok(meta.map(|meta| Content { exchanges, meta }))
}

impl Cassette {
    /// Opens a file of any form, and says which it has. What is not a cassette itself is read into memory.
    ///
    /// # Errors
    /// There is none, it is none of the forms, or what it says is not a cassette.
    pub fn open_any(path: impl AsRef<Path>) -> Result<(Self, Form), FormError> {
        Self::open_any_with(path, ReadOptions::default())
    }

    /// Opens a file of any form with another limit of what comes of the file, and says which form it has.
    ///
    /// # Errors
    /// As [`Cassette::open_any`], and [`FormError::TooMuch`].
    pub fn open_any_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<(Self, Form), FormError> {
        Ok(match find(path.as_ref(), options)? {
            OpenedFile::Cassette(cassette) => (*cassette, Form::Cassette),
            OpenedFile::Content(content, form) => (content.into(), form),
        })
    }
}

impl Content {
    /// Reads a cassette of any form.
    ///
    /// # Errors
    /// As [`Cassette::open_any`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FormError> {
        match find(path.as_ref(), ReadOptions::default())? {
            OpenedFile::Cassette(cassette) => Self::of_cassette(&cassette),
            OpenedFile::Content(content, _) => Ok(content),
        }
    }

    /// Writes a cassette in the form that its name says, durably, in place of any file of the name. Says what the form has no place
    /// for.
    ///
    /// # Errors
    /// The system refuses, or a known form of a secret is in it; what lay there stays then.
    pub fn write(&self, path: impl AsRef<Path>, options: impl Into<SealOptions>) -> Result<Vec<String>, FormError> {
        let path = path.as_ref();
        self.write_as(Form::of_name(path), path, options).map(|written| written.lost)
    }

    /// Writes a cassette in the form that is given, whatever its name is; says also how many exchanges are in the file.
    ///
    /// # Errors
    /// As [`Content::write`].
    pub fn write_as(
        &self,
        form: Form,
        path: impl AsRef<Path>,
        options: impl Into<SealOptions>,
    ) -> Result<WrittenContent, FormError> {
        let (path, options) = (path.as_ref(), options.into());
        if form == Form::Cassette {
            write_cassette(path, &self.exchanges, &self.meta, options)?;
            let counts = ExchangeCounts::of(&self.exchanges);
            return Ok(WrittenContent { counts, ..WrittenContent::default() });
        }
        Scanner::of_content(&self.exchanges, &self.meta, &options, &path.display().to_string())?;
        let Encoded { mut bytes, lost, .. } = self.encode(form)?;
        if gzip::is_named(path) {
            bytes = gzip::compress(&bytes);
        }
        write_file(path, &bytes)?;
        let (counts, left_out) = self.placed(form);
        Ok(WrittenContent { counts, left_out, lost })
    }

    /// What a form has a place for, and what it leaves out.
    fn placed(&self, form: Form) -> (ExchangeCounts, ExchangeCounts) {
        let all = ExchangeCounts::of(&self.exchanges);
        if !matches!(form, Form::Vcr | Form::VcrJson | Form::VcrRuby) {
            return (all, ExchangeCounts::default());
        }
        let exchanges = self.exchanges.iter().filter(|exchange| exchange.response.is_some()).count() as u64;
        let left_out = ExchangeCounts { exchanges: all.exchanges - exchanges, ..all };
        (ExchangeCounts { exchanges, websockets: 0, messages: 0 }, left_out)
    }

    /// All of it in a form other than a cassette's own, which is a file and is [written](write_cassette).
    ///
    /// # Errors
    /// The form cannot be written: it is that of a cassette, or the feature `msgpack` is off.
    pub fn encode(&self, form: Form) -> Result<Encoded, FormError> {
        match form {
            Form::Cassette => Err(FormError::NotInMemory),
            Form::Json => self.to_json(true).map(Encoded::whole),
            Form::MessagePack => self.to_msgpack().map(Encoded::whole),
            Form::Text => Ok(Encoded::whole(self.to_text().into_bytes())),
            Form::Har => self.to_har().map(Encoded::with),
            Form::Vcr => self.to_vcr_yaml(VcrStyle::Python).map(Encoded::with),
            Form::VcrJson => self.to_vcr_json(VcrStyle::Python).map(Encoded::with),
            Form::VcrRuby => self.to_vcr_yaml(VcrStyle::Ruby).map(Encoded::with),
        }
    }

    /// What bytes of a form other than a cassette's own say.
    ///
    /// # Errors
    /// They say nothing in this form.
    pub fn decode(bytes: &[u8], form: Form) -> Result<Self, FormError> {
        Self::decode_with(bytes, form, ReadOptions::default())
    }

    /// What bytes of a form other than a cassette's own say, with another limit of what comes of the bytes.
    ///
    /// # Errors
    /// As [`Content::decode`], and [`FormError::TooMuch`].
    pub fn decode_with(bytes: &[u8], form: Form, options: ReadOptions) -> Result<Self, FormError> {
        memory::check(bytes, form, options)?;
        match form {
            Form::Cassette => Err(FormError::NotInMemory),
            Form::Json => Self::from_json(bytes),
            Form::MessagePack => Self::from_msgpack(bytes),
            Form::Text => Self::from_text(bytes),
            Form::Har => har::read(bytes, options),
            Form::Vcr | Form::VcrRuby => vcr::read(bytes, vcr::Syntax::Yaml, options),
            Form::VcrJson => vcr::read(bytes, vcr::Syntax::Json, options),
        }
    }

    /// All that is on a cassette.
    ///
    /// # Errors
    /// The cassette is not what was written.
    pub fn of_cassette(cassette: &Cassette) -> Result<Self, FormError> {
        Ok(Selection::of(cassette)?.content()?)
    }

    /// As JSON; indented with a line at the end, or in one line.
    ///
    /// # Errors
    /// Memory is too small, in effect.
    pub fn to_json(&self, is_indented: bool) -> Result<Vec<u8>, FormError> {
        let document = DocumentToWrite::of(self);
        let written = if is_indented { serde_json::to_vec_pretty(&document) } else { serde_json::to_vec(&document) };
        let mut bytes = written.map_err(|error| FormError::malformed("JSON", &error))?;
        if is_indented {
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    /// As text in lines, of which `docs/formats.md` has the grammar.
    pub fn to_text(&self) -> String {
        text::write(self)
    }

    /// From text in lines.
    ///
    /// # Errors
    /// It is none; line and column are said.
    pub fn from_text(bytes: &[u8]) -> Result<Self, FormError> {
        text::read(bytes)
    }

    /// From JSON: ours, or that of the Magneto-Serge system.
    ///
    /// # Errors
    /// It is neither.
    pub fn from_json(bytes: &[u8]) -> Result<Self, FormError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let read = serde_json::from_slice::<DocumentRead>(bytes);
        match read {
            Ok(document) => document.content(),
            // Not ours: if it is not theirs either, what is wrong with it as ours is of no use.
            Err(error) if !error.is_data() || has_field(bytes, "exchanges") => {
                Err(FormError::malformed("JSON", &error))
            }
            Err(_) => report::from_json(bytes),
        }
    }

    /// As MessagePack.
    ///
    /// # Errors
    /// Memory is too small, in effect, or the feature `msgpack` is off.
    pub fn to_msgpack(&self) -> Result<Vec<u8>, FormError> {
        msgpack::write(&DocumentToWrite::of(self))
    }

    /// From MessagePack: ours, or that of the Magneto-Serge system.
    ///
    /// # Errors
    /// It is neither, or the feature `msgpack` is off.
    pub fn from_msgpack(bytes: &[u8]) -> Result<Self, FormError> {
        // Ours begins with our name.
        match bytes.get(2..2 + FORMAT.len()) == Some(FORMAT.as_bytes()) {
            true => msgpack::read::<DocumentRead>(bytes)?.content(),
            false => report::from_msgpack(bytes),
        }
    }
}

/// What the forms call themselves.
const FORMAT: &str = "metroon-cassette";
#[derive(Serialize)]
struct DocumentToWrite<'c> {
    format: &'static str,
    version: u32,
    meta: &'c [Note<'static>],
    exchanges: &'c [Exchange<'static>],
}

impl<'c> DocumentToWrite<'c> {
    fn of(content: &'c Content) -> Self {
        Self { format: FORMAT, version: DOCUMENT_VERSION, meta: &content.meta, exchanges: &content.exchanges }
    }
}

#[derive(Deserialize)]
struct DocumentRead {
    format: String,
    version: u32,
    #[serde(default)]
    meta: Vec<Note<'static>>,
    exchanges: Vec<Exchange<'static>>,
}

impl DocumentRead {
    fn content(self) -> Result<Content, FormError> {
        if self.format != FORMAT || self.version > DOCUMENT_VERSION {
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

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let (folder, name) = folder_and_name(path)?;
    let unfinished = format!(".{name}.writing");
    let file = folder.create(&unfinished).map_err(FileError::new("create", &unfinished))?;
    let written = file
        .write_full(0, bytes)
        .map_err(FileError::new("write", &unfinished))
        .and_then(|()| file.sync().map_err(FileError::new("sync", &unfinished)))
        .and_then(|()| folder.rename(&unfinished, &name).map_err(FileError::new("rename", &unfinished)));
    if written.is_err() {
        // It is worth nothing; the next writing takes its place.
        let _ = folder.remove(&unfinished);
    }
    written?;
    folder.sync_names().map_err(FileError::new("sync the folder of", &name))
}
