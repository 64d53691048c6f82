//! Where the commits begin that a base has kept.
//!
//! A base keeps all of its commits, unless old ones were [given up](super::retention). What it held after the last of those lies in a file
//! beside the segments, `00000000000000000042.beginning`, which is written as a checkpoint is and says what files state as well. Whoever
//! would go through the commits from the first on begins with it.
//!
//! 1. A journal that was never trimmed begins with nothing, whatever else lies there.
//! 2. Of a trimmed one, it is the file of the lowest commit whose place is in what the journal has. There may be another one for a moment,
//!    while commits are given up.
//! 3. All of its bytes are checked before anything is made of it, since nothing else says what it does: if it is damaged, the error says
//!    so, and nothing is answered from it.

use super::checkpoint::{Checkpoint, beginnings};
use super::error::KnowledgeBaseError;
use super::load::{Loaded, new_session};
use super::record::{AtomRecord, Record, Records, TOP_SPACE};
use super::statements::Statements;
use super::{CommitJournal, Commits};
use journal::Beginning;
use metta::Session;
use space::{Atom, Variable, canonical};
use std::sync::Arc;

/// Where the kept commits begin.
pub(crate) struct Start {
    /// The commit before them; 0 if all are kept.
    pub(crate) epoch: u64,
    /// What the base held after that one, unless it was nothing.
    checkpoint: Option<Checkpoint>,
}

impl CommitJournal {
    /// Where its commits begin.
    ///
    /// # Errors
    /// What it held before them is damaged, or the commit that it is to end with was given up.
    pub(crate) fn start(&self) -> Result<Start, KnowledgeBaseError> {
        if Beginning::of(&self.disk)?.frame == 0 {
            return Ok(Start { epoch: 0, checkpoint: None });
        }
        let mut refused = None;
        let mut sound = None;
        for (epoch, name) in beginnings(&self.disk) {
            let opened = Checkpoint::open(&self.disk, epoch, &name);
            match opened.and_then(|opened| opened.verify().map(|()| opened)) {
                Ok(opened) => {
                    sound = Some(opened);
                    break;
                }
                Err(reason) => refused = refused.or(Some(format!("{name}: {reason}"))),
            }
        }
        let lacking =
            || refused.unwrap_or_else(|| "there is no file that ends with .beginning in its journal".to_owned());
        let checkpoint = sound.ok_or_else(|| KnowledgeBaseError::NoBeginning { reason: lacking() })?;
        let start = Start { epoch: checkpoint.epoch, checkpoint: Some(checkpoint) };
        start.check(self.last)?;
        Ok(start)
    }

    /// The first commit that is kept, as the files say without a look at what is in them.
    pub(crate) fn first(&self) -> Result<u64, KnowledgeBaseError> {
        if Beginning::of(&self.disk)?.frame == 0 {
            return Ok(1);
        }
        let names = beginnings(&self.disk);
        let usable = names.iter().find(|(epoch, name)| Checkpoint::open(&self.disk, *epoch, name).is_ok());
        Ok(usable.or(names.first()).map_or(1, |(epoch, _)| epoch + 1))
    }

    /// An error if no tape can begin with it, since old commits were given up.
    ///
    /// # Errors
    /// They were, or the journal cannot be read.
    pub fn check_recordable(&self) -> Result<(), KnowledgeBaseError> {
        match self.first()? {
            1 => Ok(()),
            first => Err(KnowledgeBaseError::TapeOfGivenUp { first }),
        }
    }

    /// The newest checkpoint that is not of a commit after this one, and the commits after it; where all commits begin, if there is none that can be
    /// used. Of a checkpoint that is open its records are sound; whoever wants its atoms as well has it verified.
    ///
    /// # Errors
    /// What it held before all commits is damaged, or the journal cannot be read.
    pub(crate) fn commits_from_nearest(
        &self,
        epoch: u64,
        is_usable: impl FnOnce(&Checkpoint) -> bool,
    ) -> Result<(Start, Commits), KnowledgeBaseError> {
        let last = epoch.min(self.last);
        let newest =
            if self.ignores_checkpoints { None } else { Checkpoint::newest(&self.disk, last, &mut Vec::new()) };
        if let Some(checkpoint) = newest.filter(is_usable) {
            let start = Start { epoch: checkpoint.epoch, checkpoint: Some(checkpoint) };
            // What follows a checkpoint may have been given up since it was opened.
            if let Ok(commits) = start.commits(self) {
                return Ok((start, commits));
            }
        }
        self.commits()
    }

    /// Where its commits begin, and they.
    ///
    /// # Errors
    /// What it held before them is damaged, or the journal cannot be read.
    pub(crate) fn commits(&self) -> Result<(Start, Commits), KnowledgeBaseError> {
        let start = self.start()?;
        let commits = start.commits(self)?;
        Ok((start, commits))
    }
}

