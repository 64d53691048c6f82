//! One test for each known defect of an earlier region memory: here, where it is about regions and copies.
//!
//! That memory began each region in a buffer of its own; what lay there was forgotten when a region was copied, moved or
//! freed. It also found copied objects by a search along all of them, and copied only some kinds.
//!
//! | defect | what it was | tests |
//! |---|---|---|
//! | D1 | a splice was never one: it was for regions of one chunk | `defects::splice_moves_any_number_of_chunks` |
//! | D2 | after a splice, objects stayed in the buffer of the source | `defects::splice_leaves_nothing_behind` |
//! | D3 | a graph that lay in the buffer was not moved at all | `defects::tiny_region_escapes` |
//! | D4 | what was shared there was copied twice | `defects::sharing_survives_first_chunk` |
//! | D5 | arrays and dictionaries were copied without content | `defects::every_kind_is_copied_deep`, `objects::arrays_and_maps_are_copied_deep`, `leaving::objects_leave_whole`, `escape_paths::maps_leave_for_a_region_of_their_heap_by_each_way`, `escape_paths::maps_leave_for_another_heap_by_each_way` |
//! | D6 | a shared graph took quadratic time | `defects::copy_is_linear_in_shared_dag`, `leaving::leaving_is_linear_in_shared_dag`, `objects::copies_of_objects_are_linear` |
//! | D7 | a region closed twice was in the pool twice | `defects::double_exit_is_an_error`, `nested::a_table_does_what_its_model_does`; as a value it does not compile, see `Region` |
//! | D8 | a tether that met a close: both destroyed | `models::tether_and_close_destroy_once`, `tethers::tether_and_close_race_destroys_once` |
//! | D9 | a suite of benchmarks crashed | `bench::every_bench_runs_small` |
//! | D10 | a tree made as a whole was none | `objects::batch_equals_one_by_one`, `object_models::batches_equal_one_by_one` |
//! | D11 | a list made as a whole had one element | the same |
//! | D12 | a ring was copied to a line into its source | `defects::ring_copy_is_a_ring` |
//! | D13 | strings ended at their first zero | `objects::strings_keep_nul` |
//! | D14 | a tethered region was spliced | `defects::splice_refused_while_tethered` |
//! | D15 | a tether that ended on another thread left one that was none | `tethers::guard_ends_anywhere` |
//! | D16 | a release too many went unnoticed, and the region was lost | `defects::release_needs_retain`, `tethers::release_needs_retain` |
//! | D17 | numbers of regions repeated | `defects::ids_do_not_wrap`, `handles::handles_do_not_wrap` |
//! | D18 | what a thread kept was lost with it | `defects::threads_return_their_memory` |
//! | D19 | nothing kept a reference to a temporary out of what lives longer | `defects::foreign_reference_is_refused`, `defects::foreign_reference_is_found`, `tethers::foreign_reference_is_refused`, `nested::a_parent_lives_as_long_as_what_was_within_it` |

use region::{Bound, EscapePath, Full, HandleError, Heap, Mark, Ref, Region, RegionTable, ReleaseOutcome, tag};

use crate::basics::small;
use crate::handles::list;
use crate::leaving::{interleaved, values};

type Any = Result<(), Box<dyn std::error::Error>>;
type Handled = Result<(), HandleError>;

/// The table above names tests that there are, for each defect.
#[test]
fn every_defect_has_its_test() {
    let files = [
        ("bench", include_str!("../../../../bench/src/region/mod.rs")),
        ("defects", include_str!("defects.rs")),
        ("handles", include_str!("handles.rs")),
        ("leaving", include_str!("leaving.rs")),
        ("models", include_str!("../../models/src/lib.rs")),
        ("nested", include_str!("nested.rs")),
        ("object_models", include_str!("object_models.rs")),
        ("objects", include_str!("objects.rs")),
        ("tethers", include_str!("tethers.rs")),
        ("escape_paths", include_str!("escape_paths.rs")),
    ];
    let rows: Vec<&str> = files[1].1.lines().filter(|line| line.starts_with("//! | D")).collect();
    for (number, row) in (1..=19).zip(&rows) {
        assert!(row.starts_with(&format!("//! | D{number} |")), "{row}");
        for name in row.split('`').filter(|name| name.contains("::")) {
            let (file, test) = name.split_once("::").expect("a file and a test");
            let (_, text) = files.iter().find(|(name, _)| *name == file).expect("a file of tests");
            assert!(text.contains(&format!("fn {test}(")), "{name}");
        }
    }
    assert_eq!(rows.len(), 19);
}

