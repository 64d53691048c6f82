//! A GPU comes to what the processor comes to. Any adapter will do; without one the tests say so, and with `METROON_GPU=required` they fail.

use super::{GpuOptions, NoGpu, Threshold};
use crate::sets::counts::{Refused, RoutingCounts};
use crate::sets::cpu;
use crate::sets::router::Router;
use crate::sets::set::PageSet;
use crate::{Functions, Location, Options, State, Transaction};
use proptest::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// A router that sends everything to the GPU.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn open(threshold: u64) -> Option<Router> {
    let router = Router::open(&GpuOptions { threshold: Threshold::Bytes(threshold) });
    match router.none() {
        None => Some(router),
        Some(none) => {
            assert!(std::env::var_os("METROON_GPU").is_none_or(|value| value != "required"), "{none}");
            eprintln!("skipped: {none}");
            None
        }
    }
}

/// One for all generated cases: opening takes long.
fn shared() -> Option<MutexGuard<'static, Router>> {
    static ROUTER: OnceLock<Option<Mutex<Router>>> = OnceLock::new();
    let router = ROUTER.get_or_init(|| open(0).map(Mutex::new)).as_ref()?;
    Some(router.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn set(pages: Vec<Vec<u8>>) -> PageSet {
    PageSet::of_bytes(pages.into_iter().map(Arc::from).collect())
}

fn resident(router: &mut Router, pages: Vec<Vec<u8>>) -> PageSet {
    let mut set = set(pages);
    assert_eq!(router.make_resident(&mut set), Ok(set.len()));
    set
}

/// Two lists of as many pages of one length, which differ in some bytes.
fn pairs() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<Vec<u8>>)> {
    (1..9_usize, 1..300_usize).prop_flat_map(|(pages, bytes)| {
        let page = prop::collection::vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], bytes);
        let list = prop::collection::vec(page, pages);
        (list.clone(), list)
    })
}

/// Square matrices of words of one order.
fn matrices(
    orders: &'static [usize],
    row_words: fn(usize) -> usize,
    word: BoxedStrategy<u32>,
) -> impl Strategy<Value = (usize, [Vec<Vec<u8>>; 2])> {
    (1..4_usize, prop::sample::select(orders)).prop_flat_map(move |(pages, order)| {
        let page = prop::collection::vec(word.clone(), order * row_words(order))
            .prop_map(|words| words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>());
        let list = prop::collection::vec(page, pages);
        (Just(order), [list.clone(), list])
    })
}

fn lengths() -> BoxedStrategy<u32> {
    prop_oneof![4 => 0..1000_u32, 2 => Just(u32::MAX), 1 => u32::MAX - 500..u32::MAX].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn differences_are_those_of_the_processor((left, right) in pairs()) {
        let Some(mut router) = shared() else { return Ok(()) };
        let (left, right) = (resident(&mut router, left), resident(&mut router, right));
        let before = router.counts().routed;
        prop_assert_eq!(router.differing(&left, &right).unwrap(), cpu::differing(&left, &right));
        prop_assert_eq!(router.xor(&left, &right).unwrap(), cpu::xor(&left, &right));
        prop_assert_eq!(router.counts().routed, before + 2);
    }

    #[test]
    fn boolean_products_are_those_of_the_processor((order, [left, right]) in matrices(&[32, 64, 96], |order| order / 32, any::<u32>().boxed())) {
        let Some(mut router) = shared() else { return Ok(()) };
        let (left, right) = (resident(&mut router, left), resident(&mut router, right));
        let before = router.counts().routed;
        let expected = cpu::boolean_product(&left, &right, order);
        prop_assert_eq!(router.boolean_product(&left, &right, order).unwrap(), expected);
        prop_assert_eq!(router.boolean_product(&left, &left, order).unwrap(), cpu::boolean_product(&left, &left, order));
        prop_assert_eq!(router.counts().routed, before + 2);
    }

    #[test]
    fn min_plus_products_are_those_of_the_processor((order, [left, right]) in matrices(&[1, 2, 7, 33], |order| order, lengths())) {
        let Some(mut router) = shared() else { return Ok(()) };
        let (left, right) = (resident(&mut router, left), resident(&mut router, right));
        let before = router.counts().routed;
        let expected = cpu::min_plus_product(&left, &right, order);
        prop_assert_eq!(router.min_plus_product(&left, &right, order).unwrap(), expected);
        prop_assert_eq!(router.counts().routed, before + 1);
    }

    #[test]
    fn neighbours_are_those_of_the_processor(
        dimensions in 1..40_usize,
        rows in 1..60_usize,
        pages in 1..4_usize,
        wanted in 0..70_usize,
        seed in any::<u64>(),
        scale in prop::sample::select(vec![1.0_f32, 1e-20, 1e12, 1e-41]),
    ) {
        let Some(mut router) = shared() else { return Ok(()) };
        let mut state = seed | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Few values, so that many rows are equally far.
            ((state >> 60) as f32 - 8.0) * scale + if state >> 40 & 7 == 0 { scale * 1e-7 } else { 0.0 }
        };
        let page = |next: &mut dyn FnMut() -> f32| (0..rows * dimensions).flat_map(|_| next().to_le_bytes()).collect();
        let set = resident(&mut router, (0..pages).map(|_| page(&mut next)).collect());
        let question: Vec<f32> = (0..dimensions).map(|_| next()).collect();
        let before = router.counts().routed;
        prop_assert_eq!(router.nearest(&set, &question, wanted).unwrap(), cpu::nearest(&set, &question, wanted));
        prop_assert_eq!(router.counts().routed, before + 1);
    }
}

