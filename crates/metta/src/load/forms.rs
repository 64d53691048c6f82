//! Records of a file as plain forms of a source.

use super::out::{Out, SLICE_RECORDS};
use super::report::LoadReport;
use crate::commit::{Cause, CauseKind};
use crate::names;
use crate::program::history::SourceId;
use crate::program::modules::ModuleId;
use crate::session::Session;
use crate::stated::Stated;
use space::Atom;

/// Adds records as plain forms of a source, each with its place.
pub(super) struct Forms<'a> {
    session: &'a mut Session,
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
        session: &'a mut Session,
        module: ModuleId,
        source: SourceId,
        report: &'a mut LoadReport,
        stated: &'a mut Stated,
    ) -> Self {
        Self { session, module, source, report, stated, line: 0, records: 0, open: Vec::new() }
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
        self.session.set_cause(Some(Cause { source: self.source, kind: CauseKind::Statement, offset }));
        match self.session.add_form(self.module, &atom) {
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
