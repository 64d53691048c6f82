//! Commits that are logged, beside the bare `write()` of as many bytes.

use super::sheets::{Ours, Shape, Sheet, functions, look};
use super::waves::{plain, write_all};
use super::{Failure, PAGE_BYTES, ROUNDS, SUITE, images};
use crate::compare::{Case, Clock, Timed, contest};
use crate::row::Row;
use crate::{Plan, Rows};
use journal::{Directory, Durability, FRAME_OVERHEAD_BYTES};
use reactive::{Functions, Options, PageId, SharedState, State, Transaction};
use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

/// What a commit of one page takes beside its bytes, in the log and in the journal's frame.
const RECORD_BYTES: usize = 42 + FRAME_OVERHEAD_BYTES as usize;
/// What a commit of one page that has a derived page as well takes beside its bytes.
const DERIVED_RECORD_BYTES: usize = RECORD_BYTES + 24;

pub(super) fn rows(plan: &Plan) -> Rows {
    let mut rows = Vec::new();
    for (name, bytes) in [("one hop, logged", PAGE_BYTES), ("one hop, ten bytes, logged", 10)] {
        rows.push(hop(plan, name, bytes)?);
    }
    rows.push(derived(plan)?);
    rows.push(group(plan)?);
    for writers in [1, 2, 8] {
        rows.push(contention(plan, writers)?);
    }
    rows.push(unchanged(plan)?);
    Ok(rows)
}

fn state(folder: &Path, durability: Durability) -> Result<State, Failure> {
    let _ = std::fs::remove_dir_all(folder);
    let options = Options::default().threads(1).durability(durability);
    Ok(State::create(Arc::new(Directory::create(folder)?), functions(), options))
}

/// One hop whose log has the derived page as well, as the report's has.
fn derived(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(20_000);
    let images = images(PAGE_BYTES);
    let folder = plan.scratch.join("derived");
    let _ = std::fs::remove_dir_all(&folder);
    let options = Options::default().threads(1).durability(Durability::Os).log_derived(true);
    let state = State::create(Arc::new(Directory::create(&folder)?), functions(), options);
    let mut ours = Ours::of(state, Shape::Chain(2)).map_err(plain)?;
    let record = vec![7; 2 * PAGE_BYTES + DERIVED_RECORD_BYTES];
    let (mut first, mut second) = (vec![0; PAGE_BYTES], vec![0; PAGE_BYTES]);
    let mut file = File::create(plan.scratch.join("plain"))?;
    let case = Case {
        suite: SUITE,
        name: "one hop, both pages logged".to_owned(),
        n,
        peer: "write() and two memcpys",
        rounds: plan.rounds(ROUNDS),
        note: "the log has what was derived, as that of the report has; ours has a checksum (CRC-32C) of it and a chain (BLAKE3) \
               over all of them besides"
            .to_owned(),
    };
    let theirs = &mut || {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            images.iter().cycle().take(n as usize).try_fold(0_u64, |sum, image| {
                first.copy_from_slice(image);
                second.copy_from_slice(std::hint::black_box(&first));
                file.write_all(&record)?;
                Ok::<_, std::io::Error>(sum.wrapping_add(look(std::hint::black_box(&second))))
            })
        })?;
        Ok(clock.done(sum))
    };
    contest(case, None, &mut || write_all(&mut ours, n, &images), theirs)
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

/// How many threads commit at once, and how often each.
const WRITERS: u64 = 64;
const EACH: u64 = 8;

/// What a writer commits: a number at a place of its own.
fn mark(page: PageId, writer: u64, number: u64) -> Transaction {
    let mut transaction = Transaction::new();
    transaction.write(page, writer as usize * 8, &number.to_le_bytes());
    transaction
}

