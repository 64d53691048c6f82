//! Spaces that stand where rules and types are looked up.
//!
//! A pattern that meets a space asks that. So `(: &facts T)` gives a type to whatever is in `&facts`, `(= &facts b)` reduces it, and a space that
//! is an atom of another one adds its rules and types to those of that. Then what is added to such a space, or removed, may change rules and
//! types, whatever it is.

use super::classes::{FACT, LOOKED_UP, NESTED};
use crate::names;
use rustc_hash::FxHashSet;
use space::{Atom, ChangeCounts, Grounded, SharedSpace, ShouldStop, Variable};
use std::sync::Arc;

/// Up to how many arguments it is asked whether a space is the head of what has a rule or a type.
const ARGUMENTS_MAX: usize = 8;

/// No program has this as a name.
const NO_NAME: &str = "(";

/// The spaces that are asked in the lookups of others.
#[derive(Default)]
pub(super) struct SpacesAsked {
    spaces: Vec<SharedSpace>,
    /// The counts of their changes.
    counts: Vec<Arc<ChangeCounts>>,
    /// The spaces that were searched for them, with how often something of their class had changed in each.
    searched: Vec<(SharedSpace, u64)>,
    /// Whether the last search came to its end: a limit ends it with the evaluation.
    is_complete: bool,
}

impl SpacesAsked {
    pub(super) fn is_empty(&self) -> bool {
        self.spaces.is_empty()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(super) fn spaces(&self) -> &[SharedSpace] {
        &self.spaces
    }

    /// How often anything was added to them or removed.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.counts.iter().map(|counts| counts.sum_from(FACT)).sum()
    }

    /// Searches the spaces in which rules and types are looked up, and those that they ask, if they may ask others than before.
    pub(super) fn search(&mut self, watched: &[SharedSpace], should_stop: ShouldStop<'_>) {
        let nested = |space: &SharedSpace| space.changes()[NESTED];
        let is_as_it_was = |(space, changes): &(SharedSpace, u64)| nested(space) == *changes;
        let begins_with = |(watched, (searched, _)): (&SharedSpace, &(SharedSpace, u64))| watched.is_same(searched);
        if self.is_complete
            && self.searched.len() >= watched.len()
            && watched.iter().zip(&self.searched).all(begins_with)
            && self.searched.iter().all(is_as_it_was)
        {
            return;
        }
        self.spaces.clear();
        self.searched.clear();
        let mut work = watched.to_vec();
        let mut to_search: FxHashSet<usize> = work.iter().map(SharedSpace::address).collect();
        let mut asked: FxHashSet<usize> = FxHashSet::default();
        while let Some(space) = work.get(self.searched.len()).cloned()
            && !should_stop()
        {
            let changes = nested(&space);
            let mut found = if changes == 0 { Vec::new() } else { spaces_in(&space.without_imports()) };
            self.searched.push((space, changes));
            found.retain(|space| asked.insert(space.address()));
            // A query of a space asks what that imports, too.
            let mut place = 0;
            while let Some(space) = found.get(place)
                && !should_stop()
            {
                let imports = space.imports().into_iter().filter(|import| asked.insert(import.address()));
                found.extend(imports.collect::<Vec<_>>());
                place += 1;
            }
            work.extend(found.iter().filter(|space| to_search.insert(space.address())).cloned());
            self.spaces.append(&mut found);
        }
        self.is_complete = self.searched.len() == work.len();
        self.counts = self.spaces.iter().map(SharedSpace::change_counts).collect();
    }
}

/// The spaces in the atoms of a space that the lookup of a rule or a type would meet.
fn spaces_in(space: &SharedSpace) -> Vec<SharedSpace> {
    let (name, any) = (Atom::symbol(NO_NAME), Atom::Variable(Variable::with_id(names::asked().clone(), 0)));
    let call = |count: usize| {
        let arguments = std::iter::repeat_n(any.clone(), count);
        Atom::expression(std::iter::once(name.clone()).chain(arguments).collect::<Vec<_>>())
    };
    let subjects: Vec<Atom> = std::iter::once(name.clone()).chain((0..=ARGUMENTS_MAX).map(call)).collect();
    let lookups = LOOKED_UP.iter().flat_map(|relation| {
        let lookup = |subject: &Atom| Atom::expression([Atom::symbol(relation), subject.clone(), any.clone()]);
        subjects.iter().map(lookup).collect::<Vec<_>>()
    });
    let candidates = lookups.flat_map(|lookup| space.candidates(&lookup, usize::MAX).unwrap_or_default());
    candidates.flat_map(|candidate| spaces_met(&candidate.atom)).collect()
}

/// The spaces that are met where an atom is a rule or a type, or stands for any atom.
fn spaces_met(atom: &Atom) -> Vec<SharedSpace> {
    let in_parts = match atom.children() {
        Some([relation, subject, _]) => [Some(relation), Some(subject), subject.head()],
        _ => [None; 3],
    };
    let parts = std::iter::once(atom).chain(in_parts.into_iter().flatten());
    let space_of = |part: &Atom| match part {
        Atom::Grounded(Grounded::Space(space)) => Some(space.clone()),
        _ => None,
    };
    parts.filter_map(space_of).collect()
}
