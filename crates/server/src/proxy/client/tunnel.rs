//! What is spoken within a tunnel.

use super::linger::linger;
use super::scope::{ConnectionScope, Tunnel};
use super::{h1, h2};
use crate::proxy::report::count;
use crate::proxy::shared::ThreadState;
use crate::runtime::stream::ByteStream;
use bytes::BytesMut;
use rustls::server::Acceptor;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;

/// The first byte of TLS.
const TLS_HANDSHAKE: u8 = 0x16;
/// How HTTP/2 begins without TLS (RFC 9113, section 3.4); no method of HTTP/1 is called so.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Opens a tunnel and answers what comes through it. If its host passes, the tunnel leads to that, and nobody looks into it.
pub(super) async fn serve(shared: &Arc<ThreadState>, stream: ByteStream, tunnel: Tunnel) {
    if shared.passes(&tunnel.host, tunnel.port) {
        return pass(shared, stream, tunnel).await;
    }
    // A client may think a while before it uses a tunnel.
    let opened = tokio::select! {
        opened = timeout(shared.limits.idle, open(stream)) => opened,
        () = shared.stopping() => return,
    };
    let Ok(Ok((stream, first))) = opened else { return };
    match first.first() {
        Some(&TLS_HANDSHAKE) => secure(shared, stream.with_ahead(first.freeze()), tunnel).await,
        Some(_) if first.starts_with(HTTP2_PREFACE) => {
            h2::serve(shared, stream.with_ahead(first.freeze()), &tunnel).await;
        }
        Some(byte) if byte.is_ascii_alphabetic() => {
            // There is no tunnel within a tunnel.
            drop(h1::serve(shared, stream.with_ahead(first.freeze()), &ConnectionScope::Tunnel(tunnel)).await);
        }
        _ => {
            let Tunnel { host, port, .. } = tunnel;
            shared.counts.refuse(format!(
                "a tunnel to {host}:{port} was for something other than HTTP, and was closed; let the host pass: --pass host={host}"
            ));
        }
    }
}

async fn pass(shared: &ThreadState, mut stream: ByteStream, tunnel: Tunnel) {
    count(&shared.counts.passed);
    let Tunnel { host, port, .. } = tunnel;
    match shared.upstream.open_stream(&host, port).await {
        Ok(mut server) => {
            let through = async {
                stream.write_all(ESTABLISHED).await?;
                copy_bidirectional(&mut stream, &mut server).await
            };
            tokio::select! {
                // Whoever ends it, both know by the end of their connections.
                _ = through => {}
                () = shared.stopping() => {}
            }
        }
        Err(failure) => {
            shared.counts.failure(failure.kind);
            let body = format!("metroon: {failure}\n");
            let length = body.len();
            let head = format!("HTTP/1.1 502 Bad Gateway\r\nX-Metroon: passed\r\nContent-Length: {length}\r\n\r\n");
            // A client that has gone needs no answer.
            let _ = timeout(shared.limits.stall, stream.write_all((head + &body).as_bytes())).await;
            let _ = linger(&mut stream).await;
        }
    }
}

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Tells the client that it can go on, and waits for its first bytes.
async fn open(mut stream: ByteStream) -> io::Result<(ByteStream, BytesMut)> {
    stream.write_all(ESTABLISHED).await?;
    stream.flush().await?;
    let mut first = BytesMut::with_capacity(1024);
    loop {
        let is_over = stream.read_buf(&mut first).await? == 0;
        let may_be_http2 = first.len() < HTTP2_PREFACE.len() && HTTP2_PREFACE.starts_with(&first);
        if is_over || !may_be_http2 {
            return Ok((stream, first));
        }
    }
}

async fn secure(shared: &Arc<ThreadState>, stream: ByteStream, mut tunnel: Tunnel) {
    let shaken = timeout(shared.limits.head_time, handshake(shared, stream, &mut tunnel)).await;
    match shaken {
        Ok(Ok(stream)) if stream.speaks_h2() => h2::serve(shared, stream, &tunnel).await,
        Ok(Ok(stream)) => drop(h1::serve(shared, stream, &ConnectionScope::Tunnel(tunnel)).await),
        Ok(Err(what)) => {
            let Tunnel { host, port, .. } = tunnel;
            shared.counts.refuse(format!("no secure connection with a client that wanted {host}:{port}: {what}"));
        }
        Err(_) => shared.counts.refuse("a client that wanted a secure connection took too long to make it"),
    }
}

async fn handshake(shared: &ThreadState, stream: ByteStream, tunnel: &mut Tunnel) -> Result<ByteStream, String> {
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await.map_err(|error| error.to_string())?;
    tunnel.is_secure = true;
    let incoming = hello.client_hello().server_name().map(str::to_owned);
    tunnel.server_name = incoming.filter(|name| !name.eq_ignore_ascii_case(&tunnel.host));
    let name = tunnel.server_name.as_ref().unwrap_or(&tunnel.host);
    let config = shared.leaves.of(name).map_err(|error| error.to_string())?;
    let shaken = hello.into_stream(config).await;
    shaken.map(ByteStream::from).map_err(|error| {
        let trust = "the client may not trust the certificate authority of the proxy";
        if error.to_string().contains("alert") { format!("{error}; {trust}") } else { error.to_string() }
    })
}
