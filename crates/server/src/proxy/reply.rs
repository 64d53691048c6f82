//! The answer to a client, whatever version of HTTP it speaks.

use crate::runtime::flushes::FlushNotifier;
use crate::runtime::headers::ForwardedHeaders;
use crate::runtime::http1::{self, BodyCoding, Http1Writer};
use crate::runtime::http2;
use crate::runtime::peer::OutgoingBody;
use crate::runtime::peer_error::PeerError;
use bytes::{Bytes, BytesMut};
use cassette::{Header, HttpVersion, Informational, Response};
use h2::server::SendResponse;
use std::future::poll_fn;
use std::io;

/// The answer to a client.
///
/// A head is gathered with what follows it. As long as nothing of it went, [`take_back`](Reply::take_back) makes room for another.
pub(crate) struct Reply<'c> {
    stream: Option<(SendResponse<Bytes>, FlushNotifier)>,
    sink: OutgoingBody<'c>,
    version: HttpVersion,
    is_head: bool,
    progress: ReplyProgress,
    /// Whether the client may ask something else on the same connection.
    pub(crate) keeps_alive: bool,
    /// Whether its end is the end of the connection.
    is_until_end: bool,
    /// The last piece of the body, which goes with the end.
    last: Bytes,
}

/// How far an answer is.
enum ReplyProgress {
    Nothing,
    /// The head is gathered. With HTTP/1 nothing was sent since `sent` bytes, and before it `buffered` bytes were in the buffer.
    Gathered {
        sent: u64,
        buffered: usize,
    },
    /// The head is gathered with HTTP/2: the head, whether that is all, and what follows.
    Held {
        head: Box<http::Response<()>>,
        is_whole: bool,
        data: BytesMut,
    },
    Begun,
    Finished,
}

/// How many bytes after a head wait with it.
const HELD_BYTES_MAX: usize = 16 << 10;

/// How long the body of a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyLength {
    /// There is none.
    Absent,
    Known(u64),
    Unknown,
}

/// What is left of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionDisposition {
    /// The next request can come.
    Open,
    /// It is to be ended.
    Close,
    /// It is to be ended so that the client sees that something is missing.
    Reset,
}

impl<'c> Reply<'c> {
    pub(crate) fn http1(writer: &'c mut Http1Writer, version: HttpVersion, is_head: bool, keeps_alive: bool) -> Self {
        let sink = OutgoingBody::Http1 { writer, coding: BodyCoding::Plain };
        let (progress, last) = (ReplyProgress::Nothing, Bytes::new());
        Self { stream: None, sink, version, is_head, progress, keeps_alive, is_until_end: false, last }
    }

