//! The index of a base's history: which commits added and removed an atom, and when, without a look into the journal.
//!
//! The index is a [store](store::Store) in the folder `history` of the base, beside a file `INDEX` that says so. It is derived from the journal: it can
//! be removed and made anew at any time. A folder without that file is somebody else's, and is left alone.
//!
//! 1. `events` has an entry for each time that a commit adds or removes copies of an atom. The key is the first 16 bytes of the BLAKE3 hash of the
//!    atom's canonical bytes, the serial number of the space, the commit, and the place within the commit: so the events of an atom lie together, in
//!    their order. The value is how many copies came or went, and where the form stands that caused it.
//! 2. `commits` has what the log says of each commit, and `times` the last commit that was made by a time: a time is there if no later commit has
//!    it or an earlier one, so the last entry that is not later than a time says which commit it means.
//! 3. `names` has what sources are called, and `sources` what each is called at the moment.
//! 4. `mark` says how far the index has come: the commit, the position and chain of the journal behind it, which commits
//!    were given up, and the last commit that changed words or imports. It is written in the batch of the events, so that both are there or neither
//!    is. Of a commit of more events than fit into a batch a part is written first, with a mark that says so: such an index is made anew if nothing
//!    follows.
//! 5. Before the index answers, the journal is asked whether its chain at the position of the mark is that of the mark, once in a process; if it is not,
//!    or other commits were given up since, the index is one of another history. A writer makes it anew, and a reader reads the journal.
//! 6. The commits after the mark are read from the journal, from the position of the mark on: a writer takes them into the index, and a reader looks
//!    among them for what is asked.
//! 7. If the index cannot be opened for another reason, such as a lock or a refusal of the disk, it is left as it is, and the journal is read.
//!
//! A question about an atom costs a lookup by its hash and one for each of its commits that is told of, however many commits there are.
//!
//! Invariant: an answer from the index is the answer that the journal gives. What is damaged is never answered from.

mod answers;
mod entries;
mod mark;

pub(crate) use answers::{AtomCommit, Events, Indexed, Question};

use super::log::Summary;
use super::origins::Causes;
use crate::commit_journal::load::is_other;
use crate::commit_journal::record::Record;
use crate::commit_journal::{CommitJournal, Commits, Committed, KnowledgeBaseError};
use answers::after;
use entries::{CommitEntry, EVENT_KEY_BYTES, event_key, event_value, hash_of, time_key, time_of};
use journal::Position;
use mark::Mark;
use rustc_hash::FxHashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use store::{Batch, Durability, KeyShape, Keyspace, OpenError, Options, Snapshot, Store, WriteError};

/// What lies in the directory of a base that has an index.
const FOLDER: &str = "history";
/// What lies in that folder if it is an index.
const SIGN: &str = "INDEX";
const SIGN_TEXT: &str = "METROON index of a history\n";
/// How many bytes of events are written together.
const BATCH_BYTES: usize = 1 << 20;
/// How many bytes of events of one commit are written before its mark.
const PART_BYTES: usize = 64 << 20;
const MARK_KEY: &str = "mark";

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

/// Why what was taken is not written: the index is damaged, or the disk refuses.
fn not_written(error: &WriteError) -> IndexError {
    match error {
        WriteError::Damaged(_) => unusable(error),
        WriteError::Refused(before) => not_written(before),
        _ => IndexError::Closed(error.to_string()),
    }
}

/// Why a store that lies where an index does cannot be opened.
fn not_opened(error: &OpenError) -> IndexError {
    match error {
        OpenError::Foreign | OpenError::Damaged(_) | OpenError::ReadLog(_) | OpenError::Log(_) => unusable(error),
        _ => IndexError::Closed(error.to_string()),
    }
}

/// The keyspaces of an index.
#[derive(Clone, Copy)]
struct Keyspaces {
    events: Keyspace,
    commits: Keyspace,
    times: Keyspace,
    names: Keyspace,
    sources: Keyspace,
    marks: Keyspace,
}

const SHAPES: [(&str, KeyShape); 6] = [
    ("events", KeyShape::Fixed(EVENT_KEY_BYTES)),
    ("commits", KeyShape::Fixed(8)),
    ("times", KeyShape::Fixed(8)),
    ("names", KeyShape::Fixed(4)),
    ("sources", KeyShape::Fixed(4)),
    ("mark", KeyShape::Bytes),
];

