//! Lists and trees, made as a whole.
//!
//! 1. All cells are taken at once: one look at the limits, one step of the cursor.
//! 2. Where everything will lie is known then, so each word is written once, in the order of addresses.
//! 3. If the free memory does not hold that many cells in a row, they are taken piece by piece. So what can be made one by
//!    one can be made as a whole; and what cannot, leaves nothing behind.
//!
//! The result is what making one by one gives, but for the order in which the parts lie in memory.

use super::object::{ARRAY, cells_with_prefix};
use crate::chunks::Chunks;
use crate::heap::{Heap, LONG, NOTE_BITS, ZERO, cells_of};
use crate::layout::CHUNK_CELLS;
use crate::limit::{Full, LENGTH_MAX};
use crate::reference::{Ref, TAG_BITS, tag};
use crate::region::{Lane, LanePosition, Region};
use crate::words::{Words, word_of};

/// The children and the cells of a pair.
const PAIR: usize = 2;
const PAIR_CELLS: usize = cells_of(PAIR);
/// The elements that are read at once where they lie in the heap themselves.
const BLOCK: usize = 64;

/// Where the elements of a list come from.
#[derive(Clone, Copy)]
enum Elements<'e> {
    Slice(&'e [Ref]),
    /// The number of words of the heap given second, from the word given first on.
    Words(usize, usize),
}

impl Elements<'_> {
    fn len(&self) -> usize {
        match self {
            Elements::Slice(elements) => elements.len(),
            Elements::Words(_, length) => *length,
        }
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        match self {
            Elements::Slice(elements) => {
                let (front, back) = elements.split_at(count);
                (Elements::Slice(front), Elements::Slice(back))
            }
            Elements::Words(first, length) => {
                (Elements::Words(first, count), Elements::Words(first + count, length - count))
            }
        }
    }
}

/// What a region was before something that may fail half-way.
struct Before {
    position: LanePosition,
    given: u64,
}

/// Reading lists, of a heap that is frozen as well.
impl<W: Words> Heap<W> {
    /// The elements of a list: the first children of pairs, up to what is not a pair. Of a ring there is no end of them.
    pub fn list_elements(&self, list: Ref) -> impl Iterator<Item = Ref> {
        let mut rest = list;
        std::iter::from_fn(move || {
            if !rest.is_expression() {
                return None;
            }
            let &[element, behind] = self.children(rest) else { return None };
            rest = behind;
            Some(element)
        })
    }
}

/// Lists.
impl Heap {
    /// Makes a list: for each element a pair of it and the rest, which ends in `tail`. Without elements it is the tail.
    ///
    /// Takes two cells an element. The pairs lie in the order of the elements, in a row as far as memory allows.
    pub fn list(&mut self, region: &mut Region, elements: &[Ref], tail: Ref) -> Result<Ref, Full> {
        self.make_list(region, Elements::Slice(elements), tail)
    }

    /// Makes a list of the children of an expression or of the elements of an array.
    pub fn list_of(&mut self, region: &mut Region, elements: Ref, tail: Ref) -> Result<Ref, Full> {
        let elements = if self.is_object(elements, ARRAY) {
            let (first, length) = self.array_words(elements);
            Elements::Words(first, length)
        } else {
            Elements::Words(elements.payload() as usize * 2 + 1, self.length(elements))
        };
        self.make_list(region, elements, tail)
    }

    fn make_list(&mut self, region: &mut Region, elements: Elements<'_>, tail: Ref) -> Result<Ref, Full> {
        if elements.len() == 0 {
            return Ok(tail);
        }
        match self.take_row(region, elements.len() as u64, PAIR_CELLS)? {
            Some(at) => {
                self.write_pairs(at, elements, tail);
                Ok(Ref::new(tag::EXPRESSION, at))
            }
            None => self.list_in_pieces(region, elements, tail),
        }
    }

