//! `metroon cassette stats`: what a cassette comes to.

use super::show::outcome;
use super::{damaged, open, timestamp, with_recording};
use crate::journal::escaped;
use crate::output::{Ended, Out, counted};
use cassette::{BodyReader, Cassette, Exchange, Form, Outline, ReadError, ReadOptions, is_gzip};
use clap::Args;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

/// How many servers are listed for people.
const HOSTS_LISTED_MAX: usize = 10;

#[derive(Debug, Args)]
pub(crate) struct StatsArguments {
    /// The cassette
    #[arg(value_name = "CASSETTE")]
    pub(super) cassette: PathBuf,

    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// What was counted.
#[derive(Default)]
struct CassetteCounts {
    exchanges: u64,
    websockets: u64,
    frames: u64,
    outcomes: BTreeMap<&'static str, u64>,
    statuses: BTreeMap<u16, u64>,
    hosts: BTreeMap<String, u64>,
    bodies: u64,
    body_bytes: u64,
    /// Lengths and hashes of bodies, with how often they are there.
    distinct: HashMap<(usize, u64), u64>,
    /// The size of the exchanges without compression, each with its bodies.
    encoded_bytes: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    /// Times of response heads.
    times_us: Vec<u64>,
    /// What was not recorded, by reason.
    left_out: BTreeMap<String, u64>,
}

pub(super) fn stats(arguments: &StatsArguments, options: ReadOptions) -> Ended {
    let (cassette, form) = open(&arguments.cassette, options)?;
    let counts = CassetteCounts::of(&cassette).map_err(|error| damaged(&arguments.cassette, &error))?;
    let file_bytes = file_bytes(&arguments.cassette);
    let state = match (form, cassette.is_sealed(), cassette.summary().unsealed) {
        (Form::Cassette, true, _) => "sealed".to_owned(),
        (Form::Cassette, false, unsealed) => {
            format!("a recording that is not sealed, {}", counted(unsealed as u64, "exchange"))
        }
        (form, ..) if is_gzip(&arguments.cassette).unwrap_or(false) => format!("in the form {form}, in gzip"),
        (form, ..) => format!("in the form {form}"),
    };
    let mut out = Out::new();
    if arguments.json {
        out.line(&counts.json(&state, file_bytes).to_string())?;
    } else {
        for (name, value) in counts.lines(&state, file_bytes) {
            out.line(&format!("{name:<14}  {value}"))?;
        }
    }
    out.end()
}

/// The file, and the recording beside it if there is one.
fn file_bytes(path: &Path) -> u64 {
    let (cassette, recording) = with_recording(path);
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    if path == recording { length(&recording) } else { length(&cassette) + length(&recording) }
}

/// A hash of a body that does not depend on its chunks.
fn hash(body: &mut BodyReader<'_>, hasher: &RandomState) -> Result<u64, ReadError> {
    const BLOCK_BYTES: usize = 64 << 10;
    let (mut hasher, mut block) = (hasher.build_hasher(), Vec::new());
    while let Some(fragment) = body.read()? {
        block.extend_from_slice(fragment.bytes);
        let whole = block.len() - block.len() % BLOCK_BYTES;
        block[..whole].chunks(BLOCK_BYTES).for_each(|some| hasher.write(some));
        block.drain(..whole);
    }
    hasher.write(&block);
    Ok(hasher.finish())
}

impl CassetteCounts {
    fn of(cassette: &Cassette) -> Result<Self, ReadError> {
        let (mut counts, hasher) = (Self { left_out: cassette.left_out()?, ..Self::default() }, RandomState::new());
        for at in 0..cassette.len() {
            counts.add(cassette.outline(at)?, &hasher)?;
        }
        counts.times_us.sort_unstable();
        Ok(counts)
    }

    fn add(&mut self, outline: Outline<'_>, hasher: &RandomState) -> Result<(), ReadError> {
        self.head(&outline.exchange);
        for mut body in [outline.request_body, outline.response_body].into_iter().flatten() {
            self.body(&mut body, hasher)?;
        }
        Ok(())
    }

    fn body(&mut self, body: &mut BodyReader<'_>, hasher: &RandomState) -> Result<(), ReadError> {
        if body.bytes() > 0 {
            self.bodies += 1;
            self.body_bytes += body.bytes() as u64;
            self.encoded_bytes += body.bytes() as u64;
            *self.distinct.entry((body.bytes(), hash(body, hasher)?)).or_default() += 1;
        }
        Ok(())
    }

