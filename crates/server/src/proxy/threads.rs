//! The threads that serve.
//!
//! Each connection stays on one thread, and so do the connections to servers that its requests go by: no thread wakes another, as
//! those of a pool do for each message.

use super::error::ProxyError;
use super::options::{Limits, ProxyOptions};
use super::shared::{ProxyState, ThreadState};
use std::future::Future;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};

/// More threads have never more to do.
const THREADS_MAX: usize = 64;

/// The threads that serve, of which there is at least one.
pub(crate) struct ServingThreads {
    first: Runtime,
    others: Vec<Runtime>,
    all: Arc<[ServingThread]>,
}

/// A thread that serves.
pub(crate) struct ServingThread {
    handle: Handle,
    pub(crate) shared: Arc<ThreadState>,
}

impl ServingThreads {
    /// Starts as many as there are cores, if the user does not say another number; two at least, so that what one of them is at
    /// keeps few from being served.
    pub(crate) fn start(options: &ProxyOptions, common: &Arc<ProxyState>) -> Result<Self, ProxyError> {
        let cores = available_parallelism().map_or(1, usize::from);
        let count = options.threads.unwrap_or(cores.max(2)).min(THREADS_MAX);
        let first = runtime()?;
        let others = (1..count).map(|_| runtime()).collect::<Result<Vec<_>, _>>()?;
        let all = std::iter::once(&first).chain(&others).map(|runtime| {
            let (handle, shared) = (runtime.handle().clone(), Arc::new(ThreadState::of(common.clone())));
            handle.spawn(tick(tick_of(&common.limits)));
            ServingThread { handle, shared }
        });
        let all = all.collect();
        Ok(Self { first, others, all })
    }

    /// All of them.
    pub(crate) fn all(&self) -> &Arc<[ServingThread]> {
        &self.all
    }

    /// The thread that does what belongs to no connection.
    pub(crate) fn first(&self) -> &ServingThread {
        &self.all[0]
    }

    /// Runs something on the thread that calls, which sleeps while it waits.
    pub(crate) fn block_on<T>(&self, what: impl Future<Output = T>) -> T {
        self.first.block_on(what)
    }

    /// Ends them, and what is under way with them.
    pub(crate) fn stop(self) {
        let until = Instant::now() + STOP_TIME;
        let runtimes = self.others.into_iter().chain([self.first]);
        runtimes.for_each(|runtime| runtime.shutdown_timeout(until.saturating_duration_since(Instant::now())));
    }
}

/// What blocks a thread that is to stop is waited for that long.
const STOP_TIME: Duration = Duration::from_secs(10);

impl ServingThread {
    /// Runs something on it.
    pub(crate) fn spawn(&self, what: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(what);
    }

    /// Makes it the one on which what is opened meanwhile is waited for.
    pub(crate) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.handle.enter()
    }
}

/// One that has a single thread, and another for a while if that one blocks.
fn runtime() -> Result<Runtime, ProxyError> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("proxy").enable_all();
    builder.build().map_err(ProxyError::Threads)
}

/// To set a timer that is due before all others of its thread is a call into the system. There are a few with each request, and
/// this one is due before them.
async fn tick(often: Duration) {
    loop {
        tokio::time::sleep(often).await;
    }
}

fn tick_of(limits: &Limits) -> Duration {
    let Limits { head_time, idle, stall, upstream_idle, .. } = limits;
    (*head_time.min(idle).min(stall).min(upstream_idle) / 2).max(Duration::from_millis(10))
}
