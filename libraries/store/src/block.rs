//! A block: neighbouring records of a run, as they lie in its pages.
//!
//! ```text
//! +0  count u16, flags u8, zero u8
//! +4  prefix length u32, or the length of every value
//! +8  [keys]          end to end; here if all keys of the run have one length
//!     [prefix]        what all keys begin with; only if keys may have any length
//!     [key ends]      u16 or u32 each, from the beginning of the keys; likewise
//!     [value ends]    u16 or u32 each, from the beginning of the values; not if all values have one length
//!     [kinds]         a byte each, 1 for a deletion; only if there is one in the block
//!     [keys]          without the prefix, end to end; here if keys may have any length
//!     values          end to end
//! ```
//!
//! Records are found by binary search over the keys; there is no walk from restart points, since the prefix that all share is
//! stored once and what is left is addressed by its end. Keys of one length lie first, and values of one length have no ends, so that
//! a lookup waits for memory as seldom as possible: a processor that foresees how many keys there are loads them together with the
//! header, and from a key's number follows where its value is.
//!
//! Version 1 had the keys before the values in any case, and an end for each value; flags say what a block has. Nothing here panics, whatever the bytes are: a checksum does not keep a
//! stranger from making a file.

use crate::pack::Compression;
use crate::page::PAGE_BYTES;
use crate::shape::KeyShape;
use std::cmp::Ordering;

/// How long a block of large records may get, or one that is compressed, in bytes.
const LARGE_BLOCK_BYTES: usize = 4 * PAGE_BYTES;
/// From what length on the first record of a block counts as large.
const LARGE_RECORD_BYTES: usize = PAGE_BYTES / 4;
const HEADER_BYTES: usize = 8;
/// How many keys are compared without a search.
const COUNTED_MAX: usize = 48;
/// Ends have four bytes each.
const WIDE: u8 = 1;
/// There are kinds.
const KINDS: u8 = 2;
/// Keys lie behind the header.
const KEYS_FIRST: u8 = 8;
/// All values have the length that the header says, and no ends.
const EVEN: u8 = 16;
const DELETION: u8 = 1;

/// How many bytes two keys have in common at their beginnings.
pub(crate) fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Collects the records of a block.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    shape: KeyShape,
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    values: Vec<u8>,
    value_ends: Vec<usize>,
    deletions: Vec<u8>,
    has_deletion: bool,
    /// Whether all values have the length of the first one.
    is_even: bool,
    prefix_bytes: usize,
    /// How long the block may get if its first record is small.
    small_bytes: usize,
    target_bytes: usize,
}

