//! What changed, in order: the signed rows that a commit keeps, and that a rollback undoes.
//!
//! A [`ChangeLog`] is shared by the spaces and states of a run. While it counts, it knows how much was added and removed, in
//! which spaces, and which states were set; while it records, it notes every change with what it takes to undo it. A
//! state that is set again and again is noted once between two marks.
//!
//! A change of a space is a [`Delta`]: a row with a count of 1 or -1. The terms of all rows lie one after the other in one
//! list, so that noting a row allocates nothing but room in that list, and no atom is made of it. Only atoms that are not
//! rows, those with variables, states or spaces in them, are kept as atoms, which shares them.

use crate::atom::Atom;
use crate::grounded::{LogSwitch, SharedState, StateLog, StateLogHandle};
use crate::row::Row;
use crate::space_handle::SharedSpace;
use crate::term::{SharedTerms, Term, Terms};
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many rows are kept as a sample where they are only counted.
pub const SAMPLE_MAX: usize = 16;

/// The class of a change whose class is not asked for.
pub(crate) const ANY_CLASS: u8 = u8::MAX;

/// A signed row: copies of an atom came to a space or went.
#[derive(Clone, Copy)]
pub struct Delta<'a> {
    /// Where.
    pub space: &'a SharedSpace,
    /// The row, in terms of the dictionary of the space.
    pub row: Row<'a>,
    /// How many copies came: 1, or -1 if one went.
    pub count: i64,
    /// Which of the owner's causes it belongs to; see [`ChangeLog::set_cause`].
    pub cause: u32,
    /// The dictionary, which is locked: nothing may be interned meanwhile.
    pub terms: &'a Terms,
}

impl Delta<'_> {
    /// The atom of the row, for people.
    pub fn atom(&self) -> Atom {
        self.row.atom(self.terms)
    }
}

/// What happened to a space or state.
#[derive(Clone, Copy)]
pub enum Change<'a> {
    /// A row came or went.
    Row(Delta<'a>),
    /// A state was set.
    Set {
        /// The state.
        state: &'a SharedState,
        /// Which of the owner's causes it belongs to.
        cause: u32,
    },
}

/// How much a [`ChangeLog`] keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeDetail {
    /// Nothing.
    #[default]
    Nothing,
    /// Counts, a sample, the spaces that changed and the states that were set.
    Counts,
    /// Every change.
    Changes,
}

/// What a [`ChangeLog`] has kept.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Every change, in order; where rows are only counted, the first of them and all of states.
    entries: Vec<NotedChange>,
    /// How many of the entries are of rows.
    rows: usize,
    /// The terms of rows, one row after the other.
    terms: Vec<Term>,
    atoms: Vec<Atom>,
    /// The insertion numbers of what was removed.
    numbers: Vec<u64>,
    /// The states that were set, with their content before.
    states: Vec<(SharedState, Atom)>,
    /// How many copies of atoms were added.
    pub added: u64,
    /// How many were removed.
    pub removed: u64,
    /// The spaces that changed.
    pub spaces: Vec<SharedSpace>,
}