/// Copies what a root leads to into a fresh region and closes the old one.
pub(crate) fn escape(heap: &mut Heap, from: Region, root: Ref) -> Result<(Region, Ref), Full> {
    let mut to = heap.open();
    let mut copying = heap.copy(&from, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
    let root = copying.root(root)?;
    copying.scan()?;
    heap.close(from);
    assert_eq!(heap.dangling(&[&to], &[root]), None, "nothing of the copy lies in the closed region");
    Ok((to, root))
}

/// Takes memory that was given back, and writes over it.
pub(crate) fn overwrite(heap: &mut Heap) -> Result<Region, Full> {
    let mut region = heap.open();
    for _ in 0..10 {
        heap.expression(&mut region, &[small(99); 100])?;
        heap.variable(&mut region, 99)?;
        heap.number(&mut region, 0, 99)?;
    }
    Ok(region)
}

/// D3: a graph that lay in the first bytes of its region stayed there.
#[test]
fn tiny_region_escapes() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let root = heap.expression(&mut region, &[small(1)])?;
    let (to, copy) = escape(&mut heap, region, root)?;
    let other = overwrite(&mut heap)?;
    assert_eq!(heap.children(copy), [small(1)]);
    heap.close(other);
    heap.close(to);
    let (mut region, mut to) = (heap.open(), heap.open());
    let mut roots = [heap.expression(&mut region, &[small(1)])?];
    heap.transmigrate(&mut roots, region, &mut to).map_err(|refused| refused.full)?;
    let other = overwrite(&mut heap)?;
    assert_eq!(heap.children(roots[0]), [small(1)]);
    heap.close(other);
    heap.close(to);
    Ok(())
}

/// D4: what was shared in the first bytes of a region was copied twice.
#[test]
fn sharing_survives_first_chunk() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let leaf = heap.expression(&mut region, &[small(1)])?;
    let pair = heap.expression(&mut region, &[leaf, leaf.marked()])?;
    let root = heap.expression(&mut region, &[pair, leaf, pair])?;
    let (to, copy) = escape(&mut heap, region, root)?;
    let [pair, leaf, again] = *heap.children(copy) else { panic!("three children") };
    assert_eq!((pair, heap.children(pair)), (again, &[leaf, leaf.marked()][..]));
    heap.close(to);
    Ok(())
}

/// D5: arrays and dictionaries were copied without their content.
#[test]
fn every_kind_is_copied_deep() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let number = heap.number(&mut region, 1, u64::MAX)?;
    let free = heap.variable(&mut region, 7)?;
    let bound = heap.variable(&mut region, 8)?;
    let inner = heap.expression(&mut region, &[number, free])?;
    heap.bind(bound, inner.marked());
    let kinds: Vec<Ref> =
        (0..4).map(|tag| Ref::new(tag, 5)).chain([number, free, bound, inner, inner.marked()]).collect();
    let root = heap.expression(&mut region, &kinds)?;
    let (to, copy) = escape(&mut heap, region, root)?;
    let other = overwrite(&mut heap)?;
    let copies = heap.children(copy).to_vec();
    assert_eq!(copies.iter().map(|copy| copy.tag()).collect::<Vec<u32>>(), [0, 1, 2, 3, 4, 5, 5, 6, 7]);
    assert_eq!(copies[..4], kinds[..4]);
    let (number, free, bound, inner) = (copies[4], copies[5], copies[6], copies[7]);
    assert_eq!((number.payload() & 1, heap.number_bits(number)), (1, u64::MAX));
    assert_eq!((heap.label(free), heap.binding(free)), (7, None));
    assert_eq!((heap.label(bound), heap.binding(bound)), (8, Some(inner.marked())));
    assert_eq!((heap.children(inner), copies[8]), (&[number, free][..], inner.marked()));
    heap.close(other);
    heap.close(to);
    Ok(())
}

/// D6: a shared graph took time in the square of its size, or in the number of its paths. Cells are counted, not time.
#[test]
fn copy_is_linear_in_shared_dag() -> Result<(), Full> {
    for depth in [1_000, 3_000, 27_000] {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let mut top = heap.expression(&mut region, &[small(1)])?;
        for _ in 0..depth {
            top = heap.expression(&mut region, &[top, top, top])?;
        }
        let (to, mut copy) = escape(&mut heap, region, top)?;
        assert_eq!(heap.statistics().cells_copied, 2 * depth + 1);
        for _ in 0..depth {
            let children = heap.children(copy);
            assert_eq!([children[0]; 3], *children);
            copy = children[0];
        }
        assert_eq!(heap.children(copy), [small(1)]);
        heap.close(to);
    }
    Ok(())
}

