//! One request of a client, and what is done with it.

use super::client_request::ClientRequest;
use super::clock::ExchangeClock;
use super::own_answers::{error_body, refuse, respond};
use super::record::{self, Upload};
use super::replay;
use super::reply::{ConnectionDisposition, Reply};
use super::report::{LookupError, count};
use super::session::{RequestPlan, Session};
use super::shared::ThreadState;
use super::telemetry::{TelemetrySink, sink_of};
use crate::runtime::http1::Framing;
use crate::runtime::peer_error::within;
use cassette::matching::Reason;
use cassette::{Body, Header, Informational, Mode, Request};
use serde_json::{Value, json};
use std::sync::Arc;

/// Why a request has no body that can be looked up.
enum HoldBodyError {
    TooLong,
    Broken,
}

/// Answers a request, and says what is left of the connection.
pub(crate) async fn answer(shared: &Arc<ThreadState>, incoming: ClientRequest<'_, '_>) -> ConnectionDisposition {
    count(&shared.counts.requests);
    answer_by_mode(shared, incoming).await
}

/// Does with a request what the mode says.
async fn answer_by_mode(shared: &Arc<ThreadState>, mut incoming: ClientRequest<'_, '_>) -> ConnectionDisposition {
    let session = shared.session_for_request().await;
    let clock = ExchangeClock::new(&shared.clock, incoming.started);
    if shared.passes(&incoming.route.host, incoming.route.port) {
        return record::relay(shared, &session, incoming, clock, Upload::Live, false).await;
    }
    if !session.looks_up() {
        let records = matches!(session.plan(&incoming.request), RequestPlan::Record);
        return record::relay(shared, &session, incoming, clock, Upload::Live, records).await;
    }
    match hold_body(shared, &session, &mut incoming, clock).await {
        Ok(()) => {}
        // What is too long to be compared is taken for new.
        Err(HoldBodyError::TooLong) if session.mode() == Mode::New => {
            return record::relay(shared, &session, incoming, clock, Upload::HeldAndLive, true).await;
        }
        Err(HoldBodyError::TooLong) => {
            count(&shared.counts.too_long);
            incoming.reply.keeps_alive = false;
            let most = shared.limits.matched_body_bytes;
            let what = format!(
                "the body of a request that is looked up on a cassette has {most} bytes at most; --ignore-body compares without bodies"
            );
            return refuse(&mut incoming.reply, 413, &what).await;
        }
        Err(HoldBodyError::Broken) => {
            count(&shared.counts.abandoned);
            return ConnectionDisposition::Reset;
        }
    }
    if let Some(after) = inject_fault(shared, &session, &mut incoming).await {
        return after;
    }
    match session.plan(&incoming.request) {
        RequestPlan::Replay { found, is_expired } => {
            if is_expired {
                shared.counts.warn("the cassette has answers that are older than they should be; record them again");
            }
            replay::replay(shared, &session, incoming, found).await
        }
        RequestPlan::Record => record::relay(shared, &session, incoming, clock, Upload::Held, true).await,
        RequestPlan::Forward => record::relay(shared, &session, incoming, clock, Upload::Held, false).await,
        RequestPlan::Missing(why) => match telemetry_sink(&why, &incoming.request) {
            Some(sink) => {
                shared.counts.telemetry(sink.name);
                sink.take(&mut incoming.reply).await
            }
            None => respond_miss(shared, &session, &mut incoming.reply, &why).await,
        },
        RequestPlan::Expired { position, age } => respond_expired(shared, &session, incoming, position, age).await,
    }
}

/// Reads all of the body of a request into it. One that is too long is there as far as it was read.
async fn hold_body(
    shared: &ThreadState,
    session: &Session,
    incoming: &mut ClientRequest<'_, '_>,
    clock: ExchangeClock<'_>,
) -> Result<(), HoldBodyError> {
    if incoming.framing == Framing::Absent {
        return Ok(());
    }
    let bytes_max = if session.looks_at_bodies() { shared.limits.matched_body_bytes } else { usize::MAX };
    let body = incoming.request.body.insert(Body::default());
    if matches!(incoming.framing, Framing::Known(bytes) if bytes > bytes_max as u64) {
        return Err(HoldBodyError::TooLong);
    }
    if std::mem::take(&mut incoming.expects_continue) {
        let go_on = Informational { status: 100, reason: "Continue".into(), ..Informational::default() };
        incoming.reply.informational(&go_on).await.map_err(|_| HoldBodyError::Broken)?;
    }
    while let Some(bytes) =
        within(shared.limits.stall, incoming.source.next()).await.map_err(|_| HoldBodyError::Broken)?
    {
        if session.looks_at_bodies() {
            body.push(clock.at_us(), &bytes);
        }
        if body.bytes().len() > bytes_max {
            return Err(HoldBodyError::TooLong);
        }
    }
    incoming.request.trailers = incoming.source.take_trailers();
    Ok(())
}

