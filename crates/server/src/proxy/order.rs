//! In which order answers from a cassette are released.
//!
//! Everything that a client could see while it was recorded has a time on the cassette: a request was there, an answer began, a piece
//! of it came, it was over. These times are a logical clock: in one recording no two are equal. A replay keeps their order, however fast it is:
//!
//! 1. A piece of an answer is given when every answer that is asked for by now has given what came before that piece, and every request that
//!    came before it is there.
//! 2. A request may never come: the program asks for less than it did, or asks only when it has this answer. It is waited for as long
//!    after the request of the waiting answer as it came when it was recorded, and a little longer; never when nothing has happened for [`PATIENCE`]. What
//!    was waited for in vain is not waited for again, and each such wait halves the next ones, so that all of them are short together.
//! 3. After the end of an answer, while others are waiting, nothing is given for [`SETTLING`]: threads of a program that are woken one right after
//!    the other run in any order.
//! 4. An answer that a client does not take holds up others for [`STALL`] only.
//!
//! Of the answers that wait, the one whose next piece came first waits for nothing but requests that are not there, and its own time. So there
//! is always one that goes on.
//!
//! Cost: a lock and a place in a sorted map for each piece.

use super::options::Latency;
use cassette::{BodyReader, Cassette, Exchange, NetworkErrorKind, Outcome, Outline};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::sleep_until;

/// Nothing is waited for when nothing has happened for so long.
const PATIENCE: Duration = Duration::from_secs(2);
/// How much later than it was recorded a request may come that overlapped with the answer that waits for it.
const SLACK: Duration = Duration::from_millis(250);
/// How long a request is waited for that was over before that answer was asked for: most such programs ask for one thing after the other, and have changed.
const SLACK_BEFORE: Duration = Duration::from_millis(50);
/// How long a program is left alone after the end of an answer, while others wait.
const SETTLING: Duration = Duration::from_millis(1);
/// How long others wait for a client to take a piece.
pub(crate) const STALL: Duration = Duration::from_millis(100);

/// A time of the recording: nanoseconds since 1970, and the number of the exchange, by which equal times are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    ns: i64,
    number: u64,
}

impl Moment {
    fn of(exchange: &Exchange<'_>, at_us: u64) -> Self {
        let after = i64::try_from(at_us).unwrap_or(i64::MAX).saturating_mul(1_000);
        Self { ns: exchange.started_ns.saturating_add(after), number: exchange.number }
    }

    /// How long it is after another; nothing if it is before.
    fn after(self, other: Self) -> Duration {
        Duration::from_nanos(u64::try_from(self.ns.saturating_sub(other.ns)).unwrap_or(0))
    }
}

/// From when to when an exchange went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedSpan {
    /// When its request was there.
    pub(crate) asked: Moment,
    /// When its answer was there, as far as that is known: a client may have enough with the last piece, and end the exchange itself.
    pub(crate) answered: Moment,
    /// Whether it is known when its answer was there.
    pub(crate) is_timed: bool,
}

impl RecordedSpan {
    pub(crate) fn of(outline: &Outline<'_>) -> Self {
        let Outline { exchange, request_body, response_body, .. } = outline;
        let last = |body: &Option<BodyReader<'_>>| body.as_ref().and_then(BodyReader::ended_us);
        let head = exchange.response.as_ref().map(|response| response.at_us);
        let is_given = match &exchange.outcome {
            Outcome::Aborted(error) => error.kind == NetworkErrorKind::Other,
            outcome => *outcome == Outcome::Complete,
        };
        let answered = last(response_body).filter(|_| is_given).or(exchange.ended_us);
        let answered = answered.or(last(response_body)).or(head);
        let asked = last(request_body).unwrap_or(0);
        Self {
            asked: Moment::of(exchange, asked),
            answered: Moment::of(exchange, answered.unwrap_or(asked).max(asked)),
            is_timed: exchange.started_ns != 0 && answered.is_some_and(|answered| answered > 0),
        }
    }
}

/// The order of the answers of one cassette.
pub(crate) struct ReleaseOrder {
    cassette: Arc<Cassette>,
    state: Mutex<OrderState>,
    pace: Pace,
}

/// How much later than it was recorded something may come since answers are given later.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pace {
    /// So many times as long; 1 if answers come as soon as they did, or sooner.
    stretch: f64,
    more: Duration,
}

impl Pace {
    fn of(latency: Latency) -> Self {
        match latency {
            Latency::Scaled(speed) if speed > 0.0 && speed < 1.0 => Self { stretch: 1.0 / speed, more: Duration::ZERO },
            Latency::Fixed(more) => Self { stretch: 1.0, more },
            Latency::Recorded | Latency::Scaled(_) | Latency::None => Self { stretch: 1.0, more: Duration::ZERO },
        }
    }

    /// How long something is waited for that came so long after the request.
    fn patience(self, after: Duration) -> Duration {
        let stretched = Duration::try_from_secs_f64(after.as_secs_f64() * self.stretch * 1.25);
        stretched.unwrap_or(Duration::MAX).saturating_add(self.more)
    }
}

