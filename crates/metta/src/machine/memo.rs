//! The memo: what calls of pure functions have come to, while a form is evaluated.
//!
//! 1. A call is found by its *key*: words for its function and for each argument, all of which are leaves. Equal keys are equal calls.
//! 2. What it came to is kept as atoms, since the memory of the machine is given back at every alternative.
//! 3. Entries lie in two generations. A new one, and one that is found in the old generation, goes to the young one. When that takes
//!    half of [`BYTES_MAX`], the old one is forgotten and the young one becomes the old one: what was not asked for long goes first.
//! 4. A function whose calls are rarely found is given up after [`TRIALS`] of them: a call that is looked for in vain costs as much as several
//!    that are not.
//!
//! All of it is forgotten when the form ends, or when rules or types change: so how many steps a form takes depends on the form and on the
//! rules, not on what was evaluated before. Nothing here depends on time or on the memory that is left.

use rustc_hash::{FxHashMap, FxHashSet};
use space::{Atom, distinct_parts};
use std::mem;
use std::rc::Rc;

/// The bytes that entries take at most, about.
const BYTES_MAX: usize = 32 << 20;
/// What an entry takes beside the words of its key and its results.
const ENTRY_BYTES: usize = 64;
/// The most results of a call that are kept, and the most leaves and expressions that they may have together.
pub(super) const RESULTS_MAX: usize = 64;
pub(super) const PARTS_MAX: usize = 256;
/// How many calls of a function are looked for in vain before it is decided whether that is worth it.
const TRIALS: u32 = 1 << 10;
/// Looking calls up is worth it if one call was found for this many that were not.
const MISSES_FOR_A_HIT: u32 = 4;

/// The words of a call.
type Key = Box<[u64]>;

/// What a call came to, in order.
pub(super) type Remembered = Rc<[Atom]>;

/// Counts for `--stats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MemoCounts {
    pub(super) hits: u64,
    pub(super) misses: u64,
    /// The most entries at one time.
    pub(super) entries_max: u64,
}

/// How often the calls of a function were found.
#[derive(Clone, Copy, Default)]
struct Trial {
    hits: u32,
    misses: u32,
    is_given_up: bool,
}

#[derive(Default)]
struct Generation {
    entries: FxHashMap<Key, Remembered>,
    bytes: usize,
}

/// A call that is being evaluated and whose results are to be kept.
struct OpenCall {
    key: Key,
    /// Of which rules.
    version: u32,
    /// The words that it takes of the stack beside those of the call itself.
    words: usize,
}

/// What calls have come to.
#[derive(Default)]
pub(super) struct Memo {
    young: Generation,
    old: Generation,
    trials: FxHashMap<u64, Trial>,
    open: Vec<OpenCall>,
    /// The key of the call at hand.
    pub(super) key: Vec<u64>,
    /// The version of the rules that the entries are of.
    version: u32,
    /// The functions that were ever looked for.
    functions: FxHashSet<u64>,
    counts: MemoCounts,
}

impl Memo {
    /// Begins the key of a call of a function, as rules stand at a version. `false` if the function was given up.
    pub(super) fn begin_key(&mut self, function: u64, version: u32) -> bool {
        if self.version != version {
            self.forget();
            self.version = version;
        }
        self.key.clear();
        self.key.push(function);
        !self.trials.get(&function).is_some_and(|trial| trial.is_given_up)
    }

    /// What the call of the key has come to, if that is known.
    pub(super) fn find(&mut self) -> Option<Remembered> {
        let found = match self.young.entries.get(self.key.as_slice()) {
            Some(found) => Some(Rc::clone(found)),
            None => self.take_from_old(),
        };
        let trial = self.trials.entry(self.key[0]).or_default();
        if found.is_some() {
            self.counts.hits += 1;
            trial.hits = trial.hits.saturating_add(1);
        } else {
            self.counts.misses += 1;
            trial.misses = trial.misses.saturating_add(1);
            trial.is_given_up = trial.misses >= TRIALS && trial.hits < trial.misses / MISSES_FOR_A_HIT;
            self.functions.insert(self.key[0] & u64::from(u32::MAX));
        }
        found
    }

    fn take_from_old(&mut self) -> Option<Remembered> {
        let (key, found) = self.old.entries.remove_entry(self.key.as_slice())?;
        let bytes = bytes_of(&key, &found);
        self.old.bytes -= bytes;
        self.insert(key, Rc::clone(&found), bytes);
        Some(found)
    }

    /// The call of the key is being evaluated, on `words` words of the stack that it would not take otherwise; gives its place among
    /// those that are.
    pub(super) fn open(&mut self, words: usize) -> usize {
        self.open.push(OpenCall { key: self.key.as_slice().into(), version: self.version, words });
        self.open.len() - 1
    }

    /// How many calls are being evaluated whose results are to be kept.
    pub(super) fn opened(&self) -> usize {
        self.open.len()
    }

    /// The call at a place has come to its results, which are kept if there are any to keep; calls behind it are not evaluated any more. Gives
    /// the words of the stack that they took.
    pub(super) fn close(&mut self, place: usize, results: Option<Remembered>) -> usize {
        let words = self.close_from(place + 1);
        let Some(closed) = self.open.pop() else { return words };
        if let (Some(results), true) = (results, closed.version == self.version) {
            let bytes = bytes_of(&closed.key, &results);
            self.insert(closed.key, results, bytes);
        }
        words + closed.words
    }

