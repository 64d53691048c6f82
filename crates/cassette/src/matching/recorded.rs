//! Exchanges that requests are matched with.

use crate::exchange::Exchange;
use crate::matching::rules::MatchRules;
use crate::message::Request;
use std::borrow::Cow;
use std::convert::Infallible;

/// Recorded exchanges, by their positions, which are below [`count`](RecordedExchanges::count).
pub trait RecordedExchanges {
    /// Why one cannot be read.
    type Error;

    /// How many there are.
    fn count(&self) -> usize;

    /// The positions in the order in which requests began.
    fn in_order(&self) -> Vec<usize>;

    /// The number of an exchange.
    ///
    /// # Errors
    /// What it lies in is damaged.
    fn number(&self, position: usize) -> Result<u64, Self::Error>;

    /// What was asked, redacted as it was when it was recorded.
    ///
    /// # Errors
    /// What it lies in is damaged.
    fn request(&self, position: usize) -> Result<Cow<'_, Request<'_>>, Self::Error>;

    /// The upper halves of the keys of all requests under these rules, by position.
    ///
    /// # Errors
    /// What they lie in is damaged.
    fn keys(&self, rules: &MatchRules) -> Result<Vec<u32>, Self::Error> {
        (0..self.count()).map(|position| Ok((rules.key(self.request(position)?.as_ref()) >> 32) as u32)).collect()
    }
}

impl RecordedExchanges for [Exchange<'_>] {
    type Error = Infallible;

    fn count(&self) -> usize {
        self.len()
    }

    fn in_order(&self) -> Vec<usize> {
        let mut positions: Vec<_> = (0..self.len()).collect();
        positions.sort_by_key(|&position| self[position].number);
        positions
    }

    fn number(&self, position: usize) -> Result<u64, Infallible> {
        Ok(self[position].number)
    }

    fn request(&self, position: usize) -> Result<Cow<'_, Request<'_>>, Infallible> {
        Ok(Cow::Borrowed(&self[position].request))
    }
}
