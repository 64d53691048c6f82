//! The handle of a space: its identity, without what it holds.
//!
//! An atom may hold a space, and a space holds atoms. Atoms know this handle only: who the space is, and how the atoms
//! that nothing else keeps alive are taken out of it, so that spaces that hold spaces are freed with a work list. What a space
//! holds, and how it is changed and queried, is in `shared_space`, which finds its own type again in what the handle holds.

use crate::atom::{Atom, free};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What a handle knows of the contents of a space.
pub(crate) trait SpaceContents: Any + Send + Sync {
    /// Moves the atoms that only these contents keep alive to a list.
    fn drain_into(&mut self, work: &mut Vec<Atom>);
}

/// A shared space.
#[derive(Clone)]
pub struct SharedSpace(Arc<Held<dyn SpaceContents>>);

/// What the handles of a space share.
struct Held<C: SpaceContents + ?Sized> {
    serial: u64,
    name: String,
    is_frozen: AtomicBool,
    /// Where its log lists it among the spaces that changed, counted from 1; 0 if it does not.
    noted: AtomicU32,
    contents: C,
}

/// How often something of a space has changed: its atoms, or the list of its imports. A change is counted after it was made.
#[derive(Default)]
pub(crate) struct ChangeCounter(AtomicU64);

impl ChangeCounter {
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

impl SharedSpace {
    /// A handle of these contents, with this serial number and printed name.
    pub(crate) fn of(serial: u64, name: String, contents: impl SpaceContents) -> Self {
        let (is_frozen, noted) = Default::default();
        Self(Arc::new(Held { serial, name, is_frozen, noted, contents }))
    }

    /// The contents, if they are of this type.
    #[inline]
    pub(crate) fn contents<C: SpaceContents>(&self) -> Option<&C> {
        let contents: &dyn Any = &self.0.contents;
        contents.downcast_ref()
    }

    /// Its serial number: spaces are numbered in program order.
    pub fn serial(&self) -> u64 {
        self.0.serial
    }

    /// How it prints.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether both are the same space.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// From now on nothing may change it: callers that change spaces ask [`SharedSpace::is_frozen`] first.
    pub fn freeze(&self) {
        self.0.is_frozen.store(true, Ordering::Relaxed);
    }

    /// Whether it is of the past, and nothing may change it.
    pub fn is_frozen(&self) -> bool {
        self.0.is_frozen.load(Ordering::Relaxed)
    }

    /// Where its log lists it among the spaces that changed.
    pub(crate) fn noted(&self) -> Option<u32> {
        self.0.noted.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Says where its log lists it; only the log calls this, while it is locked.
    pub(crate) fn set_noted(&self, place: Option<u32>) {
        self.0.noted.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
    }

    /// Moves the atoms that only this handle keeps alive to a list of atoms to be freed.
    pub(crate) fn free_into(mut self, work: &mut Vec<Atom>) {
        if let Some(held) = Arc::get_mut(&mut self.0) {
            held.contents.drain_into(work);
        }
    }
}

impl<C: SpaceContents + ?Sized> Drop for Held<C> {
    /// Spaces that hold spaces cost heap and not native stack.
    fn drop(&mut self) {
        let mut work = Vec::new();
        self.contents.drain_into(&mut work);
        free(work);
    }
}
