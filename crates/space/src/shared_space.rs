//! A space as programs hold it: a shared handle with a serial number and imports.
//!
//! Queries answer from the space itself and then from each imported space, whose own imports are not followed (the
//! importer lists them all). A query holds a lock while it collects matches and never while another space is asked.

use crate::append::Appender;
use crate::atom::{Atom, VariableSource, free};
use crate::bindings::{Bindings, Solution};
use crate::change::{ChangeLog, Row};
use crate::contents::Match;
use crate::query::ShouldStop;
use crate::rewrite::variables;
use crate::snapshot::Snapshot;
use crate::solve::solve;
use crate::space::Space;
use crate::term::SharedTerms;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// How many classes of changes a space counts.
pub const CLASSES: usize = 6;

/// Of many atoms so many are added or removed with the space locked: who wants a snapshot waits no longer than that takes.
const SLICE: usize = 128;

/// Says of which class, below [`CLASSES`], the adding or removing of an atom is.
pub type Classify = fn(&Atom) -> usize;

/// A shared space.
#[derive(Clone)]
pub struct SharedSpace(Arc<Cell>);

/// What the handles of a space share.
struct Content {
    space: RwLock<Space>,
    /// Held by who waits for a snapshot, and passed before each change while somebody does: whoever changes a space again and
    /// again, and so mostly holds it, lets others in.
    gate: Mutex<()>,
    waiting: AtomicU32,
    /// How often it changed, by classes that its owner tells apart: what was derived from it may still be right.
    changes: [AtomicU64; CLASSES],
    /// How often it changed, whatever the class.
    version: AtomicU64,
    classify: Classify,
}

struct Cell {
    serial: u64,
    name: String,
    content: Arc<Content>,
    imports: RwLock<Vec<SharedSpace>>,
    /// How often the list of imports has changed.
    imports_version: AtomicU64,
    log: ChangeLog,
    /// Where its log lists it among the spaces that changed, counted from 1; 0 if it does not.
    noted: AtomicU32,
    is_frozen: AtomicBool,
}

impl SharedSpace {
    /// An empty space with this serial number and printed name.
    pub fn new(serial: u64, name: impl Into<String>, terms: SharedTerms) -> Self {
        Self::watched(serial, name, terms, ChangeLog::default())
    }

    /// An empty space whose changes are noted in this log while that records.
    pub fn watched(serial: u64, name: impl Into<String>, terms: SharedTerms, log: ChangeLog) -> Self {
        Self::counting(serial, name, terms, log, |_| 0)
    }

    /// The same, with changes counted by class.
    pub fn counting(
        serial: u64,
        name: impl Into<String>,
        terms: SharedTerms,
        log: ChangeLog,
        classify: Classify,
    ) -> Self {
        Self::holding(serial, name, Space::new(terms), log, classify)
    }

    /// A space that holds what another one does, changes noted in this log and counted by class.
    pub fn holding(serial: u64, name: impl Into<String>, space: Space, log: ChangeLog, classify: Classify) -> Self {
        let (gate, waiting, changes, version) = Default::default();
        let content = Arc::new(Content { space: RwLock::new(space), gate, waiting, changes, version, classify });
        let (noted, is_frozen) = (AtomicU32::new(0), AtomicBool::new(false));
        let (name, imports, imports_version) = (name.into(), RwLock::default(), AtomicU64::default());
        Self(Arc::new(Cell { serial, name, content, imports, imports_version, log, noted, is_frozen }))
    }

    /// Keeps the hash of its content up to date from now on; see [`Space::hash`].
    pub fn keep_hash(&self) {
        self.write(Space::keep_hash);
    }

    /// Keeps the hash of what is added and removed from now on.
    pub fn keep_hash_of_changes(&self) {
        self.write(Space::keep_hash_of_changes);
    }

