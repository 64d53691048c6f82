//! Where the records of a file go.

use super::{LoadReport, SLICE_RECORDS};
use crate::commit::{Cause, CauseKind, SourceId};
use crate::modules::ModuleId;
use crate::names;
use crate::runner::Runner;
use crate::stated::Stated;
use space::{Appender, Atom, Batch};

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

/// Adds records as plain forms of a source, each with its place.
pub(super) struct Forms<'a> {
    runner: &'a mut Runner,
    module: ModuleId,
    source: SourceId,
    report: &'a mut LoadReport,
    stated: &'a mut Stated,
    line: u64,
    records: u64,
    /// The children of the expressions that are open.
    open: Vec<Vec<Atom>>,
}

impl<'a> Forms<'a> {
    pub(super) fn new(
        runner: &'a mut Runner,
        module: ModuleId,
        source: SourceId,
        report: &'a mut LoadReport,
        stated: &'a mut Stated,
    ) -> Self {
        Self { runner, module, source, report, stated, line: 0, records: 0, open: Vec::new() }
    }

    fn part(&mut self, atom: Atom) {
        match self.open.last_mut() {
            Some(siblings) => siblings.push(atom),
            None => self.atom(atom),
        }
    }
}

impl Out for Forms<'_> {
    fn record(&mut self, line: u64) {
        self.line = line;
        self.records += 1;
        self.open.clear();
    }

    fn open(&mut self) {
        self.open.push(Vec::new());
    }

    fn symbol(&mut self, name: &str) {
        self.part(Atom::symbol(name));
    }

    fn leaf(&mut self, atom: Atom) {
        self.part(atom);
    }

    fn close(&mut self) {
        let children = self.open.pop().expect("a format closes what it opens");
        self.part(Atom::expression(children));
    }

    fn atom(&mut self, atom: Atom) {
        if self.stated.take(&atom) {
            self.report.kept += 1;
            return;
        }
        let offset = u32::try_from(self.line).unwrap_or(u32::MAX);
        self.runner.set_cause(Some(Cause { source: self.source, kind: CauseKind::Statement, offset }));
        match self.runner.add_form(self.module, &atom) {
            None => self.report.added += 1,
            Some(errors) => {
                let reason =
                    errors.first().and_then(names::error_message).unwrap_or_else(|| "it is refused".to_owned());
                self.report.skip(self.line, &reason, true);
            }
        }
    }

    fn skip(&mut self, reason: &str, is_error: bool) {
        self.report.skip(self.line, reason, is_error);
    }

    fn is_full(&self) -> bool {
        self.records >= SLICE_RECORDS
    }
}
