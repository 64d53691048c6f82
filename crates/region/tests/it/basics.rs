//! What each operation does, by example.

use region::{Bound, Full, Heap, Limit, Mark, Ref, tag};

pub(crate) fn small(value: u32) -> Ref {
    Ref::new(tag::IMMEDIATE_0, value)
}

#[test]
fn what_is_made_is_read_back() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let x = heap.variable(&mut region, u32::MAX)?;
    let n = heap.number(&mut region, 1, u64::MAX - 5)?;
    let e = heap.expression(&mut region, &[small(1), x, n])?;
    let empty = heap.expression(&mut region, &[])?;
    assert_eq!(heap.children(e), [small(1), x, n]);
    assert_eq!((heap.length(e), heap.length(empty), heap.child(e, 2)), (3, 0, n));
    assert_eq!((heap.number_bits(n), n.payload() & 1), (u64::MAX - 5, 1));
    assert_eq!((heap.label(x), heap.binding(x), heap.walk(x)), (u32::MAX, None, x));
    heap.bind(x, e.marked());
    assert_eq!((heap.label(x), heap.binding(x), heap.walk(x)), (u32::MAX, Some(e.marked()), e.marked()));
    heap.unbind(x);
    assert_eq!(heap.binding(x), None);
    heap.set_note(e, 7);
    assert_eq!((heap.note(e), heap.length(e), heap.note(empty)), (7, 3, 0));
    heap.clear_notes();
    assert_eq!((heap.note(e), heap.length(e)), (0, 3));
    heap.close(region);
    assert_eq!(heap.statistics().bytes_live, 0);
    Ok(())
}

#[test]
fn every_length_is_kept_and_copied() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let mut to = heap.open();
    let lengths = [0, 1, 2, 62, 63, 64, 65, 125, 126, 127, 128, 129, 1000, 8189, 8190, 8191, 8192, 100_000];
    let mut made = Vec::new();
    for &length in lengths.iter().chain(lengths.iter().rev()) {
        let children: Vec<Ref> = (0..length as u32).map(small).collect();
        let e = heap.expression(&mut region, &children)?;
        heap.set_note(e, 3);
        made.push((e, children));
    }
    let all: Vec<Ref> = made.iter().map(|made| made.0).collect();
    let root = heap.expression(&mut region, &all)?;
    let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |f| f)?;
    let root = copying.root(root)?;
    copying.scan()?;
    let copies = heap.children(root).to_vec();
    for ((e, children), copy) in made.iter().zip(copies) {
        assert_eq!((heap.children(*e), heap.note(*e)), (&children[..], 3));
        assert_ne!(*e, copy);
        assert_eq!((heap.children(copy), heap.note(copy)), (&children[..], 3));
    }
    heap.clear_notes();
    assert!(made.iter().all(|(e, children)| heap.note(*e) == 0 && heap.children(*e) == children));
    heap.close(region);
    heap.close(to);
    Ok(())
}

#[test]
fn a_rewound_region_reuses_its_chunks_in_order() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let start = heap.mark(&region);
    let mut first = Vec::new();
    for round in 0..3 {
        for at in 0..1000 {
            let e = heap.expression(&mut region, &[small(at), small(round), small(0)])?;
            if round == 0 { first.push(e) } else { assert_eq!(e, first[at as usize]) }
        }
        heap.rewind(&mut region, start);
    }
    assert_eq!(heap.statistics().cells_handed_out, 6000);
    assert_eq!(heap.statistics().chunks, 32);
    heap.close(region);
    Ok(())
}

#[test]
fn a_cycle_through_a_variable_is_copied() -> Result<(), Full> {
    for bound in [Bound::Kept, Bound::Replaced] {
        let mut heap = Heap::new();
        let mut region = heap.open();
        let x = heap.variable(&mut region, 9)?;
        let y = heap.variable(&mut region, 8)?;
        let e = heap.expression(&mut region, &[small(1), x, y])?;
        heap.bind(x, e);
        let mut to = heap.open();
        let mut copying = heap.copy(&region, Mark::START, bound, &mut to, |f| f)?;
        let copy = copying.root(e)?;
        copying.scan()?;
        let (x2, y2) = (copying.moved(x).expect("reached"), copying.moved(y).expect("reached"));
        assert_eq!(heap.children(copy), [small(1), x2, y2]);
        assert_eq!((heap.walk(x2), heap.binding(y2), heap.label(y2)), (copy, None, 8));
        assert_eq!(x2 == copy, bound == Bound::Replaced);
        heap.close(region);
        heap.close(to);
    }
    Ok(())
}

#[test]
fn what_precedes_a_mark_is_shared() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let old = heap.expression(&mut region, &[small(1)])?;
    let mark = heap.mark(&region);
    let young = heap.expression(&mut region, &[old, small(2)])?;
    assert!(heap.precedes(old, &region, mark) && !heap.precedes(young, &region, mark));
    let mut to = heap.open();
    let mut copying = heap.copy(&region, mark, Bound::Replaced, &mut to, |f| f)?;
    let copy = copying.root(young)?;
    copying.scan()?;
    heap.rewind(&mut region, mark);
    assert_eq!(heap.children(copy), [old, small(2)]);
    assert_eq!(heap.statistics().cells_copied, 2);
    heap.close(region);
    heap.close(to);
    Ok(())
}

#[test]
fn the_limit_is_exact_to_a_chunk() {
    for chunks in 0..40 {
        let mut heap = Heap::with_limit(chunks * 512 + 511);
        let mut region = heap.open();
        let mut cells = 0;
        let full = loop {
            match heap.expression(&mut region, &[small(0)]) {
                Ok(_) => cells += 1,
                Err(full) => break full,
            }
        };
        assert_eq!((full.limit(), full.bytes(), cells), (Limit::Bytes, chunks as u64 * 512, chunks * 64));
        heap.close(region);
    }
}
