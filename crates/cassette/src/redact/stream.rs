//! Taking secrets out of a body that comes chunk by chunk.
//!
//! 1. A chunk is given out when it is known that no secret begins in it and ends behind it: when enough came after it, or when
//!    it ends a line at a place where nothing goes on.
//! 2. Some of what was given out is kept, so that a value is seen behind its name.
//! 3. Chunks stay whole. So what waits is bounded by the look-ahead and the longest chunk.
//! 4. What waits is looked through again when a line ends, or when a good part of it is new: many small chunks cost no more than
//!    a few long ones.
//!
//! What is given out is what the whole body would have been, as long as no secret is longer than the look-ahead.

use crate::message::{Body, Chunk};
use crate::redact::exchange::chunks_after;
use crate::redact::{Kind, Redaction, Replacement, replaced};
use std::ops::Range;
use std::sync::Arc;

/// How many bytes must have come after a chunk before it is given out, if it does not end a line. A secret that is longer may
/// be found in part only.
pub const LOOKAHEAD_BYTES: usize = 16 << 10;

/// How much of what was given out is kept.
const CONTEXT_BYTES: usize = 4 << 10;

/// More does not wait for the end of a secret.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// More is not looked through again for every line, but for one that is this part of it.
const LINE_BYTES_MAX: usize = 8 << 10;
const LINE_PART: usize = 16;

/// So much that is new is worth a look.
const NEW_BYTES_MIN: usize = 4 << 10;

/// A body that comes chunk by chunk, without secrets.
#[derive(Debug)]
pub struct Stream {
    redaction: Arc<Redaction>,
    kind: Kind,
    /// What was given out and is kept, then what waits.
    bytes: Vec<u8>,
    /// How much of it was given out.
    given: usize,
    /// How much of it was not looked through yet.
    new: usize,
    /// The chunks that wait.
    chunks: Vec<Chunk>,
    found: usize,
    first_found: Option<String>,
}

impl Stream {
    /// A body of which nothing came yet; `is_form` is whether it is `application/x-www-form-urlencoded`.
    pub fn new(redaction: Arc<Redaction>, is_form: bool) -> Self {
        let kind = if is_form { Kind::Form } else { Kind::Body };
        Self { redaction, kind, bytes: Vec::new(), given: 0, new: 0, chunks: Vec::new(), found: 0, first_found: None }
    }

    /// Takes a chunk. Gives those that can be recorded, as a body with their times.
    pub fn push(&mut self, at_us: u64, bytes: &[u8]) -> Body<'static> {
        self.bytes.extend_from_slice(bytes);
        self.chunks.push(Chunk { at_us, bytes: bytes.len() });
        self.new += bytes.len();
        let is_due = self.new >= NEW_BYTES_MIN.max(self.bytes.len() / 4);
        let may_end = self.new > 0 && (is_due || self.bytes.len() <= LINE_BYTES_MAX.max(self.new * LINE_PART));
        let ends_line = may_end && self.ends_line();
        if !is_due && !ends_line {
            return Body::default();
        }
        let waits = self.bytes.len() - self.given;
        self.give(if ends_line { waits } else { waits.saturating_sub(LOOKAHEAD_BYTES) })
    }

    /// Gives what is left.
    pub fn finish(&mut self) -> Body<'static> {
        self.give(usize::MAX)
    }

    /// How many secrets were found in what was given.
    pub fn found(&self) -> usize {
        self.found
    }

    /// What the first of them is.
    pub fn first_found(&self) -> Option<&str> {
        self.first_found.as_deref()
    }

    /// Whether nothing that may be a secret goes on behind what came.
    fn ends_line(&self) -> bool {
        let ends =
            self.bytes.last() == Some(&b'\n') && !matches!(self.bytes.trim_ascii_end().last(), Some(b':' | b'"'));
        ends && self.kind == Kind::Body && !self.redaction.spans_lines && !self.is_in_private_key()
    }

    fn is_in_private_key(&self) -> bool {
        let begin = memchr::memmem::rfind(&self.bytes, b"-----BEGIN ");
        begin.is_some_and(|begin| memchr::memmem::find(&self.bytes[begin..], b"-----END ").is_none())
    }

    /// Gives the chunks that end within the first `known` bytes of what waits, but for those with a secret that goes on.
    fn give(&mut self, known: usize) -> Body<'static> {
        self.new = 0;
        let (replacements, members) = self.redaction.look_through(&self.bytes, self.kind);
        let (count, end) = self.known_chunks(known, &replacements);
        let mut inside = replacements;
        inside.retain_mut(|hit| {
            let is_inside = hit.range.end > self.given && hit.range.start < end;
            if is_inside {
                hit.range = hit.range.start.max(self.given) - self.given..hit.range.end.min(end) - self.given;
            }
            is_inside
        });
        let chunks: Vec<_> = self.chunks.drain(..count).collect();
        let bytes = replaced(&self.bytes[self.given..end], &inside);
        let body = Body::from_parts(bytes, chunks_after(&chunks, &inside));
        self.found += inside.len();
        self.first_found = self.first_found.take().or(inside.first().map(|first| first.what.to_owned()));
        self.forget(end, &members);
        body.unwrap_or_else(|| unreachable!("every byte was counted to a chunk"))
    }

    /// How many chunks can be given, and where the last of them ends.
    fn known_chunks(&self, known: usize, replacements: &[Replacement<'_>]) -> (usize, usize) {
        let may_cut = known == usize::MAX || self.bytes.len() - self.given > WAITING_BYTES_MAX;
        // One that reaches to the end of what came may go on as well.
        let goes_to = |hit: &Replacement<'_>| hit.range.end + usize::from(hit.range.end == self.bytes.len());
        let (mut count, mut end, mut at) = (0, self.given, self.given);
        let mut hits = replacements.iter().peekable();
        for (index, chunk) in self.chunks.iter().enumerate() {
            at += chunk.bytes;
            if at - self.given > known {
                break;
            }
            while hits.next_if(|hit| goes_to(hit) <= at).is_some() {}
            if may_cut || hits.peek().is_none_or(|hit| at <= hit.range.start) {
                (count, end) = (index + 1, at);
            }
        }
        (count, end)
    }

    /// Forgets what was given, but for some of it, and for names whose values go on.
    fn forget(&mut self, end: usize, members: &[Range<usize>]) {
        let goes_on =
            |member: &&Range<usize>| member.start < end && (member.end > end || member.end == self.bytes.len());
        let names = members.iter().filter(goes_on).map(|member| member.start);
        let first = names.filter(|name| end - name < WAITING_BYTES_MAX).min();
        let gone = end.saturating_sub(CONTEXT_BYTES);
        let gone = first.map_or(gone, |name| gone.min(name));
        self.bytes.drain(..gone);
        self.given = end - gone;
    }
}
