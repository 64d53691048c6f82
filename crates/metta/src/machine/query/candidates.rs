//! The atoms that may match the pattern of a `match`, as code.
//!
//! A space with atoms that hold variables, such as rules stated as data, is asked by unification. What can be known of that
//! without the values of a call is done once for each atom: the pattern as it is written and the atom are gone through side by side,
//! and what is left are *steps* that compare what slots hold with parts of the atom. The code holds as long as the space and its imports do not change.
//!
//! An atom is a sequence of parts in the order in which it is written, so it is compared with the heap as it lies, and variables of its
//! own are made in the heap only where they become a part of an answer.

use region::Ref;
use rustc_hash::FxHashMap;
use space::{Atom, SpaceVersion};
use std::ops::Range;
use std::rc::Rc;

/// The atoms of a space and its imports that may match a pattern, in the order of answers.
pub(super) struct Candidates {
    /// What the atoms were read from.
    pub(super) version: SpaceVersion,
    pub(super) parts: Box<[MatchedPart]>,
    pub(super) steps: Box<[MatchStep]>,
    /// The new variables of the pattern that some atom leaves unbound, the oldest first. All answers share them.
    pub(super) cells: Box<[NewVariable]>,
    /// The grounded values in the parts that are no words.
    pub(super) values: Box<[Atom]>,
    pub(super) atoms: Box<[CandidateAtom]>,
    pub(super) filters: Box<[Filter]>,
    /// Lists of atoms, one after the other, an atom as often as there are copies of it. The first list has all.
    pub(super) listed: Box<[u32]>,
    pub(super) all: List,
    pub(super) switches: Box<[CandidateSwitch]>,
    /// The most variables that an atom has.
    pub(super) variables: usize,
    /// Whether new variables of the pattern are variables of a form.
    pub(super) is_form: bool,
}

/// A list of atoms: where it begins and ends.
pub(super) type List = (u32, u32);

/// What is done for an atom.
pub(super) struct CandidateAtom {
    pub(super) steps: Range<u32>,
    pub(super) filters: Range<u32>,
}

/// A new variable of the pattern that is made before the first atom is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NewVariable {
    /// Its place among the new variables of the pattern.
    pub(super) place: u32,
    pub(super) name: u32,
    /// Its place among the inputs, after what the slots hold.
    pub(super) input: u16,
}

/// What has to be so for an atom to match.
#[derive(Clone, Copy, Debug)]
pub(super) enum MatchStep {
    /// A new variable is the one that was made for all answers.
    SetShared { slot: u16, input: u16 },
    /// What the pattern holds, by its place among the slots that are read, matches a part.
    MatchInput { input: u16, at: u32 },
    /// What a slot of a new variable holds already matches a part.
    MatchNew { slot: u16, at: u32 },
    /// A new variable becomes a part.
    SetNew { slot: u16, at: u32 },
    /// A variable of the atom becomes a part of the pattern, or is made equal to it if it stands for something already.
    MatchOwn { own: u16, at: u32, is_first: bool },
}

/// A part of an atom, or of the pattern where a variable of the atom faces it.
#[derive(Clone, Copy, Debug)]
pub(super) enum MatchedPart {
    /// A symbol, a truth value or a small integer.
    Word(Ref),
    /// Another grounded value, by its place.
    Value(u32),
    /// A variable of the atom where it is met for the first time; its name is a symbol.
    First { own: u16, name: Ref },
    /// A variable of the atom where it was met before.
    Again(u16),
    /// What the pattern holds.
    Input(u16),
    /// What the slot of a new variable holds.
    New(u16),
    /// An expression of `length` children begins; it has `extent` parts, this one included.
    Open { length: u32, extent: u32 },
    /// An expression follows that is this term; it has `extent` parts, this one included.
    Term { term: Ref, extent: u32 },
}

/// What the key of an input must be, if that has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filter {
    pub(super) input: u16,
    pub(super) key: u64,
}

/// A place in the value of an input: which child of which child, from the outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CandidatePath {
    pub(super) input: u16,
    length: u8,
    children: [u8; PATH_MAX],
}

/// The most steps of a path.
const PATH_MAX: usize = 4;

impl CandidatePath {
    /// The input itself.
    pub(super) fn to_input(input: u16) -> Self {
        Self { input, length: 0, children: [0; PATH_MAX] }
    }

    /// The way from the input, one child after the other.
    #[inline]
    pub(super) fn children(&self) -> &[u8] {
        &self.children[..usize::from(self.length)]
    }

    /// The path to a child of what is there, unless that is too deep.
    pub(super) fn child(mut self, child: u8) -> Option<Self> {
        *self.children.get_mut(usize::from(self.length))? = child;
        self.length += 1;
        Some(self)
    }
}

/// The atoms by the key of what is at a path.
pub(super) struct CandidateSwitch {
    pub(super) path: CandidatePath,
    pub(super) cases: FxHashMap<u64, List>,
    /// What matches whatever the key is.
    pub(super) otherwise: List,
}

