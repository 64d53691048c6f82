//! One request of a client, and what is done with it.

use crate::http1::Framing;
use crate::peer::{Source, within};
use crate::record::{self, Upload};
use crate::replay;
use crate::reply::{After, Reply};
use crate::report::{NoAnswer, count};
use crate::session::{Plan, Session, now_ns};
use crate::shared::Shared;
use crate::upstream::Route;
use cassette::matching::Reason;
use cassette::{Body, Header, Informational, Mode, Request};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// One request of a client.
pub(crate) struct Asked<'c, 'r> {
    pub(crate) started: Instant,
    pub(crate) request: Request<'r>,
    pub(crate) route: Route,
    pub(crate) source: Source<'c>,
    pub(crate) framing: Framing,
    pub(crate) reply: Reply<'c>,
    /// Whether the client waits with the body until it is told to go on.
    pub(crate) expects_continue: bool,
    /// Whether it asks for a WebSocket.
    pub(crate) is_upgrade: bool,
}

/// Time, as it is on a cassette.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) started_ns: i64,
    pub(crate) started: Instant,
}

impl Clock {
    fn new(started: Instant) -> Self {
        let ago = i64::try_from(started.elapsed().as_nanos()).unwrap_or_default();
        Self { started_ns: now_ns().saturating_sub(ago), started }
    }

