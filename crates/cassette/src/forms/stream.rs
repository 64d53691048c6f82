//! JSON documents of any length, exchange by exchange: ours, and those of the Magneto-Serge system.
//!
//! Which of them it is, the members before the list of exchanges say: both programs write them first. A document that has them
//! elsewhere, and one of another kind, is not read this way, and that is known before any exchange is given out.

use super::detect::form_of_json;
use super::elements::{Element, Splitter, Stop};
use super::error::FormError;
use super::form::Form;
use super::{DocumentRead, memory, report};
use crate::content::Content;
use crate::error::FileError;
use crate::exchange::{Exchange, Note};
use crate::file;
use crate::gzip::{self, PlainReader};
use crate::limits::ReadOptions;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

/// The lists of exchanges, of ours and of theirs.
const OURS: &str = "exchanges";
const THEIRS: &str = "interactions";

/// A shorter document is read whole.
const BYTES_MIN: u64 = 4 << 20;
/// Of a file in gzip, which becomes longer.
const GZIP_BYTES_MIN: u64 = BYTES_MIN / 16;

/// A document that is not read this way.
struct Otherwise;

/// How far the reading of a document has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentProgress {
    /// How many exchanges were read.
    pub exchanges: u64,
    /// How many bytes of the file were read, compressed if it is.
    pub bytes: u64,
    /// How many bytes the file has.
    pub bytes_in_all: u64,
}

/// A long file that may be a document of JSON.
pub(super) struct LongDocument {
    input: PlainReader<CountingReader<File>>,
    /// How many bytes of the file were read.
    read: Rc<Cell<u64>>,
    length: u64,
    shown: String,
}

struct CountingReader<R> {
    input: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}

impl LongDocument {
    /// `None` if the file is short, or cannot be read twice.
    pub(super) fn at(path: &Path) -> Result<Option<Self>, FileError> {
        if file::is_handed_over(path) {
            return Ok(None);
        }
        let shown = path.display().to_string();
        let (file, length) = file::open(path).map_err(FileError::new("read", &shown))?;
        let read = Rc::new(Cell::new(0));
        let input = PlainReader::new(CountingReader { input: file, count: Rc::clone(&read) });
        let input = input.map_err(FileError::new("read", &shown))?;
        let is_long = length >= if input.is_gzip() { GZIP_BYTES_MIN } else { BYTES_MIN };
        Ok(is_long.then_some(Self { input, read, length, shown }))
    }

    /// Gives out its exchanges, as [`read`] does.
    pub(super) fn exchanges(
        self,
        options: ReadOptions,
        take: &mut dyn FnMut(Exchange<'static>, DocumentProgress) -> Result<(), FormError>,
    ) -> Result<Option<Vec<Note<'static>>>, FormError> {
        let Self { input, read: bytes_read, length, shown } = self;
        let decompressed = Rc::new(Cell::new(0));
        let input = CountingReader { input, count: Rc::clone(&decompressed) };
        let mut exchanges = 0;
        let meta = read(input, options, &mut |exchange| {
            exchanges += 1;
            take(exchange, DocumentProgress { exchanges, bytes: bytes_read.get(), bytes_in_all: length })
        });
        meta.map_err(|error| match error {
            FormError::Disk(failure) if failure.file.is_empty() => FileError { file: shown, ..failure }.into(),
            FormError::Gzip { flaw, exchanges, .. } => {
                FormError::Gzip { file: shown, flaw, exchanges, bytes: decompressed.get() }
            }
            error => error.of(&shown),
        })
    }
}

