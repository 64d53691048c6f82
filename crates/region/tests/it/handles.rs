//! Regions in a table, scopes and the pool of a thread.

use region::{Fate, Full, Handle, HandleError, Heap, Limit, Regions, Scope, Way, pool, tag};

use crate::basics::small;
use crate::leaving::values;

type Result<T> = std::result::Result<T, HandleError>;

fn regions() -> Regions {
    Regions::new(Heap::new())
}

/// A list of so many cells in a region of the table.
fn list(regions: &mut Regions, handle: Handle, cells: u32) -> Result<region::Ref> {
    let (heap, region) = regions.parts(handle)?;
    let mut list = small(0);
    for at in 0..cells / 2 {
        list = heap.expression(region, &[small(at), list])?;
    }
    Ok(list)
}

/// A region that was closed twice was in the pool twice, and two owners got the same one.
#[test]
fn double_exit_is_an_error() -> Result<()> {
    let mut regions = regions();
    let (one, kept) = (regions.open()?, regions.open()?);
    assert_eq!((regions.close(one), regions.close(one)), (Ok(Fate::Freed), Err(HandleError::Freed)));
    regions.retain(kept)?;
    assert_eq!((regions.close(kept), regions.close(kept)), (Ok(Fate::Kept), Err(HandleError::Closed)));
    let (two, three) = (regions.open()?, regions.open()?);
    assert!(two != three && two != one && regions.region(one).is_err());
    assert_eq!(regions.parts(kept).map(|_| ()), Err(HandleError::Closed));
    assert!(regions.region(kept).is_ok());
    assert_eq!((regions.release(kept), regions.count()), (Ok(Fate::Freed), 2));
    Ok(())
}

/// A release too many made a count negative, and the region was never freed.
#[test]
fn release_needs_retain() -> Result<()> {
    let mut regions = regions();
    let (one, other) = (regions.open()?, regions.open()?);
    assert_eq!(regions.release(one), Err(HandleError::NotRetained));
    assert_eq!(regions.untether(one), Err(HandleError::NotTethered));
    regions.refer(other, one)?;
    assert_eq!(regions.release(one), Err(HandleError::NotRetained), "the other region's is not the owner's to release");
    regions.retain(one)?;
    assert_eq!((regions.release(one), regions.close(one)), (Ok(Fate::Kept), Ok(Fate::Kept)));
    assert_eq!((regions.close(other), regions.count()), (Ok(Fate::Freed), 0));
    assert_eq!(regions.release(one), Err(HandleError::Freed));
    Ok(())
}

/// Numbers of regions repeated after 65,536. A slot is given up before its generations repeat.
#[test]
fn handles_do_not_wrap() -> Result<()> {
    let mut regions = regions();
    let first = regions.open()?;
    regions.close(first)?;
    for _ in 0..70_000 {
        let handle = regions.open()?;
        assert_ne!(handle, first);
        regions.close(handle)?;
    }
    assert_eq!(regions.close(first), Err(HandleError::Freed));
    for bits in [0, 1 << 32, 5 << 32 | 1, u64::MAX, u64::from(u32::MAX)] {
        let made_up = Handle::from_bits(bits);
        assert_eq!((made_up.bits(), regions.close(made_up)), (bits, Err(HandleError::Unknown)));
    }
    assert_eq!(Handle::from_bits(first.bits()), first);
    Ok(())
}

/// It lives exactly while it is open, retained or tethered.
#[test]
fn a_region_lives_while_anything_holds_it() -> Result<()> {
    for holders in 0..8_u32 {
        let mut regions = regions();
        let region = regions.open()?;
        let made = list(&mut regions, region, 10)?;
        let has = |bit: u32| holders >> bit & 1 == 1;
        if has(1) {
            regions.retain(region)?;
        }
        if has(2) {
            regions.tether(region)?;
        }
        if !has(0) {
            let lives = holders & 6 != 0;
            assert_eq!(regions.close(region), Ok(if lives { Fate::Kept } else { Fate::Freed }));
        }
        assert_eq!((regions.count(), regions.heap().bytes_live() > 0), ((holders != 0) as usize, holders != 0));
        if holders == 0 {
            continue;
        }
        assert_eq!(values(regions.heap(), made).len(), 5);
        if has(1) {
            assert_eq!(regions.release(region)? == Fate::Freed, holders == 2);
        }
        if has(2) {
            assert_eq!(regions.untether(region)? == Fate::Freed, !has(0));
        }
        if has(0) {
            assert_eq!(regions.close(region), Ok(Fate::Freed));
        }
        assert_eq!((regions.count(), regions.heap().bytes_live()), (0, 0));
    }
    Ok(())
}

#[test]
fn a_chain_of_regions_is_freed_from_its_end() -> Result<()> {
    let mut regions = regions();
    let first = regions.open()?;
    let mut last = first;
    for _ in 0..100_000 {
        let next = regions.open()?;
        regions.refer(last, next)?;
        list(&mut regions, next, 2)?;
        if last != first {
            assert_eq!(regions.close(last), Ok(Fate::Kept));
        }
        last = next;
    }
    regions.close(last)?;
    assert_eq!((regions.count(), regions.close(first), regions.count()), (100_001, Ok(Fate::Freed), 0));
    assert_eq!(regions.heap().bytes_live(), 0);
    Ok(())
}

