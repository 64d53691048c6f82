//! The files that a base has run or loaded, and what each states in it.

use super::History;
use crate::commit_journal::KnowledgeBaseError;
use crate::commit_journal::record::{CauseRecord, Record};
use crate::commit_journal::statements::Statements;

/// A file that a base knows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceView {
    /// Its path from the directory of the base.
    pub file: String,
    /// What it was called when it ran last.
    pub origin: String,
    /// BLAKE3 of its text when it ran last.
    pub content: [u8; 32],
    /// Whether that ran to its end.
    pub is_complete: bool,
    /// How many atoms it states, copies counted; a program may have removed some of them since.
    pub atoms: u64,
    /// The last commit in which it stated or retracted something; 0 if it never did.
    pub epoch: u64,
    /// The module that it ran in: 1 is the program's own.
    pub module: u32,
}

impl History {
    /// The files that have run or were loaded, in the order in which the base met them.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn sources(&self) -> Result<Vec<SourceView>, KnowledgeBaseError> {
        let mut walk = Walk::default();
        // The note that a file has run to its end comes after its last commit.
        let mut base = self.base.reader();
        base.end_at(u64::MAX);
        let (start, mut commits) = base.commits()?;
        start.each_record(|record| walk.take(&record, 0))?;
        let mut before = Statements::default();
        start.restore(&mut before)?;
        for (place, known) in walk.found.iter_mut().enumerate() {
            if let (Some(known), Some(stated)) = (known, before.file(place as u32)) {
                (known.atoms, known.epoch) = (stated.count, stated.epoch);
            }
        }
        drop(before);
        let (last, mut at) = (self.epoch(), start.epoch);
        loop {
            let committed = match commits.next() {
                Ok(Some(committed)) => committed,
                Ok(None) => break,
                // What follows the last commit may be damaged.
                Err(_) if at == last => break,
                Err(error) => return Err(error),
            };
            let epoch = committed.header.as_ref().map_or(0, |header| header.epoch);
            if epoch > last {
                break;
            }
            at = at.max(epoch);
            walk.stating = None;
            committed.each(|record| {
                walk.take(&record, epoch);
                Ok::<(), KnowledgeBaseError>(())
            })?;
        }
        Ok(walk.found.into_iter().flatten().collect())
    }
}

/// The files that were met on the way, by the numbers of their sources, and the one whose statements follow.
#[derive(Default)]
struct Walk {
    found: Vec<Option<SourceView>>,
    stating: Option<usize>,
}

impl Walk {
    fn take(&mut self, record: &Record<'_>, epoch: u64) {
        let found = &mut self.found;
        match *record {
            Record::SourceBegun { source, module, origin, file, content } => {
                let place = source as usize;
                if found.len() <= place {
                    found.resize(place + 1, None);
                }
                let (atoms, before) = found[place].as_ref().map_or((0, 0), |known| (known.atoms, known.epoch));
                found[place] = file.map(|file| SourceView {
                    file: file.to_owned(),
                    origin: origin.to_owned(),
                    content,
                    is_complete: false,
                    atoms,
                    epoch: before,
                    module,
                });
            }
            Record::SourceEnded { source } => {
                if let Some(Some(known)) = found.get_mut(source as usize) {
                    known.is_complete = true;
                }
            }
            Record::Cause { source, kind, .. } => {
                self.stating = (kind == CauseRecord::Statement).then_some(source as usize);
            }
            Record::Count { copies, .. } if copies > 0 => {
                if let Some(Some(known)) = self.stating.and_then(|place| found.get_mut(place)) {
                    known.atoms += copies.unsigned_abs();
                    known.epoch = epoch.max(known.epoch);
                }
            }
            Record::Unstated { source, .. } => {
                if let Some(Some(known)) = found.get_mut(source as usize) {
                    known.atoms = known.atoms.saturating_sub(1);
                    known.epoch = epoch.max(known.epoch);
                }
            }
            _ => {}
        }
    }
}
