//! A state from a pool is as a new one, and costs fewer allocations.

use crate::board::{create, derive, functions, logged, no_zero, sum, write};
use reactive::{Filter, FunctionName, Functions, Inputs, Options, Pool, State, Transaction};
use std::path::PathBuf;

fn pool(kept_max: usize) -> Pool {
    Pool::new(functions(), Options::default(), kept_max)
}

/// What a state has gone through that is given back.
fn use_up(state: &mut State) {
    let page = create(state, b"used");
    derive(state, 4, sum(), &[page]);
    write(state, page, b"more");
    let mut transaction = Transaction::new();
    transaction.describe(page, reactive::Metadata::named("used"));
    state.commit(&transaction).unwrap();
}

#[test]
fn a_state_that_was_given_back_is_as_a_new_one() {
    let mut pool = pool(2);
    let mut used = pool.take();
    let subscription = used.subscribe(Filter::All, 4);
    use_up(&mut used);
    used.functions().add(FunctionName::new("other", 1), |_: &Inputs<'_>, _: &mut [u8]| Ok(()));
    pool.give(used);
    while subscription.try_next().is_some() {}
    let (mut again, mut new) = (pool.take(), State::new(functions(), Options::default()));
    assert_eq!((again.epoch(), again.pages().count(), again.find("used")), (0, 0, None));
    assert_eq!(again.statistics(), new.statistics());
    assert_eq!(format!("{:?}", again.functions()), format!("{:?}", new.functions()));
    for state in [&mut again, &mut new] {
        let page = create(state, b"page");
        derive(state, 4, no_zero(), &[page]);
    }
    assert_eq!((again.state_hash(), again.epoch()), (new.state_hash(), new.epoch()));
    assert_eq!(again.statistics(), new.statistics());
    assert_eq!(subscription.try_next(), None);
}

#[test]
fn a_pool_keeps_as_many_as_it_may_and_counts() {
    let mut pool = pool(1);
    let (one, other) = (pool.take(), pool.take());
    pool.give(one);
    pool.give(other);
    // Where a state was made does not matter.
    pool.give(logged().0);
    let _again = pool.take();
    let counts = pool.counts();
    assert_eq!((counts.made, counts.reused, counts.kept, counts.dropped, pool.free()), (2, 1, 1, 2, 0));
}

#[test]
fn a_folder_is_free_when_its_state_is_given_back() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pooled-{}", std::process::id()));
    let mut pool = pool(1);
    let mut state = pool.take_in(&folder);
    assert!(!folder.exists());
    use_up(&mut state);
    let said = state.state_hash();
    pool.give(state);
    let (mut opened, _) = State::open_in(&folder, functions(), Options::default()).unwrap();
    assert_eq!(opened.state_hash(), said);
    drop(opened);
    // What is taken next has nothing to do with that folder.
    let mut next = pool.take();
    create(&mut next, b"elsewhere");
    assert_eq!(State::open_in(&folder, functions(), Options::default()).unwrap().0.epoch(), 4);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_state_from_a_pool_and_a_page_cost_the_allocations_that_the_page_for_users_says() {
    let mut pool = Pool::new(Functions::new(), Options::default().threads(1), 4);
    let mut transaction = Transaction::new();
    let mut turn = || {
        let mut state = pool.take();
        transaction.clear();
        transaction.create(&[1; 1024]);
        state.commit(&transaction).unwrap();
        pool.give(state);
    };
    (0..3).for_each(|_| turn());
    let counted = allocation_counter::measure(turn);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reactive.md")).unwrap();
    let said = format!("{} allocations and {} bytes", counted.count_total, counted.bytes_total);
    assert!(page.contains(&said), "docs/reactive.md is to say: {said}");
    assert_eq!(counted.bytes_current, 0, "nothing grows");
}
