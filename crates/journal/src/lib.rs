//! An append-only log: what happened, in what order.
//!
//! A [`Journal`] takes frames of bytes and gives each a number; a [`Reader`] gives them back in order; [`verify`] reads
//! everything and reports; [`salvage`] carries what can be read of a damaged journal into a new one. The journal
//! knows nothing of what a frame means.
//!
//! ```
//! use journal::{Directory, Durability, Journal, Options, Reader};
//! use std::sync::Arc;
//!
//! let folder = std::env::temp_dir().join(format!("journal-of-{}", std::process::id()));
//! let disk = Arc::new(Directory::create(&folder)?);
//! let (journal, warnings) = Journal::open(disk.clone(), Options::default())?;
//! for warning in &warnings {
//!     eprintln!("warning: {warning}");
//! }
//! journal.append(b"(Sam is-a frog)", Durability::None)?;
//! let place = journal.append(b"(Sam is green)", Durability::Fsync)?;
//! assert_eq!(place.number, 1);
//! let chain = journal.chain();
//! journal.close()?;
//!
//! let mut reader = Reader::from_frame(disk, 0)?;
//! let mut payloads = Vec::new();
//! while let Some(frame) = reader.read_next()? {
//!     payloads.push(frame.payload.to_vec());
//! }
//! assert_eq!(payloads, [&b"(Sam is-a frog)"[..], b"(Sam is green)"]);
//! assert_eq!(reader.chain(), Some(chain));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is promised
//!
//! 1. **Durable or absent.** What opens after a crash is a prefix of what was appended, whole frames in one order. It holds
//!    every frame acknowledged with [`Durability::Fsync`]; after the death of the program alone also every one with
//!    [`Durability::Os`].
//! 2. **No silent cut.** Bytes that were synced and have changed are an error that names segment and offset. Bytes that
//!    were not synced and are not a frame are cut, with a [`Warning`] that counts them.
//! 3. **No second try.** After a failed write or sync nothing is acknowledged any more.
//! 4. **One history.** After every frame there is a hash over it and all before it; equal chains mean equal histories. Each 64 KiB of
//!    frames, each segment and each note of how far a journal is synced carry it, and whoever comes by there while reading compares it. What a
//!    reader gives before it has come to the next of these places was checked by the checksums of frames only, which find damage and frames
//!    of other places, and not what somebody has made up.
//!
//! Assumed of a disk: writing a range changes no byte outside it, and what a sync covered stays
//! ([`Disk`] has the exact words). One gap follows: the note of how far a journal is synced becomes durable one sync later than
//! the bytes. After a power loss, bytes that the very last sync covered and that the medium then lost all the same look like a
//! torn tail; they are cut, with a warning. A journal that was closed has no such gap, even with one of its notes damaged.
//!
//! The owner provides a lock against a second writer ([`FolderLock`]; a journal in a [`SingleFile`] has its own) and says what
//! a frame means.
//!
//! # Where things are
//!
//! Appending goes down through `journal` (group commit), `pending` (frames get their places), `writer` (the disk) and
//! `segment`; opening through `recovery`; trimming through `beginning`; reading up through `scan` and `reader`. `format` alone knows the bytes, which
//! `docs/formats.md` draws. All of it stands on the trait [`Disk`].

mod access;
mod beginning;
mod block;
mod chain;
mod disk;
mod error;
mod file;
mod format;
mod frame;
mod journal;
mod lock;
mod mapping;
mod options;
mod pending;
mod position;
mod reader;
mod recovery;
mod regular;
mod salvage;
mod scan;
mod segment;
mod survey;
mod verify;
mod writer;

pub use access::Access;
pub use beginning::{Beginning, Trimmed};
pub use block::BLOCK_BYTES;
pub use chain::Chain;
pub use disk::{Directory, Disk, DiskFile, MemoryDisk, SingleFile, simulated};
pub use error::{
    Action, AppendError, Damage, Failure, OpenError, ReadError, SalvageError, SyncError, TrimError, VerifyError,
    Warning,
};
pub use format::{FRAME_BYTES_MAX, FRAME_OVERHEAD_BYTES, FRAMES_AT, Flaw, Identity, VERSION};
pub use frame::{Frame, Place};
pub use journal::{Journal, Progress};
pub use lock::{FolderLock, LockError};
pub use mapping::Mapping;
pub use options::{BUFFER_BYTES_DEFAULT, Durability, Options, SEGMENT_BYTES_DEFAULT};
pub use position::Position;
pub use reader::Reader;
pub use regular::{open_regular, read_regular};
pub use salvage::{Kept, Salvaged, salvage};
pub use survey::{Lost, SegmentReport};
pub use verify::{Report, verify};
