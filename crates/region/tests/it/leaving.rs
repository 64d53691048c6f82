//! What leaves its region: joined or copied; what that costs, in counts, and what happens where there is no room.

use region::{EscapePath, Full, Heap, Limit, Mark, Ref, Region, tag};

use crate::basics::small;
use crate::objects::isomorphic;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// A list of `cells` cells, in chunks that lie among those of another region.
pub(crate) fn interleaved(
    heap: &mut Heap,
    region: &mut Region,
    cells: u32,
) -> std::result::Result<(Region, Ref), Full> {
    let (mut other, mut list) = (heap.open(), small(0));
    for at in 0..cells / 2 {
        list = heap.expression(region, &[small(at), list])?;
        heap.expression(&mut other, &[small(at)])?;
    }
    Ok((other, list))
}

/// The values of a list, the last first.
pub(crate) fn values(heap: &Heap, mut list: Ref) -> Vec<u32> {
    let mut values = Vec::new();
    while list.is_expression() {
        values.push(heap.child(list, 0).payload());
        list = heap.child(list, 1);
    }
    values
}

/// Regions that are joined one into the next, thousands deep, and then used: marks hold, nothing is walked twice.
#[test]
fn a_region_is_joined_again_and_again() -> Result<()> {
    let mut heap = Heap::new();
    let (mut inner, mut made) = (heap.open(), Vec::new());
    for at in 0..5_000 {
        let mut outer = heap.open();
        made.push(heap.expression(&mut outer, &[small(at), small(0)])?);
        heap.splice(inner, &mut outer)?;
        inner = outer;
        made.push(heap.expression(&mut inner, &[small(at), small(1)])?);
    }
    let mark = heap.mark(&inner);
    let last = heap.expression(&mut inner, &vec![small(5); 1_000])?;
    assert!(made.iter().all(|made| heap.precedes(*made, &inner, mark) && !heap.precedes(*made, &inner, Mark::START)));
    assert!(!heap.precedes(last, &inner, mark));
    made.iter().for_each(|made| heap.set_note(*made, 9));
    heap.clear_notes();
    assert!(made.iter().all(|made| heap.note(*made) == 0));
    let mut to = heap.open();
    let mut copying = heap.copy(&inner, Mark::START, region::Bound::Kept, &mut to, |foreign| foreign)?;
    for made in &made {
        copying.root(*made)?;
    }
    copying.scan()?;
    heap.close(inner);
    assert_eq!(heap.statistics().cells_copied, 20_000);
    heap.close(to);
    assert_eq!(heap.bytes_live(), 0);
    Ok(())
}

/// Variables that were joined are relabelled, and the rest of the chunk before them is no variable.
#[test]
fn relabelling_visits_what_was_joined() -> Result<()> {
    let mut heap = Heap::new();
    let mut all = heap.open();
    let mut made = Vec::new();
    for round in 0..10 {
        let mut region = heap.open();
        for at in 0..(round * 13) % 70 {
            made.push((heap.variable(&mut region, at)?, at));
        }
        heap.splice(region, &mut all)?;
    }
    let mut met = 0;
    heap.relabel(&all, |label| {
        met += 1;
        label + 500
    });
    assert_eq!(met, made.len());
    assert!(made.iter().all(|(variable, label)| heap.label(*variable) == label + 500));
    heap.close(all);
    Ok(())
}

/// A ten-cell result of a region of 100,000 costs ten cells, to another region and to another heap.
#[test]
fn a_small_result_leaves_alone() -> Result<()> {
    for abroad in [false, true] {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut to) = (heap.open(), heap.open());
        let (mut beside, _) = interleaved(&mut heap, &mut region, 100_000)?;
        let mut result = small(0);
        for at in 0..5 {
            result = heap.expression(&mut region, &[small(at), result])?;
        }
        let (mut roots, mut far) = ([result], other.open());
        let report = if abroad {
            let report = heap.copy_to(&mut roots, &region, &mut other, &mut far, |foreign| foreign)?;
            heap.close(region);
            report
        } else {
            heap.transmigrate(&mut roots, region, &mut to)?
        };
        assert_eq!((report.path, report.cells, report.cells_in_vain), (EscapePath::Copied, 10, 0));
        assert_eq!(values(if abroad { &other } else { &heap }, roots[0]), [4, 3, 2, 1, 0]);
        assert_eq!(heap.bytes_live() + other.bytes_live(), heap.bytes_of(&beside) + 512);
        heap.rewind(&mut beside, Mark::START);
        heap.close(beside);
        heap.close(to);
        other.close(far);
    }
    Ok(())
}

