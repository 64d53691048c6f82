//! The history of a base: looking at its commits without changing it.
//!
//! `log` goes through the commits, `asking` answers what is asked about single atoms, by an index or by the journal; `moments` says which commit a time means;
//! `past` has spaces as they were and where atoms come from, for programs too; `derived` has what follows from
//! rules, `difference` puts two commits beside each other,
//! `sources` lists files; `written` writes atoms as source.
//!
//! A [`History`] sees the commits there were when it was opened, also while another process makes more. It holds no more of
//! the base in memory than it takes to say what an atom is: atoms are read from the journal when they are asked for.

mod asking;
mod derived;
mod difference;
mod index;
mod indexing;
mod log;
mod moments;
mod origins;
mod past;
mod sources;
mod written;

pub use crate::commit_journal::{Beginning, Moment, MomentError};
pub use asking::ReadAtom;
pub use indexing::IndexReport;
pub(crate) use past::{KeptHistory, statements};
pub use sources::SourceView;
pub use written::{SourceWriter, Unwritten};

use crate::commit_journal::load::{Loaded, decode};
use crate::commit_journal::moment::date;
use crate::commit_journal::record::Record;
use crate::commit_journal::verify::verify_at;
use crate::commit_journal::{CheckpointVerdict, CommitJournal, KnowledgeBaseError, KnowledgeBaseReport};
use asking::KnownIndex;
use journal::Disk;
use metta::syntax;
use metta::{Reason, Session, Tokenizer, WRITTEN_BYTES_MAX, read_atom};
use space::{Atom, ImageDamage, brief, catching_damage, written_bytes_least};
use std::path::Path;
use std::sync::Arc;
use written::source_text;

/// A base as somebody sees it who only looks.
pub struct History {
    session: Session,
    base: CommitJournal,
    report: KnowledgeBaseReport,
    index: KnownIndex,
}

/// A commit of a base.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitView {
    /// Its number, from 1.
    pub epoch: u64,
    /// The state hash after it.
    pub hash: u128,
    /// When it was made, in nanoseconds since the beginning of 1970 in UTC, if the world that it was made in says so.
    pub time: Option<i64>,
    /// The source of the first form that changed something.
    pub origin: String,
    /// The line of that form, from 1; 0 if it has none, as a statement that an edited file no longer has.
    pub line: u32,
    /// How many copies of atoms were added.
    pub added: u64,
    /// How many were taken away.
    pub removed: u64,
    /// How many other things changed: states, words, settings, modules.
    pub others: u64,
}

impl CommitView {
    /// When it was made, as RFC 3339 has it: `2026-11-20T10:00:00Z`, in UTC.
    pub fn date(&self) -> Option<String> {
        self.time.map(date)
    }
}

/// A change of a commit, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The source of the form that caused it.
    pub origin: String,
    /// The line of that form, from 1; 0 if it has none.
    pub line: u32,
    /// How many copies of an atom were added, or taken away if negative; 0 for a change of something else.
    pub copies: i64,
    /// The space that it changed, unless that is the program's own.
    pub space: Option<String>,
    /// The atom, or what else changed.
    pub text: String,
}

/// Where atoms come from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Origins {
    /// For each copy of an atom the commit and the form that added it, in the order of the commits.
    pub reasons: Vec<Reason>,
    /// How many copies were added by commits that were given up.
    pub given_up: u64,
}

