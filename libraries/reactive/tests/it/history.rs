//! What a state was.

use crate::board::{create, derive, functions, logged, lowest_bit, sum, write};
use journal::{Disk, MemoryDisk};
use reactive::{FunctionName, Functions, OpenError, Options, Reason, State, StateWarning, Transaction};
use std::sync::Arc;

fn error<T>(result: Result<T, OpenError>) -> String {
    result.err().expect("it is refused").to_string()
}

#[test]
fn epoch_cut_is_consistent() {
    let (mut state, _) = logged();
    let one = create(&mut state, &[1]);
    let other = create(&mut state, &[10]);
    let total = derive(&mut state, 1, sum(), &[one, other]);
    write(&mut state, one, &[2]);
    write(&mut state, other, &[20]);
    let at = |epoch| {
        let past = state.at(epoch).unwrap();
        [one, other, total].map(|page| past.read(page).map(|bytes| bytes[0]))
    };
    assert_eq!(at(0), [None, None, None]);
    assert_eq!(at(2), [Some(1), Some(10), None]);
    assert_eq!(at(3), [Some(1), Some(10), Some(11)]);
    assert_eq!(at(4), [Some(2), Some(10), Some(12)]);
    assert_eq!(at(5), [Some(2), Some(20), Some(22)]);
    assert_eq!(error(state.at(6)), "there is no commit 6; the last one is 5");
}

#[test]
fn page_history_starts_at_birth() {
    let (mut state, _) = logged();
    let source = create(&mut state, &[3]);
    let bit = derive(&mut state, 1, lowest_bit(), &[source]);
    for value in [4, 6, 7] {
        write(&mut state, source, &[value]);
    }
    assert_eq!(state.history(source).unwrap(), [(1, vec![3]), (3, vec![4]), (4, vec![6]), (5, vec![7])]);
    assert_eq!(state.history(bit).unwrap(), [(2, vec![1]), (3, vec![0]), (5, vec![1])]);
}

#[test]
fn replay_from_checkpoint_works() {
    let (mut state, disk) = logged();
    let source = create(&mut state, &[0; 4]);
    let copy = derive(&mut state, 4, Functions::passthrough(), &[source]);
    write(&mut state, source, b"1111");
    state.checkpoint().unwrap();
    write(&mut state, source, b"2222");
    let (hash, statistics) = (state.state_hash(), state.statistics());
    drop(state);
    let (mut opened, warnings) = State::open(disk, functions(), Options::default()).unwrap();
    assert!(warnings.is_empty());
    assert_eq!((opened.state_hash(), opened.epoch()), (hash, 4));
    assert_eq!(opened.statistics().commits, 1, "one of {} commits is made again", statistics.commits);
    assert_eq!(opened.at(2).unwrap().read(copy), Some(&[0; 4][..]), "before the checkpoint, from the log");
    assert_eq!(opened.at(3).unwrap().read(copy), Some(&b"1111"[..]));
    assert_eq!(write(&mut opened, source, b"3333").epoch, 5);
    assert_eq!(opened.read(copy), Some(&b"3333"[..]), "what is derived follows after opening");
}

#[test]
fn time_travel_base_is_checkpoint() {
    let (mut state, _) = logged();
    let source = create(&mut state, b"kept");
    write(&mut state, source, b"then");
    let there = Arc::new(MemoryDisk::new());
    let mut fork = state.fork_to(1, there.clone(), Options::default()).unwrap();
    write(&mut fork, source, b"fork");
    write(&mut state, source, b"main");
    assert_eq!((fork.epoch(), state.epoch()), (2, 3));
    drop(fork);
    let (fork, _) = State::open(there, functions(), Options::default()).unwrap();
    assert_eq!((fork.read(source), state.read(source)), (Some(&b"fork"[..]), Some(&b"main"[..])));
    assert_eq!(fork.at(1).unwrap().read(source), Some(&b"kept"[..]));
    assert_eq!(fork.history(source).unwrap(), [(2, b"fork".to_vec())]);
}

