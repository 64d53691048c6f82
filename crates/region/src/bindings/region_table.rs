//! Regions kept in a table, for owners that cannot hold them as values: other languages, and data that refers to regions.
//!
//! A [`RegionHandle`] is a slot of the table and the generation that the slot is in. When a region is freed its slot's generation
//! rises, so a handle to it is recognized as stale for ever; a slot whose generations are used up is not used again.
//!
//! A region in the table lives while it is open, or retained, or tethered:
//!
//! 1. It is opened, perhaps within another one, its *parent*, which cannot be closed before it, and which it retains: what is
//!    in it may refer to what is in the parent.
//! 2. It is retained by its owner or by another region ([`RegionTable::refer`]), and released; it is tethered while it is read.
//! 3. It is closed, or leaves with its result for another region ([`RegionTable::leave`]). If nothing retains or tethers it, it is
//!    freed at once, and otherwise by the last release. Whatever it retained is released then.
//!
//! Regions that retain each other in a ring are freed with the table. One that leaves for another region than its parent takes
//! along that it retains the parent; for a region further out, that would be a ring: let it leave level by level.
//!
//! All operations but [`RegionTable::leave`] and [`RegionTable::check`] are O(1), freeing counted where it was caused. The rules are
//! those of the RC-G runtime of Omnilisp, where an operation too many went unnoticed: here it is an error.

use std::error::Error;
use std::fmt;

use crate::heap::Heap;
use crate::limit::Full;
use crate::reference::Ref;
use crate::region::Region;
use crate::splice::StillOpen;
use crate::transmigrate::EscapeReport;

/// A region in a table: its slot, and the generation of the slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RegionHandle {
    slot: u32,
    generation: u32,
}

impl RegionHandle {
    /// The handle as a word, for other languages: the slot above the generation. It is never 0.
    pub fn bits(self) -> u64 {
        u64::from(self.slot) << 32 | u64::from(self.generation)
    }

    /// The handle with these [`RegionHandle::bits`]. Any other word makes a handle that every operation refuses.
    pub fn from_bits(bits: u64) -> RegionHandle {
        RegionHandle { slot: (bits >> 32) as u32, generation: bits as u32 }
    }
}

/// Why an operation on a handle was refused. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HandleError {
    /// The table never gave out such a handle.
    Unknown,
    /// The region was freed.
    Freed,
    /// The region was closed, and lives only because it is retained or tethered.
    Closed,
    /// This many regions that were opened within it are still open.
    HasChildren(u32),
    /// The region is retained this many times; it cannot be joined to another one.
    Retained(u32),
    /// The region is tethered this many times; it cannot be joined to another one.
    Tethered(u32),
    /// The region is not retained by its owner, so there is nothing to release.
    NotRetained,
    /// The region is not tethered.
    NotTethered,
    /// What was to be stored lies in a region that may be freed before the one it is stored in.
    Foreign(Ref),
    /// Both handles are the same.
    Same,
    /// The region has been retained or tethered as often as can be counted, or there are as many regions as slots.
    TooMany,
    /// A limit of memory was reached.
    Full(Full),
}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandleError::Unknown => write!(f, "no region ever had this handle; use one that this table gave out"),
            HandleError::Freed => {
                write!(f, "the region was freed; retain a region that is to be used after it is closed")
            }
            HandleError::Closed => write!(f, "the region was closed before; nothing more can be made in it or closed"),
            HandleError::HasChildren(1) => write!(f, "a region within the region is still open; close that one first"),
            HandleError::HasChildren(count) => {
                write!(f, "{count} regions within the region are still open; close them first")
            }
            HandleError::Retained(count) => {
                write!(f, "the region is retained {count} times and cannot be joined to another; copy what is wanted")
            }
            HandleError::Tethered(count) => {
                write!(f, "the region is tethered {count} times and cannot be joined to another; copy what is wanted")
            }
            HandleError::NotRetained => write!(f, "the region is not retained by its owner; release it once a retain"),
            HandleError::NotTethered => write!(f, "the region is not tethered; end a tether once"),
            HandleError::Foreign(_) => {
                write!(f, "the value lies in a region that may be freed first; copy it, or let this region refer to it")
            }
            HandleError::Same => write!(f, "both regions are the same; give two"),
            HandleError::TooMany => write!(f, "too many to be counted; release some first"),
            HandleError::Full(full) => full.fmt(f),
        }
    }
}

impl Error for HandleError {}

