//! Limits of an evaluation: steps, depth, time and memory, and when garbage is collected.

use super::counters::Counters;
use crate::limits::Watch;
use crate::machine::code::HOLE;
use crate::machine::control::frames::{Frames, WORDS_PER_FRAME};
use crate::machine::values::Values;
use crate::machine::words::INTEGER;
use crate::machine::{Halt, Reason};
use crate::session::Session;
use region::Ref;

/// Heap bytes below which nothing is collected.
const COLLECT_FROM: usize = 1 << 20;

/// How much is made at least between two collections.
const LEAST_MADE: usize = 1 << 12;

/// In place of a hole: garbage is to be collected where the frame gives its result. It is an integer, which no collection
/// moves, and not the 0 of a frame without holes.
const COLLECT: Ref = Ref::new(INTEGER, 1);

/// Where garbage is to be collected, which a call does: after how many steps it is asked again whether there is a call. The next one may
/// be a step away, again and again: no other number divides this one, so it is met.
const STEPS_TO_CALL: u32 = 13;

/// From how many elements on the making of a list, which takes some microseconds, is followed by a look at the limits.
const LONG: usize = 1 << 14;

/// What is looked at for limits.
pub(in crate::machine) struct Limits<'a> {
    pub(in crate::machine) counters: &'a mut Counters,
    pub(in crate::machine) frames: &'a mut Frames,
    pub(in crate::machine) values: &'a mut Values,
    pub(in crate::machine) watch: &'a mut Watch,
    pub(in crate::machine) session: &'a mut Session,
    /// Heap bytes from which on garbage is collected at every call, for tests of that.
    pub(in crate::machine) collect_from: Option<usize>,
}

