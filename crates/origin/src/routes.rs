//! What can be asked for. Numbers in a query have the defaults that are shown.
//!
//! | path | answer |
//! |---|---|
//! | `/` | a short page of HTML |
//! | `/echo` | the request as JSON: `method`, `target`, `version`, `headers` as pairs, `body` as text, `bytes` |
//! | `/json` | `{"frog":"Sam","green":true}` |
//! | `/count?ms=0` | how often this very request was made, from 1, after that number of milliseconds |
//! | `/bytes/N` | N bytes, each its position modulo 251, with their length; `?length=no` without |
//! | `/upload` | `{"bytes":N,"sum":S}` of a body of any length, which is not kept |
//! | `/mirror?piece=65536` | the body of the request in such pieces, with its type, its encoding and its length; `?length=no` without |
//! | `/encoded/gzip`, `br`, `zstd` | [`TEXT`] in this encoding |
//! | `/twice` | two `Set-Cookie`, two `X-Twice`, one value that is not UTF-8 |
//! | `/trailers` | a body and the trailer `x-sum: 3`, for clients that say `TE: trailers` |
//! | `/sse?n=5&gap=20` | n events `data: K`, `gap` milliseconds apart, each a piece of its own |
//! | `/v1/chat/completions?gap=20`, `/v1/messages?gap=20` | a language model's answer in OpenAI's and in Anthropic's words, whole or as events, as the request's `stream` says |
//! | `/ws`, `/ws/ticker?n=5&gap=20`, `/ws/abort` | a WebSocket: echo, ticks, an end without a close |
//! | `/refuse` | 417, and the body is not read: for `Expect: 100-continue` |
//! | `/slow?ms=200` | a head that takes its time |
//! | `/hang` | nothing, ever |
//! | `/reset?after=10` | `after` bytes of 1,000 and a reset of the connection |
//! | `/early?after=10` | `after` bytes of 1,000, and the connection ends |
//! | `/status/N` | this status |
//! | `/redirect?to=/json` | 302 |
//! | `/cookies` | the request's cookies as text, and `Set-Cookie: pond=deep` |
//!
//! Anything else is 404.

pub use crate::compressed::TEXT;
use crate::wire::BreakOff;
use crate::{Body, RequestLog, compressed, model, query, websocket};
use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Empty, Full};
use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Request, Response, StatusCode, Uri};
use serde_json::json;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How many bytes a piece of a long body has.
const PIECE: u64 = 64 << 10;
/// What a body that breaks off says it has.
const PROMISED: u64 = 1_000;

type RouteResponse = Result<Response<Body>, io::Error>;

