//! An answer from the cassette.
//!
//! 1. Everything is there when it was there, counted from when the request was complete, or sooner as the user wishes.
//! 2. A body is read from the cassette fragment by fragment, so that a long one takes no more memory than a short one.
//! 3. What went wrong when it was recorded goes wrong again, in the way in which the client saw it.

use crate::edits::Edits;
use crate::exchange::Asked;
use crate::options::Latency;
use crate::peer::{Broken, Source, within};
use crate::record::bad_gateway;
use crate::reply::{After, Length, Reply};
use crate::report::count;
use crate::session::{Session, kind_name};
use crate::shared::Shared;
use crate::websocket;
use cassette::{BodyReader, Exchange, HttpVersion, NetworkErrorKind, Outcome, Outline, ReadError, Response};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep_until;

/// When what was recorded is to be there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    begun: Instant,
    /// When the recorded request was complete, in microseconds after it began.
    base_us: u64,
    latency: Latency,
}

impl Schedule {
    /// Of an exchange whose request is complete now, and was when it began.
    pub(crate) fn new(latency: Latency) -> Self {
        Self { begun: Instant::now(), base_us: 0, latency }
    }

    /// What was there at a time of the recording is there then; `None` is at once.
    pub(crate) fn due(&self, at_us: u64) -> Option<Instant> {
        let after = Duration::from_micros(at_us.saturating_sub(self.base_us));
        let after = match self.latency {
            Latency::None => return None,
            Latency::Recorded => after,
            Latency::Fixed(after) => after,
            Latency::Scaled(speed) if speed > 0.0 => Duration::try_from_secs_f64(after.as_secs_f64() / speed).ok()?,
            Latency::Scaled(_) => return None,
        };
        self.begun.checked_add(after)
    }

    fn is_timed(latency: Latency) -> bool {
        matches!(latency, Latency::Recorded | Latency::Scaled(_))
    }
}

/// Why an answer was not given to its end.
enum Cut {
    /// The client is gone, or does nothing.
    Client,
    /// The cassette is not what was written.
    Cassette(ReadError),
}

impl From<Broken> for Cut {
    fn from(_: Broken) -> Self {
        Self::Client
    }
}

/// Answers a request from the cassette.
pub(crate) async fn replay(
    shared: &Arc<Shared>,
    session: &Session,
    mut asked: Asked<'_, '_>,
    position: usize,
) -> After {
    count(&shared.counts.replayed);
    let Some(cassette) = session.cassette() else { return After::Reset };
    let given = match cassette.outline(position) {
        Ok(outline) if outline.exchange.frames.is_some() => {
            return websocket::replay(shared, session, asked, outline.exchange).await;
        }
        Ok(outline) => give(shared, session, &mut asked, outline).await,
        Err(error) => Err(Cut::Cassette(error)),
    };
    match given {
        Ok(after) => after,
        Err(Cut::Client) => {
            count(&shared.counts.abandoned);
            asked.reply.abort();
            After::Reset
        }
        Err(Cut::Cassette(error)) => {
            shared.counts.unreadable(&error);
            if !asked.reply.take_back() {
                asked.reply.abort();
                return After::Reset;
            }
            bad_gateway(&mut asked.reply, 502, "unreadable", &error.to_string(), &asked.request).await
        }
    }
}

/// The schedule of an exchange whose request is complete now.
fn schedule(latency: Latency, request_body: Option<BodyReader<'_>>) -> Result<Schedule, ReadError> {
    let mut base_us = 0;
    if let Some(mut body) = request_body.filter(|_| Schedule::is_timed(latency)) {
        while let Some(fragment) = body.read()? {
            base_us = fragment.at_us;
        }
    }
    Ok(Schedule { base_us, ..Schedule::new(latency) })
}

async fn give(
    shared: &Shared,
    session: &Session,
    asked: &mut Asked<'_, '_>,
    outline: Outline<'_>,
) -> Result<After, Cut> {
    let Outline { exchange, request_body, response_body, .. } = outline;
    let schedule = schedule(session.playback.latency, request_body).map_err(Cut::Cassette)?;
    for informational in &exchange.informational {
        // That it can go on the client was told when its body was wanted.
        if informational.status != 100 {
            wait(shared, asked, schedule.due(informational.at_us)).await?;
            within(shared.limits.stall, asked.reply.informational(informational)).await?;
        }
    }
    let Some(response) = &exchange.response else { return nothing(shared, asked, &exchange, schedule).await };
    let length = length(response, response_body.as_ref(), &exchange.outcome);
    let edits = Some(&session.playback.edits).filter(|edits| edits.concern(&asked.request));
    wait(shared, asked, schedule.due(response.at_us)).await?;
    match (edits, response_body) {
        (Some(edits), body) => give_edited(shared, asked, response, body, length, schedule, edits).await?,
        (None, body) => {
            asked.reply.head(response, length)?;
            if let Some(body) = body {
                give_body(shared, asked, body, length, schedule, None).await?;
            }
        }
    }
    let ended = exchange.ended_us.filter(|_| length == Length::Unknown);
    wait(shared, asked, ended.and_then(|ended_us| schedule.due(ended_us))).await?;
    match &exchange.outcome {
        Outcome::Complete => {
            within(shared.limits.stall, asked.reply.finish(&response.trailers)).await?;
            Ok(asked.reply.after())
        }
        outcome => {
            if !matches!(outcome, Outcome::Aborted(_)) {
                shared.counts.warn(format!(
                    "exchange {} is not on the cassette to its end, so its answer was cut off; record it again",
                    exchange.number
                ));
            }
            Ok(within(shared.limits.stall, asked.reply.break_off()).await?)
        }
    }
}

