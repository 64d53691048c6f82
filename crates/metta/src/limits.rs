//! Limits of an evaluation: steps, depth, memory, time, and the request of a person to stop.
//!
//! 1. A limit ends the `!` it is reached in, after the results found so far, with an error atom that names it. Time and
//!    interruption come from outside as a flag: the evaluator reads no clock.
//! 2. The memory of a `!` is all that its thread has allocated since the `!` began ([`region::memory`]), what it has added to
//!    spaces included. If the program does not count its allocations, it is the heap of the machine and what belongs to it.
//! 3. Memory is looked at between two steps, as the flag is, and inside of steps that can be large, such as the making of a
//!    text. The place where a `!` ends so does not depend on its program alone, so it is noted ([`Halted`]): a replay ends it there.

use crate::effects::Effects;
use crate::names;
use space::{Atom, Number, written_bytes_least};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// How deep the stack of an evaluation may grow unless set otherwise, in frames: a call in the argument of another
/// takes two, of about 500 bytes each.
pub const DEPTH_MAX_DEFAULT: usize = 4_000_000;

/// The memory that a `!` may take unless set otherwise: what the references of a heap can address.
pub const HEAP_BYTES_DEFAULT: usize = 4 << 30;

/// The most bytes with which the results of a `!` are written together: a small atom that refers to its parts many times may be
/// longer than any disk.
pub const WRITTEN_BYTES_MAX: u64 = 1 << 28;

/// The interrupt flag is read once in this many steps.
const STEPS_BETWEEN_LOOKS: u64 = 256;

/// Bytes up to which a text is read whatever the limit is.
const TEXT_LEAST: usize = 4 << 20;

/// The limits of every evaluation of a run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most steps one `!` may take; `None` for no limit.
    pub steps_max: Option<u64>,
    /// The most frames its stack may have.
    pub depth_max: usize,
    /// The most bytes that one `!` may take; `None` for no limit. What the system is asked for is at most half as much again,
    /// since memory that was given back may not be used at once, and garbage is collected by a copy.
    pub heap_bytes_max: Option<usize>,
    /// The most bytes that the process may take, all spaces included; `None` for no limit. It is looked at while something
    /// is evaluated, and counts only what [`region::memory`] does.
    pub memory_bytes_max: Option<usize>,
    /// The most steps that one `!` may take together with the sources that it imports. Unlike `steps_max` this ends the run as
    /// somebody does who cancels it: for replays, whose programs are not to be trusted.
    pub form_steps_max: Option<u64>,
    /// Set by the host to end the evaluation.
    pub interrupt: Interrupt,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps_max: None,
            depth_max: DEPTH_MAX_DEFAULT,
            heap_bytes_max: None,
            memory_bytes_max: None,
            form_steps_max: None,
            interrupt: Interrupt::default(),
        }
    }
}

impl Limits {
    /// Whether the process has taken as much memory as it may.
    pub(crate) fn memory_reached(&self) -> Option<LimitReached> {
        let most = self.memory_bytes_max?;
        (region::memory::of_process() > most).then_some(LimitReached::Memory(most as u64))
    }

    /// The limit that ends a form in the middle of a step if `more` further bytes are taken. They count twice: what grows lies in
    /// two places while it is moved.
    pub(crate) fn reached_inside(&self, form: &FormSteps, more: usize) -> Option<LimitReached> {
        let is_over = |most: usize| form.bytes().saturating_add(2 * more) > most;
        let heap = self.heap_bytes_max.filter(|_| self.held_bytes_max().is_some_and(is_over));
        self.interrupt.reason().or(heap.map(|most| LimitReached::Heap(most as u64)))
    }

    /// The limit that a text alone comes to: it is there twice while it is read.
    pub(crate) fn reached_by_text(&self, text: &str) -> Option<LimitReached> {
        let most = self.heap_bytes_max?;
        let is_over = 2 * text.len() > most.saturating_add(most / 2).saturating_add(TEXT_LEAST);
        is_over.then_some(LimitReached::Heap(most as u64))
    }

    /// Does what reads a text of `text_bytes` bytes; while it does, the process may not come to more than the text's share allows.
    pub(crate) fn while_reading<T>(&self, text_bytes: usize, read: impl FnOnce() -> T) -> T {
        self.set_ceiling(2 * text_bytes);
        let done = read();
        self.interrupt.set_ceiling(None);
        done
    }

    /// Says to the host what the process may come to before a `!` that begins now has taken too much; `held` bytes that there
    /// are already count as its own.
    pub(crate) fn set_ceiling(&self, held: usize) {
        let most = self.heap_bytes_max.map(|most| most.saturating_add(most / 2).saturating_sub(held));
        self.interrupt.set_ceiling(most);
    }