/// What the user wants to go wrong, if that is due. What is recorded stays to be given.
async fn inject_fault(
    shared: &ThreadState,
    session: &Session,
    incoming: &mut ClientRequest<'_, '_>,
) -> Option<ConnectionDisposition> {
    let does = session.playback.edits.fault(&incoming.request)?;
    count(&shared.counts.faults);
    tokio::select! {
        () = tokio::time::sleep(does.delay) => {}
        () = incoming.source.gone() => return Some(ConnectionDisposition::Reset),
        () = incoming.reply.gone() => return Some(ConnectionDisposition::Reset),
    }
    if does.is_reset {
        incoming.reply.abort();
        return Some(ConnectionDisposition::Reset);
    }
    let (status, headers, body) = does.instead.as_ref()?;
    let mark = Header::new("X-Metroon", "fault");
    let headers: Vec<_> = headers.iter().cloned().chain([mark]).collect();
    let sent = incoming.reply.respond(*status, "Injected", &headers, body.as_bytes()).await;
    Some(if sent.is_ok() { incoming.reply.after() } else { ConnectionDisposition::Reset })
}

/// The service that takes a request which nothing answers, if the program only tells it something.
fn telemetry_sink(why: &LookupError, request: &Request<'_>) -> Option<TelemetrySink> {
    if matches!(why, LookupError::Miss(_)) { sink_of(request) } else { None }
}

/// Status of answers that no server gives: there is no such answer.
const NO_ANSWER: u16 = 599;

async fn respond_miss(
    shared: &ThreadState,
    session: &Session,
    reply: &mut Reply<'_>,
    why: &LookupError,
) -> ConnectionDisposition {
    let body = match why {
        LookupError::Miss(miss) => {
            shared.counts.miss(miss);
            let nearest = match &miss.reason {
                Reason::Unlike(nearest) => {
                    let differences = nearest.differences.iter().map(|difference| {
                        json!({"place": difference.place, "recorded": difference.recorded, "live": difference.live})
                    });
                    json!({
                        "exchange": nearest.number,
                        "request": nearest.request,
                        "differences": differences.collect::<Vec<_>>(),
                    })
                }
                Reason::AllGiven { count, last } => json!({"exchange": last, "given": count}),
                _ => Value::Null,
            };
            let more = json!({"request": miss.request, "nearest": nearest, "cassette": cassette(session)});
            error_body("miss", &miss.to_string(), more)
        }
        LookupError::Unreadable(error) => {
            shared.counts.unreadable(error);
            error_body("unreadable", &error.to_string(), json!({"cassette": cassette(session)}))
        }
    };
    let what = if matches!(why, LookupError::Miss(_)) { "miss" } else { "unreadable" };
    respond(reply, NO_ANSWER, "Not On The Cassette", what, &body).await
}

async fn respond_expired(
    shared: &ThreadState,
    session: &Session,
    incoming: ClientRequest<'_, '_>,
    position: usize,
    age: i64,
) -> ConnectionDisposition {
    count(&shared.counts.expired);
    let number =
        session.cassette().and_then(|cassette| cassette.outline(position).ok()).map(|outline| outline.exchange.number);
    let most = session.playback.expiry.map_or(0, |expiry| expiry.max_age);
    let message = format!("the recorded answer is {age} seconds old, and {most} are allowed; record it again");
    let more = json!({"request": incoming.request.line(), "exchange": number, "cassette": cassette(session)});
    let body = error_body("expired", &message, more);
    let mut reply = incoming.reply;
    respond(&mut reply, NO_ANSWER, "Too Old", "expired", &body).await
}

fn cassette(session: &Session) -> Option<String> {
    session.path().map(|path| path.display().to_string())
}
