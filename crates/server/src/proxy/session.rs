//! A cassette while a proxy uses it: what is looked up on it, and what is recorded to it.

use super::ambiguity::OrderFindings;
use super::client_request::ConnectionId;
use super::error::ProxyError;
use super::options::{CassetteSource, Playback, RecordingRules, Traffic};
use super::order::ReleaseOrder;
use super::report::{DETAILS_MAX, LookupError, Report};
use cassette::matching::{BodyRule, FoundExchange, Player, RecordedExchanges, RedactedExchanges};
use cassette::redact::{Findings, Redaction};
use cassette::{
    Action, Cassette, Lookup, Mode, NetworkErrorKind, OpenExchange, ReadError, RecordError, Recorder, RecorderOptions,
    Request, Response, Verdict,
};
use journal::Durability;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io, thread};
use tokio::sync::oneshot;

/// A cassette while a proxy uses it.
pub(crate) struct Session {
    mode: Mode,
    path: Option<PathBuf>,
    existed: bool,
    cassette: Option<Arc<Cassette>>,
    player: Option<Player<Box<RedactedExchanges<Arc<Cassette>>>>>,
    /// In which order answers from it are given.
    order: Option<ReleaseOrder>,
    recording: Mutex<Option<Recording>>,
    /// What was found in what was recorded, once that is sealed.
    findings: Mutex<Findings>,
    keeping: RecordingRules,
    pub(crate) playback: Playback,
}

/// What is recorded to, and where it goes when it is sealed.
struct Recording {
    recorder: Arc<Recorder>,
    acknowledgements: Sender<Acknowledgement>,
    acknowledger: thread::JoinHandle<()>,
    replaced: Option<ReplacedCassette>,
}

/// A cassette that is to be recorded anew: the new one takes its place when it is complete, and not before.
struct ReplacedCassette {
    new: PathBuf,
    old: PathBuf,
    /// Whether a crash left a recording beside the old one, which would be taken for what follows the new one.
    has_remains: bool,
}

/// A thread that serves writes no more than this many bytes itself.
const SPOT_BYTES_MAX: usize = 256 << 10;

type Acknowledgement = oneshot::Sender<Result<(), RecordError>>;

/// What is done with a request, as far as the cassette decides.
pub(crate) enum RequestPlan {
    /// It is answered by this exchange.
    Replay {
        found: FoundExchange,
        is_expired: bool,
    },
    Record,
    Forward,
    /// Nothing answers it.
    Missing(Box<LookupError>),
    /// What would answer it is too old: its age is `age` seconds.
    Expired {
        position: usize,
        age: i64,
    },
}

impl Session {
    /// Opens a cassette. Gives warnings as well.
    pub(crate) fn open(
        traffic: &Traffic,
        playback: Playback,
        keeping: RecordingRules,
    ) -> Result<(Self, Vec<String>), ProxyError> {
        let mode = traffic.mode;
        let (mut cassette, mut path, mut existed) = (None, None, false);
        match &traffic.source {
            CassetteSource::Loaded(loaded, at) => {
                (cassette, path, existed) = (Some(loaded.clone()), Some(at.clone()), true)
            }
            CassetteSource::Path(at) => {
                existed = is_cassette_at(at);
                path = Some(at.clone());
                if existed && mode != Mode::All {
                    cassette = Some(Arc::new(Cassette::open_with(at, playback.reading)?));
                } else if mode == Mode::None {
                    return Err(ProxyError::NoCassette(at.clone()));
                }
            }
            CassetteSource::Nowhere => {}
        }
        let player = cassette.clone().map(|cassette| {
            let recorded = RedactedExchanges::new(cassette, keeping.redaction.clone());
            Player::new(Box::new(recorded), playback.rules.clone(), playback.repeats)
        });
        let player = player.transpose()?;
        let order = cassette.clone().map(|cassette| ReleaseOrder::new(cassette, playback.latency));
        let records = mode.may_send(existed) && mode != Mode::Passthrough;
        let mut warnings = Vec::new();
        let recording = match path.as_ref().filter(|_| records) {
            Some(path) => Some(Recording::open(path, mode, existed, &keeping, &mut warnings)?),
            None => None,
        };
        let recording = Mutex::new(recording);
        let findings = Mutex::default();
        Ok((Self { mode, path, existed, cassette, player, order, recording, findings, keeping, playback }, warnings))
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether it records to the cassette that is to be used.
    pub(crate) fn records_to(&self, traffic: &Traffic) -> bool {
        let place = |path: &Path| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some((fs::canonicalize(folder).ok()?, path.file_name()?.to_owned()))
        };
        match (&traffic.source, &self.path) {
            (CassetteSource::Path(wanted), Some(path)) => self.recording().is_some() && place(wanted) == place(path),
            _ => false,
        }
    }

