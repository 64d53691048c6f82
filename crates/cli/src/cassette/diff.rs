//! `metroon cassette diff`: what differs between two cassettes.

use super::{damaged, open};
use crate::end::End;
use crate::journal::escaped;
use crate::output::{Ended, Out};
use cassette::compare::{Change, ChangedExchange, Comparison, compare};
use cassette::{Cassette, ReadError, ReadOptions};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

pub(super) const ABOUT_DIFF: &str = "\
Exchanges that ask the same are compared with each other, in their order; then, of those that are left, those with the same
method, server and path. A line begins with - if only the first cassette has it, with + if only the second one has, and with ~
if they differ; below that is what differs, on the first cassette and on the second one.

Exit code: 0 nothing differs; 1 something does, or a file cannot be read; 2 wrong usage, or no cassette there; 3 a file of another
form that is not a cassette; 4 a cassette is damaged.";

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The first cassette
    #[arg(value_name = "CASSETTE")]
    before: PathBuf,

    /// The second one, in any form
    #[arg(value_name = "OTHER")]
    after: PathBuf,

    /// Compare numbers, times and the limits of chunks as well
    #[arg(long)]
    times: bool,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn diff(arguments: &DiffArguments, options: ReadOptions) -> Ended {
    let (before, _) = open(&arguments.before, options)?;
    let (after, _) = open(&arguments.after, options)?;
    let told = |error: ReadError| damaged(&arguments.before, &error);
    let comparison = compare(&before, &after, arguments.times).map_err(told)?;
    let lines =
        if arguments.json { objects(&comparison, &before, &after) } else { lines(&comparison, &before, &after) };
    let mut out = Out::new();
    for line in lines.map_err(told)? {
        out.line(&line)?;
    }
    out.end()?;
    Ok(if comparison.is_same() { End::Fine } else { End::Error })
}

/// The number and the request of an exchange.
fn named(cassette: &Cassette, at: usize) -> Result<(u64, String), ReadError> {
    let exchange = cassette.exchange(at)?;
    Ok((exchange.number, exchange.request.line()))
}

fn lines(comparison: &Comparison, before: &Cassette, after: &Cassette) -> Result<Vec<String>, ReadError> {
    let mut lines: Vec<String> = comparison.meta.iter().map(|change| shown("~ cassette ", change)).collect();
    for (sign, cassette, only) in [('-', before, &comparison.only_before), ('+', after, &comparison.only_after)] {
        for &at in only {
            let (number, line) = named(cassette, at)?;
            lines.push(format!("{sign} {number}  {}", escaped(line.as_bytes())));
        }
    }
    for ChangedExchange { before: one, after: other, changes, .. } in &comparison.changed {
        let ((one, line), (other, _)) = (named(before, *one)?, named(after, *other)?);
        let numbers = if one == other { one.to_string() } else { format!("{one}, {other}") };
        lines.push(format!("~ {numbers}  {}", escaped(line.as_bytes())));
        lines.extend(changes.iter().map(|change| shown("    ", change)));
    }
    Ok(lines)
}

/// Values are in quotes, with escapes; what is not must not reach the terminal as it is.
fn shown(before: &str, change: &Change) -> String {
    format!("{before}{}", change.to_string().replace(char::is_control, "?"))
}

fn objects(comparison: &Comparison, before: &Cassette, after: &Cassette) -> Result<Vec<String>, ReadError> {
    let mut objects: Vec<Value> = comparison.meta.iter().map(|change| json!({ "cassette": as_json(change) })).collect();
    for (side, cassette, only) in
        [("first", before, &comparison.only_before), ("second", after, &comparison.only_after)]
    {
        for &at in only {
            let (number, request) = named(cassette, at)?;
            objects.push(json!({ "only": side, "number": number, "request": request }));
        }
    }
    for ChangedExchange { before: one, after: other, changes, .. } in &comparison.changed {
        let ((one, request), (other, _)) = (named(before, *one)?, named(after, *other)?);
        let changes: Vec<_> = changes.iter().map(as_json).collect();
        objects.push(json!({ "numbers": [one, other], "request": request, "changes": changes }));
    }
    Ok(objects.iter().map(Value::to_string).collect())
}

fn as_json(change: &Change) -> Value {
    let Change { place, before, after, .. } = change;
    json!({ "place": place, "first": before, "second": after })
}
