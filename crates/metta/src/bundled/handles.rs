//! Handles: atoms for what the world or the run holds by number, such as open files, stores and random generators.

use crate::operation::Call;
use space::{Atom, Grounded, HostValue};
use std::any::Any;
use std::sync::Arc;

/// What handles of one kind have in common.
pub(super) struct HandleKind {
    /// The type of the atom, with which its name begins.
    pub(super) type_name: &'static str,
    /// What identities begin with, which the number follows.
    pub(super) identity: &'static str,
    /// Whether the number means the thing in another process as well.
    pub(super) is_durable: bool,
}

/// A handle. Two handles of one kind are equal if their numbers are.
pub(crate) struct Handle {
    kind: &'static HandleKind,
    number: u64,
    name: String,
    identity: String,
}

impl HostValue for Handle {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn type_atom(&self) -> Atom {
        Atom::symbol(self.kind.type_name)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_durable(&self) -> bool {
        self.kind.is_durable
    }
}

impl HandleKind {
    /// The handle of a number.
    pub(super) fn handle(&'static self, number: u64) -> Arc<Handle> {
        let name = format!("{}-{number}", self.type_name);
        let identity = format!("{}-{number}", self.identity);
        Arc::new(Handle { kind: self, number, name, identity })
    }

    /// The handle of a number, as an atom.
    pub(super) fn atom(&'static self, number: u64) -> Atom {
        Atom::Grounded(Grounded::Host(self.handle(number)))
    }

    /// The number that an identity of this kind ends with.
    pub(super) fn number_of_identity(&self, identity: &str) -> Option<u64> {
        identity.strip_prefix(self.identity)?.strip_prefix('-')?.parse().ok()
    }

    /// The number of the handle of this kind that an argument is.
    pub(super) fn argument(&'static self, call: &Call<'_>, position: usize) -> Option<u64> {
        let Atom::Grounded(Grounded::Host(value)) = call.argument(position)? else { return None };
        let handle = value.as_any().downcast_ref::<Handle>()?;
        std::ptr::eq(handle.kind, self).then_some(handle.number)
    }
}
