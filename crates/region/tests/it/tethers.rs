//! Frozen regions and their tethers, on one thread and on many.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;

use region::{
    Bound, FreezeError, Frozen, FrozenHandle, Full, Heap, Limit, Reader, Ref, Refused, Region, Tether, Words, tag,
};

use crate::basics::small;
use crate::defects::overwrite;

/// A list whose every element has a variable bound to the list behind it, and a number.
fn list(heap: &mut Heap, region: &mut Region, length: u32) -> Result<Ref, Full> {
    let mut list = small(0);
    for at in 0..length {
        let (variable, number) = (heap.variable(region, at)?, heap.number(region, 1, u64::from(at) << 32)?);
        heap.bind(variable, list);
        list = heap.expression(region, &[variable, number, list])?;
        heap.set_note(list, 5);
    }
    Ok(list)
}

fn check_list(heap: &Heap<impl Words>, mut list: Ref, length: u32) {
    for at in (0..length).rev() {
        let [variable, number, rest] = *heap.children(list) else { panic!("three children") };
        assert_eq!((heap.note(list), heap.label(variable), heap.walk(variable)), (5, at, rest));
        assert_eq!((heap.number_bits(number), number.payload() & 1), (u64::from(at) << 32, 1));
        list = rest;
    }
    assert_eq!(list, small(0));
}

fn frozen_list(length: u32) -> Frozen {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let root = list(&mut heap, &mut region, length).expect("there is no limit");
    let frozen = heap.freeze(&region, &[root], Bound::Kept, |foreign| foreign).expect("there is no limit");
    heap.close(region);
    frozen
}

#[test]
fn what_is_frozen_is_read_as_a_heap() -> Result<(), FreezeError> {
    let mut heap = Heap::new();
    let (mut region, mut between) = (heap.open(), heap.open());
    let mut roots = vec![];
    // The chunks of both lie in each other's way, and some expressions take runs of chunks.
    for length in [0, 1, 2, 63, 64, 500] {
        roots.push(list(&mut heap, &mut region, length)?);
        heap.expression(&mut between, &vec![small(0); length as usize * 40])?;
        heap.number(&mut between, 0, 1)?;
        heap.variable(&mut between, 1)?;
    }
    let long = heap.expression(&mut region, &[roots[5].marked(); 10_000])?;
    roots.push(long);
    let before = heap.statistics();
    let frozen = heap.freeze(&region, &roots, Bound::Kept, |foreign| foreign)?;
    assert_eq!(heap.statistics().bytes_live, before.bytes_live);
    check_list(&heap, roots[5], 500);
    heap.close(region);
    heap.close(between);
    let other = overwrite(&mut heap)?;
    assert_eq!(frozen.roots().len(), 7);
    for (root, length) in frozen.roots().iter().zip([0, 1, 2, 63, 64, 500]) {
        check_list(&frozen, *root, length);
    }
    assert_eq!(frozen.children(frozen.roots()[6]), [frozen.roots()[5].marked(); 10_000]);
    let (count, held) = (frozen.statistics().chunks, frozen.statistics().bytes_held);
    assert_eq!((held, frozen.statistics().chunks_free), (count * 512, 0), "no more memory than chunks");
    heap.close(other);
    Ok(())
}