impl Start {
    /// The newest checkpoint of a base, as if all commits up to it had been given up: for one whose own start is damaged. What files
    /// state is not known of it.
    pub(super) fn of_newest(base: &CommitJournal) -> Option<Self> {
        let checkpoint = Checkpoint::newest(&base.disk, base.last, &mut Vec::new())?;
        checkpoint.verify().ok()?;
        Some(Self { epoch: checkpoint.epoch, checkpoint: Some(checkpoint) })
    }

    /// The first commit that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.epoch + 1
    }

    /// An error if what there was after a commit is not known any more.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn check(&self, epoch: u64) -> Result<(), KnowledgeBaseError> {
        if epoch < self.epoch { Err(KnowledgeBaseError::GivenUp { epoch, first: self.first() }) } else { Ok(()) }
    }

    /// Its file, and how that is called in a base that begins with it.
    pub(crate) fn file(&self) -> Option<(&str, String)> {
        let name = |checkpoint: &Checkpoint| Checkpoint::name_of_beginning(checkpoint.epoch);
        self.checkpoint.as_ref().map(|checkpoint| (checkpoint.name.as_str(), name(checkpoint)))
    }

    /// The commits of a base from there on.
    pub(crate) fn commits(&self, base: &CommitJournal) -> Result<Commits, KnowledgeBaseError> {
        let Some(checkpoint) = &self.checkpoint else { return Commits::new(Arc::clone(&base.disk), base.last) };
        let reader = checkpoint.reader(&base.disk).map_err(|reason| self.damaged(reason))?;
        Ok(base.commits_after(reader, self.epoch))
    }

    /// A run that holds what the base did, and what is to be known of it.
    pub(crate) fn make(&self) -> Result<(Session, Loaded), KnowledgeBaseError> {
        match &self.checkpoint {
            None => Ok((new_session(), Loaded::default())),
            Some(checkpoint) => checkpoint.make().map_err(|reason| self.damaged(reason)),
        }
    }

    /// Hands out the records that make everything of it but rows: sources in the order of their numbers, spaces, states, words.
    pub(crate) fn each_record(&self, mut take: impl FnMut(Record<'_>)) -> Result<(), KnowledgeBaseError> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        let header = checkpoint.header().map_err(|reason| self.damaged(reason))?;
        let mut records = Records::new(header.records);
        while let Some(record) = records.next().map_err(|error| self.damaged(error.to_string()))? {
            take(record);
        }
        Ok(())
    }

    /// Hands out the atoms of its spaces but the library's, each with the number of its space and how many copies of it there are, in the
    /// order in which they were added.
    pub(crate) fn each_atom(
        &self,
        mut take: impl FnMut(u64, usize, AtomRecord<'_>) -> Result<(), String>,
    ) -> Result<(), KnowledgeBaseError> {
        if self.checkpoint.is_none() {
            return Ok(());
        }
        let (mut session, _) = self.make()?;
        for serial in TOP_SPACE..session.program().space_count() as u64 {
            let Some(space) = session.program().space(serial) else { continue };
            for (copies, atom) in in_runs(space.atoms(session.program_mut().variables())) {
                let (mut bytes, mut names) = (Vec::new(), Vec::new());
                canonical::encode_naming(&atom, &mut bytes, |variable: &Variable| names.push(variable.name().as_str()));
                take(serial, copies, AtomRecord { bytes: &bytes, names }).map_err(|reason| self.damaged(reason))?;
            }
        }
        Ok(())
    }

    /// Adds what files stated.
    pub(crate) fn restore(&self, statements: &mut Statements) -> Result<(), KnowledgeBaseError> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        self.each_record(|record| statements.take(&record, 0))?;
        let said = checkpoint.statements().map_err(|reason| self.damaged(reason))?;
        let said = said.ok_or(KnowledgeBaseError::NoStatements { epoch: self.epoch })?;
        statements.restore(said).map_err(|reason| self.damaged(reason))
    }

    /// What is wrong with its file.
    pub(crate) fn damaged(&self, reason: String) -> KnowledgeBaseError {
        let name = self.checkpoint.as_ref().map_or("", |checkpoint| &checkpoint.name);
        KnowledgeBaseError::NoBeginning { reason: format!("{name}: {reason}") }
    }
}

/// Atoms with how many of them follow each other: copies lie where the first of them does.
fn in_runs(atoms: Vec<Atom>) -> Vec<(usize, Atom)> {
    let mut runs: Vec<(usize, Atom)> = Vec::new();
    for atom in atoms {
        match runs.last_mut() {
            Some((copies, last)) if *last == atom => *copies += 1,
            _ => runs.push((1, atom)),
        }
    }
    runs
}

impl Loaded {
    /// What a base held where its kept commits begin, and these: a run of it, of which its commits make what it holds now.
    pub(crate) fn begin(base: &CommitJournal) -> Result<(Session, Self, Commits), KnowledgeBaseError> {
        let (start, commits) = base.commits()?;
        let (mut session, loaded) = start.make()?;
        session.program_mut().keep_hashes();
        Ok((session, loaded, commits))
    }
}
