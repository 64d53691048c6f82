//! The memory of an evaluation, and how much of it and of time may be used.
//!
//! 1. [`counters::Counters`] is the state: what is counted, how many steps are left until limits are looked at, and when garbage is collected.
//! 2. [`limits::Limits`] looks at limits, and says when garbage is collected. It borrows what it looks at, from `Running::limits`.
//! 3. [`garbage::Collection`] moves what is held to a fresh region; [`forget`] cuts off code that nothing goes on in ([`pieces`]).
//! 4. [`kept`] remembers large data on its way between the heap and atoms.
//!
//! Nothing is evaluated here. Collections happen where the machine asks for one (`fuel.rs`).

pub(super) mod counters;
pub(super) mod forget;
pub(super) mod garbage;
pub(super) mod kept;
pub(super) mod limits;
pub(super) mod pieces;
