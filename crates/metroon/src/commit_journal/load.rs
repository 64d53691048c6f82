//! Making a run again from the commits of its base.

use super::checkpoint::{CheckpointReport, Outline};
use super::error::KnowledgeBaseError;
use super::record::{AtomRecord, CommitHeader, Record, TOP_SPACE};
use super::sources::{KnownSource, Sources};
use super::state_hash::{Kind, StateHash};
use super::{CommitJournal, Commits, Committed};
use metta::{Event, MemoryWorld, ModuleId, Program, Session, SourceId};
use space::{Atom, EncodedRoom, SharedSpace, Space, Symbol, canonical};
use std::collections::BTreeSet;

/// What a base comes to, beside what it makes of a session.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) hash: StateHash,
    pub(crate) epoch: u64,
    /// How many frames of the journal say what was made to happen.
    pub(crate) frames: u64,
    pub(crate) sources: Sources,
    /// How many things other than atoms the base was told to keep.
    pub(crate) others: u64,
    /// How many atoms the program's space holds, copies counted.
    pub(crate) atoms: i64,
    /// Whether the atoms of spaces are left out.
    is_outline: bool,
    /// Whether a program has changed the library.
    pub(crate) is_library_changed: bool,
    /// What makes everything but the atoms of spaces.
    pub(crate) outline: Outline,
    /// The checkpoint that it was made of.
    pub(crate) checkpoint: Option<CheckpointReport>,
}

/// A session whose world is empty: what a base says is made to happen without asking anything of a world.
pub(crate) fn new_session() -> Session {
    Session::new(Box::new(MemoryWorld::default()))
}

impl Loaded {
    /// Applies a record of a checkpoint.
    pub(super) fn apply_outline(&mut self, record: Record<'_>, session: &mut Session) -> Result<(), String> {
        note_hash(&record, &mut self.hash);
        self.outline.take(&record);
        if let Record::SourceBegun { source, .. } = record {
            self.sources.skip_to(source);
        }
        self.apply_record(record, session)
    }

    /// All records of a checkpoint were applied, and its spaces filled.
    pub(super) fn end_outline(
        &mut self,
        session: &Session,
        epoch: u64,
        others: u64,
        atoms: i64,
        is_library_changed: bool,
    ) {
        let program = session.program();
        let library = if is_library_changed { 0 } else { 1 };
        let spaces = (library..program.space_count() as u64).filter_map(|serial| program.space(serial));
        spaces.for_each(|space| note_space(&space, &mut self.hash));
        (self.epoch, self.others, self.atoms) = (epoch, others, atoms);
        self.is_library_changed = is_library_changed;
    }

    /// Makes happen what the kept commits of a base say, and checks that it comes to what they recorded.
    pub(crate) fn from_base(base: &CommitJournal) -> Result<(Session, Self), KnowledgeBaseError> {
        let (mut session, mut loaded, mut commits) = Self::begin(base)?;
        loaded.take(base, &mut commits, &mut session)?;
        Ok((session, loaded))
    }

    /// Like [`Loaded::from_base`], but all spaces of a base that has kept all commits stay empty: enough to decode atoms.
    pub(crate) fn outline(base: &CommitJournal) -> Result<(Session, Self), KnowledgeBaseError> {
        let (start, mut commits) = base.commits()?;
        if start.epoch > 0 {
            return Self::from_base(base);
        }
        let (mut session, mut loaded) = (new_session(), Self { is_outline: true, ..Self::default() });
        loaded.take(base, &mut commits, &mut session)?;
        Ok((session, loaded))
    }

    /// Applies commits, and shows what there is after each.
    pub(crate) fn take_showing(
        &mut self,
        commits: &mut Commits,
        session: &mut Session,
        mut show: impl FnMut(&Self, &Session),
    ) -> Result<(), KnowledgeBaseError> {
        while let Some(committed) = commits.next()? {
            self.apply(&committed, session)?;
            if committed.header.is_some() {
                show(self, session);
            }
        }
        Ok(())
    }

