//! The explicit stack of an evaluation: frames that wait for a result, linked to the frame below.
//!
//! Alternatives share the frames they were born under, so frames are immutable and reference-counted. Freeing a
//! stack of a million frames takes a loop, not a recursion.

use crate::evaluate::TracedCall;
use space::{Atom, Expression, SharedSpace, Variable};
use std::cell::Cell;
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
    Reduct { call: Call, target: Target },
    /// Where a trace is wanted: what a rule made of a call is being evaluated. The result is passed on.
    Called(Rc<TracedCall>),
}

/// What is asked of an evaluation: a type, in a space.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) type_atom: Atom,
    pub(super) space: SharedSpace,
}

#[derive(Clone)]
pub(super) struct Tuple {
    pub(super) progress: Progress,
    pub(super) target: Target,
}

#[derive(Clone)]
pub(super) struct Arguments {
    pub(super) progress: Progress,
    /// The types that the child being evaluated and those after it must have.
    pub(super) types: Expression,
    pub(super) target: Target,
    /// What is left out, if something is.
    pub(super) behind: Option<Behind>,
}

/// How many results of a call's arguments are still left out: the call was evaluated that far already. Its alternatives share the count.
#[derive(Clone)]
pub(super) struct Behind(Rc<Cell<usize>>);

impl Behind {
    pub(super) fn new(passed: usize) -> Self {
        Self(Rc::new(Cell::new(passed)))
    }

    /// Counts results of all arguments, or an error of one; says whether they are left out.
    pub(super) fn leaves_out(&self) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0
    }
}

/// How far the evaluation of an expression's children has come.
#[derive(Clone)]
pub(super) struct Progress {
    original: Expression,
    done: List,
    /// Whether a child came to something else than itself.
    changed: bool,
    /// Whether the expression is a reduct of another one, whose barrier it shares.
    is_reduct: bool,
}

impl Progress {
    pub(super) fn begin(original: Expression, is_reduct: bool) -> Self {
        Self { original, done: List::default(), changed: false, is_reduct }
    }

    pub(super) fn is_at_head(&self) -> bool {
        self.done.len() == 0
    }

    /// The child to be evaluated next.
    pub(super) fn next(&self) -> Option<&Atom> {
        self.original.children().get(self.done.len())
    }

    /// Takes the result of that child, `itself` if it came to itself.
    pub(super) fn with(&self, result: Atom, itself: bool) -> Self {
        let child = self.next().expect("a child was evaluated");
        let is_leaf = child.children().is_none_or(<[Atom]>::is_empty);
        let changed = self.changed || !(itself || is_leaf && *child == result);
        Self { done: self.done.with(result), changed, ..self.clone() }
    }

    /// The expression of the results.
    pub(super) fn call(&self) -> Call {
        Call { atom: self.done.to_expression(), changed: self.changed, is_reduct: self.is_reduct }
    }

    /// What is still referred to: the results so far and the children to come.
    pub(super) fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.done.iter().chain(&self.original.children()[self.done.len()..])
    }
}

/// An expression whose children are evaluated: a call, unless nothing reduces it.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) atom: Atom,
    /// Whether it differs from what was to be evaluated.
    pub(super) changed: bool,
    /// Whether it is a reduct of another expression, whose barrier it shares.
    pub(super) is_reduct: bool,
}

impl Frame {
    pub(super) fn push(parent: FrameRef, waiting: Waiting) -> FrameRef {
        // A trace changes nothing that a program can ask about.
        let own = usize::from(!matches!(waiting, Waiting::Called(_)));
        let depth = depth(&parent) + own;
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