/// The key of what may have any.
pub(super) const NO_KEY: u64 = 0;

/// The key of a word that equals nothing but itself and numbers that have no key.
pub(super) fn word_key(word: Ref) -> u64 {
    1 << 63 | u64::from(word.bits())
}

/// More atoms than this are not compiled, copies counted.
const CANDIDATES_MAX: usize = 1 << 14;
/// How many atoms are compiled at most when they are asked for the first time.
const CANDIDATES_AT_ONCE: usize = 16;
/// For how many atoms code is worth one query without it.
const CANDIDATES_PER_QUERY: usize = 64;
/// Code that was used for fewer queries than it has atoms, divided by this, was made in vain.
const CANDIDATES_PER_USE: usize = 16;
/// How often the patience may double.
const DOUBLINGS_MAX: u32 = 16;

/// The code for the atoms that a `match` finds, and when it is worth making it: where a space changes again and again between queries,
/// it is made ever more rarely.
#[derive(Default)]
pub(in crate::machine) struct CandidateCache {
    pub(super) made: Option<Rc<Candidates>>,
    /// Whether the pattern is none of those for which code is made.
    pub(super) is_unfit: bool,
    /// How many atoms there were the last time.
    count: usize,
    /// How many queries had no code since then.
    missed: usize,
    /// How many queries had code.
    used: usize,
    doublings: u32,
}

impl CandidateCache {
    /// The code, if it still holds for a space.
    #[inline]
    pub(super) fn valid(&mut self, space: &space::SharedSpace) -> Option<Rc<Candidates>> {
        let made = self.made.as_ref()?;
        if !made.version.is_that_of(space) {
            self.forget();
            return None;
        }
        self.used += 1;
        Some(Rc::clone(made))
    }

    #[cold]
    fn forget(&mut self) {
        self.made = None;
        if self.used < self.count / CANDIDATES_PER_USE + 1 {
            self.put_off();
        } else {
            self.doublings = 0;
        }
        self.used = 0;
    }

    /// How many atoms code is to be made for at most, if it is time to make it.
    pub(super) fn due(&mut self) -> Option<usize> {
        self.missed += 1;
        if self.missed * CANDIDATES_PER_QUERY <= self.count << self.doublings {
            return None;
        }
        self.missed = 0;
        Some(if self.count == 0 { CANDIDATES_AT_ONCE } else { CANDIDATES_MAX })
    }

    /// There were `count` atoms, too many or such that they are not compiled.
    pub(super) fn is_in_vain(&mut self, count: usize) {
        if self.count > 0 {
            self.put_off();
        }
        self.count = count.max(CANDIDATES_PER_QUERY);
    }

    /// Code was made for `count` atoms.
    pub(super) fn keep(&mut self, made: &Rc<Candidates>, count: usize) {
        (self.made, self.count, self.used) = (Some(Rc::clone(made)), count.max(1), 0);
    }

    fn put_off(&mut self) {
        self.doublings = (self.doublings + 1).min(DOUBLINGS_MAX);
    }
}

/// What is left of the candidates of a query, while they are tried.
pub(in crate::machine) struct CandidateTries {
    pub(super) candidates: Rc<Candidates>,
    /// The next one, and the end of the list.
    pub(in crate::machine) next: u32,
    pub(in crate::machine) end: u32,
    pub(in crate::machine) inputs: Vec<Input>,
    pub(in crate::machine) return_point: u32,
}

/// What the pattern holds in a slot, bindings followed, and its key.
#[derive(Clone, Copy)]
pub(in crate::machine) struct Input {
    pub(in crate::machine) value: Ref,
    pub(in crate::machine) key: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many queries go without code until it is time to make it, and for how many atoms at most.
    fn waits(cache: &mut CandidateCache) -> (usize, usize) {
        (0..).find_map(|waited| cache.due().map(|most| (waited, most))).expect("it is time at last")
    }

    #[test]
    fn few_atoms_are_compiled_at_once_and_many_when_queries_pay_for_it() {
        let mut cache = CandidateCache::default();
        assert_eq!(waits(&mut cache), (0, CANDIDATES_AT_ONCE));
        cache.is_in_vain(6_400);
        assert_eq!(waits(&mut cache), (100, CANDIDATES_MAX));
        // There are more than are compiled at all.
        cache.is_in_vain(CANDIDATES_MAX * 2);
        assert_eq!(waits(&mut cache), (CANDIDATES_MAX * 4 / CANDIDATES_PER_QUERY, CANDIDATES_MAX));
    }

    #[test]
    fn code_that_was_of_no_use_is_made_more_rarely() {
        let mut cache = CandidateCache { count: 640, ..CandidateCache::default() };
        let mut waited = |used: usize| {
            cache.used = used;
            cache.forget();
            waits(&mut cache).0
        };
        assert_eq!([waited(3), waited(3), waited(3)], [20, 40, 80]);
        assert_eq!(waited(41), 10);
    }
}
