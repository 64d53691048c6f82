//! A proxy that records any program's HTTP and WebSocket traffic to a cassette, and answers from it.
//!
//! 1. A [`Proxy`] listens; a program is told of it by its [`environment`], and trusts its [`Authority`].
//! 2. What comes is decided by the mode of the [`Traffic`]: it goes to the network and to the cassette as it happens, or is answered
//!    from the cassette and never goes to the network.
//! 3. What it did is in its [`Report`].
//!
//! It is the only crate of Metroon that links tokio. Its interface blocks.
#![forbid(unsafe_code)]

mod authority;
mod client;
mod client_request;
mod control;
mod edits;
mod environment;
mod error;
mod exchange;
mod flushes;
mod headers;
mod http1;
mod http2;
#[cfg(target_os = "linux")]
mod isolation;
mod options;
mod own_answers;
mod peer;
mod peer_error;
mod proxy;
mod record;
mod relay_error;
mod replay;
mod reply;
mod report;
mod schedule;
mod session;
mod shared;
mod stream;
mod tap;
mod threads;
mod upstream;
mod websocket;

pub use authority::{Authority, data_directory};
pub use edits::Edits;
pub use environment::environment;
pub use error::{AuthorityError, EditsError, ProxyError};
#[cfg(target_os = "linux")]
pub use isolation::{BRIDGES_MAX, Isolation, IsolationError, become_isolated};
pub use options::{
    ControlOptions, Latency, Limits, OptionError, PassedHost, ProxyOptions, Resolve, Traffic, UpstreamProxy,
};
pub use proxy::Proxy;
pub use report::{DETAILS_MAX, Report};
