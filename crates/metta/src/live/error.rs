//! Why a query cannot be kept up to date.

use std::fmt;

/// Why a query cannot be kept up to date.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LiveError {
    /// Something in the template would be evaluated.
    Evaluated {
        /// What.
        part: String,
    },
    /// A `match` in it asks another space.
    OtherSpace {
        /// Which.
        space: String,
    },
    /// A variable is named that the pattern does not have.
    NoVariable {
        /// Which.
        variable: String,
        /// What it was named for.
        purpose: &'static str,
    },
    /// A count is to have a variable that the pattern binds.
    Bound {
        /// Which.
        variable: String,
    },
    /// A call cannot be followed.
    Rules {
        /// Which.
        call: String,
        /// Why.
        reason: &'static str,
    },
    /// The pattern is `(,)`.
    NoPattern,
}

impl fmt::Display for LiveError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Evaluated { part } => write!(
                formatter,
                "the template of a live query is data behind tests, and {part} would be evaluated; keep what it is made of, and \
                 evaluate that where it arrives"
            ),
            Self::OtherSpace { space } => {
                write!(
                    formatter,
                    "a live query asks one space, and a match in its template asks {space}; copy what it needs"
                )
            }
            Self::NoVariable { variable, purpose } => {
                write!(
                    formatter,
                    "{variable} is named {purpose}, and the pattern has no such variable; write one that it has"
                )
            }
            Self::Bound { variable } => write!(
                formatter,
                "{variable} is to stand for a count, and the pattern binds it; write a variable that the pattern does not have"
            ),
            Self::Rules { call, reason } => {
                write!(formatter, "the answers of {call} cannot be kept up to date from its rules: {reason}")
            }
            Self::NoPattern => formatter.write_str("the pattern asks for nothing; write one, or (, P1 P2 …)"),
        }
    }
}

impl std::error::Error for LiveError {}
