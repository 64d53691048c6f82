//! What happens at a limit: an error with a name, and everything as it was.

use region::{Bound, FreezeError, Full, Heap, LENGTH_MAX, Limit, Mark, Ref, Region};

use crate::basics::small;

/// Fails the first request for memory of a copy, then the second, and so on until it goes through.
#[test]
fn a_copy_that_fails_leaves_both_regions_as_they_were() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut to) = (heap.open(), heap.open());
    let mut list = small(0);
    for at in 0..500 {
        let (variable, number) = (heap.variable(&mut region, at)?, heap.number(&mut region, 0, u64::from(at))?);
        list = heap.expression(&mut region, &[variable, number, list, small(at)])?;
        heap.bind(variable, list);
    }
    let wide = heap.expression(&mut region, &[list; 10_000])?;
    let before = heap.expression(&mut to, &[small(77), list])?;
    let (from_mark, to_mark) = (heap.mark(&region), heap.mark(&to));
    let live = heap.statistics().bytes_live;
    let mut failures = 0;
    loop {
        heap.set_limit(Some(live + failures * 512));
        let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
        let result = copying.root(wide).and_then(|root| copying.scan().map(|()| root));
        let Err(full) = result else { break };
        assert_eq!((full.limit(), full.bytes()), (Limit::Bytes, (live + failures * 512) as u64));
        assert_eq!(copying.moved(wide), None);
        failures += 1;
        assert_eq!((heap.mark(&region), heap.mark(&to)), (from_mark, to_mark));
        assert_eq!(heap.statistics().bytes_live, live);
        assert_eq!(heap.children(before), [small(77), list]);
    }
    // The copy takes a chunk more each time: in the end 8 for variables, 8 for numbers, and for 1,500 + 5,002 cells of
    // expressions 101 beside the one that was there.
    assert_eq!(failures, 8 + 8 + 101);
    assert_eq!(heap.statistics().limit_failures, failures as u64);
    heap.close(region);
    heap.close(to);
    Ok(())
}

/// A copy may begin again after it failed, in its scan as well as at a root.
#[test]
fn a_copy_can_be_tried_again() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut to) = (heap.open(), heap.open());
    let variables = [heap.variable(&mut region, 1)?, heap.variable(&mut region, 2)?];
    let pair = heap.expression(&mut region, &variables)?;
    heap.bind(variables[0], small(5));
    let large = heap.expression(&mut region, &[pair; 300])?;
    let root = heap.expression(&mut region, &[pair, variables[0], large])?;
    heap.variable(&mut to, 0)?;
    heap.expression(&mut to, &[])?;
    heap.set_limit(Some(heap.statistics().bytes_live + 512));
    let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
    copying.root(root)?;
    assert!(copying.scan().is_err());
    assert!(copying.root(large).is_err());
    let copy = copying.root(pair)?;
    copying.scan()?;
    assert_eq!((copying.moved(pair), copying.moved(root)), (Some(copy), None));
    let [bound, free] = *heap.children(copy) else { panic!("two children") };
    assert_eq!((heap.label(bound), heap.binding(bound)), (1, Some(small(5))));
    assert_eq!((heap.label(free), heap.binding(free)), (2, None));
    // The copy that failed made the root, the pair and a variable; the other one the pair and both.
    assert_eq!(heap.statistics().cells_copied, (2 + 2 + 1) + (2 + 2));
    heap.close(region);
    heap.close(to);
    Ok(())
}

/// A copy can be tried again where it was the value of a variable that did not fit.
#[test]
fn a_copy_can_be_tried_again_after_a_binding() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut to) = (heap.open(), heap.open());
    let (variable, other) = (heap.variable(&mut region, 1)?, heap.variable(&mut region, 2)?);
    let large = heap.expression(&mut region, &[small(1); 300])?;
    let value = heap.expression(&mut region, &[small(2)])?;
    heap.bind(variable, large);
    heap.bind(other, value);
    heap.set_limit(Some(heap.statistics().bytes_live + 2 * 512));
    let mut copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign)?;
    copying.root(variable)?;
    assert!(copying.scan().is_err());
    let copy = copying.root(other)?;
    copying.scan()?;
    let moved = copying.moved(value);
    assert_eq!((heap.label(copy), heap.binding(copy)), (2, moved));
    assert_eq!(heap.dangling(&[&to], &[copy]), None);
    heap.close(region);
    heap.close(to);
    Ok(())
}