/// A change; what belongs to it lies in the lists beside.
#[derive(Clone, Copy, Debug)]
struct NotedChange {
    /// Where in its list the row begins, or the atom or state lies.
    place: usize,
    cause: u32,
    /// Where in the list of spaces its space lies.
    space: u32,
    kind: NotedKind,
    /// The number of terms of a row.
    length: u32,
    is_removal: bool,
    /// The class of the change as the space counts it; [`ANY_CLASS`] if it is not known.
    class: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotedKind {
    Expression,
    Leaf,
    Open,
    State,
}

/// How long the lists of some changes are.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    entries: usize,
    rows: usize,
    terms: usize,
    atoms: usize,
    numbers: usize,
    states: usize,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0 && self.entries.is_empty()
    }

    /// The states that were set, in order; one may be there twice.
    pub fn states(&self) -> impl Iterator<Item = &SharedState> {
        self.states.iter().map(|(state, _)| state)
    }

    /// Hands out each change, in order. The dictionary of the rows is locked meanwhile.
    ///
    /// # Errors
    /// What `take` fails with, which ends it.
    pub fn each<E>(&self, take: impl FnMut(Change<'_>) -> Result<(), E>) -> Result<(), E> {
        self.each_in(0..self.len(), take)
    }

    /// How many changes it has.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Which of the owner's causes a change belongs to.
    ///
    /// # Panics
    /// If there is no such change.
    pub fn cause(&self, change: usize) -> u32 {
        self.entries[change].cause
    }

    /// Hands out some of the changes, in order, as [`Changes::each`] does. Other threads may be handed others at the same time.
    ///
    /// # Errors
    /// What `take` fails with, which ends it.
    ///
    /// # Panics
    /// If there are fewer changes.
    pub fn each_in<E>(
        &self,
        changes: Range<usize>,
        mut take: impl FnMut(Change<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = &self.entries[changes];
        while let Some(first) = rest.first() {
            let Some(dictionary) = self.dictionary(first) else {
                let (state, cause) = (&self.states[first.place].0, first.cause);
                take(Change::Set { state, cause })?;
                rest = &rest[1..];
                continue;
            };
            let terms = dictionary.read().expect("no panic while terms are locked");
            let mut last = first.space;
            let ends = |entry: &NotedChange| {
                let is_known = entry.kind != NotedKind::State && (entry.space == last || self.has(entry, &dictionary));
                last = if is_known { entry.space } else { last };
                !is_known
            };
            let length = rest.iter().position(ends).unwrap_or(rest.len());
            let (rows, after) = rest.split_at(length);
            for entry in rows {
                let Some(row) = self.row(entry) else { continue };
                let (space, count) = (&self.spaces[entry.space as usize], if entry.is_removal { -1 } else { 1 });
                take(Change::Row(Delta { space, row, count, cause: entry.cause, terms: &terms }))?;
            }
            rest = after;
        }
        Ok(())
    }

    /// The dictionary of an entry's row; `None` for a state.
    fn dictionary(&self, entry: &NotedChange) -> Option<SharedTerms> {
        let space = (entry.kind != NotedKind::State).then(|| &self.spaces[entry.space as usize]);
        space.map(SharedSpace::dictionary)
    }

    /// Whether this is the dictionary of an entry's row.
    fn has(&self, entry: &NotedChange, dictionary: &SharedTerms) -> bool {
        self.dictionary(entry).is_some_and(|other| Arc::ptr_eq(&other, dictionary))
    }

    /// The row of an entry; `None` for a state.
    fn row(&self, entry: &NotedChange) -> Option<Row<'_>> {
        let place = entry.place;
        match entry.kind {
            NotedKind::Expression => Some(Row::Expression(&self.terms[place..place + entry.length as usize])),
            NotedKind::Leaf => Some(Row::Leaf(self.terms[place])),
            NotedKind::Open => Some(Row::Open(&self.atoms[place])),
            NotedKind::State => None,
        }
    }

    fn push_row(&mut self, row: Row<'_>, class: u8, removed: Option<u64>, space: u32, cause: u32) {
        let (kind, place, length) = match row {
            Row::Expression(row) => {
                let place = self.terms.len();
                self.terms.extend_from_slice(row);
                (NotedKind::Expression, place, row.len() as u32)
            }
            Row::Leaf(term) => {
                self.terms.push(term);
                (NotedKind::Leaf, self.terms.len() - 1, 1)
            }
            Row::Open(atom) => {
                self.atoms.push(atom.clone());
                (NotedKind::Open, self.atoms.len() - 1, 0)
            }
        };
        self.numbers.extend(removed);
        self.rows += 1;
        self.entries.push(NotedChange { place, cause, space, kind, length, is_removal: removed.is_some(), class });
    }

    fn push_state(&mut self, state: SharedState, before: Atom, cause: u32) {
        let place = self.states.len();
        self.states.push((state, before));
        let (kind, class) = (NotedKind::State, ANY_CLASS);
        self.entries.push(NotedChange { place, cause, space: 0, kind, length: 0, is_removal: false, class });
    }

    fn lengths(&self) -> Lengths {
        Lengths {
            entries: self.entries.len(),
            rows: self.rows,
            terms: self.terms.len(),
            atoms: self.atoms.len(),
            numbers: self.numbers.len(),
            states: self.states.len(),
        }
    }

    /// Takes out the changes after these, with a copy of the list of spaces.
    fn split_off(&mut self, at: Lengths) -> Self {
        let mut since = Self {
            entries: self.entries.split_off(at.entries.min(self.entries.len())),
            rows: self.rows - at.rows.min(self.rows),
            terms: self.terms.split_off(at.terms.min(self.terms.len())),
            atoms: self.atoms.split_off(at.atoms.min(self.atoms.len())),
            numbers: self.numbers.split_off(at.numbers.min(self.numbers.len())),
            states: self.states.split_off(at.states.min(self.states.len())),
            added: 0,
            removed: 0,
            spaces: self.spaces.clone(),
        };
        self.rows -= since.rows;
        for entry in &mut since.entries {
            entry.place -= match entry.kind {
                NotedKind::Expression | NotedKind::Leaf => self.terms.len(),
                NotedKind::Open => self.atoms.len(),
                NotedKind::State => self.states.len(),
            };
        }
        since
    }

    /// Undoes every change, the last one first.
    fn undo(mut self) {
        while let Some(entry) = self.entries.pop() {
            let number = if entry.is_removal { self.numbers.pop() } else { None };
            let Some(row) = self.row(&entry) else {
                let (state, before) = self.states.pop().expect("each state that was set has its content before");
                drop(state.replace(before));
                continue;
            };
            self.spaces[entry.space as usize].undo_row(row, number, entry.class);
        }
    }

    /// Adds what of other changes is kept where rows are only counted: the states, and rows as long as the sample has room.
    fn sample(&mut self, since: &Self) {
        let mut numbers = since.numbers.iter();
        for entry in &since.entries {
            let number = if entry.is_removal { numbers.next().copied() } else { None };
            match since.row(entry) {
                Some(row) if self.rows < SAMPLE_MAX => {
                    self.push_row(row, entry.class, number, entry.space, entry.cause);
                }
                Some(_) => {}
                None => {
                    let (state, before) = &since.states[entry.place];
                    self.push_state(state.clone(), before.clone(), entry.cause);
                }
            }
        }
    }
}

