//! Handing exchanges to a recorder, against a bounded channel whose other end encodes them; and a recording from its first exchange to the
//! sealed file, against writing the report's MessagePack at once.

use super::report::MagnetoCassette;
use super::{ROUNDS, SUITE, exchange, sum};
use crate::compare::{Case, Timed, compare, timed};
use crate::{Plan, Rows};
use cassette::{Cassette, Exchange, Recorder, RecorderOptions};
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SENT: u64 = 20_000;
const CHANNEL: usize = 16_384;

pub(super) fn cases(plan: &Plan) -> Rows {
    let n = plan.scaled(SENT);
    let note = "the 99th percentile of one call; ours is bounded in bytes and its other end writes a journal, the peer is bounded \
                in items and its other end encodes and forgets";
    let case = |name: &str, n, peer, note: &str| Case {
        suite: SUITE,
        name: name.to_owned(),
        n,
        peer,
        rounds: plan.rounds(ROUNDS),
        note: note.to_owned(),
    };
    let path = plan.scratch.join("enqueued.cassette");
    let mut rows = Vec::new();
    for (end, options) in variants() {
        rows.push(compare(
            case(&format!("enqueue, p99 of a call{end}"), 1, "crossbeam-channel, bounded", note),
            &mut || record(&path, n, options.clone()),
            &mut || send(n),
        )?);
    }
    let note = "ours survives the death of the program but for the last millisecond and is synced, compressed and indexed; the peer \
                writes a file in place, once, and is not synced";
    for (end, options) in variants() {
        let peer = "rmp-serde, the report's structures, to a file";
        rows.push(compare(
            case(&format!("record ten, to the sealed file{end}"), 10, peer, note),
            &mut || to_the_end(&path, options.clone()),
            &mut || write(plan),
        )?);
    }
    Ok(rows)
}

/// Secrets kept, as peers do, and taken out.
fn variants() -> [(&'static str, RecorderOptions); 2] {
    [("", RecorderOptions::default().keep_secrets()), (", redacted", RecorderOptions::default())]
}

/// The 99th percentile of the times that calls took.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

fn each(
    n: u64,
    mut give: impl FnMut(Exchange<'static>) -> Result<(), Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let exchanges: Vec<_> = (0..n).map(exchange).collect();
    let mut times = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        let began = Instant::now();
        give(exchange)?;
        times.push(began.elapsed());
    }
    Ok(p99(times))
}

fn record(path: &std::path::Path, n: u64, options: RecorderOptions) -> Result<Timed, Box<dyn Error>> {
    let recorder = Recorder::open(path, options)?;
    let elapsed = each(n, |exchange| Ok(recorder.record(exchange).map(drop)?))?;
    drop(recorder);
    let cassette = Cassette::open(path)?;
    let checksum = cassette.len() as u64;
    std::fs::remove_file(path.with_extension("cassette.recording"))?;
    Ok(Timed { elapsed, checksum })
}

fn send(n: u64) -> Result<Timed, Box<dyn Error>> {
    let (sender, receiver) = crossbeam_channel::bounded::<Box<Exchange<'static>>>(CHANNEL);
    let encoder = std::thread::spawn(move || {
        let (mut count, mut bytes) = (0, Vec::new());
        for exchange in receiver {
            bytes.clear();
            exchange.encode(&mut bytes);
            black_box(&bytes);
            count += 1;
        }
        count
    });
    let elapsed = each(n, |exchange| Ok(sender.send(Box::new(exchange))?))?;
    drop(sender);
    let checksum = encoder.join().map_err(|_| "the encoder panicked")?;
    Ok(Timed { elapsed, checksum })
}

fn to_the_end(path: &std::path::Path, options: RecorderOptions) -> Result<Timed, Box<dyn Error>> {
    let (elapsed, ()) = timed(|| {
        let recorder = Recorder::open(path, options)?;
        for number in 0..10 {
            recorder.record(exchange(number))?;
        }
        Ok(recorder.finish()?)
    })?;
    let cassette = Cassette::open(path)?;
    let checksum = cassette
        .exchanges()
        .try_fold(0, |total, exchange| Ok::<_, Box<dyn Error>>(total + sum(&restored(exchange?))))?;
    std::fs::remove_file(path)?;
    Ok(Timed { elapsed, checksum })
}

/// The exchange with the secret that it had.
fn restored(mut exchange: Exchange<'_>) -> Exchange<'_> {
    exchange.request.headers.clone_from(&self::exchange(exchange.number).request.headers);
    exchange
}

fn write(plan: &Plan) -> Result<Timed, Box<dyn Error>> {
    let path = plan.scratch.join("ten.msgpack");
    let (elapsed, ()) = timed(|| {
        let report = MagnetoCassette::of(10);
        Ok(std::fs::write(&path, rmp_serde::to_vec(&report)?)?)
    })?;
    let checksum = rmp_serde::from_slice::<MagnetoCassette>(&std::fs::read(&path)?)?.sum();
    std::fs::remove_file(path)?;
    Ok(Timed { elapsed, checksum })
}
