//! The index of a base's history: which commits added and removed an atom, without a look into the journal.
//!
//! The index is a [store](store::Store) in the folder `history` of the base, beside a file `INDEX` that says so. It is derived from the journal: it can
//! be removed and made anew at any time. A folder without that file is somebody else's, and is left alone.
//!
//! 1. `events` has an entry for each time that a commit adds or removes copies of an atom. The key is the first 16 bytes of the BLAKE3 hash of the
//!    atom's canonical bytes, the serial number of the space, the commit, and the place within the commit: so the events of an atom lie together, in
//!    their order. The value is how many copies came or went, and where the form stands that caused it.
//! 2. `names` has what sources are called, and `sources` what each is called at the moment.
//! 3. `mark` says how far the index has come: the commit, the state hash after it, the position and chain of the journal behind it, and which commits
//!    were given up. It is written in the batch of the events, so that both are there or neither is. Of a commit of more events than fit into a batch
//!    a part is written first, with a mark that says so: such an index is made anew if nothing follows.
//! 4. Before the index answers, the journal is asked whether its chain at the position of the mark is that of the mark, once in a process; if it is not,
//!    or other commits were given up since, the index is one of another history and is made anew. Then the commits after the mark are taken.
//! 5. If the index cannot be opened for another reason, such as a lock or a refusal of the disk, it is left as it is, and the journal is read.
//!
//! Invariant: an answer from the index is the answer that the journal gives. What is damaged is never answered from.

use super::Origins;
use super::origins::{Causes, matches};
use crate::commit_journal::record::Record;
use crate::commit_journal::{CommitJournal, Commits, Committed, KnowledgeBaseError};
use journal::{Chain, Position, Reader};
use metta::{Program, Reason};
use rustc_hash::FxHashMap;
use space::{Atom, canonical};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Batch, Durability, KeyShape, Keyspace, OpenError, Options, Snapshot, Store};

/// What lies in the directory of a base that has an index.
const FOLDER: &str = "history";
/// What lies in that folder if it is an index.
const SIGN: &str = "INDEX";
const SIGN_TEXT: &str = "METROON index of a history, version 1\n";
/// Hash, space, commit, place in the commit.
const EVENT_KEY_BYTES: u16 = 36;
const HASH_BYTES: usize = 16;
/// Copies, name, line, column.
const EVENT_BYTES: usize = 20;
/// How many bytes of events are written together.
const BATCH_BYTES: usize = 1 << 20;
/// How many bytes of events of one commit are written before its mark.
const PART_BYTES: usize = 64 << 20;
const VERSION: u64 = 1;
const MARK_KEY: &str = "mark";
const MARK_NUMBERS: usize = 13 + Chain::BYTES / 8;

/// Where the index of a base in a directory lies.
pub(crate) fn folder_of(directory: &Path) -> PathBuf {
    directory.join(FOLDER)
}

fn store_of(directory: &Path) -> PathBuf {
    folder_of(directory).join("store")
}

/// Why an index does not answer.
#[derive(Debug)]
pub(crate) enum IndexError {
    /// It is of another history, or damaged: it is made anew.
    Unusable(String),
    /// It cannot be opened now: it is left as it is.
    Closed(String),
    /// The journal cannot be read.
    Base(KnowledgeBaseError),
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(reason) | Self::Closed(reason) => f.write_str(reason),
            Self::Base(error) => error.fmt(f),
        }
    }
}

impl IndexError {
    /// As an error of the base in a directory.
    pub(super) fn into_base(self, directory: &Path) -> KnowledgeBaseError {
        match self {
            Self::Base(error) => error,
            Self::Unusable(reason) | Self::Closed(reason) => {
                KnowledgeBaseError::Io { path: folder_of(directory), error: io::Error::other(reason) }
            }
        }
    }
}

impl From<KnowledgeBaseError> for IndexError {
    fn from(error: KnowledgeBaseError) -> Self {
        Self::Base(error)
    }
}

fn unusable(error: impl fmt::Display) -> IndexError {
    IndexError::Unusable(error.to_string())
}

/// Why a store that lies where an index does cannot be opened.
fn not_opened(error: &OpenError) -> IndexError {
    match error {
        OpenError::Foreign | OpenError::Damaged(_) | OpenError::ReadLog(_) | OpenError::Log(_) => unusable(error),
        _ => IndexError::Closed(error.to_string()),
    }
}

