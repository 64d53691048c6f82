//! Deep, wide and many: what must cost no native stack, no time beyond its size, and no memory beyond its peak.

use region::{Bound, Full, Heap, Limit, Mark, Ref, Region};

use crate::basics::small;
use crate::defects::{escape, overwrite};

#[test]
fn a_million_levels_are_copied() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let mut top = small(0);
    for _ in 0..1_000_000 {
        top = heap.expression(&mut region, &[top])?;
    }
    let (to, mut copy) = escape(&mut heap, region, top)?;
    let mut depth = 0;
    while copy.is_expression() {
        (copy, depth) = (heap.child(copy, 0), depth + 1);
    }
    assert_eq!((depth, copy, heap.statistics().cells_copied), (1_000_000, small(0), 1_000_000));
    heap.close(to);
    Ok(())
}

#[test]
fn a_chain_of_a_million_variables_is_copied_and_resolved() -> Result<(), Full> {
    for (bound, cells) in [(Bound::Kept, 1_000_000), (Bound::Replaced, 1)] {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let last = heap.variable(&mut region, 1)?;
        let mut first = last;
        for _ in 1..1_000_000 {
            let next = heap.variable(&mut region, 2)?;
            heap.bind(next, first);
            first = next;
        }
        let mut to = heap.open();
        let mut copying = heap.copy(&region, Mark::START, bound, &mut to, |foreign| foreign)?;
        let copy = copying.root(first)?;
        copying.scan()?;
        assert_eq!(copying.moved(last).map(|last| last == copy), Some(bound == Bound::Replaced));
        assert_eq!((heap.label(heap.walk(copy)), heap.statistics().cells_copied), (1, cells));
        heap.close(region);
        heap.close(to);
    }
    Ok(())
}

/// A small result of a large region costs what the result is, not what the region is.
#[test]
fn a_small_result_costs_its_own_size() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let mut list = small(0);
    for at in 0..100_000 {
        list = heap.expression(&mut region, &[small(at), list])?;
    }
    let mut result = small(0);
    for at in 0..10 {
        result = heap.expression(&mut region, &[small(at), result])?;
    }
    let (to, _) = escape(&mut heap, region, result)?;
    assert_eq!(heap.statistics().cells_copied, 20);
    heap.close(to);
    Ok(())
}

/// One cell less than a chunk, a chunk, and one more; the next thing begins where it should.
#[test]
fn a_chunk_is_filled_to_its_last_cell() -> Result<(), Full> {
    for (length, chunks) in [(125, 1), (126, 1), (127, 1), (128, 2), (253, 2), (254, 2), (255, 2), (256, 3)] {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let wide = heap.expression(&mut region, &vec![small(3); length])?;
        assert_eq!((heap.length(wide), heap.statistics().bytes_live), (length, chunks * 512));
        let fits = !(length / 2 + 1).is_multiple_of(64);
        let next = heap.expression(&mut region, &[small(4)])?;
        assert_eq!(heap.statistics().bytes_live, (chunks + usize::from(!fits)) * 512);
        assert_eq!((heap.children(wide), heap.children(next)), (&vec![small(3); length][..], &[small(4)][..]));
        heap.close(region);
        assert_eq!(heap.statistics().cells_handed_out, length as u64 / 2 + 2);
    }
    Ok(())
}

#[test]
fn regions_that_take_turns_keep_apart() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut regions: Vec<_> = (0..100).map(|_| heap.open()).collect();
    let mut made = Vec::new();
    for round in 0..500 {
        for (at, region) in regions.iter_mut().enumerate() {
            made.push((heap.expression(region, &[small(at as u32), small(round)])?, at as u32, round));
        }
    }
    for region in regions.drain(1..).step_by(2) {
        heap.close(region);
    }
    let other = overwrite(&mut heap)?;
    assert!(made.iter().filter(|made| made.1 == 0).all(|made| heap.children(made.0) == [small(0), small(made.2)]));
    heap.close(other);
    assert_eq!(heap.statistics().chunks, 100 * 16);
    Ok(())
}

/// Long runs that come and go among single chunks do not make the heap grow without bound.
#[test]
fn long_expressions_reuse_memory() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut keeper) = (heap.open(), heap.open());
    let (mut peak, mut random) = (0, 1_u64);
    for round in 0..2_000 {
        let mark = heap.mark(&region);
        for _ in 0..5 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            heap.reserve(&mut region, (random >> 40) as usize % 8_000)?;
            heap.expression(&mut region, &[small(round); 100])?;
            heap.number(&mut region, 0, random)?;
        }
        if round % 50 == 0 {
            heap.number(&mut keeper, 0, random)?;
        }
        peak = peak.max(heap.statistics().bytes_live);
        heap.rewind(&mut region, mark);
    }
    assert_eq!(peak, heap.statistics().bytes_live_peak);
    assert!(heap.statistics().chunks * 512 <= peak * 3, "{:?}", heap.statistics());
    heap.close(region);
    heap.close(keeper);
    Ok(())
}

