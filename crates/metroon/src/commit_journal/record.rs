//! What a commit says, as bytes: the payloads of a base's journal. `docs/formats.md` draws them.
//!
//! A frame is one byte that says its kind, a header, and records end to end. Headers and records are written in the
//! encoding of the crate `postcard`: variable-length integers, lengths before texts and bytes. Enum variants are numbered
//! in the order below: new ones go to the end.

use metta::{Generator, WRITTEN_BYTES_MAX};
use serde::{Deserialize, Serialize};
use space::{Atom, Delta, written_bytes_least};
use std::fmt;

/// The version of the frames of bases that this crate writes. It reads all versions up to it.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// The version of what programs mean. A tape is replayed by the version it was recorded with. It rises with a release in which a
/// program of the corpus answers otherwise, or takes other steps.
pub(crate) const SEMANTICS_VERSION: u32 = 1;

/// A frame is not made longer than this by another record: what is left of its commit goes to another frame.
pub(crate) const PART_BYTES: usize = 1 << 19;

/// The highest number of a variable that a commit may say was handed out; there is room for as many again.
pub(crate) const VARIABLES_MAX: u64 = 1 << 62;

/// The serial number of the library's space.
pub(crate) const LIBRARY_SPACE: u64 = 0;

/// The serial number of the program's own space.
pub(crate) const TOP_SPACE: u64 = 1;

/// The kinds of frames of a base.
mod kind {
    pub(super) const BEGIN: u8 = 1;
    pub(super) const PART: u8 = 2;
    pub(super) const COMMIT: u8 = 3;
    pub(super) const NOTE: u8 = 4;
    pub(super) const DATED_COMMIT: u8 = 5;
}

/// The first frame of a base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BeginHeader {
    pub(crate) format: u32,
    pub(crate) semantics: u32,
}

/// The last frame of a commit, which makes it visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommitHeader {
    /// The number of the commit, from 1.
    pub(crate) epoch: u64,
    /// The state hash after it, its bytes little-endian.
    pub(crate) hash: [u8; 16],
    /// How many of the frames before this one belong to it.
    pub(crate) parts: u32,
    /// How many variables the run had numbered.
    pub(crate) variables: u64,
    /// How many frames the tape had when the commit was made, if the run was recorded.
    pub(crate) tape_frame: Option<u64>,
    /// When it was made, in nanoseconds since the beginning of 1970 in UTC, if the world says so. A frame of its own kind says it before
    /// the header.
    #[serde(skip)]
    pub(crate) time: Option<i64>,
}

/// A frame of a base's journal.
#[derive(Debug)]
pub(crate) enum Frame<'a> {
    Begin {
        /// The version of the language's semantics that the base was written with.
        semantics: u32,
    },
    Part {
        records: &'a [u8],
    },
    Commit {
        header: CommitHeader,
        records: &'a [u8],
    },
    /// Records that change no state and so need no commit.
    Note {
        records: &'a [u8],
    },
}

impl<'a> Frame<'a> {
    pub(crate) fn decode(payload: &'a [u8]) -> Result<Self, RecordError> {
        let (&kind, rest) = payload.split_first().ok_or(RecordError::Empty)?;
        match kind {
            kind::BEGIN => {
                let (header, rest) = header::<BeginHeader>(rest)?;
                match header.format {
                    _ if !rest.is_empty() => Err(RecordError::Malformed),
                    FORMAT_VERSION => Ok(Self::Begin { semantics: header.semantics }),
                    found => Err(RecordError::Version { found, newest: FORMAT_VERSION }),
                }
            }
            kind::PART => Ok(Self::Part { records: rest }),
            kind::COMMIT => Self::commit(None, rest),
            kind::DATED_COMMIT => {
                let (time, rest) = header::<i64>(rest)?;
                Self::commit(Some(time), rest)
            }
            kind::NOTE => Ok(Self::Note { records: rest }),
            kind => Err(RecordError::Kind(kind)),
        }
    }

    /// A commit that was made at this time, from its header on.
    fn commit(time: Option<i64>, bytes: &'a [u8]) -> Result<Self, RecordError> {
        let (header, records) = header::<CommitHeader>(bytes)?;
        if header.variables > VARIABLES_MAX {
            return Err(RecordError::Variables(header.variables));
        }
        Ok(Self::Commit { header: CommitHeader { time, ..header }, records })
    }
}

fn header<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), RecordError> {
    postcard::take_from_bytes(bytes).map_err(|_| RecordError::Malformed)
}