impl Keyspaces {
    fn of([events, commits, times, names, sources, marks]: [Keyspace; 6]) -> Self {
        Self { events, commits, times, names, sources, marks }
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

/// The numbers of what sources were ever called.
#[derive(Default)]
struct Names {
    numbers: FxHashMap<String, u32>,
}

impl Names {
    fn of(indexed: &Indexed) -> Result<Self, IndexError> {
        let mut names = Self::default();
        let mut range = indexed.snapshot.all(indexed.keyspaces.names).map_err(unusable)?;
        while let Some((_, text)) = range.next().map_err(unusable)? {
            names.number(std::str::from_utf8(text).map_err(unusable)?);
        }
        Ok(names)
    }

    /// The number of a name, and whether it is new.
    fn number(&mut self, text: &str) -> (u32, bool) {
        if let Some(number) = self.numbers.get(text) {
            return (*number, false);
        }
        let number = self.numbers.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        (number, true)
    }
}

/// An index that is kept up.
pub(crate) struct HistoryIndex {
    store: Store,
    now: Indexed,
    names: Names,
    causes: Causes,
    /// The last time in `times`.
    latest: Option<i64>,
    /// Whether the commit of the mark was found in the journal, and how often commits had been given up then.
    checked_at: Option<u64>,
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
        let (names, causes) = (Names::of(&now)?, now.causes()?);
        let mut times = now.snapshot.all(keyspaces.times).map_err(unusable)?;
        let latest = times.next_back().map_err(unusable)?;
        let latest =
            latest.map(|(key, _)| time_of(key).ok_or_else(|| unusable("an entry is not a time"))).transpose()?;
        Ok(Self { store, now, names, causes, latest, checked_at: None })
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
        let words = self.now.mark.map_or(start, |mark| mark.words);
        let mut taken = Taken { batch: Batch::new(), events: 0, mark: self.now.mark, start, words };
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
    /// The disk refuses, or something that is written anew is damaged.
    pub(super) fn finish(self) -> Result<(), IndexError> {
        self.store.compact().map_err(|error| not_written(&error))?;
        self.store.close().map_err(|error| not_written(&error))
    }

    /// Takes what there was before the first commit that is kept; gives the commits.
    fn beginning(&mut self, base: &CommitJournal, taken: &mut Taken) -> Result<Commits, IndexError> {
        let (start, commits) = base.commits()?;
        (taken.start, taken.words) = (start.epoch, start.epoch);
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
        if let Some(time) = committed.header.as_ref().and_then(|header| header.time) {
            self.take_time(taken, epoch, time)?;
        }
        let (mut place, mut summary) = (0, Summary::default());
        committed.each(|record| {
            self.take_record(taken, epoch, &mut place, &record);
            summary.take(&record, &self.causes);
            if changes_words(&record) {
                taken.words = epoch;
            }
            self.write_part(taken)
        })?;
        if let Some(header) = &committed.header {
            let view = summary.view(header);
            let name = self.name(taken, &view.origin);
            taken.batch.put(self.now.keyspaces.commits, epoch.to_be_bytes(), CommitEntry::encode(&view, name));
            let (start, words, cause) = (taken.start, taken.words, self.causes.at());
            taken.mark = Some(Mark { epoch, start, words, position, cause, is_whole: true });
        }
        Ok(())
    }

    /// Keeps of each time the last commit that was made by then. If a clock was set back, the commits with later times before it are no longer the
    /// last by any time.
    fn take_time(&mut self, taken: &mut Taken, epoch: u64, time: i64) -> Result<(), IndexError> {
        let times = self.now.keyspaces.times;
        if self.latest.is_some_and(|latest| latest > time) {
            // What is still in the batch cannot be looked at.
            self.write(taken, true)?;
            let snapshot = self.store.snapshot();
            let mut later = snapshot.range(times, time_key(time)..=time_key(i64::MAX)).map_err(unusable)?;
            while let Some((key, _)) = later.next().map_err(unusable)? {
                taken.batch.delete(times, key);
            }
        }
        taken.batch.put(times, time_key(time), epoch.to_be_bytes());
        self.latest = Some(time);
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
        let name = self.name(taken, &origin);
        let key = event_key(&hash_of(atom), space, epoch, place);
        taken.batch.put(self.now.keyspaces.events, key, event_value(copies, name, line, column));
        taken.events += 1;
    }

    /// The number of what a source is called.
    fn name(&mut self, taken: &mut Taken, text: &str) -> u32 {
        let (number, is_new) = self.names.number(text);
        if is_new {
            taken.batch.put(self.now.keyspaces.names, number.to_be_bytes(), text);
        }
        number
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
        self.store.commit(&taken.batch, Durability::Os).map_err(|error| not_written(&error))?;
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
    words: u64,
}

/// Whether a record may change what words mean, or which atoms a query finds beside those of the program's own space.
fn changes_words(record: &Record<'_>) -> bool {
    let is_value = matches!(record, Record::SpaceMade { .. } | Record::StateMade { .. } | Record::GeneratorSet { .. });
    is_other(record) && !is_value
}
