//! What a walk over an atom remembers, so that it costs what the atom takes in memory and not what it is written out.
//!
//! A program may make an atom of which each part holds the one before it twice. It is small in memory, since parts are shared, but
//! has as many expressions as a tree. A walk that comes to one conclusion for each expression needs to look into each once.
//! Most atoms are small and share nothing: the first expressions of a walk are not remembered.

use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// After this many expressions of one walk those that follow are remembered.
pub(crate) const EXPRESSIONS_BEFORE_MEMORY: usize = 1 << 10;

/// After this many expressions walks remember that cost a few instructions an expression.
const EXPRESSIONS_OF_FAST_WALKS: usize = 1 << 16;

/// What a walk has met, by where it lies. What is met stays alive during the walk.
pub struct Met<K> {
    left: usize,
    places: FxHashSet<K>,
}

impl<K> Default for Met<K> {
    fn default() -> Self {
        Self { left: EXPRESSIONS_BEFORE_MEMORY, places: FxHashSet::default() }
    }
}

impl<K: Hash + Eq> Met<K> {
    /// For a walk that costs little: it begins to remember later.
    pub fn of_fast_walk() -> Self {
        Self { left: EXPRESSIONS_OF_FAST_WALKS, places: FxHashSet::default() }
    }

    /// Whether the walk is to look into it: always at first, later once.
    pub fn is_new(&mut self, place: K) -> bool {
        if self.left > 0 {
            self.left -= 1;
            return true;
        }
        self.places.insert(place)
    }
}

/// What expressions came to in one walk, by where they lie. It holds them, so that no other comes to lie there.
pub struct Outcomes<E, T> {
    left: usize,
    known: FxHashMap<usize, (E, T)>,
}

impl<E, T> Default for Outcomes<E, T> {
    fn default() -> Self {
        Self { left: EXPRESSIONS_BEFORE_MEMORY, known: FxHashMap::default() }
    }
}

impl<E: Clone, T: Clone> Outcomes<E, T> {
    /// What the expression at a place came to before.
    pub fn of(&mut self, place: usize) -> Option<T> {
        self.left = self.left.saturating_sub(1);
        let known = if self.known.is_empty() { None } else { self.known.get(&place) };
        known.map(|(_, outcome)| outcome.clone())
    }

    /// Keeps what an expression with children came to, from a certain number on.
    pub fn keep(&mut self, place: usize, expression: &E, outcome: &T) {
        if self.left == 0 {
            self.known.insert(place, (expression.clone(), outcome.clone()));
        }
    }
}