/// Strings, arrays and maps, whose keys are found by where they lie, with as many of each as take several chunks.
#[test]
fn objects_are_frozen_and_thawed() -> Result<(), FreezeError> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let map = heap.map(&mut region)?;
    let (mut keys, mut strings) = (vec![], vec![]);
    for at in 0..300 {
        let key = heap.expression(&mut region, &[small(at)])?;
        let string = heap.string(&mut region, &format!("a text\0{}", "x".repeat(at as usize)))?;
        heap.map_insert(&mut region, map, key, string)?;
        heap.map_insert(&mut region, map, string, key)?;
        keys.push(key);
        strings.push(string);
    }
    let roots: Vec<Ref> = [map].into_iter().chain(keys).chain(strings).collect();
    check_map(&heap, &roots);
    let frozen = heap.freeze(&region, &roots, Bound::Kept, |foreign| foreign)?;
    heap.close(region);
    check_map(&frozen, frozen.roots());
    let (mut other, handle) = (Heap::new(), frozen.handle());
    let mut to = overwrite(&mut other)?;
    for _ in 0..2 {
        let roots = frozen.thaw(&mut other, &mut to, |foreign| foreign)?;
        check_map(&other, &roots);
    }
    let tether = handle.tether().expect("open");
    thread::spawn(move || check_objects(&tether)).join().expect("no panic");
    Ok(())
}

/// Reads a map of 600 entries, its keys and its strings.
fn check_map(heap: &Heap<impl Words>, roots: &[Ref]) {
    let (map, keys, strings) = (roots[0], &roots[1..301], &roots[301..]);
    assert_eq!(heap.map_length(map), 600);
    for ((key, string), at) in keys.iter().zip(strings).zip(0..) {
        let text = format!("a text\0{}", "x".repeat(at as usize));
        assert_eq!((heap.children(*key), heap.bytes(*string).to_text()), (&[small(at)][..], Some(text.clone())));
        assert_eq!((heap.map_get(map, *key), heap.map_get(map, *string)), (Some(*string), Some(*key)));
        assert_eq!(heap.map_get_string(map, &text), Some(*key));
    }
}

fn check_objects(tether: &Tether) {
    let map = tether.roots()[0];
    assert!(tether.roots()[1..301].iter().all(|key| tether.map_get(map, *key).is_some()));
}

#[test]
fn nothing_is_frozen_too() -> Result<(), FreezeError> {
    let mut heap = Heap::new();
    let region = heap.open();
    let frozen = heap.freeze(&region, &[small(4)], Bound::Kept, |foreign| foreign)?;
    assert_eq!((frozen.roots(), frozen.statistics().bytes_held), (&[small(4)][..], 0));
    let mut region = region;
    assert_eq!(frozen.thaw(&mut heap, &mut region, |foreign| foreign)?, [small(4)]);
    assert_eq!(heap.statistics().chunks, 0);
    Ok(())
}

#[test]
fn what_is_thawed_is_what_was_frozen() -> Result<(), FreezeError> {
    for length in [0, 1, 63, 64, 65, 1_000] {
        let frozen = frozen_list(length);
        let mut heap = Heap::new();
        let mut region = heap.open();
        // Into an empty region, behind what is there, and with the lanes of another one in between.
        for round in 0..3 {
            let mark = heap.mark(&region);
            let [root] = frozen.thaw(&mut heap, &mut region, |foreign| foreign)?[..] else { panic!("one root") };
            check_list(&heap, root, length);
            assert_eq!(heap.dangling(&[&region], &[root]), None);
            assert!(length == 0 || !heap.precedes(root, &region, mark));
            if round == 1 {
                let other = overwrite(&mut heap)?;
                check_list(&heap, root, length);
                heap.close(other);
            }
        }
        heap.close(region);
        assert_eq!(heap.statistics().bytes_live, 0);
    }
    Ok(())
}

/// Freezes what was thawed, and so on: the same words each time.
#[test]
fn freezing_is_in_one_order() -> Result<(), FreezeError> {
    let first = frozen_list(100);
    let mut heap = Heap::new();
    let mut region = heap.open();
    for at in 0..5 {
        heap.expression(&mut region, &[small(at); 50])?;
        let roots = first.thaw(&mut heap, &mut region, |foreign| foreign)?;
        let again = heap.freeze(&region, &roots, Bound::Kept, |foreign| foreign)?;
        assert_eq!(again.roots(), first.roots());
        let mut list = first.roots()[0];
        while list != small(0) {
            assert_eq!(again.children(list), first.children(list));
            list = first.child(list, 2);
        }
    }
    heap.close(region);
    Ok(())
}

