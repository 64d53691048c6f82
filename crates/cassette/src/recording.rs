//! Recordings: journals of what happens, and what they come to.
//!
//! While a cassette `trip.cassette` is recorded, its journal is `trip.cassette.recording` beside it. Sealing goes through it twice: once for
//! the numbers of its exchanges, and once for the exchanges.
//!
//! A crash can leave a recording that was sealed already, and a power failure can bring one back, cut short. It is told by what it
//! holds: nothing that is not on the cassette, exchange by exchange. Numbers tell almost every other at once, since what is added
//! to a cassette is numbered from where the cassette ends. One that holds no exchange is told by the chain of its journal, which the cassette
//! keeps, and is put on the disk before it is sealed, so that it cannot be cut short.

use crate::bytes::Bytes;
use crate::error::{Damage, Flaw, Malformed, ReadError, RecordError, SealError};
use crate::exchange::{Exchange, Note, Outcome};
use crate::limits::{MemoryBudget, ReadOptions};
use crate::message::Response;
use crate::outline::Outline;
use crate::record::assemble::{Assembler, ExchangeDraft, InMemory};
use crate::record::event::Event;
use crate::scan::Scanner;
use crate::seal::options::SealOptions;
use crate::seal::read::SealedFile;
use crate::seal::write::Sealer;
use journal::{Access, Chain, Disk, Durability, Journal, Reader, open_regular};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the recording of a cassette lies.
pub(crate) fn recording_path(cassette: &Path) -> PathBuf {
    let mut path = cassette.as_os_str().to_owned();
    path.push(".recording");
    path.into()
}

/// Whether a file has nothing in it but zeros: what a power failure leaves of one that has its name and was never synced.
pub(crate) fn is_blank(path: &Path) -> bool {
    let Ok(mut file) = open_regular(path, Access::Read) else { return false };
    let mut some = [0; 4096];
    loop {
        match file.read(&mut some) {
            Ok(0) => return true,
            Ok(count) if some[..count].iter().all(|&byte| byte == 0) => {}
            _ => return false,
        }
    }
}

/// The frames of a recording.
pub(crate) enum RecordingFrames<'f> {
    /// In a journal on a disk.
    On(Arc<dyn Disk>),
    /// All of them in memory, with the chain up to the last.
    Held(&'f [Vec<u8>], Chain),
}

