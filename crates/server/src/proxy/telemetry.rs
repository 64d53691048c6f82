//! What a program tells about itself: traces, metrics, logs and events, which nobody needs on a replay.
//!
//! A program sends them for its operators, in batches that hold times and random numbers, so that none is like a recorded one; and what
//! it is answered changes nothing that it does. If a request for which the cassette has no answer is one of these, it is therefore taken as the service
//! takes it, counted, and named at the end of the run. What the cassette does answer is answered from there. A program that asks such a service for
//! something, such as a prompt or the value of a switch, gets no answer from here.
//!
//! The services are known by the path that their protocol fixes, and by their host where the path is a common word.

use super::reply::{BodyLength, ConnectionDisposition, Reply};
use crate::runtime::peer_error::PeerError;
use cassette::{Header, Request, Response};

/// What a service is, and what it answers.
pub(crate) struct TelemetrySink {
    /// How people call it.
    pub(crate) name: &'static str,
    status: u16,
    reason: &'static str,
    content: Content,
}

enum Content {
    Json(&'static str),
    /// A message without fields, which has no bytes.
    Protobuf,
    /// Such a message over gRPC: a frame without bytes, and the status behind it.
    Grpc,
}

/// The service that takes a request, if it is one for telemetry.
pub(crate) fn sink_of(request: &Request<'_>) -> Option<TelemetrySink> {
    let path = std::str::from_utf8(request.path()).ok()?;
    let path = path.trim_end_matches('/');
    let host = std::str::from_utf8(&request.host).ok()?.to_ascii_lowercase();
    if request.method != "POST" {
        return None;
    }
    let of_host = |name: &str| host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let ends = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    let ok = |name, content| TelemetrySink { name, status: 200, reason: "OK", content };
    if ends(&["/v1/traces", "/v1/metrics", "/v1/logs"]) {
        // Each side speaks what the other does.
        let kind = content_type(request);
        return match kind.as_str() {
            "application/json" => Some(ok("OpenTelemetry", Content::Json("{}"))),
            "application/x-protobuf" => Some(ok("OpenTelemetry", Content::Protobuf)),
            _ => None,
        };
    }
    if path.starts_with("/opentelemetry.proto.collector.") && path.ends_with("Service/Export") {
        return content_type(request).starts_with("application/grpc").then(|| ok("OpenTelemetry", Content::Grpc));
    }
    if ends(&["/api/public/ingestion"]) {
        let content = Content::Json(r#"{"successes":[],"errors":[]}"#);
        return Some(TelemetrySink { name: "Langfuse", status: 207, reason: "Multi-Status", content });
    }
    if of_host("posthog.com") && ends(&["/batch", "/capture", "/track", "/engage", "/e"]) || ends(&["/i/v0/e"]) {
        return Some(ok("PostHog", Content::Json(r#"{"status":"Ok"}"#)));
    }
    None
}

fn content_type(request: &Request<'_>) -> String {
    let header = request.headers.iter().find(|header| header.is("content-type"));
    let kind = header.and_then(|header| header.value.as_text()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

impl TelemetrySink {
    /// Answers as the service does when it took all of it.
    pub(crate) async fn take(&self, reply: &mut Reply<'_>) -> ConnectionDisposition {
        let mark = Header::new("X-Metroon", "telemetry");
        let (kind, body): (_, &[u8]) = match self.content {
            Content::Json(body) => ("application/json", body.as_bytes()),
            Content::Protobuf => ("application/x-protobuf", b""),
            Content::Grpc => ("application/grpc", &[0; 5]),
        };
        let headers = vec![Header::new("Content-Type", kind), mark];
        let sent = if let Content::Grpc = self.content {
            let trailers = vec![Header::new("grpc-status", "0")];
            let response = Response { status: 200, reason: "OK".into(), headers, trailers, ..Response::default() };
            respond_with_trailers(reply, &response, body).await
        } else {
            reply.respond(self.status, self.reason, &headers, body).await
        };
        if sent.is_ok() { reply.after() } else { ConnectionDisposition::Reset }
    }
}

async fn respond_with_trailers(reply: &mut Reply<'_>, response: &Response<'_>, body: &[u8]) -> Result<(), PeerError> {
    reply.head(response, BodyLength::Unknown)?;
    reply.slice(body).await?;
    reply.finish(&response.trailers).await
}
