//! What each operation does, by example.

use region::{Bound, Full, Heap, Limit, Mark, Ref, Stamp, tag};

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

#[test]
fn stamps_are_copied_with_a_note_into_any_place() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let mut made = Vec::new();
    // Enough of each to begin at every place of a chunk, and to meet its end.
    for length in [0, 1, 2, 3, 4, 5, 7, 62, 125, 126, 127, 500] {
        let children: Vec<Ref> = (0..length).map(small).collect();
        let stamp = Stamp::new(&children).expect("it is short");
        assert_eq!((stamp.children(), stamp.length()), (&children[..], children.len()));
        for note in 0..130 {
            made.push((heap.stamp(&mut region, &stamp, note)?, children.clone(), note));
        }
    }
    for (expression, children, note) in &made {
        assert_eq!((heap.children(*expression), heap.note(*expression)), (&children[..], *note));
        if let Some(&first) = children.first() {
            assert_eq!(heap.shape(*expression), (children.len(), first));
            assert_eq!(heap.children_from(*expression, 1, children.len() - 1), &children[1..]);
        }
    }
    heap.set_child(made[300].0, 1, small(77));
    assert_eq!(heap.child(made[300].0, 1), small(77));
    assert_eq!(heap.children(made[301].0), &made[301].1, "a stamp is not what was made from it");
    heap.close(region);
    Ok(())
}

#[test]
fn a_stamp_has_no_prefix() {
    assert_eq!(Stamp::new(&vec![small(1); 8190]).map(|stamp| stamp.length()), Some(8190));
    assert!(Stamp::new(&vec![small(1); 8191]).is_none());
}

#[test]
fn a_stamp_that_finds_no_room_is_refused_and_leaves_nothing() -> Result<(), Full> {
    let mut heap = Heap::with_limit(1024);
    let mut region = heap.open();
    let stamp = Stamp::new(&[small(1), small(2), small(3)]).expect("it is short");
    for _ in 0..64 {
        heap.stamp(&mut region, &stamp, 1)?;
    }
    let mark = heap.mark(&region);
    let full = heap.stamp(&mut region, &stamp, 1).expect_err("1,024 bytes hold 64 of 16");
    assert_eq!((full.limit(), heap.mark(&region)), (Limit::Bytes, mark));
    heap.close(region);
    Ok(())
}

#[test]
fn variables_are_relabelled_one_region_at_a_time() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut one, mut other) = (heap.open(), heap.open());
    let mut variables = Vec::new();
    for label in 0..200 {
        variables.push((heap.variable(&mut one, label)?, heap.variable(&mut other, label)?));
    }
    let mut met = Vec::new();
    heap.relabel(&one, |label| {
        met.push(label);
        label + 1000
    });
    assert_eq!(met, (0..200).collect::<Vec<u32>>());
    for (label, (changed, same)) in (0..).zip(variables) {
        assert_eq!((heap.label(changed), heap.label(same)), (label + 1000, label));
        assert_eq!(heap.binding(changed), None);
    }
    heap.close(one);
    heap.close(other);
    Ok(())
}

/// What was bound since a mark is copied behind what was made before: going back to the mark of the copy gives it back.
#[test]
fn a_copy_takes_bindings_in_the_order_that_its_owner_wants() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut old = heap.open();
    let x = heap.variable(&mut old, 5)?;
    let outer = heap.expression(&mut old, &[x])?;
    let inner = heap.expression(&mut old, &[small(1), small(2)])?;
    heap.bind(x, inner);
    let mut fresh = heap.open();
    let mut copying = heap.copy(&old, Mark::START, Bound::Kept, &mut fresh, |foreign| foreign)?;
    assert_eq!(copying.unbind(x), Some(inner));
    assert_eq!(copying.unbind(x), None);
    let outer_copy = copying.root(outer)?;
    copying.scan()?;
    let mark = copying.mark();
    copying.bind(x, inner)?;
    copying.scan()?;
    let x_copy = copying.moved(x).expect("the expression refers to it");
    heap.close(old);
    let inner_copy = heap.binding(x_copy).expect("it is bound again");
    assert_eq!(heap.children(inner_copy), [small(1), small(2)]);
    assert!(heap.precedes(outer_copy, &fresh, mark) && heap.precedes(x_copy, &fresh, mark));
    assert!(!heap.precedes(inner_copy, &fresh, mark));
    heap.unbind(x_copy);
    heap.rewind(&mut fresh, mark);
    assert_eq!(heap.children(outer_copy), [x_copy]);
    heap.close(fresh);
    Ok(())
}

