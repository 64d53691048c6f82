//! Tethers: how threads keep a frozen region while they read it.
//!
//! 1. [`word`] decides, in one atomic number, who may read and who destroys.
//! 2. [`announcement`] is the same for readers that do not count themselves, and is given memory back later.
//! 3. [`slab`] has the slots where words lie, which are never freed: asking a word of something long gone is safe.
//! 4. [`storage`] puts content into slots and hands out tethers and readings. It has all the unsafe code.
//!
//! The first two know nothing of memory, and are compiled a second time by the tests that go through every interleaving.

mod announcement;
mod slab;
mod storage;
mod word;

/// The atomic numbers; in the tests that go through every interleaving, loom's.
mod sync {
    pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}

pub use storage::{FrozenHandle, FrozenStatistics, NoReader, Reader, Reading, Tether, frozen_statistics, reclaim};
pub use word::Refused;

pub(crate) use slab::NoSlot;
pub(crate) use storage::{FrozenContent, store_frozen};
