//! What waits to be written: bounded in bytes, in the order it was given.
//!
//! Giving something takes a lock, a number and a place in a list. If the queue is full, the caller waits until there is room, or is told
//! so, as they wish; nothing is dropped. After a failure everything is refused, with what failed.
//!
//! One thread at a time writes: most of the time the recorder's own. A caller that waits until the system has everything writes what is
//! there instead of asking for it, if nobody writes just then: to be told by another thread takes longer than to write.

use super::TryRecordError;
use super::redacting::RecordingRedaction;
use crate::error::RecordError;
use crate::exchange::{Exchange, NetworkError, Outcome};
use crate::message::{Body, Header};
use crate::record::event::{self, Event};
use crate::record::retell::retell;
use journal::{Durability, Journal};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// What is to be written.
#[derive(Debug)]
pub(crate) enum QueueItem {
    /// An exchange, to be encoded by the writer.
    Whole(Box<Exchange<'static>>),
    /// A frame.
    Frame(Vec<u8>),
}

impl QueueItem {
    /// About how many bytes it keeps in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Whole(exchange) => weight(exchange),
            Self::Frame(frame) => frame.len() + size_of::<Self>(),
        }
    }
}

/// About how many bytes an exchange keeps in memory.
pub(crate) fn weight(exchange: &Exchange<'_>) -> usize {
    let request = &exchange.request;
    let line = request.method.len() + request.scheme.len() + request.host.len() + request.target.len();
    let asked = line + of_message(&request.headers, &request.trailers, request.body.as_ref());
    let answered = exchange.response.as_ref().map_or(0, |response| {
        response.reason.len() + of_message(&response.headers, &response.trailers, response.body.as_ref())
    });
    let informational = exchange.informational.iter();
    let informational: usize = informational
        .map(|informational| {
            informational.reason.len() + of_headers(&informational.headers) + size_of_val(informational)
        })
        .sum();
    let frames = exchange.frames.iter().flatten();
    let frames: usize = frames.map(|frame| frame.payload.len() + size_of_val(frame)).sum();
    let notes = exchange.notes.iter();
    let notes: usize = notes.map(|note| note.name.len() + note.value.len() + size_of_val(note)).sum();
    let error = if let Outcome::Aborted(error) = &exchange.outcome { error.message.len() } else { 0 };
    size_of::<QueueItem>() + asked + answered + informational + frames + notes + error
}

fn of_message(headers: &[Header<'_>], trailers: &[Header<'_>], body: Option<&Body<'_>>) -> usize {
    let body = body.map_or(0, |body| body.bytes().len() + size_of_val(body.chunks()));
    of_headers(headers) + of_headers(trailers) + body
}

fn of_headers(headers: &[Header<'_>]) -> usize {
    headers.iter().map(|header| header.name.len() + header.value.len() + size_of_val(header)).sum()
}

/// For how many items there is room from the beginning: making some takes longer than giving one.
const ITEMS_AT_FIRST: usize = 4096;

/// Which number an exchange is recorded under.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExchangeNumbering {
    /// The next one.
    Next,
    /// The one that it has.
    Started,
}

/// A queue between those who record and the one who writes.
#[derive(Debug)]
pub(crate) struct WriteQueue {
    state: Mutex<QueueState>,
    bytes_max: usize,
    /// Somebody gave something, or wants something.
    work: Condvar,
    /// There is room, or something is written.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    items: Vec<QueueItem>,
    /// An empty list with the room of one that was written.
    spare: Vec<QueueItem>,
    /// Somebody has taken items and writes them.
    is_writing: bool,
    /// How many wait for progress; telling nobody costs a call into the system as well.
    waiting: usize,
    bytes: usize,
    /// How many items were given, and how many are written and as durable as the recorder makes them.
    given: u64,
    done: u64,
    /// The items below this one are wanted on the disk.
    fsync_wanted: u64,
    fsynced: u64,
    next_number: u64,
    /// The numbers that were given to exchanges which are not recorded yet.
    started: BTreeSet<u64>,
    /// Nothing is taken any more. What is left is with who closed it.
    is_closed: bool,
    /// What the journal holds back is to be written.
    is_held: bool,
    /// Nothing is to be written any more.
    is_over: bool,
    /// There is a writer.
    is_attended: bool,
    /// The writer sleeps; waking it costs a call into the system, so nobody does it in vain.
    is_idle: bool,
    failure: Option<RecordError>,
}

