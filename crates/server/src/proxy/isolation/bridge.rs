//! A port of loopback inside that is one of the user's own loopback outside.

use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Leads each connection to an address outside, until the proxy ends. If nobody answers there, the connection is reset.
pub(super) async fn serve(listener: TcpListener, outside: SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((mut inner, _)) => drop(tokio::spawn(async move {
                match TcpStream::connect(outside).await {
                    Ok(mut outer) => drop(copy_bidirectional(&mut inner, &mut outer).await),
                    Err(_) => drop(inner.set_zero_linger()),
                }
            })),
            // There is no room for it, such as no file number; connections that end make some.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