    /// Microseconds since the exchange began.
    pub(crate) fn at_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Why a request has no body that can be looked up.
enum NoBody {
    TooLong,
    Broken,
}

/// Answers a request, and says what is left of the connection.
pub(crate) async fn answer(shared: &Arc<Shared>, asked: Asked<'_, '_>) -> After {
    count(&shared.counts.requests);
    answer_by_mode(shared, asked).await
}

/// Does with a request what the mode says.
async fn answer_by_mode(shared: &Arc<Shared>, mut asked: Asked<'_, '_>) -> After {
    let session = shared.session_for_request().await;
    let clock = Clock::new(asked.started);
    if shared.passes(&asked.route.host, asked.route.port) {
        return record::relay(shared, &session, asked, clock, Upload::Live, false).await;
    }
    if !session.looks_up() {
        let records = matches!(session.plan(&asked.request), Plan::Record);
        return record::relay(shared, &session, asked, clock, Upload::Live, records).await;
    }
    match hold_body(shared, &session, &mut asked, clock).await {
        Ok(()) => {}
        // What is too long to be compared is taken for new.
        Err(NoBody::TooLong) if session.mode() == Mode::New => {
            return record::relay(shared, &session, asked, clock, Upload::HeldAndLive, true).await;
        }
        Err(NoBody::TooLong) => {
            count(&shared.counts.too_long);
            asked.reply.keeps_alive = false;
            let most = shared.limits.matched_body_bytes;
            let what = format!(
                "the body of a request that is looked up on a cassette has {most} bytes at most; --ignore-body compares without bodies"
            );
            return refuse(&mut asked.reply, 413, &what).await;
        }
        Err(NoBody::Broken) => {
            count(&shared.counts.abandoned);
            return After::Reset;
        }
    }
    if let Some(after) = fault(shared, &session, &mut asked).await {
        return after;
    }
    match session.plan(&asked.request) {
        Plan::Replay { position, is_expired } => {
            if is_expired {
                shared.counts.warn("the cassette has answers that are older than they should be; record them again");
            }
            replay::replay(shared, &session, asked, position).await
        }
        Plan::Record => record::relay(shared, &session, asked, clock, Upload::Held, true).await,
        Plan::Forward => record::relay(shared, &session, asked, clock, Upload::Held, false).await,
        Plan::Missing(why) => missing(shared, &session, &mut asked.reply, &why).await,
        Plan::Expired { position, age } => expired(shared, &session, asked, position, age).await,
    }
}

/// Reads all of the body of a request into it. One that is too long is there as far as it was read.
async fn hold_body(shared: &Shared, session: &Session, asked: &mut Asked<'_, '_>, clock: Clock) -> Result<(), NoBody> {
    if asked.framing == Framing::Absent {
        return Ok(());
    }
    let bytes_max = if session.looks_at_bodies() { shared.limits.matched_body_bytes } else { usize::MAX };
    let body = asked.request.body.insert(Body::default());
    if matches!(asked.framing, Framing::Known(bytes) if bytes > bytes_max as u64) {
        return Err(NoBody::TooLong);
    }
    if std::mem::take(&mut asked.expects_continue) {
        let go_on = Informational { status: 100, reason: "Continue".into(), ..Informational::default() };
        asked.reply.informational(&go_on).await.map_err(|_| NoBody::Broken)?;
    }
    while let Some(bytes) = within(shared.limits.stall, asked.source.next()).await.map_err(|_| NoBody::Broken)? {
        if session.looks_at_bodies() {
            body.push(clock.at_us(), &bytes);
        }
        if body.bytes().len() > bytes_max {
            return Err(NoBody::TooLong);
        }
    }
    asked.request.trailers = asked.source.take_trailers();
    Ok(())
}

/// What the user wants to go wrong, if that is due. What is recorded stays to be given.
async fn fault(shared: &Shared, session: &Session, asked: &mut Asked<'_, '_>) -> Option<After> {
    let does = session.playback.edits.fault(&asked.request)?;
    count(&shared.counts.faults);
    tokio::select! {
        () = tokio::time::sleep(does.delay) => {}
        () = asked.source.gone() => return Some(After::Reset),
        () = asked.reply.gone() => return Some(After::Reset),
    }
    if does.is_reset {
        asked.reply.abort();
        return Some(After::Reset);
    }
    let (status, headers, body) = does.instead.as_ref()?;
    let mark = Header::new("X-Metroon", "fault");
    let headers: Vec<_> = headers.iter().cloned().chain([mark]).collect();
    let sent = asked.reply.own(*status, "Injected", &headers, body.as_bytes()).await;
    Some(if sent.is_ok() { asked.reply.after() } else { After::Reset })
}

/// Status of answers that no server gives: there is no such answer.
const NO_ANSWER: u16 = 599;

async fn missing(shared: &Shared, session: &Session, reply: &mut Reply<'_>, why: &NoAnswer) -> After {
    let body = match why {
        NoAnswer::Miss(miss) => {
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
            told("miss", &miss.to_string(), more)
        }
        NoAnswer::Unreadable(error) => {
            shared.counts.unreadable(error);
            told("unreadable", &error.to_string(), json!({"cassette": cassette(session)}))
        }
    };
    let what = if matches!(why, NoAnswer::Miss(_)) { "miss" } else { "unreadable" };
    own(reply, NO_ANSWER, "Not On The Cassette", what, &body).await
}

async fn expired(shared: &Shared, session: &Session, asked: Asked<'_, '_>, position: usize, age: i64) -> After {
    count(&shared.counts.expired);
    let number =
        session.cassette().and_then(|cassette| cassette.outline(position).ok()).map(|outline| outline.exchange.number);
    let most = session.playback.expiry.map_or(0, |expiry| expiry.max_age);
    let message = format!("the recorded answer is {age} seconds old, and {most} are allowed; record it again");
    let more = json!({"request": asked.request.line(), "exchange": number, "cassette": cassette(session)});
    let body = told("expired", &message, more);
    let mut reply = asked.reply;
    own(&mut reply, NO_ANSWER, "Too Old", "expired", &body).await
}

fn cassette(session: &Session) -> Option<String> {
    session.path().map(|path| path.display().to_string())
}

/// An error, as the clients of many services read it: they show `error.message` as the text of their exceptions.
pub(crate) fn told(what: &str, message: &str, more: Value) -> Value {
    let mut told = json!({"error": {"type": what, "message": message}});
    if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
        told.extend(more);
    }
    told
}

/// An answer of the proxy's own, which says so in a header.
pub(crate) async fn own(reply: &mut Reply<'_>, status: u16, reason: &str, what: &str, body: &Value) -> After {
    let headers = [
        Header::new("Content-Type", "application/json"),
        Header::new("X-Metroon", what.to_owned()),
        // Clients of some services ask again if they are not told so.
        Header::new("X-Should-Retry", "false"),
    ];
    let body = format!("{body:#}\n");
    match reply.own(status, reason, &headers, body.as_bytes()).await {
        Ok(()) => reply.after(),
        Err(_) => After::Reset,
    }
}

/// Refuses a request.
pub(crate) async fn refuse(reply: &mut Reply<'_>, status: u16, what: &str) -> After {
    let reason = match status {
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Refused",
    };
    own(reply, status, reason, "refused", &told("refused", what, Value::Null)).await
}
