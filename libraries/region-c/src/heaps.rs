//! The heaps of a thread, by handle, and what they lend to the inline functions of the header.
//!
//! 1. A handle is a serial number that no other heap of the process ever has, and a slot of the thread's table. So a heap that
//!    was closed, or belongs to another thread, is recognized for ever.
//! 2. A slot has [lanes](crate::lanes): memory that is never freed, where the inline functions find the words of the heap, and the
//!    cells that regions have left in their last chunks. Each call takes first what was used of them, and says at its end what there
//!    is now. So whatever moves the words, the inline functions never see old ones.
//! 3. The region that is ready is taken back by each call but the one that prepares it: it is an ordinary one then if it is open,
//!    and is closed if not. So no call sees more regions or chunks than the caller has.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use region::{Heap, RegionHandle, RegionTable};

use crate::lanes::{LanePointer, Lanes, NO_ROOMS, Rooms, View, rooms};
use crate::marks::Marks;
use crate::status::{Outcome, Status};

/// A region: `mnr_region`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Region {
    pub(crate) heap: u64,
    pub(crate) bits: u64,
}

impl Region {
    pub(crate) fn new(heap: u64, handle: RegionHandle) -> Region {
        Region { heap, bits: handle.bits() }
    }

    pub(crate) fn handle(self) -> RegionHandle {
        RegionHandle::from_bits(self.bits)
    }

    pub(crate) fn words(self) -> [u64; 2] {
        [self.heap, self.bits]
    }
}

/// What makes expressions in a region without a call: `mnr_builder`.
#[repr(C)]
pub(crate) struct Builder {
    pub(crate) lane: LanePointer,
    pub(crate) ticket: u64,
    pub(crate) region: Region,
}

impl Builder {
    pub(crate) const NOTHING: Builder =
        Builder { lane: std::ptr::null_mut(), ticket: 0, region: Region { heap: 0, bits: 0 } };
}

/// What opens regions without a call: `mnr_opener`.
#[repr(C)]
pub(crate) struct Opener {
    pub(crate) lane: LanePointer,
    pub(crate) heap: u64,
}

/// The bits of a handle that are the slot.
const SLOT_BITS: u32 = 16;
static SERIAL: AtomicU64 = AtomicU64::new(1);
/// Lanes of threads that have ended.
static SPARE: Mutex<Vec<Lanes>> = Mutex::new(Vec::new());

thread_local! {
    static TABLE: RefCell<Table> = const { RefCell::new(Table { slots: Vec::new(), free: Vec::new() }) };
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<u64>,
}

struct Slot {
    lanes: Lanes,
    entry: Option<Box<HeapEntry>>,
}

/// A heap that is open.
pub(crate) struct HeapEntry {
    pub(crate) handle: u64,
    pub(crate) regions: RegionTable,
    /// Of regions that were ever rewound or marked.
    pub(crate) marks: HashMap<RegionHandle, Marks>,
    /// Whether a call panicked while it moved things: nobody knows what the regions hold, and the heap can only be closed.
    is_broken: bool,
    lanes: Lanes,
    /// The region that the lane is lent to, if it is to one.
    lent: Option<RegionHandle>,
    /// The room that it was lent with.
    rooms: Rooms,
    /// The region that the inline functions have, and its room when they got it.
    ready: Option<(RegionHandle, Rooms)>,
}

impl Drop for Table {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        for mut slot in self.slots.drain(..) {
            slot.lanes.withdraw();
            spare.push(slot.lanes);
        }
    }
}

