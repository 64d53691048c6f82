//! A state that many threads write.
//!
//! A commit is made while the state is locked, and written to the log's memory. Each thread then waits for the disk without the lock:
//! the journal makes the commits of all threads that wait durable at once.

use crate::commit::Commit;
use crate::error::CommitError;
use crate::page::Snapshot;
use crate::state::State;
use crate::transaction::Transaction;
use journal::Durability;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A state that many threads write. Commits come one after the other, in the order in which threads get the lock.
pub struct SharedState {
    state: Mutex<State>,
    durability: Durability,
}

impl SharedState {
    /// Shares a state.
    pub fn new(state: State) -> Self {
        let durability = state.options.durability;
        Self { state: Mutex::new(state), durability }
    }

    /// Makes the changes of a transaction, all or none, and returns when they are as durable as the options of the state say.
    ///
    /// # Errors
    /// As [`State::commit`]. If the disk fails after the commit was made, the state has it in memory, and the log takes nothing more.
    pub fn commit(&self, transaction: &Transaction) -> Result<Commit, CommitError> {
        let mut state = self.lock();
        let commit = state.commit_as(transaction, Durability::None)?;
        let journal = state.log.journal();
        drop(state);
        if let Some(journal) = journal.filter(|_| self.durability > Durability::None) {
            journal.sync(self.durability).map_err(|error| CommitError::Log(Box::new(error)))?;
        }
        Ok(commit)
    }

    /// The state as it is now. It may have commits that their threads still wait for.
    pub fn snapshot(&self) -> Snapshot {
        self.lock().snapshot()
    }

    /// Does something with the state while nobody else does.
    pub fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.lock())
    }

    /// The state alone again.
    pub fn into_inner(self) -> State {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Functions of pages cannot panic here: that is caught, and refuses the transaction.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
