//! What the machine counts: for limits, for the collection of garbage, for `--stats`.

/// Counts of an evaluation, and of the machine since it was made.
#[derive(Default)]
pub(super) struct Counters {
    /// Calls and steps until limits are looked at, and how many there were when that was decided.
    pub(super) fuel: u32,
    pub(super) fuel_given: u32,
    pub(super) calls: u64,
    pub(super) steps: u64,
    /// How many parts were compared to find out whether something came to itself.
    pub(super) compared: u64,
    pub(super) interpreted: u64,
    pub(super) depth_max: usize,
    /// Heap bytes at which garbage is collected.
    pub(super) collect_at: usize,
    pub(super) collections: u64,
    /// What was counted for the run already.
    pub(super) heap_counted: region::Statistics,
    pub(super) collections_counted: u64,
}

impl Counters {
    /// Forgets the evaluation before.
    pub(super) fn reset(&mut self) {
        (self.calls, self.steps, self.interpreted, self.compared, self.depth_max) = (0, 0, 0, 0, 0);
    }
}
