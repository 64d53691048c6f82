//! Making a run again from the commits of its base.

use super::base::{Base, BaseError, Committed};
use super::record::{AtomRecord, CommitHeader, Record};
use super::sources::{KnownSource, Sources};
use super::state_hash::{Kind, StateHash};
use metta::{Event, ModuleId, Runner, SourceId};
use space::{Atom, Symbol};

/// What a base comes to, beside what it makes of a runner.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) hash: StateHash,
    pub(super) epoch: u64,
    pub(super) sources: Sources,
}

impl Loaded {
    /// Makes happen in a fresh runner what the commits of a base say, and checks that it comes to what they recorded.
    pub(super) fn from_base(base: &Base, runner: &mut Runner) -> Result<Self, BaseError> {
        let mut loaded = Self::default();
        let mut commits = base.commits()?;
        while let Some(committed) = commits.next()? {
            loaded.apply(&committed, runner)?;
        }
        Ok(loaded)
    }

    fn apply(&mut self, committed: &Committed, runner: &mut Runner) -> Result<(), BaseError> {
        committed.each(|record| {
            note_hash(&record, &mut self.hash);
            self.apply_record(record, runner).map_err(|reason| committed.damaged(reason))
        })?;
        let Some(header) = &committed.header else { return Ok(()) };
        check_header(header, self.epoch, self.hash.value()).unwrap_or_else(|| {
            Err(committed.damaged(format!("commit {} follows commit {}", header.epoch, self.epoch)))
        })?;
        self.epoch = header.epoch;
        runner.variables().advance_to(header.variables);
        Ok(())
    }

    fn apply_record(&mut self, record: Record<'_>, runner: &mut Runner) -> Result<(), String> {
        let event = match record {
            Record::Cause { .. } => return Ok(()),
            Record::Count { space, copies, atom: record } => {
                let found = runner.space(space).ok_or_else(|| format!("there is no space {space}"))?;
                let atom = decode(runner, &record)?;
                for _ in 0..copies.unsigned_abs() {
                    if copies > 0 {
                        found.add(&atom);
                    } else if !found.remove(&atom) {
                        return Err(format!("an atom is taken away that is not there: {atom}"));
                    }
                }
                return Ok(());
            }
            Record::State { state, value } => {
                let value = decode(runner, &value)?;
                runner.state(state).ok_or_else(|| format!("there is no state {state}"))?.set(value);
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
                let value = decode(runner, &value)?;
                let type_atom = decode(runner, &type_atom)?;
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
                let atom = decode(runner, &bound)?;
                Event::Bound { module: ModuleId::new(module), token: token.to_owned(), is_pattern, atom }
            }
            Record::WordsImported { into, from } => {
                Event::WordsImported { into: ModuleId::new(into), from: ModuleId::new(from) }
            }
            Record::GeneratorSet { number, generator } => Event::GeneratorSet { number, generator },
            Record::Setting { key, value } => Event::Set { key: key.to_owned(), value: decode(runner, &value)? },
        };
        runner.restore(event).map_err(|error| error.to_string())
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
    let known = KnownSource::recorded(module, origin, file, content);
    let next = sources.len();
    match sources.get_mut(SourceId(source)) {
        Some(before) => *before = known,
        None if source == next => sources.add_recorded(known),
        None => return Err(format!("source {source} begins where source {next} is next")),
    }
    Ok(())
}

/// Whether a commit follows the one before and comes to the hash it has; `None` if it does not follow.
pub(super) fn check_header(header: &CommitHeader, before: u64, hash: u128) -> Option<Result<(), BaseError>> {
    let recorded = u128::from_le_bytes(header.hash);
    if header.epoch != before + 1 {
        return None;
    }
    Some(if recorded == hash { Ok(()) } else { Err(BaseError::Differs { epoch: header.epoch, recorded, found: hash }) })
}

/// Counts what a record says in the state hash.
pub(super) fn note_hash(record: &Record<'_>, hash: &mut StateHash) {
    match record {
        Record::Count { space, copies, atom } => hash.count_atom(*space, atom.bytes, *copies),
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
pub(super) fn decode(runner: &mut Runner, atom: &AtomRecord<'_>) -> Result<Atom, String> {
    let names: Vec<Symbol> = atom.names.iter().map(|name| Symbol::new(name)).collect();
    runner.decode(atom.bytes, &names).map_err(|error| error.to_string())
}
