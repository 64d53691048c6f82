//! Strings and byte buffers: any bytes, zeros among them, in the lane of numbers.
//!
//! The bytes of a word lie in it as they lie in memory, on any processor, and what the last cell has too many is zero. So
//! bytes are moved and compared four at a time. What cannot be had in safe Rust is the run as a slice of bytes, since it is
//! stored as words: [`Bytes`] stands in its place, and the decision on bytes in words has the reasons.

use std::array;
use std::cmp::Ordering;
use std::fmt;
use std::iter;

use super::object::{BYTES, Object};
use crate::heap::{Heap, ZERO, cells_of};
use crate::layout::CHUNK_BYTES;
use crate::limit::{BYTES_MAX, Full, Limit};
use crate::reference::{Ref, tag};
use crate::region::Region;
use crate::words::Words;

const LENGTH: usize = 1;
pub(crate) const RUN: usize = 2;
/// The kind of the reference to the run.
const BUFFER: u32 = 0;
const STRING: u32 = 1;
const WORD_BYTES: usize = size_of::<u32>();
const CELL_BYTES: usize = 2 * WORD_BYTES;

/// The cells of `length` bytes. None at all would have no place.
#[inline]
pub(crate) fn run_cells(length: usize) -> usize {
    length.div_ceil(CELL_BYTES).max(1)
}

/// Reading bytes, of a heap that is frozen as well.
impl<W: Words> Heap<W> {
    /// Whether something is a string or a buffer.
    #[inline]
    pub fn is_bytes(&self, reference: Ref) -> bool {
        self.is_object(reference, BYTES)
    }

    /// The bytes of a string or a buffer.
    #[inline]
    pub fn bytes(&self, bytes: Ref) -> Bytes<'_> {
        debug_assert!(self.is_bytes(bytes), "neither a string nor a buffer");
        let length = self.word(bytes, LENGTH).payload() as usize;
        let first = self.word(bytes, RUN).cell() as usize * 2;
        Bytes { words: &self.words[first..first + length.div_ceil(WORD_BYTES)], length }
    }
}

impl Heap {
    /// Makes a buffer of these bytes.
    ///
    /// Takes two cells, and one for every eight bytes. Buffers of more than [`BYTES_MAX`](crate::BYTES_MAX) bytes are refused.
    pub fn buffer(&mut self, region: &mut Region, content: &[u8]) -> Result<Ref, Full> {
        self.make_bytes(region, content, BUFFER)
    }

    /// Makes a string. It stays as it is; zeros in it are characters like others. Costs what a [buffer](Heap::buffer) does.
    pub fn string(&mut self, region: &mut Region, content: &str) -> Result<Ref, Full> {
        self.make_bytes(region, content.as_bytes(), STRING)
    }

    /// Makes a buffer of `length` zeros, to be [written](Heap::write_bytes).
    pub fn reserve_buffer(&mut self, region: &mut Region, length: usize) -> Result<Ref, Full> {
        let (made, run) = self.allot_bytes(region, length, BUFFER)?;
        self.words[run..run + run_cells(length) * 2].fill(ZERO);
        Ok(made)
    }

    fn make_bytes(&mut self, region: &mut Region, content: &[u8], kind: u32) -> Result<Ref, Full> {
        let (made, run) = self.allot_bytes(region, content.len(), kind)?;
        let end = run + run_cells(content.len()) * 2;
        write_cells(self.words[run..end].as_chunks_mut().0, content);
        Ok(made)
    }

    /// An object of `length` bytes, and the first word of its run, which is not yet written.
    #[inline]
    fn allot_bytes(&mut self, region: &mut Region, length: usize, kind: u32) -> Result<(Ref, usize), Full> {
        if length > BYTES_MAX {
            return Err(self.chunks.refuse(Limit::ByteLength, (BYTES_MAX / CHUNK_BYTES) as u32));
        }
        let (run, at) = self.take_both(region, run_cells(length), cells_of(RUN))?;
        let words = [Ref::new(BYTES, length as u32), Ref::new(tag::NUMBER, run << 1 | kind)];
        Ok((self.write_object(at, words), run as usize * 2))
    }

