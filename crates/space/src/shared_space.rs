//! A space as programs hold it: a shared handle with a serial number and imports.
//!
//! Queries answer from the space itself and then from each imported space, whose own imports are not followed (the
//! importer lists them all). A query holds a lock while it collects matches, and never while it reads another space.

use crate::append::Appender;
use crate::atom::{Atom, Solution, VariableSource};
use crate::batch::Batch;
use crate::bindings::Bindings;
use crate::change::{ANY_CLASS, ChangeLog};
use crate::contents::Contents;
use crate::grounded::HostMatcher;
use crate::query::{Queried, QueryExplanation, ShouldStop, View, explain, explained};
use crate::row::Row;
use crate::snapshot::Snapshot;
use crate::solve::complete;
use crate::space::Space;
use crate::space_handle::{ChangeCounter, SharedSpace, SpaceContents};
use crate::stored::Match;
use crate::term::{SharedTerms, Term, Terms};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// How many classes of changes a space counts.
pub const CLASSES: usize = 6;

/// How many of many atoms are added or removed while the space is locked: a snapshot waits no longer than that takes.
const SLICE: usize = 128;

/// Says of which class, below [`CLASSES`], the adding or removing of an atom is.
pub type Classify = fn(&Atom) -> usize;

/// How often a space has changed, by classes that its owner tells apart; a changed import counts as the last class.
#[derive(Debug, Default)]
pub struct ChangeCounts([AtomicU64; CLASSES]);

impl ChangeCounts {
    /// The count of each class.
    pub fn by_class(&self) -> [u64; CLASSES] {
        std::array::from_fn(|class| self.0[class].load(Ordering::Relaxed))
    }

    /// The changes of this class and of all after it together: as long as the sum is the same, none of them has happened.
    #[inline]
    pub fn sum_from(&self, class: usize) -> u64 {
        self.0[class..].iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn add(&self, class: usize, count: u64) {
        self.0[class].fetch_add(count, Ordering::Relaxed);
    }
}

/// What the handles of a space share, with its imports or without.
struct Content {
    space: RwLock<Space>,
    /// A thread that waits for a snapshot holds it, and each change passes it meanwhile: so a thread that changes the space
    /// again and again, and mostly holds it, lets others in.
    gate: Mutex<()>,
    waiting: AtomicU32,
    /// How often it changed: what was derived from it may still be right.
    changes: Arc<ChangeCounts>,
    /// How often it changed, whatever the class.
    version: Arc<ChangeCounter>,
    classify: Classify,
}

/// What a handle of a space leads to.
struct LiveSpace {
    /// What matches in its place, if it only stands for a value of a host.
    matcher: OnceLock<Arc<dyn HostMatcher>>,
    /// The name of the view without imports, if it has another one.
    bare_name: OnceLock<String>,
    content: Arc<Content>,
    imports: RwLock<Vec<SharedSpace>>,
    /// How often the list of imports has changed.
    imports_version: Arc<ChangeCounter>,
    log: ChangeLog,
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

    /// An empty space whose changes are noted in this log while that records, and counted by class.
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
        Self::of_content(serial, name.into(), content, log)
    }

    /// Gives a space, just made, a view without imports that prints under this name.
    #[must_use]
    pub fn with_bare_name(self, bare_name: impl Into<String>) -> Self {
        let named = self.live().bare_name.set(bare_name.into());
        assert!(named.is_ok(), "a space is given the name of its view once");
        self
    }

    fn of_content(serial: u64, name: String, content: Arc<Content>, log: ChangeLog) -> Self {
        let (matcher, bare_name, imports, imports_version) = Default::default();
        Self::of(serial, name, LiveSpace { matcher, bare_name, content, imports, imports_version, log })
    }

    /// What stands in atoms for a value that says itself what it matches. Unification asks it what a space inside of an atom is asked;
    /// otherwise it is an empty space, which programs are not to use as one.
    pub fn of_matcher(serial: u64, name: impl Into<String>, matcher: Arc<dyn HostMatcher>) -> Self {
        static TERMS: LazyLock<SharedTerms> = LazyLock::new(Terms::shared);
        let space = Self::new(serial, name, SharedTerms::clone(&TERMS));
        let is_set = space.live().matcher.set(matcher);
        assert!(is_set.is_ok(), "a space that was just made has no matcher");
        space
    }