#[test]
fn a_parent_is_closed_after_its_children() -> Result<()> {
    let mut regions = regions();
    let parent = regions.open()?;
    let (child, other) = (regions.open_within(parent)?, regions.open_within(parent)?);
    let grandchild = regions.open_within(child)?;
    assert_eq!(regions.close(parent), Err(HandleError::HasChildren(2)));
    assert_eq!(regions.splice(child, parent), Err(HandleError::HasChildren(1)));
    let made = list(&mut regions, grandchild, 1_000)?;
    let mut roots = [made];
    assert_eq!(regions.leave(grandchild, child, &mut roots)?.way, Way::Spliced);
    regions.splice(child, parent)?;
    assert_eq!(regions.close(child), Err(HandleError::Freed));
    assert_eq!((regions.close(other), regions.check(parent, roots[0])), (Ok(Fate::Freed), Ok(())));
    assert_eq!(values(regions.heap(), roots[0]).len(), 500);
    assert_eq!((regions.close(parent), regions.open_within(parent)), (Ok(Fate::Freed), Err(HandleError::Freed)));
    Ok(())
}

/// The chunk of a tethered region was moved away under its readers.
#[test]
fn splice_refused_while_tethered() -> Result<()> {
    let mut regions = regions();
    let (region, to) = (regions.open()?, regions.open()?);
    let made = list(&mut regions, region, 1_000)?;
    regions.tether(region)?;
    assert_eq!(regions.splice(region, to), Err(HandleError::Tethered(1)));
    regions.retain(region)?;
    regions.untether(region)?;
    assert_eq!(regions.splice(region, to), Err(HandleError::Retained(1)));
    regions.tether(region)?;
    let mut roots = [made];
    let report = regions.leave(region, to, &mut roots)?;
    assert_eq!((report.way, report.cells), (Way::Copied, 1_000));
    assert_eq!((regions.check(to, roots[0]), regions.check(to, made)), (Ok(()), Err(HandleError::Foreign(made))));
    assert_eq!(values(regions.heap(), roots[0]), values(regions.heap(), made));
    assert_eq!((regions.untether(region), regions.release(region)), (Ok(Fate::Kept), Ok(Fate::Freed)));
    assert_eq!((regions.splice(to, to), regions.close(to)), (Err(HandleError::Same), Ok(Fate::Freed)));
    Ok(())
}

/// Nothing kept a reference to a temporary out of a region that lived longer.
#[test]
fn foreign_reference_is_refused() -> Result<()> {
    let mut regions = regions();
    let (long, short) = (regions.open()?, regions.open()?);
    let inner = regions.open_within(long)?;
    let temporary = regions.expression(short, &[small(1)])?;
    let holder = regions.expression(long, &[small(2)])?;
    let variable = {
        let (heap, region) = regions.parts(long)?;
        heap.variable(region, 0)?
    };
    let foreign = Err(HandleError::Foreign(temporary));
    assert_eq!(regions.expression(long, &[small(1), temporary]).map(|_| ()), foreign);
    assert_eq!(regions.set_child(long, holder, 0, temporary), foreign);
    assert_eq!(regions.bind(long, variable, temporary), foreign);
    assert_eq!(regions.set_child(short, holder, 0, temporary), Err(HandleError::Foreign(holder)));
    // An inner region may refer to the outer one, not the other way round.
    let within = regions.expression(inner, &[holder, variable])?;
    assert_eq!(regions.set_child(long, holder, 0, within), Err(HandleError::Foreign(within)));
    regions.refer(long, short)?;
    regions.bind(long, variable, temporary)?;
    regions.set_child(long, holder, 0, variable)?;
    assert_eq!((regions.close(short), regions.close(inner)), (Ok(Fate::Kept), Ok(Fate::Freed)));
    assert_eq!(regions.heap().children(regions.heap().walk(variable)), [small(1)]);
    assert_eq!((regions.close(long), regions.count()), (Ok(Fate::Freed), 0));
    Ok(())
}

/// What a region retains, the region that it leaves for retains as well.
#[test]
fn what_was_retained_stays_so() -> Result<()> {
    for is_tethered in [false, true] {
        let mut regions = regions();
        let (library, region, to) = (regions.open()?, regions.open()?, regions.open()?);
        let shared = list(&mut regions, library, 10)?;
        regions.refer(region, library)?;
        let mut roots = [regions.expression(region, &[shared])?];
        if is_tethered {
            regions.tether(region)?;
        }
        regions.close(library)?;
        regions.leave(region, to, &mut roots)?;
        if is_tethered {
            assert_eq!(regions.untether(region), Ok(Fate::Freed));
        }
        assert_eq!((regions.check(to, shared), regions.count()), (Ok(()), 2));
        assert_eq!(regions.heap().child(roots[0], 0), shared);
        assert_eq!((regions.close(to), regions.count()), (Ok(Fate::Freed), 0));
    }
    Ok(())
}

