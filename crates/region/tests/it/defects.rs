//! One test for each known defect of an earlier region memory, as far as regions and copies go.
//!
//! That memory began each region in a buffer of its own; what lay there was forgotten when a region was copied, moved or
//! freed. It also found copied objects by a search along all of them, and copied only some kinds.

use region::{Bound, Full, Heap, Mark, Ref, Region, tag};

use crate::basics::small;

/// Copies what a root leads to into a fresh region and closes the old one.
pub(crate) fn escape(heap: &mut Heap, from: Region, root: Ref) -> Result<(Region, Ref), Full> {
    let mut to = heap.open();
    let mut copying = heap.copy(&from, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
    let root = copying.root(root)?;
    copying.scan()?;
    heap.close(from);
    assert_eq!(heap.stray(&[&to], &[root]), None, "nothing of the copy lies in the closed region");
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

/// A graph that lay in the first bytes of its region stayed there.
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
    Ok(())
}

/// What was shared in the first bytes of a region was copied twice.
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

/// Arrays and dictionaries were copied without their content.
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

/// A shared graph took time in the square of its size, or in the number of its paths. Cells are counted, not time.
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

/// A ring was copied to a line that led back into the source. Here once through a child that was replaced, and once through a
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

/// The numbers of regions repeated after 65,536 of them. Ours have none: what lies in which region is known by chunks.
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

/// Nothing told that a region was freed while another one referred to it.
#[test]
fn foreign_reference_is_found() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut short, mut long) = (heap.open(), heap.open());
    let temporary = heap.expression(&mut short, &[small(1)])?;
    let variable = heap.variable(&mut long, 0)?;
    let holder = heap.expression(&mut long, &[small(2), variable])?;
    heap.bind(variable, temporary.marked());
    assert_eq!(heap.stray(&[&long, &short], &[holder]), None);
    assert_eq!(heap.stray(&[&long], &[holder]), Some(temporary.marked()));
    heap.number(&mut long, 0, 4)?;
    let mark = heap.mark(&long);
    let later = heap.number(&mut long, 0, 5)?;
    assert_eq!(heap.stray(&[&long], &[later]), None);
    heap.rewind(&mut long, mark);
    assert_eq!(heap.stray(&[&long], &[later]), Some(later));
    assert_eq!(
        heap.stray(&[&long], &[Ref::new(tag::EXPRESSION, Ref::PAYLOAD_MAX)]).map(Ref::payload),
        Some(Ref::PAYLOAD_MAX)
    );
    heap.close(short);
    assert_eq!(heap.stray(&[&long], &[holder]), Some(temporary.marked()));
    heap.close(long);
    Ok(())
}
