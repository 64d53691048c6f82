//! The heaps of a thread, by handle, and what they lend to the inline path of the header.
//!
//! 1. A handle is a serial number that no other heap of the process ever has, and a slot of the thread's table. So a heap that
//!    was closed, or belongs to another thread, is recognized for ever.
//! 2. A slot has a *lane*: memory that is never freed, where the inline path finds the words of the heap, and the cells that
//!    one region has left in its last chunk. Each call takes first what was used of them, and says at its end what there is
//!    now. So whatever moves the words, the inline path never sees old ones.
//! 3. A lane has a ticket, which changes whenever it is lent to another region or to none. A builder in C holds the ticket of
//!    its region: where they differ, it goes the long way, by handles.
//!
//! What keeps it sound: a lane is written by the thread that has its slot, here during a call and by the inline path between
//! calls. A builder that is used on another thread than its heap's is the one misuse that nothing finds.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use region::{Heap, Ref, RegionHandle, RegionTable, Words};

use crate::marks::Marks;
use crate::status::{Outcome, Status};

/// Words that functions of the header read: `mnr_view`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct View {
    words: *const Ref,
    length: u64,
}

impl View {
    const NOTHING: View = View { words: ptr::null(), length: 0 };

    pub(crate) fn of(heap: &Heap<impl Words>) -> View {
        View { words: heap.words().as_ptr(), length: heap.words().len() as u64 }
    }
}

/// What the inline path works on: `struct mnr_lane`.
#[repr(C)]
pub(crate) struct Lane {
    ticket: u64,
    words: *mut Ref,
    cursor: u64,
    end: u64,
    view: View,
}

impl Lane {
    const EMPTY: Lane = Lane { ticket: 1, words: ptr::null_mut(), cursor: 0, end: 0, view: View::NOTHING };
}

/// A region: `mnr_region`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Region {
    pub(crate) heap: u64,
    bits: u64,
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
    lane: *mut Lane,
    ticket: u64,
    pub(crate) region: Region,
}

impl Builder {
    pub(crate) const NOTHING: Builder =
        Builder { lane: ptr::null_mut(), ticket: 0, region: Region { heap: 0, bits: 0 } };
}

/// The bits of a handle that are the slot.
const SLOT_BITS: u32 = 16;
static SERIAL: AtomicU64 = AtomicU64::new(1);
/// Lanes of threads that have ended.
static SPARE: Mutex<Vec<SpareLane>> = Mutex::new(Vec::new());

struct SpareLane(*mut Lane);

// SAFETY: a lane is plain memory that is never freed; the party that takes it off the list is the only one to use it.
unsafe impl Send for SpareLane {}

thread_local! {
    static TABLE: RefCell<Table> = const { RefCell::new(Table { slots: Vec::new(), free: Vec::new() }) };
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<u64>,
}

struct Slot {
    lane: *mut Lane,
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
    lane: *mut Lane,
    /// The region that has the lane, if one has.
    lent: Option<RegionHandle>,
    /// The cursor and the end that it was lent with.
    cursor: u64,
    end: u64,
}

impl Drop for Table {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in self.slots.drain(..) {
            withdraw(slot.lane);
            spare.push(SpareLane(slot.lane));
        }
    }
}

/// Lends a lane to nobody, and shows nothing.
fn withdraw(lane: *mut Lane) {
    // SAFETY: lanes are never freed, and this thread has it.
    unsafe { *lane = Lane { ticket: (*lane).ticket + 1, ..Lane::EMPTY } };
}

impl Table {
    fn add(&mut self, regions: RegionTable) -> Outcome<u64> {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() >> SLOT_BITS > 0 => return Err(Status::TooMany.into()),
            None => {
                let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
                let lane = spare.map_or_else(|| Box::into_raw(Box::new(Lane::EMPTY)), |SpareLane(lane)| lane);
                self.slots.push(Slot { lane, entry: None });
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
            lane: slot.lane,
            lent: None,
            cursor: 0,
            end: 0,
        });
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
            withdraw(self.entry.lane);
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
        withdraw(slot.lane);
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
    /// Takes the cells that the inline path has used since the last call.
    #[inline]
    fn collect(&mut self) -> Outcome {
        // SAFETY: lanes are never freed, and this thread has it.
        let cursor = unsafe { (*self.lane).cursor };
        if cursor == self.cursor {
            return Ok(());
        }
        let Some(handle) = self.lent.filter(|_| cursor > self.cursor && cursor <= self.end) else {
            return Err(Status::Broken.into());
        };
        let (heap, region) = self.regions.parts(handle)?;
        heap.fill(region, (cursor - self.cursor) as u32);
        self.cursor = cursor;
        Ok(())
    }

    /// Says what there is now.
    #[inline]
    fn publish(&mut self) {
        let room = self.lent.map(|handle| self.regions.parts(handle).map(|(heap, region)| heap.room(region)));
        // Number by number, out of registers: what is loaded as one, after it was stored in parts, is waited for.
        let (cursor, end, ends) = match room {
            Some(Ok(room)) => (u64::from(room.start), u64::from(room.end), false),
            Some(Err(_)) => (0, 0, true),
            None => (0, 0, false),
        };
        if ends {
            self.lent = None;
        }
        (self.cursor, self.end) = (cursor, end);
        let heap = self.regions.heap_mut();
        let words = heap.words_mut().as_mut_ptr();
        let view = View::of(heap);
        // SAFETY: lanes are never freed, and this thread has it. The words are where they are until the next call.
        let lane = unsafe { &mut *self.lane };
        lane.ticket += u64::from(ends);
        (lane.words, lane.cursor, lane.end, lane.view) = (words, cursor, end, view);
    }

    /// Lends the lane to a region, if another one or none has it, and makes a builder for it.
    pub(crate) fn lend(&mut self, region: Region) -> Outcome<Builder> {
        let handle = region.handle();
        self.regions.parts(handle)?;
        // SAFETY: lanes are never freed, and this thread has it.
        let ticket = unsafe { &mut (*self.lane).ticket };
        if self.lent != Some(handle) {
            *ticket += 1;
            self.lent = Some(handle);
        }
        Ok(Builder { lane: self.lane, ticket: *ticket, region })
    }

    /// Lends the lane to the region of a builder, if it is not.
    #[inline]
    pub(crate) fn relend(&mut self, builder: &mut Builder) -> Outcome {
        // SAFETY: lanes are never freed, and this thread has it.
        if !ptr::eq(builder.lane, self.lane) || builder.ticket != unsafe { (*self.lane).ticket } {
            *builder = self.lend(builder.region)?;
        }
        Ok(())
    }

    /// The view of the heap that is always that of now.
    pub(crate) fn view(&self) -> *const View {
        // SAFETY: lanes are never freed.
        unsafe { &raw const (*self.lane).view }
    }
}
