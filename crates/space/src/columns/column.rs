//! A column: numbers of one width in a section, checked block by block when they are first read.

use super::damage::damaged;
use super::file::{BLOCK_BYTES, NO_LIMIT, Section, block_sum};
use bytes::Bytes;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// Numbers that lie in a file as they lie in memory. Cheap to clone.
pub(crate) struct Column<T> {
    bytes: Bytes,
    checks: Arc<Checks>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Column<T> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), checks: Arc::clone(&self.checks), kind: PhantomData }
    }
}

/// Which blocks of a section were checked.
pub(super) struct Checks {
    pub(super) number: u64,
    pub(super) section: Section,
    /// The checksums of its blocks.
    pub(super) sums: Bytes,
    checked: Box<[AtomicU64]>,
}

impl Checks {
    pub(super) fn new(number: u64, section: Section, sums: Bytes) -> Self {
        let words = (section.blocks() as usize).div_ceil(64);
        Self { number, section, sums, checked: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Sees to it that the blocks of these bytes were checked.
    #[inline]
    fn see_to(&self, bytes: &[u8], range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        let (first, last) = (range.start / BLOCK_BYTES, (range.end - 1) / BLOCK_BYTES);
        for block in first..=last {
            let is_checked = self.checked.get(block / 64).map(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1);
            if is_checked != Some(1) {
                self.check(bytes, block);
            }
        }
    }

    #[cold]
    fn check(&self, bytes: &[u8], block: usize) {
        if let Err(reason) = self.flaw(bytes, block) {
            damaged(self.section.offset + (block * BLOCK_BYTES) as u64, reason);
        }
        self.checked[block / 64].fetch_or(1 << (block % 64), Ordering::Relaxed);
    }

    /// What is wrong with a block.
    fn flaw(&self, bytes: &[u8], block: usize) -> Result<(), &'static str> {
        let start = block * BLOCK_BYTES;
        let block_bytes = bytes.get(start..bytes.len().min(start + BLOCK_BYTES)).ok_or("it is missing")?;
        let sum = self.sums.get(block * 8..).and_then(|sums| sums.first_chunk()).map(|sum| u64::from_le_bytes(*sum));
        if sum != Some(block_sum(self.number, block as u64, block_bytes)) {
            return Err("it does not match its checksum");
        }
        let limit = self.section.limit;
        let is_within = match self.section.width {
            _ if limit == NO_LIMIT => true,
            4 => <[u32]>::ref_from_bytes(block_bytes).is_ok_and(|all| all.iter().all(|&one| u64::from(one) < limit)),
            8 => <[u64]>::ref_from_bytes(block_bytes).is_ok_and(|all| all.iter().all(|&one| one < limit)),
            _ => false,
        };
        if is_within { Ok(()) } else { Err("a number in it leads nowhere") }
    }

    /// Checks all blocks.
    pub(super) fn verify(&self, bytes: &[u8]) {
        for block in 0..self.section.blocks() as usize {
            self.check(bytes, block);
        }
    }
}

impl<T: FromBytes + Immutable + KnownLayout + Copy> Column<T> {
    pub(super) fn new(bytes: Bytes, checks: Arc<Checks>) -> Self {
        Self { bytes, checks, kind: PhantomData }
    }

    /// How many numbers it has.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    /// Some of its numbers.
    #[inline]
    pub(crate) fn slice(&self, range: Range<usize>) -> &[T] {
        self.checks.see_to(&self.bytes, range.start * size_of::<T>()..range.end * size_of::<T>());
        let all = <[T]>::ref_from_bytes(&self.bytes).unwrap_or_default();
        all.get(range).unwrap_or_else(|| self.nowhere())
    }

    /// One of them.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> T {
        self.slice(place..place + 1)[0]
    }

    /// Something leads out of it, or to what cannot be there.
    #[cold]
    pub(crate) fn nowhere(&self) -> ! {
        damaged(self.checks.section.offset, "something in it, or that leads to it, is impossible")
    }
}