/// A piece of a base's history: a commit, or one of the changes of the commit before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEntry<'a> {
    /// A commit.
    Commit(&'a CommitView),
    /// A change of the last commit that was handed out.
    Change(&'a Change),
}

/// Why a base is not sound, and how far it is.
#[derive(Debug)]
pub struct Unsound {
    /// The last commit that comes to its recorded state.
    pub sound_up_to: u64,
    /// What is wrong after it.
    pub error: KnowledgeBaseError,
}

/// What is said of a checkpoint in which a look has met damage, and which was not used in the end.
pub(crate) fn damage_warning(damage: &ImageDamage) -> String {
    format!(
        "a checkpoint is damaged ({damage}); the knowledge base was read from its journal instead, which takes longer: `metroon kb \
         compact DIR` writes another one"
    )
}

/// A record that is no atom, for people.
fn describe(record: &Record<'_>, session: &mut Session) -> Result<String, String> {
    let mut text = |atom| decode(session.program_mut(), atom).map(|atom| shown(&atom));
    Ok(match record {
        Record::State { state, value } => format!("state {state} = {}", text(value)?),
        Record::SpaceMade { serial } => format!("space {serial} made"),
        Record::StateMade { serial, value, .. } => format!("state {serial} made = {}", text(value)?),
        Record::ModuleMade { path, .. } => format!("module {path} made"),
        Record::ModuleNamed { path, module } => format!("module {module} named {path}"),
        Record::ModuleForgotten { module } => format!("module {module} forgotten"),
        Record::Imported { into, from } => format!("module {into} imports module {from}"),
        Record::WordsImported { into, from } => format!("module {into} knows the words of module {from}"),
        Record::Bound { token, atom, .. } => format!("{token} means {}", text(atom)?),
        Record::Setting { key, value } => format!("setting {key} = {}", text(value)?),
        Record::GeneratorSet { number, .. } => format!("random generator {number} changed"),
        Record::Count { .. }
        | Record::Cause { .. }
        | Record::SourceBegun { .. }
        | Record::SourceEnded { .. }
        | Record::Unstated { .. } => String::new(),
    })
}

/// How many characters are shown of an atom that is too long to be written.
const CUT_CHARACTERS: usize = 1000;

/// An atom as a source of the base's program would have it, as far as it can be written. If it is longer than what a base can hold, which an
/// atom that was derived may be, it is cut.
pub(crate) fn shown(atom: &Atom) -> String {
    let atom = space::named_as_in_source(atom);
    if written_bytes_least(&atom, WRITTEN_BYTES_MAX + 1) > WRITTEN_BYTES_MAX {
        return brief(&atom, CUT_CHARACTERS);
    }
    source_text(&atom)
}

impl History {
    /// Reads the base in a directory and checks that each commit comes to the state that was recorded with it.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, KnowledgeBaseError> {
        Self::up_to(CommitJournal::read(directory)?, u64::MAX)
    }

    /// Reads the base whose journal lies on a disk, as [`History::open`] does; `directory` is where its sources are named from.
    ///
    /// # Errors
    /// It is damaged.
    pub fn on_disk(disk: &Arc<dyn Disk>, directory: &str) -> Result<Self, KnowledgeBaseError> {
        Self::up_to(CommitJournal::read_on_disk(Arc::clone(disk), directory), u64::MAX)
    }

    /// Reads the base in a directory up to a commit, as if there were none after it: what follows may be damaged.
    ///
    /// # Errors
    /// There is no base or no such commit, or it is damaged.
    pub fn open_at(directory: impl AsRef<Path>, epoch: u64) -> Result<Self, KnowledgeBaseError> {
        let history = Self::up_to(CommitJournal::read(directory)?, epoch)?;
        history.check_epoch(epoch)?;
        Ok(history)
    }

    fn check_epoch(&self, epoch: u64) -> Result<(), KnowledgeBaseError> {
        let last = self.epoch();
        if epoch > last { Err(KnowledgeBaseError::NoEpoch { epoch, last }) } else { Ok(()) }
    }

    fn up_to(mut base: CommitJournal, epoch: u64) -> Result<Self, KnowledgeBaseError> {
        base.end_at(epoch);
        let (session, loaded) = Loaded::open_outline(&base)?;
        base.end_at(loaded.epoch);
        let report = KnowledgeBaseReport::new(&loaded, &session, base.first()?);
        Ok(Self { session, base, report, index: KnownIndex::Unopened })
    }

    /// Makes everything happen again that a base says, checks each commit on the way, and compares the newest checkpoint with what the
    /// commits come to.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn verify(directory: impl AsRef<Path>) -> Result<(KnowledgeBaseReport, CheckpointVerdict), Unsound> {
        let path = directory.as_ref();
        let read = match CommitJournal::read(path) {
            // Its journal says all the same what is sound.
            Err(error @ KnowledgeBaseError::NoManifest { .. }) => {
                CommitJournal::read_journal(path).map(|base| (base, Some(error)))
            }
            base => base.map(|base| (base, None)),
        };
        let (base, lacking) = read.map_err(|error| Unsound { sound_up_to: 0, error })?;
        let verified = Self::verify_journal(&base)?;
        match lacking {
            None => Ok(verified),
            Some(error) => Err(Unsound { sound_up_to: verified.0.commits, error }),
        }
    }

    /// Verifies a base whose journal lies on a disk.
    ///
    /// # Errors
    /// It is damaged.
    pub fn verify_on_disk(
        disk: &Arc<dyn Disk>,
        directory: &str,
    ) -> Result<(KnowledgeBaseReport, CheckpointVerdict), Unsound> {
        Self::verify_journal(&CommitJournal::read_on_disk(Arc::clone(disk), directory))
    }

    fn verify_journal(base: &CommitJournal) -> Result<(KnowledgeBaseReport, CheckpointVerdict), Unsound> {
        let (checkpoint, mut verdict) = verify_at(base);
        let begun = Loaded::begin(base).map_err(|error| Unsound { sound_up_to: 0, error })?;
        let (mut session, mut loaded, mut commits) = begun;
        let first = loaded.epoch + 1;
        let mut look = |loaded: &Loaded, session: &Session| {
            if let Some(checkpoint) = checkpoint.as_ref().filter(|checkpoint| checkpoint.epoch == loaded.epoch) {
                verdict = checkpoint.compare(session, loaded.hash.value());
            }
        };
        look(&loaded, &session);
        let taken = loaded.take_showing(&mut commits, &mut session, look);
        taken.map_err(|error| Unsound { sound_up_to: loaded.epoch, error })?;
        Ok((KnowledgeBaseReport::new(&loaded, &session, first), verdict))
    }

    /// The number of the last commit.
    pub fn epoch(&self) -> u64 {
        self.report.commits
    }

    /// The first commit that is kept, which is 1 unless some were [given up](crate::Engine::compact). What there was before it is
    /// known, but not how it came about.
    pub fn first(&self) -> u64 {
        self.report.first
    }

    /// What could not be used of it.
    pub fn warnings(&self) -> Vec<String> {
        self.base.warnings()
    }

    /// What the base holds.
    pub fn report(&self) -> &KnowledgeBaseReport {
        &self.report
    }

    /// The atoms of the program's space, in the order in which they were added.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub fn atoms(&self) -> Result<Vec<Atom>, KnowledgeBaseError> {
        self.atoms_at(self.epoch())
    }

    /// The atoms that the program's space had after a commit.
    ///
    /// # Errors
    /// There is no such commit, or the journal cannot be read.
    pub fn atoms_at(&self, epoch: u64) -> Result<Vec<Atom>, KnowledgeBaseError> {
        self.check_epoch(epoch)?;
        let mut base = self.base.reader();
        base.end_at(epoch);
        let atoms = |base: &CommitJournal| {
            let (mut session, _) = Loaded::open(base)?;
            let atoms = session.top_space().atoms(session.program_mut().variables());
            Ok(atoms.iter().map(space::named_as_in_source).collect())
        };
        catching_damage(|| atoms(&base)).unwrap_or_else(|damage| {
            self.base.warn(damage_warning(&damage));
            let mut base = self.base.reader().without_checkpoints();
            base.end_at(epoch);
            atoms(&base)
        })
    }

    /// An atom as a source of the base's program would have it, as far as it can be written.
    pub fn text(&self, atom: &Atom) -> String {
        shown(atom)
    }

    /// What a text says as an atom, its words read as the base's program would.
    ///
    /// # Errors
    /// It is not one atom.
    pub fn read(&self, text: &str) -> ReadAtom {
        let parsed = syntax::parse(text);
        if let Some(error) = parsed.first_error() {
            return Err(Some(Box::new(error.clone())));
        }
        let tokenizer: &Tokenizer =
            self.session.program().tokenizer_of(metta::ModuleId::TOP).expect("the program has words");
        match parsed.tree.forms() {
            [form] if !form.bang => Ok(read_atom(&parsed.tree, form.node, tokenizer)),
            _ => Err(None),
        }
    }
}
