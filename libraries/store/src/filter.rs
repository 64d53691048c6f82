//! The filter of a run: says of most keys that are not there that they are not.
//!
//! A binary fuse filter with fingerprints of 8 bits, of the crate `xorf`: 1.13 bytes a key, and one of 256 keys that are not there
//! passes. It is read where it lies in the file.

use twox_hash::XxHash3_64;
use xorf::{BinaryFuse8, BinaryFuse8Ref, DmaSerializable, Filter as _, FilterRef as _};

const DESCRIPTOR_BYTES: usize = BinaryFuse8::DESCRIPTOR_LEN;

/// What filters know a key by.
pub(crate) fn hash(key: &[u8]) -> u64 {
    XxHash3_64::oneshot(key)
}

/// The bytes of a filter for keys of these hashes; none if there is nothing to filter, or if no filter was found, which
/// happens with a probability that is negligible.
pub(crate) fn build(mut hashes: Vec<u64>) -> Vec<u8> {
    hashes.sort_unstable();
    hashes.dedup();
    if hashes.is_empty() {
        return Vec::new();
    }
    let Ok(filter) = BinaryFuse8::try_from(&hashes) else { return Vec::new() };
    let mut bytes = vec![0; DESCRIPTOR_BYTES];
    filter.dma_copy_descriptor_to(&mut bytes);
    bytes.extend_from_slice(filter.dma_fingerprints());
    bytes
}

/// Whether bytes are those of a filter that can be asked: every place that it looks at lies inside.
pub(crate) fn is_sound(bytes: &[u8]) -> bool {
    if bytes.is_empty() {
        return true;
    }
    let Some((descriptor, fingerprints)) = bytes.split_at_checked(DESCRIPTOR_BYTES) else { return false };
    let number = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|index| descriptor[at + index]));
    let (length, mask, count) = (number(8), number(12), number(16));
    let end = u64::from(count) + 2 * u64::from(length);
    length.is_power_of_two()
        && mask == length - 1
        && count > 0
        && count.is_multiple_of(length)
        && end <= fingerprints.len() as u64
        && end <= u64::from(u32::MAX)
}

/// Whether a key of this hash may be there. The bytes are [sound](is_sound).
pub(crate) fn may_contain(bytes: &[u8], hash: u64) -> bool {
    match bytes.split_at_checked(DESCRIPTOR_BYTES) {
        Some((descriptor, fingerprints)) => BinaryFuse8Ref::from_dma(descriptor, fingerprints).contains(&hash),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_denies_a_key_that_is_there() {
        for count in [1, 2, 3, 10, 1000, 50_000_u64] {
            let hashes: Vec<u64> = (0..count).map(|key| hash(&key.to_be_bytes())).collect();
            let bytes = build(hashes.clone());
            assert!(is_sound(&bytes), "{count}");
            assert!(hashes.iter().all(|hash| may_contain(&bytes, *hash)));
            let passed = (count..count + 10_000).filter(|key| may_contain(&bytes, hash(&key.to_be_bytes()))).count();
            assert!(passed < 100, "{passed} of 10,000 pass a filter of {count}");
        }
    }

    #[test]
    fn equal_hashes_and_none_at_all_are_taken() {
        assert!(may_contain(&build(vec![5, 5, 5]), 5));
        assert!(may_contain(&build(Vec::new()), 5), "nothing is known, so nothing is denied");
    }

    #[test]
    fn what_would_be_read_outside_is_refused() {
        let sound = build((0..1000).map(|key: u64| hash(&key.to_be_bytes())).collect());
        for at in 8..DESCRIPTOR_BYTES {
            for value in [0, 1, 0x7f, 0xff] {
                let mut bytes = sound.clone();
                bytes[at] = value;
                if is_sound(&bytes) {
                    let asked = (0..1000).map(|hash: u64| hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    assert!(asked.filter(|hash| may_contain(&bytes, *hash)).count() <= 1000, "it answers");
                }
            }
        }
        assert!(!is_sound(&sound[..sound.len() / 2]));
    }
}
