//! Compressed blocks: how a block lies in its pages if its keyspace is compressed.
//!
//! ```text
//! +0  count u16, flags u8 (4: packed), zero u8
//! +4  bytes u32         of the block when it is unpacked
//! +8  stored u32        of what follows
//! +12 the block, as one block of LZ4
//! ```
//!
//! A block that would not take fewer pages stays as it is. Nothing here panics, and what is asked of memory is bounded by what is stored.

use crate::page::PAGE_BYTES;

/// The flag of a packed block.
const PACKED: u8 = 4;
const HEADER_BYTES: usize = 12;
/// How many bytes LZ4 makes of one at most.
const GROWTH_MAX: usize = 255;

/// How the blocks of a keyspace are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// As they are: values are read where they lie.
    #[default]
    None,
    /// Compressed by LZ4, in blocks of 16 KiB: a lookup unpacks one of them.
    Lz4,
}

/// The bytes of a packed block; `None` if it would take as many pages.
pub(crate) fn pack(block: &[u8]) -> Option<Vec<u8>> {
    let mut packed = vec![0; HEADER_BYTES + lz4_flex::block::get_maximum_output_size(block.len())];
    let stored = lz4_flex::block::compress_into(block, &mut packed[HEADER_BYTES..]).ok()?;
    packed.truncate(HEADER_BYTES + stored);
    if packed.len().div_ceil(PAGE_BYTES) >= block.len().div_ceil(PAGE_BYTES) {
        return None;
    }
    packed[..2].copy_from_slice(&block[..2]);
    packed[2] = PACKED;
    packed[4..8].copy_from_slice(&(block.len() as u32).to_le_bytes());
    packed[8..12].copy_from_slice(&(stored as u32).to_le_bytes());
    Some(packed)
}

pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.get(2).is_some_and(|flags| flags & PACKED != 0)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk::<4>().map(|number| u32::from_le_bytes(*number) as usize)
}

/// How long a packed block is, without what fills its last page.
pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
    number(bytes, 8)?.checked_add(HEADER_BYTES).filter(|length| *length <= bytes.len())
}

/// Puts the block into a buffer; `None` if it is not what [`pack`] makes.
pub(crate) fn unpack(bytes: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let stored = bytes.get(HEADER_BYTES..length(bytes)?)?;
    let wanted = number(bytes, 4)?;
    if wanted > stored.len().saturating_mul(GROWTH_MAX) {
        return None;
    }
    into.resize(wanted, 0);
    let found = lz4_flex::block::decompress_into(stored, into).ok()?;
    (found == wanted).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back() {
        let block: Vec<u8> = (0..16_000_u32).map(|number| (number / 100) as u8).collect();
        let packed = pack(&block).unwrap();
        assert!(packed.len() < block.len() / 4 && is_packed(&packed));
        let mut pages = packed.clone();
        pages.resize(packed.len().next_multiple_of(PAGE_BYTES), 0);
        let mut unpacked = vec![9; 3];
        unpack(&pages, &mut unpacked).unwrap();
        assert_eq!((unpacked, length(&pages)), (block, Some(packed.len())));
    }

    #[test]
    fn what_does_not_get_shorter_stays() {
        let mut state = 1_u64;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u8
        });
        let random: Vec<u8> = random.take(16_000).collect();
        assert!(pack(&random).is_none());
        assert!(pack(&[0; 100]).is_none(), "a page is a page");
    }

    #[test]
    fn no_bytes_make_it_panic_or_take_much_memory() {
        let packed = pack(&[7; 20_000]).unwrap();
        let mut unpacked = Vec::new();
        for at in 0..packed.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = packed.clone();
                bytes[at] = value;
                let _ = (length(&bytes), unpack(&bytes, &mut unpacked));
                assert!(unpacked.len() <= packed.len() * GROWTH_MAX);
            }
        }
        (0..packed.len()).for_each(|end| assert!(unpack(&packed[..end], &mut unpacked).is_none()));
    }
}