pub(crate) async fn answer(request: Request<Incoming>, cut: BreakOff, seen: Arc<RequestLog>) -> RouteResponse {
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    let before = seen.add(format!("{} {target}", request.method()));
    let uri = request.uri().clone();
    let (path, rest) = first_part(uri.path());
    match path {
        "" => Ok(typed("text/html", "<h1>Example Domain</h1>\n")),
        "echo" => echo(request).await,
        "json" => Ok(typed("application/json", r#"{"frog":"Sam","green":true}"#)),
        "count" => {
            tokio::time::sleep(Duration::from_millis(query::number(&uri, "ms", 0))).await;
            Ok(typed("text/plain", (before + 1).to_string()))
        }
        "bytes" => Ok(counted_bytes(&uri, rest.parse().unwrap_or(0))),
        "upload" => upload(request).await,
        "mirror" => mirror(request).await,
        "encoded" => Ok(encoded(rest)),
        "twice" => Ok(twice()),
        "trailers" => Ok(trailers()),
        "sse" => Ok(events(numbers(&uri), gap(&uri))),
        "v1" => completion(request).await,
        "ws" => Ok(upgrade(request)),
        "refuse" => Ok(status(StatusCode::EXPECTATION_FAILED)),
        "slow" => {
            tokio::time::sleep(Duration::from_millis(query::number(&uri, "ms", 200))).await;
            Ok(typed("text/plain", "at last"))
        }
        "hang" => std::future::pending().await,
        "reset" => Ok(broken(&uri, Some(cut))),
        "early" => Ok(broken(&uri, None)),
        "status" => Ok(status(rest.parse().unwrap_or(StatusCode::BAD_REQUEST))),
        "redirect" => Ok(redirect(&uri)),
        "cookies" => Ok(cookies(request.headers())),
        _ => Ok(status(StatusCode::NOT_FOUND)),
    }
}

/// The first part of a path, and what follows it.
fn first_part(path: &str) -> (&str, &str) {
    let path = path.trim_start_matches('/');
    path.split_once('/').unwrap_or((path, ""))
}

fn typed(content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).map_err(|never| match never {}).boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn status(status: StatusCode) -> Response<Body> {
    let has_body = !(status.is_informational() || matches!(status.as_u16(), 204 | 304));
    let mut response = match has_body {
        true => typed("text/plain", status.to_string()),
        false => Response::new(Empty::new().map_err(|never| match never {}).boxed_unsync()),
    };
    *response.status_mut() = status;
    response
}

fn redirect(uri: &Uri) -> Response<Body> {
    let mut response = status(StatusCode::FOUND);
    let to = HeaderValue::from_str(query::text(uri, "to").unwrap_or("/json"));
    response.headers_mut().insert(header::LOCATION, to.unwrap_or(HeaderValue::from_static("/json")));
    response
}

fn cookies(headers: &HeaderMap) -> Response<Body> {
    let sent = headers.get_all(header::COOKIE).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let mut response = typed("text/plain", sent.collect::<Vec<_>>().join("; "));
    response.headers_mut().insert(header::SET_COOKIE, HeaderValue::from_static("pond=deep; Path=/"));
    response
}

fn twice() -> Response<Body> {
    let mut response = typed("text/plain", "twice");
    let headers = response.headers_mut();
    for (name, value) in [("set-cookie", "a=1"), ("x-twice", "one"), ("set-cookie", "b=2"), ("x-twice", "two")] {
        headers.append(name, HeaderValue::from_static(value));
    }
    let value = HeaderValue::from_bytes(b"caf\xe9").expect("obsolete text is allowed in a value");
    headers.append("x-latin", value);
    response
}

fn encoded(encoding: &str) -> Response<Body> {
    let Some(bytes) = compressed::bytes(encoding) else {
        return status(StatusCode::NOT_FOUND);
    };
    let mut response = typed("text/plain", bytes);
    let name = HeaderValue::from_str(encoding).expect("a known encoding is a word");
    response.headers_mut().insert(header::CONTENT_ENCODING, name);
    response
}

async fn echo(request: Request<Incoming>) -> RouteResponse {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let headers = head.headers.iter();
    let headers: Vec<_> =
        headers.map(|(name, value)| [name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()]).collect();
    let shown = json!({
        "method": head.method.as_str(), "target": head.uri.path_and_query().map(ToString::to_string),
        "version": format!("{:?}", head.version), "headers": headers,
        "body": String::from_utf8_lossy(&body), "bytes": body.len(),
    });
    Ok(typed("application/json", shown.to_string()))
}

async fn upload(request: Request<Incoming>) -> RouteResponse {
    let mut body = request.into_body();
    let (mut bytes, mut sum) = (0, 0_u64);
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
            bytes += data.len();
            sum = data.iter().fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)));
        }
    }
    Ok(typed("application/json", json!({"bytes": bytes, "sum": sum}).to_string()))
}

async fn mirror(request: Request<Incoming>) -> RouteResponse {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let piece = usize::try_from(query::number(&head.uri, "piece", PIECE).max(1)).unwrap_or(usize::MAX);
    let length = body.len();
    let mut response = written("application/octet-stream", move |mut sender| async move {
        for piece in body.chunks(piece) {
            send(&mut sender, body.slice_ref(piece)).await?;
        }
        Ok(())
    });
    for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING] {
        match head.headers.get(&name) {
            Some(value) => drop(response.headers_mut().insert(name, value.clone())),
            None => drop(response.headers_mut().remove(name)),
        }
    }
    if query::text(&head.uri, "length") != Some("no") {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    Ok(response)
}