    fn head(&mut self, exchange: &Exchange<'_>) {
        self.exchanges += 1;
        self.websockets += u64::from(exchange.is_websocket());
        self.frames += exchange.frames.as_ref().map_or(0, |frames| frames.len() as u64);
        *self.outcomes.entry(outcome(&exchange.outcome)).or_default() += 1;
        *self.hosts.entry(escaped(&exchange.request.host)).or_default() += 1;
        let known = Some(exchange.started_ns).filter(|&started_ns| started_ns != 0);
        self.first_ns = self.first_ns.into_iter().chain(known).min();
        self.last_ns = self.last_ns.into_iter().chain(known).max();
        if let Some(response) = &exchange.response {
            *self.statuses.entry(response.status).or_default() += 1;
            // Forms of others may not know when a response came, and 0 stands for that.
            self.times_us.extend(Some(response.at_us).filter(|&at_us| at_us > 0));
        }
        let mut encoded = Vec::new();
        exchange.encode(&mut encoded);
        self.encoded_bytes += encoded.len() as u64;
    }

    /// How many bodies are there already, and the bytes of them.
    fn repeated(&self) -> (u64, u64) {
        let repeated = self.distinct.iter().map(|((length, _), count)| (count - 1, (count - 1) * *length as u64));
        repeated.fold((0, 0), |(bodies, bytes), (more, longer)| (bodies + more, bytes + longer))
    }

    /// How much shorter the file is than its exchanges.
    fn ratio(&self, file_bytes: u64) -> f64 {
        self.encoded_bytes as f64 / file_bytes.max(1) as f64
    }

    fn lines(&self, state: &str, file_bytes: u64) -> Vec<(&'static str, String)> {
        let (repeated, repeated_bytes) = self.repeated();
        let mut lines = vec![
            ("state", state.to_owned()),
            ("exchanges", self.exchanges.to_string()),
            ("outcomes", listed(&self.outcomes)),
            ("statuses", listed(&self.statuses)),
            ("file bytes", file_bytes.to_string()),
            ("ratio", format!("{:.1} (exchanges of {} bytes)", self.ratio(file_bytes), self.encoded_bytes)),
            ("bodies", format!("{} of {} bytes", self.bodies, self.body_bytes)),
            ("repeated", format!("{repeated} of {repeated_bytes} bytes")),
        ];
        if self.websockets > 0 {
            lines.push(("websockets", format!("{} with {}", self.websockets, counted(self.frames, "frame"))));
        }
        if let (Some(first), Some(last)) = (self.first_ns, self.last_ns) {
            lines.push(("first request", timestamp(first, 3)));
            lines.push(("last request", timestamp(last, 3)));
        }
        if let [least, .., most] | [least @ most] = &self.times_us[..] {
            let median = self.times_us[self.times_us.len() / 2];
            lines.push(("answered after", format!("{least} to {most} us, half of them within {median} us")));
        }
        lines.push(("servers", self.hosts_listed()));
        if !self.left_out.is_empty() {
            let reasons: BTreeMap<_, _> =
                self.left_out.iter().map(|(reason, count)| (escaped(reason.as_bytes()), count)).collect();
            lines.push(("left out", listed(&reasons)));
        }
        lines
    }

    fn hosts_listed(&self) -> String {
        let mut hosts: Vec<_> = self.hosts.iter().collect();
        hosts.sort_by_key(|(host, count)| (std::cmp::Reverse(**count), *host));
        let shown: Vec<_> =
            hosts.iter().take(HOSTS_LISTED_MAX).map(|(host, count)| format!("{host} ({count})")).collect();
        match hosts.len().saturating_sub(HOSTS_LISTED_MAX) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    fn json(&self, state: &str, file_bytes: u64) -> Value {
        let (repeated, repeated_bytes) = self.repeated();
        json!({
            "state": state,
            "exchanges": self.exchanges,
            "outcomes": self.outcomes,
            "statuses": self.statuses,
            "file_bytes": file_bytes,
            "exchange_bytes": self.encoded_bytes,
            "ratio": self.ratio(file_bytes),
            "bodies": self.bodies,
            "body_bytes": self.body_bytes,
            "repeated_bodies": repeated,
            "repeated_body_bytes": repeated_bytes,
            "websockets": self.websockets,
            "frames": self.frames,
            "first": self.first_ns.map(|first| timestamp(first, 9)),
            "last": self.last_ns.map(|last| timestamp(last, 9)),
            "answered_after_us": {
                "least": self.times_us.first(),
                "median": self.times_us.get(self.times_us.len() / 2),
                "most": self.times_us.last(),
            },
            "servers": self.hosts,
            "left_out": self.left_out,
        })
    }
}

fn listed(counts: &BTreeMap<impl Display, impl Display>) -> String {
    match counts.is_empty() {
        true => "none".to_owned(),
        false => counts.iter().map(|(what, count)| format!("{what} ({count})")).collect::<Vec<_>>().join(", "),
    }
}
