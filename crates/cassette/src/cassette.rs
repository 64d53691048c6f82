//! A cassette, open for reading, whatever state it is in.

use crate::content::Content;
use crate::error::{FileError, ReadError, SealError};
use crate::exchange::{Exchange, Note};
use crate::file::folder_and_name;
use crate::filter;
use crate::key::KeyScheme;
use crate::limits::ReadOptions;
use crate::matching::recorded::RecordedExchanges;
use crate::matching::rules::MatchRules;
use crate::message::Request;
use crate::outline::Outline;
use crate::record::assemble::Assembler;
use crate::record::event::Event;
use crate::recording::{self, RecordingContent, is_blank, recording_path};
use crate::scan::Scanner;
use crate::seal::options::SealOptions;
use crate::seal::read::SealedFile;
use crate::seal::write::Sealer;
use journal::{Access, Disk, SingleFile, open_regular};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

/// What is on a cassette: a sealed one, one that is being recorded or whose recording a crash ended, or one that was sealed and is
/// being added to.
///
/// Opening a sealed cassette takes the same time whatever its length. Exchanges are counted from 0 in the order in which their
/// requests began, and borrow from the cassette, which keeps what it has decompressed. A recording is read whole.
pub struct Cassette {
    sealed: Option<SealedFile>,
    recorded: RecordingContent,
    options: ReadOptions,
}

/// What a cassette comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many exchanges it has.
    pub exchanges: usize,
    /// How many of them are not sealed.
    pub unsealed: usize,
    /// The bytes of all bodies, as often as they occur; of the sealed exchanges only.
    pub sealed_body_bytes: u64,
    /// When the first request of the sealed exchanges began, in nanoseconds since 1970; 0 if there is none.
    pub first_started_ns: i64,
    /// When the last one began.
    pub last_started_ns: i64,
}

