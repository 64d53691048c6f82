//! Exchanges whose bodies are read fragment by fragment, however long they are.
//!
//! 1. An [`Outline`] is an exchange without its bodies, and a [`BodyReader`] for each of them.
//! 2. A reader has one block of the cassette in memory, which is 256 KiB at most as Metroon writes them, or a body that lies within its exchange.
//! 3. Its fragments are the chunks that were recorded, with their times. A chunk that goes beyond a piece of the cassette comes in
//!    several fragments, of which all but the first [go on](BodyFragment::goes_on).
//!
//! Cost: a block is decompressed once as long as fragments are read in order.

use crate::error::ReadError;
use crate::exchange::Exchange;
use crate::message::{Body, Chunk};
use crate::record::whole::{SharedBody, StoredBody, StoredExchange};
use crate::seal::read::SealedFile;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// An exchange whose bodies are read apart.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outline<'t> {
    /// The exchange. Neither its request nor its response has a body here.
    pub exchange: Exchange<'t>,
    /// The body of the request, if it had one.
    pub request_body: Option<BodyReader<'t>>,
    /// The body of the response, if it had one.
    pub response_body: Option<BodyReader<'t>>,
}

/// Some bytes of a body that came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyFragment<'r> {
    /// When the chunk that they are of was there, in microseconds after the exchange began.
    pub at_us: u64,
    /// Whether bytes of the same chunk came before.
    pub goes_on: bool,
    /// The bytes; none if the chunk has none.
    pub bytes: &'r [u8],
}

/// Reads a body from its beginning to its end.
pub struct BodyReader<'t> {
    bytes: usize,
    chunks: std::vec::IntoIter<Chunk>,
    /// What is left of the current chunk.
    chunk: Chunk,
    source: FragmentSource<'t>,
}

/// Where the bytes come from.
enum FragmentSource<'t> {
    /// What is left of all of them.
    Inline(&'t [u8]),
    Shared {
        sealed: &'t SealedFile,
        pieces: std::vec::IntoIter<u32>,
        block: Option<(u32, Cow<'t, [u8]>)>,
        /// What is left of the current piece, in the block.
        rest: Range<usize>,
    },
}

impl<'t> Outline<'t> {
    /// Of an exchange in memory.
    pub(crate) fn of(exchange: &'t Exchange<'_>) -> Self {
        let request_body = exchange.request.body.as_ref().map(BodyReader::of);
        let response_body = exchange.response.as_ref().and_then(|response| response.body.as_ref());
        let response_body = response_body.map(BodyReader::of);
        let mut exchange = exchange.borrowed();
        exchange.request.body = None;
        if let Some(response) = &mut exchange.response {
            response.body = None;
        }
        Self { exchange, request_body, response_body }
    }

    /// Of an exchange on a sealed cassette.
    pub(crate) fn on(sealed: &'t SealedFile, whole: StoredExchange<'t>) -> Self {
        let reader = |body: StoredBody<'t>| BodyReader::on(sealed, body);
        let (request_body, response_body) = (whole.request.map(reader), whole.response.map(reader));
        Self { exchange: whole.exchange, request_body, response_body }
    }
}

impl<'t> BodyReader<'t> {
    fn new(bytes: usize, chunks: Vec<Chunk>, source: FragmentSource<'t>) -> Self {
        Self { bytes, chunks: chunks.into_iter(), chunk: Chunk::default(), source }
    }

    fn of(body: &'t Body<'_>) -> Self {
        Self::new(body.bytes().len(), body.chunks().to_vec(), FragmentSource::Inline(body.bytes()))
    }

    fn on(sealed: &'t SealedFile, body: StoredBody<'t>) -> Self {
        match body {
            StoredBody::Inline(chunks, bytes) => Self::new(bytes.len(), chunks, FragmentSource::Inline(bytes)),
            StoredBody::Shared(SharedBody { chunks, bytes, pieces }) => {
                let pieces = pieces.into_iter();
                Self::new(bytes, chunks, FragmentSource::Shared { sealed, pieces, block: None, rest: 0..0 })
            }
        }
    }

    /// How many bytes the whole body has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// When the last of it was there, in microseconds after the exchange began. It is known before anything is read; `None` after that, and if
    /// the body has no chunk.
    pub fn ended_us(&self) -> Option<u64> {
        self.chunks.as_slice().last().map(|chunk| chunk.at_us)
    }

    /// What its chunks take in memory.
    pub(crate) fn chunk_bytes(&self) -> usize {
        self.chunks.len() * size_of::<Chunk>()
    }

    /// Refuses a body that is too long for memory.
    pub(crate) fn check_in_memory(&self) -> Result<(), ReadError> {
        match &self.source {
            FragmentSource::Inline(_) => Ok(()),
            FragmentSource::Shared { sealed, .. } => sealed.check_in_memory(self.bytes),
        }
    }

    /// The next bytes that came together; `None` at the end.
    ///
    /// # Errors
    /// What lies on the cassette is not what was written.
    pub fn read(&mut self) -> Result<Option<BodyFragment<'_>>, ReadError> {
        if let FragmentSource::Shared { sealed, .. } = &self.source {
            sealed.check_streamed(self.bytes)?;
        }
        let goes_on = self.chunk.bytes > 0;
        if !goes_on {
            let Some(next) = self.chunks.next() else { return self.end() };
            self.chunk = next;
        }
        let bytes = self.source.take(self.chunk.bytes)?;
        self.chunk.bytes -= bytes.len();
        Ok(Some(BodyFragment { at_us: self.chunk.at_us, goes_on, bytes }))
    }

    fn end(&mut self) -> Result<Option<BodyFragment<'_>>, ReadError> {
        match &self.source {
            FragmentSource::Shared { sealed, pieces, rest, .. } if !rest.is_empty() || pieces.len() > 0 => {
                Err(sealed.unequal_body())
            }
            _ => Ok(None),
        }
    }
}

impl FragmentSource<'_> {
    /// Bytes that come next, at least one and no more than these, if one is wanted at all.
    fn take(&mut self, most: usize) -> Result<&[u8], ReadError> {
        match self {
            FragmentSource::Inline(rest) => {
                let (taken, left) = rest.split_at(most.min(rest.len()));
                *rest = left;
                Ok(taken)
            }
            FragmentSource::Shared { sealed, pieces, block, rest } => {
                while most > 0 && Range::is_empty(rest) {
                    let piece = pieces.next().ok_or_else(|| sealed.unequal_body())?;
                    *rest = sealed.load_piece(piece, block)?;
                }
                let end = rest.end.min(rest.start + most);
                let taken = std::mem::replace(&mut rest.start, end)..end;
                Ok(block.as_ref().map_or(&[], |(_, block)| &block[taken]))
            }
        }
    }
}

impl fmt::Debug for BodyReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyReader").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
