//! A connection that speaks HTTP/2.

use super::scope::Tunnel;
use super::target::host_and_port;
use crate::proxy::client_request::{ClientRequest, ConnectionId};
use crate::proxy::exchange::answer;
use crate::proxy::own_answers::refuse;
use crate::proxy::reply::Reply;
use crate::proxy::shared::ThreadState;
use crate::proxy::upstream::{Route, WINDOW_BYTES};
use crate::runtime::flushes::{FlushNotifier, FlushWaiters};
use crate::runtime::http1::Framing;
use crate::runtime::http2;
use crate::runtime::peer::IncomingBody;
use crate::runtime::stream::ByteStream;
use bytes::Bytes;
use cassette::Header;
use h2::RecvStream;
use h2::server::{Builder, SendResponse};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

/// Streams of a connection at a time.
const STREAMS_MAX: u32 = 1024;

/// Answers requests until the connection ends.
pub(super) async fn serve(shared: &Arc<ThreadState>, stream: ByteStream, tunnel: &Tunnel) {
    let mut builder = Builder::new();
    builder.initial_window_size(WINDOW_BYTES).initial_connection_window_size(4 * WINDOW_BYTES);
    builder.max_concurrent_streams(STREAMS_MAX);
    builder.max_header_list_size(u32::try_from(shared.limits.head_bytes).unwrap_or(u32::MAX));
    let (flushes, mut waiting, stream) = FlushWaiters::on(stream);
    let Ok(Ok(mut connection)) = timeout(shared.limits.head_time, builder.handshake::<_, Bytes>(stream)).await else {
        return;
    };
    let id = ConnectionId::next();
    let stopping = shared.stopping();
    tokio::pin!(stopping);
    let mut stops = false;
    loop {
        let accepted = tokio::select! {
            accepted = poll_fn(|context| waiting.poll(context, |context| connection.poll_accept(context))) => accepted,
            () = &mut stopping, if !stops => {
                stops = true;
                connection.graceful_shutdown();
                continue;
            }
        };
        let Some(Ok((request, reply))) = accepted else { return };
        let (shared, tunnel, flushes) = (shared.clone(), tunnel.clone(), flushes.clone());
        let guard = shared.also();
        tokio::spawn(async move {
            handle_request(&shared, id, request, (reply, flushes), &tunnel).await;
            drop(guard);
        });
    }
}

async fn handle_request(
    shared: &Arc<ThreadState>,
    connection: ConnectionId,
    incoming: http::Request<RecvStream>,
    (reply, flushes): (SendResponse<Bytes>, FlushNotifier),
    tunnel: &Tunnel,
) {
    let (parts, stream) = incoming.into_parts();
    let mut reply = Reply::http2(reply, flushes, parts.method == http::Method::HEAD);
    let bad = match host_of(&parts) {
        Err(what) => Some(what),
        Ok(_) if parts.method == http::Method::CONNECT => Some("there is no tunnel within a tunnel"),
        Ok(_) => None,
    };
    if let Some(what) = bad {
        shared.counts.refuse(format!("a request was refused: {what}"));
        refuse(&mut reply, 400, what).await;
        return;
    }
    let scheme = if tunnel.is_secure { "https" } else { "http" };
    let mut request = http2::request(&parts, scheme, &tunnel.host, tunnel.port);
    // The field `:authority` is what HTTP/1 calls Host, and is known by that name on the cassette.
    if let Some(authority) = parts.uri.authority().filter(|_| !request.headers.iter().any(|header| header.is("host"))) {
        request.headers.insert(0, Header::new("host", authority.as_str().to_owned()));
    }
    let framing = match http2::length(&parts.headers) {
        _ if stream.is_end_stream() => Framing::Absent,
        Some(bytes) => Framing::Known(bytes),
        None => Framing::Chunked,
    };
    let route = Route {
        is_secure: tunnel.is_secure,
        host: tunnel.host.clone(),
        port: tunnel.port,
        server_name: tunnel.server_name.clone(),
        may_be_http2: true,
    };
    let expects_continue = parts.headers.get(http::header::EXPECT).is_some_and(|what| what == "100-continue");
    let source = IncomingBody::http2(stream);
    let started = Instant::now();
    answer(
        shared,
        ClientRequest {
            connection,
            started,
            request,
            route,
            source,
            framing,
            reply,
            expects_continue,
            is_upgrade: false,
        },
    )
    .await;
}

/// The host that a request names, which is one.
fn host_of(parts: &http::request::Parts) -> Result<Option<&str>, &'static str> {
    let authority = parts.uri.authority().map(http::uri::Authority::as_str);
    let mut hosts = parts.headers.get_all(http::header::HOST).iter();
    let host = hosts.next().map(|host| host.to_str().map_err(|_| "Host is not a name")).transpose()?;
    if hosts.next().is_some() {
        return Err("the request has more than one Host");
    }
    match (authority, host) {
        (Some(one), Some(other)) if !one.eq_ignore_ascii_case(other) => Err("Host is another than :authority"),
        (Some(name), _) | (None, Some(name)) => {
            host_and_port(name, 443).map_err(|bad| bad.what)?;
            Ok(Some(name))
        }
        (None, None) => Ok(None),
    }
}