impl Cassette {
    /// Opens a cassette, with the recording beside it if there is one. The path of a recording by itself is taken as well.
    ///
    /// # Errors
    /// There is no cassette, the system refuses, or what lies there is not what was written.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Self::open_with(path, ReadOptions::default())
    }

    /// Opens a cassette with another limit of what comes of the file.
    ///
    /// # Errors
    /// As [`Cassette::open`], and [`ReadError::TooMuch`].
    pub fn open_with(path: impl AsRef<Path>, options: ReadOptions) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let recording = recording_path(path);
        let failed = |error| FileError::new("open", path.display().to_string())(error);
        let sealed = match open_regular(path, Access::Read) {
            Ok(file) if beginning(&file).map_err(failed)? == *b"METROONJ" => {
                return Self::of_recording(None, path, options);
            }
            Ok(file) => Some(SealedFile::of_file(&file, path, options)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound && recording.exists() => None,
            Err(error) => return Err(failed(error).into()),
        };
        let is_recorded = recording.exists() && !(sealed.is_some() && is_blank(&recording));
        if is_recorded { Self::of_recording(sealed, &recording, options) } else { Ok(Self::of(sealed, options)) }
    }

    /// Whether a file begins as a cassette does, sealed or a recording.
    pub(crate) fn is_at(path: &Path) -> io::Result<bool> {
        beginning(&open_regular(path, Access::Read)?).map(|found| found.starts_with(b"METROON"))
    }

    /// A sealed cassette that lies in memory; `shown` is what messages call it.
    ///
    /// # Errors
    /// The bytes are not a sealed cassette.
    pub fn from_bytes(bytes: Vec<u8>, shown: &str) -> Result<Self, ReadError> {
        Self::from_bytes_with(bytes, shown, ReadOptions::default())
    }

    pub(crate) fn from_bytes_with(bytes: Vec<u8>, shown: &str, options: ReadOptions) -> Result<Self, ReadError> {
        SealedFile::from_bytes(bytes, shown.to_owned(), options).map(|sealed| Self::of(Some(sealed), options))
    }

    fn of(sealed: Option<SealedFile>, options: ReadOptions) -> Self {
        Self { sealed, recorded: RecordingContent::default(), options }
    }

    /// What messages call it, if it is sealed.
    pub(crate) fn shown(&self) -> &str {
        self.sealed.as_ref().map_or("", SealedFile::shown)
    }

    /// How many bytes are made of it at most.
    pub(crate) fn most(&self) -> usize {
        self.options.most()
    }

    /// A recording whose journal lies on any disk, such as one in memory; `shown` is what messages call it.
    ///
    /// # Errors
    /// As [`Cassette::open`].
    pub fn from_recording(disk: Arc<dyn Disk>, shown: &str) -> Result<Self, ReadError> {
        let options = ReadOptions::default();
        Ok(Self { sealed: None, recorded: recording::read(disk, shown, options)?, options })
    }

    fn of_recording(sealed: Option<SealedFile>, path: &Path, options: ReadOptions) -> Result<Self, ReadError> {
        let shown = path.display().to_string();
        let disk = SingleFile::open(path).map_err(FileError::new("open", &shown))?;
        let recorded = recording::read(Arc::new(disk), &shown, options)?;
        // A crash can leave a recording that was sealed already, and one without frames adds nothing.
        if sealed.as_ref().map_or(Ok(false), |sealed| recorded.is_on(sealed))? {
            return Ok(Self::of(sealed, options));
        }
        Ok(Self { sealed, recorded, options })
    }

    /// How many exchanges it has.
    pub fn len(&self) -> usize {
        self.sealed_len() + self.recorded.exchanges.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn sealed_len(&self) -> usize {
        self.sealed.as_ref().map_or(0, |sealed| sealed.rows() as usize)
    }

    /// Whether all of it is sealed.
    pub fn is_sealed(&self) -> bool {
        self.sealed.is_some() && self.recorded.chain.is_none()
    }

    /// The number that the next exchange gets.
    pub fn next_number(&self) -> u64 {
        let sealed = self.sealed.as_ref().map_or(0, |sealed| sealed.trailer().next_number);
        sealed.max(self.recorded.next_number)
    }

    /// An exchange, counted from 0 in the order in which requests began.
    ///
    /// # Errors
    /// What lies there is not what was written.
    ///
    /// # Panics
    /// There are not as many.
    pub fn exchange(&self, index: usize) -> Result<Exchange<'_>, ReadError> {
        assert!(index < self.len(), "exchange {index} of {}", self.len());
        match &self.sealed {
            Some(sealed) if index < self.sealed_len() => sealed.exchange(index as u32),
            _ => Ok(self.recorded.exchanges[index - self.sealed_len()].borrowed()),
        }
    }

    /// An exchange whose bodies are read apart, so that their length takes no memory. Counted as [`exchange`](Cassette::exchange).
    ///
    /// ```no_run
    /// # use cassette::{ReadError, Cassette};
    /// let cassette = Cassette::open("trip.cassette")?;
    /// let mut outline = cassette.outline(0)?;
    /// if let Some(body) = &mut outline.response_body {
    ///     while let Some(fragment) = body.read()? {
    ///         println!("{} bytes after {} \u{b5}s", fragment.bytes.len(), fragment.at_us);
    ///     }
    /// }
    /// # Ok::<(), ReadError>(())
    /// ```
    ///
    /// # Errors
    /// What lies there is not what was written.
    ///
    /// # Panics
    /// There are not as many.
    pub fn outline(&self, index: usize) -> Result<Outline<'_>, ReadError> {
        assert!(index < self.len(), "exchange {index} of {}", self.len());
        match &self.sealed {
            Some(sealed) if index < self.sealed_len() => Ok(Outline::on(sealed, sealed.whole(index as u32)?)),
            _ => Ok(Outline::of(&self.recorded.exchanges[index - self.sealed_len()])),
        }
    }

    /// What an exchange asked, with its body. Counted as [`exchange`](Cassette::exchange); of the response nothing is looked at.
    ///
    /// # Errors
    /// What lies there is not what was written.
    ///
    /// # Panics
    /// There are not as many.
    pub fn request(&self, index: usize) -> Result<Request<'_>, ReadError> {
        assert!(index < self.len(), "exchange {index} of {}", self.len());
        match &self.sealed {
            Some(sealed) if index < self.sealed_len() => sealed.request(index as u32),
            _ => Ok(self.recorded.exchanges[index - self.sealed_len()].request.borrowed()),
        }
    }

    /// All exchanges in the order in which requests began.
    pub fn exchanges(&self) -> impl Iterator<Item = Result<Exchange<'_>, ReadError>> {
        (0..self.len()).map(|index| self.exchange(index))
    }

    /// The exchanges whose requests have the key of this one, in their order; they may differ from it and are to be compared.
    ///
    /// Cost: a look into the index, if the cassette was sealed with the same scheme; else every request is looked at.
    ///
    /// # Errors
    /// What is looked at is not what was written.
    pub fn find(&self, scheme: &KeyScheme, request: &Request<'_>) -> Result<Vec<usize>, ReadError> {
        let key = scheme.key(request);
        let mut found = match &self.sealed {
            None => Vec::new(),
            Some(sealed) if sealed.is_indexed_by(scheme) => sealed.find(key)?.map(|row| row as usize).collect(),
            Some(sealed) => {
                let keys = sealed.keys_by(scheme)?.into_iter();
                keys.filter(|&(other, _)| other == (key >> 32) as u32).map(|(_, row)| row as usize).collect()
            }
        };
        let recorded = self.recorded.exchanges.iter().zip(self.sealed_len()..);
        found.extend(recorded.filter(|(exchange, _)| scheme.key(&exchange.request) == key).map(|(_, index)| index));
        Ok(found)
    }

    /// The upper halves of the keys of all requests, by position.
    pub(crate) fn upper_keys(&self, scheme: &KeyScheme) -> Result<Vec<u32>, ReadError> {
        let mut upper = vec![0; self.len()];
        if let Some(sealed) = &self.sealed {
            let keys = if sealed.is_indexed_by(scheme) { sealed.keys()? } else { sealed.keys_by(scheme)? };
            keys.into_iter().for_each(|(key, row)| upper[row as usize] = key);
        }
        let recorded = self.recorded.exchanges.iter().map(|exchange| (scheme.key(&exchange.request) >> 32) as u32);
        upper[self.sealed_len()..].iter_mut().zip(recorded).for_each(|(upper, key)| *upper = key);
        Ok(upper)
    }

    /// What is known of the cassette: names and values.
    ///
    /// # Errors
    /// What lies there is not what was written.
    pub fn meta(&self) -> Result<Vec<Note<'_>>, ReadError> {
        let sealed = self.sealed.as_ref().map_or(Ok(Vec::new()), SealedFile::meta)?;
        let is_newer = |note: &Note<'_>| self.recorded.meta.iter().any(|newer| newer.name == note.name);
        let newer = self.recorded.meta.iter().map(|note| Note::new(&note.name[..], &note.value[..]));
        Ok(sealed.into_iter().filter(|note| !is_newer(note)).chain(newer).collect())
    }

    /// How many exchanges a [filter](crate::Filter) left out while the cassette was recorded, by reason.
    ///
    /// # Errors
    /// What lies there is not what was written.
    pub fn left_out(&self) -> Result<BTreeMap<String, u64>, ReadError> {
        Ok(self.meta()?.iter().filter_map(filter::read).collect())
    }

    /// What it comes to, without looking at an exchange.
    pub fn summary(&self) -> Summary {
        let trailer = self.sealed.as_ref().map(|sealed| sealed.trailer().clone()).unwrap_or_default();
        Summary {
            exchanges: self.len(),
            unsealed: self.recorded.exchanges.len(),
            sealed_body_bytes: trailer.body_bytes,
            first_started_ns: trailer.first_started_ns,
            last_started_ns: trailer.last_started_ns,
        }
    }

    /// Looks at every byte of it, and at each shared body once; the memory that takes does not grow with its bodies.
    ///
    /// # Errors
    /// The first thing that is not what was written.
    pub fn verify(&self) -> Result<(), ReadError> {
        if let Some(sealed) = &self.sealed {
            sealed.check_sections()?;
            sealed.check_blocks()?;
            sealed.check_piece_blocks()?;
            (0..sealed.rows()).try_for_each(|row| sealed.check_row(row))?;
        }
        // What was recorded is in memory, where it was put together.
        self.meta().map(drop)
    }
}

