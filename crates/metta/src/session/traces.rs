//! Traces: the calls of chosen functions and what they come to, told while they are evaluated.
//!
//! The reference interpreter evaluates forms that are traced, since it alone has a frame for each call. A trace goes where `trace!` does.

use super::Session;
use crate::evaluate::{Evaluator, TracedCall};
use crate::failure::message::shown;
use rustc_hash::FxHashSet;
use space::Atom;

/// The most lines of a trace: nobody reads more, and a loop would never end.
const LINES_MAX: usize = 10_000;

/// The deepest level that is shown as such.
const LEVEL_MAX: usize = 40;

/// How an evaluation goes on from a call that was told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the next call or result.
    In,
    /// To the next one that is no deeper.
    Over,
    /// To its end, with nothing told any more.
    On,
    /// It is cancelled.
    End,
}

/// Asked how to go on, after each line of a trace.
pub type Ask = Box<dyn FnMut() -> Step>;

/// What is traced.
pub(super) struct Traced {
    /// The names of the functions.
    names: FxHashSet<String>,
    lines: usize,
    /// What evaluated before.
    evaluator: Evaluator,
    /// Whom to ask after a line, if somebody steps through the evaluation.
    ask: Option<Ask>,
    /// The deepest level of which is told, meanwhile.
    told_to: usize,
}

impl Session {
    /// Traces the calls of these functions from now on, of all that the texts so far have rules for if none is named; or none any more.
    pub(crate) fn trace_functions(&mut self, names: Option<Vec<String>>, ask: Option<Ask>) {
        if let Some(before) = self.traced.take() {
            self.evaluators.chosen = before.evaluator;
        }
        if let Some(names) = names {
            let evaluator = std::mem::replace(&mut self.evaluators.chosen, Evaluator::Interpreter);
            let names = if names.is_empty() { self.texts.rule_names() } else { names.into_iter().collect() };
            self.traced = Some(Traced { names, lines: 0, evaluator, ask, told_to: usize::MAX });
        }
    }

    /// Whether the calls of the function of this one are traced.
    pub(crate) fn traces(&self, call: &Atom) -> bool {
        let Some(traced) = &self.traced else { return false };
        let name = call.head().unwrap_or(call).as_symbol();
        !self.is_rehearsing && name.is_some_and(|name| traced.names.contains(name))
    }

    /// Tells of a call at a level of the tree.
    pub(crate) fn trace_call(&mut self, level: usize, call: &TracedCall) {
        let rule = self.texts.rule_of(call, &mut self.program).map(|rule| rule.place());
        let place = rule
            .map_or_else(|| "the library".to_owned(), |place| format!("{}:{}", place.origin, place.position().line));
        self.trace_line(level, &format!("{}  ; {place}", shown(&call.call)));
    }

    /// Tells of a result of the call at a level.
    pub(crate) fn trace_result(&mut self, level: usize, result: &Atom) {
        self.trace_line(level, &format!("= {}", shown(result)));
    }

    fn trace_line(&mut self, level: usize, line: &str) {
        let Some(traced) = self.traced.as_mut().filter(|traced| level <= traced.told_to) else { return };
        traced.lines += 1;
        let indent = "| ".repeat(level.min(LEVEL_MAX));
        match traced.lines.cmp(&LINES_MAX) {
            std::cmp::Ordering::Less => self.world.trace(&format!("{indent}{line}")),
            std::cmp::Ordering::Equal => self.world.trace("the trace has 10000 lines: the others are not shown"),
            std::cmp::Ordering::Greater => {}
        }
        let Some(ask) = &mut traced.ask else { return };
        traced.told_to = match ask() {
            Step::In => usize::MAX,
            Step::Over => level,
            Step::On => {
                traced.ask = None;
                // The deepest level of all has no line of its own.
                traced.names.clear();
                0
            }
            Step::End => {
                traced.ask = None;
                traced.names.clear();
                self.limits.interrupt.cancel();
                0
            }
        };
    }
}