    /// What says what it matches, if it stands for such a value.
    #[inline]
    pub fn matcher(&self) -> Option<&Arc<dyn HostMatcher>> {
        self.live().matcher.get()
    }

    #[inline]
    fn live(&self) -> &LiveSpace {
        self.contents().expect("each space is a live one")
    }

    /// Keeps the hash of its content up to date from now on; see [`Space::hash`].
    pub fn keep_hash(&self) {
        self.write(Space::keep_hash);
    }

    /// Keeps the hash of what is added and removed from now on.
    pub fn keep_hash_of_changes(&self) {
        self.write(Space::keep_hash_of_changes);
    }

    /// The dictionary of its terms.
    pub fn dictionary(&self) -> SharedTerms {
        self.read(|space| SharedTerms::clone(space.terms()))
    }

    /// Where its atoms lie: what tells them from those of every other space alive, of other programs too.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.live().content) as usize
    }

    /// A view of the same atoms without the imports: the space itself, if it does not belong to a module.
    pub fn without_imports(&self) -> Self {
        let LiveSpace { bare_name, content, log, .. } = self.live();
        let Some(name) = bare_name.get().cloned() else { return self.clone() };
        let view = Self::of_content(self.serial(), name, Arc::clone(content), log.clone());
        if self.is_frozen() {
            view.freeze();
        }
        view
    }

    /// Adds an atom.
    pub fn add(&self, atom: &Atom) {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let live = self.live();
        let class = (live.content.classify)(atom);
        live.content.write(|space| {
            space.add(atom);
            if live.log.is_on() {
                live.log.note_row(self, space.row_of(atom), class as u8, None);
            }
        });
        live.count_classes(class, 1);
    }

    /// Removes one copy of an atom; returns whether there was one.
    pub fn remove(&self, atom: &Atom) -> bool {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let live = self.live();
        let class = (live.content.classify)(atom);
        let note = |row: Row<'_>, number| self.note_row(row, class as u8, Some(number));
        let is_taken = live.content.write(|space| space.take_row(atom, note)).is_some();
        if is_taken {
            live.count_classes(class, 1);
        }
        is_taken
    }

    /// What it and its imports hold now, for reading on any thread while they go on changing. Constant time; it waits
    /// while another thread changes one of them or interns terms. Many atoms are added and removed in slices, between which
    /// snapshots are taken, and so is a file that is loaded.
    pub fn snapshot(&self) -> Snapshot {
        loop {
            let (version, imports) = (self.imports_counter().get(), self.imports());
            if imports.is_empty() {
                return self.own_snapshot();
            }
            let spaces: Vec<&Self> = std::iter::once(self).chain(&imports).collect();
            let snapshot = snapshot_of(&spaces);
            if version == self.imports_counter().get() {
                return snapshot;
            }
        }
    }

    /// What it holds itself now, as if it imported nothing; see [`Snapshot::importing`].
    pub fn own_snapshot(&self) -> Snapshot {
        let _turn = self.live().content.take_turn();
        self.live().content.lock().snapshot()
    }

    /// A space with another serial number and printed name that holds the same atoms, imports apart; from now on each
    /// changes alone, noted in the same log. Constant time.
    pub fn fork(&self, serial: u64, name: impl Into<String>) -> Self {
        let fork =
            Self::counting(serial, name, self.dictionary(), self.live().log.clone(), self.live().content.classify);
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
            counts.for_each(|(class, count)| self.live().count_classes(class, count));
        }
    }

    /// Makes an empty space hold this content, as [`SharedSpace::fill_with`] does, and counts this many changes of each class.
    pub fn fill_counted(&self, content: Space, counts: &[u64; CLASSES]) {
        self.fill_with(content, &[]);
        self.count_all(counts);
    }

    /// Adds many atoms: `work` is given what adds them, and holds the space locked. See [`Appender`].
    ///
    /// It counts as one change of each class, since rows are not classified.
    pub fn append<T>(&self, work: impl FnOnce(&mut Appender<'_>) -> T) -> T {
        let done = self.append_uncounted(work);
        (0..CLASSES).for_each(|class| self.count_class(class));
        done
    }

    /// Adds many atoms that are all of this class, of which it counts as one change.
    pub fn append_of_class<T>(&self, class: usize, work: impl FnOnce(&mut Appender<'_>) -> T) -> T {
        let done = self.append_uncounted(work);
        self.count_class(class);
        done
    }

    /// Adds the records of a batch, which are all of this class, of which it counts as many changes; the batch is empty then. If changes
    /// are noted one by one, the first has this cause, if one is given, and each of the others the next number.
    ///
    /// # Panics
    /// If the last record of the batch is unfinished.
    pub fn append_batch(&self, batch: &mut Batch, class: usize, first_cause: Option<u32>) {
        let count = batch.len() as u64;
        self.append_uncounted(|appender| appender.batch_of_class(batch, class as u8, first_cause));
        self.live().count_classes(class, count);
    }

    fn append_uncounted<T>(&self, work: impl FnOnce(&mut Appender<'_>) -> T) -> T {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        self.write(|space| {
            let mut appender = space.appender();
            appender.noted = self.live().log.is_on().then_some(self);
            work(&mut appender)
        })
    }

    /// Adds atoms, as [`SharedSpace::add`] does each; gives how many there were. A snapshot taken meanwhile has some of them.
    pub fn add_many<'a>(&self, atoms: impl IntoIterator<Item = &'a Atom>) -> usize {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let (mut counts, mut added) = ([0_u64; CLASSES], SLICE);
        let classify = self.live().content.classify;
        let mut atoms = atoms.into_iter().inspect(|atom| counts[classify(atom)] += 1);
        while added == SLICE {
            added = self.write(|space| {
                let mut appender = space.appender();
                appender.noted = self.live().log.is_on().then_some(self);
                let more = atoms.size_hint().0;
                appender.first_of_atoms(more, atoms.by_ref().take(SLICE))
            });
        }
        self.count_all(&counts)
    }

    /// Removes one copy of each of these atoms, as [`SharedSpace::remove`] does; gives how many there were. A snapshot taken meanwhile
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
                    let note = |row: Row<'_>, number| self.note_row(row, class as u8, Some(number));
                    counts[class] += u64::from(space.take_row(atom, note).is_some());
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

    /// Each child that stands after a prefix, with how often it does; see [`Space::children_after`]. Imports do not count.
    pub fn children_after(&self, prefix: &[Atom], source: &mut VariableSource) -> Vec<(Atom, usize)> {
        self.read(|space| space.children_after(prefix, source))
    }

    /// Notes in the log, if that is on, that a row came, or that one went which had this insertion number. The space may be locked.
    pub(crate) fn note_row(&self, row: Row<'_>, class: u8, removed: Option<u64>) {
        let log = &self.live().log;
        if log.is_on() {
            log.note_row(self, row, class, removed);
        }
    }

    /// Notes expressions that came; see [`ChangeLog::note_expressions`].
    pub(crate) fn note_expressions<'a>(
        &self,
        rows: impl Iterator<Item = &'a [Term]>,
        class: u8,
        first_cause: Option<u32>,
    ) {
        self.live().log.note_expressions(self, rows, class, first_cause);
    }

    /// Undoes that a row came, or that one went which had this insertion number. The change counts as one of its class, or of each
    /// if the class was not asked for.
    pub(crate) fn undo_row(&self, row: Row<'_>, removed: Option<u64>, class: u8) {
        self.write(|space| match removed {
            Some(number) => space.restore_row(row, number),
            None => space.take_back(row),
        });
        let class = usize::from(class);
        let classes = if class == usize::from(ANY_CLASS) { 0..CLASSES } else { class..class + 1 };
        classes.for_each(|class| self.count_class(class));
    }

    /// Adds an expression of which `intern` makes the row of terms; says whether it was one. `class` is what its class of
    /// changes is.
    pub fn add_row(
        &self,
        class: usize,
        row: &mut Vec<Term>,
        intern: impl FnOnce(&mut Terms, &mut Vec<Term>) -> bool,
    ) -> bool {
        debug_assert!(!self.is_frozen(), "a frozen space is changed");
        let live = self.live();
        let is_row = live.content.write(|space| {
            let is_row = space.add_row(row, intern);
            if is_row && live.log.is_on() {
                live.log.note_row(self, Row::Expression(row), class as u8, None);
            }
            is_row
        });
        if is_row {
            live.count_classes(class, 1);
        }
        is_row
    }

    /// The space itself, locked for reading, if that can be done at once.
    pub(crate) fn try_guard(&self) -> Option<RwLockReadGuard<'_, Space>> {
        self.live().content.space.try_read().ok()
    }

    /// The spaces it imports, locked for reading.
    pub(crate) fn imports_guard(&self) -> RwLockReadGuard<'_, Vec<SharedSpace>> {
        self.live().imports.read().expect("no panic while imports are locked")
    }

    /// Changes the space itself, unnoted.
    pub(crate) fn write<T>(&self, change: impl FnOnce(&mut Space) -> T) -> T {
        self.live().content.write(change)
    }

    /// Of which class the adding or removing of an atom is.
    pub(crate) fn class_of(&self, atom: &Atom) -> usize {
        (self.live().content.classify)(atom)
    }

    /// Counts changes by class; gives how many there are.
    fn count_all(&self, counts: &[u64; CLASSES]) -> usize {
        let changed = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        changed.for_each(|(class, &count)| self.live().count_classes(class, count));
        counts.iter().sum::<u64>() as usize
    }

    fn count_class(&self, class: usize) {
        self.live().count_classes(class, 1);
    }

    /// How often it was changed so far, by class.
    pub fn changes(&self) -> [u64; CLASSES] {
        self.live().content.changes.by_class()
    }

    /// The counts of its changes, to be looked at again and again.
    pub fn change_counts(&self) -> Arc<ChangeCounts> {
        Arc::clone(&self.live().content.changes)
    }

    /// Counts a change of the list of imports.
    fn count_import(&self) {
        self.live().imports_version.add(1);
        self.live().count_classes(CLASSES - 1, 1);
    }

    /// How often its own atoms have changed.
    pub(crate) fn change_counter(&self) -> &Arc<ChangeCounter> {
        &self.live().content.version
    }

    /// How often the list of its imports has changed.
    pub(crate) fn imports_counter(&self) -> &Arc<ChangeCounter> {
        &self.live().imports_version
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
        read(&self.live().content.space.read().expect("no panic while a space is locked"))
    }

    /// The spaces it imports.
    pub fn imports(&self) -> Vec<SharedSpace> {
        self.live().imports.read().expect("no panic while imports are locked").clone()
    }

    /// Makes queries of this space answer from another one too. Importing a space twice, or into itself, changes
    /// nothing.
    pub fn import(&self, other: &SharedSpace) {
        let mut imports = self.live().imports.write().expect("no panic while imports are locked");
        if !self.is_same(other) && !imports.iter().any(|known| known.is_same(other)) {
            imports.push(other.clone());
            self.count_import();
        }
    }

    /// Undoes an import.
    pub fn forget_import(&self, other: &SharedSpace) {
        let mut imports = self.live().imports.write().expect("no panic while imports are locked");
        imports.retain(|known| !known.is_same(other));
        self.count_import();
    }

    /// Drops its atoms and imports, so that spaces that hold each other can be freed.
    pub fn clear(&self) {
        // Work that met a damaged block of an image may have ended while it held the locks.
        let imports = self.live().imports.write().unwrap_or_else(PoisonError::into_inner).split_off(0);
        drop(imports);
        self.count_import();
        let mut content = self.live().content.space.write().unwrap_or_else(PoisonError::into_inner);
        let empty = content.emptied();
        let old = std::mem::replace(&mut *content, empty);
        drop(content);
        drop(old);
    }

    /// Answers a query as [`SharedSpace::query`] does, and says in which way, and how many answers there were so far after each step.
    pub fn explain(&self, query: &Atom, source: &mut VariableSource) -> QueryExplanation {
        explain(self, query, source)
    }

    /// The solutions of a query: a pattern, or a conjunction `(, p1 p2 …)` whose patterns must all match.
    ///
    /// Solutions come in insertion order, for a conjunction in that of its first pattern, then its second.
    pub fn query(&self, query: &Atom, source: &mut VariableSource) -> Vec<Solution> {
        self.query_unless(query, source, &|| false).expect("nobody gives up")
    }

    /// The solutions of a query; `None` if the caller has given up.
    pub fn query_unless(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<Vec<Solution>> {
        self.solutions(query, source, should_stop)
    }

    /// The solutions of a query, with how they were found.
    pub fn query_explained(
        &self,
        query: &Atom,
        source: &mut VariableSource,
        should_stop: ShouldStop<'_>,
    ) -> Option<(Vec<Solution>, QueryExplanation)> {
        explained(self, query, source, (false, should_stop))
    }

    /// The solutions of a query, whatever they are: each pattern is unified with each atom that may match. Tests compare with it.
    #[doc(hidden)]
    pub fn query_atoms(&self, query: &Atom, source: &mut VariableSource) -> Vec<Solution> {
        self.solutions_of_atoms(query, source, &|| false).expect("nobody gives up")
    }

    fn query_own(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Bindings> {
        let matches = self.own_matches(pattern, source);
        complete(matches, Some((self, pattern)), source)
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

impl Queried for SharedSpace {
    fn with_view<T>(&self, work: impl FnOnce(View<'_>) -> Option<T>) -> Option<T> {
        self.with_locked_view(work)
    }

    fn query_one(&self, pattern: &Atom, source: &mut VariableSource) -> Vec<Bindings> {
        let mut found = self.query_own(pattern, source);
        for import in self.imports() {
            found.extend(import.query_own(pattern, source));
        }
        found
    }
}

/// A turn to take a snapshot: while it lives, changes of the space that begin wait.
struct Turn<'a> {
    waiting: &'a AtomicU32,
    _passed: MutexGuard<'a, ()>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LiveSpace {
    /// Counts `count` changes of a class.
    fn count_classes(&self, class: usize, count: u64) {
        self.content.changes.add(class, count);
        self.content.version.add(count);
        self.log.count();
    }
}

impl Content {
    fn write<T>(&self, change: impl FnOnce(&mut Space) -> T) -> T {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            drop(self.gate.lock().expect("no panic at the gate"));
        }
        change(&mut self.lock())
    }

    fn take_turn(&self) -> Turn<'_> {
        let waiting = &self.waiting;
        waiting.fetch_add(1, Ordering::Relaxed);
        Turn { waiting, _passed: self.gate.lock().expect("no panic at the gate") }
    }

    fn lock(&self) -> RwLockWriteGuard<'_, Space> {
        self.space.write().expect("no panic while a space is locked")
    }
}

