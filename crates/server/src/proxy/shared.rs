//! What connections share: those of one thread, and all of them.

use super::authority::LeafCertificates;
use super::clock::RecordingClock;
use super::error::ProxyError;
use super::options::{Limits, PassedHost, ProxyOptions, RecordingRules, Traffic};
use super::report::{Counts, Report};
use super::session::Session;
use super::upstream::{Connector, UpstreamPool};
use cassette::{Cassette, Mode};
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// What the connections of one thread share, and by it what all of them do.
pub(crate) struct ThreadState {
    common: Arc<ProxyState>,
    pub(crate) upstream: UpstreamPool,
    /// How many connections the thread has.
    busy: AtomicUsize,
}

impl Deref for ThreadState {
    type Target = ProxyState;

    fn deref(&self) -> &ProxyState {
        &self.common
    }
}

/// What all connections of a proxy share.
pub(crate) struct ProxyState {
    pub(crate) address: SocketAddr,
    pub(crate) limits: Limits,
    pub(crate) leaves: LeafCertificates,
    passes: Vec<PassedHost>,
    network: Arc<Connector>,
    pub(crate) counts: Counts,
    pub(crate) started: Instant,
    /// By which everything is recorded.
    pub(crate) clock: RecordingClock,
    keeping: RecordingRules,
    session: RwLock<Arc<Session>>,
    /// Whether requests wait until a cassette is sealed that is to be used again. The thread that switches has the lock.
    is_sealing: watch::Sender<bool>,
    switching: Mutex<()>,
    /// Whether the proxy is to stop.
    pub(crate) stops: watch::Sender<bool>,
    /// How many connections there are.
    busy: AtomicUsize,
    none_is_left: Notify,
    /// What goes past the proxy, where that is seen.
    #[cfg(target_os = "linux")]
    watch: std::sync::OnceLock<Arc<crate::proxy::isolation::BypassWatch>>,
}

/// A connection, while it lasts.
pub(crate) struct ConnectionGuard(Arc<ThreadState>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let ThreadState { common, busy, .. } = &*self.0;
        busy.fetch_sub(1, Ordering::Relaxed);
        if common.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            common.none_is_left.notify_waiters();
        }
    }
}

impl ThreadState {
    /// For the connections of one more thread.
    pub(crate) fn of(common: Arc<ProxyState>) -> Self {
        let upstream = UpstreamPool::new(common.network.clone());
        Self { common, upstream, busy: AtomicUsize::new(0) }
    }

    /// How many connections the thread has.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// Counts a connection; `None` if there are too many.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<ConnectionGuard> {
        let guard = self.also();
        (self.common.busy.load(Ordering::Acquire) <= self.limits.connections).then_some(guard)
    }

    /// Counts what goes on beside the connection that it came by.
    pub(crate) fn also(self: &Arc<Self>) -> ConnectionGuard {
        self.busy.fetch_add(1, Ordering::Relaxed);
        self.common.busy.fetch_add(1, Ordering::AcqRel);
        ConnectionGuard(self.clone())
    }
}

impl ProxyState {
    pub(crate) fn new(
        options: &ProxyOptions,
        address: SocketAddr,
        leaves: LeafCertificates,
        network: Connector,
        session: Session,
    ) -> Self {
        Self {
            address,
            limits: options.limits.clone(),
            leaves,
            passes: options.passes.clone(),
            network: Arc::new(network),
            counts: Counts::default(),
            started: Instant::now(),
            clock: RecordingClock::new(),
            keeping: options.keeping.clone(),
            session: RwLock::new(Arc::new(session)),
            is_sealing: watch::Sender::new(false),
            switching: Mutex::new(()),
            stops: watch::Sender::new(false),
            busy: AtomicUsize::new(0),
            none_is_left: Notify::new(),
            #[cfg(target_os = "linux")]
            watch: std::sync::OnceLock::new(),
        }
    }

    /// Reports what is seen of what goes past the proxy from the network of a program, and knows a way into that. There is one.
    #[cfg(target_os = "linux")]
    pub(crate) fn isolate(
        &self,
        watch: Arc<crate::proxy::isolation::BypassWatch>,
        door: crate::proxy::isolation::InsideConnector,
    ) {
        self.network.isolate(door);
        let _ = self.watch.set(watch);
    }

    /// Whether what is asked of a host goes to the network, past every cassette.
    pub(crate) fn passes(&self, host: &str, port: u16) -> bool {
        self.passes.iter().any(|pass| pass.takes(host, port))
    }

    /// The cassette that is in use.
    pub(crate) fn session(&self) -> Arc<Session> {
        self.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The cassette that is in use, for a request, which waits while a cassette is sealed that is to be used again.
    pub(crate) async fn session_for_request(&self) -> Arc<Session> {
        loop {
            // The thread that seals waits for those that have the session, so it is taken before it is looked whether somebody does.
            let session = self.session();
            if !*self.is_sealing.borrow() {
                return session;
            }
            drop(session);
            let _ = self.is_sealing.subscribe().wait_for(|is_sealing| !*is_sealing).await;
        }
    }

    /// Uses another cassette from now on, and seals the one before when nothing that began with it is under way. If it is the same, it is
    /// sealed first, and what is asked meanwhile waits.
    pub(crate) fn switch(&self, traffic: &Traffic) -> Result<(), ProxyError> {
        let _alone = self.switching.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.session();
        if !before.records_to(traffic) {
            self.open(traffic)?;
            return self.seal(before, 1);
        }
        self.is_sealing.send_replace(true);
        let opened = self.seal(before, 2).and_then(|()| self.open(traffic));
        self.is_sealing.send_replace(false);
        opened
    }

    fn open(&self, traffic: &Traffic) -> Result<(), ProxyError> {
        let playback = self.session().playback.clone();
        if let (Mode::All, Some(path)) = (traffic.mode(), traffic.path().filter(|path| path.exists())) {
            // Nothing but a cassette is recorded anew.
            Cassette::open_with(path, playback.reading)?;
        }
        let (opened, warnings) = Session::open(traffic, playback, self.keeping.clone())?;
        warnings.into_iter().for_each(|warning| self.counts.warn(warning));
        *self.session.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(opened);
        Ok(())
    }

    /// Seals a cassette once no more than `holders` have it, or the time is over that what is under way has to end.
    fn seal(&self, session: Arc<Session>, holders: usize) -> Result<(), ProxyError> {
        let until = Instant::now() + self.limits.drain;
        while Arc::strong_count(&session) > holders && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.counts.conclude(session.order_findings());
        session.finish().map_err(ProxyError::from)
    }

    pub(crate) fn report(&self) -> Report {
        let mut report = self.counts.report();
        report.secrets = self.session().findings();
        let session = self.session();
        session.report_unused(&mut report);
        report.add_findings(session.order_findings());
        report.allows_ambiguous = session.playback.allows_ambiguous;
        #[cfg(target_os = "linux")]
        if let Some(watch) = self.watch.get() {
            (report.bypassed, report.unanswered) = watch.report();
        }
        report
    }

    /// Returns when there is no connection.
    pub(crate) async fn idle(&self) {
        loop {
            let none_is_left = self.none_is_left.notified();
            tokio::pin!(none_is_left);
            none_is_left.as_mut().enable();
            if self.busy.load(Ordering::Acquire) == 0 {
                return;
            }
            none_is_left.await;
        }
    }

    /// Returns when the proxy is to stop.
    pub(crate) async fn stopping(&self) {
        let _ = self.stops.subscribe().wait_for(|stops| *stops).await;
    }
}
