//! A connection that a route can cut off.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Whether a connection is to end with a reset instead of in order. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct BreakOff(Arc<AtomicBool>);

impl BreakOff {
    /// The connection is reset when it is dropped, which its server does as soon as a body fails.
    pub(crate) fn reset(&self) {
        self.0.store(true, Ordering::Release);
    }
}

pub(crate) struct RawConnection {
    stream: TcpStream,
    cut: BreakOff,
}

impl RawConnection {
    pub(crate) fn new(stream: TcpStream, cut: BreakOff) -> Self {
        Self { stream, cut }
    }

    fn is_cut(&self) -> bool {
        self.cut.0.load(Ordering::Acquire)
    }
}

impl Drop for RawConnection {
    fn drop(&mut self) {
        if self.is_cut() {
            // If it cannot be set the connection ends in order, and the test that wants a reset says so.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for RawConnection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for RawConnection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
