//! What differs between the atoms and states of a base after two of its commits.

use super::origins::Causes;
use super::{Change, History, describe, shown};
use crate::commit_journal::KnowledgeBaseError;
use crate::commit_journal::load::decode;
use crate::commit_journal::record::TOP_SPACE;
use crate::commit_journal::record::{AtomRecord, Record};
use journal::Place;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// An atom of which copies came or went on the way, with the last place that caused it.
struct Counted {
    space: u64,
    atom: Kept,
    copies: i64,
    origin: String,
    line: u32,
}

/// An atom as a record has it, and where that lies.
#[derive(Clone)]
struct Kept {
    bytes: Vec<u8>,
    names: Vec<String>,
    place: Place,
}

impl Kept {
    fn of(atom: &AtomRecord<'_>, place: Place) -> Self {
        let names = atom.names.iter().map(|&name| name.to_owned()).collect();
        Self { bytes: atom.bytes.to_vec(), names, place }
    }

    fn record(&self) -> AtomRecord<'_> {
        AtomRecord { bytes: &self.bytes, names: self.names.iter().map(String::as_str).collect() }
    }

    fn damaged(&self, reason: String) -> KnowledgeBaseError {
        KnowledgeBaseError::Damaged { place: self.place, reason }
    }
}

impl History {
    /// Hands out what makes the atoms and states after one commit those after another: atoms in the order in which they were first
    /// changed on the way, then states by their numbers. Copies are added up, and what came and went is left out. Ends when `take` says that
    /// it has seen enough, by `false`.
    ///
    /// # Errors
    /// There is no such commit, or the journal cannot be read.
    pub fn difference(
        &mut self,
        from: u64,
        to: u64,
        take: &mut dyn FnMut(&Change) -> bool,
    ) -> Result<(), KnowledgeBaseError> {
        self.check_epoch(from.max(to))?;
        let [first, last] = [from.min(to), from.max(to)];
        let mut walk = Walk::default();
        let (start, mut commits) = self.base.commits_from_nearest(first, |_| true)?;
        start.check(first)?;
        let at = commits.reader.place();
        start.each_record(|record| walk.take(&record, false, at))?;
        let mut before = None;
        let mut epoch = start.epoch;
        while epoch < last
            && let Some(committed) = commits.next()?
        {
            let number = committed.header.as_ref().map_or(epoch, |header| header.epoch);
            if number > first && before.is_none() {
                before = Some(walk.states.clone());
            }
            let is_between = number > first;
            committed.each(|record| {
                walk.take(&record, is_between, committed.place);
                Ok::<(), KnowledgeBaseError>(())
            })?;
            epoch = number;
        }
        let before = before.unwrap_or_else(|| walk.states.clone());
        let sign = if from <= to { 1 } else { -1 };
        let (old, new) = if from <= to { (before, walk.states) } else { (walk.states, before) };
        for counted in walk.counted.into_iter().filter(|counted| counted.copies != 0) {
            let change = self.change_of(&counted, sign)?;
            if !take(&change) {
                return Ok(());
            }
        }
        for (serial, set) in &new {
            if old.get(serial).is_some_and(|other| other.bytes == set.bytes) {
                continue;
            }
            let record = Record::State { state: *serial, value: set.record() };
            let text = describe(&record, &mut self.session).map_err(|reason| set.damaged(reason))?;
            if !take(&Change { origin: String::new(), line: 0, copies: 0, space: None, text }) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn change_of(&mut self, counted: &Counted, sign: i64) -> Result<Change, KnowledgeBaseError> {
        let Counted { atom, space, copies, origin, line } = counted;
        let decoded = decode(self.session.program_mut(), &atom.record()).map_err(|reason| atom.damaged(reason))?;
        let name = || self.session.program().space(*space).map(|space| space.name().to_owned());
        let space = if *space == TOP_SPACE { None } else { name() };
        let text = shown(&space::named_as_in_source(&decoded));
        Ok(Change { origin: origin.clone(), line: *line, copies: copies * sign, space, text })
    }
}

#[derive(Default)]
struct Walk {
    causes: Causes,
    counted: Vec<Counted>,
    places: FxHashMap<(u64, Vec<u8>), usize>,
    states: BTreeMap<u64, Kept>,
    states_made: u64,
}

impl Walk {
    fn take(&mut self, record: &Record<'_>, is_between: bool, at: Place) {
        self.causes.take(record);
        match record {
            Record::Count { space, copies, atom } if is_between => {
                let (origin, line, _) = self.causes.place();
                let next = self.counted.len();
                let place = *self.places.entry((*space, atom.bytes.to_vec())).or_insert(next);
                if place == next {
                    let (atom, origin) = (Kept::of(atom, at), String::new());
                    self.counted.push(Counted { space: *space, atom, copies: 0, origin, line: 0 });
                }
                let counted = &mut self.counted[place];
                counted.copies += copies;
                (counted.origin, counted.line) = (origin, line);
            }
            Record::StateMade { value, .. } => {
                self.states_made += 1;
                self.states.insert(self.states_made, Kept::of(value, at));
            }
            Record::State { state, value } => drop(self.states.insert(*state, Kept::of(value, at))),
            _ => {}
        }
    }
}