    /// Applies the rest of the commits; when it fails, `epoch` is the last that is sound.
    pub(super) fn take(
        &mut self,
        base: &CommitJournal,
        commits: &mut Commits,
        session: &mut Session,
    ) -> Result<(), KnowledgeBaseError> {
        while self.take_next(commits, session)? {}
        self.frames = commits.frames();
        base.note_read(commits.bytes());
        Ok(())
    }

    /// Applies the next commit, or the next note; `false` where the journal ends for now.
    pub(crate) fn take_next(
        &mut self,
        commits: &mut Commits,
        session: &mut Session,
    ) -> Result<bool, KnowledgeBaseError> {
        let Some(committed) = commits.next()? else { return Ok(false) };
        self.apply(&committed, session)?;
        self.frames = commits.frames();
        Ok(true)
    }

    fn apply(&mut self, committed: &Committed, session: &mut Session) -> Result<(), KnowledgeBaseError> {
        let mut touched = BTreeSet::new();
        let mut facts = Facts::default();
        let damaged = |reason: String| committed.damaged(reason);
        committed.each(|record| {
            let is_of_notes = matches!(record, Record::SourceBegun { .. } | Record::SourceEnded { .. });
            if committed.header.is_none() && !is_of_notes {
                return Err(committed.damaged("a note says what only a commit can say"));
            }
            note_hash(&record, &mut self.hash);
            self.outline.take(&record);
            if let Record::Count { space, copies, atom } = &record {
                // Spaces that are filled keep their hashes themselves.
                if self.is_outline {
                    let hash = canonical::hash_of_bytes(atom.bytes).map_err(|error| committed.damaged(error))?;
                    self.hash.count(*space, hash, *copies);
                }
                touched.insert(*space);
            }
            if !self.is_outline && facts.take(&record) {
                self.count(&record);
                return if facts.is_full() { facts.add(session).map_err(damaged) } else { Ok(()) };
            }
            // Facts wait for what changes nothing only.
            if !matches!(record, Record::Cause { .. }) {
                facts.add(session).map_err(damaged)?;
            }
            self.apply_record(record, session).map_err(damaged)
        })?;
        facts.add(session).map_err(damaged)?;
        if self.is_outline {
            self.hash.settle(touched);
        } else {
            let spaces = touched.into_iter().filter_map(|serial| session.program().space(serial));
            spaces.for_each(|space| note_space(&space, &mut self.hash));
        }
        let Some(header) = &committed.header else { return Ok(()) };
        check_header(header, committed, self.epoch, self.hash.value())?;
        self.epoch = header.epoch;
        session.program_mut().variables().advance_to(header.variables);
        Ok(())
    }

    /// Counts the copies that a record says came or went.
    fn count(&mut self, record: &Record<'_>) {
        if let Record::Count { space, copies, .. } = record {
            self.is_library_changed |= *space == 0;
            self.atoms += if *space == TOP_SPACE { *copies } else { 0 };
        }
    }

