//! The answer to a client, whatever version of HTTP it speaks.

use crate::headers::Kept;
use crate::http1::{self, Coding, Writer};
use crate::http2;
use crate::peer::{Broken, Sink};
use bytes::Bytes;
use cassette::{Header, HttpVersion, Informational, Response};
use h2::server::SendResponse;
use std::future::poll_fn;
use std::io;

/// The answer to a client.
pub(crate) struct Reply<'c> {
    stream: Option<SendResponse<Bytes>>,
    sink: Sink<'c>,
    version: HttpVersion,
    is_head: bool,
    /// Whether a head went to the client, so that there cannot be another.
    is_begun: bool,
    is_finished: bool,
    /// Whether the client may ask something else on the same connection.
    pub(crate) keeps_alive: bool,
    /// Whether its end is the end of the connection.
    is_until_end: bool,
}

/// How long the body of a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// There is none.
    Absent,
    Known(u64),
    Unknown,
}

/// What is left of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next request can come.
    Open,
    /// It is to be ended.
    Close,
    /// It is to be ended so that the client sees that something is missing.
    Reset,
}

impl<'c> Reply<'c> {
    pub(crate) fn http1(writer: &'c mut Writer, version: HttpVersion, is_head: bool, keeps_alive: bool) -> Self {
        let sink = Sink::Http1 { writer, coding: Coding::Plain };
        Self {
            stream: None,
            sink,
            version,
            is_head,
            is_begun: false,
            is_finished: false,
            keeps_alive,
            is_until_end: false,
        }
    }

