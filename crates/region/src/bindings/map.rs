//! Maps: values by key, in the order in which keys were inserted.
//!
//! 1. The *table* of a map has its entries, key and value, one after the other as they were inserted.
//! 2. The *index* is open addressing over twice as many slots, a power of two. A slot is 0, or the number of an entry above
//!    0 and, in its upper bits, some of the key's hash, so that a slot of another key is rarely followed.
//! 3. A removed entry stays where it is, as a reference of the table to itself in place of the key, until there is no room:
//!    then the entries close up, or move to a table of twice the length. Slots are emptied at once, by moving back what lies
//!    after them.
//!
//! Keys are the same if they are the same reference, whatever its mark; numbers if kind and bits are equal; strings and
//! buffers if their bytes and their kind are. So most hashes come from addresses, which a copy changes: it makes the index
//! anew. Addresses decide where a search begins, and never in which order entries are seen.
//!
//! Entries in a row beside an index of small numbers are the dictionaries of R. Hettinger (*More compact dictionaries with
//! faster iteration*, 2012).

use super::bytes::hash_slice;
use super::object::{BYTES, MAP, Object, cells_with_prefix};
use crate::heap::{Heap, ZERO, cells_of};
use crate::layout::CHUNK_BYTES;
use crate::limit::{ENTRIES_MAX, Full, Limit};
use crate::reference::{Ref, tag};
use crate::region::Region;
use crate::words::Words;

/// Words of a map.
const COUNT: usize = 1;
/// The last word that a scan looks at: the index is made anew.
pub(crate) const TABLE: usize = 2;
const INDEX: usize = 3;
const BITS: usize = 4;
const USED: usize = 5;
/// How many words a map has beside its header.
pub(crate) const WORDS: usize = USED;
/// Words of a table, the first entry among them.
const KIND: usize = 1;
const OWNER: usize = 2;
const ENTRIES: usize = 3;
/// Tells this word of a table from the count of a map.
const IS_TABLE: u32 = 1 << 28;
/// The slots of the smallest map, as a power of two: twice the entries.
const BITS_MIN: u32 = 3;
/// The slots of the largest one.
const BITS_MAX: u32 = ENTRIES_MAX.trailing_zeros() + 1;
/// Where the bits of the hash begin in a slot.
const PRINT_SHIFT: u32 = 26;
const POSITION: u32 = (1 << PRINT_SHIFT) - 1;
/// An odd number near 2^64 divided by the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where a search ended: at the entry, or at the empty slot where it would be, with what that shows of the hash.
enum SearchResult {
    Entry { position: usize, slot: usize },
    Slot { slot: usize, print: u32 },
}

/// Where the words of a map lie.
#[derive(Clone, Copy)]
struct Layout {
    /// The first key.
    entries: usize,
    /// The first slot.
    index: usize,
    bits: u32,
}

impl Layout {
    fn slots(self) -> usize {
        1 << self.bits
    }

    fn room(self) -> usize {
        self.slots() / 2
    }
}

/// Maps.
/// Reading maps, of a heap that is frozen as well, and what a copy of any kind asks for.
impl<W: Words> Heap<W> {
    /// How many entries a map has.
    #[inline]
    pub fn map_length(&self, map: Ref) -> usize {
        debug_assert!(self.is_object(map, MAP), "not a map");
        self.word(map, COUNT).payload() as usize
    }

    /// The value of a key. Constant time, as long as few hashes are alike.
    #[inline(always)]
    pub fn map_get(&self, map: Ref, key: Ref) -> Option<Ref> {
        let layout = self.layout(map);
        match self.find(layout, key) {
            SearchResult::Entry { position, .. } => Some(self.words[layout.entries + position * 2 + 1]),
            SearchResult::Slot { .. } => None,
        }
    }

    /// The value of a key that is this string, without making it.
    pub fn map_get_string(&self, map: Ref, key: &str) -> Option<Ref> {
        let layout = self.layout(map);
        let is_key =
            |stored: Ref| self.is_bytes(stored) && self.object(stored) == Object::String && self.bytes(stored) == *key;
        match self.search(layout, hash_slice(key.as_bytes(), mix), is_key) {
            SearchResult::Entry { position, .. } => Some(self.words[layout.entries + position * 2 + 1]),
            SearchResult::Slot { .. } => None,
        }
    }

