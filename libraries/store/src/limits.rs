//! Limits, and the version of the formats.

/// The version of runs and manifests that this crate writes. It reads all versions up to it.
pub const VERSION: u32 = 2;
/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 64 << 10;
/// The longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 1 << 30;
/// The longest batch, in bytes as it is encoded: keys, values, and up to 13 bytes for each change.
pub const BATCH_BYTES_MAX: usize = 2 << 30;
/// The longest key of a keyspace with keys of one length, in bytes.
pub const WIDTH_MAX: usize = 1 << 10;
/// The longest name of a keyspace, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// How many keyspaces a store may have.
pub const KEYSPACES_MAX: usize = 4096;
