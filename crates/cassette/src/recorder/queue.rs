//! What waits to be written: bounded in bytes, in the order it was given.
//!
//! Giving something takes a lock, a number and a place in a list. Who finds the queue full waits until there is room, or is told
//! so, as they wish; nothing is dropped. After a failure everything is refused, with what failed.

use crate::error::RecordError;
use crate::exchange::Exchange;
use crate::record::event::{self, Event};
use crate::redact::Redaction;
use journal::{Durability, Journal};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What is to be written.
#[derive(Debug)]
pub(crate) enum Item {
    /// An exchange, to be encoded by the writer.
    Whole(Box<Exchange<'static>>),
    /// A frame.
    Frame(Vec<u8>),
}

impl Item {
    /// About how many bytes it keeps in memory.
    fn bytes(&self) -> usize {
        match self {
            Self::Whole(exchange) => weight(exchange),
            Self::Frame(frame) => frame.len() + size_of::<Self>(),
        }
    }
}

/// About how many bytes an exchange keeps in memory.
pub(crate) fn weight(exchange: &Exchange<'_>) -> usize {
    let request = &exchange.request;
    let headers = request.headers.iter().chain(exchange.response.iter().flat_map(|response| &response.headers));
    let headers: usize = headers.map(|header| header.name.len() + header.value.len() + size_of_val(header)).sum();
    let body =
        request.body_bytes().len() + exchange.response.as_ref().map_or(0, |response| response.body_bytes().len());
    let frames = exchange.frames.iter().flatten();
    let frames: usize = frames.map(|frame| frame.payload.len() + size_of_val(frame)).sum();
    let notes: usize = exchange.notes.iter().map(|note| note.name.len() + note.value.len()).sum();
    size_of::<Item>() + request.target.len() + headers + body + frames + notes
}

/// Room for so many items is there from the beginning: making some takes longer than giving one.
const ITEMS_AT_FIRST: usize = 4096;

/// A queue between those who record and the one who writes.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    bytes_max: usize,
    /// Somebody gave something, or wants something.
    work: Condvar,
    /// There is room, or something is written.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    items: Vec<Item>,
    bytes: usize,
    /// How many items were given, and how many are written and as durable as the recorder makes them.
    given: u64,
    done: u64,
    /// The items below this one are wanted on the disk.
    fsync_wanted: u64,
    fsynced: u64,
    next_number: u64,
    is_closed: bool,
    /// The writer sleeps; waking it costs a call into the system, so nobody does it in vain.
    is_idle: bool,
    failure: Option<RecordError>,
}

