//! How deep and long atoms may be that are taken apart by recursion.

use space::{Atom, written_bytes_least};

/// Expressions nested deeper than this are not compiled.
pub(super) const DEPTH_MAX: usize = 100;

/// Functions are not compiled that need more slots than this, or have more rules with bodies.
pub(super) const SLOTS_MAX: usize = 4_000;

/// What is written with more bytes is not compiled: code has a part for each part of it, also where the atom shares them.
const COMPILED_BYTES_MAX: u64 = 1 << 24;

/// Whether an atom nests deeper than what is compiled, which is taken apart by recursion, or is longer.
pub(super) fn is_deep(atom: &Atom) -> bool {
    fn is_deeper_than(atom: &Atom, levels: usize) -> bool {
        match (atom.children(), levels.checked_sub(1)) {
            (None, _) => false,
            (Some(children), Some(left)) => children.iter().any(|child| is_deeper_than(child, left)),
            (Some(children), None) => !children.is_empty(),
        }
    }
    written_bytes_least(atom, COMPILED_BYTES_MAX) == COMPILED_BYTES_MAX || is_deeper_than(atom, DEPTH_MAX)
}