impl From<Full> for HandleError {
    fn from(full: Full) -> HandleError {
        HandleError::Full(full)
    }
}

/// What became of a region that was closed or released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseOutcome {
    /// Its memory was given back.
    Freed,
    /// It lives: something still opens, retains or tethers it.
    Kept,
}

/// A heap and the regions in it, by handle.
#[derive(Debug, Default)]
pub struct RegionTable {
    heap: Heap,
    slots: Vec<Slot>,
    /// Slots without a region that can have one.
    free: Vec<u32>,
    count: usize,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    entry: Option<TableEntry>,
}

/// A region that lives.
#[derive(Debug)]
struct TableEntry {
    region: Region,
    is_open: bool,
    /// By the owner and by other regions.
    external: u32,
    /// Of those, by other regions.
    referred: u32,
    tethers: u32,
    parent: Option<RegionHandle>,
    children: u32,
    /// The regions that this one retains.
    refers: Vec<RegionHandle>,
}

impl TableEntry {
    fn lives(&self) -> bool {
        self.is_open || self.external > 0 || self.tethers > 0
    }
}

/// Opening, closing and counting.
impl RegionTable {
    /// A table of regions in a heap of their own.
    pub fn new(heap: Heap) -> RegionTable {
        RegionTable { heap, slots: Vec::new(), free: Vec::new(), count: 0 }
    }

    /// The heap that all regions of the table lie in.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// The heap that all regions of the table lie in, to change what is in it. What it makes goes to regions of the table through
    /// [`RegionTable::parts`].
    pub fn heap_mut(&mut self) -> &mut Heap {
        &mut self.heap
    }

    /// How many regions live.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Cells that the regions have left of their last chunks, and tethers on them. A step for each region.
    pub fn unused_and_tethers(&self) -> (u64, u64) {
        let entries = self.slots.iter().filter_map(|slot| slot.entry.as_ref());
        entries.fold((0, 0), |(cells, tethers), entry| {
            (cells + self.heap.cells_ahead(&entry.region), tethers + u64::from(entry.tethers))
        })
    }

    /// A new region.
    pub fn open(&mut self) -> Result<RegionHandle, HandleError> {
        self.add(None)
    }

    /// A new region within another one, which cannot be closed before it and lives as long as it does.
    pub fn open_within(&mut self, parent: RegionHandle) -> Result<RegionHandle, HandleError> {
        if self.opened(parent)?.external == u32::MAX {
            return Err(HandleError::TooMany);
        }
        let child = self.add(Some(parent))?;
        self.refer(child, parent)?;
        self.entry_mut(parent)?.children += 1;
        Ok(child)
    }