/// A cassette that holds what was read of another form, or made up. Exchanges are put into the order of their numbers.
impl From<Content> for Cassette {
    fn from(content: Content) -> Self {
        let Content { mut exchanges, meta } = content;
        exchanges.sort_by_key(|exchange| exchange.number);
        let next_number = exchanges.last().map_or(0, |last| last.number.saturating_add(1));
        let recorded = RecordingContent { exchanges, meta, next_number, chain: None };
        Self { sealed: None, recorded, options: ReadOptions::default() }
    }
}

/// Writes exchanges as a sealed cassette, in place of any of the path, at once and durably. Their numbers say their order.
///
/// # Errors
/// The system refuses, a known form of a secret is in them, or two exchanges have the same number; what lay there stays then.
pub fn write_cassette(
    path: impl AsRef<Path>,
    exchanges: &[Exchange<'_>],
    meta: &[Note<'_>],
    options: impl Into<SealOptions>,
) -> Result<(), SealError> {
    let (folder, name) = folder_and_name(path.as_ref())?;
    write_cassette_on(&folder, &name, exchanges, meta, options)
}

/// Writes exchanges as a sealed cassette on any disk, under a name.
///
/// # Errors
/// As [`write_cassette`].
pub fn write_cassette_on(
    disk: &dyn Disk,
    name: &str,
    exchanges: &[Exchange<'_>],
    meta: &[Note<'_>],
    options: impl Into<SealOptions>,
) -> Result<(), SealError> {
    let options = options.into();
    Scanner::of_content(exchanges, meta, &options, name)?;
    let order = exchanges.iter().map(|exchange| exchange.number).collect();
    let mut sealer = Sealer::new(disk, name, &options, None, order)?;
    let added = add_all(&mut sealer, exchanges);
    match added {
        Ok(()) => sealer.finish(meta, [0; 32], 0),
        Err(error) => {
            sealer.abandon();
            Err(error)
        }
    }
}

fn add_all(sealer: &mut Sealer<'_>, exchanges: &[Exchange<'_>]) -> Result<(), SealError> {
    let mut assembler = Assembler::default();
    for exchange in exchanges {
        let whole = Event::Whole(Box::new(exchange.borrowed()));
        let over = assembler.take(exchange.number, whole, &mut sealer.keeper())?;
        over.map_or(Ok(()), |draft| sealer.add(draft))?;
    }
    Ok(())
}

/// The first bytes of a file; zeros where it ends before.
fn beginning(file: &File) -> io::Result<[u8; 8]> {
    let mut bytes = [0; 8];
    let mut read = 0;
    while read < bytes.len() {
        match file.read_at(&mut bytes[read..], read as u64)? {
            0 => break,
            count => read += count,
        }
    }
    Ok(bytes)
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cassette").field("summary", &self.summary()).finish_non_exhaustive()
    }
}

impl RecordedExchanges for Cassette {
    type Error = ReadError;

    fn count(&self) -> usize {
        self.len()
    }

    fn in_order(&self) -> Vec<usize> {
        (0..self.len()).collect()
    }

    fn number(&self, position: usize) -> Result<u64, ReadError> {
        Ok(self.outline(position)?.exchange.number)
    }

    fn request(&self, position: usize) -> Result<Cow<'_, Request<'_>>, ReadError> {
        Ok(Cow::Owned(Cassette::request(self, position)?))
    }

    /// From the index, if the cassette was sealed with the keys of these rules; else every request is read.
    fn keys(&self, rules: &MatchRules) -> Result<Vec<u32>, ReadError> {
        self.upper_keys(&KeyScheme::of(rules))
    }
}
