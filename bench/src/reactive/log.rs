//! Commits that are logged, beside the bare `write()` of as many bytes.

use super::sheets::{Ours, Shape, functions, look};
use super::waves::{plain, write_all};
use super::{Failure, PAGE_BYTES, ROUNDS, SUITE, images};
use crate::compare::{Case, Clock, Timed, contest};
use crate::row::Row;
use crate::{Plan, Rows};
use journal::{Directory, Durability, FRAME_OVERHEAD_BYTES};
use reactive::{Options, SharedState, State, Transaction};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// What a commit of one page takes beside its bytes, in the log and in the journal's frame.
const RECORD_BYTES: usize = 42 + FRAME_OVERHEAD_BYTES as usize;

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (name, bytes) in [("one hop, logged", PAGE_BYTES), ("one hop, ten bytes, logged", 10)] {
        rows.push(hop(plan, name, bytes)?);
    }
    rows.push(group(plan)?);
    Ok(rows)
}

fn state(folder: &Path, durability: Durability) -> Result<State, Failure> {
    let _ = std::fs::remove_dir_all(folder);
    let options = Options::default().threads(1).durability(durability);
    Ok(State::create(Arc::new(Directory::create(folder)?), functions(), options))
}

fn hop(plan: &Plan, name: &str, bytes: usize) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(20_000);
    let images = images(bytes);
    let mut ours =
        Ours::of(state(&plan.scratch.join("log"), Durability::Os).map_err(plain)?, Shape::Chain(2)).map_err(plain)?;
    let record = vec![7; bytes + RECORD_BYTES];
    let (mut first, mut second) = (vec![0; PAGE_BYTES], vec![0; PAGE_BYTES]);
    let mut file = File::create(plan.scratch.join("plain"))?;
    let case = Case {
        suite: SUITE,
        name: name.to_owned(),
        n,
        peer: "write() and two memcpys",
        rounds: plan.rounds(ROUNDS),
        note: "each commit is handed to the system before the next; ours has a checksum (CRC-32C) of it and a chain (BLAKE3) over all of them besides".to_owned(),
    };
    let theirs = &mut || {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            images.iter().cycle().take(n as usize).try_fold(0_u64, |sum, image| {
                first[..bytes].copy_from_slice(image);
                second.copy_from_slice(std::hint::black_box(&first));
                file.write_all(&record)?;
                Ok::<_, std::io::Error>(sum.wrapping_add(look(std::hint::black_box(&second))))
            })
        })?;
        Ok(clock.done(sum))
    };
    contest(case, Some((0.4, "2.5 times as long")), &mut || write_all(&mut ours, n, &images), theirs)
}

/// Commits that 64 threads wait for the disk with, beside one after the other.
fn group(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    const WRITERS: u64 = 64;
    let shared = SharedState::new(state(&plan.scratch.join("shared"), Durability::Fsync).map_err(plain)?);
    let mut alone = state(&plan.scratch.join("alone"), Durability::Fsync).map_err(plain)?;
    let mut create = Transaction::new();
    create.create(&[0; PAGE_BYTES]);
    let page = shared.commit(&create)?.created[0];
    alone.commit(&create)?;
    let case = Case {
        suite: SUITE,
        name: "64 durable commits of 64 threads".to_owned(),
        n: WRITERS,
        peer: "one by one",
        rounds: plan.rounds(ROUNDS),
        note: "the same commits of the same library, each durable when its writer goes on".to_owned(),
    };
    let transaction = |writer: u64, round: u64| {
        let mut transaction = Transaction::new();
        transaction.write(page, writer as usize * 8, &(round * WRITERS + writer).to_le_bytes());
        transaction
    };
    let (mut our_round, mut their_round) = (0, 0);
    let ours = &mut || {
        our_round += 1;
        let mut clock = Clock::default();
        clock.run(|| {
            std::thread::scope(|scope| {
                let commit = |writer| shared.commit(&transaction(writer, our_round)).map(|_| ());
                let threads: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || commit(writer))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("a writer does not panic"))
            })
        })?;
        let snapshot = shared.snapshot();
        Ok(clock.done(sum(snapshot.read(page).ok_or("the page is there")?)))
    };
    let theirs = &mut || -> Result<Timed, Box<dyn Error>> {
        their_round += 1;
        let mut clock = Clock::default();
        clock
            .run(|| (0..WRITERS).try_for_each(|writer| alone.commit(&transaction(writer, their_round)).map(|_| ())))?;
        Ok(clock.done(sum(alone.read(page).ok_or("the page is there")?)))
    };
    contest(case, Some((8.0, "times one by one")), ours, theirs)
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}
