//! What a query reads.

use crate::contents::Contents;
use crate::term::Terms;

/// What a query reads: a space and those that it imports, live and locked or as they were once, and their dictionary.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) spaces: &'a [&'a Contents],
    /// If the patterns of a query ask several spaces: the others, each with those that it imports.
    pub(crate) others: &'a [Vec<&'a Contents>],
    pub(crate) terms: &'a Terms,
}

impl<'a> View<'a> {
    /// One of the spaces that are asked, with those that it imports.
    #[inline]
    pub(super) fn of(self, place: u8) -> &'a [&'a Contents] {
        match usize::from(place).checked_sub(1) {
            None => self.spaces,
            Some(other) => &self.others[other],
        }
    }
}

/// Spaces with more imports are asked by unification: the spaces that may answer a pattern are bits of a word.
pub(super) const SPACES_MAX: usize = 64;

/// Hands on what a space holds, which comes first, and what its imports hold; `None` if there are too many.
pub(crate) fn with_imports<'a, T>(
    own: &'a Contents,
    imports: impl ExactSizeIterator<Item = &'a Contents>,
    work: impl FnOnce(&[&'a Contents]) -> Option<T>,
) -> Option<T> {
    let (mut room, count) = ([own; SPACES_MAX], imports.len());
    room.iter_mut().skip(1).zip(imports).for_each(|(place, import)| *place = import);
    work(room.get(..=count)?)
}