#[test]
fn floats_that_cannot_be_compared_in_32_bits_are_left_to_the_processor() {
    let Some(mut router) = open(0) else { return };
    for odd in [f32::NAN, f32::INFINITY, 1e16] {
        let page = [1.0, odd, 2.0, 3.0].iter().flat_map(|value: &f32| value.to_le_bytes()).collect();
        let set = resident(&mut router, vec![page]);
        assert_eq!(
            format!("{:?}", router.nearest(&set, &[1.0, 2.0], 2).unwrap()),
            format!("{:?}", cpu::nearest(&set, &[1.0, 2.0], 2))
        );
    }
    let counts = router.counts();
    assert_eq!((counts.asked, counts.routed, counts.out_of_range), (3, 0, 3));
}

#[test]
fn a_copy_that_is_stale_is_not_used() {
    let Some(mut router) = open(0) else { return };
    let mut state = State::new(Functions::new(), Options::default());
    let mut transaction = Transaction::new();
    let pages = [[1_u8; 64], [2; 64], [3; 64]].map(|bytes| transaction.create(&bytes));
    let commit = state.commit(&transaction).unwrap();
    let pages = pages.map(|page| commit.created[page.index()]);
    let [mut before, mut after] = [(); 2].map(|()| PageSet::new(&state.snapshot(), pages).unwrap());
    assert_eq!(before.location(0), Some(Location::Memory));
    for set in [&mut before, &mut after] {
        assert_eq!(router.make_resident(set), Ok(3));
    }
    assert_eq!(router.differing(&before, &after).unwrap(), [0, 0, 0]);

    let mut transaction = Transaction::new();
    transaction.write(pages[1], 5, &[7, 7]);
    state.commit(&transaction).unwrap();
    assert_eq!(after.follow(&state.snapshot()), Ok(1));
    let locations: Vec<_> = (0..4).map(|index| after.location(index)).collect();
    let (current, stale) = (Some(Location::MemoryAndGpu), Some(Location::Memory));
    assert_eq!(locations, [current, stale, current, None]);
    assert_eq!(router.differing(&before, &after).unwrap(), [0, 2, 0]);
    assert_eq!((router.counts().routed, router.counts().stale), (1, 1));

    assert_eq!(router.make_resident(&mut after), Ok(1));
    assert_eq!(after.location(1), current);
    assert_eq!(router.differing(&before, &after).unwrap(), [0, 2, 0]);
    let counts = router.counts();
    assert_eq!((counts.asked, counts.routed, counts.uploaded_pages, counts.uploaded_bytes), (3, 2, 7, 7 * 64));
    assert_eq!(state.location(pages[1]), Some(Location::Memory));
}