impl BlockBuilder {
    pub(crate) fn new(shape: KeyShape, compression: Compression) -> Self {
        let small_bytes = if compression == Compression::None { PAGE_BYTES } else { LARGE_BLOCK_BYTES };
        Self {
            shape,
            keys: Vec::new(),
            key_ends: Vec::new(),
            values: Vec::new(),
            value_ends: Vec::new(),
            deletions: Vec::new(),
            has_deletion: false,
            is_even: true,
            prefix_bytes: 0,
            small_bytes,
            target_bytes: small_bytes,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.key_ends.is_empty()
    }

    fn key(&self, index: usize) -> &[u8] {
        let from = index.checked_sub(1).map_or(0, |before| self.key_ends[before]);
        &self.keys[from..self.key_ends[index]]
    }

    pub(crate) fn last_key(&self) -> &[u8] {
        self.key_ends.len().checked_sub(1).map_or(&[], |last| self.key(last))
    }

    /// What all keys share, and this one with them.
    fn prefix_with(&self, key: &[u8]) -> usize {
        match self.shape {
            KeyShape::Fixed(_) => 0,
            KeyShape::Bytes if self.is_empty() => key.len(),
            KeyShape::Bytes => common_prefix(&self.keys[..self.prefix_bytes], key),
        }
    }

    /// How long the block would be with `count` records, of which the keys share a prefix.
    fn bytes(&self, count: usize, prefix: usize, key_bytes: usize, value_bytes: usize, has_kinds: bool) -> usize {
        let end_bytes = if is_wide(key_bytes, value_bytes) { 4 } else { 2 };
        let ends = if self.shape.width().is_some() { count } else { 2 * count };
        let keys = prefix + key_bytes - count * prefix;
        HEADER_BYTES + keys + ends * end_bytes + if has_kinds { count } else { 0 } + value_bytes
    }

    /// Whether a record still belongs into this block.
    pub(crate) fn has_room(&self, key: &[u8], value: Option<&[u8]>) -> bool {
        if self.is_empty() {
            return true;
        }
        let count = self.key_ends.len() + 1;
        let (key_bytes, value_bytes) = (self.keys.len() + key.len(), self.values.len() + value.map_or(0, <[u8]>::len));
        let has_kinds = self.has_deletion || value.is_none();
        count <= usize::from(u16::MAX)
            && self.bytes(count, self.prefix_with(key), key_bytes, value_bytes, has_kinds) <= self.target_bytes
    }

    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.prefix_bytes = self.prefix_with(key);
        if self.is_empty() {
            let bytes = key.len() + value.map_or(0, <[u8]>::len);
            self.target_bytes = if bytes >= LARGE_RECORD_BYTES { LARGE_BLOCK_BYTES } else { self.small_bytes };
        }
        self.keys.extend_from_slice(key);
        self.key_ends.push(self.keys.len());
        self.values.extend_from_slice(value.unwrap_or_default());
        self.value_ends.push(self.values.len());
        self.deletions.push(if value.is_none() { DELETION } else { 0 });
        self.has_deletion |= value.is_none();
        self.is_even &= value.is_some_and(|value| value.len() == self.value_ends[0]);
    }

    /// Whether values need no ends.
    fn is_even(&self) -> bool {
        self.is_even && self.shape.width().is_some()
    }

    /// The bytes of the block, which is empty then.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let (count, prefix) = (self.key_ends.len(), self.prefix_bytes);
        let wide = is_wide(self.keys.len(), self.values.len());
        let (is_even, is_fixed) = (self.is_even(), self.shape.width().is_some());
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags =
            flag(wide, WIDE) | flag(self.has_deletion, KINDS) | flag(is_fixed, KEYS_FIRST) | flag(is_even, EVEN);
        let mut bytes =
            Vec::with_capacity(self.bytes(count, prefix, self.keys.len(), self.values.len(), self.has_deletion));
        bytes.extend_from_slice(&(count as u16).to_le_bytes());
        bytes.extend_from_slice(&[flags, 0]);
        let second = if is_even { self.value_ends[0] } else { prefix };
        bytes.extend_from_slice(&(second as u32).to_le_bytes());
        if is_fixed {
            bytes.extend_from_slice(&self.keys);
        }
        let put_end = |bytes: &mut Vec<u8>, end: usize| {
            let end = (end as u32).to_le_bytes();
            bytes.extend_from_slice(if wide { &end } else { &end[..2] });
        };
        if self.shape == KeyShape::Bytes {
            bytes.extend_from_slice(&self.keys[..prefix]);
            let ends = self.key_ends.iter().enumerate();
            ends.for_each(|(index, end)| put_end(&mut bytes, end - (index + 1) * prefix));
        }
        if !is_even {
            self.value_ends.iter().for_each(|end| put_end(&mut bytes, *end));
        }
        if self.has_deletion {
            bytes.extend_from_slice(&self.deletions);
        }
        if !is_fixed {
            (0..count).for_each(|index| bytes.extend_from_slice(&self.key(index)[prefix..]));
        }
        bytes.extend_from_slice(&self.values);
        self.clear();
        bytes
    }

    fn clear(&mut self) {
        for bytes in [&mut self.keys, &mut self.values, &mut self.deletions] {
            bytes.clear();
        }
        self.key_ends.clear();
        self.value_ends.clear();
        (self.has_deletion, self.is_even, self.prefix_bytes) = (false, true, 0);
    }
}