/// A small result of a region in a far larger heap is copied with a map, until a table would have cost no more.
#[test]
fn a_small_region_of_a_large_heap_needs_no_table() -> Result<()> {
    for abroad in [false, true] {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut large, mut to, mut far) = (heap.open(), heap.open(), other.open());
        heap.reserve(&mut large, 2_000_000)?;
        let mut ways = Vec::new();
        for round in 0..20_000 {
            let mut region = heap.open();
            heap.reserve(&mut region, 1_000)?;
            let result = heap.expression(&mut region, &[small(round); 19])?;
            let report = if abroad {
                let report = heap.copy_to(&mut [result], &region, &mut other, &mut far, |foreign| foreign)?;
                heap.close(region);
                report
            } else {
                heap.transmigrate(&mut [result], region, &mut to)?
            };
            ways.push(report.path);
            heap.rewind(&mut to, Mark::START);
            other.rewind(&mut far, Mark::START);
        }
        let mapped = ways.iter().take_while(|way| **way == EscapePath::CopiedByMap).count();
        // Eight cells of table are earned by each cell that was copied with a map: a million of them by 12,500 times ten.
        assert!((12_500..12_520).contains(&mapped), "{mapped}");
        assert!(ways[mapped..].iter().all(|way| *way == EscapePath::Copied));
        let statistics = if abroad { other.statistics() } else { heap.statistics() };
        assert_eq!(
            (statistics.escapes.copied_by_map, statistics.escapes.copied),
            (mapped as u64, 20_000 - mapped as u64)
        );
        heap.close(large);
        heap.close(to);
        other.close(far);
    }
    Ok(())
}

/// A region that lives is joined; the attempt to copy it is bounded.
#[test]
fn what_mostly_lives_is_not_copied() -> Result<()> {
    let mut heap = Heap::new();
    let (mut region, mut to) = (heap.open(), heap.open());
    let (beside, list) = interleaved(&mut heap, &mut region, 100_000)?;
    let mut roots = [list];
    let report = heap.transmigrate(&mut roots, region, &mut to)?;
    assert_eq!((report.path, report.cells), (EscapePath::Spliced, 0));
    assert!(report.cells_in_vain <= 100_064 / 16 + 2, "{report:?}");
    assert!(values(&heap, roots[0]).into_iter().eq((0..50_000).rev()));
    heap.close(beside);
    heap.close(to);
    Ok(())
}

/// A million levels to another heap.
#[test]
fn a_million_levels_leave() -> Result<()> {
    let (mut heap, mut other) = (Heap::new(), Heap::new());
    let (mut region, mut far) = (heap.open(), other.open());
    let mut top = [small(0)];
    for _ in 0..1_000_000 {
        top = [heap.expression(&mut region, &top)?];
    }
    let report = heap.copy_to(&mut top, &region, &mut other, &mut far, |foreign| foreign)?;
    assert_eq!((report.path, report.cells), (EscapePath::Copied, 1_000_000));
    heap.close(region);
    let (mut at, mut depth) = (top[0], 0);
    while at.is_expression() {
        (at, depth) = (other.child(at, 0), depth + 1);
    }
    assert_eq!((at, depth), (small(0), 1_000_000));
    assert_eq!((heap.bytes_live(), other.statistics().cells_copied), (0, 1_000_000));
    other.close(far);
    Ok(())
}

/// D6: a shared graph of any depth goes to another heap in as many cells as it has.
#[test]
fn leaving_is_linear_in_shared_dag() -> Result<()> {
    for depth in [1_000, 27_000, 1_000_000] {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut far) = (heap.open(), other.open());
        let mut top = heap.expression(&mut region, &[small(1)])?;
        for _ in 0..depth {
            top = heap.expression(&mut region, &[top, top, top])?;
        }
        let report = heap.copy_to(&mut [top], &region, &mut other, &mut far, |foreign| foreign)?;
        assert_eq!(report.cells, 2 * depth + 1);
        heap.close(region);
        other.close(far);
    }
    Ok(())
}

