//! Maps, strings, buffers and arrays by each way out of a region, and by freezing: keys are found right afterwards.

use region::{Bound, EscapePath, Heap, Mark, Ref, Region, Tether, Words, tag};

use crate::basics::small;
use crate::defects::overwrite;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const KEYS: u32 = 120;
/// What is added to foreign immediates on the way to another heap.
const SHIFT: u32 = 1_000;

fn foreign(value: u32) -> Ref {
    Ref::new(tag::IMMEDIATE_3, value)
}

/// A map with keys of every kind, some of which refer to the map, and an array of the keys. Foreign immediates only if wanted:
/// where there are none, no way looks at all words once more.
fn fill(heap: &mut Heap, region: &mut Region, has_foreign: bool) -> Result<[Ref; 2]> {
    let (map, mut keys) = (heap.map(region)?, Vec::new());
    for at in 0..KEYS {
        let key = match at % 8 {
            0 => heap.string(region, &format!("key\0{at}"))?,
            1 => heap.buffer(region, &at.to_le_bytes())?,
            2 => heap.number(region, at / 8 % 2, u64::from(at) << 20)?,
            3 => heap.expression(region, &[small(at), map])?,
            4 => heap.variable(region, at)?,
            5 => heap.array(region, &[small(at), map])?,
            6 => heap.map_of(region, &[(small(at), map)])?,
            _ if has_foreign => foreign(at),
            _ => small(at),
        };
        heap.map_insert(region, map, key, small(at))?;
        keys.push(key);
    }
    // The table of the map was left and moved to on the way; some entries are gone.
    for at in (0..KEYS as usize).step_by(11) {
        heap.map_remove(map, keys[at]);
    }
    Ok([map, heap.array(region, &keys)?])
}

fn check(heap: &Heap<impl Words>, [map, keys]: [Ref; 2], foreign_by: Option<u32>) {
    assert_eq!((heap.array_length(keys), heap.map_length(map)), (KEYS as usize, KEYS as usize - 11));
    for (at, &key) in (0..).zip(heap.array_elements(keys)) {
        let value = (at % 11 != 0).then_some(small(at));
        assert_eq!(heap.map_get(map, key), value, "key {at}");
        match at % 8 {
            0 => assert_eq!(heap.map_get_string(map, &format!("key\0{at}")), value),
            1 => assert_eq!(heap.bytes(key).to_vec(), at.to_le_bytes()),
            2 => assert_eq!((heap.number_bits(key), key.payload() & 1), (u64::from(at) << 20, at / 8 % 2)),
            3 => assert_eq!(heap.children(key), [small(at), map]),
            4 => assert_eq!((heap.label(key), heap.binding(key)), (at, None)),
            5 => assert_eq!(heap.array_elements(key), [small(at), map]),
            6 => assert_eq!(heap.map_get(key, small(at)), Some(map)),
            _ => assert_eq!(key, foreign_by.map_or(small(at), |by| foreign(at + by))),
        }
    }
    let values: Vec<Ref> = heap.map_entries(map).map(|(_, value)| value).collect();
    assert!(values.into_iter().eq((0..KEYS).filter(|at| at % 11 != 0).map(small)), "in the order of insertion");
}

/// What a heap is like that something leaves: where a table is at hand, or where one would cost too much.
fn heap_for(way: EscapePath) -> Result<Heap> {
    let mut heap = Heap::new();
    if way == EscapePath::CopiedByMap {
        let mut large = heap.open();
        heap.reserve(&mut large, 1_000_000)?;
        heap.close(large);
    }
    Ok(heap)
}

/// D5.
#[test]
fn maps_leave_for_a_region_of_their_heap_by_each_way() -> Result<()> {
    for way in [EscapePath::Spliced, EscapePath::Copied, EscapePath::CopiedByMap] {
        for has_foreign in [false, true] {
            let mut heap = heap_for(way)?;
            let (mut region, mut to) = (heap.open(), heap.open());
            fill(&mut heap, &mut to, true)?;
            if way != EscapePath::Spliced {
                heap.reserve(&mut region, 80_000)?;
            }
            let mut roots = fill(&mut heap, &mut region, has_foreign)?;
            assert_eq!(heap.transmigrate(&mut roots, region, &mut to)?.path, way);
            let other = overwrite(&mut heap)?;
            check(&heap, roots, has_foreign.then_some(0));
            assert_eq!(heap.dangling(&[&to], &roots), None);
            heap.map_insert(&mut to, roots[0], small(5_000), roots[1])?;
            check_grown(&heap, roots);
            heap.close(other);
            heap.close(to);
        }
    }
    Ok(())
}

fn check_grown(heap: &Heap, [map, keys]: [Ref; 2]) {
    assert_eq!((heap.map_get(map, small(5_000)), heap.map_length(map)), (Some(keys), KEYS as usize - 10));
}

/// D5.
#[test]
fn maps_leave_for_another_heap_by_each_way() -> Result<()> {
    for way in [EscapePath::Copied, EscapePath::CopiedByMap] {
        for has_foreign in [false, true] {
            let (mut heap, mut other) = (heap_for(way)?, Heap::new());
            let (mut region, mut far) = (heap.open(), other.open());
            // Chunks of another region lie in between, so that lanes are in no row.
            let mut beside = heap.open();
            other.string(&mut far, "something that was there before")?;
            heap.reserve(&mut region, 80_000)?;
            fill(&mut heap, &mut beside, false)?;
            let mut roots = fill(&mut heap, &mut region, has_foreign)?;
            fill(&mut heap, &mut beside, false)?;
            let shifted = |met: Ref| foreign(met.payload() + SHIFT);
            let report = heap.copy_to(&mut roots, &region, &mut other, &mut far, shifted)?;
            heap.close(region);
            assert_eq!(report.path, way);
            let more = overwrite(&mut other)?;
            check(&other, roots, has_foreign.then_some(SHIFT));
            assert_eq!(other.dangling(&[&far], &roots), None);
            other.map_insert(&mut far, roots[0], small(5_000), roots[1])?;
            check_grown(&other, roots);
            other.close(more);
            other.close(far);
            heap.close(beside);
            assert_eq!((heap.bytes_live(), other.bytes_live()), (0, 0));
        }
    }
    Ok(())
}

