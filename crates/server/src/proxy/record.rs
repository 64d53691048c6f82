//! A request that goes to the network, and to the cassette as it happens.
//!
//! 1. Both ways are open at the same time: a server may answer before it has the whole body, and a client sees each piece of an
//!    answer when it comes.
//! 2. Each piece is given to the recorder before it is sent on. While the recorder's queue is full nothing is read.
//! 3. A piece goes to the client when what was recorded up to it survives the death of the program, and the last piece of an
//!    answer when its end does: who has an answer, or an event of a stream, finds it on the cassette. In the middle of a long body of
//!    a known length nobody waits for that.
//! 4. If an answer breaks off, the client gets what came of it, and sees that something is missing, as it does on a replay.
//! 5. A stream of events is whole at the [end of its protocol](super::stream_end), whoever ends the connection after it. If the client goes then, the rest
//!    is read for a moment, so that another client finds it on the cassette.

use super::client_request::ClientRequest;
use super::clock::ExchangeClock;
use super::own_answers::bad_gateway;
use super::relay_error::RelayError;
use super::reply::{BodyLength, ConnectionDisposition, Reply};
use super::report::count;
use super::session::{Session, kind_name};
use super::shared::ThreadState;
use super::stream_end::StreamEnd;
use super::tap::Tap;
use super::upstream::{NetworkFailure, OutgoingRequest, ResponseEvent, ResponseReader, ServerConnection, begin};
use super::websocket;
use crate::runtime::headers::lists;
use crate::runtime::http1::Framing;
use crate::runtime::peer::{IncomingBody, OutgoingBody};
use crate::runtime::peer_error::within;
use bytes::Bytes;
use cassette::{Body, Header, HttpVersion, Informational, NetworkError, NetworkErrorKind, Outcome, Request, Response};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// Where the body of a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Upload {
    /// From the client.
    Live,
    /// From the request, in which it is already.
    Held,
    /// The one after the other.
    HeldAndLive,
}

/// Sends a request on, and its answer back.
pub(crate) async fn relay(
    shared: &Arc<ThreadState>,
    session: &Session,
    mut incoming: ClientRequest<'_, '_>,
    clock: ExchangeClock<'_>,
    upload: Upload,
    records: bool,
) -> ConnectionDisposition {
    let is_kept = session.keeps(&incoming.request, None);
    count(match (records, is_kept) {
        _ if shared.passes(&incoming.route.host, incoming.route.port) => &shared.counts.passed,
        (false, _) => &shared.counts.forwarded,
        (true, false) => &shared.counts.left_out,
        (true, true) => &shared.counts.recorded,
    });
    if upload == Upload::Live && incoming.framing != Framing::Absent {
        // There is a body; nothing of it is there yet.
        incoming.request.body = Some(Body::default());
    }
    let mut tap = match Tap::new(session, clock, &incoming.request, records) {
        Ok(tap) => tap,
        Err(error) => {
            incoming.reply.keeps_alive &= incoming.source.is_done();
            return conclude_failed(shared, &mut incoming.reply, None, &incoming.request, RelayError::Recorder(error))
                .await;
        }
    };
    let relayed = relay_both(shared, &mut tap, &mut incoming, upload).await;
    incoming.reply.keeps_alive &= incoming.source.is_done();
    match relayed {
        Ok(RelayOutcome::Message(trailers)) => match finish(&mut tap, &mut incoming, trailers).await {
            Ok(()) => incoming.reply.after(),
            Err(error) => conclude_failed(shared, &mut incoming.reply, Some(&mut tap), &incoming.request, error).await,
        },
        Ok(RelayOutcome::WebSocket(link)) => websocket::relay(shared, &mut tap, incoming, link).await,
        Err(error) => conclude_failed(shared, &mut incoming.reply, Some(&mut tap), &incoming.request, error).await,
    }
}

