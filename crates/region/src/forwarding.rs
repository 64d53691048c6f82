//! Where cells went in a copy: a table beside the heap, with an entry for each of its cells.
//!
//! The table is not cleared between copies: an entry with an older stamp is not an entry. It grows with the heap.

/// Where a cell went, if the stamp is that of the copy.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ForwardingEntry {
    pub(crate) to: u32,
    pub(crate) stamp: u32,
}

/// Where cells went, by their number.
#[derive(Debug)]
pub(crate) struct ForwardingTable {
    entries: Vec<ForwardingEntry>,
    pub(crate) stamp: u32,
    pub(crate) cells_copied: u64,
    /// Cells that were copied with a map instead of the table.
    pub(crate) rented: u64,
}

impl ForwardingTable {
    pub(crate) fn new() -> ForwardingTable {
        ForwardingTable { entries: Vec::new(), stamp: 0, cells_copied: 0, rented: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<ForwardingEntry>()
    }

    /// How many cells the table covers.
    pub(crate) fn length(&self) -> usize {
        self.entries.len()
    }

    /// Gives the table back.
    pub(crate) fn give_back(&mut self) {
        self.entries = Vec::new();
    }

    /// A stamp that no entry has.
    pub(crate) fn begin(&mut self) {
        if self.stamp == u32::MAX {
            self.entries.fill(ForwardingEntry::default());
            self.stamp = 0;
        }
        self.stamp += 1;
    }

    /// Makes the table long enough for `cells` cells. A heap that is used in the same way again may take a few more, so there
    /// is room for an eighth more if the system gives it.
    pub(crate) fn grow(&mut self, cells: usize) -> bool {
        let missing = cells.saturating_sub(self.entries.len());
        if missing == 0 {
            return true;
        }
        let has_room = cells <= self.entries.capacity()
            || self.entries.try_reserve_exact(missing + cells / 8).is_ok()
            || self.entries.try_reserve_exact(missing).is_ok();
        if has_room {
            self.entries.resize(cells, ForwardingEntry::default());
        }
        has_room
    }

    #[inline]
    pub(crate) fn get(&self, cell: u32) -> Option<u32> {
        match self.entries.get(cell as usize) {
            Some(entry) if entry.stamp == self.stamp => Some(entry.to),
            _ => None,
        }
    }

    /// All entries, and the stamp of those that count.
    #[inline(always)]
    pub(crate) fn all(&mut self) -> (&mut [ForwardingEntry], u32) {
        (&mut self.entries, self.stamp)
    }

    /// The entry of a cell, and the stamp that it has if the cell was copied.
    #[inline(always)]
    pub(crate) fn entry(&mut self, cell: u32) -> Option<(&mut ForwardingEntry, u32)> {
        Some((self.entries.get_mut(cell as usize)?, self.stamp))
    }

    #[inline]
    pub(crate) fn set(&mut self, cell: u32, to: u32) {
        self.entries[cell as usize] = ForwardingEntry { to, stamp: self.stamp };
    }
}