    /// The keys and values, in the order in which the keys were inserted.
    pub fn map_entries(&self, map: Ref) -> Entries<'_> {
        let first = self.layout(map).entries;
        let words = &self.words[first..first + self.used(map) * 2];
        Entries { words, removed: self.word(map, TABLE), left: self.map_length(map) }
    }

    #[inline(always)]
    fn layout(&self, map: Ref) -> Layout {
        debug_assert!(self.is_object(map, MAP), "not a map");
        let first = map.payload() as usize * 2;
        let words = &self.words[first..first + BITS + 1];
        Layout {
            entries: words[TABLE].payload() as usize * 2 + ENTRIES,
            index: (words[INDEX].payload() >> 1) as usize * 2,
            bits: words[BITS].payload(),
        }
    }

    /// The entries that were written, removed ones included.
    #[inline]
    fn used(&self, map: Ref) -> usize {
        self.word(map, USED).payload() as usize
    }

    #[inline]
    fn set_used(&mut self, map: Ref, used: usize) {
        self.set_word(map, USED, Ref::new(0, used as u32));
    }

    fn hash(&self, key: Ref) -> u64 {
        if key.is_number() {
            mix(u64::from(key.payload() & 1), self.number_bits(key))
        } else if self.is_object(key, BYTES) {
            self.bytes(key).hash(mix)
        } else {
            hash_word(key.unmarked())
        }
    }

    /// Looks for a key: at once if the reference is all there is to it.
    #[inline(always)]
    fn find(&self, layout: Layout, key: Ref) -> SearchResult {
        if key.is_number() || key.is_expression() {
            return self.find_content(layout, key);
        }
        self.search(layout, hash_word(key), |stored| stored == key)
    }

    #[inline(never)]
    fn find_content(&self, layout: Layout, key: Ref) -> SearchResult {
        self.search(layout, self.hash(key), |stored| stored == key || self.is_same(stored, key))
    }

    /// At most half of the slots are in use, so a search ends at an empty one, if not at the key.
    #[inline(always)]
    fn search(&self, layout: Layout, hash: u64, is_key: impl Fn(Ref) -> bool) -> SearchResult {
        let index = &self.words[layout.index..layout.index + layout.slots()];
        let entries = &self.words[layout.entries..layout.entries + layout.room() * 2];
        let (home, mask, print) = (home(hash, layout), index.len() - 1, print(hash));
        for step in 0..index.len() {
            let slot = (home + step) & mask;
            let word = index[slot].bits();
            if word == 0 {
                return SearchResult::Slot { slot, print };
            }
            if word & !POSITION == print {
                let position = (word & POSITION) as usize - 1;
                if is_key(entries[position * 2]) {
                    return SearchResult::Entry { position, slot };
                }
            }
        }
        index_is_damaged()
    }

    /// Whether two different references are the same key.
    fn is_same(&self, one: Ref, other: Ref) -> bool {
        if one.is_number() && other.is_number() {
            return one.payload() & 1 == other.payload() & 1 && self.number_bits(one) == self.number_bits(other);
        }
        let by_content = self.is_bytes(one) && self.is_bytes(other) && self.object(one) == self.object(other);
        one.unmarked() == other.unmarked() || by_content && self.bytes(one) == self.bytes(other)
    }

    /// Overwrites an entry by the sign of what is removed, and gives its value.
    fn erase(&mut self, map: Ref, layout: Layout, position: usize) -> Ref {
        let table = self.word(map, TABLE);
        let at = layout.entries + position * 2;
        let entry = &mut self.words[at..at + 2];
        entry[0] = table;
        std::mem::replace(&mut entry[1], ZERO)
    }

    /// Fills the index from the table. Of entries whose keys have become the same, the first one stays.
    pub(crate) fn reindex(&mut self, map: Ref) {
        let (layout, table) = (self.layout(map), self.word(map, TABLE));
        self.words[layout.index..layout.index + layout.slots()].fill(ZERO);
        for position in 0..self.used(map) {
            let key = self.words[layout.entries + position * 2];
            if key == table {
                continue;
            }
            match self.find(layout, key) {
                SearchResult::Slot { slot, print } => self.words[layout.index + slot] = slot_of(position, print),
                SearchResult::Entry { .. } => {
                    self.erase(map, layout, position);
                    self.set_word(map, COUNT, Ref::new(MAP, self.map_length(map) as u32 - 1));
                }
            }
        }
    }

    /// The map that a table was made for; none if this is not a table.
    #[inline]
    pub(crate) fn owner_of_table(&self, object: Ref) -> Option<Ref> {
        let kind = self.word(object, KIND);
        (kind.tag() == MAP && kind.payload() & IS_TABLE != 0).then(|| self.word(object, OWNER))
    }

    /// Whether the parts of a map lie within the heap and belong together: see [`Heap::is_whole`].
    pub(crate) fn is_whole_map(&self, map: Ref) -> bool {
        let [count, table, index, bits, used] = [COUNT, TABLE, INDEX, BITS, USED].map(|word| self.word(map, word));
        let Some(&[kind, owner, ref entries @ ..]) = self.table_words(table) else { return false };
        (BITS_MIN..=BITS_MAX).contains(&bits.payload())
            && entries.len() == 1 << bits.payload()
            && kind == Ref::new(MAP, IS_TABLE)
            && owner == map.unmarked()
            && self.has_run(index, entries.len())
            && count.payload() <= used.payload()
            && used.payload() as usize <= entries.len() / 2
    }

    /// Whether a map has this table, and not one that it has moved to since.
    pub(crate) fn is_table_of(&self, table: Ref, map: Ref) -> bool {
        self.word(map, TABLE) == table
    }
}

