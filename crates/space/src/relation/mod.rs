//! A relation: the ground expressions of one length, as rows of terms.
//!
//! A row is stored once with the number of its copies and the insertion number of the first. Rows lie in *segments*: the
//! last one, the *head*, takes new rows; the others are *sealed*, which means that they never change and may be shared
//! with snapshots. How many copies of a row there are is kept beside its segment, in blocks that are copied when they
//! change.
//!
//! 1. A snapshot seals the head and shares all segments: constant time.
//! 2. The first row that is added after it begins a new head. Of two neighbours of which the older is at most twice as long as the younger
//!    one is made first, so that there are no more segments than the number of rows has binary digits. If nobody shares the last sealed segment
//!    then it is taken back as the head, and if it is short and whole it is copied, with its indexes.
//! 3. Removing the last copy of a row leaves a hole. A segment of which more than half is holes is packed. A segment that lies in
//!    an image is never joined or packed: its rows stay where they are.
//! 4. An index of a *path* (a column, or a child of the compound terms in a column) lists the rows of a segment by the match
//!    key found there; it is made when a query first asks for it, and in the head it is kept up to date afterwards. Holes
//!    leave a list of the head when they are more than half of it.
//!
//! Invariants
//! - Rows lie in the order of their insertion numbers, across segments; only a row that came back with its old
//!   number stands out of order, and queries put what they find in order.
//! - Two rows with equal match keys (`(p 1)` and `(p 1.0)`) are two rows.
//! - Terms, number and place of a row of a sealed segment never change, and its indexes list it for ever.
//!
//! Cost: adding, removing and finding a row take constant time for each segment; without snapshots there is one. A query
//! walks the shortest list among its paths.

mod adjacency;
mod bitmaps;
mod copies;
mod direct;
mod group;
mod image;
mod index;
mod indexes;
mod kept;
mod mapped;
mod sample;
mod segment;
mod trie;
mod walk;
mod write;

use crate::term::{Term, Terms};
pub(crate) use adjacency::{Adjacency, AdjacencyShape};
pub(crate) use bitmaps::Bitmap;
use copies::Copies;
pub(crate) use index::RowList;
use index::{IndexedBy, Key, key_at};
use kept::KeptViews;
pub(crate) use kept::Stamp;
pub(crate) use segment::hash_of;
use segment::{ROWS_MAX, Segment, TermReader, hash_keys, hash_keys_noting};
use std::ops::Deref;
use std::sync::Arc;
pub(crate) use trie::{Level, Trie};
pub(crate) use walk::{RowBatch, RowSelection};
pub(crate) use write::{row_hashes, write_relation};

/// Where in a row an index looks: a column, and maybe a child of the term there.
pub(crate) type Path = (u32, Option<u32>);

/// The head of a row.
const HEAD: Path = (0, None);

/// How deep into a query's columns indexes look: this many columns, and as many children of each.
pub(crate) const COLUMNS_INDEXED_MAX: usize = 16;

/// Rows are found through an index from this many on; a shorter relation is scanned.
const SCAN_MAX: u32 = 8;

/// A shared segment this short is copied when rows come: a commit of few rows makes no segment of its own, at which queries would have to
/// look.
const COPIED_MAX: u32 = 128;

/// A list this short is walked without looking for a shorter one.
const SHORT_ENOUGH: usize = 8;

/// Of a list longer than this some rows are looked at, whether they have what else is known.
const LONG: usize = 64;
const SAMPLE: usize = 32;

/// The ground expressions of one length, or of all lengths beyond the longest that has a relation of its own.
#[derive(Default)]
pub struct Relation {
    sealed: Vec<CountedSegment<Arc<Segment>>>,
    head: CountedSegment<Segment>,
    /// Whether a row was ever added that has a term with another match key than itself.
    has_keys: bool,
    /// What queries have made of the rows.
    views: KeptViews,
}

