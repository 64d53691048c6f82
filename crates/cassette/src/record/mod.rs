//! The bytes of exchanges and of what happens to them: the only place that knows them, beside `docs/formats.md`.
//!
//! [`whole`] is an exchange in one piece, as it lies in the blocks of a sealed tape and in frames that record one at once;
//! [`event`] is a frame of a recording; [`assemble`] makes exchanges of events.

pub(crate) mod assemble;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod whole;