#[test]
fn a_fork_times_its_commits_by_the_clock_that_it_is_given() {
    let (mut state, _) = logged();
    let source = create(&mut state, b"kept");
    let time = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let options = Options::default().clock(Arc::new(move || time.fetch_add(1, std::sync::atomic::Ordering::Relaxed)));
    let mut fork = state.fork_to(1, Arc::new(MemoryDisk::new()), options).unwrap();
    write(&mut fork, source, b"fork");
    assert_eq!(fork.statistics().latency.commits, 1);
    let mut again = fork.fork_to(2, Arc::new(MemoryDisk::new()), Options::default()).unwrap();
    write(&mut again, source, b"more");
    assert_eq!(again.statistics().latency.commits, 0, "it has no clock");
}

#[test]
fn a_fork_whose_first_checkpoint_is_gone_says_so() {
    let (mut state, _) = logged();
    let source = create(&mut state, b"kept");
    let there = Arc::new(MemoryDisk::new());
    drop(state.fork_to(1, there.clone(), Options::default()).unwrap());
    there.remove("00000000000000000001.pages").unwrap();
    let said = error(State::open(there, functions(), Options::default()));
    assert!(said.contains("begins after commit 1") && said.contains("restore it from a copy"), "{said}");
    assert!(state.read(source).is_some());
}

#[test]
fn a_damaged_checkpoint_costs_time_and_no_data() {
    let (mut state, disk) = logged();
    let source = create(&mut state, b"1234");
    state.checkpoint().unwrap();
    write(&mut state, source, b"5678");
    state.checkpoint().unwrap();
    let hash = state.state_hash();
    drop(state);
    let file = disk.open("00000000000000000002.pages", journal::Access::Write).unwrap();
    file.write_full(60, b"damage").unwrap();
    let (mut opened, warnings) = State::open(disk, functions(), Options::default()).unwrap();
    assert_eq!(opened.state_hash(), hash);
    let [StateWarning::Checkpoint { file, .. }] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(file, "00000000000000000002.pages");
    assert!(warnings[0].to_string().contains("its checksum does not match"), "{}", warnings[0]);
}

#[test]
fn checkpoint_of_another_log_is_not_used() {
    let (mut state, disk) = logged();
    create(&mut state, b"mine");
    let (mut other, elsewhere) = logged();
    create(&mut other, b"else");
    other.checkpoint().unwrap();
    let name = "00000000000000000001.pages";
    let foreign = elsewhere.open(name, journal::Access::Read).unwrap();
    let mut bytes = vec![0; foreign.length().unwrap() as usize];
    foreign.read_full(0, &mut bytes).unwrap();
    disk.create(name).unwrap().write_full(0, &bytes).unwrap();
    drop(state);
    let (opened, warnings) = State::open(disk, functions(), Options::default()).unwrap();
    assert_eq!(opened.pages().map(|page| opened.read(page).unwrap()).collect::<Vec<_>>(), [b"mine"]);
    assert!(warnings[0].to_string().contains("another history"), "{}", warnings[0]);
}

#[test]
fn a_function_that_is_not_there_is_named() {
    let (mut state, disk) = logged();
    let source = create(&mut state, &[1]);
    derive(&mut state, 1, sum(), &[source]);
    let expected =
        "commit 2 derives a page by sum version 1, which was not given; add it to the functions and open again";
    assert_eq!(error(State::open(disk.clone(), Functions::new(), Options::default())), expected);
    state.checkpoint().unwrap();
    assert_eq!(error(State::open(disk, Functions::new(), Options::default())), expected);
}

#[test]
fn a_function_that_derives_something_else_now_is_found_out() {
    let (mut state, disk) = logged();
    let source = create(&mut state, &[1]);
    derive(&mut state, 1, sum(), &[source]);
    let mut functions = functions();
    functions.add(sum(), |_: &reactive::Inputs<'_>, page: &mut [u8]| {
        page.fill(77);
        Ok(())
    });
    let said = error(State::open(disk, functions, Options::default()));
    assert!(said.starts_with("after commit 2 the state has hash") && said.contains("another version"), "{said}");
}

