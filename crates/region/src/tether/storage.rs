//! What is frozen, where it lies, and the holds under which it is read. All unsafe code of tethers is in this file.
//!
//! A slot of the slab holds a tether word and, while the word is open or counted, the content. What keeps this sound:
//!
//! 1. Content is written only by [`store_frozen`], in a slot that was just taken and whose word is closed with a count of 0, and
//!    taken away only by [`destroy`]. Both are private to this file.
//! 2. It is read only under a hold: a [`Tether`] that was counted, or a [`Reading`] that announced the slot and then
//!    found the word open.
//! 3. [`destroy`] is called by one party, which was told to by the word and then saw no announcement: see the modules `word`
//!    and `announcement` for why that is one party, and why it is the last.
//!
//! Content is never written while it is there, so that any number of threads may read it.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::announcement::{Announcement, look};
use super::slab::{NoSlot, Slab};
use super::word::{AfterEnd, Refused, StartFailed, Word};
use crate::heap::{FrozenHeap, Heap};
use crate::limit::Full;
use crate::reference::Ref;
use crate::region::Region;

/// What was frozen: a heap that nobody writes again.
#[derive(Debug)]
pub(crate) struct FrozenContent {
    pub(crate) heap: FrozenHeap,
    pub(crate) region: Region,
    pub(crate) roots: Box<[Ref]>,
}

/// A slot in the slab, on a cache line of its own: readers of one region do not slow down those of another.
#[repr(align(64))]
struct FrozenSlot {
    word: Word,
    number: u32,
    content: UnsafeCell<Option<Box<FrozenContent>>>,
}

// SAFETY: the content is written by one thread while no other can reach it, and read by many while nobody writes: points 1 to
// 3 above. `FrozenContent` itself may be read and dropped by any thread, which the function below has the compiler check.
unsafe impl Sync for FrozenSlot {}

#[allow(dead_code)]
fn content_goes_everywhere() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<FrozenContent>();
}

static SLOTS: Slab<FrozenSlot> = Slab::new();
static READERS: Slab<ReaderSlot> = Slab::new();
/// What is to be destroyed as soon as no reader announces it.
static PUT_OFF: Mutex<Vec<&'static FrozenSlot>> = Mutex::new(Vec::new());
/// How many those are, so that nobody locks the list to find it empty.
static PUT_OFF_COUNT: AtomicUsize = AtomicUsize::new(0);

impl FrozenSlot {
    fn new(number: u32) -> FrozenSlot {
        FrozenSlot { word: Word::new(), number, content: UnsafeCell::new(None) }
    }

    /// # Safety
    ///
    /// The caller has a hold on this slot for as long as it uses what this gives.
    #[inline]
    unsafe fn content(&self) -> &FrozenContent {
        // SAFETY: under a hold the content is there and nobody writes it, by points 1 and 3 above.
        unsafe { (*self.content.get()).as_deref().unwrap_unchecked() }
    }
}

/// Puts content into a slot and opens it, with one tether started.
pub(crate) fn store_frozen(content: Box<FrozenContent>) -> Result<Tether, NoSlot> {
    reclaim();
    loop {
        let slot = SLOTS.take(FrozenSlot::new)?;
        if slot.word.next().is_none() {
            // Its generations are used up: it is never given back, and so never taken again.
            continue;
        }
        // SAFETY: the slab gives a slot to one party at a time, and takes it back after its content was destroyed. So its
        // word is closed with a count of 0: no hold on it exists, and none can begin before it is opened below.
        unsafe { *slot.content.get() = Some(content) };
        slot.word.open();
        return Ok(Tether { slot });
    }
}

fn name(number: u32, generation: u32) -> u64 {
    u64::from(number) << 32 | u64::from(generation)
}

/// Does what the word said.
#[inline]
fn settle(slot: &'static FrozenSlot, then: AfterEnd) {
    if then == AfterEnd::Destroy {
        retire(slot);
    }
}

/// Starts a tether. One that may not stay may have to do what the last one would have done.
#[inline]
fn start(handle: FrozenHandle) -> Result<(), Refused> {
    handle.slot.word.start(handle.generation()).map_err(|failed| came_and_went(handle.slot, failed))
}

#[cold]
#[inline(never)]
fn came_and_went(slot: &'static FrozenSlot, StartFailed { refused, then }: StartFailed) -> Refused {
    settle(slot, then);
    refused
}