/// Every request for a chunk fails once: both heaps are as they were.
#[test]
fn what_cannot_leave_stays() -> Result<()> {
    let (mut heap, mut other) = (Heap::new(), Heap::new());
    let (mut region, mut far) = (heap.open(), other.open());
    let mut list = small(0);
    for at in 0..500 {
        let (variable, number) = (heap.variable(&mut region, at)?, heap.number(&mut region, 0, u64::from(at))?);
        list = heap.expression(&mut region, &[variable, number, list, Ref::new(3, at)])?;
        heap.bind(variable, list);
    }
    let wide = heap.expression(&mut region, &[list; 10_000])?;
    let before = other.expression(&mut far, &[small(77)])?;
    let (mark, live, mut failures) = (other.mark(&far), other.bytes_live(), 0_u64);
    for room in 0.. {
        other.set_limit(Some(live + room * 512));
        let (mut met, mut roots) = (0, [wide, list]);
        let foreign = |reference| {
            met += 1;
            reference
        };
        let Err(full) = heap.copy_to(&mut roots, &region, &mut other, &mut far, foreign) else {
            assert_eq!(met, 500);
            break;
        };
        failures += 1;
        assert_eq!((full.limit(), met, roots), (Limit::Bytes, 0, [wide, list]));
        assert_eq!((other.mark(&far), other.bytes_live()), (mark, live));
        assert_eq!(other.children(before), [small(77)]);
        assert_eq!(other.statistics().limit_failures, failures, "one for each refusal");
    }
    heap.close(region);
    other.close(far);
    Ok(())
}

#[test]
fn a_region_has_a_limit_of_its_own() -> Result<()> {
    let mut heap = Heap::new();
    let (mut region, mut other) = (heap.open(), heap.open());
    region.set_limit(Some(3 * 512 + 511));
    let mut made = 0;
    let full = loop {
        match heap.expression(&mut region, &[small(1)]) {
            Ok(_) => made += 1,
            Err(full) => break full,
        }
    };
    assert_eq!((full.limit(), full.bytes(), made), (Limit::Region, 3 * 512, 3 * 64));
    assert_eq!(heap.number(&mut region, 0, 1).map_err(|full| full.limit()), Err(Limit::Region));
    heap.number(&mut other, 0, 1)?;
    heap.rewind(&mut region, Mark::START);
    heap.variable(&mut region, 0)?;
    heap.reserve(&mut region, 255)?;
    assert_eq!(heap.reserve(&mut region, 1).map_err(|full| full.limit()), Err(Limit::Region));
    heap.close(region);
    heap.close(other);
    Ok(())
}

/// What a limited region has no room for is copied, if the copy has room; otherwise both regions are as they were.
#[test]
fn a_splice_beyond_the_limit_is_refused() -> Result<()> {
    let mut heap = Heap::new();
    let (mut region, mut to) = (heap.open(), heap.open());
    let (other, list) = interleaved(&mut heap, &mut region, 1_000)?;
    heap.expression(&mut region, &[small(0); 1_000])?;
    to.set_limit(Some(10 * 512));
    let mark = heap.mark(&to);
    let refused = heap.transmigrate(&mut [list], region, &mut to).expect_err("1,000 cells are 16 chunks");
    assert_eq!((refused.full.limit(), heap.mark(&to)), (Limit::Region, mark));
    let mut region = refused.region;
    let refused = heap.splice(region, &mut to).expect_err("the same");
    assert_eq!(refused.full.bytes(), 5_120);
    region = refused.region;
    to.set_limit(Some(17 * 512));
    let mut roots = [list];
    assert_eq!(heap.transmigrate(&mut roots, region, &mut to)?.path, EscapePath::Copied);
    assert!(values(&heap, roots[0]).into_iter().eq((0..500).rev()));
    heap.close(to);
    heap.close(other);
    Ok(())
}