impl RecordingFrames<'_> {
    /// Hands out every event with the number of its exchange; gives the chain up to the last.
    fn each<E: From<ReadError>>(
        &self,
        shown: &str,
        mut take: impl FnMut(u64, Event<'_>) -> Result<(), E>,
    ) -> Result<Chain, E> {
        self.each_with_length(shown, |number, event, _| take(number, event))
    }

    /// Hands out every event with the number of its exchange and the length of its frame; gives the chain up to the last.
    fn each_with_length<E: From<ReadError>>(
        &self,
        shown: &str,
        mut take: impl FnMut(u64, Event<'_>, usize) -> Result<(), E>,
    ) -> Result<Chain, E> {
        let mut event = |payload: &[u8], offset| {
            let (number, event) = Event::decode(payload).map_err(|malformed| damaged(shown, offset, malformed))?;
            take(number, event, payload.len())
        };
        let disk = match self {
            Self::On(disk) => disk.clone(),
            Self::Held(frames, chain) => {
                return frames.iter().try_for_each(|frame| event(frame, 0)).map(|()| *chain);
            }
        };
        let mut reader = Reader::from_frame(disk, 0).map_err(|error| unreadable(shown, &error))?;
        while let Some(frame) = reader.read_next().map_err(|error| unreadable(shown, &error))? {
            event(frame.payload, frame.place.offset)?;
        }
        Ok(reader.chain().expect("it began with the first frame"))
    }
}

fn unreadable(shown: &str, error: &journal::ReadError) -> ReadError {
    ReadError::Recording(format!("cannot read the recording {shown}: {error}"))
}

fn damaged(shown: &str, offset: u64, malformed: Malformed) -> ReadError {
    ReadError::Damaged(Damage { file: shown.to_owned(), offset, flaw: Flaw::Record(malformed) })
}

/// What a frame takes in memory beside its bytes: a chunk, a header or a message has no more.
const FRAME_MEMORY_BYTES: usize = 64;

/// What a recording holds, in memory.
#[derive(Debug, Default)]
pub(crate) struct RecordingContent {
    /// In the order of their numbers. Those that were not over are partial.
    pub(crate) exchanges: Vec<Exchange<'static>>,
    pub(crate) meta: Vec<Note<'static>>,
    pub(crate) next_number: u64,
    /// `None` if the journal has not begun.
    pub(crate) chain: Option<[u8; 32]>,
}

/// Reads a recording, be it that of a crashed program.
pub(crate) fn read(disk: Arc<dyn Disk>, shown: &str, options: ReadOptions) -> Result<RecordingContent, ReadError> {
    let mut room = MemoryBudget::new(options.most());
    let mut assembler = Assembler::default();
    let mut drafts: Vec<ExchangeDraft> = Vec::new();
    let broken = |what| damaged(shown, 0, Malformed { what, at: 0 });
    let chain = RecordingFrames::On(disk).each_with_length(shown, |number, event, bytes| {
        room.take(bytes + FRAME_MEMORY_BYTES, "the recording").map_err(|excess| excess.of(shown))?;
        drafts.extend(assembler.take(number, event, &mut InMemory).map_err(broken)?);
        Ok::<(), ReadError>(())
    })?;
    drafts.extend(assembler.unfinished());
    let mut exchanges: Vec<_> = drafts.into_iter().map(ExchangeDraft::into_exchange).collect();
    exchanges.sort_by_key(|exchange| exchange.number);
    Ok(RecordingContent {
        exchanges,
        meta: assembler.meta().collect(),
        next_number: assembler.next_number(),
        chain: Some(*chain.as_bytes()),
    })
}

impl RecordingContent {
    /// Whether a sealed cassette holds all of it.
    pub(crate) fn is_on(&self, sealed: &SealedFile) -> Result<bool, ReadError> {
        let trailer = sealed.trailer();
        if self.chain == Some(trailer.chain) || self.chain == Some(*Chain::genesis().as_bytes()) {
            return Ok(true);
        }
        if self.exchanges.is_empty() || self.next_number > trailer.next_number {
            return Ok(false);
        }
        let mut row = 0;
        for exchange in &self.exchanges {
            let mut found = None;
            while found.is_none() && row < sealed.rows() {
                found = Some(sealed.exchange(row)?).filter(|sealed| sealed.number == exchange.number);
                row += 1;
            }
            if !found.is_some_and(|sealed| is_beginning_of(exchange, &sealed)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether an exchange is another one, or was cut short on its way to become it.
fn is_beginning_of(cut: &Exchange<'_>, whole: &Exchange<'_>) -> bool {
    let answered = |exchange: &Exchange<'_>| exchange.response.as_ref().map(|response| response.status);
    let frames = |exchange: &Exchange<'_>| exchange.frames.as_ref().map_or(0, Vec::len);
    let is_short = cut.outcome == Outcome::Partial
        && (cut.started_ns, cut.request.line()) == (whole.started_ns, whole.request.line())
        && (answered(cut).is_none() || answered(cut) == answered(whole))
        && whole.request.body_bytes().starts_with(cut.request.body_bytes());
    let is_body = |cut: &Response<'_>, whole: &Response<'_>| whole.body_bytes().starts_with(cut.body_bytes());
    cut == whole
        || is_short
            && cut.response.iter().zip(&whole.response).all(|(cut, whole)| is_body(cut, whole))
            && frames(cut) <= frames(whole)
            && cut.frames.iter().flatten().zip(whole.frames.iter().flatten()).all(|(cut, whole)| cut == whole)
}

/// What is known of a recording without its bodies.
pub(crate) struct RecordingIndex {
    pub(crate) numbers: BTreeSet<u64>,
    /// What is known of the cassette, by name.
    pub(crate) meta: BTreeMap<Bytes<'static>, Bytes<'static>>,
    pub(crate) next_number: u64,
    pub(crate) chain: Chain,
}

impl RecordingIndex {
    /// Whether a sealed cassette holds all of the recording. If its numbers do not say so, it is read whole.
    pub(crate) fn is_on(&self, sealed: &SealedFile, disk: &Arc<dyn Disk>, shown: &str) -> Result<bool, ReadError> {
        // A recording without frames has the same chain as any other without, sealed or not.
        let is_last = self.chain != Chain::genesis() && *self.chain.as_bytes() == sealed.trailer().chain;
        let may_be = !self.numbers.is_empty() && self.next_number <= sealed.trailer().next_number;
        Ok(is_last || may_be && read(disk.clone(), shown, ReadOptions::default())?.is_on(sealed)?)
    }
}

/// What is sealed: an open journal, its frames, and where it lies.
pub(crate) struct RecordingSource<'s> {
    pub(crate) journal: &'s Journal,
    pub(crate) frames: RecordingFrames<'s>,
    pub(crate) shown: &'s str,
}

/// Looks at what a recording holds, and for secrets on request. That two of its exchanges have one number is an error.
pub(crate) fn survey(
    frames: &RecordingFrames<'_>,
    shown: &str,
    mut scanner: Option<&mut Scanner>,
) -> Result<RecordingIndex, SealError> {
    let (mut numbers, mut not_begun, mut meta) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
    let chain = frames.each(shown, |number, event| {
        if let Some(scanner) = &mut scanner {
            scanner.event(number, &event);
        }
        match event {
            Event::Meta(note) => {
                let note = note.into_owned();
                meta.insert(note.name, note.value);
            }
            Event::Begin { .. } | Event::Whole(_) if numbers.insert(number) => {}
            Event::Begin { .. } | Event::Whole(_) => return Err(SealError::SameNumber(number)),
            // What happens before an exchange begins, if it ever does, belongs to it.
            _ if numbers.contains(&number) => {}
            _ => drop(not_begun.insert(number)),
        }
        Ok(())
    })?;
    numbers.append(&mut not_begun);
    let next_number = numbers.last().map_or(0, |last| last.saturating_add(1));
    Ok(RecordingIndex { numbers, meta, next_number, chain })
}

/// Seals a recording, after what an older cassette of the name holds. Exchanges that are not over become partial. Secrets are
/// looked for in both.
pub(crate) fn seal(
    source: &RecordingSource<'_>,
    disk: &dyn Disk,
    name: &str,
    mut options: SealOptions,
    older: Option<&SealedFile>,
) -> Result<(), RecordError> {
    let mut scanner = (!options.keeps_secrets).then(Scanner::new);
    let survey = survey(&source.frames, source.shown, scanner.as_mut())?;
    if let Some(scanner) = scanner {
        scanner.finish(source.shown)?;
        older.map_or(Ok(()), |older| look_through(older, name))?;
    }
    if survey.numbers.is_empty() {
        // Nothing but its chain tells it, so it must not come back cut short.
        source.journal.sync(Durability::Fsync).map_err(|error| RecordError::Journal(error.to_string()))?;
    }
    if source.journal.progress().synced > 0 {
        // What was on the disk must not be lost on the way from one file to the other.
        options.durability = Durability::Fsync;
    }
    let mut sealer = Sealer::new(disk, name, &options, older, survey.numbers.into_iter().collect())?;
    let filled = fill(&mut sealer, source, older);
    match filled {
        Ok(meta) => Ok(sealer.finish(&meta, *survey.chain.as_bytes(), survey.next_number)?),
        Err(error) => {
            sealer.abandon();
            Err(error.into())
        }
    }
}

/// Looks for secrets on a cassette that is to be added to: it may come from where nobody looked.
fn look_through(older: &SealedFile, shown: &str) -> Result<(), SealError> {
    let mut scanner = Scanner::new();
    older.meta()?.into_iter().for_each(|note| scanner.event(0, &Event::Meta(note)));
    for row in 0..older.rows() {
        let outline = Outline::on(older, older.whole(row)?);
        let number = outline.exchange.number;
        outline.tell(0, &mut |event| {
            scanner.event(number, event);
            Ok(())
        })?;
    }
    scanner.finish(shown)
}

fn fill(
    sealer: &mut Sealer<'_>,
    source: &RecordingSource<'_>,
    older: Option<&SealedFile>,
) -> Result<Vec<Note<'static>>, SealError> {
    let mut assembler = Assembler::default();
    if let Some(older) = older {
        for note in older.meta()? {
            assembler.take(0, Event::Meta(note), &mut InMemory)?;
        }
    }
    source.frames.each(source.shown, |number, event| {
        let over = assembler.take(number, event, &mut sealer.keeper())?;
        over.map_or(Ok(()), |draft| sealer.add(draft))
    })?;
    for draft in assembler.unfinished() {
        sealer.add(draft)?;
    }
    Ok(assembler.meta().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Request;
    use crate::record::event::encode_whole;
    use journal::simulated::{Fate, Fault, SimulatedDisk};

    const SEGMENT: &str = "00000000000000000000.segment";

    fn exchange(number: u64) -> Exchange<'static> {
        let request = Request { target: format!("/{number}").into(), ..Request::default() };
        Exchange { number, request, ..Exchange::default() }
    }

    fn sealed(disk: &SimulatedDisk) -> Option<Result<SealedFile, ReadError>> {
        disk.contents("a.cassette")
            .map(|bytes| SealedFile::from_bytes(bytes, "a.cassette".to_owned(), ReadOptions::default()))
    }

    /// Records five exchanges after those of the cassette that is there, and seals them: everything that `Recorder` does with files.
    /// They are written one by one, or held back all together.
    fn record_as(
        disk: &SimulatedDisk,
        durability: Durability,
        meta: Option<&str>,
        level: Durability,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let older = sealed(disk).transpose()?;
        let first = older.as_ref().map_or(0, |older| older.trailer().next_number);
        let (journal, _) = Journal::open(shared.clone(), journal::Options::default().beginning(Durability::None))?;
        let (mut frame, mut held) = (Vec::new(), Vec::new());
        for number in first..first + 5 {
            frame.clear();
            match meta {
                Some(name) => Event::Meta(Note::new(name, number.to_string())).encode(&mut frame, 0),
                None => encode_whole(&mut frame, &exchange(number)),
            }
            journal.append(&frame, level)?;
            held.push(frame.clone());
        }
        let is_held = level == Durability::None;
        let frames = if is_held { RecordingFrames::Held(&held, journal.chain()) } else { RecordingFrames::On(shared) };
        let source = RecordingSource { journal: &journal, frames, shown: "a.cassette.recording" };
        seal(&source, disk, "a.cassette", SealOptions::default().durability(durability), older.as_ref())?;
        if journal.has_begun() {
            disk.remove(SEGMENT)?;
        }
        Ok(journal.discard()?)
    }

    fn record(
        disk: &SimulatedDisk,
        durability: Durability,
        meta: Option<&str>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        record_as(disk, durability, meta, Durability::Os)
    }

    /// What a recorder finds after a power failure: a whole cassette, or none, and a recording that adds to it, or nothing to it.
    fn check(found: &SimulatedDisk, before: u64, is_over: bool, durability: Durability) {
        let cassette = match sealed(found) {
            Some(Ok(cassette)) => Some(cassette),
            None => None,
            // One that nobody waited for may not be whole, and says so.
            Some(Err(_)) => return assert!(durability == Durability::Os && before == 0),
        };
        let held = cassette.as_ref().map_or(0, SealedFile::rows);
        assert!(u64::from(held) == before || u64::from(held) == before + 5);
        assert!(!is_over || durability == Durability::Os || u64::from(held) == before + 5);
        cassette.iter().for_each(|cassette| {
            let readable: Result<Vec<_>, _> = (0..cassette.rows()).map(|row| cassette.exchange(row)).collect();
            match readable {
                Ok(found) => assert_eq!(found, (0..u64::from(held)).map(exchange).collect::<Vec<_>>()),
                Err(_) => assert!(durability == Durability::Os && before == 0),
            }
        });
        let shared: Arc<dyn Disk> = Arc::new(found.clone());
        // A recording that nobody waited for may be none.
        let Ok((journal, _)) = Journal::open(shared.clone(), journal::Options::default()) else { return };
        let recorded = read(shared.clone(), "a.cassette.recording", ReadOptions::default()).unwrap();
        let survey = survey(&RecordingFrames::On(shared.clone()), "a.cassette.recording", None).unwrap();
        let Some(cassette) = &cassette else { return };
        if journal.progress().appended == 0 || exchanges_or_none(cassette).is_none() {
            return;
        }
        let adds = recorded.next_number > u64::from(held);
        assert_eq!(recorded.is_on(cassette).unwrap(), !adds);
        assert_eq!(survey.is_on(cassette, &shared, "a.cassette.recording").unwrap(), !adds);
    }

    fn exchanges_or_none(cassette: &SealedFile) -> Option<Vec<Exchange<'_>>> {
        (0..cassette.rows()).map(|row| cassette.exchange(row).ok()).collect()
    }

    /// A power failure at every step, with every fate of what was on its way.
    #[test]
    fn power_that_fails_while_a_recording_is_sealed() {
        for (durability, level) in [
            (Durability::Fsync, Durability::Os),
            (Durability::Os, Durability::Os),
            (Durability::Fsync, Durability::None),
            (Durability::Os, Durability::None),
        ] {
            for cassettes in [0, 1] {
                let begin = || {
                    let disk = SimulatedDisk::new();
                    (0..cassettes).for_each(|_| record(&disk, Durability::Fsync, None).unwrap());
                    disk
                };
                let disk = begin();
                let before = disk.operations();
                record_as(&disk, durability, None, level).unwrap();
                for operation in before..=disk.operations() {
                    for (fate, seed) in Fate::ALL.into_iter().flat_map(|fate| (0..30).map(move |seed| (fate, seed))) {
                        let disk = begin();
                        disk.schedule(operation, Fault::PowerLoss);
                        let is_over = record_as(&disk, durability, None, level).is_ok();
                        check(&disk.power_loss(fate, seed), 5 * cassettes, is_over, durability);
                    }
                }
            }
        }
    }

    /// How often it is waited for the disk: file and name of the cassette; or nothing, if the cassette takes no other's place.
    #[test]
    fn sealing_waits_as_often_as_asked() {
        for (durability, cassettes, files, names) in [
            (Durability::Fsync, 0, 1, 1),
            (Durability::Fsync, 1, 1, 1),
            (Durability::Os, 0, 0, 0),
            (Durability::Os, 1, 1, 0),
        ] {
            let waits =
                |disk: &SimulatedDisk| (disk.syncs(), disk.trace().iter().filter(|line| *line == "sync names").count());
            for level in [Durability::Os, Durability::None] {
                let disk = SimulatedDisk::new();
                (0..cassettes).for_each(|_| record(&disk, Durability::Fsync, None).unwrap());
                let before = waits(&disk);
                record_as(&disk, durability, None, level).unwrap();
                let after = waits(&disk);
                assert_eq!((after.0 - before.0, after.1 - before.1), (files, names), "{durability:?} {cassettes}");
                assert_eq!(disk.names(), ["a.cassette"]);
            }
        }
    }

    /// Whether it was read back or not.
    #[test]
    fn what_was_held_back_becomes_the_same_cassette() {
        let sealed = |level| {
            let disk = SimulatedDisk::new();
            (0..2).for_each(|_| record_as(&disk, Durability::Os, None, level).unwrap());
            disk.contents("a.cassette").unwrap()
        };
        assert!(sealed(Durability::None) == sealed(Durability::Os));
    }

    /// Of a recording of nothing but what is known of the cassette, a part may be older than what is on the cassette.
    #[test]
    fn a_recording_without_exchanges_cannot_come_back_cut_short() {
        let disk = SimulatedDisk::new();
        record(&disk, Durability::Os, Some("name")).unwrap();
        assert!(disk.syncs() > 1);
    }

    #[test]
    fn a_recording_that_was_cut_short_is_known() {
        let body = |bytes: &str| Some(crate::message::Body::new(1, bytes.to_owned()));
        let mut whole = exchange(3);
        whole.response = Some(Response { status: 200, body: body("abc"), ..Response::default() });
        let mut cut = whole.clone();
        cut.outcome = Outcome::Partial;
        cut.response.as_mut().unwrap().body = body("ab");
        assert!(is_beginning_of(&cut, &whole) && is_beginning_of(&whole, &whole));
        assert!(!is_beginning_of(&whole, &cut));
        cut.response.as_mut().unwrap().body = body("b");
        assert!(!is_beginning_of(&cut, &whole));
        cut.response = None;
        assert!(is_beginning_of(&cut, &whole));
        cut.started_ns = 1;
        assert!(!is_beginning_of(&cut, &whole));
    }
}
