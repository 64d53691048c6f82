//! Connections and messages, whatever they are for: bytes with TLS around them or without, HTTP/1 and HTTP/2 on the wire, bodies.
//!
//! Nothing here knows what a proxy does with a message.

pub(crate) mod flushes;
pub(crate) mod headers;
pub(crate) mod http1;
pub(crate) mod http2;
pub(crate) mod peer;
pub(crate) mod peer_error;
pub(crate) mod stream;