impl WriteQueue {
    pub(crate) fn new(bytes_max: usize, next_number: u64) -> Self {
        let [items, spare] = [(); 2].map(|()| Vec::with_capacity(ITEMS_AT_FIRST));
        let state = QueueState { items, spare, next_number, ..QueueState::default() };
        Self { state: Mutex::new(state), bytes_max, work: Condvar::new(), progress: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Nothing is left half done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of an exchange that is recorded from now on.
    pub(crate) fn number(&self) -> Result<u64, RecordError> {
        self.lock().next_number()
    }

    /// The number of an exchange that is recorded later; if there is none left, one that is refused then.
    pub(crate) fn start(&self) -> u64 {
        let mut state = self.lock();
        let Ok(number) = state.next_number() else { return u64::MAX };
        state.started.insert(number);
        number
    }

    /// Takes a number for an exchange that is recorded from now on.
    pub(crate) fn take_number(&self, number: u64) -> Result<(), RecordError> {
        self.lock().take_number(number)
    }

    /// Gives an item, waiting for room.
    pub(crate) fn give(&self, item: QueueItem) -> Result<(), RecordError> {
        let bytes = item.bytes();
        let state = self.room_for(bytes)?;
        self.put(state, item, bytes);
        Ok(())
    }

    /// Gives an exchange under the next number, waiting for room; says the number.
    pub(crate) fn give_next(&self, exchange: Box<Exchange<'static>>) -> Result<u64, RecordError> {
        let bytes = weight(&exchange);
        self.put_whole(self.room_for(bytes)?, exchange, bytes, ExchangeNumbering::Next)
    }

    /// Gives an exchange under its number, waiting for room.
    pub(crate) fn give_started(&self, exchange: Box<Exchange<'static>>) -> Result<(), RecordError> {
        let bytes = weight(&exchange);
        self.put_whole(self.room_for(bytes)?, exchange, bytes, ExchangeNumbering::Started).map(drop)
    }

    /// Gives an exchange if there is room, and says its number; gives the exchange back otherwise.
    pub(crate) fn try_give(
        &self,
        exchange: Box<Exchange<'static>>,
        numbering: ExchangeNumbering,
    ) -> Result<u64, TryRecordError> {
        let bytes = weight(&exchange);
        let state = self.lock();
        state.is_open().map_err(TryRecordError::Failed)?;
        if !state.has_room(bytes, self.bytes_max) {
            return Err(TryRecordError::Full(exchange));
        }
        self.put_whole(state, exchange, bytes, numbering).map_err(TryRecordError::Failed)
    }

    /// The state, once there is room.
    fn room_for(&self, bytes: usize) -> Result<MutexGuard<'_, QueueState>, RecordError> {
        let mut state = self.lock();
        loop {
            state.is_open()?;
            if state.has_room(bytes, self.bytes_max) {
                return Ok(state);
            }
            self.work.notify_one();
            state = self.wait_for_progress(state);
        }
    }

    fn wait_for_progress<'q>(&'q self, mut state: MutexGuard<'q, QueueState>) -> MutexGuard<'q, QueueState> {
        state.waiting += 1;
        let mut state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Tells those who wait that something is different.
    fn tell(&self, state: MutexGuard<'_, QueueState>) {
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.progress.notify_all();
        }
    }

    fn put_whole(
        &self,
        mut state: MutexGuard<'_, QueueState>,
        mut exchange: Box<Exchange<'static>>,
        bytes: usize,
        numbering: ExchangeNumbering,
    ) -> Result<u64, RecordError> {
        match numbering {
            ExchangeNumbering::Next => exchange.number = state.next_number()?,
            ExchangeNumbering::Started => state.take_number(exchange.number)?,
        }
        let number = exchange.number;
        self.put(state, QueueItem::Whole(exchange), bytes);
        Ok(number)
    }

    fn put(&self, mut state: MutexGuard<'_, QueueState>, item: QueueItem, bytes: usize) {
        state.items.push(item);
        state.bytes += bytes;
        state.given += 1;
        self.wake(state);
    }

    fn wake(&self, mut state: MutexGuard<'_, QueueState>) {
        if std::mem::take(&mut state.is_idle) {
            drop(state);
            self.work.notify_one();
        }
    }

    /// Whether the first `given` items are written; they are now if nobody writes and what is there has at most `bytes_max` bytes.
    /// `None` if somebody is to be waited for.
    pub(crate) fn try_write(
        &self,
        given: u64,
        bytes_max: usize,
        (journal, writing): (&Journal, &FrameWriter),
    ) -> Option<Result<(), RecordError>> {
        let mut state = self.lock();
        // To wait for the disk is the writer's: one sync then serves all who want it.
        let is_short = state.bytes <= bytes_max && writing.durability != Durability::Fsync;
        if is_short && !state.is_writing && state.failure.is_none() && state.done < given {
            let taken = TakenItems { is_for_disk: false, ..state.take() };
            drop(state);
            self.write_taken(taken, journal, writing);
            state = self.lock();
        }
        if state.done >= given { Some(Ok(())) } else { state.failure.clone().map(Err) }
    }

    /// As [`WriteQueue::wait`], but writes what is there if nobody does.
    pub(crate) fn write_and_wait(
        &self,
        given: u64,
        durability: Durability,
        (journal, writing): (&Journal, &FrameWriter),
    ) -> Result<(), RecordError> {
        if durability != Durability::Fsync
            && let Some(outcome) = self.try_write(given, usize::MAX, (journal, writing))
        {
            return outcome;
        }
        self.wait(given, durability)
    }

    /// Waits until the first `given` items are written, on the disk if that is wanted.
    pub(crate) fn wait(&self, given: u64, durability: Durability) -> Result<(), RecordError> {
        let mut state = self.lock();
        if durability == Durability::Fsync && state.fsync_wanted < given {
            state.fsync_wanted = given;
        }
        if state.reached(durability) < given {
            // A caller that waits does not want to wait until the writer has lingered.
            self.work.notify_one();
        }
        while state.reached(durability) < given {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            state = self.wait_for_progress(state);
        }
        Ok(())
    }

    /// How many items were given so far.
    pub(crate) fn given(&self) -> u64 {
        self.lock().given
    }

    /// How many bytes wait.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().bytes
    }