fn is_wide(key_bytes: usize, value_bytes: usize) -> bool {
    key_bytes.max(value_bytes) > usize::from(u16::MAX)
}

/// Where the parts of a block lie in its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    count: usize,
    wide: bool,
    /// The length of every key, or 0.
    width: usize,
    prefix_bytes: usize,
    /// The length of every value, if they have no ends.
    value_bytes: Option<usize>,
    key_ends_at: usize,
    value_ends_at: usize,
    /// 0 if there are none.
    kinds_at: usize,
    keys_at: usize,
    values_at: usize,
}

impl Block {
    /// Finds the parts; `None` if the bytes are not a block.
    #[inline]
    pub(crate) fn parse(bytes: &[u8], shape: KeyShape) -> Option<Self> {
        let header = bytes.first_chunk::<HEADER_BYTES>()?;
        let count = usize::from(u16::from_le_bytes([header[0], header[1]]));
        let second = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let block = match shape {
            KeyShape::Fixed(width) => Self::of_fixed(header[2], count, usize::from(width), second)?,
            KeyShape::Bytes => Self::of_bytes(bytes, header[2], count, second)?,
        };
        (count > 0 && block.values_at <= bytes.len()).then_some(block)
    }

    /// A block of keys of one length.
    fn of_fixed(flags: u8, count: usize, width: usize, second: usize) -> Option<Self> {
        let (wide, is_even, is_first) = (flags & WIDE != 0, flags & EVEN != 0, flags & KEYS_FIRST != 0);
        let keys = count * width;
        let ends = if is_even { 0 } else { count * if wide { 4 } else { 2 } };
        let kinds = if flags & KINDS != 0 { count } else { 0 };
        let value_ends_at = HEADER_BYTES + if is_first { keys } else { 0 };
        let is_sound = is_even || second == 0;
        is_sound.then_some(Self {
            count,
            wide,
            width,
            prefix_bytes: 0,
            value_bytes: is_even.then_some(second),
            key_ends_at: HEADER_BYTES,
            value_ends_at,
            kinds_at: if kinds > 0 { value_ends_at + ends } else { 0 },
            keys_at: if is_first { HEADER_BYTES } else { value_ends_at + ends + kinds },
            values_at: HEADER_BYTES + keys + ends + kinds,
        })
    }

    /// A block of keys of any length.
    fn of_bytes(bytes: &[u8], flags: u8, count: usize, prefix_bytes: usize) -> Option<Self> {
        let wide = flags & WIDE != 0;
        let ends = count * if wide { 4 } else { 2 };
        let mut block = Self { count, wide, prefix_bytes, key_ends_at: HEADER_BYTES, ..Self::default() };
        block.key_ends_at = HEADER_BYTES.checked_add(prefix_bytes)?;
        block.value_ends_at = block.key_ends_at.checked_add(ends)?;
        let keys = block.end(bytes, block.key_ends_at, count.checked_sub(1)?)?;
        let ends_end = block.value_ends_at.checked_add(ends)?;
        block.kinds_at = if flags & KINDS != 0 { ends_end } else { 0 };
        block.keys_at = ends_end + if flags & KINDS != 0 { count } else { 0 };
        block.values_at = block.keys_at.checked_add(keys)?;
        Some(block)
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// How long it is, without what fills its last page.
    pub(crate) fn length(&self, bytes: &[u8]) -> Option<usize> {
        let (_, values) = self.value_place(bytes, self.count - 1)?;
        self.values_at.checked_add(values).filter(|length| *length <= bytes.len())
    }

    fn end(&self, bytes: &[u8], at: usize, index: usize) -> Option<usize> {
        if self.wide {
            let end = bytes.get(at + 4 * index..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*end) as usize)
        } else {
            let end = bytes.get(at + 2 * index..)?.first_chunk::<2>()?;
            Some(usize::from(u16::from_le_bytes(*end)))
        }
    }

