//! What queries have made of the rows of a relation, kept beside it: it serves as long as the relation has the same rows, which a
//! [`Stamp`] says. Rows are only ever added at the end, or an epoch begins.

use super::adjacency::{Adjacency, AdjacencyShape};
use super::trie::Trie;
use std::borrow::Borrow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// How many views of a kind are kept.
const VIEWS_MAX: usize = 12;

/// Which rows a relation had.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    relation: u64,
    epoch: u64,
    rows: u32,
}

/// What was made of the rows of a relation.
#[derive(Default)]
pub(super) struct KeptViews {
    number: OnceLock<u64>,
    epoch: u64,
    pub(super) tries: Kept<Box<[u32]>, Trie>,
    pub(super) adjacencies: Kept<AdjacencyShape, Adjacency>,
}

impl KeptViews {
    /// Rows were removed, or have other numbers from now on.
    pub(super) fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.tries.clear();
        self.adjacencies.clear();
    }

    pub(super) fn stamp(&self, rows: u32) -> Stamp {
        static RELATIONS: AtomicU64 = AtomicU64::new(0);
        let relation = *self.number.get_or_init(|| RELATIONS.fetch_add(1, Ordering::Relaxed));
        Stamp { relation, epoch: self.epoch, rows }
    }
}

/// Views of one kind, the latest last.
pub(super) struct Kept<S, V>(Mutex<Vec<KeptView<S, V>>>);

struct KeptView<S, V> {
    shape: S,
    /// Of the relations whose rows it is made of.
    stamps: Box<[Stamp]>,
    view: Arc<V>,
}

impl<S, V> Default for Kept<S, V> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<S, V> Kept<S, V> {
    fn clear(&mut self) {
        self.0.get_mut().expect(UNHARMED).clear();
    }

    /// The view of this shape, if it has the rows that these stamps say.
    pub(super) fn get<Q: PartialEq + ?Sized>(&self, shape: &Q, stamps: &[Stamp]) -> Option<Arc<V>>
    where
        S: Borrow<Q>,
    {
        let kept = self.0.lock().expect(UNHARMED);
        let found = kept.iter().find(|kept| kept.shape.borrow() == shape && *kept.stamps == *stamps)?;
        Some(Arc::clone(&found.view))
    }

    /// Keeps a view, in the place of one of the same shape or of the oldest.
    pub(super) fn keep(&self, shape: S, stamps: &[Stamp], view: Arc<V>)
    where
        S: PartialEq,
    {
        let mut kept = self.0.lock().expect(UNHARMED);
        kept.retain(|kept| kept.shape != shape);
        if kept.len() == VIEWS_MAX {
            kept.remove(0);
        }
        kept.push(KeptView { shape, stamps: stamps.into(), view });
    }
}

/// Why the lock is never poisoned.
const UNHARMED: &str = "nothing panics while the views of a relation are locked";
