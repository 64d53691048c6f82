//! Taking frames to the disk beside the writer, so that nobody waits for that who does not want it.
//!
//! The file of the segment is synced while the writer goes on writing to it. What was written before is durable
//! then, and one of the slots says so, unless somebody has synced meanwhile.

use super::{Journal, State, Watch};
use crate::chain::Chain;
use crate::error::SyncError;
use crate::file::NamedFile;
use crate::format::Mark;
use crate::options::Durability;
use crate::writer::Writer;

impl Journal {
    /// Takes what was appended so far to the disk, so that a sync that comes later has little to do. Nobody waits for it, and while the disk
    /// works other threads write on: a thread that wants its frames at the system alone does not wait for the disk.
    ///
    /// # Errors
    /// The journal has failed or fails now.
    pub fn write_back(&self) -> Result<(), SyncError> {
        self.sync(Durability::Os)?;
        let state = self.lock();
        let begun = WriteBack::of(&state);
        drop(state);
        let outcome = begun.file.sync();
        let mut state = self.lock();
        if let Err(failure) = outcome {
            state.failure.get_or_insert(failure);
        }
        if let Some(failure) = state.failure.clone() {
            self.wake(&state);
            return Err(SyncError::Failed(failure));
        }
        let Some(mut writer) = begun.writer_to_note(&mut state) else { return Ok(()) };
        drop(state);
        let watch = Watch { journal: self };
        let noted = begun.chain.map_or(Ok(()), |chain| writer.note_synced(begun.written, chain));
        std::mem::forget(watch);
        let mut state = self.lock();
        match noted {
            Ok(()) => {
                state.synced = writer.synced();
                state.writer = Some(writer);
            }
            Err(failure) => state.failure = Some(failure),
        }
        self.wake(&state);
        state.failure.clone().map_or(Ok(()), |failure| Err(SyncError::Failed(failure)))
    }
}

/// How far the journal was when it began to be taken to the disk beside the writer.
struct WriteBack {
    file: NamedFile,
    written: Mark,
    /// The chain up to there, unless frames were held back.
    chain: Option<Chain>,
    synced: Mark,
}

impl WriteBack {
    fn of(state: &State) -> Self {
        let is_still = state.writer.is_some() && state.pending.end() == state.written;
        let chain = is_still.then(|| state.pending.block().chain());
        Self { file: state.file.clone(), written: state.written, chain, synced: state.synced }
    }

    /// The writer, if it is to note how far the journal is durable. It is not where somebody has synced meanwhile: that note is not durable
    /// yet, and two such notes must never be there.
    fn writer_to_note(&self, state: &mut State) -> Option<Writer> {
        let is_same = state.synced == self.synced && state.written.segment == self.written.segment;
        let is_more = self.chain.is_some() && self.written != self.synced;
        if is_same && is_more { state.writer.take() } else { None }
    }
}
