//! Cassettes of the Magneto-Serge system (taciclei/magneto-serge), of its first layout (commit 4efdf2c) and of its later one
//! (921b2b4). The structures are those of their documentation; `/docs/formats.md` lists what they cannot say.
//!
//! Its MessagePack has structures as arrays, and the later layout leaves optional fields out of them, so a program that knows the
//! later structures cannot read what it wrote. Here the number of fields tells which ones are there.

use super::error::FormError;
use super::foreign::{time, without_zone};
use super::json_text::JsonText;
use crate::content::Content;
use crate::exchange::{Exchange, NetworkError, NetworkErrorKind, Note, Outcome};
use crate::message::{Body, Header, Request, Response};
use crate::websocket::{Direction, Opcode, WsFrame};
use jiff::Timestamp;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;

#[derive(Deserialize)]
struct MagnetoCassette {
    version: String,
    name: String,
    recorded_at: RecordedAt,
    #[serde(default)]
    cookies: Option<JsonText>,
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
    /// The time `us` microseconds before it, in nanoseconds since 1970.
    fn before(&self, us: u64) -> Result<i64, String> {
        let ns = self.time.as_nanosecond() - i128::from(us) * 1000;
        i64::try_from(ns).map_err(|_| format!("{} is not a time that a cassette can hold", self.time))
    }

    fn note(&self) -> Option<Note<'static>> {
        (!self.has_zone).then(|| without_zone("report.recorded_at"))
    }
}

/// An interaction of any `type`, with the fields of all types. A flattened enumeration, as its writer has it, would have serde keep a whole
/// body as a list of values of 32 bytes each before it becomes bytes.
#[derive(Deserialize)]
pub(super) struct Interaction {
    #[serde(rename = "type")]
    kind: InteractionKind,
    request: Option<HttpRequest>,
    response: Option<HttpResponse>,
    error: Option<ReportError>,
    url: Option<String>,
    messages: Option<Vec<MagnetoMessage>>,
    #[serde(default)]
    close_frame: Option<CloseFrame>,
    recorded_at: RecordedAt,
    #[serde(default)]
    response_time_ms: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
enum InteractionKind {
    Http,
    WebSocket,
    HttpError,
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
    msg_type: MessageType,
    data: MessageData,
}

#[derive(Deserialize)]
enum MessageDirection {
    #[serde(alias = "sent")]
    Sent,
    #[serde(alias = "received")]
    Received,
}

#[derive(Clone, Copy, Deserialize)]
enum MessageType {
    Text,
    Binary,
    Ping,
    Pong,
}

/// A text, or bytes as a list of numbers.
struct MessageData(Vec<u8>);

impl<'de> Deserialize<'de> for MessageData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MessageDataVisitor)
    }
}

struct MessageDataVisitor;

impl<'de> Visitor<'de> for MessageDataVisitor {
    type Value = MessageData;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of bytes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MessageData, E> {
        Ok(MessageData(text.as_bytes().to_vec()))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<MessageData, E> {
        Ok(MessageData(bytes.to_vec()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<MessageData, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(MessageData)
    }
}

#[derive(Deserialize)]
struct CloseFrame {
    code: u16,
    reason: String,
}

/// An error of any `error_type`, with the fields of all types: as a tagged enumeration, serde would keep all of its fields, also those that
/// nobody knows, as a tree until it has found the tag.
#[derive(Deserialize)]
struct ReportError {
    error_type: ReportErrorType,
    message: String,
    /// Where fields have places, the number of any type.
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    redirect_count: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
enum ReportErrorType {
    DnsResolutionFailed,
    ConnectionRefused,
    TlsError,
    ConnectionReset,
    Other,
    Timeout,
    TooManyRedirects,
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
        let meta = self.meta();
        let exchanges = self.interactions.into_iter().zip(0..);
        let exchanges: Result<_, String> =
            exchanges.map(|(interaction, number)| interaction.exchange(number)).collect();
        Ok(Content { exchanges: exchanges.map_err(|message| FormError::malformed(form, &message))?, meta })
    }

    fn meta(&self) -> Vec<Note<'static>> {
        let mut meta = vec![
            Note::new("name", self.name.clone()),
            Note::new("recorded_at", self.recorded_at.time.to_string()),
            Note::new("report.version", self.version.clone()),
        ];
        meta.extend(self.recorded_at.note());
        meta.extend(self.cookies.as_ref().map(|cookies| Note::new("report.cookies", cookies.0.clone())));
        meta
    }
}

/// What a document says beside its interactions, and those that are left in it.
pub(super) fn rest_of_json(bytes: &[u8]) -> Result<Content, serde_json::Error> {
    let cassette: MagnetoCassette = serde_json::from_slice(bytes)?;
    cassette.content("JSON").map_err(Error::custom)
}

impl Interaction {
    /// Its exchange, of which each type has fields of its own.
    pub(super) fn exchange(self, number: u64) -> Result<Exchange<'static>, String> {
        let missing = |field: &str| format!("interaction {number}: missing field `{field}`");
        let base = Exchange { number, notes: self.recorded_at.note().into_iter().collect(), ..Exchange::default() };
        let exchange = match self.kind {
            InteractionKind::Http => {
                let request = self.request.ok_or_else(|| missing("request"))?.request()?;
                let response = self.response.ok_or_else(|| missing("response"))?;
                Exchange { request, response: Some(response.response(self.response_time_ms)), ..base }
            }
            InteractionKind::HttpError => {
                let request = self.request.ok_or_else(|| missing("request"))?.request()?;
                let error = self.error.ok_or_else(|| missing("error"))?;
                Exchange { request, outcome: Outcome::Aborted(error.error().map_err(missing)?), ..base }
            }
            InteractionKind::WebSocket => {
                let url = self.url.ok_or_else(|| missing("url"))?;
                let messages = self.messages.ok_or_else(|| missing("messages"))?;
                let request = request_of("GET".to_owned(), &url)?;
                let (frames, first_ms) = frames(messages, self.close_frame);
                return conversation(Exchange { request, frames: Some(frames), ..base }, &self.recorded_at, first_ms);
            }
        };
        timed(exchange, &self.recorded_at, self.response_time_ms)
    }
}

/// An exchange with its times. An interaction is `recorded_at` when its answer was there, so it began before that; if it is not known
/// how long before, it begins then.
fn timed(
    exchange: Exchange<'static>,
    recorded_at: &RecordedAt,
    response_time_ms: Option<u64>,
) -> Result<Exchange<'static>, String> {
    let ended_us = response_time_ms.map(|time_ms| time_ms.saturating_mul(1000));
    Ok(Exchange { started_ns: recorded_at.before(ended_us.unwrap_or(0))?, ended_us, ..exchange })
}

