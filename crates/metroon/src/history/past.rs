//! The past of a base: spaces as they were, and where atoms come from.

use super::Origins;
use super::indexing::KeptIndex;
use super::origins::{origins, serials_of};
use crate::commit_journal::ledger::SharedLedger;
use crate::commit_journal::load::decode;
use crate::commit_journal::record::{AtomRecord, LIBRARY_SPACE, Record, TOP_SPACE, check_length};
use crate::commit_journal::start::Start;
use crate::commit_journal::statements::{StatedByFile, Statements};
use crate::commit_journal::{CommitJournal, KnowledgeBaseError};
use crate::live::{LiveEvent, LiveFollower, LiveRequest, atom_of};
use metta::{
    AnswerChange, History, LiveDefinition, LiveNews, LiveNewsKind, PAST_SERIALS, Program, Reason, RunRecordError,
};
use rustc_hash::FxHashMap;
use space::{Atom, SharedSpace, SharedState, Symbol, Variable, canonical};
use std::rc::Rc;

/// How many images of the past are kept, the latest used.
const IMAGES_MAX: usize = 8;

/// All spaces and states as they were after a commit. Nothing can change them.
struct Image {
    epoch: u64,
    spaces: FxHashMap<u64, SharedSpace>,
}

/// Images of the past that were asked for.
#[derive(Default)]
struct Images {
    images: Vec<Image>,
    /// How many frozen spaces and states were made: they have serial numbers of their own.
    made: u64,
    /// Whether a program has changed the library.
    is_library_changed: bool,
}

/// The history of a run that is kept in a base.
pub(crate) struct KeptHistory {
    base: Rc<CommitJournal>,
    ledger: SharedLedger,
    images: Images,
    index: KeptIndex,
}

impl KeptHistory {
    pub(crate) fn new(base: Rc<CommitJournal>, ledger: SharedLedger) -> Self {
        let images = Images::new(ledger.borrow().is_library_changed);
        let index = KeptIndex::new(Rc::clone(&base));
        Self { base, ledger, images, index }
    }
}

impl History for KeptHistory {
    fn as_of(&mut self, program: &mut Program, space: &SharedSpace, epoch: u64) -> Result<SharedSpace, RunRecordError> {
        let (last, is_library_changed) = (self.ledger.borrow().epoch, self.ledger.borrow().is_library_changed);
        if is_library_changed {
            self.images.note_library_change();
        }
        if epoch > last {
            return Err(KnowledgeBaseError::NoEpoch { epoch, last }.into());
        }
        let found = self.images.space(&self.base, program, space, epoch)?;
        found.ok_or_else(|| format!("{} did not exist after commit {epoch}", space.name()).into())
    }

    fn why(
        &mut self,
        program: &mut Program,
        space: &SharedSpace,
        pattern: &Atom,
        epoch: Option<u64>,
    ) -> Result<Vec<Reason>, RunRecordError> {
        let last = self.ledger.borrow().epoch;
        let until = epoch.unwrap_or(last);
        if until > last {
            return Err(KnowledgeBaseError::NoEpoch { epoch: until, last }.into());
        }
        let indexed = match pattern.is_ground() {
            true => self.index.origins(program, &serials_of(space), pattern, (until, last))?,
            false => None,
        };
        let Origins { reasons, given_up } = match indexed {
            Some(origins) => origins,
            None => {
                let mut base = self.base.reader();
                base.end_at(until);
                origins(&base, program, space, pattern, until)?
            }
        };
        if given_up > 0 {
            let first = self.base.first()?;
            return Err(KnowledgeBaseError::OriginGivenUp { copies: given_up, first }.into());
        }
        Ok(reasons)
    }