struct OrderState {
    /// By position: whether the request was there, or was waited for in vain.
    is_there: Vec<bool>,
    /// All requests before this position were.
    first_missing: usize,
    /// When the first of them was there that was not yet.
    missing: Option<RecordedSpan>,
    /// What was waited for in vain.
    given_up: HashSet<usize>,
    /// The answers that are not over, by when their next piece came.
    live: BTreeMap<Moment, LiveState>,
    /// The positions of those that answer the same question.
    asked_now: HashMap<usize, Vec<usize>>,
    /// Answers to the same question that were asked for at the same time now.
    met: HashSet<(usize, usize)>,
    settled: Instant,
    last_activity: Instant,
    patience: Duration,
    late: u64,
    untimed: u64,
}

struct LiveState {
    /// Since when it is giving the piece before; nothing if it waits.
    giving_since: Option<Instant>,
    wake: Arc<Notify>,
}

/// An answer that is to come, and its place in the order.
pub(crate) struct LiveAnswer<'o> {
    order: &'o ReleaseOrder,
    position: usize,
    question: usize,
    span: RecordedSpan,
    arrived: Instant,
    /// When its next piece came.
    next: Moment,
    started_ns: i64,
    wake: Arc<Notify>,
}

/// What the order came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrderReport {
    /// Pairs of positions that were asked for at the same time and are answers to the same question.
    pub(crate) met: Vec<(usize, usize)>,
    /// Requests that came after an answer had been given that was recorded after they were there.
    pub(crate) late: u64,
    /// Requests that were made while others waited, and of which it is not recorded when their answers were over.
    pub(crate) untimed: u64,
}

impl ReleaseOrder {
    pub(crate) fn new(cassette: Arc<Cassette>, latency: Latency) -> Self {
        let now = Instant::now();
        let state = OrderState {
            is_there: vec![false; cassette.len()],
            first_missing: 0,
            missing: None,
            given_up: HashSet::new(),
            live: BTreeMap::new(),
            asked_now: HashMap::new(),
            met: HashSet::new(),
            settled: now,
            last_activity: now,
            patience: PATIENCE,
            late: 0,
            untimed: 0,
        };
        Self { cassette, state: Mutex::new(state), pace: Pace::of(latency) }
    }

    fn lock(&self) -> MutexGuard<'_, OrderState> {
        // Nothing is left half done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request is there that is not answered in the order, such as one for a WebSocket: nobody waits for it.
    pub(crate) fn note(&self, position: usize) {
        let mut state = self.lock();
        state.arrive(position);
        state.wake_first();
    }

    /// A request is there that the exchange at this position answers.
    pub(crate) fn enter(&self, (position, question): (usize, usize), outline: &Outline<'_>) -> LiveAnswer<'_> {
        let span = RecordedSpan::of(outline);
        let wake = Arc::new(Notify::new());
        let mut state = self.lock();
        state.arrive(position);
        state.untimed += u64::from(!span.is_timed && !state.live.is_empty());
        let others = state.asked_now.entry(question).or_default();
        let met = others.last().map(|&other| (other, position));
        others.push(position);
        state.met.extend(met);
        state.live.insert(span.asked, LiveState { giving_since: None, wake: wake.clone() });
        state.wake_first();
        let (next, started_ns) = (span.asked, outline.exchange.started_ns);
        LiveAnswer { order: self, position, question, span, arrived: Instant::now(), next, started_ns, wake }
    }

    pub(crate) fn report(&self) -> OrderReport {
        let state = self.lock();
        OrderReport { met: state.met.iter().copied().collect(), late: state.late, untimed: state.untimed }
    }
}

impl OrderState {
    fn arrive(&mut self, position: usize) {
        self.last_activity = Instant::now();
        if self.given_up.remove(&position) {
            // It was slow, and not gone.
            self.patience = (self.patience * 2).min(PATIENCE);
            self.late += 1;
        }
        self.leave_out(position);
    }

    /// A request is not waited for, or no longer.
    fn leave_out(&mut self, position: usize) {
        self.is_there[position] = true;
        if position == self.first_missing {
            self.missing = None;
        }
    }

    /// When the first request was there that is not yet.
    fn first_missing(&mut self, cassette: &Cassette) -> Option<RecordedSpan> {
        while self.missing.is_none() && self.first_missing < self.is_there.len() {
            let at = self.first_missing;
            // What cannot be read says so when it is asked for.
            self.missing = match self.is_there[at] {
                false => cassette.outline(at).ok().map(|outline| RecordedSpan::of(&outline)),
                true => None,
            };
            if self.missing.is_none() {
                self.first_missing += 1;
            }
        }
        self.missing
    }

    /// An answer to a question is not under way any more.
    fn answered(&mut self, question: usize, position: usize) {
        if let Some(others) = self.asked_now.get_mut(&question) {
            others.retain(|&other| other != position);
            if others.is_empty() {
                self.asked_now.remove(&question);
            }
        }
    }

    /// Wakes the first answer that waits: nothing but its turn can have come.
    fn wake_first(&self) {
        if let Some(first) = self.live.values().find(|live| live.giving_since.is_none()) {
            first.wake.notify_one();
        }
    }

