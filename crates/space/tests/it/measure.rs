//! Measuring: allocations of this thread, exactly; times as ratios, since other work shares the machine.

use allocation_counter::AllocationInfo;
use std::time::{Duration, Instant};

/// What a piece of work allocates on this thread, and its answer.
pub(crate) fn allocations<T>(work: impl FnOnce() -> T) -> (AllocationInfo, T) {
    let mut answer = None;
    let info = allocation_counter::measure(|| answer = Some(work()));
    (info, answer.expect("the work was done"))
}

/// How long a piece of work takes.
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

const ROUNDS: usize = 7;
const ATTEMPTS: usize = 5;

/// Asserts that `large` takes at most `limit` times as long as `small`: medians of interleaved rounds, in the best of a
/// few attempts, since a busy machine makes either slow for a while.
pub(crate) fn assert_ratio(limit: f64, mut small: impl FnMut() -> Duration, mut large: impl FnMut() -> Duration) {
    let mut ratios = Vec::new();
    for _ in 0..ATTEMPTS {
        let (mut smalls, mut larges) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            smalls.push(small());
            larges.push(large());
        }
        let ratio = median(larges).as_secs_f64() / median(smalls).as_secs_f64();
        if ratio <= limit {
            return;
        }
        ratios.push(ratio);
    }
    panic!("the large case took {ratios:.1?} times as long as the small one; {limit} is the limit");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
