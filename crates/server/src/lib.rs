//! A proxy that records any program's HTTP and WebSocket traffic to a cassette, and answers from it.
//!
//! 1. A [`Proxy`] listens; a program is told of it by its [`environment`], and trusts its [`Authority`].
//! 2. What comes is decided by the mode of the [`Traffic`]: it goes to the network and to the cassette as it happens, or is answered
//!    from the cassette and never goes to the network.
//! 3. What it did is in its [`Report`].
//!
//! It is the only crate of Metroon that links tokio. Its interface blocks.
#![forbid(unsafe_code)]

mod proxy;
mod runtime;

pub use proxy::{
    AmbiguousAnswers, Authority, AuthorityError, ControlOptions, DETAILS_MAX, Edits, EditsError, Latency, Limits,
    OptionError, PassedHost, Proxy, ProxyError, ProxyOptions, Report, Resolve, Traffic, UpstreamProxy, data_directory,
    environment,
};
#[cfg(target_os = "linux")]
pub use proxy::{BRIDGES_MAX, Isolation, IsolationError, become_isolated};
