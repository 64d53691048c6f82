//! What the log of a state says, to whoever has none of the functions that derive its pages.
//!
//! Nothing is derived, and nothing is locked: another process may write meanwhile. Cost: that of reading the log, and some 150 bytes of memory
//! for each page with its name, what is kept with it and what it depends on. For a fork also that of loading the checkpoint that it begins with, with all its pages in memory, once more for each
//! function that derives some of them.

use crate::checkpoint::{self, LoadError};
use crate::error::OpenError;
use crate::function::{FunctionError, FunctionName, Functions, Inputs};
use crate::kept_statistics;
use crate::log::CommitReader;
use crate::metadata::Metadata;
use crate::page::PageId;
use crate::record::{CommitRecord, Structural};
use crate::state::State;
use crate::statistics::Statistics;
use crate::{Epoch, Options};
use journal::{Access, Disk};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What the log of a state says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// The commit that the log begins after: 0, but for a fork.
    pub base: Epoch,
    /// The last commit.
    pub epoch: Epoch,
    /// How many pages there are after it.
    pub pages: u64,
    /// How many bytes they hold.
    pub page_bytes: u64,
    /// How many of them each function derives.
    pub derived: BTreeMap<FunctionName, u64>,
    /// How many pages the commits of the log have made.
    pub created: u64,
    /// How many they have deleted.
    pub deleted: u64,
    /// How often a page was written and held other bytes then.
    pub written: u64,
    /// How many bytes were written so.
    pub bytes_written: u64,
    /// How many commits say what the hash of the state was.
    pub hashed: u64,
    /// The commits of which there are checkpoints, in order.
    pub checkpoints: Vec<Epoch>,
    /// How long the files of the checkpoints are, in bytes.
    pub checkpoint_bytes: u64,
    /// How long the files of the log are, in bytes.
    pub log_bytes: u64,
    /// The pages after the last commit, in the order of their places.
    pub page_details: Vec<SurveyedPage>,
    /// What the commits cost of the last program that measured them and has closed the state, or written a checkpoint, since; times are in the unit of
    /// its clock.
    pub statistics: Option<Statistics>,
    /// The last commits, at most [`Survey::COMMITS_MAX`], in order.
    pub last_commits: VecDeque<SurveyedCommit>,
}

impl ::statistics::Statistics for Survey {
    fn what(&self) -> &'static str {
        "state of pages"
    }

    fn entries(&self, to: &mut ::statistics::Entries) {
        to.count("base", "The commit that the log begins after: 0, but for a fork.", self.base);
        to.count("epoch", "The last commit.", self.epoch);
        to.count("commits", "Commits in the log.", self.epoch - self.base);
        to.count("pages", "Pages that there are after the last commit.", self.pages);
        to.bytes("page_bytes", "What these pages hold.", self.page_bytes);
        let derived = self.derived.iter().map(|(function, count)| (function.to_string(), *count));
        to.counts("derived", "How many of these pages each function derives.", derived);
        to.count("created", "Pages that commits of the log have made.", self.created);
        to.count("deleted", "Pages that they have deleted.", self.deleted);
        to.count("written", "How often a page was written and held other bytes then.", self.written);
        to.bytes("bytes_written", "What was written so.", self.bytes_written);
        to.count("hashed", "Commits that say what the hash of the state was.", self.hashed);
        to.bytes("log_bytes", "The files of the log.", self.log_bytes);
        to.count("checkpoint_count", "Checkpoints beside the log.", self.checkpoints.len() as u64);
        to.bytes("checkpoint_bytes", "The files of the checkpoints.", self.checkpoint_bytes);
        let measured = self.statistics.as_ref().map(|statistics| statistics as &dyn ::statistics::Statistics);
        to.part("statistics", "What commits cost of the last program that measured them, if one did.", measured);
    }
}

/// What the log of a state says of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SurveyedPage {
    /// Which.
    pub page: PageId,
    /// How many bytes it has.
    pub bytes: u64,
    /// What it was described as.
    pub metadata: Metadata,
    /// The commit that made it.
    pub created: Epoch,
    /// The last commit that changed it; none if it is derived, and the log does not say what derived pages hold.
    pub changed: Option<Epoch>,
    /// How many commits of this log have changed it, as far as the log says.
    pub written: u64,
    /// How it is derived; none if it is written.
    pub derived: Option<SurveyedDerivation>,
}

/// What the log of a state says of how a page is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyedDerivation {
    /// By which function.
    pub function: FunctionName,
    /// From which pages.
    pub dependencies: Vec<PageId>,
}

/// What the log of a state says of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SurveyedCommit {
    /// Its number.
    pub epoch: Epoch,
    /// Where it says that it comes from.
    pub source: Option<String>,
    /// The commit that it says that it follows from.
    pub cause: Option<Epoch>,
    /// How many pages it made.
    pub created: u64,
    /// How many it deleted.
    pub deleted: u64,
    /// How many were written and held other bytes then.
    pub written: u64,
    /// How many bytes were written so.
    pub bytes_written: u64,
}

/// The pages after a commit, by their places.
type Places = BTreeMap<u32, SurveyedPage>;

impl Survey {
    /// How many of the last commits are told one by one.
    pub const COMMITS_MAX: usize = 100;