    fn apply_record(&mut self, record: Record<'_>, session: &mut Session) -> Result<(), String> {
        self.others += u64::from(is_other(&record));
        let event = match record {
            Record::Cause { .. } => return Ok(()),
            Record::Count { space, copies, atom: ref encoded } => {
                self.count(&record);
                if self.is_outline {
                    return Ok(());
                }
                let found = session.program().space(space).ok_or_else(|| format!("there is no space {space}"))?;
                let atom = decode(session.program_mut(), encoded)?;
                for _ in 0..copies.unsigned_abs() {
                    if copies > 0 {
                        found.add(&atom);
                    } else if !found.remove(&atom) {
                        return Err(format!("an atom is removed that is not there: {atom}"));
                    }
                }
                return Ok(());
            }
            Record::State { state, value } => {
                let value = decode(session.program_mut(), &value)?;
                session.program().state(state).ok_or_else(|| format!("there is no state {state}"))?.set(value);
                return Ok(());
            }
            Record::SourceBegun { source, module, origin, file, content } => {
                return begin_source(&mut self.sources, source, ModuleId::new(module), origin, file, content);
            }
            Record::SourceEnded { source } => {
                let known = self.sources.get_mut(SourceId(source));
                known.ok_or_else(|| format!("there is no source {source}"))?.is_complete = true;
                return Ok(());
            }
            Record::Unstated { .. } => return Ok(()),
            Record::SpaceMade { serial } => Event::SpaceMade { serial },
            Record::StateMade { serial, value, type_atom } => {
                let value = decode(session.program_mut(), &value)?;
                let type_atom = decode(session.program_mut(), &type_atom)?;
                Event::StateMade { serial, value, type_atom }
            }
            Record::ModuleMade { serial, path, directory, file } => Event::ModuleMade {
                serial,
                path: path.to_owned(),
                directory: directory.to_owned(),
                file: file.map(str::to_owned),
            },
            Record::ModuleNamed { path, module } => {
                Event::ModuleNamed { path: path.to_owned(), module: ModuleId::new(module) }
            }
            Record::ModuleForgotten { module } => Event::ModuleForgotten { module: ModuleId::new(module) },
            Record::Imported { into, from } => Event::Imported { into: ModuleId::new(into), from: ModuleId::new(from) },
            Record::Bound { module, token, is_pattern, atom: bound } => {
                let atom = decode(session.program_mut(), &bound)?;
                Event::Bound { module: ModuleId::new(module), token: token.to_owned(), is_pattern, atom }
            }
            Record::WordsImported { into, from } => {
                Event::WordsImported { into: ModuleId::new(into), from: ModuleId::new(from) }
            }
            Record::GeneratorSet { number, generator } => Event::GeneratorSet { number, generator },
            Record::Setting { key, value } => {
                Event::Set { key: key.to_owned(), value: decode(session.program_mut(), &value)? }
            }
        };
        session.restore(event).map_err(|error| error.to_string())
    }
}

/// How many facts are added at once: their bytes are in the cache when their terms are made.
const FACTS_MAX: usize = 1 << 10;

/// Facts that are added to one space together, by the canonical bytes that their records have.
#[derive(Default)]
struct Facts {
    space: u64,
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    room: EncodedRoom,
}

impl Facts {
    /// Takes the fact that a record adds; gives whether it does, and to this space.
    fn take(&mut self, record: &Record<'_>) -> bool {
        let Record::Count { space, copies: 1, atom } = record else { return false };
        let is_next = self.ends.is_empty() || self.space == *space;
        let is_taken = is_next && atom.names.is_empty() && Session::is_fact(atom.bytes);
        if is_taken {
            self.space = *space;
            self.bytes.extend_from_slice(atom.bytes);
            self.ends.push(self.bytes.len());
        }
        is_taken
    }

    fn is_full(&self) -> bool {
        self.ends.len() >= FACTS_MAX
    }

    /// Adds them.
    fn add(&mut self, session: &mut Session) -> Result<(), String> {
        if self.ends.is_empty() {
            return Ok(());
        }
        let found = session.program().space(self.space);
        let space = found.ok_or_else(|| format!("there is no space {}", self.space))?;
        let Self { bytes, ends, room, .. } = self;
        let mut start = 0;
        let facts = ends.iter().map(|&end| &bytes[std::mem::replace(&mut start, end)..end]);
        session.add_facts(&space, facts, room).map_err(|error| error.to_string())?;
        bytes.clear();
        ends.clear();
        Ok(())
    }
}

fn begin_source(
    sources: &mut Sources,
    source: u32,
    module: ModuleId,
    origin: &str,
    file: Option<&str>,
    content: [u8; 32],
) -> Result<(), String> {
    let known = KnownSource::recorded(source, module, origin, file, content);
    let next = sources.numbered();
    // While a base is read, sources are met in the order of their numbers.
    match sources.get_mut(SourceId(source)) {
        Some(before) => *before = known,
        None if source == next => {
            let id = sources.add(known);
            sources.number(id);
            // Nothing that is read later asks for a text.
            sources.leave(id);
        }
        None => return Err(format!("source {source} begins, but the next one must be source {next}")),
    }
    Ok(())
}

