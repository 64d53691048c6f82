//! What an index answers: where an atom comes from, how many copies there were, which commits changed it, and which commit a time means.

use super::entries::{CommitEntry, Event, Name, event_key, hash_of, time_key};
use super::mark::Mark;
use super::{IndexError, Keyspaces, MARK_KEY, SIGN, changes_words, folder_of, not_opened, store_of, unusable};
use crate::commit_journal::record::Record;
use crate::commit_journal::{CommitJournal, Commits, KnowledgeBaseError};
use crate::history::log::Summary;
use crate::history::origins::{Asked, Causes, matches};
use crate::history::{Change, CommitView, Origins, shown};
use journal::Reader;
use metta::{Program, Reason};
use rustc_hash::FxHashMap;
use space::{Atom, canonical};
use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use store::{OpenError, Snapshot, Store};

/// What an index knows at a moment, for those who ask.
pub(crate) struct Indexed {
    pub(super) snapshot: Snapshot,
    pub(super) keyspaces: Keyspaces,
    pub(super) mark: Option<Mark>,
    /// The name that was asked for last: commits that follow each other mostly have one.
    last_name: RefCell<Option<(u32, Rc<str>)>>,
}

/// An atom without variables that is asked for: in these spaces of a base, up to a commit.
pub(crate) struct Question<'a> {
    pub(crate) base: &'a CommitJournal,
    pub(crate) spaces: &'a [u64],
    pub(crate) atom: &'a Atom,
    pub(crate) last: u64,
}

/// The events of an atom in their order, and those of the commits that the index does not know.
pub(crate) struct Events {
    events: Vec<Event>,
    commits: FxHashMap<u64, CommitView>,
    /// The commit before the first that is kept.
    start: u64,
}

/// A commit that changed an atom, and what it did to it.
pub(crate) struct AtomCommit {
    pub(crate) view: CommitView,
    /// The space of each change by its number.
    pub(crate) changes: Vec<(u64, Change)>,
}

impl Indexed {
    pub(super) fn of(snapshot: Snapshot, keyspaces: Keyspaces) -> Result<Self, IndexError> {
        let mark = snapshot.get(keyspaces.marks, MARK_KEY).map_err(unusable)?;
        let mark =
            mark.map(|bytes| Mark::decode(&bytes).ok_or_else(|| unusable("its mark is not one of this version")));
        Ok(Self { snapshot, keyspaces, mark: mark.transpose()?, last_name: RefCell::default() })
    }

    /// The index of the base in a directory as it is now, for reading; `None` if there is none, or nothing in it, or it is one of another history.
    ///
    /// # Errors
    /// It is damaged, or the journal cannot be read.
    pub(crate) fn read(base: &CommitJournal, directory: &Path) -> Result<Option<Self>, IndexError> {
        if !folder_of(directory).join(SIGN).is_file() {
            return Ok(None);
        }
        let snapshot = match Store::open_read_only(store_of(directory)) {
            Err(OpenError::Absent) => return Ok(None),
            opened => opened.map_err(|error| not_opened(&error))?,
        };
        // One that is being made has no mark yet, and may have no keyspaces.
        let Some(marks) = snapshot.keyspace("mark") else { return Ok(None) };
        if snapshot.get(marks, MARK_KEY).map_err(unusable)?.is_none() {
            return Ok(None);
        }
        let keyspaces = Keyspaces::found(&snapshot).ok_or_else(|| unusable("it is not one of this version"))?;
        let indexed = Self::of(snapshot, keyspaces)?;
        let start = base.first()?.saturating_sub(1);
        Ok(Some(indexed).filter(|indexed| indexed.is_of(base, start)))
    }

    /// Whether the journal of a base has the history that it was made of, and keeps the commits after the one of this number.
    fn is_of(&self, base: &CommitJournal, start: u64) -> bool {
        self.mark.is_some_and(|mark| mark.is_whole && after(base, mark, start).is_ok())
    }