/// A segment and what is said of its rows beside it.
#[derive(Default)]
struct CountedSegment<S> {
    segment: S,
    copies: Copies,
    /// How many rows lie in the segments before it.
    start: u32,
}

/// A row as a query sees it.
pub struct FoundRow<'a> {
    /// Its terms.
    pub terms: &'a [Term],
    /// How many copies of it there are.
    pub copies: u32,
    /// Its insertion number.
    pub number: u64,
}

impl<S: Deref<Target = Segment>> CountedSegment<S> {
    fn view(&self) -> SegmentView<'_> {
        SegmentView { segment: &self.segment, copies: &self.copies, start: self.start, is_head: false }
    }
}

/// A part as queries see it.
#[derive(Clone, Copy)]
struct SegmentView<'a> {
    segment: &'a Segment,
    copies: &'a Copies,
    start: u32,
    is_head: bool,
}

impl<'a> SegmentView<'a> {
    /// The rows that are not holes, in order.
    fn live(self) -> impl Iterator<Item = u32> {
        (0..self.segment.len()).filter(move |&row| self.copies.get(row) > 0)
    }

    #[inline]
    fn found(self, row: u32) -> FoundRow<'a> {
        FoundRow { terms: self.segment.terms(row), copies: self.copies.get(row), number: self.segment.number(row) }
    }

    fn with_index<T>(
        self,
        place: IndexedBy,
        dictionary: &Terms,
        read: impl FnOnce(&index::Index, &index::KeyReader<'_>) -> T,
    ) -> T {
        self.segment.with_index(place, self.is_head.then_some(self.copies), dictionary, read)
    }

    /// How many rows an index lists for a key.
    fn listed(self, path: Path, key: Term, dictionary: &Terms) -> usize {
        self.with_index(IndexedBy::Path(path), dictionary, |index, keys| index.get(key.into(), keys).len())
    }

    /// Whether few of the rows listed for one of two keys have the other.
    fn mixes(self, (path, key): (Path, Term), other: (Path, Term), dictionary: &Terms) -> bool {
        self.with_index(IndexedBy::Path(path), dictionary, |index, keys| {
            self.are_mixed(&index.get(key.into(), keys), other, dictionary)
        })
    }

    fn are_mixed(self, rows: &RowList<'_>, (path, key): (Path, Term), dictionary: &Terms) -> bool {
        let has_other = |row: &u32| key_at(path, self.segment.terms(*row), dictionary) == Some(key);
        rows.len() > LONG && rows.sample(SAMPLE).filter(has_other).count() * 2 < SAMPLE
    }

    /// The row of exactly these terms.
    fn exact(self, hash: u64, terms: &[Term]) -> Option<u32> {
        self.segment.find(hash, terms, self.copies)
    }

    /// Adds the rows that have these match keys.
    #[inline]
    fn with_keys(self, hash: u64, keys: &[Term], dictionary: &Terms, found: &mut Vec<u32>) {
        let has_keys = |row: u32| {
            let terms = self.segment.terms(row);
            let agree = terms.iter().zip(keys).all(|(&term, &key)| dictionary.key(term) == key);
            terms.len() == keys.len() && agree && self.copies.get(row) > 0
        };
        found.extend(self.segment.with_hash(hash).filter(|&row| has_keys(row)).map(|row| self.start + row));
    }
}

/// Whether a segment may be copied as it is: it has no holes and does not lie in an image.
fn is_whole(segment: &Segment, copies: &Copies) -> bool {
    copies.holes() == 0 && !segment.is_mapped()
}

/// A head and what is known after it, of which one has the list that was chosen.
struct Pair {
    place: IndexedBy,
    key: Key,
    /// The one that was not chosen.
    other: (Path, Term),
}