/// What came of a request.
enum RelayOutcome {
    /// A response, all of which is there but its end.
    Message(Vec<Header<'static>>),
    /// A WebSocket on this connection.
    WebSocket(ServerConnection),
}

/// Ends the recording, then the answer.
async fn finish(
    tap: &mut Tap<'_>,
    incoming: &mut ClientRequest<'_, '_>,
    trailers: Vec<Header<'static>>,
) -> Result<(), RelayError> {
    let records = tap.records();
    let mut request_trailers = incoming.source.take_trailers();
    request_trailers.extend(incoming.request.trailers.iter().cloned().map(Header::into_owned));
    tap.end(Outcome::Complete, request_trailers, trailers.clone())?;
    if records {
        tap.session.until_written().await?;
    }
    match incoming.reply.finish(&trailers).await {
        // It had all of it.
        Err(_) if tap.is_whole() => Ok(()),
        finished => finished.map_err(|broken| RelayError::client(&broken)),
    }
}

/// Sends a request on. A connection that was used before may have ended just now; then it is asked again on another.
async fn relay_both(
    shared: &Arc<ThreadState>,
    tap: &mut Tap<'_>,
    incoming: &mut ClientRequest<'_, '_>,
    upload: Upload,
) -> Result<RelayOutcome, RelayError> {
    let unsent = |failure| RelayError::Server { failure, was_sent: false };
    let mut link = shared.upstream.connection(&incoming.route).await.map_err(unsent)?;
    let may_repeat = link.is_used() && incoming.framing == Framing::Absent && is_safe(&incoming.request.method);
    let mut heard = ResponseProgress::default();
    let mut done = on_link(shared, tap, incoming, &mut link, (upload, &mut heard)).await;
    // What has begun to answer was there, and what it said is on the cassette.
    if may_repeat
        && !heard.has_answered
        && matches!(&done, Err(RelayError::Server { failure, .. }) if failure.kind == NetworkErrorKind::Reset)
    {
        link = shared.upstream.new_connection(&incoming.route).await.map_err(unsent)?;
        done = on_link(shared, tap, incoming, &mut link, (upload, &mut heard)).await;
    }
    match done? {
        Some(trailers) => {
            if incoming.source.is_done() {
                shared.upstream.give_back(&incoming.route, link);
            }
            Ok(RelayOutcome::Message(trailers))
        }
        None => Ok(RelayOutcome::WebSocket(link)),
    }
}

/// Whether asking twice is asking once (RFC 9110, section 9.2.2).
fn is_safe(method: &[u8]) -> bool {
    [&b"GET"[..], b"HEAD", b"OPTIONS", b"TRACE", b"PUT", b"DELETE"].contains(&method)
}

/// What is known of a server by what it said.
#[derive(Default)]
struct ResponseProgress {
    /// Whether anything of an answer came.
    has_answered: bool,
    /// Whether the connection ends after the answer.
    closes: bool,
}

/// Sends a request on a connection, and its answer back but for the end. Gives the trailers, or nothing if it is a WebSocket now.
async fn on_link(
    shared: &ThreadState,
    tap: &Tap<'_>,
    incoming: &mut ClientRequest<'_, '_>,
    link: &mut ServerConnection,
    (upload, heard): (Upload, &mut ResponseProgress),
) -> Result<Option<Vec<Header<'static>>>, RelayError> {
    let ClientRequest { request, route, source, framing, reply, is_upgrade, expects_continue, .. } = incoming;
    let mut sent = request.borrowed();
    if upload != Upload::Live && !*expects_continue {
        // The client was told to go on already.
        sent.headers.retain(|header| !header.is("expect"));
    }
    let outbound = OutgoingRequest { request: &sent, route, body: *framing, is_upgrade: *is_upgrade };
    let limit = shared.limits.upstream_idle;
    let received = {
        let (mut sink, answers) =
            within(limit, begin(link, &outbound)).await.map_err(|broken| RelayError::server(&broken))?;
        let all_is_sent = AtomicBool::new(*framing == Framing::Absent);
        let sending = send(shared, tap, &sent, source, &mut sink, upload, &all_is_sent);
        let receiving = receive(shared, tap, request, answers, reply, &all_is_sent, heard);
        tokio::pin!(sending, receiving);
        let mut not_sent = None;
        loop {
            tokio::select! {
                biased;
                received = &mut receiving => break received.map(Some).map_err(|error| match (error, not_sent.take()) {
                    // Why it was not sent says more than that nothing came.
                    (RelayError::Server { .. }, Some(earlier)) => earlier,
                    (error, _) => error,
                }),
                error = &mut sending, if not_sent.is_none() => match error {
                    // The server may have said why before it stopped to listen.
                    error @ RelayError::Server { .. } => not_sent = Some(error),
                    RelayError::Client(_) if tap.is_whole() => {
                        break timeout(REST_WAIT, &mut receiving).await.map_or(Ok(None), |received| received.map(Some));
                    }
                    error => break Err(error),
                },
            }
        }
    }?;
    if let ServerConnection::Http1(connection) = link {
        connection.closes |= heard.closes || received.is_none();
    }
    // Of what did not come in a moment there are no trailers.
    Ok(received.unwrap_or(Some(Vec::new())))
}

