//! Arenas: values of any type, against a model that keeps them in a `Vec`.

use std::alloc::Layout;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use proptest::collection::vec;
use proptest::prelude::*;
use region::{Arena, ArenaFull, ArenaScope, NotHere};

/// Bytes of the footer of a chunk.
const FOOTER: usize = 48;

#[test]
fn values_of_all_kinds_are_kept() {
    #[repr(align(128))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Wide(u8);
    let arena = Arena::new();
    let one = arena.alloc(7_u8);
    let wide = arena.alloc(Wide(3));
    let pair = arena.alloc((1_u64, "two"));
    let text = arena.alloc_str("a text with \0 in it");
    let slice = arena.alloc_slice_copy(&[1_u16, 2, 3]);
    let squares = arena.alloc_slice_fill_with(1_000, |at| at * at);
    let large = arena.alloc([5_u8; 100_000]);
    let list = arena.alloc_with(|| arena.alloc_slice_copy(&[4_u32; 9]).len());
    let nothing = arena.alloc(());
    let nothings = arena.alloc_slice_fill_with(1_000, |_| ()).len();
    let empty: &mut [u64] = arena.alloc_slice_copy(&[]);
    let kept = arena.alloc(ManuallyDrop::new(vec![0_u64; 0]));
    assert_eq!((*one, &*wide, *pair, &*text), (7, &Wide(3), (1, "two"), "a text with \0 in it"));
    assert_eq!((&*slice, *list, *nothing, nothings, empty.len()), (&[1, 2, 3][..], 9, (), 1_000, 0));
    assert!(squares.iter().enumerate().all(|(at, square)| *square == at * at));
    assert!(large.iter().all(|byte| *byte == 5));
    assert_eq!(kept.len(), 0);
    assert_eq!((std::ptr::from_ref(wide).addr() % 128, size_of::<Arena>()), (0, 24));
}

#[test]
fn every_alignment_up_to_a_chunk_and_beyond() {
    let mut arena = Arena::new();
    for _ in 0..3 {
        for shift in 0..=18 {
            for size in [1, 3, 8, 100, 5_000] {
                let layout = Layout::from_size_align(size, 1 << shift).expect("it is small");
                let place = arena.try_alloc_layout(layout).expect("there is no limit");
                assert_eq!(place.addr().get() % (1 << shift), 0, "{layout:?}");
            }
        }
        arena.reset();
    }
}

/// A chunk that was kept is used again for what just fits into it, wherever it lies among the others.
#[test]
fn a_kept_chunk_is_filled_to_its_last_byte() {
    let mut arena = Arena::new();
    for size in [400, 900, 1_900] {
        arena.alloc_slice_fill_with(size, |_| 1_u8);
    }
    let before = arena.statistics();
    assert_eq!((before.chunks, before.bytes_held), (3, 512 + 1_024 + 2_048));
    arena.reset();
    arena.alloc(1_u8);
    arena.alloc_slice_fill_with(2_048 - 48, |_| 1_u8);
    assert_eq!((arena.statistics().chunks, arena.statistics().bytes_held), (3, before.bytes_held));
}

/// Users of another arena asked for this: a reset kept only the largest chunk.
#[test]
fn a_reset_keeps_all_chunks() {
    let mut arena = Arena::new();
    let fill = |arena: &Arena, from: usize| {
        for at in 0..20_000 {
            arena.alloc_slice_copy(&[1_u8; 500][..(from + at * 31) % 500]);
        }
        arena.alloc([0_u8; 70_000]);
        arena.statistics()
    };
    let first = fill(&arena, 0);
    arena.reset();
    assert_eq!((arena.statistics().chunks, arena.statistics().bytes_used), (first.chunks, 0));
    assert_eq!(arena.statistics().bytes_free, first.bytes_held - first.chunks * FOOTER);
    let counted = allocation_counter::measure(|| assert_eq!(fill(&arena, 0), first));
    assert_eq!(counted.count_total, 0);
    // In another order: what is kept is used wherever it fits, and there comes to be enough.
    let mut chunks = vec![];
    for round in 0..20 {
        arena.reset();
        arena.alloc([0_u8; 30_000]);
        chunks.push(fill(&arena, round).chunks);
    }
    assert_eq!(chunks[5..], [chunks[5]; 15]);
    arena.reset();
    arena.trim();
    assert_eq!(arena.statistics(), Arena::new().statistics());
}

