//! An answer from the cassette.
//!
//! 1. Everything is there when it was there, counted from when the request was complete, or sooner as the user wishes; and in
//!    the [order](super::order) in which all answers were there when they were recorded.
//! 2. A body is read from the cassette fragment by fragment, so that a long one takes no more memory than a short one.
//! 3. What went wrong when it was recorded goes wrong again, in the way in which the client saw it. A stream of events that has the
//!    [end of its protocol](super::stream_end) is whole, whatever the cassette says of what came after it.

use super::client_request::ClientRequest;
use super::edits::Edits;
use super::options::Latency;
use super::order::{LiveAnswer, STALL};
use super::own_answers::bad_gateway;
use super::reply::{BodyLength, ConnectionDisposition, Reply};
use super::report::count;
use super::schedule::Schedule;
use super::session::{Session, kind_name};
use super::shared::ThreadState;
use super::stream_end::StreamEnd;
use super::websocket;
use crate::runtime::peer_error::{PeerError, within};
use cassette::matching::FoundExchange;
use cassette::redact::{PlaceholderWatch, calls_with_placeholder};
use cassette::{BodyReader, Cassette, Exchange, HttpVersion, NetworkErrorKind, Outcome, Outline, ReadError, Response};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

/// Why an answer was not given to its end.
enum ReplayInterruption {
    /// The client is gone, or does nothing.
    Client,
    /// The cassette is not what was written.
    Cassette(ReadError),
}

impl From<PeerError> for ReplayInterruption {
    fn from(_: PeerError) -> Self {
        Self::Client
    }
}

/// Answers a request from the cassette.
pub(crate) async fn replay(
    shared: &Arc<ThreadState>,
    session: &Session,
    mut incoming: ClientRequest<'_, '_>,
    found: FoundExchange,
) -> ConnectionDisposition {
    count(&shared.counts.replayed);
    let Some(cassette) = session.cassette() else { return ConnectionDisposition::Reset };
    let given = match cassette.outline(found.position) {
        Ok(outline) if outline.exchange.frames.is_some() => {
            session.note_asked(found.position);
            if calls_with_placeholder(&outline.exchange) {
                shared.counts.redacted_call(outline.exchange.number);
            }
            return websocket::replay(shared, session, incoming, outline.exchange).await;
        }
        Ok(outline) => {
            let live = session.order().filter(|_| found.given_before == 0);
            let live = live.map(|order| order.enter(incoming.connection, (found.position, found.question), &outline));
            let mut watch = BodyWatch::default();
            let given = give(shared, session, &mut incoming, outline, (live, &mut watch)).await;
            if watch.placeholder.is_seen() {
                tokio::task::block_in_place(|| tell_redacted_call(shared, cassette, found.position));
            }
            given
        }
        Err(error) => {
            session.note_asked(found.position);
            Err(ReplayInterruption::Cassette(error))
        }
    };
    match given {
        Ok(after) => after,
        Err(ReplayInterruption::Client) => {
            count(&shared.counts.abandoned);
            incoming.reply.abort();
            ConnectionDisposition::Reset
        }
        Err(ReplayInterruption::Cassette(error)) => {
            shared.counts.unreadable(&error);
            if !incoming.reply.take_back() {
                incoming.reply.abort();
                return ConnectionDisposition::Reset;
            }
            bad_gateway(&mut incoming.reply, 502, "unreadable", &error.to_string(), &incoming.request).await
        }
    }
}

/// What is looked for in a body while it is given.
#[derive(Debug, Default)]
struct BodyWatch {
    /// The end of its protocol, if the cassette has not all of it.
    end: Option<StreamEnd>,
    placeholder: PlaceholderWatch,
}

impl BodyWatch {
    fn push(&mut self, bytes: &[u8]) {
        self.placeholder.push(bytes);
        if let Some(end) = &mut self.end {
            end.is_whole_after(bytes);
        }
    }
}

/// Counts an answer that calls a tool with a placeholder.
fn tell_redacted_call(shared: &ThreadState, cassette: &Cassette, position: usize) {
    // What cannot be read was told when it was given.
    if let Ok(exchange) = cassette.exchange(position)
        && calls_with_placeholder(&exchange)
    {
        shared.counts.redacted_call(exchange.number);
    }
}

/// The schedule of an exchange whose request is complete now.
fn schedule(latency: Latency, request_body: Option<BodyReader<'_>>) -> Schedule {
    let base_us = request_body.and_then(|body| body.ended_us()).unwrap_or(0);
    Schedule { base_us, ..Schedule::new(latency) }
}

