//! What each subscriber is told.

use crate::board::{create, derive, lowest_bit, state, write};
use reactive::{Change, Filter, Notice, Transaction};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

fn notice(from: u64, to: u64, merged: u64, changes: &[(reactive::PageId, Change)]) -> Notice {
    Notice { from, to, merged, changes: changes.iter().copied().collect::<BTreeMap<_, _>>() }
}

fn written(bytes: u64) -> Change {
    Change::Written { bytes: Some(bytes) }
}

#[test]
fn one_notice_a_commit_says_what_changed_and_how_much() {
    let mut state = state();
    let all = state.subscribe(Filter::All, 10);
    let source = create(&mut state, &[0; 4]);
    let bit = derive(&mut state, 4, lowest_bit(), &[source]);
    write(&mut state, source, &[3, 3]);
    write(&mut state, source, &[5, 5]);
    let mut transaction = Transaction::new();
    transaction.delete(bit);
    transaction.create(&[1]);
    let made = state.commit(&transaction).unwrap().created[0];
    assert_eq!(all.try_next(), Some(notice(0, 1, 1, &[(source, Change::Created)])));
    assert_eq!(all.try_next(), Some(notice(1, 2, 1, &[(bit, Change::Created)])));
    assert_eq!(all.try_next(), Some(notice(2, 3, 1, &[(source, written(2)), (bit, written(2))])));
    assert_eq!(all.try_next(), Some(notice(3, 4, 1, &[(source, written(2))])), "the bit stays");
    assert_eq!(all.try_next(), Some(notice(4, 5, 1, &[(bit, Change::Deleted), (made, Change::Created)])));
    assert_eq!((all.try_next(), all.next_within(Duration::from_millis(1))), (None, None));
    assert_eq!((made.slot(), made.generation()), (bit.slot(), 1), "the place is used again, under another name");
}

#[test]
fn a_slow_subscriber_learns_from_where_to_where_it_missed() {
    let mut state = state();
    let (one, other) = (create(&mut state, &[0; 4]), create(&mut state, &[0; 4]));
    let slow = state.subscribe(Filter::All, 2);
    let ones = state.subscribe(Filter::Pages(BTreeSet::from([one])), 2);
    for value in 1..=4 {
        write(&mut state, one, &[value]);
        write(&mut state, other, &[value; 3]);
    }
    assert_eq!(slow.try_next(), Some(notice(2, 3, 1, &[(one, written(1))])));
    assert_eq!(slow.try_next(), Some(notice(3, 10, 7, &[(one, written(3)), (other, written(12))])));
    assert_eq!(ones.try_next(), Some(notice(2, 3, 1, &[(one, written(1))])));
    assert_eq!(ones.try_next(), Some(notice(4, 9, 3, &[(one, written(3))])));
}

#[test]
fn a_page_that_came_and_went_unseen_is_not_spoken_of() {
    let mut state = state();
    let lazy = state.subscribe(Filter::All, 1);
    let kept = create(&mut state, &[1]);
    let page = create(&mut state, &[2]);
    let mut transaction = Transaction::new();
    transaction.delete(page);
    state.commit(&transaction).unwrap();
    assert_eq!(lazy.try_next(), Some(notice(0, 3, 3, &[(kept, Change::Created)])));
}

#[test]
fn a_subscriber_resumes_after_an_epoch() {
    let mut state = state();
    let (one, other, third) = (create(&mut state, &[0]), create(&mut state, &[0]), create(&mut state, &[0]));
    write(&mut state, one, &[1]);
    let mut transaction = Transaction::new();
    transaction.delete(third);
    state.commit(&transaction).unwrap();
    let late = state.subscribe_from(3, Filter::All, 4);
    let unknown = Change::Written { bytes: None };
    assert_eq!(late.try_next(), Some(notice(3, 5, 1, &[(one, unknown), (third, Change::Deleted)])));
    write(&mut state, other, &[1]);
    assert_eq!(late.try_next(), Some(notice(5, 6, 1, &[(other, written(1))])));
    assert_eq!(state.subscribe_from(6, Filter::All, 4).try_next(), None);
}

#[test]
fn subscriptions_per_state() {
    let mut state = state();
    let before = state.subscribe(Filter::All, 4);
    state.reset(None);
    create(&mut state, &[1]);
    assert_eq!(before.try_next(), None, "those of before a reset hear nothing");
}

#[test]
fn a_subscriber_on_another_thread_waits_for_a_commit() {
    let mut state = state();
    let waiting = state.subscribe(Filter::All, 4);
    let thread = std::thread::spawn(move || waiting.next_within(Duration::from_secs(60)));
    let page = create(&mut state, &[1]);
    assert_eq!(thread.join().unwrap(), Some(notice(0, 1, 1, &[(page, Change::Created)])));
}

#[test]
fn a_subscription_is_over_when_its_state_is_gone_and_keeps_what_it_was_told() {
    let mut state = state();
    let subscription = state.subscribe(Filter::All, 4);
    create(&mut state, b"0000");
    assert!(!subscription.is_over());
    drop(state);
    assert!(subscription.is_over() && subscription.try_next().is_some() && subscription.try_next().is_none());
}
