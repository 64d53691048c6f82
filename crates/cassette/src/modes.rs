//! What is done with a request: recorded, answered from the cassette, refused. Pure decisions; the caller acts.

use std::fmt;
use std::str::FromStr;

/// How a cassette is used. The names are those that VCR gave them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// If there is no cassette yet, everything is recorded; else everything is answered from it, and what it does not have is
    /// refused.
    #[default]
    Once,
    /// What the cassette has is answered from it, the rest is recorded to it.
    New,
    /// Everything is recorded anew.
    All,
    /// Everything is answered from the cassette, and what it does not have is refused.
    None,
    /// Everything goes to the network, nothing is recorded.
    Passthrough,
}

/// What is known of a request when it is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The cassette has an answer, which is this old in seconds; less than 0 if the clock says that it is of the future.
    Has {
        /// Seconds from its recording until now.
        age: i64,
    },
    /// The cassette has none.
    Lacks,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Answered from the cassette.
    Replay,
    /// Answered from the cassette; the user is told that the recording is older than it should be.
    ReplayExpired,
    /// Sent on, and recorded.
    Record,
    /// Sent on, not recorded.
    Forward,
    /// Refused: the cassette does not have it.
    RefuseMissing,
    /// Refused: what the cassette has is older than it may be.
    RefuseExpired,
}

/// How old an answer may be, and what is done with one that is older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The most seconds since it was recorded. Reading it does not make it younger.
    pub max_age: u64,
    /// What is done then.
    pub then: Expired,
}

/// What is done with an answer that is too old.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Expired {
    /// It is refused. Nothing is recorded again without being asked for.
    #[default]
    Refuse,
    /// It is given, and the user is told.
    Warn,
    /// It is recorded again, in the modes that record.
    Record,
}

impl Mode {
    /// What is done with a request. `existed` is whether there was a cassette when this use of it began.
    pub fn decide(self, existed: bool, lookup: Lookup, expiry: Option<Expiry>) -> Action {
        let records_new = self == Self::New;
        match (self, lookup) {
            (Self::Passthrough, _) => Action::Forward,
            (Self::All, _) => Action::Record,
            (Self::Once, _) if !existed => Action::Record,
            (Self::Once | Self::None | Self::New, Lookup::Has { age }) => answer(age, expiry, records_new),
            (Self::Once | Self::None, Lookup::Lacks) => Action::RefuseMissing,
            (Self::New, Lookup::Lacks) => Action::Record,
        }
    }

    /// Whether requests may reach the network.
    pub fn may_send(self, existed: bool) -> bool {
        match self {
            Self::None => false,
            Self::Once => !existed,
            Self::New | Self::All | Self::Passthrough => true,
        }
    }
}

fn answer(age: i64, expiry: Option<Expiry>, may_record: bool) -> Action {
    match expiry.filter(|expiry| u64::try_from(age).is_ok_and(|age| age > expiry.max_age)) {
        None => Action::Replay,
        Some(expiry) => match expiry.then {
            Expired::Warn => Action::ReplayExpired,
            Expired::Record if may_record => Action::Record,
            Expired::Record | Expired::Refuse => Action::RefuseExpired,
        },
    }
}

/// Names of modes, ours first, then what other recorders call them.
const NAMES: [(&str, Mode); 15] = [
    ("once", Mode::Once),
    ("new", Mode::New),
    ("all", Mode::All),
    ("none", Mode::None),
    ("passthrough", Mode::Passthrough),
    ("auto", Mode::Once),
    ("new_episodes", Mode::New),
    ("hybrid", Mode::New),
    ("record", Mode::All),
    ("rewrite", Mode::All),
    ("replay", Mode::None),
    ("replay_strict", Mode::None),
    ("replaystrict", Mode::None),
    ("strict", Mode::None),
    ("off", Mode::Passthrough),
];

/// A name that is not a mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMode {
    name: String,
}

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a mode; the modes are once, new, all, none and passthrough", self.name)
    }
}

impl std::error::Error for UnknownMode {}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        let plain = name.to_ascii_lowercase().replace('-', "_");
        let known = NAMES.iter().find(|(known, _)| *known == plain);
        known.map(|(_, mode)| *mode).ok_or_else(|| UnknownMode { name: name.to_owned() })
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(_, mode)| mode == self).map_or("once", |(name, _)| name);
        f.write_str(name)
    }
}