/// Why a frame says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    Empty,
    Kind(u8),
    /// A format that is not known, and the newest one that is.
    Version {
        found: u32,
        newest: u32,
    },
    Malformed,
    /// A record says that this many copies came or went at once.
    Copies(i64),
    /// A commit says that this many variables were numbered.
    Variables(u64),
}

impl fmt::Display for RecordError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => formatter.write_str("the frame is empty"),
            Self::Kind(kind) => write!(formatter, "frames of kind {kind} are not known to this version"),
            Self::Version { found, newest } => {
                write!(formatter, "it has format {found}, and this version reads formats up to {newest}")
            }
            Self::Malformed => formatter.write_str("the content of the frame is malformed"),
            Self::Copies(copies) => {
                write!(formatter, "a record counts {copies} copies of an atom, and it can only count 1 or -1")
            }
            Self::Variables(variables) => {
                write!(formatter, "it says that {variables} variables were numbered, and {VARIABLES_MAX} is the most")
            }
        }
    }
}

/// An atom with the names of its variables, which its canonical bytes leave out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AtomRecord<'a> {
    #[serde(borrow, with = "serde_bytes")]
    pub(crate) bytes: &'a [u8],
    #[serde(borrow)]
    pub(crate) names: Vec<&'a str>,
}

/// One thing that a commit says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Record<'a> {
    /// What follows was caused by this form.
    Cause {
        source: u32,
        kind: CauseRecord,
        line: u32,
        column: u32,
    },
    /// A copy of an atom was added, or taken away if the count is negative. A few bytes must not stand for endless work,
    /// so the count is 1 or -1.
    Count {
        space: u64,
        copies: i64,
        #[serde(borrow)]
        atom: AtomRecord<'a>,
    },
    /// A state was set.
    State {
        state: u64,
        #[serde(borrow)]
        value: AtomRecord<'a>,
    },
    SpaceMade {
        serial: u64,
    },
    StateMade {
        serial: u64,
        #[serde(borrow)]
        value: AtomRecord<'a>,
        #[serde(borrow)]
        type_atom: AtomRecord<'a>,
    },
    ModuleMade {
        serial: u64,
        path: &'a str,
        directory: &'a str,
        file: Option<&'a str>,
    },
    ModuleNamed {
        path: &'a str,
        module: u32,
    },
    ModuleForgotten {
        module: u32,
    },
    Imported {
        into: u32,
        from: u32,
    },
    Bound {
        module: u32,
        token: &'a str,
        is_pattern: bool,
        #[serde(borrow)]
        atom: AtomRecord<'a>,
    },
    Setting {
        key: &'a str,
        #[serde(borrow)]
        value: AtomRecord<'a>,
    },
    /// A source began to run: a text of this content, in this module.
    SourceBegun {
        source: u32,
        module: u32,
        /// What it is called.
        origin: &'a str,
        /// Its path from the base's directory, if it is a file.
        file: Option<&'a str>,
        /// BLAKE3 of its text.
        content: [u8; 32],
    },
    /// A source ran to its end.
    SourceEnded {
        source: u32,
    },
    /// An edited source no longer states an atom.
    Unstated {
        source: u32,
        #[serde(borrow)]
        atom: AtomRecord<'a>,
    },
    /// The words of a module that comes with the program became known to another.
    WordsImported {
        into: u32,
        from: u32,
    },
    /// A generator of random numbers was made, used or changed.
    GeneratorSet {
        number: u64,
        generator: Generator,
    },
}

/// What kind of form caused a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CauseRecord {
    Statement,
    Evaluation,
    Retraction,
}

/// The records of a frame, one after the other.
pub(crate) struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn next(&mut self) -> Result<Option<Record<'a>>, RecordError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (record, rest) = header(self.0)?;
        if let Record::Count { copies, .. } = record
            && copies.unsigned_abs() != 1
        {
            return Err(RecordError::Copies(copies));
        }
        self.0 = rest;
        Ok(Some(record))
    }
}

/// A commit of a form is mostly shorter than this.
const COMMIT_BYTES: usize = 256;

/// The numbers of [`Record::Cause`] and [`Record::Count`] among the kinds of records.
const CAUSE: u8 = 0;
const COUNT: u8 = 1;

/// A cause as records have it: what a source is called in the base, and the place of the form in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedCause {
    pub(crate) source: u32,
    pub(crate) kind: CauseRecord,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl PlacedCause {
    /// Writes a [`Record::Cause`]: mostly each row has one of its own.
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(CAUSE);
        push_number(u64::from(self.source), bytes);
        bytes.push(self.kind as u8);
        push_number(u64::from(self.line), bytes);
        push_number(u64::from(self.column), bytes);
    }
}

