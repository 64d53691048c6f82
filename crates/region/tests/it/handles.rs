//! Regions in a table.

use region::{EscapePath, HandleError, Heap, Limit, RegionHandle, RegionTable, ReleaseOutcome};

use crate::basics::small;
use crate::leaving::values;

type Result<T> = std::result::Result<T, HandleError>;

fn regions() -> RegionTable {
    RegionTable::new(Heap::new())
}

/// A list of `cells` cells in a region of the table.
pub(crate) fn list(regions: &mut RegionTable, handle: RegionHandle, cells: u32) -> Result<region::Ref> {
    let (heap, region) = regions.parts(handle)?;
    let mut list = small(0);
    for at in 0..cells / 2 {
        list = heap.expression(region, &[small(at), list])?;
    }
    Ok(list)
}

/// D17: numbers of regions repeated after 65,536. A slot is given up before its generations repeat.
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
        let made_up = RegionHandle::from_bits(bits);
        assert_eq!((made_up.bits(), regions.close(made_up)), (bits, Err(HandleError::Unknown)));
    }
    assert_eq!(RegionHandle::from_bits(first.bits()), first);
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
            assert_eq!(regions.close(region), Ok(if lives { ReleaseOutcome::Kept } else { ReleaseOutcome::Freed }));
        }
        assert_eq!((regions.count(), regions.heap().bytes_live() > 0), ((holders != 0) as usize, holders != 0));
        if holders == 0 {
            continue;
        }
        assert_eq!(values(regions.heap(), made).len(), 5);
        if has(1) {
            assert_eq!(regions.release(region)? == ReleaseOutcome::Freed, holders == 2);
        }
        if has(2) {
            assert_eq!(regions.untether(region)? == ReleaseOutcome::Freed, !has(0));
        }
        if has(0) {
            assert_eq!(regions.close(region), Ok(ReleaseOutcome::Freed));
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
            assert_eq!(regions.close(last), Ok(ReleaseOutcome::Kept));
        }
        last = next;
    }
    regions.close(last)?;
    assert_eq!((regions.count(), regions.close(first), regions.count()), (100_001, Ok(ReleaseOutcome::Freed), 0));
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
    assert_eq!(regions.leave(grandchild, child, &mut roots)?.path, EscapePath::Spliced);
    regions.splice(child, parent)?;
    assert_eq!(regions.close(child), Err(HandleError::Freed));
    assert_eq!((regions.close(other), regions.check(parent, roots[0])), (Ok(ReleaseOutcome::Freed), Ok(())));
    assert_eq!(values(regions.heap(), roots[0]).len(), 500);
    assert_eq!(
        (regions.close(parent), regions.open_within(parent)),
        (Ok(ReleaseOutcome::Freed), Err(HandleError::Freed))
    );
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
            assert_eq!(regions.untether(region), Ok(ReleaseOutcome::Freed));
        }
        assert_eq!((regions.check(to, shared), regions.count()), (Ok(()), 2));
        assert_eq!(regions.heap().child(roots[0], 0), shared);
        assert_eq!((regions.close(to), regions.count()), (Ok(ReleaseOutcome::Freed), 0));
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
    assert_eq!((regions.check(region, made), regions.close(to)), (Ok(()), Ok(ReleaseOutcome::Freed)));
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

/// From one table to another: it leaves once, and what is retained stays behind.
#[test]
fn a_region_leaves_for_another_table() -> Result<()> {
    let (mut here, mut there) = (regions(), regions());
    let (from, to) = (here.open()?, there.open()?);
    let mut root = [list(&mut here, from, 100)?];
    let before = values(here.heap(), root[0]);
    here.retain(from)?;
    let report = here.leave_for(from, &mut there, to, &mut root, |foreign| foreign)?;
    assert_eq!((report.path, report.cells), (EscapePath::Copied, 100));
    assert_eq!((values(there.heap(), root[0]), here.count()), (before.clone(), 1));
    assert_eq!(there.check(to, root[0]), Ok(()));
    assert_eq!(here.release(from), Ok(ReleaseOutcome::Freed));
    let again = here.leave_for(from, &mut there, to, &mut root, |foreign| foreign);
    assert_eq!(again.map(|_| ()), Err(HandleError::Freed));
    let (child, full) = (there.open_within(to)?, here.open()?);
    let parent = there.leave_for(to, &mut here, full, &mut root, |foreign| foreign);
    assert_eq!(parent.map(|_| ()), Err(HandleError::HasChildren(1)));
    there.close(child)?;
    here.parts(full)?.1.set_limit(Some(512));
    let refused = there.leave_for(to, &mut here, full, &mut root, |foreign| foreign);
    assert!(matches!(refused, Err(HandleError::Full(full)) if full.limit() == Limit::Region), "{refused:?}");
    assert_eq!((values(there.heap(), root[0]), there.check(to, root[0])), (before, Ok(())));
    Ok(())
}
