//! Cassettes of the Magneto-Serge system (taciclei/magneto-serge), of its first layout (commit 4efdf2c) and of its later one
//! (921b2b4). The structures are those of their documentation; `/docs/formats.md` lists what they cannot say.
//!
//! Its MessagePack has structures as arrays, and the later layout leaves optional fields out of them, so a program that knows the
//! later structures cannot read what it wrote. Here the number of fields tells which ones are there.

use super::error::FormError;
use super::foreign::{time, without_zone};
use crate::content::Content;
use crate::exchange::{Exchange, NetworkError, NetworkErrorKind, Note, Outcome};
use crate::message::{Body, Header, Request, Response};
use crate::websocket::{Direction, Opcode, WsFrame};
use jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct MagnetoCassette {
    version: String,
    name: String,
    recorded_at: RecordedAt,
    #[serde(default)]
    cookies: Option<serde_json::Value>,
    interactions: Vec<Interaction>,
}

/// A `MagnetoCassette` without the field that is left out, for where fields have places.
#[derive(Deserialize)]
struct MagnetoCassetteWithoutCookies {
    version: String,
    name: String,
    recorded_at: RecordedAt,
    interactions: Vec<Interaction>,
}

/// A time, and whether it has a zone: some programs that write such cassettes leave it out.
struct RecordedAt {
    time: Timestamp,
    has_zone: bool,
}

impl<'de> Deserialize<'de> for RecordedAt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (time, has_zone) =
            time(&text).map_err(|error| D::Error::custom(format_args!("{text:?} is not a time: {error}")))?;
        Ok(Self { time, has_zone })
    }
}

impl RecordedAt {
    fn note(&self) -> Option<Note<'static>> {
        (!self.has_zone).then(|| without_zone("report.recorded_at"))
    }
}

#[derive(Deserialize)]
struct Interaction {
    #[serde(flatten)]
    kind: InteractionKind,
    recorded_at: RecordedAt,
    #[serde(default)]
    response_time_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
enum InteractionKind {
    Http {
        request: HttpRequest,
        response: HttpResponse,
    },
    WebSocket {
        url: String,
        messages: Vec<MagnetoMessage>,
        #[serde(default)]
        close_frame: Option<CloseFrame>,
    },
    HttpError {
        request: HttpRequest,
        error: ReportError,
    },
}

#[derive(Deserialize)]
struct HttpRequest {
    method: String,
    url: String,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct HttpResponse {
    status: u16,
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct MagnetoMessage {
    direction: MessageDirection,
    timestamp_ms: u64,
    #[serde(flatten)]
    payload: MagnetoPayload,
}

#[derive(Deserialize)]
enum MessageDirection {
    #[serde(alias = "sent")]
    Sent,
    #[serde(alias = "received")]
    Received,
}

#[derive(Deserialize)]
#[serde(tag = "msg_type")]
enum MagnetoPayload {
    Text { data: String },
    Binary { data: Vec<u8> },
    Ping { data: Vec<u8> },
    Pong { data: Vec<u8> },
}

#[derive(Deserialize)]
struct CloseFrame {
    code: u16,
    reason: String,
}

#[derive(Deserialize)]
#[serde(tag = "error_type")]
enum ReportError {
    DnsResolutionFailed { message: String },
    ConnectionRefused { message: String },
    TlsError { message: String },
    ConnectionReset { message: String },
    Other { message: String },
    Timeout { message: String, timeout_ms: u64 },
    TooManyRedirects { message: String, redirect_count: u64 },
}

/// The later system adds an index in some files; it is not looked at.
pub(super) fn from_json(bytes: &[u8]) -> Result<Content, FormError> {
    let cassette: MagnetoCassette =
        serde_json::from_slice(bytes).map_err(|error| FormError::malformed("JSON", &error))?;
    cassette.content("JSON")
}

pub(super) fn from_msgpack(bytes: &[u8]) -> Result<Content, FormError> {
    // An array of five has cookies, one of four has none; their writer counted what it wrote.
    if bytes.first() == Some(&0x94) {
        let cassette: MagnetoCassetteWithoutCookies = super::msgpack::read(bytes)?;
        let MagnetoCassetteWithoutCookies { version, name, recorded_at, interactions } = cassette;
        return MagnetoCassette { version, name, recorded_at, cookies: None, interactions }.content("MessagePack");
    }
    super::msgpack::read::<MagnetoCassette>(bytes)?.content("MessagePack")
}

impl MagnetoCassette {
    fn content(self, form: &'static str) -> Result<Content, FormError> {
        let exchanges = self.interactions.into_iter().zip(0..);
        let exchanges: Result<_, String> =
            exchanges.map(|(interaction, number)| interaction.exchange(number)).collect();
        let mut meta = vec![
            Note::new("name", self.name),
            Note::new("recorded_at", self.recorded_at.time.to_string()),
            Note::new("report.version", self.version),
        ];
        meta.extend(self.recorded_at.note());
        meta.extend(self.cookies.map(|cookies| Note::new("report.cookies", cookies.to_string())));
        Ok(Content { exchanges: exchanges.map_err(|message| FormError::malformed(form, &message))?, meta })
    }
}

impl Interaction {
    fn exchange(self, number: u64) -> Result<Exchange<'static>, String> {
        let time = self.recorded_at.time;
        let started_ns = i64::try_from(time.as_nanosecond());
        let base = Exchange {
            number,
            started_ns: started_ns.map_err(|_| format!("{time} is not a time that a cassette can hold"))?,
            notes: self.recorded_at.note().into_iter().collect(),
            ended_us: self.response_time_ms.map(|time_ms| time_ms.saturating_mul(1000)),
            ..Exchange::default()
        };
        Ok(match self.kind {
            InteractionKind::Http { request, response } => {
                Exchange { request: request.request()?, response: Some(response.response()), ..base }
            }
            InteractionKind::HttpError { request, error } => {
                Exchange { request: request.request()?, outcome: Outcome::Aborted(error.error()), ..base }
            }
            InteractionKind::WebSocket { url, messages, close_frame } => Exchange {
                request: request_of("GET".to_owned(), &url)?,
                frames: Some(frames(messages, close_frame)),
                ..base
            },
        })
    }
}

impl HttpRequest {
    fn request(self) -> Result<Request<'static>, String> {
        let headers = headers(self.headers);
        Ok(Request { headers, body: self.body.map(|body| Body::new(0, body)), ..request_of(self.method, &self.url)? })
    }
}

impl HttpResponse {
    fn response(self) -> Response<'static> {
        let body = self.body.map(|body| Body::new(0, body));
        Response { status: self.status, headers: headers(self.headers), body, ..Response::default() }
    }
}