/// Gives out the exchanges of a document, and then what is known of the cassette. `None`, and nothing was given out, if it is not read
/// this way.
pub(super) fn read(
    input: impl Read,
    options: ReadOptions,
    take: &mut dyn FnMut(Exchange<'static>) -> Result<(), FormError>,
) -> Result<Option<Vec<Note<'static>>>, FormError> {
    let (mut list, mut number, mut is_otherwise) = ("", 0, false);
    let mut take_element = |element: Element<'_>| {
        if list.is_empty() {
            match is_of(&element)? {
                Ok(()) => list = element.list,
                Err(Otherwise) => {
                    is_otherwise = true;
                    return Err(FormError::NotInMemory);
                }
            }
        }
        memory::check(element.text, Form::Json, options)?;
        let exchange = exchange(&element, number)?;
        number += 1;
        take(exchange)
    };
    let splitter = Splitter::new(&[OURS, THEIRS], options.most());
    let rest = match splitter.read(input, &mut take_element) {
        Err(_) if is_otherwise => return Ok(None),
        Err(Stop::NoList) => return Ok(None),
        rest => rest.map_err(|stop| stopped(stop, number))?,
    };
    let rest = without_mark(&rest);
    memory::check(rest, Form::Json, options)?;
    let malformed = |error: serde_json::Error| FormError::malformed("JSON", &error);
    let Content { exchanges, meta } = match list {
        OURS => serde_json::from_slice::<DocumentRead>(rest).map_err(malformed)?.content()?,
        THEIRS => report::rest_of_json(rest).map_err(malformed)?,
        // Without an exchange it is short.
        _ => return Ok(None),
    };
    // A list whose name is written with escapes is in the rest.
    exchanges.into_iter().try_for_each(take)?;
    Ok(Some(meta))
}

/// A document without the mark that some programs put before it.
fn without_mark(document: &[u8]) -> &[u8] {
    document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document)
}

/// Whether the members before a list say that it is ours or theirs.
fn is_of(element: &Element<'_>) -> Result<Result<(), Otherwise>, FormError> {
    let before = [element.before, b"]}"].concat();
    let before = without_mark(&before);
    if form_of_json(before) != Form::Json {
        return Ok(Err(Otherwise));
    }
    match element.list {
        OURS => match serde_json::from_slice::<DocumentRead>(before) {
            Ok(document) => document.content().map(|_| Ok(())),
            Err(_) => Ok(Err(Otherwise)),
        },
        _ => Ok(report::rest_of_json(before).map(drop).map_err(|_| Otherwise)),
    }
}

fn exchange(element: &Element<'_>, number: u64) -> Result<Exchange<'static>, FormError> {
    let placed = |error: serde_json::Error| FormError::malformed("JSON", &placed(&error, element, number));
    if element.list == OURS {
        return serde_json::from_slice(element.text).map_err(placed);
    }
    let interaction: report::Interaction = serde_json::from_slice(element.text).map_err(placed)?;
    interaction.exchange(number).map_err(|what| {
        let (line, column) = element.at;
        FormError::malformed("JSON", &format!("{what} at line {line} column {column}"))
    })
}

/// What is wrong in an element, with its place in the document.
fn placed(error: &serde_json::Error, element: &Element<'_>, number: u64) -> String {
    let (line, column) = match (error.line(), element.at) {
        (0 | 1, (line, column)) => (line, column + error.column().saturating_sub(1)),
        (below, (line, _)) => (line + below - 1, error.column()),
    };
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    format!("{text} at line {line} column {column}, in number {number} of \"{}\"", element.list)
}

fn stopped(stop: Stop, number: u64) -> FormError {
    match stop {
        Stop::Taker(error) => error,
        Stop::NoList => unreachable!("it is read otherwise"),
        Stop::TooMuch(excess) => excess.into(),
        Stop::Malformed(message) => FormError::malformed("JSON", &message),
        Stop::Read(error) => unreadable(error, number),
    }
}

/// A file that ends too early in gzip, or that the system does not read.
fn unreadable(error: io::Error, number: u64) -> FormError {
    match gzip::flaw(&error) {
        Some(flaw) => FormError::Gzip { file: String::new(), flaw, exchanges: Some(number), bytes: 0 },
        None => FileError::new("read", "")(error).into(),
    }
}

/// How many whole exchanges a document has that ends somewhere; `None` if that is not known of it.
pub(super) fn whole_exchanges(bytes: &[u8], options: ReadOptions) -> Option<u64> {
    let mut whole = 0;
    let read = read(bytes, options, &mut |_| {
        whole += 1;
        Ok(())
    });
    (whole > 0 || !matches!(read, Ok(None))).then_some(whole)
}
