//! Calls that are being evaluated, and whose answers are kept.

use crate::tables::{OpenCall, Policy};
use region::Ref;
use rustc_hash::FxHashMap;
use space::Variable;

/// A call that is being evaluated, and whose answers are kept.
pub(in crate::machine) enum Filling {
    /// One that the program has asked to be kept.
    Declared {
        caller: Caller,
        /// How many tabled calls were in progress below what asks for all results.
        asks_all_above: usize,
    },
    /// One that the machine remembers by itself: its second frame takes words of the stack that the call would not take otherwise. The limit
    /// of the stack is that many words further up meanwhile: a program may be as deep as without. `depth` such calls are in progress.
    Automatic { call: OpenCall, words: usize, depth: usize },
}

/// Whose results a collector has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::machine) struct FilledCall {
    pub(super) function: u32,
    pub(in crate::machine) policy: Policy,
    /// Its place among the calls that are being evaluated.
    pub(super) place: u32,
}

/// The variables of a call, and where they are.
#[derive(Default)]
pub(in crate::machine) struct Caller {
    pub(in crate::machine) variables: Vec<Variable>,
    pub(in crate::machine) cells: Vec<Ref>,
}

impl Caller {
    /// Those of the variables that the call has.
    pub(super) fn new(variables: Vec<Variable>, scope: &FxHashMap<Variable, Ref>) -> Self {
        let cells: Vec<Ref> = variables.iter().map_while(|variable| scope.get(variable).copied()).collect();
        Self { variables, cells }
    }

    pub(super) fn scope(&self) -> FxHashMap<Variable, Ref> {
        self.variables.iter().cloned().zip(self.cells.iter().copied()).collect()
    }
}

impl Filling {
    /// The words of the stack that it takes and that are not counted.
    pub(super) fn words(&self) -> usize {
        match self {
            Self::Declared { .. } => 0,
            Self::Automatic { words, .. } => *words,
        }
    }
}

/// The calls that are being evaluated and whose answers are kept.
#[derive(Default)]
pub(in crate::machine) struct Fillings(Vec<Filling>);

impl Fillings {
    /// A call is being evaluated from now on; gives its place among those that are.
    pub(super) fn open(&mut self, filling: Filling) -> u32 {
        self.0.push(filling);
        self.0.len() as u32 - 1
    }

    /// The call at a place is not evaluated any more, and those behind it are not. Gives the words that were not counted, too.
    pub(super) fn close(&mut self, place: u32) -> (Filling, usize) {
        let behind = place as usize + 1;
        let words = if behind == self.0.len() { 0 } else { self.leave_from(behind) };
        let closed = self.0.pop().expect("a call is being evaluated");
        let own = closed.words();
        (closed, words + own)
    }

    /// Calls from a place on are not evaluated any more. Gives the words that were not counted.
    pub(in crate::machine) fn leave_from(&mut self, place: usize) -> usize {
        self.0.drain(place.min(self.0.len())..).map(|left| left.words()).sum()
    }

    /// All calls but as many as are counted are not evaluated any more. Gives the words that were not counted.
    pub(in crate::machine) fn leave_but(&mut self, count: impl FnOnce() -> usize) -> usize {
        if self.0.is_empty() { 0 } else { self.leave_from(count()) }
    }

    /// Those of the innermost call, if the program has asked for its answers.
    pub(super) fn caller(&self) -> Option<&Caller> {
        match self.0.last() {
            Some(Filling::Declared { caller, .. }) => Some(caller),
            Some(Filling::Automatic { .. }) | None => None,
        }
    }

    /// The cells of the variables that the calls have.
    pub(in crate::machine) fn cells_mut(&mut self) -> impl Iterator<Item = &mut Ref> {
        self.0.iter_mut().flat_map(|filling| match filling {
            Filling::Declared { caller, .. } => caller.cells.as_mut_slice(),
            Filling::Automatic { .. } => &mut [],
        })
    }

    /// How many tabled calls were in progress below what asks for all results, when the evaluation of a call began; `None` if it is none of
    /// these.
    pub(in crate::machine) fn asks_all_above(&self, call: FilledCall) -> Option<usize> {
        match self.0.get(call.place as usize) {
            Some(Filling::Declared { asks_all_above, .. }) => Some(*asks_all_above),
            Some(Filling::Automatic { .. }) | None => None,
        }
    }

    /// How many calls that the machine remembers by itself are in progress, one inside the other. They call no tabled function.
    pub(super) fn automatic_depth(&self) -> usize {
        match self.0.last() {
            Some(Filling::Automatic { depth, .. }) => *depth,
            Some(Filling::Declared { .. }) | None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::AutomaticTables;

    #[test]
    fn calls_that_were_left_give_their_words_back() {
        let mut fillings = Fillings::default();
        assert_eq!(fillings.leave_but(|| unreachable!("there is none")), 0);
        for depth in 1..=4 {
            let call = AutomaticTables::default().open();
            assert_eq!(fillings.automatic_depth() + 1, depth);
            assert_eq!(fillings.open(Filling::Automatic { call, words: 10, depth }), depth as u32 - 1);
        }
        assert_eq!(fillings.leave_but(|| 3), 10);
        assert_eq!(fillings.close(1).1, 20);
        assert_eq!(fillings.automatic_depth(), 1);
    }
}