impl Heap {
    /// Makes an empty map.
    pub fn map(&mut self, region: &mut Region) -> Result<Ref, Full> {
        self.reserve_map(region, 0)
    }

    /// Makes an empty map that has room for `room` entries.
    ///
    /// Takes five cells and two for each entry, rounded up to a power of two and at least four, in one allocation of each
    /// lane. Maps of more than [`ENTRIES_MAX`](crate::ENTRIES_MAX) entries are refused.
    pub fn reserve_map(&mut self, region: &mut Region, room: usize) -> Result<Ref, Full> {
        let bits = self.bits_for(room)?;
        let (own, length) = (cells_of(USED), table_length(bits));
        let (index, at) = self.take_both(region, index_cells(bits), own + cells_with_prefix(length))?;
        let map = Ref::new(tag::EXPRESSION, at);
        let table = self.write_table(at + own as u32, bits, index, map);
        let words = [Ref::new(MAP, 0), table, Ref::new(tag::NUMBER, index << 1), Ref::new(0, bits), Ref::new(0, 0)];
        Ok(self.write_object(at, words))
    }

    /// Makes a map of these keys and values. Of equal keys the first one is kept, with the last value.
    ///
    /// There is room for all of them from the beginning, so limits are looked at once.
    pub fn map_of(&mut self, region: &mut Region, entries: &[(Ref, Ref)]) -> Result<Ref, Full> {
        let map = self.reserve_map(region, entries.len())?;
        for &(key, value) in entries {
            self.map_insert(region, map, key, value)?;
        }
        Ok(map)
    }

    /// The slots for `room` entries, as a power of two.
    fn bits_for(&mut self, room: usize) -> Result<u32, Full> {
        if room > ENTRIES_MAX {
            let chunks = (cells_with_prefix(ENTRIES_MAX * 2) * 8).div_ceil(CHUNK_BYTES);
            return Err(self.chunks.refuse(Limit::Entries, chunks as u32));
        }
        Ok((room.next_power_of_two().trailing_zeros() + 1).max(BITS_MIN))
    }

