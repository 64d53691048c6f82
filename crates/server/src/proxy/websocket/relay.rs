//! A WebSocket that goes to a server, and to the cassette frame by frame.

use super::frame::{NextFrame, next};
use crate::proxy::client_request::ClientRequest;
use crate::proxy::relay_error::RelayError;
use crate::proxy::reply::ConnectionDisposition;
use crate::proxy::report::count;
use crate::proxy::shared::ThreadState;
use crate::proxy::tap::Tap;
use crate::proxy::upstream::{NetworkFailure, ServerConnection};
use crate::runtime::http1::{Http1Reader, Http1Writer};
use crate::runtime::peer::IncomingBody;
use cassette::{Direction, NetworkError, NetworkErrorKind, Opcode, Outcome};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::AsyncWriteExt;

/// A frame with a longer payload is sent on, and neither it nor what follows is recorded: it would not fit into a frame of a cassette.
const RECORDED_BYTES_MAX: u64 = 15 << 20;

/// What both directions know.
#[derive(Default)]
struct RelayState {
    /// Whether somebody has said that the conversation ends.
    is_closing: AtomicBool,
    is_truncated: AtomicBool,
}

/// Passes frames on until the conversation ends. What is left of the connection is nothing.
pub(crate) async fn relay(
    shared: &Arc<ThreadState>,
    tap: &mut Tap<'_>,
    incoming: ClientRequest<'_, '_>,
    link: ServerConnection,
) -> ConnectionDisposition {
    let (IncomingBody::Http1 { reader, .. }, Some(writer), ServerConnection::Http1(mut server)) =
        (incoming.source, incoming.reply.into_writer(), link)
    else {
        return ConnectionDisposition::Reset;
    };
    if tap.record(0, cassette::OpenExchange::open_websocket).is_err() {
        return ConnectionDisposition::Reset;
    }
    let state = RelayState::default();
    let ended = {
        let sent = pass(shared, tap, &state, Direction::Sent, reader, &mut server.writer);
        let received = pass(shared, tap, &state, Direction::Received, &mut server.reader, writer);
        tokio::select! {
            ended = sent => ended,
            ended = received => ended,
            () = shared.stopping() => {
                state.is_truncated.store(true, Ordering::Relaxed);
                Ok(())
            }
        }
    };
    end(shared, tap, &state, ended)
}

fn end(
    shared: &ThreadState,
    tap: &mut Tap<'_>,
    state: &RelayState,
    ended: Result<(), RelayError>,
) -> ConnectionDisposition {
    let is_closing = state.is_closing.load(Ordering::Relaxed);
    let abort = |kind, message: String| Outcome::Aborted(NetworkError { kind, message: message.into() });
    let outcome = match ended {
        _ if state.is_truncated.load(Ordering::Relaxed) => Outcome::Truncated,
        _ if is_closing => Outcome::Complete,
        Ok(()) => abort(NetworkErrorKind::Reset, "the server ended the WebSocket without closing it".to_owned()),
        Err(RelayError::Server { failure, .. }) => {
            shared.counts.failure(failure.kind);
            abort(failure.kind, failure.message)
        }
        Err(RelayError::Client(message)) => {
            count(&shared.counts.abandoned);
            abort(NetworkErrorKind::Other, message)
        }
        Err(RelayError::Recorder(error)) => {
            shared.counts.recorder_failed(error.to_string());
            return ConnectionDisposition::Reset;
        }
        Err(RelayError::TooLarge(what)) => abort(NetworkErrorKind::Other, what.to_owned()),
    };
    match tap.end(outcome, Vec::new(), Vec::new()) {
        Ok(()) if is_closing => ConnectionDisposition::Close,
        Ok(()) => ConnectionDisposition::Reset,
        Err(error) => {
            shared.counts.recorder_failed(error.to_string());
            ConnectionDisposition::Reset
        }
    }
}

/// Passes frames on one way until somebody ends the connection.
async fn pass(
    shared: &ThreadState,
    tap: &Tap<'_>,
    state: &RelayState,
    direction: Direction,
    reader: &mut Http1Reader,
    writer: &mut Http1Writer,
) -> Result<(), RelayError> {
    let to_read = |broken: crate::runtime::peer_error::PeerError| match direction {
        Direction::Sent => RelayError::Client(broken.to_string()),
        Direction::Received => RelayError::Server { failure: NetworkFailure::of_broken(&broken), was_sent: true },
    };
    let to_write = |error: std::io::Error| match direction {
        Direction::Sent => RelayError::Server {
            failure: NetworkFailure::of(&error, "the server ended the connection"),
            was_sent: true,
        },
        Direction::Received => RelayError::Client(error.to_string()),
    };
    loop {
        let came = next(reader, RECORDED_BYTES_MAX).await.map_err(to_read)?;
        match came {
            NextFrame::Frame(frame) => {
                if !state.is_truncated.load(Ordering::Relaxed) {
                    let recorded = frame.recorded(tap.at_us(), direction);
                    tap.record(recorded.payload.len(), |call| call.frame(&recorded))?;
                }
                tap.until_written().await?;
                if frame.head.opcode == Opcode::CLOSE {
                    state.is_closing.store(true, Ordering::Relaxed);
                }
                writer.io.write_all(&frame.raw).await.map_err(to_write)?;
            }
            NextFrame::Long(head) => {
                if !state.is_truncated.swap(true, Ordering::Relaxed) {
                    shared.counts.warn("a WebSocket had a frame of more than 15 MiB; it is not recorded from there on");
                }
                let mut left = head.bytes as u64 + head.payload;
                while left > 0 {
                    if reader.buffer.is_empty() && reader.fill().await.map_err(|error| to_read(error.into()))? == 0 {
                        return ended(direction);
                    }
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(reader.buffer.len());
                    writer.io.write_all(&reader.buffer.split_to(count)).await.map_err(to_write)?;
                    left -= count as u64;
                }
            }
            NextFrame::End => return ended(direction),
        }
        // Without TLS there is nothing to be sent but what was written; with it there may be.
        writer.io.flush().await.map_err(to_write)?;
    }
}

fn ended(direction: Direction) -> Result<(), RelayError> {
    match direction {
        Direction::Sent => Err(RelayError::Client("the client ended the WebSocket without closing it".to_owned())),
        Direction::Received => Ok(()),
    }
}
