//! Regions that the compiler watches over.
//!
//! A [`RegionScope`] is an open region together with its heap, and a [`Term`] a reference that knows the scope it is of, by a
//! lifetime that no other scope has (a *brand*). So a term cannot be used with another heap or another region, nor after its
//! region was closed; that costs nothing when the program runs. A scope within a scope may use the terms of the outer one, and
//! what it results in [leaves](crate::Heap::transmigrate) for the outer one:
//!
//! ```
//! use region::{Full, Heap, Ref, RegionScope, tag};
//! # fn main() -> Result<(), Full> {
//! let mut heap = Heap::new();
//! let length = RegionScope::run(&mut heap, |mut scope| -> Result<usize, Full> {
//!     let one = scope.immediate(tag::IMMEDIATE_0, 1);
//!     let pair = scope.within(|inner| {
//!         let one = inner.outer(one);
//!         let garbage = inner.expression(&[one; 100])?;
//!         inner.expression(&[one, one]).map(|pair| (garbage, pair).1)
//!     })?;
//!     Ok(scope.children(pair).count())
//! })?;
//! assert_eq!(length, 2);
//! # Ok(())
//! # }
//! ```
//!
//! A term cannot leave its scope,
//!
//! ```compile_fail
//! let mut heap = region::Heap::new();
//! let kept = region::RegionScope::run(&mut heap, |mut scope| scope.expression(&[]).unwrap());
//! ```
//!
//! nor an inner one, except as the result that is moved,
//!
//! ```compile_fail
//! let mut heap = region::Heap::new();
//! region::RegionScope::run(&mut heap, |mut scope| {
//!     let mut kept = None;
//!     let _ = scope.within(|inner| {
//!         let made = inner.expression(&[])?;
//!         kept = Some(made);
//!         Ok::<_, region::Full>(made)
//!     });
//! });
//! ```
//!
//! nor be bound to a variable of an outer scope,
//!
//! ```compile_fail
//! let mut heap = region::Heap::new();
//! region::RegionScope::run(&mut heap, |mut scope| {
//!     let variable = scope.variable(1).unwrap();
//!     let _ = scope.within(|inner| {
//!         let made = inner.expression(&[])?;
//!         inner.bind(variable, made);
//!         Ok::<_, region::Full>(made)
//!     });
//! });
//! ```
//!
//! nor be used with another heap:
//!
//! ```compile_fail
//! let (mut one, mut other) = (region::Heap::new(), region::Heap::new());
//! region::RegionScope::run(&mut one, |mut one| {
//!     let made = one.expression(&[]).unwrap();
//!     region::RegionScope::run(&mut other, |mut other| {
//!         other.expression(&[made]).unwrap();
//!     });
//! });
//! ```
//!
//! Lifetimes as brands are an idea of J. Launchbury and S. Peyton Jones (*Lazy functional state threads*, 1994).

use std::marker::PhantomData;

use crate::heap::Heap;
use crate::limit::Full;
use crate::reference::Ref;
use crate::region::Region;
use crate::splice::StillOpen;

/// A lifetime that can be neither shortened nor made longer.
type Brand<'id> = PhantomData<fn(&'id ()) -> &'id ()>;

/// A reference to something in a scope, or an immediate. See the [module's example](RegionScope).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Term<'id> {
    reference: Ref,
    brand: Brand<'id>,
}

impl<'id> Term<'id> {
    fn new(reference: Ref) -> Term<'id> {
        Term { reference, brand: PhantomData }
    }

    /// The reference, which the compiler does not watch over.
    pub fn reference(self) -> Ref {
        self.reference
    }
}

/// A variable made in a scope. A scope within it sees it as a term, so that it cannot bind it to what it will give back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct Variable<'id>(Term<'id>);

impl<'id> Variable<'id> {
    /// The variable, to be put into something.
    pub fn term(self) -> Term<'id> {
        self.0
    }
}

/// An open region and its heap; it is closed when the scope ends, also by a panic. `'outer` is the scope it lies within.
#[derive(Debug)]
pub struct RegionScope<'id, 'outer, 'h> {
    heap: &'h mut Heap,
    region: Region,
    brand: Brand<'id>,
    outer: Brand<'outer>,
}

