//! A request on a connection, and what comes of it.

use super::route::Route;
use crate::runtime::headers::{self, ForwardedHeaders};
use crate::runtime::http1::{
    self, BodyCoding, Framing, Http1Reader, Http1Writer, ReadHeadError, ResponseHead, parse_response,
};
use crate::runtime::http2;
use crate::runtime::peer::{IncomingBody, OutgoingBody};
use crate::runtime::peer_error::PeerError;
use crate::runtime::stream::ByteStream;
use bytes::Bytes;
use cassette::{Header, HttpVersion, Informational, Request, Response};
use h2::client::{ResponseFuture, SendRequest};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// A connection to a server.
pub(crate) enum ServerConnection {
    Http1(Http1Connection),
    Http2(SendRequest<Bytes>),
}

/// A connection on which there is one message at a time.
pub(crate) struct Http1Connection {
    pub(crate) reader: Http1Reader,
    pub(crate) writer: Http1Writer,
    /// What is sent goes to a proxy, which wants whole URLs, and credentials if there are some.
    proxy: Option<Option<String>>,
    is_used: bool,
    /// Whether the other side said that this is the last message.
    pub(crate) closes: bool,
}

impl Http1Connection {
    pub(super) fn new(stream: ByteStream, proxy: Option<Option<String>>) -> Self {
        let (read, write) = tokio::io::split(stream);
        Self { reader: Http1Reader::new(read), writer: Http1Writer::new(write), proxy, is_used: false, closes: false }
    }

    /// Whether the other side has neither closed it nor said anything. If it has, this may be seen only once.
    pub(super) fn is_quiet(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        self.reader.buffer.is_empty() && pin!(self.reader.fill()).poll(&mut context).is_pending()
    }

    pub(super) fn may_be_used_again(&self) -> bool {
        !self.closes && self.reader.buffer.is_empty()
    }

    pub(super) fn used(self) -> Self {
        Self { is_used: true, ..self }
    }
}

impl ServerConnection {
    /// Whether it was used for a request before, so that its end may have come before this one.
    pub(crate) fn is_used(&self) -> bool {
        match self {
            Self::Http1(connection) => connection.is_used,
            Self::Http2(_) => false,
        }
    }
}

/// A request as it is sent on.
pub(crate) struct OutgoingRequest<'r> {
    pub(crate) request: &'r Request<'r>,
    pub(crate) route: &'r Route,
    /// How long its body is; `Chunked` if that is not known.
    pub(crate) body: Framing,
    /// Whether the connection becomes another protocol's.
    pub(crate) is_upgrade: bool,
}

/// Sends the head of a request. Gives where its body goes, and where its answer comes from.
pub(crate) async fn begin<'l>(
    link: &'l mut ServerConnection,
    outbound: &OutgoingRequest<'_>,
) -> Result<(OutgoingBody<'l>, ResponseReader<'l>), PeerError> {
    match link {
        ServerConnection::Http1(Http1Connection { reader, writer, proxy, .. }) => {
            let coding = put_head(writer, outbound, proxy.as_ref());
            writer.flush().await?;
            let sink = if outbound.body == Framing::Absent {
                OutgoingBody::Nothing
            } else {
                OutgoingBody::Http1 { writer, coding }
            };
            Ok((sink, ResponseReader::Http1(reader)))
        }
        ServerConnection::Http2(sender) => {
            let authority = headers::host_of(outbound.request).unwrap_or_else(|| outbound.route.authority());
            let request = http2::request_parts(outbound.request, &authority);
            let request = request.map_err(|what| PeerError::Io(io::Error::new(io::ErrorKind::InvalidInput, what)))?;
            let mut ready = sender.clone().ready().await?;
            let is_whole = outbound.body == Framing::Absent;
            let (answer, stream) = ready.send_request(request, is_whole)?;
            let sink = if is_whole { OutgoingBody::Nothing } else { OutgoingBody::Http2(stream) };
            Ok((sink, ResponseReader::Http2(Box::new(answer))))
        }
    }
}