/// Destroys what nobody may tether any more and no tether holds, now or when no reader announces it.
#[cold]
#[inline(never)]
fn retire(slot: &'static FrozenSlot) {
    reclaim();
    look();
    // Nobody opens it again before it was destroyed here.
    let name = name(slot.number, slot.word.generation());
    if announced().any(|announced| announced == name) {
        let mut list = put_off();
        list.push(slot);
        PUT_OFF_COUNT.store(list.len(), Ordering::Relaxed);
    } else {
        // SAFETY: the word said to destroy to this party alone, and no announcement was seen since.
        unsafe { destroy(slot) };
    }
}

/// Gives back what was put off because readers had announced it, and is read no more.
///
/// Every freezing, closing and last end of a tether does this too, and so does dropping a [`Reader`]: a call is only needed
/// where all of these stop. Gives how many regions are still put off, which are never more than there are readers.
pub fn reclaim() -> usize {
    if PUT_OFF_COUNT.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    let mut list = put_off();
    look();
    let mut kept: Vec<u64> = announced().collect();
    kept.sort_unstable();
    list.retain(|slot| {
        let keep = kept.binary_search(&name(slot.number, slot.word.generation())).is_ok();
        if !keep {
            // SAFETY: the word said to destroy to the party that put this on the list, which is locked; it leaves the list
            // here. No announcement was seen since.
            unsafe { destroy(slot) };
        }
        keep
    });
    PUT_OFF_COUNT.store(list.len(), Ordering::Relaxed);
    list.len()
}

/// What is frozen in this process, and what keeps it, as of a moment ago: other threads go on meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct FrozenStatistics {
    /// Frozen regions that are kept.
    pub regions: usize,
    /// Tethers on them. An owner that has not closed its region counts as one.
    pub tethers: u64,
    /// Closed regions that wait for a reader to go on.
    pub put_off: usize,
}

impl statistics::Statistics for FrozenStatistics {
    fn what(&self) -> &'static str {
        "frozen regions"
    }

    fn entries(&self, to: &mut statistics::Entries) {
        to.count("regions", "Frozen regions that are kept.", self.regions as u64);
        to.count("tethers", "Tethers on them, which keep them.", self.tethers);
        to.count("put_off", "Closed regions that wait for a reader to go on.", self.put_off as u64);
    }
}

/// Counts what is frozen in this process. Linear in the frozen regions that there ever were at one time; costs nothing while nobody asks.
pub fn frozen_statistics() -> FrozenStatistics {
    let put_off = PUT_OFF_COUNT.load(Ordering::Relaxed);
    let counts = SLOTS.iter().map(|slot| slot.word.count()).filter(|count| *count > 0);
    let (kept, tethers) = counts.fold((0, 0), |(kept, tethers), count| (kept + 1, tethers + u64::from(count)));
    FrozenStatistics { regions: kept + put_off, tethers, put_off }
}