    /// Writes bytes over those of a buffer from a position on. Panics if the buffer ends before they do.
    ///
    /// A buffer that is a key of a map must not be changed.
    pub fn write_bytes(&mut self, buffer: Ref, position: usize, content: &[u8]) {
        debug_assert!(self.object(buffer) == Object::Buffer, "only buffers are written");
        let length = self.word(buffer, LENGTH).payload() as usize;
        assert!(
            position <= length && content.len() <= length - position,
            "{} bytes do not fit at {position} of a buffer of {length}",
            content.len()
        );
        let first = self.word(buffer, RUN).cell() as usize * 2 + position / WORD_BYTES;
        let words = &mut self.words[first..first + (position % WORD_BYTES + content.len()).div_ceil(WORD_BYTES)];
        write_at(words, position % WORD_BYTES, content);
    }
}

/// Writes bytes to the cells of a run. What the last one has too many becomes zero.
fn write_cells(cells: &mut [[Ref; 2]], content: &[u8]) {
    let (whole, rest) = content.as_chunks();
    for (cell, bytes) in iter::zip(&mut *cells, whole) {
        *cell = halves(*bytes);
    }
    if let Some(last) = cells.get_mut(whole.len()) {
        *last = halves(filled_up(content, rest));
    }
}

/// The bytes after the last whole cell, and zeros after them. There is such a byte, unless there is none at all.
#[inline]
fn filled_up(content: &[u8], rest: &[u8]) -> [u8; CELL_BYTES] {
    match content.last_chunk() {
        // Those before them are in that load as well, and go.
        Some(ending) => (u64::from_le_bytes(*ending) >> (8 * (CELL_BYTES - rest.len()))).to_le_bytes(),
        None => array::from_fn(|at| rest.get(at).copied().unwrap_or(0)),
    }
}

/// The words of eight bytes.
#[inline]
fn halves([a, b, c, d, e, f, g, h]: [u8; CELL_BYTES]) -> [Ref; 2] {
    [[a, b, c, d], [e, f, g, h]].map(|bytes| Ref::from_bits(u32::from_ne_bytes(bytes)))
}

/// Writes bytes from the first byte of the first word on. Those of the last word that are not written become zero.
fn write_words(words: &mut [Ref], content: &[u8]) {
    let (whole, rest) = content.as_chunks::<WORD_BYTES>();
    for (word, bytes) in words.iter_mut().zip(whole) {
        *word = Ref::from_bits(u32::from_ne_bytes(*bytes));
    }
    if !rest.is_empty() {
        let mut bytes = [0; WORD_BYTES];
        bytes[..rest.len()].copy_from_slice(rest);
        words[whole.len()] = Ref::from_bits(u32::from_ne_bytes(bytes));
    }
}

/// Writes bytes from some byte of the first word on, and leaves those around them as they are.
fn write_at(words: &mut [Ref], position: usize, content: &[u8]) {
    let head = if position == 0 { 0 } else { content.len().min(WORD_BYTES - position) };
    let (head, aligned) = content.split_at(head);
    if !head.is_empty() {
        write_part(&mut words[0], position, head);
    }
    let words = &mut words[usize::from(!head.is_empty())..];
    let (whole, rest) = aligned.split_at(aligned.len() / WORD_BYTES * WORD_BYTES);
    write_words(words, whole);
    if !rest.is_empty() {
        write_part(&mut words[whole.len() / WORD_BYTES], 0, rest);
    }
}

fn write_part(word: &mut Ref, position: usize, content: &[u8]) {
    let mut bytes = word.bits().to_ne_bytes();
    bytes[position..position + content.len()].copy_from_slice(content);
    *word = Ref::from_bits(u32::from_ne_bytes(bytes));
}

/// The bytes of a string or a buffer, read out of the words that they lie in.
///
/// They compare as slices of bytes do.
#[derive(Clone, Copy)]
pub struct Bytes<'h> {
    /// As many as hold the bytes. What the last one has too many is zero.
    words: &'h [Ref],
    length: usize,
}

