//! Writing a checkpoint.

use super::outline::encode;
use super::read::Checkpoint;
use super::{CheckpointHeader, Outline, UNFINISHED, epoch_of, name_of};
use crate::commit_journal::ledger::{Ledger, begun_record};
use crate::commit_journal::load::Loaded;
use crate::commit_journal::record::{AtomRecord, Record, SEMANTICS_VERSION};
use crate::commit_journal::sources::Sources;
use journal::{Disk, DiskFile, Position};
use metta::ProgramSnapshot;
use space::{ImageSource, Snapshot, Variable, canonical, write_image};
use std::io::{self, Write};
use std::sync::Arc;

/// What a checkpoint is made of. It may go to another thread.
pub(crate) struct CheckpointSource {
    snapshot: ProgramSnapshot,
    epoch: u64,
    hash: u128,
    position: Position,
    others: u64,
    is_library_changed: bool,
    /// The records that make everything but the atoms of spaces, and sources.
    records: Vec<u8>,
    /// What files state.
    statements: Option<Vec<u8>>,
}

/// What is known of a run beside what it holds.
pub(crate) struct Account<'a> {
    epoch: u64,
    hash: u128,
    others: u64,
    is_library_changed: bool,
    outline: &'a Outline,
    sources: &'a Sources,
}

impl<'a> Account<'a> {
    /// Of a run that goes on in a base.
    pub(crate) fn of_ledger(ledger: &'a Ledger) -> Self {
        let Ledger { hash, epoch, sources, is_library_changed, outline, others, .. } = ledger;
        let (epoch, others, is_library_changed) = (*epoch, *others, *is_library_changed);
        Self { epoch, hash: hash.value(), others, is_library_changed, outline, sources }
    }

    /// Of a run that was made of a base.
    pub(crate) fn of_loaded(loaded: &'a Loaded) -> Self {
        let Loaded { hash, epoch, sources, is_library_changed, outline, others, .. } = loaded;
        let (epoch, others, is_library_changed) = (*epoch, *others, *is_library_changed);
        Self { epoch, hash: hash.value(), others, is_library_changed, outline, sources }
    }
}

impl CheckpointSource {
    /// What a run holds after the last frame of its base.
    pub(crate) fn new(snapshot: ProgramSnapshot, account: &Account<'_>, position: Position) -> Self {
        let mut records = account.outline.bytes();
        for (state, value) in snapshot.states() {
            let (mut bytes, mut names) = (Vec::new(), Vec::new());
            canonical::encode_naming(value, &mut bytes, |variable: &Variable| names.push(variable.name().as_str()));
            records.extend(encode(&Record::State { state, value: AtomRecord { bytes: &bytes, names } }));
        }
        for (number, source) in account.sources.in_base() {
            let begun = begun_record(number, source);
            match begun {
                // An edited text of which the journal does not know yet is to begin once more.
                Record::SourceBegun { source: of, module, origin, file, .. } if !source.is_recorded => {
                    let content = [0; 32];
                    records.extend(encode(&Record::SourceBegun { source: of, module, origin, file, content }));
                }
                begun => records.extend(encode(&begun)),
            }
            if source.is_complete && source.is_recorded {
                records.extend(encode(&Record::SourceEnded { source: number }));
            }
        }
        let Account { epoch, hash, others, is_library_changed, .. } = *account;
        Self { snapshot, epoch, hash, position, others, is_library_changed, records, statements: None }
    }

    /// Adds what files state.
    pub(crate) fn with_statements(self, statements: Vec<u8>) -> Self {
        Self { statements: Some(statements), ..self }
    }

    /// The commit after which it is.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Writes it beside the journal, durably, and takes older ones away. Gives how long it is, and tells on the way how much of it is
    /// written.
    ///
    /// # Errors
    /// The disk refuses; what was there before is still there.
    pub(crate) fn write(&self, disk: &Arc<dyn Disk>, on_progress: &mut dyn FnMut(u64)) -> io::Result<u64> {
        let length = self.write_as(disk, &name_of(self.epoch), on_progress)?;
        for older in disk.list()?.iter().filter(|name| epoch_of(name).is_some_and(|epoch| epoch < self.epoch)) {
            disk.remove(older)?;
        }
        Ok(length)
    }

    /// Writes it as that with which the base is to begin, durably.
    ///
    /// # Errors
    /// The disk refuses; what was there before is still there.
    pub(crate) fn write_beginning(&self, disk: &Arc<dyn Disk>, on_progress: &mut dyn FnMut(u64)) -> io::Result<u64> {
        self.write_as(disk, &Checkpoint::name_of_beginning(self.epoch), on_progress)
    }

    fn write_as(&self, disk: &Arc<dyn Disk>, name: &str, on_progress: &mut dyn FnMut(u64)) -> io::Result<u64> {
        let file = disk.create(UNFINISHED)?;
        let written = self.write_to(&*file, on_progress).and_then(|length| file.sync().map(|()| length));
        drop(file);
        let renamed = written.and_then(|length| {
            disk.rename(UNFINISHED, name)?;
            disk.sync_names()?;
            Ok(length)
        });
        if renamed.is_err() {
            // What is half written is worth nothing, and the next one is written over it in any case.
            let _ = disk.remove(UNFINISHED);
        }
        renamed
    }

    fn write_to(&self, file: &dyn DiskFile, on_progress: &mut dyn FnMut(u64)) -> io::Result<u64> {
        // What the library holds is made anew by each process.
        let spaces: Vec<(u64, &Snapshot)> =
            self.snapshot.spaces().skip(1).map(|(serial, held, _)| (serial, held)).collect();
        let header = CheckpointHeader {
            semantics: SEMANTICS_VERSION,
            epoch: self.epoch,
            hash: self.hash.to_le_bytes(),
            position: self.position.to_numbers(),
            chain: *self.position.chain.as_bytes(),
            variables: self.snapshot.variables(),
            others: self.others,
            atoms: self.snapshot.top_space().len() as i64,
            is_library_changed: self.is_library_changed,
            changes: self.snapshot.spaces().skip(1).map(|(serial, _, counts)| (serial, counts.to_vec())).collect(),
            has_statements: self.statements.is_some(),
            records: &self.records,
        };
        let mut owner = postcard::to_allocvec(&header).map_err(io::Error::other)?;
        owner.extend_from_slice(self.statements.as_deref().unwrap_or_default());
        let (terms, foundation) = (self.snapshot.terms(), self.snapshot.foundation());
        let mut out = Positioned { file, at: 0, buffer: Vec::with_capacity(WRITE_BYTES), on_progress };
        let length = write_image(&ImageSource { terms, foundation, spaces: &spaces, owner: &owner }, &mut out)?;
        out.flush()?;
        Ok(length)
    }
}

/// How many bytes are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Writes a file from its beginning on.
struct Positioned<'a> {
    file: &'a dyn DiskFile,
    at: u64,
    buffer: Vec<u8>,
    /// Told how much is written.
    on_progress: &'a mut dyn FnMut(u64),
}

impl Write for Positioned<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > WRITE_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_full(self.at, &self.buffer)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        (self.on_progress)(self.at);
        Ok(())
    }
}
