//! What all connections of a proxy share.

use crate::authority::Leaves;
use crate::error::ProxyError;
use crate::options::{Keeping, Limits, ProxyOptions, Traffic};
use crate::report::{Counts, Report};
use crate::session::Session;
use crate::upstream::Upstream;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// What all connections of a proxy share.
pub(crate) struct Shared {
    pub(crate) address: SocketAddr,
    pub(crate) limits: Limits,
    pub(crate) leaves: Leaves,
    pub(crate) upstream: Upstream,
    pub(crate) counts: Counts,
    pub(crate) started: Instant,
    keeping: Keeping,
    session: RwLock<Arc<Session>>,
    /// Whether the proxy is to stop.
    pub(crate) stops: watch::Sender<bool>,
    busy: Arc<Busy>,
}

/// How many connections there are.
#[derive(Default)]
struct Busy {
    count: AtomicUsize,
    none: Notify,
}

/// A connection, while it lasts.
pub(crate) struct Guard(Arc<Busy>);

impl Drop for Guard {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

impl Shared {
    pub(crate) fn new(
        options: &ProxyOptions,
        address: SocketAddr,
        leaves: Leaves,
        session: Session,
    ) -> Result<Self, ProxyError> {
        Ok(Self {
            address,
            limits: options.limits.clone(),
            leaves,
            upstream: Upstream::new(options)?,
            counts: Counts::default(),
            started: Instant::now(),
            keeping: options.keeping.clone(),
            session: RwLock::new(Arc::new(session)),
            stops: watch::Sender::new(false),
            busy: Arc::default(),
        })
    }

    /// The tape that is in use.
    pub(crate) fn session(&self) -> Arc<Session> {
        self.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses another tape from now on, and seals the one before when nothing that began with it is under way.
    pub(crate) fn switch(&self, traffic: &Traffic) -> Result<(), ProxyError> {
        let playback = self.session().playback.clone();
        let (opened, warnings) = Session::open(traffic, playback, self.keeping.clone())?;
        warnings.into_iter().for_each(|warning| self.counts.warn(warning));
        let before = {
            let mut session = self.session.write().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *session, Arc::new(opened))
        };
        let until = Instant::now() + self.limits.drain;
        while Arc::strong_count(&before) > 1 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        before.finish().map_err(ProxyError::from)
    }

    pub(crate) fn report(&self) -> Report {
        let mut report = self.counts.report();
        self.session().report_unused(&mut report);
        report
    }

    /// Counts a connection; `None` if there are too many.
    pub(crate) fn enter(&self) -> Option<Guard> {
        let before = self.busy.count.fetch_add(1, Ordering::AcqRel);
        let guard = Guard(self.busy.clone());
        (before < self.limits.connections).then_some(guard)
    }

    /// Counts what goes on beside the connection that it came by.
    pub(crate) fn also(&self) -> Guard {
        self.busy.count.fetch_add(1, Ordering::AcqRel);
        Guard(self.busy.clone())
    }

    /// Returns when there is no connection.
    pub(crate) async fn idle(&self) {
        loop {
            let none = self.busy.none.notified();
            tokio::pin!(none);
            none.as_mut().enable();
            if self.busy.count.load(Ordering::Acquire) == 0 {
                return;
            }
            none.await;
        }
    }

    /// Returns when the proxy is to stop.
    pub(crate) async fn stopping(&self) {
        let _ = self.stops.subscribe().wait_for(|stops| *stops).await;
    }
}