#[test]
fn foreign_immediates_are_translated_both_ways() -> Result<(), FreezeError> {
    let foreign = |value| Ref::new(tag::IMMEDIATE_3, value);
    let mut heap = Heap::new();
    let mut region = heap.open();
    let pair = heap.expression(&mut region, &[foreign(1), small(1)])?;
    let frozen = heap.freeze(&region, &[pair, foreign(2)], Bound::Kept, |met| foreign(met.payload() + 10))?;
    let roots = frozen.roots();
    assert_eq!((frozen.children(roots[0]), roots[1]), (&[foreign(11), small(1)][..], foreign(12)));
    let thawed = frozen.thaw(&mut heap, &mut region, |met| foreign(met.payload() - 10))?;
    assert_eq!((heap.children(thawed[0]), thawed[1]), (&[foreign(1), small(1)][..], foreign(2)));
    heap.close(region);
    Ok(())
}

/// D19: a container was left with a pointer to what had been freed.
#[test]
fn foreign_reference_is_refused() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut other) = (heap.open(), heap.open());
    let elsewhere = heap.expression(&mut other, &[small(1)])?;
    let holder = heap.expression(&mut region, &[small(2), elsewhere])?;
    let live = heap.statistics().bytes_live;
    for roots in [[holder], [elsewhere]] {
        let refused = heap.freeze(&region, &roots, Bound::Kept, |foreign| foreign).map(drop);
        assert_eq!(refused, Err(FreezeError::Dangling(elsewhere)));
    }
    assert_eq!(heap.statistics().bytes_live, live);
    heap.close(region);
    heap.close(other);
    Ok(())
}

#[test]
fn a_freezing_that_finds_no_room_leaves_nothing() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let root = list(&mut heap, &mut region, 500)?;
    let live = heap.statistics().bytes_live;
    for more in 0..10 {
        heap.set_limit(Some(live + more * 512));
        let refused = heap.freeze(&region, &[root], Bound::Kept, |foreign| foreign).map(drop);
        let Err(FreezeError::Full(full)) = refused else { panic!("no room for a second copy") };
        assert_eq!((full.limit(), heap.statistics().bytes_live), (Limit::Bytes, live));
    }
    heap.set_limit(None);
    let frozen = heap.freeze(&region, &[root], Bound::Kept, |foreign| foreign).expect("there is room");
    heap.close(region);
    let mut small_heap = Heap::with_limit(5_000);
    let mut to = small_heap.open();
    small_heap.number(&mut to, 0, 1)?;
    let mark = small_heap.mark(&to);
    assert!(frozen.thaw(&mut small_heap, &mut to, |foreign| foreign).is_err());
    assert_eq!((small_heap.mark(&to), small_heap.statistics().bytes_live), (mark, 512));
    small_heap.close(to);
    Ok(())
}

#[test]
fn a_closed_region_is_kept_for_its_tethers_and_refuses_others() {
    let frozen = frozen_list(10);
    let handle = frozen.handle();
    let (one, other) = (handle.tether().expect("open"), handle.tether().expect("open"));
    assert_eq!(handle.tethers(), 3);
    frozen.close();
    assert_eq!((handle.tether().map(drop), handle.tethers()), (Err(Refused::Closed), 2));
    drop(one);
    check_list(&other, other.roots()[0], 10);
    drop(other);
    assert_eq!(handle.tethers(), 0);
    // Another region may lie in its place by now.
    assert!(matches!(handle.tether().map(drop), Err(Refused::Closed | Refused::Stale)));
    assert!(Reader::new().expect("few readers").read(handle).map(drop).is_err());
}