#[test]
fn an_arena_is_rewound_to_its_own_marks_only() {
    let mut arena = Arena::new();
    let start = arena.mark();
    arena.alloc(1_u64);
    let mark = arena.mark();
    let before = arena.statistics();
    for _ in 0..10 {
        arena.alloc_slice_copy(&[0_u8; 1_000]);
    }
    let later = arena.mark();
    assert_eq!(arena.rewind(mark), Ok(()));
    assert_eq!(arena.statistics().bytes_used, before.bytes_used);
    assert_eq!(arena.rewind(later), Err(NotHere));
    assert_eq!((arena.rewind(mark), arena.mark()), (Ok(()), mark));
    let mut other = Arena::new();
    other.alloc(1_u8);
    assert_eq!(other.rewind(mark), Err(NotHere));
    assert_eq!((arena.rewind(start), arena.rewind(mark)), (Ok(()), Err(NotHere)));
    assert_eq!(arena.statistics().bytes_used, 0);
}

#[test]
fn a_scope_that_panics_gives_back_what_it_made() {
    let mut arena = Arena::new();
    arena.scoped(|outer| {
        let kept = outer.alloc(5_u64);
        let mark = outer.mark();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            outer.scoped(|inner| {
                inner.alloc([1_u8; 10_000]);
                panic!("on purpose");
            })
        }));
        assert!(caught.is_err());
        assert_eq!((outer.mark(), *kept), (mark, 5));
    });
    assert_eq!(arena.statistics().bytes_used, 0);
}

#[test]
fn the_limit_is_exact() {
    for limit in (0..4_000).step_by(16).chain([65_536, 100_000, 100_016]) {
        let arena = Arena::with_limit(limit);
        let mut made = 0;
        let full = loop {
            match arena.try_alloc(1_u64) {
                Ok(_) => made += 1,
                Err(full) => break full,
            }
        };
        let statistics = arena.statistics();
        assert_eq!((statistics.bytes_used, statistics.bytes_wasted), (made * 8, 0));
        // All of it is used, but what is too little for a chunk.
        assert!(
            statistics.bytes_held <= limit && limit - statistics.bytes_held < FOOTER + 16,
            "{limit} {statistics:?}"
        );
        let expected = ArenaFull::Limit { limit, held: statistics.bytes_held, needed: FOOTER + 16 };
        assert_eq!((full, arena.statistics()), (expected, statistics));
    }
}

/// A small request made another arena ask for twice what it had: gigabytes.
#[test]
fn growth_does_not_overshoot() {
    let arena = Arena::new();
    let mut used = 0;
    for _ in 0..20_000 {
        arena.alloc([0_u8; 1_000]);
        used += 1_000;
        let held = arena.statistics().bytes_held;
        assert!(held <= used + used / 4 + 2 * 65_536, "{used} used and {held} held");
    }
    let arena = Arena::new();
    arena.alloc([0_u8; 1_000_000]);
    assert!(arena.statistics().bytes_held <= 1_000_000 + FOOTER + 16);
}

