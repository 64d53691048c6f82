//! The proxy as its clients see it, against a server on loopback.

mod fixture;
mod messages;
