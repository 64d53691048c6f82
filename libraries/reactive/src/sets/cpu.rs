//! The operations as the processor does them: what they come to is said here.

use super::set::{PageSet, SetError};

/// A row of a set of embeddings, and how far it is from what was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbor {
    /// The number of the row: those of the first page come first.
    pub row: usize,
    /// The square of its distance: the sum of the squares of the differences, added up in their order, in 64 bits.
    pub distance: f64,
}

/// That the sets have as many pages, of one length.
pub(super) fn alike(left: &PageSet, right: &PageSet) -> Result<(), SetError> {
    let shape = |set: &PageSet| (set.len(), set.page_bytes());
    match shape(left) == shape(right) {
        true => Ok(()),
        false => Err(SetError::Unlike { left: shape(left), right: shape(right) }),
    }
}

/// That a page has this many bytes, if there is such a number.
pub(super) fn shaped(set: &PageSet, bytes: Option<usize>, needed: impl FnOnce() -> String) -> Result<(), SetError> {
    match bytes == Some(set.page_bytes()) {
        true => Ok(()),
        false => Err(SetError::Shape { page_bytes: set.page_bytes(), needed: needed() }),
    }
}

/// How many bytes differ in each page.
pub(super) fn differing(left: &PageSet, right: &PageSet) -> Vec<u64> {
    let mut runs = Vec::new();
    left.contents().zip(right.contents()).map(|(left, right)| crate::diff::diff(left, right, &mut runs)).collect()
}

/// The exclusive or of each page with its counterpart.
pub(super) fn xor(left: &PageSet, right: &PageSet) -> Vec<Vec<u8>> {
    let pairs = left.contents().zip(right.contents());
    pairs.map(|(left, right)| left.iter().zip(right).map(|(left, right)| left ^ right).collect()).collect()
}

/// What a page holds, as words.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Words, as a page holds them.
fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The boolean product of each page with its counterpart, both square matrices of bits of this order, a multiple of 32.
pub(super) fn boolean_product(left: &PageSet, right: &PageSet, order: usize) -> Vec<Vec<u8>> {
    let row_words = order / 32;
    let product = |(left, right): (&[u8], &[u8])| {
        let (left, right) = (words(left), words(right));
        let mut product = vec![0; order * row_words];
        for (row, sums) in left.chunks_exact(row_words).zip(product.chunks_exact_mut(row_words)) {
            let set = |place: &usize| row[place / 32] >> (place % 32) & 1 == 1;
            for place in (0..order).filter(set) {
                let other = &right[place * row_words..][..row_words];
                sums.iter_mut().zip(other).for_each(|(sum, word)| *sum |= word);
            }
        }
        bytes(&product)
    };
    left.contents().zip(right.contents()).map(product).collect()
}

/// The min-plus product of each page with its counterpart, both square matrices of this order of lengths of 32 bits; `u32::MAX` is no way.
pub(super) fn min_plus_product(left: &PageSet, right: &PageSet, order: usize) -> Vec<Vec<u8>> {
    let product = |(left, right): (&[u8], &[u8])| {
        let (left, right) = (words(left), words(right));
        let mut product = vec![u32::MAX; order * order];
        for (row, least) in left.chunks_exact(order).zip(product.chunks_exact_mut(order)) {
            for (first, onward) in row.iter().zip(right.chunks_exact(order)) {
                least.iter_mut().zip(onward).for_each(|(least, next)| *least = first.saturating_add(*next).min(*least));
            }
        }
        bytes(&product)
    };
    left.contents().zip(right.contents()).map(product).collect()
}

/// The rows of a set of embeddings, each of `dimensions` floats.
pub(super) fn rows(set: &PageSet, dimensions: usize) -> impl Iterator<Item = &[[u8; 4]]> {
    set.contents().flat_map(move |page| page.as_chunks::<4>().0.chunks_exact(dimensions))
}

/// The square of the distance of a row from a question.
pub(super) fn distance(row: &[[u8; 4]], question: &[f32]) -> f64 {
    let differences =
        row.iter().zip(question).map(|(left, right)| f64::from(f32::from_le_bytes(*left)) - f64::from(*right));
    differences.map(|difference| difference * difference).sum()
}

/// The nearest of these: the smaller distance is nearer, then the smaller number; what is not a number is farthest.
pub(super) fn nearest_of(candidates: impl Iterator<Item = Neighbor>, count: usize) -> Vec<Neighbor> {
    let mut neighbors: Vec<Neighbor> = candidates.collect();
    let farness = |distance: f64| if distance.is_nan() { f64::INFINITY } else { distance };
    let order = |left: &Neighbor, right: &Neighbor| {
        let is_nan = left.distance.is_nan().cmp(&right.distance.is_nan());
        farness(left.distance).total_cmp(&farness(right.distance)).then(is_nan).then(left.row.cmp(&right.row))
    };
    if count < neighbors.len() && count > 0 {
        neighbors.select_nth_unstable_by(count - 1, order);
    }
    neighbors.truncate(count);
    neighbors.sort_unstable_by(order);
    neighbors
}

