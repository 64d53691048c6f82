//! What an evaluation notes of its calls while that is wanted: the chain of calls that each error was made under, or a trace for a person.
//!
//! 1. What a rule makes of a call is evaluated above a frame that names the call (`Waiting::Called`). If neither is wanted there are no
//!    such frames, and tail calls take no stack.
//! 2. When an error reaches a frame for the first time, the chain of the calls below it is kept.
//! 3. A trace has a line when such a frame is entered, and one for each result that reaches it.
//!
//! A chain costs a walk over the stack for each error that differs from those before; at most `ERRORS_MAX` are kept.

use super::Evaluation;
use super::frame::{Call, Frame, FrameRef, Waiting};
use crate::evaluate::{CallChain, TracedCall};
use crate::names;
use crate::operation::Operation;
use space::{Atom, canonical};
use std::rc::Rc;

/// The most errors whose chains are kept: a program may make one for each alternative.
const ERRORS_MAX: usize = 1 << 10;

/// The calls of a chain that are kept at its inner and at its outer end.
const CALLS_KEPT: usize = 16;

impl Evaluation<'_> {
    /// The frame that names a call above which this is to be evaluated; none unless that is wanted and it was a rule that made it.
    pub(super) fn called(&self, call: &Call, body: &Atom) -> Option<Waiting> {
        let is_wanted = match &self.trace {
            // What the library does inside says nothing to those who call it.
            Some(trace) => call.atom.head().and_then(Atom::as_symbol).is_none_or(|name| !trace.library.contains(name)),
            None => self.session.traces(&call.atom),
        };
        let is_native = || call.atom.head().and_then(Operation::of).is_some();
        if !is_wanted || body.is_symbol(names::NOT_REDUCIBLE) || is_native() {
            return None;
        }
        Some(Waiting::Called(Rc::new(TracedCall { call: call.atom.clone(), body: body.clone() })))
    }

    /// Tells of a call whose evaluation begins, if a trace is wanted.
    pub(super) fn trace_call(&mut self, called: &TracedCall) {
        if self.session.traces(&called.call) {
            let level = calls_below(&self.frame).count();
            let Some(call) = self.resolve(&called.call) else { return };
            let call = TracedCall { call, body: called.body.clone() };
            self.session.trace_call(level, &call);
        }
    }

    /// Tells of a result of a call, if a trace is wanted.
    pub(super) fn trace_result(&mut self, called: &TracedCall, result: &Atom) {
        if self.session.traces(&called.call) {
            let level = calls_below(&self.frame).count();
            let Some(result) = self.resolve(result) else { return };
            self.session.trace_result(level, &result);
        }
    }

    /// Keeps the chain of an error that was not seen before.
    pub(super) fn note_error(&mut self, error: &Atom) {
        let Some(error) = self.resolve(error) else { return };
        let bytes = canonical::key(&error);
        let Some(trace) = &mut self.trace else { return };
        if trace.errors.len() < ERRORS_MAX {
            trace.errors.entry(bytes).or_insert_with(|| chain_below(&self.frame));
        }
    }
}

/// The calls that are being evaluated in a stack.
fn chain_below(top: &FrameRef) -> CallChain {
    let mut calls: Vec<Rc<TracedCall>> = calls_below(top).cloned().collect();
    let left_out = calls.len().saturating_sub(2 * CALLS_KEPT);
    if left_out == 0 {
        return CallChain { calls, left_out: None };
    }
    calls.drain(CALLS_KEPT..CALLS_KEPT + left_out);
    CallChain { calls, left_out: Some((CALLS_KEPT, left_out)) }
}

fn calls_below(top: &FrameRef) -> impl Iterator<Item = &Rc<TracedCall>> {
    let frames = std::iter::successors(top.as_deref(), |frame: &&Frame| frame.parent.as_deref());
    frames.filter_map(|frame| match &frame.waiting {
        Waiting::Called(called) => Some(called),
        _ => None,
    })
}