    /// Whether a commit has this state hash, if the index knows the commit.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn agrees(&self, epoch: u64, hash: u128) -> Result<bool, IndexError> {
        let mark = self.known()?;
        if epoch <= mark.start || epoch > mark.epoch {
            return Ok(true);
        }
        Ok(self.commit(epoch)?.hash == hash)
    }

    fn known(&self) -> Result<Mark, IndexError> {
        self.mark.ok_or_else(|| unusable("it has no mark"))
    }

    /// The last commit that changed what words mean or which modules are imported, of those that the base has.
    ///
    /// # Errors
    /// The index is damaged, or the journal cannot be read.
    pub(crate) fn words(&self, base: &CommitJournal, last: u64) -> Result<u64, IndexError> {
        let mark = self.known()?;
        let mut words = mark.words;
        let Some(mut commits) = self.tail(base, last)? else { return Ok(words) };
        while let Some(committed) = commits.next()? {
            committed.each(|record| {
                if let (true, Some(header)) = (changes_words(&record), &committed.header) {
                    words = header.epoch;
                }
                Ok::<(), KnowledgeBaseError>(())
            })?;
        }
        Ok(words)
    }

    /// The last commit that was made at a time or before, if there is one.
    ///
    /// # Errors
    /// The index is damaged, or the journal cannot be read.
    pub(crate) fn epoch_by(&self, base: &CommitJournal, time: i64) -> Result<Option<u64>, IndexError> {
        let mut range = self.snapshot.range(self.keyspaces.times, ..=time_key(time)).map_err(unusable)?;
        let entry = range.next_back().map_err(unusable)?;
        let epoch = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).map_err(unusable);
        let mut found = entry.map(|(_, bytes)| epoch(bytes)).transpose()?;
        let Some(mut commits) = self.tail(base, u64::MAX)? else { return Ok(found) };
        while let Some(committed) = commits.next()? {
            let made = committed.header.as_ref().and_then(|header| Some((header.epoch, header.time?)));
            found = made.filter(|(_, made)| *made <= time).map(|(epoch, _)| epoch).or(found);
        }
        Ok(found)
    }

    /// The commits up to `last` that the index does not know; `None` if it knows all.
    fn tail(&self, base: &CommitJournal, last: u64) -> Result<Option<Commits>, IndexError> {
        let mark = self.known()?;
        if last <= mark.epoch {
            return Ok(None);
        }
        let mut until = base.reader();
        until.end_at(last);
        after(&until, mark, mark.start).map(Some)
    }

    /// The events of an atom. Those of commits that the index does not know are read from the journal, which goes on from the mark.
    ///
    /// # Errors
    /// The commit that is asked for was given up, the index is damaged, or the journal cannot be read.
    pub(crate) fn events(&self, program: &mut Program, asked: &Question<'_>) -> Result<Events, IndexError> {
        let start = self.known()?.start;
        if asked.last < start {
            return Err(KnowledgeBaseError::GivenUp { epoch: asked.last, first: start + 1 }.into());
        }
        let mut found = Events { events: Vec::new(), commits: FxHashMap::default(), start };
        // No query finds a number that is not equal to itself.
        if !matches(program, asked.atom, asked.atom) {
            return Ok(found);
        }
        let hash = hash_of(&canonical::encode(asked.atom));
        for &space in asked.spaces {
            let (from, to) = (event_key(&hash, space, 0, 0), event_key(&hash, space, asked.last, u32::MAX));
            let mut range = self.snapshot.range(self.keyspaces.events, from..=to).map_err(unusable)?;
            while let Some((key, value)) = range.next().map_err(unusable)? {
                found.events.push(Event::decode(key, value).ok_or_else(|| unusable("an entry is not an event"))?);
            }
        }
        found.events.sort_by_key(|event| (event.epoch, event.place));
        self.add_tail(&mut found, asked)?;
        Ok(found)
    }

    fn add_tail(&self, found: &mut Events, question: &Question<'_>) -> Result<(), IndexError> {
        let Some(mut commits) = self.tail(question.base, question.last)? else { return Ok(()) };
        let asked = Asked::of(question.spaces.to_vec(), question.atom);
        let mut causes = self.causes()?;
        while let Some(committed) = commits.next()? {
            let epoch = committed.header.as_ref().map_or(0, |header| header.epoch);
            let (first, mut summary, mut place) = (found.events.len(), Summary::default(), 0);
            committed.each(|record| {
                causes.take(&record);
                summary.take(&record, &causes);
                let Record::Count { space, copies, atom } = record else { return Ok(()) };
                place += 1;
                if asked.may_be(space, &atom) {
                    let (origin, line, column) = causes.place();
                    let name = Name::Text(Rc::from(origin));
                    found.events.push(Event { space, epoch, place, copies, name, line, column });
                }
                Ok::<(), KnowledgeBaseError>(())
            })?;
            if let Some(header) = committed.header.as_ref().filter(|_| found.events.len() > first) {
                found.commits.insert(epoch, summary.view(header));
            }
        }
        Ok(())
    }

    /// What causes the first form after the mark.
    pub(super) fn causes(&self) -> Result<Causes, IndexError> {
        let mut causes = Causes::default();
        let mut range = self.snapshot.all(self.keyspaces.sources).map_err(unusable)?;
        while let Some((key, text)) = range.next().map_err(unusable)? {
            let source = u32::from_be_bytes(key.try_into().map_err(unusable)?);
            causes.name(source, std::str::from_utf8(text).map_err(unusable)?);
        }
        causes.go_to(self.mark.map_or([0; 3], |mark| mark.cause));
        Ok(causes)
    }

    fn name(&self, name: &Name) -> Result<String, IndexError> {
        let number = match name {
            Name::Text(text) => return Ok(text.to_string()),
            Name::Numbered(number) => *number,
        };
        if let Some((_, text)) = self.last_name.borrow().as_ref().filter(|(known, _)| *known == number) {
            return Ok(text.to_string());
        }
        let text = self.snapshot.get(self.keyspaces.names, number.to_be_bytes()).map_err(unusable)?;
        let text = text.ok_or_else(|| unusable("a name is missing"))?;
        let text = std::str::from_utf8(&text).map_err(unusable)?;
        *self.last_name.borrow_mut() = Some((number, Rc::from(text)));
        Ok(text.to_owned())
    }

    /// A commit up to the mark.
    fn commit(&self, epoch: u64) -> Result<CommitView, IndexError> {
        let bytes = self.snapshot.get(self.keyspaces.commits, epoch.to_be_bytes()).map_err(unusable)?;
        let entry = bytes.and_then(|bytes| CommitEntry::decode(&bytes));
        let entry = entry.ok_or_else(|| unusable("a commit is missing"))?;
        let origin = self.name(&Name::Numbered(entry.name))?;
        Ok(entry.view(epoch, origin))
    }

    /// Where the copies of an atom come from that spaces have after a commit, as [`origins`](crate::history::origins::origins) finds it in the
    /// journal.
    ///
    /// # Errors
    /// The index is damaged, or the journal cannot be read.
    pub(crate) fn origins(&self, program: &mut Program, asked: &Question<'_>) -> Result<Origins, IndexError> {
        let Events { events, start, .. } = self.events(program, asked)?;
        let mut there: FxHashMap<u64, Vec<&Event>> = FxHashMap::default();
        for event in &events {
            let (space, copies) = (there.entry(event.space).or_default(), copies_of(event)?);
            if event.copies > 0 {
                space.extend(std::iter::repeat_n(event, copies));
            } else {
                // The copies that came last go first.
                space.truncate(space.len().saturating_sub(copies));
            }
        }
        let mut found: Vec<&Event> = there.into_values().flatten().collect();
        found.sort_by_key(|event| (event.epoch, event.place));
        let given_up = found.iter().filter(|event| event.epoch <= start).count() as u64;
        let kept = found.iter().filter(|event| event.epoch > start);
        let reasons: Result<Vec<Reason>, IndexError> = kept.map(|event| self.reason(asked.atom, event)).collect();
        Ok(Origins { reasons: reasons?, given_up })
    }

    fn reason(&self, atom: &Atom, event: &Event) -> Result<Reason, IndexError> {
        let Event { epoch, line, column, .. } = *event;
        Ok(Reason { atom: atom.clone(), epoch, origin: self.name(&event.name)?, line, column })
    }

    /// How many copies of an atom spaces have after a commit.
    ///
    /// # Errors
    /// The index is damaged, or the journal cannot be read.
    pub(crate) fn copies(&self, program: &mut Program, asked: &Question<'_>) -> Result<u64, IndexError> {
        let mut there: FxHashMap<u64, u64> = FxHashMap::default();
        for event in self.events(program, asked)?.events {
            let space = there.entry(event.space).or_default();
            *space = space.saturating_add_signed(event.copies);
        }
        Ok(there.into_values().sum())
    }

    /// What the commit at the beginning of these events did to the atom, and the events after it.
    ///
    /// # Errors
    /// The index is damaged.
    pub(crate) fn next_commit<'a>(
        &self,
        atom: &Atom,
        (events, rest): (&'a Events, &'a [Event]),
        with_changes: bool,
    ) -> Result<Option<(AtomCommit, &'a [Event])>, IndexError> {
        let Some(first) = rest.first() else { return Ok(None) };
        let (of_commit, rest) = rest.split_at(rest.partition_point(|event| event.epoch == first.epoch));
        let view = match events.commits.get(&first.epoch) {
            Some(view) => view.clone(),
            None => self.commit(first.epoch)?,
        };
        let asked = if with_changes { of_commit } else { &[] };
        let text = if with_changes { shown(atom) } else { String::new() };
        let change = |event: &Event| {
            let (origin, line, copies, text) = (self.name(&event.name)?, event.line, event.copies, text.clone());
            Ok((event.space, Change { origin, line, copies, space: None, text }))
        };
        let changes: Result<Vec<(u64, Change)>, IndexError> = asked.iter().map(change).collect();
        Ok(Some((AtomCommit { view, changes: changes? }, rest)))
    }
}

impl Events {
    /// Those of the commits that are kept and in a range.
    pub(crate) fn of(&self, epochs: &RangeInclusive<u64>) -> &[Event] {
        let from = self.events.partition_point(|event| event.epoch <= self.start || event.epoch < *epochs.start());
        let to = self.events.partition_point(|event| event.epoch <= *epochs.end());
        self.events.get(from..to).unwrap_or_default()
    }

    /// How many copies there were before the first commit that is kept.
    pub(crate) fn given_up(&self) -> u64 {
        self.events.iter().take_while(|event| event.epoch <= self.start).map(|event| event.copies.unsigned_abs()).sum()
    }
}

fn copies_of(event: &Event) -> Result<usize, IndexError> {
    usize::try_from(event.copies.unsigned_abs()).map_err(unusable)
}

/// The commits after that of a mark, if the journal has the same history up to there.
pub(super) fn after(base: &CommitJournal, mark: Mark, start: u64) -> Result<Commits, IndexError> {
    let other = || unusable("it is one of another history");
    if mark.start != start {
        return Err(other());
    }
    let reader = Reader::from_position(Arc::clone(&base.disk), &mark.position);
    Ok(base.commits_after(reader.map_err(|_| other())?, mark.epoch))
}
