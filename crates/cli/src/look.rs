//! `metroon look`: what a file or a folder is, and what can be done with it.
//!
//! What it is, its content says. A folder is asked as a knowledge base, a store, a state of pages, a journal and a package, in this order; then its files are
//! counted by what they are. Nothing is written, and everything can be looked at while another process writes it.

use crate::cassette::found_at;
use crate::counts;
use crate::end::End;
use crate::output::{Ended, Out, counted, fail, shell_word};
use crate::run::base_failed;
use clap::Args;
use journal::{Directory, Disk};
use metroon::History;
use metroon::tape::TapeReader;
use reactive::Survey;
use serde_json::{Value, json};
use statistics::{Entries, Item, Report, Value as Counted};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{OpenError, Store};

/// How many files of a folder are looked at.
const FILES_MAX: usize = 1000;
/// Of longer programs forms are not counted.
const PROGRAM_BYTES_MAX: u64 = 16 << 20;

pub(crate) const ABOUT: &str = "\
PATH is a program, a knowledge base, a tape, a cassette in any form, a store, a state of pages, a journal, a package, or a folder of
these. Its content says which it is, not its name.

Exit code: 0 fine; 1 it is nothing that Metroon reads, or it cannot be read; 2 there is nothing; 4 it is damaged.";

#[derive(Debug, Args)]
pub(crate) struct LookArguments {
    /// The file or the folder
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// Print one JSON object: what it is, its counts, and commands with what they do
    #[arg(long)]
    json: bool,
}

/// What something is.
struct Look {
    /// With its article.
    kind: &'static str,
    counts: Vec<Item>,
    /// What is wrong with it.
    damage: Option<String>,
    /// What can be done with it: `PATH` stands for its path.
    commands: &'static [(&'static str, &'static str)],
}

impl Look {
    fn new(kind: &'static str, commands: &'static [(&'static str, &'static str)]) -> Self {
        Self { kind, counts: Vec::new(), damage: None, commands }
    }

    /// Adds what is counted.
    fn with(mut self, entries: impl FnOnce(&mut Entries)) -> Self {
        let mut to = Entries::default();
        entries(&mut to);
        self.counts.extend(to.into_items());
        self
    }

    fn damaged(self, why: impl ToString) -> Self {
        Self { damage: Some(why.to_string()), ..self }
    }

    /// What it is, without its article.
    fn name(&self) -> &'static str {
        self.kind.split_once(' ').map_or(self.kind, |(_, kind)| kind)
    }

    /// The counts in words.
    fn said(&self) -> Vec<String> {
        self.counts.iter().flat_map(said).collect()
    }
}

const BASE: &[(&str, &str)] = &[
    ("metroon kb query PATH PATTERN", "the atoms that match"),
    ("metroon why PATH ATOM", "which form put an atom there"),
    ("metroon kb log PATH", "its commits"),
    ("metroon run --kb PATH FILE", "go on in it"),
];
const DAMAGED_BASE: &[(&str, &str)] = &[
    ("metroon kb verify PATH", "what is damaged"),
    ("metroon kb salvage PATH --to NEW", "carry what is sound into a new one"),
];
const STORE: &[(&str, &str)] = &[
    ("metroon store scan PATH", "its keys and values, in order"),
    ("metroon store stats PATH", "counts, and its runs"),
    ("metroon store verify PATH", "whether it is sound"),
];
const DAMAGED_STORE: &[(&str, &str)] = &[
    ("metroon store verify PATH", "what is damaged"),
    ("metroon store salvage PATH --to NEW", "carry what can be read into a new one"),
];
const PAGES: &[(&str, &str)] = &[("metroon pages stats PATH", "counts of commits, pages and functions")];
const JOURNAL: &[(&str, &str)] =
    &[("metroon journal show PATH", "a line for each frame"), ("metroon journal verify PATH", "whether it is sound")];
const TAPE: &[(&str, &str)] = &[
    ("metroon replay PATH", "run it again and compare"),
    ("metroon replay PATH --repl", "run it again and open a prompt behind it"),
    ("metroon tape show PATH", "its frames"),
];
const DAMAGED_TAPE: &[(&str, &str)] = &[("metroon tape verify PATH", "what is damaged")];
const CASSETTE: &[(&str, &str)] = &[
    ("metroon cassette show PATH", "its exchanges"),
    ("metroon replay PATH -- COMMAND", "answer the requests of a program from it"),
    ("metroon cassette convert PATH NEW", "write it in another form"),
];
const DAMAGED_CASSETTE: &[(&str, &str)] = &[("metroon cassette verify PATH", "what is damaged")];
const PROGRAM: &[(&str, &str)] = &[
    ("metroon run PATH", "run it"),
    ("metroon check PATH", "look for likely mistakes"),
    ("metroon run --record NEW.tape PATH", "run it and keep everything that it reads"),
];
const DATA: &[(&str, &str)] = &[("metroon kb load DIR PATH", "make facts of it in a knowledge base")];
const PACKAGE: &[(&str, &str)] = &[("metroon check PATH", "look for likely mistakes in its modules")];
const FOLDER: &[(&str, &str)] = &[("metroon cassette list PATH", "the cassettes in it")];

