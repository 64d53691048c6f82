//! The named live queries of a run: who follows them, what a program is told of them, and what is called for their changes.
//!
//! 1. Which queries there are is a setting. After each commit that has changed a setting, the keeper of the run is told which there are now.
//! 2. A program is told of commits only: what a form has changed is no news for itself. If the keeper does not have all that the program has not
//!    been told yet, because the run goes on in a knowledge base, or too much had waited, the rest is found in the history of the base.
//! 3. At the end of a form or source of the program, after its commit, functions are called with what commits changed: each call is evaluated as
//!    if it stood there as a form after `!`, and is a commit of its own. What their commits change is the next round.

use super::Session;
use super::sources::{FormEvent, FormOutcome, OnForm, RunEnd, end_of, with_limit_error};
use crate::commit::{Cause, CauseKind};
use crate::limits::LimitReached;
use crate::live::keeper::{LiveCall, LiveKeeper};
use crate::live::named::{TOLD, call_of, endless, told_setting};
use crate::live::{LiveDefinition, LiveNews, LiveNewsKind, NamedQuery};
use crate::names;
use crate::program::modules::ModuleId;
use crate::record::{NO_HISTORY, RunRecordError};
use crate::syntax::Span;
use crate::world::World;
use space::Atom;

/// After how many rounds of calls that cause calls these are taken to have no end.
const ROUNDS_MAX: usize = 1_000;

/// What follows the named live queries of a run.
#[derive(Default)]
pub(super) struct Live {
    keeper: Option<Box<dyn LiveKeeper>>,
    /// The settings that it was told of last.
    settings: u64,
    /// Whether it is to be told again, although settings stay the same.
    asks_again: bool,
}

/// The number of the form whose commit is followed by calls, and where it stands.
type CalledAfter = (usize, Span);

impl Session {
    /// Says what follows the live queries that the program names, from now on, and lets those be followed that there are. Nothing has changed
    /// since the last commit.
    pub fn set_live_keeper(&mut self, keeper: Box<dyn LiveKeeper>) {
        self.live = Live { keeper: Some(keeper), settings: 0, asks_again: false };
        self.follow_live_queries();
    }

    /// Lets the queries be followed that are named after a commit.
    pub(super) fn follow_live_queries(&mut self) {
        let version = self.program.settings_version();
        let Live { keeper: Some(keeper), settings, asks_again } = &mut self.live else { return };
        if *settings == version && !*asks_again {
            return;
        }
        *settings = version;
        let named = NamedQuery::all(&self.program);
        let (sink, again) = keeper.follow(&self.program, &named, self.transactions.commit_number());
        *asks_again = again;
        if let Some(sink) = sink {
            self.transactions.add_sink(&mut self.program, sink);
        }
    }

    /// Sees to it that a query can be kept up to date, which is given as a setting has it.
    pub(super) fn check_live(&self, entry: &Atom) -> Result<(), String> {
        match NamedQuery::of_atom(entry) {
            Some(query) => query.definition.check(&self.program).map_err(|error| error.to_string()),
            None => Err(format!("{entry} is no live query")),
        }
    }

    /// What has changed in the answers of a query since the program asked last, or after a commit; the answers if it has not asked.
    pub(super) fn live_news(&mut self, name: &str, from: Option<u64>) -> Result<Vec<LiveNews>, String> {
        let named = NamedQuery::all(&self.program);
        let Some(query) = named.iter().find(|query| query.name == name) else {
            return Err(NamedQuery::unknown(name, &named));
        };
        let last = self.transactions.commit_number();
        if let Some(from) = from.filter(|&from| from > last) {
            return Err(format!("there is no commit {from} yet: the last is {last}"));
        }
        let Some(keeper) = &mut self.live.keeper else {
            return Err(
                "nothing follows the live queries of this run; run the program by the engine of Metroon".to_owned()
            );
        };
        let Some(kept) = keeper.kept(name) else {
            // It is registered in the form at hand: no commit has changed anything for it.
            return Ok(Vec::new());
        };
        let Some(after) = from.or_else(|| NamedQuery::told(&self.program, name)) else {
            let answers = match keeper.answers(name, &self.program.log().look()) {
                Ok(answers) => answers.into_iter().map(LiveNewsKind::Change).collect(),
                Err(reason) => vec![LiveNewsKind::Stopped(reason)],
            };
            return Ok(answers.into_iter().map(|kind| LiveNews { epoch: last, kind }).collect());
        };
        let kept_after = kept.after.unwrap_or(last);
        let mut news = Vec::new();
        if after < kept_after {
            news = self.earlier_news(&query.definition, (after, kept_after), from.is_some())?;
        }
        news.extend(kept.news.into_iter().filter(|news| news.epoch > after));
        Ok(news)
    }

    /// What has changed in the answers of a query after a commit, up to another one, by the history of the run. Where that is not known, the
    /// program hears so.
    fn earlier_news(
        &mut self,
        definition: &LiveDefinition,
        (after, last): (u64, u64),
        is_asked_for: bool,
    ) -> Result<Vec<LiveNews>, String> {
        match self.transactions.live_changes(&mut self.program, definition, (after, last)) {
            Some(found) => found.map_err(|error| error.to_string()),
            None if is_asked_for => Err(NO_HISTORY.to_owned()),
            None => Ok(vec![LiveNews { epoch: last, kind: LiveNewsKind::Dropped { from: after + 1 } }]),
        }
    }