    /// Writes an empty table from a cell on, and empties the index.
    fn write_table(&mut self, at: u32, bits: u32, index: u32, map: Ref) -> Ref {
        let length = table_length(bits);
        self.maps_made = true;
        let table = self.write_prefix(at, length);
        let first = table.payload() as usize * 2;
        let header = self.words[first];
        let words = &mut self.words[first..first + 1 + length];
        words[0] = Ref::new(tag::IMMEDIATE_2, header.payload());
        words[KIND] = Ref::new(MAP, IS_TABLE);
        words[OWNER] = map;
        words[ENTRIES..].fill(ZERO);
        let index = index as usize * 2;
        self.words[index..index + (1 << bits)].fill(ZERO);
        table
    }

    /// Gives a key a value, and gives the value it had. If there is no room, takes more in the region that the map lies in;
    /// after an error the map is as it was.
    ///
    /// Entries that have moved since a mark are lost with what is rewound: an owner of marks reserves the room before.
    #[inline]
    pub fn map_insert(&mut self, region: &mut Region, map: Ref, key: Ref, value: Ref) -> Result<Option<Ref>, Full> {
        let layout = self.layout(map);
        let (slot, print) = match self.find(layout, key) {
            SearchResult::Entry { position, .. } => {
                let word = &mut self.words[layout.entries + position * 2 + 1];
                return Ok(Some(std::mem::replace(word, value)));
            }
            SearchResult::Slot { slot, print } => (slot, print),
        };
        let used = self.used(map);
        if used == layout.room() {
            return self.insert_with_more_room(region, map, key, value);
        }
        self.write_entry(map, layout, [key, value]);
        self.words[layout.index + slot] = slot_of(used, print);
        Ok(None)
    }

    #[inline]
    fn write_entry(&mut self, map: Ref, layout: Layout, entry: [Ref; 2]) {
        let used = self.used(map);
        let at = layout.entries + used * 2;
        self.words[at..at + 2].copy_from_slice(&entry);
        let count = self.map_length(map) as u32;
        self.set_word(map, COUNT, Ref::new(MAP, count + 1));
        self.set_used(map, used + 1);
    }

    #[cold]
    fn insert_with_more_room(
        &mut self,
        region: &mut Region,
        map: Ref,
        key: Ref,
        value: Ref,
    ) -> Result<Option<Ref>, Full> {
        self.make_room(region, map)?;
        self.map_insert(region, map, key, value)
    }

    /// Removes a key, and gives the value it had. The order of the others stays.
    pub fn map_remove(&mut self, map: Ref, key: Ref) -> Option<Ref> {
        let layout = self.layout(map);
        let SearchResult::Entry { position, slot } = self.find(layout, key) else { return None };
        self.empty_slot(layout, slot);
        self.set_word(map, COUNT, Ref::new(MAP, self.map_length(map) as u32 - 1));
        Some(self.erase(map, layout, position))
    }

    /// Empties a slot, and moves back what would no longer be found over the gap.
    fn empty_slot(&mut self, layout: Layout, removed: usize) {
        let (mut gap, mask) = (removed, layout.slots() - 1);
        for step in 1..=mask {
            let slot = (removed + step) & mask;
            let word = self.words[layout.index + slot];
            if word == ZERO {
                self.words[layout.index + gap] = ZERO;
                return;
            }
            let position = (word.bits() & POSITION) as usize - 1;
            let home = home(self.hash(self.words[layout.entries + position * 2]), layout);
            // It may move if its search begins no later than at the gap.
            if slot.wrapping_sub(home) & mask >= slot.wrapping_sub(gap) & mask {
                self.words[layout.index + gap] = word;
                gap = slot;
            }
        }
        index_is_damaged()
    }

    /// Makes room for entries: among those there are if half of them were removed, else in a table of twice the length.
    fn make_room(&mut self, region: &mut Region, map: Ref) -> Result<(), Full> {
        let (layout, count) = (self.layout(map), self.map_length(map));
        if count > layout.room() / 2 {
            self.grow_map(region, map, count * 2)?;
        } else {
            self.close_up(map, self.word(map, TABLE), layout);
        }
        self.reindex(map);
        Ok(())
    }

