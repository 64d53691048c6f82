//! What a proxy did, counted.

use super::ambiguity::{AmbiguousAnswers, OrderFindings};
use cassette::matching::{Miss, NoAnswer};
use cassette::redact::Findings;
use cassette::{NetworkErrorKind, ReadError};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many misses, warnings and lines are told apart. The numbers count all of them.
pub const DETAILS_MAX: usize = 100;

/// What a proxy did since it started. What is told apart is bounded by [`DETAILS_MAX`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Connections that clients made.
    pub connections: u64,
    /// Requests that came, but for those to the proxy itself.
    pub requests: u64,
    /// Requests that went to the network and to the cassette. Those that ended in an error of the network are among them.
    pub recorded: u64,
    /// Requests that were answered from the cassette.
    pub replayed: u64,
    /// Requests that went to the network and not to the cassette.
    pub forwarded: u64,
    /// Requests and tunnels that went to hosts that [pass](crate::PassedHost), and not to the cassette.
    pub passed: u64,
    /// Requests that nothing on the cassette answers.
    pub missed: u64,
    /// The first of them, with the nearest recorded request each, and how often each came: a client that asks again misses again.
    pub misses: Vec<(Miss, u64)>,
    /// Requests with telemetry that nothing on the cassette answers, by the name of the service. They were taken as the service takes them, and
    /// went nowhere.
    pub telemetry: BTreeMap<String, u64>,
    /// Requests that were not answered since what is recorded is too old.
    pub expired: u64,
    /// Requests that were not answered, or not to the end, since the cassette cannot be read.
    pub unreadable: u64,
    /// Requests that were not looked up, since they are longer than [`Limits::matched_body_bytes`](crate::Limits).
    pub too_long: u64,
    /// How many recorded exchanges answered nothing; 0 if nothing is answered from a cassette.
    pub unused: u64,
    /// The first of them: number and request.
    pub unused_requests: Vec<(u64, String)>,
    /// Connections and requests that were refused, such as for a limit. The warnings say why.
    pub refused: u64,
    /// Requests that went to the network and that a filter kept from the cassette.
    pub left_out: u64,
    /// Faults that the user wanted and that happened.
    pub faults: u64,
    /// Exchanges that the client ended before they were over.
    pub abandoned: u64,
    /// Errors of the network, by kind, in the words of [`NetworkErrorKind`].
    pub failures: BTreeMap<String, u64>,
    /// Messages of a WebSocket that a client sent on replay and that differ from the recorded ones.
    pub websocket_differences: u64,
    /// How often equal requests that were made at once had different answers, so that which of them got which is an accident.
    pub ambiguous: u64,
    /// The first of them.
    pub ambiguous_answers: Vec<AmbiguousAnswers>,
    /// Whether such answers are no difference, since the user says so.
    pub allows_ambiguous: bool,
    /// Requests that came after an answer had been given that was recorded after they were there: the program was slower than then, or asks in
    /// another order.
    pub late: u64,
    /// Requests that were made at once and of which it is not recorded when their answers were over, so that these were given in the order of
    /// the requests.
    pub untimed: u64,
    /// Which secrets were found in what was recorded to this cassette, and where.
    pub secrets: Findings,
    /// How many recorded answers that were given call tools with a placeholder, in the place of a secret.
    pub redacted_calls: u64,
    /// The numbers of the first of these exchanges, in the order in which they were given.
    pub redacted_exchanges: Vec<u64>,
    /// Where a program in a [network of its own](crate::Isolation) wanted to go past the proxy, as `host:port`, each with how often.
    /// Nothing of it reached the network.
    pub bypassed: Vec<(String, u64)>,
    /// Addresses of loopback that such a program connected to, and at which nobody ever answered in its network.
    pub unanswered: Vec<SocketAddr>,
    /// What else a user is to know, such as answers that are too old. Each is said once.
    pub warnings: Vec<String>,
    /// Why nothing is recorded any more, if that is so.
    pub recorder_failure: Option<String>,
}

impl Report {
    /// Whether something differed from what is recorded: a miss, an answer that is too old or cannot be read, a request that is too
    /// long to be looked up, other messages of a WebSocket; or if answers are ambiguous, unless that is allowed.
    pub fn differs(&self) -> bool {
        let ambiguous = if self.allows_ambiguous { 0 } else { self.ambiguous };
        self.missed + self.expired + self.unreadable + self.too_long + self.websocket_differences + ambiguous > 0
    }

    /// Adds what is to be said of the order of answers.
    pub(crate) fn add_findings(&mut self, findings: OrderFindings) {
        self.ambiguous += findings.ambiguous.len() as u64;
        self.ambiguous_answers.extend(findings.ambiguous);
        self.ambiguous_answers.truncate(DETAILS_MAX);
        self.late += findings.late;
        self.untimed += findings.untimed;
    }
}