fn put_head(writer: &mut Http1Writer, outbound: &OutgoingRequest<'_>, proxy: Option<&Option<String>>) -> BodyCoding {
    let OutgoingRequest { request, route, body, is_upgrade } = outbound;
    let out = &mut writer.buffer;
    let authority = headers::host_of(request).unwrap_or_else(|| route.authority());
    match proxy {
        Some(_) => {
            let path: &[u8] = if *request.target == b"*"[..] { b"" } else { &request.target };
            let target = [b"http://", route.authority().as_bytes(), path].concat();
            http1::put_request_line(out, &request.method, &target);
        }
        None => http1::put_request_line(out, &request.method, &request.target),
    }
    if !request.headers.iter().any(|header| header.is("host")) {
        http1::put_headers(out, [Header::new("Host", authority.as_str())].iter());
    }
    let kept = ForwardedHeaders::of(&request.headers, *is_upgrade);
    if request.version == HttpVersion::Http2 {
        let joined = headers::with_one_cookie(kept.iter().filter(|header| !header.is("host")));
        http1::put_headers(out, request.headers.iter().filter(|header| header.is("host")));
        http1::put_headers(out, joined.iter());
    } else {
        http1::put_headers(out, kept.iter());
    }
    if let Some(Some(credentials)) = proxy {
        http1::put_headers(out, [Header::new("Proxy-Authorization", credentials.as_str())].iter());
    }
    let has_length = request.headers.iter().any(|header| header.is("content-length"));
    let coding = match body {
        Framing::Chunked => {
            http1::put_headers(out, [Header::new("Transfer-Encoding", "chunked")].iter());
            BodyCoding::Chunked
        }
        Framing::Known(bytes) if !has_length => {
            http1::put_headers(out, [Header::new("Content-Length", bytes.to_string())].iter());
            BodyCoding::Plain
        }
        _ => BodyCoding::Plain,
    };
    out.extend_from_slice(b"\r\n");
    coding
}

/// What comes of a request.
pub(crate) enum ResponseReader<'l> {
    Http1(&'l mut Http1Reader),
    Http2(Box<ResponseFuture>),
}

/// One thing that comes of it.
pub(crate) enum ResponseEvent {
    Informational(Informational<'static>),
    Response(Response<'static>, ResponseBody),
}

/// What follows a head.
pub(crate) enum ResponseBody {
    /// As the head says.
    Http1,
    Http2(h2::RecvStream),
}

impl<'l> ResponseReader<'l> {
    /// The next thing; `at_us` gives the time when it is there. Nothing is lost if it is given up.
    pub(crate) async fn next(&mut self, bytes_max: usize, at_us: impl Fn() -> u64) -> Result<ResponseEvent, PeerError> {
        match self {
            Self::Http1(reader) => {
                let head = reader.head(bytes_max).await.map_err(|error| match error {
                    ReadHeadError::End => PeerError::Io(io::ErrorKind::UnexpectedEof.into()),
                    ReadHeadError::Broken(error) => PeerError::Io(error),
                    ReadHeadError::TooLong => PeerError::Malformed("the head of the response is too long"),
                })?;
                match parse_response(&head, at_us()) {
                    Ok(ResponseHead::Informational(informational)) => Ok(ResponseEvent::Informational(informational)),
                    Ok(ResponseHead::Response(response)) => Ok(ResponseEvent::Response(response, ResponseBody::Http1)),
                    Err(_) => Err(PeerError::Malformed("the head of the response is not HTTP")),
                }
            }
            Self::Http2(answer) => {
                let next = poll_fn(|context| {
                    match answer.poll_informational(context) {
                        Poll::Ready(Some(Ok(informational))) => return Poll::Ready(Ok(Err(informational))),
                        Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                        Poll::Ready(None) | Poll::Pending => {}
                    }
                    Pin::new(&mut **answer).poll(context).map_ok(Ok)
                });
                match next.await? {
                    Ok(response) => {
                        let (parts, stream) = response.into_parts();
                        Ok(ResponseEvent::Response(http2::response(&parts, at_us()), ResponseBody::Http2(stream)))
                    }
                    Err(informational) => {
                        Ok(ResponseEvent::Informational(http2::informational(&informational, at_us())))
                    }
                }
            }
        }
    }

    /// The body of the response.
    pub(crate) fn body(
        self,
        rest: ResponseBody,
        framing: Framing,
        trailer_bytes_max: usize,
    ) -> Option<IncomingBody<'l>> {
        match (self, rest) {
            (_, ResponseBody::Http2(stream)) => Some(IncomingBody::http2(stream)),
            (Self::Http1(reader), ResponseBody::Http1) => Some(IncomingBody::http1(reader, framing, trailer_bytes_max)),
            (Self::Http2(_), ResponseBody::Http1) => None,
        }
    }
}

impl ResponseHead {
    pub(crate) fn status(&self) -> u16 {
        match self {
            Self::Informational(informational) => informational.status,
            Self::Response(response) => response.status,
        }
    }
}
