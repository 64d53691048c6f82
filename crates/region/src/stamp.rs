//! Stamps: expressions from which many are copied that differ in a few children.

use crate::heap::{Heap, LONG, NOTE_BITS, ZERO, cells_of, copy_words};
use crate::limit::Full;
use crate::reference::{Ref, tag};
use crate::region::Region;
use crate::words::word_of;

/// What many expressions have in common: made once, and copied by [`Heap::stamp`] in whole cells.
#[derive(Clone, Debug)]
pub struct Stamp {
    length: usize,
    /// The words of the cells, the header without a note first.
    words: Box<[Ref]>,
}

impl Stamp {
    /// A stamp for expressions of these children, of which some are to be replaced in each. `None` if they are too many:
    /// 8,190 is the most.
    pub fn new(children: &[Ref]) -> Option<Stamp> {
        if children.len() >= LONG {
            return None;
        }
        let mut words = vec![ZERO; cells_of(children.len()) * 2];
        words[0] = Ref::new(tag::IMMEDIATE_0, (children.len() as u32) << NOTE_BITS);
        words[1..1 + children.len()].copy_from_slice(children);
        Some(Stamp { length: children.len(), words: words.into() })
    }

    /// The children.
    pub fn children(&self) -> &[Ref] {
        &self.words[1..1 + self.length]
    }

    /// How many there are.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Heap {
    /// Makes an expression from a stamp, with the owner's note.
    #[inline(always)]
    pub fn stamp(&mut self, region: &mut Region, stamp: &Stamp, note: u16) -> Result<Ref, Full> {
        self.stamp_open(region, stamp, note).map(|(made, _)| made)
    }

    /// Makes an expression from a stamp, and gives the children to be replaced.
    #[inline(always)]
    pub fn stamp_open(&mut self, region: &mut Region, stamp: &Stamp, note: u16) -> Result<(Ref, &mut [Ref]), Full> {
        let Some(at) = region.expressions.bump_few(stamp.words.len() / 2) else {
            return self.stamp_elsewhere(region, stamp, note);
        };
        let first = word_of(at);
        let words = &mut self.words[first..first + stamp.words.len()];
        copy_words(words, &stamp.words);
        words[0] = Ref::new(tag::IMMEDIATE_0, stamp.words[0].payload() | u32::from(note));
        Ok((Ref::new(tag::EXPRESSION, at), &mut words[1..]))
    }

    /// Makes an expression from a stamp where the last chunk has too little left.
    #[cold]
    fn stamp_elsewhere(&mut self, region: &mut Region, stamp: &Stamp, note: u16) -> Result<(Ref, &mut [Ref]), Full> {
        let made = self.expression(region, &stamp.words[1..1 + stamp.length])?;
        self.set_note(made, note);
        let first = made.payload() as usize * 2 + 1;
        Ok((made, &mut self.words[first..first + stamp.length]))
    }
}
