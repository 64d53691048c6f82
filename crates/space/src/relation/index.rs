//! An index of a path: the rows of a segment by the match key found there, or by that and their heads.
//!
//! A key with one row costs that row's number. Of more rows, those that follow each other are a run, which costs nothing
//! each (all rows, where all have one head); others lie in a list, in the order of the segment. The keys themselves are
//! read from the rows. So a look-up reads the row that it finds, which the query does next in any case. Where the keys of a large or sealed
//! segment lie close together their places are a list by key, and nothing is hashed.

use super::copies::Copies;
use super::direct::Direct;
use super::mapped::{MappedIndex, MappedList};
use super::{HEAD, Path, TermReader};
use crate::prefetch::{LARGE_TABLE, read_slots};
use crate::term::{Term, Terms};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::Range;

/// Why nothing is put into an index of an image.
const SEALED: &str = "a segment in an image is sealed, and its indexes are read as they lie";

/// A place that is a list and no row.
const LIST: u32 = 1 << 31;

/// From this many rows on places are listed by key though more rows will come: a small table is in the cache in any case.
const LARGE_HEAD: usize = 1 << 12;

/// Rows by key.
#[derive(Clone, Default)]
pub(super) struct Index {
    /// A row, or a list, of each key.
    places: KeyTable,
    lists: Vec<List>,
    free: Vec<u32>,
}

/// How the place of a key is found.
#[derive(Clone)]
enum KeyTable {
    Hashed(HashTable<u32>),
    /// Of a segment that was sealed or large when the index was made, and whose keys lie close together.
    Direct(Direct),
    /// Of a segment in an image, where the lists lie as well.
    Mapped(Box<MappedIndex>),
}

impl Default for KeyTable {
    fn default() -> Self {
        Self::Hashed(HashTable::new())
    }
}

/// Two rows or more, or none while the list is free.
#[derive(Clone)]
struct List {
    rows: ListedRows,
    /// How many of them became holes since they were listed.
    holes: u32,
}

#[derive(Clone)]
enum ListedRows {
    Run(Range<u32>),
    Each(Vec<u32>),
}

/// The rows of a key, in the order of the segment.
pub(crate) enum RowList<'a> {
    Run(Range<u32>),
    Each(&'a [u32]),
}

impl RowList<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Run(rows) => rows.len(),
            Self::Each(rows) => rows.len(),
        }
    }

    /// Up to `count` of them, as far from each other as may be.
    pub(super) fn sample(&self, count: usize) -> impl Iterator<Item = u32> {
        (0..self.len()).step_by((self.len() / count).max(1)).map(|place| self.at(place))
    }

    /// The row at a place of it.
    pub(super) fn at(&self, place: usize) -> u32 {
        match self {
            Self::Run(rows) => rows.start + place as u32,
            Self::Each(rows) => rows[place],
        }
    }

    /// How many of them are not holes.
    pub(super) fn count_live(&self, copies: &Copies) -> usize {
        let is_live = |row: &u32| copies.get(*row) > 0;
        match self {
            Self::Run(rows) => rows.clone().filter(is_live).count(),
            Self::Each(rows) => rows.iter().copied().filter(is_live).count(),
        }
    }

    /// Adds those that are wanted, counted from a start.
    #[inline]
    pub(super) fn add_to(self, found: &mut Vec<u32>, start: u32, copies: &Copies) {
        let is_live = |row: &u32| copies.get(*row) > 0;
        match self {
            Self::Run(rows) if copies.are_plain() => found.extend(rows.start + start..rows.end + start),
            Self::Run(rows) => found.extend(rows.filter(is_live).map(|row| start + row)),
            Self::Each(rows) if start == 0 && copies.are_plain() => found.extend_from_slice(rows),
            Self::Each(rows) => found.extend(rows.iter().copied().filter(is_live).map(|row| start + row)),
        }
    }
}

impl List {
    fn of(rows: ListedRows) -> Self {
        Self { rows, holes: 0 }
    }

    fn first(&self) -> u32 {
        match &self.rows {
            ListedRows::Run(rows) => rows.start,
            ListedRows::Each(rows) => rows[0],
        }
    }

    fn rows(&self) -> RowList<'_> {
        match &self.rows {
            ListedRows::Run(rows) => RowList::Run(rows.clone()),
            ListedRows::Each(rows) => RowList::Each(rows),
        }
    }

    fn push(&mut self, row: u32) {
        match &mut self.rows {
            ListedRows::Run(rows) if row == rows.end => rows.end += 1,
            ListedRows::Run(rows) => {
                let mut each = Vec::with_capacity((rows.len() + 1).max(4));
                each.extend(rows.clone());
                each.push(row);
                self.rows = ListedRows::Each(each);
            }
            ListedRows::Each(rows) => rows.push(row),
        }
    }
}

