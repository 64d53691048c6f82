//! A journal open for writing, shared by any number of threads.
//!
//! Group commit, with the threads that append as its only workers:
//!
//! 1. Under the lock, a frame gets its number and place, becomes part of the chain, and joins what is pending. This fixes the order.
//! 2. A thread that wants its frame written or synced looks for the writer. If it is there, the thread leads: it takes the
//!    writer and everything pending, and releases the lock while it writes, and syncs if any thread asked for it.
//!    Before it syncs, it lets those run whom the last round served, as long as some of them append: they come back at about the same time,
//!    and a round for a few of them would keep the others waiting for the next.
//! 3. Meanwhile others append and, finding the writer gone, sleep. When the leader brings it back, those whose frames the
//!    round has written wake, and one of the rest, which leads the next round. The others sleep on: the next round serves them.
//!
//! Invariants:
//!
//! 1. An acknowledgement says what its level says, and nothing is acknowledged after a failure: the first failed write or
//!    sync is kept, every waiting and every later call gets it, nothing is tried again, and the writer is never used again.
//! 2. Frames lie in the order of their numbers, without gaps; what any crash leaves is a prefix of them.
//! 3. At most [`Options::buffer_bytes`] are held back, and one frame or batch for each thread that is appending.
//!
//! Cost of a frame: a lock, a checksum, a copy; and for each 16 KiB of frames, the hash of as many bytes.

mod write_back;

use crate::beginning::{self, Trimmed};
use crate::chain::Chain;
use crate::disk::Disk;
use crate::error::{AppendError, Failure, OpenError, SyncError, TrimError, Warning};
use crate::file::{Folder, NamedFile};
use crate::format::{FRAME_BYTES_MAX, Identity, Mark};
use crate::frame::Place;
use crate::options::{Durability, Options};
use crate::pending::{Pending, Piece};
use crate::position::Position;
use crate::recovery::recover;
use crate::writer::Writer;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// How far a journal is, as numbers of frames: the frames below each number are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Appended.
    pub appended: u64,
    /// Written, for readers to see.
    pub written: u64,
    /// Durable.
    pub synced: u64,
}

/// An append-only log of frames, open for writing.
///
/// Nothing keeps a second program from opening a folder as well, which would ruin it: its owner has the lock file.
///
/// ```
/// use journal::simulated::SimulatedDisk;
/// use journal::{Durability, Journal, Options};
/// use std::sync::Arc;
///
/// let disk = Arc::new(SimulatedDisk::new());
/// let (journal, warnings) = Journal::open(disk, Options::default())?;
/// assert!(warnings.is_empty());
/// std::thread::scope(|scope| {
///     for name in ["Anna", "Boris"] {
///         let journal = &journal;
///         scope.spawn(move || journal.append(name.as_bytes(), Durability::Fsync).unwrap());
///     }
/// });
/// assert_eq!(journal.progress().synced, 2);
/// journal.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Journal {
    state: Mutex<State>,
    /// Where the threads of a round sleep until it ends; rounds with even and with odd numbers take turns.
    served: [Condvar; 2],
    /// Where threads sleep until what is held back has room.
    room: Condvar,
    identity: Identity,
    buffer_bytes: usize,
    /// Held by the thread that trims.
    trimming: Mutex<Folder>,
}

struct State {
    pending: Pending,
    /// Away while a thread leads.
    writer: Option<Writer>,
    /// The file of the segment that is written.
    file: NamedFile,
    failure: Option<Failure>,
    written: Mark,
    synced: Mark,
    /// Somebody waits for the frames below this number to be durable.
    sync_wanted: u64,
    /// The number of the round that is under way, or was last.
    round: u64,
    /// How far that round goes, and whether it syncs.
    goal: (u64, bool),
    /// How many frames the last round that synced had.
    gathered: u64,
    /// Whether it has its name.
    has_begun: bool,
    /// How many threads sleep for a round, as in [`Journal`], and for room.
    sleepers: [usize; 2],
    room_sleepers: usize,
}

/// What a leader has to do.
struct Round {
    pieces: Vec<Piece>,
    /// The chain after them, if they are to be synced.
    chain: Option<Chain>,
}

