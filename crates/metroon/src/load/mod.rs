//! Loading files of facts: which formats there are, and what a row of each becomes.
//!
//! One rule holds for all formats but MeTTa text: a text that is one word of a source, and means the symbol of that name, is that
//! symbol; any other text is a string. So whatever was loaded can be written as a source and read again.
//! `docs/decisions/0005-a-load-evaluates-nothing.md` has the reasons.

mod json_lines;
mod ntriples;
mod separated;
mod text;

pub use crate::knowledge_base::BaseLoadError;
pub use metta::{Format, LoadError, LoadProgress, LoadReport, OnProgress, Out, Skipped};

use json_lines::JsonLines;
use metta::{Formats, MettaText, Words};
use ntriples::NTriples;
use separated::Separated;
use std::fmt;
use std::rc::Rc;

/// The format of a file of facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// MeTTa text: each plain form is an atom.
    Metta,
    /// Values separated by commas, as RFC 4180 has it: `(HEAD value …)`.
    Csv,
    /// Values separated by tabs, without quotes: `(HEAD value …)`.
    Tsv,
    /// N-Triples of RDF 1.1: `(triple subject predicate object)`.
    NTriples,
    /// A JSON value a line: an object is `(HEAD (key value) …)`.
    JsonLines,
}

impl FileFormat {
    /// The format that the ending of a file's name stands for.
    pub fn of(file: &str) -> Option<Self> {
        let (_, ending) = file.rsplit_once('.')?;
        Some(match ending.to_ascii_lowercase().as_str() {
            "metta" => Self::Metta,
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "nt" => Self::NTriples,
            "jsonl" | "ndjson" => Self::JsonLines,
            _ => return None,
        })
    }
}

/// How a file is to be loaded.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Its format; by default that of its name's ending.
    pub format: Option<FileFormat>,
    /// The head of each atom; by default the name of the file without its ending, and `triple` for N-Triples. MeTTa text has none.
    pub head: Option<String>,
    /// Whether the first line of a CSV or TSV file is data, and no line of headings.
    pub has_no_headings: bool,
}

/// Why a file cannot be loaded in the way that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadOptionsError {
    /// The ending of its name stands for no format.
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// The name of the file, or what was given in its place, cannot be the head of an atom.
    BadHead {
        /// It.
        head: String,
    },
}

impl fmt::Display for LoadOptionsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownFormat { file } => write!(
                formatter,
                "the name of {file} does not say its format; name it: metta, csv, tsv, ntriples or jsonlines"
            ),
            Self::BadHead { head } => {
                write!(formatter, "{head:?} is not a symbol, so it cannot be the head of atoms; choose another head")
            }
        }
    }
}

impl std::error::Error for LoadOptionsError {}

/// Why a file was not loaded, or not to its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadFailure {
    /// It cannot be loaded in that way.
    Options(LoadOptionsError),
    /// The load ended before the end of the file. What was committed before stands.
    Load(LoadError),
}

impl fmt::Display for LoadFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(error) => error.fmt(formatter),
            Self::Load(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for LoadFailure {}

/// The format that a file is to be read in.
pub(crate) fn format_of(file: &str, options: &LoadOptions) -> Result<FileFormat, LoadOptionsError> {
    let unknown = || LoadOptionsError::UnknownFormat { file: file.to_owned() };
    options.format.or_else(|| FileFormat::of(file)).ok_or_else(unknown)
}

/// What reads a file. `place` tells the blank nodes of files apart: the file's absolute path, or the hash of what has none.
pub(crate) fn reader(
    file: &str,
    place: &str,
    options: &LoadOptions,
    words: Words,
) -> Result<Box<dyn Format>, LoadOptionsError> {
    let format = format_of(file, options)?;
    let head = |usual: &str| {
        let head = options.head.clone().unwrap_or_else(|| usual.to_owned());
        if words.is_symbol(&head) { Ok(head) } else { Err(LoadOptionsError::BadHead { head }) }
    };
    Ok(match format {
        FileFormat::Metta => Box::new(MettaText::new(words)),
        FileFormat::Csv => {
            let head = head(&stem(file))?;
            Box::new(Separated::by_commas(head, !options.has_no_headings, words))
        }
        FileFormat::Tsv => {
            let head = head(&stem(file))?;
            Box::new(Separated::by_tabs(head, !options.has_no_headings, words))
        }
        FileFormat::NTriples => {
            let head = head("triple")?;
            Box::new(NTriples::new(head, place, words))
        }
        FileFormat::JsonLines => {
            let head = head(&stem(file))?;
            Box::new(JsonLines::new(head, words))
        }
    })
}

/// The name of a file without its ending, with `-` for what cannot be part of a symbol.
fn stem(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    let is_odd = |character: char| character.is_whitespace() || "();\"$!".contains(character);
    stem.chars().map(|character| if is_odd(character) { '-' } else { character }).collect()
}

/// The formats that `import!` reads beside MeTTa text, by the endings of names.
struct Imports;

const ENDINGS: &[&str] = &["csv", "tsv", "tab", "nt", "jsonl", "ndjson"];

impl Formats for Imports {
    fn endings(&self) -> &[&'static str] {
        ENDINGS
    }

    fn of(&self, file: &str, words: Words) -> Result<Option<Box<dyn Format>>, String> {
        match FileFormat::of(file) {
            None | Some(FileFormat::Metta) => Ok(None),
            Some(_) => {
                reader(file, file, &LoadOptions::default(), words).map(Some).map_err(|error| format!("{file}: {error}"))
            }
        }
    }
}

/// The formats that `import!` reads.
pub(crate) fn imports() -> Rc<dyn Formats> {
    Rc::new(Imports)
}