impl Limits<'_> {
    /// When to collect for the first time.
    pub(in crate::machine) fn set_collect_from(&mut self) {
        self.counters.collect_at = self.collect_from.unwrap_or_else(|| COLLECT_FROM.min(self.collect_before()));
    }

    /// When to collect next, given what survived.
    pub(super) fn set_collect_at(&mut self) {
        let live = self.values.bytes_live();
        self.counters.collect_at = match self.collect_from {
            Some(0) => 0,
            from => (2 * live)
                .max(from.unwrap_or(COLLECT_FROM))
                .min(self.collect_before())
                .max(live + live / 8 + LEAST_MADE),
        };
    }

    /// With more than this there is no room for a copy and for the table that it needs, each as large again.
    fn collect_before(&self) -> usize {
        self.session.limits.heap_bytes_max.map_or(usize::MAX, |most| most / 8 * 3)
    }

    /// The bytes that the form has taken from the system, and those of them that something is in.
    fn bytes_taken(&self) -> (usize, usize) {
        let taken = match self.session.counts_memory {
            true => self.session.form_steps.bytes(),
            false => self.values.heap.bytes_held() + self.values.beside + self.session.tables.bytes(),
        };
        (taken, taken.saturating_sub(self.bytes_unused()))
    }

    /// What of its memory nothing is in: free chunks, and the table that copies use.
    fn bytes_unused(&self) -> usize {
        let heap = self.values.heap.statistics();
        heap.chunks_free * (heap.bytes_held / heap.chunks.max(1)) + self.values.heap.table_bytes()
    }

    /// Looks at the memory that the form takes.
    pub(in crate::machine) fn look_at_memory(&mut self) -> Result<(), Halt> {
        let Some(most) = self.session.limits.heap_bytes_max else { return Ok(()) };
        let (taken, used) = self.bytes_taken();
        // What the system has given beyond the limit is to be used before more is asked for.
        let held = self.session.limits.held_bytes_max().is_some_and(|held| taken > held);
        let bytes = if held { most.saturating_add(1).max(used) } else { used };
        match self.watch.took(bytes, &mut self.session.form_steps) {
            Some(limit) => Err(Reason::Limit(limit).into()),
            None => {
                self.leave_heap(most.saturating_sub(used));
                Ok(())
            }
        }
    }

    /// Leaves the heap what the limit leaves of it.
    pub(in crate::machine) fn limit_heap(&mut self) {
        match self.session.limits.heap_bytes_max {
            Some(most) => self.leave_heap(most.saturating_sub(self.bytes_taken().1)),
            None => {
                self.values.heap.set_limit(None);
                self.frames.words_left = usize::MAX;
            }
        }
    }

    /// Lets the heap take `bytes` bytes more than it has, or the stack.
    fn leave_heap(&mut self, bytes: usize) {
        let live = self.values.heap.bytes_live();
        self.frames.words_left = bytes / size_of::<u32>();
        self.values.heap.set_limit(Some(live.saturating_add(bytes)));
    }

    /// Whether there is room for a collection: a copy of all that is held, and a table as large as all that was taken.
    pub(in crate::machine) fn has_room_to_collect(&self) -> bool {
        let heap = &self.values.heap;
        let held = self.session.limits.held_bytes_max();
        heap.can_address_copy() && held.is_none_or(|held| self.bytes_taken().0 + heap.bytes_to_copy() <= held)
    }

    pub(in crate::machine) fn look_at_limits(&mut self) -> Result<(), Halt> {
        self.counters.depth_max = (self.frames.base / WORDS_PER_FRAME).max(self.counters.depth_max);
        let reached = self.watch.advance(u64::from(self.counters.fuel_given), &mut self.session.form_steps);
        self.give_fuel();
        reached.map_or(Ok(()), |limit| Err(Reason::Limit(limit).into()))
    }

    /// Looks at the limits, where nothing is laid out for a collection of garbage.
    #[cold]
    pub(in crate::machine) fn look_without_call(&mut self) -> Result<(), Halt> {
        self.look_at_limits().inspect_err(|_| self.counters.steps -= 1)?;
        if self.counters.is_crowded(self.values) {
            self.look_within(STEPS_TO_CALL);
        }
        self.look_at_memory().inspect_err(|_| self.counters.steps -= 1)
    }

    /// A long list takes as long as many steps: limits are looked at before more is done.
    pub(in crate::machine) fn look_soon_if_long(&mut self, made: Ref) {
        if self.values.heap.length(made) >= LONG {
            self.look_within(1);
        }
    }

    /// Lets limits be looked at within `steps` steps.
    pub(in crate::machine) fn look_within(&mut self, steps: u32) {
        self.settle_fuel();
        self.counters.fuel = self.counters.fuel.min(steps);
        self.counters.fuel_given = self.counters.fuel;
    }

    pub(in crate::machine) fn give_fuel(&mut self) {
        let fuel = match self.collect_from {
            None if self.session.profile.is_none() => self.watch.steps_until_look(&self.session.form_steps),
            _ => 1,
        };
        (self.counters.fuel, self.counters.fuel_given) = (fuel, fuel);
    }

    /// Counts the steps that were taken since fuel was given.
    pub(in crate::machine) fn settle_fuel(&mut self) {
        let taken = u64::from(self.counters.fuel_given - self.counters.fuel);
        self.counters.fuel_given = self.counters.fuel;
        self.watch.count(taken);
        self.session.form_steps.add(taken);
    }

    /// To be called by what has made much. If it is time to collect garbage, that is done where the frame at hand gives its
    /// result, or before that where a function is entered.
    #[inline]
    pub(in crate::machine) fn collect_soon(&mut self) {
        if self.counters.is_crowded(self.values) {
            self.look_within(1);
            self.collect_when_given();
        }
    }

    /// Asks for a collection of garbage where the frame at hand gives its result. One that has holes asks for it by those.
    #[cold]
    fn collect_when_given(&mut self) {
        let hole = &mut self.frames.stack[self.frames.base + HOLE];
        if *hole == 0 {
            *hole = COLLECT.bits();
        }
    }

    /// There is no room for a collection: the next one is tried when more is in use.
    pub(super) fn put_off_collection(&mut self) {
        self.counters.collect_at = self.values.bytes_live() / 8 * 9 + LEAST_MADE;
    }
}
