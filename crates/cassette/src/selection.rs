//! Exchanges of cassettes on their way to a new cassette, one after the other: copied, merged, redacted.
//!
//! 1. A [`Selection`] says which exchanges of which cassettes a new cassette has, in which order, under which numbers.
//! 2. Writing one goes through them once. A long body goes from cassette to cassette in fragments, and is looked through for secrets as it
//!    goes; an exchange whose bodies are short is taken whole, as a recorder takes it.
//! 3. Redacting one needs all of a body that is compressed, and all bodies if there are rules of places in JSON: those are taken whole,
//!    however long.
//!
//! Memory: an exchange whose bodies are short, or a block of a cassette; what sealing takes; the heads of exchanges that the cassettes keep.

use crate::bytes::Bytes;
use crate::cassette::Cassette;
use crate::content::Content;
use crate::counts::ExchangeCounts;
use crate::error::{ReadError, SealError};
use crate::exchange::{Exchange, Note};
use crate::file::folder_and_name;
use crate::limits::MemoryBudget;
use crate::merge::next_of;
use crate::message::{Body, Chunk, Header, Response};
use crate::outline::{BodyFragment, BodyReader, Outline};
use crate::record::assemble::Assembler;
use crate::record::event::{BodyPiece, Event};
use crate::record::retell::{ExchangeEnd, MessageSide};
use crate::recorder::redacting::ExchangeRedactor;
use crate::redact::{Finding, Redacted, Redaction, is_compressed};
use crate::scan::Scanner;
use crate::seal::options::SealOptions;
use crate::seal::write::Sealer;
use crate::websocket::WsFrame;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// Exchanges whose bodies have no more bytes together are taken whole.
const WHOLE_BYTES_MAX: usize = 1 << 20;

/// What is named if a cassette does not fit into memory whole.
pub(crate) const WHOLE_CASSETTE: &str = "the cassette with all of its bodies";

/// A chunk of more bytes is looked through in pieces, and becomes several chunks of one time.
const CHUNK_BYTES_GATHERED: usize = 8 << 20;

/// Exchanges of cassettes, for a new cassette.
#[derive(Debug)]
pub struct Selection<'t> {
    picks: Vec<SelectedExchange<'t>>,
    meta: Vec<Note<'static>>,
}

#[derive(Clone, Copy, Debug)]
struct SelectedExchange<'t> {
    cassette: &'t Cassette,
    index: usize,
    number: u64,
}

/// What takes secrets out, and who is told of them: of the exchange of a number, or of the cassette.
struct RedactionChanges<'c> {
    redaction: &'c Arc<Redaction>,
    told: &'c mut dyn FnMut(Option<u64>, Redacted),
}

impl<'t> Selection<'t> {
    /// All of a cassette.
    ///
    /// # Errors
    /// The cassette is not what was written.
    pub fn of(cassette: &'t Cassette) -> Result<Self, ReadError> {
        let pick = |index| Ok(SelectedExchange { cassette, index, number: cassette.outline(index)?.exchange.number });
        let picks = (0..cassette.len()).map(pick).collect::<Result<_, ReadError>>()?;
        let meta = cassette.meta()?.into_iter().map(Note::into_owned).collect();
        Ok(Self { picks, meta })
    }

