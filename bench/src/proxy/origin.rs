//! Origins on loopback: a bare hyper server, and an echo of WebSockets.

use super::response_body;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, server::conn::http1};
use hyper_util::rt::TokioIo;
use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

/// Starts a server of one thread that finds each answer in a map. It ends with the process.
pub(super) fn bare(count: u64) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let answers = (0..count).map(|number| (format!("/resource/{number}"), Bytes::from(response_body(number))));
    let answers: Arc<HashMap<String, Bytes>> = Arc::new(answers.collect());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    thread::spawn(move || runtime.block_on(serve(listener, answers)));
    Ok(address)
}

async fn serve(listener: TcpListener, answers: Arc<HashMap<String, Bytes>>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answers = answers.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answer = answers.get(request.uri().path()).cloned();
            async move { Ok::<_, Infallible>(response(answer)) }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        // A client that goes away ends its connection with an error, which is none here.
        tokio::spawn(async { connection.await.ok() });
    }
}

fn response(answer: Option<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(answer.unwrap_or_default()));
    response.headers_mut().insert("content-type", "application/json".parse().expect("a value that is right"));
    response
}

/// Starts a server that answers each WebSocket message with the same message. It ends with the process.
pub(super) fn echo() -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                stream.set_nodelay(true)?;
                let mut socket = tungstenite::accept(stream).map_err(|error| error.to_string())?;
                while let Ok(message) = socket.read() {
                    if message.is_text() {
                        socket.send(message)?;
                    }
                }
                Ok::<_, Box<dyn Error + Send + Sync>>(())
            });
        }
    });
    Ok(address)
}
