//! Variables: a binding and a label each; an unbound one is bound to itself.

use crate::heap::{Heap, aside};
use crate::layout::LaneKind;
use crate::limit::Full;
use crate::reference::{Ref, tag};
use crate::region::Region;
use crate::words::{Addressed, Words};

impl Heap {
    /// Makes an unbound variable with the owner's label.
    #[inline]
    pub fn variable(&mut self, region: &mut Region, label: u32) -> Result<Ref, Full> {
        let at = match region.variables.bump_few(1) {
            Some(at) => at,
            None => match self.chunks.variable_at_once(region) {
                Some(at) => at,
                None => aside(region, |region| self.extend_variables(region))?,
            },
        };
        let variable = Ref::new(tag::VARIABLE, at);
        self.write_cell(at, [variable, Ref::from_bits(label)]);
        Ok(variable)
    }

    #[cold]
    #[inline(never)]
    fn extend_variables(&mut self, region: &mut Region) -> Result<u32, Full> {
        self.chunks.extend_by_one(&mut self.words, region, LaneKind::Variables, 1)
    }

    /// Gives a variable another label.
    #[inline]
    pub fn set_label(&mut self, variable: Ref, label: u32) {
        debug_assert!(variable.is_variable());
        self.words[variable.payload() as usize * 2 + 1] = Ref::from_bits(label);
    }

    /// Binds a variable. Chains of variables must end: a variable may not be bound to one that leads back to it.
    #[inline]
    pub fn bind(&mut self, variable: Ref, value: Ref) {
        debug_assert!(variable.is_variable());
        debug_assert!(value != variable, "a chain of variables must end");
        self.words[variable.payload() as usize * 2] = value;
    }

    /// Writes a binding that is not yet what it will be.
    #[inline]
    pub(crate) fn write_binding(&mut self, variable: Ref, value: Ref) {
        self.words[variable.payload() as usize * 2] = value;
    }

    /// Makes a variable unbound.
    #[inline]
    pub fn unbind(&mut self, variable: Ref) {
        debug_assert!(variable.is_variable());
        self.words[variable.payload() as usize * 2] = variable;
    }
}

/// Reading variables, of a heap that is frozen as well.
impl<W: Words> Heap<W> {
    /// The owner's label of a variable.
    #[inline]
    pub fn label(&self, variable: Ref) -> u32 {
        debug_assert!(variable.is_variable());
        self.words[variable.payload() as usize * 2 + 1].bits()
    }

    /// What a variable is bound to, if it is bound.
    #[inline]
    pub fn binding(&self, variable: Ref) -> Option<Ref> {
        debug_assert!(variable.is_variable());
        let value = self.words[variable.payload() as usize * 2];
        (value != variable).then_some(value)
    }

    /// Follows bindings to an unbound variable or to what is not a variable.
    #[inline]
    pub fn walk(&self, reference: Ref) -> Ref {
        walk_in(&*self.words, reference)
    }
}

/// What bindings lead to in a heap of these words.
#[inline]
pub(crate) fn walk_in(words: &(impl Addressed + ?Sized), mut reference: Ref) -> Ref {
    while reference.is_variable() {
        let value = words[reference.payload() as usize * 2];
        if value == reference {
            break;
        }
        reference = value;
    }
    reference
}
