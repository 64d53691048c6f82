//! Records of a file as plain forms of a source.

use super::report::LoadReport;
use crate::commit::{Cause, CauseKind};
use crate::names;
use crate::program::history::SourceId;
use crate::program::modules::ModuleId;
use crate::session::Session;
use crate::stated::Stated;
use space::{Atom, Batch, BatchPart};

/// Adds records as plain forms of a source, each with its place.
pub(super) struct Forms<'a> {
    pub(super) session: &'a mut Session,
    pub(super) module: ModuleId,
    pub(super) source: SourceId,
    pub(super) report: &'a mut LoadReport,
    pub(super) stated: &'a mut Stated,
}

impl Forms<'_> {
    /// Adds the records of a batch, which begin on these lines.
    pub(super) fn batch(&mut self, batch: &Batch, lines: &[u64]) {
        // The children of the expressions that are open.
        let mut open: Vec<Vec<Atom>> = Vec::new();
        let mut lines = lines.iter();
        batch.parts().for_each(|part| {
            let atom = match part {
                BatchPart::Open => return open.push(Vec::new()),
                BatchPart::Symbol(name) => Atom::symbol(name),
                BatchPart::Leaf(leaf) => leaf.clone(),
                BatchPart::Close => Atom::expression(open.pop().expect("a format closes what it opens")),
            };
            match open.last_mut() {
                Some(siblings) => siblings.push(atom),
                None => self.atom(*lines.next().expect("each record has its line"), &atom),
            }
        });
    }

    /// Adds an atom that begins on this line.
    pub(super) fn atom(&mut self, line: u64, atom: &Atom) {
        if self.stated.take(atom) {
            self.report.kept += 1;
            return;
        }
        self.session.set_cause(Some(cause_of(self.source, line)));
        match self.session.add_form(self.module, atom) {
            None => self.report.added += 1,
            Some(errors) => {
                let reason =
                    errors.first().and_then(names::error_message).unwrap_or_else(|| "it is refused".to_owned());
                self.report.skip(line, &reason, true);
            }
        }
    }
}

/// Why an atom is there that a file states on this line.
pub(super) fn cause_of(source: SourceId, line: u64) -> Cause {
    Cause { source, kind: CauseKind::Statement, offset: u32::try_from(line).unwrap_or(u32::MAX) }
}