    /// Does not wait any more for requests that were there before a moment.
    fn give_up(&mut self, cassette: &Cassette, before: Moment) {
        while self.first_missing(cassette).is_some_and(|missing| missing.asked < before) {
            self.given_up.insert(self.first_missing);
            self.leave_out(self.first_missing);
        }
        self.patience /= 2;
        self.last_activity = Instant::now();
    }
}

impl LiveAnswer<'_> {
    /// Whether what came at this time may be given now. If so, it counts as given when the next piece is announced, or all is over.
    pub(crate) fn is_next(&mut self, at_us: u64) -> bool {
        let mut state = self.order.lock();
        let moment = self.moment(at_us);
        let may = self.look(&mut state, moment, Instant::now()).is_ok();
        if may {
            self.give(&mut state, moment);
        }
        may
    }

    /// Waits for when what came at this time may be given, and is due.
    pub(crate) async fn turn(&mut self, at_us: u64, due: Option<Instant>) {
        let moment = self.moment(at_us);
        {
            let mut state = self.order.lock();
            self.put(&mut state, moment, None);
            state.wake_first();
        }
        if let Some(due) = due {
            sleep_until(due.into()).await;
        }
        let since = Instant::now();
        loop {
            let until = {
                let mut state = self.order.lock();
                match self.look(&mut state, moment, since) {
                    Ok(()) => return self.give(&mut state, moment),
                    Err(until) => until,
                }
            };
            // A word that came meanwhile is kept for who asks for it.
            match until {
                Some(until) => tokio::select! {
                    () = self.wake.notified() => {}
                    () = sleep_until(until.into()) => {}
                },
                None => self.wake.notified().await,
            }
        }
    }

    /// The last piece goes to the client next, who may ask again when it has that: what is asked from now on was not asked at the same time.
    pub(crate) fn answered(&self) {
        self.order.lock().answered(self.question, self.position);
    }

    /// Whether others wait.
    pub(crate) fn has_company(&self) -> bool {
        self.order.lock().live.len() > 1
    }

    /// All of it has gone to the client, which is left alone with it for a moment.
    pub(crate) fn complete(self) {
        let mut state = self.order.lock();
        if state.live.len() > 1 {
            state.settled = Instant::now() + SETTLING;
        }
    }

    fn moment(&self, at_us: u64) -> Moment {
        let after = i64::try_from(at_us).unwrap_or(i64::MAX).saturating_mul(1_000);
        // What came before the request was there, such as an answer to its head, comes with it.
        Moment { ns: self.started_ns.saturating_add(after), ..self.span.asked }.max(self.next)
    }

    fn put(&mut self, state: &mut OrderState, moment: Moment, giving_since: Option<Instant>) {
        state.live.remove(&self.next);
        self.next = moment;
        state.live.insert(moment, LiveState { giving_since, wake: self.wake.clone() });
    }

    fn give(&mut self, state: &mut OrderState, moment: Moment) {
        let now = Instant::now();
        state.last_activity = now;
        self.put(state, moment, Some(now));
        // The next one may have to look how long this one takes.
        state.wake_first();
    }

    /// Whether something may be given now that is waited with since a time; if not, until when that is so at the latest, if somebody
    /// has to look then.
    fn look(&self, state: &mut OrderState, moment: Moment, since: Instant) -> Result<(), Option<Instant>> {
        let now = Instant::now();
        if now < state.settled {
            return Err(Some(state.settled));
        }
        for (_, other) in state.live.range(..moment).filter(|(at, _)| at.number != moment.number) {
            match other.giving_since.map(|since| since + STALL) {
                Some(until) if now >= until => {}
                until => return Err(until),
            }
        }
        let cassette = &*self.order.cassette;
        let Some(missing) = state.first_missing(cassette).filter(|missing| missing.asked < moment) else {
            return Ok(());
        };
        let until = self.gives_up(state, missing, since);
        if now < until {
            return Err(Some(until));
        }
        state.give_up(cassette, moment);
        Ok(())
    }

    /// Until when a request is waited for.
    fn gives_up(&self, state: &OrderState, missing: RecordedSpan, since: Instant) -> Instant {
        let slack = if missing.answered > self.span.asked { SLACK } else { SLACK_BEFORE };
        let slack = slack.mul_f64(state.patience.as_secs_f64() / PATIENCE.as_secs_f64());
        let pace = self.order.pace;
        let later = |from: Instant, by: Duration| from.checked_add(by).unwrap_or(from + PATIENCE);
        let expected = later(self.arrived, pace.patience(missing.asked.after(self.span.asked)).saturating_add(slack));
        let quiet = later(state.last_activity, state.patience.saturating_add(pace.more));
        expected.max(state.last_activity + slack).min(quiet).min(expected.max(since) + state.patience)
    }
}

impl Drop for LiveAnswer<'_> {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        state.live.remove(&self.next);
        state.answered(self.question, self.position);
        state.last_activity = Instant::now();
        state.wake_first();
    }
}