/// What an index lists rows by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexedBy {
    /// What stands at a path.
    Path(Path),
    /// The head and what stands at a path, for heads that share their values with others.
    HeadAnd(Path),
}

/// What an index knows a row by: a match key, or two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Key(pub(super) u64);

impl From<Term> for Key {
    fn from(key: Term) -> Self {
        Self(u64::from(key.number()))
    }
}

impl Key {
    /// A head and what stands after it.
    pub(super) fn pair(head: Term, key: Term) -> Self {
        Self(u64::from(head.number()) << 32 | u64::from(key.number()))
    }
}

/// What reads the key of a row at the place of an index.
pub(super) struct KeyReader<'a> {
    pub(super) rows: TermReader<'a>,
    pub(super) place: IndexedBy,
    pub(super) dictionary: &'a Terms,
}

impl KeyReader<'_> {
    #[inline]
    pub(super) fn at(&self, row: u32) -> Option<Key> {
        let terms = self.rows.terms(row);
        match self.place {
            IndexedBy::Path(path) => key_at(path, terms, self.dictionary).map(Key::from),
            IndexedBy::HeadAnd(path) => {
                Some(Key::pair(key_at(HEAD, terms, self.dictionary)?, key_at(path, terms, self.dictionary)?))
            }
        }
    }
}

/// The match key at a path of a row, if the row reaches that far.
#[inline]
pub(super) fn key_at((column, child): Path, terms: &[Term], dictionary: &Terms) -> Option<Term> {
    let term = *terms.get(column as usize)?;
    match child {
        None => Some(dictionary.key(term)),
        Some(child) => dictionary.children(term)?.get(child as usize).map(|&term| dictionary.key(term)),
    }
}

pub(super) fn hash(key: Key) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write_u64(key.0);
    hasher.finish()
}

impl Index {
    /// An index of rows of a segment, which is sealed if it will get no more of them.
    pub(super) fn of(
        rows: impl Iterator<Item = u32> + Clone,
        count: usize,
        is_sealed: bool,
        keys: &KeyReader<'_>,
    ) -> Self {
        let may_be_direct = matches!(keys.place, IndexedBy::Path(_)) && (is_sealed || count >= LARGE_HEAD);
        let direct = if may_be_direct { Direct::spanning(rows.clone(), count, keys) } else { None };
        let mut index = Self { places: direct.map_or_else(KeyTable::default, KeyTable::Direct), ..Self::default() };
        rows.for_each(|row| index.insert(row, keys));
        if let KeyTable::Direct(direct) = &index.places
            && direct.is_sparse()
        {
            index.places = hashed(direct);
        }
        index
    }

    /// An index that lies in an image.
    pub(super) fn of_image(mapped: MappedIndex) -> Self {
        Self { places: KeyTable::Mapped(Box::new(mapped)), ..Self::default() }
    }