/// How far an index has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    epoch: u64,
    hash: u128,
    /// The commit before the first that is kept.
    start: u64,
    /// Where the journal goes on behind the commit.
    position: Position,
    /// The source, line and column of the last form.
    cause: [u32; 3],
    /// Whether no event of a later commit was written.
    is_whole: bool,
}

impl Mark {
    fn encode(&self) -> Vec<u8> {
        let [high, low] = [(self.hash >> 64) as u64, self.hash as u64];
        let [source, line, column] = self.cause.map(u64::from);
        let numbers = [VERSION, self.epoch, high, low, self.start, source, line, column];
        let numbers = numbers.into_iter().chain(self.position.to_numbers()).map(u64::to_le_bytes);
        let parts =
            [&numbers.collect::<Vec<_>>().concat(), &self.position.chain.as_bytes()[..], &[u8::from(self.is_whole)]];
        parts.concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (is_whole, bytes) = bytes.split_last()?;
        let (numbers, rest) = bytes.as_chunks::<8>();
        let numbers: [[u8; 8]; MARK_NUMBERS] = numbers.try_into().ok().filter(|_| rest.is_empty())?;
        let (numbers, chain) = numbers.split_at(MARK_NUMBERS - Chain::BYTES / 8);
        let number = |at: usize| u64::from_le_bytes(numbers[at]);
        let chain = Chain::from_bytes(chain.concat().try_into().ok()?);
        let position = Position::from_numbers([8, 9, 10, 11, 12].map(number), chain);
        let hash = u128::from(number(2)) << 64 | u128::from(number(3));
        let cause = [5, 6, 7].map(|at| number(at) as u32);
        let is_whole = *is_whole == 1;
        let mark = Self { epoch: number(1), hash, start: number(4), position, cause, is_whole };
        (number(0) == VERSION).then_some(mark)
    }
}

/// The keyspaces of an index.
#[derive(Clone, Copy)]
struct Keyspaces {
    events: Keyspace,
    names: Keyspace,
    sources: Keyspace,
    marks: Keyspace,
}

const SHAPES: [(&str, KeyShape); 4] = [
    ("events", KeyShape::Fixed(EVENT_KEY_BYTES)),
    ("names", KeyShape::Fixed(4)),
    ("sources", KeyShape::Fixed(4)),
    ("mark", KeyShape::Bytes),
];

impl Keyspaces {
    fn of([events, names, sources, marks]: [Keyspace; 4]) -> Self {
        Self { events, names, sources, marks }
    }

    fn made(store: &Store) -> Result<Self, IndexError> {
        let made: Result<Vec<Keyspace>, _> = SHAPES.iter().map(|(name, shape)| store.keyspace(name, *shape)).collect();
        let made = made.map_err(unusable)?;
        Ok(Self::of(made.try_into().expect("as many were asked for")))
    }

    fn found(snapshot: &Snapshot) -> Option<Self> {
        let find = |(name, shape): &(&str, KeyShape)| snapshot.keyspace(name).filter(|found| found.shape() == *shape);
        let found: Option<Vec<Keyspace>> = SHAPES.iter().map(find).collect();
        Some(Self::of(found?.try_into().ok()?))
    }
}

/// What sources were ever called.
#[derive(Clone, Default)]
struct Names {
    texts: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Names {
    /// The number of a name, and whether it is new.
    fn number(&mut self, text: &str) -> (u32, bool) {
        if let Some(number) = self.numbers.get(text) {
            return (*number, false);
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        (number, true)
    }
}

/// What an index knows at a moment, for those who ask.
pub(crate) struct Indexed {
    snapshot: Snapshot,
    keyspaces: Keyspaces,
    names: Names,
    mark: Option<Mark>,
}

/// An index that is kept up.
pub(crate) struct HistoryIndex {
    store: Store,
    now: Indexed,
    causes: Causes,
    /// Whether the commit of the mark was found in the journal, and how often commits had been given up then.
    checked_at: Option<u64>,
}

fn event_key(hash: &[u8; HASH_BYTES], space: u64, epoch: u64, place: u32) -> Vec<u8> {
    [&hash[..], &space.to_be_bytes(), &epoch.to_be_bytes(), &place.to_be_bytes()].concat()
}

fn hash_of(bytes: &[u8]) -> [u8; HASH_BYTES] {
    let hash = blake3::hash(bytes);
    *hash.as_bytes().first_chunk().expect("a hash is longer")
}

/// One time that copies of an atom came or went.
#[derive(Clone, Copy)]
struct Event {
    epoch: u64,
    place: u32,
    copies: i64,
    name: u32,
    line: u32,
    column: u32,
}

impl Event {
    fn decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let rest = key.get(HASH_BYTES + 8..)?;
        let (epoch, place) = (u64::from_be_bytes(*rest.first_chunk()?), u32::from_be_bytes(*rest.last_chunk()?));
        let copies = i64::from_le_bytes(*value.first_chunk()?);
        let number = |at: usize| Some(u32::from_le_bytes(*value.get(at..)?.first_chunk()?));
        let (name, line, column) = (number(8)?, number(12)?, number(16)?);
        (value.len() == EVENT_BYTES).then_some(Self { epoch, place, copies, name, line, column })
    }
}

impl Indexed {
    fn of(snapshot: Snapshot, keyspaces: Keyspaces) -> Result<Self, IndexError> {
        let mark = snapshot.get(keyspaces.marks, MARK_KEY).map_err(unusable)?;
        let mark =
            mark.map(|bytes| Mark::decode(&bytes).ok_or_else(|| unusable("its mark is not one of this version")));
        let mut names = Names::default();
        let mut range = snapshot.all(keyspaces.names).map_err(unusable)?;
        while let Some((_, text)) = range.next().map_err(unusable)? {
            names.number(std::str::from_utf8(text).map_err(unusable)?);
        }
        Ok(Self { snapshot, keyspaces, names, mark: mark.transpose()? })
    }