#[test]
fn what_finds_no_room_keeps_its_handle() -> Result<()> {
    let mut regions = regions();
    let (region, to) = (regions.open()?, regions.open()?);
    let made = list(&mut regions, region, 1_000)?;
    regions.parts(to)?.1.set_limit(Some(512));
    let error = regions.leave(region, to, &mut [made]).expect_err("there is no room");
    assert!(matches!(error, HandleError::Full(full) if full.limit() == Limit::Region), "{error}");
    assert!(regions.splice(region, to).is_err());
    assert_eq!((regions.check(region, made), regions.close(to)), (Ok(()), Ok(Fate::Freed)));
    regions.close(region)?;
    Ok(())
}

#[test]
fn errors_say_what_to_do() {
    let errors = [
        HandleError::Unknown,
        HandleError::Freed,
        HandleError::Closed,
        HandleError::HasChildren(1),
        HandleError::HasChildren(2),
        HandleError::Retained(3),
        HandleError::Tethered(3),
        HandleError::NotRetained,
        HandleError::NotTethered,
        HandleError::Foreign(small(1)),
        HandleError::Same,
        HandleError::TooMany,
    ];
    assert!(errors.iter().all(|error| error.to_string().contains(';')));
}

#[test]
fn a_scope_gives_back_all_but_its_result() -> std::result::Result<(), Full> {
    let mut heap = Heap::new();
    let cells = Scope::run(&mut heap, |mut scope| -> std::result::Result<usize, Full> {
        let variable = scope.variable(4)?;
        let leaf = scope.expression(&[variable.term()])?;
        scope.bind(variable, leaf);
        let mut list = leaf;
        for round in 0..10 {
            list = scope.within(|inner| {
                let (list, one) = (inner.outer(list), inner.immediate(tag::IMMEDIATE_0, round));
                for _ in 0..1_000 {
                    inner.expression(&[list, one])?;
                }
                inner.within(|innermost| innermost.expression(&[innermost.outer(one), innermost.outer(list)]))
            })?;
        }
        let failed = scope.within(|inner| {
            inner.set_limit(Some(512));
            loop {
                inner.number(0, 1)?;
            }
        });
        assert_eq!(failed.map_err(|full: Full| full.limit()).map(|_| ()), Err(Limit::Region));
        let mut depth = 0;
        while scope.children(list).len() == 2 {
            (list, depth) = (scope.children(list).nth(1).unwrap_or(list), depth + 1);
        }
        assert_eq!((scope.walk(variable.term()), list.reference()), (leaf, leaf.reference()));
        Ok(depth)
    })?;
    assert_eq!((cells, heap.bytes_live(), heap.statistics().escapes.spliced), (10, 0, 10));
    Ok(())
}

#[test]
fn a_scope_ends_by_a_panic() {
    let mut heap = Heap::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        Scope::run(&mut heap, |mut scope| {
            scope.expression(&[]).map(|_| ()).expect("there is no limit");
            panic!("on purpose");
        });
    }));
    assert_eq!((result.is_err(), heap.bytes_live()), (true, 0));
}

/// The memory of a thread's regions was lost when the thread ended. What its pool has is given back.
#[test]
fn threads_return_their_memory() {
    let thread = std::thread::spawn(|| {
        pool::set_limit(1 << 20);
        let mut first = pool::take();
        let mut region = first.open();
        first.reserve(&mut region, 10_000).map(|_| ()).expect("there is no limit");
        // The region is not closed: the heap is reset as it goes back.
        drop((first, region));
        let held = pool::bytes();
        assert!(held >= 40_000, "{held}");
        let counted = allocation_counter::measure(|| {
            let mut again = pool::take();
            assert_eq!((pool::bytes(), again.bytes_live(), again.statistics().cells_handed_out), (0, 0, 0));
            let mut region = again.open();
            again.reserve(&mut region, 10_000).map(|_| ()).expect("there is no limit");
            again.close(region);
        });
        assert_eq!(counted.count_total, 0);
        let heaps: Vec<pool::Pooled> = (0..100).map(|_| pool::take()).collect();
        drop(heaps);
        let mut large = pool::take();
        let mut region = large.open();
        large.reserve(&mut region, 1 << 20).map(|_| ()).expect("there is no limit");
        drop((large, region));
        assert!(pool::bytes() <= 1 << 20);
        pool::set_limit(0);
        assert_eq!(pool::bytes(), 0);
    });
    thread.join().expect("the thread has not failed");
    let counted = allocation_counter::measure(|| {
        let mut heap = Heap::new();
        let mut region = heap.open();
        heap.reserve(&mut region, 10_000).map(|_| ()).expect("there is no limit");
        let moved = std::thread::scope(|scope| scope.spawn(move || (heap, region)).join()).expect("it only moves");
        drop(moved);
    });
    assert!(counted.bytes_current < 4_096, "{}", counted.bytes_current);
}
