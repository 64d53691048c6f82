//! What a transaction has done so far, and what was before.

use crate::Epoch;
use crate::node::Node;
use crate::page::{Page, PageId};
use crate::record::Structural;
use std::ops::Range;
use std::sync::Arc;

/// What was before, to be put back if the transaction is refused.
#[derive(Default)]
pub(crate) struct Saved {
    /// What was at a place, in the order in which places were first touched.
    pub(crate) pages: Vec<(u32, Page)>,
    pub(crate) is_saved: Vec<bool>,
    /// How a page was derived, before each step that changed that.
    pub(crate) nodes: Vec<(u32, Node)>,
    /// When a page was last derived.
    pub(crate) ran: Vec<(u32, Epoch)>,
    /// The free places, if the transaction makes or deletes pages.
    pub(crate) free: Option<(Vec<u32>, u32)>,
}

impl Saved {
    /// Puts bytes in the place of those of a page, and keeps these if they are what was before. Otherwise they are given back.
    pub(crate) fn replace(&mut self, slot: u32, page: &mut Page, bytes: Arc<[u8]>) -> Option<Arc<[u8]>> {
        let before = page.bytes.replace(bytes);
        if self.mark(slot) {
            let Page { generation, created, changed, .. } = *page;
            self.pages.push((slot, Page { bytes: before, generation, created, changed }));
            return None;
        }
        before
    }

    /// Puts the places in order.
    pub(crate) fn sort(&mut self) {
        self.pages.sort_unstable_by_key(|(slot, _)| *slot);
    }

    /// Keeps what is at a place, if it was not touched before.
    pub(crate) fn keep(&mut self, slot: u32, page: &Page) {
        if self.mark(slot) {
            self.pages.push((slot, page.clone()));
        }
    }

    /// The places of which the hash of the state may be another one now: of pages that were touched, and of those that are derived in another
    /// way, which may hold the bytes that they held before.
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> {
        self.pages.iter().map(|(slot, _)| *slot).chain(self.nodes.iter().map(|(slot, _)| *slot))
    }

    /// Whether a place was touched.
    pub(crate) fn has(&self, slot: u32) -> bool {
        self.is_saved.get(slot as usize).is_some_and(|&is_saved| is_saved)
    }

    /// Whether a place was not touched before.
    pub(crate) fn mark(&mut self, slot: u32) -> bool {
        let index = slot as usize;
        if self.is_saved.len() <= index {
            self.is_saved.resize(index + 1, false);
        }
        !std::mem::replace(&mut self.is_saved[index], true)
    }
}

/// Memory that commits use one after the other.
#[derive(Default)]
pub(crate) struct Work {
    pub(crate) saved: Saved,
    /// The pages that it made, in the order of the steps.
    pub(crate) created: Vec<PageId>,
    pub(crate) structure: Vec<Structural>,
    /// Pages that are to be derived whatever changes.
    pub(crate) to_derive: Vec<u32>,
    /// Pages that were written with what they held already, once for each time.
    pub(crate) equal: Vec<u32>,
    /// Pages that were written and differ.
    pub(crate) changed: Vec<u32>,
    pub(crate) runs: Vec<Range<usize>>,
    /// The commit as it is logged.
    pub(crate) frame: Vec<u8>,
    /// How many bytes of each page that was written differ.
    pub(crate) written: Vec<(PageId, u64)>,
    /// How long applying the steps took.
    pub(crate) applied: u64,
}

impl Work {
    /// How many pages were written with what they held already, and not otherwise.
    pub(crate) fn equal_pages(&mut self) -> u64 {
        let Self { equal, saved, .. } = self;
        equal.sort_unstable();
        equal.dedup();
        equal.iter().filter(|&&slot| !saved.has(slot)).count() as u64
    }

    /// Forgets everything but its memory.
    pub(crate) fn clear(&mut self) {
        self.saved.nodes.clear();
        self.saved.ran.clear();
        self.saved.free = None;
        self.created.clear();
        self.structure.clear();
        self.to_derive.clear();
        self.changed.clear();
        self.equal.clear();
        self.written.clear();
    }
}