    pub(crate) fn cassette(&self) -> Option<&Arc<Cassette>> {
        self.cassette.as_ref()
    }

    /// In which order answers from the cassette are given.
    pub(crate) fn order(&self) -> Option<&ReleaseOrder> {
        self.order.as_ref()
    }

    /// A request is there that is not answered in the order, so nobody waits for it any more.
    pub(crate) fn note_asked(&self, position: usize) {
        if let Some(order) = &self.order {
            order.note(position);
        }
    }

    /// A client ended a connection.
    pub(crate) fn left(&self, connection: ConnectionId) {
        if let Some(order) = &self.order {
            order.left(connection);
        }
    }

    pub(crate) fn redaction(&self) -> Option<&Redaction> {
        self.keeping.redaction.as_deref()
    }

    /// Whether a request has to be known in whole before anything is done with it.
    pub(crate) fn looks_up(&self) -> bool {
        match self.mode {
            Mode::Passthrough | Mode::All => false,
            _ => self.player.is_some(),
        }
    }

    /// Whether the body of a request that is looked up matters, for what it is compared with or sent to.
    pub(crate) fn looks_at_bodies(&self) -> bool {
        let rules = &self.playback.rules;
        self.mode == Mode::New || !matches!(rules.body, BodyRule::Ignored) || !rules.custom.is_empty()
    }

    /// Decides what is done with a request, which then counts as answered if it is to be replayed.
    pub(crate) fn plan(&self, request: &Request<'_>) -> RequestPlan {
        let Some(player) = self.player.as_ref().filter(|_| self.looks_up()) else {
            return self.plan_of(Lookup::Lacks, None, || unreachable!("only what looks up refuses"));
        };
        let mut redacted = request.borrowed();
        if let Some(redaction) = self.redaction() {
            redaction.request(&mut redacted);
        }
        match player.look(&redacted) {
            Ok(Some(found)) => {
                let age = match self.age(found.position) {
                    Ok(age) => age,
                    Err(error) => return RequestPlan::Missing(Box::new(LookupError::Unreadable(error))),
                };
                let plan = self.plan_of(Lookup::Has { age }, Some(found), || unreachable!("it was found"));
                if !matches!(plan, RequestPlan::Replay { .. }) {
                    self.note_asked(found.position);
                }
                plan
            }
            Ok(None) => self.plan_of(Lookup::Lacks, None, || player.explain(&redacted)),
            Err(error) => RequestPlan::Missing(Box::new(LookupError::Unreadable(error))),
        }
    }

    fn plan_of(
        &self,
        lookup: Lookup,
        found: Option<FoundExchange>,
        explain: impl FnOnce() -> LookupError,
    ) -> RequestPlan {
        let age = if let Lookup::Has { age } = lookup { age } else { 0 };
        match (self.mode.decide(self.existed, lookup, self.playback.expiry), found) {
            (Action::Record, _) => RequestPlan::Record,
            (Action::Forward, _) => RequestPlan::Forward,
            (Action::Replay, Some(found)) => RequestPlan::Replay { found, is_expired: false },
            (Action::ReplayExpired, Some(found)) => RequestPlan::Replay { found, is_expired: true },
            (Action::RefuseExpired, Some(FoundExchange { position, .. })) => RequestPlan::Expired { position, age },
            // To explain a miss many requests are compared; others go on meanwhile.
            _ => RequestPlan::Missing(Box::new(tokio::task::block_in_place(explain))),
        }
    }

