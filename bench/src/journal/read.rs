//! Reading a whole journal from the page cache, against `read` of the same file and against copying the payloads in memory.

use super::{ROUNDS, SUITE, payload, sum, sum_of_journal};
use crate::compare::{Case, Timed, compare, timed};
use crate::{Plan, Rows};
use journal::{BLOCK_BYTES, Chain, Durability, FRAME_OVERHEAD_BYTES, FRAMES_AT, Journal, Options, SingleFile};
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

const PAYLOAD_BYTES: usize = 1 << 10;
/// 64 MiB of payloads.
const FRAMES: u64 = 64 << 10;
/// What a frame has before its payload.
const HEAD_BYTES: usize = 32;
const FRAME_BYTES: usize = PAYLOAD_BYTES + FRAME_OVERHEAD_BYTES as usize;
/// How many frames a block has, which ends with a chain value.
const BLOCK_FRAMES: usize = (BLOCK_BYTES as usize).div_ceil(FRAME_BYTES);
const FRAMES_OF_BLOCK_BYTES: usize = BLOCK_FRAMES * FRAME_BYTES;
/// How many blocks a call of the peer reads: about as much as a reader of ours does.
const BLOCKS_AT_ONCE: usize = 4;

pub(crate) fn cases(plan: &Plan) -> Rows {
    let (path, n) = (plan.scratch.join("read.journal"), plan.scaled(FRAMES));
    let mut payloads = Vec::new();
    let (journal, _) = Journal::open(Arc::new(SingleFile::create(&path)?), Options::default())?;
    for number in 0..n {
        let payload = payload(number, PAYLOAD_BYTES);
        journal.append(&payload, Durability::None)?;
        payloads.extend_from_slice(&payload);
    }
    journal.close()?;
    let note = "the file is in the page cache; ours checks every frame's checksums (CRC-32C) and the chain over them (BLAKE3)";
    let case = |name: &str, peer| {
        let rounds = plan.rounds(ROUNDS);
        Case { suite: SUITE, name: name.to_owned(), n, peer, rounds, note: note.to_owned() }
    };
    let from_file = case("read 1 KiB frames", "read() of the same file");
    let copied = case("read 1 KiB frames (memory)", "memcpy of the payloads");
    Ok(vec![
        compare(from_file, &mut || replay(&path), &mut || read(&path))?,
        compare(copied, &mut || replay(&path), &mut || copy(&payloads))?,
    ])
}

fn replay(path: &Path) -> Result<Timed, Box<dyn Error>> {
    let disk = Arc::new(SingleFile::open(path)?);
    let (elapsed, checksum) = timed(|| sum_of_journal(disk))?;
    Ok(Timed { elapsed, checksum })
}

/// Knows where the payloads lie and believes whatever is there.
fn read(path: &Path) -> Result<Timed, Box<dyn Error>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(FRAMES_AT))?;
    let mut buffer = vec![0; (FRAMES_OF_BLOCK_BYTES + Chain::BYTES) * BLOCKS_AT_ONCE];
    let (elapsed, checksum) = timed(|| {
        let mut total = 0_u64;
        loop {
            let bytes = read_full(&mut file, &mut buffer)?;
            for block in buffer[..bytes].chunks(FRAMES_OF_BLOCK_BYTES + Chain::BYTES) {
                for frame in block[..block.len().min(FRAMES_OF_BLOCK_BYTES)].chunks_exact(FRAME_BYTES) {
                    total = total.wrapping_add(sum(&frame[HEAD_BYTES..]));
                }
            }
            if bytes < buffer.len() {
                return Ok(total);
            }
        }
    })?;
    Ok(Timed { elapsed, checksum })
}

fn read_full(file: &mut File, into: &mut [u8]) -> std::io::Result<usize> {
    let mut done = 0;
    while done < into.len() {
        match file.read(&mut into[done..])? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}

/// Copies a buffer's worth at a time, as a reader would, and sums the copy.
fn copy(payloads: &[u8]) -> Result<Timed, Box<dyn Error>> {
    let mut buffer = vec![0; PAYLOAD_BYTES * BLOCK_FRAMES * BLOCKS_AT_ONCE];
    let (elapsed, checksum) = timed(|| {
        let mut total = 0_u64;
        for part in payloads.chunks(buffer.len()) {
            let copy = &mut buffer[..part.len()];
            copy.copy_from_slice(part);
            total = total.wrapping_add(sum(black_box(copy)));
        }
        Ok(total)
    })?;
    Ok(Timed { elapsed, checksum })
}