async fn give(
    shared: &ThreadState,
    session: &Session,
    incoming: &mut ClientRequest<'_, '_>,
    outline: Outline<'_>,
    (live, watch): (Option<LiveAnswer<'_>>, &mut BodyWatch),
) -> Result<ConnectionDisposition, ReplayInterruption> {
    let Outline { exchange, request_body, response_body, .. } = outline;
    let mut turns = Turns { schedule: schedule(session.playback.latency, request_body), live };
    for informational in &exchange.informational {
        // That it can go on the client was told when its body was wanted.
        if informational.status != 100 {
            turns.wait(shared, incoming, informational.at_us).await?;
            within(shared.limits.stall, incoming.reply.informational(informational)).await?;
        }
    }
    let Some(response) = &exchange.response else { return nothing(shared, incoming, &exchange, turns).await };
    let length = length(response, response_body.as_ref(), &exchange.outcome);
    let edits = Some(&session.playback.edits).filter(|edits| edits.concern(&incoming.request));
    turns.wait(shared, incoming, response.at_us).await?;
    watch.end = (exchange.outcome != Outcome::Complete).then(|| StreamEnd::of(response));
    match (edits, response_body) {
        (Some(edits), body) => {
            give_edited(shared, incoming, response, (body, length, watch), &mut turns, edits).await?
        }
        (None, body) => {
            incoming.reply.head(response, length)?;
            if let Some(body) = body {
                give_body(shared, incoming, (body, length, watch), &mut turns, None).await?;
            }
        }
    }
    if let Some(ended_us) = exchange.ended_us.filter(|_| length == BodyLength::Unknown) {
        turns.wait(shared, incoming, ended_us).await?;
    }
    turns.answered();
    let is_whole = length == BodyLength::Unknown && watch.end.as_ref().is_some_and(StreamEnd::is_whole);
    match &exchange.outcome {
        outcome if is_whole || *outcome == Outcome::Complete => {
            within(shared.limits.stall, incoming.reply.finish(&response.trailers)).await?;
            turns.complete(&incoming.reply).await;
            Ok(incoming.reply.after())
        }
        outcome => {
            if !matches!(outcome, Outcome::Aborted(_)) {
                shared.counts.warn(format!(
                    "exchange {} is not on the cassette to its end, so its answer was cut off; record it again",
                    exchange.number
                ));
            }
            let after = within(shared.limits.stall, incoming.reply.break_off()).await?;
            turns.complete(&incoming.reply).await;
            Ok(after)
        }
    }
}

/// How long the client is told that the body is: as it was, as far as the recording knows.
fn length(response: &Response<'_>, body: Option<&BodyReader<'_>>, outcome: &Outcome<'_>) -> BodyLength {
    let Some(body) = body else {
        let has_none = response.status < 200 || matches!(response.status, 204 | 304);
        return if has_none { BodyLength::Absent } else { BodyLength::Known(0) };
    };
    let said = crate::runtime::http1::named(&response.headers, "content-length");
    let said = said.and_then(|said| std::str::from_utf8(said).ok()?.parse().ok());
    let is_of_http1 = response.version != HttpVersion::Http2;
    match (said, outcome) {
        (Some(_), Outcome::Complete) => BodyLength::Known(body.bytes() as u64),
        // It will end before that, and the client sees that it does.
        (Some(said), _) => BodyLength::Known(said),
        (None, Outcome::Complete) if body.bytes() == 0 && !is_of_http1 && response.trailers.is_empty() => {
            BodyLength::Known(0)
        }
        (None, _) => BodyLength::Unknown,
    }
}

/// Gives what was recorded instead of a response.
async fn nothing(
    shared: &ThreadState,
    incoming: &mut ClientRequest<'_, '_>,
    exchange: &Exchange<'_>,
    mut turns: Turns<'_>,
) -> Result<ConnectionDisposition, ReplayInterruption> {
    turns.wait(shared, incoming, exchange.ended_us.unwrap_or(0)).await?;
    turns.answered();
    let (what, message) = match &exchange.outcome {
        Outcome::Aborted(error) if error.kind == NetworkErrorKind::Reset => {
            incoming.reply.abort();
            return Ok(ConnectionDisposition::Reset);
        }
        Outcome::Aborted(error) => (kind_name(error.kind), error.to_string()),
        _ => ("unfinished", format!("the recording ended before exchange {} had an answer", exchange.number)),
    };
    Ok(bad_gateway(&mut incoming.reply, 502, what, &message, &incoming.request).await)
}

/// Gives an answer with what the user's templates make of it. A body of a known length is gathered; of another, each piece is
/// looked at by itself.
async fn give_edited(
    shared: &ThreadState,
    incoming: &mut ClientRequest<'_, '_>,
    response: &Response<'_>,
    (body, length, watch): (Option<BodyReader<'_>>, BodyLength, &mut BodyWatch),
    turns: &mut Turns<'_>,
    edits: &Edits,
) -> Result<(), ReplayInterruption> {
    let mut head = response.head();
    head.trailers.clone_from(&response.trailers);
    for header in &mut head.headers {
        header.value = edits.edited(&incoming.request, &header.value).into_owned().into();
    }
    match body {
        Some(mut body) if matches!(length, BodyLength::Known(_)) && body.bytes() <= EDITED_BYTES_MAX => {
            let mut whole = Vec::with_capacity(body.bytes());
            while let Some(fragment) = body.read().map_err(ReplayInterruption::Cassette)? {
                whole.extend_from_slice(fragment.bytes);
            }
            watch.push(&whole);
            let whole = edits.edited(&incoming.request, &whole).into_owned();
            incoming.reply.head(&head, BodyLength::Known(whole.len() as u64))?;
            turns.answered();
            Ok(within(shared.limits.stall, incoming.reply.slice(&whole)).await?)
        }
        Some(body) => {
            incoming.reply.head(&head, length)?;
            let edits = Some(edits).filter(|_| length == BodyLength::Unknown);
            give_body(shared, incoming, (body, length, watch), turns, edits).await
        }
        None => Ok(incoming.reply.head(&head, length)?),
    }
}

/// Longer bodies of a known length are given as they are.
const EDITED_BYTES_MAX: usize = 16 << 20;

async fn give_body(
    shared: &ThreadState,
    incoming: &mut ClientRequest<'_, '_>,
    (mut body, length, watch): (BodyReader<'_>, BodyLength, &mut BodyWatch),
    turns: &mut Turns<'_>,
    edits: Option<&Edits>,
) -> Result<(), ReplayInterruption> {
    let mut left = body.bytes();
    while let Some(fragment) = body.read().map_err(ReplayInterruption::Cassette)? {
        left = left.saturating_sub(fragment.bytes.len());
        if !fragment.goes_on {
            turns.wait(shared, incoming, fragment.at_us).await?;
        }
        if left == 0 {
            turns.answered();
        }
        watch.push(fragment.bytes);
        let bytes =
            edits.map_or(Cow::Borrowed(fragment.bytes), |edits| edits.edited(&incoming.request, fragment.bytes));
        within(shared.limits.stall, incoming.reply.slice(&bytes)).await?;
        if length == BodyLength::Unknown {
            // The pieces of a stream come apart, as they did.
            within(shared.limits.stall, incoming.reply.flush()).await?;
        }
    }
    Ok(())
}

/// When the pieces of an answer may be given.
struct Turns<'o> {
    schedule: Schedule,
    /// Its place among other answers; none if it is given once more.
    live: Option<LiveAnswer<'o>>,
}

impl Turns<'_> {
    /// Waits until what came at this time is due, and it is its turn. What is gathered goes to the client before, if there is
    /// something to wait for.
    async fn wait(
        &mut self,
        shared: &ThreadState,
        incoming: &mut ClientRequest<'_, '_>,
        at_us: u64,
    ) -> Result<(), ReplayInterruption> {
        let due = self.schedule.due(at_us).filter(|due| *due > Instant::now());
        if due.is_none() && self.live.as_mut().is_none_or(|live| live.is_next(at_us)) {
            return Ok(());
        }
        within(shared.limits.stall, incoming.reply.flush()).await?;
        let turn = async {
            match (&mut self.live, due) {
                (Some(live), due) => live.turn(at_us, due).await,
                (None, Some(due)) => tokio::time::sleep_until(due.into()).await,
                (None, None) => {}
            }
        };
        tokio::select! {
            () = turn => Ok(()),
            () = incoming.source.gone() => Err(ReplayInterruption::Client),
            () = incoming.reply.gone() => Err(ReplayInterruption::Client),
        }
    }

    /// The last piece of the answer goes next.
    fn answered(&self) {
        self.live.iter().for_each(LiveAnswer::answered);
    }

    /// All of the answer is given.
    async fn complete(self, reply: &Reply<'_>) {
        let Some(live) = self.live else { return };
        if live.has_company() {
            // Others are to go after it, unless the client does not take it.
            let _ = timeout(STALL, reply.sent()).await;
        }
        live.complete();
    }
}
