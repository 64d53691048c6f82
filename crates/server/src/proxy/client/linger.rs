//! How a connection is closed so that the client still reads what was sent.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// Lets the client read what was sent: if it is still sending, the system would throw away the answer with the connection.
pub(super) async fn linger<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    stream: &mut S,
) -> std::io::Result<()> {
    stream.shutdown().await?;
    let mut dropped = [0; 4096];
    let drain = async {
        while stream.read(&mut dropped).await? > 0 {}
        Ok(())
    };
    timeout(Duration::from_secs(1), drain).await.unwrap_or(Ok(()))
}
