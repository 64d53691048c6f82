//! Compression of blocks: zstd, by its own library. The reasons and the figures are in
//! `docs/decisions/0016-a-cassette-is-a-journal-then-sealed.md`.
//!
//! Every block is decompressed again before it counts: a defect of the compressor, or of the memory, costs a larger cassette and never
//! its content.

use zstd::bulk;

/// The level that is shortest for what cassettes hold, among those that are fast.
const LEVEL: i32 = 1;

/// What is not made shorter by an eighth stays as it is and can be used in place.
const GAIN: usize = 8;

/// The bytes of a block as they are stored, if compressing them is worth it.
pub(crate) fn compress(bytes: &[u8]) -> Option<Vec<u8>> {
    let compressed = bulk::compress(bytes, LEVEL).ok()?;
    let is_worth_it = compressed.len() < bytes.len() - bytes.len() / GAIN;
    (is_worth_it && decompress(&compressed, bytes.len()).is_some_and(|again| again == bytes)).then_some(compressed)
}

/// The bytes of a block; `None` if they are not of this length, or these are not compressed bytes.
pub(crate) fn decompress(compressed: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let decompressed = bulk::decompress(compressed, bytes).ok()?;
    (decompressed.len() == bytes).then_some(decompressed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_gets_shorter_and_comes_back() {
        let bytes = b"all the same, ".repeat(1000);
        let compressed = compress(&bytes).unwrap();
        assert!(compressed.len() < 200);
        assert_eq!(decompress(&compressed, bytes.len()), Some(bytes.clone()));
        assert_eq!(decompress(&compressed, bytes.len() - 1), None);
        assert_eq!(decompress(&compressed, bytes.len() + 1), None);
        assert_eq!(decompress(&compressed[1..], bytes.len()), None);
    }

    #[test]
    fn what_does_not_get_shorter_stays() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        let noise: Vec<u8> = (0..10_000).map(|_| next()).collect();
        assert_eq!(compress(&noise), None);
        assert_eq!(compress(b""), None);
    }
}