/// Free chunks that lie together are found before a long expression is refused, in whatever order they were freed.
#[test]
fn scattered_chunks_are_gathered_before_refusal() -> Result<(), Full> {
    let mut heap = Heap::with_limit(100 * 512);
    let mut regions: Vec<_> = (0..100).map(|_| Some(heap.open())).collect();
    for region in regions.iter_mut().flatten() {
        heap.number(region, 0, 1)?;
    }
    let kept = regions[50].take();
    let mut long = heap.open();
    for at in 0..100 {
        if let Some(region) = regions[at * 37 % 100].take() {
            heap.close(region);
        }
    }
    let full = heap.reserve(&mut long, 60 * 128 - 1).map_err(|full| full.limit());
    assert_eq!(full, Err(Limit::Bytes), "the one that is left lies in the way");
    heap.reserve(&mut long, 50 * 128 - 1 - 2)?;
    heap.rewind(&mut long, Mark::START);
    heap.close(kept.expect("still open"));
    heap.reserve(&mut long, 100 * 128 - 1 - 2)?;
    assert_eq!(heap.statistics().chunks_free, 0);
    assert_eq!(heap.number(&mut long, 0, 1).map_err(|full| full.limit()), Err(Limit::Bytes));
    heap.close(long);
    Ok(())
}

#[test]
fn warm_memory_is_used_without_asking_for_more() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut round = || -> Result<(), Full> {
        let (mut region, mut to) = (heap.open(), heap.open());
        let mut list = small(0);
        for at in 0..1_000 {
            let (variable, number) = (heap.variable(&mut region, at)?, heap.number(&mut region, 1, 5)?);
            list = heap.expression(&mut region, &[variable, number, list])?;
            heap.bind(variable, list);
        }
        let wide = heap.expression(&mut region, &[list; 1_000])?;
        let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
        copying.root(wide)?;
        copying.scan()?;
        heap.close(region);
        heap.close(to);
        Ok(())
    };
    // The second round is the first whose copy finds the table as long as the heap has become.
    round()?;
    round()?;
    let counted = allocation_counter::measure(|| round().expect("there is no limit"));
    assert_eq!(counted.count_total, 0);
    Ok(())
}

#[test]
fn notes_are_cleared_wherever_they_are() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut regions: Vec<_> = (0..5).map(|_| heap.open()).collect();
    let mut made: Vec<(Ref, usize)> = Vec::new();
    for round in 0..400_usize {
        let region = &mut regions[round % 5];
        let mark = heap.mark(region);
        for at in 0..50 {
            let noted = heap.expression(region, &[small(u32::MAX >> 3); 7])?;
            heap.set_note(noted, at + 1);
        }
        if round % 3 > 0 {
            heap.rewind(region, mark);
        }
        heap.number(region, 0, u64::MAX)?;
        heap.variable(region, u32::MAX)?;
        let length = [round % 9, round * 3, 9_000][round % 3];
        let kept = heap.expression(region, &vec![small(1 << 19); length])?;
        heap.set_note(kept, u16::MAX);
        made.push((kept, length));
    }
    heap.close(regions.remove(2));
    heap.clear_notes();
    let kept = made.iter().enumerate().filter(|(round, _)| round % 5 != 2);
    for (_, (kept, length)) in kept {
        assert_eq!((heap.note(*kept), heap.children(*kept)), (0, &vec![small(1 << 19); *length][..]));
    }
    Ok(())
}

/// What is made in a region, in order, each of one value a number of times; and marks, with how much there was.
#[derive(Default)]
struct Made {
    things: Vec<(Ref, u32, usize)>,
    marks: Vec<(Mark, usize)>,
}

/// In a heap whose free chunks follow each other lanes take several at once. However they are rewound, joined, closed and
/// interrupted by what needs a run of its own, what they have is theirs.
#[test]
fn what_lies_ahead_of_a_lane_is_its_own() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut warm = heap.open();
    heap.reserve(&mut warm, 400 * 64 * 2)?;
    heap.close(warm);
    let mut regions: Vec<(Region, Made)> = (0..3).map(|_| (heap.open(), Made::default())).collect();
    let (mut state, mut most_ahead) = (7_u64, 0);
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for step in 0..6_000_u32 {
        let (at, other) = (random(3) as usize, random(3) as usize);
        let (region, made) = &mut regions[at];
        match random(40) {
            0 => {
                let old = std::mem::replace(region, heap.open());
                heap.close(old);
                *made = Made::default();
            }
            1 if at != other => {
                let (from, gone) = std::mem::replace(&mut regions[at], (heap.open(), Made::default()));
                let (to, made) = &mut regions[other];
                heap.splice(from, to).map_err(|open| open.full)?;
                made.things.extend(gone.things);
            }
            2..=5 => made.marks.push((heap.mark(region), made.things.len())),
            6..=8 => {
                if let Some((mark, length)) = made.marks.pop() {
                    heap.rewind(region, mark);
                    made.things.truncate(length);
                }
            }
            kind => {
                let length =
                    [random(12), random(127), 128 + random(900)][usize::from(kind > 36) + usize::from(kind > 38)];
                let children = vec![small(step); length as usize];
                for _ in 0..random(60) {
                    made.things.push((heap.expression(region, &children)?, step, children.len()));
                }
                heap.number(region, 0, u64::MAX)?;
            }
        }
        most_ahead = most_ahead.max(heap.cells_ahead(&regions[at].0));
        for (region, made) in &regions[..] {
            for (thing, value, length) in made.things.iter().rev().take(200) {
                assert!(heap.holds(region, *thing), "step {step}");
                assert_eq!(heap.children(*thing), &vec![small(*value); *length][..], "step {step}");
            }
        }
    }
    assert!((512..=3 * 1_024).contains(&most_ahead), "{most_ahead}");
    regions.into_iter().for_each(|(region, _)| heap.close(region));
    assert_eq!(heap.bytes_live(), 0);
    Ok(())
}
