//! `metroon cassette show`: a line for each exchange, or one in full.

use super::{open, timestamp};
use crate::end::End;
use crate::journal::escaped;
use crate::output::{Ended, Out, fail};
use cassette::{BodyReader, Cassette, Exchange, NetworkErrorKind, Outcome, Outline, ReadError, ReadOptions};
use clap::Args;
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The cassette
    #[arg(value_name = "CASSETTE")]
    pub(super) cassette: PathBuf,

    /// Print all of the exchange that has this number, as the text form has it; a compressed body is decompressed
    #[arg(value_name = "N", value_parser = number)]
    pub(super) number: Option<u64>,

    /// Print one JSON object a line; with N, the exchange as the JSON form has it, which is indented on a terminal
    #[arg(long)]
    pub(super) json: bool,
}

fn number(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "expected the number of an exchange, as `metroon cassette show CASSETTE` lists them")
}

pub(super) fn show(arguments: &ShowArguments, options: ReadOptions) -> Ended {
    let (cassette, _) = open(&arguments.cassette, options)?;
    let mut out = Out::new();
    let told = |error: &ReadError| super::damaged(&arguments.cassette, error);
    if let Some(number) = arguments.number {
        let exchange = with_number(&cassette, number).map_err(|error| told(&error))?;
        let exchange = exchange.ok_or_else(|| no_such(arguments, &cassette, number))?;
        let shown = if arguments.json { as_json(&exchange)? } else { in_full(exchange) };
        out.line(shown.trim_end())?;
        return out.end();
    }
    for at in 0..cassette.len() {
        let outline = match cassette.outline(at) {
            Ok(outline) => outline,
            Err(error) => {
                out.end()?;
                return Err(told(&error));
            }
        };
        out.line(&if arguments.json { summary_json(&outline) } else { summary_line(&outline) })?;
    }
    out.end()
}

/// The exchange of a number. Numbers ascend.
fn with_number(cassette: &Cassette, number: u64) -> Result<Option<Exchange<'_>>, ReadError> {
    let (mut low, mut high) = (0, cassette.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if cassette.outline(middle)?.exchange.number < number { low = middle + 1 } else { high = middle }
    }
    let found = if low < cassette.len() { Some(cassette.outline(low)?.into_exchange()?) } else { None };
    Ok(found.filter(|exchange| exchange.number == number))
}

fn no_such(arguments: &ShowArguments, cassette: &Cassette, number: u64) -> End {
    let name = arguments.cassette.display();
    let message = match cassette.len() {
        0 => format!("there is no exchange {number}: {name} has none"),
        _ => format!("there is no exchange {number} on {name}"),
    };
    fail(&message, &format!("`metroon cassette show {name}` lists the exchanges"), End::Usage)
}

fn as_json(exchange: &Exchange<'_>) -> Result<String, End> {
    // Programs that read it, such as `kb load`, take a line for an object.
    let is_for_people = std::io::stdout().is_terminal();
    let written = if is_for_people { serde_json::to_string_pretty(exchange) } else { serde_json::to_string(exchange) };
    written.map_err(|error| fail(&format!("cannot write JSON: {error}"), "", End::Error))
}

/// The lines of the text form, with comments on what was decompressed.
fn in_full(mut exchange: Exchange<'_>) -> String {
    let mut comments = String::new();
    let mut decompressed = |what: &str, bytes: usize, body: &mut Option<cassette::Body<'_>>, decoded| {
        comments += &format!("# The body of the {what} is compressed, in {bytes} bytes; here it is decompressed.\n");
        *body = Some(decoded);
    };
    if let Some(decoded) = exchange.request.decoded_body() {
        let bytes = exchange.request.body_bytes().len();
        decompressed("request", bytes, &mut exchange.request.body, decoded);
    }
    if let Some(response) = &mut exchange.response
        && let Some(decoded) = response.decoded_body()
    {
        let bytes = response.body_bytes().len();
        decompressed("response", bytes, &mut response.body, decoded);
    }
    comments + &exchange.to_text()
}

/// When everything was over, or the last of what is there came. Forms of others may not know either, and 0 stands for that.
fn duration_us(outline: &Outline<'_>) -> Option<u64> {
    let exchange = &outline.exchange;
    let head_us = exchange.response.as_ref().map(|response| response.at_us);
    let frame_us = exchange.frames.iter().flatten().last().map(|frame| frame.at_us);
    let bodies = [&outline.request_body, &outline.response_body].into_iter().flatten();
    let bodies_us = bodies.filter_map(BodyReader::ended_us);
    let last_us = bodies_us.chain(head_us).chain(frame_us).max().filter(|&at_us| at_us > 0);
    exchange.ended_us.or(last_us)
}

/// How many bytes a body has, which is not looked at.
fn bytes(body: &Option<BodyReader<'_>>) -> usize {
    body.as_ref().map_or(0, BodyReader::bytes)
}

fn summary_line(outline: &Outline<'_>) -> String {
    let exchange = &outline.exchange;
    let milliseconds = |us: u64| format!("{}.{} ms", us / 1000, us % 1000 / 100);
    let duration = duration_us(outline).map_or_else(|| "-".to_owned(), milliseconds);
    let (number, started) = (exchange.number, timestamp(exchange.started_ns, 3));
    let (result, bytes) = (result(exchange), bytes(&outline.response_body));
    let line = escaped(exchange.request.line().as_bytes());
    let frames = exchange.frames.as_ref().map_or_else(String::new, |frames| format!("  ({} frames)", frames.len()));
    format!("{number:>6}  {started:<24}  {result:<9}  {duration:>10}  {bytes:>8} B  {line}{frames}")
}

/// The status, and how it ended if that was not orderly.
fn result(exchange: &Exchange<'_>) -> String {
    let status = exchange.response.as_ref().map(|response| response.status.to_string());
    let end = outcome(&exchange.outcome);
    match (status, end) {
        (Some(status), "complete") => status,
        (None, "complete") => "-".to_owned(),
        (Some(status), end) => format!("{status} {end}"),
        (None, end) => end.to_owned(),
    }
}

/// A word for how an exchange ended.
pub(super) fn outcome(outcome: &Outcome<'_>) -> &'static str {
    match outcome {
        Outcome::Complete => "complete",
        Outcome::Truncated => "truncated",
        Outcome::Partial => "partial",
        Outcome::Aborted(error) => match error.kind {
            NetworkErrorKind::Dns => "no address",
            NetworkErrorKind::Refused => "refused",
            NetworkErrorKind::Tls => "no TLS",
            NetworkErrorKind::Reset => "reset",
            NetworkErrorKind::Timeout { .. } => "timeout",
            NetworkErrorKind::TooManyRedirects { .. } => "redirects",
            NetworkErrorKind::Protocol => "no HTTP",
            _ => "aborted",
        },
        _ => "unknown",
    }
}

fn summary_json(outline: &Outline<'_>) -> String {
    let exchange = &outline.exchange;
    json!({
        "number": exchange.number,
        "started": (exchange.started_ns != 0).then(|| timestamp(exchange.started_ns, 9)),
        "duration_us": duration_us(outline),
        "request": exchange.request.line(),
        "request_bytes": bytes(&outline.request_body),
        "status": exchange.response.as_ref().map(|response| response.status),
        "response_bytes": bytes(&outline.response_body),
        "frames": exchange.frames.as_ref().map(Vec::len),
        "outcome": outcome(&exchange.outcome),
    })
    .to_string()
}