    /// The index of the base in a directory as it is now, for reading; `None` if there is none, or nothing in it.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn read(directory: &Path) -> Result<Option<Self>, IndexError> {
        if !folder_of(directory).join(SIGN).is_file() {
            return Ok(None);
        }
        let snapshot = match Store::open_read_only(store_of(directory)) {
            Err(OpenError::Absent) => return Ok(None),
            opened => opened.map_err(|error| not_opened(&error))?,
        };
        let Some(keyspaces) = Keyspaces::found(&snapshot) else { return Ok(None) };
        Ok(Some(Self::of(snapshot, keyspaces)?).filter(|indexed| indexed.mark.is_some_and(|mark| mark.is_whole)))
    }

    /// Whether it has come as far as this commit of a base, of this state, and the same commits were given up.
    pub(crate) fn is_of(&self, base: &CommitJournal, (epoch, hash, start): (u64, u128, u64)) -> bool {
        let mark = self.mark.filter(|mark| (mark.epoch, mark.hash, mark.start) == (epoch, hash, start));
        mark.is_some_and(|mark| Reader::from_position(Arc::clone(&base.disk), &mark.position).is_ok())
    }

    /// The events of an atom in a space, in their order, up to a commit.
    fn events(&self, hash: &[u8; HASH_BYTES], space: u64, last: u64) -> Result<Vec<Event>, IndexError> {
        let (from, to) = (event_key(hash, space, 0, 0), event_key(hash, space, last, u32::MAX));
        let mut range = self.snapshot.range(self.keyspaces.events, from..=to).map_err(unusable)?;
        let mut events = Vec::new();
        while let Some((key, value)) = range.next().map_err(unusable)? {
            events.push(Event::decode(key, value).ok_or_else(|| unusable("an entry is not an event"))?);
        }
        Ok(events)
    }

    /// Where the copies of an atom without variables come from that spaces have after a commit, as
    /// [`origins`](super::origins::origins) finds it in the journal.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn origins(
        &self,
        program: &mut Program,
        spaces: &[u64],
        atom: &Atom,
        last: u64,
    ) -> Result<Origins, IndexError> {
        let start = self.mark.map_or(0, |mark| mark.start);
        let hash = hash_of(&canonical::encode(atom));
        let mut found: Vec<Event> = Vec::new();
        for &space in spaces {
            let mut there: Vec<Event> = Vec::new();
            for event in self.events(&hash, space, last)? {
                let copies = usize::try_from(event.copies.unsigned_abs()).map_err(unusable)?;
                if event.copies > 0 {
                    there.extend(std::iter::repeat_n(event, copies));
                } else {
                    // The copies that came last go first.
                    there.truncate(there.len().saturating_sub(copies));
                }
            }
            found.extend(there);
        }
        if found.is_empty() || !matches(program, atom, atom) {
            return Ok(Origins::default());
        }
        found.sort_by_key(|event| (event.epoch, event.place));
        let given_up = found.iter().filter(|event| event.epoch <= start).count() as u64;
        let kept = found.iter().filter(|event| event.epoch > start);
        let reasons: Result<Vec<Reason>, IndexError> = kept.map(|event| self.reason(atom, event)).collect();
        Ok(Origins { reasons: reasons?, given_up })
    }

    fn reason(&self, atom: &Atom, event: &Event) -> Result<Reason, IndexError> {
        let origin = self.names.texts.get(event.name as usize).ok_or_else(|| unusable("a name is missing"))?;
        let Event { epoch, line, column, .. } = *event;
        Ok(Reason { atom: atom.clone(), epoch, origin: origin.clone(), line, column })
    }
}

