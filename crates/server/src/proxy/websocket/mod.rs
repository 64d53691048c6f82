//! WebSockets: recorded frame by frame as they are on the wire, and replayed with no server.
//!
//! What extensions make of frames stays as it is, since nothing but masks is undone. So frames are read here, and not by a
//! library, which would give messages.

mod frame;
mod relay;
mod replay;

pub(crate) use relay::relay;
pub(crate) use replay::replay;