/// What was derived is logged where that is asked for, and compared when the log is opened.
#[test]
fn what_was_derived_is_compared_page_by_page() {
    let disk = Arc::new(MemoryDisk::new());
    let mut state = State::create(disk.clone(), functions(), Options::default().log_derived(true));
    let source = create(&mut state, &[1; 300]);
    let copy = derive(&mut state, 300, Functions::passthrough(), &[source]);
    let total = derive(&mut state, 300, sum(), &[source, copy]);
    let plain = {
        let mut plain = State::create(Arc::new(MemoryDisk::new()), functions(), Options::default());
        let source = create(&mut plain, &[1; 300]);
        derive(&mut plain, 300, Functions::passthrough(), &[source]);
        derive(&mut plain, 300, sum(), &[source, copy]);
        write(&mut plain, source, &[5; 200]).statistics.bytes_logged
    };
    let logged = write(&mut state, source, &[5; 200]).statistics.bytes_logged;
    assert_eq!(logged, plain + 4 + 2 * (8 + 4 + 8 + 200), "two derived pages with a run each");
    let hash = state.state_hash();
    drop(state);
    let (mut opened, _) = State::open(disk.clone(), functions(), Options::default()).unwrap();
    assert_eq!((opened.state_hash(), opened.read(total).unwrap()[0]), (hash, 10));
    let mut functions = functions();
    functions.add(sum(), |inputs: &reactive::Inputs<'_>, page: &mut [u8]| {
        page.iter_mut()
            .zip(inputs.get(0))
            .for_each(|(byte, other)| *byte = other.wrapping_mul(2) | u8::from(*other == 5));
        Ok(())
    });
    let said = error(State::open(disk, functions, Options::default()));
    assert!(said.starts_with(&format!("after commit 4 {total} holds something else than was logged")), "{said}");
}

/// A crash left the first part of a commit without its last; another long commit follows.
#[test]
fn parts_that_a_crash_left_are_no_part_of_the_next_commit() {
    let disk = Arc::new(journal::simulated::SimulatedDisk::new());
    let mut state = State::create(disk.clone(), functions(), Options::default());
    let long = create(&mut state, &vec![1; journal::FRAME_BYTES_MAX + 100]);
    drop(state);
    // The first frame of a commit that is like the next one.
    let (journal, _) = journal::Journal::open(disk.clone(), journal::Options::default()).unwrap();
    let part = [&[2, 1, 0][..], &[7; 1000]].concat();
    journal.append(&part, journal::Durability::Os).unwrap();
    drop(journal);
    let (mut state, _) = State::open(disk.clone(), functions(), Options::default()).unwrap();
    assert_eq!(state.epoch(), 1);
    write(&mut state, long, &vec![3; journal::FRAME_BYTES_MAX + 100]);
    let hash = state.state_hash();
    drop(state);
    let (mut opened, _) = State::open(disk, functions(), Options::default()).unwrap();
    assert_eq!((opened.epoch(), opened.state_hash()), (2, hash));
}

#[test]
fn a_state_without_a_log_knows_only_now() {
    let mut state = crate::board::state();
    create(&mut state, b"now");
    assert!(state.at(1).is_ok());
    assert_eq!(error(state.at(0)), OpenError::NoLog.to_string());
    assert_eq!(error(state.fork(0)), OpenError::NoLog.to_string());
    assert!(state.checkpoint().is_err());
}

#[test]
fn a_place_that_is_taken_is_not_begun_anew() {
    let (mut state, disk) = logged();
    create(&mut state, b"first");
    let mut second = State::create(disk, functions(), Options::default());
    let mut transaction = Transaction::new();
    transaction.create(b"second");
    let said = second.commit(&transaction).unwrap_err().to_string();
    assert_eq!(said, "the commit is not logged: the place holds a state already; open it, or choose an empty one");
    assert_eq!((second.epoch(), second.pages().count()), (0, 0));
}

