//! The numbers and byte strings that everything on a cassette is made of.
//!
//! A number takes seven bits a byte, the lowest first; the top bit says that another byte follows. A signed number is folded so
//! that small ones of either sign are short. A byte string is its length and its bytes. `docs/formats.md` draws all of it.

use crate::error::Malformed;
use crate::limits::BYTES_MAX_DEFAULT;

pub(crate) fn put_u64(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn put_i64(out: &mut Vec<u8>, number: i64) {
    put_u64(out, ((number << 1) ^ (number >> 63)) as u64);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads what lies one after the other. Nothing is believed before there are bytes for it.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// How many bytes the lists that are made may have in memory.
    room: usize,
}

/// What is said if there is no room for more.
pub(crate) const NO_ROOM: &str = "lists that take more memory than is allowed";

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self::with_room(bytes, BYTES_MAX_DEFAULT as usize)
    }

    /// One whose lists have at most `room` bytes in memory.
    pub(crate) fn with_room(bytes: &'a [u8], room: usize) -> Self {
        Self { bytes, at: 0, room }
    }

    /// Makes room for another thing of a list.
    #[inline]
    pub(crate) fn make_room(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.room = self.room.checked_sub(bytes).ok_or_else(|| self.malformed(NO_ROOM))?;
        Ok(())
    }

    /// How far it is.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { what, at: self.at }
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.is_at_end() { Ok(()) } else { Err(self.malformed("more bytes than belong there")) }
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.malformed(SHORT))?;
        self.at += 1;
        Ok(byte)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            // The tenth byte has room for one bit.
            if shift == 63 && byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.malformed("a number of more than 64 bits"))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Malformed> {
        let folded = self.u64()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.u64()?).map_err(|_| self.malformed("a number of more than 32 bits"))
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        u16::try_from(self.u64()?).map_err(|_| self.malformed("a number of more than 16 bits"))
    }

    pub(crate) fn bool(&mut self) -> Result<bool, Malformed> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.malformed("neither 0 nor 1")),
        }
    }

    /// A number of things of which each takes a byte at least.
    pub(crate) fn count(&mut self) -> Result<usize, Malformed> {
        let count = self.u64()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.bytes.len() - self.at => Ok(count),
            _ => Err(self.malformed("more of something than there are bytes")),
        }
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let taken = self.at.checked_add(count).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.malformed(SHORT))?;
        self.at += count;
        Ok(taken)
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let count = self.count()?;
        self.take(count)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }
}

const SHORT: &str = "it ends too early";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), i64::MAX as u64, u64::MAX] {
            let mut out = Vec::new();
            put_u64(&mut out, number);
            put_i64(&mut out, number as i64);
            let mut cursor = Cursor::new(&out);
            assert_eq!((cursor.u64(), cursor.i64()), (Ok(number), Ok(number as i64)));
            cursor.end().unwrap();
        }
    }

    #[test]
    fn what_is_too_long_is_refused() {
        assert!(Cursor::new(&[0xFF; 11]).u64().is_err());
        assert!(Cursor::new(&[5, 1, 2]).bytes().is_err());
        assert!(Cursor::new(&[2]).bool().is_err());
    }
}