impl<'h> RegionScope<'static, 'static, 'h> {
    /// Opens a region for as long as this runs.
    pub fn run<R>(heap: &'h mut Heap, run: impl for<'id> FnOnce(RegionScope<'id, 'static, 'h>) -> R) -> R {
        run(RegionScope { region: heap.open(), heap, brand: PhantomData, outer: PhantomData })
    }
}

impl<'id, 'outer> RegionScope<'id, 'outer, '_> {
    /// Runs this with a scope within this one. What it results in is moved here, the [cheapest
    /// way](crate::Heap::transmigrate), and all else is given back.
    pub fn within<E: From<Full>>(
        &mut self,
        run: impl for<'inner> FnOnce(&mut RegionScope<'inner, 'id, '_>) -> Result<Term<'inner>, E>,
    ) -> Result<Term<'id>, E> {
        let mut inner =
            RegionScope { region: self.heap.open(), heap: &mut *self.heap, brand: PhantomData, outer: PhantomData };
        let mut roots = [run(&mut inner)?.reference];
        let region = std::mem::replace(&mut inner.region, Region::EMPTY);
        drop(inner);
        match self.heap.transmigrate(&mut roots, region, &mut self.region) {
            Ok(_) => Ok(Term::new(roots[0])),
            Err(StillOpen { full, region }) => {
                self.heap.close(region);
                Err(full.into())
            }
        }
    }

    /// A term of the scope that this one lies within: it outlives this one.
    pub fn outer(&self, term: Term<'outer>) -> Term<'id> {
        Term::new(term.reference)
    }

    /// Sets how many bytes of cells the region may hold: see [`Region::set_limit`].
    pub fn set_limit(&mut self, bytes: Option<usize>) {
        self.region.set_limit(bytes);
    }

    /// An immediate of a tag up to [`IMMEDIATE_3`](crate::tag::IMMEDIATE_3) with a payload.
    pub fn immediate(&self, tag: u32, payload: u32) -> Term<'id> {
        let reference = Ref::new(tag, payload);
        assert!(reference.is_immediate(), "an immediate has a tag of 0 to 3, not {tag}");
        Term::new(reference)
    }

    /// See [`Heap::expression`].
    pub fn expression(&mut self, children: &[Term<'id>]) -> Result<Term<'id>, Full> {
        let made = self.heap.reserve(&mut self.region, children.len())?;
        for (index, child) in children.iter().enumerate() {
            self.heap.set_child(made, index, child.reference);
        }
        Ok(Term::new(made))
    }

    /// See [`Heap::variable`].
    pub fn variable(&mut self, label: u32) -> Result<Variable<'id>, Full> {
        self.heap.variable(&mut self.region, label).map(|variable| Variable(Term::new(variable)))
    }

    /// See [`Heap::number`].
    pub fn number(&mut self, kind: u32, bits: u64) -> Result<Term<'id>, Full> {
        self.heap.number(&mut self.region, kind, bits).map(Term::new)
    }

    /// See [`Heap::bind`].
    pub fn bind(&mut self, variable: Variable<'id>, value: Term<'id>) {
        self.heap.bind(variable.0.reference, value.reference);
    }

    /// See [`Heap::walk`].
    pub fn walk(&self, term: Term<'id>) -> Term<'id> {
        Term::new(self.heap.walk(term.reference))
    }

    /// See [`Heap::children`].
    pub fn children(&self, expression: Term<'id>) -> impl ExactSizeIterator<Item = Term<'id>> {
        self.heap.children(expression.reference).iter().map(|child| Term::new(*child))
    }

    /// See [`Heap::number_bits`].
    pub fn number_bits(&self, number: Term<'id>) -> u64 {
        self.heap.number_bits(number.reference)
    }
}

impl Drop for RegionScope<'_, '_, '_> {
    fn drop(&mut self) {
        self.heap.close(std::mem::replace(&mut self.region, Region::EMPTY));
    }
}