    /// One cassette of several, by the rules of [`merge`](crate::merge), and how many exchanges were left out as duplicates. Every
    /// exchange is read once for that.
    ///
    /// # Errors
    /// A cassette is not what was written.
    pub fn merged(cassettes: impl IntoIterator<Item = &'t Cassette>) -> Result<(Self, usize), ReadError> {
        let mut meta: BTreeMap<_, Note<'static>> = BTreeMap::new();
        let mut queues = Vec::new();
        for cassette in cassettes {
            for note in cassette.meta()? {
                let note = note.into_owned();
                meta.insert(note.name.clone(), note);
            }
            let started =
                (0..cassette.len()).map(|index| Ok((cassette, index, cassette.outline(index)?.exchange.started_ns)));
            queues.push(started.collect::<Result<Vec<_>, ReadError>>()?.into_iter().peekable());
        }
        let (mut picks, mut duplicates, mut seen) = (Vec::new(), 0, HashSet::new());
        let started_ns = |&(_, _, started_ns): &(_, _, i64)| started_ns;
        while let Some((cassette, index, _)) = next_of(&mut queues, started_ns).and_then(|queue| queues[queue].next()) {
            if seen.insert(hash_without_number(cassette.outline(index)?)?) {
                picks.push(SelectedExchange { cassette, index, number: picks.len() as u64 });
            } else {
                duplicates += 1;
            }
        }
        Ok((Self { picks, meta: meta.into_values().collect() }, duplicates))
    }

    /// How many exchanges there are.
    pub fn len(&self) -> usize {
        self.picks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.picks.is_empty()
    }

    /// What there is, for which no body is read.
    ///
    /// # Errors
    /// A cassette is not what was written.
    pub fn counts(&self) -> Result<ExchangeCounts, ReadError> {
        let mut counts = ExchangeCounts::default();
        for pick in &self.picks {
            counts.count(&pick.cassette.outline(pick.index)?.exchange);
        }
        Ok(counts)
    }

    /// All of them in memory, as other forms need it.
    ///
    /// # Errors
    /// A cassette is not what was written.
    pub fn content(&self) -> Result<Content, ReadError> {
        let mut exchanges = Vec::with_capacity(self.picks.len());
        let most = self.picks.iter().map(|pick| pick.cassette.most()).max().unwrap_or_default();
        let mut room = MemoryBudget::new(most);
        for pick in &self.picks {
            let outline = pick.cassette.outline(pick.index)?;
            room.take(outline.memory_bytes(), WHOLE_CASSETTE).map_err(|excess| excess.of(pick.cassette.shown()))?;
            exchanges.push(Exchange { number: pick.number, ..outline.into_exchange()?.into_owned() });
        }
        Ok(Content { exchanges, meta: self.meta.clone() })
    }

    /// Writes the new cassette, in place of any of the path, at once and durably.
    ///
    /// # Errors
    /// As [`write_cassette`](crate::write_cassette), and [`SealError::Unreadable`] if a cassette is not what was written.
    pub fn write(&self, path: impl AsRef<Path>, options: impl Into<SealOptions>) -> Result<(), SealError> {
        self.write_with(path.as_ref(), options.into(), None)
    }

    /// Writes the new cassette without secrets; `told` gets what was found, under the number of its exchange, or none for what is known
    /// of the cassette. Of a body that is looked through as it goes it gets what was found sorted.
    ///
    /// # Errors
    /// As [`Selection::write`].
    pub fn write_redacted(
        &self,
        path: impl AsRef<Path>,
        options: impl Into<SealOptions>,
        redaction: &Arc<Redaction>,
        mut told: impl FnMut(Option<u64>, Redacted),
    ) -> Result<(), SealError> {
        self.write_with(path.as_ref(), options.into(), Some(RedactionChanges { redaction, told: &mut told }))
    }

    fn write_with(
        &self,
        path: &Path,
        options: SealOptions,
        changes: Option<RedactionChanges<'_>>,
    ) -> Result<(), SealError> {
        let (folder, name) = folder_and_name(path)?;
        let order = self.picks.iter().map(|pick| pick.number).collect();
        let mut sealer = Sealer::new(&folder, &name, &options, None, order)?;
        let scanner = (!options.keeps_secrets).then(Scanner::new);
        match self.fill(&mut sealer, scanner, changes, &name) {
            Ok(meta) => sealer.finish(&meta, [0; 32], 0),
            Err(error) => {
                sealer.abandon();
                Err(error)
            }
        }
    }

