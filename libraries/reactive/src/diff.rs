//! Where two versions of a page differ.
//!
//! Bytes are compared 64 at a time. A loop without branches counts those that differ; the compiler makes it wide. Where that is neither none nor all of
//! them, another loop makes a bit of each. Both are compiled for several widths of vectors, and the fastest that the processor has is
//! chosen: AVX2, where it is there. Compiled for AVX-512 they are slower than that. The bits become runs: bytes that
//! differ, with short gaps of equal ones between them.
//!
//! The version for any processor, [`diff_any`], is what the others are tested against.

use std::ops::Range;

/// Gaps of up to this many equal bytes are part of a run: a run costs as much to write down.
const GAP_BYTES_MAX: usize = 8;
const BLOCK_BYTES: usize = 64;

/// The runs in which two versions of a page differ, in order; how many bytes differ. `runs` is emptied first.
///
/// # Panics
/// Their lengths differ.
#[allow(unsafe_code)]
pub(crate) fn diff(old: &[u8], new: &[u8], runs: &mut Vec<Range<usize>>) -> u64 {
    assert_eq!(old.len(), new.len(), "versions of a page are equally long");
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { wide::avx2(old, new, runs) };
        }
    }
    diff_any(old, new, runs)
}

/// [`diff`] for any processor, and for those that the function around it is compiled for.
#[inline(always)]
fn diff_any(old: &[u8], new: &[u8], runs: &mut Vec<Range<usize>>) -> u64 {
    runs.clear();
    let (old_blocks, old_rest) = old.as_chunks::<BLOCK_BYTES>();
    let (new_blocks, new_rest) = new.as_chunks::<BLOCK_BYTES>();
    let mut differing = 0;
    for (block, (old, new)) in old_blocks.iter().zip(new_blocks).enumerate() {
        let bits = bits_of_block(old, new);
        if bits != 0 {
            differing += u64::from(bits.count_ones());
            add_runs(bits, block * BLOCK_BYTES, runs);
        }
    }
    let bits = bits_of_rest(old_rest, new_rest);
    add_runs(bits, old_blocks.len() * BLOCK_BYTES, runs);
    differing + u64::from(bits.count_ones())
}

/// Adds the runs of a block of bits, which begins at byte `at`.
fn add_runs(mut bits: u64, at: usize, runs: &mut Vec<Range<usize>>) {
    while bits != 0 {
        let first = bits.trailing_zeros() as usize;
        let length = (!(bits >> first)).trailing_zeros() as usize;
        let run = at + first..at + first + length;
        match runs.last_mut() {
            Some(last) if run.start - last.end <= GAP_BYTES_MAX => last.end = run.end,
            _ => runs.push(run.clone()),
        }
        let done = first + length;
        bits = if done < BLOCK_BYTES { bits >> done << done } else { 0 };
    }
}

/// A bit for each byte that differs.
#[inline(always)]
fn bits_of_block(old: &[u8; BLOCK_BYTES], new: &[u8; BLOCK_BYTES]) -> u64 {
    match differing_in(old, new) {
        0 => 0,
        BLOCK_BYTES => u64::MAX,
        _ => gathered(old, new),
    }
}

/// How many bytes differ: the loop that becomes widest, and all that most blocks need.
#[inline(always)]
fn differing_in(old: &[u8; BLOCK_BYTES], new: &[u8; BLOCK_BYTES]) -> usize {
    let mut count = 0_u8;
    for (old, new) in old.iter().zip(new) {
        count += u8::from(old != new);
    }
    usize::from(count)
}

/// A bit for each byte that differs, eight bytes at a time.
#[inline(always)]
fn gathered(old: &[u8; BLOCK_BYTES], new: &[u8; BLOCK_BYTES]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (old, _) = old.as_chunks::<8>();
    let (new, _) = new.as_chunks::<8>();
    let words = old.iter().zip(new).map(|(old, new)| u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new));
    (0..).zip(words).fold(0, |bits, (index, word)| {
        // The top bit of each byte that is not zero.
        let differs = (((word & LOW) + LOW) | word) & !LOW;
        // As 0 or 1 in each byte: the product gathers the eight in its highest byte.
        bits | ((differs >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index)
    })
}

/// A bit for each byte that differs, at the end of a page.
fn bits_of_rest(old: &[u8], new: &[u8]) -> u64 {
    (0..).zip(old.iter().zip(new)).fold(0, |bits, (index, (old, new))| bits | (u64::from(old != new) << index))
}

/// The loop, compiled for wider vectors.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::diff_any;
    use std::ops::Range;

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2(old: &[u8], new: &[u8], runs: &mut Vec<Range<usize>>) -> u64 {
        diff_any(old, new, runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What differs, byte by byte.
    fn places(old: &[u8], new: &[u8]) -> Vec<usize> {
        (0..old.len()).filter(|&place| old[place] != new[place]).collect()
    }

    fn check(old: &[u8], new: &[u8]) {
        let (mut runs, mut plain) = (Vec::new(), Vec::new());
        runs.push(0..7);
        let differing = diff(old, new, &mut runs);
        assert_eq!(differing, diff_any(old, new, &mut plain));
        assert_eq!(runs, plain, "every width finds the same");
        let places = places(old, new);
        assert_eq!(differing, places.len() as u64);
        assert!(places.iter().all(|place| runs.iter().any(|run| run.contains(place))));
        assert!(runs.iter().all(|run| places.contains(&run.start) && places.contains(&(run.end - 1))));
        assert!(runs.windows(2).all(|pair| pair[1].start - pair[0].end > GAP_BYTES_MAX));
    }

    #[test]
    fn every_length_of_run_at_every_edge_of_a_block() {
        for length in [0, 1, 63, 64, 65, 128, 200] {
            for start in 0..length {
                for end in [start + 1, start + 8, start + 64, start + 127, start + 128, length] {
                    let old = vec![0; length];
                    let mut new = old.clone();
                    new[start..end.min(length)].fill(1);
                    check(&old, &new);
                }
            }
            check(&vec![3; length], &vec![3; length]);
        }
    }

    proptest! {
        #[test]
        fn runs_cover_what_differs_and_begin_and_end_with_it(
            old in prop::collection::vec(any::<u8>(), 0..600),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
        ) {
            let mut new = old.clone();
            for (place, byte) in changes {
                if !new.is_empty() {
                    let place = place.index(new.len());
                    new[place] = byte;
                }
            }
            check(&old, &new);
        }
    }
}
