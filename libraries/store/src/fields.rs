//! Fields of files, read from the front of some bytes. `None` says that the bytes end too early.

/// Takes bytes off the front.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

/// Takes a number off the front.
pub(crate) fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes, 4).map(|taken| u32::from_le_bytes(taken.try_into().expect("four bytes were taken")))
}

/// Takes a number off the front.
pub(crate) fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes, 8).map(|taken| u64::from_le_bytes(taken.try_into().expect("eight bytes were taken")))
}
