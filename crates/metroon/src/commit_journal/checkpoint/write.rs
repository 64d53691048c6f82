//! Writing a checkpoint.

use super::outline::encode;
use super::{CheckpointHeader, Position, UNFINISHED, epoch_of, name_of};
use crate::commit_journal::ledger::{Ledger, begun_record};
use crate::commit_journal::record::{AtomRecord, Record, SEMANTICS_VERSION};
use journal::{Disk, DiskFile};
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
}

impl CheckpointSource {
    /// What a run holds after the last frame of its base.
    pub(crate) fn new(snapshot: ProgramSnapshot, ledger: &Ledger, position: Position) -> Self {
        let mut records = ledger.outline.bytes();
        for (state, value) in snapshot.states() {
            let (mut bytes, mut names) = (Vec::new(), Vec::new());
            canonical::encode_naming(value, &mut bytes, |variable: &Variable| names.push(variable.name().as_str()));
            records.extend(encode(&Record::State { state, value: AtomRecord { bytes: &bytes, names } }));
        }
        for (number, source) in ledger.sources.in_base() {
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
        let (epoch, hash, others) = (ledger.epoch, ledger.hash.value(), ledger.others);
        Self { snapshot, epoch, hash, position, others, is_library_changed: ledger.is_library_changed, records }
    }

    /// The commit after which it is.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Writes it beside the journal, durably, and takes older ones away. Gives how long it is.
    ///
    /// # Errors
    /// The disk refuses; what was there before is still there.
    pub(crate) fn write(&self, disk: &Arc<dyn Disk>) -> io::Result<u64> {
        let file = disk.create(UNFINISHED)?;
        let written = self.write_to(&*file).and_then(|length| file.sync().map(|()| length));
        drop(file);
        let renamed = written.and_then(|length| {
            disk.rename(UNFINISHED, &name_of(self.epoch))?;
            disk.sync_names()?;
            Ok(length)
        });
        if renamed.is_err() {
            // What is half written is worth nothing, and the next one is written over it in any case.
            let _ = disk.remove(UNFINISHED);
            return renamed;
        }
        for older in disk.list()?.iter().filter(|name| epoch_of(name).is_some_and(|epoch| epoch < self.epoch)) {
            disk.remove(older)?;
        }
        renamed
    }

    fn write_to(&self, file: &dyn DiskFile) -> io::Result<u64> {
        // What the library holds is made anew by each process.
        let spaces: Vec<(u64, &Snapshot)> =
            self.snapshot.spaces().skip(1).map(|(serial, held, _)| (serial, held)).collect();
        let header = CheckpointHeader {
            semantics: SEMANTICS_VERSION,
            epoch: self.epoch,
            hash: self.hash.to_le_bytes(),
            last: self.position.last.into(),
            chain: *self.position.chain.as_bytes(),
            variables: self.snapshot.variables(),
            others: self.others,
            atoms: self.snapshot.top_space().len() as i64,
            is_library_changed: self.is_library_changed,
            changes: self.snapshot.spaces().skip(1).map(|(serial, _, counts)| (serial, counts.to_vec())).collect(),
            records: &self.records,
        };
        let owner = postcard::to_allocvec(&header).map_err(io::Error::other)?;
        let (terms, foundation) = (self.snapshot.terms(), self.snapshot.foundation());
        let mut out = Positioned { file, at: 0, buffer: Vec::with_capacity(WRITE_BYTES) };
        let length = write_image(&ImageSource { terms, foundation, spaces: &spaces, owner: &owner }, &mut out)?;
        out.flush()?;
        Ok(length)
    }
}

/// So much is written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Writes a file from its beginning on.
struct Positioned<'a> {
    file: &'a dyn DiskFile,
    at: u64,
    buffer: Vec<u8>,
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
        Ok(())
    }
}
