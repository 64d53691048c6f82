//! Many things made in a row in one region, with what says where it stands at hand.
//!
//! A maker holds the words of the heap and the ends of the region's lanes by itself, so that a compiler keeps them in
//! registers: to make an expression is to compare, to write and to add. What a heap counts is brought up to date where a chunk
//! is full and in the end.
//!
//! 1. A *window* is the cells that a lane may take next: what is left of its last chunk and, for the lane that was short of
//!    cells last, free chunks behind that, as long as the free list goes on where the last one ends and limits allow. Nobody
//!    has taken these yet.
//! 2. Where a window ends, the chunks that were used are taken, all at once, and the ordinary constructor makes what did not
//!    fit. Then the windows are opened anew.
//! 3. So are expressions longer than a chunk made, wherever there is room for them.
//! 4. So the same cells are taken, the same is counted, and the same is refused, as without a maker.
//! 5. What is refused is told in the end, so that nothing is asked about it in between.

use std::mem;

use crate::chunks::{CHUNK_CELLS, Kind};
use crate::heap::{Heap, ZERO, cells_of, write_expression};
use crate::limit::Full;
use crate::reference::{Ref, tag};
use crate::region::{Lane, Place, Region};

/// Makes expressions, variables and numbers in a region. See [`Heap::make`].
pub struct Maker<'m> {
    hand: Hand,
    /// Not in the maker itself, since its address is passed on.
    rest: &'m mut Rest<'m>,
}

/// What is at hand: all words of the heap, which has none meanwhile, and the window of the expressions.
///
/// It is passed on by value, so that its address is known to nobody and it can be in registers.
#[derive(Default)]
struct Hand {
    words: Vec<Ref>,
    expressions: Window,
}

/// What is asked for less often.
struct Rest<'h> {
    heap: &'h mut Heap,
    region: &'h mut Region,
    variables: Window,
    numbers: Window,
    refused: &'h mut Option<Full>,
}

/// The words that a lane may take next.
#[derive(Clone, Copy, Default)]
struct Window {
    next: usize,
    end: usize,
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
        let hand = Hand { words: mem::take(&mut self.chunks.words), expressions };
        let mut refused = None;
        let mut rest = Rest { heap: self, region, variables, numbers, refused: &mut refused };
        let made = work(&mut Maker { hand, rest: &mut rest });
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
        self.rest.settle(mem::take(&mut self.hand));
    }
}

impl Maker<'_> {
    /// Makes an expression of these children, as [`Heap::expression`].
    #[inline(always)]
    pub fn expression<const N: usize>(&mut self, children: [Ref; N]) -> Ref {
        let Window { next: first, end } = self.hand.expressions;
        let next = first + cells_of(N) * 2;
        if next > end || is_long(N) {
            let (hand, made) = self.rest.expression(mem::take(&mut self.hand), children);
            self.take_in_hand(hand);
            return made;
        }
        self.hand.expressions.next = next;
        write_expression(&mut self.hand.words[first..next], &children);
        Ref::new(tag::EXPRESSION, (first / 2) as u32)
    }

    /// Makes an expression of children whose number is known only when the program runs, as [`Heap::expression`].
    #[inline]
    pub fn expression_of(&mut self, children: &[Ref]) -> Ref {
        let Window { next: first, end } = self.hand.expressions;
        let next = first + cells_of(children.len()) * 2;
        if next > end || is_long(children.len()) {
            let (hand, made) = self.rest.expression_of(mem::take(&mut self.hand), children);
            self.take_in_hand(hand);
            return made;
        }
        self.hand.expressions.next = next;
        write_expression(&mut self.hand.words[first..next], children);
        Ref::new(tag::EXPRESSION, (first / 2) as u32)
    }

    /// Makes an unbound variable with the owner's label, as [`Heap::variable`].
    #[inline(always)]
    pub fn variable(&mut self, label: u32) -> Ref {
        let Window { next: first, end } = self.rest.variables;
        if first == end {
            let (hand, made) = self.rest.variable(mem::take(&mut self.hand), label);
            self.take_in_hand(hand);
            return made;
        }
        self.rest.variables.next = first + 2;
        let variable = Ref::new(tag::VARIABLE, (first / 2) as u32);
        self.hand.words[first..first + 2].copy_from_slice(&[variable, Ref::from_bits(label)]);
        variable
    }

    /// Makes a number of this kind, 0 or 1, as [`Heap::number`].
    #[inline(always)]
    pub fn number(&mut self, kind: u32, bits: u64) -> Ref {
        debug_assert!(kind <= 1);
        let Window { next: first, end } = self.rest.numbers;
        if first == end {
            let (hand, made) = self.rest.number(mem::take(&mut self.hand), kind, bits);
            self.take_in_hand(hand);
            return made;
        }
        self.rest.numbers.next = first + 2;
        let halves = [bits as u32, (bits >> 32) as u32].map(Ref::from_bits);
        self.hand.words[first..first + 2].copy_from_slice(&halves);
        Ref::new(tag::NUMBER, first as u32 | kind)
    }

    /// Has something at hand again, for what went away and left nothing that was to be dropped.
    #[inline(always)]
    fn take_in_hand(&mut self, hand: Hand) {
        mem::forget(mem::replace(&mut self.hand.words, hand.words));
        self.hand.expressions = hand.expressions;
    }
}

