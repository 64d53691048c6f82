//! A connection, with TLS around it or without.

use bytes::{Buf, Bytes};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

/// A connection whose first bytes may have been read already.
pub(crate) struct ByteStream {
    ahead: Bytes,
    inner: StreamKind,
}

enum StreamKind {
    Tcp(TcpStream),
    Server(Box<server::TlsStream<ByteStream>>),
    Client(Box<client::TlsStream<ByteStream>>),
}

impl From<TcpStream> for ByteStream {
    fn from(tcp: TcpStream) -> Self {
        Self { ahead: Bytes::new(), inner: StreamKind::Tcp(tcp) }
    }
}

impl From<server::TlsStream<ByteStream>> for ByteStream {
    fn from(tls: server::TlsStream<Self>) -> Self {
        Self { ahead: Bytes::new(), inner: StreamKind::Server(Box::new(tls)) }
    }
}

impl From<client::TlsStream<ByteStream>> for ByteStream {
    fn from(tls: client::TlsStream<Self>) -> Self {
        Self { ahead: Bytes::new(), inner: StreamKind::Client(Box::new(tls)) }
    }
}

impl ByteStream {
    /// This stream, with bytes that were read from it in front.
    pub(crate) fn with_ahead(mut self, ahead: Bytes) -> Self {
        self.ahead = if self.ahead.is_empty() { ahead } else { [&*ahead, &*self.ahead].concat().into() };
        self
    }

    /// Whether TLS was spoken to agree on HTTP/2.
    pub(crate) fn speaks_h2(&self) -> bool {
        let alpn = match &self.inner {
            StreamKind::Tcp(_) => None,
            StreamKind::Server(tls) => tls.get_ref().1.alpn_protocol(),
            StreamKind::Client(tls) => tls.get_ref().1.alpn_protocol(),
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
            StreamKind::Tcp(tcp) => tcp,
            StreamKind::Server(tls) => tls.get_ref().0.tcp(),
            StreamKind::Client(tls) => tls.get_ref().0.tcp(),
        }
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.ahead.is_empty() {
            let count = self.ahead.len().min(out.remaining());
            out.put_slice(&self.ahead[..count]);
            self.ahead.advance(count);
            return Poll::Ready(Ok(()));
        }
        match &mut self.inner {
            StreamKind::Tcp(tcp) => Pin::new(tcp).poll_read(context, out),
            StreamKind::Server(tls) => Pin::new(tls).poll_read(context, out),
            StreamKind::Client(tls) => Pin::new(tls).poll_read(context, out),
        }
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.inner {
            StreamKind::Tcp(tcp) => Pin::new(tcp).poll_write(context, bytes),
            StreamKind::Server(tls) => Pin::new(tls).poll_write(context, bytes),
            StreamKind::Client(tls) => Pin::new(tls).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            StreamKind::Tcp(tcp) => Pin::new(tcp).poll_flush(context),
            StreamKind::Server(tls) => Pin::new(tls).poll_flush(context),
            StreamKind::Client(tls) => Pin::new(tls).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.inner {
            StreamKind::Tcp(tcp) => Pin::new(tcp).poll_shutdown(context),
            StreamKind::Server(tls) => Pin::new(tls).poll_shutdown(context),
            StreamKind::Client(tls) => Pin::new(tls).poll_shutdown(context),
        }
    }
}
