//! What the machine remembers by itself: results of pure functions, while a form is evaluated.
//!
//! 1. A call is found by its *key*: words for its function and for each argument, all of which are leaves. Equal keys are equal calls.
//! 2. What it came to is kept as atoms, since the memory of the machine is given back at every alternative.
//! 3. A function whose calls are rarely found is given up after [`TRIALS`] of them.
//!
//! All of it is forgotten when the form ends, or when rules or types change: so how many steps a form takes depends on the form and on the
//! rules, not on what was evaluated before. Nothing here depends on time or on the memory that is left.

use super::Policy;
use super::answer::{Answer, Answers};
use super::policy::{MISSES_FOR_A_HIT, PARTS_MAX, TRIALS};
use super::store::{Entry, Found, Key, Stamp, Store};
use rustc_hash::{FxHashMap, FxHashSet};
use std::mem;

/// What is remembered, and how long.
const POLICY: Policy = Policy::Automatic;

/// Counts for `--stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AutomaticCounts {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    /// The most entries at one time.
    pub(crate) entries_max: u64,
}

/// How often the calls of a function were found.
#[derive(Clone, Copy, Default)]
struct Trial {
    hits: u32,
    misses: u32,
    is_given_up: bool,
}

/// A call that is being evaluated and whose results are to be kept.
pub(crate) struct OpenCall {
    key: Key,
    /// Of which rules.
    stamp: Stamp,
}

/// What calls have come to.
#[derive(Default)]
pub(crate) struct AutomaticTables {
    complete: Store,
    trials: FxHashMap<u64, Trial>,
    /// The function of the call at hand.
    function: u64,
    /// The key of the call at hand.
    key: Vec<u8>,
    /// The version of the rules that the entries are of.
    stamp: Stamp,
    /// The functions that were ever looked for.
    functions: FxHashSet<u64>,
    counts: AutomaticCounts,
}

impl AutomaticTables {
    /// Begins the key of a call of a function, as rules stand at a version. `false` if the function was given up.
    pub(crate) fn begin_key(&mut self, function: u64, version: u32) -> bool {
        let stamp = Stamp { changes: u64::from(version), resets: 0 };
        if self.stamp != stamp {
            self.forget();
            self.stamp = stamp;
        }
        self.function = function;
        self.key.clear();
        self.add_to_key(function);
        !self.trials.get(&function).is_some_and(|trial| trial.is_given_up)
    }

    /// Adds a word to the key of the call at hand.
    #[inline]
    pub(crate) fn add_to_key(&mut self, word: u64) {
        self.key.extend_from_slice(&word.to_ne_bytes());
    }

    /// What the call at hand has come to, if that is known.
    pub(crate) fn find(&mut self) -> Option<Answers> {
        let found = match self.complete.find(&self.key, self.stamp, POLICY) {
            Found::Known(answers) => Some(answers),
            Found::Outdated(_) | Found::Nothing => None,
        };
        let trial = self.trials.entry(self.function).or_default();
        if found.is_some() {
            self.counts.hits += 1;
            trial.hits = trial.hits.saturating_add(1);
        } else {
            self.counts.misses += 1;
            trial.misses = trial.misses.saturating_add(1);
            trial.is_given_up = trial.misses >= TRIALS && trial.hits < trial.misses / MISSES_FOR_A_HIT;
            self.functions.insert(self.function & u64::from(u32::MAX));
        }
        found
    }

    /// The call at hand is being evaluated.
    pub(crate) fn open(&self) -> OpenCall {
        OpenCall { key: Key::from(self.key.as_slice()), stamp: self.stamp }
    }