    fn fill(
        &self,
        sealer: &mut Sealer<'_>,
        mut scanner: Option<Scanner>,
        mut changes: Option<RedactionChanges<'_>>,
        shown: &str,
    ) -> Result<Vec<Note<'static>>, SealError> {
        for pick in &self.picks {
            pick.copy(sealer, &mut scanner, &mut changes)?;
        }
        let mut meta = self.meta.clone();
        if let Some(RedactionChanges { redaction, told }) = &mut changes {
            for note in &mut meta {
                let mut exchange = Exchange { notes: vec![std::mem::take(note)], ..Exchange::default() };
                told(None, redaction.exchange(&mut exchange));
                *note = exchange.notes.swap_remove(0);
            }
        }
        if let Some(mut scanner) = scanner {
            meta.iter().for_each(|note| scanner.event(0, &Event::Meta(note.borrowed())));
            scanner.finish(shown)?;
        }
        Ok(meta)
    }
}

impl SelectedExchange<'_> {
    fn copy(
        &self,
        sealer: &mut Sealer<'_>,
        scanner: &mut Option<Scanner>,
        changes: &mut Option<RedactionChanges<'_>>,
    ) -> Result<(), SealError> {
        let mut outline = self.cassette.outline(self.index)?;
        outline.exchange.number = self.number;
        let mut assembler = Assembler::default();
        let mut put = |event: &Event<'_>| -> Result<(), SealError> {
            if let Some(scanner) = scanner {
                scanner.event(self.number, event);
            }
            let over = assembler.take(self.number, event.clone(), &mut sealer.keeper())?;
            over.map_or(Ok(()), |draft| sealer.add(draft))
        };
        if outline.is_short() || changes.as_ref().is_some_and(|changes| outline.needs_whole(changes.redaction)) {
            let mut exchange = outline.into_exchange()?;
            if let Some(RedactionChanges { redaction, told }) = changes {
                told(Some(self.number), redaction.exchange(&mut exchange));
            }
            return put(&Event::Whole(Box::new(exchange)));
        }
        match changes {
            None => outline.tell(0, &mut put),
            Some(RedactionChanges { redaction, told }) => {
                told(Some(self.number), redact(outline, redaction, &mut put)?);
                Ok(())
            }
        }
    }
}

/// A receiver of what happened.
type EventSink<'p> = dyn FnMut(&Event<'_>) -> Result<(), SealError> + 'p;

