//! The hash of a state: the sum, modulo 2^128, of a hash for each page, kept page by page.
//!
//! It says what pages hold and how they are derived, not how they came to be. A page that changes is noted, and hashed when the hash is
//! asked for, so a state whose hash nobody asks for pays a flag for each change.

use crate::node::Node;
use crate::page::{PageId, PageTable};
use crate::record::{put_derivation, put_metadata};
use twox_hash::XxHash3_128;

/// What keeps hashes of metadata apart from those of bytes and derivations.
const METADATA_SEED: u64 = 0x6d65_7461_6d65_7461;

#[derive(Debug, Default)]
pub(crate) struct StateHash {
    sum: u128,
    /// What each place adds to the sum.
    of: Vec<u128>,
    /// The places that have changed since they were hashed.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
}

impl StateHash {
    /// Notes that a place has changed.
    pub(crate) fn note(&mut self, slot: u32) {
        let index = slot as usize;
        if self.is_stale.len() <= index {
            self.is_stale.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.is_stale[index], true) {
            self.stale.push(slot);
        }
    }

    /// The hash of the state.
    pub(crate) fn get(&mut self, pages: &PageTable, nodes: &[Node]) -> u128 {
        self.of.resize(self.of.len().max(pages.slots() as usize), 0);
        for slot in self.stale.drain(..) {
            self.is_stale[slot as usize] = false;
            let Some(of) = self.of.get_mut(slot as usize) else { continue };
            self.sum = self.sum.wrapping_sub(*of);
            *of = hash_of(slot, pages, nodes);
            self.sum = self.sum.wrapping_add(*of);
        }
        self.sum
    }
}

/// What a place adds to the sum: nothing if there is no page.
fn hash_of(slot: u32, pages: &PageTable, nodes: &[Node]) -> u128 {
    let Some(page) = pages.at(slot) else { return 0 };
    let Some(bytes) = &page.bytes else { return 0 };
    let id = PageId { slot, generation: page.generation };
    let seed = u64::from(id.slot) | u64::from(id.generation) << 32;
    let held = XxHash3_128::oneshot_with_seed(seed, bytes);
    let derivation = nodes[slot as usize].derivation.as_ref().map_or(0, |derivation| {
        let mut bytes = Vec::new();
        put_derivation(&mut bytes, &derivation.name, &derivation.dependencies);
        XxHash3_128::oneshot_with_seed(!seed, &bytes)
    });
    let metadata = nodes[slot as usize].metadata.as_ref().map_or(0, |metadata| {
        let mut bytes = Vec::new();
        put_metadata(&mut bytes, metadata);
        XxHash3_128::oneshot_with_seed(seed ^ METADATA_SEED, &bytes)
    });
    held.wrapping_add(derivation).wrapping_add(metadata)
}
