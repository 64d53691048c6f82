//! The versions of the file formats that are written. All versions up to them are read.

/// Of sealed cassettes.
pub(crate) const SEALED_VERSION: u32 = 1;
/// Of cassettes in JSON and MessagePack.
pub(crate) const DOCUMENT_VERSION: u32 = 1;