impl Journal {
    /// Opens the journal on a disk, or makes one. What it holds is durable then. The warnings say what a crash left behind
    /// and opening mended.
    ///
    /// # Errors
    /// The disk fails, or what lies on it is not what was written; nothing is cut then.
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<(Self, Vec<Warning>), OpenError> {
        let folder = Folder::new(disk);
        let segment_bytes = if folder.has_one_segment() { u64::MAX } else { options.segment_bytes };
        let recovered = recover(folder.clone(), &options)?;
        let state = State {
            pending: Pending::new(recovered.identity, segment_bytes, recovered.end, recovered.block),
            has_begun: recovered.writer.has_begun(),
            file: recovered.writer.file(),
            writer: Some(recovered.writer),
            failure: None,
            written: recovered.end,
            synced: recovered.end,
            sync_wanted: 0,
            round: 0,
            goal: (0, false),
            gathered: 0,
            sleepers: [0; 2],
            room_sleepers: 0,
        };
        let journal = Self {
            state: Mutex::new(state),
            served: [Condvar::new(), Condvar::new()],
            room: Condvar::new(),
            identity: recovered.identity,
            buffer_bytes: options.buffer_bytes,
            trimming: Mutex::new(folder),
        };
        Ok((journal, recovered.warnings))
    }

    /// Which journal this is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Appends a frame and returns when it is as durable as asked: where it lies.
    ///
    /// # Errors
    /// The frame is too long, or the journal has failed or fails now.
    pub fn append(&self, payload: &[u8], durability: Durability) -> Result<Place, AppendError> {
        check_length(payload)?;
        let mut state = self.make_room()?;
        let place = state.push(payload);
        self.acknowledge(state, place.number, durability)?;
        Ok(place)
    }

    /// Appends frames that follow one another without others between them. After a crash a part of them may be there:
    /// what makes them one is the owner's to mark, in the last.
    ///
    /// # Errors
    /// As [`Journal::append`]; if one frame is too long, none is appended.
    pub fn append_all<P: AsRef<[u8]>>(
        &self,
        payloads: &[P],
        durability: Durability,
    ) -> Result<Vec<Place>, AppendError> {
        payloads.iter().try_for_each(|payload| check_length(payload.as_ref()))?;
        let mut state = self.make_room()?;
        let places: Vec<Place> = payloads.iter().map(|payload| state.push(payload.as_ref())).collect();
        if let Some(last) = places.last() {
            self.acknowledge(state, last.number, durability)?;
        }
        Ok(places)
    }