/// D12: a ring was copied to a line that led back into the source. Here once through a child that was replaced, and once through a
/// variable.
#[test]
fn ring_copy_is_a_ring() -> Result<(), Full> {
    for through_variable in [false, true] {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let hole = if through_variable { heap.variable(&mut region, 0)? } else { small(0) };
        let first = heap.expression(&mut region, &[small(0), hole])?;
        let mut last = first;
        for at in 1..1_000 {
            last = heap.expression(&mut region, &[small(at), last])?;
        }
        if through_variable {
            heap.bind(hole, last)
        } else {
            heap.set_child(first, 1, last)
        }
        let (to, root) = escape(&mut heap, region, last)?;
        let mut at = root;
        for value in (0..1_000).rev() {
            assert_eq!(heap.child(at, 0), small(value));
            at = heap.walk(heap.child(at, 1));
        }
        assert_eq!(at, root);
        assert_eq!(heap.statistics().cells_copied, 2_000 + u64::from(through_variable));
        heap.close(to);
    }
    Ok(())
}

/// D17: the numbers of regions repeated after 65,536 of them. Ours have none: what lies in which region is known by chunks.
#[test]
fn ids_do_not_wrap() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut regions = Vec::new();
    for at in 0..70_000 {
        let mut region = heap.open();
        let made = heap.expression(&mut region, &[small(at)])?;
        regions.push((region, made));
    }
    let (one, other) = (&regions[0], &regions[65_536]);
    assert!(heap.precedes(one.1, &other.0, Mark::START) && heap.precedes(other.1, &one.0, Mark::START));
    assert!(!heap.precedes(one.1, &one.0, Mark::START) && !heap.precedes(other.1, &other.0, Mark::START));
    for (at, (region, made)) in regions.into_iter().enumerate() {
        assert_eq!(heap.children(made), [small(at as u32)]);
        heap.close(region);
    }
    assert_eq!(heap.statistics().chunks_free, 70_000);
    Ok(())
}

/// D19: nothing told that a region was freed while another one referred to it.
#[test]
fn foreign_reference_is_found() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut short, mut long) = (heap.open(), heap.open());
    let temporary = heap.expression(&mut short, &[small(1)])?;
    let variable = heap.variable(&mut long, 0)?;
    let holder = heap.expression(&mut long, &[small(2), variable])?;
    heap.bind(variable, temporary.marked());
    assert_eq!(heap.dangling(&[&long, &short], &[holder]), None);
    assert_eq!(heap.dangling(&[&long], &[holder]), Some(temporary.marked()));
    heap.number(&mut long, 0, 4)?;
    let mark = heap.mark(&long);
    let later = heap.number(&mut long, 0, 5)?;
    assert_eq!(heap.dangling(&[&long], &[later]), None);
    heap.rewind(&mut long, mark);
    assert_eq!(heap.dangling(&[&long], &[later]), Some(later));
    assert_eq!(
        heap.dangling(&[&long], &[Ref::new(tag::EXPRESSION, Ref::PAYLOAD_MAX)]).map(Ref::payload),
        Some(Ref::PAYLOAD_MAX)
    );
    heap.close(short);
    assert_eq!(heap.dangling(&[&long], &[holder]), Some(temporary.marked()));
    heap.close(long);
    Ok(())
}

/// D1: a splice asks for no memory and moves no cell, and what follows it is as it was, whatever the size.
#[test]
fn splice_moves_any_number_of_chunks() -> Any {
    for cells in [2, 10, 128, 2_000, 1_000_000] {
        let mut heap = Heap::new();
        let (mut region, mut to) = (heap.open(), heap.open());
        let before = heap.expression(&mut to, &[small(7)])?;
        let mark = heap.mark(&to);
        let (other, list) = interleaved(&mut heap, &mut region, cells)?;
        let statistics = heap.statistics();
        let counted = allocation_counter::measure(|| heap.splice(region, &mut to).expect("there is no limit"));
        let after = heap.statistics();
        assert_eq!((counted.count_total, after.splices, after.cells_copied), (0, 1, 0));
        assert_eq!((after.bytes_live, after.cells_left - statistics.cells_left), (statistics.bytes_live, 63));
        heap.close(other);
        let written = overwrite(&mut heap)?;
        assert_eq!(values(&heap, list).len() as u32, cells / 2);
        assert_eq!(heap.dangling(&[&to], &[list, before]), None);
        heap.rewind(&mut to, mark);
        assert_eq!(heap.dangling(&[&to], &[list]), Some(list));
        assert_eq!((heap.children(before), heap.bytes_of(&to)), (&[small(7)][..], 512));
        heap.close(written);
        heap.close(to);
        assert_eq!(heap.bytes_live(), 0);
    }
    Ok(())
}

