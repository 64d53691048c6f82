//! What a knowledge base tells of its work, as events of [`tracing`].
//!
//! Whoever embeds Metroon sees them by a subscriber of their own, such as those of `tracing-subscriber`. Without one, an event costs the
//! look at a flag. Events have fields, not texts to be taken apart, and no time: a subscriber adds it.
//!
//! docs/embedding.md lists them with their levels and fields.

/// The target of what is told of opening and closing.
pub const OPEN: &str = "metroon::open";
/// The target of what is told of commits.
pub const COMMIT: &str = "metroon::commit";
/// The target of what is told of checkpoints.
pub const CHECKPOINT: &str = "metroon::checkpoint";
/// The target of what is told of live queries.
pub const LIVE: &str = "metroon::live";