impl Queue {
    pub(crate) fn new(bytes_max: usize, next_number: u64) -> Self {
        let state = State { items: Vec::with_capacity(ITEMS_AT_FIRST), next_number, ..State::default() };
        Self { state: Mutex::new(state), bytes_max, work: Condvar::new(), progress: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of an exchange that begins now.
    pub(crate) fn number(&self) -> u64 {
        let mut state = self.lock();
        state.next_number += 1;
        state.next_number - 1
    }

    /// The numbers that are given from here on are above this one.
    pub(crate) fn take_number(&self, number: u64) {
        let mut state = self.lock();
        state.next_number = state.next_number.max(number.saturating_add(1));
    }

    /// Gives an item, waiting for room; says how many were given with it.
    pub(crate) fn give(&self, item: Item) -> Result<u64, RecordError> {
        let bytes = item.bytes();
        self.put(self.room_for(bytes), item, bytes)
    }

    /// Gives an item if there is room; gives it back otherwise.
    pub(crate) fn try_give(&self, item: Item) -> Result<Result<u64, RecordError>, Item> {
        let bytes = item.bytes();
        let state = self.lock();
        if state.failure.is_none() && !state.has_room(bytes, self.bytes_max) {
            return Err(item);
        }
        Ok(self.put(state, item, bytes))
    }

    /// Gives an exchange under the next number, waiting for room; says the number.
    pub(crate) fn give_next(&self, mut exchange: Box<Exchange<'static>>) -> Result<u64, RecordError> {
        let bytes = weight(&exchange);
        let state = self.room_for(bytes);
        let number = state.next_number;
        exchange.number = number;
        self.put(state, Item::Whole(exchange), bytes).map(|_| number)
    }

    /// The state, once there is room, or there never will be.
    fn room_for(&self, bytes: usize) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.failure.is_none() && !state.has_room(bytes, self.bytes_max) {
            self.work.notify_one();
            state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    fn put(&self, mut state: MutexGuard<'_, State>, item: Item, bytes: usize) -> Result<u64, RecordError> {
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        if let Item::Whole(exchange) = &item {
            state.next_number = state.next_number.max(exchange.number.saturating_add(1));
        }
        state.items.push(item);
        state.bytes += bytes;
        state.given += 1;
        let given = state.given;
        self.wake(state);
        Ok(given)
    }

    fn wake(&self, mut state: MutexGuard<'_, State>) {
        if std::mem::take(&mut state.is_idle) {
            drop(state);
            self.work.notify_one();
        }
    }

    /// Waits until the first so many items are written, on the disk if that is wanted.
    pub(crate) fn wait(&self, given: u64, durability: Durability) -> Result<(), RecordError> {
        let mut state = self.lock();
        if durability == Durability::Fsync && state.fsync_wanted < given {
            state.fsync_wanted = given;
        }
        // Whoever waits does not want to wait until the writer has lingered.
        self.work.notify_one();
        while state.reached(durability) < given {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
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

    /// Lets the writer end when nothing is left.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        drop(state);
        self.work.notify_one();
    }

    /// Writes what is given until the queue is closed and empty. The writer's thread is in here all the time.
    pub(crate) fn write(&self, journal: &Journal, durability: Durability, redaction: Option<&Redaction>) {
        let mut frame = Vec::new();
        let mut items = Vec::with_capacity(ITEMS_AT_FIRST);
        while let Some((bytes, given, is_wanted)) = self.next(&mut items) {
            let level = if is_wanted { Durability::Fsync } else { durability };
            let outcome = append(journal, &mut items, level, redaction, &mut frame);
            let mut state = self.lock();
            match outcome {
                Ok(()) => {
                    state.done = given;
                    state.fsynced = if level == Durability::Fsync { given } else { state.fsynced };
                }
                Err(failure) => state.failure = Some(failure),
            }
            let is_over = state.failure.is_some();
            state.bytes -= bytes;
            drop(state);
            self.progress.notify_all();
            if is_over {
                break;
            }
        }
    }

    /// Sleeps until there may be work. Being woken costs those who record more than all else they do, so the writer looks a few
    /// times by itself first: what is recorded in close succession wakes nobody.
    fn sleep<'q>(&'q self, mut state: MutexGuard<'q, State>, lingered: &mut u32) -> MutexGuard<'q, State> {
        if *lingered < LINGERS {
            *lingered += 1;
            return self.work.wait_timeout(state, LINGER).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_idle = true;
        self.work.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// The items that come next, with their bytes, how many were given with them, and whether they are wanted on the disk.
    fn next(&self, items: &mut Vec<Item>) -> Option<(usize, u64, bool)> {
        let mut lingered = 0;
        let mut state = self.lock();
        while state.items.is_empty() && state.fsync_wanted <= state.fsynced && !state.is_closed {
            state = self.sleep(state, &mut lingered);
        }
        state.is_idle = false;
        let is_wanted = state.fsync_wanted > state.fsynced;
        if state.items.is_empty() && !is_wanted {
            return None;
        }
        std::mem::swap(&mut state.items, items);
        // They count until they are written: the bound is on what is in memory.
        Some((state.bytes, state.given, is_wanted))
    }
}

/// How long the writer looks again before it has to be woken, and how often.
const LINGER: Duration = Duration::from_millis(1);
const LINGERS: u32 = 5;

fn append(
    journal: &Journal,
    items: &mut Vec<Item>,
    level: Durability,
    redaction: Option<&Redaction>,
    frame: &mut Vec<u8>,
) -> Result<(), RecordError> {
    for mut item in items.drain(..) {
        let bytes: &[u8] = match &mut item {
            Item::Whole(exchange) => {
                if let Some(redaction) = redaction {
                    redaction.exchange(exchange);
                }
                frame.clear();
                event::encode_whole(frame, exchange);
                frame
            }
            Item::Frame(bytes) => bytes,
        };
        journal.append(bytes, Durability::None).map_err(|error| RecordError::Journal(error.to_string()))?;
    }
    journal.sync(level).map_err(|error| RecordError::Journal(error.to_string()))
}

impl State {
    /// An item that is larger than the queue goes in when nothing else is there.
    fn has_room(&self, bytes: usize, bytes_max: usize) -> bool {
        self.bytes == 0 || self.bytes.saturating_add(bytes) <= bytes_max
    }

    fn reached(&self, durability: Durability) -> u64 {
        if durability == Durability::Fsync { self.fsynced } else { self.done }
    }
}

/// The frames of what happened, cut where they are too long for a frame.
pub(crate) fn frame_of(event: &Event<'_>, number: u64) -> Result<Item, RecordError> {
    let mut frame = Vec::new();
    event.encode(&mut frame, number);
    if frame.len() > journal::FRAME_BYTES_MAX {
        return Err(RecordError::TooLong { bytes: frame.len() });
    }
    Ok(Item::Frame(frame))
}
