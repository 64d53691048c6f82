//! What a program costs: steps and bytes exactly, time as the processor counts it.

use crate::harness::{Program, Ran};
use metta::Limits;
use std::time::{Duration, Instant};

/// What came of a program, and what it took.
pub(crate) struct Cost {
    pub(crate) ran: Ran,
    /// The most memory that it held at once.
    pub(crate) bytes_max: u64,
    pub(crate) time: Duration,
}

impl Cost {
    pub(crate) fn steps(&self) -> u64 {
        self.ran.statistics.steps
    }
}

/// Runs a program and measures it. Its time is the shortest of three runs: what else runs on the machine makes it longer.
pub(crate) fn cost(text: &str) -> Cost {
    let run = || Program::new(text).with_limits(Limits::default()).run();
    let mut ran = None;
    let timed = |run: &mut dyn FnMut()| {
        let clock = Clock::start();
        run();
        clock.elapsed()
    };
    let mut bytes_max = 0;
    let first = timed(&mut || bytes_max = allocation_counter::measure(|| ran = Some(run())).bytes_max);
    let further = [(); 2].map(|()| timed(&mut || drop(run())));
    let time = further.into_iter().fold(first, Duration::min);
    Cost { ran: ran.expect("the program was run"), bytes_max, time }
}

/// Asserts that a program that does five times the work takes five times the steps, and not much more time. The time
/// would be twenty-fivefold if each step took longer the more there were before.
#[track_caller]
pub(crate) fn assert_linear(small: &Cost, large: &Cost) {
    let steps = large.steps() as f64 / small.steps() as f64;
    let time = large.time.as_secs_f64() / small.time.as_secs_f64();
    assert!((4.9..5.1).contains(&steps), "{steps} times the steps");
    assert!(time < 12.0, "{time} times the time, from {:?} to {:?}", small.time, large.time);
}

/// The time that this thread has the processor, where the system tells; what passes on the wall, where it does not.
pub(crate) struct Clock {
    busy: Option<Duration>,
    wall: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { busy: busy_time(), wall: Instant::now() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        match (self.busy, busy_time()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.wall.elapsed(),
        }
    }
}

/// How long this thread has run on a processor so far.
fn busy_time() -> Option<Duration> {
    let line = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = line.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
