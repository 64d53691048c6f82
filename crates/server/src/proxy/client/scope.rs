//! Where the requests of a connection may go.

/// Where the requests of a connection go.
#[derive(Clone, Debug)]
pub(crate) enum ConnectionScope {
    /// Where each of them says.
    Anywhere,
    /// To the one server that a tunnel was asked for to.
    Tunnel(Tunnel),
}

/// What a client asked a tunnel for.
#[derive(Clone, Debug)]
pub(crate) struct Tunnel {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Whether TLS is spoken in it.
    pub(crate) is_secure: bool,
    /// The name that the client wants a certificate of, if it is not the host.
    pub(crate) server_name: Option<String>,
}