/// Writes the [`Record::Count`] of a signed row, straight from its terms. `row` is room for the bytes of its atom.
///
/// # Errors
/// The row is longer than what may be written.
fn write_delta(delta: &Delta<'_>, bytes: &mut Vec<u8>, row: &mut Vec<u8>) -> Result<(), TooLong> {
    let mut names: Vec<&str> = Vec::new();
    row.clear();
    if !delta.row.encode_within(delta.terms, row, PART_BYTES, |variable| names.push(variable.name().as_str())) {
        check_length("an atom of a space", &delta.atom())?;
        row.clear();
        names.clear();
        delta.row.encode_into(delta.terms, row, |variable| names.push(variable.name().as_str()));
    }
    bytes.push(COUNT);
    push_number(delta.space.serial(), bytes);
    // Signs lie in the lowest bit.
    push_number((delta.count << 1 ^ delta.count >> 63) as u64, bytes);
    push_bytes(row, bytes);
    push_number(names.len() as u64, bytes);
    names.iter().for_each(|name| push_bytes(name.as_bytes(), bytes));
    Ok(())
}

/// Records of a commit that are written apart from the others, on any thread.
#[derive(Default)]
pub(crate) struct RecordBuffer {
    bytes: Vec<u8>,
    /// Where each record ends.
    ends: Vec<usize>,
    row: Vec<u8>,
}

impl RecordBuffer {
    /// Writes a [`Record::Cause`].
    pub(crate) fn push_cause(&mut self, cause: &PlacedCause) {
        cause.write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Writes the [`Record::Count`] of a signed row.
    ///
    /// # Errors
    /// The row is longer than what may be written.
    pub(crate) fn push_delta(&mut self, delta: &Delta<'_>) -> Result<(), TooLong> {
        write_delta(delta, &mut self.bytes, &mut self.row)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

/// Writes the frames of one commit.
pub(crate) struct CommitWriter {
    parts: Vec<Vec<u8>>,
    /// The part at hand: its kind and its records.
    part: Vec<u8>,
    /// The bytes of the row at hand.
    row: Vec<u8>,
}

impl Default for CommitWriter {
    fn default() -> Self {
        Self { parts: Vec::new(), part: beginning(COMMIT_BYTES, kind::PART), row: Vec::with_capacity(COMMIT_BYTES / 2) }
    }
}

/// An atom that is longer than what may be written, so that no record takes it.
#[derive(Debug)]
pub(crate) struct TooLong {
    what: &'static str,
    shown: String,
}

impl fmt::Display for TooLong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, shown } = self;
        write!(formatter, "{what} is written with more than {WRITTEN_BYTES_MAX} bytes and cannot be kept: {shown}…")
    }
}

impl std::error::Error for TooLong {}

/// How many characters of what is too long are shown.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// Whether an atom can be kept, as far as its length goes: the parts that it shares are written wherever they are.
///
/// # Errors
/// It is longer than what may be written.
pub(crate) fn check_length(what: &'static str, atom: &Atom) -> Result<(), TooLong> {
    if written_bytes_least(atom, WRITTEN_BYTES_MAX + 1) <= WRITTEN_BYTES_MAX {
        return Ok(());
    }
    Err(TooLong { what, shown: space::beginning(atom, SHOWN_CHARACTERS_MAX) })
}

impl CommitWriter {
    pub(crate) fn push(&mut self, record: &Record<'_>) {
        let before = self.part.len();
        let part = std::mem::take(&mut self.part);
        self.part = postcard::to_extend(record, part).expect("a vector takes every record");
        self.end_record(before);
    }

    /// Writes a [`Record::Cause`].
    pub(crate) fn push_cause(&mut self, cause: &PlacedCause) {
        let before = self.part.len();
        cause.write(&mut self.part);
        self.end_record(before);
    }

    /// Writes the [`Record::Count`] of a signed row.
    ///
    /// # Errors
    /// The row is longer than what may be written.
    pub(crate) fn push_delta(&mut self, delta: &Delta<'_>) -> Result<(), TooLong> {
        let before = self.part.len();
        write_delta(delta, &mut self.part, &mut self.row)?;
        self.end_record(before);
        Ok(())
    }

