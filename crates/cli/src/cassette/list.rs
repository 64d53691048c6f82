//! `metroon cassette list`: the cassettes of a folder.

use super::folder::{FileKind, files, kind, lock, within};
use super::{timestamp, with_recording};
use crate::end::End;
use crate::journal::escaped;
use crate::output::{Ended, Out, counted};
use crate::render;
use cassette::{Cassette, ExchangeCounts, Form, ReadError, ReadOptions, is_gzip};
use clap::Args;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) const ABOUT_LIST: &str = "\
A line for each cassette: exchanges, bytes, when the first and the last request began, form, state, name, servers. The state is `sound` if
all of it was read and nothing is wrong; `not sealed` of a recording that broke off, `being recorded` of one that goes on, `damaged`
and `not read` with the reason in the place of the servers. Folders within DIR are looked through as well, and links are not followed. Files that are not cassettes are counted.

Exit code: 0 fine; 1 the folder cannot be read; 2 wrong usage, or no folder there; 4 a cassette is damaged.";

/// How many servers are listed for people.
const HOSTS_LISTED_MAX: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

const DAMAGED: &str = "damaged";

/// What a line says of a cassette.
struct ListedCassette {
    name: String,
    bytes: u64,
    form: String,
    state: &'static str,
    /// Why it is damaged, or not read.
    why: Option<String>,
    counts: ExchangeCounts,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    hosts: BTreeMap<String, u64>,
}

pub(super) fn list(arguments: &ListArguments, options: ReadOptions) -> Ended {
    let folder = &arguments.folder;
    let (mut out, mut others, mut is_damaged) = (Out::new(), 0_u64, false);
    let files = files(folder)?;
    for path in &files {
        // A recording is a part of its cassette.
        let (cassette, recording) = with_recording(path);
        if *path == recording && files.binary_search(&cassette).is_ok() {
            continue;
        }
        let Some(listed) = ListedCassette::of(path, folder, options) else {
            others += 1;
            continue;
        };
        is_damaged |= listed.state == DAMAGED;
        out.line(&if arguments.json { listed.json().to_string() } else { listed.line() })?;
    }
    out.end()?;
    if others > 0 && !arguments.json {
        render::say(&format!("note: {} in {} not listed: no cassettes", counted(others, "file"), folder.display()));
    }
    Ok(if is_damaged { End::Damaged } else { End::Fine })
}

impl ListedCassette {
    /// What there is to say of a file; `None` if it is not a cassette.
    fn of(path: &Path, folder: &Path, options: ReadOptions) -> Option<Self> {
        let (cassette, recording) = with_recording(path);
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
        let bytes = if *path == recording { length(path) } else { length(&cassette) + length(&recording) };
        let mut listed = Self {
            name: within(path, folder),
            bytes,
            form: Form::of_name(path).to_string(),
            state: "sound",
            why: None,
            counts: ExchangeCounts::default(),
            first_ns: None,
            last_ns: None,
            hosts: BTreeMap::new(),
        };
        match kind(path, options) {
            FileKind::Other => return None,
            FileKind::Damaged(why) => (listed.state, listed.why) = (DAMAGED, Some(why)),
            FileKind::Unread(why) => (listed.state, listed.why) = ("not read", Some(why)),
            FileKind::Cassette(opened, form) => {
                listed.form = form.to_string();
                listed.state = state(&opened, form, &recording);
                if let Err(error) = listed.look_through(&opened) {
                    (listed.state, listed.why) = (DAMAGED, Some(error.to_string()));
                }
            }
        }
        if is_gzip(path).unwrap_or(false) {
            listed.form.push_str(".gz");
        }
        Some(listed)
    }

    fn look_through(&mut self, cassette: &Cassette) -> Result<(), ReadError> {
        cassette.verify()?;
        for at in 0..cassette.len() {
            let exchange = cassette.outline(at)?.exchange;
            self.counts.count(&exchange);
            *self.hosts.entry(escaped(&exchange.request.host)).or_default() += 1;
            let known = Some(exchange.started_ns).filter(|&started_ns| started_ns != 0);
            self.first_ns = self.first_ns.into_iter().chain(known).min();
            self.last_ns = self.last_ns.into_iter().chain(known).max();
        }
        Ok(())
    }

    fn line(&self) -> String {
        let time = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), |ns| timestamp(ns, 0));
        let (exchanges, bytes, first, last) =
            (self.counts.exchanges, self.bytes, time(self.first_ns), time(self.last_ns));
        let (form, state, name) = (&self.form, self.state, escaped(self.name.as_bytes()));
        let hosts = self.why.as_ref().map_or_else(|| self.hosts(), |why| escaped(why.as_bytes()));
        let line =
            format!("{exchanges:>6}  {bytes:>10} B  {first:<20}  {last:<20}  {form:<8}  {state:<10}  {name}  {hosts}");
        line.trim_end().to_owned()
    }

    fn hosts(&self) -> String {
        let mut hosts: Vec<_> = self.hosts.iter().collect();
        hosts.sort_by_key(|(host, count)| (Reverse(**count), *host));
        let shown: Vec<_> = hosts.iter().take(HOSTS_LISTED_MAX).map(|(host, _)| host.as_str()).collect();
        match hosts.len().saturating_sub(HOSTS_LISTED_MAX) {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    fn json(&self) -> Value {
        let time = |ns: Option<i64>| ns.map(|ns| timestamp(ns, 9));
        json!({
            "name": self.name,
            "form": self.form,
            "state": self.state,
            "why": self.why,
            "bytes": self.bytes,
            "exchanges": self.counts.exchanges,
            "websockets": self.counts.websockets,
            "messages": self.counts.messages,
            "first": time(self.first_ns),
            "last": time(self.last_ns),
            "servers": self.hosts,
        })
    }
}

fn state(cassette: &Cassette, form: Form, recording: &Path) -> &'static str {
    if form != Form::Cassette || cassette.is_sealed() {
        return "sound";
    }
    if lock(recording).is_none() { "being recorded" } else { "not sealed" }
}