    pub(crate) fn http2(stream: SendResponse<Bytes>, flushes: FlushNotifier, is_head: bool) -> Reply<'static> {
        Reply {
            stream: Some((stream, flushes)),
            sink: OutgoingBody::Nothing,
            version: HttpVersion::Http2,
            is_head,
            progress: ReplyProgress::Nothing,
            keeps_alive: true,
            is_until_end: false,
            last: Bytes::new(),
        }
    }

    /// Whether something of a response may have gone to the client.
    fn is_begun(&self) -> bool {
        match (&self.progress, &self.sink) {
            (ReplyProgress::Nothing | ReplyProgress::Held { .. }, _) => false,
            (ReplyProgress::Gathered { sent, .. }, OutgoingBody::Http1 { writer, .. }) => writer.sent != *sent,
            _ => true,
        }
    }

    /// Forgets a response that is gathered, if nothing of it went to the client. Whether there can be another.
    pub(crate) fn take_back(&mut self) -> bool {
        if self.is_begun() {
            return false;
        }
        if let (ReplyProgress::Gathered { buffered, .. }, OutgoingBody::Http1 { writer, coding }) =
            (&self.progress, &mut self.sink)
        {
            writer.buffer.truncate(*buffered);
            *coding = BodyCoding::Plain;
        }
        self.is_until_end = false;
        self.last.clear();
        self.progress = ReplyProgress::Nothing;
        true
    }

    /// Whether there is a response, be it gathered or sent.
    pub(crate) fn has_head(&self) -> bool {
        !matches!(self.progress, ReplyProgress::Nothing)
    }

    /// What is left of the connection.
    pub(crate) fn after(&self) -> ConnectionDisposition {
        match (&self.progress, self.keeps_alive && !self.is_until_end) {
            (ReplyProgress::Finished, true) => ConnectionDisposition::Open,
            (ReplyProgress::Finished, false) => ConnectionDisposition::Close,
            _ => ConnectionDisposition::Reset,
        }
    }

    /// Sends a response before the response.
    pub(crate) async fn informational(&mut self, informational: &Informational<'_>) -> Result<(), PeerError> {
        match (&mut self.sink, &mut self.stream) {
            // HTTP/1.0 knows of none.
            (OutgoingBody::Http1 { .. }, _) if self.version == HttpVersion::Http10 => Ok(()),
            (OutgoingBody::Http1 { writer, .. }, _) => {
                http1::put_status_line(&mut writer.buffer, informational.status, &informational.reason);
                http1::put_headers(&mut writer.buffer, ForwardedHeaders::of(&informational.headers, false).iter());
                writer.buffer.extend_from_slice(b"\r\n");
                Ok(writer.flush().await?)
            }
            (_, Some((stream, _))) => {
                let head = http2::response_parts(informational.status, &informational.headers);
                stream.send_informational(head.map_err(invalid)?)?;
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }

    /// Gathers the head of the response; it goes with what follows, or when it is flushed.
    pub(crate) fn head(&mut self, response: &Response<'_>, length: BodyLength) -> Result<(), PeerError> {
        let length = if self.is_head { BodyLength::Absent } else { length };
        let headers = with_length(response, length);
        if self.stream.is_some() {
            let head = Box::new(http2::response_parts(response.status, &headers).map_err(invalid)?);
            let is_whole = matches!(length, BodyLength::Absent | BodyLength::Known(0)) && response.trailers.is_empty();
            self.progress = ReplyProgress::Held { head, is_whole, data: BytesMut::new() };
            return Ok(());
        }
        let OutgoingBody::Http1 { writer, coding } = &mut self.sink else { return Ok(()) };
        self.progress = ReplyProgress::Gathered { sent: writer.sent, buffered: writer.buffer.len() };
        http1::put_status_line(&mut writer.buffer, response.status, &response.reason);
        http1::put_headers(&mut writer.buffer, ForwardedHeaders::of(&headers, response.status == 101).iter());
        if length == BodyLength::Unknown && self.version != HttpVersion::Http10 {
            *coding = BodyCoding::Chunked;
            writer.buffer.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        self.is_until_end = length == BodyLength::Unknown && self.version == HttpVersion::Http10;
        if response.status != 101 {
            writer.buffer.extend_from_slice(match (self.keeps_alive && !self.is_until_end, self.version) {
                (false, _) => b"Connection: close\r\n",
                (true, HttpVersion::Http10) => b"Connection: keep-alive\r\n",
                (true, _) => b"",
            });
        }
        writer.buffer.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Gathers a piece of the body.
    pub(crate) async fn data(&mut self, bytes: Bytes) -> Result<(), PeerError> {
        let last = std::mem::take(&mut self.last);
        self.pass(last).await?;
        self.pass(bytes).await
    }

    async fn pass(&mut self, bytes: Bytes) -> Result<(), PeerError> {
        if self.is_head || bytes.is_empty() || self.holds(&bytes) {
            return Ok(());
        }
        self.release().await?;
        self.sink.data(bytes).await
    }

    /// Keeps the last piece of a body until the body is ended, or goes on nevertheless. HTTP/2 may send an empty one after it, which
    /// does not take its place.
    pub(crate) fn last(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.last = bytes;
        }
    }

    /// Whether more bytes would not only be gathered.
    pub(crate) fn would_send(&self, bytes: usize) -> bool {
        match (&self.progress, &self.sink) {
            _ if self.is_head => false,
            (ReplyProgress::Held { data, .. }, _) => data.len() + bytes > HELD_BYTES_MAX,
            (_, OutgoingBody::Http1 { writer, .. }) => writer.would_send(bytes),
            _ => true,
        }
    }

    /// Gathers a piece of the body, whose bytes are copied if they have to be kept.
    pub(crate) async fn slice(&mut self, bytes: &[u8]) -> Result<(), PeerError> {
        if self.is_head || self.holds(bytes) {
            return Ok(());
        }
        self.release().await?;
        match &mut self.sink {
            OutgoingBody::Http1 { writer, coding } => Ok(writer.data(*coding, bytes).await?),
            sink => sink.data(Bytes::copy_from_slice(bytes)).await,
        }
    }

    /// Keeps bytes with the head that is held, if there is one and they are few.
    fn holds(&mut self, bytes: &[u8]) -> bool {
        match &mut self.progress {
            ReplyProgress::Held { is_whole: false, data, .. } if data.len() + bytes.len() <= HELD_BYTES_MAX => {
                data.extend_from_slice(bytes);
                true
            }
            _ => false,
        }
    }

    /// Sends what is held with HTTP/2.
    async fn release(&mut self) -> Result<(), PeerError> {
        if !matches!(self.progress, ReplyProgress::Held { .. }) {
            return Ok(());
        }
        let ReplyProgress::Held { head, is_whole, data } = std::mem::replace(&mut self.progress, ReplyProgress::Begun)
        else {
            return Ok(());
        };
        let Some((stream, _)) = &mut self.stream else { return Ok(()) };
        let body = stream.send_response(*head, is_whole)?;
        self.sink = if is_whole { OutgoingBody::Nothing } else { OutgoingBody::Http2(body) };
        self.sink.data(data.freeze()).await
    }

    /// Sends what is gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), PeerError> {
        self.release().await?;
        self.sink.flush().await
    }

    /// Ends the response.
    pub(crate) async fn finish(&mut self, trailers: &[Header<'_>]) -> Result<(), PeerError> {
        self.data(Bytes::new()).await?;
        self.release().await?;
        self.sink.finish(if self.is_head { &[] } else { trailers }).await?;
        self.progress = ReplyProgress::Finished;
        Ok(())
    }

    /// Returns when all that was given to the connection has gone to the system.
    pub(crate) async fn sent(&self) {
        if let Some((_, flushes)) = &self.stream {
            flushes.done().await;
        }
    }

    /// Ends it in the middle, when all that came before is sent. Gives what is left of the connection: if the client can tell from the
    /// message that something is missing, the connection is closed, since the system throws away what a client has not yet got of a
    /// connection that is reset.
    pub(crate) async fn break_off(&mut self) -> Result<ConnectionDisposition, PeerError> {
        self.data(Bytes::new()).await?;
        self.flush().await?;
        // Another task sends it, and a reset would throw away what it has not yet sent.
        self.sent().await;
        self.abort();
        Ok(if self.stream.is_none() && !self.is_until_end {
            ConnectionDisposition::Close
        } else {
            ConnectionDisposition::Reset
        })
    }

    /// Ends it in the middle.
    pub(crate) fn abort(&mut self) {
        match (&mut self.stream, &self.progress) {
            (Some((stream, _)), ReplyProgress::Nothing | ReplyProgress::Held { .. }) => {
                stream.send_reset(h2::Reason::INTERNAL_ERROR)
            }
            _ => self.sink.abort(),
        }
        self.progress = ReplyProgress::Begun;
    }

    /// Returns once the client has given the stream up, as far as that is seen here.
    pub(crate) async fn gone(&mut self) {
        match (&mut self.stream, &self.progress) {
            (Some((stream, _)), ReplyProgress::Nothing | ReplyProgress::Held { .. }) => {
                drop(poll_fn(|context| stream.poll_reset(context)).await);
            }
            _ => self.sink.gone().await,
        }
    }

    /// A whole response of the proxy's own.
    pub(crate) async fn respond(
        &mut self,
        status: u16,
        reason: &str,
        headers: &[Header<'_>],
        body: &[u8],
    ) -> Result<(), PeerError> {
        let headers = headers.iter().cloned().map(Header::into_owned).collect();
        let response = Response { status, reason: reason.to_owned().into(), headers, ..Response::default() };
        self.head(&response, BodyLength::Known(body.len() as u64))?;
        self.slice(body).await?;
        self.finish(&[]).await
    }

    /// The connection that it is written to, with HTTP/1.
    pub(crate) fn into_writer(self) -> Option<&'c mut Http1Writer> {
        match self.sink {
            OutgoingBody::Http1 { writer, .. } => Some(writer),
            OutgoingBody::Http2(_) | OutgoingBody::Nothing => None,
        }
    }
}

fn invalid(what: String) -> PeerError {
    PeerError::Io(io::Error::new(io::ErrorKind::InvalidData, what))
}

/// The headers of a response, with the length that its body has here.
fn with_length<'r>(response: &'r Response<'_>, length: BodyLength) -> Vec<Header<'r>> {
    let is_length = |header: &Header<'_>| header.is("content-length");
    let said = response.headers.iter().filter(|header| is_length(header));
    let is_right = match length {
        BodyLength::Absent => true,
        BodyLength::Unknown => false,
        BodyLength::Known(bytes) => {
            let text = bytes.to_string();
            let mut said = said.peekable();
            said.peek().is_some() && said.all(|header| header.value == *text.as_str())
        }
    };
    let kept = response.headers.iter().filter(|header| is_right || !is_length(header)).map(Header::borrowed);
    let mut headers: Vec<_> = kept.collect();
    if let (BodyLength::Known(bytes), false) = (length, is_right) {
        headers.push(Header::new("Content-Length", bytes.to_string()));
    }
    headers
}