    /// Writes records that were written apart, as if they were pushed one by one.
    pub(crate) fn push_all(&mut self, records: &RecordBuffer) {
        let (mut start, mut ends) = (0, records.ends.as_slice());
        while !ends.is_empty() {
            let room = PART_BYTES.saturating_sub(self.part.len());
            let fitting = ends.partition_point(|end| end - start <= room);
            if let Some(last) = fitting.checked_sub(1) {
                self.part.extend_from_slice(&records.bytes[start..ends[last]]);
                start = ends[last];
            }
            ends = &ends[fitting..];
            if let Some((&end, rest)) = ends.split_first() {
                let before = self.part.len();
                self.part.extend_from_slice(&records.bytes[start..end]);
                self.end_record(before);
                (start, ends) = (end, rest);
            }
        }
    }

    /// Begins another part with the record that began here, if the one at hand is full.
    fn end_record(&mut self, before: usize) {
        if self.part.len() > PART_BYTES && before > 1 {
            let mut next = Vec::with_capacity(PART_BYTES + PART_BYTES / 8);
            next.push(kind::PART);
            next.extend_from_slice(&self.part[before..]);
            self.part.truncate(before);
            self.parts.push(std::mem::replace(&mut self.part, next));
        }
    }

    /// The frames, given the header of the last.
    pub(crate) fn finish(self, mut header: CommitHeader) -> Vec<Vec<u8>> {
        header.parts = self.parts.len() as u32;
        let room = COMMIT_BYTES / 2 + self.part.len();
        let begun = match header.time {
            Some(time) => {
                let begun = beginning(room, kind::DATED_COMMIT);
                postcard::to_extend(&time, begun).expect("a vector takes every number")
            }
            None => beginning(room, kind::COMMIT),
        };
        let mut last = postcard::to_extend(&header, begun).expect("a vector takes every header");
        last.extend_from_slice(&self.part[1..]);
        let mut frames = self.parts;
        frames.push(last);
        frames
    }
}

/// A frame that begins with its kind, and has room.
fn beginning(room: usize, kind: u8) -> Vec<u8> {
    let mut frame = Vec::with_capacity(room);
    frame.push(kind);
    frame
}

/// Appends a number as `postcard` does: seven bits a byte, the lowest first.
fn push_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends bytes as `postcard` does: how many, and then the bytes.
fn push_bytes(content: &[u8], bytes: &mut Vec<u8>) {
    push_number(content.len() as u64, bytes);
    bytes.extend_from_slice(content);
}