impl HistoryIndex {
    /// Opens the index of the base in a directory to keep it up; `None` if there is none.
    ///
    /// # Errors
    /// It is damaged, was not finished, or cannot be opened now.
    pub(crate) fn open(directory: &Path) -> Result<Option<Self>, IndexError> {
        if !folder_of(directory).join(SIGN).is_file() {
            return Ok(None);
        }
        let store = match Store::open(store_of(directory), Options::default()) {
            Err(OpenError::Absent) => return Ok(None),
            opened => opened.map_err(|error| not_opened(&error))?,
        };
        let index = Self::of(store)?;
        let is_whole = match index.now.mark {
            Some(mark) => mark.is_whole,
            None => index
                .now
                .snapshot
                .all(index.now.keyspaces.events)
                .map_err(unusable)?
                .next()
                .map_err(unusable)?
                .is_none(),
        };
        if is_whole { Ok(Some(index)) } else { Err(unusable("it was not finished")) }
    }

    /// Makes an empty index, in the place of the one that is there.
    ///
    /// # Errors
    /// The disk refuses, or something else lies there.
    pub(crate) fn make(directory: &Path) -> Result<Self, KnowledgeBaseError> {
        let (folder, path) = (folder_of(directory), store_of(directory));
        let io = |error| KnowledgeBaseError::Io { path: folder.clone(), error };
        let sign = folder.join(SIGN);
        if !sign.is_file() {
            let is_empty =
                std::fs::read_dir(&folder).map_or(Ok(!folder.exists()), |mut files| Ok(files.next().is_none()));
            if !is_empty.map_err(io)? {
                let reason = "it is not the index of a history, and is not replaced: move it elsewhere";
                return Err(io(io::Error::other(reason)));
            }
            std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&sign, SIGN_TEXT)).map_err(io)?;
        }
        if path.exists() {
            std::fs::remove_dir_all(&path).map_err(io)?;
        }
        let store =
            Store::create(&path, Options::default()).map_err(|error| io(io::Error::other(error.to_string())))?;
        Self::of(store).map_err(|error| error.into_base(directory))
    }

    fn of(store: Store) -> Result<Self, IndexError> {
        let keyspaces = Keyspaces::made(&store)?;
        let now = Indexed::of(store.snapshot(), keyspaces)?;
        let mut causes = Causes::default();
        let mut range = now.snapshot.all(keyspaces.sources).map_err(unusable)?;
        while let Some((key, text)) = range.next().map_err(unusable)? {
            let source = u32::from_be_bytes(key.try_into().map_err(unusable)?);
            causes.name(source, std::str::from_utf8(text).map_err(unusable)?);
        }
        causes.go_to(now.mark.map_or([0; 3], |mark| mark.cause));
        Ok(Self { store, now, causes, checked_at: None })
    }

    /// The last commit that it knows.
    pub(super) fn epoch(&self) -> u64 {
        self.now.mark.map_or(0, |mark| mark.epoch)
    }

    /// What it knows now.
    pub(crate) fn now(&self) -> &Indexed {
        &self.now
    }

    /// Takes the commits of the base up to `last` that it does not know yet; gives how many events there were.
    ///
    /// # Errors
    /// It is of another history or damaged, or the journal cannot be read.
    pub(crate) fn catch_up(&mut self, base: &CommitJournal, last: u64) -> Result<u64, IndexError> {
        let trims = Some(base.trims());
        if self.checked_at == trims && self.now.mark.is_some_and(|mark| mark.epoch == last) {
            return Ok(0);
        }
        let start = base.first()?.saturating_sub(1);
        let mut until = base.reader();
        until.end_at(last);
        let mut taken = Taken { batch: Batch::new(), events: 0, mark: self.now.mark, start };
        let mut commits = match self.now.mark {
            Some(mark) => after(&until, mark, start)?,
            None => self.beginning(&until, &mut taken)?,
        };
        self.checked_at = trims;
        while let Some(committed) = commits.next()? {
            self.take_commit(&mut taken, &committed, commits.position()?)?;
            if taken.batch.bytes() >= BATCH_BYTES {
                self.write(&mut taken, true)?;
            }
        }
        if taken.mark.is_some() {
            self.write(&mut taken, true)?;
        }
        self.now.mark = taken.mark;
        self.now.snapshot = self.store.snapshot();
        Ok(taken.events)
    }

    /// Writes everything as one run, in which a look finds an atom soonest, and ends.
    ///
    /// # Errors
    /// The disk refuses.
    pub(super) fn finish(self) -> Result<(), IndexError> {
        self.store.compact().map_err(unusable)?;
        self.store.close().map_err(unusable)
    }

    /// Takes what there was before the first commit that is kept; gives the commits.
    fn beginning(&mut self, base: &CommitJournal, taken: &mut Taken) -> Result<Commits, IndexError> {
        let (start, commits) = base.commits()?;
        taken.start = start.epoch;
        start.each_record(|record| self.take_record(taken, start.epoch, &mut 0, &record))?;
        let mut place = 0;
        start.each_atom(|serial, copies, atom| {
            self.add_event(taken, atom.bytes, (serial, start.epoch, place), copies as i64);
            place += 1;
            self.write_part(taken).map_err(|error| error.to_string())
        })?;
        Ok(commits)
    }

    fn take_commit(&mut self, taken: &mut Taken, committed: &Committed, position: Position) -> Result<(), IndexError> {
        let epoch = committed.header.as_ref().map_or(0, |header| header.epoch);
        let mut place = 0;
        committed.each(|record| {
            self.take_record(taken, epoch, &mut place, &record);
            self.write_part(taken)
        })?;
        if let Some(header) = &committed.header {
            let (hash, start, cause) = (u128::from_le_bytes(header.hash), taken.start, self.causes.at());
            taken.mark = Some(Mark { epoch, hash, start, position, cause, is_whole: true });
        }
        Ok(())
    }

    fn take_record(&mut self, taken: &mut Taken, epoch: u64, place: &mut u32, record: &Record<'_>) {
        self.causes.take(record);
        match record {
            Record::SourceBegun { source, origin, .. } => {
                taken.batch.put(self.now.keyspaces.sources, source.to_be_bytes(), origin);
            }
            Record::Count { space, copies, atom } => {
                self.add_event(taken, atom.bytes, (*space, epoch, *place), *copies);
                *place += 1;
            }
            _ => {}
        }
    }

    fn add_event(&mut self, taken: &mut Taken, atom: &[u8], (space, epoch, place): (u64, u64, u32), copies: i64) {
        let (origin, line, column) = self.causes.place();
        let (name, is_new) = self.now.names.number(&origin);
        if is_new {
            taken.batch.put(self.now.keyspaces.names, name.to_be_bytes(), &origin);
        }
        let value = [&copies.to_le_bytes()[..], &name.to_le_bytes(), &line.to_le_bytes(), &column.to_le_bytes()];
        let key = event_key(&hash_of(atom), space, epoch, place);
        taken.batch.put(self.now.keyspaces.events, key, value.concat());
        taken.events += 1;
    }

    /// Writes the events so far of a commit, or of what there was before the first, if they are very many.
    fn write_part(&mut self, taken: &mut Taken) -> Result<(), IndexError> {
        if taken.batch.bytes() < PART_BYTES { Ok(()) } else { self.write(taken, false) }
    }

    /// Writes the events so far, and the mark with them.
    fn write(&mut self, taken: &mut Taken, is_whole: bool) -> Result<(), IndexError> {
        if let Some(mark) = &taken.mark {
            taken.batch.put(self.now.keyspaces.marks, MARK_KEY, Mark { is_whole, ..*mark }.encode());
        }
        self.store.commit(&taken.batch, Durability::Os).map_err(unusable)?;
        taken.batch.clear();
        Ok(())
    }
}

/// What is taken of a journal.
struct Taken {
    batch: Batch,
    events: u64,
    mark: Option<Mark>,
    start: u64,
}

/// The commits after that of a mark, if the journal has the same history up to there.
fn after(base: &CommitJournal, mark: Mark, start: u64) -> Result<Commits, IndexError> {
    let other = || unusable("it is one of another history");
    if mark.start != start {
        return Err(other());
    }
    let reader = Reader::from_position(Arc::clone(&base.disk), &mark.position);
    Ok(base.commits_after(reader.map_err(|_| other())?, mark.epoch))
}
