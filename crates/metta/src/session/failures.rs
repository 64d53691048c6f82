//! Why a form has failed: where its error was made, and under which calls.
//!
//! 1. If the form has changed nothing, it is evaluated again by the reference interpreter, which keeps the calls that each error is made
//!    under. What it prints goes nowhere, what it makes is undone, and it ends at the first operation that would change something or
//!    ask the world. So it comes to the same as before, as far as it gets.
//! 2. The rules of these calls are found in the texts that ran, and the expression that the error is about in the innermost.
//! 3. If the error was not seen again, it was made where such an expression is written, if there is only one such place.
//!
//! All of this happens after a form has failed, and takes at most [`STEPS_MAX`] steps.

use super::Session;
use crate::evaluate::{CallChain, Traced};
use crate::failure::message::{message_of, shown};
use crate::failure::texts::Located;
use crate::failure::{Certainty, FailedCall, Failure, Place};
use crate::limits::FormSteps;
use crate::memory_world::MemoryWorld;
use crate::names;
use crate::program::modules::ModuleId;
use crate::syntax::{Form, SyntaxTree};
use space::{Atom, VariableSource, canonical};

/// The most steps that evaluating a form again may take.
const STEPS_MAX: u64 = 200_000;

/// A form that has failed.
pub(super) struct FailedForm<'a> {
    pub(super) module: ModuleId,
    pub(super) origin: &'a str,
    pub(super) tree: &'a SyntaxTree,
    pub(super) form: &'a Form,
    /// Counts the forms that have answers.
    pub(super) number: usize,
    pub(super) atom: &'a Atom,
    pub(super) results: &'a [Atom],
    /// Whether it has left everything as it was.
    pub(super) changed_nothing: bool,
    /// How many forms come after it and are not run.
    pub(super) later: usize,
}

/// Where an error was made.
struct Found {
    place: Option<Place>,
    certainty: Certainty,
    calls: Vec<FailedCall>,
    left_out: Option<(usize, usize)>,
}

/// What `bind!` is told of a word that it cannot bind, since the word means something already.
fn bound_before(error: &Atom, place: &Place) -> Option<String> {
    let [bind, value, ..] = error.children()?.get(1)?.children()? else { return None };
    let word = place.slice().strip_prefix("(bind!")?.split_whitespace().next()?;
    let is_other = names::brief(bind) == "bind!" && !matches!(value, Atom::Symbol(_)) && names::brief(value) != word;
    is_other.then(|| format!("`{word}` is bound already, and reads as {}", shown(value)))
}

impl Session {
    /// Explains the first error of a form.
    pub(super) fn explain_failure(&mut self, failed: &FailedForm<'_>) -> Option<Failure> {
        let error = failed.results.iter().find(|result| names::is_error(result))?;
        // Numbers of variables are part of what is recorded: this takes none.
        let last = self.program.variables().last();
        let (found, cycle) = match names::cycle_of(error) {
            Some(calls) => self.find_cycle(calls),
            None => (self.find_error(failed, error), None),
        };
        let space = self.program.module(failed.module).space.clone();
        let said = message_of(error, &space, self.program.variables());
        let mut source = VariableSource::default();
        source.advance_to(last);
        *self.program.variables() = source;
        let form = Place::of_form(failed.origin, failed.tree, failed.form);
        let place = found.place.unwrap_or_else(|| form.clone());
        let mut help = said.help;
        help.splice(0..0, cycle);
        help.splice(0..0, bound_before(error, &place));
        Some(Failure {
            number: failed.number,
            error: error.clone(),
            code: said.code,
            message: said.message,
            label: error.children().and_then(|parts| parts.get(1)).map(shown).unwrap_or_default(),
            help,
            place,
            form,
            certainty: found.certainty,
            calls: found.calls,
            calls_left_out: found.left_out,
            others: failed.results.iter().filter(|result| names::is_error(result)).count() - 1,
            not_run: failed.later,
        })
    }

    /// Where the last call of a cycle makes the first, and a text that says so of all.
    fn find_cycle(&mut self, calls: &[Atom]) -> (Found, Option<String>) {
        let mut place = None;
        let mut lines = vec!["each of these calls makes the next, and the last makes the first:".to_owned()];
        for (number, call) in calls.iter().enumerate() {
            if call.children().is_none() {
                lines.push("and others".to_owned());
                continue;
            }
            let next = &calls[(number + 1) % calls.len()];
            let written = self.texts.place_of_call_by(call, next, &mut self.program);
            let at = written.as_ref().map(|place| format!(", {}:{}", place.origin, place.position().line));
            lines.push(format!("`{}`{}", shown(call), at.unwrap_or_default()));
            // The last makes the call that the error is about.
            place = written.or(place);
        }
        let certainty = if place.is_some() { Certainty::Seen } else { Certainty::Unknown };
        (Found { place, certainty, calls: Vec::new(), left_out: None }, Some(lines.join("\n")))
    }

