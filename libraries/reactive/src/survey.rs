//! What the log of a state says, to whoever has none of the functions that derive its pages.
//!
//! Nothing is derived, and nothing is locked: another process may write meanwhile. Cost: that of reading the log, and some 50 bytes of memory
//! for each page. For a fork also that of loading the checkpoint that it begins with, with all its pages in memory, once more for each
//! function that derives some of them.

use crate::checkpoint::{self, LoadError};
use crate::error::OpenError;
use crate::function::{FunctionError, FunctionName, Functions, Inputs};
use crate::log::CommitReader;
use crate::record::{CommitRecord, Structural};
use crate::state::State;
use crate::{Epoch, Options};
use journal::{Access, Disk};
use std::collections::BTreeMap;
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
}

/// The pages after a commit, by their places: how long they are, and what derives them.
type Places = BTreeMap<u32, (u64, Option<FunctionName>)>;

impl Survey {
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
        for (bytes, function) in places.into_values() {
            survey.pages += 1;
            survey.page_bytes += bytes;
            if let Some(function) = function {
                *survey.derived.entry(function).or_default() += 1;
            }
        }
        Ok(survey)
    }

    fn count(&mut self, commit: CommitRecord, places: &mut Places) {
        self.epoch = commit.epoch;
        self.hashed += u64::from(commit.state_hash.is_some());
        self.written += commit.deltas.len() as u64;
        self.bytes_written += commit.deltas.iter().map(|delta| delta.bytes.len() as u64).sum::<u64>();
        for change in commit.structure {
            match change {
                Structural::Create { page, length } => {
                    self.created += 1;
                    places.insert(page.slot, (length as u64, None));
                }
                Structural::Derive { page, length, function, .. } => {
                    self.created += 1;
                    places.insert(page.slot, (length as u64, Some(function)));
                }
                Structural::Rederive { page, function, .. } => {
                    if let Some(place) = places.get_mut(&page.slot) {
                        place.1 = Some(function);
                    }
                }
                Structural::Describe { .. } => {}
                Structural::Delete { page } => {
                    self.deleted += 1;
                    places.remove(&page.slot);
                }
            }
        }
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
    let of = |(id, page): (crate::PageId, &crate::page::Page)| {
        let derivation = state.nodes[id.slot as usize].derivation.as_ref();
        let bytes = page.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        (id.slot, (bytes, derivation.map(|derivation| derivation.name.clone())))
    };
    state.pages.iter().map(of).collect()
}
