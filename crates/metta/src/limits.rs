//! Limits of an evaluation: steps, depth, time, and the wish of a person to stop.
//!
//! A limit ends the `!` it is reached in, after the results found so far, with an error atom that names it. Time and
//! interruption come from outside as a flag: the evaluator reads no clock.

use crate::names;
use space::{Atom, Number};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// How deep the stack of an evaluation may grow unless set otherwise, in frames: a call in the argument of another
/// takes two, of about 500 bytes each.
pub const DEPTH_MAX_DEFAULT: usize = 4_000_000;

/// The interrupt flag is read once in this many steps.
const STEPS_BETWEEN_LOOKS: u64 = 256;

/// The limits of every evaluation of a run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most steps one `!` may take; `None` for no limit.
    pub steps_max: Option<u64>,
    /// The most frames its stack may have.
    pub depth_max: usize,
    /// The most bytes its heap may take, under the machine; `None` for no limit.
    pub heap_bytes_max: Option<usize>,
    /// Set by the host to end the evaluation.
    pub interrupt: Interrupt,
}

impl Default for Limits {
    fn default() -> Self {
        Self { steps_max: None, depth_max: DEPTH_MAX_DEFAULT, heap_bytes_max: None, interrupt: Interrupt::default() }
    }
}

/// A flag by which another thread ends an evaluation.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicU8>);

impl Interrupt {
    /// Ends the evaluation because its time is up.
    pub fn time_is_up(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// Ends the evaluation because someone asked for it.
    pub fn cancel(&self) {
        self.0.store(2, Ordering::Relaxed);
    }

    /// Why the evaluation is to end, if it is.
    pub fn reason(&self) -> Option<LimitReached> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(LimitReached::Time),
            _ => Some(LimitReached::Cancelled),
        }
    }
}

/// The limit that ended an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LimitReached {
    /// It took as many steps as it may.
    Steps(u64),
    /// Its stack grew as deep as it may, in frames.
    Depth(usize),
    /// Its heap grew as large as it may, in bytes.
    Heap(u64),
    /// It could not begin: the system does not let the process reserve so many bytes of address space for a heap.
    AddressSpace(u64),
    /// Its time was up.
    Time,
    /// Someone ended it.
    Cancelled,
}

impl LimitReached {
    /// The error atom that ends the results of the atom it was reached in.
    pub fn error(self, atom: &Atom) -> Atom {
        let message = match self {
            Self::Steps(steps) => {
                Atom::expression([Atom::symbol("StepLimit"), Atom::from(Number::from(steps as usize))])
            }
            Self::Heap(bytes) => {
                Atom::expression([Atom::symbol("HeapLimit"), Atom::from(Number::from(bytes as usize))])
            }
            Self::AddressSpace(bytes) => {
                Atom::expression([Atom::symbol("AddressSpaceLimit"), Atom::from(Number::from(bytes as usize))])
            }
            Self::Depth(_) => Atom::symbol(names::STACK_OVERFLOW),
            Self::Time => Atom::symbol("TimeLimit"),
            Self::Cancelled => Atom::symbol("Cancelled"),
        };
        names::error(atom.clone(), message)
    }
}

/// Counts the steps of a `!` of the program, those of the sources it imports included, and keeps where it was cancelled.
///
/// From the step at which a cancellation is noticed on, every evaluation inside the form ends at once: so a replay that
/// cancels it at the same step comes to the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FormSteps {
    taken: u64,
    cancelled: Option<(u64, LimitReached)>,
}

impl FormSteps {
    /// A form that is to be cancelled after so many steps, if it is.
    pub(crate) fn new(cancelled: Option<(u64, LimitReached)>) -> Self {
        Self { taken: 0, cancelled }
    }

    /// Notices before the first step that the form is to be cancelled: a program of short forms ends all the same.
    pub(crate) fn begin(&mut self, interrupt: &Interrupt) -> Option<LimitReached> {
        match self.cancelled {
            Some((0, reason)) => Some(reason),
            Some(_) => None,
            None => {
                let reason = interrupt.reason()?;
                self.cancelled = Some((0, reason));
                Some(reason)
            }
        }
    }

    /// Counts steps that were taken since limits were looked at.
    pub(crate) fn add(&mut self, steps: u64) {
        self.taken += steps;
    }

    /// After how many steps the form was cancelled, if it was.
    pub(crate) fn cancelled_after(&self) -> Option<u64> {
        self.cancelled.map(|(steps, _)| steps)
    }
}

/// Watches the limits of one evaluation.
pub(crate) struct Watch {
    limits: Limits,
    steps: u64,
}

impl Watch {
    /// Begins to watch.
    pub(crate) fn begin(limits: &Limits) -> Self {
        Self { limits: limits.clone(), steps: 0 }
    }

    /// Counts a step at this depth; says which limit it reaches.
    pub(crate) fn step(&mut self, depth: usize, form: &mut FormSteps) -> Option<LimitReached> {
        if depth > self.limits.depth_max {
            return Some(LimitReached::Depth(self.limits.depth_max));
        }
        if self.limits.steps_max.is_some_and(|most| self.steps >= most) {
            return Some(LimitReached::Steps(self.steps));
        }
        self.steps += 1;
        form.taken += 1;
        self.noticed(form)
    }

    /// The same for a part of an evaluation that may take so many steps.
    pub(crate) fn of_part(limits: &Limits, steps_max: Option<u64>) -> Self {
        Self { limits: Limits { steps_max, ..limits.clone() }, steps: 0 }
    }

    /// How many steps come before limits must be looked at again, the one before which that is to be included.
    pub(crate) fn steps_until_look(&self, form: &FormSteps) -> u32 {
        let to_look = STEPS_BETWEEN_LOOKS - form.taken % STEPS_BETWEEN_LOOKS;
        let to_limit = self.steps_left().map_or(u64::MAX, |left| left.saturating_add(1));
        let to_cancellation = form.cancelled.map_or(u64::MAX, |(steps, _)| steps.saturating_sub(form.taken).max(1));
        to_look.min(to_limit).min(to_cancellation) as u32
    }

    /// Counts that many steps, which [`Watch::steps_until_look`] allowed; says which limit they reach.
    pub(crate) fn advance(&mut self, steps: u64, form: &mut FormSteps) -> Option<LimitReached> {
        self.steps += steps;
        form.taken += steps;
        if let Some(most) = self.limits.steps_max.filter(|most| self.steps > *most) {
            self.steps = most;
            return Some(LimitReached::Steps(most));
        }
        self.noticed(form)
    }

    /// Counts steps that were allowed.
    pub(crate) fn count(&mut self, steps: u64) {
        self.steps += steps;
    }

    /// How many more steps may be taken; `None` for any number.
    pub(crate) fn steps_left(&self) -> Option<u64> {
        self.limits.steps_max.map(|most| most.saturating_sub(self.steps))
    }

    /// Whether the form is to end here.
    fn noticed(&self, form: &mut FormSteps) -> Option<LimitReached> {
        if let Some((steps, reason)) = form.cancelled
            && form.taken >= steps
        {
            return Some(reason);
        }
        if !form.taken.is_multiple_of(STEPS_BETWEEN_LOOKS) {
            return None;
        }
        let reason = self.limits.interrupt.reason()?;
        form.cancelled = Some((form.taken, reason));
        Some(reason)
    }

    /// How many steps were taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}
