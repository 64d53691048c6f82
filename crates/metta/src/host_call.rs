//! A call of a function of the host as plain data: what a world that records writes down, and one that replays reads back.

use serde::{Deserialize, Serialize};
use space::{Atom, canonical};

/// A call of a named function, as a world sees it.
pub struct HostCall<'a> {
    /// The name of the function.
    pub name: &'a str,
    /// Its arguments.
    pub arguments: &'a [Atom],
}

impl HostCall<'_> {
    pub(crate) fn atom(&self) -> Atom {
        Atom::expression(
            std::iter::once(Atom::symbol(self.name)).chain(self.arguments.iter().cloned()).collect::<Vec<_>>(),
        )
    }

    /// Its canonical bytes: what tells it from other calls.
    pub fn bytes(&self) -> Vec<u8> {
        canonical::encode(&self.atom())
    }
}

/// What a call of a named function came to, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    pub(crate) kind: AnswerKind,
    /// The canonical bytes of the call and what it came to, as the children of one expression: variables of the call stay those of it.
    pub(crate) bytes: Vec<u8>,
    /// The names of the variables.
    pub(crate) names: Vec<String>,
}

impl RecordedAnswer {
    /// The canonical bytes of the call and what it came to.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// New ones go to the end: recordings number them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AnswerKind {
    Results,
    NotReducible,
    Failure,
}
