//! Numbers of bytes on the command line.

/// A number of bytes, be it with the letter of a unit.
pub(crate) fn byte_count(text: &str) -> Result<u64, String> {
    let expected = || "expected a number of bytes above 0, such as 512M, 2G or 1000000".to_owned();
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| expected())?;
    match number.checked_mul(unit) {
        Some(0) => Err(expected()),
        Some(bytes) => Ok(bytes),
        None => Err("a number of bytes has at most 64 bits".to_owned()),
    }
}