    fn live_changes(
        &mut self,
        program: &mut Program,
        definition: &LiveDefinition,
        (after, last): (u64, u64),
    ) -> Result<Vec<LiveNews>, RunRecordError> {
        check_length("a live query", &atom_of(definition))?;
        let mut journal = self.base.reader();
        journal.end_at(last);
        let mut follower = LiveFollower::of_journal(&journal, &LiveRequest::of_definition(definition), Some(after))?;
        let mut found = Vec::new();
        while let Some(event) = follower.next_event()? {
            match event {
                LiveEvent::Changes { epoch, changes } => {
                    for AnswerChange { before, after, copies } in changes {
                        let (before, after) = (ours(program, before)?, ours(program, after)?);
                        let kind = LiveNewsKind::Change(AnswerChange { before, after, copies });
                        found.push(LiveNews { epoch, kind });
                    }
                }
                LiveEvent::Stopped { epoch, reason } => {
                    found.push(LiveNews { epoch, kind: LiveNewsKind::Stopped(reason) });
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// An atom of another run of the same base as one of this program.
fn ours(program: &mut Program, atom: Option<Atom>) -> Result<Option<Atom>, RunRecordError> {
    let Some(atom) = atom else { return Ok(None) };
    check_length("an answer of a live query", &atom)?;
    let (mut bytes, mut names) = (Vec::new(), Vec::new());
    canonical::encode_naming(&atom, &mut bytes, |variable: &Variable| names.push(variable.name().clone()));
    Ok(Some(program.decode(&bytes, &names)?))
}

impl Drop for Images {
    fn drop(&mut self) {
        self.images.iter().for_each(Image::clear);
    }
}

impl Image {
    /// Spaces of the past may hold each other.
    fn clear(&self) {
        self.spaces.values().filter(|space| space.is_frozen()).for_each(SharedSpace::clear);
    }
}

impl Images {
    /// No images yet.
    fn new(is_library_changed: bool) -> Self {
        Self { images: Vec::new(), made: 0, is_library_changed }
    }

    /// A program has changed the library: images that show the live one are no longer right.
    fn note_library_change(&mut self) {
        if !std::mem::replace(&mut self.is_library_changed, true) {
            self.images.clear();
        }
    }

    /// A space as it was after a commit.
    fn space(
        &mut self,
        base: &CommitJournal,
        program: &mut Program,
        space: &SharedSpace,
        epoch: u64,
    ) -> Result<Option<SharedSpace>, KnowledgeBaseError> {
        let known = self.images.iter().position(|image| image.epoch == epoch);
        let image = match known {
            Some(index) => self.images.remove(index),
            None => self.build(base, program, epoch)?,
        };
        let found = image.spaces.get(&space.serial()).cloned();
        self.images.push(image);
        if self.images.len() > IMAGES_MAX {
            // A program may hold its spaces still, so they keep what they hold.
            self.images.remove(0);
        }
        Ok(found)
    }

    fn build(&mut self, base: &CommitJournal, program: &mut Program, epoch: u64) -> Result<Image, KnowledgeBaseError> {
        let mut past = ImageBuilder {
            image: Image { epoch, spaces: FxHashMap::default() },
            states: Vec::new(),
            imports: Vec::new(),
        };
        // The program's own space is there from the beginning, and imports the library.
        for serial in [LIBRARY_SPACE, TOP_SPACE] {
            self.add_space(&mut past, program, serial);
        }
        past.imports.push((TOP_SPACE, LIBRARY_SPACE));
        if self.is_library_changed {
            self.copy_library(&mut past, program);
        }
        let mut until = base.reader();
        until.end_at(epoch);
        let (start, mut commits) = until.commits_from_nearest(epoch, |checkpoint| checkpoint.verify().is_ok())?;
        self.begin_with(&mut past, program, &start)?;
        while let Some(committed) = commits.next()? {
            committed
                .each(|record| self.apply(&mut past, program, record).map_err(|reason| committed.damaged(reason)))?;
        }
        for (into, from) in &past.imports {
            if let (Some(into), Some(from)) = (past.image.spaces.get(into), past.image.spaces.get(from)) {
                into.import(from);
            }
        }
        let is_past = |space: &&SharedSpace| program.space(LIBRARY_SPACE).is_none_or(|library| !library.is_same(space));
        past.image.spaces.values().filter(is_past).for_each(SharedSpace::freeze);
        past.states.iter().for_each(SharedState::freeze);
        Ok(past.image)
    }

    /// Puts in what the base held where the commits begin that are to be applied.
    fn begin_with(
        &mut self,
        past: &mut ImageBuilder,
        program: &mut Program,
        start: &Start,
    ) -> Result<(), KnowledgeBaseError> {
        let mut applied = Ok(());
        let mut apply = |record: Record<'_>| {
            if applied.is_ok() {
                applied = self.apply(past, program, record);
            }
        };
        start.each_record(&mut apply)?;
        applied.map_err(|reason| start.damaged(reason))?;
        start.each_atom(|serial, copies, atom| {
            let atom = past.decode(program, &atom)?;
            let space = past.image.spaces.get(&serial).ok_or_else(|| format!("there is no space {serial}"))?;
            (0..copies).for_each(|_| space.add(&atom));
            Ok(())
        })
    }

    fn add_space(&mut self, past: &mut ImageBuilder, program: &Program, serial: u64) {
        let Some(live) = program.space(serial) else { return };
        // The library hardly ever changes, and nothing of it is added here then.
        let space = if serial == LIBRARY_SPACE {
            live
        } else {
            let name = format!("as-of-{}({})", past.image.epoch, live.name());
            SharedSpace::new(self.next_serial(), name, program.terms())
        };
        past.image.spaces.insert(serial, space);
    }

    /// Puts a copy of the library, as it is in a new run, in the place of the live one, which is not to be changed.
    fn copy_library(&mut self, past: &mut ImageBuilder, program: &mut Program) {
        let Some(live) = program.space(LIBRARY_SPACE) else { return };
        let name = format!("as-of-{}({})", past.image.epoch, live.name());
        let copy = SharedSpace::new(self.next_serial(), name, program.terms());
        let fresh = Program::new();
        if let Some(library) = fresh.space(LIBRARY_SPACE) {
            library.atoms(program.variables()).iter().for_each(|atom| copy.add(atom));
        }
        past.image.spaces.insert(LIBRARY_SPACE, copy);
    }

    fn next_serial(&mut self) -> u64 {
        self.made += 1;
        PAST_SERIALS | self.made
    }

    fn apply(&mut self, past: &mut ImageBuilder, program: &mut Program, record: Record<'_>) -> Result<(), String> {
        match record {
            Record::Count { space, copies, atom } => {
                let atom = past.decode(program, &atom)?;
                let space = past.image.spaces.get(&space).ok_or_else(|| format!("there is no space {space}"))?;
                for _ in 0..copies.unsigned_abs() {
                    if copies > 0 {
                        space.add(&atom);
                    } else {
                        space.remove(&atom);
                    }
                }
            }
            Record::State { state, value } => {
                let value = past.decode(program, &value)?;
                let index = state.checked_sub(1).and_then(|index| usize::try_from(index).ok());
                let state = index.and_then(|index| past.states.get(index));
                state.ok_or("a state is set that was not made")?.set(value);
            }
            Record::SpaceMade { serial } => self.add_space(past, program, serial),
            Record::ModuleMade { serial, .. } => {
                self.add_space(past, program, serial);
                past.imports.push((serial, 0));
            }
            Record::StateMade { value, type_atom, .. } => {
                let (value, type_atom) = (past.decode(program, &value)?, past.decode(program, &type_atom)?);
                let serial = self.next_serial();
                past.states.push(SharedState::new(serial, value, type_atom));
            }
            Record::Imported { into, from } => {
                let serials =
                    [into, from].map(|module| program.space_of(metta::ModuleId::new(module)).map(SharedSpace::serial));
                if let [Some(into), Some(from)] = serials {
                    past.imports.push((into, from));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// A past that is being built.
struct ImageBuilder {
    image: Image,
    states: Vec<SharedState>,
    imports: Vec<(u64, u64)>,
}

impl ImageBuilder {
    /// An atom whose spaces and states are those of the past.
    fn decode(&self, program: &mut Program, atom: &AtomRecord<'_>) -> Result<Atom, String> {
        let names: Vec<Symbol> = atom.names.iter().map(|name| Symbol::new(name)).collect();
        let state = |serial: u64| self.states.get(usize::try_from(serial).ok()?.checked_sub(1)?).cloned();
        let space = |serial: u64| self.image.spaces.get(&serial).cloned();
        program.decode_with(atom.bytes, &names, state, space).map_err(|error| error.to_string())
    }
}

/// The atoms that a source states, as its commits say, with copies.
pub(crate) fn statements(
    base: &CommitJournal,
    program: &mut Program,
    source: u32,
) -> Result<Vec<Atom>, KnowledgeBaseError> {
    let mut stated = Statements::of(source);
    let (start, mut commits) = base.commits()?;
    start.restore(&mut stated)?;
    let mut last = commits.reader.place();
    while let Some(committed) = commits.next()? {
        last = committed.place;
        committed.each(|record| {
            stated.take(&record, 0);
            Ok::<(), KnowledgeBaseError>(())
        })?;
        stated.end_commit();
    }
    let atoms = stated.file(source).into_iter().flat_map(StatedByFile::atoms);
    let decoded = atoms.map(|atom| decode(program, &atom.record()));
    decoded.collect::<Result<Vec<Atom>, String>>().map_err(|reason| KnowledgeBaseError::Damaged { place: last, reason })
}