    /// How old an exchange is, in seconds, if anybody wants to know.
    fn age(&self, position: usize) -> Result<i64, ReadError> {
        let Some(cassette) = self.cassette.as_ref().filter(|_| self.playback.expiry.is_some()) else { return Ok(0) };
        let started_ns = cassette.outline(position)?.exchange.started_ns;
        Ok((now_ns() - started_ns) / 1_000_000_000)
    }

    /// Begins to record an exchange.
    pub(crate) fn begin(&self, started_ns: i64, request: &Request<'_>) -> Result<OpenExchange, RecordError> {
        self.recorder().ok_or(RecordError::Closed)?.begin(started_ns, request)
    }

    /// Whether an exchange is recorded, as far as that is known by now.
    pub(crate) fn keeps(&self, request: &Request<'_>, response: Option<&Response<'_>>) -> bool {
        self.keeping.filter.decide(request, response) == Verdict::Kept
    }

    /// How many bytes wait to be written.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.recording().as_ref().map_or(0, |recording| recording.recorder.queued_bytes())
    }

    /// Returns when everything that was recorded so far survives the death of the program.
    ///
    /// Writing a little takes less time than being woken by another thread. So this thread writes by itself, unless there is much to write or
    /// another thread is writing.
    pub(crate) async fn until_written(&self) -> Result<(), RecordError> {
        let recorder = self.recorder().ok_or(RecordError::Closed)?;
        if let Some(outcome) = recorder.try_sync(SPOT_BYTES_MAX) {
            return outcome;
        }
        drop(recorder);
        let (done, waits) = oneshot::channel();
        let sent = self.recording().as_ref().map(|recording| recording.acknowledgements.send(done));
        match sent {
            Some(Ok(())) => waits.await.unwrap_or(Err(RecordError::Closed)),
            _ => Err(RecordError::Closed),
        }
    }

    fn recorder(&self) -> Option<Arc<Recorder>> {
        self.recording().as_ref().map(|recording| recording.recorder.clone())
    }

    fn recording(&self) -> std::sync::MutexGuard<'_, Option<Recording>> {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Seals what was recorded. What is recorded after that is refused.
    pub(crate) fn finish(&self) -> Result<(), RecordError> {
        let recording = self.recording().take();
        let Some(recording) = recording else { return Ok(()) };
        *self.findings.lock().unwrap_or_else(PoisonError::into_inner) = recording.recorder.findings();
        recording.finish()
    }

    /// Which secrets were found in what was recorded.
    pub(crate) fn findings(&self) -> Findings {
        match self.recording().as_ref() {
            Some(recording) => recording.recorder.findings(),
            None => self.findings.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// What is to be said of the order of its answers.
    pub(crate) fn order_findings(&self) -> OrderFindings {
        match (&self.player, &self.cassette, &self.order) {
            (Some(player), Some(cassette), Some(order)) => {
                OrderFindings::of(cassette, &player.repeated(), &order.report())
            }
            _ => OrderFindings::default(),
        }
    }

    /// Adds what was not asked for to a report.
    pub(crate) fn report_unused(&self, report: &mut Report) {
        let (Some(player), Some(cassette)) = (&self.player, &self.cassette) else { return };
        let unused = player.unused();
        report.unused = unused.len() as u64;
        let lines = unused.iter().take(DETAILS_MAX).filter_map(|&position| {
            let number = cassette.number(position).ok()?;
            Some((number, Cassette::request(cassette, position).ok()?.line()))
        });
        report.unused_requests = lines.collect();
    }
}

impl Recording {
    fn open(
        path: &Path,
        mode: Mode,
        existed: bool,
        keeping: &RecordingRules,
        warnings: &mut Vec<String>,
    ) -> Result<Self, ProxyError> {
        let replaced = (mode == Mode::All && existed).then(|| ReplacedCassette::at(path)).transpose()?;
        let at = replaced.as_ref().map_or(path, |replaced| &replaced.new);
        let is_left_over = replaced.is_some() && recording_of(at).exists();
        let options = || {
            let options = RecorderOptions::default().filter(keeping.filter.clone());
            let options = keeping.notes.iter().cloned().fold(options, RecorderOptions::meta);
            match &keeping.redaction {
                Some(redaction) => options.redaction(redaction.clone()),
                None => options.keep_secrets(),
            }
        };
        let mut recorder = Recorder::open(at, options())?;
        if is_left_over {
            // What a crash left of an earlier try. It was locked until now, so nobody else goes on with it.
            drop(recorder);
            let remains = recording_of(at);
            remove(&remains).map_err(|error| ProxyError::File { action: "remove", path: remains, error })?;
            recorder = Recorder::open(at, options())?;
        }
        warnings.extend(recorder.warnings().iter().cloned());
        let recorder = Arc::new(recorder);
        let (acknowledgements, asked) = mpsc::channel();
        let syncing = recorder.clone();
        let acknowledger = thread::Builder::new().name("acknowledgements".to_owned());
        let acknowledger = acknowledger.spawn(move || acknowledge(&syncing, &asked)).map_err(ProxyError::Threads)?;
        Ok(Self { recorder, acknowledgements, acknowledger, replaced })
    }

    fn finish(self) -> Result<(), RecordError> {
        let Self { recorder, acknowledgements, acknowledger, replaced } = self;
        drop(acknowledgements);
        let _ = acknowledger.join();
        sole(recorder)?.finish()?;
        replaced.map_or(Ok(()), ReplacedCassette::replace)
    }
}

impl ReplacedCassette {
    fn at(path: &Path) -> Result<Self, ProxyError> {
        let (new, old) = (with_ending(path, ".new"), path.to_owned());
        if new.exists() {
            let error = io::Error::new(io::ErrorKind::AlreadyExists, "it is there already; move it away");
            return Err(ProxyError::File { action: "record anew to", path: new, error });
        }
        let has_remains = recording_of(path).exists();
        if has_remains {
            let other = Recorder::open(path, RecorderOptions::default());
            match other.and_then(Recorder::stop) {
                // It is damaged: who records to a cassette leaves it readable.
                Err(_) if Cassette::open(path).is_err() => {}
                outcome => outcome?,
            }
        }
        Ok(Self { new, old, has_remains })
    }

    /// Puts the new cassette in the place of the old one, if anything was recorded.
    fn replace(self) -> Result<(), RecordError> {
        let Self { new, old, has_remains } = self;
        let put = || {
            if !new.exists() {
                return Ok(());
            }
            if Cassette::open(&new).is_ok_and(|cassette| cassette.is_empty()) {
                return fs::remove_file(&new);
            }
            if has_remains {
                remove(&recording_of(&old))?;
            }
            fs::rename(&new, &old)?;
            let folder = old.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            fs::File::open(folder)?.sync_all()
        };
        put().map_err(|error| RecordError::Journal(format!("cannot put {} in its place: {error}", new.display())))
    }
}

/// The recorder, once nobody begins an exchange any more: whoever took it from the session is done in an instant.
fn sole(mut recorder: Arc<Recorder>) -> Result<Recorder, RecordError> {
    for _ in 0..10_000 {
        recorder = match Arc::try_unwrap(recorder) {
            Ok(recorder) => return Ok(recorder),
            Err(shared) => shared,
        };
        thread::sleep(Duration::from_millis(1));
    }
    Err(RecordError::Closed)
}

/// Waits for the recorder, once for all who ask.
fn acknowledge(recorder: &Recorder, asked: &Receiver<Acknowledgement>) {
    while let Ok(first) = asked.recv() {
        let waiting: Vec<_> = std::iter::once(first).chain(asked.try_iter()).collect();
        let outcome = recorder.sync(Durability::Os);
        waiting.into_iter().for_each(|done| drop(done.send(outcome.clone())));
    }
}

/// Removes a file, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn is_cassette_at(path: &Path) -> bool {
    path.exists() || recording_of(path).exists()
}

fn recording_of(cassette: &Path) -> PathBuf {
    with_ending(cassette, ".recording")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Words for a user about an error of the network.
pub(crate) fn kind_name(kind: NetworkErrorKind) -> &'static str {
    match kind {
        NetworkErrorKind::Dns => "dns",
        NetworkErrorKind::Refused => "refused",
        NetworkErrorKind::Tls => "tls",
        NetworkErrorKind::Reset => "reset",
        NetworkErrorKind::Timeout { .. } => "timeout",
        NetworkErrorKind::TooManyRedirects { .. } => "redirects",
        NetworkErrorKind::Protocol => "protocol",
        _ => "other",
    }
}