/// D2: a region that was joined keeps nothing: closing the other one gives everything back, and a small region, too.
#[test]
fn splice_leaves_nothing_behind() -> Any {
    for cells in [2, 1_000] {
        let mut heap = Heap::new();
        let (mut region, mut to) = (heap.open(), heap.open());
        let (other, list) = interleaved(&mut heap, &mut region, cells)?;
        let variable = heap.variable(&mut region, 3)?;
        heap.bind(variable, list);
        let number = heap.number(&mut region, 0, 5)?;
        heap.splice(region, &mut to)?;
        heap.close(other);
        let written = overwrite(&mut heap)?;
        assert_eq!(heap.dangling(&[&to], &[variable, number]), None);
        assert_eq!((heap.walk(variable), heap.number_bits(number)), (list, 5));
        heap.close(written);
        heap.close(to);
        assert_eq!(heap.bytes_live(), 0);
    }
    Ok(())
}

/// D7: a region that was closed twice was in the pool twice, and two owners got the same one.
#[test]
fn double_exit_is_an_error() -> Handled {
    let mut regions = RegionTable::new(Heap::new());
    let (one, kept) = (regions.open()?, regions.open()?);
    assert_eq!((regions.close(one), regions.close(one)), (Ok(ReleaseOutcome::Freed), Err(HandleError::Freed)));
    regions.retain(kept)?;
    assert_eq!((regions.close(kept), regions.close(kept)), (Ok(ReleaseOutcome::Kept), Err(HandleError::Closed)));
    let (two, three) = (regions.open()?, regions.open()?);
    assert!(two != three && two != one && regions.region(one).is_err());
    assert_eq!(regions.parts(kept).map(|_| ()), Err(HandleError::Closed));
    assert!(regions.region(kept).is_ok());
    assert_eq!((regions.release(kept), regions.count()), (Ok(ReleaseOutcome::Freed), 2));
    Ok(())
}

/// D16: a release too many made a count negative, and the region was never freed.
#[test]
fn release_needs_retain() -> Handled {
    let mut regions = RegionTable::new(Heap::new());
    let (one, other) = (regions.open()?, regions.open()?);
    assert_eq!(regions.release(one), Err(HandleError::NotRetained));
    assert_eq!(regions.untether(one), Err(HandleError::NotTethered));
    regions.refer(other, one)?;
    assert_eq!(regions.release(one), Err(HandleError::NotRetained), "the other region's is not the owner's to release");
    regions.retain(one)?;
    assert_eq!((regions.release(one), regions.close(one)), (Ok(ReleaseOutcome::Kept), Ok(ReleaseOutcome::Kept)));
    assert_eq!((regions.close(other), regions.count()), (Ok(ReleaseOutcome::Freed), 0));
    assert_eq!(regions.release(one), Err(HandleError::Freed));
    Ok(())
}

/// D14: the chunk of a tethered region was moved away under its readers.
#[test]
fn splice_refused_while_tethered() -> Handled {
    let mut regions = RegionTable::new(Heap::new());
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
    assert_eq!((report.path, report.cells), (EscapePath::Copied, 1_000));
    assert_eq!((regions.check(to, roots[0]), regions.check(to, made)), (Ok(()), Err(HandleError::Foreign(made))));
    assert_eq!(values(regions.heap(), roots[0]), values(regions.heap(), made));
    assert_eq!(
        (regions.untether(region), regions.release(region)),
        (Ok(ReleaseOutcome::Kept), Ok(ReleaseOutcome::Freed))
    );
    assert_eq!((regions.splice(to, to), regions.close(to)), (Err(HandleError::Same), Ok(ReleaseOutcome::Freed)));
    Ok(())
}

/// D19: nothing kept a reference to a temporary out of a region that lived longer.
#[test]
fn foreign_reference_is_refused() -> Handled {
    let mut regions = RegionTable::new(Heap::new());
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
    assert_eq!((regions.close(short), regions.close(inner)), (Ok(ReleaseOutcome::Kept), Ok(ReleaseOutcome::Freed)));
    assert_eq!(regions.heap().children(regions.heap().walk(variable)), [small(1)]);
    assert_eq!((regions.close(long), regions.count()), (Ok(ReleaseOutcome::Freed), 0));
    Ok(())
}

/// D18: the memory of a thread's regions was lost when the thread ended. Here it goes with its heap, which may be on another
/// thread than the one that filled it.
#[test]
fn threads_return_their_memory() {
    let counted = allocation_counter::measure(|| {
        let mut heap = Heap::new();
        let mut region = heap.open();
        heap.reserve(&mut region, 10_000).map(|_| ()).expect("there is no limit");
        let moved = std::thread::scope(|scope| scope.spawn(move || (heap, region)).join()).expect("it only moves");
        drop(moved);
    });
    assert!(counted.bytes_current < 4_096, "{}", counted.bytes_current);
}
