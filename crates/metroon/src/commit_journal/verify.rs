//! Comparing a checkpoint with what the journal comes to at its commit.

use super::CommitJournal;
use super::checkpoint::{Checkpoint, CheckpointRefused};
use metta::Session;
use space::catching_damage;

/// What a comparison of a checkpoint with the journal has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckpointVerdict {
    /// There is none.
    None,
    /// It is what the commits come to.
    Sound {
        /// The commit after which it was written.
        epoch: u64,
    },
    /// It is not used, or must not be.
    Unsound {
        /// Its file.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

/// The newest checkpoint of a base and what is wrong with it by itself; all of its bytes are checked.
pub(crate) fn verify_at(base: &CommitJournal) -> (Option<Checkpoint>, CheckpointVerdict) {
    let mut refused = Vec::new();
    let checkpoint = Checkpoint::newest(&base.disk, u64::MAX, &mut refused);
    if let Some(refused) = refused.into_iter().next() {
        let CheckpointRefused { name, reason } = refused;
        return (None, CheckpointVerdict::Unsound { name, reason });
    }
    let Some(checkpoint) = checkpoint else { return (None, CheckpointVerdict::None) };
    match checkpoint.verify() {
        Ok(()) => (Some(checkpoint), CheckpointVerdict::None),
        Err(reason) => (None, CheckpointVerdict::Unsound { name: checkpoint.name, reason }),
    }
}

impl Checkpoint {
    /// Whether it holds what a run does, which has come to its commit.
    pub(crate) fn compare(&self, session: &Session, hash: u128) -> CheckpointVerdict {
        let compared = catching_damage(|| self.difference(session, hash)).map_err(|damage| damage.to_string());
        match compared.and_then(|difference| difference.map_or(Ok(()), Err)) {
            Ok(()) => CheckpointVerdict::Sound { epoch: self.epoch },
            Err(reason) => CheckpointVerdict::Unsound { name: self.name.clone(), reason },
        }
    }

    fn difference(&self, session: &Session, hash: u128) -> Option<String> {
        if self.hash != hash {
            return Some("it names another state than the journal comes to".to_owned());
        }
        let made = match self.make() {
            Ok((made, _)) => made,
            Err(reason) => return Some(reason),
        };
        let count = session.program().space_count() as u64;
        if made.program().space_count() as u64 != count {
            return Some("it has another number of spaces than the journal comes to".to_owned());
        }
        (1..count).find_map(|serial| {
            let (here, there) = (session.program().space(serial)?, made.program().space(serial)?);
            let compared = here.read(|here| there.read(|there| here.compare(there)));
            let reason = |agree| {
                format!("space {serial} is as the journal has it up to its atom {agree}, and the next one is another")
            };
            compared.err().map(reason)
        })
    }
}