    fn find_error(&mut self, failed: &FailedForm<'_>, error: &Atom) -> Found {
        let form = self.texts.form(&failed.tree.shared_text(), failed.form);
        if failed.changed_nothing && failed.form.bang {
            let traced = self.rehearse(failed);
            if let Some(chain) = traced.errors.get(&canonical::key(error)) {
                return self.found_under(chain, form, error);
            }
        }
        self.found_written(form, error)
    }

    /// Evaluates a form again that has changed nothing, so that nobody can tell.
    fn rehearse(&mut self, failed: &FailedForm<'_>) -> Traced {
        let world = std::mem::replace(&mut self.world, Box::new(MemoryWorld::default()));
        let form_steps = std::mem::replace(&mut self.form_steps, FormSteps::new(None, 0));
        let (depth, tables) = (self.open_transaction(), self.tables.depth());
        let floor = self.tables.set_floor(tables);
        self.is_rehearsing = true;
        let space = self.program.module(failed.module).space.clone();
        let interpreter = std::rc::Rc::clone(&self.evaluators.interpreter);
        let traced = interpreter.trace(self, &space, failed.atom, STEPS_MAX);
        self.is_rehearsing = false;
        self.tables.abandon(tables);
        self.tables.set_floor(floor);
        self.close_transaction(depth, false);
        self.form_steps = form_steps;
        self.world = world;
        traced
    }

    /// The place of an error that was seen to be made under these calls.
    fn found_under(&mut self, chain: &CallChain, form: Option<Located>, error: &Atom) -> Found {
        let mut rules: Vec<Option<Located>> = Vec::new();
        let mut calls = Vec::new();
        for called in &chain.calls {
            let rule = self.texts.rule_of(called, &mut self.program);
            let name = shown(called.call.head().unwrap_or(&called.call));
            calls.push(FailedCall { name, call: shown(&called.call), rule: rule.as_ref().map(Located::place) });
            rules.push(rule);
        }
        rules.push(form);
        let exact = rules.iter().enumerate().find_map(|(index, rule)| {
            let rule = rule.as_ref()?;
            let part = rule.part_equal_to(error, &self.program);
            let subject = || rule.part_equal_to(error.children()?.get(1)?, &self.program);
            Some((index, part.or_else(subject)?))
        });
        let (index, place) = exact
            .or_else(|| {
                let innermost = rules.iter().position(Option::is_some)?;
                let rule = rules[innermost].as_ref()?;
                let subject = error.children().and_then(|parts| parts.get(1));
                let like = rule.part_like(error, &self.program);
                let like = like.or_else(|| rule.part_like(subject?, &self.program));
                Some((innermost, like.unwrap_or_else(|| rule.body_place())))
            })
            .unzip();
        // What is further in belongs to the library.
        let inner = index.unwrap_or(0).min(calls.len());
        let left_out = chain.left_out.map(|(after, count)| (after.saturating_sub(inner), count));
        Found { place, certainty: Certainty::Seen, calls: calls.split_off(inner), left_out }
    }

    /// The place of an error that was not seen again, if only one place can be.
    fn found_written(&mut self, form: Option<Located>, error: &Atom) -> Found {
        let unknown = Found { place: None, certainty: Certainty::Unknown, calls: Vec::new(), left_out: None };
        let subject = error.children().and_then(|parts| parts.get(1));
        // The error of an assertion is made by it, and only a pattern can be like the whole error.
        let is_assertion = subject.and_then(Atom::head).is_some_and(|head| names::brief(head).starts_with("assert"));
        for wanted in [Some(error).filter(|_| !is_assertion), subject].into_iter().flatten() {
            let in_form = form.as_ref().and_then(|form| form.part_equal_to(wanted, &self.program));
            let mut rules = self.texts.rules_with(wanted, &self.program);
            match (in_form, rules.len()) {
                (Some(place), 0) => return Found { place: Some(place), certainty: Certainty::OnlyPlace, ..unknown },
                (None, 1) => {
                    let (name, rule, written) = rules.remove(0);
                    let call = FailedCall { call: name.clone(), name, rule: Some(rule.place()) };
                    return Found {
                        place: Some(written),
                        certainty: Certainty::OnlyPlace,
                        calls: vec![call],
                        left_out: None,
                    };
                }
                (None, 0) => {}
                _ => return unknown,
            }
        }
        unknown
    }
}
