//! Opening a checkpoint, and making a run of it.

use super::{CheckpointHeader, CheckpointRefused, Position, epoch_of};
use crate::commit_journal::record::{SEMANTICS_VERSION, VARIABLES_MAX};
use bytes::Bytes;
use journal::{Chain, Disk, Mapping, Reader};
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

impl Checkpoint {
    /// The newest checkpoint of a journal that is of a commit up to this one and can be used; what is said of those that cannot
    /// goes to `refused`.
    pub(crate) fn newest(disk: &Arc<dyn Disk>, last: u64, refused: &mut Vec<CheckpointRefused>) -> Option<Self> {
        epochs(disk).into_iter().filter(|(epoch, _)| *epoch <= last).find_map(|(epoch, name)| {
            let opened = Self::open(disk, epoch, &name);
            opened.map_err(|reason| refused.push(CheckpointRefused { name, reason })).ok()
        })
    }

    fn open(disk: &Arc<dyn Disk>, epoch: u64, name: &str) -> Result<Self, String> {
        let mapping = disk.map(name).map_err(|error| format!("it cannot be read ({error})"))?;
        let image = Image::open(Bytes::from_owner(Mapped(mapping)), resolve_host).map_err(|error| error.to_string())?;
        let read =
            catching_damage(|| header_of(&image).map(|header| (header.epoch, header.hash, position_of(&header))));
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
        let Position { last, chain } = self.position;
        let at_place = Reader::from_place(Arc::clone(disk), last);
        let reader = at_place.or_else(|_| Reader::from_frame(Arc::clone(disk), last.number));
        let other = "the journal does not have the frame that it ends with";
        let mut reader = reader.map_err(|_| other)?;
        match reader.read_next() {
            Ok(Some(frame)) if frame.chain == chain && frame.place.number == last.number => Ok(reader),
            _ => Err(other.to_owned()),
        }
    }

    /// How the checkpoint of a commit is called.
    pub(crate) fn name(epoch: u64) -> String {
        super::name_of(epoch)
    }

    /// Takes its file away.
    pub(crate) fn remove(disk: &Arc<dyn Disk>, epoch: u64) -> bool {
        disk.remove(&super::name_of(epoch)).and_then(|()| disk.sync_names()).is_ok()
    }

    /// Its last frame of the journal.
    pub(crate) fn position(&self) -> Position {
        self.position
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
        header_of(&self.image)
    }
}

fn header_of(image: &Image) -> Result<CheckpointHeader<'_>, String> {
    let header: CheckpointHeader<'_> =
        postcard::from_bytes(image.owner()).map_err(|_| "its header is malformed".to_owned())?;
    if header.semantics > SEMANTICS_VERSION {
        let found = header.semantics;
        return Err(format!(
            "it has version {found} of the language's semantics, and this program {SEMANTICS_VERSION}"
        ));
    }
    if header.variables > VARIABLES_MAX {
        return Err("it says that more variables were numbered than there are".to_owned());
    }
    Ok(header)
}

fn position_of(header: &CheckpointHeader<'_>) -> Position {
    Position { last: header.last.place(), chain: Chain::from_bytes(header.chain) }
}
