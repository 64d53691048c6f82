//! Taking secrets out of a body that comes chunk by chunk.
//!
//! 1. A chunk is given out when it is known that no secret begins in it and ends after it: when enough came after it, or when
//!    it ends a line at a place where nothing goes on.
//! 2. Some of what was given out is kept, so that a value is seen after its name.
//! 3. Chunks stay whole. So what waits is bounded by the look-ahead and the longest chunk.
//! 4. What waits is looked through again when a line ends, or when a good part of it is new: many small chunks cost no more than
//!    a few long ones.
//! 5. If neither type nor content says yet that a body is text, what has a secret in it waits until all of the body is there, or
//!    8 MiB of text are. From the first byte on that no text has, nothing is replaced any more.
//!
//! 6. A stream of events is looked through as well for secrets that its events give in pieces ([`JoinedTexts`]). An event that may be such a
//!    piece waits until the text goes on as no secret does, or is over, and what comes after it waits with it. So more than look-ahead and
//!    chunk may wait, up to [`HELD_BYTES_MAX`](super::HELD_BYTES_MAX) and an event of 1 MiB.
//!
//! What is given out is what the whole body would have been, as long as no secret is longer than the look-ahead, and as long as what is
//! called text is text.

use crate::dialect::units::Framing;
use crate::message::{Body, Chunk, Header};
use crate::redact::content::{BodyContext, ContentClass, MessageSender, SecretSyntax, TextDetector};
use crate::redact::exchange::chunks_after;
use crate::redact::{Finding, Findings, JoinedTexts, Redaction, Replacement, StreamPosition, TextFindings};
use std::ops::Range;
use std::sync::Arc;

/// How many bytes must have come after a chunk before it is given out, if it does not end a line. A secret that is longer may
/// be found in part only.
pub const LOOKAHEAD_BYTES: usize = 16 << 10;

/// How much of what was given out is kept.
const CONTEXT_BYTES: usize = 4 << 10;

/// How much text is text, whatever its type.
const UNDECIDED_BYTES_MAX: usize = 8 << 20;

/// More does not wait for the end of a secret.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// More is not looked through again for every line, only for one that is this part of it.
const LINE_BYTES_MAX: usize = 8 << 10;
const LINE_PART: usize = 16;

/// How much that is new is worth a look.
const NEW_BYTES_MIN: usize = 4 << 10;

/// A body that comes chunk by chunk, without secrets.
#[derive(Debug)]
pub struct BodyRedactor {
    redaction: Arc<Redaction>,
    about: BodyContext,
    watch: TextDetector,
    is_binary: bool,
    /// Whether there is a secret in what waits, and it is not known yet whether it may be replaced.
    is_undecided: bool,
    /// What was given out and is kept, then what waits.
    bytes: Vec<u8>,
    /// How much of it was given out.
    given: usize,
    /// How much of it was not looked through yet.
    new: usize,
    /// The chunks that wait.
    chunks: Vec<Chunk>,
    found: Findings,
    /// How it is cut into events, once something of it is there.
    framing: Option<Option<Framing>>,
    joined: JoinedTexts,
    /// Where in the bytes the first event begins of which not all was given out.
    event: usize,
    /// Whether an event was too long to wait for its end.
    is_opaque: bool,
}