#[test]
fn sizes_without_sense_are_refused() {
    let mut arena = Arena::with_limit(1_000);
    assert_eq!(arena.try_alloc_slice_fill_with(usize::MAX, |_| 0_u64).map(drop), Err(ArenaFull::Size));
    assert_eq!(arena.try_alloc_slice_fill_with(usize::MAX / 8, |_| 0_u64).map(drop), Err(ArenaFull::Size));
    for (shift, difference) in [(29, -1), (29, 0), (29, 1), (32, 0), (62, 0), (63, -1), (63, -100_000)] {
        let size = (1_usize << shift).wrapping_add_signed(difference);
        for align in [1, 8, 64, 1 << 12] {
            let Ok(layout) = Layout::from_size_align(size, align) else { continue };
            let refused = arena.try_alloc_layout(layout);
            assert!(matches!(refused, Err(ArenaFull::Limit { held: 0, .. })), "{layout:?} {refused:?}");
        }
    }
    arena.set_limit(usize::MAX);
    // The system is asked, once: what counts allocations here counts what was refused, too, and must not overflow.
    let layout = Layout::from_size_align(1 << 61, 8).expect("it is a layout");
    assert!(matches!(arena.try_alloc_layout(layout), Err(ArenaFull::Memory { .. })));
    let layout = Layout::from_size_align(8, 1 << 61).expect("it is a layout");
    assert!(matches!(arena.try_alloc_layout(layout), Err(ArenaFull::Memory { .. })));
    assert_eq!(arena.statistics().bytes_held, 0);
    arena.set_limit(0);
    assert!(arena.try_alloc(1_u8).is_err() && arena.try_alloc(()).is_ok());
}

/// A limit that is lowered below what is held refuses growth; what is there stays, and is used again.
#[test]
fn a_limit_may_be_lowered() {
    let mut arena = Arena::new();
    for _ in 0..100 {
        arena.alloc([1_u8; 100]);
    }
    let held = arena.statistics().bytes_held;
    arena.reset();
    arena.set_limit(100);
    let mut made = 0;
    while arena.try_alloc([1_u8; 100]).is_ok() {
        made += 1;
    }
    assert!(made >= 100 && arena.statistics().bytes_held == held);
}

#[test]
fn the_panic_of_a_full_arena_says_what_to_do() {
    let arena = Arena::with_limit(100);
    let caught = catch_unwind(AssertUnwindSafe(|| arena.alloc([0_u8; 100]).len())).expect_err("it does not fit");
    let message = caught.downcast_ref::<String>().expect("a text");
    assert_eq!(
        message,
        "the arena is full: it holds 0 bytes and needs 160 more, its limit is 100; raise it, or reset the arena"
    );
}

/// Only so many bytes are kept by a thread, however many arenas it had; and all that it keeps is used again.
#[test]
fn a_thread_keeps_chunks_up_to_its_limit() {
    thread::spawn(|| {
        count_allocations();
        assert_eq!(Arena::pool_bytes(), 0);
        let fill = |count: usize| {
            let arenas: Vec<Arena> = (0..count).map(|_| Arena::new()).collect();
            arenas.iter().for_each(|arena| _ = arena.alloc(1));
        };
        fill(3_000);
        assert_eq!(Arena::pool_bytes(), 3_000 * 512);
        let counted = allocation_counter::measure(|| fill(3_000));
        assert_eq!(counted.count_total, 1, "the list of arenas");
        fill(20_000);
        let all = Arena::pool_bytes();
        assert_eq!(all, 4 << 20);
        Arena::set_pool_limit(100_000);
        assert!(Arena::pool_bytes() <= 100_000 && Arena::pool_bytes() > 90_000);
        fill(1_000);
        assert!(Arena::pool_bytes() <= 100_000);
        Arena::set_pool_limit(0);
        fill(10);
        assert_eq!(Arena::pool_bytes(), 0);
        Arena::set_pool_limit(1 << 20);
        let arena = Arena::new();
        arena.alloc_slice_fill_with(100_000, |at| at);
        drop(arena);
        assert!(Arena::pool_bytes() <= 1 << 20);
    })
    .join()
    .expect("no panic");
}

