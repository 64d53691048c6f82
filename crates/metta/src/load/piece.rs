//! Records that were read and not added yet.
//!
//! A [`Format`](super::Format) fills a [`Piece`], on any thread; the thread of the session adds pieces in the order of the file. Nothing
//! of what a piece holds depends on the space to which it will be added, so that it is of no account which thread has read it, and when.

use super::out::{Out, SLICE_RECORDS};
use space::{Atom, Batch, Grounded, canonical};

/// Records that were read, one after the other.
#[derive(Default)]
pub(super) struct Piece {
    entries: Vec<Entry>,
    /// The batches of the entries, in order, and after these empty ones, kept for their room.
    batches: Vec<Batch>,
    batches_used: usize,
    /// The lines of the records of all batches, in order.
    lines: Vec<u64>,
    /// Whether a batch has a value that no knowledge base can keep.
    has_opaque: bool,
    line: u64,
    records: u64,
    /// How many bytes of the file it takes.
    pub(super) bytes: usize,
}

/// Something of a piece.
enum Entry {
    /// The next batch, which has this number of records.
    Batch(usize),
    /// An atom that is no plain expression.
    Atom(u64, Atom),
    /// Records one after the other that are left out for one reason.
    Skip(Left),
}

/// Records that are left out for one reason.
pub(super) struct Left {
    /// The line of the first.
    pub(super) line: u64,
    pub(super) reason: String,
    pub(super) is_error: bool,
    pub(super) count: u64,
}

/// What is to be done with an entry of a piece.
pub(super) enum Taken<'a> {
    /// These records are to be added, which begin on these lines.
    Batch(&'a mut Batch, &'a [u64]),
    /// An atom that begins on this line.
    Atom(u64, &'a Atom),
    /// They are left out.
    Skip(&'a Left),
}

impl Piece {
    /// Drops what it holds and keeps its room.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.batches[..self.batches_used].iter_mut().for_each(Batch::clear);
        self.lines.clear();
        (self.batches_used, self.line, self.records, self.bytes) = (0, 0, 0, 0);
        self.has_opaque = false;
    }

    /// Whether a batch has a value that no knowledge base can keep.
    pub(super) fn has_opaque(&self) -> bool {
        self.has_opaque
    }

    /// Hands out what it holds, in order.
    pub(super) fn each(&mut self, mut take: impl FnMut(Taken<'_>)) {
        let (mut batches, mut lines) = (self.batches.iter_mut(), self.lines.as_slice());
        for entry in &self.entries {
            match entry {
                Entry::Batch(records) => {
                    let (own, rest) = lines.split_at(*records);
                    lines = rest;
                    take(Taken::Batch(batches.next().expect("each entry has its batch"), own));
                }
                Entry::Atom(line, atom) => take(Taken::Atom(*line, atom)),
                Entry::Skip(left) => take(Taken::Skip(left)),
            }
        }
    }

    /// The batch that takes the record at hand.
    fn batch(&mut self) -> &mut Batch {
        let is_open = matches!(self.entries.last(), Some(Entry::Batch(_)));
        if !is_open || self.batches[self.batches_used - 1].is_full() {
            self.entries.push(Entry::Batch(0));
            self.batches_used += 1;
            if self.batches.len() < self.batches_used {
                self.batches.push(Batch::default());
            }
        }
        &mut self.batches[self.batches_used - 1]
    }
}

impl Out for Piece {
    fn record(&mut self, line: u64) {
        self.line = line;
        self.records += 1;
    }

    fn open(&mut self) {
        self.batch().open();
    }

    fn symbol(&mut self, name: &str) {
        self.batches[self.batches_used - 1].symbol(name);
    }

    fn leaf(&mut self, atom: Atom) {
        let is_plain = matches!(atom, Atom::Grounded(Grounded::Number(_) | Grounded::Text(_) | Grounded::Bool(_)));
        self.has_opaque |= !is_plain && canonical::find_opaque(&atom).is_some();
        self.batches[self.batches_used - 1].leaf(atom);
    }

    fn close(&mut self) {
        if self.batches[self.batches_used - 1].close() {
            self.lines.push(self.line);
            if let Some(Entry::Batch(records)) = self.entries.last_mut() {
                *records += 1;
            }
        }
    }

    fn atom(&mut self, atom: Atom) {
        self.entries.push(Entry::Atom(self.line, atom));
    }

    fn skip(&mut self, reason: &str, is_error: bool) {
        match self.entries.last_mut() {
            Some(Entry::Skip(left)) if left.reason == reason && left.is_error == is_error => left.count += 1,
            _ => {
                let (line, reason) = (self.line, reason.to_owned());
                self.entries.push(Entry::Skip(Left { line, reason, is_error, count: 1 }));
            }
        }
    }

    fn is_full(&self) -> bool {
        self.records >= SLICE_RECORDS
    }
}