    /// Where its log lists it among the spaces that changed.
    pub(crate) fn noted(&self) -> Option<u32> {
        self.0.noted.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Says where its log lists it; only the log calls this, while it is locked.
    pub(crate) fn set_noted(&self, place: Option<u32>) {
        self.0.noted.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
    }

    /// The dictionary of its terms.
    pub fn dictionary(&self) -> SharedTerms {
        self.read(|space| SharedTerms::clone(space.terms()))
    }

    /// From now on nothing may change it: who could asks [`SharedSpace::is_frozen`] first.
    pub fn freeze(&self) {
        self.0.is_frozen.store(true, Ordering::Relaxed);
    }

    /// Whether it is of the past, and nothing may change it.
    pub fn is_frozen(&self) -> bool {
        self.0.is_frozen.load(Ordering::Relaxed)
    }

    /// Its serial number: spaces are numbered in program order.
    pub fn serial(&self) -> u64 {
        self.0.serial
    }

    /// How it prints.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether both are the same space.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A view of the same atoms without the imports: the space itself, if it is no module's.
    pub fn without_imports(&self) -> Self {
        let name = self.0.name.strip_prefix("ModuleSpace(").and_then(|name| name.strip_suffix(')'));
        let Some(name) = name.map(str::to_owned) else { return self.clone() };
        let Cell { serial, content, log, .. } = &*self.0;
        let (serial, content, log) = (*serial, Arc::clone(content), log.clone());
        let (noted, is_frozen) = (AtomicU32::new(0), AtomicBool::new(self.is_frozen()));
        let (imports, imports_version) = Default::default();
        Self(Arc::new(Cell { serial, name, content, imports, imports_version, log, noted, is_frozen }))
    }

    /// Moves the atoms that only this handle keeps alive to a list of atoms to be freed.
    pub(crate) fn free_into(self, work: &mut Vec<Atom>) {
        if let Some(mut cell) = Arc::into_inner(self.0) {
            cell.drain_into(work);
        }
    }

    /// Adds an atom.
    pub fn add(&self, atom: &Atom) {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let class = self.class_of(atom);
        self.write(|space| {
            space.add(atom);
            self.note_row(space.row_of(atom), class, None);
        });
        self.count_class(class);
    }

    /// Removes one copy of an atom; returns whether there was one.
    pub fn remove(&self, atom: &Atom) -> bool {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let class = self.class_of(atom);
        let taken = self.write(|space| space.take_row(atom, |row, number| self.note_row(row, class, Some(number))));
        if taken.is_some() {
            self.count_class(class);
        }
        taken.is_some()
    }

    /// What it holds now, its imports apart, for reading on any thread while it goes on changing. Constant time; it waits
    /// for who changes the space or interns terms at the moment. Many atoms are added and removed in slices, between which
    /// snapshots are taken, and so is a file that is loaded.
    pub fn snapshot(&self) -> Snapshot {
        let Content { space, gate, waiting, .. } = &*self.0.content;
        waiting.fetch_add(1, Ordering::Relaxed);
        let passed = gate.lock().expect("no panic at the gate");
        let mut space = space.write().expect("no panic while a space is locked");
        waiting.fetch_sub(1, Ordering::Relaxed);
        drop(passed);
        space.snapshot()
    }

    /// A space with another serial number and printed name that holds the same atoms, imports apart; from now on each
    /// changes alone, noted in the same log. Constant time.
    pub fn fork(&self, serial: u64, name: impl Into<String>) -> Self {
        let terms = self.dictionary();
        let fork = Self::counting(serial, name, terms, self.0.log.clone(), self.0.content.classify);
        fork.fill_with(self.fork_content(), std::slice::from_ref(self));
        fork
    }

    /// What it holds now, imports apart; from then on each changes alone. Constant time.
    pub fn fork_content(&self) -> Space {
        self.write(Space::fork)
    }

    /// Makes an empty space hold this content, which the log does not note atom by atom. `origins` are the spaces that the
    /// content was made of: the changes that each class counts there count here too, so that what asks whether a space ever held
    /// an atom of some class is not told that it did not. Constant time, unless the space keeps a hash and the content has none.
    pub fn fill_with(&self, mut content: Space, origins: &[SharedSpace]) {
        self.write(|space| {
            debug_assert!(space.is_empty(), "what a space holds is not replaced");
            if space.hash().is_some() {
                content.keep_hash();
            }
            *space = content;
        });
        for origin in origins {
            let counts = origin.changes().into_iter().enumerate().filter(|(_, count)| *count > 0);
            counts.for_each(|(class, count)| self.count_classes(class, count));
        }
    }

    /// Adds many atoms: `work` is given what adds them, and holds the space locked. See [`Appender`].
    ///
    /// It counts as one change of each class, since the classes of rows are not asked for.
    pub fn append<T>(&self, work: impl FnOnce(&mut Appender<'_>) -> T) -> T {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let done = self.write(|space| {
            let mut appender = space.appender();
            appender.noted = self.0.log.is_on().then_some(self);
            work(&mut appender)
        });
        (0..CLASSES).for_each(|class| self.count_class(class));
        done
    }

