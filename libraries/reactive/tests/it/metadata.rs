//! What pages are to their users: kept with the log and in checkpoints, put back with everything else.

use crate::board::{create, derive, functions, logged, lowest_bit, sum, write};
use journal::Disk;
use reactive::{CommitError, Metadata, Options, PageId, State, Transaction};
use std::sync::Arc;

fn describe(state: &mut State, page: PageId, metadata: Metadata) -> u64 {
    let mut transaction = Transaction::new();
    transaction.describe(page, metadata);
    state.commit(&transaction).unwrap().epoch
}

fn priced() -> Metadata {
    Metadata { name: "prices".into(), bytes: b"<f8".to_vec() }
}

#[test]
fn descriptions_are_found_again_from_the_log_and_from_a_checkpoint() {
    let (mut state, disk) = logged();
    let page = create(&mut state, b"1234");
    let double = derive(&mut state, 4, sum(), &[page]);
    let bare = state.state_hash();
    let mut transaction = Transaction::new();
    transaction.describe(page, priced());
    transaction.describe(double, Metadata::named("double"));
    let new = transaction.create(b"new");
    transaction.describe(new, Metadata::named("new"));
    let new = state.commit(&transaction).unwrap().created[new.index()];
    let said = state.state_hash();
    assert_ne!(said, bare);
    let check = |state: &mut State| {
        assert_eq!(state.metadata(page), Some(&priced()));
        assert_eq!((state.find("double"), state.find("new"), state.find("old")), (Some(double), Some(new), None));
        assert_eq!(state.state_hash(), said);
    };
    check(&mut state);
    let open = || State::open(disk.clone(), functions(), Options::default()).unwrap().0;
    check(&mut open());
    state.checkpoint().unwrap();
    assert_eq!(disk.list().unwrap().iter().filter(|name| name.ends_with(".pages")).count(), 1);
    let (mut opened, warnings) = State::open(disk.clone(), functions(), Options::default()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    check(&mut opened);
    check(&mut state.fork(state.epoch()).unwrap());
    assert_eq!(state.fork(1).unwrap().metadata(page), None);
    let found = state.verify().unwrap();
    assert!(found.is_sound(), "{:?}", found.problems);
    assert_eq!(reactive::Survey::read(&(disk as Arc<dyn Disk>)).unwrap().pages, 3);
}

#[test]
fn a_description_goes_with_its_page_and_stays_when_that_is_derived_in_another_way() {
    let (mut state, _) = logged();
    let page = create(&mut state, b"1234");
    let double = derive(&mut state, 4, sum(), &[page]);
    describe(&mut state, double, Metadata::named("double"));
    let mut transaction = Transaction::new();
    transaction.rederive(double, lowest_bit(), [page]);
    transaction.write(page, 0, b"9");
    state.commit(&transaction).unwrap();
    assert_eq!(state.find("double"), Some(double));
    let mut transaction = Transaction::new();
    transaction.delete(double);
    transaction.create(b"another");
    let other = state.commit(&transaction).unwrap().created[0];
    assert_eq!(other.slot(), double.slot());
    assert_eq!((state.metadata(double), state.metadata(other), state.find("double")), (None, None, None));
}

#[test]
fn what_is_said_already_is_no_commit_and_nothing_is_forgotten_by_a_refusal() {
    let (mut state, _) = logged();
    let page = create(&mut state, b"1234");
    let bare = state.state_hash();
    assert_eq!(describe(&mut state, page, priced()), 2);
    assert_eq!(describe(&mut state, page, priced()), 2);
    let said = state.state_hash();
    let mut transaction = Transaction::new();
    transaction.describe(page, Metadata::named("other"));
    transaction.describe(page, Metadata::default());
    transaction.write(page, 9, b"past the end");
    state.commit(&transaction).unwrap_err();
    assert_eq!(state.metadata(page), Some(&priced()));
    assert_eq!(state.state_hash(), said);
    for metadata in [
        Metadata::named("n".repeat(Metadata::NAME_BYTES_MAX + 1)),
        Metadata { name: String::new(), bytes: vec![0; Metadata::BYTES_MAX + 1] },
    ] {
        let mut transaction = Transaction::new();
        transaction.describe(page, metadata);
        let refused = state.commit(&transaction).unwrap_err();
        assert!(matches!(refused, CommitError::MetadataTooLong { step: 0 }), "{refused}");
    }
    let largest = Metadata { name: "n".repeat(Metadata::NAME_BYTES_MAX), bytes: vec![7; Metadata::BYTES_MAX] };
    assert_eq!(describe(&mut state, page, largest), 3);
    assert_eq!(describe(&mut state, page, Metadata::default()), 4);
    assert_eq!(state.metadata(page), None);
    assert_eq!(state.state_hash(), bare);
    write(&mut state, page, b"4321");
    assert!(state.verify().unwrap().is_sound());
}
