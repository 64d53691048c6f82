//! What a maker makes is what a heap makes one by one: the same references to the same cells, the same counts, the same refusals.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::collection::vec;
use proptest::prelude::*;
use region::{Full, Heap, Limit, Maker, Ref, Region, tag};

use crate::basics::small;

/// Something to make.
#[derive(Clone, Debug)]
enum Thing {
    Expression(usize),
    /// The same with a length that is known when the program is compiled.
    Triple,
    Variable,
    Number,
}

/// What is done with the regions of a heap.
#[derive(Clone, Debug)]
enum Step {
    Make(usize, Vec<Thing>),
    Close(usize),
    Limit(Option<usize>),
    Quota(usize, Option<usize>),
}

fn thing() -> impl Strategy<Value = Thing> {
    let length = prop_oneof![8 => 0..9_usize, 2 => 9..140_usize, 2 => 140..700_usize, 1 => Just(9_000)];
    prop_oneof![
        4 => length.prop_map(Thing::Expression),
        4 => Just(Thing::Triple),
        2 => Just(Thing::Variable),
        2 => Just(Thing::Number),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = || prop_oneof![2 => Just(None), 1 => (0..60_usize).prop_map(|chunks| Some(chunks * 512))];
    prop_oneof![
        8 => (0..REGIONS, vec(thing(), 0..150)).prop_map(|(region, things)| Step::Make(region, things)),
        3 => (0..REGIONS).prop_map(Step::Close),
        1 => bytes().prop_map(Step::Limit),
        1 => (0..REGIONS, bytes()).prop_map(|(region, bytes)| Step::Quota(region, bytes)),
    ]
}

const REGIONS: usize = 4;

/// Things as the heap makes them one by one.
fn one_by_one(heap: &mut Heap, region: &mut Region, things: &[Thing]) -> Result<Vec<Ref>, Full> {
    let mut made = vec![small(1)];
    for thing in things {
        let last = made[made.len() - 1];
        made.push(match thing {
            Thing::Expression(length) => heap.expression(region, &vec![last; *length])?,
            Thing::Triple => heap.expression(region, &[small(2), last, small(3)])?,
            Thing::Variable => heap.variable(region, 5)?,
            Thing::Number => heap.number(region, 1, 1 << 40)?,
        });
    }
    Ok(made)
}

/// The same things as a maker makes them.
fn by_maker(maker: &mut Maker<'_>, things: &[Thing]) -> Vec<Ref> {
    let mut made = vec![small(1)];
    for thing in things {
        let last = made[made.len() - 1];
        made.push(match thing {
            Thing::Expression(length) => maker.expression_of(&vec![last; *length]),
            Thing::Triple => maker.expression([small(2), last, small(3)]),
            Thing::Variable => maker.variable(5),
            Thing::Number => maker.number(1, 1 << 40),
        });
    }
    made
}

/// A heap with regions of its own.
struct Side {
    heap: Heap,
    regions: Vec<Region>,
}

impl Side {
    fn new() -> Side {
        let mut heap = Heap::new();
        let regions = (0..REGIONS).map(|_| heap.open()).collect();
        Side { heap, regions }
    }

    /// Does a step; what is made, is made in this way.
    fn step(
        &mut self,
        step: &Step,
        make: impl FnOnce(&mut Heap, &mut Region, &[Thing]) -> Result<Vec<Ref>, Full>,
    ) -> Result<Vec<Ref>, Full> {
        let Side { heap, regions } = self;
        match step {
            Step::Make(at, things) => return make(heap, &mut regions[*at], things),
            Step::Close(at) => heap.close(std::mem::replace(&mut regions[*at], Heap::new().open())),
            Step::Limit(bytes) => heap.set_limit(*bytes),
            Step::Quota(at, bytes) => regions[*at].set_limit(*bytes),
        }
        Ok(Vec::new())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_maker_makes_what_the_heap_makes(steps in vec(step(), 1..40)) {
        let (mut one, mut other) = (Side::new(), Side::new());
        for step in &steps {
            let single = one.step(step, |heap, region, things| {
                let before = heap.mark(region);
                one_by_one(heap, region, things).inspect_err(|_| heap.rewind(region, before))
            });
            let whole = other.step(step, |heap, region, things| heap.make(region, |maker| by_maker(maker, things)));
            prop_assert_eq!(&single, &whole);
            prop_assert_eq!(one.heap.statistics(), other.heap.statistics());
            for (left, right) in one.regions.iter().zip(&other.regions) {
                prop_assert_eq!(one.heap.mark(left), other.heap.mark(right));
                prop_assert_eq!(one.heap.bytes_of(left), other.heap.bytes_of(right));
            }
            for reference in single.unwrap_or_default() {
                match reference.tag() {
                    tag::EXPRESSION => prop_assert_eq!(one.heap.children(reference), other.heap.children(reference)),
                    tag::VARIABLE => prop_assert_eq!(other.heap.label(reference), 5),
                    tag::NUMBER => prop_assert_eq!(other.heap.number_bits(reference), 1 << 40),
                    _ => {}
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// The peak is noted when chunks are freed; here it is looked at after everything that is made.
    #[test]
    fn the_peak_is_the_most_that_was_live(steps in vec((step(), 0..20_u32), 1..60)) {
        let mut side = Side::new();
        let mut peak = 0;
        for (step, reset) in &steps {
            if *reset == 0 {
                side.heap.reset();
                side.regions = (0..REGIONS).map(|_| side.heap.open()).collect();
                peak = 0;
            }
            // What is refused takes nothing, but for a number at the end of what numbers can address.
            _ = side.step(step, |heap, region, things| {
                for thing in things {
                    let made = one_by_one(heap, region, std::slice::from_ref(thing));
                    peak = peak.max(heap.statistics().bytes_live);
                    made?;
                }
                Ok(Vec::new())
            });
            prop_assert_eq!(side.heap.statistics().bytes_live_peak, peak);
        }
    }
}

/// In a heap that was used and given back the windows are many chunks.
#[test]
fn warm_memory_is_taken_in_its_order() -> Result<(), Full> {
    let (mut one, mut other) = (Heap::new(), Heap::new());
    for count in [10_000, 9_000, 10_500] {
        let (mut left, mut right) = (one.open(), other.open());
        let single = one_by_one(&mut one, &mut left, &vec![Thing::Triple; count])?;
        let whole = other.make(&mut right, |maker| by_maker(maker, &vec![Thing::Triple; count]))?;
        assert_eq!(single, whole);
        assert_eq!(one.statistics(), other.statistics());
        one.close(left);
        other.close(right);
        assert_eq!(one.statistics(), other.statistics());
    }
    Ok(())
}

/// Nothing is made if something is refused, however small what is asked for afterwards.
#[test]
fn a_refusal_takes_everything_back() -> Result<(), Full> {
    let mut heap = Heap::with_limit(2 * 512);
    let mut region = heap.open();
    let kept = heap.expression(&mut region, &[small(1)])?;
    let mark = heap.mark(&region);
    let refused = heap.make(&mut region, |maker| {
        maker.expression([small(1); 3]);
        let refused = maker.expression_of(&[small(2); 300]);
        (refused, maker.expression([refused]), maker.variable(0), maker.number(0, 1))
    });
    assert_eq!(refused.map_err(|full| (full.limit(), full.bytes())), Err((Limit::Bytes, 1_024)));
    assert_eq!((heap.mark(&region), heap.children(kept)), (mark, &[small(1)][..]));
    assert_eq!(heap.statistics().limit_failures, 1);
    heap.close(region);
    assert_eq!(heap.bytes_live(), 0);
    Ok(())
}

/// The heap has its words back whatever happens.
#[test]
fn a_panic_leaves_a_heap_that_can_be_used() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let kept = heap.expression(&mut region, &[small(1)])?;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        heap.make(&mut region, |maker| {
            for _ in 0..100 {
                maker.expression([small(1); 3]);
            }
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!((heap.children(kept), heap.bytes_of(&region)), (&[small(1)][..], 4 * 512));
    heap.close(region);
    Ok(())
}