    /// The rows with this key.
    #[inline]
    pub(super) fn get(&self, key: Key, keys: &KeyReader<'_>) -> RowList<'_> {
        match &self.places {
            // Where a tag and its slot are is known from the hash: both are waited for at once.
            KeyTable::Hashed(table) if table.len() >= LARGE_TABLE => read_slots(table, std::iter::once(hash(key))),
            KeyTable::Mapped(mapped) => return mapped_rows(mapped, key, keys),
            _ => {}
        }
        match self.place(key, keys) {
            None => RowList::Each(&[]),
            Some(place) if *place & LIST == 0 => RowList::Each(std::slice::from_ref(place)),
            Some(place) => self.lists[(*place & !LIST) as usize].rows(),
        }
    }

    #[inline]
    fn place(&self, key: Key, keys: &KeyReader<'_>) -> Option<&u32> {
        match &self.places {
            KeyTable::Direct(direct) => direct.get(key),
            KeyTable::Hashed(table) => table.find(hash(key), |&place| self.key_of(place, keys) == Some(key)),
            KeyTable::Mapped(_) => unreachable!("{SEALED}"),
        }
    }

    /// The key that a place is for; every list has a row.
    #[inline]
    fn key_of(&self, place: u32, keys: &KeyReader<'_>) -> Option<Key> {
        keys.at(first_of(place, &self.lists))
    }

    /// Adds a row, after those that are there.
    pub(super) fn insert(&mut self, row: u32, keys: &KeyReader<'_>) {
        let Some(key) = keys.at(row) else { return };
        let Self { places, lists, free } = self;
        if let KeyTable::Direct(direct) = places {
            if direct.change(key, |place| Some(with_row(place, row, lists, free))).is_some() {
                return;
            }
            *places = hashed(direct);
        }
        let KeyTable::Hashed(table) = places else { return };
        let hash_of = |&place: &u32| keys.at(first_of(place, lists)).map_or(0, hash);
        let is_it = |&place: &u32| keys.at(first_of(place, lists)) == Some(key);
        match table.entry(hash(key), is_it, hash_of) {
            Entry::Vacant(vacant) => drop(vacant.insert(row)),
            Entry::Occupied(mut found) => *found.get_mut() = with_row(Some(*found.get()), row, lists, free),
        }
    }

    /// Notes that a row became a hole. A list leaves its holes when they are more than half of it, so a query never walks over more
    /// holes than rows, and a removal pays for that once.
    pub(super) fn forget(&mut self, row: u32, keys: &KeyReader<'_>, copies: &Copies) {
        let Some((key, &place)) = keys.at(row).and_then(|key| Some((key, self.place(key, keys)?))) else { return };
        if place & LIST == 0 {
            return self.retain(key, keys, |listed| listed != row);
        }
        let list = &mut self.lists[(place & !LIST) as usize];
        list.holes += 1;
        if list.holes as usize * 2 > list.rows().len() {
            self.retain(key, keys, |listed| copies.get(listed) > 0);
        }
    }

    /// Keeps only the rows of a key that are wanted.
    fn retain(&mut self, key: Key, keys: &KeyReader<'_>, is_wanted: impl Fn(u32) -> bool) {
        let Some(&place) = self.place(key, keys) else { return };
        let left: Vec<u32> = match self.get(key, keys) {
            RowList::Run(rows) => rows.filter(|&row| is_wanted(row)).collect(),
            RowList::Each(rows) => rows.iter().copied().filter(|&row| is_wanted(row)).collect(),
        };
        if place & LIST != 0 && !left.is_empty() {
            self.lists[(place & !LIST) as usize] = List::of(ListedRows::Each(left));
            return;
        }
        if !left.is_empty() {
            return;
        }
        match &mut self.places {
            KeyTable::Direct(direct) => direct.change(key, |_| None).unwrap_or_default(),
            KeyTable::Mapped(_) => unreachable!("{SEALED}"),
            KeyTable::Hashed(table) => {
                if let Ok(entry) = table.find_entry(hash(key), |&listed| listed == place) {
                    entry.remove();
                }
            }
        }
        if place & LIST != 0 {
            self.lists[(place & !LIST) as usize] = List::of(ListedRows::Run(0..0));
            self.free.push(place & !LIST);
        }
    }
}

/// The rows with a key, by an index in an image.
fn mapped_rows<'a>(mapped: &'a MappedIndex, key: Key, keys: &KeyReader<'_>) -> RowList<'a> {
    match mapped.get(key.0, || hash(key), |row| keys.at(row).map(|key| key.0)) {
        MappedList::Run(rows) => RowList::Run(rows),
        MappedList::Each(rows) => RowList::Each(rows),
    }
}

/// The places of a direct list, put into a table that has room for all from the start.
fn hashed(direct: &Direct) -> KeyTable {
    let mut table = HashTable::with_capacity(direct.all().count());
    for (key, place) in direct.all() {
        table.insert_unique(hash(key), place, |_| unreachable!("there is room for all"));
    }
    KeyTable::Hashed(table)
}

/// The place of a key after one more row of it.
fn with_row(place: Option<u32>, row: u32, lists: &mut Vec<List>, free: &mut Vec<u32>) -> u32 {
    match place {
        None => row,
        Some(place) if place & LIST != 0 => {
            lists[(place & !LIST) as usize].push(row);
            place
        }
        Some(only) => {
            let mut list = List::of(ListedRows::Run(only..only + 1));
            list.push(row);
            LIST | free_list(list, lists, free)
        }
    }
}

/// The first row of a place.
#[inline]
fn first_of(place: u32, lists: &[List]) -> u32 {
    if place & LIST == 0 { place } else { lists[(place & !LIST) as usize].first() }
}

/// Puts a list where there is room for it.
fn free_list(list: List, lists: &mut Vec<List>, free: &mut Vec<u32>) -> u32 {
    match free.pop() {
        Some(place) => {
            lists[place as usize] = list;
            place
        }
        None => {
            lists.push(list);
            (lists.len() - 1) as u32
        }
    }
}
