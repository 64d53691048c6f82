//! Messages as they go.

use crate::runtime::stream::ByteStream;
use bytes::{BufMut, BytesMut};
use cassette::Header;
use std::io::{self, Write as _};
use tokio::io::{AsyncWriteExt, WriteHalf};

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyCoding {
    /// As it is: its length was said, or the connection ends with it.
    Plain,
    /// In chunks.
    Chunked,
}

/// Pieces below this size are put together with what stands before them.
const COPIED_BYTES_MAX: usize = 16 << 10;

/// How many bytes a chunk takes at most besides those in it.
const CHUNK_AROUND_BYTES: usize = 20;

/// What goes to the other side. Nothing goes before it is flushed, or is more than is worth gathering.
pub(crate) struct Http1Writer {
    pub(crate) io: WriteHalf<ByteStream>,
    pub(crate) buffer: BytesMut,
    /// How many bytes are on their way.
    pub(crate) sent: u64,
}

impl Http1Writer {
    pub(crate) fn new(io: WriteHalf<ByteStream>) -> Self {
        Self { io, buffer: BytesMut::new(), sent: 0 }
    }

    /// Whether a piece of `bytes` bytes would send something.
    pub(crate) fn would_send(&self, bytes: usize) -> bool {
        self.buffer.len() + bytes + CHUNK_AROUND_BYTES > COPIED_BYTES_MAX
    }

    /// Adds a piece of a body. In chunks, it is a chunk; one without bytes would be the end and is left out.
    pub(crate) async fn data(&mut self, coding: BodyCoding, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if coding == BodyCoding::Chunked {
            let _ = write!((&mut self.buffer).writer(), "{:x}\r\n", bytes.len());
        }
        if bytes.len() <= COPIED_BYTES_MAX {
            self.buffer.put_slice(bytes);
        } else {
            self.send().await?;
            self.sent += bytes.len() as u64;
            self.io.write_all(bytes).await?;
        }
        if coding == BodyCoding::Chunked {
            self.buffer.put_slice(b"\r\n");
        }
        if self.buffer.len() > COPIED_BYTES_MAX { self.send().await } else { Ok(()) }
    }

    /// Ends a body. Trailers go with chunks only.
    pub(crate) fn finish(&mut self, coding: BodyCoding, trailers: &[Header<'_>]) {
        if coding == BodyCoding::Chunked {
            self.buffer.put_slice(b"0\r\n");
            put_headers(&mut self.buffer, trailers.iter());
            self.buffer.put_slice(b"\r\n");
        }
    }

    /// Sends what is gathered.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.send().await?;
        self.io.flush().await
    }

    async fn send(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.sent += self.buffer.len() as u64;
        let sent = self.io.write_all(&self.buffer).await;
        self.buffer.clear();
        sent
    }
}

pub(crate) fn put_request_line(out: &mut BytesMut, method: &[u8], target: &[u8]) {
    for part in [method, b" ", target, b" HTTP/1.1\r\n"] {
        out.put_slice(part);
    }
}

pub(crate) fn put_status_line(out: &mut BytesMut, status: u16, reason: &[u8]) {
    let _ = write!(out.writer(), "HTTP/1.1 {status:03} ");
    out.extend(reason.iter().map(|byte| if matches!(byte, b'\r' | b'\n' | 0) { b' ' } else { *byte }));
    out.put_slice(b"\r\n");
}

/// Adds headers, each a line. Line ends in what a cassette holds would be more headers, so they become spaces.
pub(crate) fn put_headers<'h>(out: &mut BytesMut, headers: impl Iterator<Item = &'h Header<'h>>) {
    for header in headers {
        put_line(out, &header.name, &header.value);
    }
}

fn put_line(out: &mut BytesMut, name: &[u8], value: &[u8]) {
    out.reserve(name.len() + value.len() + 4);
    out.put_slice(name);
    out.put_slice(b": ");
    if memchr::memchr3(b'\r', b'\n', 0, value).is_none() {
        out.put_slice(value);
    } else {
        out.extend(value.iter().map(|byte| if matches!(byte, b'\r' | b'\n' | 0) { b' ' } else { *byte }));
    }
    out.put_slice(b"\r\n");
}
