//! What results say of types, for code that is right only then.

/// What the results of a function without a type say of the type that they were evaluated to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) enum Said {
    /// It is the type that they have.
    Own,
    /// Nothing.
    Nothing,
    /// It depends on the result.
    Depends,
}

impl Said {
    pub(in crate::machine) fn text(self) -> &'static str {
        match self {
            Self::Own => "types",
            Self::Nothing => "no types",
            Self::Depends => "types now and then",
        }
    }
}
