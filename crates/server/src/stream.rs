//! A connection, with TLS around it or without.

use bytes::{Buf, Bytes};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

/// A connection whose first bytes may have been read already.
pub(crate) struct Stream {
    ahead: Bytes,
    inner: Inner,
}

enum Inner {
    Tcp(TcpStream),
    Server(Box<server::TlsStream<Stream>>),
    Client(Box<client::TlsStream<Stream>>),
}

impl From<TcpStream> for Stream {
    fn from(tcp: TcpStream) -> Self {
        Self { ahead: Bytes::new(), inner: Inner::Tcp(tcp) }
    }
}

impl From<server::TlsStream<Stream>> for Stream {
    fn from(tls: server::TlsStream<Self>) -> Self {
        Self { ahead: Bytes::new(), inner: Inner::Server(Box::new(tls)) }
    }
}

impl From<client::TlsStream<Stream>> for Stream {
    fn from(tls: client::TlsStream<Self>) -> Self {
        Self { ahead: Bytes::new(), inner: Inner::Client(Box::new(tls)) }
    }
}

impl Stream {
    /// The same, with bytes that were read from it in front.
    pub(crate) fn with_ahead(mut self, ahead: Bytes) -> Self {
        self.ahead = if self.ahead.is_empty() { ahead } else { [&*ahead, &*self.ahead].concat().into() };
        self
    }

    /// Whether TLS was spoken to agree on HTTP/2.
    pub(crate) fn speaks_h2(&self) -> bool {
        let alpn = match &self.inner {
            Inner::Tcp(_) => None,
            Inner::Server(tls) => tls.get_ref().1.alpn_protocol(),
            Inner::Client(tls) => tls.get_ref().1.alpn_protocol(),
        };
        alpn == Some(b"h2")
    }

    /// Ends it in a way that the other side cannot take for an orderly end.
    pub(crate) fn reset(self) {
        // If the system refuses, it is closed as others are.
        let _ = self.tcp().set_zero_linger();
    }

    fn tcp(&self) -> &TcpStream {
        match &self.inner {
            Inner::Tcp(tcp) => tcp,
            Inner::Server(tls) => tls.get_ref().0.tcp(),
            Inner::Client(tls) => tls.get_ref().0.tcp(),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(out.remaining());
            out.put_slice(&self.ahead[..count]);
            self.ahead.advance(count);
            return Poll::Ready(Ok(()));
        }
        match &mut self.inner {
            Inner::Tcp(tcp) => Pin::new(tcp).poll_read(context, out),
            Inner::Server(tls) => Pin::new(tls).poll_read(context, out),
            Inner::Client(tls) => Pin::new(tls).poll_read(context, out),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            Inner::Tcp(tcp) => Pin::new(tcp).poll_write(context, bytes),
            Inner::Server(tls) => Pin::new(tls).poll_write(context, bytes),
            Inner::Client(tls) => Pin::new(tls).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Tcp(tcp) => Pin::new(tcp).poll_flush(context),
            Inner::Server(tls) => Pin::new(tls).poll_flush(context),
            Inner::Client(tls) => Pin::new(tls).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            Inner::Tcp(tcp) => Pin::new(tcp).poll_shutdown(context),
            Inner::Server(tls) => Pin::new(tls).poll_shutdown(context),
            Inner::Client(tls) => Pin::new(tls).poll_shutdown(context),
        }
    }
}
