//! Bytes that several hold, as a part of something longer: keys and values lie in the memory of the batch that they came with.

use std::ops::Deref;
use std::sync::Arc;

/// A part of bytes that are kept as long as one of their parts is.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    whole: Arc<[u8]>,
    from: u32,
    length: u32,
}

impl Shared {
    /// All bytes.
    pub(crate) fn all(whole: Arc<[u8]>) -> Self {
        let length = u32::try_from(whole.len()).expect("values and batches are shorter than 4 GiB");
        Self { whole, from: 0, length }
    }

    /// A part, which is a slice of the whole.
    pub(crate) fn part(whole: &Arc<[u8]>, part: &[u8]) -> Self {
        let from = part.as_ptr().addr() - whole.as_ptr().addr();
        debug_assert!(from + part.len() <= whole.len(), "it is a part of the whole");
        Self { whole: whole.clone(), from: from as u32, length: part.len() as u32 }
    }
}

impl Deref for Shared {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.whole[self.from as usize..][..self.length as usize]
    }
}