/// What the owner writes into the room of a region is an expression like others.
#[test]
fn what_is_written_into_the_room_was_made() -> Result<(), Full> {
    let (mut heap, mut other) = (Heap::new(), Heap::new());
    let (mut region, mut like) = (heap.open(), other.open());
    assert!(heap.rooms(&region).iter().all(|room| room.is_empty()) && !heap.fill(&mut region, [1, 0, 0]));
    let first = heap.expression(&mut region, &[small(1)])?;
    let copy = other.expression(&mut like, &[small(1)])?;
    assert_eq!((first, &heap.rooms(&region)[0]), (copy, &(1..64)));
    let mark = heap.mark(&region);
    let pair = other.expression(&mut like, &[small(2), first])?;
    let at = heap.rooms(&region)[0].start as usize * 2;
    let words = other.words()[at..at + 4].to_vec();
    heap.words_mut()[at..at + 4].copy_from_slice(&words);
    assert!(!heap.fill(&mut region, [64, 0, 0]) && heap.fill(&mut region, [2, 0, 0]));
    assert_eq!((heap.children(pair), &heap.rooms(&region)[0]), ([small(2), first].as_slice(), &(3..64)));
    assert!(!heap.precedes(pair, &region, mark) && heap.holds(&region, pair));
    let mark = Mark::from_bits(mark.bits());
    heap.rewind(&mut region, mark);
    assert_eq!(heap.rooms(&region)[0].start, 1);
    heap.close(region);
    assert_eq!(heap.statistics().cells_handed_out, 3);
    Ok(())
}

/// A region that was prepared has a chunk of each kind, and gives back those that nothing was written in.
#[test]
fn a_prepared_region_gives_back_what_it_does_not_use() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut other = heap.open();
    heap.expression(&mut other, &[small(1)])?;
    let before = (heap.bytes_live(), heap.statistics().cells_handed_out);
    for used in 0..8_u32 {
        let mut region = heap.open();
        assert!(region.prepare(&mut heap));
        let rooms = heap.rooms(&region);
        assert!(rooms.iter().all(|room| room.start % 64 == 0 && room.len() >= 64), "{rooms:?}");
        assert_eq!(heap.bytes_live(), before.0 + 3 * 512);
        let cells = [used & 1, used >> 1 & 1, used >> 2];
        let words = heap.words_mut();
        rooms
            .iter()
            .for_each(|room| words[room.start as usize * 2..room.start as usize * 2 + 2].fill(Ref::from_bits(0)));
        assert!(heap.fill(&mut region, cells));
        region.give_back_unused(&mut heap);
        assert_eq!(heap.bytes_live(), before.0 + 512 * used.count_ones() as usize);
        heap.close(region);
        assert_eq!(heap.bytes_live(), before.0);
    }
    heap.set_limit(Some(3 * 512));
    let mut region = heap.open();
    assert!(!region.prepare(&mut heap) && heap.bytes_live() == before.0);
    heap.close(region);
    heap.close(other);
    Ok(())
}

/// A chunk that was given back is no part of its region, even if the region has as many chunks again, and others.
#[test]
fn what_was_given_back_dangles_for_ever() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut beside) = (heap.open(), heap.open());
    let kept = heap.reserve(&mut region, 127)?;
    let mark = heap.mark(&region);
    let gone = heap.reserve(&mut region, 127)?;
    heap.reserve(&mut beside, 127)?;
    heap.reserve(&mut region, 127)?;
    heap.rewind(&mut region, mark);
    let long = heap.reserve(&mut region, 255)?;
    assert_eq!(heap.dangling(&[&region], &[kept, long]), None);
    assert_eq!(heap.dangling(&[&region], &[gone]), Some(gone));
    heap.close(region);
    heap.close(beside);
    Ok(())
}
