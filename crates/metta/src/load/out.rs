//! Where the records of a file go.

use super::report::LoadReport;
use space::{Appender, Atom, Batch};

/// How many records are added with the space locked: somebody who wants a snapshot waits no longer than that takes.
pub(super) const SLICE_RECORDS: u64 = 256;

/// Takes the records of a file, one after the other.
///
/// A record is an expression, whose parts come in order: [`Out::open`], parts, [`Out::close`]; it ends with the bracket that began it.
/// Or it is any atom ([`Out::atom`]).
pub trait Out {
    /// A record begins on this line, counted from 1.
    fn record(&mut self, line: u64);

    /// An expression begins.
    fn open(&mut self);

    /// A symbol, a part of an expression.
    fn symbol(&mut self, name: &str);

    /// A number, a text or a truth value, a part of an expression.
    fn leaf(&mut self, atom: Atom);

    /// The expression that began last ends.
    fn close(&mut self);

    /// The record at hand is this atom.
    fn atom(&mut self, atom: Atom);

    /// The record at hand is not loaded. `is_error` says whether something is wrong with it.
    fn skip(&mut self, reason: &str, is_error: bool);

    /// Whether it has taken enough for now: the format is asked again for what follows.
    fn is_full(&self) -> bool {
        false
    }
}

/// Adds records to a space as rows of terms, in batches.
pub(super) struct Rows<'a, 'b> {
    appender: &'a mut Appender<'b>,
    report: &'a mut LoadReport,
    line: u64,
    records: u64,
    batch: &'a mut Batch,
}

impl<'a, 'b> Rows<'a, 'b> {
    /// What adds records, of which some are kept in an empty batch until [`Rows::finish`].
    pub(super) fn new(appender: &'a mut Appender<'b>, report: &'a mut LoadReport, batch: &'a mut Batch) -> Self {
        Self { appender, report, line: 0, records: 0, batch }
    }

    /// Adds what is not added yet.
    pub(super) fn finish(self) {
        self.appender.batch(self.batch);
    }
}

impl Out for Rows<'_, '_> {
    fn record(&mut self, line: u64) {
        self.line = line;
        self.records += 1;
    }

    fn open(&mut self) {
        self.batch.open();
    }

    fn symbol(&mut self, name: &str) {
        self.batch.symbol(name);
    }

    fn leaf(&mut self, atom: Atom) {
        self.batch.leaf(atom);
    }

    fn close(&mut self) {
        self.report.added += u64::from(self.batch.close());
        if self.batch.is_full() {
            self.appender.batch(self.batch);
        }
    }

    fn atom(&mut self, atom: Atom) {
        // Terms are numbered in the order of the records.
        self.appender.batch(self.batch);
        self.appender.atom(&atom);
        self.report.added += 1;
    }

    fn skip(&mut self, reason: &str, is_error: bool) {
        self.report.skip(self.line, reason, is_error);
    }

    fn is_full(&self) -> bool {
        self.records >= SLICE_RECORDS
    }
}
