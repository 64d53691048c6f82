//! Answers of the proxy itself: errors, refusals, and what it says in place of a server.

use super::reply::{ConnectionDisposition, Reply};
use cassette::{Header, Request};
use serde_json::{Value, json};

/// An error, as the clients of many services read it: they show `error.message` as the text of their exceptions.
pub(crate) fn error_body(what: &str, message: &str, more: Value) -> Value {
    let mut body = json!({"error": {"type": what, "message": message}});
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    body
}

/// An answer of the proxy's own, which says so in a header.
pub(crate) async fn respond(
    reply: &mut Reply<'_>,
    status: u16,
    reason: &str,
    what: &str,
    body: &Value,
) -> ConnectionDisposition {
    let headers = [
        Header::new("Content-Type", "application/json"),
        Header::new("X-Metroon", what.to_owned()),
        // Clients of some services ask again if they are not told so.
        Header::new("X-Should-Retry", "false"),
    ];
    let body = format!("{body:#}\n");
    match reply.respond(status, reason, &headers, body.as_bytes()).await {
        Ok(()) => reply.after(),
        Err(_) => ConnectionDisposition::Reset,
    }
}

/// Refuses a request.
pub(crate) async fn refuse(reply: &mut Reply<'_>, status: u16, what: &str) -> ConnectionDisposition {
    let reason = match status {
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Refused",
    };
    respond(reply, status, reason, "refused", &error_body("refused", what, Value::Null)).await
}

/// The answer of a proxy that got none. A replay gives the same.
pub(crate) async fn bad_gateway(
    reply: &mut Reply<'_>,
    status: u16,
    what: &str,
    message: &str,
    request: &Request<'_>,
) -> ConnectionDisposition {
    let body = error_body(what, message, json!({"request": request.line()}));
    respond(reply, status, "Bad Gateway", what, &body).await
}