    /// What the system may be asked for on behalf of a `!`: half as much again as it may take, less some room for what is not
    /// counted.
    pub(crate) fn held_bytes_max(&self) -> Option<usize> {
        self.heap_bytes_max.map(|most| most.saturating_add(most / 8 * 3))
    }

    /// What may be asked for with the results of a `!`, which are still to be printed.
    pub(crate) fn results_bytes_max(&self) -> Option<usize> {
        self.heap_bytes_max.map(|most| most.saturating_add(most / 8))
    }
}

/// A flag by which another thread ends an evaluation.
///
/// It also says what the process may come to take before the evaluation that is under way has taken too much: for a host
/// that ends the process then, should a single step of it not end in time.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Flag>);

#[derive(Debug, Default)]
struct Flag {
    reason: AtomicU8,
    /// The bytes of the process, from 1; 0 if nothing is evaluated.
    ceiling: AtomicUsize,
}

impl Interrupt {
    /// Ends the evaluation because its time is up.
    pub fn time_is_up(&self) {
        self.0.reason.store(1, Ordering::Relaxed);
    }

    /// Ends the evaluation because someone asked for it.
    pub fn cancel(&self) {
        self.0.reason.store(2, Ordering::Relaxed);
    }

    /// Lets evaluations run again.
    pub fn reset(&self) {
        self.0.reason.store(0, Ordering::Relaxed);
    }

    /// Why the evaluation is to end, if it is.
    pub fn reason(&self) -> Option<LimitReached> {
        match self.0.reason.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(LimitReached::Time),
            _ => Some(LimitReached::Cancelled),
        }
    }

    /// What [`region::memory::of_process`] may come to before the evaluation that is under way has taken too much.
    pub fn ceiling(&self) -> Option<usize> {
        Some(self.0.ceiling.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
    }

    /// Says that `more` further bytes may be taken from now on, until that is said again.
    pub(crate) fn set_ceiling(&self, more: Option<usize>) {
        let ceiling = more.map_or(0, |more| region::memory::of_process().saturating_add(more));
        self.0.ceiling.store(ceiling, Ordering::Relaxed);
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
    /// It took as much memory as it may, in bytes.
    Heap(u64),
    /// The process took as much memory as it may, in bytes.
    Memory(u64),
    /// What it came to is written with more bytes than this.
    Written(u64),
    /// It could not begin: the system does not let the process reserve this many bytes of address space for a heap.
    AddressSpace(u64),
    /// Its time was up.
    Time,
    /// Someone ended it.
    Cancelled,
}

impl fmt::Display for LimitReached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(formatter, "{steps} steps"),
            Self::Depth(frames) => write!(formatter, "a stack of {frames} frames"),
            Self::Heap(bytes) => write!(formatter, "a heap of {bytes} bytes"),
            Self::Memory(bytes) => write!(formatter, "{bytes} bytes of memory for the process"),
            Self::Written(bytes) => write!(formatter, "results that are written with more than {bytes} bytes"),
            Self::AddressSpace(bytes) => write!(formatter, "no {bytes} bytes of address space for a heap"),
            Self::Time => formatter.write_str("the time is up"),
            Self::Cancelled => formatter.write_str("somebody cancelled it"),
        }
    }
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
            Self::Memory(bytes) => {
                Atom::expression([Atom::symbol("MemoryLimit"), Atom::from(Number::from(bytes as usize))])
            }
            Self::Written(bytes) => {
                Atom::expression([Atom::symbol("WrittenLimit"), Atom::from(Number::from(bytes as usize))])
            }
            Self::AddressSpace(bytes) => {
                Atom::expression([Atom::symbol("AddressSpaceLimit"), Atom::from(Number::from(bytes as usize))])
            }
            Self::Depth(_) => Atom::symbol(names::STACK_OVERFLOW),
            Self::Time => Atom::symbol("TimeLimit"),
            Self::Cancelled => Atom::symbol("Cancelled"),
        };
        names::error(writable(atom), message)
    }

    /// Whether it bounds memory.
    pub(crate) fn is_of_memory(self) -> bool {
        matches!(self, Self::Heap(_) | Self::Memory(_))
    }

    /// Whether it is no matter of the program alone where it is reached.
    pub fn is_from_outside(self) -> bool {
        self.is_of_memory() || matches!(self, Self::Time | Self::Cancelled)
    }
}

/// An atom as an error shows it: `...` in the place of all that it holds, if it is too long to be written.
fn writable(atom: &Atom) -> Atom {
    let can_be_written = |atom: &Atom| written_bytes_least(atom, WRITTEN_BYTES_MAX) < WRITTEN_BYTES_MAX;
    if can_be_written(atom) {
        return atom.clone();
    }
    let head = atom.head().filter(|head| can_be_written(head)).cloned();
    Atom::expression(head.into_iter().chain([Atom::symbol("...")]).collect::<Vec<_>>())
}

