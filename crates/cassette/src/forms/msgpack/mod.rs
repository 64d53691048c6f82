//! Values in MessagePack, structures as arrays.

#[cfg(not(feature = "msgpack"))]
mod off;
#[cfg(feature = "msgpack")]
mod on;

#[cfg(not(feature = "msgpack"))]
pub(super) use off::{read, write};
#[cfg(feature = "msgpack")]
pub(super) use on::{read, write};
