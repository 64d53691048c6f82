//! Records whose names and rows are looked up together.
//!
//! In a large dictionary, looking for a name is waiting for memory: for its slot in the table, then for what the slot
//! points to. One name after the other waits each time; a [`Batch`] waits for many at once.
//!
//! 1. A loader puts records into a batch, which copies and hashes their names.
//! 2. [`Appender::batch`](crate::Appender::batch) reads the slots of all names, then what those point to. These reads depend on
//!    no other, so that the processor has many of them under way.
//! 3. It then makes the terms, and adds the rows, in the order of the records, exactly as one by one: by now what that reads
//!    is in the cache. Rows are treated as names are.
//!
//! The second step changes nothing and gives nothing. The idea is group prefetching (Chen, Ailamaki, Gibbons, Mowry: Improving
//! hash join performance through prefetching, 2004), with plain reads for prefetches.

use crate::append::Appender;
use crate::atom::Atom;
use crate::change::ANY_CLASS;
use crate::term::{SoughtName, Term};

/// How many records a batch has at most: their slots fit into the second cache.
const RECORDS_MAX: usize = 64;
/// How many bytes of names a batch has, give or take one name.
const TEXT_MAX: usize = 1 << 16;

/// Records, of which the last may be unfinished.
#[derive(Default)]
pub struct Batch {
    /// The names, one after the other.
    text: String,
    names: Vec<Name>,
    leaves: Vec<Atom>,
    parts: Vec<RecordPart>,
    /// How many expressions of the last record are open.
    depth: usize,
    records: usize,
    /// The rows of the records, one after the other, and where each ends.
    rows: Vec<Term>,
    ends: Vec<usize>,
    /// Where the open expressions begin in the rows.
    open: Vec<usize>,
}

/// A name that was hashed.
struct Name {
    hash: u64,
    end: usize,
}

/// A part of a record, as a batch hands it out.
pub enum BatchPart<'a> {
    /// An expression begins.
    Open,
    /// The expression that began last ends.
    Close,
    /// A symbol.
    Symbol(&'a str),
    /// Another rigid atom that is not an expression.
    Leaf(&'a Atom),
}

/// A part of a record; names and leaves lie beside.
#[derive(Clone, Copy)]
enum RecordPart {
    Open,
    Close,
    Symbol,
    Leaf,
}

impl Batch {
    /// An expression begins: a record, or a part of one.
    pub fn open(&mut self) {
        self.depth += 1;
        self.parts.push(RecordPart::Open);
    }

    /// A symbol, a part of an expression.
    pub fn symbol(&mut self, name: &str) {
        self.text.push_str(name);
        self.names.push(Name { hash: SoughtName::new(name).hash(), end: self.text.len() });
        self.parts.push(RecordPart::Symbol);
    }

    /// A number, a text or another rigid atom that is not an expression, a part of an expression.
    pub fn leaf(&mut self, atom: Atom) {
        self.leaves.push(atom);
        self.parts.push(RecordPart::Leaf);
    }

    /// The expression that began last ends; gives whether the record does.
    ///
    /// # Panics
    /// If none is open.
    pub fn close(&mut self) -> bool {
        self.depth = self.depth.checked_sub(1).expect("an expression that ends has begun");
        self.records += usize::from(self.depth == 0);
        self.parts.push(RecordPart::Close);
        self.depth == 0
    }

    /// Whether its records should be added before others are put in.
    pub fn is_full(&self) -> bool {
        self.depth == 0 && (self.records >= RECORDS_MAX || self.text.len() >= TEXT_MAX)
    }

    /// How many whole records it has.
    pub fn len(&self) -> usize {
        self.records
    }

    /// Whether it has no whole record.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The parts of its records, in order.
    pub fn parts(&self) -> impl Iterator<Item = BatchPart<'_>> {
        let (mut names, mut leaves, mut start) = (self.names.iter(), self.leaves.iter(), 0);
        self.parts.iter().map(move |part| match part {
            RecordPart::Open => BatchPart::Open,
            RecordPart::Close => BatchPart::Close,
            RecordPart::Symbol => {
                let end = names.next().expect("each symbol has its name").end;
                BatchPart::Symbol(&self.text[std::mem::replace(&mut start, end)..end])
            }
            RecordPart::Leaf => BatchPart::Leaf(leaves.next().expect("each leaf has its atom")),
        })
    }

    /// Drops its records and keeps its room.
    pub fn clear(&mut self) {
        self.text.clear();
        self.names.clear();
        self.leaves.clear();
        self.parts.clear();
        self.rows.clear();
        self.ends.clear();
        self.records = 0;
    }
}

impl Appender<'_> {
    /// Adds the records of a batch, which is empty then.
    ///
    /// # Panics
    /// If the last record of the batch is unfinished.
    pub fn batch(&mut self, batch: &mut Batch) {
        self.batch_of_class(batch, ANY_CLASS, None);
    }

    /// Adds the records of a batch, whose changes are of this class; see [`SharedSpace::append_batch`](crate::SharedSpace::append_batch).
    pub(crate) fn batch_of_class(&mut self, batch: &mut Batch, class: u8, first_cause: Option<u32>) {
        self.make_rows(batch);
        let rows = || rows_of(&batch.rows, &batch.ends);
        self.contents.look_ahead(rows(), &self.terms);
        rows().for_each(|row| self.contents.add_row(row, None, &mut self.terms));
        if let Some(space) = self.noted {
            space.note_expressions(rows(), class, first_cause);
        }
        batch.clear();
    }

    /// Makes the terms of a batch and drops the records: the part of a load that benches call encoding.
    #[doc(hidden)]
    pub fn encode(&mut self, batch: &mut Batch) {
        self.make_rows(batch);
        batch.clear();
    }

    /// Makes the terms of all records, those of expressions inside them as soon as these end.
    fn make_rows(&mut self, batch: &mut Batch) {
        assert!(batch.depth == 0, "a batch is added when its last record has ended");
        self.terms.look_ahead(batch.names.iter().map(|name| name.hash));
        let Batch { text, names, leaves, parts, rows, ends, open, .. } = batch;
        let (mut names, mut leaves, mut start) = (names.iter(), leaves.iter(), 0);
        for part in parts {
            match part {
                RecordPart::Open => open.push(rows.len()),
                RecordPart::Symbol => {
                    let Name { hash, end } = names.next().expect("each symbol has its name");
                    rows.push(self.terms.intern_hashed(*hash, &text[start..*end]));
                    start = *end;
                }
                RecordPart::Leaf => rows.push(self.terms.intern_leaf(leaves.next().expect("each leaf has its atom"))),
                RecordPart::Close => {
                    let start = open.pop().expect("an expression that ends has begun");
                    if open.is_empty() {
                        ends.push(rows.len());
                    } else {
                        let term = self.terms.intern_row(&rows[start..]);
                        rows.truncate(start);
                        rows.push(term);
                    }
                }
            }
        }
    }
}

fn rows_of<'a>(rows: &'a [Term], ends: &'a [usize]) -> impl Iterator<Item = &'a [Term]> + Clone {
    let mut start = 0;
    ends.iter().map(move |&end| &rows[std::mem::replace(&mut start, end)..end])
}