/// Where a `!` was ended for a reason that is no matter of its program alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halted {
    /// After how many steps it was.
    pub steps: u64,
    /// After how many calls of native functions and changes since the `!` began it was, in the middle of that step. `None` if it was
    /// between two steps.
    pub acts: Option<u64>,
    /// How many results it had.
    pub results: u64,
    /// Why.
    pub reason: LimitReached,
}

/// Counts the steps and the memory of a `!` of the program, those of the sources it imports included, and keeps where it was
/// ended from outside.
///
/// From the step at which that is noticed on, every evaluation inside the form ends at once: so a replay that ends it at the
/// same step comes to the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FormSteps {
    taken: u64,
    /// Calls of native functions, and changes.
    acts: u64,
    /// Those of them that do more than read.
    effects: u64,
    /// Errors about types that do not count, since there were other results.
    hidden_type_errors: u64,
    halted: Option<Halted>,
    /// Whether it was the recorded run that was ended there.
    is_replayed: bool,
    /// What the thread had allocated when it began.
    began: isize,
}

impl FormSteps {
    /// A form that is to be ended where a recorded one was, if it was. `held` bytes that there are already count as its own.
    pub(crate) fn new(halted: Option<Halted>, held: usize) -> Self {
        let began = region::memory::of_thread() - held as isize;
        Self { taken: 0, acts: 0, effects: 0, hidden_type_errors: 0, halted, is_replayed: halted.is_some(), began }
    }

    /// Notices before the first step that the form is to be ended: a program of short forms ends all the same.
    pub(crate) fn begin(&mut self, limits: &Limits) -> Option<LimitReached> {
        match self.halted {
            Some(Halted { steps: 0, acts: None, reason, .. }) => Some(reason),
            Some(_) if self.is_replayed => None,
            _ => {
                let reason = limits.interrupt.reason().or_else(|| limits.memory_reached())?;
                self.halt(reason);
                Some(reason)
            }
        }
    }

    /// Counts steps that were taken since limits were looked at.
    pub(crate) fn add(&mut self, steps: u64) {
        self.taken += steps;
    }

    /// Counts a call of a native function or a change; says why it is not to be.
    pub(crate) fn act(&mut self, effects: Effects) -> Option<LimitReached> {
        self.acts += 1;
        self.effects += u64::from(!effects.only_read());
        let Halted { steps, acts, reason, .. } = self.halted?;
        let is_due = self.taken >= steps && acts.is_some_and(|acts| self.acts > acts);
        is_due.then_some(reason)
    }

    /// How many calls and changes so far have done more than read: what was evaluated since the same count may be evaluated again.
    pub(crate) fn effects(&self) -> u64 {
        self.effects
    }

    /// Counts results that hide errors about types.
    pub(crate) fn hide_type_errors(&mut self) {
        self.hidden_type_errors += 1;
    }

    /// How often results have hidden errors about types: nothing is known of what was evaluated to a type since the same count that it would
    /// come to if it were evaluated to another.
    pub(crate) fn hidden_type_errors(&self) -> u64 {
        self.hidden_type_errors
    }

    /// Leaves bytes that are not the form's out of its count.
    pub(crate) fn leave_out(&mut self, bytes: isize) {
        self.began += bytes;
    }

    /// The bytes that it took.
    pub(crate) fn bytes(&self) -> usize {
        usize::try_from(region::memory::of_thread() - self.began).unwrap_or(0)
    }

    /// The count of the thread at which the form has taken `bytes` bytes.
    pub(crate) fn count_at(&self, bytes: usize) -> isize {
        self.began.saturating_add_unsigned(bytes)
    }

    /// Where the form was ended from outside, if it was.
    pub(crate) fn halted(&self) -> Option<Halted> {
        self.halted
    }

    /// The form ends between two steps.
    fn halt(&mut self, reason: LimitReached) {
        self.halted = Some(Halted { steps: self.taken, acts: None, results: 0, reason });
    }

    /// The form has ended with `results` results, and in the middle of a step if nothing else is noted. Gives how many of them
    /// it has, if it is one that was recorded.
    pub(crate) fn end(&mut self, reason: LimitReached, results: usize) -> Option<usize> {
        if self.is_replayed {
            return self.halted.filter(|halted| halted.reason == reason).map(|halted| halted.results as usize);
        }
        let inside = Halted { steps: self.taken, acts: Some(self.acts), results: 0, reason };
        self.halted.get_or_insert(inside).results = results as u64;
        None
    }