    /// Makes everything appended so far as durable as asked. One call serves any number of frames appended with less.
    ///
    /// # Errors
    /// The journal has failed or fails now.
    pub fn sync(&self, durability: Durability) -> Result<(), SyncError> {
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(SyncError::Failed(failure.clone()));
        }
        let frames = state.pending.end().frames;
        state.want(frames, durability);
        self.wait(state, frames, durability).map_err(SyncError::Failed)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let state = self.lock();
        let end = state.pending.end();
        let (written, synced) = (state.written.frames, state.synced.frames);
        Progress { appended: end.frames, written, synced }
    }

    /// The chain up to the last frame that was appended. It takes the hash of up to 16 KiB.
    pub fn chain(&self) -> Chain {
        self.lock().pending.block().chain()
    }

    /// The end of what was appended, for a [`Reader`](crate::Reader) to go on from there, and to know that it is the same history.
    pub fn position(&self) -> Position {
        let state = self.lock();
        Position::of(&state.pending.end(), state.pending.block())
    }

    /// Gives up the segments that hold only frames before one: that part of it cannot be read any more, by anybody. The journal
    /// begins with the segment that has this frame then, or with the last one. The chain of what is kept can be verified as before.
    ///
    /// # Errors
    /// The disk fails or the journal is damaged; what was to be kept is kept.
    ///
    /// ```
    /// use journal::simulated::SimulatedDisk;
    /// use journal::{Durability, Journal, Options, Reader};
    /// use std::sync::Arc;
    ///
    /// let disk = Arc::new(SimulatedDisk::new());
    /// let (journal, _) = Journal::open(disk.clone(), Options::default().segment_bytes(1 << 15))?;
    /// let payload = [7; 1 << 12];
    /// (0..20).try_for_each(|_| journal.append(&payload, Durability::Fsync).map(drop))?;
    /// let trimmed = journal.trim(15)?;
    /// assert!(trimmed.segments > 0 && trimmed.first <= 15);
    /// assert!(Reader::from_frame(disk.clone(), 0).is_err());
    /// assert_eq!(Reader::from_beginning(disk)?.read_next()?.unwrap().place.number, trimmed.first);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trim(&self, before: u64) -> Result<Trimmed, TrimError> {
        let folder = self.trimming.lock().expect(UNHARMED);
        if let Some(failure) = &self.lock().failure {
            return Err(TrimError::Refused(failure.clone()));
        }
        beginning::trim(&folder, before)
    }

    /// Makes everything durable, the note of how far that is as well, and ends.
    ///
    /// # Errors
    /// The journal has failed or fails now.
    pub fn close(self) -> Result<(), SyncError> {
        self.sync(Durability::Fsync)?;
        let writer = self.lock().writer.take();
        match writer {
            Some(mut writer) => writer.finish().map_err(SyncError::Failed),
            None => Ok(()),
        }
    }

    /// Whether others can find it: one that was [asked](Options::beginning) not to begin when it was opened begins with the first
    /// write or sync.
    pub fn has_begun(&self) -> bool {
        self.lock().has_begun
    }

    /// Ends without writing what is held back. Of a journal that has not begun nothing stays.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn discard(self) -> Result<(), SyncError> {
        let writer = self.lock().writer.take();
        writer.map_or(Ok(()), |writer| writer.discard().map_err(SyncError::Failed))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNHARMED)
    }

    /// The state, once little enough is held back; an error if the journal has failed.
    fn make_room(&self) -> Result<MutexGuard<'_, State>, AppendError> {
        let mut state = self.lock();
        while state.failure.is_none() && state.pending.bytes() > self.buffer_bytes {
            state = match state.writer.take() {
                Some(writer) => self.lead(writer, state),
                None => self.sleep_for_room(state),
            };
        }
        match &state.failure {
            None => Ok(state),
            Some(failure) => Err(AppendError::Refused(failure.clone())),
        }
    }

    fn acknowledge<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        number: u64,
        durability: Durability,
    ) -> Result<(), AppendError> {
        state.want(number + 1, durability);
        self.wait(state, number + 1, durability).map_err(|failure| AppendError::Unknown { number, failure })
    }

    /// Returns when all frames below a number are as durable as wanted.
    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        frames: u64,
        durability: Durability,
    ) -> Result<(), Failure> {
        while !state.is_reached(frames, durability) {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            state = match state.writer.take() {
                Some(writer) => self.lead(writer, state),
                None => self.sleep(state, frames, durability),
            };
        }
        Ok(())
    }

    /// Sleeps until the round has ended that serves this wish: the one under way, or else the next, or until it is time to
    /// lead that one.
    fn sleep<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        frames: u64,
        durability: Durability,
    ) -> MutexGuard<'a, State> {
        let round = if state.is_goal(frames, durability) { state.round } else { state.round + 1 };
        let turn = turn(round);
        state.sleepers[turn] += 1;
        let mut state = self.served[turn].wait(state).expect(UNHARMED);
        state.sleepers[turn] -= 1;
        state
    }

    fn sleep_for_room<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.room_sleepers += 1;
        let mut state = self.room.wait(state).expect(UNHARMED);
        state.room_sleepers -= 1;
        state
    }

    /// Lets other threads append before a round that syncs, as long as some do, and fewer have than in the round before. A thread that is
    /// alone waits for nobody.
    fn gather<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut appended = state.pending.end().frames;
        while state.is_sync_wanted() && appended - state.written.frames < state.gathered {
            drop(state);
            std::thread::yield_now();
            state = self.lock();
            let now = state.pending.end().frames;
            if std::mem::replace(&mut appended, now) == now {
                break;
            }
        }
        state
    }

    fn lead<'a>(&'a self, mut writer: Writer, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut state = self.gather(state);
        let round = state.begin_round();
        drop(state);
        let watch = Watch { journal: self };
        let outcome = round.carry_out(&mut writer);
        std::mem::forget(watch);
        let mut state = self.lock();
        match outcome {
            Ok(()) => state.take_back(writer, round),
            Err(failure) => state.failure = Some(failure),
        }
        self.wake(&state);
        state
    }

    /// A round has ended. A caller that sleeps is woken, or sleeps for a round that one of the woken will lead: of those that sleep
    /// for the next, each leads it when it wakes, unless somebody else does.
    fn wake(&self, state: &State) {
        let (this, next) = (turn(state.round), turn(state.round + 1));
        if state.sleepers[this] > 0 {
            self.served[this].notify_all();
        }
        if state.sleepers[next] > 0 {
            if state.failure.is_some() { self.served[next].notify_all() } else { self.served[next].notify_one() }
        }
        if state.room_sleepers > 0 {
            self.room.notify_all();
        }
    }
}