/// Tells what something is.
pub(crate) fn run(arguments: &LookArguments) -> Ended {
    let path = &arguments.path;
    let about = fs::metadata(path).map_err(|error| {
        let end = if error.kind() == std::io::ErrorKind::NotFound { End::Usage } else { End::Error };
        fail(&format!("cannot look at {}: {error}", path.display()), "check the path", end)
    })?;
    let found = match () {
        () if about.is_dir() => folder(path)?,
        () if about.is_file() => file(path),
        () => None,
    };
    let Some(look) = found else {
        let help = "Metroon reads programs, knowledge bases, tapes, cassettes, stores, journals, and tables of facts";
        return Err(fail(&format!("{} is nothing that Metroon knows", path.display()), help, End::Error));
    };
    let mut out = Out::new();
    let named = |command: &str| command.replace("PATH", &shell_word(&path.display().to_string()));
    if arguments.json {
        let commands = look.commands.iter().map(|(command, does)| json!({"command": named(command), "does": does}));
        let counts = Report { what: look.name(), items: look.counts.clone() };
        let object = json!({
            "path": path.display().to_string(),
            "kind": look.name(),
            "counts": counts::object(&counts),
            "damage": look.damage,
            "commands": commands.collect::<Vec<Value>>(),
        });
        out.line(&object.to_string())?;
    } else {
        let counts = look.said();
        let colon = if counts.is_empty() { "" } else { ": " };
        out.line(&format!("{}: {}{colon}{}", path.display(), look.kind, counts.join(", ")))?;
        let commands: Vec<(String, &str)> =
            look.commands.iter().map(|(command, does)| (named(command), *does)).collect();
        let width = commands.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
        commands.iter().try_for_each(|(command, does)| out.line(&format!("  {command:<width$}  {does}")))?;
    }
    out.end()?;
    match look.damage {
        Some(why) => Err(fail(&why, "", End::Damaged)),
        None => Ok(End::Fine),
    }
}

/// A count in words: 1 under the name `atoms` is "1 atom". What is not a number follows its name.
fn said(item: &Item) -> Vec<String> {
    match item {
        Item::Group(group) => group.items.iter().flatten().flat_map(said).collect(),
        Item::Entry(entry) => match &entry.value {
            Counted::Number(count) => {
                let name = entry.name.replace('_', " ");
                vec![counted(*count, name.strip_suffix('s').unwrap_or(&name))]
            }
            Counted::Text(text) => vec![format!("{} {text}", entry.name)],
            Counted::Ratio(_) | Counted::Unknown => Vec::new(),
        },
    }
}

/// What a folder is; `None` if nothing in it is known.
fn folder(path: &Path) -> Result<Option<Look>, End> {
    if let Some(found) = base(path)? {
        return Ok(Some(found));
    }
    if let Some(found) = store(path)? {
        return Ok(Some(found));
    }
    Ok(match pages(path).or_else(|| segments(path)) {
        None if path.join("metroon.toml").is_file() => Some(Look::new("a package", PACKAGE)),
        None => files_of(path)?,
        found => found,
    })
}

fn base(path: &Path) -> Result<Option<Look>, End> {
    use metroon::KnowledgeBaseError::{Missing, NotABase};
    Ok(match History::open(path) {
        Ok(history) => {
            let report = history.report();
            Some(Look::new("a knowledge base", BASE).with(|to| {
                to.count("atoms", "Atoms in the program's space.", report.atoms);
                to.count("commits", "Commits that there are.", report.commits);
                to.text("state", "The hash of all that it holds.", format!("{:032x}", report.hash));
            }))
        }
        Err(Missing { .. } | NotABase { .. }) => None,
        Err(error) if error.is_damage() => Some(Look::new("a damaged knowledge base", DAMAGED_BASE).damaged(error)),
        Err(error) => return Err(base_failed(path, &error)),
    })
}