/// Whether an expression of this length may need a run of chunks. The heap looks for one, and the search spends credit: a
/// window has chunks in a row at hand, but what is looked for later would be found elsewhere.
const fn is_long(length: usize) -> bool {
    cells_of(length) > CHUNK_CELLS as usize
}

impl Window {
    /// The window of a lane: what is left of its last chunk.
    #[inline]
    fn of(lane: &Lane) -> Window {
        Window { next: lane.place.cursor() as usize * 2, end: lane.place.end() as usize * 2 }
    }
}

impl Rest<'_> {
    #[cold]
    #[inline(never)]
    fn expression<const N: usize>(&mut self, hand: Hand, children: [Ref; N]) -> (Hand, Ref) {
        self.expression_of(hand, &children)
    }

    #[cold]
    #[inline(never)]
    fn expression_of(&mut self, hand: Hand, children: &[Ref]) -> (Hand, Ref) {
        self.elsewhere(hand, Kind::Expressions, |heap, region| heap.expression(region, children))
    }

    #[cold]
    #[inline(never)]
    fn variable(&mut self, hand: Hand, label: u32) -> (Hand, Ref) {
        self.elsewhere(hand, Kind::Variables, |heap, region| heap.variable(region, label))
    }

    #[cold]
    #[inline(never)]
    fn number(&mut self, hand: Hand, kind: u32, bits: u64) -> (Hand, Ref) {
        self.elsewhere(hand, Kind::Numbers, |heap, region| heap.number(region, kind, bits))
    }

    /// Lets the heap itself do something, for a lane whose window is too small.
    fn elsewhere(
        &mut self,
        hand: Hand,
        kind: Kind,
        work: impl FnOnce(&mut Heap, &mut Region) -> Result<Ref, Full>,
    ) -> (Hand, Ref) {
        if self.refused.is_some() {
            return (hand, ZERO);
        }
        self.settle(hand);
        let made = work(self.heap, self.region);
        let [mut expressions, mut variables, mut numbers] = self.region.lanes().map(|lane| Window::of(&lane));
        let made = match made {
            Ok(made) => {
                let end = self.heap.window_end(self.region, kind) as usize * 2;
                match kind {
                    Kind::Expressions => expressions.end = end,
                    Kind::Variables => variables.end = end,
                    Kind::Numbers => numbers.end = end,
                }
                made
            }
            Err(full) => {
                // From now on nothing fits anywhere, and whatever is asked for comes here.
                for window in [&mut expressions, &mut variables, &mut numbers] {
                    window.end = window.next;
                }
                *self.refused = Some(full);
                ZERO
            }
        };
        (self.variables, self.numbers) = (variables, numbers);
        (Hand { words: mem::take(&mut self.heap.chunks.words), expressions }, made)
    }

    /// Gives the heap its words back, and lets the region stand where the windows begin now.
    #[inline(never)]
    fn settle(&mut self, hand: Hand) {
        self.heap.chunks.words = hand.words;
        self.heap.take_window(self.region, Kind::Expressions, hand.expressions);
        self.heap.take_window(self.region, Kind::Variables, self.variables);
        self.heap.take_window(self.region, Kind::Numbers, self.numbers);
    }
}

impl Heap {
    /// Where the cells end that a lane of a region may take next.
    fn window_end(&self, region: &mut Region, kind: Kind) -> u32 {
        let quota = region.expressions.quota;
        let most = if quota == u32::MAX { u32::MAX } else { quota.saturating_sub(self.chunks_of(region)) };
        self.chunks.window_end(region.lane_mut(kind), kind, most)
    }

    /// Lets a lane stand where its window begins now.
    #[inline]
    fn take_window(&mut self, region: &mut Region, kind: Kind, window: Window) {
        let (lane, cursor) = (region.lane_mut(kind), (window.next / 2) as u32);
        let before = lane.place;
        if cursor <= before.end() {
            lane.place = Place::new(cursor, before.end());
            return;
        }
        self.chunks.take_window(lane, kind, cursor);
        let cells = u64::from(cursor - before.cursor());
        self.handed_out = self.handed_out + before.pending() + cells - lane.place.pending();
    }
}