/// Sends the body of a request, and watches whether the client stays. Returns if something is wrong only.
async fn send(
    shared: &ThreadState,
    tap: &Tap<'_>,
    request: &Request<'_>,
    source: &mut IncomingBody<'_>,
    sink: &mut OutgoingBody<'_>,
    upload: Upload,
    all_is_sent: &AtomicBool,
) -> RelayError {
    let sent = match upload {
        Upload::Live => send_live(shared, tap, source, sink).await,
        Upload::Held => send_held(shared, request, sink, true).await,
        Upload::HeldAndLive => match send_held(shared, request, sink, false).await {
            Ok(()) => send_live(shared, tap, source, sink).await,
            Err(error) => Err(error),
        },
    };
    if let Err(error) = sent {
        return error;
    }
    all_is_sent.store(true, Ordering::Relaxed);
    source.gone().await;
    RelayError::Client("the client ended the connection before it had the answer".to_owned())
}

async fn send_live(
    shared: &ThreadState,
    tap: &Tap<'_>,
    source: &mut IncomingBody<'_>,
    sink: &mut OutgoingBody<'_>,
) -> Result<(), RelayError> {
    let mut bytes_left = shared.limits.body_bytes.unwrap_or(u64::MAX);
    loop {
        let next = within(shared.limits.stall, source.next()).await.map_err(|broken| RelayError::client(&broken))?;
        let Some(bytes) = next else { break };
        bytes_left =
            bytes_left.checked_sub(bytes.len() as u64).ok_or(RelayError::TooLarge("the body of the request"))?;
        tap.request_chunk(&bytes)?;
        within(shared.limits.upstream_idle, sink.data(bytes)).await.map_err(|broken| RelayError::server(&broken))?;
        within(shared.limits.upstream_idle, sink.flush()).await.map_err(|broken| RelayError::server(&broken))?;
    }
    // Trailers stay with the source: they are recorded at the end.
    let ended = within(shared.limits.upstream_idle, sink.finish(&source.trailers())).await;
    ended.map_err(|broken| RelayError::server(&broken))
}

async fn send_held(
    shared: &ThreadState,
    request: &Request<'_>,
    sink: &mut OutgoingBody<'_>,
    is_whole: bool,
) -> Result<(), RelayError> {
    let put = async {
        for (_, bytes) in request.body.iter().flat_map(Body::pieces) {
            sink.data(Bytes::copy_from_slice(bytes)).await?;
        }
        if is_whole { sink.finish(&request.trailers).await } else { sink.flush().await }
    };
    within(shared.limits.upstream_idle, put).await.map_err(|broken| RelayError::server(&broken))
}

/// Receives an answer and sends it back, but for its end. Gives the trailers, or nothing if it is a WebSocket now.
async fn receive(
    shared: &ThreadState,
    tap: &Tap<'_>,
    request: &Request<'_>,
    mut answers: ResponseReader<'_>,
    reply: &mut Reply<'_>,
    all_is_sent: &AtomicBool,
    heard: &mut ResponseProgress,
) -> Result<Option<Vec<Header<'static>>>, RelayError> {
    let limits = &shared.limits;
    let (mut response, rest) = loop {
        let next = within(limits.upstream_idle, answers.next(limits.head_bytes, || tap.at_us()));
        let next = tokio::select! {
            biased;
            next = next => next.map_err(|broken| RelayError::server(&broken))?,
            () = reply.gone() => return Err(RelayError::Client("the client gave the request up".to_owned())),
        };
        heard.has_answered = true;
        match next {
            ResponseEvent::Informational(informational) => {
                pass_informational(shared, tap, reply, &informational).await?
            }
            ResponseEvent::Response(response, rest) => break (response, rest),
        }
    };
    let framing = Framing::of_response(&request.method, response.status, &response.headers);
    let framing = framing.map_err(|what| protocol(&what))?;
    if matches!(framing, Framing::Known(bytes) if limits.body_bytes.is_some_and(|most| bytes > most)) {
        return Err(RelayError::TooLarge("the body of the response"));
    }
    response.body = (framing != Framing::Absent && response.status != 101).then(Body::default);
    if tap.records() && tap.session.keeps(request, None) && !tap.session.keeps(request, Some(&response)) {
        shared.counts.recorded.fetch_sub(1, Ordering::Relaxed);
        count(&shared.counts.left_out);
    }
    tap.record(0, |call| call.response(&response))?;
    if response.status == 101 {
        tap.until_written().await?;
        reply.head(&response, BodyLength::Absent).map_err(|broken| RelayError::client(&broken))?;
        within(limits.stall, reply.flush()).await.map_err(|broken| RelayError::client(&broken))?;
        return Ok(None);
    }
    heard.closes = framing == Framing::UntilEnd || ends_connection(&response);
    let body = answers.body(rest, framing, limits.head_bytes).ok_or_else(|| protocol("the answer has no body"))?;
    let length = match framing {
        Framing::Absent => BodyLength::Absent,
        Framing::Known(bytes) => BodyLength::Known(bytes),
        Framing::Chunked | Framing::UntilEnd if body.is_done() => BodyLength::Known(0),
        Framing::Chunked | Framing::UntilEnd => BodyLength::Unknown,
    };
    // What is left of the request would be taken for the next one.
    reply.keeps_alive &= all_is_sent.load(Ordering::Relaxed);
    reply.head(&response, length).map_err(|broken| RelayError::client(&broken))?;
    let mut streamed = ResponseBody { body, promised: promised(&response), end: StreamEnd::of(&response) };
    let trailers = receive_body(shared, tap, &mut streamed, reply).await?;
    heard.closes |= !streamed.body.is_done();
    Ok(Some(trailers))
}