fn put_off() -> MutexGuard<'static, Vec<&'static FrozenSlot>> {
    PUT_OFF.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What readers have announced.
fn announced() -> impl Iterator<Item = u64> {
    READERS.iter().map(|reader| reader.announcement.name()).filter(|name| *name != Announcement::NOTHING)
}

/// Takes the content out of a slot and gives the slot back.
///
/// # Safety
///
/// The word has said [`AfterEnd::Destroy`], nobody has acted on that yet, and since then no announcement of the slot was seen.
unsafe fn destroy(slot: &'static FrozenSlot) {
    // SAFETY: no tether is counted and none can start; no announcement stands, and a reader that announces from now on sees that the
    // word is closed. So nobody reads, and nobody else writes, since one party was told to destroy.
    let content = unsafe { (*slot.content.get()).take() };
    SLOTS.give_back(slot.number);
    drop(content);
}

/// The name of a frozen region: any thread may copy it, keep it, and ask for a tether by it.
///
/// It keeps nothing alive. When the region is gone it is refused, for ever: what lies in the same slot later has another
/// generation.
#[derive(Clone, Copy)]
pub struct FrozenHandle {
    slot: &'static FrozenSlot,
    /// The number of the slot, and below it the generation.
    name: u64,
}

impl FrozenHandle {
    /// The handle of what is in a slot, for a party that has a hold on it.
    fn of(slot: &'static FrozenSlot) -> FrozenHandle {
        FrozenHandle { slot, name: name(slot.number, slot.word.generation()) }
    }

    #[inline]
    fn generation(self) -> u32 {
        self.name as u32
    }

    /// Starts a tether. It may end on another thread.
    ///
    /// Costs an atomic read-modify-write, as cloning an `Arc` does.
    #[inline]
    pub fn tether(self) -> Result<Tether, Refused> {
        start(self)?;
        Ok(Tether { slot: self.slot })
    }

    /// Lets no more tethers start. The region is given back when the last one ends, which is now if there is none.
    ///
    /// Refused if somebody has closed it before.
    pub fn close(self) -> Result<(), Refused> {
        let then = self.slot.word.close(self.generation())?;
        settle(self.slot, then);
        Ok(())
    }

    /// How many tethers there were a moment ago, the owner's included; 0 if the region is gone.
    pub fn tethers(self) -> u32 {
        if self.slot.word.generation() == self.generation() { self.slot.word.count() } else { 0 }
    }

    /// The handle as a number other than 0, for code in other languages.
    pub fn bits(self) -> u64 {
        self.name
    }

    /// The handle of these bits. Refused if no frozen region ever had them.
    pub fn from_bits(bits: u64) -> Result<FrozenHandle, Refused> {
        let slot = SLOTS.get((bits >> 32) as u32).ok_or(Refused::Stale)?;
        let generation = bits as u32;
        if generation == 0 || generation > slot.word.generation() {
            return Err(Refused::Stale);
        }
        Ok(FrozenHandle { slot, name: bits })
    }
}

impl PartialEq for FrozenHandle {
    fn eq(&self, other: &FrozenHandle) -> bool {
        self.name == other.name
    }
}

impl Eq for FrozenHandle {}

impl fmt::Debug for FrozenHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrozenHandle({}, generation {})", self.slot.number, self.generation())
    }
}

/// Keeps a frozen region, on whatever thread it is, and reads it as a [`Heap`]. Ends when dropped.
#[must_use = "a tether ends when it is dropped"]
pub struct Tether {
    slot: &'static FrozenSlot,
}

impl Tether {
    /// The name of the region, to start other tethers by.
    pub fn handle(&self) -> FrozenHandle {
        FrozenHandle::of(self.slot)
    }

    /// Starts another tether, even if the region was closed: this one keeps it until then. It may end on another thread.
    ///
    /// Costs what cloning an `Arc` costs: an atomic read-modify-write, and no look at anything.
    #[inline]
    pub fn another(&self) -> Result<Tether, Refused> {
        self.slot.word.start_another().map_err(|failed| came_and_went(self.slot, failed))?;
        Ok(Tether { slot: self.slot })
    }

    #[inline]
    pub(crate) fn content(&self) -> &FrozenContent {
        // SAFETY: this is a tether that was counted and has not ended.
        unsafe { self.slot.content() }
    }
}

impl Drop for Tether {
    #[inline]
    fn drop(&mut self) {
        settle(self.slot, self.slot.word.end());
    }
}

/// Reads frozen regions, one at a time, without a read-modify-write.
///
/// Faster to start and to end than a [`Tether`], at a price: a region that is closed is given back later if a reader has read it
/// last. It waits until that reader reads another one, [rests](Reader::rest) or is dropped, and then until somebody freezes,
/// closes, ends a last tether, drops a reader or calls [`reclaim`]. After each of these, no more closed regions are kept than
/// there are readers.
///
/// ```
/// use region::{Bound, Heap, Reader, Ref, tag};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut heap = Heap::new();
/// let mut region = heap.open();
/// let one = Ref::new(tag::IMMEDIATE_0, 1);
/// let pair = heap.expression(&mut region, &[one, one])?;
/// let frozen = heap.freeze(&region, &[pair], Bound::Kept, |foreign| foreign)?;
/// let handle = frozen.handle();
/// std::thread::spawn(move || {
///     let mut reader = Reader::new().expect("there are few readers");
///     let reading = reader.read(handle).expect("the region is open");
///     assert_eq!(reading.children(reading.roots()[0]), [one, one]);
/// })
/// .join()
/// .expect("it does not panic");
/// # heap.close(region);
/// # Ok(())
/// # }
/// ```
pub struct Reader {
    slot: &'static ReaderSlot,
}

