//! What a program costs: steps and bytes exactly, time as the processor counts it.

use crate::harness::{Program, Ran};
use metta::Limits;
use std::time::{Duration, Instant};

/// What came of a program, and what it took.
pub(crate) struct Cost {
    program: String,
    pub(crate) ran: Ran,
    /// The most memory that it held at once.
    pub(crate) bytes_max: u64,
}

impl Cost {
    pub(crate) fn steps(&self) -> u64 {
        self.ran.statistics.steps
    }
}

/// Runs a program and measures it.
pub(crate) fn cost(program: &str) -> Cost {
    let mut ran = None;
    let measured = allocation_counter::measure(|| ran = Some(run(program)));
    let ran = ran.expect("the program was run");
    Cost { program: program.to_owned(), ran, bytes_max: measured.bytes_max }
}

fn run(program: &str) -> Ran {
    Program::new(program).with_limits(Limits::default()).run()
}

/// How long a program takes: the shorter of two runs, since what else the machine does makes them longer.
fn time(program: &str) -> Duration {
    let timed = || {
        let clock = Clock::start();
        drop(run(program));
        clock.elapsed()
    };
    timed().min(timed())
}

/// Asserts that a program that does ten times the work takes ten times the steps, and not much more time. The time would
/// be a hundredfold if each step took longer the more there were before.
#[track_caller]
pub(crate) fn assert_linear(small: &Cost, large: &Cost) {
    let steps = large.steps() as f64 / small.steps() as f64;
    assert!((9.8..10.2).contains(&steps), "{steps} times the steps");
    assert_ratio(40.0, || time(&small.program), || time(&large.program));
}

/// Asserts that one thing takes at most `limit` times as long as another, in the best of a few attempts: a busy machine
/// makes either slow for a while.
#[track_caller]
pub(crate) fn assert_ratio(limit: f64, small: impl Fn() -> Duration, large: impl Fn() -> Duration) {
    const ATTEMPTS: usize = 5;
    let mut ratios = Vec::new();
    while ratios.len() < ATTEMPTS {
        let ratio = large().as_secs_f64() / small().as_secs_f64();
        if ratio < limit {
            return;
        }
        ratios.push(ratio);
    }
    panic!("it took {ratios:.1?} times as long; {limit} is the limit");
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
            // The system counts what runs at its ticks: less than one may be counted as nothing.
            (Some(before), Some(now)) if now > before => now - before,
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