    /// What failed, if anything did.
    pub(crate) fn failure(&self) -> Option<RecordError> {
        self.lock().failure.clone()
    }

    /// Takes nothing any more, and gives what is left, with its bytes, to be written by the caller.
    pub(crate) fn close(&self) -> (Vec<QueueItem>, usize) {
        let mut state = self.lock();
        state.is_closed = true;
        if state.waiting > 0 {
            // A caller that waits for room is refused.
            self.progress.notify_all();
        }
        while state.is_writing {
            state = self.wait_for_progress(state);
        }
        (std::mem::take(&mut state.items), std::mem::take(&mut state.bytes))
    }

    /// Has the writer hand over to the system what the journal holds back, unless the recorder ends before there is a writer.
    pub(crate) fn guard(&self) {
        let mut state = self.lock();
        state.is_held = true;
        self.wake(state);
    }

    /// Lets the writer end; it has let go of the journal then.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        while state.is_writing {
            state = self.wait_for_progress(state);
        }
        let is_attended = state.is_attended;
        drop(state);
        if is_attended {
            self.work.notify_one();
        }
    }

    /// Whether nothing is to be written any more.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// Refuses everything from now on, and tells those who wait.
    pub(crate) fn fail(&self, failure: RecordError) {
        let mut state = self.lock();
        state.failure.get_or_insert(failure);
        self.tell(state);
    }

    /// Writes what is given until the recorder ends. The writer's thread is in here all the time; it has the journal only while it
    /// writes.
    pub(crate) fn write(&self, journal: &Weak<Journal>, writing: &FrameWriter) {
        while let Some(taken) = self.next() {
            let Some(journal) = journal.upgrade() else { return };
            self.write_taken(taken, journal, writing);
        }
    }

    /// Writes what was taken, and lets go of the journal before anybody knows.
    fn write_taken(&self, mut taken: TakenItems, journal: impl Deref<Target = Journal>, writing: &FrameWriter) {
        let _watch = PoisonGuard(self);
        let level = if taken.is_for_disk { Durability::Fsync } else { writing.durability };
        let outcome = append(&journal, &mut taken.items, level, writing.redacting.as_ref());
        drop(journal);
        let mut state = self.lock();
        match outcome {
            Ok(()) => {
                state.done = taken.given;
                state.fsynced = if level == Durability::Fsync { taken.given } else { state.fsynced };
            }
            Err(failure) => state.failure = Some(failure),
        }
        state.bytes -= taken.bytes;
        taken.items.clear();
        state.spare = taken.items;
        state.is_writing = false;
        // The writer looks by itself soon, unless it sleeps.
        let has_more = state.is_due() && (state.is_idle || state.waiting > 0);
        self.tell(state);
        if has_more {
            self.work.notify_one();
        }
    }

    /// Sleeps until there may be work. Being woken costs those who record more than all else they do, so the writer looks a few
    /// times by itself first: what is recorded in close succession wakes nobody.
    fn sleep<'q>(&'q self, mut state: MutexGuard<'q, QueueState>, lingered: &mut u32) -> MutexGuard<'q, QueueState> {
        if *lingered < LINGERS {
            *lingered += 1;
            return self.work.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_idle = true;
        self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The items that come next; nothing if it is over.
    fn next(&self) -> Option<TakenItems> {
        let mut lingered = 0;
        let mut state = self.lock();
        state.is_attended = true;
        while !state.is_over && state.failure.is_none() {
            if !state.is_writing && state.is_due() {
                state.is_idle = false;
                return Some(state.take());
            }
            state = self.sleep(state, &mut lingered);
        }
        None
    }
}

/// What becomes of items on their way to the journal.
pub(crate) struct FrameWriter {
    /// How durable everything is made.
    pub(crate) durability: Durability,
    /// What is a secret.
    pub(crate) redacting: Option<RecordingRedaction>,
}

/// Items that somebody writes.
struct TakenItems {
    items: Vec<QueueItem>,
    bytes: usize,
    /// How many were given with them.
    given: u64,
    /// Whether they are wanted on the disk.
    is_for_disk: bool,
}

/// How long the writer looks again before it has to be woken, and how often.
const LINGER: Duration = Duration::from_millis(1);
const LINGERS: u32 = 5;

/// Tells every caller that waits if the writer dies.
struct PoisonGuard<'q>(&'q WriteQueue);

