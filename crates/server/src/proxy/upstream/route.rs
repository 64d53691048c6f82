//! Where a request goes: the scheme, the host and the port of a server.

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Route {
    /// Whether TLS is spoken.
    pub(crate) is_secure: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The name in the certificate, if the client named another one than the host.
    pub(crate) server_name: Option<String>,
    /// Whether the client speaks HTTP/2.
    pub(crate) may_be_http2: bool,
}

impl Route {
    /// Host and port as in a header: without the port that the scheme has anyway.
    pub(crate) fn authority(&self) -> String {
        let usual = if self.is_secure { 443 } else { 80 };
        if self.port == usual { bracketed(&self.host) } else { format!("{}:{}", bracketed(&self.host), self.port) }
    }
}

/// An address of IPv6 stands in brackets where a port may follow.
pub(crate) fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}
