//! Making records durable: 64 threads that share syncs, against one thread, and against a sync a record under a lock.

use super::{SUITE, payload, sum, sum_of_journal};
use crate::compare::{Case, Timed, compare, timed};
use crate::{Plan, Rows};
use journal::{Durability, Journal, Options, SingleFile};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

const THREADS: u64 = 64;
/// How many records each thread makes durable in a round.
const RECORDS_EACH: u64 = 48;
const PAYLOAD_BYTES: usize = 96;
const ROUNDS: usize = 7;

pub(crate) fn cases(plan: &Plan) -> Rows {
    let (ours, theirs) = (plan.scratch.join("commit.journal"), plan.scratch.join("commit.peer"));
    let each = plan.scaled(RECORDS_EACH);
    let case = |name: &str, peer| {
        Case {
        suite: SUITE,
        name: name.to_owned(),
        n: THREADS * each,
        peer,
        rounds: plan.rounds(ROUNDS),
        note: "every record is durable before its thread goes on, so the times are the disk's and the scheduler's; ours also writes a \
               note of how far it is synced each time"
            .to_owned(),
    }
    };
    let group = case("group commit, 64 threads", "one thread, same journal");
    let naive = case("group commit, 64 threads (naive peer)", "64 threads: mutex, write(), fdatasync() a record");
    let single = case("durable append, 1 thread", "one thread: write(), fdatasync() a record");
    Ok(vec![
        compare(group, &mut || journalled(&ours, THREADS, each), &mut || journalled(&theirs, 1, THREADS * each))?,
        compare(naive, &mut || journalled(&ours, THREADS, each), &mut || plain(&theirs, THREADS, each))?,
        compare(single, &mut || journalled(&ours, 1, THREADS * each), &mut || plain(&theirs, 1, THREADS * each))?,
    ])
}

fn journalled(path: &Path, threads: u64, each: u64) -> Result<Timed, Box<dyn Error>> {
    let (journal, _) = Journal::open(Arc::new(SingleFile::create(path)?), Options::default())?;
    let append =
        |payload: &[u8]| journal.append(payload, Durability::Fsync).map(drop).map_err(|error| error.to_string());
    let (elapsed, ()) = timed(|| Ok(on_threads(threads, each, &append)?))?;
    journal.close()?;
    let checksum = sum_of_journal(Arc::new(SingleFile::open(path)?))?;
    std::fs::remove_file(path)?;
    Ok(Timed { elapsed, checksum })
}

fn plain(path: &Path, threads: u64, each: u64) -> Result<Timed, Box<dyn Error>> {
    let file = Mutex::new(File::create(path)?);
    let append = |payload: &[u8]| {
        let mut file = file.lock().map_err(|error| error.to_string())?;
        file.write_all(payload).and_then(|()| file.sync_data()).map_err(|error| error.to_string())
    };
    let (elapsed, ()) = timed(|| Ok(on_threads(threads, each, &append)?))?;
    let checksum = sum(&std::fs::read(path)?);
    std::fs::remove_file(path)?;
    Ok(Timed { elapsed, checksum })
}

type Append<'a> = &'a (dyn Fn(&[u8]) -> Result<(), String> + Sync);

fn on_threads(threads: u64, each: u64, append: Append<'_>) -> Result<(), String> {
    let one = |numbers: Range<u64>| numbers.into_iter().try_for_each(|number| append(&payload(number, PAYLOAD_BYTES)));
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || one(thread * each..(thread + 1) * each))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a thread panicked".to_owned())?)
    })
}