impl Drop for PoisonGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = self.0.lock();
            state.failure.get_or_insert(RecordError::WriterDied);
            state.is_writing = false;
            drop(state);
            self.0.progress.notify_all();
            self.0.work.notify_all();
        }
    }
}

fn append(
    journal: &Journal,
    items: &mut Vec<QueueItem>,
    level: Durability,
    redacting: Option<&RecordingRedaction>,
) -> Result<(), RecordError> {
    frames(items.drain(..), redacting, &mut |frame| append_frame(journal, frame))?;
    journal.sync(level).map_err(|error| RecordError::Journal(error.to_string()))
}

/// A receiver of frames.
type FrameSink<'p> = dyn FnMut(&[u8]) -> Result<(), RecordError> + 'p;

/// Gives items as frames, without secrets.
pub(crate) fn frames(
    items: impl IntoIterator<Item = QueueItem>,
    redacting: Option<&RecordingRedaction>,
    put: &mut FrameSink<'_>,
) -> Result<(), RecordError> {
    let mut frame = Vec::new();
    for item in items {
        match item {
            QueueItem::Whole(mut exchange) => {
                if let Some(redacting) = redacting {
                    redacting.exchange(&mut exchange);
                }
                whole(&exchange, &mut frame, put)?;
            }
            QueueItem::Frame(bytes) => put(&bytes)?,
        }
    }
    Ok(())
}

