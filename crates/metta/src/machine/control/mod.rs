//! Where an evaluation is, and what it may return to.
//!
//! 1. [`frames::Frames`] is the stack: the frame at hand, its slots, and what of the stack choices need.
//! 2. [`choices::Choices`] are the alternatives that are left, with the [bindings](super::matching) that are undone when one is taken up, and the
//!    memory that is given back then.
//! 3. [`collected`] are results in their order, each with what it binds. [`assumptions`] says where results are used as they are found.
//!
//! Nothing is evaluated here: what an alternative goes on with, and what results lead to, is decided by the machine.

pub(super) mod assumptions;
pub(super) mod choices;
pub(super) mod collected;
pub(super) mod frames;
pub(super) mod goals;
pub(super) mod trying;