/// Gives what happened without secrets.
fn redact(outline: Outline<'_>, redaction: &Arc<Redaction>, put: &mut EventSink<'_>) -> Result<Redacted, SealError> {
    let mut redactor = ExchangeRedactor::new(redaction.clone());
    // What the redactor is given goes through it; what goes wrong after it is kept for its end.
    let mut failed = None;
    let mut give = |event: &Event<'_>| {
        if failed.is_none() {
            failed = put(event).err();
        }
        Ok(())
    };
    outline.tell(CHUNK_BYTES_GATHERED, &mut |event| {
        let redacted = match event {
            Event::Begin { started_ns, has_body, request } => {
                let body = has_body.then(Body::default);
                redactor.begin(*started_ns, &crate::Request { body, ..request.clone() }, &mut give)
            }
            Event::RequestChunk(piece) => redactor.chunk(MessageSide::Request, piece.at_us, &piece.bytes, &mut give),
            Event::Informational(informational) => redactor.informational(informational, &mut give),
            Event::ResponseHead { has_body, response } => {
                let body = has_body.then(Body::default);
                redactor.response(&Response { body, ..response.clone() }, &mut give)
            }
            Event::ResponseChunk(piece) => redactor.chunk(MessageSide::Response, piece.at_us, &piece.bytes, &mut give),
            Event::WsOpen => redactor.open_websocket(&mut give),
            Event::WsFrame(frame) => redactor.frame(frame, &mut give),
            Event::Note(note) => redactor.note(note, &mut give),
            Event::End { ended_us, request, response, outcome } => {
                let (request_trailers, response_trailers) = (request.clone(), response.clone());
                let outcome = outcome.clone();
                redactor
                    .end(ExchangeEnd { ended_us: *ended_us, request_trailers, response_trailers, outcome }, &mut give)
            }
            Event::Meta(_) | Event::Whole(_) => Ok(()),
        };
        redacted.map_err(|_| SealError::Broken("an exchange is longer without secrets than any may be"))
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let found = redactor.findings();
    let each = |places: &BTreeMap<Finding, u64>| {
        let times = places.iter().flat_map(|(finding, &times)| std::iter::repeat_n(finding.clone(), times as usize));
        times.collect::<Vec<_>>()
    };
    let stays = Finding {
        place: "a body, in what a tool is called with".to_owned(),
        what: "the value of a secret name".to_owned(),
    };
    let stays = std::iter::repeat_n(stays, found.stays as usize).collect();
    Ok(Redacted { findings: each(&found.places), kept: each(&found.kept_places), stays, opaque: Vec::new() })
}

impl<'t> Outline<'t> {
    /// What the exchange takes in memory with its bodies: these, and its lists.
    pub(crate) fn memory_bytes(&self) -> usize {
        let Exchange { request, response, frames, informational, notes, .. } = &self.exchange;
        let headers = |headers: &[Header<'_>]| {
            let bytes = |header: &Header<'_>| size_of::<Header<'_>>() + header.name.len() + header.value.len();
            headers.iter().map(bytes).sum::<usize>()
        };
        let of_response = |response: &Response<'_>| headers(&response.headers) + headers(&response.trailers);
        let frame = |frame: &WsFrame<'_>| size_of::<WsFrame<'_>>() + frame.payload.len();
        size_of::<Exchange<'_>>()
            + self.readers().map(|body| body.bytes().saturating_add(body.chunk_bytes())).fold(0, usize::saturating_add)
            + headers(&request.headers)
            + headers(&request.trailers)
            + response.iter().map(of_response).sum::<usize>()
            + informational.iter().map(|interim| headers(&interim.headers)).sum::<usize>()
            + frames.iter().flatten().map(frame).sum::<usize>()
            + notes.iter().map(|note| size_of::<Note<'_>>() + note.name.len() + note.value.len()).sum::<usize>()
    }

    fn readers(&self) -> impl Iterator<Item = &BodyReader<'t>> {
        self.request_body.iter().chain(&self.response_body)
    }

    fn is_short(&self) -> bool {
        self.readers().map(BodyReader::bytes).sum::<usize>() <= WHOLE_BYTES_MAX
    }

    /// Whether its bodies can be looked through only when all of them is there.
    fn needs_whole(&self, redaction: &Redaction) -> bool {
        let response = self.exchange.response.iter().any(|response| is_compressed(&response.headers));
        redaction.needs_whole_bodies() || is_compressed(&self.exchange.request.headers) || response
    }

    /// The exchange with its bodies, which the cassette does not keep in memory.
    ///
    /// # Errors
    /// What lies on the cassette is not what was written.
    pub fn into_exchange(self) -> Result<Exchange<'t>, ReadError> {
        let mut exchange = self.exchange;
        exchange.request.body = self.request_body.map(BodyReader::into_body).transpose()?;
        if let Some(response) = &mut exchange.response {
            response.body = self.response_body.map(BodyReader::into_body).transpose()?;
        }
        Ok(exchange)
    }

    /// Tells the exchange as if it happened now. Chunks of no more bytes than are gathered come whole.
    pub(crate) fn tell(self, gathered: usize, put: &mut EventSink<'_>) -> Result<(), SealError> {
        let Exchange { started_ns, ended_us, request, informational, response, frames, outcome, notes, .. } =
            self.exchange;
        put(&Event::Begin { started_ns, has_body: self.request_body.is_some(), request: request.head() })?;
        if let Some(body) = self.request_body {
            tell_body(body, MessageSide::Request, gathered, put)?;
        }
        informational.into_iter().try_for_each(|informational| put(&Event::Informational(informational)))?;
        let mut trailers = Vec::new();
        if let Some(mut response) = response {
            trailers = std::mem::take(&mut response.trailers);
            put(&Event::ResponseHead { has_body: self.response_body.is_some(), response })?;
        }
        if let Some(body) = self.response_body {
            tell_body(body, MessageSide::Response, gathered, put)?;
        }
        if let Some(frames) = frames {
            put(&Event::WsOpen)?;
            frames.into_iter().try_for_each(|frame| put(&Event::WsFrame(frame)))?;
        }
        notes.into_iter().try_for_each(|note| put(&Event::Note(note)))?;
        put(&Event::End { ended_us, request: request.trailers, response: trailers, outcome })
    }
}