#[test]
fn a_region_without_owner_is_closed_by_its_name_once() {
    let handle = frozen_list(10).into_handle();
    let tether = handle.tether().expect("open");
    assert_eq!(handle.close(), Ok(()));
    assert_eq!(handle.close(), Err(Refused::Closed));
    check_list(&tether, tether.roots()[0], 10);
    drop(tether);
    assert!(handle.close().is_err());
    // While there is an owner, it reads on.
    let frozen = frozen_list(10);
    assert_eq!(frozen.handle().close(), Ok(()));
    check_list(&frozen, frozen.roots()[0], 10);
}

#[test]
fn handles_are_numbers_to_other_languages() {
    let frozen = frozen_list(1);
    let handle = frozen.handle();
    assert_ne!(handle.bits(), 0);
    assert_eq!(FrozenHandle::from_bits(handle.bits()), Ok(handle));
    for wrong in [0, handle.bits() + 1, handle.bits() & !0xffff_ffff, u64::MAX, 5 << 60] {
        assert_eq!(FrozenHandle::from_bits(wrong), Err(Refused::Stale), "{wrong:x}");
    }
}

/// D15: a tether that was started on one thread and ended on another left the first thread with one that was none.
#[test]
fn guard_ends_anywhere() {
    let frozen = frozen_list(10);
    let handle = frozen.handle();
    let tethers: Vec<Tether> = (0..4).map(|_| handle.tether().expect("open")).collect();
    thread::scope(|scope| {
        for tether in tethers {
            scope.spawn(move || check_list(&tether, tether.roots()[0], 10));
        }
    });
    assert_eq!(handle.tethers(), 1);
    let tether = thread::spawn(move || handle.tether().expect("open")).join().expect("no panic");
    frozen.close();
    check_list(&tether, tether.roots()[0], 10);
}

/// Another tether of a tether is there whatever became of the region, and on whatever thread.
#[test]
fn another_tether_outlives_a_close() {
    let frozen = frozen_list(10);
    let handle = frozen.handle();
    let one = handle.tether().expect("open");
    frozen.close();
    assert_eq!(handle.tether().map(drop), Err(Refused::Closed));
    let other = one.another().expect("the first one keeps it");
    assert_eq!((other.handle(), handle.tethers()), (handle, 2));
    drop(one);
    let other = thread::spawn(move || {
        check_list(&other, other.roots()[0], 10);
        other
    });
    let other = other.join().expect("no panic");
    assert_eq!((handle.tethers(), format!("{other:?}")), (1, format!("Tether({handle:?})")));
    drop(other);
    assert_eq!(handle.tethers(), 0);
}

#[test]
fn what_a_reader_reads_is_put_off() {
    let mut reader = Reader::new().expect("few readers");
    let (frozen, other) = (frozen_list(10), frozen_list(20));
    let handle = frozen.handle();
    let reading = reader.read(handle).expect("open");
    frozen.close();
    assert_eq!(handle.tethers(), 0);
    for _ in 0..3 {
        assert!(region::reclaim() >= 1, "this one is put off");
        check_list(&reading, reading.roots()[0], 10);
    }
    let reading = reader.read(other.handle()).expect("open");
    check_list(&reading, reading.roots()[0], 20);
    assert!(reader.read(handle).map(drop).is_err(), "it is closed, and may be gone");
    reader.rest();
    drop(reader);
    region::reclaim();
}

/// D16: a count that was taken away without having been added never came to 0 again. A tether in Rust ends once, by its nature; one
/// that goes by a number is found or not.
#[test]
fn release_needs_retain() {
    let frozen = frozen_list(10);
    let handle = frozen.handle();
    for wrong in [0, 1, 77, u64::MAX] {
        // Other tests park none.
        assert!(Tether::take(wrong).is_err());
    }
    let numbers = [(); 3].map(|()| handle.tether().expect("open").park().expect("there is room"));
    assert_eq!(handle.tethers(), 4);
    let roots = Tether::parked(numbers[0], |tether| tether.roots().len());
    assert_eq!((roots, Tether::parked(0, |_| ()).is_err(), handle.tethers()), (Ok(1), true, 4));
    assert!(numbers.iter().all(|number| Tether::take(*number).is_ok()));
    assert_eq!(handle.tethers(), 1);
    let again = handle.tether().expect("open").park().expect("there is room");
    for number in numbers {
        let refused = Tether::take(number).map(drop).expect_err("it has ended");
        assert!(refused.to_string().contains("has ended already"));
        assert!(Tether::parked(number, |_| ()).is_err());
    }
    frozen.close();
    let tether = thread::spawn(move || Tether::take(again)).join().expect("no panic").expect("it is there");
    check_list(&tether, tether.roots()[0], 10);
}