fn protocol(what: &str) -> RelayError {
    RelayError::Server { failure: NetworkFailure::new(NetworkErrorKind::Protocol, what), was_sent: true }
}

async fn pass_informational(
    shared: &ThreadState,
    tap: &Tap<'_>,
    reply: &mut Reply<'_>,
    informational: &Informational<'_>,
) -> Result<(), RelayError> {
    tap.record(0, |call| call.informational(informational))?;
    within(shared.limits.stall, reply.informational(informational)).await.map_err(|broken| RelayError::client(&broken))
}

/// Whether a server says that it ends the connection after this.
fn ends_connection(response: &Response<'_>) -> bool {
    match response.version {
        HttpVersion::Http10 => !lists(&response.headers, "connection", "keep-alive"),
        _ => lists(&response.headers, "connection", "close"),
    }
}

/// How many bytes an answer says that it has.
fn promised(response: &Response<'_>) -> Option<u64> {
    let length = response.headers.iter().find(|header| header.is("content-length"))?;
    length.value.as_text()?.trim().parse().ok()
}

/// The head of a short answer waits a moment for its body: it goes in one piece then, and until it went it can be taken back.
const SHORT_BYTES: u64 = 64 << 10;
const SHORT_WAIT: Duration = Duration::from_millis(5);

/// So long is waited for what comes of a stream that is whole after its client has gone: most servers end it at once.
const REST_WAIT: Duration = Duration::from_millis(500);

/// The body of an answer while it comes.
struct ResponseBody<'b> {
    body: IncomingBody<'b>,
    /// How many bytes it is to have, if the server said so.
    promised: Option<u64>,
    end: StreamEnd,
}

/// Receives a body and sends it on, but for its end. Gives the trailers.
async fn receive_body(
    shared: &ThreadState,
    tap: &Tap<'_>,
    streamed: &mut ResponseBody<'_>,
    reply: &mut Reply<'_>,
) -> Result<Vec<Header<'static>>, RelayError> {
    let passed = pass_pieces(shared, tap, streamed, reply).await;
    match passed {
        Err(RelayError::Client(_)) if tap.is_whole() => read_rest(tap, &mut streamed.body).await,
        Err(RelayError::Server { .. }) if tap.is_whole() => Ok(Vec::new()),
        passed => passed,
    }
}

/// Reads what is left of a stream that is whole, for a moment.
async fn read_rest(tap: &Tap<'_>, body: &mut IncomingBody<'_>) -> Result<Vec<Header<'static>>, RelayError> {
    let until = tokio::time::Instant::now() + REST_WAIT;
    while let Ok(Ok(Some(bytes))) = tokio::time::timeout_at(until, body.next()).await {
        tap.response_chunk(&bytes)?;
    }
    Ok(body.take_trailers())
}

