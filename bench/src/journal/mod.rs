//! Suite `journal`: appending, reading and making durable, against what the system offers without a journal.
//!
//! The peers keep no order of frames, no checksum, no chain and no promise after a crash; the notes say what ours does
//! besides. Payloads follow from their numbers, and every case sums all of them up, on both sides.

mod append;
mod commit;
mod fsyncs;
mod read;

use crate::{Plan, Rows};
use journal::{Disk, Reader};
use std::error::Error;
use std::sync::Arc;

const SUITE: &str = "journal";
/// How many rounds a comparison takes.
const ROUNDS: usize = 9;

/// Runs the suite.
pub(crate) fn run(plan: &Plan) -> Rows {
    let mut rows = append::cases(plan)?;
    rows.extend(read::cases(plan)?);
    rows.extend(commit::cases(plan)?);
    rows.extend(fsyncs::cases()?);
    Ok(rows)
}

/// The payload of a number: words that follow from it.
pub(crate) fn payload(number: u64, bytes: usize) -> Vec<u8> {
    let mut word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut payload = Vec::with_capacity(bytes);
    while payload.len() < bytes {
        word = word.wrapping_mul(0xd129_8f4c_3b2a_6e55).rotate_left(23);
        payload.extend_from_slice(&word.to_le_bytes());
    }
    payload.truncate(bytes);
    payload
}

/// A sum over bytes that costs next to nothing: of their words, a rest of fewer than eight bytes left out.
fn sum(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks();
    words.iter().fold(0, |sum: u64, word| sum.wrapping_add(u64::from_le_bytes(*word)))
}

/// The sum over all payloads of a journal.
fn sum_of_journal(disk: Arc<dyn Disk>) -> Result<u64, Box<dyn Error>> {
    let mut reader = Reader::from_frame(disk, 0)?;
    let mut total = 0_u64;
    while let Some(frame) = reader.read_next()? {
        total = total.wrapping_add(sum(frame.payload));
    }
    Ok(total)
}