#[test]
fn holds_go_where_they_may() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Frozen>();
    is_send_and_sync::<Tether>();
    is_send_and_sync::<FrozenHandle>();
    is_send_and_sync::<Reader>();
    assert_eq!((size_of::<Frozen>(), size_of::<Tether>(), size_of::<FrozenHandle>()), (8, 8, 16));
}

/// What free memory holds from earlier is not frozen with what lies before it in a chunk.
#[test]
fn the_rest_of_a_chunk_is_not_frozen() -> Result<(), FreezeError> {
    let mut heap = Heap::new();
    let (mut other, mut junk, mut region) = (heap.open(), heap.open(), heap.open());
    let made = heap.expression(&mut region, &[small(1)])?;
    let elsewhere = heap.expression(&mut other, &[small(2)])?;
    heap.expression(&mut junk, &[elsewhere; 1_000])?;
    heap.close(junk);
    let frozen = heap.freeze(&region, &[made], Bound::Kept, |foreign| foreign)?;
    assert_eq!(frozen.children(frozen.roots()[0]), [small(1)]);
    heap.close(region);
    heap.close(other);
    Ok(())
}

/// What was closed and read by nobody is given back, place and all: other tests freeze meanwhile, but not that much.
#[test]
fn places_are_used_again() {
    let places: HashSet<u64> = (0..3_000).map(|_| frozen_list(1).handle().bits() >> 32).collect();
    assert!(places.len() < 1_000, "{}", places.len());
}

/// How many rounds a test of threads against each other runs: few, or as many as the environment says.
fn rounds() -> u32 {
    std::env::var("METROON_STRESS_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(1_000)
}

/// D8: In 300,000 rounds of a tether against a close, two threads got the same region from their pools 30 times.
#[test]
fn tether_and_close_race_destroys_once() {
    let (start, end) = (Barrier::new(3), Barrier::new(3));
    let rounds = rounds();
    let handle = std::sync::Mutex::new(None);
    let read = |how: fn(FrozenHandle, &mut Reader)| {
        let mut reader = Reader::new().expect("few readers");
        for _ in 0..rounds {
            start.wait();
            let handle = handle.lock().expect("no panic").expect("there is one");
            how(handle, &mut reader);
            end.wait();
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            read(|handle, _| {
                for _ in 0..3 {
                    if let Ok(outer) = handle.tether() {
                        let nested = outer.another().expect("the outer one keeps it");
                        drop(outer);
                        check_list(&nested, nested.roots()[0], 3);
                    }
                }
            })
        });
        scope.spawn(|| {
            read(|handle, reader| {
                for _ in 0..3 {
                    if let Ok(reading) = reader.read(handle) {
                        check_list(&reading, reading.roots()[0], 3);
                    }
                }
            })
        });
        let mut heap = Heap::new();
        for _ in 0..rounds {
            let mut region = heap.open();
            let root = list(&mut heap, &mut region, 3).expect("there is no limit");
            let frozen = heap.freeze(&region, &[root], Bound::Kept, |foreign| foreign).expect("there is no limit");
            heap.close(region);
            let name = frozen.handle();
            *handle.lock().expect("no panic") = Some(name);
            start.wait();
            frozen.close();
            end.wait();
            region::reclaim();
            assert_eq!(name.tethers(), 0);
        }
    });
}
