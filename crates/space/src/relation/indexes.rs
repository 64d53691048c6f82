//! The indexes of a segment, by their places: few, so that they are looked through one after the other.
//!
//! An index is made when a query first asks for it, and stays as long as the segment. They are chained, so that readers need no
//! lock, not even while another reader adds one. They change only while nothing else holds the segment.

use super::index::{Index, IndexedBy};
use std::sync::OnceLock;

/// The indexes of a segment, or the rest of them.
#[derive(Default)]
pub(super) struct Indexes(OnceLock<Box<Link>>);

/// An index, and those that were made later.
struct Link {
    place: IndexedBy,
    index: Index,
    next: Indexes,
}

impl Indexes {
    #[inline]
    pub(super) fn get(&self, place: IndexedBy) -> Option<&Index> {
        let mut links = std::iter::successors(self.0.get(), |link| link.next.0.get());
        links.find(|link| link.place == place).map(|link| &link.index)
    }

    /// Adds an index, unless another thread has made it meanwhile.
    pub(super) fn add(&self, place: IndexedBy, index: Index) {
        let (mut rest, mut made) = (self, Box::new(Link { place, index, next: Self::default() }));
        while let Err(ours) = rest.0.set(made) {
            let link = rest.0.get().expect("another thread has set it");
            if link.place == place {
                return;
            }
            (rest, made) = (&link.next, ours);
        }
    }

    /// All of them once more.
    pub(super) fn copied(&self) -> Self {
        let copied = Self::default();
        let links = std::iter::successors(self.0.get(), |link| link.next.0.get());
        links.for_each(|link| copied.add(link.place, link.index.clone()));
        copied
    }

    /// Changes all of them.
    #[inline]
    pub(super) fn each_mut(&mut self, mut change: impl FnMut(IndexedBy, &mut Index)) {
        let mut next = self.0.get_mut();
        while let Some(link) = next {
            change(link.place, &mut link.index);
            next = link.next.0.get_mut();
        }
    }
}