    #[cold]
    fn list_in_pieces(&mut self, region: &mut Region, elements: Elements<'_>, tail: Ref) -> Result<Ref, Full> {
        let before = self.before(region);
        let (mut first, mut last, mut rest) = (None, None, elements);
        while rest.len() > 0 {
            let room = match region.expressions.room() as usize / PAIR_CELLS {
                0 => CHUNK_CELLS as usize / PAIR_CELLS,
                room => room,
            };
            let (piece, behind) = rest.split_at(rest.len().min(room));
            let at = match self.take(region, piece.len() * PAIR_CELLS) {
                Ok(at) => at,
                Err(full) => return Err(self.undo(region, &before, full)),
            };
            self.write_pairs(at, piece, tail);
            let made = Ref::new(tag::EXPRESSION, at);
            if let Some(last) = last {
                self.set_child(last, 1, made);
            }
            first = first.or(Some(made));
            last = Some(Ref::new(tag::EXPRESSION, at + ((piece.len() - 1) * PAIR_CELLS) as u32));
            rest = behind;
        }
        Ok(first.unwrap_or(tail))
    }

    /// Writes pairs from a cell on, the last one with this rest.
    fn write_pairs(&mut self, at: u32, elements: Elements<'_>, tail: Ref) {
        let (first, mut length) = match elements {
            Elements::Slice(elements) => return write_pairs(&mut self.words[..], at, elements, tail),
            Elements::Words(first, length) => (first, length),
        };
        let (mut block, blocks) = ([ZERO; BLOCK], length.div_ceil(BLOCK));
        for number in 0..blocks {
            let from = first + number * BLOCK;
            let block = &mut block[..length.min(BLOCK)];
            block.copy_from_slice(&self.words[from..from + block.len()]);
            let at = at + (number * BLOCK * PAIR_CELLS) as u32;
            length -= block.len();
            let next = Ref::new(tag::EXPRESSION, if length == 0 { 0 } else { at + (BLOCK * PAIR_CELLS) as u32 });
            write_pairs(&mut self.words[..], at, block, if length == 0 { tail } else { next });
        }
    }
}

#[inline]
fn write_pairs(words: &mut [Ref], at: u32, elements: &[Ref], tail: Ref) {
    let (first, count) = (word_of(at), elements.len() * PAIR_CELLS * 2);
    let (pairs, _) = words[first..first + count].as_chunks_mut::<{ PAIR_CELLS * 2 }>();
    let (header, mut next) = (Ref::new(tag::IMMEDIATE_0, (PAIR as u32) << NOTE_BITS), at);
    for (pair, element) in pairs.iter_mut().zip(elements) {
        next += PAIR_CELLS as u32;
        *pair = [header, *element, Ref::from_bits(next << TAG_BITS | tag::EXPRESSION), ZERO];
    }
    if let Some(last) = pairs.last_mut() {
        last[2] = tail;
    }
}

/// Trees.
impl Heap {
    /// Makes a tree whose inner nodes are expressions of `branching` children each, in `depth` levels, above leaves.
    ///
    /// `leaf` gives the leaves, numbered from the left: a tree of depth 0 is `leaf(0)`, one of depth 1 an expression of
    /// leaves. Nodes lie level by level, the root first.
    pub fn tree(
        &mut self,
        region: &mut Region,
        depth: u32,
        branching: usize,
        mut leaf: impl FnMut(usize) -> Ref,
    ) -> Result<Ref, Full> {
        if depth == 0 {
            return Ok(leaf(0));
        }
        if branching > LENGTH_MAX {
            return self.reserve(region, branching);
        }
        let (nodes, inner) = (nodes(depth, branching), nodes(depth - 1, branching));
        match self.take_row(region, nodes, cells_with_prefix(branching))? {
            Some(at) => Ok(self.write_tree(at, nodes as usize, inner as usize, branching, leaf)),
            None if branching == 1 => self.all_or_nothing(region, |heap, region| heap.chain(region, depth, leaf(0))),
            None => self.all_or_nothing(region, |heap, region| heap.tree_in_pieces(region, depth, branching, leaf)),
        }
    }