/// Why the lock is never poisoned.
const UNHARMED: &str = "no thread panics while it holds the state of a journal";

/// Which of two places belongs to a round.
fn turn(round: u64) -> usize {
    usize::from(!round.is_multiple_of(2))
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").field("identity", &self.identity).field("progress", &self.progress()).finish()
    }
}

/// Writes what is held back, without making it durable and without saying whether that worked; [`Journal::close`] does.
impl Drop for Journal {
    fn drop(&mut self) {
        let Ok(state) = self.state.get_mut() else { return };
        let Some(mut writer) = state.writer.take() else { return };
        let pieces = state.pending.take();
        let _ = if pieces.is_empty() { writer.discard() } else { writer.write(&pieces) };
    }
}

/// Wakes the threads that wait if a leader panics, so that they do not wait for ever.
struct Watch<'a> {
    journal: &'a Journal,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Ok(mut state) = self.journal.state.lock() {
            state.failure = Some(Failure::panicked());
            self.journal.wake(&state);
        }
    }
}

impl State {
    fn push(&mut self, payload: &[u8]) -> Place {
        let synced = self.synced;
        self.pending.push(payload, &synced)
    }

    fn want(&mut self, frames: u64, durability: Durability) {
        if durability == Durability::Fsync {
            self.sync_wanted = self.sync_wanted.max(frames);
        }
    }

    fn is_reached(&self, frames: u64, durability: Durability) -> bool {
        match durability {
            Durability::None => true,
            Durability::Os => self.has_begun && self.written.frames >= frames,
            Durability::Fsync => self.has_begun && self.synced.frames >= frames,
        }
    }

    /// Whether somebody waits for frames to be durable that are not.
    fn is_sync_wanted(&self) -> bool {
        self.sync_wanted > self.synced.frames
    }

    /// Whether the round under way reaches this.
    fn is_goal(&self, frames: u64, durability: Durability) -> bool {
        let (goal, is_synced) = self.goal;
        frames <= goal && (durability < Durability::Fsync || is_synced)
    }

    fn begin_round(&mut self) -> Round {
        let is_synced = self.is_sync_wanted();
        self.round += 1;
        if is_synced {
            self.gathered = self.pending.end().frames - self.written.frames;
        }
        self.goal = (self.pending.end().frames, is_synced);
        let chain = is_synced.then(|| self.pending.block().chain());
        Round { pieces: self.pending.take(), chain }
    }

    fn take_back(&mut self, writer: Writer, round: Round) {
        self.pending.recycle(round.pieces);
        let written = writer.written();
        if written.segment != self.written.segment || !self.has_begun {
            self.file = writer.file();
        }
        self.written = written;
        self.synced = writer.synced();
        self.has_begun = writer.has_begun();
        self.writer = Some(writer);
    }
}

impl Round {
    fn carry_out(&self, writer: &mut Writer) -> Result<(), Failure> {
        writer.write(&self.pieces)?;
        self.chain.map_or(Ok(()), |chain| writer.sync(chain))
    }
}

fn check_length(payload: &[u8]) -> Result<(), AppendError> {
    let bytes = payload.len();
    if bytes > FRAME_BYTES_MAX { Err(AppendError::TooLong { bytes }) } else { Ok(()) }
}
