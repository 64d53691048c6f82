//! Appending without syncing, against `write` of the same payloads to a file, a call a record.

use super::{ROUNDS, SUITE, payload, sum, sum_of_journal};
use crate::compare::{Case, Timed, compare, timed};
use crate::row::Row;
use crate::{Plan, Rows};
use journal::{Durability, Journal, Options, SingleFile};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Sizes of payloads, and how many of each.
const SIZES: [(&str, usize, u64); 3] =
    [("append 64 B", 64, 200_000), ("append 1 KiB", 1 << 10, 65_536), ("append 64 KiB", 64 << 10, 1024)];
/// Payloads come round again after this many, so that making them costs nothing and they stay in the cache.
const DISTINCT: u64 = 64;

pub(crate) fn cases(plan: &Plan) -> Rows {
    SIZES.iter().map(|&(name, bytes, count)| case(plan, name, bytes, plan.scaled(count))).collect()
}

fn case(plan: &Plan, name: &str, bytes: usize, n: u64) -> Result<Row, Box<dyn Error>> {
    let payloads: Vec<Vec<u8>> = (0..DISTINCT).map(|number| payload(number, bytes)).collect();
    let (ours, theirs) = (plan.scratch.join("append.journal"), plan.scratch.join("append.plain"));
    let case = Case {
        suite: SUITE,
        name: name.to_owned(),
        n,
        peer: "write(), a call a record",
        rounds: plan.rounds(ROUNDS),
        note:
            "nothing is synced on either side; ours has everything handed to the system at the end, and also frames, \
               checksums (CRC-32C) of each record and a chain (BLAKE3) over them"
                .to_owned(),
    };
    compare(case, &mut || append(&ours, &payloads, n), &mut || write(&theirs, &payloads, n))
}

fn append(path: &Path, payloads: &[Vec<u8>], n: u64) -> Result<Timed, Box<dyn Error>> {
    let (journal, _) = Journal::open(Arc::new(SingleFile::create(path)?), Options::default())?;
    let (elapsed, ()) = timed(|| {
        for payload in payloads.iter().cycle().take(n as usize) {
            journal.append(payload, Durability::None)?;
        }
        Ok(journal.sync(Durability::Os)?)
    })?;
    drop(journal);
    let checksum = sum_of_journal(Arc::new(SingleFile::open(path)?))?;
    std::fs::remove_file(path)?;
    Ok(Timed { elapsed, checksum })
}

fn write(path: &Path, payloads: &[Vec<u8>], n: u64) -> Result<Timed, Box<dyn Error>> {
    let mut file = File::create(path)?;
    let (elapsed, ()) = timed(|| {
        for payload in payloads.iter().cycle().take(n as usize) {
            file.write_all(payload)?;
        }
        Ok(())
    })?;
    let checksum = sum(&std::fs::read(path)?);
    std::fs::remove_file(path)?;
    Ok(Timed { elapsed, checksum })
}
