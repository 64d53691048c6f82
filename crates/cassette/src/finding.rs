//! A secret that was found, without the secret.

use std::fmt;

/// A secret that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Where: `request header authorization`, `response body`.
    pub place: String,
    /// What: `a GitHub token`, `the value of a secret name`.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}
