//! A connection that speaks HTTP/1.

use super::builtin;
use super::linger::linger;
use super::scope::{ConnectionScope, Tunnel};
use super::target::{RequestTarget, host_and_port, is_same_host};
use crate::proxy::client_request::{ClientRequest, ConnectionId};
use crate::proxy::exchange::answer;
use crate::proxy::own_answers::refuse;
use crate::proxy::reply::{ConnectionDisposition, Reply};
use crate::proxy::shared::ThreadState;
use crate::proxy::upstream::Route;
use crate::runtime::headers::lists;
use crate::runtime::http1::{
    Framing, Http1Reader, Http1Writer, InvalidHead, ReadHeadError, RequestHead, named, parse_request,
};
use crate::runtime::peer::IncomingBody;
use crate::runtime::stream::ByteStream;
use bytes::Bytes;
use cassette::{HttpVersion, Request};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::time::timeout;

/// Answers requests until the connection ends. If the client asks for a tunnel, gives that and the connection.
pub(super) async fn serve(
    shared: &Arc<ThreadState>,
    stream: ByteStream,
    scope: &ConnectionScope,
) -> Option<(ByteStream, Tunnel)> {
    let (read, write) = tokio::io::split(stream);
    let (mut reader, mut writer) = (Http1Reader::new(read), Http1Writer::new(write));
    let (id, mut stops) = (ConnectionId::next(), shared.stops.subscribe());
    loop {
        let after = match next_head(shared, &mut reader, &mut stops).await {
            Ok(Some(head)) => handle_request(shared, &head, (id, &mut reader, &mut writer), scope).await,
            Ok(None) => {
                shared.session().left(id);
                // Nobody waits for anything.
                let _ = timeout(PARTING, reader.io.unsplit(writer.io).shutdown()).await;
                return None;
            }
            Err(bad) => NextAction::After(refuse_head(shared, &mut writer, bad).await),
        };
        match after {
            NextAction::After(ConnectionDisposition::Open) if !*shared.stops.borrow() => {}
            NextAction::After(ConnectionDisposition::Open | ConnectionDisposition::Close) => {
                let mut stream = reader.io.unsplit(writer.io);
                let _ = linger(&mut stream).await;
                return None;
            }
            NextAction::After(ConnectionDisposition::Reset) => {
                reader.io.unsplit(writer.io).reset();
                return None;
            }
            NextAction::Tunnel(tunnel) => {
                let stream = reader.io.unsplit(writer.io).with_ahead(reader.buffer.freeze());
                return Some((stream, tunnel));
            }
        }
    }
}

/// How long it may take to say that a connection ends.
const PARTING: Duration = Duration::from_millis(100);

/// What comes after a request.
enum NextAction {
    After(ConnectionDisposition),
    Tunnel(Tunnel),
}

/// The head of the next request; `None` if there is none, in time.
async fn next_head(
    shared: &ThreadState,
    reader: &mut Http1Reader,
    stops: &mut watch::Receiver<bool>,
) -> Result<Option<Bytes>, InvalidHead> {
    if reader.buffer.is_empty() {
        let first = tokio::select! {
            biased;
            first = timeout(shared.limits.idle, reader.fill()) => first,
            _ = stops.wait_for(|stops| *stops) => return Ok(None),
        };
        if !matches!(first, Ok(Ok(1..))) {
            return Ok(None);
        }
    }
    match timeout(shared.limits.head_time, reader.head(shared.limits.head_bytes)).await {
        Ok(Ok(head)) => Ok(Some(head)),
        Ok(Err(ReadHeadError::End | ReadHeadError::Broken(_))) => Ok(None),
        Ok(Err(ReadHeadError::TooLong)) => {
            Err(InvalidHead { status: 431, what: "the head of the request is too long" })
        }
        Err(_) => Err(InvalidHead { status: 408, what: "the head of the request took too long" }),
    }
}

async fn refuse_head(shared: &ThreadState, writer: &mut Http1Writer, bad: InvalidHead) -> ConnectionDisposition {
    shared.counts.refuse(format!("a request was refused: {}", bad.what));
    let mut reply = Reply::http1(writer, HttpVersion::Http11, false, false);
    refuse(&mut reply, bad.status, bad.what).await
}

async fn handle_request(
    shared: &Arc<ThreadState>,
    head: &Bytes,
    (id, reader, writer): (ConnectionId, &mut Http1Reader, &mut Http1Writer),
    scope: &ConnectionScope,
) -> NextAction {
    let refused = match parse_request(head) {
        Ok(parsed) if parsed.method == "CONNECT" => match tunnel_request(&parsed, scope) {
            Ok(tunnel) => return NextAction::Tunnel(tunnel),
            Err(bad) => bad,
        },
        Ok(parsed) => match destination(&parsed, scope, shared) {
            Ok(destination) => {
                return NextAction::After(answer_request(shared, parsed, destination, (id, reader, writer)).await);
            }
            Err(bad) => bad,
        },
        Err(bad) => bad,
    };
    NextAction::After(refuse_head(shared, writer, refused).await)
}

