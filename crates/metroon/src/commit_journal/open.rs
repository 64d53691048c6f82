//! Opening a base: from its newest checkpoint and the commits after that, or from its first commit.

use super::checkpoint::{Checkpoint, CheckpointRefused};
use super::error::KnowledgeBaseError;
use super::load::Loaded;
use super::record::Records;
use super::{CommitJournal, Commits};
use metta::{MemoryWorld, ProgramSnapshot, Session};
use space::{CLASSES, catching_damage};
use std::sync::Arc;

impl CommitJournal {
    /// What its commits come to up to one, or to the last that is complete, with the number of that and the state hash after it.
    pub(crate) fn snapshot_at(&mut self, last: u64) -> Result<(ProgramSnapshot, u64, u128), KnowledgeBaseError> {
        self.end_at(last);
        let (session, loaded) = Loaded::open(self)?;
        Ok((session.program().snapshot(Some(loaded.epoch), None), loaded.epoch, loaded.hash.value()))
    }
}

impl Loaded {
    /// What a base comes to: its newest checkpoint with the commits after it, or all of its commits. The world of the run is empty.
    pub(crate) fn open(base: &CommitJournal) -> Result<(Session, Self), KnowledgeBaseError> {
        Self::of_checkpoint(base).map_or_else(|| Self::from_base(base), Ok)
    }

    /// What a base comes to, but with empty spaces if there is no checkpoint: enough to decode atoms.
    pub(crate) fn open_outline(base: &CommitJournal) -> Result<(Session, Self), KnowledgeBaseError> {
        Self::of_checkpoint(base).map_or_else(|| Self::outline(base), Ok)
    }

    /// What the newest checkpoint comes to with the commits after it. What is wrong with the commits is found when they are read from the first
    /// on.
    fn of_checkpoint(base: &CommitJournal) -> Option<(Session, Self)> {
        Self::of_newest(base, base.last, |(mut session, mut loaded, mut commits)| {
            let taken = loaded.take(base, &mut commits, &mut session);
            taken.map_err(|error| format!("the commits after it cannot be applied ({error})"))?;
            Ok((session, loaded))
        })
    }

    /// What is made of the newest checkpoint that is not of a commit after this one, given what it holds and the commits that follow it. If
    /// something is wrong with it, a warning says so.
    fn of_newest<T>(
        base: &CommitJournal,
        last: u64,
        make: impl FnOnce((Session, Self, Commits)) -> Result<T, String>,
    ) -> Option<T> {
        if base.ignores_checkpoints {
            return None;
        }
        let mut refused = Vec::new();
        let checkpoint = Checkpoint::newest(&base.disk, last, &mut refused);
        let made = checkpoint.and_then(|checkpoint| {
            let made = catching_damage(|| {
                let (session, mut loaded) = checkpoint.make()?;
                loaded.checkpoint = Some(checkpoint.report());
                make((session, loaded, base.commits_after(checkpoint.reader(&base.disk)?, checkpoint.epoch)))
            });
            let made = made.map_err(|damage| damage.to_string()).and_then(|made| made);
            made.map_err(|reason| refused.push(CheckpointRefused { name: checkpoint.name, reason })).ok()
        });
        refused.iter().for_each(|refused| base.warn(refused.to_string()));
        made
    }

    /// What a base comes to after a commit, or after the last for now, and the commits that follow: from the newest checkpoint that is not of a
    /// later commit, or from the first commit that is kept.
    ///
    /// # Errors
    /// There is no such commit, it was given up, or the base is damaged.
    pub(crate) fn begin_after(
        base: &CommitJournal,
        after: Option<u64>,
    ) -> Result<(Session, Self, Commits), KnowledgeBaseError> {
        let newest = Self::of_newest(base, after.unwrap_or(u64::MAX).min(base.last), Ok);
        let (mut session, mut loaded, mut commits) = newest.map_or_else(|| Self::begin(base), Ok)?;
        if let Some(epoch) = after.filter(|after| *after < loaded.epoch) {
            return Err(KnowledgeBaseError::GivenUp { epoch, first: loaded.epoch + 1 });
        }
        while after.is_none_or(|after| loaded.epoch < after) && loaded.take_next(&mut commits, &mut session)? {}
        match after {
            Some(epoch) if epoch > loaded.epoch => Err(KnowledgeBaseError::NoEpoch { epoch, last: loaded.epoch }),
            _ => Ok((session, loaded, commits)),
        }
    }
}

impl Checkpoint {
    /// A run that holds what was written, with what is to be known of it. Its world is empty.
    pub(crate) fn make(&self) -> Result<(Session, Loaded), String> {
        let (header, image) = (self.header()?, self.image());
        let terms = image.dictionary();
        let mut session = Session::with_dictionary(Box::new(MemoryWorld::default()), Arc::clone(&terms));
        session.program_mut().keep_hashes();
        let mut loaded = Loaded::default();
        let mut records = Records::new(header.records);
        while let Some(record) = records.next().map_err(|error| error.to_string())? {
            loaded.apply_outline(record, &mut session)?;
        }
        for serial in image.spaces() {
            let content = image.space(serial, &terms).ok_or("a space is missing")?;
            let patterns = image.patterns(serial).map_err(|error| error.to_string())?;
            let counts = header.changes.iter().find(|(of, _)| *of == serial).map(|(_, counts)| counts.as_slice());
            let counts: [u64; CLASSES] =
                counts.and_then(|counts| counts.try_into().ok()).ok_or("a count of changes is missing")?;
            session.program_mut().restore_space(serial, content, &patterns, &counts)?;
        }
        loaded.end_outline(&session, header.epoch, header.others, header.atoms, header.is_library_changed);
        session.program_mut().variables().advance_to(header.variables);
        if loaded.hash.value() == self.hash {
            Ok((session, loaded))
        } else {
            Err("what it says does not come to the state that it names".to_owned())
        }
    }
}
