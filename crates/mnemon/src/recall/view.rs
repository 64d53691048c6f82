//! Looking at a base without changing it.

use super::base::{Base, BaseError};
use super::load::{check_header, decode, note_hash};
use super::past::Causes;
use super::record::Record;
use super::state_hash::StateHash;
use super::{Recall, plain};
use metta::syntax::{self, Diagnostic};
use metta::{MemoryWorld, Reason, Runner, Tokenizer, read_atom};
use space::{Atom, SpaceRef};
use std::path::Path;

/// A base as somebody sees it who only looks.
pub struct View {
    runner: Runner,
    base: Base,
    epoch: u64,
}

/// A commit of a base.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitView {
    /// Its number, from 1.
    pub epoch: u64,
    /// The state hash after it.
    pub hash: u128,
    /// The source of the first form that changed something.
    pub origin: String,
    /// The line of that form, from 1.
    pub line: u32,
    /// How many copies of atoms were added.
    pub added: u64,
    /// How many were taken away.
    pub removed: u64,
    /// How many other things changed: states, words, settings, modules.
    pub others: u64,
    /// What changed, in order, if that was asked for.
    pub changes: Vec<Change>,
}

/// A change of a commit, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The source of the form that caused it.
    pub origin: String,
    /// The line of that form, from 1.
    pub line: u32,
    /// What changed.
    pub text: String,
}

/// What a base holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BaseReport {
    /// How many commits there are.
    pub commits: u64,
    /// The state hash after the last.
    pub hash: u128,
    /// How many atoms the program's space holds, copies counted.
    pub atoms: usize,
    /// How many spaces there are beside it, modules' included.
    pub spaces: usize,
    /// How many states there are.
    pub states: usize,
    /// How many sources have run.
    pub sources: usize,
}

/// A record that is no atom, for people.
fn describe(record: &Record<'_>) -> String {
    match record {
        Record::State { state, .. } => format!("state {state} set"),
        Record::SpaceMade { serial } => format!("space {serial} made"),
        Record::StateMade { serial, .. } => format!("state {serial} made"),
        Record::ModuleMade { path, .. } => format!("module {path} made"),
        Record::ModuleNamed { path, module } => format!("module {module} named {path}"),
        Record::ModuleForgotten { module } => format!("module {module} forgotten"),
        Record::Imported { into, from } => format!("module {into} imports module {from}"),
        Record::WordsImported { into, from } => format!("module {into} knows the words of module {from}"),
        Record::Bound { token, .. } => format!("{token} bound"),
        Record::Setting { key, .. } => format!("setting {key} changed"),
        Record::Unstated { source, .. } => format!("an atom is no longer stated by source {source}"),
        Record::GeneratorSet { number, .. } => format!("random generator {number} changed"),
        Record::Cause { .. } | Record::Count { .. } | Record::SourceBegun { .. } | Record::SourceEnded { .. } => {
            String::new()
        }
    }
}

