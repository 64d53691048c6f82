//! When all that was given to a connection by HTTP/2 has gone to the system.
//!
//! 1. The task of a connection sends what its streams gave it, when it is polled. Nothing of h2 says when that is done.
//! 2. So it is seen from outside. A connection that has nothing left to do when it was polled, and whose last writing did not have to
//!    wait, holds nothing back: what a stream gave it had room in its windows by then.
//! 3. A caller that wants to know sends a word to the task, which wakes it, and gets one back after such a poll.

use super::stream::ByteStream;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{mpsc, oneshot};

/// Asks whether all was sent.
#[derive(Clone)]
pub(crate) struct FlushNotifier(mpsc::UnboundedSender<oneshot::Sender<()>>);

impl FlushNotifier {
    /// Returns when all that was given to the connection before has gone to the system, or the connection is gone.
    pub(crate) async fn done(&self) {
        let (tell, told) = oneshot::channel();
        if self.0.send(tell).is_ok() {
            let _ = told.await;
        }
    }
}

/// Those who wait for that, at the task of the connection.
pub(crate) struct FlushWaiters {
    requests: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    waiting: Vec<oneshot::Sender<()>>,
    is_held_back: Arc<AtomicBool>,
}

impl FlushWaiters {
    /// For a connection, and the connection as it is to be used.
    pub(crate) fn on(stream: ByteStream) -> (FlushNotifier, Self, WatchedStream) {
        let (ask, requests) = mpsc::unbounded_channel();
        let is_held_back = Arc::new(AtomicBool::new(false));
        let watched = WatchedStream { stream, is_held_back: Arc::clone(&is_held_back) };
        (FlushNotifier(ask), Self { requests, waiting: Vec::new(), is_held_back }, watched)
    }

    /// Polls a connection, and tells who waits if all is sent.
    pub(crate) fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        mut connection: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        // Before the poll: what they have given by now is sent by it.
        while let Poll::Ready(Some(tell)) = self.requests.poll_recv(context) {
            self.waiting.push(tell);
        }
        let polled = connection(context);
        if polled.is_pending() && !self.is_held_back.load(Ordering::Relaxed) {
            for tell in self.waiting.drain(..) {
                // A caller that no longer waits does not want to know.
                let _ = tell.send(());
            }
        }
        polled
    }
}

/// A connection of which it is known whether it holds something back.
pub(crate) struct WatchedStream {
    stream: ByteStream,
    is_held_back: Arc<AtomicBool>,
}

impl WatchedStream {
    fn note<T>(&self, polled: Poll<T>) -> Poll<T> {
        self.is_held_back.store(polled.is_pending(), Ordering::Relaxed);
        polled
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, out)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.note(polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::io::Read;
    use std::net::TcpListener;
    use std::time::Duration;
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    /// More than the system holds for a connection.
    const BYTES: usize = 32 << 20;

    /// A stream was reset five milliseconds after its last piece, whether that had been sent or not.
    #[test]
    fn nothing_counts_as_sent_while_the_other_side_does_not_read() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        runtime.block_on(async {
            let near = TcpStream::connect(address).await.unwrap();
            let (mut far, _) = listener.accept().unwrap();
            let (flushes, mut waiting, mut watched) = FlushWaiters::on(ByteStream::from(near));
            let (piece, mut left) = (vec![0; 64 << 10], BYTES);
            let mut send = move |context: &mut Context<'_>| -> Poll<()> {
                while left > 0 {
                    match Pin::new(&mut watched).poll_write(context, &piece[..left.min(piece.len())]) {
                        Poll::Ready(sent) => left -= sent.unwrap(),
                        Poll::Pending => break,
                    }
                }
                Poll::Pending
            };
            tokio::spawn(async move { poll_fn(|context| waiting.poll(context, &mut send)).await });
            assert!(timeout(Duration::from_millis(200), flushes.done()).await.is_err());
            let reader = std::thread::spawn(move || far.read_exact(&mut vec![0; BYTES]));
            timeout(Duration::from_secs(60), flushes.done()).await.expect("all is sent");
            reader.join().unwrap().unwrap();
        });
    }
}