impl<'h> Bytes<'h> {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The byte at a position.
    #[inline]
    pub fn get(&self, position: usize) -> Option<u8> {
        let at = |position: usize| self.words[position / WORD_BYTES].bits().to_ne_bytes()[position % WORD_BYTES];
        (position < self.length).then(|| at(position))
    }

    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u8> + DoubleEndedIterator + 'h {
        let words = self.words;
        (0..self.length).map(move |at| words[at / WORD_BYTES].bits().to_ne_bytes()[at % WORD_BYTES])
    }

    /// The words that the bytes lie in, four bytes a word as they lie in memory, the last one filled up with zeros.
    #[inline]
    pub fn words(&self) -> &'h [Ref] {
        self.words
    }

    /// Copies bytes from a position on, as many as there are and as fit. Gives how many that is.
    pub fn copy_to(&self, position: usize, to: &mut [u8]) -> usize {
        let count = self.length.saturating_sub(position).min(to.len());
        let to = &mut to[..count];
        let head = (position.next_multiple_of(WORD_BYTES) - position).min(count);
        let (head, aligned) = to.split_at_mut(head);
        for (byte, at) in head.iter_mut().zip(position..) {
            *byte = self.words[at / WORD_BYTES].bits().to_ne_bytes()[at % WORD_BYTES];
        }
        if !aligned.is_empty() {
            read_words(&self.words[position.div_ceil(WORD_BYTES)..], aligned);
        }
        count
    }

    /// A copy of them.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut all = vec![0; self.length];
        self.copy_to(0, &mut all);
        all
    }

    /// A copy of them as text, if they are UTF-8. Those of a string are.
    pub fn to_text(&self) -> Option<String> {
        String::from_utf8(self.to_vec()).ok()
    }

    /// A number that equal bytes share, made of eight of them at a time; where there are fewer, of zeros as well.
    pub(crate) fn hash(&self, mix: impl Fn(u64, u64) -> u64) -> u64 {
        let (pairs, rest) = self.words.as_chunks::<2>();
        let hash = pairs.iter().fold(self.length as u64, |hash, words| mix(hash, pair(*words)));
        rest.iter().fold(hash, |hash, word| mix(hash, pair([*word, ZERO])))
    }
}

/// The number that `Bytes::hash` gives, for bytes that lie elsewhere.
pub(crate) fn hash_slice(content: &[u8], mix: impl Fn(u64, u64) -> u64) -> u64 {
    let (whole, rest) = content.as_chunks();
    let hash = whole.iter().fold(content.len() as u64, |hash, bytes| mix(hash, pair(halves(*bytes))));
    if rest.is_empty() { hash } else { mix(hash, pair(halves(filled_up(content, rest)))) }
}

#[inline]
fn pair([low, high]: [Ref; 2]) -> u64 {
    u64::from(low.bits()) | u64::from(high.bits()) << 32
}

/// Reads bytes from the first one of the first word on.
fn read_words(words: &[Ref], to: &mut [u8]) {
    let (whole, rest) = to.as_chunks_mut::<WORD_BYTES>();
    for (bytes, word) in whole.iter_mut().zip(words) {
        *bytes = word.bits().to_ne_bytes();
    }
    if !rest.is_empty() {
        rest.copy_from_slice(&words[whole.len()].bits().to_ne_bytes()[..rest.len()]);
    }
}

impl PartialEq for Bytes<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.length == other.length && self.words == other.words
    }
}

impl Eq for Bytes<'_> {}

impl PartialEq<[u8]> for Bytes<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        let (whole, rest) = other.as_chunks::<WORD_BYTES>();
        let equal = |(word, bytes): (&Ref, &[u8; WORD_BYTES])| word.bits().to_ne_bytes() == *bytes;
        self.length == other.len()
            && self.words.iter().zip(whole).all(equal)
            && iter::zip(self.words.last().map_or([0; WORD_BYTES], |last| last.bits().to_ne_bytes()), rest)
                .all(|(one, other)| one == *other)
    }
}

impl PartialEq<str> for Bytes<'_> {
    fn eq(&self, other: &str) -> bool {
        *self == *other.as_bytes()
    }
}

impl Ord for Bytes<'_> {
    /// Zeros after the end are not bytes: what is equal but for them is shorter, and comes first.
    fn cmp(&self, other: &Self) -> Ordering {
        let differ = iter::zip(self.words, other.words).find(|(one, other)| one != other);
        let key = |word: &Ref| u32::from_be_bytes(word.bits().to_ne_bytes());
        match differ {
            Some((one, other)) => key(one).cmp(&key(other)),
            None => self.length.cmp(&other.length),
        }
    }
}

impl PartialOrd for Bytes<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// As text, with a replacement character where they are not UTF-8.
impl fmt::Display for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&String::from_utf8_lossy(&self.to_vec()))
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.to_vec().escape_ascii())
    }
}