/// Commits that 64 threads wait for the disk with, beside one after the other. The threads are there before: making them takes longer than
/// a sync.
fn group(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let shared = SharedState::new(state(&plan.scratch.join("shared"), Durability::Fsync).map_err(plain)?);
    let mut alone = state(&plan.scratch.join("alone"), Durability::Fsync).map_err(plain)?;
    let mut create = Transaction::new();
    create.create(&[0; PAGE_BYTES]);
    let page = shared.commit(&create)?.created[0];
    alone.commit(&create)?;
    let case = Case {
        suite: SUITE,
        name: "64 durable commits of 64 threads".to_owned(),
        n: WRITERS * EACH,
        peer: "one by one",
        rounds: plan.rounds(ROUNDS),
        note: "the same commits of the same library, each durable when its writer goes on".to_owned(),
    };
    let (round, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (begin, end) = (Barrier::new(WRITERS as usize + 1), Barrier::new(WRITERS as usize + 1));
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (shared, round, is_over, begin, end) = (&shared, &round, &is_over, &begin, &end);
            scope.spawn(move || {
                loop {
                    begin.wait();
                    if is_over.load(Ordering::Acquire) {
                        return;
                    }
                    let first = round.load(Ordering::Acquire) * EACH;
                    for number in first..first + EACH {
                        shared.commit(&mark(page, writer, number)).expect("the disk takes a commit");
                    }
                    end.wait();
                }
            });
        }
        let ours = &mut || {
            round.fetch_add(1, Ordering::AcqRel);
            let mut clock = Clock::default();
            clock.run(|| {
                begin.wait();
                end.wait();
            });
            let snapshot = shared.snapshot();
            Ok(clock.done(sum(snapshot.read(page).ok_or("the page is there")?)))
        };
        let mut their_round = 0;
        let theirs = &mut || -> Result<Timed, Box<dyn Error>> {
            their_round += 1;
            let numbers = their_round * EACH..(their_round + 1) * EACH;
            let mut clock = Clock::default();
            clock.run(|| {
                numbers.clone().try_for_each(|number| {
                    (0..WRITERS).try_for_each(|writer| alone.commit(&mark(page, writer, number)).map(|_| ()))
                })
            })?;
            Ok(clock.done(sum(alone.read(page).ok_or("the page is there")?)))
        };
        let row = contest(case, Some((8.0, "times one by one")), ours, theirs);
        is_over.store(true, Ordering::Release);
        begin.wait();
        row
    })
}

/// Commits of `writers` threads to one state that keeps no log, beside those of its only owner: what the lock costs.
fn contention(plan: &Plan, writers: u64) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(40_000) / writers * writers;
    let create = || -> Result<(State, PageId), Failure> {
        let mut state = State::new(functions(), Options::default().threads(1));
        let mut create = Transaction::new();
        let first = create.create(&[0; PAGE_BYTES]);
        create.derive(PAGE_BYTES, Functions::passthrough(), [first]);
        let page = state.commit(&create)?.created[0];
        Ok((state, page))
    };
    let (state, page) = create().map_err(plain)?;
    let (shared, (mut alone, _)) = (SharedState::new(state), create().map_err(plain)?);
    let case = Case {
        suite: SUITE,
        name: format!("commits of {writers} {}", if writers == 1 { "thread that shares" } else { "threads" }),
        n,
        peer: "its only owner",
        rounds: plan.rounds(ROUNDS),
        note: "one page follows from the one that is written; no log; the threads are made in the time measured"
            .to_owned(),
    };
    let mut rounds = (0, 0);
    let ours = &mut || -> Result<Timed, Box<dyn Error>> {
        rounds.0 += 1;
        let first = rounds.0 * n;
        let mut clock = Clock::default();
        clock.run(|| {
            std::thread::scope(|scope| {
                let commit = |writer: u64, number| shared.commit(&mark(page, writer, number)).map(|_| ());
                let all = move |writer| (first..first + n / writers).try_for_each(|number| commit(writer, number));
                let threads: Vec<_> = (0..writers).map(|writer| scope.spawn(move || all(writer))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().expect("a writer does not panic"))
            })
        })?;
        let snapshot = shared.snapshot();
        Ok(clock.done(sum(snapshot.read(page).ok_or("the page is there")?)))
    };
    let theirs = &mut || -> Result<Timed, Box<dyn Error>> {
        rounds.1 += 1;
        let first = rounds.1 * n;
        let mut clock = Clock::default();
        clock.run(|| {
            (0..writers).try_for_each(|writer| {
                (first..first + n / writers)
                    .try_for_each(|number| alone.commit(&mark(page, writer, number)).map(|_| ()))
            })
        })?;
        Ok(clock.done(sum(alone.read(page).ok_or("the page is there")?)))
    };
    contest(case, None, ours, theirs)
}

/// A write of what a page holds already, beside copying the bytes and comparing them.
fn unchanged(plan: &Plan) -> Result<Row, Box<dyn Error>> {
    let n = plan.scaled(100_000);
    let image = images(PAGE_BYTES).swap_remove(0);
    let mut ours = Ours::new(Shape::Chain(2)).map_err(plain)?;
    ours.write(&image).map_err(plain)?;
    let (held, mut given) = (image.clone(), vec![0; PAGE_BYTES]);
    let case = Case {
        suite: SUITE,
        name: "bytes that are there already".to_owned(),
        n,
        peer: "memcpy and memcmp",
        rounds: plan.rounds(ROUNDS),
        note: "a transaction holds a copy of what it writes; nothing is logged and nothing runs".to_owned(),
    };
    let theirs = &mut || {
        let mut clock = Clock::default();
        let sum = clock.run(|| {
            (0..n).fold(0_u64, |sum, _| {
                given.copy_from_slice(std::hint::black_box(&image));
                let is_equal = *std::hint::black_box(&given) == held;
                sum.wrapping_add(if is_equal { look(&held) } else { 0 })
            })
        });
        Ok(clock.done(sum))
    };
    let images = [image.clone()];
    contest(case, None, &mut || write_all(&mut ours, n, &images), theirs)
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)))
}