impl Table {
    fn add(&mut self, regions: RegionTable) -> Outcome<u64> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() >> SLOT_BITS > 0 => return Err(Status::TooMany.into()),
            None => {
                let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
                self.slots.push(Slot { lanes: spare.unwrap_or_else(Lanes::new), entry: None });
                self.slots.len() as u64 - 1
            }
        };
        let handle = SERIAL.fetch_add(1, Ordering::Relaxed) << SLOT_BITS | slot;
        let slot = &mut self.slots[slot as usize];
        let mut entry = Box::new(HeapEntry {
            handle,
            regions,
            marks: HashMap::new(),
            is_broken: false,
            lanes: slot.lanes,
            lent: None,
            rooms: NO_ROOMS,
            ready: None,
        });
        entry.lanes.belong_to(handle);
        entry.publish();
        slot.entry = Some(entry);
        Ok(handle)
    }

    #[inline]
    fn find(&mut self, handle: u64) -> Outcome<&mut HeapEntry> {
        let entry = self.slots.get_mut(slot_of(handle)).and_then(|slot| slot.entry.as_deref_mut());
        Ok(entry.filter(|entry| entry.handle == handle).ok_or(Status::NoHeap)?)
    }
}

#[inline]
fn slot_of(handle: u64) -> usize {
    (handle & ((1 << SLOT_BITS) - 1)) as usize
}

fn with_table<T>(work: impl FnOnce(&mut Table) -> Outcome<T>) -> Outcome<T> {
    let access = TABLE.try_with(|table| table.try_borrow_mut().map(|mut table| work(&mut table)));
    access.map_err(|_| Status::NoHeap)?.map_err(|_| Status::NoHeap)?
}

/// A heap during a call. In any case, even if the call panics, the lane says at the end what there is; nothing, if the regions may
/// have been lost on the way.
struct Call<'a> {
    entry: &'a mut HeapEntry,
    moves: bool,
}

impl<'a> Call<'a> {
    fn begin(entry: &'a mut HeapEntry, moves: bool) -> Outcome<Call<'a>> {
        if entry.is_broken {
            return Err(Status::Broken.into());
        }
        entry.collect()?;
        Ok(Call { entry, moves })
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if self.moves && std::thread::panicking() {
            self.entry.is_broken = true;
            self.entry.lanes.withdraw();
        } else {
            self.entry.publish();
        }
    }
}

/// Opens a heap.
pub(crate) fn open(heap: Heap) -> Outcome<u64> {
    with_table(|table| table.add(RegionTable::new(heap)))
}

/// Closes a heap, with all that is in it.
pub(crate) fn close(handle: u64) -> Outcome {
    with_table(|table| {
        table.find(handle)?;
        let slot = &mut table.slots[slot_of(handle)];
        slot.entry = None;
        slot.lanes.withdraw();
        table.free.push(slot_of(handle) as u64);
        Ok(())
    })
}

/// Works on a heap.
pub(crate) fn with<T>(handle: u64, work: impl FnOnce(&mut HeapEntry) -> Outcome<T>) -> Outcome<T> {
    with_table(|table| {
        let call = Call::begin(table.find(handle)?, false)?;
        work(call.entry)
    })
}

/// Reads what is in a heap, which stays as it is: nothing new is to be said of it, unless something was collected.
pub(crate) fn reading<T>(handle: u64, read: impl FnOnce(&mut HeapEntry) -> Outcome<T>) -> Outcome<T> {
    with_table(|table| {
        let entry = table.find(handle)?;
        if entry.is_broken || entry.has_news() {
            let call = Call::begin(entry, false)?;
            return read(call.entry);
        }
        read(entry)
    })
}

/// Moves what is in a heap. If that panics, which a reference into what was given back may lead to, the heap is broken.
pub(crate) fn moving<T>(handle: u64, work: impl FnOnce(&mut HeapEntry) -> Outcome<T>) -> Outcome<T> {
    with_table(|table| {
        let call = Call::begin(table.find(handle)?, true)?;
        work(call.entry)
    })
}

/// Moves what is in one heap to another one. If that panics, which a reference into what was given back may lead to, both are broken.
pub(crate) fn moving_to<T>(
    one: u64,
    other: u64,
    work: impl FnOnce(&mut HeapEntry, &mut HeapEntry) -> Outcome<T>,
) -> Outcome<T> {
    with_table(|table| {
        table.find(one)?;
        table.find(other)?;
        let slots = table.slots.get_disjoint_mut([slot_of(one), slot_of(other)]).map_err(|_| Status::Same)?;
        let [Some(one), Some(other)] = slots.map(|slot| slot.entry.as_deref_mut()) else {
            return Err(Status::NoHeap.into());
        };
        let (one, other) = (Call::begin(one, true)?, Call::begin(other, true)?);
        work(one.entry, other.entry)
    })
}

impl HeapEntry {
    /// Takes the cells that the inline functions have used since the last call, and the region that they have.
    #[inline]
    fn collect(&mut self) -> Outcome {
        let Some(used) = self.lanes.used(&self.rooms) else { return Err(Status::Broken.into()) };
        if used != [0; 3] {
            self.fill(self.lent.ok_or(Status::Broken)?, used)?;
        }
        match self.ready.take() {
            Some((handle, rooms)) => self.take_back(handle, &rooms),
            None => Ok(()),
        }
    }