/// Frozen here, read on another thread, thawed into a heap there.
#[test]
fn maps_are_frozen_read_and_thawed_elsewhere() -> Result<()> {
    for has_foreign in [false, true] {
        let mut heap = Heap::new();
        let mut region = heap.open();
        heap.reserve(&mut region, 5_000)?;
        let roots = fill(&mut heap, &mut region, has_foreign)?;
        let shifted = |by: u32| move |met: Ref| foreign(met.payload() + by);
        let frozen = heap.freeze(&region, &roots, Bound::Kept, shifted(SHIFT))?;
        heap.close(region);
        let tether = frozen.handle().tether()?;
        let read = move |tether: Tether| {
            let two = |roots: &[Ref]| [roots[0], roots[1]];
            check(&tether, two(tether.roots()), has_foreign.then_some(SHIFT));
            let mut heap = Heap::new();
            let mut region = heap.open();
            let mut beside = heap.open();
            for round in 0..3 {
                heap.string(&mut beside, "in between").expect("there is no limit");
                let roots = tether.thaw(&mut heap, &mut region, shifted(round)).expect("there is no limit");
                check(&heap, two(&roots), has_foreign.then_some(SHIFT + round));
                heap.map_insert(&mut region, roots[0], small(5_000), roots[1]).expect("there is no limit");
                check_grown(&heap, two(&roots));
                assert_eq!(heap.dangling(&[&region], &roots), None);
            }
            heap.close(region);
            heap.close(beside);
            assert_eq!(heap.bytes_live(), 0);
        };
        std::thread::spawn(move || read(tether)).join().expect("no panic");
    }
    Ok(())
}

/// Foreign keys that become the same on the way are one key, by every way: the first of them, with its value.
#[test]
fn foreign_keys_may_become_the_same() -> Result<()> {
    for is_copied in [true, false] {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut far) = (heap.open(), other.open());
        let entries: Vec<(Ref, Ref)> = (0..40).map(|at| (foreign(at), small(at))).collect();
        let mut roots = [heap.map_of(&mut region, &entries)?];
        let halved = |met: Ref| foreign(met.payload() / 2);
        if is_copied {
            heap.copy_to(&mut roots, &region, &mut other, &mut far, halved)?;
        } else {
            let frozen = heap.freeze(&region, &roots, Bound::Kept, |met| met)?;
            roots = [frozen.thaw(&mut other, &mut far, halved)?[0]];
        }
        assert!(other.map_entries(roots[0]).eq((0..20).map(|at| (foreign(at), small(2 * at)))), "{is_copied}");
        assert!((0..20).all(|at| other.map_get(roots[0], foreign(at)) == Some(small(2 * at))), "{is_copied}");
        heap.close(region);
        other.close(far);
    }
    Ok(())
}

/// A region of exactly four chunks is the least that a small result is copied out of.
#[test]
fn the_least_region_that_is_copied_from() -> Result<()> {
    for (cells, way) in [(192, EscapePath::Spliced), (255, EscapePath::Copied)] {
        let mut heap = Heap::new();
        let (mut region, mut to) = (heap.open(), heap.open());
        for _ in 0..cells {
            heap.expression(&mut region, &[])?;
        }
        let mut root = [if cells == 192 { small(0) } else { heap.expression(&mut region, &[])? }];
        assert_eq!(heap.bytes_of(&region), if cells == 192 { 3 * 512 } else { 4 * 512 });
        assert_eq!(heap.transmigrate(&mut root, region, &mut to)?.path, way);
        heap.close(to);
    }
    Ok(())
}

/// What an attempt has met is nobody's failure: not the budget of the attempt, not the limit of a heap that another way obeys.
#[test]
fn attempts_are_no_failures() -> Result<()> {
    let mut heap = Heap::new();
    let (mut region, mut to) = (heap.open(), heap.open());
    let mut roots = [heap.reserve(&mut region, 5_000)?];
    let report = heap.copy_within(&mut roots.clone(), &region, &mut to)?;
    assert_eq!((report.path, heap.bytes_of(&to)), (EscapePath::Copied, 40 * 512));
    heap.rewind(&mut to, Mark::START);
    // The budget ends it: an expression of 2,501 cells is more than a sixteenth of a region of as many.
    let report = heap.transmigrate(&mut roots.clone(), region, &mut to)?;
    assert_eq!((report.path, heap.statistics().limit_failures), (EscapePath::Spliced, 0));
    heap.close(to);
    // The limit of the heap ends it: there is no room for any copy.
    (region, to) = (heap.open(), heap.open());
    let mut held = heap.open();
    for at in 0..5_000 {
        roots[0] = heap.expression(&mut region, &[small(at), roots[0]])?;
    }
    heap.set_limit(Some(0));
    while heap.number(&mut held, 0, 0).is_ok() {}
    let failures = heap.statistics().limit_failures;
    let kept = heap.child(roots[0], 1);
    heap.set_child(kept, 1, small(0));
    let report = heap.transmigrate(&mut roots, region, &mut to)?;
    assert_eq!((report.path, heap.statistics().limit_failures), (EscapePath::Spliced, failures));
    heap.close(held);
    heap.close(to);
    Ok(())
}
