//! Arrays: elements by position, as many as there are, and room for more.
//!
//! An array has its elements in an expression of its own, its room. When that is full they move to one of twice the length;
//! the old one is given back with the region, and what refers to the array refers to it still. Elements that are not yet
//! there, or no longer, are zeros: a copy follows nothing that was removed.

use super::object::{ARRAY, cells_with_prefix};
use crate::heap::{Heap, ZERO, cells_of};
use crate::limit::{Full, LENGTH_MAX};
use crate::reference::Ref;
use crate::region::Region;
use crate::words::Words;

const LENGTH: usize = 1;
const ROOM: usize = 2;
/// How long the room is.
const SIZE: usize = 3;
/// The least room that an array gets when it grows.
const ROOM_MIN: usize = 4;

/// Reading arrays, of a heap that is frozen as well.
impl<W: Words> Heap<W> {
    /// The first word of the elements, and how many there are.
    #[inline]
    pub(crate) fn array_words(&self, array: Ref) -> (usize, usize) {
        debug_assert!(self.is_object(array, ARRAY), "not an array");
        let first = self.word(array, ROOM).payload() as usize * 2 + 1;
        (first, self.word(array, LENGTH).payload() as usize)
    }

    /// How many elements an array has.
    #[inline]
    pub fn array_length(&self, array: Ref) -> usize {
        self.array_words(array).1
    }

    /// How many it can have before it must grow.
    #[inline]
    pub fn array_room(&self, array: Ref) -> usize {
        debug_assert!(self.is_object(array, ARRAY), "not an array");
        self.word(array, SIZE).payload() as usize
    }

    /// The elements of an array.
    #[inline]
    pub fn array_elements(&self, array: Ref) -> &[Ref] {
        let (first, length) = self.array_words(array);
        &self.words[first..first + length]
    }

    /// The element at a position, if there is one.
    #[inline]
    pub fn array_get(&self, array: Ref, position: usize) -> Option<Ref> {
        let (first, length) = self.array_words(array);
        (position < length).then(|| self.words[first + position])
    }
}

impl Heap {
    /// Makes an array of these elements, with no room for more.
    ///
    /// Takes three cells or four, and one for every two elements, in one allocation. Arrays of more than
    /// [`LENGTH_MAX`](crate::LENGTH_MAX) elements are refused.
    pub fn array(&mut self, region: &mut Region, elements: &[Ref]) -> Result<Ref, Full> {
        let array = self.allot_array(region, elements.len(), elements.len())?;
        let (first, length) = self.array_words(array);
        self.words[first..first + length].copy_from_slice(elements);
        Ok(array)
    }

    /// Makes an array without elements that has room for `room` of them.
    pub fn reserve_array(&mut self, region: &mut Region, room: usize) -> Result<Ref, Full> {
        let array = self.allot_array(region, 0, room)?;
        let (first, _) = self.array_words(array);
        self.words[first..first + room].fill(ZERO);
        Ok(array)
    }

    /// An array whose elements are not yet written.
    fn allot_array(&mut self, region: &mut Region, length: usize, room: usize) -> Result<Ref, Full> {
        if room > LENGTH_MAX {
            return Err(self.chunks.too_long());
        }
        let own = cells_of(SIZE);
        let at = self.take(region, own + cells_with_prefix(room))?;
        let size = Ref::new(0, room as u32);
        let room = self.write_prefix(at + own as u32, room);
        Ok(self.write_object(at, [Ref::new(ARRAY, length as u32), room, size]))
    }

    /// Puts another element at a position. Gives the one that was there; if there was none, nothing is changed.
    #[inline]
    pub fn array_set(&mut self, array: Ref, position: usize, element: Ref) -> Option<Ref> {
        let (first, length) = self.array_words(array);
        (position < length).then(|| std::mem::replace(&mut self.words[first + position], element))
    }

    /// Adds an element at the end. If there is no room for it, takes more in the region that the array lies in.
    ///
    /// Elements that have moved since a mark are lost with what is rewound: an owner of marks reserves the room before.
    #[inline]
    pub fn array_push(&mut self, region: &mut Region, array: Ref, element: Ref) -> Result<(), Full> {
        let (first, length) = self.array_words(array);
        let first = if length < self.array_room(array) { first } else { self.grow_array(region, array)? };
        self.words[first + length] = element;
        self.set_word(array, LENGTH, Ref::new(ARRAY, length as u32 + 1));
        Ok(())
    }

    /// Removes the last element.
    pub fn array_pop(&mut self, array: Ref) -> Option<Ref> {
        let (first, length) = self.array_words(array);
        let last = length.checked_sub(1)?;
        self.set_word(array, LENGTH, Ref::new(ARRAY, last as u32));
        Some(std::mem::replace(&mut self.words[first + last], ZERO))
    }

    /// Moves the elements to where there is room for twice as many. Gives the first word of them.
    #[cold]
    fn grow_array(&mut self, region: &mut Region, array: Ref) -> Result<usize, Full> {
        debug_assert!(self.holds(region, array), "an array grows in its own region");
        let (first, length) = self.array_words(array);
        if length == LENGTH_MAX {
            return Err(self.chunks.too_long());
        }
        let size = (length * 2).clamp(ROOM_MIN, LENGTH_MAX);
        let room = self.reserve(region, size)?;
        let to = room.payload() as usize * 2 + 1;
        self.words.copy_within(first..first + length, to);
        self.set_word(array, ROOM, room);
        self.set_word(array, SIZE, Ref::new(0, size as u32));
        Ok(to)
    }
}
