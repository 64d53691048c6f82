//! The memory budget: what a store holds in memory, counted, and what it may.
//!
//! 1. A quarter of the budget is the most that a memtable may take; there are two at most.
//! 2. The rest is for the indexes of runs: heads, fences, filter, model and checksums, which a lookup asks before it reads its one page. A
//!    run that is first asked takes a copy of its own of them, as long as the budget lasts. After that, indexes stay in the mapping
//!    of their file, where the system keeps or drops them as it does with pages.
//!
//! Pages of files that are mapped are the system's: it takes them back whenever memory gets short.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What may be held, and what is.
#[derive(Debug)]
pub(crate) struct Memory {
    /// For the indexes of runs, in bytes.
    limit: usize,
    held: AtomicUsize,
}

/// A share that is held until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Memory {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, held: AtomicUsize::new(0) })
    }

    /// Takes a share of `bytes` bytes, if that much is left.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<Share> {
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= self.limit);
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
        Some(Share { memory: self.clone(), bytes })
    }

    /// How much is held, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is() {
        let memory = Memory::new(100);
        let share = memory.take(60).unwrap();
        assert!(memory.take(41).is_none() && memory.take(usize::MAX).is_none());
        assert_eq!(memory.held(), 60);
        drop(share);
        assert_eq!((memory.held(), memory.take(100).is_some()), (0, true));
    }
}
