//! What the proxy itself is asked.

use crate::proxy::own_answers::refuse;
use crate::proxy::reply::{ConnectionDisposition, Reply};
use crate::proxy::shared::{ProxyState, ThreadState};
use cassette::Header;
use serde_json::json;

/// Whether a host is the proxy itself.
pub(super) fn is_own(shared: &ThreadState, host: &str, port: u16) -> bool {
    let address = shared.address;
    let is_here = host.eq_ignore_ascii_case("localhost") || host.parse() == Ok(address.ip());
    let is_loopback = address.ip().is_loopback() || address.ip().is_unspecified();
    port == address.port()
        && (is_here || is_loopback && host.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()))
}

/// Answers `/health`.
pub(super) async fn answer(
    shared: &ThreadState,
    method: &str,
    target: &str,
    reply: &mut Reply<'_>,
) -> ConnectionDisposition {
    let path = target.split('?').next().unwrap_or_default();
    if path != "/health" {
        let what = "this is a proxy, and was asked as a server: tell the program of it by http_proxy and https_proxy";
        shared.counts.refuse(what);
        return refuse(reply, 404, what).await;
    }
    if !matches!(method, "GET" | "HEAD") {
        return refuse(reply, 405, "/health is asked by GET").await;
    }
    let body = state(shared).to_string();
    let headers = [Header::new("Content-Type", "application/json"), Header::new("Cache-Control", "no-store")];
    match reply.respond(200, "OK", &headers, body.as_bytes()).await {
        Ok(()) => reply.after(),
        Err(_) => ConnectionDisposition::Reset,
    }
}

/// What a proxy does, in short.
pub(crate) fn state(shared: &ProxyState) -> serde_json::Value {
    let session = shared.session();
    let report = shared.counts.report();
    json!({
        "status": if report.recorder_failure.is_some() { "failing" } else { "ok" },
        "version": env!("CARGO_PKG_VERSION"),
        "mode": session.mode().to_string(),
        "cassette": session.path().map(|path| path.display().to_string()),
        "uptime_ms": u64::try_from(shared.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "connections": report.connections,
        "requests": report.requests,
        "recorded": report.recorded,
        "replayed": report.replayed,
        "forwarded": report.forwarded,
        "missed": report.missed,
        "refused": report.refused,
        "failure": report.recorder_failure,
    })
}