/// A point to which a [`ChangeLog`] can go back.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeMark {
    lengths: Lengths,
    added: u64,
    removed: u64,
}

/// Notes the changes of the spaces and states that share it.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    switch: Arc<LogSwitch>,
    /// Whether changes are only counted and the sample is full: then a change is an addition and needs no lock.
    is_sampled: AtomicBool,
    added: AtomicU64,
    removed: AtomicU64,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    kept: Changes,
    cause: u32,
    /// The states set since the last mark, by serial number.
    set: FxHashSet<u64>,
}

impl Noted {
    /// Where a space lies in the list of those that changed, of which it is one from now on.
    fn place_of(&mut self, space: &SharedSpace) -> u32 {
        space.noted().unwrap_or_else(|| {
            self.kept.spaces.push(space.clone());
            let place = self.kept.spaces.len() as u32 - 1;
            space.set_noted(Some(place));
            place
        })
    }
}

impl ChangeLog {
    /// Another number whenever a space or state has changed since the last look, by undoing changes too.
    pub fn stamp(&self) -> u64 {
        self.0.switch.stamp.load(Ordering::Relaxed)
    }

    /// Counts a change.
    pub(crate) fn count(&self) {
        self.0.switch.stamp.fetch_add(1, Ordering::Relaxed);
    }

    /// How much is kept.
    pub fn keeps(&self) -> ChangeDetail {
        match self.0.switch.keeps.load(Ordering::Relaxed) {
            0 => ChangeDetail::Nothing,
            1 => ChangeDetail::Counts,
            _ => ChangeDetail::Changes,
        }
    }

    /// Whether anything is kept.
    pub(crate) fn is_on(&self) -> bool {
        self.0.switch.keeps.load(Ordering::Relaxed) != 0
    }

    /// Keeps this much from now on; what was kept is forgotten if that is nothing.
    pub fn keep(&self, keeps: ChangeDetail) {
        self.0.switch.keeps.store(keeps as u8, Ordering::Relaxed);
        if keeps == ChangeDetail::Nothing {
            drop(self.take());
        }
    }

    /// The cause of the changes to come; what it means is the owner's.
    pub fn set_cause(&self, cause: u32) {
        self.noted().cause = cause;
    }

    /// The point until now, for [`ChangeLog::undo_to`]. Every change must be kept from here on.
    pub fn mark(&self) -> ChangeMark {
        let mut noted = self.noted();
        noted.set.clear();
        let [added, removed] = self.counts(|count| count.load(Ordering::Relaxed));
        ChangeMark { lengths: noted.kept.lengths(), added, removed }
    }

