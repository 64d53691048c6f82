//! What the machine counts: for limits, for the collection of garbage, for `--stats`.

use crate::machine::values::Values;

/// Counts of an evaluation, and of the machine since it was made.
#[derive(Default)]
pub(in crate::machine) struct Counters {
    /// Calls and steps until limits are looked at, and how many there were when that was decided.
    pub(in crate::machine) fuel: u32,
    pub(in crate::machine) fuel_given: u32,
    pub(in crate::machine) calls: u64,
    pub(in crate::machine) steps: u64,
    /// How many parts were compared to find out whether something came to itself.
    pub(in crate::machine) compared: u64,
    pub(in crate::machine) interpreted: u64,
    pub(in crate::machine) depth_max: usize,
    /// Heap bytes at which garbage is collected.
    pub(in crate::machine) collect_at: usize,
    pub(in crate::machine) collections: u64,
    /// What was counted for the run already.
    pub(in crate::machine) heap_counted: region::Statistics,
    pub(in crate::machine) collections_counted: u64,
}

impl Counters {
    /// Forgets the evaluation before.
    pub(in crate::machine) fn reset(&mut self) {
        (self.calls, self.steps, self.interpreted, self.compared, self.depth_max) = (0, 0, 0, 0, 0);
    }

    /// Whether it is time to collect garbage.
    pub(in crate::machine) fn is_crowded(&self, values: &Values) -> bool {
        values.bytes_live() > self.collect_at
    }
}
