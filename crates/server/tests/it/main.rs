//! The proxy as its clients see it, against a server on loopback.

mod anew;
mod answers;
mod changes;
mod concurrent;
mod control;
mod deflate;
mod fixture;
mod http2;
mod messages;
mod order;
mod pace;
mod protocol_ends;
mod refusals;
mod robustness;
mod streams;
mod threads;
mod ways;
mod websockets;
