//! Sealed cassettes: what is on a cassette once its recording has stopped.
//!
//! A sealed cassette is one file that never changes: blocks of whole exchanges and of shared bodies, an index from request keys to
//! exchanges, directories of both, and a trailer that says where they lie. Opening one reads its header and its trailer,
//! however long it is; everything else is checked and decoded when somebody asks for it.
//!
//! [`layout`] alone knows the bytes, which `docs/formats.md` draws; [`write`] makes them, [`read`] gives back what they say.

pub(crate) mod blocks;
pub(crate) mod layout;
pub(crate) mod options;
pub(crate) mod read;
pub(crate) mod write;