fn store(path: &Path) -> Result<Option<Look>, End> {
    Ok(match Store::open_read_only(path) {
        Ok(snapshot) => {
            let names: Vec<String> = snapshot.keyspaces().iter().map(|keyspace| keyspace.name.clone()).collect();
            let look = Look::new("a store of keys and values", STORE);
            Some(look.with(|to| to.text("keyspaces", "The names of its keyspaces.", names.join(", "))))
        }
        Err(OpenError::Absent | OpenError::Foreign) => None,
        Err(
            error @ (OpenError::Damaged(_) | OpenError::ReadLog(_) | OpenError::Log(journal::OpenError::Damaged(_))),
        ) => Some(Look::new("a damaged store", DAMAGED_STORE).damaged(error)),
        Err(error) => {
            return Err(fail(&format!("{}: {error}", path.display()), "check that you may read it", End::Error));
        }
    })
}

/// A state of pages.
fn pages(path: &Path) -> Option<Look> {
    use reactive::OpenError::{Journal, Malformed, NoLog};
    let disk: Arc<dyn Disk> = Arc::new(Directory::open(path).ok()?);
    match Survey::read(&disk) {
        Ok(found) => Some(Look::new("a state of pages", PAGES).with(|to| {
            to.text("commit", "The number of the last commit.", found.epoch.to_string());
            to.count("pages", "Pages that there are.", found.pages);
        })),
        // Another journal, or none.
        Err(NoLog | Journal(_) | Malformed { frame: 0, .. }) => None,
        Err(error) => Some(Look::new("a state of pages that cannot be read", &[]).damaged(error)),
    }
}

/// A journal of segments.
fn segments(path: &Path) -> Option<Look> {
    let names = Directory::open(path).and_then(|folder| folder.list()).ok()?;
    let count = names.iter().filter(|name| name.ends_with(".segment")).count();
    (count > 0).then(|| {
        Look::new("a journal", JOURNAL).with(|to| to.count("segments", "Files that it lies in.", count as u64))
    })
}

/// A folder by what its files are.
fn files_of(path: &Path) -> Result<Option<Look>, End> {
    let unreadable = |error| fail(&format!("cannot list {}: {error}", path.display()), "ask its owner", End::Error);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut files = Vec::new();
    let mut left_out = 0;
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        match files.len() < FILES_MAX {
            true => files.push(path),
            false => left_out += 1,
        }
    }
    for look in files.iter().filter(|path| path.is_file()).filter_map(|path| file(path)) {
        *counts.entry(look.kind).or_default() += 1;
    }
    if counts.is_empty() {
        return Ok(None);
    }
    let has_cassettes = counts.keys().any(|kind| kind.ends_with("cassette"));
    let look = Look::new("a folder", if has_cassettes { FOLDER } else { &[] });
    let kinds = counts.into_iter().map(|(kind, count)| {
        let kind = kind.split_once(' ').map_or(kind, |(_, kind)| kind);
        (format!("{kind}s"), count)
    });
    Ok(Some(look.with(|to| {
        to.counts("files", "Files by what they are.", kinds);
        if left_out > 0 {
            to.count("files_that_were_not_looked_at", "Files behind the first thousand.", left_out);
        }
    })))
}

/// What a file is, if it is known.
fn file(path: &Path) -> Option<Look> {
    match TapeReader::open(path).map(|mut tape| tape.holds_run()) {
        Ok(Ok(true)) => return Some(Look::new("a tape of a run", TAPE)),
        Ok(Err(error)) => return Some(Look::new("a damaged tape", DAMAGED_TAPE).damaged(error)),
        Ok(Ok(false)) | Err(_) => {}
    }
    match found_at(path) {
        Some(Ok((form, exchanges))) => {
            return Some(Look::new("a cassette", CASSETTE).with(|to| {
                to.count("exchanges", "Exchanges.", exchanges);
                to.text("form", "The form that it is in.", form);
            }));
        }
        Some(Err(why)) => return Some(Look::new("a damaged cassette", DAMAGED_CASSETTE).damaged(why)),
        None => {}
    }
    let mut magic = [0; 8];
    let is_read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok();
    if is_read && &magic == b"METROONJ" {
        return Some(Look::new("a journal in one file", JOURNAL));
    }
    if is_read && (magic.starts_with(b"METROON") || &magic == b"MTRNCNTR") {
        return Some(Look::new("a part of what lies in its folder", &[]));
    }
    match path.extension()?.to_str()? {
        "metta" => program(path),
        "csv" | "tsv" | "nt" | "jsonl" | "ndjson" => Some(Look::new("a table of facts", DATA)),
        _ => None,
    }
}

fn program(path: &Path) -> Option<Look> {
    let look = Look::new("a program", PROGRAM);
    let bytes = fs::metadata(path).ok()?.len();
    if bytes > PROGRAM_BYTES_MAX {
        return Some(look.with(|to| to.count("bytes", "How long it is.", bytes)));
    }
    let text = fs::read_to_string(path).ok()?;
    let forms = metta::syntax::parse(&text).forms_before_error().len();
    Some(look.with(|to| to.count("forms", "Forms that parse.", forms as u64)))
}
