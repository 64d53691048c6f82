//! Giving up old commits, when somebody asks for it.
//!
//! The journal is what a base is, so none of it is taken away before what replaces it was compared with it:
//!
//! 1. The commits that are kept are counted back from the last one. If no segment of the journal holds only commits before them, there is
//!    nothing to be given up.
//! 2. The commits before them are made to happen again, from where the base begins. Each comes to the state that was recorded with it.
//! 3. What they come to is written as the new [start](super::start) of the base, durably, opened again, checked byte by byte, and
//!    compared with the run, space by space and atom by atom.
//! 4. The other commits are made to happen, and the newest checkpoint is compared with what they come to.
//! 5. The journal is trimmed: it says durably where it begins, and then the segments before that are taken away. The start before this one
//!    goes last.
//!
//! A crash at any point leaves the base with its old start or its new one, and with all commits after it. Cost: as long as opening the base
//! from its first kept commit, and as much memory.

use super::checkpoint::{Account, Checkpoint, CheckpointSource, beginnings};
use super::error::KnowledgeBaseError;
use super::load::Loaded;
use super::statements::Statements;
use super::{CheckpointReport, CheckpointVerdict, CommitJournal};
use journal::{Access, Beginning, Position, Reader};
use metta::Session;
use std::sync::Arc;

/// What giving up commits did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitsGivenUp {
    /// The first commit that is kept.
    pub first: u64,
    /// How many commits were given up.
    pub commits: u64,
    /// How many bytes their part of the journal had.
    pub bytes: u64,
}

/// What compacting a base did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compacted {
    /// The checkpoint that was written.
    pub checkpoint: CheckpointReport,
    /// What was given up, if that was asked for.
    pub given_up: Option<CommitsGivenUp>,
}

/// How far compacting a base is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompactProgress {
    /// This much of a checkpoint is written.
    Written {
        /// In bytes.
        bytes: u64,
    },
    /// Commits are made to happen again, so that checkpoints are compared with them.
    Compared {
        /// The last one that was.
        epoch: u64,
        /// The last one there is.
        last: u64,
    },
}

/// Whether what replaces commits is compared with them before they are taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checks {
    /// It is, and so is the newest checkpoint.
    All,
    /// It is not: what lies in memory is not damaged by a disk.
    None,
}

/// After how many commits it is told how far it is.
const TOLD_EVERY: u64 = 1 << 10;

impl CommitJournal {
    /// Gives up the commits before the last `keep`, as far as whole segments hold nothing else; `last` is the last one, of which there is a
    /// checkpoint.
    pub(super) fn keep_last(
        &self,
        keep: u64,
        last: u64,
        checks: Checks,
        on_progress: &mut dyn FnMut(CompactProgress),
    ) -> Result<CommitsGivenUp, KnowledgeBaseError> {
        let epoch = last.saturating_sub(keep);
        let mut base = self.reader();
        base.end_at(epoch);
        let nothing = |first| Ok(CommitsGivenUp { first, commits: 0, bytes: 0 });
        let (before, statements) = match base.statements_at_end() {
            Err(KnowledgeBaseError::GivenUp { first, .. }) => return nothing(first),
            found => found?,
        };
        let (first, position) = before;
        let beginning = Beginning::of(&self.disk)?;
        if epoch < first || position.place.segment <= beginning.frame {
            return nothing(first);
        }
        let mut told = |progress| {
            on_progress(match progress {
                CompactProgress::Compared { epoch, .. } => CompactProgress::Compared { epoch, last },
                other => other,
            });
        };
        self.replace_start(&base, (&position, checks), &statements, &mut told)?;
        let journal = self.journal.as_ref().ok_or(KnowledgeBaseError::ReadOnly)?;
        let trimmed = journal.trim(position.place.segment);
        self.note_trimmed();
        let trimmed = trimmed.map_err(|error| KnowledgeBaseError::Trim(Box::new(error)))?;
        for (_, name) in beginnings(&self.disk).iter().filter(|(other, _)| *other != epoch) {
            self.disk.remove(name).map_err(KnowledgeBaseError::NoCheckpoint)?;
        }
        Ok(CommitsGivenUp { first: epoch + 1, commits: epoch + 1 - first, bytes: trimmed.bytes })
    }