    fn add(&mut self, parent: Option<RegionHandle>) -> Result<RegionHandle, HandleError> {
        let region = self.heap.open();
        let entry = TableEntry {
            region,
            is_open: true,
            external: 0,
            referred: 0,
            tethers: 0,
            parent,
            children: 0,
            refers: Vec::new(),
        };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                let slot = u32::try_from(self.slots.len()).map_err(|_| HandleError::TooMany)?;
                self.slots.push(Slot { generation: 1, entry: None });
                slot
            }
        };
        self.slots[slot as usize].entry = Some(entry);
        self.count += 1;
        Ok(RegionHandle { slot, generation: self.slots[slot as usize].generation })
    }

    /// Closes a region. Nothing more can be made in it; it is freed unless it is retained or tethered.
    pub fn close(&mut self, handle: RegionHandle) -> Result<ReleaseOutcome, HandleError> {
        self.may_close(handle)?;
        Ok(self.closed(handle))
    }

    /// An open region whose children are closed.
    fn may_close(&self, handle: RegionHandle) -> Result<&TableEntry, HandleError> {
        match self.opened(handle)? {
            entry if entry.children > 0 => Err(HandleError::HasChildren(entry.children)),
            entry => Ok(entry),
        }
    }

    fn closed(&mut self, handle: RegionHandle) -> ReleaseOutcome {
        let parent = self.entry_mut(handle).ok().and_then(|entry| {
            entry.is_open = false;
            entry.parent
        });
        if let Some(parent) = parent.and_then(|parent| self.entry_mut(parent).ok()) {
            parent.children -= 1;
        }
        self.free_if_dead(handle)
    }

    /// Takes note that an owner has closed a region and opened it again by itself, up to a later generation of its slot. Handles of
    /// earlier generations are those of freed regions from then on.
    ///
    /// Only for a region that nothing was done with since it was opened, and which has no region around it. A handle of another slot or of an earlier generation
    /// is refused.
    pub fn renew(&mut self, handle: RegionHandle, now: RegionHandle) -> Result<(), HandleError> {
        self.opened(handle)?;
        if now.slot != handle.slot || now.generation < handle.generation {
            return Err(HandleError::Unknown);
        }
        self.slots[handle.slot as usize].generation = now.generation;
        Ok(())
    }

    /// Retains a region, open or closed: it lives until it is released as often.
    pub fn retain(&mut self, handle: RegionHandle) -> Result<(), HandleError> {
        let external = &mut self.entry_mut(handle)?.external;
        *external = external.checked_add(1).ok_or(HandleError::TooMany)?;
        Ok(())
    }

    /// Takes back one [`RegionTable::retain`].
    pub fn release(&mut self, handle: RegionHandle) -> Result<ReleaseOutcome, HandleError> {
        let entry = self.entry_mut(handle)?;
        if entry.external == entry.referred {
            return Err(HandleError::NotRetained);
        }
        entry.external -= 1;
        Ok(self.free_if_dead(handle))
    }

    /// Lets a region retain another one for as long as it lives: what is in the first one may refer to what is in the second.
    pub fn refer(&mut self, from: RegionHandle, to: RegionHandle) -> Result<(), HandleError> {
        self.opened(from)?;
        if from == to {
            return Err(HandleError::Same);
        }
        self.retain(to)?;
        self.entry_mut(to)?.referred += 1;
        self.entry_mut(from)?.refers.push(to);
        Ok(())
    }

    /// Keeps a region alive while it is read, by this thread.
    pub fn tether(&mut self, handle: RegionHandle) -> Result<(), HandleError> {
        let tethers = &mut self.entry_mut(handle)?.tethers;
        *tethers = tethers.checked_add(1).ok_or(HandleError::TooMany)?;
        Ok(())
    }

    /// Ends one [`RegionTable::tether`].
    pub fn untether(&mut self, handle: RegionHandle) -> Result<ReleaseOutcome, HandleError> {
        let tethers = &mut self.entry_mut(handle)?.tethers;
        *tethers = tethers.checked_sub(1).ok_or(HandleError::NotTethered)?;
        Ok(self.free_if_dead(handle))
    }

    /// Frees a region that does not live any more, and those that only it retained.
    fn free_if_dead(&mut self, handle: RegionHandle) -> ReleaseOutcome {
        let Some(refers) = self.free_one(handle) else { return ReleaseOutcome::Kept };
        let mut open = refers;
        while let Some(handle) = open.pop() {
            if let Ok(other) = self.entry_mut(handle) {
                (other.external, other.referred) = (other.external - 1, other.referred - 1);
            }
            open.extend(self.free_one(handle).into_iter().flatten());
        }
        ReleaseOutcome::Freed
    }

    /// Frees a region that does not live any more. Gives those that it retained.
    fn free_one(&mut self, handle: RegionHandle) -> Option<Vec<RegionHandle>> {
        if self.entry(handle).ok()?.lives() {
            return None;
        }
        let entry = self.take(handle)?;
        self.heap.close(entry.region);
        Some(entry.refers)
    }

    /// Takes a region out of its slot, which is free then unless its generations are used up.
    fn take(&mut self, handle: RegionHandle) -> Option<TableEntry> {
        let slot = &mut self.slots[handle.slot as usize];
        let entry = slot.entry.take()?;
        self.count -= 1;
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(handle.slot);
        }
        Some(entry)
    }

    fn slot(&self, handle: RegionHandle) -> Result<&Slot, HandleError> {
        let slot = self.slots.get(handle.slot as usize).ok_or(HandleError::Unknown)?;
        match slot.generation.cmp(&handle.generation) {
            std::cmp::Ordering::Less => Err(HandleError::Unknown),
            _ if handle.generation == 0 => Err(HandleError::Unknown),
            std::cmp::Ordering::Greater => Err(HandleError::Freed),
            std::cmp::Ordering::Equal => Ok(slot),
        }
    }

    fn entry(&self, handle: RegionHandle) -> Result<&TableEntry, HandleError> {
        self.slot(handle)?.entry.as_ref().ok_or(HandleError::Freed)
    }

    fn entry_mut(&mut self, handle: RegionHandle) -> Result<&mut TableEntry, HandleError> {
        self.slot(handle)?;
        self.slots[handle.slot as usize].entry.as_mut().ok_or(HandleError::Freed)
    }

    fn opened(&self, handle: RegionHandle) -> Result<&TableEntry, HandleError> {
        match self.entry(handle)? {
            entry if entry.is_open => Ok(entry),
            _ => Err(HandleError::Closed),
        }
    }
}