/// A long expression may need fewer chunks where its lane ends than elsewhere; the limit holds for what it takes.
#[test]
fn a_run_elsewhere_counts_in_full() -> Result<(), Full> {
    let mut heap = Heap::new();
    let (mut region, mut other) = (heap.open(), heap.open());
    heap.expression(&mut region, &[])?;
    let kept = heap.number(&mut other, 0, 1)?;
    let mut long = heap.open();
    heap.reserve(&mut long, 255)?;
    heap.close(long);
    heap.set_limit(Some(3 * 512));
    assert_eq!(heap.reserve(&mut region, 130).map_err(|full| full.limit()), Err(Limit::Bytes));
    heap.set_limit(Some(4 * 512));
    heap.reserve(&mut region, 130)?;
    assert_eq!((heap.statistics().bytes_live, heap.number_bits(kept)), (4 * 512, 1));
    heap.close(region);
    heap.close(other);
    Ok(())
}

#[test]
fn what_is_too_long_is_refused_at_once() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    for length in [LENGTH_MAX + 1, 1 << 29, (1 << 29) + 1, u32::MAX as usize, usize::MAX] {
        let full = heap.reserve(&mut region, length).expect_err("too long");
        assert_eq!((full.limit(), full.bytes()), (Limit::Length, 1 << 28));
    }
    assert_eq!(heap.statistics().chunks, 0);
    let full = Heap::with_limit(1 << 20).reserve(&mut region, LENGTH_MAX).expect_err("more than the limit");
    assert_eq!((full.limit(), full.bytes()), (Limit::Bytes, 1 << 20));
    let made = heap.expression(&mut region, &[small(1)])?;
    assert_eq!(heap.length(made), 1);
    heap.close(region);
    Ok(())
}

#[test]
fn a_limit_can_be_lowered_and_raised_while_in_use() -> Result<(), Full> {
    let mut heap = Heap::new();
    let mut region = heap.open();
    let fill = |heap: &mut Heap, region: &mut Region| (0..).find(|_| heap.number(region, 0, 1).is_err());
    heap.set_limit(Some(10 * 512));
    assert_eq!(fill(&mut heap, &mut region), Some(640));
    heap.set_limit(Some(0));
    assert_eq!(fill(&mut heap, &mut region), Some(0));
    heap.rewind(&mut region, Mark::START);
    assert_eq!(fill(&mut heap, &mut region), Some(0), "a limit of nothing gives nothing, though chunks are free");
    heap.set_limit(Some(3 * 512));
    assert_eq!(fill(&mut heap, &mut region), Some(192));
    heap.set_limit(None);
    for _ in 0..10_000 {
        heap.number(&mut region, 0, 1)?;
    }
    heap.close(region);
    Ok(())
}

/// Large pages count as a whole, and are not asked for where they do not fit.
#[test]
fn growth_does_not_overshoot_the_limit() {
    for chunks in 1..100 {
        let mut heap = Heap::with_limit(chunks * 512);
        let mut region = heap.open();
        while heap.expression(&mut region, &[small(1); 3]).is_ok() {
            assert!(heap.statistics().bytes_held <= chunks * 512);
        }
        assert_eq!(heap.statistics().bytes_live, chunks * 512);
        heap.close(region);
    }
}

#[test]
fn messages_say_what_and_what_next() {
    let mut heap = Heap::with_limit(1_000);
    let mut region = heap.open();
    let full = heap.reserve(&mut region, 200).expect_err("more than the limit");
    assert_eq!(full.to_string(), "the heap is full: its limit is 512 bytes; raise it, or hold on to less");
    let full = heap.reserve(&mut region, usize::MAX).expect_err("too long");
    let expected = "the expression is too long: an expression has at most 67108864 children; split it";
    assert_eq!(full.to_string(), expected);
}

/// Set for the child process of the tests below, which has little address space.
const CHILD: &str = "METROON_REGION_TEST_LITTLE_MEMORY";

/// Runs a test of this program in a process with `kib` KiB of address space.
#[cfg(target_os = "linux")]
fn with_address_space(kib: u32, test: &str, expected: &str) {
    let program = std::env::current_exe().expect("the test program has a path");
    let command = format!("ulimit -v {kib} && exec \"$0\" --exact limits::{test} --nocapture --test-threads 1");
    let mut shell = std::process::Command::new("sh");
    let output = shell.arg("-c").arg(command).arg(program).env(CHILD, "1").output().expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(expected), "{output:?}");
}

/// A heap is made as a whole or not at all: its reservation does not fit.
#[test]
#[cfg(target_os = "linux")]
fn address_space_that_is_refused_is_an_error() {
    with_address_space(4_000_000, "without_address_space", "no heap was made");
}

#[test]
#[expect(clippy::print_stdout, reason = "the test above reads it")]
fn without_address_space() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let full = Heap::try_new().map(drop).expect_err("it does not fit");
    assert_eq!((full.limit(), full.bytes()), (Limit::Reservation, 4 << 30));
    assert!(full.to_string().contains("ulimit -v"), "{full}");
    let refused = std::panic::catch_unwind(Heap::new).map(drop).expect_err("it does not fit");
    assert!(refused.downcast_ref::<String>().is_some_and(|text| text.contains("ulimit -v")));
    println!("no heap was made");
}

