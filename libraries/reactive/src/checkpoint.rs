//! A checkpoint: a state as it was after a commit, in one file beside its log. `docs/formats.md` draws it.
//!
//! It saves time: opening reads the newest one, and only the commits after it. The log stays the truth: a checkpoint that is
//! damaged, or belongs to another log, is not used. It is written under another name, made durable, and then renamed.

use crate::error::OpenError;
use crate::node::{Derivation, Node};
use crate::page::PageId;
use crate::record::{Decoder, Malformed, Origin, put_derivation, put_metadata, put_text, put_u32};
use crate::state::State;
use crate::warning::StateWarning;
use crate::{Epoch, Options};
use journal::{Access, Chain, Disk, Durability, Position};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use twox_hash::XxHash3_128;

const MAGIC: &[u8; 8] = b"METROONP";
/// The version of the bytes that are written.
const VERSION: u32 = 1;
const SUFFIX: &str = ".pages";
const EPOCH_DIGITS: usize = 20;
const CHECKSUM_BYTES: usize = 16;

const FREE: u8 = 0;
const WRITTEN: u8 = 1;
const DERIVED: u8 = 2;
/// Added to the kind of a page that was described.
const DESCRIBED: u8 = 4;

impl State {
    /// Writes a checkpoint of the state as it is now, and makes it and the log durable. Older checkpoints are kept: they make looking at the
    /// past faster, and can be deleted, but for the one that a fork begins with.
    ///
    /// # Errors
    /// The state keeps no log, or the disk refuses.
    pub fn checkpoint(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        if self.log.is_awaited() {
            return Ok(());
        }
        let disk = self.log.disk().ok_or(OpenError::NoLog)?.clone();
        self.sync(Durability::Fsync)?;
        let Some(position) = self.log.position() else { return Ok(()) };
        let bytes = encode(self, &position);
        let (name, unfinished) = (name_of(self.epoch), format!("{}.new", name_of(self.epoch)));
        let file = disk.create(&unfinished)?;
        file.write_full(0, &bytes)?;
        file.sync()?;
        disk.rename(&unfinished, &name)?;
        disk.sync_names()?;
        self.keep_statistics();
        Ok(())
    }

    /// Another state that is as this one was after a commit, and keeps its log on a disk of its own, which must be empty. It goes on from
    /// there: its log begins after that commit.
    ///
    /// # Errors
    /// As [`State::at`](State::at), or the disk is not empty, or refuses.
    pub fn fork_to(
        &self,
        epoch: Epoch,
        disk: Arc<dyn Disk>,
        options: Options,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut state = self.fork(epoch)?;
        state.times = options.clock.as_ref().map(|_| Default::default());
        state.options = options;
        state.log = crate::log::Log::new(disk, &state.options, epoch);
        state.log.begin()?;
        state.checkpoint()?;
        Ok(state)
    }

    /// [`State::fork_to`] a folder, which is made if it is not there, and locked as long as the state lives.
    ///
    /// # Errors
    /// As [`State::fork_to`]; another process has the folder.
    pub fn fork_in(
        &self,
        epoch: Epoch,
        folder: impl AsRef<Path>,
        options: Options,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (disk, lock) = crate::log::locked(folder.as_ref())?;
        let mut state = self.fork_to(epoch, disk, options)?;
        state.log.hold(lock);
        Ok(state)
    }
}

/// The file of the checkpoint of a commit.
pub(crate) fn name_of(epoch: Epoch) -> String {
    format!("{epoch:0EPOCH_DIGITS$}{SUFFIX}")
}

