//! What is known of the pieces in which code was made: see `forget.rs`.

/// How long the tables were.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct End {
    pub(in crate::machine) instructions: u32,
    pub(in crate::machine) return_points: u32,
    pub(in crate::machine) templates: u32,
    pub(in crate::machine) data: u32,
    pub(in crate::machine) nested: u32,
    pub(in crate::machine) shapes: u32,
    pub(in crate::machine) queries: u32,
    pub(in crate::machine) arguments: u32,
    pub(in crate::machine) groups: u32,
    pub(in crate::machine) exclusives: u32,
    pub(in crate::machine) guarded: u32,
    pub(in crate::machine) indexes: u32,
    pub(in crate::machine) functions: u32,
}

/// What is known of the pieces of code.
#[derive(Default)]
pub(in crate::machine) struct Pieces {
    pub(in crate::machine) ends: Vec<End>,
    /// The number of instructions at which some are forgotten, while a form is evaluated and between two forms.
    pub(in crate::machine) forget_at: usize,
    pub(in crate::machine) forget_between_at: usize,
    /// The forms since the latter was set.
    pub(in crate::machine) forms: u32,
}