/// A frame of records that change no state.
pub(crate) fn note_frame(records: &[Record<'_>]) -> Vec<u8> {
    let push = |frame, record| postcard::to_extend(record, frame).expect("a vector takes every record");
    records.iter().fold(vec![kind::NOTE], push)
}

/// The first frame of a new base.
pub(crate) fn begin_frame() -> Vec<u8> {
    let header = BeginHeader { format: FORMAT_VERSION, semantics: SEMANTICS_VERSION };
    postcard::to_extend(&header, vec![kind::BEGIN]).expect("a vector takes every header")
}

/// Whether a frame is the first of a base, of any version.
pub(crate) fn is_begin(payload: &[u8]) -> bool {
    matches!(payload.split_first(), Some((&kind::BEGIN, rest)) if header::<BeginHeader>(rest).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use space::{Atom, Change, ChangeDetail, ChangeLog, SharedSpace, Terms};

    const ATOM: AtomRecord<'_> = AtomRecord { bytes: &[0x10], names: Vec::new() };

    /// One of each, in the order of their numbers.
    fn records() -> Vec<Record<'static>> {
        vec![
            Record::Cause { source: 0, kind: CauseRecord::Retraction, line: 300, column: 1 },
            Record::Count { space: 1, copies: -1, atom: AtomRecord { bytes: &[0x70, 0, 0, 0, 0], names: vec!["x"] } },
            Record::State { state: 1, value: ATOM },
            Record::SpaceMade { serial: 2 },
            Record::StateMade { serial: 1, value: ATOM, type_atom: ATOM },
            Record::ModuleMade { serial: 3, path: "p", directory: "", file: Some("f") },
            Record::ModuleNamed { path: "p", module: 2 },
            Record::ModuleForgotten { module: 2 },
            Record::Imported { into: 1, from: 2 },
            Record::Bound { module: 1, token: "w", is_pattern: true, atom: ATOM },
            Record::Setting { key: "k", value: ATOM },
            Record::SourceBegun { source: 0, module: 1, origin: "o", file: None, content: [7; 32] },
            Record::SourceEnded { source: 0 },
            Record::Unstated { source: 0, atom: ATOM },
            Record::WordsImported { into: 1, from: 2 },
            Record::GeneratorSet { number: 0, generator: Generator::Seeded { seed: 7, drawn: 3 } },
        ]
    }

    /// What is written without a [`Record`] is what the record is written as, whatever the row and the serial number of the space.
    #[test]
    fn a_signed_row_has_the_bytes_of_its_record() {
        let long = Atom::symbol(&"a".repeat(200));
        let pair = |name: &str, child: Atom| Atom::expression([Atom::symbol(name), child]);
        let mut atoms = vec![Atom::symbol("lone"), Atom::from(7_i64), Atom::unit(), pair("p", long.clone()), long];
        atoms.extend([pair("v", Atom::variable("x")), pair("n", pair("q", Atom::from("text")))]);
        atoms.push((0..20).fold(Atom::symbol("x"), |inner, _| pair("deep", inner)));
        for serial in [1, 127, 128, u64::MAX] {
            let log = ChangeLog::default();
            log.keep(ChangeDetail::Changes);
            let space = SharedSpace::watched(serial, "s", Terms::shared(), log.clone());
            atoms.iter().for_each(|atom| space.add(atom));
            assert!(atoms.iter().all(|atom| space.remove(atom)));
            let (mut direct, mut expected) = (CommitWriter::default(), CommitWriter::default());
            let Ok(()) = log.take().each(|change| {
                let Change::Row(delta) = change else { panic!("no state is set") };
                direct.push_delta(&delta).expect("it is short");
                let (atom, mut names) = (delta.atom(), Vec::new());
                let mut bytes = Vec::new();
                space::canonical::encode_naming(&atom, &mut bytes, |variable| names.push(variable.name().as_str()));
                let atom = AtomRecord { bytes: &bytes, names };
                expected.push(&Record::Count { space: serial, copies: delta.count, atom });
                Ok::<(), std::convert::Infallible>(())
            });
            assert_eq!(direct.part, expected.part);
        }
    }

    #[test]
    fn a_cause_has_the_bytes_of_its_record() {
        let (mut direct, mut expected) = (CommitWriter::default(), CommitWriter::default());
        for kind in [CauseRecord::Statement, CauseRecord::Evaluation, CauseRecord::Retraction] {
            for (source, line, column) in [(0, 1, 1), (127, 128, 300), (u32::MAX, u32::MAX, u32::MAX)] {
                direct.push_cause(&PlacedCause { source, kind, line, column });
                expected.push(&Record::Cause { source, kind, line, column });
            }
        }
        assert_eq!(direct.part, expected.part);
    }

    #[test]
    fn a_commit_with_a_time_is_one_without_it_after_the_time() {
        let header = |time| CommitHeader { epoch: 7, hash: [9; 16], parts: 0, variables: 3, tape_frame: None, time };
        let [undated, dated] = [None, Some(-2)].map(|time| CommitWriter::default().finish(header(time)).remove(0));
        assert_eq!(dated, [&[5, 3], &undated[1..]].concat());
        for (bytes, time) in [(&undated, None), (&dated, Some(-2))] {
            let Ok(Frame::Commit { header: found, records: [] }) = Frame::decode(bytes) else { panic!("a commit") };
            assert_eq!(found, header(time));
        }
    }

    #[test]
    fn each_record_has_the_bytes_that_the_document_of_formats_gives_it() {
        let content = [&[11, 0, 1, 1, b'o', 0][..], &[7; 32]].concat();
        let expected: [&[u8]; 16] = [
            &[0, 0, 2, 0xac, 0x02, 1],
            &[1, 1, 1, 5, 0x70, 0, 0, 0, 0, 1, 1, b'x'],
            &[2, 1, 1, 0x10, 0],
            &[3, 2],
            &[4, 1, 1, 0x10, 0, 1, 0x10, 0],
            &[5, 3, 1, b'p', 0, 1, 1, b'f'],
            &[6, 1, b'p', 2],
            &[7, 2],
            &[8, 1, 2],
            &[9, 1, 1, b'w', 1, 1, 0x10, 0],
            &[10, 1, b'k', 1, 0x10, 0],
            &content,
            &[12, 0],
            &[13, 0, 1, 0x10, 0],
            &[14, 1, 2],
            &[15, 0, 1, 7, 3],
        ];
        let frame = note_frame(&records());
        assert_eq!(frame[1..], expected.concat());
        let mut read = Records::new(&frame[1..]);
        for record in records() {
            assert_eq!(read.next(), Ok(Some(record)));
        }
        assert_eq!(read.next(), Ok(None));
    }
}