/// The slot of a reader, on a cache line of its own.
#[repr(align(64))]
struct ReaderSlot {
    announcement: Announcement,
    number: u32,
}

impl Reader {
    /// A reader. It has a slot of its own, which the next reader gets when this one is dropped.
    pub fn new() -> Result<Reader, NoReader> {
        let make = |number| ReaderSlot { announcement: Announcement::new(), number };
        let slot = READERS.take(make).map_err(|none| NoReader { readers: none.slots })?;
        Ok(Reader { slot })
    }

    /// Reads a region. It is kept while what this gives is there, and until the reader goes on or rests.
    ///
    /// Costs two loads if it is what was read last, otherwise a store, a fence and a load.
    #[inline]
    pub fn read(&mut self, handle: FrozenHandle) -> Result<Reading<'_>, Refused> {
        self.slot.announcement.start(handle.name, &handle.slot.word, handle.generation())?;
        Ok(Reading { handle, reader: PhantomData })
    }

    /// Lets go of what was read last, for a reader that may not read again soon.
    pub fn rest(&mut self) {
        self.slot.announcement.rest();
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.slot.announcement.rest();
        READERS.give_back(self.slot.number);
        reclaim();
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({})", self.slot.number)
    }
}

/// There can be no more readers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoReader {
    readers: u32,
}

impl fmt::Display for NoReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no more readers: there are {}; drop some, or use tethers", self.readers)
    }
}

impl std::error::Error for NoReader {}

/// Reads a frozen region as a [`Heap`], for a [`Reader`].
#[derive(Debug)]
pub struct Reading<'r> {
    handle: FrozenHandle,
    /// The reader announces nothing else meanwhile.
    reader: PhantomData<&'r mut Reader>,
}

impl Reading<'_> {
    /// The name of the region, to start tethers by.
    pub fn handle(&self) -> FrozenHandle {
        self.handle
    }

    #[inline]
    pub(crate) fn content(&self) -> &FrozenContent {
        // SAFETY: the reader has announced this region, has then found it open, and announces nothing else while this lives.
        unsafe { self.handle.slot.content() }
    }
}

macro_rules! reads {
    ($($hold:ty),*) => { $(
        impl $hold {
            /// What was frozen, in the order in which the roots were given.
            #[inline]
            pub fn roots(&self) -> &[Ref] {
                &self.content().roots
            }

            /// Copies everything that was frozen to the end of a region of any heap. Gives the roots of the copy, in order.
            ///
            /// `foreign` is called for each immediate of [`IMMEDIATE_3`](crate::tag::IMMEDIATE_3) and gives what the copy has in
            /// its place. Linear in what was frozen. After an error the region is as it was.
            pub fn thaw(
                &self,
                heap: &mut Heap,
                region: &mut Region,
                foreign: impl FnMut(Ref) -> Ref,
            ) -> Result<Vec<Ref>, Full> {
                self.content().thaw(heap, region, foreign)
            }
        }

        impl Deref for $hold {
            type Target = FrozenHeap;

            #[inline]
            fn deref(&self) -> &FrozenHeap {
                &self.content().heap
            }
        }
    )* };
}

reads!(Tether, Reading<'_>);

impl fmt::Debug for Tether {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tether").field(&self.handle()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slot whose generations are used up stays closed and is not taken again.
    #[test]
    fn generations_do_not_wrap() {
        let word = Word::new();
        word.use_up();
        assert_eq!(word.next(), None);
        assert_eq!(word.start(u32::MAX).map_err(|failed| failed.refused), Err(Refused::Closed));
        assert_eq!(word.start(1).map_err(|failed| failed.refused), Err(Refused::Stale));
    }

    /// What is one too many is refused, and has gone again; the message says how many there may be.
    #[test]
    fn counts_do_not_wrap() {
        let word = Word::new();
        let generation = word.open();
        word.fill();
        assert_eq!((word.start(generation), word.count()), (Ok(()), 1_073_741_823));
        let refused = word.start(generation).map_err(|failed| failed.refused);
        assert_eq!((refused, word.count()), (Err(Refused::TooMany), 1_073_741_823));
        assert!(Refused::TooMany.to_string().contains("1073741823"));
        assert_eq!((word.end(), word.start(generation)), (AfterEnd::Nothing, Ok(())));
    }
}
