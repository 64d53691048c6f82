//! Results of a form that any thread may read.

use super::values::{Leaves, atom_of, number_in};
use region::{Frozen, FrozenHeap, Ref};
use rustc_hash::FxHashMap;
use space::Atom;
use std::convert::Infallible;

/// What a form came to, for any thread to read, whatever the run does meanwhile: see [`Session::freeze_results`].
///
/// The memory is that of the results' expressions, and is given back when this is dropped. What symbols, variables and
/// grounded values they hold is kept beside, once for each.
///
/// [`Session::freeze_results`]: crate::Session::freeze_results
#[derive(Debug)]
pub struct FrozenResults {
    pub(super) frozen: Frozen,
    pub(super) leaves: FxHashMap<Ref, Atom>,
}

impl FrozenResults {
    /// How many results there are.
    pub fn len(&self) -> usize {
        self.frozen.roots().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A result as an atom, counted from 0; `None` if there are fewer. Linear in its size.
    pub fn get(&self, index: usize) -> Option<Atom> {
        let atom = |&root: &Ref| {
            let Ok(atom) = atom_of(root, &mut &*self);
            atom
        };
        self.frozen.roots().get(index).map(atom)
    }

    /// All of them, in order.
    pub fn atoms(&self) -> impl Iterator<Item = Atom> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl Leaves for &FrozenResults {
    type Words = Box<[Ref]>;
    type Error = Infallible;

    fn heap(&self) -> &FrozenHeap {
        &self.frozen
    }

    fn leaf(&mut self, leaf: Ref) -> Atom {
        match number_in(&self.frozen, leaf) {
            Some(number) => Atom::from(number),
            None => self.leaves.get(&leaf).cloned().unwrap_or_else(Atom::unit),
        }
    }

    fn look(&self) -> Result<(), Infallible> {
        Ok(())
    }
}
