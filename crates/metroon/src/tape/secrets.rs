//! Keeping secrets off a tape: those in the knowledge base that a run begins with, and those in pieces of a file.
//!
//! 1. Of a base, every text and every atom is looked at, as a program would print it: in the bytes of a record, a length or the kind
//!    of an atom stands before a text and may look like a part of it. Texts in atoms are looked at without escapes, too. All of a frame
//!    is looked at together.
//! 2. A run of pieces without an end, which a crash may leave in a journal, is left out, and does not come to the tape.
//! 3. What goes through a file is looked at together with what went before it, as long as nothing lies between them.

use super::{Tape, TapeError};
use crate::commit_journal::pieces::{self, Pieces};
use crate::commit_journal::record::{AtomRecord, Frame, Record, Records};
use crate::commit_journal::{CommitJournal, KnowledgeBaseError};
use crate::recall::RecallError;
use journal::Reader;
use metta::FileId;
use rustc_hash::FxHashMap;
use space::{Atom, Grounded, Variable, canonical};
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// The frames of a base's journal.
pub(crate) struct Frames {
    pub(crate) count: u64,
    /// Those with pieces of nothing.
    pub(crate) torn: BTreeSet<u64>,
}

/// Looks through the journal of a base before it comes to a tape.
///
/// # Errors
/// There is a secret in it, or it is damaged.
pub(crate) fn look_through(base: &CommitJournal, tape: &Tape) -> Result<Frames, RecallError> {
    let read = |error| RecallError::KnowledgeBase(KnowledgeBaseError::from(error));
    let mut reader = Reader::from_frame(Arc::clone(&base.disk), 0).map_err(read)?;
    let mut pieces = Pieces::default();
    let (mut torn, mut begun) = (BTreeSet::new(), Vec::new());
    loop {
        let place = reader.place();
        let Some(frame) = reader.read_next().map_err(read)? else { break };
        let damaged = |reason: &dyn fmt::Display| KnowledgeBaseError::Damaged { place, reason: reason.to_string() };
        if !pieces::goes_on(frame.payload) {
            torn.extend(begun.drain(..));
        }
        begun.push(place.number);
        let joined = pieces.join(frame.payload).map_err(|reason| damaged(&reason))?;
        let Some(payload) = joined else { continue };
        begun.clear();
        let said = texts(payload).map_err(|error| damaged(&error))?;
        let place = || format!("the base {} (frame {} of its journal)", base.directory(), place.number);
        tape.check(place, said.as_bytes())?;
    }
    torn.extend(begun);
    Ok(Frames { count: reader.place().number, torn })
}

/// All that a frame says in words, each on a line.
fn texts(payload: &[u8]) -> Result<String, String> {
    let mut said = String::new();
    let frame = Frame::decode(payload).map_err(|error| error.to_string())?;
    let (Frame::Part { records } | Frame::Commit { records, .. } | Frame::Note { records }) = frame else {
        return Ok(said);
    };
    let mut records = Records::new(records);
    while let Some(record) = records.next().map_err(|error| error.to_string())? {
        let (texts, atoms) = parts(&record);
        texts.into_iter().for_each(|text| said.extend([text, "\n"]));
        for atom in atoms {
            writeln!(said, "{}", in_words(&decoded(atom)?)).expect("a text takes everything");
        }
    }
    Ok(said)
}

/// The texts and the atoms of a record.
fn parts<'r>(record: &'r Record<'_>) -> (Vec<&'r str>, Vec<&'r AtomRecord<'r>>) {
    match record {
        Record::Count { atom, .. } | Record::Unstated { atom, .. } => (vec![], vec![atom]),
        Record::State { value, .. } => (vec![], vec![value]),
        Record::StateMade { value, type_atom, .. } => (vec![], vec![value, type_atom]),
        Record::ModuleMade { path, directory, file, .. } => {
            ([Some(*path), Some(*directory), *file].into_iter().flatten().collect(), vec![])
        }
        Record::ModuleNamed { path, .. } => (vec![*path], vec![]),
        Record::Bound { token, atom, .. } => (vec![*token], vec![atom]),
        Record::Setting { key, value } => (vec![*key], vec![value]),
        Record::SourceBegun { origin, file, .. } => ([Some(*origin), *file].into_iter().flatten().collect(), vec![]),
        Record::Cause { .. }
        | Record::SpaceMade { .. }
        | Record::ModuleForgotten { .. }
        | Record::Imported { .. }
        | Record::SourceEnded { .. }
        | Record::WordsImported { .. }
        | Record::GeneratorSet { .. } => (vec![], vec![]),
    }
}