    /// A native function does not do what it was called for, since that would reach a limit: it counts as not called.
    pub(crate) fn refuse_act(&mut self, reason: LimitReached) {
        self.acts -= 1;
        if self.halted.is_none() {
            self.halted = Some(Halted { steps: self.taken, acts: Some(self.acts), results: 0, reason });
        }
    }

    /// Why the form is to end after the steps it has taken.
    fn is_due(&self) -> Option<LimitReached> {
        let Halted { steps, acts, reason, .. } = self.halted?;
        let is_due = if acts.is_none() { self.taken >= steps } else { self.taken > steps };
        is_due.then_some(reason)
    }

    /// Why the form is to end in the middle of the step that it is in: the recorded run was ended there, after as many acts.
    fn is_due_inside(&self) -> Option<LimitReached> {
        let Halted { steps, acts, reason, .. } = self.halted.filter(|_| self.is_replayed)?;
        (self.taken == steps && acts == Some(self.acts)).then_some(reason)
    }

    /// How many steps may be taken until it is due, if it is.
    fn steps_until_due(&self) -> u64 {
        self.halted.map_or(u64::MAX, |Halted { steps, acts, .. }| {
            let due = steps.saturating_add(u64::from(acts.is_some()));
            due.saturating_sub(self.taken).max(1)
        })
    }
}

/// Looks at limits inside a step that may be long: what it does must ask now and then whether that is over.
///
/// Each look counts as a step of the evaluation, so a limit of steps ends it at the same place in every run.
pub(crate) struct LongStep<'l> {
    limits: &'l Limits,
    form: &'l FormSteps,
    looks: Cell<u64>,
    looks_max: u64,
    steps_max: u64,
    reached: Cell<Option<LimitReached>>,
}

impl<'l> LongStep<'l> {
    /// A step of an evaluation that is watched.
    pub(crate) fn of(watch: &Watch, limits: &'l Limits, form: &'l FormSteps) -> Self {
        let looks_max = watch.steps_left().unwrap_or(u64::MAX);
        let steps_max = watch.limits.steps_max.unwrap_or(u64::MAX);
        Self { limits, form, looks: Cell::new(0), looks_max, steps_max, reached: Cell::new(None) }
    }

    /// Why it is to be given up, if it is.
    pub(crate) fn look(&self) -> Option<LimitReached> {
        let looks = self.looks.get();
        let steps = (looks >= self.looks_max).then_some(LimitReached::Steps(self.steps_max));
        self.looks.set(looks.saturating_add(1).min(self.looks_max));
        let outside = || self.form.is_due_inside().or_else(|| self.limits.reached_inside(self.form, 0));
        self.reached.set(self.reached.get().or(steps).or_else(outside));
        self.reached.get()
    }

    /// How often limits were looked at.
    pub(crate) fn looks(&self) -> u64 {
        self.looks.get()
    }

    /// Why it was given up, if it was.
    pub(crate) fn reached(&self) -> Option<LimitReached> {
        self.reached.get()
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
        if !form.taken.is_multiple_of(STEPS_BETWEEN_LOOKS) {
            return form.is_due();
        }
        self.noticed(form).or_else(|| self.took(form.bytes(), form))
    }

    /// The watch over a part of an evaluation that may take at most `steps_max` steps.
    pub(crate) fn of_part(limits: &Limits, steps_max: Option<u64>) -> Self {
        Self { limits: Limits { steps_max, ..limits.clone() }, steps: 0 }
    }

    /// How many steps come before limits must be looked at again, the one before which that is to be included.
    pub(crate) fn steps_until_look(&self, form: &FormSteps) -> u32 {
        let to_look = STEPS_BETWEEN_LOOKS - form.taken % STEPS_BETWEEN_LOOKS;
        let to_limit = self.steps_left().map_or(u64::MAX, |left| left.saturating_add(1));
        to_look.min(to_limit).min(form.steps_until_due()) as u32
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
        if let Some(reason) = form.is_due() {
            return Some(reason);
        }
        let too_many = self.limits.form_steps_max.filter(|most| form.taken > *most).map(LimitReached::Steps);
        let reason = self.limits.interrupt.reason().or(too_many).or_else(|| self.limits.memory_reached())?;
        form.halt(reason);
        Some(reason)
    }

    /// Whether the form is to end here since it took `bytes` bytes.
    pub(crate) fn took(&self, bytes: usize, form: &mut FormSteps) -> Option<LimitReached> {
        let most = self.limits.heap_bytes_max.filter(|most| bytes > *most)?;
        let reason = LimitReached::Heap(most as u64);
        form.halt(reason);
        Some(reason)
    }

    /// How many steps were taken.
    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }
}