fn tell_body(
    mut body: BodyReader<'_>,
    side: MessageSide,
    gathered: usize,
    put: &mut EventSink<'_>,
) -> Result<(), SealError> {
    let mut waiting: Option<BodyPiece<'static>> = None;
    while let Some(BodyFragment { at_us, goes_on, bytes }) = body.read()? {
        match &mut waiting {
            Some(piece) if goes_on && piece.bytes.len() + bytes.len() <= gathered => {
                piece.bytes.0.to_mut().extend_from_slice(bytes);
                continue;
            }
            _ => {}
        }
        if let Some(piece) = waiting.take() {
            put(&side.chunk(piece))?;
        }
        if gathered == 0 {
            put(&side.chunk(BodyPiece { at_us, goes_on, bytes: bytes.into() }))?;
        } else {
            waiting = Some(BodyPiece { at_us, goes_on, bytes: Bytes::from(bytes.to_vec()) });
        }
    }
    waiting.map_or(Ok(()), |piece| put(&side.chunk(piece)))
}

impl BodyReader<'_> {
    fn into_body<'b>(mut self) -> Result<Body<'b>, ReadError> {
        self.check_in_memory()?;
        let (mut bytes, mut chunks): (Vec<u8>, Vec<Chunk>) = (Vec::with_capacity(self.bytes()), Vec::new());
        while let Some(fragment) = self.read()? {
            match chunks.last_mut() {
                Some(chunk) if fragment.goes_on => chunk.bytes += fragment.bytes.len(),
                _ => chunks.push(Chunk { at_us: fragment.at_us, bytes: fragment.bytes.len() }),
            }
            bytes.extend_from_slice(fragment.bytes);
        }
        Ok(Body::from_parts(bytes, chunks).expect("chunks were counted with their bytes"))
    }
}

/// Equal for exchanges that are equal in everything but their number.
fn hash_without_number(outline: Outline<'_>) -> Result<[u8; 32], ReadError> {
    let (mut head, mut bytes) = (Vec::new(), blake3::Hasher::new());
    Exchange { number: 0, ..outline.exchange }.encode(&mut head);
    for body in [outline.request_body, outline.response_body] {
        head.push(u8::from(body.is_some()));
        let (mut chunks, mut length) = (0_u64, 0_u64);
        if let Some(mut body) = body {
            while let Some(fragment) = body.read()? {
                if !fragment.goes_on {
                    // Where the chunk before ends, and when this one was there.
                    head.extend_from_slice(&length.to_le_bytes());
                    head.extend_from_slice(&fragment.at_us.to_le_bytes());
                    chunks += 1;
                }
                length += fragment.bytes.len() as u64;
                bytes.update(fragment.bytes);
            }
        }
        [chunks, length].iter().for_each(|count| head.extend_from_slice(&count.to_le_bytes()));
    }
    bytes.update(&head).update(&(head.len() as u64).to_le_bytes());
    Ok(*bytes.finalize().as_bytes())
}