    /// Whether the inline functions have used anything since the last call.
    #[inline]
    fn has_news(&mut self) -> bool {
        self.ready.is_some() || self.lanes.used(&self.rooms) != Some([0; 3])
    }

    fn fill(&mut self, handle: RegionHandle, used: [u32; 3]) -> Outcome {
        let (heap, region) = self.regions.parts(handle)?;
        if heap.fill(region, used) { Ok(()) } else { Err(Status::Broken.into()) }
    }

    /// Makes the ready region an ordinary one, or closes it.
    #[cold]
    fn take_back(&mut self, handle: RegionHandle, rooms: &Rooms) -> Outcome {
        let ready = self.lanes.take_back(rooms);
        let now = RegionHandle::from_bits(ready.bits);
        self.regions.renew(handle, now)?;
        if !ready.is_open {
            self.regions.close(now)?;
            return Ok(());
        }
        self.fill(now, ready.used.ok_or(Status::Broken)?)?;
        let (heap, region) = self.regions.parts(now)?;
        region.give_back_unused(heap);
        Ok(())
    }

    /// Says what there is now.
    #[inline]
    fn publish(&mut self) {
        let room = self.lent.map(|handle| self.regions.parts(handle).map(|(heap, region)| heap.rooms(region)));
        self.rooms = match room {
            Some(Ok(room)) => rooms(room),
            Some(Err(_)) => {
                self.lent = None;
                self.lanes.next_ticket();
                NO_ROOMS
            }
            None => NO_ROOMS,
        };
        let heap = self.regions.heap_mut();
        let words = heap.words_mut().as_mut_ptr();
        let view = View::of(heap);
        self.lanes.publish(self.rooms, words, view);
    }

    /// Opens a region, lets the inline functions have it if there is memory for that, and makes a builder for it.
    pub(crate) fn open_ready(&mut self) -> Outcome<Builder> {
        let handle = self.regions.open()?;
        let region = Region::new(self.handle, handle);
        let (heap, made) = self.regions.parts(handle)?;
        if !made.prepare(heap) {
            return self.lend(region);
        }
        let room = rooms(heap.rooms(made));
        let words = heap.words_mut().as_mut_ptr();
        self.ready = Some((handle, room));
        let ticket = self.lanes.prepare(self.handle, region.bits, room, words);
        Ok(Builder { lane: self.lanes.ready(), ticket, region })
    }

    pub(crate) fn opener(&self) -> Opener {
        Opener { lane: self.lanes.ready(), heap: self.handle }
    }

    /// Lends the lane to a region, if another one or none has it, and makes a builder for it.
    pub(crate) fn lend(&mut self, region: Region) -> Outcome<Builder> {
        let handle = region.handle();
        self.regions.parts(handle)?;
        let ticket = if self.lent == Some(handle) { self.lanes.ticket() } else { self.lanes.next_ticket() };
        self.lent = Some(handle);
        Ok(Builder { lane: self.lanes.lent(), ticket, region })
    }

    /// Lends the lane to the region of a builder, if it is not.
    #[inline]
    pub(crate) fn relend(&mut self, builder: &mut Builder) -> Outcome {
        if builder.lane != self.lanes.lent() || builder.ticket != self.lanes.ticket() {
            *builder = self.lend(builder.region)?;
        }
        Ok(())
    }

    /// The view of the heap that is always that of now.
    pub(crate) fn view(&mut self) -> *const View {
        self.lanes.view()
    }
}
