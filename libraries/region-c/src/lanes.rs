//! Lanes: what the inline functions of the header work on, in memory that is never freed.
//!
//! 1. A heap has two. The *lent* lane has the cells that a region has left in its last chunks; which region, changes. The *ready*
//!    lane has those of one region that the inline functions open, fill and close by themselves, without a call.
//! 2. A lane has a ticket, which changes whenever it is lent to another region or to none. A builder in C holds the ticket of
//!    its region: where they differ, it goes the long way, by handles.
//! 3. A ready region that is closed gets a later generation in its lane, which the table of regions takes note of at the next call.
//!    So handles of it are stale from then on, as those of other regions are.
//!
//! What keeps it sound: lanes are written by the thread that has their slot, here during a call and by the inline functions
//! between calls.

use std::ops::Range;
use std::ptr;

use region::{Heap, Ref, Words};

/// Words that functions of the header read: `mnr_view`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct View {
    pub(crate) words: *const Ref,
    pub(crate) length: u64,
}

impl View {
    const NOTHING: View = View { words: ptr::null(), length: 0 };

    pub(crate) fn of(heap: &Heap<impl Words>) -> View {
        View { words: heap.words().as_ptr(), length: heap.words().len() as u64 }
    }
}

/// The cells that are left of a chunk: `struct mnr_room`.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Room {
    pub(crate) cursor: u64,
    pub(crate) end: u64,
}

/// Those of expressions, variables and numbers.
pub(crate) type Rooms = [Room; 3];

impl Room {
    const NOTHING: Room = Room { cursor: 0, end: 0 };

    fn of(cells: Range<u32>) -> Room {
        Room { cursor: u64::from(cells.start), end: u64::from(cells.end) }
    }
}

/// `struct mnr_lane`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Lane {
    pub(crate) ticket: u64,
    pub(crate) words: *mut Ref,
    pub(crate) rooms: Rooms,
    pub(crate) view: View,
    /// Of the ready region: its heap, its handle, whether it is open, and where it begins. Zeros in the lent lane.
    pub(crate) heap: u64,
    pub(crate) bits: u64,
    pub(crate) is_open: u64,
    pub(crate) starts: [u64; 3],
}

impl Lane {
    const EMPTY: Lane = Lane {
        ticket: 1,
        words: ptr::null_mut(),
        rooms: [Room::NOTHING; 3],
        view: View::NOTHING,
        heap: 0,
        bits: 0,
        is_open: 0,
        starts: [0; 3],
    };
}

/// What the inline functions have left of the ready region.
pub(crate) struct Ready {
    pub(crate) bits: u64,
    pub(crate) is_open: bool,
    /// Nothing if the cursors are where they cannot be.
    pub(crate) used: Option<[u32; 3]>,
}

/// Both lanes of a slot. This is a pointer to them, used by the thread that has the slot.
#[derive(Clone, Copy)]
pub(crate) struct Lanes(*mut [Lane; 2]);

// SAFETY: lanes are plain memory that is never freed; the party that takes them off the list of spare ones is the only one to
// use them.
unsafe impl Send for Lanes {}

/// A lane as C has it.
pub(crate) type LanePointer = *mut std::ffi::c_void;

const LENT: usize = 0;
const READY: usize = 1;

impl Lanes {
    pub(crate) fn new() -> Lanes {
        Lanes(Box::into_raw(Box::new([Lane::EMPTY; 2])))
    }

    fn lane(&mut self, which: usize) -> &mut Lane {
        // SAFETY: lanes are never freed, this thread has the slot of these, and no other reference to them is in use: this one
        // lives as long as the borrow of the pointer, and a call has one pointer to each slot.
        unsafe { &mut (*self.0)[which] }
    }

    /// The lane as C is told of it.
    fn pointer(self, which: usize) -> LanePointer {
        self.0.cast::<Lane>().wrapping_add(which).cast()
    }

    pub(crate) fn lent(self) -> LanePointer {
        self.pointer(LENT)
    }

    pub(crate) fn ready(self) -> LanePointer {
        self.pointer(READY)
    }

    /// The view that is always that of now.
    pub(crate) fn view(&mut self) -> *const View {
        &raw const self.lane(LENT).view
    }

    /// Lends the lanes to nobody, and shows nothing.
    pub(crate) fn withdraw(&mut self) {
        for which in [LENT, READY] {
            let lane = self.lane(which);
            *lane = Lane { ticket: lane.ticket + 1, ..Lane::EMPTY };
        }
    }

    pub(crate) fn ticket(&mut self) -> u64 {
        self.lane(LENT).ticket
    }

    /// Ends all builders that have the ticket.
    pub(crate) fn next_ticket(&mut self) -> u64 {
        let lane = self.lane(LENT);
        lane.ticket += 1;
        lane.ticket
    }

    /// The cells that were used through the lent lane, which had this room; nothing if the cursors are where they cannot be.
    #[inline]
    pub(crate) fn used(&mut self, rooms: &Rooms) -> Option<[u32; 3]> {
        used(&self.lane(LENT).rooms, rooms)
    }

    /// Says what there is now.
    #[inline]
    pub(crate) fn publish(&mut self, rooms: Rooms, words: *mut Ref, view: View) {
        let lane = self.lane(LENT);
        (lane.rooms, lane.words, lane.view) = (rooms, words, view);
    }

    /// Lets the inline functions have a region, which is open. Gives the ticket.
    pub(crate) fn prepare(&mut self, heap: u64, bits: u64, rooms: Rooms, words: *mut Ref) -> u64 {
        let lane = self.lane(READY);
        let starts = rooms.map(|room| room.cursor);
        *lane = Lane { ticket: lane.ticket + 1, words, rooms, heap, bits, is_open: 1, starts, ..Lane::EMPTY };
        lane.ticket
    }

    /// Takes the ready region back, which had this room at first.
    pub(crate) fn take_back(&mut self, rooms: &Rooms) -> Ready {
        let lane = self.lane(READY);
        let ready = Ready { bits: lane.bits, is_open: lane.is_open != 0, used: used(&lane.rooms, rooms) };
        *lane = Lane { ticket: lane.ticket + 1, heap: lane.heap, ..Lane::EMPTY };
        ready
    }

    /// Shows the ready lane which heap it belongs to.
    pub(crate) fn belong_to(&mut self, heap: u64) {
        self.lane(READY).heap = heap;
    }
}

fn used(now: &Rooms, before: &Rooms) -> Option<[u32; 3]> {
    let mut cells = [0; 3];
    for ((cells, now), before) in cells.iter_mut().zip(now).zip(before) {
        if now.cursor < before.cursor || now.cursor > before.end {
            return None;
        }
        *cells = (now.cursor - before.cursor) as u32;
    }
    Some(cells)
}

/// What is left of a region's chunks.
pub(crate) fn rooms(cells: [Range<u32>; 3]) -> Rooms {
    cells.map(Room::of)
}

pub(crate) const NO_ROOMS: Rooms = [Room::NOTHING; 3];
