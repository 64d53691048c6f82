//! Sizes that others count on.

use region::{Full, Heap, Mark, Ref, Region, tag};

#[test]
fn values_are_as_small_as_they_can_be() {
    assert_eq!(size_of::<Ref>(), 4);
    // Three lanes of cursor, end and first chunk; 36 bytes in whole words.
    assert_eq!(size_of::<Region>(), 48);
    // Three lanes of cursor and end.
    assert_eq!(size_of::<Mark>(), 24);
    // Both fit a register.
    assert_eq!((size_of::<Full>(), size_of::<Result<Ref, Full>>()), (8, 8));
}

#[test]
fn a_heap_can_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Heap>();
    is_send::<Region>();
}

#[test]
fn the_mark_of_a_reference_is_one_bit() {
    let plain = Ref::new(tag::EXPRESSION, Ref::PAYLOAD_MAX);
    assert_eq!((plain.marked().tag(), plain.marked().payload()), (tag::MARKED, Ref::PAYLOAD_MAX));
    assert_eq!((plain.marked().unmarked(), plain.unmarked(), plain.marked().marked()), (plain, plain, plain.marked()));
    assert!(plain.is_expression() && plain.marked().is_expression());
    for tag in 0..8 {
        let reference = Ref::new(tag, 5);
        assert_eq!(Ref::from_bits(reference.bits()), reference);
        assert_eq!((reference.is_immediate(), reference.is_expression()), (tag < 4, tag > 5));
        assert!(tag == 7 || reference.unmarked() == reference);
    }
}

/// Address space is all that a heap without cells takes, and there is room for many: for fewer where a sanitizer has most of it.
#[test]
fn hundreds_of_heaps_live_at_once() -> Result<(), Full> {
    let mut heaps: Vec<(Heap, Region)> = Vec::new();
    for at in 0..200 {
        let mut heap = Heap::try_new()?;
        let mut region = heap.open();
        let made = heap.expression(&mut region, &[Ref::new(tag::IMMEDIATE_0, at)])?;
        assert_eq!(made.payload(), 0);
        heaps.push((heap, region));
    }
    for ((heap, _), at) in heaps.iter().zip(0..) {
        assert_eq!(heap.child(Ref::new(tag::EXPRESSION, 0), 0).payload(), at);
        assert_eq!((heap.statistics().bytes_held, heap.statistics().chunks), (512, 1));
    }
    for (mut heap, region) in heaps {
        heap.close(region);
    }
    Ok(())
}
