//! A transaction: changes that are made together, or not at all.
//!
//! It is a list of steps, made by any thread without a look at the state. What it makes has no name yet: [`NewPage`] stands for
//! it in later steps. Names are given when it is committed, in the order of the transactions, so they are the same in every run,
//! however many threads make transactions.

use crate::Epoch;
use crate::function::FunctionName;
use crate::merge::Merge;
use crate::metadata::Metadata;
use crate::page::PageId;
use std::ops::Range;

/// A page that a transaction makes, before it has a name: its place among those that the transaction makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NewPage(pub(crate) u32);

impl NewPage {
    /// Where its name is in [`Commit::created`](crate::Commit::created).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A page, as a transaction names it: one that is there, or one that the transaction makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PageRef {
    /// One that is there.
    Existing(PageId),
    /// One that the transaction makes, in an earlier step.
    New(NewPage),
}

impl From<PageId> for PageRef {
    fn from(page: PageId) -> Self {
        Self::Existing(page)
    }
}

impl From<NewPage> for PageRef {
    fn from(page: NewPage) -> Self {
        Self::New(page)
    }
}

/// Which bytes of a page a write changes: a bit for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    words: Vec<u64>,
    length: usize,
}

impl Mask {
    /// A mask for a page of this many bytes, which changes none.
    pub fn new(length: usize) -> Self {
        Self { words: vec![0; length.div_ceil(64)], length }
    }

    /// How many bytes the page has.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the page has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Changes a byte as well.
    ///
    /// # Panics
    /// The page has no such byte.
    pub fn set(&mut self, byte: usize) {
        assert!(byte < self.length, "byte {byte} of a mask for {} bytes", self.length);
        self.words[byte / 64] |= 1 << (byte % 64);
    }

    /// Changes a range of bytes as well.
    ///
    /// # Panics
    /// The page does not have them all.
    pub fn set_range(&mut self, bytes: Range<usize>) {
        bytes.for_each(|byte| self.set(byte));
    }

    /// How many bytes it changes.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The bytes it changes, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let next = |bits: &u64| Some(bits & (bits - 1)).filter(|&bits| bits != 0);
            let bits = std::iter::successors(Some(word).filter(|&word| word != 0), next);
            bits.map(move |bits| index * 64 + bits.trailing_zeros() as usize)
        })
    }
}

/// Where the bytes of a step are, among those of its transaction.
pub(crate) type BytesOf = Range<usize>;

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Create { bytes: BytesOf },
    Derive { length: usize, function: FunctionName, dependencies: Box<[PageRef]> },
    Rederive { page: PageRef, function: FunctionName, dependencies: Box<[PageRef]> },
    Delete { page: PageRef },
    Describe { page: PageRef, metadata: Box<Metadata> },
    Write { page: PageRef, offset: usize, bytes: BytesOf },
    WriteMasked { page: PageRef, mask: Mask, bytes: BytesOf },
    Merge { page: PageRef, offset: usize, merge: Merge, operand: BytesOf },
}

/// Changes that are made together, or not at all.
///
/// Steps are made in the order in which they are given. A step that cannot be made is found when the transaction is committed, and the
/// whole of it is refused then.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    pub(crate) steps: Vec<Step>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) created: u32,
    pub(crate) source: String,
    pub(crate) cause: Option<Epoch>,
}

impl Transaction {
    /// A transaction without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says where the changes come from: `sensor 7`, `import of prices.csv`. It is logged, and part of the answer to
    /// [`State::why`](crate::State::why).
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = source.into();
        self
    }

    /// Says which commit the changes follow from: one whose notice made somebody write them, for example. It is logged, and part of the
    /// answer to [`State::why`](crate::State::why).
    #[must_use]
    pub fn caused_by(mut self, commit: Epoch) -> Self {
        self.cause = Some(commit);
        self
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Forgets the steps, to be filled again. The source stays, and the cause.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.bytes.clear();
        self.created = 0;
    }

    /// Makes a page that holds these bytes. It is as long as they are for ever.
    pub fn create(&mut self, bytes: &[u8]) -> NewPage {
        let bytes = self.keep(bytes);
        self.steps.push(Step::Create { bytes });
        self.new_page()
    }

    /// Makes a page of `length` bytes that a function derives from what other pages hold. The function can read those pages only, in the
    /// order in which they are named here.
    pub fn derive<P: Into<PageRef>>(
        &mut self,
        length: usize,
        function: FunctionName,
        dependencies: impl IntoIterator<Item = P>,
    ) -> NewPage {
        let dependencies = dependencies.into_iter().map(Into::into).collect();
        self.steps.push(Step::Derive { length, function, dependencies });
        self.new_page()
    }

    /// Derives a page that is derived already by another function, or from other pages.
    pub fn rederive<P: Into<PageRef>>(
        &mut self,
        page: impl Into<PageRef>,
        function: FunctionName,
        dependencies: impl IntoIterator<Item = P>,
    ) {
        let dependencies = dependencies.into_iter().map(Into::into).collect();
        self.steps.push(Step::Rederive { page: page.into(), function, dependencies });
    }

    /// Says what a page is to its users, in place of what was said before; with nothing in it, that is forgotten.
    pub fn describe(&mut self, page: impl Into<PageRef>, metadata: Metadata) {
        self.steps.push(Step::Describe { page: page.into(), metadata: Box::new(metadata) });
    }

    /// Deletes a page. What is derived from it must be deleted before it.
    pub fn delete(&mut self, page: impl Into<PageRef>) {
        self.steps.push(Step::Delete { page: page.into() });
    }

    /// Writes bytes from byte `offset` of a page on.
    pub fn write(&mut self, page: impl Into<PageRef>, offset: usize, bytes: &[u8]) {
        let bytes = self.keep(bytes);
        self.steps.push(Step::Write { page: page.into(), offset, bytes });
    }

    /// Writes the bytes of a page that the mask names, in their order: one byte of `bytes` for each bit of the mask.
    pub fn write_masked(&mut self, page: impl Into<PageRef>, mask: Mask, bytes: &[u8]) {
        let bytes = self.keep(bytes);
        self.steps.push(Step::WriteMasked { page: page.into(), mask, bytes });
    }

    /// Merges an operand with what a page holds from byte `offset` on, when the transaction is committed.
    pub fn merge(&mut self, page: impl Into<PageRef>, offset: usize, merge: Merge, operand: &[u8]) {
        let operand = self.keep(operand);
        self.steps.push(Step::Merge { page: page.into(), offset, merge, operand });
    }

    fn keep(&mut self, bytes: &[u8]) -> BytesOf {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn new_page(&mut self) -> NewPage {
        self.created += 1;
        NewPage(self.created - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_names_the_bytes_that_were_set() {
        let mut mask = Mask::new(200);
        mask.set_range(62..67);
        mask.set(199);
        mask.set(0);
        assert_eq!(mask.iter().collect::<Vec<_>>(), [0, 62, 63, 64, 65, 66, 199]);
        assert_eq!((mask.count(), mask.len(), mask.is_empty()), (7, 200, false));
    }
}