    /// Adds atoms, as [`SharedSpace::add`] does each; gives how many there were. A snapshot of meanwhile has some of them.
    pub fn add_many<'a>(&self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let (mut counts, mut added) = ([0_u64; CLASSES], SLICE);
        let classify = self.0.content.classify;
        let mut atoms = atoms.into_iter().inspect(|atom| counts[classify(atom)] += 1);
        while added == SLICE {
            added = self.write(|space| {
                let mut appender = space.appender();
                appender.noted = self.0.log.is_on().then_some(self);
                let more = atoms.size_hint().0;
                appender.first_of_atoms(more, atoms.by_ref().take(SLICE))
            });
        }
        self.count_all(&counts)
    }

    /// Removes one copy of each of these atoms, as [`SharedSpace::remove`] does; gives how many there were. A snapshot of meanwhile
    /// lacks some of them.
    pub fn remove_many<'a>(&self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let (mut counts, mut asked) = ([0_u64; CLASSES], SLICE);
        let mut atoms = atoms.into_iter();
        while asked == SLICE {
            asked = 0;
            let slice = atoms.by_ref().take(SLICE).inspect(|_| asked += 1);
            self.write(|space| {
                for atom in slice {
                    let class = self.class_of(atom);
                    let taken = space.take_row(atom, |row, number| self.note_row(row, class, Some(number)));
                    counts[class] += u64::from(taken.is_some());
                }
            });
        }
        self.count_all(&counts)
    }

    /// Adds facts in one go, as [`SharedSpace::add_many`] does; gives how many there were.
    pub fn add_facts<'a>(&self, facts: impl IntoIterator<Item = &'a Atom>) -> usize {
        self.add_many(facts)
    }

    /// Adds the rule `(= left right)` for each pair, in one go; gives how many there were.
    pub fn add_rules<'a>(&self, rules: impl IntoIterator<Item = (&'a Atom, &'a Atom)>) -> usize {
        let equals = Atom::symbol("=");
        let rule = |(left, right): (&Atom, &Atom)| Atom::expression([equals.clone(), left.clone(), right.clone()]);
        let rules: Vec<Atom> = rules.into_iter().map(rule).collect();
        self.add_many(&rules)
    }

    /// Each child that stands behind a prefix, with how often it does; see [`Space::children_after`]. Imports are not asked.
    pub fn children_after(&self, prefix: &[Atom], source: &mut VariableSource) -> Vec<(Atom, usize)> {
        self.read(|space| space.children_after(prefix, source))
    }

    /// Notes in the log, if that is on, that a row came, or that one went which had this insertion number. The space may be locked.
    pub(crate) fn note_row(&self, row: Row<'_>, class: usize, removed: Option<u64>) {
        if self.0.log.is_on() {
            self.0.log.note_row(self, row, class as u8, removed);
        }
    }

    /// Undoes that a row came, or that one went which had this insertion number. The change counts as one of its class, or of each
    /// if the class is not known.
    pub(crate) fn undo_row(&self, row: Row<'_>, removed: Option<u64>, class: usize) {
        self.write(|space| match removed {
            Some(number) => space.restore_row(row, number),
            None => space.take_back(row),
        });
        let classes = if class < CLASSES { class..class + 1 } else { 0..CLASSES };
        classes.for_each(|class| self.count_class(class));
    }

    /// The space itself, locked for reading, if that can be done at once.
    pub(crate) fn try_guard(&self) -> Option<RwLockReadGuard<'_, Space>> {
        self.0.content.space.try_read().ok()
    }

    /// The spaces it imports, locked for reading.
    pub(crate) fn imports_guard(&self) -> RwLockReadGuard<'_, Vec<SharedSpace>> {
        self.0.imports.read().expect("no panic while imports are locked")
    }

    /// Changes the space itself, unnoted.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Space) -> T) -> T {
        let Content { space, gate, waiting, .. } = &*self.0.content;
        if waiting.load(Ordering::Relaxed) > 0 {
            drop(gate.lock().expect("no panic at the gate"));
        }
        change(&mut space.write().expect("no panic while a space is locked"))
    }

    /// Of which class the adding or removing of an atom is.
    pub(crate) fn class_of(&self, atom: &Atom) -> usize {
        (self.0.content.classify)(atom)
    }

    /// Counts changes by class; gives how many there are.
    fn count_all(&self, counts: &[u64; CLASSES]) -> usize {
        let changed = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        changed.for_each(|(class, &count)| self.count_classes(class, count));
        counts.iter().sum::<u64>() as usize
    }

    pub(crate) fn count_class(&self, class: usize) {
        self.count_classes(class, 1);
    }

    /// Counts so many changes of a class.
    fn count_classes(&self, class: usize, count: u64) {
        self.0.content.changes[class].fetch_add(count, Ordering::Relaxed);
        self.0.content.version.fetch_add(count, Ordering::Relaxed);
        self.0.log.count();
    }

    /// How often it was changed so far, by class; a changed import counts as the last class.
    pub fn changes(&self) -> [u64; CLASSES] {
        std::array::from_fn(|class| self.0.content.changes[class].load(Ordering::Relaxed))
    }

    /// Counts a change of the list of imports.
    fn count_import(&self) {
        self.0.imports_version.fetch_add(1, Ordering::Relaxed);
        self.count_class(CLASSES - 1);
    }

    /// How often its own atoms have changed.
    pub(crate) fn version(&self) -> u64 {
        self.0.content.version.load(Ordering::Relaxed)
    }

    /// How often the list of its imports has changed.
    pub(crate) fn imports_version(&self) -> u64 {
        self.0.imports_version.load(Ordering::Relaxed)
    }

    /// How many atoms it holds itself, copies counted.
    pub fn len(&self) -> usize {
        self.read(Space::len)
    }

    /// Whether it holds none itself.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its own atoms in insertion order, their variables fresh.
    pub fn atoms(&self, source: &mut VariableSource) -> Vec<Atom> {
        self.read(|space| space.atoms(source))
    }

    /// Reads the space itself, without its imports.
    pub fn read<T>(&self, read: impl FnOnce(&Space) -> T) -> T {
        read(&self.0.content.space.read().expect("no panic while a space is locked"))
    }

    /// The spaces it imports.
    pub fn imports(&self) -> Vec<SharedSpace> {
        self.0.imports.read().expect("no panic while imports are locked").clone()
    }

    /// Makes queries of this space answer from another one too. Importing a space twice, or into itself, changes
    /// nothing.
    pub fn import(&self, other: &SharedSpace) {
        let mut imports = self.0.imports.write().expect("no panic while imports are locked");
        if !self.is_same(other) && !imports.iter().any(|known| known.is_same(other)) {
            imports.push(other.clone());
            self.count_import();
        }
    }

    /// Undoes an import.
    pub fn forget_import(&self, other: &SharedSpace) {
        let mut imports = self.0.imports.write().expect("no panic while imports are locked");
        imports.retain(|known| !known.is_same(other));
        self.count_import();
    }

    /// Drops its atoms and imports, so that spaces that hold each other can be freed.
    pub fn clear(&self) {
        let imports = std::mem::take(&mut *self.0.imports.write().expect("no panic while imports are locked"));
        drop(imports);
        self.count_import();
        let mut content = self.0.content.space.write().expect("no panic while a space is locked");
        let empty = content.emptied();
        let old = std::mem::replace(&mut *content, empty);
        drop(content);
        drop(old);
    }

    /// The solutions of a query: a pattern, or a conjunction `(, p1 p2 …)` whose patterns must all match.
    ///
    /// Solutions come in insertion order, for a conjunction in that of its first pattern, then its second.
    pub fn query(&self, query: &Atom, source: &mut VariableSource) -> Vec<Solution> {
        self.query_unless(query, source, &|| false).expect("nobody gives up")
    }

    /// The same; `None` if who asks has given up. What rows do not answer is found whole.
    pub fn query_unless(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Solution>> {
        let by_rows = self.with_view(|view| view.solutions(query, should_stop));
        by_rows.unwrap_or_else(|| self.query_in_part(query, source, should_stop))
    }

    /// The same of a query that rows do not answer whole: of a conjunction they answer the patterns before the first that others
    /// may match.
    fn query_in_part(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Solution>> {
        let patterns = conjunction(query).unwrap_or_default();
        if patterns.len() < 3 {
            return Some(self.query_atoms(query, source));
        }
        let by_rows = self.with_view(|view| {
            let first = patterns.iter().take_while(|pattern| view.are_rows(pattern)).count();
            if first < 2 {
                return None;
            }
            let asked: Vec<Atom> = query.children()?[..=first].to_vec();
            let asked = Atom::expression(asked);
            let found = view.solutions(&asked, should_stop)?;
            Some((first, found))
        });
        let Some((first, found)) = by_rows else { return Some(self.query_atoms(query, source)) };
        let found: Vec<Bindings> = found?.into_iter().map(Bindings::from_iter).collect();
        let found = answer_all(found, &patterns[first..], source, |pattern, source| self.query_one(pattern, source));
        let wanted = variables(query);
        Some(found.iter().map(|bindings| bindings.solution_for(&wanted)).collect())
    }

    /// The same, whatever the answers are: each pattern is unified with each atom that may match. What tests compare with.
    #[doc(hidden)]
    pub fn query_atoms(&self, query: &Atom, source: &mut VariableSource) -> Vec<Solution> {
        answer(query, source, |pattern, source| self.query_one(pattern, source))
    }

    fn query_one(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Bindings> {
        let mut found = self.query_own(pattern, source);
        for import in self.imports() {
            found.extend(import.query_own(pattern, source));
        }
        found
    }

    fn query_own(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Bindings> {
        let matches = self.own_matches(pattern, source);
        let mut found = Vec::with_capacity(matches.len());
        for matched in matches {
            for bindings in solve(matched.bindings, matched.deferred, Some((self, pattern)), source) {
                found.extend(std::iter::repeat_n(bindings, matched.copies as usize));
            }
        }
        found
    }

    fn own_matches(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Match> {
        self.read(|space| space.matches(pattern, source))
    }

    /// The atoms that match a pattern, its own and then those of each import.
    pub(crate) fn matches(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Match> {
        let mut found = self.own_matches(pattern, source);
        for import in self.imports() {
            found.extend(import.own_matches(pattern, source));
        }
        found
    }
}

impl Cell {
    /// Moves the atoms that only this cell keeps alive, and its imports, to a list.
    fn drain_into(&mut self, work: &mut Vec<Atom>) {
        if let Some(content) = Arc::get_mut(&mut self.content) {
            work.extend(content.space.get_mut().unwrap_or_else(PoisonError::into_inner).drain_open());
        }
        let imports = self.imports.get_mut().unwrap_or_else(PoisonError::into_inner);
        work.extend(imports.drain(..).map(Atom::from));
    }
}

impl Drop for Cell {
    /// Spaces that hold spaces cost heap and not native stack.
    fn drop(&mut self) {
        let mut work = Vec::new();
        self.drain_into(&mut work);
        free(work);
    }
}

/// The solutions of a query, given what answers one pattern.
pub(crate) fn answer(
    query: &Atom,
    source: &mut VariableSource,
    mut answer_one: impl FnMut(&Atom, &mut VariableSource) -> Vec<Bindings>,
) -> Vec<Solution> {
    let wanted = variables(query);
    let found = match conjunction(query) {
        Some(patterns) => answer_all(vec![Bindings::default()], patterns, source, answer_one),
        None => answer_one(query, source),
    };
    found.iter().map(|bindings| bindings.solution_for(&wanted)).collect()
}

/// What is found for all of some patterns, given what was found before.
fn answer_all(
    mut found: Vec<Bindings>,
    patterns: &[Atom],
    source: &mut VariableSource,
    mut answer_one: impl FnMut(&Atom, &mut VariableSource) -> Vec<Bindings>,
) -> Vec<Bindings> {
    for pattern in patterns {
        let mut next = Vec::new();
        for bindings in found {
            let pattern = bindings.resolve(pattern);
            let wanted = variables(&pattern);
            for more in answer_one(&pattern, source) {
                next.push(bindings.with(more.solution_for(&wanted)));
            }
        }
        found = next;
    }
    found
}

/// The patterns of a conjunction `(, p1 p2 …)`.
pub fn conjunction(query: &Atom) -> Option<&[Atom]> {
    match query.children()? {
        [head, patterns @ ..] if head.is_symbol(",") => Some(patterns),
        _ => None,
    }
}
