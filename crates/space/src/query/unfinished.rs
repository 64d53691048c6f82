//! Why a query may end before its answers are there.

/// Says whether the caller of a query has given up. It is called now and then.
pub type ShouldStop<'a> = &'a dyn Fn() -> bool;

/// How many partial answers are extended before it is called.
pub(super) const ANSWERS_BETWEEN_LOOKS: usize = 16;

/// Why answers were not found in some way, or not all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// The caller has given up.
    Stopped,
    /// More rows were to be looked at, or more answers were found, than there is room for.
    TooMany,
    /// Rows cannot be joined, or taken in another order, any more.
    NotRows,
}