/// The rows that are nearest to a question, the nearest first.
pub(super) fn nearest(set: &PageSet, question: &[f32], count: usize) -> Vec<Neighbor> {
    let all = (0..).zip(rows(set, question.len()));
    nearest_of(all.map(|(row, values)| Neighbor { row, distance: distance(values, question) }), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::slice::from_ref;
    use std::sync::Arc;

    fn set(pages: &[Vec<u8>]) -> PageSet {
        PageSet::of_bytes(pages.iter().map(|page| Arc::from(&page[..])).collect())
    }

    fn pair(page: impl Strategy<Value = Vec<u8>> + Clone) -> impl Strategy<Value = [Vec<u8>; 2]> {
        [page.clone(), page]
    }

    proptest! {
        #[test]
        fn differences_are_found_byte_by_byte([left, right] in pair(prop::collection::vec(0..3_u8, 70))) {
            let pairs = || left.iter().zip(&right);
            let sets = [&left, &right].map(|page| set(&[page.clone(), vec![0; 70]]));
            prop_assert_eq!(differing(&sets[0], &sets[1]), [pairs().filter(|(left, right)| left != right).count() as u64, 0]);
            prop_assert_eq!(&xor(&sets[0], &sets[1])[0], &pairs().map(|(left, right)| left ^ right).collect::<Vec<u8>>());
        }

        #[test]
        fn a_boolean_product_says_where_two_steps_lead([left, right] in pair(prop::collection::vec(prop_oneof![Just(0_u8), any::<u8>()], 128))) {
            let bit = |matrix: &[u8], row: usize, column: usize| matrix[row * 4 + column / 8] >> (column % 8) & 1 == 1;
            let product = &boolean_product(&set(from_ref(&left)), &set(from_ref(&right)), 32)[0];
            for (row, column) in (0..32).flat_map(|row| (0..32).map(move |column| (row, column))) {
                let leads = (0..32).any(|step| bit(&left, row, step) && bit(&right, step, column));
                prop_assert_eq!(bit(product, row, column), leads, "{} {}", row, column);
            }
        }

        #[test]
        fn a_min_plus_product_has_the_shortest_of_two_steps(
            left in prop::collection::vec(prop_oneof![0..9_u32, Just(u32::MAX), Just(u32::MAX - 3)], 9),
            right in prop::collection::vec(0..9_u32, 9),
        ) {
            let product = words(&min_plus_product(&set(&[bytes(&left)]), &set(&[bytes(&right)]), 3)[0]);
            for (row, column) in (0..3).flat_map(|row| (0..3).map(move |column| (row, column))) {
                let ways = (0..3).map(|step| u64::from(left[row * 3 + step]) + u64::from(right[step * 3 + column]));
                let shortest = ways.min().unwrap_or_default().min(u64::from(u32::MAX));
                prop_assert_eq!(u64::from(product[row * 3 + column]), shortest);
            }
        }

        #[test]
        fn the_nearest_are_the_first_of_all_in_order(values in prop::collection::vec(-4..4_i8, 2..40), count in 0..25_usize) {
            let floats: Vec<f32> = values[..values.len() / 2 * 2].iter().map(|value| f32::from(*value)).collect();
            let page: Vec<u8> = floats.iter().flat_map(|value| value.to_le_bytes()).collect();
            let mut all: Vec<(u32, usize)> = floats
                .chunks(2)
                .map(|row| ((row[0] - 1.0) * (row[0] - 1.0) + (row[1] + 2.0) * (row[1] + 2.0)) as u32)
                .zip(0..)
                .collect();
            all.sort_unstable();
            let found = nearest(&set(&[page]), &[1.0, -2.0], count);
            let found: Vec<(u32, usize)> = found.iter().map(|neighbor| (neighbor.distance as u32, neighbor.row)).collect();
            prop_assert_eq!(found, &all[..count.min(all.len())]);
        }
    }

    #[test]
    fn what_is_not_a_number_is_farthest() {
        let page: Vec<u8> = [f32::NAN, f32::INFINITY, 3.0, 1.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let rows: Vec<usize> = nearest(&set(&[page]), &[0.0], 4).iter().map(|neighbor| neighbor.row).collect();
        assert_eq!(rows, [3, 2, 1, 0]);
    }
}
