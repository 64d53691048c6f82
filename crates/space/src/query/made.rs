//! What the patterns of a query were made to.

use super::filter::Filters;
use super::loops::Loops;
use super::usage::Usages;

/// Loops over the patterns of a query in an order, ready to be executed.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) loops: &'a Loops,
    pub(super) filters: &'a Filters,
    pub(super) usages: &'a Usages,
}