    /// Moves the entries to another table.
    fn grow_map(&mut self, region: &mut Region, map: Ref, room: usize) -> Result<(), Full> {
        debug_assert!(self.holds(region, map), "a map grows in its own region");
        let bits = self.bits_for(room.min(ENTRIES_MAX).max(self.map_length(map) + 1))?;
        let cells = cells_with_prefix(table_length(bits));
        let (index, at) = self.take_both(region, index_cells(bits), cells)?;
        let (from, removed) = (self.layout(map), self.word(map, TABLE));
        let used = self.used(map);
        let table = self.write_table(at, bits, index, map.unmarked());
        let to = table.payload() as usize * 2 + ENTRIES;
        self.words.copy_within(from.entries..from.entries + used * 2, to);
        self.set_word(map, TABLE, table);
        self.set_word(map, INDEX, Ref::new(tag::NUMBER, index << 1));
        self.set_word(map, BITS, Ref::new(0, bits));
        self.close_up(map, removed, self.layout(map));
        Ok(())
    }

    /// Moves entries to where removed ones were, in their order.
    fn close_up(&mut self, map: Ref, removed: Ref, layout: Layout) {
        let used = self.used(map);
        let entries = &mut self.words[layout.entries..layout.entries + used * 2];
        let mut kept = 0;
        for at in (0..entries.len()).step_by(2) {
            if entries[at] != removed {
                entries.copy_within(at..at + 2, kept);
                kept += 2;
            }
        }
        entries[kept..].fill(ZERO);
        self.set_used(map, kept / 2);
    }
}

/// What copies ask for.
impl Heap {
    /// Gives the copy of a map an index of its own, which is yet to be filled.
    pub(crate) fn take_index(&mut self, region: &mut Region, map: Ref) -> Result<(), Full> {
        let index = self.take_run(region, index_cells(self.layout(map).bits))?;
        self.set_word(map, INDEX, Ref::new(tag::NUMBER, index << 1));
        self.maps_made = true;
        Ok(())
    }
}

/// Ends a search that finds no empty slot: something wrote to the index after it had given the index back.
#[cold]
#[inline(never)]
fn index_is_damaged() -> ! {
    panic!("the index of a map has no empty slot: the map was used after its region had given it back")
}

/// The slot where a search begins: the uppermost bits of the hash.
#[inline]
fn home(hash: u64, layout: Layout) -> usize {
    (hash >> (u64::BITS - layout.bits)) as usize
}

#[inline]
fn slot_of(position: usize, print: u32) -> Ref {
    Ref::from_bits((position as u32 + 1) | print)
}

/// The bits of a hash that a slot shows: none of those that say where it is.
#[inline]
fn print(hash: u64) -> u32 {
    (hash >> 6) as u32 & !POSITION
}

#[inline]
fn hash_word(key: Ref) -> u64 {
    u64::from(key.bits()).wrapping_mul(MULTIPLIER)
}

/// Whether two references are the same key.
pub(super) fn is_same_key<W: Words>(heap: &Heap<W>, one: Ref, other: Ref) -> bool {
    one == other || heap.is_same(one, other)
}

#[inline]
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash.rotate_left(5) ^ word ^ MULTIPLIER) * u128::from(MULTIPLIER);
    (product >> 64) as u64 ^ product as u64
}

/// The children of a table for `2^bits` slots: two words beside the entries.
fn table_length(bits: u32) -> usize {
    (1 << bits) + ENTRIES - 1
}

fn index_cells(bits: u32) -> usize {
    1 << (bits - 1)
}

/// The keys and values of a map, see [`Heap::map_entries`].
#[derive(Clone, Debug)]
pub struct Entries<'h> {
    words: &'h [Ref],
    /// Stands in place of keys that were removed.
    removed: Ref,
    left: usize,
}

impl Iterator for Entries<'_> {
    type Item = (Ref, Ref);

    #[inline]
    fn next(&mut self) -> Option<(Ref, Ref)> {
        while let [key, value, rest @ ..] = self.words {
            self.words = rest;
            if *key != self.removed {
                self.left -= 1;
                return Some((*key, *value));
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Entries<'_> {}