    /// Takes out what is kept, and begins anew.
    pub fn take(&self) -> Changes {
        let mut noted = self.noted();
        noted.set.clear();
        self.0.is_sampled.store(false, Ordering::Relaxed);
        let [added, removed] = self.counts(|count| count.swap(0, Ordering::Relaxed));
        let taken = Changes { added, removed, ..std::mem::take(&mut noted.kept) };
        taken.spaces.iter().for_each(|space| space.set_noted(None));
        taken
    }

    /// A copy of what is kept, which stays kept.
    pub fn look(&self) -> Changes {
        let noted = self.noted();
        let [added, removed] = self.counts(|count| count.load(Ordering::Relaxed));
        Changes { added, removed, ..noted.kept.clone() }
    }

    /// Undoes what happened since a mark: contents and their order are as they were.
    pub fn undo_to(&self, mark: ChangeMark) {
        let undone = {
            let mut noted = self.noted();
            noted.set.clear();
            self.0.added.store(mark.added, Ordering::Relaxed);
            self.0.removed.store(mark.removed, Ordering::Relaxed);
            noted.kept.split_off(mark.lengths)
        };
        // A space is never waited for with the log locked.
        undone.undo();
    }

    /// Forgets the changes since a mark and goes on counting: they are not to be undone any more.
    pub fn count_from(&self, mark: ChangeMark) {
        let forgotten = {
            let mut noted = self.noted();
            noted.set.clear();
            let since = noted.kept.split_off(mark.lengths);
            noted.kept.sample(&since);
            since
        };
        self.0.switch.keeps.store(ChangeDetail::Counts as u8, Ordering::Relaxed);
        drop(forgotten);
    }

    /// Notes a row that came, or went and had this insertion number, and of which class the change is. The space may be
    /// locked; its log never waits for one.
    pub(crate) fn note_row(&self, space: &SharedSpace, row: Row<'_>, class: u8, removed: Option<u64>) {
        let count = if removed.is_some() { &self.0.removed } else { &self.0.added };
        count.fetch_add(1, Ordering::Relaxed);
        let is_sampled = self.0.is_sampled.load(Ordering::Relaxed) && self.keeps() == ChangeDetail::Counts;
        if is_sampled && space.noted().is_some() {
            return;
        }
        let mut noted = self.noted();
        let place = noted.place_of(space);
        let Noted { kept, cause, .. } = &mut *noted;
        if self.keeps() == ChangeDetail::Changes || kept.rows < SAMPLE_MAX {
            kept.push_row(row, class, removed, place, *cause);
        } else {
            self.0.is_sampled.store(true, Ordering::Relaxed);
        }
    }

    /// Notes expressions that came, as [`ChangeLog::note_row`] does each. The first has this cause, if one is given, and each of the
    /// others the next number. All are changes of this class.
    pub(crate) fn note_expressions<'a>(
        &self,
        space: &SharedSpace,
        rows: impl Iterator<Item = &'a [Term]>,
        class: u8,
        first_cause: Option<u32>,
    ) {
        let mut noted = self.noted();
        let place = noted.place_of(space);
        let Noted { kept, cause, .. } = &mut *noted;
        let keeps_all = self.keeps() == ChangeDetail::Changes;
        let mut count = 0;
        rows.for_each(|row| {
            if keeps_all || kept.rows < SAMPLE_MAX {
                let cause = first_cause.map_or(*cause, |first| first + count as u32);
                kept.push_row(Row::Expression(row), class, None, place, cause);
            } else {
                self.0.is_sampled.store(true, Ordering::Relaxed);
            }
            count += 1;
        });
        self.0.added.fetch_add(count, Ordering::Relaxed);
    }

    fn counts(&self, read: impl Fn(&AtomicU64) -> u64) -> [u64; 2] {
        [read(&self.0.added), read(&self.0.removed)]
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        // Work that met a damaged block of an image may have ended while it held the lock.
        self.0.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StateLog for Shared {
    fn note_set(&self, state: &SharedState, before: Atom) {
        let mut noted = self.noted.lock().expect("no panic while changes are locked");
        if noted.set.insert(state.serial()) {
            let cause = noted.cause;
            noted.kept.push_state(state.clone(), before, cause);
        }
    }
}

impl SharedState {
    /// A state whose changes are noted in this log while that records.
    pub fn watched(serial: u64, value: Atom, type_atom: Atom, log: ChangeLog) -> Self {
        let switch = Arc::clone(&log.0.switch);
        Self::logged(serial, value, type_atom, Some(StateLogHandle { switch, log: log.0 }))
    }
}
