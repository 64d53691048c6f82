//! What a `!` form came to, for any thread.

use metta::{FormAnswer, FreezeError, FrozenResults, names};
use space::Atom;
use std::sync::Arc;

/// What a `!` form came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// Its results, in order.
    pub results: Vec<Atom>,
    /// Its results in memory that any thread reads without building atoms, or why they could not be frozen. `None` if nobody asked for
    /// them so, or if the machine did not evaluate the form.
    pub frozen: Option<Result<Arc<FrozenResults>, FreezeError>>,
}

impl Answer {
    /// What an engine hands out, on its own.
    pub fn of(answer: &FormAnswer<'_>) -> Self {
        let frozen = answer.frozen.map(|frozen| frozen.as_ref().map(Arc::clone).map_err(|error| *error));
        Self { results: answer.results.to_vec(), frozen }
    }

    /// Whether one of its results is an error.
    pub fn is_error(&self) -> bool {
        self.results.iter().any(names::is_error)
    }
}
