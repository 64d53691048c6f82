//! Conversations over WebSockets: one that says back what it hears, one that counts.

use crate::query;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::OnUpgrade;
use hyper::{HeaderMap, Uri, header};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// What the answer says to a client's key, if the request is one for a WebSocket.
pub(crate) fn accepts(headers: &HeaderMap) -> Option<String> {
    let upgrade = headers.get(header::UPGRADE)?;
    let key = headers.get(header::SEC_WEBSOCKET_KEY)?;
    upgrade.as_bytes().eq_ignore_ascii_case(b"websocket").then(|| derive_accept_key(key.as_bytes()))
}

/// Speaks until either side ends it.
pub(crate) async fn converse(upgrade: OnUpgrade, uri: Uri) {
    let Ok(upgraded) = upgrade.await else {
        return;
    };
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    // A client that goes away ends the conversation; its test knows why.
    let _ = match uri.path() {
        "/ws/ticker" => tick(&mut socket, &uri).await,
        "/ws/abort" => abort(&mut socket).await,
        _ => echo(&mut socket).await,
    };
}

type ServerSocket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;
type SocketResult = Result<(), tokio_tungstenite::tungstenite::Error>;

/// Text and bytes come back as they were; a ping is answered and a close returned by the library when they are read.
async fn echo(socket: &mut ServerSocket) -> SocketResult {
    while let Some(message) = socket.next().await {
        if let message @ (Message::Text(_) | Message::Binary(_)) = message? {
            socket.send(message).await?;
        }
    }
    Ok(())
}

/// `n` messages `tick K`, `gap` milliseconds apart, then a close.
async fn tick(socket: &mut ServerSocket, uri: &Uri) -> SocketResult {
    let gap = Duration::from_millis(query::number(uri, "gap", 20));
    for number in 0..query::number(uri, "n", 5) {
        if number > 0 {
            tokio::time::sleep(gap).await;
        }
        socket.send(Message::text(format!("tick {number}"))).await?;
    }
    socket.close(None).await?;
    while socket.next().await.is_some() {}
    Ok(())
}

/// One message, and the connection ends without a close.
async fn abort(socket: &mut ServerSocket) -> SocketResult {
    socket.send(Message::text("last words")).await
}
