//! What is known of the pieces in which code was made: see `forget.rs`.

/// How long the tables were.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) instructions: u32,
    pub(super) return_points: u32,
    pub(super) templates: u32,
    pub(super) data: u32,
    pub(super) nested: u32,
    pub(super) shapes: u32,
    pub(super) queries: u32,
    pub(super) arguments: u32,
    pub(super) groups: u32,
    pub(super) exclusives: u32,
    pub(super) guarded: u32,
    pub(super) indexes: u32,
    pub(super) functions: u32,
}

/// What is known of the pieces of code.
#[derive(Default)]
pub(super) struct Pieces {
    pub(super) ends: Vec<End>,
    /// The number of instructions at which some are forgotten, while a form is evaluated and between two forms.
    pub(super) forget_at: usize,
    pub(super) forget_between_at: usize,
    /// The forms since the latter was set.
    pub(super) forms: u32,
}
