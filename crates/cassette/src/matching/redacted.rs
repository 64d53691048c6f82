//! Recorded requests without their secrets, so that they are compared with live ones that have none either.

use crate::matching::recorded::RecordedExchanges;
use crate::matching::rules::MatchRules;
use crate::message::Request;
use crate::redact::Redaction;
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

/// What is recorded, with the secrets taken out of its requests when they are looked at. A cassette of this program has none; one of
/// another, one that was recorded with secrets, or by other rules, may have some.
///
/// Cost: every request is read when a player is made of it, since the keys that a cassette keeps may be those of requests with secrets.
pub struct RedactedExchanges<P> {
    recorded: P,
    redaction: Option<Arc<Redaction>>,
}

impl<P> RedactedExchanges<P> {
    /// What is recorded, as it is if nothing is a secret.
    pub fn new(recorded: P, redaction: Option<Arc<Redaction>>) -> Self {
        Self { recorded, redaction }
    }
}

impl<P: Deref<Target = R>, R: RecordedExchanges + ?Sized + 'static> RecordedExchanges for RedactedExchanges<P> {
    type Error = R::Error;

    fn count(&self) -> usize {
        self.recorded.count()
    }

    fn in_order(&self) -> Vec<usize> {
        self.recorded.in_order()
    }

    fn number(&self, position: usize) -> Result<u64, R::Error> {
        self.recorded.number(position)
    }

    fn request(&self, position: usize) -> Result<Cow<'_, Request<'_>>, R::Error> {
        let request = self.recorded.request(position)?;
        let Some(redaction) = &self.redaction else { return Ok(request) };
        let mut request = request.into_owned();
        redaction.request(&mut request);
        Ok(Cow::Owned(request))
    }

    fn keys(&self, rules: &MatchRules) -> Result<Vec<u32>, R::Error> {
        match self.redaction {
            None => self.recorded.keys(rules),
            Some(_) => (0..self.count()).map(|at| Ok((rules.key(self.request(at)?.as_ref()) >> 32) as u32)).collect(),
        }
    }
}