    /// Writes nodes from a cell on: `inner` ones with nodes for children, the others with leaves.
    #[inline]
    fn write_tree(
        &mut self,
        at: u32,
        nodes: usize,
        inner: usize,
        branching: usize,
        mut leaf: impl FnMut(usize) -> Ref,
    ) -> Ref {
        let (stride, first) = (cells_with_prefix(branching), word_of(at));
        let prefix = stride - cells_of(branching);
        let header = Ref::new(tag::IMMEDIATE_0, (branching.min(LONG) as u32) << NOTE_BITS);
        let (mut child, mut leaves) = (at + (stride + prefix) as u32, 0..);
        let words = &mut self.words[first..first + nodes * stride * 2];
        for (number, node) in words.chunks_exact_mut(stride * 2).enumerate() {
            if prefix > 0 {
                node[..2].copy_from_slice(&[Ref::new(tag::IMMEDIATE_1, branching as u32), ZERO]);
            }
            node[stride * 2 - 1] = ZERO;
            let node = &mut node[prefix * 2..];
            node[0] = header;
            for word in &mut node[1..1 + branching] {
                if number < inner {
                    *word = Ref::new(tag::EXPRESSION, child);
                    child += stride as u32;
                } else {
                    *word = leaf(leaves.next().unwrap_or_default());
                }
            }
        }
        Ref::new(tag::EXPRESSION, at + prefix as u32)
    }

    fn chain(&mut self, region: &mut Region, depth: u32, leaf: Ref) -> Result<Ref, Full> {
        (0..depth).try_fold(leaf, |child, _| self.expression(region, &[child]))
    }

    /// Makes each node when its last child is there, the leftmost first.
    fn tree_in_pieces(
        &mut self,
        region: &mut Region,
        depth: u32,
        branching: usize,
        leaf: impl FnMut(usize) -> Ref,
    ) -> Result<Ref, Full> {
        // The children of the nodes that are not complete, those of the lowest first.
        let mut open: Vec<Vec<Ref>> = vec![Vec::new(); depth as usize];
        for leaf in (0..).map(leaf) {
            let mut child = leaf;
            for children in &mut open {
                children.push(child);
                if children.len() < branching {
                    break;
                }
                child = self.expression(region, children)?;
                children.clear();
            }
            if open.iter().all(Vec::is_empty) {
                return Ok(child);
            }
        }
        unreachable!("leaves do not end")
    }
}

/// How many nodes a tree of `depth` levels has; more than can be addressed is enough to know.
fn nodes(depth: u32, branching: usize) -> u64 {
    match branching as u64 {
        0 => u64::from(depth.min(1)),
        1 => u64::from(depth),
        branching => {
            let (mut all, mut level) = (0_u64, 1_u64);
            for _ in 0..depth {
                all += level;
                if all > u64::from(u32::MAX) {
                    break;
                }
                level *= branching;
            }
            all
        }
    }
}

/// What is made as a whole or not at all.
impl Heap {
    /// Takes cells in a row for `things` things of `cells` cells each; none if free memory has them only in pieces, perhaps.
    #[inline]
    fn take_row(&mut self, region: &mut Region, things: u64, cells: usize) -> Result<Option<u32>, Full> {
        let cells = things.saturating_mul(cells as u64).min(usize::MAX as u64) as usize;
        match self.take(region, cells) {
            Ok(at) => Ok(Some(at)),
            Err(full) if cells <= CHUNK_CELLS as usize || !could_hold(&self.chunks, &region.expressions, cells) => {
                Err(full)
            }
            Err(_) => {
                self.chunks.failures -= 1;
                Ok(None)
            }
        }
    }

    fn before(&self, region: &Region) -> Before {
        Before { position: region.expressions.position.within_chunk(), given: self.chunks.given(region) }
    }

    /// Gives back the cells of expressions that a region was given since.
    #[cold]
    fn undo(&mut self, region: &mut Region, before: &Before, full: Full) -> Full {
        let cells = self.chunks.given(region) - before.given;
        self.chunks.untake(&mut region.expressions, before.position, cells as usize);
        full
    }

    #[cold]
    fn all_or_nothing(
        &mut self,
        region: &mut Region,
        make: impl FnOnce(&mut Heap, &mut Region) -> Result<Ref, Full>,
    ) -> Result<Ref, Full> {
        let before = self.before(region);
        make(self, region).map_err(|full| self.undo(region, &before, full))
    }
}

/// Whether the limit leaves a lane `cells` cells, wherever they may lie.
fn could_hold(chunks: &Chunks, lane: &Lane, cells: usize) -> bool {
    let free = u64::from(chunks.limit.saturating_sub(chunks.live_count())) * u64::from(CHUNK_CELLS);
    cells as u64 <= free + u64::from(lane.room())
}
