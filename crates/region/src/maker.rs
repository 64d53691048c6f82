//! Many things made in a row in one region, with what says where it stands at hand.
//!
//! A maker holds the ends of the region's lanes by itself, so that a compiler keeps them in registers: to make an expression is
//! to add, to compare and to write. What a heap counts is brought up to date where a chunk is full and in the end.
//!
//! 1. A *window* is the room of a lane: the cells that are left of the chunks that it has.
//! 2. Where a window ends, the region is told where it stands, the ordinary constructor makes what did not fit, and the windows
//!    are opened anew.
//! 3. So the same cells are taken, the same is counted, and the same is refused, as without a maker.
//! 4. What is refused is told in the end, so that nothing is asked about it in between.

use std::mem;

use crate::chunks::{Chunks, Kind, NO_CELL};
use crate::heap::{Heap, LONG, ZERO, cells_of, write_expression};
use crate::limit::Full;
use crate::reference::{Ref, TAG_BITS, tag};
use crate::region::{Lane, Place, Region};
use crate::words::{All, word_of};

/// Makes expressions, variables and numbers in a region. See [`Heap::make`].
pub struct Maker<'m> {
    words: &'m mut All,
    /// By itself, so that it can be in a register: it is passed on by value, and its address is known to nobody.
    expressions: Window,
    /// Not in the maker itself, since its address is passed on.
    rest: &'m mut Rest<'m>,
}

/// What is asked for less often.
struct Rest<'h> {
    chunks: &'h mut Chunks,
    region: &'h mut Region,
    variables: Window,
    numbers: Window,
    refused: &'h mut Option<Full>,
}

/// The cells that a lane may take next, from the next one to the end, both as expressions would be referred to that begin there:
/// that is what is made in most cases, and a reference cannot lead out of the words.
#[derive(Clone, Copy)]
struct Window {
    next: u64,
    end: u64,
}

impl Heap {
    /// Makes many things in a row, faster than one by one, in the same cells. If something is refused, nothing was made.
    ///
    /// After that, what the maker gives means nothing, and is not to be seen outside: it is in the result of `work`, which is
    /// dropped. Where a limit is far, the cost of a maker is that of a few expressions.
    ///
    /// ```
    /// # use region::{Full, Heap, Ref, tag};
    /// let (mut heap, nil) = (Heap::new(), Ref::new(tag::IMMEDIATE_0, 0));
    /// let mut region = heap.open();
    /// let list = heap.make(&mut region, |maker| {
    ///     (0..1_000).fold(nil, |rest, value| maker.expression([Ref::new(tag::IMMEDIATE_1, value), rest]))
    /// })?;
    /// assert_eq!(heap.list_elements(list).count(), 1_000);
    /// heap.close(region);
    /// # Ok::<(), Full>(())
    /// ```
    #[inline]
    pub fn make<R>(&mut self, region: &mut Region, work: impl FnOnce(&mut Maker<'_>) -> R) -> Result<R, Full> {
        let before = self.mark(region);
        let [expressions, variables, numbers] = region.lanes().map(|lane| Window::of(&lane));
        let mut refused = None;
        let Heap { words, chunks, .. } = self;
        let mut rest = Rest { chunks, region, variables, numbers, refused: &mut refused };
        let made = work(&mut Maker { words, expressions, rest: &mut rest });
        match refused {
            None => Ok(made),
            Some(full) => {
                self.rewind(region, before);
                Err(full)
            }
        }
    }
}

impl Drop for Maker<'_> {
    #[inline]
    fn drop(&mut self) {
        self.rest.settle(self.expressions);
    }
}

impl Maker<'_> {
    /// Makes an expression of these children, as [`Heap::expression`].
    #[inline(always)]
    pub fn expression<const N: usize>(&mut self, children: [Ref; N]) -> Ref {
        let made = if is_long(N) { None } else { self.expressions.take(cells_of(N)) };
        let Some(made) = made else {
            let (expressions, made) = self.rest.expression(self.words, self.expressions, children);
            self.expressions = expressions;
            return made;
        };
        write(self.words, made, &children)
    }

    /// Makes an expression of children whose number is known only when the program runs, as [`Heap::expression`].
    #[inline]
    pub fn expression_of(&mut self, children: &[Ref]) -> Ref {
        let made = if is_long(children.len()) { None } else { self.expressions.take(cells_of(children.len())) };
        let Some(made) = made else {
            let (expressions, made) = self.rest.expression_of(self.words, self.expressions, children);
            self.expressions = expressions;
            return made;
        };
        write(self.words, made, children)
    }

    /// Makes an unbound variable with the owner's label, as [`Heap::variable`].
    #[inline(always)]
    pub fn variable(&mut self, label: u32) -> Ref {
        let Some(cell) = self.rest.variables.take(1) else {
            let (expressions, made) = self.rest.variable(self.words, self.expressions, label);
            self.expressions = expressions;
            return made;
        };
        write_variable(self.words, cell.payload(), label)
    }

    /// Makes a number of this kind, 0 or 1, as [`Heap::number`].
    #[inline(always)]
    pub fn number(&mut self, kind: u32, bits: u64) -> Ref {
        debug_assert!(kind <= 1);
        let Some(cell) = self.rest.numbers.take(1) else {
            let (expressions, made) = self.rest.number(self.words, self.expressions, kind, bits);
            self.expressions = expressions;
            return made;
        };
        write_number(self.words, cell.payload(), kind, bits)
    }
}

