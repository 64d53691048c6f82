//! The records that make everything of a base but the atoms of its spaces: spaces and states, modules, words, imports, settings, random
//! generators; and what a program has changed in the space of the library, which each process fills anew.
//!
//! They are kept as the journal has them, in their order. Of settings and generators only the last of each counts, so it takes the place
//! of the one before.

use crate::commit_journal::record::{LIBRARY_SPACE, Record};
use rustc_hash::FxHashMap;

/// Encoded records, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    records: Vec<Vec<u8>>,
    settings: FxHashMap<String, usize>,
    generators: FxHashMap<u64, usize>,
}

impl Outline {
    /// Takes a record, if it is of those that are kept.
    pub(crate) fn take(&mut self, record: &Record<'_>) {
        match record {
            Record::SpaceMade { .. }
            | Record::StateMade { .. }
            | Record::ModuleMade { .. }
            | Record::ModuleNamed { .. }
            | Record::ModuleForgotten { .. }
            | Record::Imported { .. }
            | Record::Bound { .. }
            | Record::WordsImported { .. } => self.push(record),
            Record::Count { space, .. } if *space == LIBRARY_SPACE => self.push(record),
            Record::Setting { key, .. } => {
                let next = self.records.len();
                let place = *self.settings.entry((*key).to_owned()).or_insert(next);
                self.put(place, record);
            }
            Record::GeneratorSet { number, .. } => {
                let next = self.records.len();
                let place = *self.generators.entry(*number).or_insert(next);
                self.put(place, record);
            }
            Record::Count { .. }
            | Record::Cause { .. }
            | Record::State { .. }
            | Record::SourceBegun { .. }
            | Record::SourceEnded { .. }
            | Record::Unstated { .. } => {}
        }
    }

    fn push(&mut self, record: &Record<'_>) {
        self.put(self.records.len(), record);
    }

    fn put(&mut self, place: usize, record: &Record<'_>) {
        let bytes = encode(record);
        match self.records.get_mut(place) {
            Some(known) => *known = bytes,
            None => self.records.push(bytes),
        }
    }

    /// The records, end to end.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.records.concat()
    }
}

/// A record as the journal has it.
pub(super) fn encode(record: &Record<'_>) -> Vec<u8> {
    postcard::to_allocvec(record).expect("a vector takes every record")
}