    /// Calls from a place on are not evaluated any more. Gives the words of the stack that they took.
    pub(super) fn close_from(&mut self, place: usize) -> usize {
        self.open.drain(place.min(self.open.len())..).map(|closed| closed.words).sum()
    }

    fn insert(&mut self, key: Key, results: Remembered, bytes: usize) {
        if self.young.bytes + bytes > BYTES_MAX / 2 {
            self.old = mem::take(&mut self.young);
        }
        if self.young.entries.insert(key, results).is_none() {
            self.young.bytes += bytes;
        }
        self.counts.entries_max = self.counts.entries_max.max(self.entries());
    }

    fn entries(&self) -> u64 {
        (self.young.entries.len() + self.old.entries.len()) as u64
    }

    /// Forgets all calls, and what was given up.
    pub(super) fn forget(&mut self) {
        (self.young, self.old) = Default::default();
        self.trials = FxHashMap::default();
    }

    /// Forgets the evaluation before.
    pub(super) fn reset(&mut self) {
        self.forget();
        self.open.clear();
    }

    /// What was counted since this was asked last, and how many functions were ever looked for.
    pub(super) fn take_counts(&mut self) -> (MemoCounts, u64) {
        (mem::take(&mut self.counts), self.functions.len() as u64)
    }
}

/// The bytes that an entry takes, about.
fn bytes_of(key: &[u64], results: &[Atom]) -> usize {
    let parts: usize = results.iter().map(parts_of).sum();
    ENTRY_BYTES + size_of_val(key) + parts * size_of::<Atom>()
}

/// How many leaves and expressions an atom has, a shared part counted once.
pub(super) fn parts_of(atom: &Atom) -> usize {
    distinct_parts(atom).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(memo: &mut Memo, function: u64, argument: u64) -> Option<usize> {
        assert!(memo.begin_key(function, 1));
        memo.key.push(argument);
        memo.find().map(|found| found.len())
    }

    fn remember(memo: &mut Memo, function: u64, argument: u64, results: usize) {
        assert_eq!(ask(memo, function, argument), None);
        let place = memo.open(3);
        assert_eq!(memo.close(place, Some(vec![Atom::symbol("a"); results].into())), 3);
    }

    #[test]
    fn calls_are_told_apart_and_forgotten_with_their_rules() {
        let mut memo = Memo::default();
        remember(&mut memo, 7, 1, 2);
        remember(&mut memo, 7, 2, 0);
        remember(&mut memo, 8, 1, 1);
        let asked = [ask(&mut memo, 7, 1), ask(&mut memo, 7, 2), ask(&mut memo, 8, 1), ask(&mut memo, 8, 2)];
        assert_eq!(asked, [Some(2), Some(0), Some(1), None]);
        let counts = MemoCounts { hits: 3, misses: 4, entries_max: 3 };
        assert_eq!(memo.take_counts(), (counts, 2));
        assert!(memo.begin_key(7, 2));
        memo.key.push(1);
        assert!(memo.find().is_none(), "rules have changed");
    }

    #[test]
    fn what_was_begun_under_other_rules_is_not_kept() {
        let mut memo = Memo::default();
        assert_eq!(ask(&mut memo, 7, 1), None);
        let place = memo.open(5);
        assert!(memo.begin_key(7, 2));
        memo.close(place, Some(vec![Atom::symbol("a")].into()));
        memo.begin_key(7, 2);
        memo.key.push(1);
        assert!(memo.find().is_none());
    }

    #[test]
    fn entries_are_bounded_and_the_last_ones_stay() {
        let mut memo = Memo::default();
        let each = ENTRY_BYTES + 16 + size_of::<Atom>();
        let most = BYTES_MAX / each;
        // One call is asked for again and again: it stays, and the function is worth it.
        remember(&mut memo, 7, 0, 1);
        for argument in 1..2 * most as u64 {
            remember(&mut memo, 7, argument, 1);
            assert_eq!(ask(&mut memo, 7, 0), Some(1));
            assert!(memo.young.bytes + memo.old.bytes <= BYTES_MAX);
        }
        assert_eq!(ask(&mut memo, 7, 1), None, "it was not asked for long");
        assert!(memo.take_counts().0.entries_max <= most as u64);
    }

    #[test]
    fn a_function_whose_calls_are_never_found_is_given_up_until_the_form_ends() {
        let mut memo = Memo::default();
        for argument in 0..u64::from(TRIALS) {
            remember(&mut memo, 7, argument, 1);
        }
        assert!(!memo.begin_key(7, 1));
        assert!(memo.begin_key(8, 1));
        memo.reset();
        assert!(memo.begin_key(7, 1));
    }

    #[test]
    fn calls_that_were_left_give_their_words_back() {
        let mut memo = Memo::default();
        for argument in 0..4 {
            assert_eq!(ask(&mut memo, 7, argument), None);
            assert_eq!(memo.open(10), argument as usize);
        }
        assert_eq!(memo.close_from(3), 10);
        assert_eq!(memo.close(1, None), 20);
        assert_eq!(memo.opened(), 1);
    }
}
