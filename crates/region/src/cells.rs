//! Cells, copied from place to place.

use crate::heap::{NOTE_BITS, cells_of};
use crate::region::Lane;
use crate::words::{AllWords, word_of};

/// Copies the content of cells. A few are copied faster than a call is made.
#[inline(always)]
pub(crate) fn copy_cells(words: &mut AllWords, from: u32, to: u32, count: usize) {
    let (from, to) = (word_of(from), word_of(to));
    match count {
        1 => words.copy_within(from..from + 2, to),
        2 => words.copy_within(from..from + 4, to),
        3 => words.copy_within(from..from + 6, to),
        _ => words.copy_within(from..from + count * 2, to),
    }
}

/// Copies the content of cells out of another heap.
#[inline(always)]
pub(crate) fn copy_cells_from(words: &mut AllWords, source: &AllWords, from: u32, to: u32, count: usize) {
    let (from, to) = (word_of(from), word_of(to));
    match count {
        1 => words[to..to + 2].copy_from_slice(&source[from..from + 2]),
        2 => words[to..to + 4].copy_from_slice(&source[from..from + 4]),
        3 => words[to..to + 6].copy_from_slice(&source[from..from + 6]),
        _ => words[to..to + count * 2].copy_from_slice(&source[from..from + count * 2]),
    }
}

/// Copies an expression of one or two cells, if the last chunk of a lane has them left. A few words are copied faster as
/// a whole than one by one, and their header is among them.
#[inline(always)]
pub(crate) fn move_few(words: &mut AllWords, to: &mut Lane, from: u32) -> Option<u32> {
    let first = word_of(from);
    // Two cells can be read wherever an expression lies, but at the very end.
    let &[header, one, two, three] = words.get(first..first + 4)?.first_chunk()?;
    match cells_of((header.payload() >> NOTE_BITS) as usize) {
        2 => {
            let at = to.bump_few(2)?;
            let first = word_of(at);
            words[first..first + 4].copy_from_slice(&[header, one, two, three]);
            Some(at)
        }
        1 => {
            let at = to.bump_few(1)?;
            let first = word_of(at);
            words[first..first + 2].copy_from_slice(&[header, one]);
            Some(at)
        }
        _ => None,
    }
}