    pub(crate) fn http2(stream: SendResponse<Bytes>, is_head: bool) -> Reply<'static> {
        Reply {
            stream: Some(stream),
            sink: Sink::Nothing,
            version: HttpVersion::Http2,
            is_head,
            is_begun: false,
            is_finished: false,
            keeps_alive: true,
            is_until_end: false,
        }
    }

    pub(crate) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// What is left of the connection.
    pub(crate) fn after(&self) -> After {
        match (self.is_finished, self.keeps_alive && !self.is_until_end) {
            (false, _) => After::Reset,
            (true, false) => After::Close,
            (true, true) => After::Open,
        }
    }

    /// Sends a response before the response.
    pub(crate) async fn informational(&mut self, informational: &Informational<'_>) -> Result<(), Broken> {
        match (&mut self.sink, &mut self.stream) {
            // HTTP/1.0 knows of none.
            (Sink::Http1 { .. }, _) if self.version == HttpVersion::Http10 => Ok(()),
            (Sink::Http1 { writer, .. }, _) => {
                http1::put_status_line(&mut writer.buffer, informational.status, &informational.reason);
                http1::put_headers(&mut writer.buffer, Kept::of(&informational.headers, false).iter());
                writer.buffer.extend_from_slice(b"\r\n");
                Ok(writer.flush().await?)
            }
            (_, Some(stream)) => {
                let head = http2::response_parts(informational.status, &informational.headers);
                stream.send_informational(head.map_err(invalid)?)?;
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }

    /// Gathers the head of the response; it goes with its first piece, or when it is flushed.
    pub(crate) fn head(&mut self, response: &Response<'_>, length: Length) -> Result<(), Broken> {
        let length = if self.is_head { Length::Absent } else { length };
        self.is_begun = true;
        if let Some(stream) = &mut self.stream {
            let head = http2::response_parts(response.status, &with_length(response, length)).map_err(invalid)?;
            let is_whole = matches!(length, Length::Absent | Length::Known(0)) && response.trailers.is_empty();
            let body = stream.send_response(head, is_whole)?;
            self.sink = if is_whole { Sink::Nothing } else { Sink::Http2(body) };
            return Ok(());
        }
        let Sink::Http1 { writer, coding } = &mut self.sink else { return Ok(()) };
        http1::put_status_line(&mut writer.buffer, response.status, &response.reason);
        let headers = with_length(response, length);
        http1::put_headers(&mut writer.buffer, Kept::of(&headers, response.status == 101).iter());
        if length == Length::Unknown && self.version != HttpVersion::Http10 {
            *coding = Coding::Chunked;
            writer.buffer.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        } else if length == Length::Unknown {
            self.is_until_end = true;
        }
        if response.status != 101 {
            let stays = self.keeps_alive && !self.is_until_end;
            match (stays, self.version) {
                (false, _) => writer.buffer.extend_from_slice(b"Connection: close\r\n"),
                (true, HttpVersion::Http10) => writer.buffer.extend_from_slice(b"Connection: keep-alive\r\n"),
                (true, _) => {}
            }
        }
        writer.buffer.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Gathers a piece of the body.
    pub(crate) async fn data(&mut self, bytes: Bytes) -> Result<(), Broken> {
        if self.is_head { Ok(()) } else { self.sink.data(bytes).await }
    }

    /// The same, of bytes that are copied if they have to be kept.
    pub(crate) async fn slice(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        match &mut self.sink {
            _ if self.is_head => Ok(()),
            Sink::Http1 { writer, coding } => Ok(writer.data(*coding, bytes).await?),
            sink => sink.data(Bytes::copy_from_slice(bytes)).await,
        }
    }

    /// Sends what is gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), Broken> {
        self.sink.flush().await
    }

    /// Ends the response.
    pub(crate) async fn finish(&mut self, trailers: &[Header<'_>]) -> Result<(), Broken> {
        self.sink.finish(if self.is_head { &[] } else { trailers }).await?;
        self.is_finished = true;
        Ok(())
    }

    /// Ends it in the middle.
    pub(crate) fn abort(&mut self) {
        match (&mut self.stream, self.is_begun) {
            (Some(stream), false) => stream.send_reset(h2::Reason::INTERNAL_ERROR),
            _ => self.sink.abort(),
        }
        self.is_finished = false;
    }

    /// Returns once the client has given the stream up, as far as that is seen here.
    pub(crate) async fn gone(&mut self) {
        match (&mut self.stream, self.is_begun) {
            (Some(stream), false) => drop(poll_fn(|context| stream.poll_reset(context)).await),
            _ => self.sink.gone().await,
        }
    }

    /// A whole response of the proxy's own.
    pub(crate) async fn own(
        &mut self,
        status: u16,
        reason: &str,
        headers: &[Header<'_>],
        body: &[u8],
    ) -> Result<(), Broken> {
        let headers = headers.iter().cloned().map(Header::into_owned).collect();
        let response = Response { status, reason: reason.to_owned().into(), headers, ..Response::default() };
        self.head(&response, Length::Known(body.len() as u64))?;
        self.slice(body).await?;
        self.finish(&[]).await
    }

    /// The connection that it is written to, with HTTP/1.
    pub(crate) fn into_writer(self) -> Option<&'c mut Writer> {
        match self.sink {
            Sink::Http1 { writer, .. } => Some(writer),
            Sink::Http2(_) | Sink::Nothing => None,
        }
    }
}

fn invalid(what: String) -> Broken {
    Broken::Io(io::Error::new(io::ErrorKind::InvalidData, what))
}

/// The headers of a response, with the length that its body has here.
fn with_length<'r>(response: &'r Response<'_>, length: Length) -> Vec<Header<'r>> {
    let is_length = |header: &Header<'_>| header.is("content-length");
    let said = response.headers.iter().filter(|header| is_length(header));
    let is_right = match length {
        Length::Absent => true,
        Length::Unknown => false,
        Length::Known(bytes) => {
            let text = bytes.to_string();
            let mut said = said.peekable();
            said.peek().is_some() && said.all(|header| header.value == *text.as_str())
        }
    };
    let kept = response.headers.iter().filter(|header| is_right || !is_length(header)).map(Header::borrowed);
    let mut headers: Vec<_> = kept.collect();
    if let (Length::Known(bytes), false) = (length, is_right) {
        headers.push(Header::new("Content-Length", bytes.to_string()));
    }
    headers
}