/// D5: Strings, arrays and maps leave whole, by every way: what a map knew by where a key lay, it knows there.
#[test]
fn objects_leave_whole() -> Result<()> {
    for way in 0..3 {
        let (mut heap, mut other) = (Heap::new(), Heap::new());
        let (mut region, mut to, mut far) = (heap.open(), heap.open(), other.open());
        heap.map(&mut to)?;
        other.string(&mut far, "something that was there before")?;
        let map = heap.map(&mut region)?;
        let mut keys = Vec::new();
        for at in 0..500 {
            let name = format!("key \0 {at}");
            let key = match at % 5 {
                0 => heap.string(&mut region, &name)?,
                1 => heap.expression(&mut region, &[small(at), map])?,
                2 => heap.number(&mut region, 0, u64::from(at))?,
                3 => Ref::new(3, at),
                _ => heap.variable(&mut region, at)?,
            };
            heap.map_insert(&mut region, map, key, small(at))?;
            keys.push(key);
        }
        for at in (0..500).step_by(7) {
            heap.map_remove(map, keys[at]);
        }
        let array = heap.array(&mut region, &keys)?;
        let mut beside = heap.open();
        heap.buffer(&mut beside, &[7; 1_000])?;
        let long = heap.string(&mut region, &"a\0b".repeat(1_000))?;
        let mut roots = [map, array, long];
        let foreign = |reference: Ref| Ref::new(3, reference.payload() + 1_000);
        let of = match way {
            0 => {
                heap.splice(region, &mut to)?;
                &heap
            }
            1 => {
                heap.copy_within(&mut roots, &region, &mut to)?;
                heap.close(region);
                &heap
            }
            _ => {
                heap.copy_to(&mut roots, &region, &mut other, &mut far, foreign)?;
                &other
            }
        };
        let [map, array, long] = roots;
        let shift = if way > 1 { 1_000 } else { 0 };
        assert_eq!(of.bytes(long).to_text(), Some("a\0b".repeat(1_000)));
        for (at, key) in of.array_elements(array).iter().enumerate() {
            let value = (at % 7 != 0).then_some(small(at as u32));
            assert_eq!(of.map_get(map, *key), value, "{way}: key {at}");
            match at % 5 {
                0 => assert_eq!(of.map_get_string(map, &format!("key \0 {at}")), value),
                1 => assert_eq!(of.child(*key, 1), map),
                2 => assert_eq!(of.number_bits(*key), at as u64),
                3 => assert_eq!(key.payload() as usize, at + shift),
                _ => assert_eq!(of.label(*key) as usize, at),
            }
        }
    }
    Ok(())
}

/// What is copied with a table is what is copied with a map: short and long expressions, marked or not, that refer to what is
/// near or anywhere, numbers, variables and foreign immediates.
#[test]
fn a_map_copies_what_a_table_copies() -> Result<()> {
    for near in [2, 40, 100_000] {
        for count in [1, 31, 33, 3_000] {
            let (mut heap, mut other) = (Heap::new(), Heap::new());
            let (mut region, mut far, none) = (heap.open(), other.open(), heap.open());
            let (beside, _) = interleaved(&mut heap, &mut region, 10)?;
            let all = tangle(&mut heap, &mut region, count, near)?;
            let shifted = |met: Ref| Ref::new(met.tag(), met.payload() + 7);
            let (mut mapped, mut copied) = ([all], [all]);
            // For an empty region no table is made.
            let by_map = heap.copy_to(&mut mapped, &none, &mut other, &mut far, shifted)?;
            let by_table = heap.copy_to(&mut copied, &region, &mut other, &mut far, shifted)?;
            assert_eq!(
                (by_map.path, by_table.path, by_map.cells),
                (EscapePath::CopiedByMap, EscapePath::Copied, by_table.cells)
            );
            assert!(isomorphic(&other, mapped[0], copied[0]), "{count} that refer up to {near} back");
            heap.close(beside);
            heap.close(region);
            heap.close(none);
            other.close(far);
        }
    }
    Ok(())
}

/// Makes `count` things in turn with another region's, and an expression that refers to all of them. Each refers up to `near` back, and
/// some of them, later on, to what came behind them.
fn tangle(heap: &mut Heap, region: &mut Region, count: usize, near: usize) -> Result<Ref> {
    let (mut made, mut beside, mut state) = (vec![small(1)], heap.open(), 88_172_645_463_325_252_u64);
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for at in 0..count {
        let children: Vec<Ref> = (0..random(6))
            .map(|_| match made[made.len() - 1 - random(near.min(made.len()))] {
                child if child.is_expression() && random(3) == 0 => child.marked(),
                child => child,
            })
            .collect();
        made.push(match random(12) {
            0 => Ref::new(tag::IMMEDIATE_3, at as u32),
            1 => heap.number(region, 1, u64::MAX - at as u64)?,
            2 => heap.variable(region, at as u32)?,
            _ => heap.expression(region, &children)?,
        });
        heap.reserve(&mut beside, random(8))?;
    }
    for at in 0..count {
        if made[at].is_expression() && heap.length(made[at]) > 0 {
            heap.set_child(made[at], 0, made[at + random(near.min(made.len() - at))]);
        }
    }
    let all = heap.expression(region, &made)?;
    heap.close(beside);
    Ok(all)
}