/// The system refuses what lies beside the cells: the same program runs in a process that has address space for one heap.
#[test]
#[cfg(target_os = "linux")]
fn a_system_that_refuses_is_an_error() {
    with_address_space(4_600_000, "with_little_memory", "refused by the system");
}

#[test]
#[expect(clippy::print_stdout, reason = "the test above reads it")]
fn with_little_memory() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut heap = Heap::new();
    assert_eq!(Heap::try_new().map(drop).map_err(|full| full.limit()), Err(Limit::Reservation));
    let mut region = heap.open();
    let made = (0..300).map(|_| heap.reserve(&mut region, 1 << 16)).collect::<Result<Vec<Ref>, Full>>();
    let made = made.expect("the cells are reserved");
    let (mut to, root) = (heap.open(), made[0]);
    // What the test program itself may need when all is taken.
    let spare = Vec::<u8>::with_capacity(32 << 20);
    let rest = take_the_rest();
    drop(spare);
    let copying = heap.copy(&region, Mark::START, Bound::Kept, &mut to, |foreign| foreign);
    assert_eq!(copying.map(|_| ()).map_err(|full| full.limit()), Err(Limit::Memory));
    let frozen = heap.freeze(&region, &made, Bound::Kept, |foreign| foreign).map(drop);
    assert!(matches!(frozen, Err(FreezeError::Full(full)) if full.limit() == Limit::Memory), "{frozen:?}");
    drop(rest);
    assert!(made.iter().all(|long| heap.length(*long) == 1 << 16 && heap.child(*long, 65_535) == Ref::from_bits(0)));
    let frozen = heap.freeze(&region, &[root], Bound::Kept, |foreign| foreign).expect("there is memory again");
    assert_eq!(frozen.length(frozen.roots()[0]), 1 << 16);
    heap.close(region);
    heap.close(to);
    println!("refused by the system");
}

/// Takes what the system still gives, in pieces that leave enough for the test program itself.
fn take_the_rest() -> Vec<Vec<u8>> {
    let mut pieces = Vec::with_capacity(1_000);
    let mut piece = Vec::new();
    while piece.try_reserve_exact(4 << 20).is_ok() {
        pieces.push(std::mem::take(&mut piece));
    }
    pieces
}

/// What lives, what lived at most and what was handed out, beside the sums over all regions after each step.
#[test]
fn counts_are_those_of_all_regions_together() {
    let mut random = 1_u64;
    let mut next = move |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % below.max(1) as u64) as usize
    };
    for round in 0..20 {
        let mut heap = Heap::new();
        let (mut open, mut peak, mut cells) = (Vec::<(Region, Mark)>::new(), 0, 0);
        for _ in 0..4_000 {
            let (step, at) = (next(16), next(open.len()));
            match (step, open.get_mut(at)) {
                (0 | 1, _) | (_, None) => open.push((heap.open(), Mark::START)),
                (2, _) => heap.close(open.swap_remove(at).0),
                (3, Some((region, mark))) => *mark = heap.mark(region),
                (4, Some((region, mark))) => heap.rewind(region, *mark),
                (5, _) if round % 2 == 0 => heap.set_limit((next(3) > 0).then_some(next(300) * 512)),
                (6, Some((region, _))) if next(10) == 0 => region.set_limit(Some(next(20) * 512)),
                (kind, Some((region, _))) => {
                    let length = if next(20) == 0 { next(1_000) } else { next(9) };
                    let (made, wanted) = match kind {
                        7 | 8 => (heap.variable(region, 0), 1),
                        9 | 10 => (heap.number(region, 0, 0), 1),
                        _ => (heap.expression(region, &vec![Ref::from_bits(0); length]), length / 2 + 1),
                    };
                    cells += if made.is_ok() { wanted as u64 } else { 0 };
                }
            }
            let (mut live, mut ahead) = (0, 0);
            for (region, _) in &open {
                live += heap.bytes_of(region);
                ahead += heap.cells_ahead(region);
            }
            peak = peak.max(live);
            let statistics = heap.statistics();
            assert_eq!((statistics.bytes_live, statistics.bytes_live_peak), (live, peak));
            assert_eq!(statistics.chunks - statistics.chunks_free, live / 512);
            assert_eq!(statistics.cells_handed_out - ahead, cells);
        }
        open.into_iter().for_each(|(region, _)| heap.close(region));
        let statistics = heap.statistics();
        assert_eq!((statistics.bytes_live, statistics.bytes_live_peak, statistics.cells_handed_out), (0, peak, cells));
    }
}
