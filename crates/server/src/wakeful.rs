//! A thread that stays awake for a moment.
//!
//! To wake a thread that sleeps on another core takes longer than to answer a request from a cassette, and a request that is recorded
//! wakes four times. So a thread that was woken soon after it fell asleep looks for more by itself for a moment before it sleeps
//! again. Where nothing comes that soon, and where there is only one core, it sleeps at once.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::yield_now;

/// How long a thread stays awake: about twice as long as it takes to wake it.
const MOMENT: Duration = Duration::from_micros(30);

/// Whether a thread stays awake.
pub(crate) struct Wakeful {
    began: Instant,
    /// When something was sent or came the last time, in nanoseconds since the beginning.
    last: AtomicU64,
    is_awake: AtomicBool,
    call: Notify,
}

impl Wakeful {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), last: AtomicU64::new(0), is_awake: AtomicBool::new(false), call: Notify::new() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn is_within_moment(&self, before: u64, now: u64) -> bool {
        u128::from(now.saturating_sub(before)) < MOMENT.as_nanos()
    }

    /// Something was sent; what is waited for now is an answer to it, or what comes next.
    pub(crate) fn sent(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// Something came.
    pub(crate) fn came(&self) {
        let now = self.now();
        let before = self.last.swap(now, Ordering::Relaxed);
        if self.is_within_moment(before, now) && !self.is_awake.load(Ordering::Relaxed) {
            self.call.notify_one();
        }
    }

    /// Keeps the thread that polls this awake when it is worth it.
    pub(crate) async fn stay(&self) {
        if available_parallelism().is_ok_and(|cores| cores.get() == 1) {
            return;
        }
        loop {
            self.call.notified().await;
            self.is_awake.store(true, Ordering::Relaxed);
            while self.is_within_moment(self.last.load(Ordering::Relaxed), self.now()) {
                yield_now().await;
            }
            self.is_awake.store(false, Ordering::Relaxed);
        }
    }
}