/// In the order of their names: the layout has them in none.
fn headers(headers: BTreeMap<String, String>) -> Vec<Header<'static>> {
    headers.into_iter().map(|(name, value)| Header::new(name, value)).collect()
}

/// A request to a URL, split without looking at what its parts say: the target stays as it is.
pub(super) fn request_of(method: String, url: &str) -> Result<Request<'static>, String> {
    let wrong = || format!("{url:?} is not a URL of HTTP");
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let (scheme, default_port) = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => ("http", 80),
        "https" | "wss" => ("https", 443),
        _ => return Err(wrong()),
    };
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| wrong())?),
        _ => (authority, default_port),
    };
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    Ok(Request {
        method: method.into(),
        scheme: scheme.into(),
        host: host.trim_start_matches('[').trim_end_matches(']').to_owned().into(),
        port,
        target: target.into(),
        ..Request::default()
    })
}

fn frames(messages: Vec<MagnetoMessage>, close: Option<CloseFrame>) -> Vec<WsFrame<'static>> {
    let mut frames: Vec<_> = messages.into_iter().map(MagnetoMessage::frame).collect();
    if let Some(close) = close {
        let at_us = frames.last().map_or(0, |frame| frame.at_us);
        let payload = [&close.code.to_be_bytes(), close.reason.as_bytes()].concat();
        frames.push(WsFrame::new(at_us, Direction::Received, Opcode::CLOSE, payload));
    }
    frames
}

impl MagnetoMessage {
    fn frame(self) -> WsFrame<'static> {
        let direction = match self.direction {
            MessageDirection::Sent => Direction::Sent,
            MessageDirection::Received => Direction::Received,
        };
        let (opcode, payload) = match self.payload {
            MagnetoPayload::Text { data } => (Opcode::TEXT, data.into_bytes()),
            MagnetoPayload::Binary { data } => (Opcode::BINARY, data),
            MagnetoPayload::Ping { data } => (Opcode::PING, data),
            MagnetoPayload::Pong { data } => (Opcode::PONG, data),
        };
        WsFrame::new(self.timestamp_ms.saturating_mul(1000), direction, opcode, payload)
    }
}

impl ReportError {
    fn error(self) -> NetworkError<'static> {
        let (kind, message) = match self {
            Self::DnsResolutionFailed { message } => (NetworkErrorKind::Dns, message),
            Self::ConnectionRefused { message } => (NetworkErrorKind::Refused, message),
            Self::TlsError { message } => (NetworkErrorKind::Tls, message),
            Self::ConnectionReset { message } => (NetworkErrorKind::Reset, message),
            Self::Other { message } => (NetworkErrorKind::Other, message),
            Self::Timeout { message, timeout_ms } => (NetworkErrorKind::Timeout { after_ms: timeout_ms }, message),
            Self::TooManyRedirects { message, redirect_count } => {
                (NetworkErrorKind::TooManyRedirects { count: redirect_count }, message)
            }
        };
        NetworkError { kind, message: message.into() }
    }
}