    /// How many bytes the file has with which the kept commits begin; 0 if all are kept.
    pub(super) fn start_bytes(&self) -> u64 {
        let sizes = beginnings(&self.disk).into_iter().filter_map(|(_, name)| {
            let file = self.disk.open(&name, Access::Read).ok()?;
            file.length().ok()
        });
        sizes.max().unwrap_or(0)
    }

    /// The first commit that is kept, the place after the last that is read, and what files state then.
    fn statements_at_end(&self) -> Result<((u64, Position), Statements), KnowledgeBaseError> {
        let (start, mut commits) = self.commits()?;
        let mut statements = Statements::default();
        start.restore(&mut statements)?;
        let mut epoch = start.epoch;
        while let Some(committed) = commits.next()? {
            epoch = committed.header.as_ref().map_or(epoch, |header| header.epoch);
            committed.each(|record| {
                statements.take(&record, epoch);
                Ok::<(), KnowledgeBaseError>(())
            })?;
            statements.end_commit();
        }
        Ok(((start.first(), commits.position()?), statements))
    }

    /// Writes what the base held after the last commit of `until`, and compares it, and the newest checkpoint, with what the commits come to, if
    /// that is asked for.
    fn replace_start(
        &self,
        until: &Self,
        (position, checks): (&Position, Checks),
        statements: &Statements,
        on_progress: &mut dyn FnMut(CompactProgress),
    ) -> Result<(), KnowledgeBaseError> {
        let (mut session, mut loaded, mut commits) = Loaded::begin(until)?;
        loaded.take_telling(&mut commits, &mut session, on_progress)?;
        let account = Account::of_loaded(&loaded);
        let snapshot = session.program().snapshot(Some(loaded.epoch), None);
        let source = CheckpointSource::new(snapshot, &account, *position).with_statements(statements.to_bytes());
        let written = &mut |bytes| on_progress(CompactProgress::Written { bytes });
        source.write_beginning(&self.disk, written).map_err(KnowledgeBaseError::NoCheckpoint)?;
        drop(source);
        if checks == Checks::None {
            return Ok(());
        }
        let name = Checkpoint::name_of_beginning(loaded.epoch);
        let written = Checkpoint::open(&self.disk, loaded.epoch, &name);
        self.compare(written, &session, &loaded).inspect_err(|_| {
            let _ = self.disk.remove(&name);
        })?;
        let mut rest = self.reader();
        rest.end_at(u64::MAX);
        let reader = Reader::from_position(Arc::clone(&self.disk), position)?;
        let mut commits = rest.commits_after(reader, loaded.epoch);
        loaded.take_telling(&mut commits, &mut session, on_progress)?;
        let mut refused = Vec::new();
        let newest = Checkpoint::newest(&self.disk, u64::MAX, &mut refused);
        let lacking = || refused.first().map_or("it is missing".to_owned(), |refused| refused.reason.clone());
        self.compare(newest.ok_or_else(lacking), &session, &loaded)
    }

    /// An error unless a checkpoint is sound and holds what a run does.
    fn compare(
        &self,
        checkpoint: Result<Checkpoint, String>,
        session: &Session,
        loaded: &Loaded,
    ) -> Result<(), KnowledgeBaseError> {
        let unsound = |name, reason| KnowledgeBaseError::Checkpoint { name, reason, is_removed: false };
        let checkpoint = checkpoint.map_err(|reason| unsound(Checkpoint::name(loaded.epoch), reason))?;
        checkpoint.verify().map_err(|reason| unsound(checkpoint.name.clone(), reason))?;
        match checkpoint.compare(session, loaded.hash.value()) {
            CheckpointVerdict::Unsound { name, reason } => Err(unsound(name, reason)),
            _ => Ok(()),
        }
    }
}

impl Loaded {
    /// Applies commits, and tells how far it is.
    fn take_telling(
        &mut self,
        commits: &mut super::Commits,
        session: &mut Session,
        on_progress: &mut dyn FnMut(CompactProgress),
    ) -> Result<(), KnowledgeBaseError> {
        while self.take_next(commits, session)? {
            if self.epoch.is_multiple_of(TOLD_EVERY) {
                on_progress(CompactProgress::Compared { epoch: self.epoch, last: self.epoch });
            }
        }
        Ok(())
    }
}