/// Gives an exchange as one frame, or as several if what stands for secrets has made it too long for one.
fn whole(exchange: &Exchange<'_>, frame: &mut Vec<u8>, give: &mut FrameSink<'_>) -> Result<(), RecordError> {
    frame.clear();
    event::encode_whole(frame, exchange);
    if frame.len() <= journal::FRAME_BYTES_MAX {
        return give(frame);
    }
    let mut is_cut = false;
    retell(exchange, &mut |event| {
        let mut put = |event: &Event<'_>| {
            frame.clear();
            event.encode(frame, exchange.number);
            frame.len() <= journal::FRAME_BYTES_MAX
        };
        let fits = match event {
            Event::End { .. } if is_cut => shortened(event).is_some_and(|event| put(&event)),
            event if put(event) => true,
            event => {
                is_cut = true;
                shortened(event).is_some_and(|event| put(&event))
            }
        };
        if fits { give(frame) } else { Ok(()) }
    })
}

/// What is recorded of something that has become too long for a frame. The exchange is truncated then.
fn shortened<'e>(event: &'e Event<'_>) -> Option<Event<'e>> {
    match event {
        Event::Begin { started_ns, has_body, request } => {
            let mut head = request.head();
            head.headers.clear();
            head.target.0.to_mut().truncate(LINE_BYTES_MAX);
            Some(Event::Begin { started_ns: *started_ns, has_body: *has_body, request: head })
        }
        Event::ResponseHead { has_body, response } => {
            let mut head = response.head();
            head.headers.clear();
            head.reason.0.to_mut().truncate(LINE_BYTES_MAX);
            Some(Event::ResponseHead { has_body: *has_body, response: head })
        }
        Event::End { ended_us, outcome, .. } => {
            let outcome = match outcome {
                Outcome::Complete => Outcome::Truncated,
                Outcome::Aborted(error) => {
                    let mut message = error.message.borrowed();
                    message.0.to_mut().truncate(LINE_BYTES_MAX);
                    Outcome::Aborted(NetworkError { kind: error.kind, message })
                }
                outcome => outcome.borrowed(),
            };
            Some(Event::End { ended_us: *ended_us, request: Vec::new(), response: Vec::new(), outcome })
        }
        _ => None,
    }
}

/// How much stays of a line that is too long.
const LINE_BYTES_MAX: usize = 64 << 10;

pub(crate) fn append_frame(journal: &Journal, frame: &[u8]) -> Result<(), RecordError> {
    journal.append(frame, Durability::None).map(drop).map_err(|error| RecordError::Journal(error.to_string()))
}

impl QueueState {
    /// Whether there is something to write, in the queue or in the journal.
    fn is_due(&self) -> bool {
        !self.items.is_empty() || self.fsync_wanted > self.fsynced || self.is_held
    }

    /// Takes what is there, to be written. It counts until it is: the bound is on what is in memory.
    fn take(&mut self) -> TakenItems {
        self.is_writing = true;
        self.is_held = false;
        let items = std::mem::replace(&mut self.items, std::mem::take(&mut self.spare));
        let is_for_disk = self.fsync_wanted > self.fsynced;
        TakenItems { items, bytes: self.bytes, given: self.given, is_for_disk }
    }

