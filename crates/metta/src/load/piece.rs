//! Records that were read and not added yet.
//!
//! A [`Format`](super::Format) fills a [`Piece`], on any thread; the thread of the session adds pieces in the order of the file. Nothing
//! of what a piece holds depends on the space to which it will be added, so that it is of no account which thread has read it, and when.

use super::out::{Out, SLICE_RECORDS};
use crate::machine;
use space::{Atom, Batch, Grounded};

/// Records that were read, one after the other.
#[derive(Default)]
pub(super) struct Piece {
    entries: Vec<Entry>,
    /// The batches of the entries, in order, and after these empty ones, kept for their room.
    batches: Vec<Batch>,
    batches_used: usize,
    /// The lines of the records of all batches, in order.
    lines: Vec<u64>,
    line: u64,
    records: u64,
    /// How many expressions of the record at hand are open.
    depth: usize,
    /// Whether the next part is the head of the record.
    is_head: bool,
    /// How many bytes of the file it takes.
    pub(super) bytes: usize,
}

/// Something of a piece.
enum Entry {
    /// The next batch.
    Batch(BatchEntry),
    /// An atom that is no plain expression.
    Atom(u64, Atom),
    /// Records one after the other that are left out for one reason.
    Skip(Left),
}

/// What is known of a batch.
#[derive(Clone, Copy)]
struct BatchEntry {
    /// How many records it has.
    records: usize,
    /// See [`Taken::Batch`].
    is_facts: bool,
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
    /// These records are to be added.
    Batch {
        batch: &'a mut Batch,
        /// The lines on which they begin.
        lines: &'a [u64],
        /// Whether all are facts, whose change makes out of date no code and no type ([`machine::FACT`]), and nothing in them is a value
        /// of this process.
        is_facts: bool,
    },
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
        (self.batches_used, self.line, self.records, self.depth, self.bytes) = (0, 0, 0, 0, 0);
    }

    /// Hands out what it holds, in order.
    pub(super) fn each(&mut self, mut take: impl FnMut(Taken<'_>)) {
        let (mut batches, mut lines) = (self.batches.iter_mut(), self.lines.as_slice());
        for entry in &self.entries {
            match entry {
                Entry::Batch(BatchEntry { records, is_facts }) => {
                    let (own, rest) = lines.split_at(*records);
                    lines = rest;
                    let batch = batches.next().expect("each entry has its batch");
                    take(Taken::Batch { batch, lines: own, is_facts: *is_facts });
                }
                Entry::Atom(line, atom) => take(Taken::Atom(*line, atom)),
                Entry::Skip(left) => take(Taken::Skip(left)),
            }
        }
    }

    /// Says that the record at hand may be no fact.
    fn note_no_fact(&mut self) {
        if let Some(Entry::Batch(batch)) = self.entries.last_mut() {
            batch.is_facts = false;
        }
    }

    /// The batch that takes the record at hand.
    fn batch(&mut self) -> &mut Batch {
        let is_open = matches!(self.entries.last(), Some(Entry::Batch(_)));
        if !is_open || self.batches[self.batches_used - 1].is_full() {
            self.entries.push(Entry::Batch(BatchEntry { records: 0, is_facts: true }));
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
        self.is_head = self.depth == 0;
        self.depth += 1;
        self.batch().open();
    }

    fn symbol(&mut self, name: &str) {
        let is_head = std::mem::take(&mut self.is_head);
        if machine::is_word_of_code(name) || is_head && machine::classify_head(name) != Some(machine::FACT) {
            self.note_no_fact();
        }
        self.batches[self.batches_used - 1].symbol(name);
    }

    fn leaf(&mut self, atom: Atom) {
        self.is_head = false;
        if !matches!(atom, Atom::Grounded(Grounded::Number(_) | Grounded::Text(_) | Grounded::Bool(_))) {
            self.note_no_fact();
        }
        self.batches[self.batches_used - 1].leaf(atom);
    }

    fn close(&mut self) {
        self.is_head = false;
        self.depth = self.depth.saturating_sub(1);
        if self.batches[self.batches_used - 1].close() {
            self.lines.push(self.line);
            if let Some(Entry::Batch(batch)) = self.entries.last_mut() {
                batch.records += 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Format, MettaText, Words};
    use crate::tokenizer::Tokenizer;
    use space::BatchPart;

    fn atoms_of(batch: &Batch) -> Vec<Atom> {
        let mut open: Vec<Vec<Atom>> = vec![Vec::new()];
        for part in batch.parts() {
            let atom = match part {
                BatchPart::Open => {
                    open.push(Vec::new());
                    continue;
                }
                BatchPart::Close => Atom::expression(open.pop().expect("it was opened")),
                BatchPart::Symbol(name) => Atom::symbol(name),
                BatchPart::Leaf(leaf) => leaf.clone(),
            };
            open.last_mut().expect("there is a list around").push(atom);
        }
        open.pop().expect("there is a list around")
    }

    /// Each alone, and beside facts in one batch.
    #[test]
    fn what_is_called_a_fact_is_one() {
        let forms = [
            "(edge a b 1)",
            "()",
            "(a (b (c \"d\")) 1.5 True)",
            "((a b) c d)",
            "((= b) c d)",
            "(1 2 3)",
            "(= a b)",
            "(= (f a) (g b))",
            "(: a A)",
            "(: (a b) A)",
            "(:< A B)",
            "(a (function (return b)))",
            "(a NotReducible)",
            "(NotReducible)",
            "(function a)",
            "(a (= b c))",
        ];
        let mut facts = 0;
        for form in forms {
            for text in [form.to_owned(), format!("(x y) {form} (x z)")] {
                let mut piece = Piece::default();
                MettaText::new(Words::of(&Tokenizer::literals())).read(text.as_bytes(), true, &mut piece);
                piece.each(|taken| {
                    let Taken::Batch { batch, is_facts, .. } = taken else { panic!("{text} is of plain forms") };
                    let atoms = atoms_of(batch);
                    let are_facts = atoms.iter().all(|atom| machine::classify(atom) == machine::FACT);
                    assert!(!is_facts || are_facts, "{text} is not all facts");
                    facts += usize::from(is_facts);
                });
            }
        }
        assert_eq!(facts, 14, "most of what is a fact is known to be one");
    }
}