/// A WebSocket that began at a Unix time in milliseconds, if one is known; else as long before it was recorded as its last message came after
/// its beginning: it is recorded at its end.
fn conversation(
    exchange: Exchange<'static>,
    recorded_at: &RecordedAt,
    first_ms: Option<u64>,
) -> Result<Exchange<'static>, String> {
    let last_us = exchange.frames.iter().flatten().last().map_or(0, |frame| frame.at_us);
    let started_ns = match first_ms {
        Some(first_ms) => i64::try_from(u128::from(first_ms) * 1_000_000)
            .map_err(|_| format!("timestamp_ms {first_ms} is not a time that a cassette can hold"))?,
        None => recorded_at.before(last_us)?,
    };
    Ok(Exchange { started_ns, ended_us: (last_us > 0).then_some(last_us), ..exchange })
}

impl HttpRequest {
    fn request(self) -> Result<Request<'static>, String> {
        let headers = headers(self.headers);
        Ok(Request { headers, body: self.body.map(|body| Body::new(0, body)), ..request_of(self.method, &self.url)? })
    }
}

impl HttpResponse {
    /// Its writer had all of it at once.
    fn response(self, response_time_ms: Option<u64>) -> Response<'static> {
        let at_us = response_time_ms.map_or(0, |time_ms| time_ms.saturating_mul(1000));
        let body = self.body.map(|body| Body::new(at_us, body));
        Response { at_us, status: self.status, headers: headers(self.headers), body, ..Response::default() }
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

/// No conversation takes longer: what `timestamp_ms` says beyond it is a Unix time, as the later system's recorder writes it.
const CONVERSATION_MS_MAX: u64 = 100_000_000_000;

/// Frames with their times after the first message, and the Unix time of that if the messages have such times.
fn frames(messages: Vec<MagnetoMessage>, close: Option<CloseFrame>) -> (Vec<WsFrame<'static>>, Option<u64>) {
    let first_ms = messages.iter().map(|message| message.timestamp_ms).min();
    let first_ms = first_ms.filter(|&first_ms| first_ms > CONVERSATION_MS_MAX);
    let mut frames: Vec<_> = messages.into_iter().map(|message| message.frame(first_ms.unwrap_or(0))).collect();
    if let Some(close) = close {
        let at_us = frames.last().map_or(0, |frame| frame.at_us);
        let payload = [&close.code.to_be_bytes(), close.reason.as_bytes()].concat();
        frames.push(WsFrame::new(at_us, Direction::Received, Opcode::CLOSE, payload));
    }
    (frames, first_ms)
}

impl MagnetoMessage {
    fn frame(self, begun_ms: u64) -> WsFrame<'static> {
        let direction = match self.direction {
            MessageDirection::Sent => Direction::Sent,
            MessageDirection::Received => Direction::Received,
        };
        let opcode = match self.msg_type {
            MessageType::Text => Opcode::TEXT,
            MessageType::Binary => Opcode::BINARY,
            MessageType::Ping => Opcode::PING,
            MessageType::Pong => Opcode::PONG,
        };
        let at_us = self.timestamp_ms.saturating_sub(begun_ms).saturating_mul(1000);
        WsFrame::new(at_us, direction, opcode, self.data.0)
    }
}

impl ReportError {
    fn error(self) -> Result<NetworkError<'static>, &'static str> {
        let Self { error_type, message, timeout_ms, redirect_count } = self;
        let kind = match error_type {
            ReportErrorType::DnsResolutionFailed => NetworkErrorKind::Dns,
            ReportErrorType::ConnectionRefused => NetworkErrorKind::Refused,
            ReportErrorType::TlsError => NetworkErrorKind::Tls,
            ReportErrorType::ConnectionReset => NetworkErrorKind::Reset,
            ReportErrorType::Other => NetworkErrorKind::Other,
            ReportErrorType::Timeout => NetworkErrorKind::Timeout { after_ms: timeout_ms.ok_or("timeout_ms")? },
            ReportErrorType::TooManyRedirects => {
                let count = redirect_count.or(timeout_ms).ok_or("redirect_count")?;
                NetworkErrorKind::TooManyRedirects { count }
            }
        };
        Ok(NetworkError { kind, message: message.into() })
    }
}
