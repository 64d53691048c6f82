//! Where the machine backtracks instead of gathering results, and where it has found that it must not; see [`crate::machine::backtracking`].

use rustc_hash::FxHashMap;

/// Each time that the assumption was wrong at a place, it is tried again after four times as many collections as before, and half as
/// many each time that it was right.
const DOUBLINGS_IF_WRONG: u32 = 2;
const DOUBLINGS_MAX: u32 = 20;

/// Where the evaluation backtracks.
pub(in crate::machine) struct Backtracking {
    /// The place of the collector among the choices: expressions that begin above it are not gathered.
    pub(in crate::machine) level: usize,
    /// The place of the outermost collector above it that wants some results only, if there is one: what begins above that is gathered, since
    /// what is left when the results are there would never be evaluated, and its effects would be missing.
    pub(in crate::machine) until: usize,
    /// The number of the instruction that made the collector.
    pub(in crate::machine) site: u32,
}

/// The level when no collector is one of those.
const NOWHERE: usize = usize::MAX;

impl Default for Backtracking {
    fn default() -> Self {
        Self { level: NOWHERE, until: NOWHERE, site: 0 }
    }
}

impl Backtracking {
    /// A collector at a place among the choices was made by an instruction: what is evaluated for it backtracks, unless that was wrong here
    /// before.
    pub(in crate::machine) fn begin(&mut self, wrong: &mut WrongAssumptions, level: usize, site: u32) {
        if self.level == NOWHERE && wrong.may_assume(site) {
            *self = Self { level, until: NOWHERE, site };
        }
    }

    /// The collector at a place wants some results only: what is evaluated for it is gathered.
    pub(in crate::machine) fn pause(&mut self, place: usize) {
        if self.is_on() {
            self.until = self.until.min(place);
        }
    }

    /// Whether the results of an expression that begins at a level are used as they are found.
    #[inline]
    pub(in crate::machine) fn reaches(&self, level: usize) -> bool {
        level > self.level && level <= self.until
    }

    /// To be called when choices were taken away and this number of them is left: if the collector is among those that went, its results are all
    /// there.
    #[inline]
    pub(in crate::machine) fn end(&mut self, wrong: &mut WrongAssumptions, left: usize) {
        if self.until >= left {
            self.until = NOWHERE;
        }
        if self.level != NOWHERE && self.level >= left {
            self.level = NOWHERE;
            wrong.was_right(self.site);
        }
    }

    /// Whether results are not gathered now.
    #[inline]
    pub(in crate::machine) fn is_on(&self) -> bool {
        self.level != NOWHERE
    }
}

/// How often results are gathered at a place before backtracking is tried again.
#[derive(Default)]
struct Patience {
    waits: u32,
    doublings: u32,
}

/// The places at which the assumption was wrong, by the numbers of their instructions.
#[derive(Default)]
pub(in crate::machine) struct WrongAssumptions {
    sites: FxHashMap<u32, Patience>,
}

impl WrongAssumptions {
    pub(in crate::machine) fn may_assume(&mut self, site: u32) -> bool {
        if self.sites.is_empty() {
            return true;
        }
        let Some(patience) = self.sites.get_mut(&site) else { return true };
        if patience.waits == 0 {
            return true;
        }
        patience.waits -= 1;
        false
    }

    pub(in crate::machine) fn was_right(&mut self, site: u32) {
        if !self.sites.is_empty()
            && let Some(patience) = self.sites.get_mut(&site)
        {
            patience.doublings = patience.doublings.saturating_sub(1);
        }
    }

    pub(in crate::machine) fn was_wrong(&mut self, site: u32) {
        let patience = self.sites.entry(site).or_default();
        patience.doublings = (patience.doublings + DOUBLINGS_IF_WRONG).min(DOUBLINGS_MAX);
        patience.waits = 1 << patience.doublings;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_where_it_was_wrong_is_left_alone_for_ever_longer() {
        let mut wrong = WrongAssumptions::default();
        let mut waited = || {
            let waits = (0..).find(|_| wrong.may_assume(7)).expect("it is tried again at last");
            wrong.was_wrong(7);
            waits
        };
        assert_eq!([waited(), waited(), waited(), waited()], [0, 4, 16, 64]);
        assert!(wrong.may_assume(8));
    }

    #[test]
    fn a_place_where_it_was_right_is_tried_sooner() {
        let mut wrong = WrongAssumptions::default();
        (0..3).for_each(|_| wrong.was_wrong(7));
        (0..3).for_each(|_| wrong.was_right(7));
        wrong.was_wrong(7);
        assert_eq!((0..).find(|_| wrong.may_assume(7)), Some(32));
    }
}