/// Checks that a commit follows the one before and comes to the hash it has.
fn check_header(
    header: &CommitHeader,
    committed: &Committed,
    before: u64,
    hash: u128,
) -> Result<(), KnowledgeBaseError> {
    let epoch = header.epoch;
    if epoch != before + 1 {
        return Err(committed.damaged(format!("commit {epoch} follows commit {before}")));
    }
    let recorded = u128::from_le_bytes(header.hash);
    if recorded == hash {
        Ok(())
    } else {
        Err(KnowledgeBaseError::Differs { epoch, place: committed.place, recorded, found: hash })
    }
}

/// Whether a record is of something else than atoms that the base was told to keep.
pub(crate) fn is_other(record: &Record<'_>) -> bool {
    match record {
        Record::SpaceMade { .. }
        | Record::StateMade { .. }
        | Record::ModuleMade { .. }
        | Record::ModuleNamed { .. }
        | Record::ModuleForgotten { .. }
        | Record::Imported { .. }
        | Record::Bound { .. }
        | Record::Setting { .. }
        | Record::WordsImported { .. }
        | Record::GeneratorSet { .. } => true,
        Record::Cause { .. }
        | Record::Count { .. }
        | Record::State { .. }
        | Record::SourceBegun { .. }
        | Record::SourceEnded { .. }
        | Record::Unstated { .. } => false,
    }
}

/// Counts what a space holds now in the state hash.
pub(super) fn note_space(space: &SharedSpace, hash: &mut StateHash) {
    let content = space.read(Space::hash).expect("a run that is remembered keeps the hashes of its spaces");
    hash.set_space(space.serial(), content);
}

/// Counts what a record says in the state hash; atoms are counted with their space.
pub(super) fn note_hash(record: &Record<'_>, hash: &mut StateHash) {
    match record {
        Record::State { state, value } => hash.set(Kind::State, &state.to_be_bytes(), value.bytes),
        Record::StateMade { serial, value, .. } => hash.set(Kind::State, &serial.to_be_bytes(), value.bytes),
        Record::Bound { module, token, atom, .. } => hash.set(Kind::Word, &word_key(*module, token), atom.bytes),
        Record::Imported { into, from } => hash.set(Kind::Import, &import_key(*into, *from), &[]),
        Record::Setting { key, value } => hash.set(Kind::Setting, key.as_bytes(), value.bytes),
        Record::GeneratorSet { number, generator } => {
            let content = postcard::to_allocvec(generator).expect("a vector takes every generator");
            hash.set(Kind::Generator, &number.to_be_bytes(), &content);
        }
        Record::Cause { .. }
        | Record::Count { .. }
        | Record::SpaceMade { .. }
        | Record::ModuleMade { .. }
        | Record::ModuleNamed { .. }
        | Record::ModuleForgotten { .. }
        | Record::SourceBegun { .. }
        | Record::SourceEnded { .. }
        | Record::WordsImported { .. }
        | Record::Unstated { .. } => {}
    }
}

fn word_key(module: u32, token: &str) -> Vec<u8> {
    [&module.to_be_bytes()[..], token.as_bytes()].concat()
}

fn import_key(into: u32, from: u32) -> [u8; 8] {
    let mut key = [0; 8];
    key[..4].copy_from_slice(&into.to_be_bytes());
    key[4..].copy_from_slice(&from.to_be_bytes());
    key
}

/// The atom of a record, its variables fresh.
pub(crate) fn decode(program: &mut Program, atom: &AtomRecord<'_>) -> Result<Atom, String> {
    let names: Vec<Symbol> = atom.names.iter().map(|name| Symbol::new(name)).collect();
    program.decode(atom.bytes, &names).map_err(|error| error.to_string())
}
