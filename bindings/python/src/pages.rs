//! States of pages: the library `reactive` from Python.
//!
//! 1. What pages hold is given to Python without a copy ([`bytes`]): bytes that no commit changes, kept as long as Python has them.
//! 2. A state is locked by whoever uses it, without the interpreter lock. A function of Python that derives a page takes the interpreter lock
//!    for that, on whatever thread derives it ([`functions`]). It may not ask a state for anything: it would wait for itself.
//! 3. `state` is what there is of a state, `transaction` collects steps, `notices` says what has changed, `failures` makes exceptions.

pub(crate) mod bytes;
mod failures;
mod functions;
pub(crate) mod notices;
mod options;
pub(crate) mod state;
pub(crate) mod transaction;

use pyo3::prelude::*;

/// Adds the classes to the module of the package.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<bytes::PageBytes>()?;
    module.add_class::<bytes::PageId>()?;
    module.add_class::<bytes::PageSnapshot>()?;
    module.add_class::<notices::PageSubscription>()?;
    module.add_class::<state::PageState>()?;
    module.add_class::<transaction::PageTransaction>()
}