/// How long the client is told that the body is: as it was, as far as the recording knows.
fn length(response: &Response<'_>, body: Option<&BodyReader<'_>>, outcome: &Outcome<'_>) -> Length {
    let Some(body) = body else {
        let has_none = response.status < 200 || matches!(response.status, 204 | 304);
        return if has_none { Length::Absent } else { Length::Known(0) };
    };
    let said = crate::http1::named(&response.headers, "content-length");
    let said = said.and_then(|said| std::str::from_utf8(said).ok()?.parse().ok());
    let is_of_http1 = response.version != HttpVersion::Http2;
    match (said, outcome) {
        (Some(_), Outcome::Complete) => Length::Known(body.bytes() as u64),
        // It will end before that, and the client sees that it does.
        (Some(said), _) => Length::Known(said),
        (None, Outcome::Complete) if body.bytes() == 0 && !is_of_http1 && response.trailers.is_empty() => {
            Length::Known(0)
        }
        (None, _) => Length::Unknown,
    }
}

/// Gives what was recorded instead of a response.
async fn nothing(
    shared: &Shared,
    asked: &mut Asked<'_, '_>,
    exchange: &Exchange<'_>,
    schedule: Schedule,
) -> Result<After, Cut> {
    wait(shared, asked, exchange.ended_us.and_then(|ended_us| schedule.due(ended_us))).await?;
    let (what, message) = match &exchange.outcome {
        Outcome::Aborted(error) if error.kind == NetworkErrorKind::Reset => {
            asked.reply.abort();
            return Ok(After::Reset);
        }
        Outcome::Aborted(error) => (kind_name(error.kind), error.to_string()),
        _ => ("unfinished", format!("the recording ended before exchange {} had an answer", exchange.number)),
    };
    Ok(bad_gateway(&mut asked.reply, 502, what, &message, &asked.request).await)
}

/// Gives an answer with what the user's templates make of it. A body of a known length is gathered; of another, each piece is
/// looked at by itself.
async fn give_edited(
    shared: &Shared,
    asked: &mut Asked<'_, '_>,
    response: &Response<'_>,
    body: Option<BodyReader<'_>>,
    length: Length,
    schedule: Schedule,
    edits: &Edits,
) -> Result<(), Cut> {
    let mut head = response.head();
    head.trailers.clone_from(&response.trailers);
    for header in &mut head.headers {
        header.value = edits.edited(&asked.request, &header.value).into_owned().into();
    }
    match body {
        Some(mut body) if matches!(length, Length::Known(_)) && body.bytes() <= EDITED_BYTES_MAX => {
            let mut whole = Vec::with_capacity(body.bytes());
            while let Some(fragment) = body.read().map_err(Cut::Cassette)? {
                whole.extend_from_slice(fragment.bytes);
            }
            let whole = edits.edited(&asked.request, &whole).into_owned();
            asked.reply.head(&head, Length::Known(whole.len() as u64))?;
            Ok(within(shared.limits.stall, asked.reply.slice(&whole)).await?)
        }
        Some(body) => {
            asked.reply.head(&head, length)?;
            let edits = Some(edits).filter(|_| length == Length::Unknown);
            give_body(shared, asked, body, length, schedule, edits).await
        }
        None => Ok(asked.reply.head(&head, length)?),
    }
}

/// Longer bodies of a known length are given as they are.
const EDITED_BYTES_MAX: usize = 16 << 20;

async fn give_body(
    shared: &Shared,
    asked: &mut Asked<'_, '_>,
    mut body: BodyReader<'_>,
    length: Length,
    schedule: Schedule,
    edits: Option<&Edits>,
) -> Result<(), Cut> {
    while let Some(fragment) = body.read().map_err(Cut::Cassette)? {
        if !fragment.goes_on {
            wait(shared, asked, schedule.due(fragment.at_us)).await?;
        }
        let bytes = edits.map_or(Cow::Borrowed(fragment.bytes), |edits| edits.edited(&asked.request, fragment.bytes));
        within(shared.limits.stall, asked.reply.slice(&bytes)).await?;
        if length == Length::Unknown {
            // The pieces of a stream come apart, as they did.
            within(shared.limits.stall, asked.reply.flush()).await?;
        }
    }
    Ok(())
}

/// Waits until something is due, unless it is already. What is gathered goes to the client before.
async fn wait(shared: &Shared, asked: &mut Asked<'_, '_>, due: Option<Instant>) -> Result<(), Cut> {
    let Some(due) = due.filter(|due| *due > Instant::now()) else { return Ok(()) };
    within(shared.limits.stall, asked.reply.flush()).await?;
    sleep_unless_gone(due, &mut asked.source, &mut asked.reply).await
}

async fn sleep_unless_gone(due: Instant, source: &mut Source<'_>, reply: &mut Reply<'_>) -> Result<(), Cut> {
    tokio::select! {
        () = sleep_until(due.into()) => Ok(()),
        () = source.gone() => Err(Cut::Client),
        () = reply.gone() => Err(Cut::Client),
    }
}