#[test]
fn what_is_not_resident_or_small_touches_no_gpu() {
    let Some(mut router) = open(1000) else { return };
    let (left, right) = (set(vec![vec![1; 400]]), set(vec![vec![2; 400]]));
    assert_eq!(router.differing(&left, &right).unwrap(), [400]);
    assert_eq!(router.counts(), RoutingCounts { asked: 1, not_resident: 1, ..RoutingCounts::default() });

    let (left, right) = (resident(&mut router, vec![vec![1; 400]]), resident(&mut router, vec![vec![2; 400]]));
    let before = router.counts();
    assert!(before.gpu_calls > 0);
    assert_eq!(router.differing(&left, &right).unwrap(), [400]);
    assert_eq!(router.counts(), RoutingCounts { asked: 2, below_threshold: 1, ..before });

    let Some(mut other) = open(0) else { return };
    assert_eq!(other.differing(&left, &right).unwrap(), [400]);
    assert_eq!((other.counts().not_resident, other.counts().gpu_calls), (1, 0));
}

#[test]
fn a_device_that_is_lost_is_left_alone() {
    let Some(mut router) = open(0) else { return };
    let mut left = resident(&mut router, vec![vec![1; 64]]);
    let right = resident(&mut router, vec![vec![1; 64]]);
    assert_eq!(router.differing(&left, &right).unwrap(), [0]);
    router.lose_gpu();
    assert_eq!(router.differing(&left, &right).unwrap(), [0]);
    assert_eq!((left.location(0), right.location(0)), (Some(Location::Memory), Some(Location::Memory)));
    let counts = router.counts();
    assert_eq!((counts.asked, counts.routed, counts.failed), (2, 1, 1));
    assert_eq!(router.xor(&left, &right).unwrap(), [vec![0; 64]]);
    assert_eq!(router.counts().gpu_calls, counts.gpu_calls);
    assert_eq!(router.make_resident(&mut left), Err(Refused::Failed));
    assert_eq!(left.location(0), Some(Location::Memory));
}

#[test]
fn an_adapter_that_is_a_processor_gets_nothing_by_measurement() {
    // Says so if there is no adapter, or fails.
    if open(0).is_none() {
        return;
    }
    let clock: crate::Clock = Arc::new(|| 0);
    let mut router = Router::open(&GpuOptions { threshold: Threshold::Measured { clock, kept: None } });
    let adapter = router.adapter().cloned().expect("the adapter was found before");
    if adapter.is_cpu {
        assert_eq!(adapter.threshold, None);
        let left = resident(&mut router, vec![vec![1; 4096]]);
        assert_eq!(router.differing(&left, &left).unwrap(), [0]);
        assert_eq!((router.counts().adapter_is_cpu, router.counts().routed), (1, 0));
    }
}

#[test]
fn what_is_measured_is_where_the_device_is_right_and_what_is_wrong_is_left_alone() {
    let Some(router) = open(0) else { return };
    let mut gpu = router.gpu_for_tests();
    let ticks = std::sync::atomic::AtomicU64::new(0);
    let clock: crate::Clock = Arc::new(move || ticks.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
    // Each side takes one tick, whatever the size.
    assert_eq!(super::calibration::measure(&mut gpu, &clock), Ok(None));
    let longest = gpu.adapter().set_bytes_max;
    assert_eq!(gpu.device.storage(longest + 1).unwrap_err(), Refused::TooLarge);
    assert_eq!(gpu.device.check(), Ok(()));
    gpu.lose();
    assert_eq!(super::calibration::measure(&mut gpu, &clock), Err(Refused::Failed));
}

#[test]
fn a_router_without_a_gpu_says_so() {
    let mut router = Router::cpu();
    let mut left = set(vec![vec![1; 8]]);
    assert_eq!(router.make_resident(&mut left), Err(Refused::NoGpu));
    assert_eq!(router.xor(&left, &left).unwrap(), [vec![0; 8]]);
    assert_eq!(router.counts(), RoutingCounts { asked: 1, no_gpu: 1, ..RoutingCounts::default() });
    assert!(NoGpu::Adapter("none".to_owned()).to_string().contains("no adapter"));
}