    /// Whether anything is taken still.
    fn is_open(&self) -> Result<(), RecordError> {
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None if self.is_closed => Err(RecordError::Closed),
            None => Ok(()),
        }
    }

    /// The next number, which is taken. The last number of all is never given, so there is always one after it.
    fn next_number(&mut self) -> Result<u64, RecordError> {
        let number = self.next_number;
        self.next_number = number.checked_add(1).ok_or(RecordError::NoNumbersLeft)?;
        Ok(number)
    }

    /// Takes a number that was given, or one above all that were.
    fn take_number(&mut self, number: u64) -> Result<(), RecordError> {
        if self.started.remove(&number) {
            return Ok(());
        }
        if number < self.next_number {
            return Err(RecordError::NumberTaken(number));
        }
        self.next_number = number.checked_add(1).ok_or(RecordError::NoNumbersLeft)?;
        Ok(())
    }

    /// An item that is larger than the queue goes in when nothing else is there.
    fn has_room(&self, bytes: usize, bytes_max: usize) -> bool {
        self.bytes == 0 || self.bytes.saturating_add(bytes) <= bytes_max
    }

    fn reached(&self, durability: Durability) -> u64 {
        if durability == Durability::Fsync { self.fsynced } else { self.done }
    }
}

/// The frame of what happened.
pub(crate) fn frame_of(event: &Event<'_>, number: u64) -> Result<QueueItem, RecordError> {
    let mut frame = Vec::new();
    event.encode(&mut frame, number);
    if frame.len() > journal::FRAME_BYTES_MAX {
        return Err(RecordError::TooLong { bytes: frame.len() });
    }
    Ok(QueueItem::Frame(frame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use journal::simulated::SimulatedDisk;
    use std::sync::Arc;

    fn dead() -> WriteQueue {
        let queue = WriteQueue::new(1, 0);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let _watch = PoisonGuard(&queue);
                panic!("the writer dies");
            });
            assert!(writer.join().is_err());
        });
        queue
    }

    #[test]
    fn a_dead_writer_is_an_error_for_all() {
        let queue = dead();
        assert!(matches!(queue.give(QueueItem::Frame(vec![1])), Err(RecordError::WriterDied)));
        assert!(matches!(queue.wait(1, Durability::Os), Err(RecordError::WriterDied)));
    }

    fn journal() -> Journal {
        Journal::open(Arc::new(SimulatedDisk::new()), journal::Options::default()).unwrap().0
    }

    #[test]
    fn who_waits_writes_if_nobody_does() {
        let (queue, journal) = (WriteQueue::new(1 << 20, 0), Arc::new(journal()));
        let writing = FrameWriter { durability: Durability::Os, redacting: None };
        for given in 1..=3 {
            queue.give(QueueItem::Frame(vec![1])).unwrap();
            queue.write_and_wait(given, Durability::Os, (&journal, &writing)).unwrap();
            assert_eq!((journal.progress().appended, queue.bytes()), (given, 0));
        }
        assert!(queue.close().0.is_empty());
        queue.end();
        queue.write(&Arc::downgrade(&journal), &writing);
    }

    /// What is left when the recorder ends is in nothing but memory while it is sealed, if that does not take long.
    #[test]
    fn the_writer_writes_what_the_journal_holds_back_while_somebody_seals() {
        let options = journal::Options::default().beginning(Durability::None);
        let (queue, journal) =
            (WriteQueue::new(1 << 20, 0), Journal::open(Arc::new(SimulatedDisk::new()), options).unwrap().0);
        let journal = Arc::new(journal);
        let writing = FrameWriter { durability: Durability::Os, redacting: None };
        thread::scope(|scope| {
            queue.give(QueueItem::Frame(vec![1])).unwrap();
            let (left, bytes) = queue.close();
            assert!(left.len() == 1 && bytes > 0 && queue.bytes() == 0);
            frames(left, None, &mut |frame| append_frame(&journal, frame)).unwrap();
            queue.guard();
            assert!(!journal.has_begun());
            let writer = scope.spawn(|| queue.write(&Arc::downgrade(&journal), &writing));
            while journal.progress().written == 0 {
                thread::yield_now();
            }
            queue.end();
            writer.join().unwrap();
        });
        assert!(Arc::into_inner(journal).unwrap().has_begun());
    }

    #[test]
    fn what_is_short_is_written_at_once() {
        let (queue, journal) = (WriteQueue::new(1 << 20, 0), journal());
        let writing = FrameWriter { durability: Durability::Os, redacting: None };
        assert!(matches!(queue.try_write(0, 1_000, (&journal, &writing)), Some(Ok(()))));
        queue.give(QueueItem::Frame(vec![1; 2_000])).unwrap();
        assert!(queue.try_write(1, 1_000, (&journal, &writing)).is_none());
        let to_disk = FrameWriter { durability: Durability::Fsync, redacting: None };
        assert!(queue.try_write(1, 10_000, (&journal, &to_disk)).is_none() && journal.progress().appended == 0);
        assert!(matches!(queue.try_write(1, 10_000, (&journal, &writing)), Some(Ok(()))));
        assert_eq!((journal.progress().appended, queue.bytes()), (1, 0));
        assert!(matches!(dead().try_write(1, 10_000, (&journal, &writing)), Some(Err(RecordError::WriterDied))));
    }

    #[test]
    fn what_is_waited_for_is_written_whoever_writes() {
        let (queue, journal) = (WriteQueue::new(1 << 10, 0), Arc::new(journal()));
        let writing = FrameWriter { durability: Durability::Os, redacting: None };
        thread::scope(|scope| {
            let writer = scope.spawn(|| queue.write(&Arc::downgrade(&journal), &writing));
            let recording = |durability| {
                for _ in 0..200 {
                    queue.give(QueueItem::Frame(vec![1; 100])).unwrap();
                    let given = queue.given();
                    queue.write_and_wait(given, durability, (&journal, &writing)).unwrap();
                    assert!(journal.progress().appended >= given);
                }
            };
            let levels = [Durability::Os, Durability::Os, Durability::Fsync, Durability::None];
            let threads = levels.map(|durability| scope.spawn(move || recording(durability)));
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(queue.close().0.is_empty());
            queue.end();
            writer.join().unwrap();
        });
        assert_eq!((journal.progress().appended, queue.bytes()), (800, 0));
    }

    #[test]
    fn numbers_are_taken_once_and_end() {
        let queue = WriteQueue::new(1, 3);
        assert_eq!((queue.start(), queue.number().unwrap(), queue.start()), (3, 4, 5));
        assert!(queue.take_number(5).is_ok() && queue.take_number(3).is_ok());
        assert!(matches!(queue.take_number(3), Err(RecordError::NumberTaken(3))));
        assert!(matches!(queue.take_number(4), Err(RecordError::NumberTaken(4))));
        assert!(queue.take_number(u64::MAX - 1).is_ok());
        assert!(matches!(queue.number(), Err(RecordError::NoNumbersLeft)));
        assert!(matches!(queue.take_number(queue.start()), Err(RecordError::NoNumbersLeft)));
    }

    #[test]
    fn the_weight_counts_all_that_can_be_long() {
        let mut exchange = Exchange::default();
        let empty = weight(&exchange);
        let body = Body::from_parts("", vec![crate::message::Chunk::default(); 100]).unwrap();
        exchange.request.body = Some(body);
        exchange.request.trailers = vec![Header::new("t", vec![b'x'; 100])];
        assert!(weight(&exchange) >= empty + 1_700);
    }
}
