//! Where pages lie, and what they cost there.
//!
//! All pages of a state lie in the memory of the process, and a state says so. What lies on a GPU besides is a copy that a
//! [`PageSet`](crate::PageSet) has there, and the set says so as long as that is current.

use crate::node::Node;
use crate::page::{Page, PageId};
use crate::state::State;

/// Where a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Location {
    /// In the memory of this process.
    Memory,
    /// In the memory of this process, and a copy that is current on a GPU.
    MemoryAndGpu,
}

/// What the pages of a location cost there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// How many pages lie there.
    pub pages: u64,
    /// How many bytes they hold.
    pub bytes: u64,
    /// What the state keeps about them beside that: their table, and how they are derived. Without what functions themselves keep.
    pub overhead_bytes: u64,
    /// Bytes of pages that are gone, kept for the next ones.
    pub spare_bytes: u64,
}

impl State {
    /// Where a page lies; none if it is not there.
    pub fn location(&self, page: PageId) -> Option<Location> {
        self.pages.get(page).map(|_| Location::Memory)
    }

    /// What the pages of a location cost there. It takes a look at each page. What snapshots keep besides is not counted: it is shared, and
    /// goes with the last of them.
    pub fn cost(&self, location: Location) -> Cost {
        match location {
            // A state has no copies there.
            Location::MemoryAndGpu => Cost::default(),
            Location::Memory => {
                let spare_bytes = self.buffers.spare_bytes() as u64;
                self.pages.iter().fold(Cost { spare_bytes, ..Cost::default() }, |cost, (id, page)| {
                    let derivation = self.nodes[id.slot as usize].derivation.as_ref();
                    let dependencies = derivation.map_or(0, |derivation| size_of_val(&*derivation.dependencies));
                    // A page is an entry of the table, counts of its bytes, and a node.
                    let entry = size_of::<Page>() + 2 * size_of::<usize>() + size_of::<Node>();
                    Cost {
                        pages: cost.pages + 1,
                        bytes: cost.bytes + page.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
                        overhead_bytes: cost.overhead_bytes + (entry + dependencies) as u64,
                        ..cost
                    }
                })
            }
        }
    }
}