    /// What all keys begin with.
    fn prefix<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        bytes.get(HEADER_BYTES..HEADER_BYTES + self.prefix_bytes)
    }

    /// A key without the prefix.
    fn suffix<'a>(&self, bytes: &'a [u8], index: usize) -> Option<&'a [u8]> {
        if self.width > 0 {
            let from = self.keys_at + index * self.width;
            return bytes.get(from..from + self.width);
        }
        let from = if index == 0 { 0 } else { self.end(bytes, self.key_ends_at, index - 1)? };
        let to = self.end(bytes, self.key_ends_at, index)?;
        bytes.get(self.keys_at.checked_add(from)?..self.keys_at.checked_add(to)?)
    }

    /// Where a key lies, if it lies in one piece.
    #[inline]
    pub(crate) fn key_place(&self, index: usize) -> Option<(usize, usize)> {
        let from = self.keys_at + index * self.width;
        (self.width > 0).then_some((from, from + self.width))
    }

    /// How far apart keys and values lie, if that is always the same.
    pub(crate) fn strides(&self) -> Option<(usize, usize)> {
        self.value_bytes.filter(|_| self.kinds_at == 0).map(|value| (self.width, value))
    }

    /// Puts a key where the caller wants it.
    pub(crate) fn read_key(&self, bytes: &[u8], index: usize, into: &mut Vec<u8>) -> Option<()> {
        into.clear();
        if self.width == 0 {
            into.extend_from_slice(self.prefix(bytes)?);
        }
        into.extend_from_slice(self.suffix(bytes, index)?);
        Some(())
    }

    /// Where in the bytes the value of a record lies; the inner `None` for a deletion.
    #[inline]
    pub(crate) fn value(&self, bytes: &[u8], index: usize) -> Option<Option<(usize, usize)>> {
        if self.kinds_at > 0 && *bytes.get(self.kinds_at + index)? == DELETION {
            return Some(None);
        }
        let (from, to) = self.value_place(bytes, index)?;
        let (from, to) = (self.values_at.checked_add(from)?, self.values_at.checked_add(to)?);
        (from <= to && to <= bytes.len()).then_some(Some((from, to)))
    }

    /// Where a value lies among the values.
    #[inline]
    fn value_place(&self, bytes: &[u8], index: usize) -> Option<(usize, usize)> {
        if let Some(length) = self.value_bytes {
            let from = index.checked_mul(length)?;
            return Some((from, from.checked_add(length)?));
        }
        let from = if index == 0 { 0 } else { self.end(bytes, self.value_ends_at, index - 1)? };
        Some((from, self.end(bytes, self.value_ends_at, index)?))
    }

    /// The first record whose key is not less than this one, and whether it is equal.
    #[inline]
    pub(crate) fn search(&self, bytes: &[u8], key: &[u8]) -> Option<(usize, bool)> {
        match (self.width, key.first_chunk::<8>()) {
            (8, Some(head)) if key.len() == 8 => self.search_words(bytes, u64::from_be_bytes(*head)),
            (0, _) => match key.get(..self.prefix_bytes).unwrap_or(key).cmp(self.prefix(bytes)?) {
                Ordering::Less => Some((0, false)),
                Ordering::Greater => Some((self.count, false)),
                Ordering::Equal => self.search_suffixes(bytes, &key[self.prefix_bytes..]),
            },
            _ => self.search_suffixes(bytes, key),
        }
    }

    /// Few keys are compared one and all: the processor fetches their lines at once then, and not one after the other.
    fn search_words(&self, bytes: &[u8], wanted: u64) -> Option<(usize, bool)> {
        let (keys, _) = bytes.get(self.keys_at..self.keys_at + self.count * 8)?.as_chunks::<8>();
        let is_less = |key: &[u8; 8]| u64::from_be_bytes(*key) < wanted;
        let (mut from, mut to) = (0, keys.len());
        while to - from > COUNTED_MAX {
            let middle = from.midpoint(to);
            if is_less(&keys[middle]) { from = middle + 1 } else { to = middle }
        }
        let at = from + keys[from..to].iter().filter(|key| is_less(key)).count();
        Some((at, keys.get(at).is_some_and(|key| u64::from_be_bytes(*key) == wanted)))
    }

    fn search_suffixes(&self, bytes: &[u8], suffix: &[u8]) -> Option<(usize, bool)> {
        let (mut from, mut to) = (0, self.count);
        while from < to {
            let middle = from.midpoint(to);
            match self.suffix(bytes, middle)?.cmp(suffix) {
                Ordering::Less => from = middle + 1,
                Ordering::Equal => return Some((middle, true)),
                Ordering::Greater => to = middle,
            }
        }
        Some((from, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(shape: KeyShape, records: &[(&[u8], Option<&[u8]>)]) {
        let mut builder = BlockBuilder::new(shape, Compression::None);
        records.iter().for_each(|(key, value)| builder.push(key, *value));
        let bytes = builder.take();
        let block = Block::parse(&bytes, shape).unwrap();
        assert_eq!(block.count(), records.len());
        for (index, (key, value)) in records.iter().enumerate() {
            let mut read = Vec::new();
            block.read_key(&bytes, index, &mut read).unwrap();
            assert_eq!(read, *key);
            assert_eq!(block.search(&bytes, key), Some((index, true)));
            let found = block.value(&bytes, index).unwrap().map(|(from, to)| &bytes[from..to]);
            assert_eq!(found, *value);
        }
    }

    #[test]
    fn records_come_back() {
        let long = vec![b'z'; 70_000];
        round_trip(KeyShape::Bytes, &[(b"", Some(b"empty key"))]);
        round_trip(KeyShape::Bytes, &[(b"a", None), (b"ab", Some(b"")), (b"abc", Some(&long)), (&long, Some(b"x"))]);
        round_trip(KeyShape::Fixed(2), &[(b"aa", Some(b"1")), (b"ab", None), (b"zz", Some(b"22"))]);
        round_trip(KeyShape::Fixed(8), &[(b"aaaaaaaa", Some(b"1")), (b"aaaaaaab", Some(b"22"))]);
        round_trip(KeyShape::Fixed(8), &[(b"aaaaaaaa", Some(b"11")), (b"aaaaaaab", Some(b"22"))]);
        round_trip(KeyShape::Fixed(8), &[(b"aaaaaaaa", Some(b"")), (b"aaaaaaab", None)]);
        round_trip(KeyShape::Fixed(3), &[(b"aaa", Some(b"")), (b"aab", Some(b""))]);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let keys = [&b"aaaaaaaa"[..], b"aaaaaaab", b"bbbbbbbb"];
        for (shape, last) in [
            (KeyShape::Bytes, Some(&b"value"[..])),
            (KeyShape::Fixed(8), Some(b"value")),
            (KeyShape::Fixed(8), Some(b"other")),
            (KeyShape::Fixed(8), None),
        ] {
            let mut builder = BlockBuilder::new(shape, Compression::None);
            keys[..2].iter().for_each(|key| builder.push(key, Some(b"value")));
            builder.push(keys[2], last);
            let sound = builder.take();
            (0..sound.len()).for_each(|at| ask_changed(&sound, at, shape));
        }
    }

    /// Asks a block in which a byte has changed.
    fn ask_changed(sound: &[u8], at: usize, shape: KeyShape) {
        for value in [0, 1, 3, 8, 16, 0x7f, 0xff] {
            let mut bytes = sound.to_vec();
            bytes[at] = value;
            let Some(block) = Block::parse(&bytes, shape) else { continue };
            let mut key = Vec::new();
            for index in 0..block.count().min(10) {
                let _ = (block.read_key(&bytes, index, &mut key), block.value(&bytes, index));
            }
            let _ = (block.search(&bytes, b"aaaaaaab"), block.length(&bytes));
        }
    }
}
