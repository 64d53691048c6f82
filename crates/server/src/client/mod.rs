//! Connections of clients, from the first byte to the last.
//!
//! 1. Each connection is a task. It speaks HTTP/1, as clients of a proxy do, until one asks for a tunnel by `CONNECT`.
//! 2. Within a tunnel the first byte shows what is spoken: TLS, for which a certificate is made, or HTTP without it. TLS agrees on
//!    HTTP/2 or HTTP/1.
//! 3. Every request becomes an [`Asked`](crate::exchange::Asked), whatever it came by.

mod h1;
mod h2;
mod own;
mod target;
mod tunnel;

use crate::report::count;
use crate::shared::{Guard, Shared};
use crate::stream::Stream;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Where the requests of a connection go.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
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

/// Takes connections until the proxy stops.
pub(crate) async fn accept(shared: Arc<Shared>, listener: TcpListener) {
    let stopping = shared.stopping();
    tokio::pin!(stopping);
    loop {
        let accepted = tokio::select! {
            () = &mut stopping => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((tcp, _)) => take(&shared, tcp),
            // There is no room for it, such as no file number; connections that end make some.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

fn take(shared: &Arc<Shared>, tcp: TcpStream) {
    count(&shared.counts.connections);
    // Small messages are not to wait for others.
    let _ = tcp.set_nodelay(true);
    match shared.enter() {
        Some(guard) => {
            tokio::spawn(connection(shared.clone(), tcp, guard));
        }
        None => {
            count(&shared.counts.refused);
            tokio::spawn(turn_away(tcp, shared.limits.connections));
        }
    }
}

async fn connection(shared: Arc<Shared>, tcp: TcpStream, _guard: Guard) {
    h1::serve(&shared, Stream::from(tcp), &Scope::Anywhere).await;
}

async fn turn_away(mut tcp: TcpStream, most: usize) {
    let body = format!("mnemon: more than {most} connections at a time; allow more, or make fewer\n");
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\nX-Mnemon: refused\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let answer = async {
        tcp.write_all((head + &body).as_bytes()).await?;
        linger(&mut tcp).await
    };
    let _ = timeout(Duration::from_secs(2), answer).await;
}

/// Lets the client read what was sent: if it is still sending, the system would throw away the answer with the connection.
async fn linger<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(stream: &mut S) -> std::io::Result<()> {
    stream.shutdown().await?;
    let mut dropped = [0; 4096];
    let drain = async {
        while stream.read(&mut dropped).await? > 0 {}
        Ok(())
    };
    timeout(Duration::from_secs(1), drain).await.unwrap_or(Ok(()))
}
