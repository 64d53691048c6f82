//! A version of a space and of its imports: what was derived from their atoms holds as long as this does.

use crate::atom::Atom;
use crate::contents::{Candidate, FewCandidates, TooMany};
use crate::space_handle::{ChangeCounter, SharedSpace};
use std::sync::Arc;

/// How often a space, the list of its imports and each import had changed at some time.
pub struct SpaceVersion {
    space: SharedSpace,
    /// What counts changes, and how many there were.
    counters: Vec<(Arc<ChangeCounter>, u64)>,
}

impl SpaceVersion {
    /// That of a space now.
    pub fn of(space: &SharedSpace) -> Self {
        let imports = space.imports();
        let own = [space.imports_counter(), space.change_counter()];
        let counters = own.into_iter().chain(imports.iter().map(SharedSpace::change_counter));
        let counters = counters.map(|counter| (Arc::clone(counter), counter.get())).collect();
        Self { space: space.clone(), counters }
    }

    /// Whether it is that of a space now.
    #[inline]
    pub fn is_that_of(&self, space: &SharedSpace) -> bool {
        self.space.is_same(space) && self.counters.iter().all(|(counter, count)| counter.get() == *count)
    }
}

impl SharedSpace {
    /// The atoms that may match a pattern, which is an expression: its own, then those of each import, each in insertion order. If
    /// there are more than `most`, copies counted, the error says how many were found by then.
    ///
    /// # Errors
    /// There are more.
    pub fn candidates(&self, pattern: &Atom, most: usize) -> Result<Vec<Candidate>, TooMany> {
        let mut found = Vec::new();
        let mut add = |space: &SharedSpace| space.read(|space| space.add_candidates(pattern, most, &mut found));
        add(self)?;
        self.imports().iter().try_for_each(add)?;
        Ok(found)
    }

    /// All candidates, if there are no more than `most` in any of the spaces and in all of them, copies counted; else some of them. What
    /// this costs depends on `most`, the number of spaces and the length of the pattern, and not on how many atoms there are.
    pub fn few_candidates(&self, pattern: &Atom, most: usize) -> FewCandidates {
        let (mut all, mut is_all, mut count) = (Vec::new(), true, 0);
        let imports = self.imports();
        for (place, space) in std::iter::once(self).chain(&imports).enumerate() {
            let mut found = Vec::new();
            is_all &= space.read(|space| space.add_few(pattern, most, &mut found));
            count += found.iter().map(|candidate| candidate.copies as usize).sum::<usize>();
            all.extend(found.into_iter().map(|candidate| (place as u32, candidate)));
        }
        match is_all && count <= most {
            true => FewCandidates::All(all),
            false => FewCandidates::Some(all.into_iter().map(|(_, candidate)| candidate).collect()),
        }
    }

    /// Whether no more than `most` atoms may match a pattern, which is an expression, as [`SharedSpace::few_candidates`] finds them.
    pub fn has_few_candidates(&self, pattern: &Atom, most: usize) -> bool {
        let count = |space: &SharedSpace| space.read(|space| space.count_few(pattern, most));
        let own = count(self);
        let imports = self.imports();
        let all = imports.iter().fold(own, |sum, import| Some(sum? + count(import)?));
        all.is_some_and(|count| count <= most)
    }
}
