//! The proxy as its clients see it, against a server on loopback.

mod answers;
mod changes;
mod control;
mod fixture;
mod http2;
mod measure;
mod messages;
mod refusals;
mod robustness;
mod streams;
mod ways;
mod websockets;