    /// Notes that the program was told of a query up to the last commit, unless that is known and there was nothing to tell.
    pub(super) fn note_told(&mut self, name: &str, has_news: bool) {
        let is_followed = self.live.keeper.as_ref().is_some_and(|keeper| keeper.kept(name).is_some());
        if is_followed && (has_news || NamedQuery::told(&self.program, name).is_none()) {
            let told = told_setting(self.program.setting(TOLD), name, Some(self.transactions.commit_number()));
            self.set_setting(TOLD.to_owned(), told);
        }
    }

    /// Calls functions with what the commits so far have changed; gives how the run ends, if one of them ends it. If one has failed and the
    /// run goes on, it says so in `has_failed`.
    ///
    /// # Errors
    /// A commit cannot be kept.
    pub(crate) fn call_for_changes(
        &mut self,
        after: CalledAfter,
        on_form: &mut OnForm<'_>,
        has_failed: &mut bool,
    ) -> Result<Option<RunEnd>, RunRecordError> {
        for round in 0.. {
            let calls = self.take_live_calls();
            let Some(first) = calls.first() else { break };
            if round == ROUNDS_MAX {
                let call = first_call(first);
                let results = [endless(&call, &first.name, ROUNDS_MAX)];
                return Ok(Some(self.hand_out_call(after, (&call, &results, None), on_form).unwrap_or(RunEnd::Error)));
            }
            for call in calls.iter().flat_map(calls_of) {
                match self.call_for_change(after, &call, on_form)? {
                    None => {}
                    Some(RunEnd::Error) if self.goes_on() => *has_failed = true,
                    Some(end) => {
                        drop(self.take_live_calls());
                        return Ok(Some(end));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Calls functions with what the commits so far have changed where no form is run that an error could be told of; gives the first call that
    /// has failed, and what it came to.
    ///
    /// # Errors
    /// A commit cannot be kept.
    pub(crate) fn call_apart(&mut self) -> Result<Option<(String, String)>, RunRecordError> {
        let mut failed = None;
        let mut on_form = |_: &mut dyn World, event: FormEvent<'_>| {
            if let FormEvent::Outcome(FormOutcome { atom, results, .. }) = event {
                let results: Vec<String> = results.iter().map(names::brief).collect();
                failed.get_or_insert_with(|| (names::brief(atom), results.join(", ")));
            }
            Ok(())
        };
        let ended = self.call_for_changes((0, Span { start: 0, end: 0 }), &mut on_form, &mut false)?;
        match ended {
            Some(RunEnd::RunRecord(error)) => Err(error.to_string().into()),
            _ => Ok(failed),
        }
    }

    fn take_live_calls(&mut self) -> Vec<LiveCall> {
        if !self.is_outermost() || self.transactions.depth() > 0 {
            return Vec::new();
        }
        self.live.keeper.as_mut().map(|keeper| keeper.take_calls()).unwrap_or_default()
    }

    /// Evaluates a call as a form of its own.
    fn call_for_change(
        &mut self,
        after: CalledAfter,
        call: &Atom,
        on_form: &mut OnForm<'_>,
    ) -> Result<Option<RunEnd>, RunRecordError> {
        let current = self.transactions.current_cause();
        self.set_cause(Some(Cause { kind: CauseKind::Evaluation, ..current }));
        let found = self.evaluate_form(ModuleId::TOP, call, 0);
        self.close_transaction(1, false);
        self.end_form(&found)?;
        if let Some(end) = found.stop.as_ref().and_then(end_of) {
            return Ok(Some(end));
        }
        let limit = found.limit;
        self.limits.interrupt.set_ceiling(None);
        let results = with_limit_error(call, found);
        let ends = match limit {
            Some(limit) => RunEnd::Limit(limit),
            None if results.iter().any(names::is_error) => RunEnd::Error,
            None => return Ok(None),
        };
        Ok(Some(self.hand_out_call(after, (call, &results, limit), on_form).unwrap_or(ends)))
    }

    /// Hands out what a call came to that has failed; gives how the run ends if nobody takes it.
    fn hand_out_call(
        &mut self,
        (number, span): CalledAfter,
        (atom, results, limit): (&Atom, &[Atom], Option<LimitReached>),
        on_form: &mut OnForm<'_>,
    ) -> Option<RunEnd> {
        self.hand_out(&FormOutcome { number, span, atom, results, limit }, on_form)
    }
}

/// The calls of the functions for a change, each copy by itself.
fn calls_of(call: &LiveCall) -> impl Iterator<Item = Atom> {
    call.news.atoms().flat_map(|change| call.functions.iter().map(move |function| call_of(function, change.clone())))
}

/// The first call for a change.
fn first_call(call: &LiveCall) -> Atom {
    calls_of(call).next().unwrap_or_else(Atom::unit)
}