/// Counts while the proxy runs.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) connections: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) recorded: AtomicU64,
    pub(crate) replayed: AtomicU64,
    pub(crate) forwarded: AtomicU64,
    pub(crate) passed: AtomicU64,
    pub(crate) missed: AtomicU64,
    pub(crate) expired: AtomicU64,
    unreadable: AtomicU64,
    pub(crate) too_long: AtomicU64,
    refused: AtomicU64,
    pub(crate) left_out: AtomicU64,
    pub(crate) faults: AtomicU64,
    pub(crate) abandoned: AtomicU64,
    pub(crate) websocket_differences: AtomicU64,
    details: Mutex<ReportDetails>,
}

#[derive(Debug, Default)]
struct ReportDetails {
    misses: Vec<(Miss, u64)>,
    telemetry: BTreeMap<String, u64>,
    failures: BTreeMap<String, u64>,
    warnings: Vec<String>,
    redacted_calls: u64,
    redacted_exchanges: Vec<u64>,
    recorder_failure: Option<String>,
    /// Of cassettes that are not in use any more.
    order: OrderFindings,
}

/// Counts one more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    fn details<T>(&self, with: impl FnOnce(&mut ReportDetails) -> T) -> T {
        with(&mut self.details.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn miss(&self, miss: &Miss) {
        count(&self.missed);
        self.details(|details| {
            if let Some((_, times)) = details.misses.iter_mut().find(|(known, _)| known == miss) {
                *times += 1;
            } else if details.misses.len() < DETAILS_MAX {
                details.misses.push((miss.clone(), 1));
            }
        });
    }

    /// Telemetry was taken for a service of this name.
    pub(crate) fn telemetry(&self, service: &str) {
        self.details(|details| *details.telemetry.entry(service.to_owned()).or_default() += 1);
    }

    pub(crate) fn unreadable(&self, error: &ReadError) {
        count(&self.unreadable);
        self.warn(error.to_string());
    }

    /// Something that came was refused; says what and why.
    pub(crate) fn refuse(&self, why: impl Into<String>) {
        count(&self.refused);
        self.warn(why);
    }

    pub(crate) fn failure(&self, kind: NetworkErrorKind) {
        // Kinds with a number in them are one kind.
        let words = match kind {
            NetworkErrorKind::Timeout { .. } => "nothing came for too long".to_owned(),
            NetworkErrorKind::TooManyRedirects { .. } => "too many redirections".to_owned(),
            kind => kind.to_string(),
        };
        self.details(|details| *details.failures.entry(words).or_default() += 1);
    }

    pub(crate) fn warn(&self, warning: impl Into<String>) {
        let warning = warning.into();
        self.details(|details| {
            if details.warnings.len() < DETAILS_MAX && !details.warnings.contains(&warning) {
                details.warnings.push(warning);
            }
        });
    }

    /// An answer calls a tool with a placeholder.
    pub(crate) fn redacted_call(&self, number: u64) {
        self.details(|details| {
            if details.redacted_exchanges.contains(&number) {
                return;
            }
            details.redacted_calls += 1;
            if details.redacted_exchanges.len() < DETAILS_MAX {
                details.redacted_exchanges.push(number);
            }
        });
    }

    pub(crate) fn recorder_failed(&self, what: String) {
        self.details(|details| details.recorder_failure = details.recorder_failure.take().or(Some(what)));
    }

    /// What was found of the order of a cassette's answers, which is not used any more.
    pub(crate) fn conclude(&self, findings: OrderFindings) {
        self.details(|details| details.order.add(findings));
    }

    /// All of it, but for what the cassette in use says.
    pub(crate) fn report(&self) -> Report {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut report = self.details(|details| Report {
            connections: of(&self.connections),
            requests: of(&self.requests),
            recorded: of(&self.recorded),
            replayed: of(&self.replayed),
            forwarded: of(&self.forwarded),
            passed: of(&self.passed),
            missed: of(&self.missed),
            misses: details.misses.clone(),
            telemetry: details.telemetry.clone(),
            expired: of(&self.expired),
            unreadable: of(&self.unreadable),
            too_long: of(&self.too_long),
            unused: 0,
            unused_requests: Vec::new(),
            refused: of(&self.refused),
            left_out: of(&self.left_out),
            faults: of(&self.faults),
            abandoned: of(&self.abandoned),
            failures: details.failures.clone(),
            websocket_differences: of(&self.websocket_differences),
            ambiguous: 0,
            ambiguous_answers: Vec::new(),
            allows_ambiguous: false,
            late: 0,
            untimed: 0,
            secrets: Findings::default(),
            redacted_calls: details.redacted_calls,
            redacted_exchanges: details.redacted_exchanges.clone(),
            bypassed: Vec::new(),
            unanswered: Vec::new(),
            warnings: details.warnings.clone(),
            recorder_failure: details.recorder_failure.clone(),
        });
        report.add_findings(self.details(|details| details.order.clone()));
        report
    }
}

/// Why a recorded answer was not found.
pub(crate) type LookupError = NoAnswer<ReadError>;