/// What is in regions.
impl RegionTable {
    /// The heap and an open region, to make something in it.
    ///
    /// What refers to other regions from there is not checked; [`RegionTable::check`] does that.
    pub fn parts(&mut self, handle: RegionHandle) -> Result<(&mut Heap, &mut Region), HandleError> {
        self.opened(handle)?;
        let entry = self.slots[handle.slot as usize].entry.as_mut().ok_or(HandleError::Freed)?;
        Ok((&mut self.heap, &mut entry.region))
    }

    /// A region that lives, open or closed.
    pub fn region(&self, handle: RegionHandle) -> Result<&Region, HandleError> {
        Ok(&self.entry(handle)?.region)
    }

    /// Whether what lies in a region may refer to this: an immediate, or what lies in the region itself, in one that it was
    /// opened within, or in one that it [refers](RegionTable::refer) to. Steps for each of those.
    pub fn check(&self, handle: RegionHandle, reference: Ref) -> Result<(), HandleError> {
        let mut outer = Some(handle);
        if reference.is_immediate() {
            return self.entry(handle).map(|_| ());
        }
        while let Some(at) = outer {
            let Ok(entry) = self.entry(at) else { break };
            if self.heap.holds(&entry.region, reference) {
                return Ok(());
            }
            outer = entry.parent;
        }
        let refers = &self.entry(handle)?.refers;
        let is_retained =
            |other: &RegionHandle| self.entry(*other).is_ok_and(|entry| self.heap.holds(&entry.region, reference));
        if refers.iter().any(is_retained) { Ok(()) } else { Err(HandleError::Foreign(reference)) }
    }

    /// Makes an expression of children that a region [may refer](RegionTable::check) to.
    pub fn expression(&mut self, handle: RegionHandle, children: &[Ref]) -> Result<Ref, HandleError> {
        children.iter().try_for_each(|child| self.check(handle, *child))?;
        let (heap, region) = self.parts(handle)?;
        Ok(heap.expression(region, children)?)
    }

    /// Replaces a child of an expression in a region by what the region [may refer](RegionTable::check) to. The index must be
    /// below the length of the expression.
    pub fn set_child(&mut self, handle: RegionHandle, of: Ref, index: usize, child: Ref) -> Result<(), HandleError> {
        self.stores(handle, of, child)?;
        self.heap.set_child(of, index, child);
        Ok(())
    }

    /// Binds a variable in a region to what the region [may refer](RegionTable::check) to.
    pub fn bind(&mut self, handle: RegionHandle, variable: Ref, value: Ref) -> Result<(), HandleError> {
        self.stores(handle, variable, value)?;
        self.heap.bind(variable, value);
        Ok(())
    }

    fn stores(&self, handle: RegionHandle, into: Ref, value: Ref) -> Result<(), HandleError> {
        let entry = self.opened(handle)?;
        if !self.heap.holds(&entry.region, into) {
            return Err(HandleError::Foreign(into));
        }
        self.check(handle, value)
    }

    /// Closes a region by [joining](Heap::splice) it to another one, which is open. Refused while it is retained or tethered.
    pub fn splice(&mut self, from: RegionHandle, to: RegionHandle) -> Result<(), HandleError> {
        self.may_leave(from, to)?;
        let entry = self.entry(from)?;
        if entry.tethers > 0 {
            return Err(HandleError::Tethered(entry.tethers));
        }
        if entry.external > 0 {
            return Err(HandleError::Retained(entry.external));
        }
        self.moving(from, to, Heap::splice)
    }

    /// Closes a region and moves what roots lead to to another one, which is open, the [cheapest way](Heap::transmigrate). If
    /// the region is retained or tethered, it stays as it is, and what leaves is a copy.
    ///
    /// The other region retains from now on what the region retained.
    pub fn leave(
        &mut self,
        from: RegionHandle,
        to: RegionHandle,
        roots: &mut [Ref],
    ) -> Result<EscapeReport, HandleError> {
        self.may_leave(from, to)?;
        let entry = self.entry(from)?;
        if entry.tethers == 0 && entry.external == 0 {
            return self.moving(from, to, |heap, region, to| heap.transmigrate(roots, region, to));
        }
        let refers = entry.refers.clone();
        let (source, target) = (self.lend(from)?, self.lend(to)?);
        let (result, source, target) = copy(&mut self.heap, roots, source, target);
        self.entry_mut(from)?.region = source;
        self.entry_mut(to)?.region = target;
        let report = result?;
        for other in refers {
            if other != to {
                self.refer(to, other)?;
            }
        }
        self.closed(from);
        Ok(report)
    }