impl BodyRedactor {
    /// The body of a request with these headers, of which nothing came yet.
    pub fn of_request(redaction: Arc<Redaction>, headers: &[Header<'_>]) -> Self {
        Self::new(redaction, BodyContext::of(headers, MessageSender::Client))
    }

    /// The body of a response with these headers, of which nothing came yet.
    pub fn of_response(redaction: Arc<Redaction>, headers: &[Header<'_>]) -> Self {
        Self::new(redaction, BodyContext::of(headers, MessageSender::Server))
    }

    fn new(redaction: Arc<Redaction>, about: BodyContext) -> Self {
        Self {
            redaction,
            about,
            watch: TextDetector::default(),
            is_binary: false,
            is_undecided: false,
            bytes: Vec::new(),
            given: 0,
            new: 0,
            chunks: Vec::new(),
            found: Findings::default(),
            framing: None,
            joined: JoinedTexts::default(),
            event: 0,
            is_opaque: false,
        }
    }

    /// Takes a chunk. Gives those that can be recorded, as a body with their times.
    pub fn push(&mut self, at_us: u64, bytes: &[u8]) -> Body<'static> {
        self.bytes.extend_from_slice(bytes);
        self.chunks.push(Chunk { at_us, bytes: bytes.len() });
        self.new += bytes.len();
        self.watch.push(bytes);
        self.is_binary = self.about.is_binary(&self.watch);
        if self.is_undecided {
            if self.is_binary {
                self.is_undecided = false;
            } else if self.bytes.len() - self.given <= UNDECIDED_BYTES_MAX {
                return Body::default();
            } else {
                self.decide();
            }
        }
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
        self.decide();
        self.give(usize::MAX)
    }

    /// What was found in what was given.
    pub fn found(&self) -> &Findings {
        &self.found
    }

    /// Whether nothing of it came yet.
    pub(crate) fn is_new(&self) -> bool {
        self.bytes.is_empty() && self.chunks.is_empty() && self.given == 0
    }

    /// Whether some of it could not be looked into as what it is.
    pub(crate) fn is_opaque(&self) -> bool {
        self.is_opaque
    }

    /// What is text so far is text.
    fn decide(&mut self) {
        self.is_undecided = false;
        if self.about.nature == ContentClass::Unknown {
            self.about.nature = ContentClass::Text;
            self.watch = TextDetector::default();
        }
    }

    /// Whether nothing that may be a secret goes on after what came.
    fn ends_line(&self) -> bool {
        let ends =
            self.bytes.last() == Some(&b'\n') && !matches!(self.bytes.trim_ascii_end().last(), Some(b':' | b'"'));
        let may_end = matches!(self.about.kind, SecretSyntax::Body | SecretSyntax::Plain);
        ends && (may_end || self.is_binary) && !self.redaction.spans_lines && !self.is_in_private_key()
    }

    fn is_in_private_key(&self) -> bool {
        let begin = memchr::memmem::rfind(&self.bytes, b"-----BEGIN ");
        begin.is_some_and(|begin| memchr::memmem::find(&self.bytes[begin..], b"-----END ").is_none())
    }

    /// Gives the chunks that end within the first `known` bytes of what waits, except those with a secret that goes on.
    fn give(&mut self, known: usize) -> Body<'static> {
        self.new = 0;
        let redaction = self.redaction.clone();
        if self.framing.is_none() && !self.bytes.trim_ascii().is_empty() {
            self.framing = Some(self.about.framing(&self.bytes));
        }
        let framing = self.framing.flatten();
        let stream = framing.map(|framing| StreamPosition { joined: &self.joined, from: self.event, framing });
        let looked = redaction.look_through_stream(&self.bytes, &self.about, self.is_binary, stream);
        if self.about.nature == ContentClass::Unknown
            && looked.replacements.iter().any(|hit| hit.range.end > self.given)
        {
            self.is_undecided = true;
            return Body::default();
        }
        let (count, end) = self.known_chunks((known, looked.held.from), &looked.replacements);
        self.count(&looked, end);
        let TextFindings { replacements: mut inside, members, held, .. } = looked;
        inside.retain_mut(|hit| {
            let is_inside = hit.range.end > self.given && hit.range.start < end;
            if is_inside {
                hit.range = hit.range.start.max(self.given) - self.given..hit.range.end.min(end) - self.given;
            }
            is_inside
        });
        let chunks: Vec<_> = self.chunks.drain(..count).collect();
        let bytes = super::replaced(&self.bytes[self.given..end], &inside);
        let body = Body::from_parts(bytes, chunks_after(&chunks, &inside));
        if let Some(framing) = framing {
            self.take_events(framing, end, &held.cut);
        }
        self.forget(end, &members);
        body.unwrap_or_else(|| unreachable!("every byte was counted to a chunk"))
    }

    /// Counts what was found in what is given, up to an end.
    fn count(&mut self, looked: &TextFindings<'_>, end: usize) {
        let place = self.place();
        // What goes on from an event before says nothing of what it is.
        let is_given =
            |hit: &&Replacement<'_>| hit.range.end > self.given && hit.range.start < end && !hit.what.is_empty();
        for hit in looked.replacements.iter().filter(is_given) {
            let finding = Finding { place: looked.place_of(place, hit), what: hit.what.to_owned() };
            self.found.replaced(&finding, 1);
        }
        for (_, what) in looked.kept.iter().filter(|(range, _)| range.end > self.given && range.end <= end) {
            self.found.kept(&Finding { place: place.to_owned(), what: (*what).to_owned() }, 1);
        }
        let stays = looked.stays.iter().filter(|range| range.end > self.given && range.end <= end);
        self.found.stays += stays.count() as u64;
    }

    /// Takes what is given out of the texts of events.
    fn take_events(&mut self, framing: Framing, end: usize, cut: &[String]) {
        let event = self.joined.given(&self.bytes, (self.event, framing), end, cut);
        let is_too_long = end - event > WAITING_BYTES_MAX;
        self.is_opaque |= is_too_long && (framing == Framing::Events || !self.joined.is_empty());
        self.event = if is_too_long { end } else { event };
    }

    pub(crate) fn place(&self) -> &'static str {
        match self.about.speaker {
            MessageSender::Client => "request body",
            MessageSender::Server => "response body",
        }
    }

    /// How many chunks can be given, and where the last of them ends.
    fn known_chunks(&self, (known, held): (usize, Option<usize>), replacements: &[Replacement<'_>]) -> (usize, usize) {
        let held = held.filter(|&held| known != usize::MAX && self.bytes.len() - held <= WAITING_BYTES_MAX);
        let may_cut = known == usize::MAX || self.bytes.len() - self.given > WAITING_BYTES_MAX;
        // One that reaches to the end of what came may go on as well.
        let goes_to = |hit: &Replacement<'_>| hit.range.end + usize::from(hit.range.end == self.bytes.len());
        let (mut count, mut end, mut at) = (0, self.given, self.given);
        let mut hits = replacements.iter().peekable();
        for (index, chunk) in self.chunks.iter().enumerate() {
            at += chunk.bytes;
            if at - self.given > known || held.is_some_and(|held| at > held) {
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
        let gone = if self.framing.flatten().is_some() { gone.min(self.event) } else { gone };
        self.event = self.event.saturating_sub(gone);
        self.bytes.drain(..gone);
        self.given = end - gone;
    }
}
