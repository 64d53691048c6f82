//! The numbers of a knowledge base: what they count, and that nobody waits for them.

use metroon::run::WriterError;
use metroon::{KnowledgeBase, KnowledgeBaseOptions, MemoryWorld};
use std::sync::mpsc::sync_channel;

#[test]
fn the_numbers_count_what_commits_change() {
    let base = KnowledgeBase::in_memory(KnowledgeBaseOptions::new(MemoryWorld::default())).expect("it opens");
    let before = base.metrics();
    assert_eq!((before.epoch, before.commits, before.atoms, before.requests), (0, 0, 0, 0));
    base.run("(a 1) (a 2) (a 2) !(add-atom (new-space) (b 1)) !(remove-atom &self (a 2))").expect("it runs");
    base.run("!(bind! &s (new-state 1)) !(change-state! &s 2) !(+ 1 2)").expect("it runs");
    let after = base.metrics();
    assert_eq!((after.atoms_added, after.atoms_removed, after.states_set), (4, 1, 1));
    assert_eq!(after.atoms, 2);
    assert_eq!(after.epoch, base.view().epoch());
    // The last form changed nothing.
    assert_eq!(after.commits, after.epoch);
    assert_eq!((after.requests, after.requests_waiting), (2, 0));
}

#[test]
fn what_waits_for_the_writer_is_counted_while_it_works() {
    let base = KnowledgeBase::in_memory(KnowledgeBaseOptions::new(MemoryWorld::default())).expect("it opens");
    let (begun, has_begun) = sync_channel(0);
    let (go_on, goes_on) = sync_channel(0);
    let first = base.submit(move |_| {
        begun.send(()).expect("the test waits");
        goes_on.recv().expect("the test lets it go on");
    });
    has_begun.recv().expect("the writer begins");
    let second = base.submit(|engine| engine.atom_count());
    assert_eq!((base.metrics().requests, base.metrics().requests_waiting), (2, 1));
    go_on.send(()).expect("the writer waits");
    first.and_then(metroon::run::Pending::wait).expect("it ends");
    assert_eq!(second.and_then(metroon::run::Pending::wait).expect("it ends"), 0);
    assert_eq!(base.metrics().requests_waiting, 0);
    base.close().expect("it closes");
    assert!(matches!(base.transact(|_| ()), Err(WriterError::Closed)));
    assert_eq!((base.metrics().requests, base.metrics().requests_waiting), (2, 0));
}