/// Of a list of chunks all are kept whose size is of a class, wherever they lie in it, as long as there is room for them; and
/// the next arena finds them.
#[test]
fn a_list_of_chunks_is_kept_and_taken_again() {
    thread::spawn(|| {
        count_allocations();
        let fill = |large: usize| {
            let arena = Arena::new();
            for size in [400, 900, large, 60_000] {
                arena.alloc_slice_fill_with(size, |_| 1_u8);
            }
            arena.statistics().bytes_held
        };
        let doubling = [512, 1_024, 2_048, 65_536].iter().sum::<usize>();
        assert_eq!((fill(1_900), Arena::pool_bytes()), (doubling, doubling));
        let counted = allocation_counter::measure(|| assert_eq!(fill(1_900), doubling));
        assert_eq!((counted.count_total, Arena::pool_bytes()), (0, doubling));
        // A chunk that is of no class, in the middle.
        let counted = allocation_counter::measure(|| assert_eq!(fill(70_000), doubling - 2_048 + 70_048));
        assert_eq!((counted.count_total, counted.count_current, Arena::pool_bytes()), (1, 0, doubling));
        // Room for the two least chunks alone.
        Arena::set_pool_limit(0);
        Arena::set_pool_limit((512 << 10) + 1_024);
        assert_eq!((fill(1_900), Arena::pool_bytes()), (doubling, 512 + 1_024));
    })
    .join()
    .expect("no panic");
}

/// Two chunks that a limit made small have as many bytes together as a common one, and are not taken for it.
#[test]
fn small_chunks_are_not_kept_as_a_common_one() {
    let kept = thread::spawn(|| {
        // A common chunk that is kept, so that the thread has begun to keep them.
        Arena::new().alloc(1_u8);
        let before = Arena::pool_bytes();
        let mut arena = Arena::with_limit(256);
        arena.alloc([1_u8; 200]);
        arena.set_limit(512);
        arena.alloc([2_u8; 200]);
        assert_eq!((arena.statistics().chunks, arena.statistics().bytes_held), (2, 512));
        arena.reset();
        drop(arena);
        (before, Arena::pool_bytes())
    });
    assert_eq!(kept.join().expect("no panic"), (512, 512));
}

/// D18: the pool of a thread was lost when it ended. Here threads keep a megabyte each, which together the process would not hide.
#[cfg(target_os = "linux")]
#[test]
fn threads_return_their_memory() {
    let kept = || {
        let arenas: Vec<Arena> = (0..2_000).map(|_| Arena::new()).collect();
        arenas.iter().for_each(|arena| _ = arena.alloc([1_u8; 400]));
        drop(arenas);
        Arena::pool_bytes()
    };
    let run = |threads: u32| {
        for _ in 0..threads {
            assert_eq!(thread::spawn(kept).join().expect("no panic"), 2_000 * 512);
        }
        let pages = std::fs::read_to_string("/proc/self/statm").expect("it is Linux");
        let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number");
        resident * 4096
    };
    let before = run(20);
    let after = run(200);
    assert!(after < before + (100 << 20), "{before} bytes became {after}");
}

/// Arenas that end after the pool of their thread are given back to the system.
#[test]
fn an_arena_may_outlive_the_pool_of_its_thread() {
    struct Last(Arena);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.alloc([2_u8; 3_000]);
            Arena::new().alloc(1_u8);
        }
    }
    thread_local! {
        static LAST: Last = const { Last(Arena::new()) };
    }
    for is_before in [true, false] {
        thread::spawn(move || {
            count_allocations();
            if is_before {
                LAST.with(|last| _ = last.0.alloc(1_u64));
            }
            (0..10).for_each(|_| _ = Arena::new().alloc([1_u8; 2_000]));
            LAST.with(|last| _ = last.0.alloc(7_u8));
        })
        .join()
        .expect("no panic");
    }
}

/// Has the counter of allocations begin before anything else of this thread, so that it ends after it.
fn count_allocations() {
    drop(std::hint::black_box(Box::new(1)));
}

/// An arena goes to another thread with all it holds, and its chunks stay there.
#[test]
fn an_arena_moves_to_another_thread() {
    let mut arena = Arena::new();
    arena.alloc_slice_copy(&[1_u8; 5_000]);
    let arena = thread::spawn(move || {
        arena.reset();
        arena.alloc_slice_copy(&[2_u8; 100_000]);
        arena
    });
    let arena = arena.join().expect("no panic");
    assert_eq!(arena.statistics().bytes_used, 100_000);
}

