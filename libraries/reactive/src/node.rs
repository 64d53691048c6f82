//! How pages are derived, and where the others come from.

use crate::Epoch;
use crate::function::{Function, FunctionName};
use crate::metadata::Metadata;
use crate::page::PageId;
use crate::record::Origin;
use std::sync::Arc;

/// What a state knows of a page beside what it holds.
#[derive(Clone, Default)]
pub(crate) struct Node {
    pub(crate) derivation: Option<Derivation>,
    /// Where the last change came from, of a page that is not derived.
    pub(crate) origin: Origin,
    /// What the page is to its users.
    pub(crate) metadata: Option<Arc<Metadata>>,
}

/// How a page is derived.
#[derive(Clone)]
pub(crate) struct Derivation {
    pub(crate) name: FunctionName,
    pub(crate) function: Arc<dyn Function>,
    pub(crate) dependencies: Arc<[PageId]>,
    /// The commit in which it last ran. Since epochs count the commits of the whole state, this one number says which version of each
    /// dependency it has read: the last one up to there.
    pub(crate) ran: Epoch,
}