async fn completion(request: Request<Incoming>) -> RouteResponse {
    let gap = gap(request.uri());
    let is_messages = request.uri().path() == "/v1/messages";
    let body = request.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
    Ok(match (is_messages, model::streams(&body)) {
        (false, true) => events(model::events(), gap),
        (false, false) => typed("application/json", model::whole()),
        (true, true) => events(model::message_events(), gap),
        (true, false) => typed("application/json", model::message().to_string()),
    })
}

/// A body that a task writes.
fn written<F: Future<Output = Result<(), io::Error>> + Send + 'static>(
    content_type: &'static str,
    write: impl FnOnce(Sender<Bytes, io::Error>) -> F,
) -> Response<Body> {
    let (sender, body) = Channel::new(1);
    // A client that stops reading ends the task: its next piece has nowhere to go.
    tokio::spawn(write(sender));
    let mut response = Response::new(body.boxed_unsync());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

async fn send(sender: &mut Sender<Bytes, io::Error>, bytes: impl Into<Bytes>) -> Result<(), io::Error> {
    sender.send_data(bytes.into()).await.map_err(io::Error::other)
}

fn numbers(uri: &Uri) -> Vec<String> {
    (0..query::number(uri, "n", 5)).map(|number| format!("data: {number}\n\n")).collect()
}

fn gap(uri: &Uri) -> Duration {
    Duration::from_millis(query::number(uri, "gap", 20))
}

fn events(events: Vec<String>, gap: Duration) -> Response<Body> {
    let mut response = written("text/event-stream", |mut sender| async move {
        for (number, event) in events.into_iter().enumerate() {
            if number > 0 {
                tokio::time::sleep(gap).await;
            }
            send(&mut sender, event).await?;
        }
        Ok(())
    });
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn trailers() -> Response<Body> {
    let mut response = written("text/plain", |mut sender| async move {
        send(&mut sender, "one two").await?;
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", HeaderValue::from_static("3"));
        sender.send_trailers(trailers).await.map_err(io::Error::other)
    });
    response.headers_mut().insert(header::TRAILER, HeaderValue::from_static("x-sum"));
    response
}

/// The bytes of `/bytes` from a position on.
fn pattern(from: u64, count: u64) -> Vec<u8> {
    let first = u8::try_from(from % 251).unwrap_or(0);
    (0..251).cycle().skip(usize::from(first)).take(usize::try_from(count).unwrap_or(0)).collect()
}

fn counted_bytes(uri: &Uri, count: u64) -> Response<Body> {
    let mut response = written("application/octet-stream", move |mut sender| async move {
        let mut at = 0;
        while at < count {
            let piece = PIECE.min(count - at);
            send(&mut sender, pattern(at, piece)).await?;
            at += piece;
        }
        Ok(())
    });
    if query::text(uri, "length") != Some("no") {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(count));
    }
    response
}

/// A body that breaks off; with a cut, by a reset.
fn broken(uri: &Uri, cut: Option<BreakOff>) -> Response<Body> {
    let after = query::number(uri, "after", 10).min(PROMISED - 1);
    let mut response = written("application/octet-stream", move |mut sender| async move {
        send(&mut sender, pattern(0, after)).await?;
        // The bytes are to arrive before the end does.
        tokio::time::sleep(Duration::from_millis(30)).await;
        if let Some(cut) = cut {
            cut.reset();
        }
        sender.abort(io::ErrorKind::ConnectionReset.into());
        Ok(())
    });
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(PROMISED));
    response
}

fn upgrade(mut request: Request<Incoming>) -> Response<Body> {
    let Some(accept) = websocket::accepts(request.headers()) else {
        return status(StatusCode::UPGRADE_REQUIRED);
    };
    let uri = request.uri().clone();
    tokio::spawn(websocket::converse(hyper::upgrade::on(&mut request), uri));
    let mut response = status(StatusCode::SWITCHING_PROTOCOLS);
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&accept).expect("it is base64"));
    response
}
