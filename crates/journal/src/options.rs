//! How a journal is kept, and what an acknowledgement means.

use crate::beginning::Beginning;
use crate::format::Identity;

/// How long a segment gets before the next one begins.
pub const SEGMENT_BYTES_DEFAULT: u64 = 64 << 20;
/// How much is held back before it is written unasked.
pub const BUFFER_BYTES_DEFAULT: usize = 1 << 20;

/// What an acknowledgement means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The frame has its place. It is gone if the program ends before it is written.
    None,
    /// The system has the frame. It is there when the program is killed, and gone if the power fails soon.
    Os,
    /// The disk has the frame. It is there after anything but the loss of the disk.
    Fsync,
}

/// How a journal is kept.
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) segment_bytes: u64,
    pub(crate) buffer_bytes: usize,
    pub(crate) identity: Option<Identity>,
    pub(crate) beginning: Durability,
    pub(crate) continued: Option<Beginning>,
    pub(crate) room_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: SEGMENT_BYTES_DEFAULT,
            buffer_bytes: BUFFER_BYTES_DEFAULT,
            identity: None,
            beginning: Durability::Fsync,
            continued: None,
            room_bytes: 0,
        }
    }
}

impl Options {
    /// How long a segment gets, in bytes: the frame with which it is so long, or longer, is its last. May differ from one opening to the next;
    /// journals of equal frames have equal chains only if their segments end with the same frames. A disk
    /// with room for one file, such as [`SingleFile`](crate::SingleFile), has one segment however long it gets.
    #[must_use]
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// By how much the file of the segment that is written grows at once, beyond its last frame, in bytes; by no more than the frames need
    /// unless this is set. With some room, most syncs have no new length of a file to make durable, which costs a file system more than
    /// the frames do. Unused room is cut off when the segment ends and when the journal is closed or opened again. Until then the file ends with
    /// zeros, which readers take for the end of the frames.
    #[must_use]
    pub fn room_bytes(mut self, bytes: u64) -> Self {
        self.room_bytes = bytes;
        self
    }

    /// How many bytes of [`Durability::None`] may be held back.
    #[must_use]
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.buffer_bytes = bytes;
        self
    }

    /// Which journal this is: what a new one is created with, and what one that exists must have.
    #[must_use]
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// How durable the beginning of a new journal is made when it is opened: its header, its notes and its name. With less than
    /// [`Durability::Fsync`], which is usual, nobody waits for the disk; the first sync makes it durable. A power failure before
    /// that may leave a file that is not a journal, or no file. With [`Durability::None`] it gets all three with the first write or sync,
    /// and leaves nothing if there is none.
    #[must_use]
    pub fn beginning(mut self, durability: Durability) -> Self {
        self.beginning = durability;
        self
    }

    /// Where a new journal begins: as a copy of a journal that was trimmed. Not for a disk with room for one file.
    #[must_use]
    pub fn continues(mut self, beginning: Beginning) -> Self {
        self.continued = (beginning.frame > 0).then_some(beginning);
        self
    }
}
