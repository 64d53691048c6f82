//! Connections of clients, from the first byte to the last.
//!
//! 1. Each connection is a task, which stays on one thread. It speaks HTTP/1, as clients of a proxy do, until one asks for a tunnel by `CONNECT`.
//! 2. Within a tunnel the first byte shows what is spoken: TLS, for which a certificate is made, or HTTP without it. TLS agrees on
//!    HTTP/2 or HTTP/1.
//! 3. Every request becomes an [`ClientRequest`](crate::proxy::exchange::Asked), whatever it came by.

mod builtin;
mod h1;
mod h2;
mod linger;
mod scope;
mod target;
mod tunnel;

pub(crate) use builtin::state;

use crate::proxy::report::count;
use crate::proxy::threads::ServingThread;
use crate::runtime::stream::ByteStream;
use linger::linger;
use scope::ConnectionScope;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Takes connections until the proxy stops, each for the thread that has the fewest.
pub(crate) async fn accept(threads: Arc<[ServingThread]>, listener: TcpListener) {
    let Some(first) = threads.first() else { return };
    let stopping = first.shared.stopping();
    tokio::pin!(stopping);
    loop {
        let accepted = tokio::select! {
            () = &mut stopping => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((tcp, _)) => {
                let thread = threads.iter().min_by_key(|thread| thread.shared.busy()).unwrap_or(first);
                // One that cannot be handed over is closed, as one for which there is no room.
                let _ = tcp.into_std().map(|tcp| take(thread, tcp));
            }
            // There is no room for it, such as no file number; connections that end make some.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

fn take(thread: &ServingThread, tcp: std::net::TcpStream) {
    let shared = thread.shared.clone();
    count(&shared.counts.connections);
    // Small messages are not to wait for others.
    let _ = tcp.set_nodelay(true);
    let guard = shared.enter();
    thread.spawn(async move {
        let Ok(tcp) = TcpStream::from_std(tcp) else { return };
        match guard {
            Some(_guard) => {
                let stream = ByteStream::from(tcp);
                if let Some((stream, tunnel)) = h1::serve(&shared, stream, &ConnectionScope::Anywhere).await {
                    tunnel::serve(&shared, stream, tunnel).await;
                }
            }
            None => {
                let most = shared.limits.connections;
                shared.counts.refuse(format!("there were more than {most} connections at a time"));
                turn_away(tcp, most).await;
            }
        }
    });
}

async fn turn_away(mut tcp: TcpStream, most: usize) {
    let body = format!("metroon: more than {most} connections at a time; allow more, or make fewer\n");
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\nX-Metroon: refused\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let answer = async {
        tcp.write_all((head + &body).as_bytes()).await?;
        linger(&mut tcp).await
    };
    let _ = timeout(Duration::from_secs(2), answer).await;
}