    /// Reads the log that a disk holds.
    ///
    /// # Errors
    /// There is none, it is damaged, or it belongs to something else.
    pub fn read(disk: &Arc<dyn Disk>) -> Result<Self, OpenError> {
        let mut commits = CommitReader::new(disk.clone())?;
        let mut places = if commits.base > 0 { begun_at(disk, commits.base)? } else { Places::new() };
        let mut survey = Self { base: commits.base, epoch: commits.base, ..Self::default() };
        while let Some(commit) = commits.next()? {
            survey.count(commit, &mut places);
        }
        survey.count_files(disk)?;
        survey.statistics = kept_statistics::read(&**disk);
        for page in places.values() {
            survey.pages += 1;
            survey.page_bytes += page.bytes;
            if let Some(derivation) = &page.derived {
                *survey.derived.entry(derivation.function.clone()).or_default() += 1;
            }
        }
        survey.page_details = places.into_values().collect();
        Ok(survey)
    }

    fn count(&mut self, commit: CommitRecord, places: &mut Places) {
        let epoch = commit.epoch;
        let source = commit.origin.source.as_deref().map(str::to_owned);
        let mut told = SurveyedCommit { epoch, source, cause: commit.origin.cause, ..SurveyedCommit::default() };
        for change in commit.structure {
            told.apply(change, places);
        }
        told.written = commit.deltas.len() as u64;
        told.bytes_written = commit.deltas.iter().map(|delta| delta.bytes.len() as u64).sum();
        for delta in commit.deltas.iter().chain(&commit.derived) {
            if let Some(page) = places.get_mut(&delta.page.slot).filter(|page| page.page == delta.page) {
                page.changed = Some(epoch);
                page.written += 1;
            }
        }
        self.epoch = epoch;
        self.hashed += u64::from(commit.state_hash.is_some());
        self.created += told.created;
        self.deleted += told.deleted;
        self.written += told.written;
        self.bytes_written += told.bytes_written;
        if self.last_commits.len() == Self::COMMITS_MAX {
            self.last_commits.pop_front();
        }
        self.last_commits.push_back(told);
    }

    fn count_files(&mut self, disk: &Arc<dyn Disk>) -> Result<(), OpenError> {
        let refused = |error: std::io::Error| OpenError::Journal(Box::new(error));
        self.checkpoints = checkpoint::epochs(disk)?;
        let names: Vec<String> = self.checkpoints.iter().map(|&epoch| checkpoint::name_of(epoch)).collect();
        for name in disk.list().map_err(refused)? {
            let is_checkpoint = names.contains(&name);
            if !is_checkpoint && !name.ends_with(".segment") {
                continue;
            }
            let length = match disk.open(&name, Access::Read).and_then(|file| file.length()) {
                // Whoever writes there has taken it away since the names were listed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                length => length.map_err(refused)?,
            };
            *if is_checkpoint { &mut self.checkpoint_bytes } else { &mut self.log_bytes } += length;
        }
        Ok(())
    }
}

/// What a fork began with. Its functions have names, and nothing runs them.
fn begun_at(disk: &Arc<dyn Disk>, base: Epoch) -> Result<Places, OpenError> {
    let mut functions = Functions::new();
    loop {
        let mut state = State::new(functions.clone(), Options::default());
        match checkpoint::load(&mut state, disk, base) {
            Ok(_) => return Ok(places_of(&state)),
            Err(LoadError::Function(OpenError::UnknownFunction { function, .. })) => {
                functions.add(function, |_: &Inputs<'_>, _: &mut [u8]| Err(FunctionError::from("nothing runs it")));
            }
            Err(LoadError::Function(error)) => return Err(error),
            Err(LoadError::Unusable(_)) => return Err(OpenError::NoCheckpoint { base }),
        }
    }
}

fn places_of(state: &State) -> Places {
    let of = |(id, page): (PageId, &crate::page::Page)| {
        let node = &state.nodes[id.slot as usize];
        let derived = node.derivation.as_ref().map(|derivation| SurveyedDerivation {
            function: derivation.name.clone(),
            dependencies: derivation.dependencies.to_vec(),
        });
        let page = SurveyedPage {
            page: id,
            bytes: page.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            metadata: node.metadata.as_deref().cloned().unwrap_or_default(),
            created: page.created,
            changed: Some(page.changed),
            written: 0,
            derived,
        };
        (id.slot, page)
    };
    state.pages.iter().map(of).collect()
}

impl SurveyedCommit {
    /// Counts a change of which pages there are, and makes it.
    fn apply(&mut self, change: Structural, places: &mut Places) {
        match change {
            Structural::Create { page, length } => self.create(page, length, None, places),
            Structural::Derive { page, length, function, dependencies } => {
                self.create(page, length, Some(SurveyedDerivation { function, dependencies }), places);
            }
            Structural::Rederive { page, function, dependencies } => {
                if let Some(place) = places.get_mut(&page.slot) {
                    (place.derived, place.changed) = (Some(SurveyedDerivation { function, dependencies }), None);
                }
            }
            Structural::Describe { page, metadata } => {
                if let Some(place) = places.get_mut(&page.slot) {
                    place.metadata = metadata;
                }
            }
            Structural::Delete { page } => {
                self.deleted += 1;
                places.remove(&page.slot);
            }
        }
    }

    fn create(&mut self, page: PageId, length: usize, derived: Option<SurveyedDerivation>, places: &mut Places) {
        self.created += 1;
        let changed = derived.is_none().then_some(self.epoch);
        let (bytes, metadata, created) = (length as u64, Metadata::default(), self.epoch);
        places.insert(page.slot, SurveyedPage { page, bytes, metadata, created, changed, written: 0, derived });
    }
}
