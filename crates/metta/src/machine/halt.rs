//! Why the machine stops.

use crate::environment::Stop;
use crate::limits::LimitReached;
use region::Full;

/// The machine stops. Instructions return this, so it takes one word.
pub(super) struct Halt(pub(super) Box<Reason>);

/// Why the machine stops.
pub(super) enum Reason {
    /// There is no further alternative.
    Complete,
    /// A limit was reached.
    Limit(LimitReached),
    /// The run ends.
    Stop(Stop),
    /// Results are to be gathered from where they began to be collected: see [`super::backtracking`].
    Gather,
}

impl From<Reason> for Halt {
    #[cold]
    fn from(reason: Reason) -> Self {
        Self(Box::new(reason))
    }
}

impl From<Full> for Halt {
    #[cold]
    fn from(full: Full) -> Self {
        Reason::Limit(LimitReached::Heap(full.bytes())).into()
    }
}
