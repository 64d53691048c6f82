//! The indexes of a segment, by their places: few, so that they are looked through one after the other.
//!
//! Those of a head change with its rows, and lose holes while it is read: they are locked. Those of a sealed segment are made once
//! and stay; they are chained, and read without a lock. A lock would wait for all that was read before it, so that one question could
//! not be under way while the last one waits for memory.

use super::index::{Index, IndexedBy};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// The indexes of a segment.
pub(super) enum Indexes {
    Changing(RwLock<Vec<(IndexedBy, Index)>>),
    Fixed(Next),
}

/// The rest of a chain.
type Next = OnceLock<Box<Link>>;

/// An index of a sealed segment, and those that were made later.
pub(super) struct Link {
    place: IndexedBy,
    index: Index,
    next: Next,
}

/// Indexes that are being read.
pub(super) enum Reading<'a> {
    Locked(RwLockReadGuard<'a, Vec<(IndexedBy, Index)>>),
    Free(&'a Next),
}

impl Default for Indexes {
    fn default() -> Self {
        Self::Changing(RwLock::default())
    }
}

impl Reading<'_> {
    #[inline]
    pub(super) fn get(&self, place: IndexedBy) -> Option<&Index> {
        match self {
            Self::Locked(indexes) => indexes.iter().find(|(other, _)| *other == place).map(|(_, index)| index),
            Self::Free(first) => links(first).find(|link| link.place == place).map(|link| &link.index),
        }
    }
}

fn links(first: &Next) -> impl Iterator<Item = &Link> {
    std::iter::successors(first.get(), |link| link.next.get()).map(|link| &**link)
}

impl Indexes {
    #[inline]
    pub(super) fn read(&self) -> Reading<'_> {
        match self {
            Self::Changing(indexes) => Reading::Locked(indexes.read().expect("no panic while indexes are locked")),
            Self::Fixed(first) => Reading::Free(first),
        }
    }

    /// Adds an index, unless somebody else has made it meanwhile.
    pub(super) fn add(&self, place: IndexedBy, index: Index) {
        match self {
            Self::Changing(indexes) => {
                let mut indexes = indexes.write().expect("no panic while indexes are locked");
                if indexes.iter().all(|(other, _)| *other != place) {
                    indexes.push((place, index));
                }
            }
            Self::Fixed(first) => {
                let (mut next, mut made) = (first, Box::new(Link { place, index, next: Next::new() }));
                while let Err(ours) = next.set(made) {
                    let link = next.get().expect("it was set by somebody else");
                    if link.place == place {
                        return;
                    }
                    (next, made) = (&link.next, ours);
                }
            }
        }
    }

    /// Changes an index of a head.
    pub(super) fn change(&self, place: IndexedBy, change: impl FnOnce(&mut Index)) {
        let Self::Changing(indexes) = self else { return };
        let mut indexes = indexes.write().expect("no panic while indexes are locked");
        if let Some((_, index)) = indexes.iter_mut().find(|(other, _)| *other == place) {
            change(index);
        }
    }

    /// Changes all of them.
    #[inline]
    pub(super) fn each_mut(&mut self, mut change: impl FnMut(IndexedBy, &mut Index)) {
        match self {
            Self::Changing(indexes) => {
                let indexes = indexes.get_mut().expect("no panic while indexes are locked");
                indexes.iter_mut().for_each(|(place, index)| change(*place, index));
            }
            Self::Fixed(first) => {
                let mut next = first.get_mut();
                while let Some(link) = next {
                    change(link.place, &mut link.index);
                    next = link.next.get_mut();
                }
            }
        }
    }

    /// The same for a sealed segment.
    pub(super) fn sealed(self) -> Self {
        let Self::Changing(indexes) = self else { return self };
        let fixed = Self::Fixed(Next::new());
        let indexes = indexes.into_inner().unwrap_or_else(PoisonError::into_inner);
        indexes.into_iter().for_each(|(place, index)| fixed.add(place, index));
        fixed
    }

    /// The same for a head.
    pub(super) fn unsealed(self) -> Self {
        let Self::Fixed(first) = self else { return self };
        let (mut indexes, mut next) = (Vec::new(), first);
        while let Some(link) = next.into_inner() {
            let Link { place, index, next: rest } = *link;
            indexes.push((place, index));
            next = rest;
        }
        Self::Changing(RwLock::new(indexes))
    }
}
