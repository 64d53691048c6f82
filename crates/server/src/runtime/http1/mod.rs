//! HTTP/1 as it is on the wire, read and written.
//!
//! What is kept on a cassette is what was sent: names in their case, headers in their order, reason phrases, the boundaries of
//! chunks. Libraries for HTTP give messages with all of this smoothed away, so heads and bodies are read here;
//! [0020](../../../../../docs/decisions/0020-http-is-kept-as-it-was-on-the-wire.md) has the reasons.
//!
//! Requests are read strictly, since what two readers understand differently is how one request is smuggled in another.
//! Responses are read as servers send them, as long as it is plain where they end.

mod body;
mod head;
mod write;

pub(crate) use body::{BodyDecoder, Framing};
pub(crate) use head::{InvalidHead, RequestHead, ResponseHead, named, parse_request, parse_response};
pub(crate) use write::{BodyCoding, Http1Writer, put_headers, put_request_line, put_status_line};

use crate::runtime::stream::ByteStream;
use bytes::{Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncReadExt, ReadHalf};

/// How much is read at a time: at first, and when a read brought as much as that.
const READ_BYTES: usize = 8 << 10;
const READ_BYTES_BULK: usize = 64 << 10;

/// What comes from the other side.
pub(crate) struct Http1Reader {
    pub(crate) io: ReadHalf<ByteStream>,
    pub(crate) buffer: BytesMut,
    is_bulk: bool,
}

/// Why no head was read.
pub(crate) enum ReadHeadError {
    /// The other side had nothing more to say.
    End,
    /// It ended in the middle of one, or the system failed.
    Broken(io::Error),
    /// It is too long.
    TooLong,
}

impl Http1Reader {
    pub(crate) fn new(io: ReadHalf<ByteStream>) -> Self {
        Self { io, buffer: BytesMut::new(), is_bulk: false }
    }

    /// Waits for more bytes. Gives how many there are; 0 at the end. Nothing is lost if it is given up.
    pub(crate) async fn fill(&mut self) -> io::Result<usize> {
        let wanted = if self.is_bulk { READ_BYTES_BULK } else { READ_BYTES };
        self.buffer.reserve(wanted);
        let count = self.io.read_buf(&mut self.buffer).await?;
        self.is_bulk = count >= READ_BYTES;
        Ok(count)
    }

    /// Takes a head off the buffer, the empty line after it included, waiting for it.
    pub(crate) async fn head(&mut self, bytes_max: usize) -> Result<Bytes, ReadHeadError> {
        let mut looked_at = 0;
        loop {
            self.drop_empty_lines();
            if let Some(end) = head::end_of_head(&self.buffer, looked_at) {
                return if end <= bytes_max {
                    Ok(self.buffer.split_to(end).freeze())
                } else {
                    Err(ReadHeadError::TooLong)
                };
            }
            if self.buffer.len() > bytes_max {
                return Err(ReadHeadError::TooLong);
            }
            looked_at = self.buffer.len().saturating_sub(3);
            let is_begun = !self.buffer.is_empty();
            match self.fill().await {
                Ok(0) if is_begun => return Err(ReadHeadError::Broken(io::ErrorKind::UnexpectedEof.into())),
                Ok(0) => return Err(ReadHeadError::End),
                Ok(_) => {}
                Err(error) if is_begun => return Err(ReadHeadError::Broken(error)),
                Err(_) => return Err(ReadHeadError::End),
            }
        }
    }

    /// Empty lines before a head are nothing (RFC 9112, section 2.2).
    fn drop_empty_lines(&mut self) {
        while self.buffer.starts_with(b"\r\n") {
            let _ = self.buffer.split_to(2);
        }
    }

    /// Returns when the other side has ended, and never if it says something instead.
    pub(crate) async fn gone(&mut self) {
        if self.buffer.is_empty() && matches!(self.fill().await, Ok(0) | Err(_)) {
            return;
        }
        std::future::pending().await
    }
}
