//! What is done about a damaged block: the work that has met it is ended by unwinding, and whoever can do it otherwise catches that.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Bytes of an image that are not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageDamage {
    /// Where in the image the block begins.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl fmt::Display for ImageDamage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the block at byte {}: {}", self.offset, self.reason)
    }
}

impl std::error::Error for ImageDamage {}

/// Ends the work under way.
#[cold]
pub(crate) fn damaged(offset: u64, reason: &'static str) -> ! {
    resume_unwind(Box::new(ImageDamage { offset, reason }))
}

/// What the work comes to, or the damage in an image that ended it. What was being changed is not to be used after that.
///
/// # Errors
/// The work has met a damaged block.
pub fn catching_damage<T>(work: impl FnOnce() -> T) -> Result<T, ImageDamage> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<ImageDamage>() {
        Ok(damage) => *damage,
        Err(other) => resume_unwind(other),
    })
}
