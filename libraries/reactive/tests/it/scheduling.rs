//! What runs, and what does not.

use crate::board::{create, derive, functions, lowest_bit, state, sum, write};
use journal::MemoryDisk;
use reactive::{Functions, Options, PageId, Stages, State, Statistics, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

fn chain(state: &mut State, length: usize) -> Vec<PageId> {
    let mut pages = vec![create(state, &[0; 16])];
    for _ in 1..length {
        let last = pages[pages.len() - 1];
        pages.push(derive(state, 16, Functions::passthrough(), &[last]));
    }
    pages
}

#[test]
fn a_change_goes_through_a_chain_once() {
    let mut state = state();
    let pages = chain(&mut state, 100);
    let commit = write(&mut state, pages[0], b"through the line");
    assert_eq!(state.read(pages[99]), Some(&b"through the line"[..]));
    assert_eq!((commit.statistics.ran, commit.statistics.cut_off, commit.statistics.heights), (99, 0, 99));
}

/// A clock that counts how often it is asked.
#[test]
fn statistics_say_what_a_commit_took_stage_by_stage() {
    let time = AtomicU64::new(0);
    let options = Options::default().clock(Arc::new(move || time.fetch_add(1, Ordering::Relaxed)));
    let mut state = State::create(Arc::new(MemoryDisk::new()), functions(), options);
    let pages = chain(&mut state, 3);
    let both = derive(&mut state, 16, sum(), &[pages[0], pages[2]]);
    let commit = write(&mut state, pages[0], &[1; 16]);
    let Statistics { visited, ran, heights, written, bytes_compared, stages, .. } = commit.statistics;
    assert_eq!((visited, ran, heights, written, bytes_compared), (4, 3, 3, 1, 4 * 16));
    let Stages { apply, diff, schedule, run, log, notify, .. } = stages;
    assert_eq!((apply, diff, log, notify), (1, 1, 1, 1));
    assert_eq!((run, schedule), (3, 4), "three heights, and what lies before, between and after them");
    assert_eq!(state.read(both), Some(&[2; 16][..]));
}

#[test]
fn generic_fn_recomputes_every_change() {
    let mut state = state();
    let pages = chain(&mut state, 2);
    for value in 1..=20 {
        write(&mut state, pages[0], &[value; 16]);
        assert_eq!(state.read(pages[1]), Some(&[value; 16][..]));
    }
}

#[test]
fn diamond_no_glitch() {
    let mut state = state();
    let source = create(&mut state, &[1]);
    let left = derive(&mut state, 1, sum(), &[source]);
    let right = derive(&mut state, 1, sum(), &[source, left]);
    let sink = derive(&mut state, 1, sum(), &[left, right]);
    let commit = write(&mut state, source, &[5]);
    assert_eq!(state.read(sink), Some(&[15][..]));
    assert_eq!(commit.statistics.ran, 3, "each of three derived pages once");
}

#[test]
fn stacked_diamonds_linear() {
    let mut state = state();
    let mut top = create(&mut state, &[1]);
    for _ in 0..40 {
        let left = derive(&mut state, 1, sum(), &[top]);
        let right = derive(&mut state, 1, sum(), &[top]);
        top = derive(&mut state, 1, Functions::passthrough(), &[left, right]);
    }
    let first = state.pages().next().unwrap();
    assert_eq!(write(&mut state, first, &[3]).statistics.ran, 120);
}

#[test]
fn what_does_not_change_ends_the_wave() {
    let mut state = state();
    let source = create(&mut state, &[4; 8]);
    let parity = derive(&mut state, 8, lowest_bit(), &[source]);
    let mut last = parity;
    for _ in 0..1_000 {
        last = derive(&mut state, 8, Functions::passthrough(), &[last]);
    }
    let commit = write(&mut state, source, &[6; 8]);
    assert_eq!((commit.statistics.ran, commit.statistics.cut_off), (1, 1));
    assert_eq!((state.changed(source), state.changed(parity)), (Some(commit.epoch), Some(2)));
    assert_eq!(write(&mut state, source, &[7; 8]).statistics.ran, 1_001);
}

#[test]
fn a_write_of_what_is_there_is_not_a_commit() {
    let (mut state, disk) = crate::board::logged();
    let pages = chain(&mut state, 3);
    let (epoch, bytes) = (state.epoch(), disk.bytes());
    let commit = write(&mut state, pages[0], &[0; 16]);
    assert_eq!((commit.epoch, state.epoch(), disk.bytes()), (epoch, epoch, bytes));
    assert_eq!((commit.statistics.ran, commit.statistics.commits, commit.statistics.unchanged), (0, 0, 1));
}

#[test]
fn a_fan_runs_each_page_once() {
    let mut state = state();
    let source = create(&mut state, &[0; 64]);
    let pages: Vec<_> = (0..1_000).map(|_| derive(&mut state, 64, Functions::passthrough(), &[source])).collect();
    let commit = write(&mut state, source, &[9; 64]);
    assert_eq!((commit.statistics.ran, commit.statistics.heights), (1_000, 1));
    assert!(pages.iter().all(|&page| state.read(page) == Some(&[9; 64])));
}

/// A million pages that follow from one, made in one transaction: each from the one before, or all from the first.
fn million(state: &mut State, is_chain: bool) -> PageId {
    let mut transaction = Transaction::new();
    let first = transaction.create(&[0; 4]);
    let mut last = first;
    for _ in 0..1_000_000 {
        let next = transaction.derive(4, Functions::passthrough(), [last]);
        last = if is_chain { next } else { first };
    }
    state.commit(&transaction).unwrap().created[0]
}

#[test]
fn deep_chain_no_overflow() {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(|| {
        let mut state = state();
        let first = million(&mut state, true);
        let ran = write(&mut state, first, &[1; 4]).statistics.ran;
        let last = state.pages().last().unwrap();
        assert_eq!(state.read(last), Some(&[1; 4][..]));
        (ran, state.why(last).unwrap().len())
    });
    assert_eq!(thread.unwrap().join().unwrap(), (1_000_000, 1_000_001));
}

#[test]
fn a_million_pages_follow_from_one() {
    let mut state = state();
    let first = million(&mut state, false);
    let commit = write(&mut state, first, &[1; 4]);
    assert_eq!((commit.statistics.ran, commit.statistics.heights), (1_000_000, 1));
    assert_eq!(write(&mut state, first, &[1; 4]).statistics.ran, 0);
}

#[test]
fn edge_insert_cost() {
    let mut state = state();
    let sources: Vec<_> = (0..10).map(|value| create(&mut state, &[value])).collect();
    let mut pages = Vec::new();
    for number in 0..10_000_usize {
        let mut dependencies = sources.clone();
        dependencies.extend(pages.last());
        pages.push(derive(&mut state, 1, sum(), &dependencies));
        assert_eq!(pages.len(), number + 1);
    }
    assert_eq!(
        write(&mut state, sources[0], &[1]).statistics.ran,
        10_000,
        "110,000 edges, made one page after the other"
    );
}

#[test]
fn latency_is_of_commits_that_change_something() {
    let time = AtomicU64::new(0);
    let options = Options::default().clock(Arc::new(move || time.fetch_add(1, Ordering::Relaxed)));
    let mut state = State::new(functions(), options);
    assert_eq!(state.statistics().latency, reactive::Latency::default());
    let page = create(&mut state, b"one");
    let first = state.statistics().latency;
    assert!(first.commits == 1 && first.min > 0 && first.min == first.max && first.mean == first.p99);
    write(&mut state, page, b"one");
    assert_eq!(state.statistics().latency, first, "nothing has changed");
    let commit = write(&mut state, page, b"two");
    let all = state.statistics().latency;
    assert_eq!((all.commits, commit.statistics.latency.commits), (2, 1));
    assert_eq!(all.max, first.max.max(commit.statistics.latency.max));
    assert_eq!(state.fork(2).unwrap().statistics().latency.commits, 0);
}