/// What was chosen and the head, or the head and what is known first. The head is known last.
fn pair_of(chosen: (Path, Term), known: &[(Path, Term)]) -> Option<Pair> {
    let [first, .., head @ (HEAD, _)] = *known else { return None };
    let (value, other) = if chosen.0 == HEAD { (first, first) } else { (chosen, head) };
    Some(Pair { place: IndexedBy::HeadAnd(value.0), key: Key::pair(head.1, value.1), other })
}

impl Relation {
    /// The segments, the head last.
    fn parts(&self) -> impl Iterator<Item = SegmentView<'_>> {
        self.sealed.iter().map(CountedSegment::view).chain([self.head_view()])
    }

    /// Goes through the segments, the head last.
    #[inline]
    fn each<'a>(&'a self, mut visit: impl FnMut(SegmentView<'a>)) {
        self.sealed.iter().for_each(|part| visit(part.view()));
        visit(self.head_view());
    }

    /// Whether something holds for a segment.
    #[inline]
    fn any<'a>(&'a self, is_it: impl Fn(SegmentView<'a>) -> bool) -> bool {
        self.sealed.iter().any(|part| is_it(part.view())) || is_it(self.head_view())
    }

    #[inline]
    fn head_view(&self) -> SegmentView<'_> {
        SegmentView { segment: &self.head.segment, copies: &self.head.copies, start: self.head.start, is_head: true }
    }

    /// The part in which all rows lie, if there is only one: without snapshots, and in a snapshot of what was loaded before.
    #[inline]
    fn only_part(&self) -> Option<SegmentView<'_>> {
        match self.sealed.as_slice() {
            [] => Some(self.head_view()),
            [only] if self.head.segment.len() == 0 => Some(only.view()),
            _ => None,
        }
    }

    /// The part in which a row lies.
    #[inline]
    fn part_of(&self, row: u32) -> SegmentView<'_> {
        if row >= self.head.start {
            return self.head_view();
        }
        let after = self.sealed.partition_point(|part| part.start <= row);
        self.sealed[after - 1].view()
    }

    /// Whether each term of its rows is its own match key, so that comparing rows needs no dictionary.
    #[inline]
    pub(crate) fn is_without_keys(&self) -> bool {
        !self.has_keys
    }

    /// How many rows there are, holes counted.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.head.start + self.head.segment.len()
    }

    /// A copy of these rows: no change of one changes the other. Constant time.
    pub(crate) fn share(&mut self) -> Self {
        if self.head.segment.len() > 0 {
            let start = self.len();
            let head = std::mem::replace(&mut self.head, CountedSegment { start, ..CountedSegment::default() });
            let segment = Arc::new(head.segment);
            self.sealed.push(CountedSegment { segment, copies: head.copies, start: head.start });
        }
        self.shared()
    }

    /// The rows of a relation without a head, such as that of a snapshot, copied.
    pub(crate) fn shared(&self) -> Self {
        debug_assert!(self.head.segment.len() == 0, "rows are shared that may change");
        let share = |part: &CountedSegment<Arc<Segment>>| CountedSegment {
            segment: Arc::clone(&part.segment),
            copies: part.copies.clone(),
            start: part.start,
        };
        let head = CountedSegment { start: self.head.start, ..CountedSegment::default() };
        let sealed = self.sealed.iter().map(share).collect();
        Self { sealed, head, has_keys: self.has_keys, views: KeptViews::default() }
    }

    /// Which rows it has: as long as the stamp is the same, they are.
    pub(crate) fn stamp(&self) -> Stamp {
        self.views.stamp(self.len())
    }

    /// The trie of this shape that a join has kept beside it, if it is of rows with these stamps.
    pub(crate) fn trie(&self, shape: &[u32], stamps: &[Stamp]) -> Option<Arc<Trie>> {
        self.views.tries.get(shape, stamps)
    }

    /// Keeps a trie for later joins.
    pub(crate) fn keep_trie(&self, shape: &[u32], stamps: &[Stamp], trie: &Arc<Trie>) {
        self.views.tries.keep(shape.into(), stamps, Arc::clone(trie));
    }

    /// The adjacency of this shape, if one is kept.
    pub(crate) fn known_adjacency(&self, shape: &AdjacencyShape) -> Option<Arc<Adjacency>> {
        self.views.adjacencies.get(shape, &[self.stamp()])
    }

    /// The adjacency of this shape, made if it is not kept; `None` if it cannot be made.
    pub(crate) fn adjacency(
        &self,
        shape: &AdjacencyShape,
        terms: &Terms,
        should_stop: &dyn Fn() -> bool,
    ) -> Option<Arc<Adjacency>> {
        if let Some(known) = self.known_adjacency(shape) {
            return Some(known);
        }
        let made = Arc::new(Adjacency::new(self, shape, terms, should_stop)?);
        self.views.adjacencies.keep(shape.clone(), &[self.stamp()], Arc::clone(&made));
        Some(made)
    }

    /// Whether rows can be copied as they lie: in the order of insertion, each once, and of terms that match only themselves.
    pub(crate) fn is_uniform(&self) -> bool {
        self.is_plain() && self.is_ordered() && self.is_without_keys()
    }

    /// Whether each row has one copy and there are no holes.
    pub(crate) fn is_plain(&self) -> bool {
        !self.any(|part| !part.copies.are_plain())
    }

    /// Makes room for `rows` more rows of this length.
    pub(crate) fn reserve(&mut self, rows: usize, length: usize) {
        self.head.segment.reserve(rows, length);
    }

    /// From now on tables grow towards `more` more rows.
    pub(crate) fn expect(&mut self, more: usize) {
        self.head.segment.expect(more);
    }

    /// Makes room for `rows` more rows of this length, those of the set included.
    pub(crate) fn reserve_all(&mut self, rows: usize, length: usize, dictionary: &Terms) {
        if self.head.segment.len() > 0 || self.sealed.is_empty() {
            self.head.segment.reserve(rows, length);
            self.head.segment.reserve_set(rows, &self.head.copies, dictionary);
        }
    }

    /// Reads what adding these rows reads; see [`crate::Batch`].
    pub(crate) fn look_ahead<'a>(&self, rows: impl Iterator<Item = &'a [Term]> + Clone, dictionary: &Terms) {
        self.each(|part| part.segment.look_ahead(rows.clone().map(|row| hash_keys(row, dictionary))));
    }

    /// Adds copies of a row; `number` is used if the row is new. Returns whether it was.
    ///
    /// # Panics
    /// At 2^31 rows.
    pub(crate) fn add(&mut self, terms: &[Term], more: u32, number: u64, dictionary: &Terms) -> bool {
        let mut differs = false;
        let hash = hash_keys_noting(terms, dictionary, &mut differs);
        self.has_keys |= differs;
        if !self.sealed.is_empty() {
            for part in &mut self.sealed {
                if let Some(row) = part.segment.find(hash, terms, &part.copies) {
                    part.copies.add(row, more);
                    return false;
                }
            }
            self.begin_head(dictionary);
        }
        let CountedSegment { segment, copies, start } = &mut self.head;
        if let Some(row) = segment.find(hash, terms, copies) {
            copies.add(row, more);
            return false;
        }
        assert!(start.saturating_add(segment.len()) < ROWS_MAX, "a relation holds at most 2^31 rows");
        segment.push(terms, number, hash, copies, dictionary);
        if more != 1 {
            copies.set(segment.len() - 1, more);
        }
        true
    }

    /// Sees to it that a head which is still empty is the last of few segments.
    fn begin_head(&mut self, dictionary: &Terms) {
        if self.head.segment.len() > 0 {
            return;
        }
        self.views.begin_epoch();
        while let [.., older, younger] = self.sealed.as_slice()
            && older.segment.len() <= younger.segment.len().saturating_mul(2)
            && !older.segment.is_mapped()
        {
            let younger = self.sealed.pop().expect("there are two");
            let older = self.sealed.pop().expect("there are two");
            self.sealed.push(older.joined(&younger.view(), dictionary));
        }
        let last = self.sealed.pop().expect("something is sealed");
        match Arc::try_unwrap(last.segment) {
            Ok(segment) if segment.is_mapped() => {
                self.sealed.push(CountedSegment { segment: Arc::new(segment), ..last });
            }
            Ok(segment) => self.head = CountedSegment { segment, copies: last.copies, start: last.start },
            Err(segment) if segment.len() <= COPIED_MAX && is_whole(&segment, &last.copies) => {
                self.head = CountedSegment { segment: segment.copied(), copies: last.copies, start: last.start };
            }
            Err(segment) => self.sealed.push(CountedSegment { segment, ..last }),
        }
        self.count_starts();
    }

    fn count_starts(&mut self) {
        let mut start = 0;
        for part in &mut self.sealed {
            part.start = start;
            start += part.segment.len();
        }
        self.head.start = start;
    }

    /// Removes one copy of a row: of exactly this one, or else of the first with these match keys. Gives the row with
    /// its insertion number, if there was one.
    pub fn remove(&mut self, exact: Option<&[Term]>, keys: &[Term], dictionary: &Terms) -> Option<(Vec<Term>, u64)> {
        let mut matching = Vec::new();
        self.find_rows(keys, dictionary, &mut matching);
        let exact = matching.iter().copied().find(|&row| Some(self.found(row).terms) == exact);
        let row = exact.or(matching.first().copied())?;
        let found = self.found(row);
        let removed = (found.terms.to_vec(), found.number);
        self.remove_copy(row, dictionary);
        Some(removed)
    }

    fn remove_copy(&mut self, row: u32, dictionary: &Terms) {
        if let Some(row) = row.checked_sub(self.head.start) {
            let CountedSegment { segment, copies, .. } = &mut self.head;
            if copies.remove(row) == 0 {
                self.views.begin_epoch();
                segment.forget(row, copies, dictionary);
                if copies.holes() > segment.len() / 2 {
                    self.head = self.head_view().packed(dictionary);
                }
            }
            return;
        }
        let place = self.sealed.partition_point(|part| part.start <= row) - 1;
        let part = &mut self.sealed[place];
        if part.copies.remove(row - part.start) == 0 {
            self.views.begin_epoch();
        }
        // Holes of a segment in an image leave it with the next image.
        if part.copies.holes() > part.segment.len() / 2 && !part.segment.is_mapped() {
            let CountedSegment { segment, copies, start } = part.view().packed(dictionary);
            self.sealed[place] = CountedSegment { segment: Arc::new(segment), copies, start };
            self.count_starts();
        }
    }

    /// The numbers of the rows with exactly these match keys, in insertion order.
    pub(crate) fn find_rows(&self, keys: &[Term], dictionary: &Terms, found: &mut Vec<u32>) {
        let hash = hash_of(keys.iter().copied());
        if !dictionary.has_keys() {
            // Then there is one row with these keys, if any.
            return self.each(|part| found.extend(part.exact(hash, keys).map(|row| part.start + row)));
        }
        self.each(|part| part.with_keys(hash, keys, dictionary, found));
        self.order(found);
    }

    /// How many copies there are of rows with exactly these match keys.
    #[inline]
    pub(crate) fn count(&self, keys: &[Term], dictionary: &Terms) -> usize {
        self.count_hashed(hash_of(keys.iter().copied()), keys, dictionary)
    }

    /// How many copies there are of rows with exactly these match keys, given the hash of the keys.
    #[inline]
    pub(crate) fn count_hashed(&self, hash: u64, keys: &[Term], dictionary: &Terms) -> usize {
        if !dictionary.has_keys() {
            // Then there is one row with these keys, if any.
            let copies = |part: SegmentView<'_>| part.exact(hash, keys).map(|row| part.copies.get(row) as usize);
            let sealed = self.sealed.iter().find_map(|part| copies(part.view()));
            return sealed.or_else(|| copies(self.head_view())).unwrap_or(0);
        }
        let mut rows = Vec::new();
        self.each(|part| part.with_keys(hash, keys, dictionary, &mut rows));
        rows.into_iter().map(|row| self.row(row).1 as usize).sum()
    }

    /// The copies of exactly this row.
    pub(crate) fn copies(&self, terms: &[Term], dictionary: &Terms) -> u32 {
        let hash = hash_keys(terms, dictionary);
        let row = self.parts().find_map(|part| part.exact(hash, terms).map(|row| part.copies.get(row)));
        row.unwrap_or(0)
    }

    /// All rows, as they lie: in insertion order but for those that came back.
    pub fn all(&self) -> impl Iterator<Item = FoundRow<'_>> {
        self.parts().flat_map(|part| part.live().map(move |row| part.found(row)))
    }

    /// Puts rows into insertion order: only a row that came back can stand out of it.
    #[inline]
    fn order(&self, rows: &mut [u32]) {
        if rows.len() < 2 {
            return;
        }
        let number = |row: &u32| {
            let part = self.part_of(*row);
            part.segment.number(row - part.start)
        };
        if !rows.is_sorted_by_key(number) {
            rows.sort_by_key(number);
        }
    }

    /// Whether a row may have this key at a path: `false` is certain.
    pub(crate) fn has(&self, path: Path, key: Term, dictionary: &Terms) -> bool {
        if self.len() <= SCAN_MAX {
            return self.all().any(|row| key_at(path, row.terms, dictionary) == Some(key));
        }
        self.any(|part| part.listed(path, key, dictionary) > 0)
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.any(|part| part.segment.len() > part.copies.holes())
    }

    /// The terms of the row of this number, and how many copies of it there are.
    #[inline]
    pub(crate) fn row(&self, row: u32) -> (&[Term], u32) {
        let part = self.part_of(row);
        let row = row - part.start;
        (part.segment.terms(row), part.copies.get(row))
    }

    /// The row of this number.
    #[inline]
    pub(crate) fn found(&self, row: u32) -> FoundRow<'_> {
        let part = self.part_of(row);
        part.found(row - part.start)
    }
}