/// An atom by itself: spaces, states and values of the host are names.
fn decoded(atom: &AtomRecord<'_>) -> Result<Atom, String> {
    let variable = |number: u32| Variable::new(atom.names.get(number as usize).copied().unwrap_or("_"));
    canonical::decode_naming(atom.bytes, variable, nameless).map_err(|error| error.to_string())
}

/// The atom of canonical bytes, for people.
pub(super) fn readable(bytes: &[u8]) -> Option<Atom> {
    canonical::decode(bytes, nameless).ok()
}

/// An atom as a program prints it, and on lines of their own its texts that are printed with escapes: a tab or the end of a line may be part of a
/// secret.
pub(super) fn in_words(atom: &Atom) -> String {
    let (mut said, mut ahead) = (atom.to_string(), vec![atom]);
    while let Some(atom) = ahead.pop() {
        match atom {
            Atom::Grounded(Grounded::Text(text)) if text.contains(is_escaped) => said.extend(["\n", text]),
            atom => ahead.extend(atom.children().unwrap_or_default()),
        }
    }
    said
}

fn is_escaped(character: char) -> bool {
    character.is_control() || matches!(character, '"' | '\\')
}

fn nameless(unresolved: &canonical::Unresolved<'_>) -> Option<Atom> {
    Some(match unresolved {
        canonical::Unresolved::Host(name) => Atom::symbol(name),
        _ => Atom::symbol("_"),
    })
}

/// How much of what went before is looked at with everything, and how much where what comes may end something long: a private key ends
/// with hyphens, the long parts of a token with a full stop.
const TAIL_BYTES: usize = 512;
const LONG_TAIL_BYTES: usize = 16 << 10;

/// What went last through files that are open.
#[derive(Default)]
pub(super) struct Tails(FxHashMap<FileId, Tail>);

#[derive(Default)]
struct Tail {
    /// Where the file goes on.
    position: u64,
    bytes: Vec<u8>,
}

impl Tails {
    /// Looks at bytes that go through a file where it goes on, before they come to a tape.
    pub(super) fn check(
        &mut self,
        tape: &Tape,
        place: impl FnOnce() -> String,
        file: FileId,
        bytes: &[u8],
    ) -> Result<(), TapeError> {
        let tail = self.0.entry(file).or_default();
        let ends_long = bytes.iter().any(|byte| b"-.".contains(byte));
        let wanted = if ends_long { LONG_TAIL_BYTES } else { TAIL_BYTES };
        let from = whole_character(&tail.bytes, tail.bytes.len().saturating_sub(wanted));
        let result = tape.check(place, &[&tail.bytes[from..], bytes].concat());
        tail.position += bytes.len() as u64;
        tail.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(LONG_TAIL_BYTES)..]);
        if tail.bytes.len() > 2 * LONG_TAIL_BYTES {
            tail.bytes.drain(..tail.bytes.len() - LONG_TAIL_BYTES);
        }
        result
    }

    /// A file goes on somewhere.
    pub(super) fn seek(&mut self, file: FileId, position: u64) {
        let tail = self.0.entry(file).or_default();
        if tail.position != position {
            *tail = Tail { position, bytes: Vec::new() };
        }
    }

    pub(super) fn close(&mut self, file: FileId) {
        self.0.remove(&file);
    }
}

/// Where the first character begins, from a place on.
fn whole_character(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..].iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
}
