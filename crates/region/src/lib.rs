//! Region memory: a heap of small cells for the terms of an evaluation.
//!
//! A [`Heap`] is chunks of 64 cells of eight bytes. A [`Region`] takes chunks from it and gives them back, all at once or down
//! to a [`Mark`]. In a region are made expressions (a header and references to children, contiguous), variables (a cell with
//! a binding and a label) and numbers (a cell with 64 raw bits). A [`Ref`] refers to one of them, or is an immediate value.
//! Strings, buffers, arrays and maps are made of the same cells, and lists and trees as a whole.
//!
//! # How it works
//!
//! 1. A reference is 32 bits: three of tag, the rest the number of a cell. Cells are words of one array, whose address space is
//!    reserved for all that can be addressed: growth moves nothing, no access is compared with an end, and following a reference
//!    costs what following a pointer costs, at half the memory.
//! 2. A region has three lanes, each a list of chunks with a cursor in the last: expressions, variables, numbers. Apart, each
//!    lane can be walked over without knowing more: all words of expressions are references, every second one of variables
//!    is, none of numbers is.
//! 3. To make something is to compare and to advance a cursor. If the chunk is full, the lane takes the next free ones, up to
//!    sixteen at once, or the heap grows, if [limits](Heap::set_limit) and the system allow.
//! 4. To rewind or to close is to set cursors, and to join what is after them to the free list, first chunk first: a region
//!    that fills up again runs through the same memory in the same order.
//! 5. To [splice](Heap::splice) a region is to join its lists to those of another one, which has it from then on.
//! 6. A [copy](Heap::copy) takes what roots lead to out of a region into another one and keeps sharing and cycles: garbage is
//!    collected by copying what lives and closing the rest; a result outlives its evaluation in the same way.
//! 7. What outlives its region [leaves](Heap::transmigrate) it the cheapest way: spliced or copied.
//! 8. A table has regions by handles, for languages that cannot hold a region as a value, and what
//!    roots lead to is copied to another heap by one call. An object, such as a map, is an expression with a header of its own, so
//!    walks over the lane pass it as they pass others; its raw data, if it has some, lies in the lane of numbers.
//! 9. What roots lead to can be [frozen](Heap::freeze): copied into storage that nobody writes again. Any thread reads it under
//!    a [`Tether`], or as a [`Reader`], and [thaws](Tether::thaw) it into a heap of its own.
//! 10. How much of all this and of other [memory] a thread and the process have is counted, if the program wants it.
//!
//! # What it costs
//!
//! An expression of three children takes 16 bytes and between one and two nanoseconds in warm memory. A mark, a rewind, an
//! open, a close and a splice are O(1), whatever they give back or join. A copy is linear in what it copies, and only in
//! that. A region wastes at most a chunk a lane, beside the ends of chunks that an expression did not fit into, or after
//! which a region was joined, and holds at most as many free chunks ahead of a lane as the lane has, fifteen of them. Memory that
//! was got from the system is kept until the heap is dropped. A heap takes 4 GiB of address space, which is not memory: [`Heap::try_new`] says what if the system refuses them.
//!
//! # What never happens
//!
//! - The heap never looks at an immediate, a label, a note or the bits of a number: only its owner knows what they mean.
//! - No operation recurses, however deep an expression is nested.
//! - No copy writes into what it copies from, and one that fails leaves nothing behind, here or in another heap.
//! - No reference changes by a splice, and nothing is left behind in the closed region.
//! - A limit is checked before memory is taken: what is refused was never made.
//! - No reference is followed to memory of another owner: one that outlives its region refers to *some* cell of this heap,
//!   and `Heap::dangling` finds it.
//!
//! Regions that are moved and freed as a whole are an old idea (D. T. Ross, *The AED free storage package*, 1967; M. Tofte and
//! J.-P. Talpin, *Region-based memory management*, 1997); marks that a region is rewound to are the heap of Warren's abstract
//! machine (1983); that regions serve an evaluation, and that results are copied or moved out of them, is an idea of the RC-G
//! runtime of Omnilisp, whose defects are among the tests; the copy is Cheney's (1970).
#![deny(unsafe_code)]

mod bindings;
mod cells;
mod chunks;
mod copy;
mod forwarding;
mod frozen;
mod heap;
mod layout;
mod limit;
pub mod memory;
mod number;
mod origin;
mod reference;
mod region;
mod splice;
mod stamp;
mod statistics;
mod tether;
mod transmigrate;
mod variable;
mod words;

/// The programs of the page for users, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/region.md")]
mod page {}

/// The program of the page about the five systems.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/systems.md")]
mod systems {}

pub use self::statistics::{Escapes, Statistics};
pub use bindings::{
    Bytes, Entries, HandleError, NoParking, NotParked, Object, RegionHandle, RegionTable, ReleaseOutcome,
};
pub use bindings::{graph, shared_map};
pub use copy::{Bound, Copying};
pub use frozen::{FreezeError, Frozen};
pub use heap::{FrozenHeap, Heap};
pub use limit::{BYTES_MAX, ENTRIES_MAX, Full, LENGTH_MAX, Limit};
pub use reference::{Ref, tag};
pub use region::{Mark, Region};
pub use splice::StillOpen;
pub use stamp::Stamp;
pub use tether::{
    FrozenHandle, FrozenStatistics, NoReader, Reader, Reading, Refused, Tether, frozen_statistics, reclaim,
};
pub use transmigrate::{EscapePath, EscapeReport};
pub use words::{Addressed, Reserved, Words};
