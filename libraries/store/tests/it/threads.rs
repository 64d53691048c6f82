//! Many threads at work: readers never see half a batch, whatever is written, flushed and merged meanwhile.

use crate::history::{create, numbers, put, words};
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Batch, Durability, Options};

fn busy() -> Options {
    Options::default().memtable_bytes(20_000).part_bytes(30_000).first_level_runs(2, 4)
}

/// Every batch writes its number under all keys; a reader finds one number.
#[test]
fn no_reader_sees_half_a_batch() {
    let (_, store) = create(&busy());
    let (words, numbers) = (words(&store), numbers(&store));
    let write = |number: u64| {
        let mut batch = Batch::new();
        for key in 0..20_u64 {
            batch.put(words, format!("key {key}"), number.to_be_bytes());
            batch.put(numbers, key.to_be_bytes(), number.to_be_bytes());
        }
        store.commit(&batch, Durability::None).unwrap();
    };
    write(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|reader| {
                let (store, is_over) = (&store, &is_over);
                scope.spawn(move || {
                    let mut rounds = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let snapshot = store.snapshot();
                        let mut seen = Vec::new();
                        for keyspace in [words, numbers] {
                            let mut range = snapshot.all(keyspace).unwrap();
                            while let Some((_, value)) =
                                if reader == 0 { range.next_back() } else { range.next() }.unwrap()
                            {
                                seen.push(value.to_vec());
                            }
                            seen.push(
                                snapshot.get(keyspace, snapshot_key(keyspace == words)).unwrap().unwrap().to_vec(),
                            );
                        }
                        assert_eq!(seen.len(), 42);
                        assert!(seen.iter().all(|value| *value == seen[0]), "half a batch");
                        rounds += 1;
                    }
                    rounds
                })
            })
            .collect();
        (1..4000).for_each(write);
        is_over.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().all(|reader| reader.join().unwrap() > 0));
    });
}

fn snapshot_key(is_word: bool) -> Vec<u8> {
    if is_word { b"key 7".to_vec() } else { 7_u64.to_be_bytes().to_vec() }
}

#[test]
fn commits_of_many_threads_are_all_kept() {
    let (disk, store) = create(&busy());
    let numbers = numbers(&store);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..500_u64 {
                    let key = (number << 8 | thread).to_be_bytes();
                    store.commit(&put(numbers, key, [thread as u8; 30]), Durability::Fsync).unwrap();
                }
            });
        }
    });
    assert_eq!(store.snapshot().sequence(), 2000);
    assert_eq!(store.snapshot().count::<&[u8]>(numbers, ..).unwrap(), 2000);
    assert!(disk.syncs() < 4000, "{} syncs", disk.syncs());
    store.close().unwrap();
}

/// With the work in threads, and with the work in line, the runs have the same bytes.
#[test]
fn the_same_batches_give_the_same_runs() {
    let fill = |options: &Options| {
        let (disk, store) = create(options);
        let numbers = numbers(&store);
        for number in 0..3000_u64 {
            let key = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            store.commit(&put(numbers, key, [number as u8; 40]), Durability::None).unwrap();
        }
        store.flush().unwrap();
        drop(store);
        disk
    };
    let inline = busy().maintenance(store::Maintenance::Inline);
    let (one, other) = (fill(&inline), fill(&inline));
    assert_eq!(one.names(), other.names());
    assert!(one.names().iter().all(|name| one.contents(name) == other.contents(name)));
    let threads = fill(&busy());
    let runs = threads.names().into_iter().filter(|name| name.ends_with(".run"));
    let shared: Vec<String> = runs.filter(|name| one.contents(name).is_some()).collect();
    assert!(shared.iter().all(|name| one.contents(name) == threads.contents(name)), "{shared:?}");
}
