//! Bodies to and from either side, whatever version of HTTP it speaks.

use super::http1::{BodyCoding, BodyDecoder, Framing, Http1Reader, Http1Writer};
use super::http2;
use super::peer_error::PeerError;
use bytes::Bytes;
use cassette::Header;
use h2::{RecvStream, SendStream};
use std::future::poll_fn;

/// A body that comes.
pub(crate) enum IncomingBody<'c> {
    Http1 { reader: &'c mut Http1Reader, decoder: BodyDecoder },
    Http2 { stream: RecvStream, unreleased: usize, trailers: Vec<Header<'static>> },
}

impl<'c> IncomingBody<'c> {
    pub(crate) fn http1(reader: &'c mut Http1Reader, framing: Framing, trailer_bytes_max: usize) -> Self {
        Self::Http1 { reader, decoder: BodyDecoder::new(framing, trailer_bytes_max) }
    }

    pub(crate) fn http2(stream: RecvStream) -> Self {
        Self::Http2 { stream, unreleased: 0, trailers: Vec::new() }
    }

    /// The next piece; `None` at the end. Nothing is lost if it is given up.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, PeerError> {
        match self {
            Self::Http1 { reader, decoder } => decoder.next(reader).await,
            Self::Http2 { stream, unreleased, trailers } => {
                // The other side may send as much more once what it sent went on.
                let count = std::mem::take(unreleased);
                if count > 0 {
                    stream.flow_control().release_capacity(count)?;
                }
                match poll_fn(|context| stream.poll_data(context)).await {
                    Some(Ok(bytes)) => {
                        *unreleased = bytes.len();
                        Ok(Some(bytes))
                    }
                    Some(Err(error)) => Err(error.into()),
                    None => {
                        let fields = poll_fn(|context| stream.poll_trailers(context)).await?;
                        *trailers = fields.map(|fields| http2::headers(&fields)).unwrap_or_default();
                        Ok(None)
                    }
                }
            }
        }
    }

    /// What came after the body.
    pub(crate) fn take_trailers(&mut self) -> Vec<Header<'static>> {
        match self {
            Self::Http1 { decoder, .. } => decoder.take_trailers(),
            Self::Http2 { trailers, .. } => std::mem::take(trailers),
        }
    }

    /// What came after the body, which stays to be taken.
    pub(crate) fn trailers(&self) -> Vec<Header<'static>> {
        match self {
            Self::Http1 { decoder, .. } => decoder.trailers().to_vec(),
            Self::Http2 { trailers, .. } => trailers.clone(),
        }
    }

    /// Whether all of it came.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Http1 { decoder, .. } => decoder.is_done(),
            Self::Http2 { stream, .. } => stream.is_end_stream(),
        }
    }

    /// Returns once the other side is gone, as far as that is seen here.
    pub(crate) async fn gone(&mut self) {
        match self {
            Self::Http1 { reader, .. } => reader.gone().await,
            Self::Http2 { .. } => std::future::pending().await,
        }
    }
}

/// A body that goes.
pub(crate) enum OutgoingBody<'c> {
    Http1 {
        writer: &'c mut Http1Writer,
        coding: BodyCoding,
    },
    Http2(SendStream<Bytes>),
    /// There is none, or its end was said with the head.
    Nothing,
}

impl OutgoingBody<'_> {
    /// Sends a piece, once the other side takes it.
    pub(crate) async fn data(&mut self, mut bytes: Bytes) -> Result<(), PeerError> {
        match self {
            Self::Http1 { writer, coding } => Ok(writer.data(*coding, &bytes).await?),
            Self::Http2(stream) => {
                while !bytes.is_empty() {
                    stream.reserve_capacity(bytes.len());
                    let capacity = poll_fn(|context| stream.poll_capacity(context)).await;
                    let capacity = capacity.unwrap_or_else(|| Err(h2::Reason::STREAM_CLOSED.into()))?;
                    stream.send_data(bytes.split_to(capacity.min(bytes.len())), false)?;
                }
                Ok(())
            }
            Self::Nothing => Ok(()),
        }
    }

    /// Sends what was gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), PeerError> {
        match self {
            Self::Http1 { writer, .. } => Ok(writer.flush().await?),
            Self::Http2(_) | Self::Nothing => Ok(()),
        }
    }

    /// Ends the body, and sends everything.
    pub(crate) async fn finish(&mut self, trailers: &[Header<'_>]) -> Result<(), PeerError> {
        match self {
            Self::Http1 { writer, coding } => {
                writer.finish(*coding, trailers);
                Ok(writer.flush().await?)
            }
            Self::Http2(stream) => {
                if trailers.is_empty() {
                    stream.send_data(Bytes::new(), true)?;
                } else {
                    stream.send_trailers(http2::fields(trailers.iter()))?;
                }
                Ok(())
            }
            Self::Nothing => Ok(()),
        }
    }

    /// Ends it so that the other side sees that something is missing. With HTTP/1 that is for who has the connection.
    pub(crate) fn abort(&mut self) {
        if let Self::Http2(stream) = self {
            stream.send_reset(h2::Reason::INTERNAL_ERROR);
        }
    }

    /// Returns once the other side has given the stream up, as far as that is seen here.
    pub(crate) async fn gone(&mut self) {
        match self {
            Self::Http2(stream) => drop(poll_fn(|context| stream.poll_reset(context)).await),
            Self::Http1 { .. } | Self::Nothing => std::future::pending().await,
        }
    }
}