#[test]
fn logging_off_means_off() {
    let disk = Arc::new(MemoryDisk::new());
    let mut state = State::create(disk.clone(), functions(), Options::default());
    assert_eq!(state.commit(&Transaction::new()).unwrap().epoch, 0);
    drop(state);
    assert!(disk.list().unwrap().is_empty(), "a state that never commits leaves no file");
}

#[test]
fn provenance_is_dag_and_fresh() {
    let (mut state, _) = logged();
    let mut transaction = Transaction::new().source("sensor 7");
    let (one, other) = (transaction.create(&[1]), transaction.create(&[2]));
    let left = transaction.derive(1, sum(), [one, other]);
    let right = transaction.derive(1, lowest_bit(), [other]);
    let top = transaction.derive(1, sum(), [left, right]);
    let pages = state.commit(&transaction).unwrap().created;
    let [one, other, left, right, top] = [one, other, left, right, top].map(|page| pages[page.index()]);
    let mut transaction = Transaction::new().source("by hand").caused_by(1);
    transaction.write(other, 0, &[4]);
    state.commit(&transaction).unwrap();
    let why = state.why(top).unwrap();
    assert_eq!(why.iter().map(|why| why.page).collect::<Vec<_>>(), [top, left, right, one, other], "each once");
    assert_eq!(why.iter().map(|why| why.changed).collect::<Vec<_>>(), [2, 2, 1, 1, 2]);
    let derived = |function, ran, dependencies| Reason::Derived { function, ran, dependencies };
    assert_eq!(why[0].reason, derived(sum(), 2, vec![left, right]));
    assert_eq!(
        why[2].reason,
        derived(FunctionName::new("lowest-bit", 2), 2, vec![other]),
        "it ran, and did not change"
    );
    assert_eq!(why[3].reason, Reason::Written { source: Some("sensor 7".into()), cause: None });
    assert_eq!(why[4].reason, Reason::Written { source: Some("by hand".into()), cause: Some(1) });
}

#[test]
fn a_commit_that_is_longer_than_a_frame_is_cut_and_put_together() {
    let (mut state, disk) = logged();
    let bytes: Vec<u8> = (0..journal::FRAME_BYTES_MAX * 2 + 5).map(|place| (place / 7) as u8 | 1).collect();
    let long = create(&mut state, &bytes);
    let short = create(&mut state, b"after it");
    state.checkpoint().unwrap();
    write(&mut state, long, &vec![6; journal::FRAME_BYTES_MAX + 1]);
    let hash = state.state_hash();
    assert!(state.at(1).unwrap().read(long) == Some(&bytes[..]));
    drop(state);
    let (mut opened, _) = State::open(disk, functions(), Options::default()).unwrap();
    assert_eq!((opened.epoch(), opened.state_hash()), (3, hash));
    assert_eq!(write(&mut opened, short, b"and then").epoch, 4);
}

/// The hash was that of the old derivation if the page held the same bytes as before.
#[test]
fn a_page_that_is_derived_in_another_way_changes_the_hash() {
    let (mut state, disk) = logged();
    let (one, other) = (create(&mut state, &[0]), create(&mut state, &[0]));
    let page = derive(&mut state, 1, sum(), &[one]);
    let before = state.state_hash();
    let mut transaction = Transaction::new();
    transaction.rederive(page, sum(), [other]);
    state.commit(&transaction).unwrap();
    assert_eq!(state.read(page), Some(&[0][..]));
    assert_ne!(state.state_hash(), before);
    state.checkpoint().unwrap();
    assert_eq!(state.verify().unwrap().problems.len(), 0);
    let hash = state.state_hash();
    drop(state);
    let (mut opened, warnings) = State::open(disk, functions(), Options::default()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(opened.state_hash(), hash);
}