    /// A call has come to all of these answers, which are kept if they have few parts and rules have not changed.
    pub(crate) fn complete(&mut self, call: OpenCall, answers: Vec<Answer>) {
        let parts: usize = answers.iter().map(Answer::parts).sum();
        if call.stamp != self.stamp || parts > PARTS_MAX {
            return;
        }
        let bytes = POLICY.bytes_each() + call.key.len() + parts * size_of::<space::Atom>();
        let entry = Entry { answers: Answers::Found(answers.into()), stamp: call.stamp, bytes };
        self.complete.insert(call.key, entry, POLICY);
        self.counts.entries_max = self.counts.entries_max.max(self.complete.len() as u64);
    }

    /// Forgets all calls, and what was given up.
    pub(crate) fn forget(&mut self) {
        self.complete.clear();
        self.trials = FxHashMap::default();
    }

    /// What was counted since this was asked last, and how many functions were ever looked for.
    pub(crate) fn take_counts(&mut self) -> (AutomaticCounts, u64) {
        (mem::take(&mut self.counts), self.functions.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use space::Atom;

    fn ask(tables: &mut AutomaticTables, function: u64, argument: u64) -> Option<usize> {
        assert!(tables.begin_key(function, 1));
        tables.add_to_key(argument);
        tables.find().map(|found| found.given(&[], &mut space::VariableSource::default()).len())
    }

    fn results(count: usize) -> Vec<Answer> {
        vec![Answer::new(Atom::symbol("a"), [].into()); count]
    }

    fn remember(tables: &mut AutomaticTables, function: u64, argument: u64, count: usize) {
        assert_eq!(ask(tables, function, argument), None);
        let call = tables.open();
        tables.complete(call, results(count));
    }

    #[test]
    fn calls_are_told_apart_and_forgotten_with_their_rules() {
        let mut tables = AutomaticTables::default();
        remember(&mut tables, 7, 1, 2);
        remember(&mut tables, 7, 2, 0);
        remember(&mut tables, 8, 1, 1);
        let asked = [(7, 1), (7, 2), (8, 1), (8, 2)].map(|(function, argument)| ask(&mut tables, function, argument));
        assert_eq!(asked, [Some(2), Some(0), Some(1), None]);
        let counts = AutomaticCounts { hits: 3, misses: 4, entries_max: 3 };
        assert_eq!(tables.take_counts(), (counts, 2));
        assert!(tables.begin_key(7, 2));
        tables.add_to_key(1);
        assert!(tables.find().is_none(), "rules have changed");
    }

    #[test]
    fn what_was_begun_under_other_rules_is_not_kept() {
        let mut tables = AutomaticTables::default();
        assert_eq!(ask(&mut tables, 7, 1), None);
        let call = tables.open();
        assert!(tables.begin_key(7, 2));
        tables.complete(call, results(1));
        tables.begin_key(7, 2);
        tables.add_to_key(1);
        assert!(tables.find().is_none());
    }

    #[test]
    fn entries_are_bounded_and_the_last_ones_stay() {
        let mut tables = AutomaticTables::default();
        let each = POLICY.bytes_each() + 16 + size_of::<Atom>();
        let bytes_max = POLICY.bytes_max().expect("they are bounded");
        let most = bytes_max / each;
        // One call is asked for again and again: it stays, and the function is worth it.
        remember(&mut tables, 7, 0, 1);
        for argument in 1..2 * most as u64 {
            remember(&mut tables, 7, argument, 1);
            assert_eq!(ask(&mut tables, 7, 0), Some(1));
            assert!(tables.complete.bytes() <= bytes_max);
        }
        assert_eq!(ask(&mut tables, 7, 1), None, "it was not asked for long");
        assert!(tables.take_counts().0.entries_max <= most as u64);
    }

    #[test]
    fn a_function_whose_calls_are_never_found_is_given_up_until_the_form_ends() {
        let mut tables = AutomaticTables::default();
        for argument in 0..u64::from(TRIALS) {
            remember(&mut tables, 7, argument, 1);
        }
        assert!(!tables.begin_key(7, 1));
        assert!(tables.begin_key(8, 1));
        tables.forget();
        assert!(tables.begin_key(7, 1));
    }
}
