//! Match keys: by what the index of a sealed cassette finds requests.

use crate::matching::MatchRules;
use crate::message::{Body, Request};
use std::fmt;
use std::hash::Hasher;
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// Bodies of more bytes take no part in a key, on a cassette and live: they are compared when a key was found.
pub const KEY_BODY_BYTES_MAX: usize = 16 << 20;

/// How the key of a request is made.
///
/// Requests that match have equal keys; requests with equal keys need not match and are compared. A sealed cassette keeps 32 bits
/// of each key and the number of the scheme, so that a cassette whose index was made by other rules is noticed.
#[derive(Clone)]
pub struct KeyScheme {
    number: u32,
    key: Arc<dyn Fn(&Request<'_>) -> u64 + Send + Sync>,
}

impl KeyScheme {
    /// Rules of this number. The same number always means the same rules.
    pub fn new(number: u32, key: impl Fn(&Request<'_>) -> u64 + Send + Sync + 'static) -> Self {
        Self { number, key: Arc::new(key) }
    }

    /// By these rules of matching. The default ones have number 1; any other have one that no cassette is trusted to have.
    pub fn of(rules: &MatchRules) -> Self {
        let rules = rules.clone();
        Self::new(rules.scheme().unwrap_or(Self::UNNAMED), move |request| rules.key(request))
    }

    /// The number of rules that have none of their own.
    pub(crate) const UNNAMED: u32 = u32::MAX;

    /// By method, scheme, host, port and target; number 0.
    pub fn target() -> Self {
        Self::new(0, |request| {
            let mut hash = XxHash3_64::with_seed(0);
            for part in [&request.method, &request.scheme, &request.host, &request.target] {
                hash.write(&(part.len() as u64).to_le_bytes());
                hash.write(part);
            }
            hash.write(&request.port.to_le_bytes());
            hash.finish()
        })
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The key of a request, a body that is too long left out.
    pub fn key(&self, request: &Request<'_>) -> u64 {
        let is_long = request.body.as_ref().is_some_and(|body: &Body<'_>| body.bytes().len() > KEY_BODY_BYTES_MAX);
        if is_long {
            return (self.key)(&request.head());
        }
        (self.key)(request)
    }
}

impl fmt::Debug for KeyScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyScheme").field("number", &self.number).finish_non_exhaustive()
    }
}