impl SegmentView<'_> {
    /// The rows without the holes; indexes are made anew when they are next used.
    fn packed(self, dictionary: &Terms) -> CountedSegment<Segment> {
        let mut packed = CountedSegment { start: self.start, ..CountedSegment::default() };
        packed.take(&self, dictionary);
        packed
    }
}

impl CountedSegment<Segment> {
    /// Adds the rows of another part after its own.
    fn take(&mut self, other: &SegmentView<'_>, dictionary: &Terms) {
        for found in other.live().map(|row| other.found(row)) {
            let row = self.segment.len();
            let hash = hash_keys(found.terms, dictionary);
            self.segment.push(found.terms, found.number, hash, &self.copies, dictionary);
            self.copies.set(row, found.copies);
        }
    }
}

impl CountedSegment<Arc<Segment>> {
    /// One part of two neighbours. If nobody shares the older one the rows of the younger are added to it.
    fn joined(self, younger: &SegmentView<'_>, dictionary: &Terms) -> Self {
        let Self { segment, copies, start } = self;
        let mut joined = match Arc::try_unwrap(segment) {
            Ok(segment) => CountedSegment { segment, copies, start },
            Err(segment) if is_whole(&segment, &copies) => CountedSegment { segment: segment.copied(), copies, start },
            Err(segment) => {
                SegmentView { segment: &segment, copies: &copies, start, is_head: false }.packed(dictionary)
            }
        };
        joined.take(younger, dictionary);
        CountedSegment { segment: Arc::new(joined.segment), copies: joined.copies, start }
    }
}
