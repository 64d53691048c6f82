//! What a heap refuses, and why.

use std::error::Error;
use std::fmt;

use crate::layout::CHUNK_BYTES;

/// The most children an expression may have.
pub const LENGTH_MAX: usize = 1 << 26;

/// The most bytes a string or a buffer may have.
pub const BYTES_MAX: usize = 1 << 28;

/// The most entries a map may have.
pub const ENTRIES_MAX: usize = 1 << 24;

/// What was reached. Four bytes, so that a result with it has no bytes that mean nothing, which would be masked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[repr(u32)]
pub enum Limit {
    /// The limit that the owner has set, in bytes of cells.
    Bytes,
    /// The limit that the owner has set for the region, in bytes of cells.
    Region,
    /// The cells that a reference can address.
    Addresses,
    /// The cells that a reference to a number can address: half of the others, its kind takes a bit.
    NumberAddresses,
    /// [`LENGTH_MAX`], the length of an expression or an array.
    Length,
    /// [`BYTES_MAX`], the length of a string or a buffer.
    ByteLength,
    /// [`ENTRIES_MAX`], the size of a map.
    Entries,
    /// What the system was ready to give.
    Memory,
    /// The address space that the system lets this process reserve.
    Reservation,
}

/// Nothing was made, because a limit was reached. The heap and its regions are as they were.
///
/// Eight bytes, so that a result with it travels in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full {
    limit: Limit,
    chunks: u32,
}

impl Full {
    pub(crate) fn new(limit: Limit, chunks: u32) -> Full {
        Full { limit, chunks }
    }

    /// Which limit it was.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Where it lies, in bytes of cells. For [`Limit::Memory`]: what there was when no more could be had.
    pub fn bytes(&self) -> u64 {
        u64::from(self.chunks) * CHUNK_BYTES as u64
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        match self.limit {
            Limit::Bytes => write!(f, "the heap is full: its limit is {bytes} bytes; raise it, or hold on to less"),
            Limit::Region => write!(f, "the region is full: its limit is {bytes} bytes; raise it, or hold on to less"),
            Limit::Addresses => {
                write!(f, "the heap is full: it cannot address more than {bytes} bytes; hold on to less")
            }
            Limit::NumberAddresses => {
                write!(f, "the heap is full: its numbers must lie in the first {bytes} bytes; hold on to less")
            }
            Limit::Length => {
                write!(f, "the expression is too long: an expression has at most {LENGTH_MAX} children; split it")
            }
            Limit::ByteLength => {
                write!(f, "the string is too long: a string or a buffer has at most {BYTES_MAX} bytes; split it")
            }
            Limit::Entries => write!(f, "the map is too large: a map has at most {ENTRIES_MAX} entries; split it"),
            Limit::Memory => {
                write!(f, "the heap is full: the system gave {bytes} bytes and refused more; hold on to less")
            }
            Limit::Reservation => write!(
                f,
                "the system does not let this process reserve {bytes} bytes of address space for a heap (address space is not memory in use); \
                 raise the limit of address space (ulimit -v), set vm.overcommit_memory to 0 or 1, or have fewer heaps"
            ),
        }
    }
}

impl Error for Full {}