    /// Closes a region and [copies](Heap::copy_to) what roots lead to to an open region of another table. If the region is
    /// retained or tethered, it stays as it is.
    ///
    /// `foreign` is as for [`Heap::copy_to`]. After an error everything is as it was.
    pub fn leave_for(
        &mut self,
        from: RegionHandle,
        target: &mut RegionTable,
        to: RegionHandle,
        roots: &mut [Ref],
        foreign: impl FnMut(Ref) -> Ref,
    ) -> Result<EscapeReport, HandleError> {
        self.may_close(from)?;
        let (heap, region) = target.parts(to)?;
        let source = self.lend(from)?;
        let result = self.heap.copy_to(roots, &source, heap, region, foreign);
        self.entry_mut(from)?.region = source;
        let report = result?;
        self.closed(from);
        Ok(report)
    }

    fn may_leave(&self, from: RegionHandle, to: RegionHandle) -> Result<(), HandleError> {
        if from == to {
            return Err(HandleError::Same);
        }
        self.may_close(from)?;
        self.opened(to).map(|_| ())
    }

    /// A region's value, for as long as nobody else looks.
    fn lend(&mut self, handle: RegionHandle) -> Result<Region, HandleError> {
        Ok(std::mem::replace(&mut self.entry_mut(handle)?.region, Region::EMPTY))
    }

    /// Moves a region that nothing retains into another one; frees its handle.
    fn moving<T>(
        &mut self,
        from: RegionHandle,
        to: RegionHandle,
        by: impl FnOnce(&mut Heap, Region, &mut Region) -> Result<T, StillOpen>,
    ) -> Result<T, HandleError> {
        let (source, mut target) = (self.lend(from)?, self.lend(to)?);
        let result = by(&mut self.heap, source, &mut target);
        self.entry_mut(to)?.region = target;
        match result {
            Err(StillOpen { full, region }) => {
                self.entry_mut(from)?.region = region;
                Err(full.into())
            }
            Ok(moved) => {
                let (to_itself, mut others): (Vec<RegionHandle>, Vec<RegionHandle>) =
                    std::mem::take(&mut self.entry_mut(from)?.refers).into_iter().partition(|other| *other == to);
                let target = self.entry_mut(to)?;
                target.refers.append(&mut others);
                // A region that retained itself would never be freed.
                let count = to_itself.len() as u32;
                (target.external, target.referred) = (target.external - count, target.referred - count);
                self.closed(from);
                Ok(moved)
            }
        }
    }
}

/// Copies what roots lead to out of a region that stays.
fn copy(
    heap: &mut Heap,
    roots: &mut [Ref],
    from: Region,
    mut to: Region,
) -> (Result<EscapeReport, Full>, Region, Region) {
    let result = heap.copy_within(roots, &from, &mut to);
    (result, from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot whose generations are used up is never used again.
    #[test]
    fn a_slot_is_retired() {
        let mut regions = RegionTable::new(Heap::new());
        let first = regions.open().expect("there is room");
        assert_eq!(regions.close(first), Ok(ReleaseOutcome::Freed));
        regions.slots[0].generation = u32::MAX;
        let last = regions.open().expect("there is room");
        assert_eq!((last.slot, last.generation), (0, u32::MAX));
        assert_eq!(regions.close(last), Ok(ReleaseOutcome::Freed));
        let next = regions.open().expect("there is room");
        assert_eq!((next.slot, regions.free.len()), (1, 0));
        assert_eq!((regions.close(last), regions.close(first)), (Err(HandleError::Freed), Err(HandleError::Freed)));
    }

    #[test]
    fn counts_do_not_wrap() -> Result<(), HandleError> {
        let mut regions = RegionTable::new(Heap::new());
        let region = regions.open()?;
        let entry = regions.entry_mut(region)?;
        (entry.external, entry.tethers) = (u32::MAX, u32::MAX);
        assert_eq!(regions.retain(region), Err(HandleError::TooMany));
        assert_eq!(regions.tether(region), Err(HandleError::TooMany));
        assert_eq!(regions.release(region), Ok(ReleaseOutcome::Kept));
        Ok(())
    }
}