/// What is made in a scope.
#[derive(Clone, Debug)]
enum Step {
    Byte(u8),
    Wide(u128),
    Bytes(Vec<u8>),
    Numbers(usize, u64),
    Text(String),
    Nested(Vec<Step>),
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        any::<u8>().prop_map(Step::Byte),
        any::<u128>().prop_map(Step::Wide),
        vec(any::<u8>(), 0..3_000).prop_map(Step::Bytes),
        (0..20_000_usize, any::<u64>()).prop_map(|(length, seed)| Step::Numbers(length, seed)),
        ".*".prop_map(Step::Text),
    ];
    leaf.prop_recursive(4, 60, 8, |inner| vec(inner, 0..8).prop_map(Step::Nested))
}

/// What was made, and must still be there.
enum Made<'s, 'm> {
    Byte(&'s mut u8, u8),
    Wide(&'s mut u128, u128),
    Bytes(&'s mut [u8], &'m [u8]),
    Numbers(&'s mut [u64], u64),
    Text(&'s mut str, &'m str),
}

impl Made<'_, '_> {
    fn check(&self) {
        match self {
            Made::Byte(made, model) => assert_eq!(*made, model),
            Made::Wide(made, model) => assert_eq!(*made, model),
            Made::Bytes(made, model) => assert_eq!(made, model),
            Made::Numbers(made, seed) => {
                assert!(made.iter().zip(0..).all(|(number, at)| *number == seed.wrapping_mul(at)));
            }
            Made::Text(made, model) => assert_eq!(made, model),
        }
    }
}

/// Makes it all, and looks after each step that what was made before is as it was. What finds no room is left out.
fn run(scope: &mut ArenaScope<'_>, steps: &[Step]) -> Result<(), ArenaFull> {
    let mut made: Vec<Made> = vec![];
    for step in steps {
        made.push(match step {
            Step::Byte(byte) => Made::Byte(scope.try_alloc(*byte)?, *byte),
            Step::Wide(wide) => Made::Wide(scope.try_alloc_with(|| *wide)?, *wide),
            Step::Bytes(bytes) => Made::Bytes(scope.try_alloc_slice_copy(bytes)?, bytes),
            Step::Numbers(length, seed) => {
                let make = |at: usize| seed.wrapping_mul(at as u64);
                Made::Numbers(scope.try_alloc_slice_fill_with(*length, make)?, *seed)
            }
            Step::Text(text) => Made::Text(scope.try_alloc_str(text)?, text),
            Step::Nested(steps) => {
                let mark = scope.mark();
                let result = scope.scoped(|inner| run(inner, steps));
                assert_eq!(scope.mark(), mark);
                made.iter().for_each(Made::check);
                result?;
                continue;
            }
        });
    }
    made.iter().for_each(Made::check);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_made_stays_as_it_is(rounds in vec((vec(step(), 0..20), any::<bool>()), 1..5), limit in 0..200_000_usize) {
        let mut arena = Arena::new();
        let mut limited = Arena::with_limit(limit);
        for (steps, trims) in &rounds {
            prop_assert_eq!(arena.scoped(|scope| run(scope, steps)), Ok(()));
            if let Err(full) = limited.scoped(|scope| run(scope, steps)) {
                let ArenaFull::Limit { held, needed, .. } = full else { panic!("{full}") };
                prop_assert!(held + needed > limit, "{} while the limit is {}", full, limit);
            }
            for arena in [&mut arena, &mut limited] {
                if *trims {
                    arena.trim();
                    prop_assert_eq!(arena.statistics().bytes_held, 0);
                }
                let statistics = arena.statistics();
                prop_assert_eq!((statistics.bytes_used, statistics.bytes_wasted), (0, 0));
                prop_assert_eq!(statistics.bytes_free + statistics.chunks * FOOTER, statistics.bytes_held);
            }
            prop_assert!(limited.statistics().bytes_held <= limit);
        }
    }
}