async fn pass_pieces(
    shared: &ThreadState,
    tap: &Tap<'_>,
    ResponseBody { body, promised, end }: &mut ResponseBody<'_>,
    reply: &mut Reply<'_>,
) -> Result<Vec<Header<'static>>, RelayError> {
    let (limits, promised) = (&shared.limits, *promised);
    let mut bytes_left = limits.body_bytes.unwrap_or(u64::MAX);
    let mut received = 0;
    loop {
        // What is there already goes in one piece; what is gathered goes before anybody waits. In HTTP/2 the end may come by itself:
        // a client that has all bytes is done before it, and goes.
        let wait = async {
            if promised.is_some_and(|bytes| bytes <= SHORT_BYTES) {
                tokio::time::sleep(SHORT_WAIT).await;
            }
        };
        let at_once = tokio::select! {
            biased;
            next = within(limits.upstream_idle, body.next()) => Some(next),
            () = wait, if promised != Some(received) => None,
        };
        let next = match at_once {
            Some(next) => next,
            None => {
                tap.until_written().await?;
                within(limits.stall, reply.flush()).await.map_err(|broken| RelayError::client(&broken))?;
                tokio::select! {
                    biased;
                    next = within(limits.upstream_idle, body.next()) => next,
                    () = reply.gone() => return Err(RelayError::Client("the client gave the answer up".to_owned())),
                }
            }
        };
        let Some(bytes) = next.map_err(|broken| RelayError::server(&broken))? else { return Ok(body.take_trailers()) };
        bytes_left =
            bytes_left.checked_sub(bytes.len() as u64).ok_or(RelayError::TooLarge("the body of the response"))?;
        received += bytes.len() as u64;
        tap.response_chunk(&bytes)?;
        if end.is_whole_after(&bytes) {
            tap.note_whole();
        }
        if promised == Some(received) {
            reply.last(bytes);
            continue;
        }
        if promised.is_none() && reply.would_send(bytes.len()) {
            tap.until_written().await?;
        }
        within(limits.stall, reply.data(bytes)).await.map_err(|broken| RelayError::client(&broken))?;
    }
}

/// Tells the client, the cassette and the user that an exchange did not come to its end.
pub(crate) async fn conclude_failed(
    shared: &ThreadState,
    reply: &mut Reply<'_>,
    mut tap: Option<&mut Tap<'_>>,
    request: &Request<'_>,
    error: RelayError,
) -> ConnectionDisposition {
    let records = tap.as_ref().is_some_and(|tap| tap.records());
    let mut abort = |error: NetworkError<'_>| {
        if let Some(tap) = &mut tap {
            tap.abort(error);
        }
    };
    let (status, what, message) = match error {
        RelayError::Client(message) => {
            count(&shared.counts.abandoned);
            abort(NetworkError { kind: NetworkErrorKind::Other, message: message.into() });
            reply.abort();
            return ConnectionDisposition::Reset;
        }
        RelayError::Server { failure, was_sent } => {
            shared.counts.failure(failure.kind);
            if failure.kind == NetworkErrorKind::Tls {
                shared.counts.warn(failure.message.clone());
            }
            abort(failure.error());
            if reply.has_head() {
                let session = tap.filter(|_| records).map(|tap| tap.session);
                return break_off(shared, session, reply).await;
            }
            if was_sent && failure.kind == NetworkErrorKind::Reset {
                // What the client would have seen of it.
                reply.abort();
                return ConnectionDisposition::Reset;
            }
            (502, kind_name(failure.kind), failure.to_string())
        }
        RelayError::Recorder(error) => {
            shared.counts.recorder_failed(error.to_string());
            (502, "recorder", format!("nothing can be recorded: {error}"))
        }
        RelayError::TooLarge(what) => {
            let message = format!("{what} has more bytes than the limit of the proxy allows");
            shared.counts.refuse(message.clone());
            abort(NetworkError { kind: NetworkErrorKind::Other, message: message.clone().into() });
            (502, "refused", message)
        }
    };
    if !reply.take_back() {
        reply.abort();
        return ConnectionDisposition::Reset;
    }
    bad_gateway(reply, status, what, &message, request).await
}

/// Gives the client what came of an answer that did not come to its end, once that is on the cassette.
async fn break_off(
    shared: &ThreadState,
    recorded_by: Option<&Session>,
    reply: &mut Reply<'_>,
) -> ConnectionDisposition {
    if let Some(session) = recorded_by
        && let Err(error) = session.until_written().await
    {
        shared.counts.recorder_failed(error.to_string());
    }
    within(shared.limits.stall, reply.break_off()).await.unwrap_or(ConnectionDisposition::Reset)
}
