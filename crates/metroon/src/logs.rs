//! What a knowledge base tells of its work, as events of [`tracing`].
//!
//! Whoever embeds Metroon sees them by a subscriber of their own, such as those of `tracing-subscriber`. Without one, an event costs the
//! look at a flag. Events have fields, not texts to be taken apart, and no time: a subscriber adds it.
//!
//! | target | level | what | fields |
//! |---|---|---|---|
//! | [`OPEN`] | info | a knowledge base was opened; it was closed, without `atoms` | `directory`, `epoch`, `atoms` |
//! | [`OPEN`] | warn | opening it mended something, or could not use it | `directory`, `warning` |
//! | [`COMMIT`] | debug | a commit changed something, and is on the disk | `epoch`, `added`, `removed`, `states` |
//! | [`CHECKPOINT`] | info | a checkpoint was written | `epoch`, `bytes` |
//! | [`CHECKPOINT`] | warn | one could not be written; every commit is kept | `error` |
//! | [`LIVE`] | warn | a subscriber did not take its changes in time, and loses some | `subscriber`, `epoch` |

/// The target of what is told of opening and closing.
pub const OPEN: &str = "metroon::open";
/// The target of what is told of commits.
pub const COMMIT: &str = "metroon::commit";
/// The target of what is told of checkpoints.
pub const CHECKPOINT: &str = "metroon::checkpoint";
/// The target of what is told of live queries.
pub const LIVE: &str = "metroon::live";