/// A snapshot of the first of some spaces, which imports the others, at one moment.
///
/// No space is locked while another one is: if one has changed while they were read, they are read again. That is soon over, since
/// changes that begin wait.
fn snapshot_of(spaces: &[&SharedSpace]) -> Snapshot {
    let contents = || spaces.iter().map(|space| &space.live().content);
    let mut in_order: Vec<&Arc<Content>> = contents().collect();
    // Every thread that takes several turns takes them in this order.
    in_order.sort_by_key(|content| Arc::as_ptr(content));
    in_order.dedup_by_key(|content| Arc::as_ptr(content));
    let _turns: Vec<Turn<'_>> = in_order.into_iter().map(|content| content.take_turn()).collect();
    let versions = || contents().map(|content| content.version.get()).collect::<Vec<u64>>();
    let shared = loop {
        let before = versions();
        let shared: Vec<(SharedTerms, Contents)> = contents().map(|content| content.lock().share()).collect();
        if versions() == before {
            break shared;
        }
    };
    // The dictionaries have the terms of all contents by now.
    let mut dictionaries: Vec<(SharedTerms, Arc<Terms>)> = Vec::new();
    let mut terms_of = |terms: &SharedTerms| match dictionaries.iter().find(|(known, _)| Arc::ptr_eq(known, terms)) {
        Some((_, shared)) => Arc::clone(shared),
        None => {
            let shared = Arc::new(terms.write().expect("no panic while terms are locked").share());
            dictionaries.push((SharedTerms::clone(terms), Arc::clone(&shared)));
            shared
        }
    };
    let mut shared = shared.into_iter().map(|(terms, contents)| (terms_of(&terms), contents));
    let (terms, own) = shared.next().expect("there is the space itself");
    let imports = shared.map(|(terms, contents)| Snapshot::new(terms, contents, Vec::new())).collect();
    Snapshot::new(terms, own, imports)
}

impl SpaceContents for LiveSpace {
    fn drain_into(&mut self, work: &mut Vec<Atom>) {
        if let Some(content) = Arc::get_mut(&mut self.content) {
            work.extend(content.space.get_mut().unwrap_or_else(PoisonError::into_inner).contents_mut().drain_open());
        }
        let imports = self.imports.get_mut().unwrap_or_else(PoisonError::into_inner);
        work.extend(imports.drain(..).map(Atom::from));
    }
}