#[inline(always)]
fn write(words: &mut All, made: Ref, children: &[Ref]) -> Ref {
    let first = made.payload() as usize * 2;
    write_expression(&mut words[first..first + cells_of(children.len()) * 2], children);
    made
}

#[inline(always)]
fn write_variable(words: &mut All, cell: u32, label: u32) -> Ref {
    let (first, variable) = (word_of(cell), Ref::new(tag::VARIABLE, cell));
    words[first..first + 2].copy_from_slice(&[variable, Ref::from_bits(label)]);
    variable
}

#[inline(always)]
fn write_number(words: &mut All, cell: u32, kind: u32, bits: u64) -> Ref {
    let first = word_of(cell);
    words[first..first + 2].copy_from_slice(&[bits as u32, (bits >> 32) as u32].map(Ref::from_bits));
    Ref::new(tag::NUMBER, cell << 1 | kind)
}

/// Whether an expression of this length has a prefix.
const fn is_long(length: usize) -> bool {
    length >= LONG
}

impl Window {
    /// The window of a lane.
    #[inline]
    fn of(lane: &Lane) -> Window {
        Window { next: reference_to(lane.place.cursor()), end: reference_to(lane.place.end()) }
    }

    /// Takes so many cells. Gives the first one, as an expression.
    #[inline(always)]
    fn take(&mut self, cells: usize) -> Option<Ref> {
        let behind = self.next + ((cells as u64) << TAG_BITS);
        if behind > self.end {
            return None;
        }
        Some(Ref::from_bits(mem::replace(&mut self.next, behind) as u32))
    }

    /// Where the lane of this window stands now that stood here.
    #[inline]
    fn place(self, before: Place) -> Place {
        Place::new((self.next >> TAG_BITS) as u32, before.end())
    }
}

/// The bits of a reference to an expression that begins with a cell, or with the one behind the last that there can be.
#[inline]
fn reference_to(cell: u32) -> u64 {
    u64::from(cell) << TAG_BITS | u64::from(tag::EXPRESSION)
}

impl Rest<'_> {
    #[cold]
    #[inline(never)]
    fn expression<const N: usize>(
        &mut self,
        words: &mut All,
        expressions: Window,
        children: [Ref; N],
    ) -> (Window, Ref) {
        self.expression_of(words, expressions, &children)
    }

    #[cold]
    #[inline(never)]
    fn expression_of(&mut self, words: &mut All, expressions: Window, children: &[Ref]) -> (Window, Ref) {
        self.elsewhere(expressions, |rest| {
            let at = rest.take(words, children.len())?;
            Ok(write(words, Ref::new(tag::EXPRESSION, at), children))
        })
    }

    #[cold]
    #[inline(never)]
    fn variable(&mut self, words: &mut All, expressions: Window, label: u32) -> (Window, Ref) {
        self.elsewhere(expressions, |rest| {
            let at = rest.chunks.extend_by_one(words, rest.region, Kind::Variables, 1)?;
            Ok(write_variable(words, at, label))
        })
    }

    #[cold]
    #[inline(never)]
    fn number(&mut self, words: &mut All, expressions: Window, kind: u32, bits: u64) -> (Window, Ref) {
        self.elsewhere(expressions, |rest| {
            let at = rest.chunks.extend_numbers(words, rest.region, 1)?;
            Ok(write_number(words, at, kind, bits))
        })
    }

    /// Does what the heap itself would do, for a lane whose window is too small.
    fn elsewhere(&mut self, expressions: Window, work: impl FnOnce(&mut Self) -> Result<Ref, Full>) -> (Window, Ref) {
        if self.refused.is_some() {
            return (expressions, ZERO);
        }
        self.settle(expressions);
        let made = work(self);
        let [mut expressions, mut variables, mut numbers] = self.region.lanes().map(|lane| Window::of(&lane));
        let made = made.unwrap_or_else(|full| {
            // From now on nothing fits anywhere, and whatever is asked for comes here.
            for window in [&mut expressions, &mut variables, &mut numbers] {
                window.end = window.next;
            }
            *self.refused = Some(full);
            ZERO
        });
        (self.variables, self.numbers) = (variables, numbers);
        (expressions, made)
    }

    /// Takes the cells of an expression, where the lane stands if they fit there.
    fn take(&mut self, words: &mut All, length: usize) -> Result<u32, Full> {
        let lane = &mut self.region.expressions;
        if let Some(at) = if length < LONG { lane.bump_few(cells_of(length)) } else { None } {
            return Ok(at);
        }
        match self.chunks.allot_soon(self.region, length) {
            NO_CELL => self.chunks.allot_late(words, self.region, length),
            at => Ok(at),
        }
    }

    /// Lets the region stand where the windows begin now.
    fn settle(&mut self, expressions: Window) {
        self.region.expressions.place = expressions.place(self.region.expressions.place);
        self.region.variables.place = self.variables.place(self.region.variables.place);
        self.region.numbers.place = self.numbers.place(self.region.numbers.place);
    }
}
