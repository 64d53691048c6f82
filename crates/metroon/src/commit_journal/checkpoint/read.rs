//! Opening a checkpoint, and making a run of it.

use super::{CheckpointHeader, CheckpointRefused, SUFFIX_BEGINNING, epoch_before, epoch_of};
use crate::commit_journal::record::{SEMANTICS_VERSION, VARIABLES_MAX};
use bytes::Bytes;
use journal::{Chain, Disk, Mapping, Position, Reader};
use metta::resolve_host;
use space::{Image, catching_damage};
use std::sync::Arc;

/// A checkpoint that is open.
pub(crate) struct Checkpoint {
    pub(crate) name: String,
    image: Image,
    pub(crate) epoch: u64,
    pub(crate) hash: u128,
    position: Position,
}

/// What is known of a checkpoint without a look at what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// The commit after which it was written.
    pub epoch: u64,
    /// How many bytes it has.
    pub bytes: u64,
}

/// A mapped file as the bytes of an image.
struct Mapped(Mapping);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// The commits of the checkpoints on a disk, the newest first.
pub(super) fn epochs(disk: &Arc<dyn Disk>) -> Vec<(u64, String)> {
    let names = disk.list().unwrap_or_default();
    let mut found: Vec<(u64, String)> = names.into_iter().filter_map(|name| Some((epoch_of(&name)?, name))).collect();
    found.sort_unstable_by(|left, right| right.cmp(left));
    found
}

/// The files with which the kept commits of a base may begin, and their commits, the lowest first.
pub(crate) fn beginnings(disk: &Arc<dyn Disk>) -> Vec<(u64, String)> {
    let names = disk.list().unwrap_or_default();
    let epoch_of = |name: String| Some((epoch_before(SUFFIX_BEGINNING, &name)?, name));
    let mut found: Vec<(u64, String)> = names.into_iter().filter_map(epoch_of).collect();
    found.sort_unstable();
    found
}

impl Checkpoint {
    /// The newest checkpoint of a journal that is of a commit up to this one and can be used; what is said of those that cannot
    /// goes to `refused`.
    pub(crate) fn newest(disk: &Arc<dyn Disk>, last: u64, refused: &mut Vec<CheckpointRefused>) -> Option<Self> {
        epochs(disk).into_iter().filter(|(epoch, _)| *epoch <= last).find_map(|(epoch, name)| {
            let opened = Self::open(disk, epoch, &name);
            opened.map_err(|reason| refused.push(CheckpointRefused { name, reason })).ok()
        })
    }

    /// The one of this name, which is to be of this commit, if it can be used.
    pub(crate) fn open(disk: &Arc<dyn Disk>, epoch: u64, name: &str) -> Result<Self, String> {
        let mapping = disk.map(name).map_err(|error| format!("it cannot be read ({error})"))?;
        let image = Image::open(Bytes::from_owner(Mapped(mapping)), resolve_host).map_err(|error| error.to_string())?;
        let read =
            catching_damage(|| header_of(&image).map(|(header, _)| (header.epoch, header.hash, position_of(&header))));
        let (said, hash, position) = read.map_err(|damage| damage.to_string())??;
        if said != epoch {
            return Err(format!("it is of commit {said}, and its name says {epoch}"));
        }
        let checkpoint = Self { name: name.to_owned(), image, epoch, hash: u128::from_le_bytes(hash), position };
        checkpoint.reader(disk)?;
        Ok(checkpoint)
    }

    /// A reader of what the journal has after it.
    pub(crate) fn reader(&self, disk: &Arc<dyn Disk>) -> Result<Reader, String> {
        let reader = Reader::from_position(Arc::clone(disk), &self.position);
        reader.map_err(|error| format!("the journal does not have the frames that it ends with ({error})"))
    }

    /// How the checkpoint of a commit is called.
    pub(crate) fn name(epoch: u64) -> String {
        super::name_of(epoch)
    }

    /// How the file is called with which a base begins whose commits up to this one were given up.
    pub(crate) fn name_of_beginning(epoch: u64) -> String {
        super::name_with(epoch, SUFFIX_BEGINNING)
    }

    /// Takes its file away.
    pub(crate) fn remove(disk: &Arc<dyn Disk>, epoch: u64) -> bool {
        disk.remove(&super::name_of(epoch)).and_then(|()| disk.sync_names()).is_ok()
    }

    pub(crate) fn report(&self) -> CheckpointReport {
        CheckpointReport { epoch: self.epoch, bytes: self.image.length() }
    }

    /// Checks all of its bytes.
    pub(crate) fn verify(&self) -> Result<(), String> {
        self.image.verify().map_err(|damage| damage.to_string())
    }

    /// What is in it.
    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    /// What it says beside its spaces.
    pub(crate) fn header(&self) -> Result<CheckpointHeader<'_>, String> {
        header_of(&self.image).map(|(header, _)| header)
    }

    /// What files state, as bytes, if it says so.
    pub(crate) fn statements(&self) -> Result<Option<&[u8]>, String> {
        let (header, statements) = header_of(&self.image)?;
        Ok(header.has_statements.then_some(statements))
    }
}

/// The header, and what follows it.
fn header_of(image: &Image) -> Result<(CheckpointHeader<'_>, &[u8]), String> {
    let (header, rest): (CheckpointHeader<'_>, &[u8]) =
        postcard::take_from_bytes(image.owner()).map_err(|_| "its header is malformed".to_owned())?;
    if !header.has_statements && !rest.is_empty() {
        return Err("something follows its header".to_owned());
    }
    if header.semantics > SEMANTICS_VERSION {
        let found = header.semantics;
        return Err(format!(
            "it has version {found} of the language's semantics, and this program {SEMANTICS_VERSION}"
        ));
    }
    if header.variables > VARIABLES_MAX {
        return Err("it says that more variables were numbered than there are".to_owned());
    }
    Ok((header, rest))
}

fn position_of(header: &CheckpointHeader<'_>) -> Position {
    Position::from_numbers(header.position, Chain::from_bytes(header.chain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commit_journal::CommitJournal;
    use crate::{Engine, MemoryWorld};
    use journal::simulated::SimulatedDisk;

    /// Every byte of a checkpoint is covered by a sum: whichever is changed, it is found before anything is believed that depends on it.
    #[test]
    fn every_changed_byte_of_a_checkpoint_is_found() {
        let disk = SimulatedDisk::new();
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let base = CommitJournal::on_disk(Arc::clone(&shared), "/kb").expect("it opens");
        let mut engine = Engine::with_base(MemoryWorld::default(), base).expect("it loads");
        for text in ["(a 1) (a (b $x)) (= (f $x) (a $x))", "! (bind! &s (new-state 1)) (a \"text\")"] {
            engine.run_text(text, &mut |_, _| Ok(()));
        }
        engine.checkpoint().expect("something was committed");
        engine.finish().expect("the base closes");
        let (epoch, name) = epochs(&shared).remove(0);
        let length = disk.contents(&name).expect("it is there").len();
        let verdict = || Checkpoint::open(&shared, epoch, &name).and_then(|opened| opened.verify());
        assert_eq!(verdict(), Ok(()));
        for offset in 0..length as u64 {
            let mask = 1 << (offset % 8);
            disk.flip(&name, offset, mask);
            assert!(verdict().is_err(), "byte {offset} of {length}");
            disk.flip(&name, offset, mask);
        }
        assert_eq!(verdict(), Ok(()));
    }
}
