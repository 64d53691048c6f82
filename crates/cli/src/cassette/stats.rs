//! `metroon cassette stats`: what a cassette comes to.

use super::show::outcome;
use super::{damaged, open, timestamp, with_recording};
use crate::counts;
use crate::journal::escaped;
use crate::output::{Ended, Out, counted};
use cassette::{BodyReader, Cassette, Exchange, Form, Outline, ReadError, ReadOptions, is_gzip};
use clap::Args;
use statistics::{Entries, Statistics};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

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
    let counted = CountedCassette { counts, state, file_bytes };
    let mut out = Out::new();
    counts::print(&mut out, &counted, arguments.json)?;
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
}

/// A cassette and its file.
struct CountedCassette {
    counts: CassetteCounts,
    state: String,
    file_bytes: u64,
}

impl Statistics for CountedCassette {
    fn what(&self) -> &'static str {
        "cassette"
    }

    fn entries(&self, to: &mut Entries) {
        let Self { counts, file_bytes, .. } = self;
        let named = |counted: &BTreeMap<&'static str, u64>| -> Vec<_> {
            counted.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        to.text("state", "Whether it is sealed, or in which form it is.", self.state.clone());
        to.count("exchanges", "Exchanges.", counts.exchanges);
        to.counts("outcomes", "Exchanges by how they ended.", named(&counts.outcomes));
        let statuses = counts.statuses.iter().map(|(status, count)| (status.to_string(), *count));
        to.counts("statuses", "Answers by their status.", statuses);
        to.bytes("file_bytes", "The file, and the recording beside it if there is one.", *file_bytes);
        to.bytes("exchange_bytes", "The exchanges without compression, with their bodies.", counts.encoded_bytes);
        to.ratio("ratio", "How many times longer these are than the file.", counts.ratio(*file_bytes));
        let (repeated, repeated_bytes) = counts.repeated();
        to.count("bodies", "Bodies that are not empty.", counts.bodies);
        to.bytes("body_bytes", "These bodies.", counts.body_bytes);
        to.count("repeated_bodies", "Those of them that are there already.", repeated);
        to.bytes("repeated_body_bytes", "The bodies that are there already.", repeated_bytes);
        to.count("websockets", "Exchanges that are WebSockets.", counts.websockets);
        to.count("frames", "Messages of these.", counts.frames);
        to.text(
            "first",
            "When the first request was made, if a time is known.",
            counts.first_ns.map(|first| timestamp(first, 9)),
        );
        to.text(
            "last",
            "When the last request was made, if a time is known.",
            counts.last_ns.map(|last| timestamp(last, 9)),
        );
        to.group("answered_after", "How long answers took, if a time is known.", |to| {
            let time = |us: Option<&u64>| us.map(|us| us * 1_000);
            to.nanoseconds("least", "The shortest.", time(counts.times_us.first()));
            to.nanoseconds(
                "median",
                "Half of them took no longer.",
                time(counts.times_us.get(counts.times_us.len() / 2)),
            );
            to.nanoseconds("most", "The longest.", time(counts.times_us.last()));
        });
        to.counts("servers", "Requests by their server, the most frequent first.", counts.servers());
        let left_out = counts.left_out.iter().map(|(reason, count)| (escaped(reason.as_bytes()), *count));
        to.counts("left_out", "Exchanges that were not recorded, by the reason.", left_out);
    }
}

impl CassetteCounts {
    fn servers(&self) -> Vec<(String, u64)> {
        let mut servers: Vec<_> = self.hosts.iter().map(|(host, count)| (host.clone(), *count)).collect();
        servers.sort_by(|(name, count), (other, more)| (more, name).cmp(&(count, other)));
        servers
    }
}
