//! What is changed in replayed answers: faults that are put in, and templates.

/// What is changed in replayed answers.
#[derive(Clone, Debug, Default)]
pub struct Edits {}
