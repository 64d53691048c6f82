//! How many words are moved at once: what the processor can do where the program runs.
//!
//! The loops of [`Near`] are compiled once for the instructions that every build is for, and on x86-64 twice more, for AVX2 and
//! for AVX-512. Which of them is used is asked once for each region that is moved; the standard library remembers the answer.
#![allow(unsafe_code)]

use super::near::{Half, Near, Words, by_halves};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instructions {
    /// What the build is for: on x86-64 four words at once.
    Plain,
    /// Eight words at once.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Sixteen words at once.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Instructions that this processor has: nothing outside of this module makes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Width(Instructions);

impl Width {
    /// For the most words at once.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(super) fn widest() -> Width {
        if has_avx512() {
            Width(Instructions::Avx512)
        } else if is_x86_feature_detected!("avx2") {
            Width(Instructions::Avx2)
        } else {
            Width(Instructions::Plain)
        }
    }

    /// For the most words at once.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    pub(super) fn widest() -> Width {
        Width(Instructions::Plain)
    }

    /// All that the processor has.
    #[cfg(all(test, target_arch = "x86_64"))]
    pub(super) fn all() -> Vec<Width> {
        let has_avx2 = is_x86_feature_detected!("avx2");
        [(Instructions::Plain, true), (Instructions::Avx2, has_avx2), (Instructions::Avx512, has_avx512())]
            .into_iter()
            .filter_map(|(instructions, is_there)| is_there.then_some(Width(instructions)))
            .collect()
    }

    /// All that the processor has.
    #[cfg(all(test, not(target_arch = "x86_64")))]
    pub(super) fn all() -> Vec<Width> {
        vec![Width(Instructions::Plain)]
    }

    /// [`Near::copy`] of both halves of a chunk.
    #[inline(always)]
    pub(super) fn copy(self, near: Near, from: &Words, to: &mut Words) -> u128 {
        match self.0 {
            Instructions::Plain => plain::copy(near, from, to),
            // SAFETY: there is such a width only where the processor was found to have AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { avx2::copy(near, from, to) },
            // SAFETY: there is such a width only where the processor was found to have these parts of AVX-512.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { avx512::copy(near, from, to) },
        }
    }

    /// [`Near::go_on`].
    #[inline(always)]
    pub(super) fn go_on(self, near: Near, from: &Half, to: &mut Half) -> u64 {
        match self.0 {
            Instructions::Plain => plain::go_on(near, from, to),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { avx2::go_on(near, from, to) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => unsafe { avx512::go_on(near, from, to) },
        }
    }
}

/// Whether there is an AVX-512 that is used. Only its first part is needed, but processors without the later ones lower
/// their clock for instructions of that width.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vbmi2")
}

/// Both loops as every build has them. A half is copied by a function of its own: of a whole chunk, a compiler that has 16
/// registers keeps the masks in memory.
mod plain {
    use super::{Half, Near, Words, by_halves};

    #[inline(always)]
    pub(super) fn copy(near: Near, from: &Words, to: &mut Words) -> u128 {
        by_halves(from, to, |from, to| copy_half(near, from, to))
    }

    #[inline(never)]
    fn copy_half(near: Near, from: &Half, to: &mut Half) -> u64 {
        near.copy(from, to)
    }

    #[inline(never)]
    pub(super) fn go_on(near: Near, from: &Half, to: &mut Half) -> u64 {
        near.go_on(from, to)
    }
}

/// Both loops, compiled for certain instructions.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled {
    ($name:ident, $features:literal) => {
        mod $name {
            use super::{Half, Near, Words, by_halves};

            #[inline(never)]
            #[target_feature(enable = $features)]
            pub(super) fn copy(near: Near, from: &Words, to: &mut Words) -> u128 {
                by_halves(from, to, |from, to| near.copy(from, to))
            }

            #[inline(never)]
            #[target_feature(enable = $features)]
            pub(super) fn go_on(near: Near, from: &Half, to: &mut Half) -> u64 {
                near.go_on(from, to)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
compiled!(avx2, "avx2");
#[cfg(target_arch = "x86_64")]
compiled!(avx512, "avx512f");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::{CHUNK_CELLS, CHUNK_WORDS};
    use crate::reference::{Ref, tag};
    use proptest::prelude::*;

    /// Cells of three chunks that lie in a row, and of some that lie anywhere.
    fn words() -> impl Strategy<Value = Vec<Ref>> {
        let word = prop_oneof![
            4 => (0..=tag::MARKED, CHUNK_CELLS..4 * CHUNK_CELLS).prop_map(|(tag, cell)| Ref::new(tag, cell)),
            1 => any::<u32>().prop_map(Ref::from_bits),
        ];
        prop::collection::vec(word, CHUNK_WORDS)
    }

    /// Whether a word refers to an expression in the chunk that begins with a cell.
    fn is_in(word: Ref, begins: u32) -> bool {
        word.is_expression() && word.payload() / CHUNK_CELLS * CHUNK_CELLS == begins
    }

    /// Where that chunk goes to another cell.
    fn moved(word: Ref, from: u32, to: u32) -> Ref {
        Ref::new(word.tag(), word.payload() - from + to)
    }

    fn is_plain(word: Ref) -> bool {
        word.tag() < tag::IMMEDIATE_3
    }

    /// A bit for each word of which this holds.
    fn bits(words: &[Ref], holds: impl Fn(Ref) -> bool) -> u128 {
        words.iter().rev().fold(0, |bits, word| bits << 1 | u128::from(holds(*word)))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_width_does_what_is_said_of_each_word(
            words in words(),
            [home, far, elsewhere] in [1_u32..5, 1_u32..5, 0_u32..1 << 20].prop_map(|chunks| chunks.map(|chunk| chunk * CHUNK_CELLS)),
        ) {
            let from: &Words = words.as_slice().try_into().expect("as long as a chunk");
            for width in Width::all() {
                let mut to = [Ref::from_bits(0); CHUNK_WORDS];
                let others = width.copy(Near::within(home, elsewhere), from, &mut to);
                prop_assert_eq!(others, bits(from, |word| !is_in(word, home) && !is_plain(word)), "{:?}", width);
                let expected: Vec<Ref> =
                    from.iter().map(|word| if is_in(*word, home) { moved(*word, home, elsewhere) } else { *word }).collect();
                prop_assert_eq!(&to[..], &expected[..], "{:?}", width);

                let (from, to) = (&from.as_chunks().0[1], &mut to.as_chunks_mut().0[1]);
                let reference = Ref::new(tag::MARKED, far + 5);
                let near = Near::of(reference, moved(reference, far, elsewhere + 64));
                let met = width.go_on(near, from, to);
                prop_assert_eq!(u128::from(met), bits(from, |word| is_in(word, far)), "{:?}", width);
                let expected: Vec<Ref> = from
                    .iter()
                    .zip(&expected[CHUNK_WORDS / 2..])
                    .map(|(word, before)| if is_in(*word, far) { moved(*word, far, elsewhere + 64) } else { *before })
                    .collect();
                prop_assert_eq!(&to[..], &expected[..], "{:?}", width);
            }
        }
    }

    #[test]
    fn the_widest_is_the_last_of_all() {
        assert_eq!(Width::all().last(), Some(&Width::widest()));
    }
}