fn tunnel_request(head: &RequestHead<'_>, scope: &ConnectionScope) -> Result<Tunnel, InvalidHead> {
    if let ConnectionScope::Tunnel(_) = scope {
        return Err(InvalidHead::new("there is no tunnel within a tunnel"));
    }
    if Framing::of_request(head.version, &head.headers)? != Framing::Absent {
        return Err(InvalidHead::new("CONNECT has no body"));
    }
    let (host, port) = host_and_port(head.target, 443)?;
    Ok(Tunnel { host: host.to_owned(), port, is_secure: false, server_name: None })
}

/// Where a request goes, and how long its body is.
struct Destination<'h> {
    /// `None` is the proxy itself.
    route: Option<Route>,
    target: &'h str,
    framing: Framing,
}

fn destination<'h>(
    head: &RequestHead<'h>,
    scope: &ConnectionScope,
    shared: &ThreadState,
) -> Result<Destination<'h>, InvalidHead> {
    let framing = Framing::of_request(head.version, &head.headers)?;
    let named = named_host(head)?;
    let route = |is_secure, host: &str, port, server_name| Route {
        is_secure,
        host: host.to_owned(),
        port,
        server_name,
        may_be_http2: false,
    };
    match (RequestTarget::parse(head.method, head.target)?, scope) {
        (RequestTarget::Absolute { is_secure, host, port, target }, scope) => {
            let usual = if is_secure { 443 } else { 80 };
            let is_same = |name| host_and_port(name, usual).is_ok_and(|other| is_same_host(other, (host, port)));
            if !named.is_none_or(is_same) {
                return Err(InvalidHead::new("the URL names another host than the header Host"));
            }
            let server_name = match scope {
                ConnectionScope::Anywhere => None,
                ConnectionScope::Tunnel(tunnel) if is_same_host((&tunnel.host, tunnel.port), (host, port)) => {
                    tunnel.server_name.clone()
                }
                ConnectionScope::Tunnel(_) => {
                    return Err(InvalidHead::new("the URL names another host than the tunnel leads to"));
                }
            };
            let is_own = !is_secure && builtin::is_own(shared, host, port);
            let route = (!is_own).then(|| route(is_secure, host, port, server_name));
            Ok(Destination { route, target, framing })
        }
        (RequestTarget::Origin(target), ConnectionScope::Anywhere) => Ok(Destination { route: None, target, framing }),
        (RequestTarget::Origin(target), ConnectionScope::Tunnel(tunnel)) => {
            let route = route(tunnel.is_secure, &tunnel.host, tunnel.port, tunnel.server_name.clone());
            Ok(Destination { route: Some(route), target, framing })
        }
    }
}

/// The value of `Host`, of which there is one, as long as the version is not that of 1996.
fn named_host<'h>(head: &'h RequestHead<'_>) -> Result<Option<&'h str>, InvalidHead> {
    let mut hosts = head.headers.iter().filter(|header| header.is("host"));
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => Err(InvalidHead::new("the request has more than one Host")),
        (None, _) if head.version == HttpVersion::Http11 => Err(InvalidHead::new("the request has no Host")),
        (None, _) => Ok(None),
        (Some(host), None) => host.value.as_text().map(Some).ok_or(InvalidHead::new("Host is not a name")),
    }
}

async fn answer_request(
    shared: &Arc<ThreadState>,
    head: RequestHead<'_>,
    destination: Destination<'_>,
    (connection, reader, writer): (ConnectionId, &mut Http1Reader, &mut Http1Writer),
) -> ConnectionDisposition {
    let RequestHead { method, version, headers, .. } = head;
    let closes = match version {
        HttpVersion::Http10 => !lists(&headers, "connection", "keep-alive"),
        _ => lists(&headers, "connection", "close"),
    };
    let reply = Reply::http1(writer, version, method == "HEAD", !closes);
    let Some(route) = destination.route else {
        let mut reply = reply;
        reply.keeps_alive &= destination.framing == Framing::Absent;
        return builtin::answer(shared, method, destination.target, &mut reply).await;
    };
    let is_upgrade = version == HttpVersion::Http11
        && method == "GET"
        && destination.framing == Framing::Absent
        && lists(&headers, "connection", "upgrade")
        && named(&headers, "upgrade").is_some_and(|protocol| protocol.eq_ignore_ascii_case(b"websocket"));
    let expects_continue = version == HttpVersion::Http11
        && named(&headers, "expect").is_some_and(|what| what.eq_ignore_ascii_case(b"100-continue"));
    // What concerns the way to the proxy is not part of what is asked.
    let is_asked = |header: &cassette::Header<'_>| !header.is("proxy-authorization") && !header.is("proxy-connection");
    let request = Request {
        method: method.into(),
        scheme: if route.is_secure { "https" } else { "http" }.into(),
        host: route.host.clone().into(),
        port: route.port,
        target: destination.target.into(),
        version,
        headers: headers.into_iter().filter(is_asked).collect(),
        ..Request::default()
    };
    let source = IncomingBody::http1(reader, destination.framing, shared.limits.head_bytes);
    let framing = destination.framing;
    let incoming = ClientRequest {
        connection,
        started: Instant::now(),
        request,
        route,
        source,
        framing,
        reply,
        expects_continue,
        is_upgrade,
    };
    answer(shared, incoming).await
}