impl View {
    /// Reads the base in a directory and checks that each commit comes to the state that was recorded with it.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, BaseError> {
        let mut runner = Runner::new(Box::new(MemoryWorld::default()));
        let recall = Recall::looking(Base::read(&directory)?, &mut runner)?;
        let epoch = recall.epoch;
        runner.set_memory(Box::new(recall));
        Ok(Self { runner, base: Base::read(directory)?, epoch })
    }

    /// The number of the last commit.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The atoms of the program's space, in the order in which they were added.
    pub fn atoms(&mut self) -> Vec<Atom> {
        let space = self.runner.top_space();
        self.atoms_of(&space)
    }

    /// The atoms that the program's space had after a commit.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn atoms_at(&mut self, epoch: u64) -> Result<Vec<Atom>, BaseError> {
        if epoch > self.epoch {
            return Err(BaseError::NoEpoch { epoch, last: self.epoch });
        }
        let space = self.runner.top_space();
        let mut images = super::Images::default();
        let past = images.space(&self.base, &mut self.runner, &space, epoch)?;
        Ok(past.map(|past| self.atoms_of(&past)).unwrap_or_default())
    }

    fn atoms_of(&mut self, space: &SpaceRef) -> Vec<Atom> {
        let atoms = space.atoms(self.runner.variables());
        atoms.iter().map(plain).collect()
    }

    /// What a text says as an atom, its words read as the base's program would.
    ///
    /// # Errors
    /// It is not one atom.
    pub fn read(&self, text: &str) -> Result<Atom, Option<Box<Diagnostic>>> {
        let parsed = syntax::parse(text);
        if let Some(error) = parsed.first_error() {
            return Err(Some(Box::new(error.clone())));
        }
        let tokenizer: &Tokenizer = self.runner.tokenizer();
        match parsed.tree.forms() {
            [form] if !form.bang => Ok(read_atom(&parsed.tree, form.node, tokenizer)),
            _ => Err(None),
        }
    }

    /// Where the atoms of the program's space that match a pattern come from.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn why(&mut self, pattern: &Atom) -> Result<Vec<Reason>, BaseError> {
        let space = self.runner.top_space();
        let mut reasons = super::past::reasons(&self.base, &mut self.runner, &space, pattern)?;
        reasons.iter_mut().for_each(|reason| reason.atom = plain(&reason.atom));
        Ok(reasons)
    }

    /// What the base holds.
    pub fn report(&mut self) -> Result<BaseReport, BaseError> {
        let (mut hash, mut sources) = (0, 0);
        let mut commits = self.base.commits()?;
        while let Some(committed) = commits.next()? {
            if let Some(header) = &committed.header {
                hash = u128::from_le_bytes(header.hash);
            }
            committed.each(|record| {
                if let Record::SourceBegun { source, .. } = record {
                    sources = sources.max(source as usize + 1);
                }
                Ok::<(), BaseError>(())
            })?;
        }
        Ok(BaseReport {
            commits: self.epoch,
            hash,
            atoms: self.runner.top_space().len(),
            // The library and the program have one each.
            spaces: self.runner.space_count() - 2,
            states: self.runner.state_count(),
            sources,
        })
    }

    /// Hands out the commits from one number to another, in order.
    ///
    /// # Errors
    /// The journal cannot be read, or a commit does not come to the state that was recorded with it.
    pub fn log(
        &mut self,
        epochs: std::ops::RangeInclusive<u64>,
        with_changes: bool,
        take: &mut dyn FnMut(CommitView) -> bool,
    ) -> Result<(), BaseError> {
        let mut hash = StateHash::default();
        let mut causes = Causes::default();
        let mut before = 0;
        let mut commits = self.base.commits()?;
        while let Some(committed) = commits.next()? {
            let mut view = CommitView {
                epoch: committed.header.as_ref().map_or(0, |header| header.epoch),
                hash: 0,
                origin: String::new(),
                line: 0,
                added: 0,
                removed: 0,
                others: 0,
                changes: Vec::new(),
            };
            let is_shown = with_changes && epochs.contains(&view.epoch);
            committed.each(|record| {
                note_hash(&record, &mut hash);
                causes.take(&record);
                let text = match &record {
                    Record::Count { copies, atom, .. } => {
                        let side = if *copies > 0 { &mut view.added } else { &mut view.removed };
                        *side += copies.unsigned_abs();
                        let sign = if *copies > 0 { '+' } else { '-' };
                        let atom = is_shown.then(|| decode(&mut self.runner, atom)).transpose();
                        let atom = atom.map_err(|reason| committed.damaged(reason))?;
                        atom.map(|atom| format!("{sign} {}", plain(&atom)))
                    }
                    Record::Cause { .. } | Record::SourceBegun { .. } | Record::SourceEnded { .. } => return Ok(()),
                    record => {
                        view.others += 1;
                        is_shown.then(|| describe(record))
                    }
                };
                let (origin, line, _) = causes.place();
                if view.line == 0 {
                    view.origin.clone_from(&origin);
                    view.line = line;
                }
                view.changes.extend(text.map(|text| Change { origin, line, text }));
                Ok::<(), BaseError>(())
            })?;
            let Some(header) = &committed.header else { continue };
            view.hash = u128::from_le_bytes(header.hash);
            check_header(header, before, hash.value()).unwrap_or_else(|| {
                Err(committed.damaged(format!("commit {} follows commit {before}", header.epoch)))
            })?;
            before = header.epoch;
            if epochs.contains(&view.epoch) && !take(view) {
                return Ok(());
            }
        }
        Ok(())
    }
}
