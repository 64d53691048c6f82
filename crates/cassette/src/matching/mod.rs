//! Which recorded exchange answers a request.
//!
//! [`MatchRules`] say what two requests must share to be the same question; a [`Player`] gives each recorded answer once, in the
//! order in which the questions were asked; a [`Miss`] says what the nearest recorded question was, and what differs.

pub(crate) mod canonical;
pub(crate) mod json;
mod messages;
pub(crate) mod miss;
mod player;
pub(crate) mod recorded;
mod redacted;
pub(crate) mod rules;

pub use json::{JsonPath, PathError};
pub use miss::{Difference, Miss, NearestExchange, Reason};
pub use player::{FoundExchange, NoAnswer, Player, Repeats};
pub use recorded::RecordedExchanges;
pub use redacted::RedactedExchanges;
pub use rules::{BodyRule, Condition, HeaderRule, MatchRules, PathRule, QueryRule};
