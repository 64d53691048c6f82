//! The explicit stack of an evaluation: frames that wait for a result, linked to the frame below.
//!
//! Alternatives share the frames they were born under, so frames are immutable and reference-counted. Freeing a
//! stack of a million frames takes a loop, not a recursion.

use space::{Atom, Expression, SpaceRef, Variable};
use std::rc::Rc;

pub(super) type FrameRef = Option<Rc<Frame>>;

pub(super) struct Frame {
    pub(super) parent: FrameRef,
    pub(super) depth: usize,
    pub(super) waiting: Waiting,
}

/// What a frame does with the result it waits for.
pub(super) enum Waiting {
    /// The end of a barrier's stack: the result is noted and the next alternative tried.
    Barrier,
    /// `(chain … $variable template)`.
    Chain { variable: Variable, template: Atom },
    /// `(function …)`, with the call that entered it.
    Function { call: Atom },
    /// The children of a tuple, from left to right.
    Tuple(Tuple),
    /// The head and the arguments of a function call, from left to right.
    Arguments(Arguments),
    /// Code that a call was reduced to; its result is evaluated further.
    Reduct { call: Atom, target: Target },
}

/// What is asked of an evaluation: a type, in a space.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) type_atom: Atom,
    pub(super) space: SpaceRef,
}

#[derive(Clone)]
pub(super) struct Tuple {
    pub(super) done: List,
    pub(super) rest: Expression,
    pub(super) target: Target,
}

#[derive(Clone)]
pub(super) struct Arguments {
    pub(super) done: List,
    /// The child being evaluated, and those after it.
    pub(super) rest: Expression,
    /// The types that the child and those after it must have.
    pub(super) types: Expression,
    pub(super) target: Target,
}

impl Frame {
    pub(super) fn push(parent: FrameRef, waiting: Waiting) -> FrameRef {
        let depth = depth(&parent) + 1;
        Some(Rc::new(Self { parent, depth, waiting }))
    }
}

pub(super) fn depth(frame: &FrameRef) -> usize {
    frame.as_ref().map_or(0, |frame| frame.depth)
}

impl Drop for Frame {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut frame) = parent.and_then(Rc::into_inner) {
            parent = frame.parent.take();
        }
    }
}

/// A list that grows at its end and shares what it had before.
#[derive(Clone, Default)]
pub(super) struct List(Option<Rc<Link>>);

struct Link {
    value: Atom,
    length: usize,
    before: List,
}

impl List {
    pub(super) fn with(&self, value: Atom) -> Self {
        Self(Some(Rc::new(Link { value, length: self.len() + 1, before: self.clone() })))
    }

    pub(super) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |link| link.length)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Atom> {
        let mut next = &self.0;
        std::iter::from_fn(move || {
            let link = next.as_ref()?;
            next = &link.before.0;
            Some(&link.value)
        })
    }

    /// The expression of its elements.
    pub(super) fn to_expression(&self) -> Atom {
        let mut children: Vec<Atom> = self.iter().cloned().collect();
        children.reverse();
        Atom::expression(children)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let mut before = self.before.0.take();
        while let Some(mut link) = before.and_then(Rc::into_inner) {
            before = link.before.0.take();
        }
    }
}