/// The epoch of the checkpoint of this name; none for other files.
fn epoch_of(name: &str) -> Option<Epoch> {
    let digits = name.strip_suffix(SUFFIX)?;
    let is_number = digits.len() == EPOCH_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

/// The commits of which there are checkpoints, in order.
///
/// # Errors
/// The disk cannot be read.
pub(crate) fn epochs(disk: &Arc<dyn Disk>) -> Result<Vec<Epoch>, OpenError> {
    let names = disk.list().map_err(|error| OpenError::Journal(Box::new(error)))?;
    let mut epochs: Vec<Epoch> = names.iter().filter_map(|name| epoch_of(name)).collect();
    epochs.sort_unstable();
    Ok(epochs)
}

/// Makes a state that of the newest checkpoint that is not after `last` and can be used; says where in the log that was.
///
/// # Errors
/// The disk cannot be read, or a function is not there.
pub(crate) fn load_newest(
    state: &mut State,
    disk: &Arc<dyn Disk>,
    last: Epoch,
    warnings: &mut Vec<StateWarning>,
) -> Result<Option<Position>, OpenError> {
    for epoch in epochs(disk)?.into_iter().rev().filter(|&epoch| epoch <= last) {
        match load(state, disk, epoch) {
            Ok(position) => return Ok(Some(position)),
            Err(LoadError::Function(error)) => return Err(error),
            Err(LoadError::Unusable(reason)) => {
                state.reset(None);
                warnings.push(StateWarning::Checkpoint { file: name_of(epoch), reason });
            }
        }
    }
    Ok(None)
}

/// Why a checkpoint is not loaded.
pub(crate) enum LoadError {
    /// The checkpoint is not what was written, or belongs to another log.
    Unusable(String),
    /// It is, and a function is not there: the log will not do either.
    Function(OpenError),
}

impl From<Malformed> for LoadError {
    fn from(malformed: Malformed) -> Self {
        Self::Unusable(malformed.0)
    }
}

impl From<std::io::Error> for LoadError {
    fn from(error: std::io::Error) -> Self {
        Self::Unusable(error.to_string())
    }
}

/// Makes a state without pages that of the checkpoint of a commit; says where in the log that was.
pub(crate) fn load(state: &mut State, disk: &Arc<dyn Disk>, epoch: Epoch) -> Result<Position, LoadError> {
    let file = disk.open(&name_of(epoch), Access::Read)?;
    let length = usize::try_from(file.length()?).map_err(|_| Malformed("it is too long".into()))?;
    let mut bytes = vec![0; length];
    let read = file.read_full(0, &mut bytes)?;
    let position = decode(state, &bytes[..read], epoch)?;
    // The log must have the same history up to there.
    let commits =
        crate::log::CommitReader::new(disk.clone()).map_err(|error| LoadError::Unusable(error.to_string()))?;
    commits.after(disk.clone(), &position, epoch).map_err(|error| LoadError::Unusable(error.to_string()))?;
    Ok(position)
}

fn encode(state: &mut State, position: &Position) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    for number in std::iter::once(state.epoch).chain(position.to_numbers()) {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(position.chain.as_bytes());
    bytes.extend_from_slice(&state.state_hash().to_le_bytes());
    put_u32(&mut bytes, state.pages.slots() as usize);
    for (id, page) in state.pages.places() {
        let node = &state.nodes[id.slot as usize];
        let kind = match (&page.bytes, &node.derivation) {
            (None, _) => FREE,
            (Some(_), None) => WRITTEN,
            (Some(_), Some(_)) => DERIVED,
        };
        bytes.push(if node.metadata.is_some() { kind | DESCRIBED } else { kind });
        bytes.extend_from_slice(&id.generation.to_le_bytes());
        bytes.extend_from_slice(&page.created.to_le_bytes());
        bytes.extend_from_slice(&page.changed.to_le_bytes());
        let Some(held) = &page.bytes else { continue };
        match &node.derivation {
            None => {
                put_text(&mut bytes, node.origin.source.as_deref().unwrap_or_default());
                bytes.extend_from_slice(&node.origin.cause.unwrap_or(0).to_le_bytes());
            }
            Some(derivation) => {
                bytes.extend_from_slice(&derivation.ran.to_le_bytes());
                put_derivation(&mut bytes, &derivation.name, &derivation.dependencies);
            }
        }
        put_u32(&mut bytes, held.len());
        bytes.extend_from_slice(held);
        node.metadata.iter().for_each(|metadata| put_metadata(&mut bytes, metadata));
    }
    put_u32(&mut bytes, state.free.len());
    state.free.iter().for_each(|slot| bytes.extend_from_slice(&slot.to_le_bytes()));
    let checksum = XxHash3_128::oneshot(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

fn decode(state: &mut State, bytes: &[u8], epoch: Epoch) -> Result<Position, LoadError> {
    let checked = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or_else(|| Malformed("it is too short".into()))?;
    let (content, checksum) = bytes.split_at(checked);
    let mut decoder = Decoder::new(content);
    if decoder.take(MAGIC.len())? != MAGIC {
        return Err(Malformed("it does not begin as a checkpoint does".into()).into());
    }
    match decoder.u32()? {
        VERSION => {}
        version => return Err(Malformed(format!("it has version {version}, and this program reads {VERSION}")).into()),
    }
    if checksum != XxHash3_128::oneshot(content).to_le_bytes() {
        return Err(Malformed("its checksum does not match".into()).into());
    }
    if decoder.u64()? != epoch {
        return Err(Malformed("it is of another commit than its name says".into()).into());
    }
    let mut numbers = [0; Position::NUMBERS];
    numbers.iter_mut().try_for_each(|number| decoder.u64().map(|read| *number = read))?;
    let chain = Chain::from_bytes(decoder.take(Chain::BYTES)?.try_into().expect("as many bytes were taken"));
    let hash = decoder.u128()?;
    decode_pages(state, &mut decoder)?;
    state.free = decoder.list(4, Decoder::u32)?;
    decoder.end()?;
    state.epoch = epoch;
    if state.state_hash() != hash {
        return Err(Malformed("its pages have another hash".into()).into());
    }
    Ok(Position::from_numbers(numbers, chain))
}

fn decode_pages(state: &mut State, decoder: &mut Decoder<'_>) -> Result<(), LoadError> {
    let slots = decoder.u32()?;
    for _ in 0..slots {
        let described = decoder.u8()?;
        let kind = described & !DESCRIBED;
        let slot = state.pages.push();
        let mut node = Node::default();
        let generation = decoder.u32()?;
        let (created, changed) = (decoder.u64()?, decoder.u64()?);
        match kind {
            FREE => {}
            WRITTEN => {
                let (source, cause) = (decoder.text()?, decoder.u64()?);
                node.origin = Origin::new(&source, Some(cause).filter(|&cause| cause > 0));
            }
            DERIVED => node.derivation = Some(decode_derivation(state, decoder, created)?),
            kind => return Err(Malformed(format!("it has a page of the unknown kind {kind}")).into()),
        }
        let held = if kind == FREE {
            None
        } else {
            let length = decoder.length()?;
            Some(state.buffers.copy(decoder.take(length)?))
        };
        if described & DESCRIBED != 0 {
            node.metadata = decoder.metadata()?.kept();
        }
        let page = state.pages.at_mut(slot);
        (page.bytes, page.generation, page.created, page.changed) = (held, generation, created, changed);
        state.nodes.push(node);
        state.hash.note(slot);
    }
    depend(state)
}

fn decode_derivation(state: &State, decoder: &mut Decoder<'_>, created: Epoch) -> Result<Derivation, LoadError> {
    let ran = decoder.u64()?;
    let (name, dependencies) = decoder.derivation()?;
    let function = state.functions.get(&name).cloned();
    let missing = || LoadError::Function(OpenError::UnknownFunction { function: name.clone(), epoch: created });
    Ok(Derivation { function: function.ok_or_else(missing)?, name, dependencies: dependencies.into(), ran })
}

/// Puts derived pages above what they are derived from.
fn depend(state: &mut State) -> Result<(), LoadError> {
    for slot in 0..state.pages.slots() {
        let Some(derivation) = &state.nodes[slot as usize].derivation else { continue };
        let is_there = |page: &&PageId| state.pages.get(**page).is_none();
        if let Some(page) = derivation.dependencies.iter().find(is_there) {
            return Err(Malformed(format!("it derives a page from {page}, which is not there")).into());
        }
        let slots: Vec<u32> = derivation.dependencies.iter().map(|page| page.slot).collect();
        state.schedule.set_dependencies(slot, &slots).map_err(|_| Malformed("it has a cycle".into()))?;
    }
    Ok(())
}
